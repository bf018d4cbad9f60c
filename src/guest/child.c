/*
 * Starts the interpreter and ends everything. The process that child_start forks becomes the
 * driver, waits for its job on descriptor 3, and then is the program itself. As PID 1 the guest is
 * also the parent of every orphan, so reaping here sees all of the container. job.c and serve.c
 * call it; it reads no frame and sends none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* prlimit, execvpe, pipe2 */
#endif
#include "guest/child.h"

#include "guest/guest.h"
#include "guest/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_MS 5000 /* a process in uninterruptible sleep may survive that long */
#define KILL_POLL_MS 2
#define NOFILE 4096  /* above any honest program, below what makes closing them slow */
#define TALK_MAX 300 /* words of a dying interpreter that go into FAIL */

void child_init(struct child *c)
{
	*c = (struct child){ .ctl = -1, .in = -1, .out = -1, .err = -1 };
}

void child_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int child_start(struct child *c, const struct child_spec *spec, struct why *why)
{
	struct spawn_fds theirs;
	pid_t pid;

	child_init(c);
	if (spawn_pipes(c, &theirs) < 0) {
		child_clear(c);
		return why_sys(why, FRAME_FAIL_START, "no pipe for the interpreter");
	}
	pid = fork();
	if (pid == 0)
		spawn_exec(spec, &theirs);
	spawn_close(&theirs);
	if (pid < 0) {
		child_clear(c);
		return why_sys(why, FRAME_FAIL_START, "no process for the interpreter");
	}
	c->pid = pid;
	return 0;
}

/* What the driver or, failing that, the dying interpreter's stderr has to say. */
static int explain(struct child *c, const char *what, struct why *why)
{
	char text[TALK_MAX + 1];
	ssize_t n = c->ctl < 0 ? -1 : recv(c->ctl, text, TALK_MAX, MSG_DONTWAIT);

	if (n <= 0)
		n = c->err < 0 ? -1 : read(c->err, text, TALK_MAX);
	text[n > 0 ? n : 0] = '\0';
	return why_set(why, FRAME_FAIL_START, "the interpreter %s%s%s", what, n > 0 ? ": " : "",
		       text);
}

/* What the driver says before it has seen the job. */
static bool is_news(char got)
{
	return got == CHILD_READY || got == CHILD_NEXT || got == CHILD_DONE;
}

int child_await(struct child *c, char what, int in_fd, int timeout_ms, struct why *why)
{
	int64_t end = guest_now_us() + timeout_ms * 1000LL;

	for (;;) {
		struct pollfd fds[2] = { { .fd = c->ctl, .events = POLLIN }, { .fd = in_fd } };
		int64_t left = (end - guest_now_us()) / 1000;
		char got;

		if (left <= 0)
			return explain(c, "was not ready in time", why);
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			return why_sys(why, FRAME_FAIL_START, "waiting for the interpreter");
		if (fds[1].revents & (POLLHUP | POLLERR))
			return why_set(why, FRAME_FAIL_CANCELLED, "the other side hung up");
		if (!fds[0].revents)
			continue;
		if (recv(c->ctl, &got, 1, 0) != 1)
			return explain(c, "ended before it was ready", why);
		if (what == CHILD_TAKEN && is_news(got))
			continue;
		return got == what ? 0 : explain(c, "could not take the job", why);
	}
}

static int limit(const struct child *c, int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit now, want;

	if (prlimit(c->pid, resource, NULL, &now) < 0)
		return -1;
	want.rlim_max = MIN((rlim_t)hard, now.rlim_max);
	want.rlim_cur = MIN((rlim_t)soft, want.rlim_max);
	return prlimit(c->pid, resource, &want, NULL);
}

/* CPU seconds are the program's own: what the interpreter's start has used is added. */
static int set_limits(const struct child *c, const struct frame_job *job)
{
	uint64_t cpu = job->cpu_time_s + (child_cpu_us(c) + 999999) / 1000000;

	if (job->cpu_time_s && limit(c, RLIMIT_CPU, cpu, cpu + 1) < 0)
		return -1;
	if (job->file_bytes && limit(c, RLIMIT_FSIZE, job->file_bytes, job->file_bytes) < 0)
		return -1;
	if (limit(c, RLIMIT_NOFILE, NOFILE, NOFILE) < 0)
		return -1;
	return limit(c, RLIMIT_CORE, 0, 0);
}

static int send_all(int fd, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int child_give_job(struct child *c, const struct frame_job *job, int timeout_ms, struct why *why)
{
	struct timeval give = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000L };
	uint8_t head[16];
	struct frame_out out = { .buf = head, .max = sizeof(head), .ok = true };

	if (c->pid <= 0 || c->ended) /* 0 would be the guest's own limits */
		return explain(c, "is not there", why);
	if (set_limits(c, job) < 0)
		return why_sys(why, FRAME_FAIL_START, "setting the program's limits");
	frame_put_u32(&out, job->show_last);
	frame_put_u32(&out, job->argv_len);
	frame_put_u32(&out, job->env_len);
	frame_put_u32(&out, job->args_len);
	setsockopt(c->ctl, SOL_SOCKET, SO_SNDTIMEO, &give, sizeof(give));
	if (send_all(c->ctl, head, sizeof(head)) < 0 ||
	    send_all(c->ctl, job->argv, job->argv_len) < 0 ||
	    send_all(c->ctl, job->env, job->env_len) < 0 ||
	    send_all(c->ctl, job->args, job->args_len) < 0)
		return explain(c, "did not take the job", why);
	return 0;
}

uint64_t child_cpu_us(const struct child *c)
{
	struct timespec t;
	clockid_t clock;

	if (c->pid <= 0 || clock_getcpuclockid(c->pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* "pid (name) state ..." of /proc: cutime and cstime are its 16th and 17th field. */
static uint64_t waited_cpu_us(pid_t pid)
{
	char path[32], text[1024];
	uint64_t ticks[2] = { 0 };
	const char *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	child_close(&fd);
	text[MAX(n, 0)] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 16; field++)
		at = strchr(at + 1, ' ');
	for (int i = 0; at && i < 2; i++) {
		for (at++; *at >= '0' && *at <= '9'; at++)
			ticks[i] = ticks[i] * 10 + (uint64_t)(*at - '0');
	}
	return (ticks[0] + ticks[1]) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t child_all_cpu_us(const struct child *c)
{
	return child_cpu_us(c) + c->all_cpu_us + (c->pid > 0 ? waited_cpu_us(c->pid) : 0);
}

static uint64_t usage_us(const struct rusage *ru)
{
	return (uint64_t)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec);
}

bool child_reap(struct child *c)
{
	struct rusage ru;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &ru)) > 0) {
		c->all_cpu_us += usage_us(&ru);
		c->rss_peak = MAX(c->rss_peak, (uint64_t)ru.ru_maxrss * 1024);
		if (pid != c->pid)
			continue;
		c->ended = true;
		c->ended_us = guest_now_us();
		c->status = status;
		c->main_cpu_us = usage_us(&ru);
	}
	return pid < 0 && errno == ECHILD;
}

/*
 * As PID 1 one call reaches all: the kernel signals under the lock that fork takes, and a fork
 * whose caller has a fatal signal pending fails, so no bomb outruns it. Anywhere else -1 would mean
 * the user's other processes.
 */
static void kill_once(const struct child *c)
{
	if (getpid() == 1)
		kill(-1, SIGKILL);
	else if (c->pid > 1 && !c->ended)
		kill(-c->pid, SIGKILL);
}

void child_kill_all(struct child *c)
{
	int64_t end = guest_now_us() + KILL_MS * 1000LL;

	do {
		kill_once(c);
		if (child_reap(c))
			return;
		poll(NULL, 0, KILL_POLL_MS);
	} while (guest_now_us() < end);
}

void child_clear(struct child *c)
{
	if (c->pid > 0)
		child_kill_all(c);
	child_close(&c->ctl);
	child_close(&c->in);
	child_close(&c->out);
	child_close(&c->err);
	child_init(c);
}
