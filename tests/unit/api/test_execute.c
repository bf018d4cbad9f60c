/* POST /v1/execute from body to answer against a scripted keeper and guest: every field, and every
 * way a program can end. */
#include "api/api.h"
#include "conf.h"
#include "store/blob_list.h"
#include "unit/api/api_fixture.h"
#include "unit/api/keeper_script.h"
#include "unit/box/guest_script.h"
#include "unit/suites.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hello(int fd)
{
	const struct frame_exit e = { .cause = FRAME_CAUSE_EXIT,
				      .wall_us = 12345,
				      .cpu_us = 6789,
				      .memory_peak = 1 << 20,
				      .stdout_bytes = 6 };

	api_guest_started(fd);
	guest_say(fd, FRAME_STDOUT, "hello\n", 6);
	guest_say_exit(fd, &e);
	guest_say_file(fd, "out/a.txt", 3, "abc", 3);
	guest_say_file(fd, "b.png", 8, "\x89PNG\r\n\x1a\n", 8);
	guest_say_skip(fd, "pipe", FRAME_SKIP_SPECIAL);
	api_guest_bye(fd);
}

START_TEST(answers_with_every_field)
{
	ck_assert_int_eq(api_execute_with(hello, "{\"code\":\"print('hello')\",\"typo\":1}"), 200);
	ck_assert_str_eq(api_text("stdout"), "hello\n");
	ck_assert_str_eq(api_text("stderr"), "");
	ck_assert_int_eq(api_int("exit_code"), 0);
	ck_assert(!json_object_get_boolean(api_at("timed_out")));
	ck_assert_int_eq(api_int("duration_ms"), 12);
	ck_assert_str_eq(api_text("status"), "ok");
	ck_assert(api_is_null("message") && api_is_null("signal"));
	ck_assert(!json_object_get_boolean(api_at("oom_killed")));
	ck_assert(!json_object_get_boolean(api_at("stdout_truncated")));
	ck_assert(!json_object_get_boolean(api_at("stderr_truncated")));
	ck_assert_int_eq(api_int("stdout_bytes"), 6);
	ck_assert_int_eq(api_int("stderr_bytes"), 0);
	ck_assert_int_eq(api_int("usage.wall_ms"), 12);
	ck_assert_int_eq(api_int("usage.cpu_ms"), 6);
	ck_assert_int_eq(api_int("usage.memory_peak_bytes"), 1 << 20);
	ck_assert_int_eq(api_int("usage.queue_ms"), 1);
	ck_assert_int_eq(api_int("usage.start_ms"), 2);
	ck_assert_int_eq(api_int("limits.timeout_ms"), conf->default_timeout_ms);
	ck_assert_int_eq(api_int("limits.memory_mb"), conf->memory_mb);
	ck_assert_double_eq(json_object_get_double(api_at("limits.cpus")), 1.0);
	ck_assert_int_eq(api_int("limits.pids"), conf->pids);
	ck_assert_int_eq(api_int("limits.output_bytes"), conf->max_output_bytes);
	ck_assert_int_eq(api_int("limits.disk_mb"), keeper_limits().disk_mb);
	ck_assert_int_eq(api_int("limits.tmp_mb"), keeper_limits().tmp_mb);
	ck_assert_int_eq(api_int("limits.cpu_time_s"), conf->cpu_time_s);
	ck_assert_str_eq(api_text("sandbox.mode"), "docker");
	ck_assert_str_eq(api_text("sandbox.engine"), "Docker");
	ck_assert_str_eq(api_text("sandbox.image"), conf->python_image);
	ck_assert_str_eq(api_text("sandbox.language"), "python");
	ck_assert_str_eq(api_text("sandbox.version"), "3.13");
	ck_assert_str_eq(api_text("sandbox.network"), "none");
	ck_assert_str_eq(api_text("sandbox.id"), "cccccccccccc");
	ck_assert_str_eq(api_text("ignored.0"), "typo");
	ck_assert_str_eq(api_fixture.times.outcome, "ok");
	ck_assert_str_eq(api_fixture.times.container, "cccccccccccc");
}
END_TEST

/* A returned file is in the store with these bytes. */
static void want_stored(const char *where, const char *want, size_t len)
{
	AUTO(blob) b = { 0 };
	AUTO_CLOSE int fd = -1;
	struct err err = ERR_INIT;
	char text[64];

	ck_assert_msg(blob_open(api_store(), API_TENANT, api_text(where), &b, &fd, &err) == 0, "%s",
		      err.text);
	ck_assert_int_eq(read(fd, text, sizeof(text)), (ssize_t)len);
	ck_assert_mem_eq(text, want, len);
}

static size_t stored(void)
{
	AUTO(blob_list) list = { 0 };
	struct err err = ERR_INIT;

	ck_assert_int_eq(blob_list_load(&list, api_store(), API_TENANT, NULL, 100, &err), 0);
	return list.count;
}

START_TEST(stores_files)
{
	ck_assert_int_eq(api_execute_with(hello, "{\"code\":\"\"}"), 200);
	ck_assert_str_eq(api_text("files.0.path"), "out/a.txt");
	ck_assert_str_eq(api_text("files.0.kind"), "file");
	ck_assert_int_eq(api_int("files.0.size_bytes"), 3);
	want_stored("files.0.file_id", "abc", 3);
	ck_assert_double_gt(json_object_get_double(api_at("files.0.expires_at")), 1.7e9);
	ck_assert_str_eq(api_text("files.0.mime_type"), "text/plain");
	ck_assert_str_eq(api_text("files.0.sha256"),
			 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	want_stored("files.1.file_id", "\x89PNG\r\n\x1a\n", 8);
	ck_assert_uint_eq(stored(), 2);
	ck_assert_str_eq(api_text("skipped.0.path"), "pipe");
	ck_assert_str_eq(api_text("skipped.0.reason"), "special");
}
END_TEST

static void many_bytes(int fd)
{
	char much[4096];

	memset(much, 'm', sizeof(much));
	api_guest_started(fd);
	guest_say_ok(fd, 0, 0);
	for (int i = 0; i < 3; i++) {
		char name[16];
		uint8_t buf[64];
		struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

		snprintf(name, sizeof(name), "f%d", i);
		frame_put_field(&out, name, 2);
		frame_put_u64(&out, 10000001);
		guest_say(fd, FRAME_FILE, buf, out.len);
		for (size_t left = 10000001; left > 0; left -= MIN(left, sizeof(much)))
			guest_say(fd, FRAME_DATA, much, MIN(left, sizeof(much)));
		guest_say(fd, FRAME_END, NULL, 0);
	}
	api_guest_bye(fd);
}

/* More than the job's total is a broken protocol: the guest was told the limit. */
START_TEST(bounds_files_of_a_lying_guest)
{
	setenv("MAX_OUTPUT_FILES_MB", "16", 1);
	api_fixture_teardown();
	api_fixture_setup();
	ck_assert_int_eq(api_execute_with(many_bytes, "{\"code\":\"\"}"), 200);
	ck_assert_uint_eq(json_object_array_length(api_at("files")), 1);
	ck_assert_int_eq(api_int("files.0.size_bytes"), 10000001);
	ck_assert_uint_eq(stored(), 1);
	ck_assert_str_eq(api_text("message"), "the container ended before all files had come back");
}
END_TEST

static void bad_text(int fd)
{
	api_guest_started(fd);
	guest_say(fd, FRAME_STDOUT, "A\xff\xfe\0B\n", 6);
	guest_say(fd, FRAME_STDERR, "caf\xc3", 4);
	guest_say(fd, FRAME_STDERR, "\xa9", 1);
	guest_say_ok(fd, 6, 5);
	api_guest_bye(fd);
}

START_TEST(makes_text_valid)
{
	ck_assert_int_eq(api_execute_with(bad_text, "{\"code\":\"\"}"), 200);
	ck_assert_int_eq(json_object_get_string_len(api_at("stdout")), 10);
	ck_assert_mem_eq(api_text("stdout"), "A\357\277\275\357\277\275\0B\n", 10);
	ck_assert_str_eq(api_text("stderr"), "caf\303\251");
	ck_assert_int_eq(api_execute_with(bad_text, "{\"code\":\"\",\"encoding\":\"base64\"}"),
			 200);
	ck_assert_str_eq(api_text("stdout"), "Qf/+AEIK");
	ck_assert_str_eq(api_text("stderr"), "Y2Fmw6k=");
}
END_TEST

/* Forty bytes were written, thirty may be sent; the last sent one is half a character. */
static void long_text(int fd)
{
	api_guest_started(fd);
	guest_say(fd, FRAME_STDOUT, "0123456789012345678901234567\xc3\xa9", 30);
	guest_say(fd, FRAME_STDERR, "01234567890123456789012345678\xc3", 30);
	guest_say_ok(fd, 40, 40);
	api_guest_bye(fd);
}

START_TEST(marks_truncation_within_the_cap)
{
	ck_assert_int_eq(
		api_execute_with(long_text, "{\"code\":\"\",\"limits\":{\"output_bytes\":30}}"),
		200);
	ck_assert_str_eq(api_text("stdout"), "012345678901234\n...[truncated]");
	ck_assert(json_object_get_boolean(api_at("stdout_truncated")));
	ck_assert_str_eq(api_text("stderr"), "012345678901234\n...[truncated]");
	ck_assert_int_eq(api_int("stdout_bytes"), 40);
	ck_assert_int_eq(
		api_execute_with(
			long_text,
			"{\"code\":\"\",\"encoding\":\"base64\",\"limits\":{\"output_bytes\":30}}"),
		200);
	ck_assert_int_eq(json_object_get_string_len(api_at("stderr")), 40);
	ck_assert(json_object_get_boolean(api_at("stderr_truncated")));
}
END_TEST

/* Ten bad bytes become thirty; a cap below the marker cuts the marker. */
static void swelling_text(int fd)
{
	api_guest_started(fd);
	guest_say(fd, FRAME_STDOUT, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10);
	guest_say_ok(fd, 10, 0);
	api_guest_bye(fd);
}

START_TEST(keeps_the_cap_when_text_swells)
{
	ck_assert_int_eq(
		api_execute_with(swelling_text, "{\"code\":\"\",\"limits\":{\"output_bytes\":30}}"),
		200);
	ck_assert_int_eq(json_object_get_string_len(api_at("stdout")), 30);
	ck_assert(!json_object_get_boolean(api_at("stdout_truncated")));
	ck_assert_int_eq(
		api_execute_with(swelling_text, "{\"code\":\"\",\"limits\":{\"output_bytes\":20}}"),
		200);
	ck_assert_str_eq(api_text("stdout"), "\357\277\275\n...[truncated]");
	ck_assert(json_object_get_boolean(api_at("stdout_truncated")));
	ck_assert_int_eq(
		api_execute_with(swelling_text, "{\"code\":\"\",\"limits\":{\"output_bytes\":10}}"),
		200);
	ck_assert_str_eq(api_text("stdout"), "\n...[trunc");
}
END_TEST

/* Says back what it was given. */
static void echo(int fd)
{
	const struct guest_heard *h = guest_hear_job(fd);
	struct frame_job job;
	char text[1000];
	int n;

	if (!frame_get_job(h->job, h->job_bytes, &job))
		_exit(4);
	for (uint32_t i = 0; i < job.argv_len; i++)
		((char *)job.argv)[i] = job.argv[i] ? job.argv[i] : '|';
	for (uint32_t i = 0; i < job.env_len; i++)
		((char *)job.env)[i] = job.env[i] ? job.env[i] : '|';
	n = snprintf(text, sizeof(text), "%s<%.*s> <%.*s> <%.*s> <%.*s> %u %u %llu %u", h->names,
		     (int)job.main_name_len, job.main_name, (int)job.args_len, job.args,
		     (int)job.argv_len, job.argv, (int)job.env_len, job.env, job.show_last,
		     job.timeout_ms, (unsigned long long)job.output_bytes, job.cpu_time_s);
	guest_say(fd, FRAME_STARTED, NULL, 0);
	guest_say(fd, FRAME_STDOUT, text, (size_t)n);
	guest_say_ok(fd, (uint64_t)n, 0);
	api_guest_bye(fd);
}

START_TEST(hands_on_what_was_asked)
{
	ck_assert_int_eq(
		api_execute_with(
			echo,
			"{\"code\":\"abc\",\"args\": {\"n\": 123456789012345678901234567890 , "
			"\"u\":\"\\u00e9\"}\n,"
			"\"argv\":[\"-x\",\"\",\"a b\"],\"env\":{\"A\":\"1\",\"b_2\":\"\"},"
			"\"last_line_interactive\":false,\"timeout_ms\":77,"
			"\"limits\":{\"cpu_time_s\":5,\"output_bytes\":900,\"cpus\":0.5,"
			"\"pids\":9},"
			"\"files\":[{\"path\":\"./d//"
			"x\",\"content\":\"12\"},{\"path\":\"y\",\"content_base64\":\"AAEC\"},"
			"{\"path\":\"d/x\",\"content\":\"345\"}]}"),
		200);
	ck_assert_str_eq(api_text("stdout"),
			 "main.py:3 y:3 d/x:3 <main.py> <{\"n\": 123456789012345678901234567890 , "
			 "\"u\":\"\\u00e9\"}> <-x||a b|> <A=1|b_2=|> 0 77 900 5");
	ck_assert_uint_eq(keeper_limits().cpu_milli, 500);
	ck_assert_uint_eq(keeper_limits().pids, 9);
	ck_assert_double_eq(json_object_get_double(api_at("limits.cpus")), 0.5);
}
END_TEST

START_TEST(chooses_the_programs_name)
{
	ck_assert_int_eq(
		api_execute_with(
			echo,
			"{\"code\":\"abc\",\"files\":[{\"path\":\"main.py\",\"content\":\"\"}]}"),
		200);
	ck_assert_int_eq(strncmp(api_text("stdout"), "__main__.py:3 main.py:0 <__main__.py>", 37),
			 0);
	ck_assert_int_eq(
		api_execute_with(
			echo,
			"{\"code\":\"abc\",\"files\":[{\"path\":\"main.py/x\",\"content\":\"\"}]}"),
		200);
	ck_assert_int_eq(strncmp(api_text("stdout"), "__main__.py:3 ", 14), 0);
}
END_TEST

static void fails_to_start(int fd)
{
	guest_hear_job(fd);
}

START_TEST(hands_on_failures)
{
	ck_assert_int_eq(api_execute_with(NULL, "{\"code\":\"\"}"), 503);
	ck_assert_str_eq(api_text("detail"), "all slots are taken");
	ck_assert_str_eq(api_text("error.code"), "busy");
	ck_assert_int_gt(api_int("error.retry_after_s"), 0);
	ck_assert_int_eq(api_execute_with(fails_to_start, "{\"code\":\"\"}"), 503);
	ck_assert_str_eq(api_text("error.code"), "sandbox_failed");
}
END_TEST

Suite *suite_api_execute(void)
{
	Suite *s = suite_create("api/execute");
	TCase *t = tcase_create("execute");

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, api_fixture_setup, api_fixture_teardown);
	tcase_add_test(t, answers_with_every_field);
	tcase_add_test(t, stores_files);
	tcase_add_test(t, bounds_files_of_a_lying_guest);
	tcase_add_test(t, makes_text_valid);
	tcase_add_test(t, marks_truncation_within_the_cap);
	tcase_add_test(t, keeps_the_cap_when_text_swells);
	tcase_add_test(t, hands_on_what_was_asked);
	tcase_add_test(t, chooses_the_programs_name);
	tcase_add_test(t, hands_on_failures);
	suite_add_tcase(s, t);
	return s;
}
