/*
 * Shared rows of counters: the memory and its layout. metrics.c gives the cells their meaning and
 * is the only caller. Row 0 begins after a line of its own, which holds how many rows are in use,
 * so that a sum touches no page that nobody has written to.
 */
#include "base/tally.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_CELLS (64 / sizeof(uint64_t)) /* of a cache line: two writers never share one */

static size_t bytes(const struct tally *t)
{
	return (LINE_CELLS + t->rows * t->stride) * sizeof(*t->cells);
}

int tally_open(struct tally *t, size_t rows, size_t width, struct err *err)
{
	*t = (struct tally){ .rows = rows, .width = width };
	t->stride = (width + LINE_CELLS - 1) / LINE_CELLS * LINE_CELLS;
	void *p = mmap(NULL, bytes(t), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return err_sys(err, ERR_INTERNAL, errno, "no memory for %zu rows of counters",
			       rows);
	t->cells = p;
	return 0;
}

void tally_close(struct tally *t)
{
	if (t->cells)
		munmap(t->cells, bytes(t));
	*t = (struct tally){ 0 };
}

void tally_reach(struct tally *t, size_t rows)
{
	if (t->cells && rows > tally_get(&t->cells[0]))
		tally_set(&t->cells[0], MIN(rows, t->rows));
}

uint64_t *tally_row(const struct tally *t, size_t row)
{
	return t->cells && row < t->rows ? t->cells + LINE_CELLS + row * t->stride : NULL;
}

void tally_sum(const struct tally *t, uint64_t *out)
{
	memset(out, 0, t->width * sizeof(*out));
	size_t rows = t->cells ? MIN(tally_get(&t->cells[0]), t->rows) : 0;
	for (size_t r = 0; r < rows; r++) {
		const uint64_t *row = tally_row(t, r);
		for (size_t i = 0; i < t->width; i++)
			out[i] += tally_get(&row[i]);
	}
}
