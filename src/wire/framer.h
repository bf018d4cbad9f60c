#pragma once

#include "base/base.h"
#include "wire/frame.h"

/*
 * Push parser of guest frames: collects one frame in a fixed buffer of FRAME_MAX and calls fn for
 * each. Used by the worker and the filler (behind dstream).
 */
struct framer {
	uint8_t head[FRAME_HEAD];
	size_t head_len;
	uint8_t *buf; /* FRAME_MAX, owned */
	size_t len;
	uint32_t want;
	uint8_t type;
	int (*fn)(void *arg, uint8_t type, const uint8_t *data, size_t len); /* non-zero stops */
	void *arg;
};
void framer_init(struct framer *f, int (*fn)(void *, uint8_t, const uint8_t *, size_t), void *arg);
void framer_clear(struct framer *f);
/* 0; -1: malformed frame or fn stopped. Frames after the one at which fn stopped are lost. */
int framer_push(struct framer *f, const void *data, size_t len);
/* False in the middle of a frame. */
bool framer_at_edge(const struct framer *f);
