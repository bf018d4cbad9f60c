#pragma once

#include "base/base.h"

struct err;
struct role;
struct setup;

/*
 * Gives up what the role must not have, for the rest of the process's life. Unprivileged:
 * SERVICE_USER, no groups, no capability, no new process. Others stay root with nothing but the
 * right to open any socket by name. Both: no_new_privs, no core dumps, unreadable by ptrace. In the
 * end the process dies (SIGTERM) with its master.
 */
int guard_enter(const struct role *role, const struct setup *s, struct err *err);
/* The same for a request that a CGI server started: SERVICE_USER if it is root, then the worker's
 * filter. */
int guard_cgi(const struct setup *s, struct err *err);
