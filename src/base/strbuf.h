#pragma once

#include "base/base.h"

/*
 * A bounded string buffer. `buf` is never NULL and always ends in NUL (it may hold NULs before);
 * `len` excludes the last one. `max` is set at birth: an append beyond it is dropped whole and
 * leaves a sticky mark, so that building a text is a straight line and one strbuf_ok() at its end.
 * Memory exhaustion ends the process.
 */
struct strbuf {
	char *buf;
	size_t len, cap, max;
	bool overflow;
};

#define STRBUF(limit)                                                                              \
	{                                                                                          \
		.buf = strbuf_empty, .max = (limit)                                                \
	}
extern char strbuf_empty[1];

void strbuf_init(struct strbuf *sb, size_t max);
/* Frees the contents; the buffer is empty and usable again with the same max. */
void strbuf_clear(struct strbuf *sb);
/* Empties without freeing and forgets an overflow. */
void strbuf_reset(struct strbuf *sb);
void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Drops the first n bytes (n <= len). */
void strbuf_drop(struct strbuf *sb, size_t n);
/* Makes len shorter (n <= len). */
void strbuf_cut(struct strbuf *sb, size_t n);
/* False once an append did not fit. */
bool strbuf_ok(const struct strbuf *sb);
/* Bytes that still fit. */
size_t strbuf_room(const struct strbuf *sb);
