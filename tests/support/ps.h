#pragma once

#include "base/base.h"

#include <sys/types.h>

/* What /proc says about processes. */
#define PS_MAX 256

/* Live (not zombie) children of a process; how many (at most max written). */
size_t ps_children(pid_t parent, pid_t *out, size_t max);
/* Children, their children and so on, with the process itself. */
size_t ps_tree(pid_t top, pid_t *out, size_t max);
/* True if the process's name or command line holds the word. */
bool ps_named(pid_t pid, const char *word);
bool ps_alive(pid_t pid);
/* Waits for the end of a process that is not our child; false after TOOL_WAIT_MS. */
bool ps_wait_gone(pid_t pid);
int ps_fd_count(pid_t pid);
/* A line of /proc/PID/status after its colon and blanks ("Uid", "CapEff", "NoNewPrivs"); "" if not
 * there. The caller's. */
char *ps_status(pid_t pid, const char *field);
/* Proportional set size in KiB. */
int64_t ps_pss_kb(pid_t pid);
int64_t ps_rss_kb(pid_t pid);
/* The most KiB that were resident since the process began or ps_forget_peak; -1: it is gone. */
int64_t ps_peak_kb(pid_t pid);
/* From now on only; false: not allowed. */
bool ps_forget_peak(pid_t pid);
/* Bytes it has given to write calls, of files and sockets alike; -1: it is gone. */
int64_t ps_written(pid_t pid);
