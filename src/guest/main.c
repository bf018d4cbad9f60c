/*
 * PID 1 of every job's container: prepares itself against the program, starts the language's
 * driver, says HELLO and serves one job. Arguments: the interpreter (default python3) and the
 * workspace (default /workspace). Its input and output are the frames; it writes nothing else
 * anywhere. The container ends when it does.
 */
#include "guest/guest.h"
#include "guest/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_FOLDER "/belljar"

int64_t guest_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

void guest_quit(struct guest *g, int code)
{
	child_kill_all(&g->child);
	_exit(code);
}

/*
 * As PID 1 nothing from inside the container can signal us but what we handle or block, and that is
 * SIGCHLD alone. Ignoring the rest makes it so as well where the guest is not PID 1.
 */
static int prepare_signals(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t chld;

	for (int sig = 1; sig < 65; sig++) {
		if (sig != SIGCHLD)
			sigaction(sig, &ignore, NULL);
	}
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &chld, NULL) < 0)
		return -1;
	return signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The drivers lie beside the guest. */
static void find_drivers(const char *self, char *out, size_t size)
{
	const char *slash = strrchr(self, '/');

	if (slash)
		snprintf(out, size, "%.*s/drivers", (int)(slash - self), self);
	else
		snprintf(out, size, "%s/drivers", DEFAULT_FOLDER);
}

static int prepare(struct guest *g, const char *workspace)
{
	child_init(&g->child);
	umask(022);
	/* /proc/1 belongs to root then: no memory, descriptors, environment or limits for the
	 * program to touch */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return why_sys(&g->why, FRAME_FAIL_START, "protecting the guest");
	g->sig_fd = prepare_signals();
	if (g->sig_fd < 0)
		return why_sys(&g->why, FRAME_FAIL_START, "preparing signals");
	if (fcntl(g->out.fd, F_SETFL, O_NONBLOCK) < 0)
		return why_sys(&g->why, FRAME_FAIL_START, "preparing the output");
	if (chdir(workspace) < 0)
		return why_sys(&g->why, FRAME_FAIL_START, "entering %s", workspace);
	g->work_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->work_fd < 0)
		return why_sys(&g->why, FRAME_FAIL_START, "opening %s", workspace);
	if (inputs_init(&g->inputs, g->work_fd) < 0)
		return why_sys(&g->why, FRAME_FAIL_START, "getting a random key");
	return 0;
}

int main(int argc, char **argv)
{
	static struct guest g;
	static char drivers[512];
	int64_t begin = guest_now_us();

	g.in_fd = STDIN_FILENO;
	g.out.fd = STDOUT_FILENO;
	find_drivers(argc > 0 ? argv[0] : "", drivers, sizeof(drivers));
	g.spec = (struct child_spec){ .python = argc > 1 ? argv[1] : "python3",
				      .drivers = drivers,
				      .main_name = "main.py",
				      .preimport = g.preimport.names };
	preimport_init(&g.preimport, getenv(PREIMPORT_ENV));
	if (prepare(&g, argc > 2 ? argv[2] : "/workspace") < 0 ||
	    child_start(&g.child, &g.spec, &g.why) < 0 ||
	    child_await(&g.child, CHILD_READY, g.in_fd, GUEST_READY_MS, &g.why) < 0)
		serve_failure(&g);
	preimport_begin(&g);
	serve(&g, (uint32_t)((guest_now_us() - begin) / 1000));
}
