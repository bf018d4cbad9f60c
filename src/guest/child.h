#pragma once

#include "base/base.h"
#include "guest/why.h"
#include "wire/frame.h"

#include <sys/types.h>

/* The interpreter with its driver, later the program, and every other process of the container. */
struct child {
	pid_t pid;	  /* 0: none was started */
	int ctl;	  /* to the driver, until it has taken the job; -1 then */
	int in, out, err; /* our ends of its pipes, non-blocking; -1 once closed */
	bool ended;	  /* the main process; `status` and `main_cpu_us` are set */
	int status;
	uint64_t main_cpu_us, all_cpu_us; /* of the reaped ones */
	uint64_t rss_peak;		  /* bytes */
	int64_t ended_us;
};

/* How it is started. All borrowed; env_*: "NAME=value" texts ended by NUL that are set from the
 * start. */
struct child_spec {
	const char *python;
	const char *drivers;
	const char *main_name;
	const char *env;
	size_t env_len;
	const char *preimport; /* modules to import while it waits, "": none */
};

#define CHILD_READY 'R'
#define CHILD_NEXT 'I' /* it begins to import the next module of child_spec.preimport */
#define CHILD_DONE 'P' /* it has imported them */
#define CHILD_TAKEN 'G'

void child_init(struct child *c);
/* Starts the interpreter; it says CHILD_READY on ctl when it can take a job. */
int child_start(struct child *c, const struct child_spec *spec, struct why *why);
/*
 * Waits for this byte on ctl. -1: it said something else (its words are in *why), died or was
 * silent for timeout_ms. Also -1 if the other side of in_fd hangs up meanwhile. Before CHILD_TAKEN
 * what it has told of its imports may come.
 */
int child_await(struct child *c, char what, int in_fd, int timeout_ms, struct why *why);
/* Puts the job's limits on the waiting process and hands it the job. -1 also if it reads nothing
 * for timeout_ms. */
int child_give_job(struct child *c, const struct frame_job *job, int timeout_ms, struct why *why);
/* Takes the status of every process that has ended. True if none is left. */
bool child_reap(struct child *c);
/* Kills every process of the container but the caller, and reaps them, in bounded time. */
void child_kill_all(struct child *c);
/* Kills all and closes the descriptors: after it child_start may be called again. */
void child_clear(struct child *c);
/* Closes *fd and makes it -1. */
void child_close(int *fd);
/* CPU time that the main process has used so far; 0 if that can't be known. */
uint64_t child_cpu_us(const struct child *c);
/* The same and that of its children which it has waited for, and of all that were reaped here. */
uint64_t child_all_cpu_us(const struct child *c);
