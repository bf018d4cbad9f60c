#pragma once

#include "base/base.h"
#include "base/err.h"
#include "docker/volume.h"
#include "proc/filler.h"
#include "wire/leasemsg.h"

#include <sys/types.h>

/*
 * The keeper's state, shared by keeper.c (loop, signals, timers), keeper_client.c (connections of
 * workers), keeper_box.c (containers), keeper_task.c (what fillers are forked for) and
 * keeper_filler.c (children that speak to the engine). Nobody else includes this but role.c, for
 * keeper_run.
 */
struct setup;

#define KEEPER_CLIENTS                                                                             \
	4096 /* connections: the most workers there can be, each with one, and CGI requests */
#define KEEPER_BOXES 1024 /* containers: the most jobs at once, each counts until it is removed */
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
 * A container, or the place of one: everything that is not FREE takes a slot, so a container that
 * refuses to go counts as long as it may use memory (until the engine says that it is dead). MAKING
 * -> LEASED -> DOOMED -> FREE. ADOPTED: made for an earlier keeper, maybe in use by a worker.
 */
enum box_state { BOX_FREE, BOX_MAKING, BOX_LEASED, BOX_ADOPTED, BOX_DOOMED };
struct box {
	enum box_state state;
	char id[65];		      /* empty until the engine has made it */
	struct keeper_client *client; /* MAKING and LEASED; NULL: left */
	pid_t peer;		      /* whose question it was made for; 0: not counted */
	bool removing;		      /* DOOMED: a filler is at it */
	bool stopped;		      /* DOOMED: there, but dead: takes no slot */
	unsigned attempts;	      /* DOOMED: removals that failed */
	int64_t next_ms;	      /* DOOMED: not before; LEASED, ADOPTED: held too long after */
	uint64_t seen;		      /* the sweep that listed it last */
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
bool client_waits(const struct keeper *k); /* somebody is in the queue */
/* Whose turn it is, or NULL: the first in the queue whose process has not got its share yet. */
struct keeper_client *client_next(struct keeper *k);
/* Drops those whose time has come; returns the next such time, or `next`. */
int64_t client_timers(struct keeper *k, int64_t now, int64_t next);

/* keeper_box.c */
int box_count(const struct keeper *k); /* slots in use */
/* Containers in the making or leased for that process; 0 for peer 0. */
int box_count_of(const struct keeper *k, pid_t peer);
struct box *box_new(struct keeper *k, enum box_state state, const char *id);
void box_doom(struct keeper *k,
	      struct box *b); /* to be removed; one without an id is free at once */
void box_row(struct keeper *k, const struct filler_report *row);
void box_swept(struct keeper *k);
void box_later(struct box *b); /* its removal failed: when to try again */
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
/* keeper_task.c: tasks with the deadlines that belong to them. */
void filler_setup(struct keeper *k);
void filler_sweep(struct keeper *k);
void filler_status(struct keeper *k);
void filler_make(struct keeper *k, struct keeper_client *c);
