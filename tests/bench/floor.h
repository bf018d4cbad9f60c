#pragma once

#include "base/base.h"
#include "docker/recipe.h"

#include <json-c/json.h>

struct engine;

/*
 * The bare engine's side: create + attach + start + the first byte of `python3 -c print(...)` in a
 * container of our own recipe with the plain interpreter in place of the guest.
 */
#define FLOOR_INSTANCE "belljar-bench-floor"
struct floor {
	char volume[64]; /* of the guest: mounted, as in a job's container */
	struct recipe recipe;
};

/* Makes sure that the engine is there and the volume is filled; ends the program otherwise. The
 * texts stay the caller's. */
void floor_init(struct floor *f, const char *guest_dir, const char *image);
void floor_open(struct engine *e);
/* The body for POST /containers/create; the caller's. */
struct json_object *floor_body(const struct floor *f, bool network_disabled);
/*
 * One container from its making to its removal, which waits until it is gone. *out_us: until the
 * first byte. False after a failure, of which *out_why (at least FLOOR_WHY bytes) says what;
 * nothing is left then either, if the engine can remove it.
 */
#define FLOOR_WHY 400
bool floor_cycle(struct engine *e, struct json_object *body, int64_t *out_us, char *out_why);
/* Containers of a service's or of our own label, running or not. */
size_t floor_count(const char *instance);
