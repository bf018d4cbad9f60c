/*
 * One request at a time over FastCGI (libfcgi) or plain CGI. A worker owns one channel; web/ and
 * proc/worker.c call it. It accepts connections itself and hands them to libfcgi, for three
 * reasons: the library's own accept has a gap in which a SIGTERM is slept through, leaves
 * descriptors open across exec, and reads the first records without a deadline. It parses no HTTP.
 */
#include "web/channel.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "limits.h"

#include <errno.h>
#include <fcgiapp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct channel {
	FCGX_Request fcgi;
	int listen_fd;
	int epoll_fd; /* EPOLLEXCLUSIVE: one connection wakes one worker, not all of them */
	int read_ms;  /* longest silence of one read */
	bool cgi;
	bool cgi_served;
	int64_t cgi_read; /* bytes of the body so far */
};

/* libfcgi waits up to 2 s at close for the peer to read; nginx has its answer by then. Not replaced
 * when the operator set it. */
static const char close_wait_ms[] = "100";

static bool watch_listener(struct channel *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLEXCLUSIVE };

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return c->epoll_fd >= 0 && epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->listen_fd, &ev) == 0;
}

struct channel *channel_new(int listen_fd, bool cgi)
{
	struct channel *c = xcalloc(1, sizeof(*c));

	c->listen_fd = listen_fd;
	c->cgi = cgi;
	c->epoll_fd = -1;
	c->read_ms = LIMIT_READ_MS;
	if (cgi)
		return c;
	setenv("LIBFCGI_OS_CLOSE_POLL_TIMEOUT", close_wait_ms, 0);
	/* Listening socket -1: when a connection's first records are bad the library must come
	 * back, not accept by itself. */
	if (FCGX_Init() != 0 || FCGX_InitRequest(&c->fcgi, -1, FCGI_FAIL_ACCEPT_ON_INTR) != 0 ||
	    !watch_listener(c)) {
		channel_free(c);
		return NULL;
	}
	return c;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	if (!c->cgi)
		channel_finish(c);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	free(c);
}

static void set_timeout(int fd, int option, int64_t ms)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	setsockopt(fd, SOL_SOCKET, option, &tv, sizeof(tv));
}

/* Waits for a connection: its descriptor, -1 with errno (EAGAIN: another worker was faster, EINTR:
 * a signal). */
static int next_connection(struct channel *c)
{
	struct epoll_event ev;
	sigset_t none;

	sigemptyset(&none);
	if (epoll_pwait(c->epoll_fd, &ev, 1, -1, &none) < 0)
		return -1;
	return accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC);
}

/* Gives the connection to libfcgi, which reads the parameters. False: not a FastCGI request, the
 * connection is closed. */
static bool begin_request(struct channel *c, int fd)
{
	c->read_ms = LIMIT_READ_MS;
	set_timeout(fd, SO_RCVTIMEO, c->read_ms);
	set_timeout(fd, SO_SNDTIMEO, LIMIT_WRITE_MS);
	c->fcgi.ipcFd = fd;
	c->fcgi.keepConnection = 1; /* else FCGX_Accept_r closes what it was given; the request's
				       own flag replaces it */
	/* Parameters that break off count as read for the library; only the stream knows better. */
	if (FCGX_Accept_r(&c->fcgi) == 0 && FCGX_GetError(c->fcgi.in) == 0)
		return true;
	channel_finish(c);
	return false;
}

static int accept_cgi(struct channel *c)
{
	if (c->cgi_served)
		return 0;
	c->cgi_served = true;
	return 1;
}

/* True for what accept(2) says of one connection or one moment, and for signals. */
static bool passing(int sys)
{
	return sys == EAGAIN || sys == EINTR || sys == ECONNABORTED || sys == EPROTO ||
	       sys == EPERM;
}

int channel_accept(struct channel *c, const volatile int *stop, struct err *err)
{
	if (c->cgi)
		return accept_cgi(c);
	channel_finish(c);
	while (!*stop) {
		int fd = next_connection(c);

		if (fd >= 0 && begin_request(c, fd))
			return 1;
		if (fd < 0 && !passing(errno))
			return err_sys(err, ERR_INTERNAL, errno, "cannot accept connections");
	}
	return 0;
}

const char *channel_param(const struct channel *c, const char *name)
{
	if (c->cgi)
		return getenv(name);
	return c->fcgi.envp ? FCGX_GetParam(name, c->fcgi.envp) : NULL;
}

static int read_failed(int sys, struct err *err)
{
	if (sys == EAGAIN || sys == EWOULDBLOCK || sys == ETIMEDOUT)
		return err_sys(err, ERR_TIMEOUT, sys, "the request body did not arrive within %d s",
			       LIMIT_READ_MS / 1000);
	return err_sys(err, ERR_CLIENT_GONE, MAX(sys, 0),
		       "the client left before its request was complete");
}

void channel_hurry(struct channel *c, int ms)
{
	c->read_ms = MAX(ms, 1);
	if (!c->cgi)
		set_timeout(c->fcgi.ipcFd, SO_RCVTIMEO, c->read_ms);
}

/* A CGI server need not close stdin behind the body (RFC 3875, 4.2): its length ends it. */
static long read_cgi(struct channel *c, void *buf, size_t len, struct err *err)
{
	const char *length = channel_param(c, "CONTENT_LENGTH");
	struct err cause = ERR_INIT;
	int64_t whole = 0;
	ssize_t n;

	if (length && !num_int(length, 0, INT64_MAX, &whole))
		whole = 0;
	len = (size_t)MIN((int64_t)len, whole - c->cgi_read);
	if (len == 0)
		return 0;
	n = io_read_some(STDIN_FILENO, buf, len, clock_ms() + c->read_ms, &cause);
	if (n < 0)
		return read_failed(cause.sys, err);
	c->cgi_read += n;
	return n;
}

long channel_read(struct channel *c, void *buf, size_t len, struct err *err)
{
	if (c->cgi)
		return read_cgi(c, buf, len, err);
	int n = FCGX_GetStr(buf, (int)MIN(len, (size_t)LIMIT_PIECE_BYTES), c->fcgi.in);
	int sys = n > 0 ? 0 : FCGX_GetError(c->fcgi.in);

	return sys ? read_failed(sys, err) : n;
}

static int write_failed(int sys, struct err *err)
{
	return err_sys(err, ERR_CLIENT_GONE, MAX(sys, 0),
		       "the client left before its answer was complete");
}

int channel_write(struct channel *c, const void *data, size_t len, struct err *err)
{
	const char *p = data;

	if (c->cgi) {
		struct err cause = ERR_INIT;

		return io_write_all(STDOUT_FILENO, data, len, clock_ms() + LIMIT_WRITE_MS, &cause)
			       ? write_failed(cause.sys, err)
			       : 0;
	}
	while (len > 0) {
		int piece = (int)MIN(len, (size_t)LIMIT_FRAME_BYTES);

		if (FCGX_PutStr(p, piece, c->fcgi.out) != piece)
			return write_failed(FCGX_GetError(c->fcgi.out), err);
		p += piece;
		len -= (size_t)piece;
	}
	return 0;
}

int channel_flush(struct channel *c, struct err *err)
{
	if (!c->cgi && FCGX_FFlush(c->fcgi.out) != 0)
		return write_failed(FCGX_GetError(c->fcgi.out), err);
	return 0;
}

int channel_fd(const struct channel *c)
{
	return c->cgi ? -1 : c->fcgi.ipcFd;
}

void channel_finish(struct channel *c)
{
	if (c->cgi)
		return;
	FCGX_Finish_r(&c->fcgi);
	if (c->fcgi.ipcFd >= 0)
		FCGX_Free(&c->fcgi,
			  1); /* a peer that asked to keep the connection would hold this worker */
}
