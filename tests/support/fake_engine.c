/*
 * The fake engine of tests/system/test_engine.c: a forking server on its own socket that answers by
 * rules or passes on to the real engine. See fake_engine.h. It is a test's tool: it ends its
 * process on anything unexpected, and the test sees a broken connection.
 */
#include "support/fake_engine.h"

#include "support/dock.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_MAX (16 << 20)
#define ANSWER_MAX (4 << 20)
#define LIFE_S 60 /* no child outlives a test run that was killed */

struct request {
	char *buf;
	size_t len, head; /* head: bytes up to and including the blank line */
};

static void send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			_exit(0);
		data += n, len -= (size_t)n;
	}
}

static void wait_gone(int fd)
{
	char drop[4096];

	while (read(fd, drop, sizeof(drop)) > 0)
		;
	_exit(0);
}

static size_t body_length(const char *head)
{
	const char *field = strcasestr(head, "\r\nContent-Length:");

	return field ? strtoul(field + 17, NULL, 10) : 0;
}

/* The whole request; false when the client closed instead. */
static bool read_request(int fd, struct request *r)
{
	size_t want = REQUEST_MAX;

	r->buf = calloc(1, REQUEST_MAX + 1);
	while (r->len < want) {
		ssize_t n = read(fd, r->buf + r->len, REQUEST_MAX - r->len);
		char *end;

		if (n <= 0)
			return false;
		r->len += (size_t)n;
		end = r->head ? NULL : strstr(r->buf, "\r\n\r\n");
		if (end) {
			r->head = (size_t)(end - r->buf) + 4;
			want = r->head + body_length(r->buf);
		}
	}
	return true;
}

/* "POST /containers/create" meets "POST /v1.41/containers/create?name=x HTTP/1.1". */
static bool meets(const struct fake_rule *rule, const struct request *r)
{
	size_t line = strcspn(r->buf, "\r"), verb = strcspn(rule->match, " ");
	const char *part = rule->match + verb + 1;

	return !strncmp(r->buf, rule->match, verb + 1) && memmem(r->buf, line, part, strlen(part));
}

static const struct fake_rule *find_rule(struct fake_engine *f, const struct request *r)
{
	for (size_t i = 0; i < f->count; i++) {
		if (!meets(&f->rules[i], r))
			continue;
		if (atomic_fetch_add(&f->hits[i], 1) < f->rules[i].times || !f->rules[i].times)
			return &f->rules[i];
	}
	return NULL;
}

static int connect_upstream(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		_exit(1);
	return fd;
}

/* Sends the request on with "Connection: close" in it, unless it is a hijack; `version` replaces
 * the last digit of HTTP/1.1. */
static void pass_request(int up, const struct request *r, char version)
{
	size_t line = strcspn(r->buf, "\r");
	bool hijack = strcasestr(r->buf, "\r\nUpgrade: tcp") != NULL;

	r->buf[line - 1] = version;
	send_all(up, r->buf, line + 2);
	if (!hijack)
		send_all(up, "Connection: close\r\n", 19);
	send_all(up, r->buf + line + 2, r->len - line - 2);
}

/* Copies once; false at the end. */
static bool copy(int from, int to, size_t *left)
{
	char buf[16384];
	ssize_t n = read(from, buf, sizeof(buf));

	if (n <= 0) {
		shutdown(to, SHUT_WR);
		return false;
	}
	send_all(to, buf, (size_t)n < *left ? (size_t)n : *left);
	*left -= (size_t)n < *left ? (size_t)n : *left;
	return true;
}

static void pump(int fd, int up, size_t left)
{
	struct pollfd p[2] = { { fd, POLLIN, 0 }, { up, POLLIN, 0 } };
	size_t all = SIZE_MAX;

	while (left > 0 && p[1].fd >= 0 && poll(p, 2, -1) > 0) {
		if (p[0].revents && !copy(fd, up, &all))
			p[0].fd = -1;
		if (p[1].revents && !copy(up, fd, &left))
			p[1].fd = -1;
	}
}

/* The request goes on as HTTP/1.0, so that the answer comes without chunks. */
static void edit(int fd, int up, const struct fake_rule *rule)
{
	char *all = calloc(1, ANSWER_MAX + 1), *body, *spot;
	size_t len = 0;
	ssize_t n;

	while (len < ANSWER_MAX && (n = read(up, all + len, ANSWER_MAX - len)) > 0)
		len += (size_t)n;
	body = strstr(all, "\r\n\r\n");
	spot = body ? strstr(body, rule->text) : NULL;
	if (!spot)
		_exit(2); /* the test expects a text that isn't there */
	send_all(fd, "HTTP/1.1", 8);
	send_all(fd, all + 8, strcspn(all, "\r") - 8);
	send_all(fd, "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n", 55);
	send_all(fd, body + 4, (size_t)(spot - body) - 4);
	send_all(fd, rule->to, strlen(rule->to));
	send_all(fd, spot + strlen(rule->text), len - (size_t)(spot - all) - strlen(rule->text));
}

static void drip(int fd, const char *text)
{
	for (; *text; text++) {
		send_all(fd, text, 1);
		usleep(500);
	}
}

static void flood(int fd)
{
	char block[65536];

	memset(block, 'x', sizeof(block));
	for (;;)
		send_all(fd, block, sizeof(block));
}

static void answer(struct fake_engine *f, int fd, const struct fake_rule *rule,
		   const struct request *r)
{
	enum fake_act act = rule ? rule->act : FAKE_PASS;
	int up = -1;

	if (act == FAKE_PASS || act == FAKE_CUT || act == FAKE_EDIT) {
		up = connect_upstream(f->upstream);
		pass_request(up, r, act == FAKE_EDIT ? '0' : '1');
	}
	switch (act) {
	case FAKE_PASS:
		pump(fd, up, SIZE_MAX);
		break;
	case FAKE_CUT:
		pump(fd, up, rule->cut);
		break;
	case FAKE_EDIT:
		edit(fd, up, rule);
		break;
	case FAKE_DRIP:
		drip(fd, rule->text);
		wait_gone(fd);
		break;
	default:
		send_all(fd, rule->text, strlen(rule->text));
		if (act == FAKE_RAW_HANG)
			wait_gone(fd);
		if (act == FAKE_FLOOD)
			flood(fd);
	}
}

static void serve(struct fake_engine *f, int fd)
{
	struct request r = { 0 };

	alarm(LIFE_S);
	if (read_request(fd, &r))
		answer(f, fd, find_rule(f, &r), &r);
	shutdown(fd, SHUT_WR); /* no reset while the client still sends */
	_exit(0);
}

static void run(struct fake_engine *f, int listener)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	alarm(LIFE_S);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0 && fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(f, fd);
		}
		close(fd);
	}
}

static int listen_unix(struct fake_engine *f)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(f->dir, sizeof(f->dir), "/tmp/belljar-fake-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(f->dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/engine.sock", f->dir);
	snprintf(f->host, sizeof(f->host), "unix://%s/engine.sock", f->dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static int listen_tcp(struct fake_engine *f)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	snprintf(f->host, sizeof(f->host), "tcp://127.0.0.1:%d", ntohs(addr.sin_port));
	return fd;
}

void fake_start(struct fake_engine *f, const struct fake_rule *rules, size_t count, int tcp)
{
	int listener;

	*f = (struct fake_engine){ .rules = rules, .count = count, .upstream = dock_socket() };
	ck_assert_uint_le(count, FAKE_RULES);
	f->hits = mmap(NULL, FAKE_RULES * sizeof(*f->hits), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(f->hits, MAP_FAILED);
	listener = tcp ? listen_tcp(f) : listen_unix(f);
	ck_assert_int_eq(listen(listener, 64), 0);
	f->pid = fork();
	ck_assert_int_ge(f->pid, 0);
	if (f->pid == 0)
		run(f, listener);
	setpgid(f->pid, f->pid); /* here too: fake_stop must find the group */
	close(listener);
}

void fake_stop(struct fake_engine *f)
{
	char path[128];

	kill(-f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	if (*f->dir) {
		snprintf(path, sizeof(path), "%s/engine.sock", f->dir);
		unlink(path);
		rmdir(f->dir);
	}
	munmap(f->hits, FAKE_RULES * sizeof(*f->hits));
}

unsigned fake_hits(const struct fake_engine *f, size_t i)
{
	return atomic_load(&f->hits[i]);
}
