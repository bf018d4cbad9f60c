/*
 * The end of a test run: atexit and the stop signals lead here. Acts in the runner only, never in
 * the processes Check forks for each test. Ends processes by pid and containers by label.
 */
#include "support/cleanup.h"

#include "support/dock.h"
#include "support/tool.h"

#include <dirent.h>
#include <errno.h>
#include <linux/limits.h> /* <limits.h> would be src/limits.h */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIDS_MAX 64
#define STOP_MS 15000
#define STALE_S 600 /* another PID namespace may share /tmp: its runs are younger */

static pid_t runner;
static pid_t pids[PIDS_MAX];
static char dir[64];
static char name[48];
static volatile sig_atomic_t entered;

const char *cleanup_name(void)
{
	return name;
}

void cleanup_dir(const char *path)
{
	snprintf(dir, sizeof(dir), "%s", path);
}

void cleanup_pid(pid_t pid)
{
	for (size_t i = 0; getpid() == runner && i < PIDS_MAX; i++) {
		if (!pids[i]) {
			pids[i] = pid;
			return;
		}
	}
}

void cleanup_forget(pid_t pid)
{
	for (size_t i = 0; i < PIDS_MAX; i++)
		if (pids[i] == pid)
			pids[i] = 0;
}

static void cleanup_run(void)
{
	if (getpid() != runner || entered++)
		return;
	for (size_t i = PIDS_MAX; i-- > 0;)
		if (pids[i] > 0)
			(void)tool_stop(pids[i], STOP_MS);
	dock_remove_run(name);
	if (dir[0])
		tool_rmtree(dir);
}

static void on_signal(int sig)
{
	/* Not async-signal-safe, and good enough: the run is over, the alternative is to leave
	 * containers behind. */
	if (getpid() == runner)
		cleanup_run();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

/* Folders of runners that were killed with -9: their process is gone, and not only just. */
static void remove_stale_dirs(void)
{
	struct stat st;
	DIR *d = opendir("/tmp");
	for (struct dirent *e; d && (e = readdir(d));) {
		char path[PATH_MAX];
		int pid = 0;
		if (sscanf(e->d_name, DOCK_RUN_NAME "-%d-", &pid) != 1 || pid <= 0)
			continue;
		snprintf(path, sizeof(path), "/tmp/%s", e->d_name);
		if (kill(pid, 0) < 0 && errno == ESRCH && lstat(path, &st) == 0 &&
		    S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
		    time(NULL) - st.st_mtime > STALE_S)
			tool_rmtree(path);
	}
	if (d)
		closedir(d);
}

void cleanup_setup(void)
{
	runner = getpid();
	snprintf(name, sizeof(name), "%s-%d", DOCK_RUN_NAME, (int)runner);
	atexit(cleanup_run);
	(void)signal(SIGTERM, on_signal);
	(void)signal(SIGINT, on_signal);
	(void)signal(SIGHUP, on_signal);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)tool_temp_dir(); /* here, so that all children share one that this process removes */
	dock_remove_stale();
	remove_stale_dirs();
}
