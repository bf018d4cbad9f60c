/*
 * What the keeper forks fillers for: each task with its deadline, and what becomes of the state
 * when no filler can be had. keeper.c calls it, and keeper_client.c for the status. It never waits.
 */
#include "base/clock.h"
#include "conf.h"
#include "limits.h"
#include "proc/keeper.h"

#include <string.h>

void filler_setup(struct keeper *k)
{
	const struct filler_task task = { .kind = FILLER_SETUP,
					  .deadline_ms = clock_ms() + LIMIT_SETUP_MS };
	if (!filler_start(k, &task, NULL))
		k->setup_next_ms = clock_ms() + KEEPER_RETRY_MS;
}

void filler_sweep(struct keeper *k)
{
	const struct filler_task task = { .kind = FILLER_SWEEP,
					  .deadline_ms = clock_ms() + LIMIT_SWEEP_MS };
	k->sweep++;
	k->sweep_unsure = false;
	k->sweep_began_ms = clock_ms();
	if (!filler_start(k, &task, NULL))
		k->sweep_next_ms = clock_ms() + KEEPER_RETRY_MS;
}

void filler_status(struct keeper *k)
{
	const struct filler_task task = { .kind = FILLER_STATUS,
					  .deadline_ms = clock_ms() + LIMIT_LOOK_MS };
	filler_start(k, &task, NULL);
}

/* A MAKE for whoever it is: the rest is the caller's. */
static struct filler_task make_task(const struct keeper *k, const struct lease_limits *limits,
				    int64_t life_ms)
{
	int64_t life = LIMIT_MAKE_MS + life_ms + LIMIT_HOLD_MS;
	struct filler_task task = { .kind = FILLER_MAKE, .limits = *limits };
	task.deadline_ms = clock_ms() + LIMIT_MAKE_MS;
	task.deadline_wall_s = (clock_wall_ms() + life) / 1000;
	memcpy(task.volume, k->volume, sizeof(task.volume));
	return task;
}

static bool start_make(struct keeper *k, struct box *b, const struct filler_task *task)
{
	b->limits = task->limits;
	b->deadline_wall_s = task->deadline_wall_s;
	return filler_start(k, task, b);
}

void filler_make(struct keeper *k, struct keeper_client *c)
{
	const struct filler_task task = make_task(k, &c->ask.limits, c->ask.run_ms);
	struct box *b = box_new(k, BOX_MAKING, "");
	if (!c->retried)
		c->making_ms = clock_ms();
	c->state = CLIENT_SERVED;
	admit_served(k, c);
	if (b)
		box_assign(b, c);
	if (b && start_make(k, b, &task))
		return;
	struct err err = ERR_INIT;
	err_set(&err, ERR_SANDBOX, "The service cannot start another process for a sandbox.");
	if (b)
		box_doom(k, b);
	c->box = NULL;
	client_refuse(k, c, &err);
}

/* Its label must hold for the longest job that begins when it is oldest. */
bool filler_warm(struct keeper *k, const struct lease_limits *limits)
{
	int64_t life =
		conf->pool_max_age_s * 1000 + LIMIT_OLD_MS + conf->max_timeout_ms + LIMIT_STAGES_MS;
	struct filler_task task = make_task(k, limits, life);
	struct box *b = box_new(k, BOX_WARMING, "");
	task.warm = true;
	if (!b)
		return false;
	b->made = k->pool.made;
	if (start_make(k, b, &task))
		return true;
	box_doom(k, b);
	return false;
}

bool filler_update(struct keeper *k, struct box *b, struct keeper_client *c)
{
	struct filler_task task = { .kind = FILLER_UPDATE,
				    .warm = true,
				    .deadline_ms = clock_ms() + LIMIT_UPDATE_MS,
				    .deadline_wall_s = b->deadline_wall_s,
				    .limits = c->ask.limits,
				    .born = b->limits };
	memcpy(task.id, b->id, sizeof(task.id));
	memcpy(task.volume, k->volume, sizeof(task.volume));
	return filler_start(k, &task, b);
}
