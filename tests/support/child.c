/*
 * Child processes of the system tests: started with an empty environment in their own session,
 * ended by pid and never by name. A child asks the kernel for SIGTERM at its starter's death, so
 * that a test that is killed leaves no process behind.
 */
#include "base/clock.h"
#include "support/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_MS 60000
#define ENV_MAX 64
#define SAFE_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void become(const char *user)
{
	const struct passwd *pw = getpwnam(user);
	if (!pw || setgroups(0, NULL) < 0 || setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
		_exit(126);
}

static void set_stdio(const struct tool_child *c)
{
	int in = c->stdin_fd > 0 ? c->stdin_fd : open("/dev/null", O_RDONLY);
	int out = open(c->log ? c->log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	(void)close_range(3, ~0U, 0);
}

NORETURN static void child_main(const struct tool_child *c, pid_t parent)
{
	const char *env[ENV_MAX] = { SAFE_PATH };
	for (size_t i = 0; c->env && c->env[i] && i + 2 < ENV_MAX; i++)
		env[i + 1] = c->env[i];
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < 32; sig++)
		(void)signal(sig, SIG_DFL);
	setsid();
	set_stdio(c);
	if (c->user)
		become(c->user);
	/* After the change of user, which would drop it. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(126);
	execvpe(c->argv[0], (char *const *)(uintptr_t)c->argv, (char *const *)(uintptr_t)env);
	fprintf(stderr, "%s: %s\n", c->argv[0], strerror(errno));
	_exit(127);
}

pid_t tool_spawn(const struct tool_child *child)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		child_main(child, parent);
	return pid;
}

static bool collected(pid_t pid, int ms, int *out_status)
{
	int64_t end = clock_ms() + ms;
	for (;;) {
		pid_t got = waitpid(pid, out_status, WNOHANG);
		if (got == pid)
			return true;
		if (got < 0 && errno != EINTR) {
			*out_status = -1;
			return true;
		}
		if (clock_ms() >= end)
			return false;
		tool_sleep_ms(10);
	}
}

int tool_wait(pid_t pid, int ms)
{
	int status = -1;
	if (collected(pid, ms, &status))
		return status;
	(void)kill(pid, SIGKILL);
	(void)collected(pid, TOOL_WAIT_MS, &status);
	return status;
}

int tool_stop(pid_t pid, int ms)
{
	if (pid <= 0)
		return -1;
	(void)kill(pid, SIGTERM);
	return tool_wait(pid, ms);
}

int tool_run(const char *const *argv, const char *const *env, struct strbuf *out)
{
	AUTO_FREE char *log = tool_new_dir("run");
	char path[256];
	snprintf(path, sizeof(path), "%s/out", log);
	pid_t pid = tool_spawn(&(struct tool_child){ .argv = argv, .env = env, .log = path });
	int status = tool_wait(pid, RUN_MS);
	(void)tool_read(path, out);
	tool_rmtree(log);
	if (status < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
