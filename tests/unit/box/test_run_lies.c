/* A job against guests that lie: frames out of order, lengths and sizes that are not true, floods,
 * and ends at the wrong moment. */
#include "base/err.h"
#include "box/run.h"
#include "unit/box/guest_script.h"
#include "unit/box/run_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Scripts that break off or break the rules before the program began. */
static void end_at_once(int fd)
{
	(void)fd;
}
static void end_after_job(int fd)
{
	guest_hear_job(fd);
}
static void early_start(int fd)
{
	guest_say(fd, FRAME_STARTED, NULL, 0);
	usleep(50000);
}
static void early_output(int fd)
{
	guest_hear_job(fd);
	guest_say(fd, FRAME_STDOUT, "x", 1);
}
static void second_hello(int fd)
{
	guest_hear_job(fd);
	guest_say(fd, FRAME_HELLO, "\0\0\0\1\0\0\0\0", 8);
}
static void long_start(int fd)
{
	guest_hear_job(fd);
	guest_say(fd, FRAME_STARTED, "x", 1);
}
static void no_frame(int fd)
{
	guest_hear_job(fd);
	guest_say_kind(fd, 1, "HTTP/1.1 500\r\n\r\n", 16);
}
static void no_stream(int fd)
{
	guest_hear_job(fd);
	guest_say_kind(fd, 9, "x", 1);
}
static void daemon_error(int fd)
{
	guest_hear_job(fd);
	guest_say_kind(fd, 3, "broken", 6);
}
static void huge_frame(int fd)
{
	guest_hear_job(fd);
	guest_say_lie(fd, FRAME_STARTED, FRAME_MAX + 1, NULL, 0);
}

START_TEST(refuses_guests_before_start)
{
	void (*const scripts[])(int) = { end_at_once,  end_after_job, early_output,
					 second_hello, long_start,    no_frame,
					 no_stream,    daemon_error,  huge_frame };

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		run_fixture.err = (struct err)ERR_INIT;
		ck_assert_msg(run_fixture_run(scripts[i]) == -1, "script %zu", i);
		ck_assert_msg(run_fixture.err.code == ERR_SANDBOX, "script %zu", i);
		ck_assert(!run_fixture.result.lost);
		run_fixture_clear();
	}
}
END_TEST

/* A large file keeps GO from being sent while STARTED is there already. */
START_TEST(refuses_a_start_before_go)
{
	char *big = calloc(1, 8 << 20);
	const struct run_input in = { .path = "big", .data = big, .fd = -1, .size = 8 << 20 };
	struct run_job job = run_fixture_job();

	job.inputs = &in;
	ck_assert_int_eq(run_fixture_with(early_start, &job), -1);
	ck_assert_int_eq(run_fixture.err.code, ERR_SANDBOX);
	free(big);
}
END_TEST

/* Scripts that lose their verdict after "kept" on stdout. */
static void kept(int fd)
{
	run_fixture_started(fd);
	guest_say(fd, FRAME_STDOUT, "kept", 4);
}
static void flood(int fd)
{
	char much[RUN_OUTPUT_BYTES] = { 0 };

	kept(fd);
	guest_say(fd, FRAME_STDOUT, much, sizeof(much));
}
static void second_start(int fd)
{
	kept(fd);
	guest_say(fd, FRAME_STARTED, NULL, 0);
}
static void file_first(int fd)
{
	kept(fd);
	guest_say_file(fd, "a", 1, "x", 1);
}
static void bye_first(int fd)
{
	kept(fd);
	guest_say(fd, FRAME_BYE, NULL, 0);
}
static void cut_frame(int fd)
{
	kept(fd);
	guest_say_lie(fd, FRAME_STDERR, 100, "half", 4);
}
static void short_exit(int fd)
{
	kept(fd);
	guest_say(fd, FRAME_EXIT, "\0\0\0\1", 4);
}
static void bad_exit(int fd, struct frame_exit e)
{
	kept(fd);
	guest_say_exit(fd, &e);
}
static void exit_cause(int fd)
{
	bad_exit(fd, (struct frame_exit){ .cause = 99, .stdout_bytes = 4 });
}
static void exit_no_cause(int fd)
{
	bad_exit(fd, (struct frame_exit){ .cause = 0, .stdout_bytes = 4 });
}
static void exit_code(int fd)
{
	bad_exit(fd, (struct frame_exit){ .cause = 1, .exit_code = 256, .stdout_bytes = 4 });
}
static void exit_signal(int fd)
{
	bad_exit(fd, (struct frame_exit){ .cause = 2, .signal = 65, .stdout_bytes = 4 });
}
static void exit_output(int fd)
{
	bad_exit(fd, (struct frame_exit){ .cause = 1, .stdout_bytes = 3 });
}
static void exit_time(int fd)
{
	bad_exit(fd, (struct frame_exit){ .cause = 1, .stdout_bytes = 4, .cpu_us = UINT64_MAX });
}

START_TEST(keeps_output_of_lost_programs)
{
	void (*const scripts[])(int) = { kept,	    flood,	   second_start, file_first,
					 bye_first, cut_frame,	   short_exit,	 exit_cause,
					 exit_code, exit_no_cause, exit_signal,	 exit_output,
					 exit_time };

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		ck_assert_msg(run_fixture_run(scripts[i]) == 0, "script %zu", i);
		ck_assert_msg(run_fixture.result.lost && run_fixture.result.exit.cause == 0,
			      "script %zu", i);
		ck_assert_str_eq(run_fixture.result.out.buf, "kept");
		ck_assert_str_eq(run_fixture.seen, "");
		run_fixture_clear();
	}
}
END_TEST

/* Scripts that end well and then lie about their files; "good" has come whole by then. */
static void verdict(int fd)
{
	run_fixture_started(fd);
	guest_say_ok(fd, 0, 0);
	guest_say_file(fd, "good", 1, "x", 1);
}
static void no_bye(int fd)
{
	verdict(fd);
}
static void output_after(int fd)
{
	verdict(fd);
	guest_say(fd, FRAME_STDOUT, "x", 1);
}
static void second_exit(int fd)
{
	verdict(fd);
	guest_say_ok(fd, 0, 0);
}
static void longer_file(int fd)
{
	verdict(fd);
	guest_say_file(fd, "liar", 3, "xxxx", 4);
}
static void shorter_file(int fd)
{
	verdict(fd);
	guest_say_file(fd, "liar", 5, "xxxx", 4);
	guest_say(fd, FRAME_END, NULL, 0);
}
static void cut_file(int fd)
{
	verdict(fd);
	guest_say_file(fd, "liar", 5, "xxxx", 4);
}
static void bye_in_file(int fd)
{
	verdict(fd);
	guest_say_file(fd, "liar", 5, "xxxx", 4);
	guest_say(fd, FRAME_BYE, NULL, 0);
}

START_TEST(drops_a_file_that_is_not_whole)
{
	void (*const scripts[])(int) = { longer_file, shorter_file, cut_file, bye_in_file };

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		run_fixture.seen[0] = '\0';
		run_fixture.aborts = run_fixture.bytes = 0;
		ck_assert_msg(run_fixture_run(scripts[i]) == 0, "script %zu", i);
		ck_assert_msg(run_fixture.result.cut && !run_fixture.result.lost &&
				      run_fixture.result.exit.cause == FRAME_CAUSE_EXIT,
			      "script %zu", i);
		ck_assert_int_eq(strncmp(run_fixture.seen, "good:1 end liar:", 16), 0);
		ck_assert_uint_eq(run_fixture.aborts, 1);
		/* "good" has one byte; of the liar's only what it announced may come through. */
		ck_assert_uint_eq(run_fixture.bytes, scripts[i] == longer_file ? 1 : 5);
		ck_assert_uint_eq(run_fixture.result.skipped_count, 1);
		ck_assert_str_eq(run_fixture.result.skipped[0].path, "liar");
		ck_assert_str_eq(run_fixture.result.skipped[0].reason, "unreadable");
		run_fixture_clear();
	}
}
END_TEST

static void one_file(int fd, const char *path, uint64_t size)
{
	verdict(fd);
	guest_say_file(fd, path, size, "x", 1);
	guest_say(fd, FRAME_BYE, NULL, 0);
}
static void file_up(int fd)
{
	one_file(fd, "../x", 1);
}
static void file_absolute(int fd)
{
	one_file(fd, "/etc/x", 1);
}
static void file_main(int fd)
{
	one_file(fd, "main.py", 1);
}
static void file_no_name(int fd)
{
	one_file(fd, "", 1);
}
static void file_not_text(int fd)
{
	one_file(fd, "\xff", 1);
}
static void file_large(int fd)
{
	one_file(fd, "large", RUN_FILES_BYTES);
}
static void file_endless(int fd)
{
	one_file(fd, "endless", UINT64_MAX);
}
static void many_files(int fd)
{
	verdict(fd);
	guest_say_file(fd, "good", 1, "x", 1);
	guest_say_file(fd, "good", 1, "x", 1);
	one_file(fd, "fourth", 1);
}

START_TEST(refuses_files_beyond_the_rules)
{
	void (*const scripts[])(int) = { no_bye,	output_after, second_exit,  file_up,
					 file_absolute, file_main,    file_no_name, file_not_text,
					 file_large,	file_endless, many_files };

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		run_fixture.seen[0] = '\0';
		ck_assert_msg(run_fixture_run(scripts[i]) == 0, "script %zu", i);
		ck_assert_msg(run_fixture.result.cut && !run_fixture.result.lost, "script %zu", i);
		ck_assert_int_eq(strncmp(run_fixture.seen, "good:1 end ", 11), 0);
		ck_assert_msg(strspn(run_fixture.seen, "god:1 en") == strlen(run_fixture.seen),
			      "script %zu: %s", i, run_fixture.seen);
		run_fixture_clear();
	}
}
END_TEST

Suite *suite_box_run_lies(void)
{
	Suite *s = suite_create("box/run_lies");
	TCase *t = tcase_create("lies");

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, NULL, run_fixture_clear);
	tcase_add_test(t, refuses_guests_before_start);
	tcase_add_test(t, refuses_a_start_before_go);
	tcase_add_test(t, keeps_output_of_lost_programs);
	tcase_add_test(t, drops_a_file_that_is_not_whole);
	tcase_add_test(t, refuses_files_beyond_the_rules);
	suite_add_tcase(s, t);
	return s;
}
