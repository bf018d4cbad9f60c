#pragma once

#include "base/base.h"

struct setup;

/* The role table: who is forked, how many, as whom. Everything about a role's powers is in its row.
 */
enum role_kind { ROLE_KEEPER, ROLE_WORKER, ROLE_JANITOR, ROLE_COUNT };
struct role {
	const char *name;
	const char *comm; /* what ps shows; the kernel keeps 15 bytes */
	int (*run)(const struct setup
			   *); /* the child's whole life; its return value is the exit status */
	int (*count)(void);    /* how many there should be, by `conf` */
	bool has_fcgi;	       /* keeps the FastCGI listener */
	bool has_keeper;   /* keeps the keeper's listener: whoever accepts there can play the keeper
			    */
	bool unprivileged; /* SERVICE_USER, no groups, no_new_privs, no capabilities */
	bool filtered;	   /* seccomp: no exec, no fork, no socket but AF_UNIX */
};
extern const struct role role_table[ROLE_COUNT];
