#pragma once

#include "base/base.h"

/* A property that must hold for every input; a failure stops the fuzzer as a crash does. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* What libFuzzer and replay.c call; always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
