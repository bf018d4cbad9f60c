/* A job against a scripted guest that keeps to the protocol: files, input, refusals, silence, a
 * client that leaves. */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "box/run.h"
#include "unit/box/guest_script.h"
#include "unit/box/run_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void honest(int fd)
{
	run_fixture_started(fd);
	guest_say(fd, FRAME_STDOUT, "out", 3);
	guest_say(fd, FRAME_STDERR, "err!", 4);
	guest_say(fd, FRAME_STDOUT, "put", 3);
	guest_say_ok(fd, 6, 4);
	guest_say_file(fd, "a/b.txt", 5, "hello", 5);
	guest_say_skip(fd, "link", FRAME_SKIP_LINK);
	guest_say_file(fd, "empty", 0, "", 0);
	guest_say(fd, FRAME_BYE, NULL, 0);
}

START_TEST(takes_an_honest_job)
{
	ck_assert_int_eq(run_fixture_run(honest), 0);
	ck_assert_str_eq(run_fixture.result.out.buf, "output");
	ck_assert_str_eq(run_fixture.result.err.buf, "err!");
	ck_assert_int_eq(run_fixture.result.exit.cause, FRAME_CAUSE_EXIT);
	ck_assert_uint_eq(run_fixture.result.exit.wall_us, 5000);
	ck_assert(!run_fixture.result.lost && !run_fixture.result.cut &&
		  !run_fixture.result.client_gone);
	ck_assert_str_eq(run_fixture.seen, "a/b.txt:5 end empty:0 end ");
	ck_assert_uint_eq(run_fixture.result.skipped_count, 1);
	ck_assert_str_eq(run_fixture.result.skipped[0].path, "link");
	ck_assert_str_eq(run_fixture.result.skipped[0].reason, "link");
}
END_TEST

/* Says on stdout what it was told: names and sizes of files, and standard input. */
static void echo(int fd)
{
	const struct guest_heard *h = guest_hear_job(fd);
	struct frame_job job;
	char text[600];
	const uint8_t *data;
	size_t len, total = 0, room = 10;
	int n;

	if (!frame_get_job(h->job, h->job_bytes, &job))
		_exit(4);
	guest_say(fd, FRAME_STARTED, NULL, 0);
	n = snprintf(text, sizeof(text), "%s%zu|%zu %u|", h->names, h->file_bytes, h->jobs,
		     job.args_len);
	guest_say(fd, FRAME_STDOUT, text, (size_t)n);
	guest_say_room(fd, 10);
	while (guest_hear(fd, &data, &len) == FRAME_STDIN) {
		total += len;
		/* What was granted is used up now and then: nothing more may come then. */
		if (total > room || (total == room && io_wait(fd, POLLIN, clock_ms() + 50)))
			_exit(4);
		room += len * 2;
		guest_say_room(fd, (uint32_t)len * 2);
	}
	n = snprintf(text, sizeof(text), "stdin %zu", total);
	guest_say(fd, FRAME_STDOUT, text, (size_t)n);
	guest_say_ok(fd, 1000, 0);
	guest_say(fd, FRAME_BYE, NULL, 0);
}

START_TEST(sends_files_args_and_stdin)
{
	char *big = calloc(1, 200000);
	FILE *stored = tmpfile();
	struct run_job job = run_fixture_job();
	const struct run_input inputs[] = {
		*job.inputs,
		{ .path = "d/big", .data = big, .fd = -1, .size = 150000 },
		{ .path = "none", .data = "", .fd = -1 },
		{ .path = "fd", .fd = fileno(stored), .size = 70000 }
	};

	ck_assert_int_eq(write(fileno(stored), big, 70001), 70001);
	lseek(fileno(stored), 1, SEEK_SET);
	memset(big, ' ', 200000);
	job.inputs = inputs;
	job.inputs_count = 4;
	job.stdin_data = big;
	job.stdin_len = 200000;
	job.frame.args = big;
	job.frame.args_len = 131072;
	ck_assert_int_eq(run_fixture_with(echo, &job), 0);
	ck_assert_str_eq(run_fixture.result.out.buf,
			 "main.py:7 d/big:150000 none:0 fd:70000 220007|3 131072|stdin 200000");
	run_fixture_clear();
	job = run_fixture_job();
	ck_assert_int_eq(run_fixture_with(echo, &job), 0);
	ck_assert_str_eq(run_fixture.result.out.buf, "main.py:7 7|1 0|stdin 0");
	free(big);
	fclose(stored);
}
END_TEST

START_TEST(fails_when_a_stored_file_is_short)
{
	FILE *stored = tmpfile();
	struct run_job job = run_fixture_job();
	const struct run_input inputs[] = { { .path = "fd", .fd = fileno(stored), .size = 1 } };

	job.inputs = inputs;
	ck_assert_int_eq(run_fixture_with(honest, &job), -1);
	ck_assert_int_eq(run_fixture.err.code, ERR_INTERNAL);
	fclose(stored);
}
END_TEST

/* Never reads its input, and ends all the same. */
static void deaf(int fd)
{
	run_fixture_started(fd);
	guest_say_room(fd, 0xffffffff);
	usleep(200000);
	guest_say_ok(fd, 0, 0);
	guest_say(fd, FRAME_BYE, NULL, 0);
	usleep(200000);
}

START_TEST(is_not_stopped_by_full_pipes)
{
	char *big = calloc(1, 8 << 20);
	struct run_job job = run_fixture_job();

	job.stdin_data = big;
	job.stdin_len = 8 << 20;
	ck_assert_int_eq(run_fixture_with(deaf, &job), 0);
	ck_assert_int_eq(run_fixture.result.exit.cause, FRAME_CAUSE_EXIT);
	ck_assert(!run_fixture.result.lost);
	free(big);
}
END_TEST

static void say_fail(int fd, uint32_t reason, const char *text)
{
	uint8_t buf[600];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	frame_put_u32(&out, reason);
	frame_put_field(&out, text, strlen(text));
	guest_say(fd, FRAME_FAIL, buf, out.len);
}

static void fail_disk(int fd)
{
	say_fail(fd, FRAME_FAIL_DISK, "full");
}

static void fail_path(int fd)
{
	guest_hear_job(fd);
	say_fail(fd, FRAME_FAIL_PATH, "p\xff\n");
}

static void fail_start(int fd)
{
	guest_hear_job(fd);
	say_fail(fd, FRAME_FAIL_START, "");
}

static void fail_late(int fd)
{
	run_fixture_started(fd);
	guest_say(fd, FRAME_STDOUT, "x", 1);
	say_fail(fd, FRAME_FAIL_START, "");
}

START_TEST(tells_why_a_job_did_not_start)
{
	ck_assert_int_eq(run_fixture_run(fail_disk), -1);
	ck_assert_int_eq(run_fixture.err.code, ERR_INVALID);
	ck_assert_ptr_nonnull(strstr(run_fixture.err.text, "disk_mb"));
	ck_assert_int_eq(run_fixture_run(fail_path), -1);
	ck_assert_int_eq(run_fixture.err.code, ERR_INVALID);
	ck_assert_int_eq(strncmp(run_fixture.err.text, "File path", 9), 0);
	ck_assert_int_eq(run_fixture_run(fail_start), -1);
	ck_assert_int_eq(run_fixture.err.code, ERR_SANDBOX);
	ck_assert_int_eq(run_fixture_run(fail_late), 0);
	ck_assert(run_fixture.result.lost);
	ck_assert_str_eq(run_fixture.result.out.buf, "x");
}
END_TEST

START_TEST(goes_on_when_the_sink_refuses)
{
	run_fixture.refuse_begin = true;
	ck_assert_int_eq(run_fixture_run(honest), 0);
	ck_assert(!run_fixture.result.cut);
	ck_assert_uint_eq(run_fixture.result.skipped_count, 3);
	ck_assert_str_eq(run_fixture.result.skipped[0].path, "a/b.txt");
	ck_assert_str_eq(run_fixture.result.skipped[0].reason, "too_large");
	ck_assert_uint_eq(run_fixture.aborts, 0);
	ck_assert_uint_eq(run_fixture.bytes, 0);
	run_fixture_clear();
	run_fixture.refuse_begin = false;
	run_fixture.refuse_data = true;
	ck_assert_int_eq(run_fixture_run(honest), 0);
	ck_assert_uint_eq(run_fixture.aborts, 1);
	ck_assert_uint_eq(run_fixture.result.skipped_count, 2);
	ck_assert_str_eq(run_fixture.seen, "a/b.txt:5 empty:0 end ");
}
END_TEST

static void skips(int fd)
{
	run_fixture_started(fd);
	guest_say_ok(fd, 0, 0);
	for (int i = 0; i < 100000; i++)
		guest_say_skip(fd, "n\xff\nx", FRAME_SKIP_NAME);
	guest_say(fd, FRAME_BYE, NULL, 0);
}

START_TEST(counts_skips_beyond_its_list)
{
	ck_assert_int_eq(run_fixture_run(skips), 0);
	ck_assert_uint_eq(run_fixture.result.skipped_count, LIMIT_SKIPPED);
	ck_assert_uint_eq(run_fixture.result.skipped_more, 100000 - LIMIT_SKIPPED);
	ck_assert_str_eq(run_fixture.result.skipped[0].path, "n\357\277\275\nx");
}
END_TEST

static void silent(int fd)
{
	run_fixture_started(fd);
	sleep(60);
}

static void never_starts(int fd)
{
	guest_hear_job(fd);
	sleep(60);
}

/* Talks without end, but never of what matters. */
static void chatter(int fd)
{
	run_fixture_started(fd);
	for (;;)
		guest_say_room(fd, 1);
}

START_TEST(gives_up_at_the_deadline)
{
	void (*const scripts[])(int) = { silent, chatter };

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		struct run_job job = run_fixture_job();
		int64_t begin = clock_ms();

		job.frame.timeout_ms = 100;
		ck_assert_int_eq(run_fixture_with(scripts[i], &job), 0);
		ck_assert(run_fixture.result.lost);
		ck_assert_int_ge(clock_ms() - begin, 100 + LIMIT_GRACE_MS);
		ck_assert_int_lt(clock_ms() - begin, 100 + LIMIT_GRACE_MS + 2000);
		run_fixture_clear();
	}
}
END_TEST

static void leaves_after(int64_t ms, void (*guest)(int), int expected)
{
	int client[2];
	struct run_job job = run_fixture_job();

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
	if (fork() == 0) {
		usleep((useconds_t)ms * 1000);
		_exit(0);
	}
	close(client[1]);
	job.watch_fd = client[0];
	ck_assert_int_eq(run_fixture_with(guest, &job), expected);
	close(client[0]);
}

START_TEST(stops_when_the_client_leaves)
{
	int64_t begin = clock_ms();

	leaves_after(300, silent, 0);
	ck_assert(run_fixture.result.client_gone && !run_fixture.result.lost);
	ck_assert_int_eq(run_fixture.result.exit.cause, FRAME_CAUSE_CANCELLED);
	ck_assert_int_lt(clock_ms() - begin, 900);
	run_fixture_clear();
	leaves_after(300, never_starts, -1);
	ck_assert_int_eq(run_fixture.err.code, ERR_CLIENT_GONE);
}
END_TEST

Suite *suite_box_run(void)
{
	Suite *s = suite_create("box/run");
	TCase *t = tcase_create("run");

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, NULL, run_fixture_clear);
	tcase_add_test(t, takes_an_honest_job);
	tcase_add_test(t, sends_files_args_and_stdin);
	tcase_add_test(t, fails_when_a_stored_file_is_short);
	tcase_add_test(t, is_not_stopped_by_full_pipes);
	tcase_add_test(t, tells_why_a_job_did_not_start);
	tcase_add_test(t, goes_on_when_the_sink_refuses);
	tcase_add_test(t, counts_skips_beyond_its_list);
	tcase_add_test(t, gives_up_at_the_deadline);
	tcase_add_test(t, stops_when_the_client_leaves);
	suite_add_tcase(s, t);
	return s;
}
