#pragma once

#include "base/base.h"
#include "base/strbuf.h"

struct engine;
struct err;

/*
 * What engine.c and engine_raw.c share: the address of an engine, the words for what goes wrong on
 * the way to it, and one HTTP exchange over libcurl. Only the files engine*.c include this.
 */

/* DOCKER_HOST taken apart. */
struct http_address {
	bool local;	/* Unix socket at path; else TCP to node, port */
	char path[108]; /* sun_path's size */
	char node[256];
	char port[8];
};
/* unix:///path, tcp://host[:port] or http://host[:port], port 2375 by default; anything else is
 * ERR_INVALID. */
int http_address(const char *host, struct http_address *out, struct err *err);
/* Connects a close-on-exec, non-blocking stream; the descriptor or -1. */
int http_connect(const char *host, const struct http_address *address, int64_t deadline_ms,
		 struct err *err);

/* The errors everybody words alike; sys is errno's value and lands in err->sys. Both return -1. */
int http_unreachable(const char *host, int sys, struct err *err);
int http_silent(const char *host, struct err *err);

/* One request and its answer. The caller fills the first half and owns `answer`. */
struct http_exchange {
	const char *method;
	const char *path; /* complete, with the version's prefix */
	const char *type; /* Content-Type of the body, NULL: none */
	const void *body;
	size_t body_len;
	/* Takes a 2xx answer's bytes instead of `answer`; non-zero ends the exchange with success.
	 */
	int (*fn)(void *arg, const void *data, size_t len);
	void *arg;

	struct strbuf answer; /* born with the cap: STRBUF(limit) */
	int status;
	bool ended; /* fn ended it */
	bool json;  /* the answer's Content-Type says so */
	size_t head_bytes;
	bool head_done; /* the blank line came */
};
/* 0 once a complete answer of any status is there; -1 with ERR_ENGINE otherwise, err->sys set. */
int http_exchange(struct engine *e, struct http_exchange *x, struct err *err);
/* A header of the last answer, NULL when absent; valid until the next exchange. */
const char *http_header(struct engine *e, const char *name);
