/* A FastCGI server's bytes on a socket against the channel: whole requests, broken ones, a body
 * that stops, a client that leaves. */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "unit/suites.h"
#include "web/channel.h"
#include "web/request.h"
#include "web/response.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEGIN = 1, END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6 };

static char path[] = "/tmp/belljar-channel-XXXXXX";
static char sock[64];
static struct channel *channel;
static volatile int stop;
static struct err err;

static void setup(void)
{
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(path));
	snprintf(sock, sizeof(sock), "%s/s", path);
	fd = io_unix_listen(sock, SOCK_STREAM, 8, 0600, &err);
	ck_assert_int_ge(fd, 0);
	channel = channel_new(fd, false);
	ck_assert_ptr_nonnull(channel);
}

static void teardown(void)
{
	channel_free(channel);
	unlink(sock);
	rmdir(path);
}

static void record(int fd, int type, const void *data, size_t len)
{
	uint8_t head[8] = { 1, (uint8_t)type, 0, 1, (uint8_t)(len >> 8), (uint8_t)len, 0, 0 };

	ck_assert_int_eq(write(fd, head, 8), 8);
	if (len > 0)
		ck_assert_int_eq(write(fd, data, len), (long)len);
}

static void param(int fd, const char *name, const char *value)
{
	char buf[512];
	int len = snprintf(buf, sizeof(buf), "%c%c%s%s", (char)strlen(name), (char)strlen(value),
			   name, value);

	record(fd, PARAMS, buf, (size_t)len);
}

static int connect_to(void)
{
	return io_unix_connect(sock, SOCK_STREAM, clock_ms() + 1000, &err);
}

/* A request up to its body. */
static int begin(const char *length)
{
	int fd = connect_to();

	record(fd, BEGIN, "\0\1\0\0\0\0\0\0", 8);
	param(fd, "REQUEST_METHOD", "POST");
	param(fd, "REQUEST_URI", "/v1/x?y");
	param(fd, "QUERY_STRING", "y");
	param(fd, "CONTENT_LENGTH", length);
	record(fd, PARAMS, "", 0);
	return fd;
}

START_TEST(serves_requests_in_turn)
{
	for (int i = 0; i < 3; i++) {
		int fd = begin("5");
		AUTO(strbuf) body = STRBUF(100);
		AUTO(response) res;
		struct request req;
		char answer[4096] = "";
		int64_t bytes;

		record(fd, STDIN, "hello", 5);
		record(fd, STDIN, "", 0);
		ck_assert_int_eq(channel_accept(channel, &stop, &err), 1);
		ck_assert_int_eq(request_open(&req, channel, &err), 0);
		ck_assert_str_eq(req.path, "/v1/x");
		ck_assert_str_eq(req.query, "y");
		ck_assert_int_eq(request_body(&req, &body, 100, "CAP", &err), 0);
		ck_assert_str_eq(body.buf, "hello");
		response_init(&res, 100);
		strbuf_addstr(&res.body, "{}");
		ck_assert_int_eq(response_send(&res, &req, &bytes, &err), 0);
		channel_finish(channel);
		ck_assert_int_gt(recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL), 0);
		ck_assert_int_eq(answer[1], STDOUT);
		ck_assert_ptr_nonnull(strstr(answer + 8, "Status: 200 OK\r\n"));
		ck_assert_ptr_nonnull(strstr(answer + 8, "\r\n\r\n{}"));
		close(fd);
	}
}
END_TEST

/* What is no FastCGI, or breaks off, is passed over; the next request is served. */
START_TEST(passes_over_broken_connections)
{
	int junk = connect_to(), cut = connect_to(), good;

	ck_assert_int_eq(write(junk, "GET / HTTP/1.0\r\n\r\n", 18), 18);
	shutdown(junk, SHUT_WR);
	record(cut, BEGIN, "\0\1\0\0\0\0\0\0", 8);
	close(cut);
	good = begin("0");
	record(good, STDIN, "", 0);
	ck_assert_int_eq(channel_accept(channel, &stop, &err), 1);
	ck_assert_str_eq(channel_param(channel, "REQUEST_METHOD"), "POST");
	ck_assert_ptr_null(channel_param(channel, "NO_SUCH"));
	close(good);
	close(junk);
}
END_TEST

START_TEST(sees_a_body_cut_off)
{
	int fd = begin("5");
	AUTO(strbuf) body = STRBUF(100);
	struct request req;

	record(fd, STDIN, "hel", 3);
	ck_assert_int_eq(channel_accept(channel, &stop, &err), 1);
	close(fd);
	ck_assert_int_eq(request_open(&req, channel, &err), 0);
	ck_assert_int_eq(request_body(&req, &body, 100, "CAP", &err), -1);
	ck_assert_int_eq(err.code, ERR_CLIENT_GONE);
}
END_TEST

START_TEST(shows_that_the_client_left)
{
	int fd = begin("0");

	record(fd, STDIN, "", 0);
	ck_assert_int_eq(channel_accept(channel, &stop, &err), 1);
	ck_assert(!io_wait(channel_fd(channel), POLLRDHUP, clock_ms() + 50));
	close(fd);
	ck_assert(io_wait(channel_fd(channel), POLLRDHUP, clock_ms() + 1000));
}
END_TEST

static void on_alarm(int sig)
{
	(void)sig;
	stop = 1;
}

/* The signal is blocked until the wait, however late it comes. */
START_TEST(stops_on_a_signal)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGTERM, &sa, NULL);
	raise(SIGTERM);
	ck_assert_int_eq(stop, 0);
	ck_assert_int_eq(channel_accept(channel, &stop, &err), 0);
	ck_assert_int_eq(stop, 1);
}
END_TEST

Suite *suite_web_channel(void)
{
	Suite *s = suite_create("web/channel");
	TCase *t = tcase_create("channel");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, serves_requests_in_turn);
	tcase_add_test(t, passes_over_broken_connections);
	tcase_add_test(t, sees_a_body_cut_off);
	tcase_add_test(t, shows_that_the_client_left);
	tcase_add_test(t, stops_on_a_signal);
	suite_add_tcase(s, t);
	return s;
}
