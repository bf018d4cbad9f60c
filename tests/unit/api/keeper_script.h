#pragma once

#include "base/base.h"
#include "wire/leasemsg.h"

/* A keeper and its engine as a script in a child process, below RUN_DIR of a configuration of the
 * tests' own. */

/* Sets `conf` from defaults and this process's environment, with RUN_DIR in a fresh folder and
 * FILE_STORAGE_DIR, empty, below it. Clear removes both. */
void keeper_conf(void);
void keeper_conf_clear(void);
/*
 * Answers one question after the other until the child's process is ended by keeper_stop:
 * LEASE_STATUS with *status, LEASE_TAKE with a container that runs `guest` (NULL: the refusal
 * ERR_BUSY). The limits of the last LEASE_TAKE can be read with keeper_limits.
 */
void keeper_start(const struct lease_status *status, void (*guest)(int fd));
void keeper_stop(void);
struct lease_limits keeper_limits(void);
