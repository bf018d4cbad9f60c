#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * What a run of the tests leaves behind is ended here, whether it passes, fails or is told to stop:
 * processes by pid, containers and volumes by the run's own name in their instance label, and the
 * temporary folder.
 */

/* Installs the handlers; first thing in main. Also removes what runs that were killed have left. */
void cleanup_setup(void);
/* "belljar-test-<pid of the runner>": the beginning of every instance name and folder of this run.
 */
const char *cleanup_name(void);
/* Registers a process (the runner's only; children of a test end with the test). */
void cleanup_pid(pid_t pid);
void cleanup_forget(pid_t pid);
/* The folder is removed at the end. */
void cleanup_dir(const char *path);
