#pragma once

#include "base/base.h"

#include <sys/types.h>

struct answer;
struct service;

/* A real nginx in front of a service under test: this repository's nginx/, rendered by
 * src/ops/nginx.sh, on a port of its own. */
struct front {
	pid_t pid;
	int port;
	char dir[160], log[200]; /* log: both of nginx's logs */
};
/* Starts it and waits until it answers; ends the test if it doesn't. extra: settings as the service
 * has them ("MAX_UPLOAD_MB=2"); the last word on a key wins. */
void front_start(struct front *f, struct service *s, const char *const *extra);
void front_stop(struct front *f);
/* One request; body JSON text or NULL; headers may be NULL. */
void front_call(struct front *f, const char *method, const char *path, const char *body,
		const char *const *headers, struct answer *out);
/* POST /v1/execute; wants 200. */
void front_execute(struct front *f, const char *code, const char *more, struct answer *out);
