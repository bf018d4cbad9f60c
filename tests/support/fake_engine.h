#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * An engine that fails on demand: a server on a socket of its own which answers requests by rules,
 * and passes on to a real engine what no rule matches. It runs in a child process, one more for
 * each connection; fake_stop ends them all. One request a connection ("Connection: close").
 */
enum fake_act {
	FAKE_PASS,     /* to the real engine, counted */
	FAKE_RAW,      /* sends text, closes */
	FAKE_RAW_HANG, /* sends text, then nothing until the client leaves */
	FAKE_DRIP,     /* sends text a byte at a time, then hangs */
	FAKE_FLOOD,    /* sends text, then 'x' without end */
	FAKE_CUT,      /* passes on, but only the first `cut` bytes of the answer */
	FAKE_EDIT      /* passes on, with `text` in the answer's body replaced by `to` */
};

struct fake_rule {
	const char *match; /* method, space, and a part of the path: "POST /containers/create";
			      first match counts */
	enum fake_act act;
	const char *text;
	const char *to;
	size_t cut;
	unsigned times; /* for the first so many requests only; 0: for all */
};

#define FAKE_RULES 8
struct fake_engine {
	pid_t pid;
	char host[128];	      /* for engine_open */
	char dir[64];	      /* of the Unix socket */
	const char *upstream; /* path of the real engine's socket */
	const struct fake_rule *rules;
	size_t count;
	atomic_uint *hits; /* per rule, shared with the children */
};

/* Starts it on a Unix socket, or on a TCP port of the loopback address. Ends the test if it can't.
 */
void fake_start(struct fake_engine *f, const struct fake_rule *rules, size_t count, int tcp);
void fake_stop(struct fake_engine *f);
/* How many requests met rule i. */
unsigned fake_hits(const struct fake_engine *f, size_t i);

/* The opening of every conversation, for rules: a current engine. */
#define FAKE_PING                                                                                  \
	{                                                                                          \
		"GET /_ping", FAKE_RAW,                                                            \
			"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: "                 \
			"2\r\nConnection: close\r\n\r\nOK",                                        \
			NULL, 0, 0                                                                 \
	}
