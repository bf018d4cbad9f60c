#pragma once

#include "base/base.h"

struct engine;
struct err;

struct image {
	char id[80];
	int64_t size_bytes;
	char created[40];
	char version[32]; /* label com.belljar.version */
};
/* Inspects; ERR_IMAGE with how to build it when absent. */
int image_inspect(struct engine *e, const char *name, struct image *out, struct err *err);
