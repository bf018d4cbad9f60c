#pragma once

#include "base/base.h"

/* The role table: who is forked, how many, as whom. Everything about a role's powers is in its row. */
enum role_kind { ROLE_KEEPER, ROLE_WORKER, ROLE_JANITOR, ROLE_COUNT };
struct role {
	const char *name;
	int (*run)(void);     /* the child's whole life; its return value is the exit status */
	bool unprivileged;    /* SERVICE_USER, no groups, no_new_privs, no capabilities */
	bool filtered;        /* seccomp: no exec, no socket but AF_UNIX */
};
extern const struct role role_table[ROLE_COUNT];
