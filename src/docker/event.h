#pragma once

#include "base/base.h"

struct engine;
struct err;

/*
 * Watches container events of our instance until fn ends it, the deadline passes or the engine goes
 * away (ERR_ENGINE). A hint only (trap 35): whoever watches reconciles by listing afterwards.
 */
struct event {
	char id[65];
	char action[16]; /* "die", "oom", "destroy" */
};
int event_watch(struct engine *e, const char *instance, int (*fn)(const struct event *, void *),
		void *arg, struct err *err);
