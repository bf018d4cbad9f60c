/*
 * The keeper's knowledge of containers: which are being made, leased, adopted from an earlier
 * keeper, or doomed; and what a sweep's list says against it. keeper.c and its fellows call it. A
 * place is freed only when its container is known to be gone.
 */
#include "base/clock.h"
#include "base/log.h"
#include "conf.h"
#include "limits.h"
#include "metrics.h"
#include "proc/keeper.h"

#include <string.h>

#define REMOVALS_MAX 4 /* at once: the engine's removals block each other anyway */
#define RETRIES_MAX 2  /* of these, so that containers which can't be removed don't block others */
#define RETRY_FIRST_MS 200
#define RETRY_LAST_MS 5000
#define SWEEP_ADOPTED_MS 500 /* somebody's slot waits for an adopted container to end */
#define SWEEP_SHARE 10 /* a sweep that took long is followed by a pause of so many times that */
#define SWEEP_UNSURE_MS 500
#define SWEEP_IDLE_MS 30000 /* for what nobody foresaw */

int box_count(const struct keeper *k)
{
	int n = 0;
	for (size_t i = 0; i < k->boxes_top; i++)
		n += k->boxes[i].state != BOX_FREE && k->boxes[i].slot && !k->boxes[i].stopped;
	return n;
}

int box_count_of(const struct keeper *k, pid_t peer)
{
	int n = 0;
	for (size_t i = 0; peer && i < k->boxes_top; i++) {
		const struct box *b = &k->boxes[i];
		n += b->peer == peer && (b->state == BOX_MAKING || b->state == BOX_LEASED);
	}
	return n;
}

struct box *box_new(struct keeper *k, enum box_state state, const char *id)
{
	for (size_t i = 0; i < KEEPER_BOXES; i++) {
		struct box *b = &k->boxes[i];
		if (b->state != BOX_FREE)
			continue;
		*b = (struct box){ .state = state, .stream = -1 };
		b->slot = state != BOX_WARMING && state != BOX_WARM;
		memcpy(b->id, id, strnlen(id, sizeof(b->id) - 1));
		k->boxes_top = MAX(k->boxes_top, i + 1);
		return b;
	}
	return NULL;
}

void box_free(struct keeper *k, struct box *b)
{
	if (b->state == BOX_DOOMED && b->slot_ms > 0)
		admit_learn(k, clock_ms() - b->slot_ms);
	auto_close(&b->stream);
	*b = (struct box){ .state = BOX_FREE, .stream = -1 };
	while (k->boxes_top > 0 && k->boxes[k->boxes_top - 1].state == BOX_FREE)
		k->boxes_top--;
}

void box_assign(struct box *b, struct keeper_client *c)
{
	b->slot = true;
	b->slot_ms = clock_ms();
	b->client = c;
	b->peer = c->peer;
	c->box = b;
}

void box_doom(struct keeper *k, struct box *b)
{
	b->client = NULL;
	if (!b->id[0]) {
		box_free(k, b);
		return;
	}
	auto_close(&b->stream);
	b->stream = -1;
	b->state = BOX_DOOMED;
	b->doomed_ms = clock_ms();
	b->removing = false;
	b->attempts = 0;
	b->next_ms = 0;
}

void box_hurry(struct keeper *k)
{
	for (size_t i = 0; i < k->boxes_top; i++)
		if (k->boxes[i].state == BOX_DOOMED)
			k->boxes[i].next_ms = 0;
}

static struct box *find(struct keeper *k, const char *id)
{
	for (size_t i = 0; i < k->boxes_top; i++)
		if (k->boxes[i].state != BOX_FREE && strcmp(k->boxes[i].id, id) == 0)
			return &k->boxes[i];
	return NULL;
}

/* A filler may have made a container whose id it has not reported yet. */
static bool may_be_somebodys(const struct keeper *k)
{
	for (size_t i = 0; i < k->boxes_top; i++)
		if ((k->boxes[i].state == BOX_MAKING || k->boxes[i].state == BOX_WARMING) &&
		    !k->boxes[i].id[0])
			return true;
	return filler_running(k, FILLER_SETUP);
}

/*
 * How long an adopted container may stay. The label is text that anybody with the engine may have
 * written and the wall clock may have been set since, so no container gets more than the longest
 * that is ever given; from here on the monotonic clock counts.
 */
static int64_t time_left_ms(int64_t deadline_wall_s)
{
	int64_t most_s =
		(LIMIT_MAKE_MS + conf->max_timeout_ms + LIMIT_STAGES_MS + LIMIT_HOLD_MS) / 1000;
	int64_t now_s = clock_wall_ms() / 1000;
	if (deadline_wall_s <= now_s)
		return 0;
	return MIN(deadline_wall_s - now_s, most_s) * 1000;
}

static void row_unknown(struct keeper *k, const struct filler_report *row)
{
	if (may_be_somebodys(k)) {
		k->sweep_unsure = true;
		return;
	}
	int64_t left = time_left_ms(row->deadline_wall_s);
	bool adopt = !k->adopted && row->running && left > 0;
	struct box *b = box_new(k, adopt ? BOX_ADOPTED : BOX_DOOMED, row->id);
	if (!b) {
		k->sweep_unsure = true; /* more than the table holds: those come first */
		return;
	}
	log_info("container %.12s of an earlier run is %s", row->id,
		 adopt ? "left to end" : "removed");
	if (!adopt)
		metrics_add(METRIC_LEAKED_CONTAINERS, NULL, NULL, 1);
	b->seen = k->sweep;
	if (adopt)
		b->next_ms = clock_ms() + left;
}

void box_row(struct keeper *k, const struct filler_report *row)
{
	if (!row->id[0])
		return; /* would be found as one in the making */
	struct box *b = find(k, row->id);
	if (!b) {
		row_unknown(k, row);
		return;
	}
	b->seen = k->sweep;
	if (b->state == BOX_ADOPTED && !row->running)
		box_doom(k, b);
}

void box_swept(struct keeper *k)
{
	bool adopted = false;
	for (size_t i = 0; i < k->boxes_top; i++) {
		struct box *b = &k->boxes[i];
		if (b->state == BOX_ADOPTED && b->seen != k->sweep)
			box_free(k, b);
		adopted |= b->state == BOX_ADOPTED;
	}
	if (!k->sweep_unsure)
		k->adopted = true;
	int64_t now = clock_ms();
	int64_t pause = k->sweep_unsure ? SWEEP_UNSURE_MS
			: adopted	? SWEEP_ADOPTED_MS
					: SWEEP_IDLE_MS;
	k->sweep_next_ms = now + MAX(pause, SWEEP_SHARE * (now - k->sweep_began_ms));
}

/* Removals that run now and had at least so many attempts before. */
static int removals(const struct keeper *k, unsigned attempts)
{
	int n = 0;
	for (size_t i = 0; i < k->boxes_top; i++) {
		const struct box *b = &k->boxes[i];
		n += b->state == BOX_DOOMED && b->removing && b->attempts > attempts;
	}
	return n;
}

void box_later(struct box *b)
{
	unsigned shift = MIN(b->attempts, 8u);
	b->next_ms = clock_ms() + MIN(RETRY_FIRST_MS << shift, RETRY_LAST_MS);
}

static void start_removal(struct keeper *k, struct box *b)
{
	struct filler_task task = { .kind = FILLER_REMOVE,
				    .deadline_ms = clock_ms() + LIMIT_REMOVE_MS };
	memcpy(task.id, b->id, sizeof(task.id));
	b->attempts++;
	b->removing = filler_start(k, &task, b);
	if (!b->removing)
		box_later(b);
}

/* The next container to remove: the one with the fewest attempts, so that those which refuse to go
 * are behind those which will. */
static struct box *next_doomed(struct keeper *k, int64_t now)
{
	bool retries = removals(k, 1) < RETRIES_MAX, calm = keeper_calm(k, now);
	struct box *best = NULL;
	for (size_t i = 0; i < k->boxes_top; i++) {
		struct box *b = &k->boxes[i];
		if (b->state != BOX_DOOMED || b->removing || b->next_ms > now ||
		    (calm && now - b->doomed_ms < LIMIT_LINGER_MS))
			continue;
		if ((b->attempts == 0 || retries) && (!best || b->attempts < best->attempts))
			best = b;
	}
	return best;
}

static void remove_doomed(struct keeper *k, int64_t now)
{
	struct box *b;
	for (int n = removals(k, 0); n < REMOVALS_MAX && (b = next_doomed(k, now)); n++)
		start_removal(k, b);
}

/* The worker that holds it hangs: its stream breaks, and it will see that. */
static void take_away(struct keeper *k, struct box *b)
{
	log_warn("container %.12s was held beyond its time and is taken away", b->id);
	if (b->client)
		client_close(k, b->client);
	else
		box_doom(k, b);
}

static bool is_held(const struct box *b)
{
	return b->state == BOX_LEASED || b->state == BOX_ADOPTED;
}

int64_t box_timers(struct keeper *k, int64_t now, int64_t next)
{
	for (size_t i = 0; i < k->boxes_top; i++)
		if (is_held(&k->boxes[i]) && k->boxes[i].next_ms <= now)
			take_away(k, &k->boxes[i]);
	remove_doomed(k, now);
	for (size_t i = 0; i < k->boxes_top; i++) {
		const struct box *b = &k->boxes[i];
		/* A removal that waits for its turn gets it by the end of a filler, which is an
		 * event. */
		if (is_held(b) || (b->state == BOX_DOOMED && !b->removing && b->next_ms > now))
			next = MIN(next, b->next_ms);
		/* One that waits for a calm time. */
		if (b->state == BOX_DOOMED && !b->removing && k->calm_until_ms > now)
			next = MIN(next, k->calm_until_ms);
	}
	return next;
}
