/*
 * The way to the engine's socket, and hijacked calls on it: a connection of our own, one request,
 * and the header read without taking a byte that belongs to the stream behind it. Called by
 * engine_http.c (addresses) and container.c (attach). It never looks into the stream.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "docker/engine.h"
#include "docker/engine_http.h"
#include "limits.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REFUSAL_BYTES 300   /* of a refusal's body kept for the log */
#define REFUSAL_WAIT_MS 500 /* for that body, which may have no length and no end */

static const char *after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) ? NULL : text + len;
}

static bool split_node(const char *rest, struct http_address *out)
{
	size_t len = strcspn(rest, "/");
	const char *colon = memrchr(rest, ':', len);
	size_t node = colon ? (size_t)(colon - rest) : len;
	int64_t port = 2375; /* the engine's registered port without TLS */
	char digits[8] = "";

	if (node == 0 || node >= sizeof(out->node) || (rest[len] && rest[len + 1]))
		return false;
	if (colon) {
		if (len - node - 1 >= sizeof(digits))
			return false;
		memcpy(digits, colon + 1, len - node - 1);
		if (!num_int(digits, 1, 65535, &port))
			return false;
	}
	memcpy(out->node, rest, node);
	snprintf(out->port, sizeof(out->port), "%d", (int)port);
	return true;
}

int http_address(const char *host, struct http_address *out, struct err *err)
{
	const char *rest;

	*out = (struct http_address){ 0 };
	if ((rest = after(host, "unix://"))) {
		out->local = true;
		if (*rest == '/' && strlen(rest) < sizeof(out->path)) {
			memcpy(out->path, rest, strlen(rest) + 1);
			return 0;
		}
	} else if ((rest = after(host, "tcp://")) || (rest = after(host, "http://"))) {
		if (split_node(rest, out))
			return 0;
	}
	return err_set(err, ERR_INVALID,
		       "DOCKER_HOST is %.120s; it must be unix:///path or tcp://host:port", host);
}

static int wait_connected(int fd, int64_t deadline_ms)
{
	int sys = 0;
	socklen_t len = sizeof(sys);

	if (!io_wait(fd, POLLOUT, deadline_ms))
		return ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
		return errno;
	return sys;
}

static int connect_one(const struct addrinfo *info, int64_t deadline_ms, int *out_fd)
{
	AUTO_CLOSE int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int sys = 0, one = 1;

	if (fd < 0)
		return errno;
	if (connect(fd, info->ai_addr, info->ai_addrlen) < 0)
		sys = errno == EINPROGRESS ? wait_connected(fd, deadline_ms) : errno;
	if (sys)
		return sys;
	/* Frames are small and wanted at once; a dead peer must be noticed. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	*out_fd = steal_fd(&fd);
	return 0;
}

static int connect_tcp(const char *host, const struct http_address *address, int64_t deadline_ms,
		       struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV },
			*list = NULL;
	int rc = getaddrinfo(address->node, address->port, &hints, &list), fd = -1, sys = ENXIO;

	if (rc != 0) {
		http_unreachable(host, ENXIO, err);
		return err_cause(err, "getaddrinfo: %s", gai_strerror(rc));
	}
	for (struct addrinfo *i = list; i && sys && sys != ETIMEDOUT; i = i->ai_next)
		sys = connect_one(i, deadline_ms, &fd);
	freeaddrinfo(list);
	if (sys == ETIMEDOUT)
		return http_silent(host, err);
	return sys ? http_unreachable(host, sys, err) : fd;
}

int http_connect(const char *host, const struct http_address *address, int64_t deadline_ms,
		 struct err *err)
{
	struct err inner = ERR_INIT;
	int fd;

	if (!address->local)
		return connect_tcp(host, address, deadline_ms, err);
	fd = io_unix_connect(address->path, SOCK_STREAM, deadline_ms, &inner);
	if (fd >= 0 && io_set_nonblock(fd, true) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return inner.sys == ETIMEDOUT ? http_silent(host, err)
				      : http_unreachable(host, inner.sys, err);
}

static int send_request(struct engine *e, int fd, const struct http_address *address,
			const char *path, struct err *err)
{
	AUTO(strbuf) head = STRBUF(LIMIT_ENGINE_HEAD);
	struct err inner = ERR_INIT;

	strbuf_addf(&head, "POST /v%s%s HTTP/1.1\r\nHost: %s\r\n", e->api, path,
		    address->local ? "docker" : address->node);
	/* With Upgrade a proxy in between knows that this is no ordinary answer (trap 2). */
	strbuf_addstr(&head, "User-Agent: belljar\r\nConnection: Upgrade\r\nUpgrade: "
			     "tcp\r\nContent-Length: 0\r\n\r\n");
	if (!strbuf_ok(&head))
		return err_set(err, ERR_INTERNAL, "A path for the engine is longer than %zu bytes",
			       head.max);
	if (io_write_all(fd, head.buf, head.len, e->deadline_ms, &inner) < 0)
		return err_sys(err, ERR_ENGINE, inner.sys, "The Docker engine at %s hung up",
			       e->host);
	return 0;
}

/*
 * Takes from the socket up to and including the blank line, and nothing of what follows: bytes are
 * looked at first (MSG_PEEK) and only those that belong to the header are taken.
 */
static int read_head(int fd, struct strbuf *head, int64_t deadline_ms, struct err *err)
{
	char piece[1024];

	for (;;) {
		size_t old = head->len;
		const char *end;
		ssize_t n;

		if (!io_wait(fd, POLLIN, deadline_ms))
			return err_sys(err, ERR_ENGINE, ETIMEDOUT,
				       "The Docker engine is not responding");
		n = recv(fd, piece, sizeof(piece), MSG_PEEK);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return err_sys(err, ERR_ENGINE, n < 0 ? errno : EPROTO,
				       "The Docker engine hung up");
		strbuf_add(head, piece, (size_t)n);
		if (!strbuf_ok(head))
			return err_sys(err, ERR_ENGINE, EMSGSIZE,
				       "The Docker engine's header does not end");
		end = memmem(head->buf, head->len, "\r\n\r\n", 4);
		if (end) {
			strbuf_cut(head, (size_t)(end - head->buf) + 4);
			n = (ssize_t)(head->len - old);
		}
		if (recv(fd, piece, (size_t)n, 0) != n)
			return err_sys(err, ERR_ENGINE, EPROTO,
				       "The Docker engine's socket lost bytes");
		if (end)
			return 0;
	}
}

static int status_of(const struct strbuf *head)
{
	int64_t status;
	char digits[4];

	if (head->len < 13 || memcmp(head->buf, "HTTP/1.", 7) || head->buf[8] != ' ')
		return -1;
	memcpy(digits, head->buf + 9, 3);
	digits[3] = '\0';
	return num_int(digits, 100, 599, &status) ? (int)status : -1;
}

/* The refusal's text: JSON, or plain text without a length (trap 3). Only the log wants it, so what
 * doesn't come soon is left. */
static int refused(struct engine *e, int fd, int status, struct err *err)
{
	char body[REFUSAL_BYTES + 1];
	int64_t until = MIN(e->deadline_ms, clock_ms() + REFUSAL_WAIT_MS);
	ssize_t n = io_read_some(fd, body, REFUSAL_BYTES, until, NULL);

	body[n > 0 ? n : 0] = '\0';
	if (status == 404)
		err_set(err, ERR_NOT_FOUND, "The container to attach to is not there");
	else if (status > 0)
		err_set(err, ERR_ENGINE, "The Docker engine refused to attach with HTTP status %d",
			status);
	else
		err_sys(err, ERR_ENGINE, EPROTO, "What answers at %s does not speak HTTP", e->host);
	return err_cause(err, "%s", body);
}

int engine_hijack(struct engine *e, const char *path, struct err *err)
{
	AUTO(strbuf) head = STRBUF(LIMIT_ENGINE_HEAD);
	AUTO_CLOSE int fd = -1;
	struct http_address address;
	int status;

	if (http_address(e->host, &address, err) < 0)
		return -1;
	fd = http_connect(e->host, &address, e->deadline_ms, err);
	if (fd < 0)
		return -1;
	if (send_request(e, fd, &address, path, err) < 0 ||
	    read_head(fd, &head, e->deadline_ms, err) < 0)
		return err_cause(err, "POST %s", path);
	status = status_of(&head);
	if (status != 101 && status != 200)
		return refused(e, fd, status, err);
	return steal_fd(&fd);
}
