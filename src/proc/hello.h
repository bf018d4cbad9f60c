#pragma once

#include "base/base.h"

struct err;

/*
 * Reads a fresh container's attach stream until its guest has said HELLO, and nothing beyond it. A
 * container that says anything else, ends, or is silent until the deadline is ERR_SANDBOX; what it
 * wrote to stderr stands in err->cause.
 */
int hello_wait(int stream, int64_t deadline_ms, struct err *err);
