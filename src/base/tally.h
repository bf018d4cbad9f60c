#pragma once

#include "base/base.h"

struct err;

/*
 * Numbers that several processes count together: rows of 64-bit cells in memory that forked
 * children share. A row has one writer at a time, so nobody waits for anybody and nothing is
 * locked; a reader sees each cell whole, but not all cells of one moment. What a row holds stays
 * when its writer dies, and the next one goes on with it.
 *
 * Every process that has the memory can write all of it: take no decision by what stands there.
 */
struct tally {
	uint64_t *cells; /* NULL: not open */
	size_t rows, width, stride;
};

/* Before the forks. width: cells of a row. Costs memory only for rows that were written to.
 * ERR_INTERNAL. */
int tally_open(struct tally *t, size_t rows, size_t width, struct err *err);
void tally_close(struct tally *t);
/* Rows below `rows` are counted from now on. One process says so, for all: the one that forks. */
void tally_reach(struct tally *t, size_t rows);
/* The cells of a row; NULL when there is no such row. */
uint64_t *tally_row(const struct tally *t, size_t row);
/* Adds all rows up into out, which has room for `width` cells. */
void tally_sum(const struct tally *t, uint64_t *out);

/* For the one writer of the cell's row: a load and a store, both of them whole. */
static inline uint64_t tally_get(const uint64_t *cell)
{
	return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

static inline void tally_set(uint64_t *cell, uint64_t value)
{
	__atomic_store_n(cell, value, __ATOMIC_RELAXED);
}

static inline void tally_add(uint64_t *cell, uint64_t n)
{
	tally_set(cell, tally_get(cell) + n);
}
