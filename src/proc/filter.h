#pragma once

#include "base/base.h"

struct err;

/*
 * The seccomp filter of roles that read hostile bytes: a list of what they may call; everything
 * else is EPERM. No exec, no new process or thread, no socket but AF_UNIX, no signal to others, no
 * executable memory. `listen_fd` (-1: none) is shared with other workers, so nothing that would
 * spoil it for them may be done to it. Does nothing under the address sanitizer, whose runtime
 * needs more.
 */
int filter_install(int listen_fd, struct err *err);
