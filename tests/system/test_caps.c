/*
 * Sizes over their caps, paths, methods and content types that don't exist, lengths that lie,
 * connections that break: the right answer, and the same workers before and after.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "input.h"
#include "suites.h"
#include "support/answer.h"
#include "support/fcgi.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* One member that repeats a byte n times. */
static void post_long(const char *before, char byte, size_t n, const char *after,
		      struct answer *out)
{
	AUTO(strbuf) body = STRBUF(64 << 20);
	AUTO_FREE char *fat = xmalloc(n + 1);
	memset(fat, byte, n);
	strbuf_addstr(&body, before);
	strbuf_add(&body, fat, n);
	strbuf_addstr(&body, after);
	input_post(body.buf, body.len, out);
}

START_TEST(ten_megabytes_of_code)
{
	AUTO(answer) a = ANSWER_INIT;
	post_long("{\"code\":\"", '#', 10 << 20, "\"}", &a);
	input_want_error(&a, 413, "too_large");
	WANT_IN(&a, "error.message", "8388608");
}
END_TEST

START_TEST(code_over_its_own_cap)
{
	AUTO(answer) a = ANSWER_INIT;
	post_long("{\"code\":\"", '#', 5 << 20, "\"}", &a);
	input_want_error(&a, 413, "too_large");
	WANT_IN(&a, "error.message", "code");
	WANT_IN(&a, "error.message", "4194304");
}
END_TEST

START_TEST(lists_over_their_caps)
{
	static const char *const heads[] = {
		"{\"code\":\"\",\"argv\":[\"a\"",
		"{\"code\":\"\",\"files\":[{\"path\":\"a\",\"content\":\"\"}"
	};
	static const char *const items[] = { ",\"a\"", ",{\"path\":\"a\",\"content\":\"\"}" };
	static const char *const names[] = { "argv", "files" };
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 20);
	strbuf_addstr(&body, heads[_i]);
	for (int i = 0; i < 256; i++)
		strbuf_addstr(&body, items[_i]);
	strbuf_addstr(&body, "]}");
	input_post(body.buf, body.len, &a);
	input_want_error(&a, 422, "invalid_field");
	input_want_named(&a, names[_i]);
	WANT(&a, strstr(a.body.buf, "256") != NULL);
}
END_TEST

START_TEST(argv_and_args_over_their_caps)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	AUTO(answer) c = ANSWER_INIT;
	post_long("{\"code\":\"\",\"argv\":[\"", 'x', 200 << 10, "\"]}", &a);
	WANT(&a, a.status == 422 || a.status == 413);
	input_want_named(&a, "argv");
	post_long("{\"code\":\"\",\"args\":\"", 'x', 2 << 20, "\"}", &b);
	WANT(&b, b.status == 422 || b.status == 413);
	input_want_named(&b, "args");
	post_long("{\"code\":\"\",\"env\":{\"A\":\"", 'x', 100 << 10, "\"}}", &c);
	WANT(&c, c.status == 422 || c.status == 413);
	input_want_named(&c, "env");
}
END_TEST

struct http_row {
	const char *method, *uri, *type, *body;
	int status;
	const char *code;
};

static const struct http_row http_rows[] = {
	{ "GET", "/", NULL, NULL, 404, "not_found" },
	{ "GET", "/v1/nothing", NULL, NULL, 404, "not_found" },
	{ "GET", "/v1/execute", NULL, NULL, 405, "method_not_allowed" },
	{ "DELETE", "/v1/execute", NULL, NULL, 405, "method_not_allowed" },
	{ "BREW", "/health", NULL, NULL, 405, "method_not_allowed" },
	{ "POST", "/health", NULL, "{}", 405, "method_not_allowed" },
	{ "POST", "/v1/execute", "text/plain", "{\"code\":\"\"}", 415, "unsupported_media_type" },
	{ "POST", "/v1/execute", "application/xml", "<a/>", 415, "unsupported_media_type" },
	{ "GET", "/a/../health", NULL, NULL, 400, "bad_request" },
	{ "GET", "/%00", NULL, NULL, 400, "bad_request" },
	{ "GET", "/%ff", NULL, NULL, 400, "bad_request" },
	{ "GET", "/%zz", NULL, NULL, 400, "bad_request" },
	{ "GET", "health", NULL, NULL, 400, "bad_request" },
};

START_TEST(paths_methods_and_types)
{
	const struct http_row *r = &http_rows[_i];
	AUTO(answer) a = ANSWER_INIT;
	fcgi_call(input_service.fcgi,
		  &(struct fcgi_request){ .method = r->method,
					  .uri = r->uri,
					  .type = r->type,
					  .body = r->body,
					  .len = r->body ? strlen(r->body) : 0 },
		  &a, 60000);
	input_want_error(&a, r->status, r->code);
	if (r->status == 405)
		WANT(&a, answer_header(&a, "Allow") && strlen(answer_header(&a, "Allow")) > 2);
}
END_TEST

START_TEST(lengths_that_lie)
{
	static const char body[] = "{\"code\":\"print(1)\"}";
	static const char *const lengths[] = { "1000", "-1", "x", "99999999999999999999" };
	AUTO(answer) a = ANSWER_INIT;
	fcgi_call(input_service.fcgi,
		  &(struct fcgi_request){ .uri = "/v1/execute",
					  .body = body,
					  .len = sizeof(body) - 1,
					  .length = lengths[_i] },
		  &a, 60000);
	WANT(&a, a.status >= 400 && a.status < 500);
	input_want_workers();
}
END_TEST

/* A connection that speaks no FastCGI, or stops in the middle, costs nobody else anything. */
START_TEST(broken_connections)
{
	static const char junk[][16] = { "GET / HTTP/1.1", "\1\1\0\1\377\377\0", "\0\0\0\0\0\0\0",
					 "\1\4\0\1\0\10\0\0\377\377\377\377" };
	for (size_t i = 0; i < 4 * ARRAY_SIZE(junk); i++) {
		struct err err = ERR_INIT;
		AUTO_CLOSE int fd = io_unix_connect(input_service.fcgi, SOCK_STREAM,
						    clock_ms() + TOOL_WAIT_MS, &err);
		ck_assert(fd >= 0);
		(void)send(fd, junk[i % ARRAY_SIZE(junk)], sizeof(junk[0]), MSG_NOSIGNAL);
	}
	/* A request whose client goes in the middle of its body. */
	struct fcgi f;
	fcgi_start(&f, input_service.fcgi,
		   &(struct fcgi_request){
			   .uri = "/v1/execute", .body = "{", .len = 1, .length = "500" });
	fcgi_drop(&f);
	AUTO(answer) a = ANSWER_INIT;
	service_call(&input_service, "GET", "/health", NULL, &a);
	WANT_STATUS(&a, 200);
	input_want_workers();
}
END_TEST

Suite *suite_caps(void)
{
	Suite *s = suite_create("caps");
	TCase *tc = tcase_create("caps");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, input_setup, input_teardown);
	tcase_add_test(tc, ten_megabytes_of_code);
	tcase_add_test(tc, code_over_its_own_cap);
	tcase_add_loop_test(tc, lists_over_their_caps, 0, 2);
	tcase_add_test(tc, argv_and_args_over_their_caps);
	tcase_add_loop_test(tc, paths_methods_and_types, 0, (int)ARRAY_SIZE(http_rows));
	tcase_add_loop_test(tc, lengths_that_lie, 0, 4);
	tcase_add_test(tc, broken_connections);
	suite_add_tcase(s, tc);
	return s;
}
