#pragma once

#include "base/base.h"

/* The times of one thing, taken round by round, and how rows of them are printed: what the programs
 * of this folder share. */
#define ROUNDS_MAX 1000

struct series {
	const char *name;
	double ms[ROUNDS_MAX];
	size_t count;
	double mb; /* what one round moves, in 10^6 bytes; 0: nothing to speak of */
};

void series_add(struct series *s, int64_t us);
/* The value that `share` (0 to 1) of the rounds did not pass; 0 without rounds. Sorts. */
double series_at(struct series *s, double share);
/* A table with a title, and a line of JSON below it. Ratios are those of the medians to the first
 * series'; MB/s that of the median. */
void series_print(const char *title, struct series *all, size_t count);
