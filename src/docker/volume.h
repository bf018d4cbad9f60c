#pragma once

#include "base/base.h"

struct engine;
struct err;

/*
 * The read-only volume with the guest: named belljar-guest-<hash of its files>, filled once per
 * guest version through a helper container that is created, never started, (PUT archive into its
 * mount) and removed. Two services that fill it at once do no harm. Works on remote engines: no
 * host path is mounted.
 */
#define VOLUME_NAME 64
/* Makes sure the volume exists and is complete; writes its name. guest_dir holds `guest` and
 * `drivers/`. image: any image for the helper container. */
int volume_guest(struct engine *e, const char *guest_dir, const char *image, const char *instance,
		 char *out_name, struct err *err);
