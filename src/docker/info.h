#pragma once

#include "base/base.h"
#include "wire/leasemsg.h"

struct engine;
struct err;

/*
 * Looks at the engine and the image and fills the status with what is wrong and how to fix it, in
 * words: no engine, no permission, no image, too old, limits that this host cannot apply. Never
 * fails: a failure to ask is what it reports. `host` is DOCKER_HOST; optional is OPTIONAL_LIMITS.
 */
void info_status(const char *host, const char *image, const char *optional, int64_t deadline_ms,
		 struct lease_status *out);
