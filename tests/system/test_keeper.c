/*
 * The keeper's socket against whoever reaches it: foreign users, packets of any shape, floods. It
 * must close on the speaker and serve the others, being the same process.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/service.h"
#include "support/tool.h"
#include "wire/leasemsg.h"

#include <check.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct service svc;
static pid_t keeper;

static void setup(void)
{
	service_up(&svc, (const char *const[]){ "QUEUE_LENGTH=2", NULL });
	keeper = service_one(&svc, "keeper");
}

static void teardown(void)
{
	service_clear(&svc);
}

static void want_unharmed(void)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('works')", NULL, &a);
	WANT_STR(&a, "stdout", "works\n");
	ck_assert_int_eq(service_one(&svc, "keeper"), keeper);
	ck_assert(service_wait_clean(&svc));
}

static int open_keeper(void)
{
	struct err err = ERR_INIT;
	return io_unix_connect(svc.keeper, SOCK_SEQPACKET, clock_ms() + TOOL_WAIT_MS, &err);
}

/* What the keeper says to a packet: bytes, 0 when it closes, -1 when neither comes in time. */
static ssize_t say(const void *data, size_t len, void *out, size_t max)
{
	AUTO_CLOSE int fd = open_keeper();
	ck_assert_msg(fd >= 0, "cannot connect: %s", strerror(errno));
	if (send(fd, data, len, MSG_NOSIGNAL) < 0)
		return 0;
	if (!io_wait(fd, POLLIN, clock_ms() + TOOL_WAIT_MS))
		return -1;
	ssize_t n = recv(fd, out, max, 0);
	return n < 0 ? 0 : n;
}

static struct lease_ask good_ask(void)
{
	return (struct lease_ask){ .magic = LEASE_MAGIC,
				   .kind = LEASE_TAKE,
				   .wait_ms = 10000,
				   .run_ms = 10000,
				   .tenant = "t",
				   .limits = { .memory_mb = 128,
					       .cpu_milli = 500,
					       .pids = 32,
					       .disk_mb = 16,
					       .tmp_mb = 16 } };
}

START_TEST(a_good_question_is_answered)
{
	struct lease_status status;
	const struct lease_ask ask = { .magic = LEASE_MAGIC, .kind = LEASE_STATUS };
	ck_assert_int_eq(say(&ask, sizeof(ask), &status, sizeof(status)), (int)sizeof(status));
	ck_assert(lease_status_ok(&status) && status.running);
}
END_TEST

START_TEST(packets_of_wrong_lengths)
{
	char buf[4096];
	struct lease_ask ask = good_ask();
	memset(buf, 0xff, sizeof(buf));
	memcpy(buf, &ask, sizeof(ask));
	static const size_t lengths[] = {
		0, 1, 4, sizeof(ask) - 1, sizeof(ask) + 1, 2 * sizeof(ask), 4096
	};
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		ssize_t n = say(buf, lengths[i], buf + 2048, 1024);
		ck_assert_msg(n == 0, "%zu bytes: %zd bytes of answer", lengths[i], n);
	}
	want_unharmed();
}
END_TEST

struct ask_row {
	const char *what;
	size_t offset;
	uint32_t value;
};

#define FIELD(f) offsetof(struct lease_ask, f)

static const struct ask_row bad_asks[] = {
	{ "magic", FIELD(magic), 0 },
	{ "magic of others", FIELD(magic), 0x314c4a42 },
	{ "kind 0", FIELD(kind), 0 },
	{ "kind 99", FIELD(kind), 99 },
	{ "no memory", FIELD(limits.memory_mb), 0 },
	{ "all memory", FIELD(limits.memory_mb), UINT32_MAX },
	{ "memory over the maximum", FIELD(limits.memory_mb), 2049 },
	{ "no cpu", FIELD(limits.cpu_milli), 0 },
	{ "cpu over the maximum", FIELD(limits.cpu_milli), 2001 },
	{ "pids 0 is without limit", FIELD(limits.pids), 0 },
	{ "pids -1 is without limit", FIELD(limits.pids), UINT32_MAX },
	{ "pids over the maximum", FIELD(limits.pids), 257 },
	{ "no disk", FIELD(limits.disk_mb), 0 },
	{ "disk over the memory", FIELD(limits.disk_mb), 1024 },
	{ "no tmp", FIELD(limits.tmp_mb), 0 },
	{ "tmp over the memory", FIELD(limits.tmp_mb), 4000 },
	{ "a job without end", FIELD(run_ms), UINT32_MAX },
	{ "a yes beyond 1", FIELD(made), 2 },
	{ "nobody's job", FIELD(tenant), 0 },
	{ "a tenant with a path", FIELD(tenant), 0x2f2e2e }, /* "../" */
};

START_TEST(questions_beyond_the_limits)
{
	struct lease_ask ask = good_ask();
	struct lease_grant grant;
	memcpy((char *)&ask + bad_asks[_i].offset, &bad_asks[_i].value, sizeof(uint32_t));
	ssize_t n = say(&ask, sizeof(ask), &grant, sizeof(grant));
	bool refused = n == (ssize_t)sizeof(grant) && grant.code != ERR_NONE;
	ck_assert_msg(n == 0 || refused, "%s: %zd bytes of answer", bad_asks[_i].what, n);
	ck_assert_msg(service_wait_clean(&svc), "a container was made");
	ck_assert_int_eq(service_one(&svc, "keeper"), keeper);
}
END_TEST

START_TEST(a_second_word_ends_the_lease)
{
	struct lease_ask ask = good_ask();
	struct err err = ERR_INIT;
	AUTO_CLOSE int fd = open_keeper();
	struct lease_grant grant;
	AUTO_CLOSE int stream = -1;
	ck_assert(io_send_fd(fd, &ask, sizeof(ask), -1, &err) == 0);
	ck_assert_msg(io_recv_fd(fd, &grant, sizeof(grant), &stream, clock_ms() + 60000, &err) == 0,
		      "%s", err.text);
	ck_assert_msg(grant.code == ERR_NONE && stream >= 0, "%s", grant.text);
	ck_assert_uint_eq(dock_list(svc.instance, NULL, 0), 1);
	ck_assert(io_send_fd(fd, &ask, sizeof(ask), -1, &err) == 0);
	ck_assert_msg(service_wait_clean(&svc), "the lease lives on");
	want_unharmed();
}
END_TEST

START_TEST(a_closed_lease_removes_its_container)
{
	struct lease_ask ask = good_ask();
	struct err err = ERR_INIT;
	struct lease_grant grant;
	int stream = -1, fd = open_keeper();
	ck_assert(io_send_fd(fd, &ask, sizeof(ask), -1, &err) == 0);
	ck_assert_msg(io_recv_fd(fd, &grant, sizeof(grant), &stream, clock_ms() + 60000, &err) == 0,
		      "%s", err.text);
	ck_assert_uint_eq(dock_list(svc.instance, NULL, 0), 1);
	close(fd); /* the stream stays open: it is the connection that counts */
	ck_assert_msg(service_wait_clean(&svc), "the container stays");
	close(stream);
}
END_TEST

START_TEST(descriptors_that_nobody_asked_for)
{
	struct lease_ask ask = good_ask();
	struct err err = ERR_INIT;
	for (int i = 0; i < 50; i++) {
		AUTO_CLOSE int fd = open_keeper();
		ck_assert(io_send_fd(fd, "x", 1, 0, &err) == 0);
	}
	AUTO_CLOSE int fd = open_keeper();
	ck_assert(io_send_fd(fd, &ask, sizeof(ask), 0, &err) == 0);
	want_unharmed();
}
END_TEST

START_TEST(a_flood_of_silent_connections)
{
	static int fds[600];
	size_t n = 0;
	for (; n < ARRAY_SIZE(fds); n++)
		if ((fds[n] = open_keeper()) < 0)
			break;
	ck_assert_uint_gt(n, 100);
	want_unharmed();
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	want_unharmed();
}
END_TEST

/* As another user: the file's mode refuses, and where a mode was changed the keeper itself does. */
static int connect_as(uid_t uid)
{
	ck_assert(setgroups(0, NULL) == 0 && setegid(uid) == 0 && seteuid(uid) == 0);
	int fd = open_keeper();
	ck_assert(seteuid(0) == 0 && setegid(0) == 0);
	return fd;
}

START_TEST(foreign_users)
{
	const struct lease_ask ask = { .magic = LEASE_MAGIC, .kind = LEASE_STATUS };
	struct lease_status status;
	struct err err = ERR_INIT;
	ck_assert_int_lt(connect_as(65531), 0);
	ck_assert(chmod(svc.keeper, 0666) == 0);
	AUTO_CLOSE int fd = connect_as(65531);
	ck_assert_int_ge(fd, 0);
	(void)send(fd, &ask, sizeof(ask), MSG_NOSIGNAL);
	ck_assert_msg(io_wait(fd, POLLIN, clock_ms() + TOOL_WAIT_MS),
		      "a foreign user is kept waiting");
	ck_assert_int_le(recv(fd, &status, sizeof(status), 0), 0);
	ck_assert(chmod(svc.keeper, 0600) == 0);
	AUTO_CLOSE int own = connect_as(getpwnam(tool_service_user())->pw_uid);
	ck_assert_msg(own >= 0 && io_send_fd(own, &ask, sizeof(ask), -1, &err) == 0,
		      "the service's own user is refused");
	ck_assert(io_wait(own, POLLIN, clock_ms() + TOOL_WAIT_MS));
	ck_assert_int_eq(recv(own, &status, sizeof(status), 0), (int)sizeof(status));
}
END_TEST

START_TEST(the_queue_is_bounded)
{
	/* Three slots and a queue of two: the sixth is refused at once, with a time to wait. */
	struct lease_ask ask = good_ask();
	struct err err = ERR_INIT;
	int fds[5];
	ck_assert(service_wait_clean(&svc)); /* a container on its way out takes a slot */
	ask.wait_ms = 60000;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = open_keeper();
		ck_assert(io_send_fd(fds[i], &ask, sizeof(ask), -1, &err) == 0);
	}
	tool_sleep_ms(500); /* all five are read */
	struct lease_grant grant;
	ssize_t n = say(&ask, sizeof(ask), &grant, sizeof(grant));
	ck_assert_int_eq(n, (int)sizeof(grant));
	ck_assert_uint_eq(grant.code, ERR_BUSY);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	want_unharmed();
}
END_TEST

Suite *suite_keeper(void)
{
	Suite *s = suite_create("keeper");
	TCase *tc = tcase_create("keeper");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_good_question_is_answered);
	tcase_add_test(tc, packets_of_wrong_lengths);
	tcase_add_loop_test(tc, questions_beyond_the_limits, 0, (int)ARRAY_SIZE(bad_asks));
	tcase_add_test(tc, a_second_word_ends_the_lease);
	tcase_add_test(tc, a_closed_lease_removes_its_container);
	tcase_add_test(tc, descriptors_that_nobody_asked_for);
	tcase_add_test(tc, a_flood_of_silent_connections);
	tcase_add_test(tc, foreign_users);
	tcase_add_test(tc, the_queue_is_bounded);
	suite_add_tcase(s, tc);
	return s;
}
