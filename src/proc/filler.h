#pragma once

#include "base/base.h"
#include "docker/volume.h"
#include "wire/leasemsg.h"

/* What a filler is forked for: one conversation with the engine. */
enum filler_kind {
	FILLER_SETUP,
	FILLER_MAKE,
	FILLER_UPDATE, /* other limits for a container that waits */
	FILLER_REMOVE,
	FILLER_SWEEP,
	FILLER_STATUS
};

struct filler_task {
	enum filler_kind kind;
	int64_t deadline_ms;	 /* clock_ms; the keeper kills the filler a little later */
	int64_t deadline_wall_s; /* MAKE, UPDATE: the container's label */
	bool warm;   /* MAKE, UPDATE: for the pool, so its interpreter may prepare itself */
	char id[65]; /* UPDATE, REMOVE */
	char volume[VOLUME_NAME];   /* MAKE, UPDATE */
	struct lease_limits limits; /* MAKE, UPDATE */
	struct lease_limits born;   /* UPDATE: what it was made with */
};

/*
 * Filler to keeper, over a SEQPACKET pair. CREATED and ROW come before the one DONE; an end without
 * DONE is a failure. MAKE's DONE carries the attach stream when code is ERR_NONE.
 */
enum filler_word { FILLER_CREATED = 1, FILLER_ROW, FILLER_DONE };
struct filler_report {
	uint32_t magic, word;
	uint32_t code; /* DONE: enum err_code */
	uint32_t retry_after_s;
	uint32_t running;	    /* ROW */
	uint32_t stopped;	    /* REMOVE's DONE with code: it is still there, but is dead */
	int64_t deadline_wall_s;    /* ROW: from the label, 0: none */
	char id[65];		    /* CREATED, ROW */
	char volume[VOLUME_NAME];   /* SETUP's DONE */
	char text[240], cause[320]; /* DONE with code */
	struct lease_status status; /* STATUS' DONE */
};

/* The filler's life, in the forked child: does the task, reports over `sock`, returns the exit
 * status. */
int filler_run(const struct filler_task *task, int sock);
