#pragma once

#include "base/base.h"
#include "wire/leasemsg.h"

#include <json-c/json.h>

struct err;

/*
 * The one recipe of a job's container (design.md section 5): nothing else in the service decides a
 * field of HostConfig.
 */
struct recipe {
	const char *image;
	const char *volume;	 /* named volume with the guest, read-only at /belljar */
	const char *instance;	 /* label value */
	const char *oci_runtime; /* empty: the engine's default */
	const char
		*preimport; /* modules for the driver to import while it waits; "" or NULL: none */
	int64_t deadline_wall_s; /* label: seconds since 1970 after which anybody may remove it */
	struct lease_limits limits;
	const struct lease_limits
		*born; /* it was made with these and updated since; NULL: limits */
};

/* The body of POST /containers/create; the caller's. */
struct json_object *recipe_body(const struct recipe *r);
/* The body of POST /containers/{id}/update for r->limits; the caller's. */
struct json_object *recipe_update_body(const struct recipe *r);
/* True if an update can make a container of one kind into the other: sizes of file systems, which
 * are fixed, are the same. */
bool recipe_can_become(const struct lease_limits *from, const struct lease_limits *to);
/*
 * 0 if an inspect answer's Config, HostConfig and Mounts hold what the recipe asked; else
 * ERR_SANDBOX names the field. recipe_check lets pass the fields of the limits in `optional` (comma
 * list of memory, swap, pids, cpu).
 */
int recipe_verify(const struct recipe *r, struct json_object *inspect, struct err *err);
int recipe_check(const struct recipe *r, const char *optional, struct json_object *inspect,
		 struct err *err);
/* True if the comma list holds the word. */
bool recipe_listed(const char *list, const char *word);
/* Name of the limit (memory, swap, pids, cpu) which a warning or an error of the engine says it
 * can't apply; "" for one without effect on a job; NULL: another. */
const char *recipe_warned(const char *text);

/*
 * The helper that fills the guest volume: created, never started. It mounts the volume read-write
 * at the same place; no process ever runs in it.
 */
struct json_object *recipe_setup_body(const struct recipe *r);

/* Where the guest volume is mounted in both. */
#define RECIPE_GUEST_DIR "/belljar"
/* The driver reads it and takes it out of its environment. */
#define RECIPE_PREIMPORT "BELLJAR_PREIMPORT"
