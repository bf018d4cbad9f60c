/*
 * The role table. master.c walks it; guard.c reads the powers of a row. A new role is one row here
 * and one run function; nothing else lists them.
 */
#include "proc/role.h"

#include "conf.h"
#include "proc/janitor.h"
#include "proc/keeper.h"
#include "proc/worker.h"

static int count_one(void)
{
	return 1;
}

static int count_workers(void)
{
	return conf_workers(conf);
}

/* The keeper comes first: workers that find no keeper.sock answerer at once would only wait for it.
 */
const struct role role_table[ROLE_COUNT] = {
	[ROLE_KEEPER] = {
		.name = "keeper",
		.comm = "belljar-keeper",
		.run = keeper_run,
		.count = count_one,
		.has_keeper = true,
	},
	[ROLE_WORKER] = {
		.name = "worker",
		.comm = "belljar-worker",
		.run = worker_run,
		.count = count_workers,
		.has_fcgi = true,
		.unprivileged = true,
		.filtered = true,
	},
	[ROLE_JANITOR] = {
		.name = "janitor",
		.comm = "belljar-janitor",
		.run = janitor_run,
		.count = count_one,
		.unprivileged = true,
		.filtered = true,
	},
};
