#pragma once

#include "base/base.h"

#include <sys/types.h>

/* A Unix socket in front of another one: closing it looks to the service as if the engine had
 * stopped. */
struct relay {
	pid_t pid; /* 0: closed */
	char path[128];
};
/* Listens on path and passes every connection on to target. */
void relay_open(struct relay *r, const char *path, const char *target);
/* Ends it with all its connections, and removes the socket. */
void relay_close(struct relay *r);
