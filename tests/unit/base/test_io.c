/* Deadlines, ends and passed descriptors over real pipes and Unix sockets. */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "unit/suites.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int pair[2];
static struct err err;
static char dir[] = "/tmp/belljar-io-XXXXXX", path[64];

static void setup(void)
{
	err = (struct err)ERR_INIT;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
}

static void teardown(void)
{
	close(pair[0]);
	close(pair[1]);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void assert_failed(int rc, int sys)
{
	ck_assert_int_eq(rc, -1);
	ck_assert_msg(err.sys == sys, "errno %d: %s", err.sys, err.cause);
	ck_assert_int_eq(err.code, ERR_INTERNAL);
}

static void make_stream(void)
{
	close(pair[0]);
	close(pair[1]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

START_TEST(reads_exactly)
{
	char buf[8] = "";

	make_stream();
	ck_assert_int_eq(io_write_all(pair[0], "abcdef", 6, clock_ms() + 5000, &err), 0);
	ck_assert_int_eq(io_read_all(pair[1], buf, 4, clock_ms() + 5000, &err), 0);
	ck_assert_str_eq(buf, "abcd");
	ck_assert_int_eq(io_read_some(pair[1], buf, 8, -1, &err), 2);
	shutdown(pair[0], SHUT_WR);
	ck_assert_int_eq(io_read_some(pair[1], buf, 8, -1, &err), 0);
	assert_failed(io_read_all(pair[1], buf, 1, -1, &err), ENODATA);
}
END_TEST

START_TEST(reading_times_out)
{
	int64_t from = clock_ms();
	char c;

	assert_failed(io_read_all(pair[0], &c, 1, from + 30, &err), ETIMEDOUT);
	ck_assert_int_ge(clock_ms(), from + 29);
	assert_failed((int)io_read_some(pair[0], &c, 1, 0, &err), ETIMEDOUT);
	ck_assert(!io_wait(pair[0], POLLIN, clock_ms() + 1));
	ck_assert(io_wait(pair[0], POLLOUT, -1));
	ck_assert(!io_wait(9999, POLLIN, clock_ms() + 1));
}
END_TEST

/* Neither a blocking pipe nor a blocking socket may hold the writer beyond its deadline. */
START_TEST(writing_times_out)
{
	static char much[4 << 20];
	int pipe_fds[2];

	make_stream();
	assert_failed(io_write_all(pair[0], much, sizeof(much), clock_ms() + 50, &err), ETIMEDOUT);
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_failed(io_write_all(pipe_fds[1], much, sizeof(much), clock_ms() + 50, &err),
		      ETIMEDOUT);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}
END_TEST

START_TEST(writing_to_nobody_fails)
{
	make_stream();
	shutdown(pair[1], SHUT_RDWR);
	assert_failed(io_write_all(pair[0], "x", 1, -1, &err), EPIPE);
	assert_failed(io_write_all(9999, "x", 1, -1, &err), EBADF);
}
END_TEST

START_TEST(sets_nonblocking)
{
	ck_assert_int_eq(io_set_nonblock(pair[0], true), 0);
	ck_assert(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(io_set_nonblock(pair[0], false), 0);
	ck_assert(!(fcntl(pair[0], F_GETFL) & O_NONBLOCK));
	ck_assert_int_eq(io_set_nonblock(9999, true), -1);
}
END_TEST

START_TEST(passes_a_descriptor)
{
	int fds[2], got = -1;
	char c = 0, message[4];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_eq(io_send_fd(pair[0], "abcd", 4, fds[1], &err), 0);
	close(fds[1]);
	ck_assert_int_eq(io_recv_fd(pair[1], message, 4, &got, clock_ms() + 5000, &err), 0);
	ck_assert_mem_eq(message, "abcd", 4);
	ck_assert_int_ge(got, 0);
	ck_assert(fcntl(got, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_eq(write(got, "z", 1), 1);
	ck_assert_int_eq(read(fds[0], &c, 1), 1);
	ck_assert_int_eq(c, 'z');
	close(got);
	close(fds[0]);
	ck_assert_int_eq(io_send_fd(pair[0], "abcd", 4, -1, &err), 0);
	ck_assert_int_eq(io_recv_fd(pair[1], message, 4, &got, clock_ms() + 5000, &err), 0);
	ck_assert_int_eq(got, -1);
}
END_TEST

static int open_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 200; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void send_many(size_t count)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (char[]){ "abcd" }, .iov_len = 4 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &pair[0], sizeof(int));
	ck_assert_int_eq(sendmsg(pair[0], &m, 0), 4);
}

START_TEST(refuses_odd_packets_and_leaks_nothing)
{
	int before = open_fds(), got = -7;
	char message[4];

	send_many(2);
	assert_failed(io_recv_fd(pair[1], message, 4, &got, -1, &err), EBADMSG);
	send_many(8);
	assert_failed(io_recv_fd(pair[1], message, 4, &got, -1, &err), EBADMSG);
	io_send_fd(pair[0], "abc", 3, pair[0], &err);
	assert_failed(io_recv_fd(pair[1], message, 4, &got, -1, &err), EBADMSG);
	io_send_fd(pair[0], "abcde", 5, pair[0], &err);
	assert_failed(io_recv_fd(pair[1], message, 4, &got, -1, &err), EBADMSG);
	ck_assert_int_eq(got, -7);
	ck_assert_int_eq(open_fds(), before);
	assert_failed(io_recv_fd(pair[1], message, 4, &got, clock_ms() + 10, &err), ETIMEDOUT);
	shutdown(pair[0], SHUT_RDWR);
	assert_failed(io_recv_fd(pair[1], message, 4, &got, -1, &err), ENODATA);
	assert_failed(io_send_fd(pair[1], message, 4, -1, &err), EPIPE);
}
END_TEST

START_TEST(listens_and_connects)
{
	AUTO_CLOSE int listener = io_unix_listen(path, SOCK_SEQPACKET, 5, 0620, &err);
	AUTO_CLOSE int client = io_unix_connect(path, SOCK_SEQPACKET, clock_ms() + 5000, &err);
	AUTO_CLOSE int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char c = 0;
	struct stat st;

	ck_assert_int_ge(listener, 0);
	ck_assert_int_ge(client, 0);
	ck_assert_int_ge(server, 0);
	ck_assert(fcntl(listener, F_GETFL) & O_NONBLOCK);
	ck_assert(fcntl(listener, F_GETFD) & FD_CLOEXEC);
	ck_assert(!(fcntl(client, F_GETFL) & O_NONBLOCK));
	ck_assert(fcntl(client, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0620);
	ck_assert_int_eq(io_write_all(client, "q", 1, -1, &err), 0);
	ck_assert_int_eq(io_read_all(server, &c, 1, -1, &err), 0);
	ck_assert_int_eq(c, 'q');
}
END_TEST

START_TEST(replaces_a_stale_socket_only)
{
	AUTO_CLOSE int first = io_unix_listen(path, SOCK_STREAM, 5, 0600, &err);
	AUTO_CLOSE int second = io_unix_listen(path, SOCK_STREAM, 5, 0600, &err);
	AUTO_CLOSE int client = io_unix_connect(path, SOCK_STREAM, -1, &err);

	ck_assert_int_ge(second, 0);
	ck_assert_int_ge(client, 0);
	ck_assert(io_wait(second, POLLIN, clock_ms() + 5000));
	ck_assert(!io_wait(first, POLLIN, 0));
	unlink(path);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_failed(io_unix_listen(path, SOCK_STREAM, 5, 0600, &err), EEXIST);
}
END_TEST

START_TEST(connecting_fails_with_the_reason)
{
	char longest[200];
	AUTO_CLOSE int listener = -1;
	int64_t from;

	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_failed(io_unix_connect(path, SOCK_STREAM, -1, &err), ENOENT);
	assert_failed(io_unix_connect(longest, SOCK_STREAM, -1, &err), ENAMETOOLONG);
	assert_failed(io_unix_listen(longest, SOCK_STREAM, 1, 0600, &err), ENAMETOOLONG);
	listener = io_unix_listen(path, SOCK_STREAM, 0, 0600, &err);
	ck_assert_int_ge(listener, 0);
	from = clock_ms();
	for (int i = 0; i < 4; i++) {
		/* The backlog holds one or two; then connecting waits for its deadline. */
		int fd = io_unix_connect(path, SOCK_STREAM, clock_ms() + 40, &err);

		if (fd < 0)
			break;
	}
	ck_assert_int_eq(err.sys, ETIMEDOUT);
	ck_assert_int_ge(clock_ms() - from, 39);
}
END_TEST

Suite *suite_base_io(void)
{
	Suite *s = suite_create("base_io");
	TCase *tc = tcase_create("io");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, reads_exactly);
	tcase_add_test(tc, reading_times_out);
	tcase_add_test(tc, writing_times_out);
	tcase_add_test(tc, writing_to_nobody_fails);
	tcase_add_test(tc, sets_nonblocking);
	tcase_add_test(tc, passes_a_descriptor);
	tcase_add_test(tc, refuses_odd_packets_and_leaks_nothing);
	tcase_add_test(tc, listens_and_connects);
	tcase_add_test(tc, replaces_a_stale_socket_only);
	tcase_add_test(tc, connecting_fails_with_the_reason);
	suite_add_tcase(s, tc);
	return s;
}
