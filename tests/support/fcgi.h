#pragma once

#include "base/base.h"
#include "base/strbuf.h"

struct answer;

/* A FastCGI client: what nginx is to the service, one request a connection. */
struct fcgi_request {
	const char *method; /* NULL: POST with a body, GET without */
	const char *uri;    /* path and query */
	const char *type; /* Content-Type; NULL: application/json when there is a body; "": none */
	const void *body;
	size_t len;
	const char *length; /* CONTENT_LENGTH as text in place of len */
	bool open;	    /* the body is not at its end: what there is is sent, and no more */
	const char *const *params; /* name, value, ... NULL: more parameters */
};

/* A request under way. */
struct fcgi {
	int fd; /* -1: could not connect */
	int64_t start_ms;
	struct strbuf out, in, text; /* records to send, raw input, decoded stdout */
	size_t sent;
	bool ended;
};

/* Connects and sends as much as the other side takes at once (bodies of a few KiB: all of it). */
void fcgi_start(struct fcgi *f, const char *socket_path, const struct fcgi_request *r);
/* Sends the rest, reads to the end (at most ms) and closes. */
void fcgi_finish(struct fcgi *f, struct answer *out, int ms);
/* True when the answer is complete or the connection is at its end; never waits. */
bool fcgi_done(struct fcgi *f);
/* Closes without reading on, as a client that leaves. */
void fcgi_drop(struct fcgi *f);
/* start and finish. */
void fcgi_call(const char *socket_path, const struct fcgi_request *r, struct answer *out, int ms);
