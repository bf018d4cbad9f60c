/*
 * Bad input: each gets the right 4xx in the service's one error form, naming the field, and the
 * workers live on (the same pids before and after). No container is made. Sizes, paths and broken
 * connections are test_caps.c's.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "input.h"
#include "suites.h"
#include "support/answer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct raw_row {
	const char *body;
	size_t len; /* 0: strlen */
	int status;
	const char *code;
};

#define BODY(text) text, sizeof(text) - 1

static const struct raw_row raw_rows[] = {
	{ "", 0, 400, "bad_json" },
	{ "hello", 0, 400, "bad_json" },
	{ "{", 0, 400, "bad_json" },
	{ "{\"code\"", 0, 400, "bad_json" },
	{ "{\"code\":\"print(1)\"", 0, 400, "bad_json" },
	{ "{\"code\":\"print(1)", 0, 400, "bad_json" },
	{ "{\"code\":\"1\"} x", 0, 400, "bad_json" },
	{ "{\"code\":\"1\"}{}", 0, 400, "bad_json" },
	{ "{'code':'1'}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"code\":\"2\"}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"c\\u006fde\":\"2\"}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":{\"a\":1,\"a\":2}}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":NaN}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":Infinity}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":-Infinity}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":01}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":.5}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":1.}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":+1}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\",\"args\":TRUE}", 0, 400, "bad_json" },
	{ "{\"code\":\"1\"/*c*/}", 0, 400, "bad_json" },
	{ "{\"code\":\"a\nb\"}", 0, 400, "bad_json" },
	{ "{\"code\":\"\\ud800\"}", 0, 400, "bad_json" },
	{ "{\"code\":\"\\q\"}", 0, 400, "bad_json" },
	{ "{\"code\":\"\xff\"}", 0, 400, "bad_json" },
	{ "{\"code\":\"\xc0\x80\"}", 0, 400, "bad_json" },
	{ "{\"code\":\"\xed\xa0\x80\"}", 0, 400, "bad_json" },
	{ "\xef\xbb\xbf{\"code\":\"1\"}", 0, 400, "bad_json" },
	{ BODY("{\"code\":\"1\"}\0"), 400, "bad_json" },
	{ BODY("{\"code\":\"1\0\"}"), 400, "bad_json" },
	{ "[]", 0, 422, "invalid_field" },
	{ "null", 0, 422, "invalid_field" },
	{ "\"x\"", 0, 422, "invalid_field" },
	{ "{}", 0, 422, "invalid_field" },
	{ "{\"code\":\"a\\u0000b\"}", 0, 422, "invalid_field" },
	{ "{\"code\":\"1\",\"argv\":[\"a\\u0000b\"]}", 0, 422, "invalid_field" },
	{ "{\"code\":\"1\",\"env\":{\"A\":\"a\\u0000b\"}}", 0, 422, "invalid_field" },
	{ "{\"code\":\"1\",\"env\":{\"A\\u0000\":\"b\"}}", 0, 400, "bad_json" },
};

START_TEST(raw_bodies)
{
	const struct raw_row *r = &raw_rows[_i];
	AUTO(answer) a = ANSWER_INIT;
	input_post(r->body, r->len ? r->len : strlen(r->body), &a);
	input_want_error(&a, r->status, r->code);
}
END_TEST

static const char *const deep_units[][2] = { { "[", "]" }, { "{\"a\":", "}" } };

START_TEST(deep_nesting)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(16 << 20);
	strbuf_addstr(&body, "{\"code\":\"1\",\"args\":");
	for (int i = 0; i < 100000; i++)
		strbuf_addstr(&body, deep_units[_i][0]);
	strbuf_addstr(&body, "1");
	for (int i = 0; i < 100000; i++)
		strbuf_addstr(&body, deep_units[_i][1]);
	strbuf_addstr(&body, "}");
	input_post(body.buf, body.len, &a);
	input_want_error(&a, 400, "bad_json");
	WANT_IN(&a, "error.message", "64");
}
END_TEST

/* A list of problems has pydantic's shape. */
static void want_problem_shape(const struct answer *a)
{
	struct json_object *list = answer_get(a, "detail");
	if (!json_object_is_type(list, json_type_array))
		return;
	WANT(a, json_object_array_length(list) > 0);
	WANT_IN(a, "detail.0.type", "");
	WANT_IN(a, "detail.0.msg", "");
	WANT_STR(a, "detail.0.loc.0", "body");
}

struct field_row {
	const char *path;  /* "%s" of it is the value */
	const char *takes; /* which of the letters below are right for it */
	const char *over;  /* a value over its range, NULL: none */
	const char *named;
};

/* s string, i integer, d fraction, b bool, n null, l list, o object */
static const struct field_row field_rows[] = {
	{ "{\"code\":%s}", "s", NULL, "code" },
	{ "{\"code\":\"\",\"stdin\":%s}", "sn", NULL, "stdin" },
	{ "{\"code\":\"\",\"timeout_ms\":%s}", "i", "60001", "timeout_ms" },
	{ "{\"code\":\"\",\"timeout_ms\":%s}", "i", "0", "timeout_ms" },
	{ "{\"code\":\"\",\"timeout_ms\":%s}", "i", "-1", "timeout_ms" },
	{ "{\"code\":\"\",\"timeout_ms\":%s}", "i", "99999999999999999999", "timeout_ms" },
	{ "{\"code\":\"\",\"last_line_interactive\":%s}", "b", NULL, "last_line_interactive" },
	{ "{\"code\":\"\",\"files\":%s}", "ln", NULL, "files" },
	{ "{\"code\":\"\",\"files\":[%s]}", "", NULL, "files" },
	{ "{\"code\":\"\",\"files\":[{\"path\":%s,\"content\":\"\"}]}", "s", "\"/abs\"", "path" },
	{ "{\"code\":\"\",\"files\":[{\"path\":\"a\",\"content\":%s}]}", "s", NULL, "content" },
	{ "{\"code\":\"\",\"files\":[{\"path\":\"a\",\"content_base64\":%s}]}", "", "\"x\"",
	  "content_base64" },
	{ "{\"code\":\"\",\"files\":[{\"path\":\"a\",\"file_id\":%s}]}", "s", NULL, "file_id" },
	{ "{\"code\":\"\",\"argv\":%s}", "ln", NULL, "argv" },
	{ "{\"code\":\"\",\"argv\":[%s]}", "s", NULL, "argv" },
	{ "{\"code\":\"\",\"env\":%s}", "on", NULL, "env" },
	{ "{\"code\":\"\",\"env\":{\"A\":%s}}", "s", NULL, "env" },
	{ "{\"code\":\"\",\"encoding\":%s}", "n", "\"utf-16\"", "encoding" },
	{ "{\"code\":\"\",\"language\":%s}", "n", "\"cobol\"", "language" },
	{ "{\"code\":\"\",\"version\":%s}", "n", "\"2.7\"", "version" },
	{ "{\"code\":\"\",\"network\":%s}", "n", "\"full\"", "network" },
	{ "{\"code\":\"\",\"limits\":%s}", "on", NULL, "limits" },
	{ "{\"code\":\"\",\"limits\":{\"memory_mb\":%s}}", "i", "999999", "memory_mb" },
	{ "{\"code\":\"\",\"limits\":{\"memory_mb\":%s}}", "i", "1", "memory_mb" },
	{ "{\"code\":\"\",\"limits\":{\"cpus\":%s}}", "id", "1000", "cpus" },
	{ "{\"code\":\"\",\"limits\":{\"cpus\":%s}}", "id", "0", "cpus" },
	{ "{\"code\":\"\",\"limits\":{\"pids\":%s}}", "i", "100000", "pids" },
	{ "{\"code\":\"\",\"limits\":{\"pids\":%s}}", "i", "0", "pids" },
	{ "{\"code\":\"\",\"limits\":{\"disk_mb\":%s}}", "i", "999999", "disk_mb" },
	{ "{\"code\":\"\",\"limits\":{\"disk_mb\":%s}}", "i", "512", "disk_mb" },
	{ "{\"code\":\"\",\"limits\":{\"cpu_time_s\":%s}}", "i", "999999", "cpu_time_s" },
	{ "{\"code\":\"\",\"limits\":{\"output_bytes\":%s}}", "i", "1048577", "output_bytes" },
	{ "{\"code\":\"\",\"limits\":{\"output_bytes\":%s}}", "i", "-5", "output_bytes" },
};

static const struct {
	char letter;
	const char *json;
} values[] = { { 's', "\"5\"" }, { 'i', "5" },	  { 'd', "1.5" }, { 'd', "5.0" }, { 'd', "1e2" },
	       { 'b', "true" },	 { 'n', "null" }, { 'l', "[]" },  { 'o', "{}" } };

static char *fill(const char *path, const char *value)
{
	const char *at = strstr(path, "%s");
	return xasprintf("%.*s%s%s", (int)(at - path), path, value, at + 2);
}

START_TEST(wrong_types_of_every_field)
{
	const struct field_row *r = &field_rows[_i];
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (strchr(r->takes, values[i].letter))
			continue;
		AUTO(answer) a = ANSWER_INIT;
		AUTO_FREE char *body = fill(r->path, values[i].json);
		/* Right types with a wrong value are the other test's. */
		if (values[i].letter == 's' && r->over && r->over[0] == '"')
			continue;
		input_post(body, strlen(body), &a);
		if (a.status != 422)
			answer_fail(&a, __FILE__, __LINE__, "status %d for %s", a.status, body);
		input_want_error(&a, 422, "invalid_field");
		input_want_named(&a, r->named);
		want_problem_shape(&a);
	}
}
END_TEST

START_TEST(over_range_of_every_field)
{
	const struct field_row *r = &field_rows[_i];
	if (!r->over)
		return;
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body = fill(r->path, r->over);
	input_post(body, strlen(body), &a);
	WANT_STATUS(&a, 422);
	input_want_error(&a, 422, answer_str(&a, "error.code"));
	input_want_named(&a, r->named);
}
END_TEST

static const char *const later_fields[] = { "session_id", "image", "workspace" };

START_TEST(fields_of_later_versions)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body = xasprintf("{\"code\":\"\",\"%s\":\"x\"}", later_fields[_i]);
	input_post(body, strlen(body), &a);
	input_want_error(&a, 422, "not_available");
	input_want_named(&a, later_fields[_i]);
	WANT_IN(&a, "error.message", "not available");
}
END_TEST

static const char *const loader_names[] = { "LD_PRELOAD",   "LD_LIBRARY_PATH",
					    "PYTHONPATH",   "PYTHONSTARTUP",
					    "BELLJAR_ARGS", "PATH",
					    "A=B",	    "",
					    "BASH_ENV",	    "1A" };

START_TEST(names_that_change_the_loader)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body =
		xasprintf("{\"code\":\"\",\"env\":{\"%s\":\"x\"}}", loader_names[_i]);
	input_post(body, strlen(body), &a);
	WANT_STATUS(&a, 422);
	input_want_named(&a, "env");
}
END_TEST

START_TEST(all_problems_at_once)
{
	static const char body[] =
		"{\"code\":5,\"stdin\":5,\"timeout_ms\":\"x\",\"limits\":{\"pids\":\"y\"}}";
	AUTO(answer) a = ANSWER_INIT;
	input_post(body, sizeof(body) - 1, &a);
	input_want_error(&a, 422, "invalid_field");
	WANT(&a, json_object_array_length(answer_get(&a, "detail")) == 4);
	WANT_STR(&a, "detail.3.loc.0", "body");
	WANT_STR(&a, "detail.3.loc.1", "limits");
	WANT_STR(&a, "detail.3.loc.2", "pids");
	WANT_STR(&a, "detail.3.input", "y");
}
END_TEST

START_TEST(the_cap_on_time_is_named)
{
	static const char body[] = "{\"code\":\"\",\"timeout_ms\":60001}";
	AUTO(answer) a = ANSWER_INIT;
	input_post(body, sizeof(body) - 1, &a);
	input_want_error(&a, 422, "invalid_field");
	WANT_IN(&a, "detail", "60000");
}
END_TEST

Suite *suite_input(void)
{
	Suite *s = suite_create("input");
	TCase *tc = tcase_create("input");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, input_setup, input_teardown);
	tcase_add_loop_test(tc, raw_bodies, 0, (int)ARRAY_SIZE(raw_rows));
	tcase_add_loop_test(tc, deep_nesting, 0, 2);
	tcase_add_loop_test(tc, wrong_types_of_every_field, 0, (int)ARRAY_SIZE(field_rows));
	tcase_add_loop_test(tc, over_range_of_every_field, 0, (int)ARRAY_SIZE(field_rows));
	tcase_add_loop_test(tc, fields_of_later_versions, 0, (int)ARRAY_SIZE(later_fields));
	tcase_add_loop_test(tc, names_that_change_the_loader, 0, (int)ARRAY_SIZE(loader_names));
	tcase_add_test(tc, all_problems_at_once);
	tcase_add_test(tc, the_cap_on_time_is_named);
	suite_add_tcase(s, tc);
	return s;
}
