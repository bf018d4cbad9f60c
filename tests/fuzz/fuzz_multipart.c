/*
 * Property: a body means the same however it is cut. The input's first two bytes choose the cutting
 * and the limits, the rest is the body; it is parsed whole, byte by byte, and in pieces of changing
 * size, and the texts of all events and of the error must be equal.
 */
#include "base/err.h"
#include "fuzz/part_log.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sizes of pieces: fixed, or pseudo-random up to a maximum. */
struct cutter {
	size_t max;
	uint32_t state; /* 0: always max */
};

static size_t next_size(void *arg)
{
	struct cutter *c = arg;

	if (c->state == 0)
		return c->max;
	c->state = c->state * 1664525u + 1013904223u;
	return 1 + (c->state >> 16) % c->max;
}

static const char *type_for(uint8_t choice)
{
	static const char *const types[] = { "multipart/form-data; boundary=XX",
					     "multipart/form-data; boundary=\"-\"",
					     "multipart/form-data; boundary=----XX--" };

	return types[choice % 3];
}

static struct multipart_limits limits_for(uint8_t choice)
{
	struct multipart_limits l = {
		.body_bytes = 1 << 20, .body_name = "X", .field_bytes = 1 << 16, .parts = 16
	};

	if (choice & 4)
		l.field_bytes = 9;
	if (choice & 8)
		l.body_bytes = 150;
	if (choice & 16)
		l.parts = 2;
	l.empty_filename = choice & 32;
	return l;
}

static void parse(struct strbuf *log, const uint8_t *data, size_t size, struct cutter c)
{
	struct multipart_limits limits = limits_for(data[1]);

	strbuf_reset(log);
	part_log_run(log, type_for(data[1]), &limits, (const char *)data + 2, size - 2, next_size,
		     &c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(strbuf) whole = STRBUF(PART_LOG_MAX);
	AUTO(strbuf) cut = STRBUF(PART_LOG_MAX);
	struct cutter cuts[] = { { .max = 1 },
				 { .max = 7, .state = 1 },
				 { .max = 90, .state = 1 } };

	if (size < 2)
		return 0;
	parse(&whole, data, size, (struct cutter){ .max = size });
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		if (cuts[i].state)
			cuts[i].state += data[0];
		parse(&cut, data, size, cuts[i]);
		if (cut.len != whole.len || memcmp(cut.buf, whole.buf, whole.len) != 0)
			abort();
	}
	return 0;
}
