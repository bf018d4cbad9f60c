/* Log lines as they come out of stderr: one line a call, escaped, bounded, and in JSON always a
 * whole object. */
#include "base/err.h"
#include "base/log.h"
#include "unit/suites.h"
#include "wire/json.h"

#include <check.h>
#include <fcntl.h>
#include <unistd.h>

static char line[8192];
static int fds[2], real_stderr;

static void setup(void)
{
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	real_stderr = dup(STDERR_FILENO);
	ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	log_setup(LOG_LEVEL_INFO, false);
	log_role("worker");
	log_request_id(NULL);
}

static void teardown(void)
{
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(fds[0]);
	close(fds[1]);
}

/* What was written since the last call. */
static const char *output(void)
{
	ssize_t n = read(fds[0], line, sizeof(line) - 1);

	line[n > 0 ? n : 0] = '\0';
	return line;
}

static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(o, name, &v);
	return v;
}

START_TEST(plain_line)
{
	char want[64];

	log_request_id("req-1");
	log_warn("disk %d%% \"full\"", 90);
	snprintf(want, sizeof(want), " warn worker[%d] req-1 disk 90%% \\\"full\\\"\n",
		 (int)getpid());
	ck_assert_str_eq(output() + 24, want);
	ck_assert_int_eq(line[23], 'Z');
}
END_TEST

START_TEST(levels_filter)
{
	log_debug("hidden");
	ck_assert_str_eq(output(), "");
	log_setup(LOG_LEVEL_ERROR, false);
	log_warn("hidden");
	log_info("hidden");
	log_fields("hidden", NULL, 0);
	ck_assert_str_eq(output(), "");
	log_err("shown");
	ck_assert_ptr_nonnull(strstr(output(), " error worker["));
	log_setup(LOG_LEVEL_DEBUG, false);
	log_debug("shown");
	ck_assert_ptr_nonnull(strstr(output(), " debug worker["));
}
END_TEST

START_TEST(one_line_whatever_the_text)
{
	log_info("a\nb\r\x1b[31m\x7f\xff\xc2\x9b"
		 "end");
	ck_assert_ptr_nonnull(
		strstr(output(), " - a\\nb\\u000d\\u001b[31m\\u007f\xef\xbf\xbd\\u009bend\n"));
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
}
END_TEST

START_TEST(fields_in_plain)
{
	const struct log_field f[] = { { "status", NULL, 200 },
				       { "path", "/v1/x", 0 },
				       { "name", "a b", 0 },
				       { "none", "", 0 },
				       { "n", NULL, -5 } };

	log_fields("done", f, ARRAY_SIZE(f));
	ck_assert_ptr_nonnull(
		strstr(output(), " done status=200 path=/v1/x name=\"a b\" none=\"\" n=-5\n"));
}
END_TEST

START_TEST(fields_in_json)
{
	const struct log_field f[] = { { "status", NULL, 200 }, { "name", "a\"\n\xff", 0 } };
	AUTO_JSON *o = NULL;

	log_setup(LOG_LEVEL_INFO, true);
	log_request_id("id\"1");
	log_fields("it's \"done\"\n", f, ARRAY_SIZE(f));
	output();
	ck_assert_int_eq(json_load(line, strlen(line), &o, NULL), 0);
	ck_assert_str_eq(json_object_get_string(member(o, "message")), "it's \"done\"\n");
	ck_assert_str_eq(json_object_get_string(member(o, "level")), "info");
	ck_assert_str_eq(json_object_get_string(member(o, "logger")), "worker");
	ck_assert_str_eq(json_object_get_string(member(o, "request_id")), "id\"1");
	ck_assert_str_eq(json_object_get_string(member(o, "name")), "a\"\n\xef\xbf\xbd");
	ck_assert_int_eq(json_object_get_int(member(o, "status")), 200);
	ck_assert_int_eq(json_object_get_int(member(o, "pid")), getpid());
	ck_assert_uint_eq(strlen(json_object_get_string(member(o, "timestamp"))), 24);
}
END_TEST

/* Texts that are longer than a line, and of which each byte may grow to six. */
static void check_bounds(int byte)
{
	static char much[5000];
	struct log_field f[20];
	AUTO_JSON *o = NULL;

	memset(much, byte, sizeof(much) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		f[i] = (struct log_field){ "123456789012345678901234567890", much, 0 };
	log_request_id(much);
	log_setup(LOG_LEVEL_INFO, false);
	log_info("%s", much);
	ck_assert_uint_le(strlen(output()), 2048);
	ck_assert_ptr_nonnull(strstr(line, "...\n"));
	log_setup(LOG_LEVEL_INFO, true);
	log_fields(much, f, 1);
	ck_assert_uint_le(strlen(output()), 2048);
	ck_assert_int_eq(json_load(line, strlen(line), &o, NULL), 0);
	log_fields("x", f, ARRAY_SIZE(f));
	ck_assert_uint_le(strlen(output()), 2048);
	ck_assert_str_eq(line + strlen(line) - 2, "}\n");
}

START_TEST(bounded_and_whole)
{
	for (int byte = 1; byte < 256; byte++)
		check_bounds(byte);
}
END_TEST

Suite *suite_base_log(void)
{
	Suite *s = suite_create("base_log");
	TCase *tc = tcase_create("log");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, plain_line);
	tcase_add_test(tc, levels_filter);
	tcase_add_test(tc, one_line_whatever_the_text);
	tcase_add_test(tc, fields_in_plain);
	tcase_add_test(tc, fields_in_json);
	tcase_add_test(tc, bounded_and_whole);
	suite_add_tcase(s, tc);
	return s;
}
