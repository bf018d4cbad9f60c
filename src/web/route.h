#pragma once

#include "base/base.h"
#include "web/request.h"

struct err;
struct response;

/* What a request costs by stage, for the access line; filled by handlers. */
struct route_times {
	int64_t queue_ms, start_ms, run_ms, collect_ms; /* -1: stage not reached */
	char outcome[24];   /* job status: ok, error, timeout...; empty: none */
	char container[13]; /* short id */
	char note[640];	    /* of a trouble that the answer survives, for the operator's log; empty:
			       none */
	struct json_object *problems; /* detail list of a 422, owned, ends with the request */
};

struct route {
	enum request_method method;
	const char
		*pattern; /* "/v1/files/{id}": {} matches one path segment, at most two of them */
	const char *const *types; /* content types taken, NULL: no body */
	int (*handle)(struct request *, struct response *, struct route_times *, struct err *);
};

/*
 * Finds the row. HEAD matches GET rows. ERR_NOT_FOUND when no pattern matches; ERR_METHOD with
 * Allow in `allow` (a text of at most 64 bytes) when only the method doesn't. OPTIONS on a known
 * path is answered by the caller with Allow. ERR_MEDIA_TYPE when the content type isn't one of the
 * row's.
 */
const struct route *route_find(const struct route *table, size_t count, struct request *req,
			       char *allow, struct err *err);
