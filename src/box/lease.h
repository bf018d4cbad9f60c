#pragma once

#include "base/base.h"
#include "wire/leasemsg.h"

struct err;

/*
 * A lease is a connection (design.md, idea 3): the container behind `stream` lives until `conn`
 * closes. lease_clear closes both; a worker that dies closes them too.
 */
struct lease {
	int conn;	 /* SEQPACKET to the keeper, -1: none */
	int stream;	 /* attach stream of the container, non-blocking, -1: none */
	char id[65];	 /* container id */
	char engine[32]; /* the engine's name, empty: not known */
	bool warm;
	int64_t queue_ms, start_ms;
};
#define LEASE_INIT                                                                                 \
	{                                                                                          \
		.conn = -1, .stream = -1                                                           \
	}

/*
 * Asks the keeper at `path` and waits at most ask->wait_ms plus the time a container may take to
 * start. Failure carries the keeper's code, text and Retry-After; no keeper there is ERR_ENGINE.
 * watch_fd (-1: none) is the client's connection: when it hangs up the wait ends with
 * ERR_CLIENT_GONE.
 */
int lease_take(struct lease *lease, const char *path, const struct lease_ask *ask, int watch_fd,
	       struct err *err);
void lease_clear(struct lease *lease);
/* Asks what the engine's last look said; answers at once. */
int lease_ask_status(const char *path, struct lease_status *out, struct err *err);
