#pragma once

#include "base/base.h"

#include <json-c/json.h>

struct err;
struct strbuf;

/*
 * One conversation with a Docker-compatible engine, blocking, each call with a deadline (clock_ms).
 * Over a Unix socket or tcp:// without TLS. A filler opens one, speaks, and ends. Failure to
 * connect, a timeout or a 5xx is ERR_ENGINE with words a person can act on; err->sys is 0 when the
 * engine was reached and answered 5xx, else it says why it wasn't (ENOENT, EACCES, ECONNREFUSED,
 * ETIMEDOUT, EPROTO, EMSGSIZE, EPROTONOSUPPORT for an API version...).
 */
struct engine {
	char *host;   /* DOCKER_HOST as given */
	void *curl;   /* CURL * */
	char api[16]; /* negotiated, "1.41" */
	bool podman;
	int64_t deadline_ms; /* for every call until changed */
};

#define ENGINE_API_MIN "1.40"
#define ENGINE_API_MAX "1.51"

/* What every conversation needs and children inherit: done once before forking, it spares each
 * child milliseconds. */
void engine_prepare(void);
/* Connects, negotiates the version (trap 1): min(our maximum, the engine's), refused when it is
 * below either minimum. */
int engine_open(struct engine *e, const char *host, int64_t deadline_ms, struct err *err);
void engine_close(struct engine *e);

/*
 * One request with an optional JSON body (borrowed). *out_status is the HTTP status; *out_answer
 * (may be NULL) is the JSON answer or NULL when there was none, the caller's. An answer that is not
 * complete, too large, or not JSON where JSON is due, is ERR_ENGINE. A 4xx is no failure here: the
 * caller decides.
 */
int engine_call(struct engine *e, const char *method, const char *path, struct json_object *body,
		int *out_status, struct json_object **out_answer, struct err *err);
/* PUT of a tar (archive) of len bytes; as engine_call. */
int engine_put(struct engine *e, const char *path, const void *data, size_t len, int *out_status,
	       struct err *err);
/* GET of bytes that are no JSON (archive), at most out->max of them; out is emptied first. */
int engine_fetch(struct engine *e, const char *path, struct strbuf *out, int *out_status,
		 struct err *err);
/* The engine's own "message" of an answer, for causes; never NULL. */
const char *engine_message(struct json_object *answer);
/*
 * A stream of JSON objects (events, pull, build): fn is called for each and ends the stream by
 * returning non-zero. Returns 0 when fn ended it or it ended completely, -1 with err.
 */
int engine_stream(struct engine *e, const char *method, const char *path,
		  int (*fn)(struct json_object *, void *), void *arg, struct err *err);
/* POST of a hijacked call; returns a connected non-blocking descriptor whose first byte is the
 * stream's first, or -1. */
int engine_hijack(struct engine *e, const char *path, struct err *err);
