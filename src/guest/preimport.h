#pragma once

#include "base/base.h"

struct guest;

#define PREIMPORT_ENV "BELLJAR_PREIMPORT" /* of the container and of the waiting interpreter */
#define PREIMPORT_MAX 2000 /* bytes of that list; a longer one is no list of modules */

/* Modules that the waiting interpreter imports before there is a job. */
struct preimport {
	bool active;		       /* the interpreter was started with, or after, such a list */
	bool done;		       /* nothing is being imported any more */
	unsigned at;		       /* the name that is being imported, from 1; 0: none yet */
	int64_t deadline_us;	       /* of all imports */
	char names[PREIMPORT_MAX + 1]; /* comma list, without those that proved bad; "": none */
};

/* names: the container's list; NULL and "" are none. Before the interpreter is started. */
void preimport_init(struct preimport *p, const char *names);
/* Begins to watch the interpreter, which has said CHILD_READY. */
void preimport_begin(struct guest *g);
/* Whether the interpreter's socket and preimport_deadline are to be watched. */
bool preimport_watched(const struct guest *g);
int64_t preimport_deadline(const struct guest *g);
/*
 * Hears what the interpreter has said, if it is watched. One that ended, or whose time is over, is
 * replaced by one that doesn't import the module it was at; what that costs is no job's time.
 */
void preimport_turn(struct guest *g);
/* An import may be under way. */
bool preimport_busy(const struct preimport *p);
/* The interpreter may have imported something. */
bool preimport_used(const struct preimport *p);
/* The next interpreter imports nothing. */
void preimport_stop(struct preimport *p);
