/* What POST /v1/execute refuses, by status and by what the message names; no keeper is there, so
 * nothing may get that far. */
#include "api/api.h"
#include "api/execute.h"
#include "conf.h"
#include "unit/api/api_fixture.h"
#include "unit/api/keeper_script.h"
#include "unit/suites.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void teardown(void)
{
	api_fixture_clear();
	keeper_stop();
	keeper_conf_clear();
}

struct refusal {
	int status;
	const char *names; /* part of error.message */
	const char *body;
};

#define CODE "{\"code\":\"\","
static const struct refusal refusals[] = {
	{ 400, "", "" },
	{ 400, "", "{" },
	{ 400, "", "{'code':''}" },
	{ 400, "", "{\"code\":NaN}" },
	{ 400, "", "{\"code\":\"\",\"code\":\"\"}" },
	{ 422, "object", "[]" },
	{ 422, "object", "\"code\"" },
	{ 422, "code", "{}" },
	{ 422, "code", "{\"code\":5}" },
	{ 422, "code", "{\"code\":null}" },
	{ 422, "code", "{\"code\":\"a\\u0000b\"}" },
	{ 422, "stdin", CODE "\"stdin\":1}" },
	{ 422, "timeout_ms", CODE "\"timeout_ms\":0}" },
	{ 422, "timeout_ms", CODE "\"timeout_ms\":\"5\"}" },
	{ 422, "timeout_ms", CODE "\"timeout_ms\":true}" },
	{ 422, "timeout_ms", CODE "\"timeout_ms\":1.0}" },
	{ 422, "timeout_ms", CODE "\"timeout_ms\":null}" },
	{ 422, "maximum of 60000", CODE "\"timeout_ms\":60001}" },
	{ 422, "timeout_ms", CODE "\"timeout_ms\":9223372036854775807}" },
	{ 422, "timeout_ms", CODE "\"timeout_ms\":99999999999999999999}" },
	{ 422, "last_line_interactive", CODE "\"last_line_interactive\":1}" },
	{ 422, "files", CODE "\"files\":{}}" },
	{ 422, "/files/0", CODE "\"files\":[1]}" },
	{ 422, "/files/0/path", CODE "\"files\":[{\"content\":\"\"}]}" },
	{ 400, "id", CODE "\"files\":[{\"path\":\"a\",\"file_id\":\"x\"}]}" },
	{ 422, "file_id", CODE "\"files\":[{\"path\":\"a\",\"file_id\":5}]}" },
	{ 422, "files[0]",
	  CODE "\"files\":[{\"path\":\"a\",\"content\":\"\",\"file_id\":\"x\"}]}" },
	{ 422, "files[1]", CODE "\"files\":[{\"path\":\"a\",\"content\":\"\"},{\"path\":\"b\"}]}" },
	{ 422, "files[0]",
	  CODE "\"files\":[{\"path\":\"a\",\"content\":\"\",\"content_base64\":\"\"}]}" },
	{ 422, "content_base64", CODE "\"files\":[{\"path\":\"a\",\"content_base64\":\"YQ\"}]}" },
	{ 422, "File path", CODE "\"files\":[{\"path\":\"\",\"content\":\"\"}]}" },
	{ 422, "File path", CODE "\"files\":[{\"path\":\".\",\"content\":\"\"}]}" },
	{ 422, "File paths", CODE "\"files\":[{\"path\":\"../x\",\"content\":\"\"}]}" },
	{ 422, "File paths", CODE "\"files\":[{\"path\":\"/x\",\"content\":\"\"}]}" },
	{ 422, "File paths",
	  CODE
	  "\"files\":[{\"path\":\"a\",\"content\":\"\"},{\"path\":\"a/b\",\"content\":\"\"}]}" },
	{ 422, "File paths",
	  CODE
	  "\"files\":[{\"path\":\"a/b\",\"content\":\"\"},{\"path\":\"./a\",\"content\":\"\"}]}" },
	{ 422, "__main__.py",
	  CODE "\"files\":[{\"path\":\"main.py\",\"content\":\"\"},{\"path\":\"__main__.py\","
	       "\"content\":\"\"}]}" },
	{ 422, "path", CODE "\"files\":[{\"path\":\"a\\u0000\",\"content\":\"\"}]}" },
	{ 422, "ruby is not available; there is: python", CODE "\"language\":\"ruby\"}" },
	{ 422, "2.7 of python is not available; there is: 3.13", CODE "\"version\":\"2.7\"}" },
	{ 422, "version", CODE "\"version\":3}" },
	{ 422, "more than 4300 digits", NULL },
	{ 422, "argv", CODE "\"argv\":\"x\"}" },
	{ 422, "argv", CODE "\"argv\":[1]}" },
	{ 422, "argv", CODE "\"argv\":[\"a\\u0000\"]}" },
	{ 422, "env", CODE "\"env\":[]}" },
	{ 422, "env", CODE "\"env\":{\"A\":1}}" },
	{ 422, "env", CODE "\"env\":{\"\":\"\"}}" },
	{ 422, "1A", CODE "\"env\":{\"1A\":\"\"}}" },
	{ 422, "A=B", CODE "\"env\":{\"A=B\":\"\"}}" },
	{ 422, "PYTHONPATH", CODE "\"env\":{\"PYTHONPATH\":\"/x\"}}" },
	{ 422, "LD_PRELOAD", CODE "\"env\":{\"LD_PRELOAD\":\"/x\"}}" },
	{ 422, "BELLJAR_ARGS", CODE "\"env\":{\"BELLJAR_ARGS\":\"/x\"}}" },
	{ 422, "PATH", CODE "\"env\":{\"PATH\":\"/x\"}}" },
	{ 422, "network full is not available; there is: none", CODE "\"network\":\"full\"}" },
	{ 422, "network", CODE "\"network\":\"host\"}" },
	{ 422, "encoding", CODE "\"encoding\":\"utf-16\"}" },
	{ 422, "session_id", CODE "\"session_id\":\"x\"}" },
	{ 422, "image", CODE "\"image\":\"x\"}" },
	{ 422, "workspace", CODE "\"workspace\":{}}" },
	{ 422, "limits", CODE "\"limits\":5}" },
	{ 422, "memory_mb", CODE "\"limits\":{\"memory_mb\":0}}" },
	{ 422, "memory_mb", CODE "\"limits\":{\"memory_mb\":1.5}}" },
	{ 422, "memory_mb 8 ", CODE "\"limits\":{\"memory_mb\":8}}" },
	{ 422, "memory_mb 4096 is out of range; it may be 32 to 2048",
	  CODE "\"limits\":{\"memory_mb\":4096}}" },
	{ 422, "cpus 2.500 is out of range; it may be 0.05 to 2.00",
	  CODE "\"limits\":{\"cpus\":2.5}}" },
	{ 422, "cpus", CODE "\"limits\":{\"cpus\":-1}}" },
	{ 422, "cpus", CODE "\"limits\":{\"cpus\":\"1\"}}" },
	{ 422, "pids", CODE "\"limits\":{\"pids\":100000}}" },
	{ 422, "pids", CODE "\"limits\":{\"pids\":1}}" },
	{ 422, "disk_mb 5000", CODE "\"limits\":{\"disk_mb\":5000}}" },
	{ 422, "disk_mb 500 does not fit", CODE "\"limits\":{\"disk_mb\":500}}" },
	{ 422, "cpu_time_s 31", CODE "\"limits\":{\"cpu_time_s\":31}}" },
	{ 422, "output_bytes", CODE "\"limits\":{\"output_bytes\":1048577}}" },
};

/* {"args": 111...1} with one digit too many. */
static const char *long_number(void)
{
	static char body[5000];
	int n = snprintf(body, sizeof(body), CODE "\"args\":[\"99\", ");

	memset(body + n, '1', 4301);
	memcpy(body + n + 4301, "]}", 3);
	return body;
}

START_TEST(refuses)
{
	const struct refusal *r = &refusals[_i];
	const char *body = r->body ? r->body : long_number();

	ck_assert_msg(api_execute_json(body) == r->status, "%s: %d %s", body,
		      api_fixture.res.status, api_fixture.err.text);
	ck_assert_msg(strstr(api_text("error.message"), r->names), "%s: %s", body,
		      api_fixture.err.text);
	ck_assert_int_gt(strlen(api_text("error.hint")), 10);
}
END_TEST

START_TEST(lists_all_problems_of_the_schema)
{
	ck_assert_int_eq(api_execute_json("{\"timeout_ms\":0,\"files\":[{\"content\":5}]}"), 422);
	ck_assert_uint_eq(json_object_array_length(api_at("detail")), 4);
	ck_assert_str_eq(api_text("detail.0.loc.0"), "body");
	ck_assert_str_eq(api_text("detail.0.loc.1"), "code");
	ck_assert_str_eq(api_text("detail.0.type"), "missing");
	ck_assert_int_eq(api_execute_json("{\"code\":\"\",\"timeout_ms\":99999999}"), 422);
	ck_assert(json_object_is_type(api_at("detail"), json_type_string));
	ck_assert_int_eq(
		api_execute_json(
			"{\"code\":\"\",\"files\":[{\"path\":\"../x\",\"content\":\"\"}]}"),
		422);
	ck_assert_int_eq(strncmp(api_text("detail"), "File paths", 10), 0);
}
END_TEST

static void too_large(const char *head, size_t fill, const char *tail, const char *names)
{
	size_t head_len = strlen(head), len = head_len + fill + strlen(tail);
	char *body = malloc(len + 1);

	memcpy(body, head, head_len);
	memset(body + head_len, 'A', fill);
	memcpy(body + head_len + fill, tail, strlen(tail) + 1);
	ck_assert_msg(api_call("/v1/execute", body, len) == 413, "%s: %s", head,
		      api_fixture.err.text);
	ck_assert_msg(strstr(api_text("detail"), names), "%s", api_fixture.err.text);
	free(body);
}

START_TEST(names_the_cap_of_what_is_too_large)
{
	too_large("{\"code\":\"", LIMIT_CODE_BYTES + 1, "\"}",
		  "code has 4194305 bytes, the limit is 4194304");
	too_large(CODE "\"stdin\":\"", LIMIT_STDIN_BYTES + 1, "\"}", "stdin has");
	too_large(CODE "\"args\":\"", LIMIT_ARGS_BYTES, "\"}", "args has");
	too_large("", (size_t)conf->max_request_bytes + 1, "", "MAX_REQUEST_BYTES");
}
END_TEST

static void finds(const char *body, const char *expected)
{
	const char *out;
	size_t len;
	bool found = execute_find_args(body, strlen(body), &out, &len);

	ck_assert_msg(found == (expected != NULL), "%s", body);
	if (expected)
		ck_assert_msg(len == strlen(expected) && memcmp(out, expected, len) == 0,
			      "%s: %.*s", body, (int)len, out);
}

START_TEST(finds_args_as_written)
{
	finds("{\"args\":1e400}", "1e400");
	finds(" { \"a\" : [ {\"args\":1} , \"}\" ] , \"args\" : { \"b\" : \"\\\"}\" } , \"c\":2} ",
	      "{ \"b\" : \"\\\"}\" }");
	finds("{\"x\":\"\\\\\",\"args\":[1, 2 ]\n}", "[1, 2 ]");
	finds("{\"x\":{\"args\":1},\"y\":\"\\\"args\\\":2\"}", NULL);
	finds("{\"\\u0061rgs\":1}", NULL);
	finds("{}", NULL);
	finds("{\"args", NULL);
	finds("{\"a\":\"\\", NULL);
	finds("", NULL);
}
END_TEST

static const struct lease_status sick = {
	.magic = LEASE_MAGIC, .installed = 1, .problem = "no engine", .fix = "start it"
};
static const struct lease_status well = { .magic = LEASE_MAGIC,
					  .installed = 1,
					  .running = 1,
					  .image_exists = 1,
					  .limits_ok = 1,
					  .engine = "Docker",
					  .slots = 8,
					  .leased = 2,
					  .queued = 1,
					  .image = "i:1" };

START_TEST(reports_health)
{
	keeper_start(&well, NULL);
	ck_assert_int_eq(api_call("/health", NULL, 0), 200);
	ck_assert_int_eq(json_object_object_length(api_fixture.body), 3);
	ck_assert_str_eq(api_text("status"), "ok");
	ck_assert(api_is_null("message"));
	ck_assert_str_eq(api_text("version"), API_VERSION);
	ck_assert_int_eq(api_call("/ready", NULL, 0), 200);
	ck_assert_int_eq(api_call("/v1/docker/status", NULL, 0), 200);
	ck_assert(json_object_get_boolean(api_at("running")));
	ck_assert(json_object_get_boolean(api_at("image_exists")));
	ck_assert_str_eq(api_text("image"), "i:1");
	ck_assert_int_eq(api_int("leased"), 2);
	ck_assert(api_is_null("problem") && api_is_null("fix"));
}
END_TEST

START_TEST(reports_trouble)
{
	keeper_start(&sick, NULL);
	ck_assert_int_eq(api_call("/health", NULL, 0), 200);
	ck_assert_str_eq(api_text("status"), "error");
	ck_assert_str_eq(api_text("message"), "no engine");
	ck_assert_int_eq(api_call("/ready", NULL, 0), 503);
	ck_assert_str_eq(api_text("detail"), "no engine");
	ck_assert_int_eq(api_call("/api/tools/docker/status", NULL, 0), 200);
	ck_assert(!json_object_get_boolean(api_at("running")));
	ck_assert_str_eq(api_text("problem"), "no engine");
	ck_assert_str_eq(api_text("fix"), "start it");
	keeper_stop();
	ck_assert_int_eq(api_call("/health", NULL, 0), 200);
	ck_assert_str_eq(api_text("status"), "error");
	ck_assert_int_eq(api_call("/v1/docker/status", NULL, 0), 200);
	ck_assert(!json_object_get_boolean(api_at("installed")));
}
END_TEST

Suite *suite_api_fields(void)
{
	Suite *s = suite_create("api/fields");
	TCase *t = tcase_create("fields");

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, keeper_conf, teardown);
	tcase_add_loop_test(t, refuses, 0, ARRAY_SIZE(refusals));
	tcase_add_test(t, lists_all_problems_of_the_schema);
	tcase_add_test(t, names_the_cap_of_what_is_too_large);
	tcase_add_test(t, finds_args_as_written);
	tcase_add_test(t, reports_health);
	tcase_add_test(t, reports_trouble);
	suite_add_tcase(s, t);
	return s;
}
