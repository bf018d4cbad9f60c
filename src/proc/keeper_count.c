/*
 * What the keeper adds to the metrics: how many jobs and warm containers there are now, how long
 * the engine takes, and where it fails. keeper.c and its fellows call it. The keeper is the one
 * writer of its row and measures by itself, so its fillers need not report times and cannot be in
 * each other's way. It never reads a metric.
 */
#include "base/clock.h"
#include "conf.h"
#include "metrics.h"
#include "proc/keeper.h"

static const struct {
	const char *task;
	const char *step; /* what its success is the end of; NULL: not measured */
} fillers[] = {
	[FILLER_SETUP] = { "setup", NULL },	  [FILLER_MAKE] = { "make", "start" },
	[FILLER_UPDATE] = { "update", "update" }, [FILLER_REMOVE] = { "remove", "remove" },
	[FILLER_SWEEP] = { "sweep", NULL },	  [FILLER_STATUS] = { "status", NULL },
};

void count_now(const struct keeper *k)
{
	int warm = 0, warming = 0;
	int64_t oldest_ms = 0;
	for (size_t i = 0; i < k->boxes_top; i++) {
		const struct box *b = &k->boxes[i];
		warming += b->state == BOX_WARMING;
		if (b->state != BOX_WARM)
			continue;
		warm++;
		if (oldest_ms == 0 || b->born_ms < oldest_ms)
			oldest_ms = b->born_ms;
	}
	metrics_set(METRIC_JOBS_RUNNING, NULL, (uint64_t)box_count(k));
	metrics_set(METRIC_JOBS_QUEUED, NULL, (uint64_t)admit_queued(k));
	metrics_set(METRIC_JOB_SLOTS, NULL, (uint64_t)conf->jobs);
	metrics_set(METRIC_POOL_CONTAINERS, "warm", (uint64_t)warm);
	metrics_set(METRIC_POOL_CONTAINERS, "warming", (uint64_t)warming);
	metrics_set(METRIC_POOL_OLDEST, NULL, (uint64_t)oldest_ms);
}

void count_created(struct keeper_filler *f)
{
	int64_t now = clock_us();
	metrics_observe(METRIC_CONTAINER_SECONDS, "create", now - f->began_us);
	f->began_us = now;
}

void count_ended(const struct keeper_filler *f, const struct err *err)
{
	if (err->code != ERR_NONE)
		metrics_add(METRIC_ENGINE_ERRORS, fillers[f->task.kind].task, NULL, 1);
	else if (fillers[f->task.kind].step)
		metrics_observe(METRIC_CONTAINER_SECONDS, fillers[f->task.kind].step,
				clock_us() - f->began_us);
}
