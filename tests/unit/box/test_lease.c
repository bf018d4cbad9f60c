/* The worker's side of a lease against a scripted keeper: grants, refusals, answers that are not
 * valid, a keeper that dies, a client that leaves. */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "box/lease.h"
#include "limits.h"
#include "unit/suites.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char dir[] = "/tmp/belljar-lease-XXXXXX";
static char path[64];
static int listener;
static struct err err;
static struct lease lease;
static const struct lease_ask ask = { .magic = LEASE_MAGIC,
				      .kind = LEASE_TAKE,
				      .wait_ms = 500,
				      .run_ms = 1000,
				      .limits = { 128, 1000, 16, 32, 16 },
				      .tenant = "local" };

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/k", dir);
	listener = io_unix_listen(path, SOCK_SEQPACKET, 8, 0600, &err);
	ck_assert_int_ge(listener, 0);
	lease = (struct lease)LEASE_INIT;
}

static void teardown(void)
{
	lease_clear(&lease);
	close(listener);
	unlink(path);
	rmdir(dir);
}

/* The next connection and its question; for the child. */
static int next_ask(struct lease_ask *out)
{
	int fd, none;

	io_wait(listener, POLLIN, clock_ms() + 5000);
	fd = accept(listener, NULL, NULL);
	if (fd < 0 || io_recv_fd(fd, out, sizeof(*out), &none, clock_ms() + 5000, &err))
		_exit(3);
	return fd;
}

static struct lease_grant good_grant(void)
{
	struct lease_grant g = { .magic = LEASE_MAGIC, .queue_ms = 3, .start_ms = 4, .warm = 1 };

	memset(g.id, 'a', 64);
	return g;
}

static void keeper(void (*fn)(void))
{
	if (fork() == 0) {
		fn();
		_exit(0);
	}
}

static void grants(void)
{
	struct lease_grant g = good_grant();
	struct lease_ask got;
	int conn = next_ask(&got), fds[2];
	char byte;

	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	if (memcmp(&got, &ask, sizeof(ask)) != 0)
		_exit(3);
	io_send_fd(conn, &g, sizeof(g), fds[1], &err);
	close(fds[1]);
	io_write_all(fds[0], "hi", 2, clock_ms() + 1000, &err);
	/* The lease ends when its connection closes. */
	if (read(conn, &byte, 1) != 0)
		_exit(3);
	io_write_all(fds[0], "x", 1, clock_ms() + 1000, &err);
}

START_TEST(takes_a_grant)
{
	char text[3] = "";

	keeper(grants);
	ck_assert_int_eq(lease_take(&lease, path, &ask, -1, &err), 0);
	ck_assert(lease.warm && lease.queue_ms == 3 && lease.start_ms == 4);
	ck_assert_uint_eq(strlen(lease.id), 64);
	ck_assert_int_eq(io_read_all(lease.stream, text, 2, clock_ms() + 1000, &err), 0);
	ck_assert_str_eq(text, "hi");
	lease_clear(&lease);
	ck_assert(lease.conn == -1 && lease.stream == -1);
}
END_TEST

static void refuses(void)
{
	struct lease_grant g = { .magic = LEASE_MAGIC,
				 .code = ERR_BUSY,
				 .retry_after_s = 9,
				 .text = "all full",
				 .cause = "c" };
	struct lease_ask got;

	io_send_fd(next_ask(&got), &g, sizeof(g), -1, &err);
}

START_TEST(hands_on_a_refusal)
{
	keeper(refuses);
	ck_assert_int_eq(lease_take(&lease, path, &ask, -1, &err), -1);
	ck_assert_int_eq(err.code, ERR_BUSY);
	ck_assert_int_eq(err.retry_after_s, 9);
	ck_assert_str_eq(err.text, "all full");
	ck_assert_ptr_nonnull(strstr(err.cause, "c"));
	ck_assert_int_eq(lease.conn, -1);
}
END_TEST

static void no_descriptor(void)
{
	struct lease_grant g = good_grant();
	struct lease_ask got;

	io_send_fd(next_ask(&got), &g, sizeof(g), -1, &err);
}

static void endless_text(void)
{
	struct lease_grant g = { .magic = LEASE_MAGIC, .code = ERR_BUSY };
	struct lease_ask got;

	memset(g.text, 'x', sizeof(g.text));
	io_send_fd(next_ask(&got), &g, sizeof(g), -1, &err);
}

START_TEST(refuses_answers_that_are_not_valid)
{
	void (*const scripts[])(void) = { no_descriptor, endless_text };

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		keeper(scripts[i]);
		ck_assert_int_eq(lease_take(&lease, path, &ask, -1, &err), -1);
		ck_assert_msg(err.code == ERR_INTERNAL, "script %zu: %s", i, err.text);
		ck_assert(lease.conn == -1 && lease.stream == -1);
	}
}
END_TEST

static void dies_and_comes_back(void)
{
	struct lease_ask got;

	close(next_ask(&got));
	grants();
}

START_TEST(asks_again_after_a_keeper_died)
{
	keeper(dies_and_comes_back);
	ck_assert_int_eq(lease_take(&lease, path, &ask, -1, &err), 0);
	ck_assert_int_ge(lease.stream, 0);
}
END_TEST

START_TEST(gives_up_without_a_keeper)
{
	int64_t begin = clock_ms();

	close(listener);
	ck_assert_int_eq(lease_take(&lease, path, &ask, -1, &err), -1);
	ck_assert_int_eq(err.code, ERR_ENGINE);
	ck_assert_int_ge(clock_ms() - begin, LIMIT_KEEPER_MS);
	ck_assert_int_lt(clock_ms() - begin, LIMIT_KEEPER_MS + 2000);
	ck_assert_int_eq(lease_ask_status(path, &(struct lease_status){ 0 }, &err), -1);
}
END_TEST

START_TEST(stops_waiting_for_a_client_that_left)
{
	int64_t begin = clock_ms();
	int client[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
	if (fork() == 0) {
		usleep(300000);
		_exit(0);
	}
	close(client[1]);
	ck_assert_int_eq(lease_take(&lease, path, &ask, client[0], &err), -1);
	ck_assert_int_eq(err.code, ERR_CLIENT_GONE);
	ck_assert_int_lt(clock_ms() - begin, 900);
}
END_TEST

static void reports(void)
{
	struct lease_status s = { .magic = LEASE_MAGIC,
				  .running = 1,
				  .slots = 8,
				  .engine = "Docker",
				  .problem = "none" };
	struct lease_ask got;
	int conn = next_ask(&got);

	if (got.kind == LEASE_STATUS)
		io_send_fd(conn, &s, sizeof(s), -1, &err);
}

START_TEST(asks_for_the_status)
{
	struct lease_status s;

	keeper(reports);
	ck_assert_int_eq(lease_ask_status(path, &s, &err), 0);
	ck_assert_str_eq(s.engine, "Docker");
	ck_assert_uint_eq(s.slots, 8);
}
END_TEST

Suite *suite_box_lease(void)
{
	Suite *s = suite_create("box/lease");
	TCase *t = tcase_create("lease");

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, takes_a_grant);
	tcase_add_test(t, hands_on_a_refusal);
	tcase_add_test(t, refuses_answers_that_are_not_valid);
	tcase_add_test(t, asks_again_after_a_keeper_died);
	tcase_add_test(t, gives_up_without_a_keeper);
	tcase_add_test(t, stops_waiting_for_a_client_that_left);
	tcase_add_test(t, asks_for_the_status);
	suite_add_tcase(s, t);
	return s;
}
