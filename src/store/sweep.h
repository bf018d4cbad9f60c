#pragma once

#include "base/base.h"
#include "store/quota.h"

#include <signal.h>

struct err;
struct store;

/* What a sweep did. */
struct sweep {
	int expired;	    /* files whose time was over */
	int damaged;	    /* files that could not be read for LIMIT_DAMAGED_MS */
	int leftovers;	    /* of writers and deleters that died */
	struct usage usage; /* of the whole store, counted afresh */
};

/*
 * Goes once over all tenants: removes what has expired and what the dead left behind, then counts
 * anew. Safe beside any number of writers, readers and other sweeps. now_ms: clock_wall_ms(). stop
 * (may be NULL): a flag that a signal handler sets to end it early. -1: the counters could not be
 * written; what was removed is in *out all the same.
 */
int sweep_run(const struct store *s, int64_t now_ms, const volatile sig_atomic_t *stop,
	      struct sweep *out, struct err *err);
