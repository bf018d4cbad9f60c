/*
 * The keeper's knowledge of containers: which are being made, leased, adopted from an earlier
 * keeper, or doomed; and what a sweep's list says against it. keeper.c and its fellows call it. A
 * place is freed only when its container is known to be gone.
 */
#include "base/clock.h"
#include "base/log.h"
#include "limits.h"
#include "proc/keeper.h"

#include <string.h>

#define REMOVALS_MAX 4 /* at once: the engine's removals block each other anyway */
#define RETRY_FIRST_MS 200
#define RETRY_LAST_MS 5000
#define SWEEP_ADOPTED_MS 500 /* somebody's slot waits for an adopted container to end */
#define SWEEP_UNSURE_MS 500
#define SWEEP_IDLE_MS 30000 /* for what nobody foresaw */

int box_count(const struct keeper *k)
{
	int n = 0;
	for (size_t i = 0; i < KEEPER_BOXES; i++)
		n += k->boxes[i].state != BOX_FREE;
	return n;
}

struct box *box_new(struct keeper *k, enum box_state state, const char *id)
{
	for (size_t i = 0; i < KEEPER_BOXES; i++) {
		struct box *b = &k->boxes[i];
		if (b->state != BOX_FREE)
			continue;
		*b = (struct box){ .state = state };
		memcpy(b->id, id, strnlen(id, sizeof(b->id) - 1));
		return b;
	}
	return NULL;
}

void box_doom(struct keeper *k, struct box *b)
{
	(void)k;
	b->client = NULL;
	if (!b->id[0]) {
		*b = (struct box){ .state = BOX_FREE };
		return;
	}
	b->state = BOX_DOOMED;
	b->removing = false;
	b->attempts = 0;
	b->next_ms = 0;
}

void box_hurry(struct keeper *k)
{
	for (size_t i = 0; i < KEEPER_BOXES; i++)
		if (k->boxes[i].state == BOX_DOOMED)
			k->boxes[i].next_ms = 0;
}

static struct box *find(struct keeper *k, const char *id)
{
	for (size_t i = 0; i < KEEPER_BOXES; i++)
		if (k->boxes[i].state != BOX_FREE && strcmp(k->boxes[i].id, id) == 0)
			return &k->boxes[i];
	return NULL;
}

/* A filler may have made a container whose id it has not reported yet. */
static bool may_be_somebodys(const struct keeper *k)
{
	for (size_t i = 0; i < KEEPER_BOXES; i++)
		if (k->boxes[i].state == BOX_MAKING && !k->boxes[i].id[0])
			return true;
	return filler_running(k, FILLER_SETUP);
}

static void row_unknown(struct keeper *k, const struct filler_report *row, bool over)
{
	if (may_be_somebodys(k)) {
		k->sweep_unsure = true;
		return;
	}
	bool adopt = !k->adopted && row->running && !over;
	struct box *b = box_new(k, adopt ? BOX_ADOPTED : BOX_DOOMED, row->id);
	log_info("container %.12s of an earlier run is %s", row->id,
		 adopt ? "left to end" : "removed");
	if (b && adopt) {
		b->seen = k->sweep;
		b->deadline_wall_s = row->deadline_wall_s;
	}
}

void box_row(struct keeper *k, const struct filler_report *row)
{
	if (!row->id[0])
		return; /* would be found as one in the making */
	struct box *b = find(k, row->id);
	bool over = row->deadline_wall_s * 1000 < clock_wall_ms();
	if (!b) {
		row_unknown(k, row, over);
		return;
	}
	b->seen = k->sweep;
	if (b->state == BOX_ADOPTED && (!row->running || over))
		box_doom(k, b);
}

void box_swept(struct keeper *k)
{
	bool adopted = false;
	for (size_t i = 0; i < KEEPER_BOXES; i++) {
		struct box *b = &k->boxes[i];
		if (b->state == BOX_ADOPTED && b->seen != k->sweep)
			*b = (struct box){ .state = BOX_FREE };
		adopted |= b->state == BOX_ADOPTED;
	}
	if (!k->sweep_unsure)
		k->adopted = true;
	int64_t pause = k->sweep_unsure ? SWEEP_UNSURE_MS
			: adopted	? SWEEP_ADOPTED_MS
					: SWEEP_IDLE_MS;
	k->sweep_next_ms = clock_ms() + pause;
}

static int removals(const struct keeper *k)
{
	int n = 0;
	for (size_t i = 0; i < KEEPER_BOXES; i++)
		n += k->boxes[i].state == BOX_DOOMED && k->boxes[i].removing;
	return n;
}

static void start_removal(struct keeper *k, struct box *b)
{
	struct filler_task task = { .kind = FILLER_REMOVE,
				    .deadline_ms = clock_ms() + LIMIT_REMOVE_MS };
	memcpy(task.id, b->id, sizeof(task.id));
	unsigned shift = MIN(b->attempts++, 8u);
	b->next_ms = clock_ms() + MIN(RETRY_FIRST_MS << shift, RETRY_LAST_MS);
	b->removing = filler_start(k, &task, b);
}

/* The worker that holds it hangs: its stream breaks, and it will see that. */
static void take_away(struct keeper *k, struct box *b)
{
	log_warn("container %.12s was held beyond its time and is taken away", b->id);
	client_close(k, b->client);
}

int64_t box_timers(struct keeper *k, int64_t now, int64_t next)
{
	int running = removals(k);
	for (size_t i = 0; i < KEEPER_BOXES; i++) {
		struct box *b = &k->boxes[i];
		if (b->state == BOX_LEASED && b->next_ms <= now)
			take_away(k, b);
		if (b->state == BOX_DOOMED && !b->removing && b->next_ms <= now &&
		    running < REMOVALS_MAX) {
			start_removal(k, b);
			running++;
		}
		/* A removal that waits for its turn gets it by the end of a filler, which is an
		 * event. */
		if (b->state == BOX_LEASED ||
		    (b->state == BOX_DOOMED && !b->removing && b->next_ms > now))
			next = MIN(next, b->next_ms);
	}
	return next;
}
