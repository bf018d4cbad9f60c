#pragma once

#include "base/base.h"

struct engine;
struct err;
struct recipe;

#define CONTAINER_ID 65
struct container_state {
	bool running, oom_killed;
	int exit_code;
	char status[16];
};
struct container_row {
	char id[CONTAINER_ID];
	int64_t deadline_wall_s; /* from its label, 0: none */
	char role[16];
};

/*
 * Creates from the recipe; warnings are failures unless every one is about a limit in `optional`
 * (comma list), and so is a field that an inspect shows to differ from the recipe; such a container
 * is removed again. ERR_IMAGE when the image is not there. out_id has CONTAINER_ID bytes.
 */
int container_create(struct engine *e, const struct recipe *r, const char *optional, char *out_id,
		     struct err *err);
/*
 * Gives a running container r->limits in place of *r->born, and reads back that they are in force;
 * `optional` as with container_create. After a failure it may have either: remove it.
 */
int container_update(struct engine *e, const struct recipe *r, const char *optional, const char *id,
		     struct err *err);
/* The helper of volume_guest: created from recipe_setup_body, never started. */
int container_create_setup(struct engine *e, const struct recipe *r, char *out_id, struct err *err);
/* Attach to stdin, stdout and stderr before start; returns the stream's descriptor or -1. */
int container_attach(struct engine *e, const char *id, struct err *err);
/*
 * Starts it. ERR_SANDBOX with err->sys ENOENT: the guest volume was removed behind our back and the
 * engine made an empty one; fill it again (volume_guest) and make another container.
 */
int container_start(struct engine *e, const char *id, struct err *err);
int container_kill(struct engine *e, const char *id, struct err *err);
/* Removes by force with its volumes, and confirms by inspect that it is gone (trap 12). Gone
 * already is success. */
int container_remove(struct engine *e, const char *id, struct err *err);
int container_inspect(struct engine *e, const char *id, struct container_state *out,
		      struct err *err);
/* All with our instance label, running or not; *out_rows is the caller's (free). */
int container_list(struct engine *e, const char *instance, struct container_row **out_rows,
		   size_t *out_count, struct err *err);
