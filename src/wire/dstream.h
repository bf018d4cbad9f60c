#pragma once

#include "base/base.h"

/*
 * Docker's multiplexed attach stream (trap 4): 8 bytes (type, 0, 0, 0, big-endian length), payload.
 * A push parser with a fixed state: any cut of the input gives the same calls joined. Type 0 and 1:
 * stdout, 2: stderr, 3: the daemon's own error; others and non-zero padding are fatal. Payload
 * lengths are counted, never allocated.
 */
enum dstream_kind { DSTREAM_STDOUT = 1, DSTREAM_STDERR = 2, DSTREAM_DAEMON = 3 };
struct dstream {
	uint8_t head[8];
	size_t head_len;
	uint32_t left;
	enum dstream_kind kind;
	bool broken;
	int (*fn)(void *arg, enum dstream_kind kind, const void *data,
		  size_t len); /* non-zero stops */
	void *arg;
};
void dstream_init(struct dstream *d, int (*fn)(void *, enum dstream_kind, const void *, size_t),
		  void *arg);
/* 0, or -1: broken frame or fn stopped (its bytes are lost then). */
int dstream_push(struct dstream *d, const void *data, size_t len);
/* True between two frames: an end of stream elsewhere is a cut stream. */
bool dstream_at_edge(const struct dstream *d);
