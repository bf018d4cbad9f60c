/*
 * From fork to exec: pipes, descriptors, signals, environment, the shield. Runs in the guest up to
 * the fork and in the child after it; child.c is the only caller. The child shares the guest's
 * memory image until the exec, when no program runs yet that could look at it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* prlimit, execvpe, pipe2 */
#endif
#include "guest/spawn.h"

#include "guest/preimport.h"
#include "guest/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define CTL_FD 3
#define ENV_MAX 512 /* the image's, ours and the job's */
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

extern char **environ;

int spawn_pipes(struct child *c, struct spawn_fds *theirs)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, ctl[2] = { -1, -1 };
	bool ok = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
		  pipe2(err, O_CLOEXEC) == 0 &&
		  socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ctl) == 0;

	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
	c->ctl = ctl[0];
	*theirs = (struct spawn_fds){ .in = in[0], .out = out[1], .err = err[1], .ctl = ctl[1] };
	if (ok && fcntl(c->in, F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(c->out, F_SETFL, O_NONBLOCK) == 0 && fcntl(c->err, F_SETFL, O_NONBLOCK) == 0)
		return 0;
	spawn_close(theirs);
	return -1;
}

void spawn_close(struct spawn_fds *fds)
{
	child_close(&fds->in);
	child_close(&fds->out);
	child_close(&fds->err);
	child_close(&fds->ctl);
}

/* Puts fd at `at`; all of them lie above CTL_FD when spawn_exec calls this. */
static bool place(int fd, int at)
{
	return dup2(fd, at) == at;
}

/* The guest's descriptors 0 and 1 are Docker's; what it opened may lie anywhere. Copies above all
 * targets first. */
static bool place_fds(const struct spawn_fds *fds)
{
	int in = fcntl(fds->in, F_DUPFD, CTL_FD + 1), out = fcntl(fds->out, F_DUPFD, CTL_FD + 1);
	int err = fcntl(fds->err, F_DUPFD, CTL_FD + 1), ctl = fcntl(fds->ctl, F_DUPFD, CTL_FD + 1);

	if (in < 0 || out < 0 || err < 0 || ctl < 0)
		return false;
	if (!place(in, 0) || !place(out, 1) || !place(err, 2) || !place(ctl, CTL_FD))
		return false;
	if (syscall(SYS_close_range, CTL_FD + 1, ~0u, 0) == 0)
		return true;
	for (int fd = CTL_FD + 1; fd < 1024; fd++)
		close(fd);
	return true;
}

/* The kernel picks by this when memory ends: the program, never PID 1. Raising it needs no
 * privilege. */
static void volunteer_for_oom(void)
{
	int fd;

	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self belongs to root */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0) {
		/* /proc may be restricted: then the kernel picks by size, which is the program as
		 * well */
	}
	close(fd);
}

static void default_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < 65; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

struct env {
	char *rows[ENV_MAX + 1];
	size_t count;
};

static size_t name_len(const char *row)
{
	return strcspn(row, "=");
}

/* Sets a "NAME=value" text; the last one of a name wins. */
static void env_set(struct env *e, char *row)
{
	size_t len = name_len(row);

	for (size_t i = 0; i < e->count; i++) {
		if (strncmp(e->rows[i], row, len + 1) == 0) {
			e->rows[i] = row;
			return;
		}
	}
	if (e->count < ENV_MAX)
		e->rows[e->count++] = row;
}

static void env_build(struct env *e, const struct child_spec *spec, char *path_row,
		      char *preimport_row)
{
	static char *const ours[] = {
		(char *)"HOME=/tmp", /* writable, and nothing below it is returned */
		(char *)"LANG=C.UTF-8",
		(char *)"TZ=UTC",
		(char *)"PYTHONUNBUFFERED=1", /* what was printed before a kill must be there */
		(char *)"PYTHONDONTWRITEBYTECODE=1",
	};

	env_set(e, (char *)"PATH=" DEFAULT_PATH);
	for (char **row = environ; row && *row; row++) {
		if (strncmp(*row, PREIMPORT_ENV "=", sizeof(PREIMPORT_ENV)) != 0)
			env_set(e, *row);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		env_set(e, ours[i]);
	for (size_t at = 0; at < spec->env_len; at += strlen(spec->env + at) + 1)
		env_set(e, (char *)spec->env + at);
	env_set(e, path_row);
	if (*spec->preimport)
		env_set(e, preimport_row);
	e->rows[e->count] = NULL;
}

static NORETURN void give_up(const char *what)
{
	char text[200];
	int n = snprintf(text, sizeof(text), "F%s: %s", what, strerror(errno));

	if (n > 0 && send(CTL_FD, text, MIN((size_t)n, sizeof(text) - 1), MSG_NOSIGNAL) < 0)
		_exit(126);
	_exit(127);
}

void spawn_exec(const struct child_spec *spec, const struct spawn_fds *fds)
{
	static struct env env;
	static char path_row[1024], preimport_row[sizeof(PREIMPORT_ENV) + PREIMPORT_MAX + 1];
	char *argv[] = { (char *)spec->python, (char *)spec->main_name, NULL };

	setsid();
	default_signals();
	if (!place_fds(fds))
		_exit(127);
	volunteer_for_oom();
	if (snprintf(path_row, sizeof(path_row), "PYTHONPATH=%s", spec->drivers) >=
	    (int)sizeof(path_row))
		give_up("the drivers' path is too long");
	snprintf(preimport_row, sizeof(preimport_row), PREIMPORT_ENV "=%s", spec->preimport);
	env_build(&env, spec, path_row, preimport_row);
	if (shield_install() < 0)
		give_up("the system call filter");
	/* found by the image's PATH: environ is not the job's yet */
	execvpe(spec->python, argv, env.rows);
	give_up(spec->python);
}
