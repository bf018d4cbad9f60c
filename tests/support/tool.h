#pragma once

#include "base/base.h"
#include "base/strbuf.h"

#include <sys/types.h>

/* Small things every system test needs: time, files, children. Nothing here knows the service. */

#define TOOL_WAIT_MS                                                                               \
	30000 /* the bound of every "wait until": far above what a slow machine needs */
#define TOOL_FILE_MAX (256 << 20)

/* Asks every 20 ms until fn says true; false after ms. */
bool tool_until(bool (*fn)(void *), void *arg, int ms);
void tool_sleep_ms(int ms);

/* The folder of this executable (build/release), the project's root above it, the caller's to free
 * never. */
const char *tool_build_dir(void);
const char *tool_root_dir(void);
/* One folder for everything this run writes, mode 0755, removed at the end of the runner. */
const char *tool_temp_dir(void);
/* A new empty folder in it; the caller's. */
char *tool_new_dir(const char *name);
/* Removes a folder and all in it; silent. */
void tool_rmtree(const char *path);

/* Reads a file (also of /proc) whole; false when it can't be opened. */
bool tool_read(const char *path, struct strbuf *out);
void tool_write(const char *path, const char *text);
/* The end of a text file, at most max bytes; the caller's; "" when there is none. */
char *tool_tail(const char *path, size_t max);
/* Lines of the file that contain the text. */
int tool_count(const char *path, const char *text);
/* Waits until there is such a line; false after TOOL_WAIT_MS. */
bool tool_wait_text(const char *path, const char *text);

/* A TCP port of 127.0.0.1 that nobody listens on. */
int tool_free_port(void);

/* The user the service's workers run as in tests: "belljar" if there is one, else "nobody". */
const char *tool_service_user(void);

struct tool_child {
	const char *const *argv;
	const char *const *env; /* NULL-ended; the child has nothing else but PATH */
	const char *log;	/* its stdout and stderr are appended here; NULL: /dev/null */
	const char *user;	/* NULL: stay as we are */
	int stdin_fd;		/* 0 or less: /dev/null */
};
/*
 * Starts a program in its own session. It gets SIGTERM when the process that started it dies,
 * however that happens. -1: fork failed.
 */
pid_t tool_spawn(const struct tool_child *child);
/* TERM, then KILL after ms; collects it. Returns the wait status or -1. */
int tool_stop(pid_t pid, int ms);
/* Waits for the end, at most ms (then KILL); the wait status or -1. */
int tool_wait(pid_t pid, int ms);
/* Runs a program to its end (60 s) and appends stdout and stderr to out; the exit status, 128 +
 * signal, or -1. */
int tool_run(const char *const *argv, const char *const *env, struct strbuf *out);
