/*
 * POST /v1/execute as a form, through a real nginx and into real containers: what programs and
 * browsers send, large files, names, refusals, and that the store keeps nothing of a request's own
 * files, however it ends.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "limits.h"
#include "suites.h"
#include "support/answer.h"
#include "support/fcgi.h"
#include "support/form.h"
#include "support/front.h"
#include "support/service.h"
#include "support/tool.h"
#include "support/web.h"
#include "system/uploads.h"
#include "wire/sha256.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MB 52
#define BIG_BYTES (50 << 20)
#define HTML "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

static struct service svc;
static struct front web;

static void setup(void)
{
	static const char *const env[] = { "MAX_FILE_SIZE_MB=52", "MAX_UPLOAD_MB=64",
					   "UPLOAD_DENY=image/gif", NULL };
	service_up(&svc, env);
	front_start(&web, &svc, env);
}

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

static void post(const struct strbuf *body, const char *accept, int ms, struct answer *out)
{
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/v1/execute", web.port);
	web_call(
		&(struct web_request){ .url = url,
				       .body = body->buf,
				       .len = body->len,
				       .headers = (const char *const[]){ "Content-Type: " FORM_TYPE,
									 accept, NULL },
				       .ms = ms },
		out);
}

static void run(const struct strbuf *body, const char *want, struct answer *out)
{
	post(body, NULL, 120000, out);
	WANT_STATUS(out, 200);
	WANT_STR(out, "stderr", "");
	WANT_STR(out, "stdout", want);
}

static void add_file(struct strbuf *body, const char *name, const char *text)
{
	form_file(body, "file", name, "application/octet-stream", text, strlen(text));
}

START_TEST(all_there_is_in_one_request)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	add_file(&body, "a.csv", "x,y\r\n1,2\r\n");
	form_field(&body, "args", "{\"n\": [1, 2.50]}");
	form_field(&body, "argv", "-v");
	form_field(&body, "code",
		   "import sys, os\n"
		   "print(open('a.csv', newline='').read(), open('b.txt').read())\n"
		   "print(_args['n'], sys.argv[1:], sys.stdin.read(), os.environ['K'])\n"
		   "print(open(os.environ['BELLJAR_ARGS']).read())\n"
		   "open('made.txt', 'w').write('made')\n");
	form_field(&body, "stdin", "typed");
	form_field(&body, "argv", "two words");
	form_field(&body, "env", "{\"K\": \"v\"}");
	form_field(&body, "limits", "{\"memory_mb\": 128, \"cpus\": 0.5}");
	form_field(&body, "timeout_ms", "20000");
	form_field(&body, "last_line_interactive", "false");
	form_field(&body, "nobody", "knows");
	add_file(&body, "b.txt", "B");
	form_end(&body);
	run(&body, "x,y\r\n1,2\r\n B\n[1, 2.5] ['-v', 'two words'] typed v\n{\"n\": [1, 2.50]}\n",
	    &a);
	WANT_INT(&a, "limits.memory_mb", 128);
	WANT_INT(&a, "limits.timeout_ms", 20000);
	WANT_STR(&a, "ignored.0", "nobody");
	/* The file that is new is the only one that stays. */
	WANT(&a, json_object_array_length(answer_get(&a, "files")) == 1);
	WANT_STR(&a, "files.0.path", "made.txt");
	ck_assert_int_eq(uploads_on_disk(&svc), 2); /* with its description */
	AUTO(answer) gone = ANSWER_INIT;
	uploads_at(&web, "DELETE", answer_str(&a, "files.0.file_id"), &gone);
	WANT(&gone, gone.status == 204);
	uploads_want_nothing(&svc);
}
END_TEST

static void add_page_form(struct strbuf *body)
{
	form_field(body, "language", "python");
	form_field(body, "code", "for i in range(2):\r\n    print(i)\r\n\r\nrepr(input())\r\n");
	form_field(body, "stdin", "one\r\ntwo");
	form_file(body, "file", "", "application/octet-stream", "", 0);
	form_field(body, "timeout_ms", "");
	form_end(body);
}

START_TEST(as_a_page_sends_it)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) page = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	add_page_form(&body);
	run(&body, "0\n1\n\"'one'\"\n", &a);
	post(&body, HTML, 0, &page);
	WANT(&page, page.status == 200);
	WANT(&page, strncmp(answer_header(&page, "Content-Type"), "text/html", 9) == 0);
	WANT(&page, strstr(page.body.buf, "0\n1\n"));
	uploads_want_nothing(&svc);
}
END_TEST

START_TEST(a_page_for_what_is_wrong)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	form_field(&body, "timeout_ms", "<soon>");
	form_end(&body);
	post(&body, HTML, 0, &a);
	WANT(&a, a.status == 422);
	WANT(&a, strncmp(answer_header(&a, "Content-Type"), "text/html", 9) == 0);
	WANT(&a, strstr(a.body.buf, "timeout_ms") && !strstr(a.body.buf, "<soon>"));
}
END_TEST

static void add_big_file(struct strbuf *body, size_t len, char *out_hex)
{
	AUTO(strbuf) data = STRBUF(64 << 20);
	struct sha256 sum;
	uploads_bytes(&data, len, 7);
	sha256_init(&sum);
	sha256_add(&sum, data.buf, data.len);
	sha256_hex(&sum, out_hex);
	form_file(body, "file", "big.bin", "application/octet-stream", data.buf, data.len);
}

#define HASH(name)                                                                                 \
	"import hashlib\nh = hashlib.sha256()\nwith open('" name "', 'rb') as f:\n"                \
	"    while b := f.read(1 << 20): h.update(b)\nprint(h.hexdigest())\n"

START_TEST(a_large_file)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(64 << 20);
	char hex[SHA256_HEX + 1];
	add_big_file(&body, BIG_BYTES, hex);
	form_field(&body, "code", HASH("big.bin"));
	form_end(&body);
	hex[SHA256_HEX - 1] = '\n';
	hex[SHA256_HEX] = '\0';
	run(&body, hex, &a);
	uploads_want_nothing(&svc);
}
END_TEST

START_TEST(a_file_over_the_cap)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(64 << 20);
	char hex[SHA256_HEX];
	form_field(&body, "code", "print(1)");
	add_big_file(&body, (FILE_MB << 20) + 1, hex);
	form_end(&body);
	post(&body, NULL, 0, &a);
	WANT_STATUS(&a, 413);
	WANT_STR(&a, "error.code", "too_large");
	WANT_IN(&a, "error.message", "MAX_FILE_SIZE_MB");
	uploads_want_nothing(&svc);
}
END_TEST

static void want_refusal(const struct strbuf *body, int status, const char *code, const char *part)
{
	AUTO(answer) a = ANSWER_INIT;
	post(body, NULL, 0, &a);
	WANT_STATUS(&a, status);
	WANT_STR(&a, "error.code", code);
	WANT_IN(&a, "error.message", part);
	uploads_want_nothing(&svc);
}

START_TEST(refusals_leave_nothing)
{
	AUTO(strbuf) body = STRBUF(1 << 16);
	add_file(&body, "fine", "1");
	want_refusal(&body, 400, "bad_multipart", "closing boundary");
	form_end(&body);
	want_refusal(&body, 422, "invalid_field", "code");
	strbuf_reset(&body);
	form_field(&body, "code", "1");
	add_file(&body, "fine", "1");
	form_field(&body, "timeout_ms", "5 s");
	form_end(&body);
	want_refusal(&body, 422, "invalid_field", "timeout_ms");
	strbuf_reset(&body);
	form_field(&body, "code", "1");
	add_file(&body, "fine", "1");
	add_file(&body, "pretends.txt", "GIF89a\x01\x01\x01\x01\x80 ;");
	form_end(&body);
	want_refusal(&body, 415, "unsupported_media_type", "image/gif");
	strbuf_reset(&body);
	form_field(&body, "code", "1");
	add_file(&body, "fine", "1");
	add_file(&body, "../x", "2");
	form_end(&body);
	want_refusal(&body, 400, "bad_file_name", "");
}
END_TEST

START_TEST(a_failing_program_leaves_nothing)
{
	static const char *const ends[] = { "1/0", "import os; os.abort()",
					    "import time; time.sleep(60)" };
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	add_file(&body, "in.txt", "1");
	form_field(&body, "code", ends[_i]);
	form_field(&body, "timeout_ms", "1500");
	form_end(&body);
	post(&body, NULL, 0, &a);
	WANT_STATUS(&a, 200);
	WANT(&a, strcmp(answer_str(&a, "status"), "ok") != 0);
	uploads_want_nothing(&svc);
}
END_TEST

START_TEST(a_client_that_leaves_while_it_runs)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	add_file(&body, "in.txt", "1");
	form_field(&body, "code", "import time; time.sleep(50)");
	form_field(&body, "timeout_ms", "60000");
	form_end(&body);
	post(&body, NULL, 3000, &a);
	WANT(&a, a.status == 0);
	uploads_want_nothing(&svc);
	ck_assert(service_wait_clean(&svc));
}
END_TEST

static bool store_has_one(void *arg)
{
	(void)fcgi_done(arg); /* sends what the other side takes now */
	return uploads_on_disk(&svc) == 1;
}

/* nginx has the body whole before it calls; who leaves earlier is another web server. */
START_TEST(a_body_that_breaks_off)
{
	AUTO(strbuf) body = STRBUF(2 << 20);
	static char half[3 * LIMIT_PIECE_BYTES];
	struct fcgi f;
	memset(half, 'h', sizeof(half));
	form_field(&body, "code", "print(1)");
	form_file(&body, "file", "half", "text/plain", half, sizeof(half));
	fcgi_start(&f, svc.fcgi,
		   &(struct fcgi_request){ .uri = "/v1/execute",
					   .type = FORM_TYPE,
					   .body = body.buf,
					   .len = body.len,
					   .length = "2000000",
					   .open = true });
	ck_assert(tool_until(store_has_one, &f, TOOL_WAIT_MS));
	fcgi_drop(&f);
	uploads_want_nothing(&svc);
}
END_TEST

/* The names as the form has them, and as Python says them. */
START_TEST(names_come_through)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	AUTO(strbuf) want = STRBUF(1 << 16);
	char longest[256];
	memset(longest, 'n', 255);
	longest[255] = '\0';
	add_file(&body, "main.py", "mine");
	add_file(&body, "-rf", "");
	add_file(&body, ".hidden", "");
	add_file(&body, "R\xc3\xa9sum\xc3\xa9 \xe2\x80\x93 \xf0\x9f\x90\x8d (1).txt", "");
	add_file(&body, "a\"b'c", "");
	add_file(&body, longest, "");
	form_part(&body, "; name=\"f\"; filename=\"x\"; filename*=UTF-8''%e2%82%ac%20rates", "", 0);
	form_field(&body, "code",
		   "import os\nfor n in sorted(os.listdir()): print(ascii(n))\n"
		   "print(__file__.split('/')[-1], open('main.py').read())");
	form_end(&body);
	strbuf_addf(&want,
		    "'-rf'\n'.hidden'\n'R\\xe9sum\\xe9 \\u2013 \\U0001f40d (1).txt'\n"
		    "'__main__.py'\n'a\"b\\'c'\n'main.py'\n'%s'\n'\\u20ac rates'\n"
		    "__main__.py mine\n",
		    longest);
	run(&body, want.buf, &a);
	uploads_want_nothing(&svc);
}
END_TEST

START_TEST(the_last_of_one_name_wins)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	add_file(&body, "x", "first, which is longer");
	form_field(&body, "code", "print(open('x').read())");
	add_file(&body, "x", "second");
	form_end(&body);
	run(&body, "second\n", &a);
	uploads_want_nothing(&svc);
}
END_TEST

/* C17 */
START_TEST(one_name_in_two_requests)
{
	static const struct {
		const char *content, *want;
	} rows[] = {
		{ "A", "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd\n" },
		{ "B", "df7e70e5021544f4834bbee64a9e3789febc4be81470df629cad6ddb03320a5c\n" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO(strbuf) body = STRBUF(1 << 16);
		add_file(&body, "image.png", rows[i].content);
		form_field(&body, "code", HASH("image.png"));
		form_end(&body);
		run(&body, rows[i].want, &a);
	}
	uploads_want_nothing(&svc);
}
END_TEST

Suite *suite_form(void)
{
	Suite *s = suite_create("form");
	TCase *tc = tcase_create("form");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, all_there_is_in_one_request);
	tcase_add_test(tc, as_a_page_sends_it);
	tcase_add_test(tc, a_page_for_what_is_wrong);
	tcase_add_test(tc, a_large_file);
	tcase_add_test(tc, a_file_over_the_cap);
	tcase_add_test(tc, refusals_leave_nothing);
	tcase_add_loop_test(tc, a_failing_program_leaves_nothing, 0, 3);
	tcase_add_test(tc, a_client_that_leaves_while_it_runs);
	tcase_add_test(tc, a_body_that_breaks_off);
	tcase_add_test(tc, names_come_through);
	tcase_add_test(tc, the_last_of_one_name_wins);
	tcase_add_test(tc, one_name_in_two_requests);
	suite_add_tcase(s, tc);
	return s;
}
