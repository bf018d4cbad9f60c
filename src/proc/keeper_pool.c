/*
 * The pool: containers whose guest has said HELLO and whose interpreter waits, made before anybody
 * asks. keeper.c and its fellows call it. The keeper holds their streams; a container that says
 * anything, or ends, while it waits is replaced, so what is handed out has been alive a moment ago.
 * Each is given to one job only. With other limits of memory, CPU or processes than the job's it
 * gets these first, and the engine's word that they are in force; what was fixed when it was made
 * (the sizes of its file systems) must fit.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf.h"
#include "docker/recipe.h"
#include "limits.h"
#include "metrics.h"
#include "proc/keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define REFILL_FIRST_MS 250 /* after the first failure; doubles up to LIMIT_REFILL_PAUSE_MS */

/* What a job gets that names no limits (execute_check.c). */
static struct lease_limits usual_limits(void)
{
	return (struct lease_limits){
		.memory_mb = (uint32_t)conf->memory_mb,
		.cpu_milli = (uint32_t)conf->cpu_milli,
		.pids = (uint32_t)conf->pids,
		.disk_mb = (uint32_t)conf_disk_mb(conf, conf->memory_mb),
		.tmp_mb = (uint32_t)conf_tmp_mb(conf, conf->memory_mb),
	};
}

/* All that a container's look depends on but the job's own limits. */
static char *ground_now(const struct keeper *k)
{
	const struct lease_limits l = usual_limits();
	return xasprintf("%s|%s|%s|%s|%s|%u|%u|%u|%u|%u", conf->python_image, k->volume,
			 conf->oci_runtime, conf->optional_limits, conf->python_preimport,
			 l.memory_mb, l.cpu_milli, l.pids, l.disk_mb, l.tmp_mb);
}

void pool_learn(struct keeper *k)
{
	AUTO_FREE char *now = ground_now(k);
	if (k->pool.ground && strcmp(k->pool.ground, now) == 0)
		return;
	free(k->pool.ground);
	k->pool.ground = steal(&now);
	k->pool.made++;
	k->pool.failures = 0;
	k->pool.next_ms = 0;
}

static bool is_current(const struct keeper *k, const struct box *b)
{
	return b->made == k->pool.made;
}

/* Silent and open, as it has to be: a container that ended a moment ago is not given to anybody. */
static bool is_alive(const struct box *b)
{
	char byte;
	return recv(b->stream, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* 2: as it is, 1: with a change, 0: not for these limits. */
static int fit(const struct box *b, const struct lease_limits *want)
{
	if (memcmp(&b->limits, want, sizeof(*want)) == 0)
		return 2;
	return recipe_can_become(&b->limits, want);
}

/* The best fit in that state, and of these the oldest, so that few get too old. */
static struct box *best_box(struct keeper *k, enum box_state state, const struct lease_limits *want,
			    int least)
{
	struct box *best = NULL;
	int best_fit = least;
	for (size_t i = 0; i < k->boxes_top; i++) {
		struct box *b = &k->boxes[i];
		if (b->state != state || !is_current(k, b))
			continue;
		int f = fit(b, want);
		if (f > best_fit || (f == best_fit && (!best || b->born_ms < best->born_ms))) {
			best = b;
			best_fit = f;
		}
	}
	return best;
}

static void take(struct keeper *k, struct box *b, struct keeper_client *c)
{
	admit_served(k, c);
	if (!c->retried)
		c->making_ms = clock_ms();
	c->state = CLIENT_SERVED;
	box_assign(b, c);
}

static void give(struct keeper *k, struct box *b, struct keeper_client *c)
{
	int stream = b->stream;
	b->stream = -1;
	take(k, b, c);
	client_grant(k, c, stream, true);
}

/* The client waits for the engine's answer, as for a container in the making. */
static bool give_changed(struct keeper *k, struct box *b, struct keeper_client *c)
{
	if (c->cold || !filler_may_make(k) || !filler_update(k, b, c))
		return false;
	b->state = BOX_MAKING;
	take(k, b, c);
	return true;
}

/* One that is under way already is ready before any that begins now. */
static bool promise(struct keeper *k, struct keeper_client *c)
{
	struct box *b = best_box(k, BOX_WARMING, &c->ask.limits, 2);
	if (!b)
		return false;
	b->state = BOX_MAKING;
	take(k, b, c);
	return true;
}

bool pool_serve(struct keeper *k, struct keeper_client *c)
{
	struct box *b;
	while (!c->ask.made && (b = best_box(k, BOX_WARM, &c->ask.limits, c->cold ? 2 : 1))) {
		if (!is_alive(b)) {
			pool_event(k, b);
			continue;
		}
		if (fit(b, &c->ask.limits) < 2)
			return give_changed(k, b, c);
		give(k, b, c);
		return true;
	}
	return promise(k, c);
}

void pool_event(struct keeper *k, struct box *b)
{
	log_warn("warm container %.12s is replaced: it ended or spoke before it had a job", b->id);
	metrics_add(METRIC_POOL_LOST, NULL, NULL, 1);
	box_doom(k, b);
}

void pool_made_none(struct keeper *k, const struct err *err)
{
	unsigned shift = MIN(k->pool.failures, 8u);
	k->pool.next_ms = clock_ms() + MIN(REFILL_FIRST_MS << shift, LIMIT_REFILL_PAUSE_MS);
	if (k->pool.failures++ > 0)
		return;
	log_warn("a warm container could not be made: %s: %s", err->text, err->cause);
	/* The guest's volume may have been pruned, as with one for a client. */
	if (err->code == ERR_SANDBOX) {
		k->volume[0] = '\0';
		k->setup_next_ms = 0;
	}
}

void pool_made(struct keeper *k, struct box *b, int stream)
{
	k->pool.failures = 0;
	b->stream = stream;
	b->state = BOX_WARM;
	b->born_ms = clock_ms();
	if (k->draining || !is_current(k, b))
		box_doom(k, b);
}

/* A change that failed costs the warm container; its client gets one that is made for it, in its
 * old place in the queue. */
void pool_changed(struct keeper *k, struct box *b, const struct err *err)
{
	struct keeper_client *c = b->client;
	if (c && err->code == ERR_NONE && is_alive(b)) {
		int stream = b->stream;
		b->stream = -1;
		client_grant(k, c, stream, true);
		return;
	}
	box_doom(k, b);
	if (!c)
		return;
	log_warn("warm container %.12s could not get other limits: %s: %s", b->id, err->text,
		 err->cause);
	c->state = CLIENT_QUEUED;
	c->cold = true;
	c->box = NULL;
}

void pool_drain(struct keeper *k)
{
	for (size_t i = 0; i < k->boxes_top; i++)
		if (k->boxes[i].state == BOX_WARM)
			box_doom(k, &k->boxes[i]);
}

static int64_t age_ms(const struct box *b, int64_t now)
{
	return now - b->born_ms;
}

static bool is_old(const struct box *b, int64_t now)
{
	return age_ms(b, now) >= conf->pool_max_age_s * 1000;
}

struct stock {
	int warm, old, warming; /* warm: young ones */
	int idle;		/* all that are nobody's, with those that are being removed */
	struct box *oldest;	/* of all that wait */
	int64_t next_ms;	/* when the next of the young gets old */
};

/* Counts, and dooms what is of no use to anybody. */
static struct stock take_stock(struct keeper *k, int64_t now)
{
	struct stock s = { .next_ms = INT64_MAX };
	for (size_t i = 0; i < k->boxes_top; i++) {
		struct box *b = &k->boxes[i];
		s.warming += b->state == BOX_WARMING && is_current(k, b);
		s.idle += b->state != BOX_FREE && !b->slot;
		if (b->state != BOX_WARM)
			continue;
		if (!is_current(k, b) ||
		    age_ms(b, now) >= conf->pool_max_age_s * 1000 + LIMIT_OLD_MS) {
			box_doom(k, b);
			continue;
		}
		if (is_old(b, now))
			s.old++;
		else
			s.warm++;
		int64_t due = b->born_ms + conf->pool_max_age_s * 1000;
		s.next_ms = MIN(s.next_ms, due > now ? due : due + LIMIT_OLD_MS);
		if (!s.oldest || b->born_ms < s.oldest->born_ms)
			s.oldest = b;
	}
	return s;
}

/* Not while somebody who could have a slot waits for a place among the fillers; and not while an
 * engine that removes nothing would let containers pile up. */
static bool may_refill(const struct keeper *k, const struct stock *s, int64_t now)
{
	return !k->draining && keeper_ready(k) && now >= k->pool.next_ms && filler_may_make(k) &&
	       s->idle <= 2 * conf->pool_size;
}

/* While half of the pool is there, a job that runs goes before it. */
static bool may_wait(const struct keeper *k, const struct stock *s, int64_t now)
{
	return keeper_calm(k, now) && (s->warm + s->old) * 2 >= conf->pool_size;
}

/* The old stay until younger ones have taken their place. */
int64_t pool_timers(struct keeper *k, int64_t now, int64_t next)
{
	struct stock s = take_stock(k, now);
	while (s.warm + s.old > conf->pool_size && s.oldest) {
		box_doom(k, s.oldest);
		s = take_stock(k, now);
	}
	const struct lease_limits limits = usual_limits();
	while (s.warm + s.warming < conf->pool_size && s.warming < LIMIT_REFILLS &&
	       may_refill(k, &s, now) && !may_wait(k, &s, now)) {
		if (!filler_warm(k, &limits)) {
			k->pool.next_ms = now + KEEPER_RETRY_MS;
			break;
		}
		s.warming++;
		s.idle++;
	}
	int64_t due = MAX(k->pool.next_ms, k->calm_until_ms);
	if (s.warm + s.warming < conf->pool_size && due > now)
		next = MIN(next, due);
	return MIN(next, s.next_ms);
}
