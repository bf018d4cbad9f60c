#pragma once

#include <json-c/json.h>

#include "base/base.h"
#include "wire/leasemsg.h"

/*
 * The one recipe of a job's container (design.md section 5): nothing else in the service decides a field of HostConfig.
 */
struct recipe {
	const char *image;
	const char *volume;       /* named volume with the guest, read-only at /belljar */
	const char *instance;     /* label value */
	const char *oci_runtime;  /* empty: the engine's default */
	int64_t deadline_wall_s;  /* label: seconds since 1970 after which anybody may remove it */
	struct lease_limits limits;
};

/* The body of POST /containers/create; the caller's. */
struct json_object *recipe_body(const struct recipe *r);
/* True if an inspect answer's Config and HostConfig hold what the recipe asked; else *err names the field. */
int recipe_verify(const struct recipe *r, struct json_object *inspect, struct err *err);
