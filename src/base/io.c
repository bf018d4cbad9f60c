/*
 * Blocking calls with deadlines: every wait is poll() with the time left, so that the same code
 * serves blocking and non-blocking descriptors. Also Unix sockets and the passing of a descriptor
 * over them. Called by the worker, the keeper and fillers; it never closes what the caller owns and
 * never raises SIGPIPE on a socket.
 */
#include "base/io.h"

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* More than the one descriptor a packet may bring, so that a surplus is received, seen and closed.
 */
#define FDS_SEEN 4

static int io_failed(struct err *err, int sys, const char *what)
{
	err_sys(err, ERR_INTERNAL, sys, "A connection inside the service failed.");
	return err_cause(err, "%s", what);
}

/* 1: ready, 0: the deadline passed, -1: errno. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	do {
		n = poll(&p, 1, deadline_ms < 0 ? -1 : clock_left(deadline_ms));
	} while (n < 0 && errno == EINTR);
	if (n > 0 && (p.revents & POLLNVAL)) {
		errno = EBADF;
		return -1;
	}
	return n;
}

bool io_wait(int fd, short events, int64_t deadline_ms)
{
	return wait_for(fd, events, deadline_ms) > 0;
}

static int wait_or_fail(int fd, short events, int64_t deadline_ms, const char *what,
			struct err *err)
{
	int n = wait_for(fd, events, deadline_ms);

	if (n > 0)
		return 0;
	return io_failed(err, n == 0 ? ETIMEDOUT : errno, what);
}

static bool is_retry(int sys)
{
	return sys == EINTR || sys == EAGAIN || sys == EWOULDBLOCK;
}

/*
 * One write that does not block after POLLOUT: sockets take MSG_DONTWAIT, and a pipe that polls
 * writable has room for PIPE_BUF.
 */
static ssize_t write_some(int fd, const void *data, size_t len, bool bounded)
{
	ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	return write(fd, data, bounded ? MIN(len, (size_t)PIPE_BUF) : len);
}

int io_write_all(int fd, const void *data, size_t len, int64_t deadline_ms, struct err *err)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n;

		if (wait_or_fail(fd, POLLOUT, deadline_ms, "write", err) < 0)
			return -1;
		n = write_some(fd, p, len, deadline_ms >= 0);
		if (n < 0 && !is_retry(errno))
			return io_failed(err, errno, "write");
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

ssize_t io_read_some(int fd, void *data, size_t len, int64_t deadline_ms, struct err *err)
{
	for (;;) {
		ssize_t n;

		if (wait_or_fail(fd, POLLIN, deadline_ms, "read", err) < 0)
			return -1;
		n = read(fd, data, len);
		if (n >= 0)
			return n;
		if (!is_retry(errno))
			return io_failed(err, errno, "read");
	}
}

int io_read_all(int fd, void *data, size_t len, int64_t deadline_ms, struct err *err)
{
	char *p = data;

	while (len > 0) {
		ssize_t n = io_read_some(fd, p, len, deadline_ms, err);

		if (n < 0)
			return -1;
		if (n == 0)
			return io_failed(err, ENODATA, "read: the other side closed");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_send_fd(int sock, const void *data, size_t len, int fd, struct err *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	/* Without a descriptor plain send does: a worker's seccomp filter has no sendmsg. */
	if (fd >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	}
	do {
		n = fd >= 0 ? sendmsg(sock, &m, MSG_NOSIGNAL) : send(sock, data, len, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return io_failed(err, errno, "sendmsg");
	if ((size_t)n != len)
		return io_failed(err, EMSGSIZE, "sendmsg: sent in part");
	return 0;
}

/* Takes the descriptors out of a received message: the first one to *out_fd, the others are closed.
 * Returns their number. */
static size_t take_fds(struct msghdr *m, int *out_fd)
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++, count++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (count == 0)
				*out_fd = fd;
			else
				close(fd);
		}
	}
	return count;
}

static ssize_t receive(int sock, struct msghdr *m, int64_t deadline_ms, struct err *err)
{
	for (;;) {
		ssize_t n;

		if (wait_or_fail(sock, POLLIN, deadline_ms, "recvmsg", err) < 0)
			return -1;
		n = recvmsg(sock, m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n >= 0)
			return n;
		if (!is_retry(errno))
			return io_failed(err, errno, "recvmsg");
	}
}

int io_recv_fd(int sock, void *data, size_t len, int *out_fd, int64_t deadline_ms, struct err *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FDS_SEEN * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = data, .iov_len = len };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };
	AUTO_CLOSE int fd = -1;
	ssize_t n = receive(sock, &m, deadline_ms, err);
	size_t fds;

	if (n < 0)
		return -1;
	fds = take_fds(&m, &fd);
	if (n == 0 && fds == 0)
		return io_failed(err, ENODATA, "recvmsg: the other side closed");
	if ((size_t)n != len || (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || fds > 1)
		return io_failed(err, EBADMSG, "recvmsg: not a message of the expected form");
	*out_fd = steal_fd(&fd);
	return 0;
}

int io_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0 ? -1 : 0;
}

static int unix_address(struct sockaddr_un *a, const char *path, struct err *err)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(a->sun_path))
		return io_failed(err, ENAMETOOLONG, path);
	memcpy(a->sun_path, path, strlen(path) + 1);
	return 0;
}

/* For connect: while the listener's backlog is full the kernel waits as long as SO_SNDTIMEO says
 * (0: without limit). */
static void set_send_time(int sock, int64_t left_ms)
{
	struct timeval tv = { .tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000 };

	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

int io_unix_connect(const char *path, int type, int64_t deadline_ms, struct err *err)
{
	AUTO_CLOSE int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	int n;

	if (sock < 0)
		return io_failed(err, errno, "socket");
	if (unix_address(&a, path, err) < 0)
		return -1;
	do {
		set_send_time(sock, deadline_ms < 0 ? 0 : MAX(clock_left(deadline_ms), 1));
		n = connect(sock, (struct sockaddr *)&a, sizeof(a));
	} while (n < 0 && errno == EINTR && (deadline_ms < 0 || clock_left(deadline_ms) > 0));
	if (n < 0)
		return io_failed(err, is_retry(errno) ? ETIMEDOUT : errno, path);
	set_send_time(sock, 0);
	return steal_fd(&sock);
}

/* True if the path is free or holds a socket, which a listener may replace. */
static bool may_replace(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? errno == ENOENT : S_ISSOCK(st.st_mode);
}

/*
 * Binds under another name, sets the mode, then renames: nobody can connect before the mode is set,
 * and the path is never missing while an old server is replaced.
 */
static int bind_and_rename(int sock, const char *path, unsigned mode, struct err *err)
{
	char temp[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	struct sockaddr_un a;

	if (snprintf(temp, sizeof(temp), "%s.new", path) >= (int)sizeof(temp))
		return io_failed(err, ENAMETOOLONG, path);
	if (unix_address(&a, temp, err) < 0)
		return -1;
	if (!may_replace(path) || !may_replace(temp))
		return io_failed(err, EEXIST, path);
	unlink(temp);
	if (bind(sock, (struct sockaddr *)&a, sizeof(a)) < 0)
		return io_failed(err, errno, temp);
	if (chmod(temp, mode) < 0 || rename(temp, path) < 0) {
		int sys = errno;

		unlink(temp);
		return io_failed(err, sys, path);
	}
	return 0;
}

int io_unix_listen(const char *path, int type, int backlog, unsigned mode, struct err *err)
{
	AUTO_CLOSE int sock = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0)
		return io_failed(err, errno, "socket");
	if (bind_and_rename(sock, path, mode, err) < 0)
		return -1;
	if (listen(sock, backlog) < 0)
		return io_failed(err, errno, path);
	return steal_fd(&sock);
}
