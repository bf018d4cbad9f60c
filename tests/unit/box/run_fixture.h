#pragma once

#include "base/err.h"
#include "box/run.h"

/* One job against one scripted guest, with a sink that notes what it gets. Shared by the tests of
 * box/run. */

#define RUN_OUTPUT_BYTES 1000
#define RUN_FILES_BYTES 200000

struct run_fixture {
	struct run_result result;
	struct err err;
	char seen[2000]; /* "path:size " at each begin, "end " at each end */
	size_t bytes, aborts;
	bool refuse_begin, refuse_data;
};
extern struct run_fixture run_fixture;

/* A program of seven bytes, no input, one second. */
struct run_job run_fixture_job(void);
int run_fixture_with(void (*guest)(int fd), const struct run_job *job);
int run_fixture_run(void (*guest)(int fd));
void run_fixture_clear(void);
/* The guest's first steps: hears the job, says STARTED and room for input. */
void run_fixture_started(int fd);
