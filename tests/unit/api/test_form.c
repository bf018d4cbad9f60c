/* POST /v1/execute as a form: what becomes of each field and file, what is refused, and that the
 * store is as empty after each request as it was before. */
#include "api/api.h"
#include "base/alloc.h"
#include "base/strbuf.h"
#include "conf.h"
#include "unit/api/api_fixture.h"
#include "unit/api/keeper_script.h"
#include "unit/box/guest_script.h"
#include "unit/suites.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TYPE "multipart/form-data; boundary=XX"
#define FIELD(name, value)                                                                         \
	"--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define FILE_PART(name, value)                                                                     \
	"--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" name "\"\r\n"         \
	"Content-Type: application/octet-stream\r\n\r\n" value "\r\n"
#define END "--XX--\r\n"
#define CODE FIELD("code", "c")

static int contents;

static int count_content(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	contents += type == FTW_F && strcmp(path + at->base, "content") == 0;
	return 0;
}

static int stored(void)
{
	contents = 0;
	ck_assert_int_eq(nftw(conf->storage_dir, count_content, 8, FTW_PHYS), 0);
	return contents;
}

static void teardown(void)
{
	ck_assert_int_eq(stored(), 0);
	api_fixture_teardown();
}

/* The fixture once more, with a setting. */
static void set_again(const char *key, const char *value)
{
	api_fixture_teardown();
	setenv(key, value, 1);
	api_fixture_setup();
}

static struct strbuf said;

static void say_path(const uint8_t *data, size_t len)
{
	struct frame_in in = { .buf = data, .len = len, .ok = true };
	uint32_t path_len;
	const char *path = frame_get_field(&in, &path_len);

	strbuf_addf(&said, "[%.*s]", (int)path_len, path);
}

static void say_words(const char *name, const char *words, uint32_t len)
{
	strbuf_addf(&said, " %s=", name);
	for (uint32_t i = 0; i < len; i++)
		strbuf_addch(&said, words[i] ? words[i] : '|');
}

static void say_job(const uint8_t *data, size_t len)
{
	struct frame_job job;

	if (!frame_get_job(data, len, &job))
		_exit(4);
	strbuf_addf(&said, "%u %u", job.timeout_ms, job.show_last);
	say_words("args", job.args, job.args_len);
	say_words("argv", job.argv, job.argv_len);
	say_words("env", job.env, job.env_len);
	strbuf_addch(&said, ' ');
}

/* Says back all it hears: the job, each file's path and content, and at the end stdin. */
static void parrot(int fd)
{
	const uint8_t *data;
	size_t len;
	int type;

	strbuf_init(&said, 60000);
	while ((type = guest_hear(fd, &data, &len)) != FRAME_GO) {
		if (type == FRAME_JOB)
			say_job(data, len);
		else if (type == FRAME_PUT)
			say_path(data, len);
		else if (type == FRAME_DATA)
			strbuf_add(&said, data, len);
	}
	guest_say(fd, FRAME_STARTED, NULL, 0);
	guest_say_room(fd, 4096);
	strbuf_addstr(&said, " stdin=");
	while ((type = guest_hear(fd, &data, &len)) == FRAME_STDIN)
		strbuf_add(&said, data, len);
	guest_say(fd, FRAME_STDOUT, said.buf, said.len);
	guest_say_ok(fd, said.len, 0);
	api_guest_bye(fd);
}

static int send_form(const char *body, size_t len)
{
	static const struct lease_status well = {
		.magic = LEASE_MAGIC, .running = 1, .image_exists = 1, .limits_ok = 1
	};

	keeper_stop();
	keeper_start(&well, parrot);
	return api_send(&(struct api_request){
		.path = "/v1/execute", .type = TYPE, .body = body, .len = len });
}

static void says(const char *body, const char *want)
{
	int status = send_form(body, strlen(body));

	ck_assert_msg(status == 200, "%s: %d %s", body, status, api_fixture.err.text);
	ck_assert_msg(strstr(api_text("stdout"), want), "%s\nwanted in\n%s", want,
		      api_text("stdout"));
	ck_assert_int_eq(stored(), 0);
}

START_TEST(takes_every_kind_of_field)
{
	says(FIELD("argv", "-x") FIELD("limits", "{\"cpus\": 0.5, \"pids\": 9}") FIELD(
		     "stdin", "in") FIELD("args", " {\"n\": 1e400, \"u\":\"\xc3\xa9\"}")
		     FILE_PART("a.bin", "A\r\nB") FIELD("env", "{\"A\":\"1\"}")
			     FIELD("timeout_ms", "77") FIELD("argv", "a b") FIELD(
				     "last_line_interactive", "false") FIELD("language", "python")
				     FIELD("files", "[{\"path\":\"d/"
						    "x\",\"content\":\"1\"}]")
					     FIELD("code", "print('\xe2\x82\xac')") END,
	     "77 0 args= {\"n\": 1e400, \"u\":\"\xc3\xa9\"} argv=-x|a b| env=A=1| "
	     "[main.py]print('\xe2\x82\xac')[d/x]1[a.bin]A\r\nB stdin=in");
	ck_assert_uint_eq(keeper_limits().cpu_milli, 500);
	ck_assert_uint_eq(keeper_limits().pids, 9);
	says(FIELD("encoding", "text") CODE END, "[main.py]c stdin=");
}
END_TEST

static const struct {
	const char *body, *want;
} rows[] = {
	/* Line breaks as a text area sends them, and as nothing but a file can have them. */
	{ FIELD("code", "a\r\n\r\nb\r\n") FIELD("stdin", "1\r\n2") END,
	  "[main.py]a\n\nb\n stdin=1\n2" },
	{ FIELD("code", "a\r\nb\nc") END, "[main.py]a\r\nb\nc stdin=" },
	{ FIELD("code", "a\rb\r\n") END, "[main.py]a\rb\r\n stdin=" },
	{ FIELD("code", "a\r\n\r") END, "[main.py]a\r\n\r stdin=" },
	{ CODE FIELD("args", "[1,\r\n2]") END, "args=[1,\r\n2] " },
	{ CODE FIELD("argv", "a\r\nb") END, "argv=a\r\nb| " },
	/* What a page sends for what nobody has filled in. */
	{ FIELD("language", "") CODE FIELD("stdin", "") FILE_PART("", "") FIELD("timeout_ms", "")
		  FIELD("args", "") FIELD("argv", "") FIELD("limits", "") FIELD("session_id", "")
			  FIELD("last_line_interactive", "") END,
	  "10000 1 args= argv= env= [main.py]c stdin=" },
	{ FIELD("code", "") END, "[main.py] stdin=" },
	{ CODE FIELD("timeout_ms", "") FIELD("timeout_ms", "5") END, "5 1 " },
	/* Boxes. */
	{ CODE FIELD("last_line_interactive", "on") END, " 1 args=" },
	{ CODE FIELD("last_line_interactive", "off") END, " 0 args=" },
	{ CODE FIELD("last_line_interactive", "true") END, " 1 args=" },
	/* JSON that is no object. */
	{ CODE FIELD("args", "null") FIELD("limits", "null") END, " args= argv=" },
	{ CODE FIELD("args", "\"x\"") END, " args=\"x\" argv=" },
	{ CODE FIELD("args", "123456789012345678901234567890") END,
	  " args=123456789012345678901234567890 " },
	{ CODE FIELD("timeout_ms", " 5 ") END, "5 1 " },
	/* Arguments: one for each field, or a list. */
	{ CODE FIELD("argv", "5") FIELD("argv", "{}") FIELD("argv", "5") END, "argv=5|{}|5| " },
	{ CODE FIELD("argv", "a") FIELD("argv", "[\"\", \"[b\"]") FIELD("argv", "c") END,
	  "argv=a||[b|c| " },
	{ CODE FIELD("argv", "[]") END, "argv= " },
	/* Files: their bytes, the last of a name, names that mean something. */
	{ CODE FILE_PART("a", "1") FILE_PART("b", "2") FILE_PART("a", "33") END,
	  "[main.py]c[a]33[b]2 stdin=" },
	{ FILE_PART("main.py", "mine") CODE END, "[__main__.py]c[main.py]mine stdin=" },
	{ CODE FILE_PART("empty", "") END, "[main.py]c[empty] stdin=" },
	{ CODE FILE_PART("-rf", "1") FILE_PART(".x", "2") FILE_PART("...", "3")
		  FILE_PART("a b\xc3\xa9%22'\\\\", "4") END,
	  "[-rf]1[.x]2[...]3[a b\xc3\xa9\"'\\]4 " },
	{ CODE FIELD("files", "[{\"path\":\"a\",\"content\":\"1\"}]") FILE_PART("a", "2") END,
	  "[main.py]c[a]2 stdin=" },
	{ CODE
	  "--XX\r\nContent-Disposition: form-data; name=code; filename=\"p.py\"\r\n\r\nx\r\n" END,
	  "[main.py]c[p.py]x " },
};

START_TEST(takes_forms)
{
	says(rows[_i].body, rows[_i].want);
}
END_TEST

START_TEST(lists_what_it_does_not_know)
{
	says(FIELD("submit", "Run") FIELD("co/de", "\xff") FIELD("submit", "again")
		     CODE FILE_PART("a", "1") END,
	     "[main.py]c[a]1 ");
	ck_assert_uint_eq(json_object_array_length(api_at("ignored")), 2);
	ck_assert_str_eq(api_text("ignored.0"), "submit");
	ck_assert_str_eq(api_text("ignored.1"), "co~1de");
}
END_TEST

struct refusal {
	int status;
	const char *code, *names; /* names: part of error.message */
	const char *body;
};

static const struct refusal refusals[] = {
	{ 400, "bad_multipart", "boundary", "" },
	{ 400, "bad_multipart", "boundary", "{\"code\":\"1\"}" },
	{ 400, "bad_multipart", "closing boundary", CODE },
	{ 400, "bad_multipart", "closing boundary", CODE FILE_PART("a", "1") "--XX" },
	{ 400, "bad_multipart", "no name",
	  FILE_PART("a", "1") "--XX\r\nContent-Disposition: form-data\r\n\r\n" END },
	{ 400, "bad_file_name", "no name", FILE_PART("a", "1") FILE_PART("", "x") CODE END },
	{ 400, "bad_file_name", "", FILE_PART("a", "1") FILE_PART("../x", "x") CODE END },
	{ 400, "bad_file_name", "", FILE_PART("..", "x") CODE END },
	{ 422, "invalid_field", "/code: Field required", END },
	{ 422, "invalid_field", "/code: Field required", FILE_PART("a", "1") END },
	{ 422, "invalid_field", "/code: Input should be valid UTF-8", FIELD("code", "\xff") END },
	{ 422, "invalid_field", "/stdin: Input should be valid UTF-8",
	  FILE_PART("a", "1") CODE FIELD("stdin", "\xc3") END },
	{ 422, "invalid_field", "/code: The form has this field twice", CODE CODE END },
	{ 422, "invalid_field", "/limits: The form has this field twice",
	  CODE FIELD("limits", "null") FIELD("limits", "{}") END },
	{ 422, "invalid_field", "/timeout_ms: Input should be a valid integer",
	  CODE FIELD("timeout_ms", "soon") END },
	{ 422, "invalid_field", "/timeout_ms: Input should be a valid integer",
	  CODE FIELD("timeout_ms", "1.5") END },
	{ 422, "invalid_field", "/timeout_ms: Input should be a valid integer",
	  CODE FIELD("timeout_ms", "true") END },
	{ 422, "invalid_field", "/timeout_ms", CODE FIELD("timeout_ms", "0") END },
	{ 422, "invalid_field", "maximum of 60000", CODE FIELD("timeout_ms", "60001") END },
	{ 422, "invalid_field", "/last_line_interactive: Input should be a valid boolean",
	  CODE FIELD("last_line_interactive", "1") END },
	{ 422, "invalid_field", "/args: Not valid JSON at byte 0",
	  CODE FIELD("args", "hello") END },
	{ 422, "invalid_field", "/limits: Not valid JSON", CODE FIELD("limits", "{") END },
	{ 422, "invalid_field", "/limits", CODE FIELD("limits", "[]") END },
	{ 422, "invalid_field", "/env", CODE FIELD("env", "{\"A\":1}") END },
	{ 422, "invalid_field", "/files: Not valid JSON", CODE FIELD("files", "a.txt") END },
	{ 422, "invalid_field", "/files/0/path", CODE FIELD("files", "[{}]") END },
	{ 422, "invalid_field", "/argv: Not valid JSON", CODE FIELD("argv", "[x]") END },
	{ 422, "invalid_field", "/argv/1", CODE FIELD("argv", "a") FIELD("argv", "[1]") END },
	{ 422, "not_available", "ruby", CODE FIELD("language", "ruby") END },
	{ 422, "not_available", "/session_id", CODE FIELD("session_id", "x") END },
};

START_TEST(refuses)
{
	const struct refusal *r = &refusals[_i];
	int status = send_form(r->body, strlen(r->body));

	ck_assert_msg(status == r->status, "%s: %d %s", r->body, status, api_fixture.err.text);
	ck_assert_str_eq(api_text("error.code"), r->code);
	ck_assert_msg(strstr(api_text("error.message"), r->names), "%s: %s", r->body,
		      api_fixture.err.text);
	if (r->names[0] == '/')
		ck_assert_str_eq(api_text("detail.0.loc.0"), "body");
}
END_TEST

START_TEST(refuses_nul_where_json_would)
{
	static const char code[] = FIELD("code", "a\0b") END;
	static const char stdin_text[] = CODE FIELD("stdin", "a\0b") END;
	static const char box[] = CODE FIELD("last_line_interactive", "on\0") END;

	ck_assert_int_eq(send_form(code, sizeof(code) - 1), 422);
	ck_assert_str_eq(api_text("detail.0.loc.1"), "code");
	ck_assert_int_eq(send_form(box, sizeof(box) - 1), 422);
	ck_assert_int_eq(send_form(stdin_text, sizeof(stdin_text) - 1), 200);
	ck_assert_int_eq(
		json_object_get_string_len(api_at("stdout")) - (int)strlen(api_text("stdout")), 2);
}
END_TEST

/* A form whose part in the middle is `fill` bytes. */
static int send_long(const char *head, size_t fill, const char *tail)
{
	AUTO(strbuf) body = STRBUF(64 << 20);

	strbuf_addstr(&body, head);
	for (size_t i = 0; i < fill; i++)
		strbuf_addch(&body, 'A');
	strbuf_addstr(&body, tail);
	return send_form(body.buf, body.len);
}

#define OPEN_FILE(name) "--XX\r\nContent-Disposition: form-data; name=f; filename=" name "\r\n\r\n"
#define OPEN_FIELD(name) "--XX\r\nContent-Disposition: form-data; name=" name "\r\n\r\n"

static void want_refusal(int status, int want, const char *names)
{
	ck_assert_msg(status == want, "%d %s", status, api_fixture.err.text);
	ck_assert_msg(strstr(api_text("error.message"), names), "%s", api_fixture.err.text);
	ck_assert_int_eq(stored(), 0);
}

START_TEST(bounds_a_file)
{
	set_again("MAX_FILE_SIZE_MB", "1");
	ck_assert_int_eq(send_long(CODE OPEN_FILE("a"), 1 << 20, "\r\n" END), 200);
	want_refusal(send_long(CODE OPEN_FILE("a"), (1 << 20) + 1, "\r\n" END), 413,
		     "MAX_FILE_SIZE_MB");
}
END_TEST

START_TEST(bounds_all_fields_together)
{
	set_again("MAX_REQUEST_BYTES", "1024");
	ck_assert_int_eq(send_long(CODE OPEN_FIELD("x"), 1023, "\r\n" END), 200);
	want_refusal(send_long(CODE OPEN_FIELD("x"), 1024, "\r\n" END), 413, "MAX_REQUEST_BYTES");
	want_refusal(send_long(CODE OPEN_FIELD("stdin"), 1024, "\r\n" END), 413,
		     "MAX_REQUEST_BYTES");
	/* Files are no fields. */
	ck_assert_int_eq(send_long(CODE OPEN_FILE("a"), 5000, "\r\n" END), 200);
}
END_TEST

START_TEST(bounds_the_body)
{
	set_again("MAX_FILE_SIZE_MB", "1");
	set_again("MAX_UPLOAD_MB", "2");
	want_refusal(send_long(CODE FILE_PART("a", "1") END, 2 << 20, ""), 413, "MAX_UPLOAD_MB");
}
END_TEST

START_TEST(bounds_the_values_of_all_json)
{
	AUTO(strbuf) body = STRBUF(8 << 20);

	for (int i = 0; i < 2; i++) {
		strbuf_addstr(&body, OPEN_FIELD("argv") "[0");
		for (int n = 0; n < LIMIT_JSON_VALUES / 2; n++)
			strbuf_addstr(&body, ",0");
		strbuf_addstr(&body, "]\r\n");
	}
	strbuf_addstr(&body, CODE END);
	want_refusal(send_form(body.buf, body.len), 413, "JSON values together");
}
END_TEST

static void add_files(struct strbuf *body, int count)
{
	for (int i = 0; i < count; i++)
		strbuf_addf(body, OPEN_FILE("f%d") "%d\r\n", i, i);
}

START_TEST(bounds_the_number_of_files)
{
	AUTO(strbuf) full = STRBUF(1 << 20);
	AUTO(strbuf) over = STRBUF(1 << 20);

	strbuf_addstr(&full, CODE);
	add_files(&full, LIMIT_FILES);
	strbuf_addstr(&over, full.buf);
	strbuf_addstr(&full, OPEN_FILE("f7") "again\r\n" END);
	ck_assert_int_eq(send_form(full.buf, full.len), 200);
	ck_assert(strstr(api_text("stdout"), "[f7]again") &&
		  strstr(api_text("stdout"), "[f255]255"));
	strbuf_addstr(&over, OPEN_FILE("more") "\r\n" END);
	want_refusal(send_form(over.buf, over.len), 413, "more than 256 files");
	strbuf_reset(&over);
	add_files(&over, LIMIT_FILES);
	strbuf_addstr(&over, CODE FIELD("files", "[{\"path\":\"one\",\"content\":\"\"}]") END);
	want_refusal(send_form(over.buf, over.len), 422, "there are 257, the limit is 256");
}
END_TEST

START_TEST(keeps_to_the_rules_of_the_store)
{
	set_again("UPLOAD_DENY", "image/*");
	want_refusal(send_long(CODE FILE_PART("b", "text") OPEN_FILE("a.txt"), 0,
			       "GIF89a\x01\x01\x01\x01\x80 \r\n" END),
		     415, "image/gif");
	set_again("MAX_FILE_SIZE_MB", "1");
	set_again("FILES_QUOTA_MB", "1");
	want_refusal(send_long(CODE OPEN_FILE("a"), 1 << 20, "\r\n" FILE_PART("b", "1") END), 507,
		     "");
	/* The earlier of two of one name has given its room back. */
	ck_assert_int_eq(send_long(CODE OPEN_FILE("a"), 1 << 20, "\r\n" FILE_PART("a", "1") END),
			 200);
	ck_assert(strstr(api_text("stdout"), "[main.py]c[a]1 "));
}
END_TEST

START_TEST(leaves_nothing_of_a_body_that_breaks_off)
{
	static const char body[] = CODE FILE_PART("a", "1") OPEN_FILE("b") "half";

	ck_assert_int_eq(api_send(&(struct api_request){ .path = "/v1/execute",
							 .type = TYPE,
							 .body = body,
							 .len = sizeof(body) - 1,
							 .length = "5000" }),
			 400);
	ck_assert_str_eq(api_text("error.code"), "bad_request");
	ck_assert_int_eq(stored(), 0);
}
END_TEST

Suite *suite_api_form(void)
{
	Suite *s = suite_create("api/form");
	TCase *t = tcase_create("form");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, api_fixture_setup, teardown);
	tcase_add_test(t, takes_every_kind_of_field);
	tcase_add_loop_test(t, takes_forms, 0, ARRAY_SIZE(rows));
	tcase_add_test(t, lists_what_it_does_not_know);
	tcase_add_loop_test(t, refuses, 0, ARRAY_SIZE(refusals));
	tcase_add_test(t, refuses_nul_where_json_would);
	tcase_add_test(t, bounds_a_file);
	tcase_add_test(t, bounds_all_fields_together);
	tcase_add_test(t, bounds_the_body);
	tcase_add_test(t, bounds_the_values_of_all_json);
	tcase_add_test(t, bounds_the_number_of_files);
	tcase_add_test(t, keeps_to_the_rules_of_the_store);
	tcase_add_test(t, leaves_nothing_of_a_body_that_breaks_off);
	suite_add_tcase(s, t);
	return s;
}
