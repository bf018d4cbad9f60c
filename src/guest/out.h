#pragma once

#include "base/base.h"
#include "wire/frame.h"

/*
 * Frames on their way to the worker. The descriptor is non-blocking; what it doesn't take waits
 * here, and whoever produces must stop while there is no room.
 */
#define OUT_BYTES (256 << 10) /* four full frames: the program runs on while Docker copies */
#define OUT_RESERVE 1024 /* kept free of program output for STARTED, STDIN_ROOM, EXIT and FAIL */

struct out {
	int fd;
	size_t start, len;
	uint8_t buf[OUT_BYTES];
};

/* Bytes of payload that one more frame can have, at most FRAME_MAX; 0: none fits. */
size_t out_room(const struct out *o);
/* Where the payload of the next frame goes, out_room() bytes of it; then out_commit. Valid until
 * the next call. */
uint8_t *out_payload(struct out *o);
/* Puts the header before the len bytes that were written to out_payload. */
void out_commit(struct out *o, enum frame_type type, size_t len);
/* A whole frame; false if there is no room. */
bool out_put(struct out *o, enum frame_type type, const void *data, size_t len) MUST_USE;
/* Writes what the descriptor takes. -1: the other side is gone. */
int out_flush(struct out *o) MUST_USE;
