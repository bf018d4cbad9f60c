#pragma once

#include "base/base.h"
#include "base/strbuf.h"
#include "limits.h"

struct channel;
struct err;

enum request_method {
	METHOD_GET,
	METHOD_HEAD,
	METHOD_POST,
	METHOD_PUT,
	METHOD_DELETE,
	METHOD_OPTIONS,
	METHOD_OTHER
};

struct request {
	struct channel *channel; /* borrowed */
	enum request_method method;
	char method_name[16];
	char path[LIMIT_URI_BYTES];    /* decoded once, without query; no NUL */
	char query[LIMIT_URI_BYTES];   /* raw */
	char id[LIMIT_REQUEST_ID + 1]; /* nginx's REQUEST_ID when well formed, else our own */
	char content_type[256];	       /* raw header; empty: none */
	char accept[512];
	int64_t content_length;	 /* -1: not said */
	int64_t body_read;	 /* bytes so far */
	int64_t start_ms;	 /* clock_ms of accept */
	char route_args[2][128]; /* what the pattern's {} matched, decoded */
};

/* Reads the parameters of the accepted request. ERR_BAD_REQUEST for a path that is not valid. */
int request_open(struct request *r, struct channel *c, struct err *err);
/* Reads the whole body into out (its max is the cap). Over the cap: ERR_TOO_LARGE naming the cap,
 * `cap_name` says which setting. */
int request_body(struct request *r, struct strbuf *out, int64_t max, const char *cap_name,
		 struct err *err);
/*
 * Hands the body to `take` as it comes, in pieces of at most LIMIT_PIECE_BYTES; a failure of `take`
 * ends it with that error. Over max: ERR_TOO_LARGE as for request_body, at once when Content-Length
 * says so.
 */
typedef int (*request_take)(void *arg, const void *data, size_t len, struct err *err);
int request_each(struct request *r, int64_t max, const char *cap_name, request_take take, void *arg,
		 struct err *err);
/* Reads and drops what is left of the body (for a bounded time) so that the client sees the
 * answer. */
void request_drain(struct request *r);
/* "application/json; charset=utf-8" is "application/json": compares the type only,
 * case-insensitive. */
bool request_content_is(const struct request *r, const char *type);
/* True if the Accept header prefers text/html over application/json. */
bool request_wants_html(const struct request *r);
