/*
 * What the keeper forks fillers for: each task with its deadline, and what becomes of the state
 * when no filler can be had. keeper.c calls it, and keeper_client.c for the status. It never waits.
 */
#include "base/clock.h"
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

void filler_make(struct keeper *k, struct keeper_client *c)
{
	struct filler_task task = { .kind = FILLER_MAKE, .limits = c->ask.limits };
	struct box *b = box_new(k, BOX_MAKING, "");
	int64_t now = clock_ms();
	int64_t life = LIMIT_MAKE_MS + (int64_t)c->ask.run_ms + LIMIT_HOLD_MS;
	task.deadline_ms = now + LIMIT_MAKE_MS;
	task.deadline_wall_s = (clock_wall_ms() + life) / 1000;
	memcpy(task.volume, k->volume, sizeof(task.volume));
	if (!c->retried)
		c->making_ms = now;
	c->state = CLIENT_SERVED;
	c->box = b;
	if (b) {
		b->client = c;
		b->peer = c->peer;
	}
	if (b && filler_start(k, &task, b))
		return;
	struct err err = ERR_INIT;
	err_set(&err, ERR_SANDBOX, "The service cannot start another process for a sandbox.");
	if (b)
		box_doom(k, b);
	c->box = NULL;
	client_refuse(k, c, &err);
}
