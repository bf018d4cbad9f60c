/*
 * A forwarding proxy between Unix sockets: one process that listens, one for each connection, all
 * ended with the listener. Looks at no byte.
 */
#include "support/relay.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "support/tool.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Copies what is there; false at the end of that direction, which is passed on as a half-close. */
static bool copy(int from, int to)
{
	char buf[65536];
	ssize_t n = read(from, buf, sizeof(buf));
	struct err err = ERR_INIT;
	if (n > 0 && io_write_all(to, buf, (size_t)n, -1, &err) == 0)
		return true;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	(void)shutdown(to, SHUT_WR);
	return false;
}

NORETURN static void splice_both(int client, const char *target)
{
	struct err err = ERR_INIT;
	int up = io_unix_connect(target, SOCK_STREAM, clock_ms() + TOOL_WAIT_MS, &err);
	if (up < 0)
		_exit(1);
	struct pollfd p[2] = { { .fd = client, .events = POLLIN }, { .fd = up, .events = POLLIN } };
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents && !copy(client, up))
			p[0].fd = -1;
		if (p[1].revents && !copy(up, client))
			p[1].fd = -1;
	}
	_exit(0);
}

NORETURN static void serve(int listener, const char *target)
{
	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGTERM, SIG_DFL);
	(void)io_set_nonblock(listener, false);
	for (;;) {
		int client = accept(listener, NULL, NULL);
		if (client < 0)
			continue;
		pid_t self = getpid();
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != self)
				_exit(1);
			close(listener);
			splice_both(client, target);
		}
		close(client);
	}
}

void relay_open(struct relay *r, const char *path, const char *target)
{
	struct err err = ERR_INIT;
	snprintf(r->path, sizeof(r->path), "%s", path);
	int listener = io_unix_listen(path, SOCK_STREAM, 64, 0600, &err);
	ck_assert_msg(listener >= 0, "%s: %s %s", path, err.text, err.cause);
	pid_t parent = getpid();
	r->pid = fork();
	if (r->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		serve(listener, target);
	}
	close(listener);
	ck_assert(r->pid > 0);
}

void relay_close(struct relay *r)
{
	if (r->pid > 0) {
		(void)kill(r->pid, SIGKILL);
		(void)waitpid(r->pid, NULL, 0);
		(void)unlink(r->path);
	}
	r->pid = 0;
}
