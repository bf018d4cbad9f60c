#pragma once

#include "base/base.h"
#include "base/err.h"
#include "docker/volume.h"
#include "proc/filler.h"
#include "wire/leasemsg.h"

#include <sys/types.h>

/*
 * The keeper's state, shared by keeper.c (loop, signals, timers), keeper_client.c (connections of
 * workers), keeper_admit.c (the queue), keeper_box.c (containers), keeper_pool.c (warm ones),
 * keeper_task.c (what fillers are forked for), keeper_filler.c (children that speak to the engine),
 * keeper_ended.c (what became of their tasks) and keeper_count.c (the metrics). Nobody else
 * includes this but role.c, for keeper_run.
 */
struct setup;

#define KEEPER_CLIENTS                                                                             \
	4096 /* connections: the most workers there can be, each with one, and CGI requests */
#define KEEPER_BOXES                                                                               \
	2048 /* containers: the most jobs at once, each counts until it is removed, and twice the  \
		largest pool */
#define KEEPER_FILLERS                                                                             \
	64 /* conversations at once: an engine starts hardly more than one container per CPU at a  \
	      time */
#define KEEPER_MAKES 48 /* of these for new containers, so that removals always find a place */
/* What one process of SERVICE_USER may have, since any of them may be an attacker's: a worker has
 * one connection, and for a moment a second while the end of the first is under way. */
#define KEEPER_PEER_CONNS 4
#define KEEPER_PEER_BOXES                                                                          \
	2 /* in the making or leased: the first may have been left by a client that went away */

/*
 * A container, or the place of one. What is or was some client's takes a slot (`slot`), so a
 * container that refuses to go counts as long as it may use memory (until the engine says that it
 * is dead). MAKING -> LEASED -> DOOMED -> FREE. ADOPTED: made for an earlier keeper, maybe in use
 * by a worker. WARMING -> WARM: made for nobody yet, and without a slot; becomes a client's MAKING
 * (promised before it is ready, or while its limits are changed) or LEASED.
 */
enum box_state { BOX_FREE, BOX_MAKING, BOX_WARMING, BOX_WARM, BOX_LEASED, BOX_ADOPTED, BOX_DOOMED };
struct box {
	enum box_state state;
	bool slot;		      /* counts against MAX_CONCURRENT_JOBS */
	bool removing;		      /* DOOMED: a filler is at it */
	bool stopped;		      /* DOOMED: there, but dead: takes no slot */
	char id[65];		      /* empty until the engine has made it */
	int stream;		      /* WARM, and MAKING while its limits change; else -1 */
	struct keeper_client *client; /* MAKING and LEASED; NULL: left */
	pid_t peer;		      /* whose question it was made for; 0: not counted */
	unsigned attempts;	      /* DOOMED: removals that failed */
	int64_t next_ms;	      /* DOOMED: not before; LEASED, ADOPTED: held too long after */
	int64_t slot_ms;	      /* since when a client has its slot; 0: none had */
	int64_t born_ms;	      /* WARM: since when it waits */
	int64_t deadline_wall_s;      /* its label's */
	uint64_t made;		    /* WARMING, WARM: the settings it was made with, k->pool.made */
	uint64_t seen;		    /* the sweep that listed it last */
	int64_t doomed_ms;	    /* DOOMED: since when */
	struct lease_limits limits; /* it was made with */
};

enum client_state { CLIENT_FREE, CLIENT_ASKING, CLIENT_STATUS, CLIENT_QUEUED, CLIENT_SERVED };
struct keeper_client {
	enum client_state state;
	int conn;
	pid_t peer; /* 0: root or of another pid namespace, not counted */
	struct lease_ask ask;
	uint64_t order;		    /* QUEUED: first come, first served */
	int64_t asked_ms, until_ms; /* ASKING, STATUS, QUEUED: answered or dropped then */
	int64_t making_ms;	    /* SERVED: since when the container is being made */
	bool retried;		    /* its container failed once and is made anew */
	bool cold;		    /* none with changed limits: the last such change failed */
	struct box *box;	    /* SERVED */
};

struct keeper_filler {
	pid_t pid; /* 0: free place, or reaped already */
	bool used;
	int sock;
	struct filler_task task;
	struct box *box; /* MAKE, UPDATE, REMOVE */
	bool done, killed;
	int64_t began_us; /* the step under way, for the metrics */
};

/* The warm containers as a whole. */
struct keeper_pool {
	uint64_t made;	   /* a change of what containers are made from is one more */
	char *ground;	   /* these settings in words; NULL: nothing is known yet */
	unsigned failures; /* in a row */
	int64_t next_ms;   /* no refill before */
};

struct keeper {
	const struct setup *setup;
	int signals;
	struct keeper_client clients[KEEPER_CLIENTS];
	struct box boxes[KEEPER_BOXES];
	struct keeper_filler fillers[KEEPER_FILLERS];
	size_t clients_top, boxes_top; /* nothing is used from there on: tables are mostly empty */
	uint64_t order;
	char turn[LIMIT_TENANT_BYTES + 4]; /* the tenant that was served last */
	int64_t slot_usual_ms; /* how long a job takes its slot, of late; 0: not known */
	struct keeper_pool pool;
	int64_t calm_until_ms; /* work that nobody waits for begins after it */

	char volume[VOLUME_NAME]; /* empty: to be set up before a container can be made */
	struct err setup_err;	  /* why the last setup failed */
	unsigned setup_failures;
	int64_t setup_next_ms; /* not before, unless somebody waits */

	struct lease_status status;
	char engine[32];   /* its name as last heard, for grants */
	int64_t status_ms; /* when it was seen; 0: never, or out of date */

	uint64_t sweep; /* number of the running or last one */
	int64_t sweep_began_ms, sweep_next_ms;
	bool sweep_unsure; /* it saw containers that may be somebody's */
	bool adopted;	   /* the first sweep is done: all that takes a slot is known */

	int64_t deaf_until_ms;	/* no descriptor was left to accept with */
	int64_t quiet_until_ms; /* a refused connection was just logged */

	bool draining;
	int64_t drain_until_ms;
};

#define KEEPER_RETRY_MS                                                                            \
	2000 /* after a failure at least so often, so that an engine that is back is noticed */

/* keeper.c */
/* Containers can be made: the engine is prepared, and who takes a slot is known. */
bool keeper_ready(const struct keeper *k);
/* Removals and refills may wait a little: a job runs that they would disturb, and none waits. */
bool keeper_calm(const struct keeper *k, int64_t now);
int keeper_run(const struct setup *s);

/* keeper_client.c */
void client_accept(struct keeper *k);
/* The connection has something to say, or ended. */
void client_event(struct keeper *k, struct keeper_client *c);
void client_close(struct keeper *k, struct keeper_client *c);
/* Answers with a failure and closes. */
void client_refuse(struct keeper *k, struct keeper_client *c, const struct err *err);
/*
 * Hands c->box over: it is leased, or doomed when the worker has gone, which is -1. stream is
 * closed in any case.
 */
int client_grant(struct keeper *k, struct keeper_client *c, int stream, bool warm);
void client_status_all(struct keeper *k); /* answers all that wait for the status */
/* Drops those whose time has come; returns the next such time, or `next`. */
int64_t client_timers(struct keeper *k, int64_t now, int64_t next);

/* keeper_admit.c */
/* The question of a job: into the queue, or refused. */
void admit_ask(struct keeper *k, struct keeper_client *c);
void admit_refuse_all(struct keeper *k, const struct err *err);
int admit_queued(const struct keeper *k);
bool admit_waits(const struct keeper *k); /* somebody is in the queue */
/* Whose turn it is, or NULL: tenants in turn, of each the first whose process has not got its share
 * yet. */
struct keeper_client *admit_next(struct keeper *k);
/* The client's turn is used. */
void admit_served(struct keeper *k, const struct keeper_client *c);
/* One more slot was taken for so long. */
void admit_learn(struct keeper *k, int64_t slot_ms);
/* Why the client, whose time in the queue is over, gets none. */
void admit_late(const struct keeper *k, const struct keeper_client *c, struct err *err);
/* Seconds until somebody with so many before him will probably get a slot: for Retry-After. */
int admit_retry_s(const struct keeper *k, int before);
/* Says in words when jobs may use more memory than there is. */
void admit_check_memory(void);

/* keeper_box.c */
int box_count(const struct keeper *k); /* slots in use */
/* Containers in the making or leased for that process; 0 for peer 0. */
int box_count_of(const struct keeper *k, pid_t peer);
struct box *box_new(struct keeper *k, enum box_state state, const char *id);
/* To be removed; one without an id is free at once. Its stream is closed. */
void box_doom(struct keeper *k, struct box *b);
void box_free(struct keeper *k, struct box *b); /* it is gone */
/* From now on it is the client's, and takes a slot. */
void box_assign(struct box *b, struct keeper_client *c);
void box_row(struct keeper *k, const struct filler_report *row);
void box_swept(struct keeper *k);
void box_later(struct box *b); /* its removal failed: when to try again */
/* Engine back: what waits is tried at once. */
void box_hurry(struct keeper *k);
/* Starts removals, ends what was held too long; returns the next time to look. */
int64_t box_timers(struct keeper *k, int64_t now, int64_t next);

/* keeper_pool.c */
/* What containers are made from may have changed: new settings, or another guest volume. */
void pool_learn(struct keeper *k);
/* Serves the client from the pool: at once, or with a promise. False: one must be made for it. */
bool pool_serve(struct keeper *k, struct keeper_client *c);
/* A container that nobody has asked for is ready, or could not be made. */
void pool_made(struct keeper *k, struct box *b, int stream);
void pool_made_none(struct keeper *k, const struct err *err);
/* The limits of one that is promised to a client are in force, or why not. */
void pool_changed(struct keeper *k, struct box *b, const struct err *err);
/* A warm container said something or ended: neither is a thing that it may do. */
void pool_event(struct keeper *k, struct box *b);
void pool_drain(struct keeper *k);
/* Replaces, refills; returns the next time to look. */
int64_t pool_timers(struct keeper *k, int64_t now, int64_t next);

/* keeper_count.c: the metrics. */
void count_now(const struct keeper *k);	     /* how many there are */
void count_created(struct keeper_filler *f); /* its container exists: the first step of MAKE */
void count_ended(const struct keeper_filler *f, const struct err *err);

/* keeper_filler.c */
bool filler_start(struct keeper *k, const struct filler_task *task, struct box *box);
bool filler_may_make(const struct keeper *k); /* there is a place for one more MAKE or UPDATE */
bool filler_running(const struct keeper *k, enum filler_kind kind);
void filler_event(struct keeper *k, struct keeper_filler *f); /* a report, or its end */
void filler_reap(struct keeper *k);
int64_t filler_timers(struct keeper *k, int64_t now, int64_t next);
/* keeper_task.c: tasks with the deadlines that belong to them. */
void filler_setup(struct keeper *k);
void filler_sweep(struct keeper *k);
void filler_status(struct keeper *k);
void filler_make(struct keeper *k, struct keeper_client *c);
bool filler_warm(struct keeper *k, const struct lease_limits *limits);
/* The warm container gets the client's limits; false: no filler could be had. */
bool filler_update(struct keeper *k, struct box *b, struct keeper_client *c);
/* keeper_ended.c: every way in which a filler ends comes here, once. stream is MAKE's, or -1. */
void filler_ended(struct keeper *k, const struct keeper_filler *f,
		  const struct filler_report *report, const struct err *err, int stream);
