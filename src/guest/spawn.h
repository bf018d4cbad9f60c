#pragma once

#include "guest/child.h"

/* The interpreter's ends: stdin, stdout, stderr and the driver's socket. */
struct spawn_fds {
	int in, out, err, ctl;
};

/* Makes the pipes and the socket pair: our ends into *c, the others into *theirs. -1: errno;
 * *theirs is closed. */
int spawn_pipes(struct child *c, struct spawn_fds *theirs);
void spawn_close(struct spawn_fds *fds);
/* In the forked child: becomes the interpreter. On failure it says why on the driver's socket and
 * exits with 127. */
NORETURN void spawn_exec(const struct child_spec *spec, const struct spawn_fds *fds);
