#pragma once

#include "base/base.h"

struct guest;

/* Serves the one job of this guest, from HELLO on, until the end of input. Never returns. */
NORETURN void serve(struct guest *g, uint32_t ready_ms);
/* Says FAIL with g->why, and waits for the end of input. */
NORETURN void serve_failure(struct guest *g);
/*
 * For files.c: waits until a frame of `len` bytes of payload has room, while orders from the worker
 * are still read. Ends the process when the worker is gone.
 */
void serve_room(struct guest *g, size_t len);
