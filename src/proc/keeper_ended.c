/*
 * What the end of a filler means: for the containers, for those who wait for one, and for what is
 * known of the engine. keeper_filler.c calls it, once for each filler, whichever way it ended. It
 * never waits.
 */
#include "base/clock.h"
#include "base/log.h"
#include "limits.h"
#include "proc/keeper.h"

#include <string.h>
#include <unistd.h>

#define SETUP_FIRST_MS 250 /* a setup that failed is tried again by itself */

/* An engine that does not answer may come back as another one: everything known about it is learnt
 * again. */
static void doubt_engine(struct keeper *k, const struct err *err)
{
	if (err->code != ERR_ENGINE)
		return;
	k->volume[0] = '\0';
	k->status_ms = 0;
}

static void setup_ended(struct keeper *k, const struct filler_report *report, const struct err *err)
{
	if (err->code == ERR_NONE) {
		if (k->setup_failures > 0) {
			log_info("the engine is ready again");
			k->pool.next_ms = 0;
		}
		memcpy(k->volume, report->volume, sizeof(k->volume));
		k->volume[sizeof(k->volume) - 1] = '\0';
		k->setup_failures = 0;
		pool_learn(k);
		k->sweep_next_ms = 0;
		box_hurry(k);
		/* Nobody waits for it, but grants name the engine. */
		if (!filler_running(k, FILLER_STATUS))
			filler_status(k);
		return;
	}
	if (k->setup_failures == 0 || strcmp(k->setup_err.text, err->text) != 0)
		log_err("the engine is not ready: %s: %s", err->text, err->cause);
	unsigned shift = MIN(k->setup_failures++, 8u);
	k->setup_next_ms = clock_ms() + MIN(SETUP_FIRST_MS << shift, KEEPER_RETRY_MS);
	k->setup_err = *err;
	admit_refuse_all(k, err);
}

/* Once more with the volume made anew: it may have been pruned, which shows as a container that
 * does not start. */
static bool make_again(struct keeper *k, struct keeper_client *c, const struct err *err)
{
	if (err->code != ERR_SANDBOX || c->retried || clock_ms() - c->making_ms > LIMIT_MAKE_MS / 2)
		return false;
	log_warn("a container did not start and is made anew: %s: %s", err->text, err->cause);
	c->retried = true;
	c->state = CLIENT_QUEUED;
	c->until_ms = clock_ms() + LIMIT_SETUP_MS;
	c->box = NULL;
	k->volume[0] = '\0';
	k->setup_next_ms = 0;
	return true;
}

static void make_failed(struct keeper *k, struct box *b, const struct err *err)
{
	struct keeper_client *c = b->client;
	bool unknown = !b->id[0], warming = b->state == BOX_WARMING;
	box_doom(k, b);
	/* A filler that died before it knew the id may have left a container. */
	if (unknown)
		k->sweep_next_ms = 0;
	if (warming)
		pool_made_none(k, err);
	else if (c && !make_again(k, c, err)) {
		c->box = NULL;
		client_refuse(k, c, err);
	}
}

static void make_ended(struct keeper *k, struct box *b, const struct err *err, int stream)
{
	if (err->code == ERR_NONE && stream < 0) {
		struct err none = ERR_INIT;
		err_set(&none, ERR_INTERNAL, "The sandbox came without its stream.");
		make_failed(k, b, &none);
	} else if (err->code != ERR_NONE) {
		auto_close(&stream);
		make_failed(k, b, err);
	} else if (b->state == BOX_WARMING) {
		pool_made(k, b, stream);
	} else if (b->client) {
		client_grant(k, b->client, stream, false);
	} else {
		close(stream); /* the worker has left meanwhile */
		box_doom(k, b);
	}
}

static void remove_ended(struct keeper *k, struct box *b, const struct filler_report *report,
			 const struct err *err)
{
	if (err->code == ERR_NONE) {
		box_free(k, b);
		return;
	}
	b->removing = false;
	b->stopped = report->stopped;
	box_later(b);
	if (b->attempts == 1 || b->attempts % 16 == 0)
		log_warn("container %.12s could not be removed (attempt %u): %s: %s", b->id,
			 b->attempts, err->text, err->cause);
}

static void status_ended(struct keeper *k, const struct filler_report *report,
			 const struct err *err)
{
	if (err->code == ERR_NONE) {
		k->status = report->status;
		if (k->status.engine[0] && lease_status_ok(&k->status))
			memcpy(k->engine, k->status.engine, sizeof(k->engine));
	} else {
		k->status = (struct lease_status){ .magic = LEASE_MAGIC, .installed = 1 };
		snprintf(k->status.problem, sizeof(k->status.problem),
			 "The Docker engine does not answer in time.");
		snprintf(k->status.fix, sizeof(k->status.fix),
			 "Look at the engine's own log and load; restart it if it hangs.");
	}
	k->status_ms = clock_ms();
	client_status_all(k);
}

static void sweep_ended(struct keeper *k, const struct err *err)
{
	if (err->code == ERR_NONE) {
		box_swept(k);
		return;
	}
	k->sweep_next_ms = clock_ms() + KEEPER_RETRY_MS;
	if (k->adopted)
		return;
	log_warn("the containers of an earlier run are not known: %s: %s", err->text, err->cause);
	admit_refuse_all(k, err);
}

void filler_ended(struct keeper *k, const struct keeper_filler *f,
		  const struct filler_report *report, const struct err *err, int stream)
{
	doubt_engine(k, err);
	count_ended(f, err);
	switch (f->task.kind) {
	case FILLER_SETUP:
		setup_ended(k, report, err);
		break;
	case FILLER_MAKE:
		make_ended(k, f->box, err, stream);
		break;
	case FILLER_UPDATE:
		pool_changed(k, f->box, err);
		break;
	case FILLER_REMOVE:
		remove_ended(k, f->box, report, err);
		break;
	case FILLER_SWEEP:
		sweep_ended(k, err);
		break;
	case FILLER_STATUS:
		status_ended(k, report, err);
		break;
	}
}
