#pragma once

#include "base/base.h"
#include "base/err.h"
#include "docker/volume.h"
#include "proc/filler.h"
#include "wire/leasemsg.h"

#include <sys/types.h>

/*
 * The keeper's state, shared by keeper.c (loop, signals, timers), keeper_client.c (connections of
 * workers), keeper_box.c (containers) and keeper_filler.c (children that speak to the engine).
 * Nobody else includes this but role.c, for keeper_run.
 */
struct setup;

#define KEEPER_CLIENTS                                                                             \
	4096 /* connections: the most workers there can be, each with one, and CGI requests */
#define KEEPER_BOXES 1024 /* containers: the most jobs at once, each counts until it is removed */
#define KEEPER_FILLERS                                                                             \
	64 /* conversations at once: an engine starts hardly more than one container per CPU at a  \
	      time */
#define KEEPER_MAKES 48 /* of these for new containers, so that removals always find a place */

/*
 * A container, or the place of one: everything that is not FREE takes a slot, so a container that
 * refuses to go counts as long as it uses memory. MAKING -> LEASED -> DOOMED -> FREE. ADOPTED: made
 * for an earlier keeper, maybe in use by a worker.
 */
enum box_state { BOX_FREE, BOX_MAKING, BOX_LEASED, BOX_ADOPTED, BOX_DOOMED };
struct box {
	enum box_state state;
	char id[65];		      /* empty until the engine has made it */
	struct keeper_client *client; /* MAKING and LEASED; NULL: left */
	bool removing;		      /* DOOMED: a filler is at it */
	unsigned attempts;	      /* DOOMED: removals that failed */
	int64_t next_ms;	      /* DOOMED: not before; LEASED: held too long after */
	int64_t deadline_wall_s;      /* ADOPTED */
	uint64_t seen;		      /* the sweep that listed it last */
};

enum client_state { CLIENT_FREE, CLIENT_ASKING, CLIENT_STATUS, CLIENT_QUEUED, CLIENT_SERVED };
struct keeper_client {
	enum client_state state;
	int conn;
	struct lease_ask ask;
	uint64_t order;		    /* QUEUED: first come, first served */
	int64_t asked_ms, until_ms; /* ASKING, STATUS, QUEUED: answered or dropped then */
	int64_t making_ms;	    /* SERVED: since when the container is being made */
	bool retried;		    /* its container failed once and is made anew */
	struct box *box;	    /* SERVED */
};

struct keeper_filler {
	pid_t pid; /* 0: free place, or reaped already */
	bool used;
	int sock;
	struct filler_task task;
	struct box *box; /* MAKE, REMOVE */
	bool done, killed;
};

struct keeper {
	const struct setup *setup;
	int signals;
	struct keeper_client clients[KEEPER_CLIENTS];
	struct box boxes[KEEPER_BOXES];
	struct keeper_filler fillers[KEEPER_FILLERS];
	uint64_t order;

	char volume[VOLUME_NAME]; /* empty: to be set up before a container can be made */
	bool verified;	      /* a container since the last setup was compared with the recipe */
	struct err setup_err; /* why the last setup failed */
	unsigned setup_failures;
	int64_t setup_next_ms; /* not before, unless somebody waits */

	struct lease_status status;
	char engine[32];   /* its name as last heard, for grants */
	int64_t status_ms; /* when it was seen; 0: never, or out of date */

	uint64_t sweep; /* number of the running or last one */
	int64_t sweep_next_ms;
	bool sweep_unsure; /* it saw containers that may be somebody's */
	bool adopted;	   /* the first sweep is done */

	bool draining;
	int64_t drain_until_ms;
};

/* keeper.c */
int keeper_run(const struct setup *s);

/* keeper_client.c */
void client_accept(struct keeper *k);
/* The connection has something to say, or ended. */
void client_event(struct keeper *k, struct keeper_client *c);
void client_close(struct keeper *k, struct keeper_client *c);
/* Answers with a failure and closes. */
void client_refuse(struct keeper *k, struct keeper_client *c, const struct err *err);
/* Hands the container over; -1 when the worker has gone. Closes stream in any case. */
int client_grant(struct keeper *k, struct keeper_client *c, int stream);
void client_status_all(struct keeper *k); /* answers all that wait for the status */
void client_refuse_queued(struct keeper *k, const struct err *err);
struct keeper_client *client_next(struct keeper *k); /* head of the queue or NULL */
/* Drops those whose time has come; returns the next such time, or `next`. */
int64_t client_timers(struct keeper *k, int64_t now, int64_t next);

/* keeper_box.c */
int box_count(const struct keeper *k); /* slots in use */
struct box *box_new(struct keeper *k, enum box_state state, const char *id);
void box_doom(struct keeper *k,
	      struct box *b); /* to be removed; one without an id is free at once */
void box_row(struct keeper *k, const struct filler_report *row);
void box_swept(struct keeper *k);
/* Engine back: what waits is tried at once. */
void box_hurry(struct keeper *k);
/* Starts removals, ends what was held too long; returns the next time to look. */
int64_t box_timers(struct keeper *k, int64_t now, int64_t next);

/* keeper_filler.c */
bool filler_start(struct keeper *k, const struct filler_task *task, struct box *box);
bool filler_may_make(const struct keeper *k); /* there is a place for one more MAKE */
bool filler_running(const struct keeper *k, enum filler_kind kind);
void filler_event(struct keeper *k, struct keeper_filler *f); /* a report, or its end */
void filler_reap(struct keeper *k);
int64_t filler_timers(struct keeper *k, int64_t now, int64_t next);
/* Tasks with the deadlines that belong to them. */
void filler_setup(struct keeper *k);
void filler_sweep(struct keeper *k);
void filler_status(struct keeper *k);
void filler_make(struct keeper *k, struct keeper_client *c);
