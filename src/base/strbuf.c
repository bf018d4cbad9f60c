/*
 * The bounded string buffer. It grows by doubling up to the maximum given at birth; what would go
 * beyond is dropped whole and remembered, so that a text is built in a straight line and asked once
 * whether it is complete.
 */
#include "base/strbuf.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define STRBUF_FIRST 64

/* What `buf` of every empty buffer points to; never written to but with NUL. */
char strbuf_empty[1] = "";

void strbuf_init(struct strbuf *sb, size_t max)
{
	*sb = (struct strbuf)STRBUF(max);
}

void strbuf_clear(struct strbuf *sb)
{
	if (sb->cap)
		free(sb->buf);
	strbuf_init(sb, sb->max);
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->overflow = false;
	if (sb->cap)
		sb->buf[0] = '\0';
}

/* Room for extra bytes and NUL; false (and the mark) if that is over the maximum. */
static bool reserve(struct strbuf *sb, size_t extra)
{
	size_t cap = sb->cap ? sb->cap : STRBUF_FIRST;

	if (extra > strbuf_room(sb)) {
		sb->overflow = true;
		return false;
	}
	if (sb->cap && sb->len + extra < sb->cap)
		return true;
	while (cap <= sb->len + extra)
		cap = cap > sb->max / 2 ? sb->max + 1 : cap * 2;
	sb->buf = xrealloc(sb->cap ? sb->buf : NULL, cap);
	sb->cap = cap;
	return true;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	if (len == 0 || !reserve(sb, len))
		return;
	memcpy(sb->buf + sb->len, data, len);
	sb->len += len;
	sb->buf[sb->len] = '\0';
}

void strbuf_addstr(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addch(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		sb->overflow = true;
	} else if (n > 0 && reserve(sb, (size_t)n)) {
		vsnprintf(sb->buf + sb->len, (size_t)n + 1, fmt, again);
		sb->len += (size_t)n;
	}
	va_end(again);
}

void strbuf_drop(struct strbuf *sb, size_t n)
{
	if (n == 0)
		return;
	memmove(sb->buf, sb->buf + n, sb->len - n + 1);
	sb->len -= n;
}

void strbuf_cut(struct strbuf *sb, size_t n)
{
	sb->len = n;
	if (sb->cap)
		sb->buf[n] = '\0';
}

bool strbuf_ok(const struct strbuf *sb)
{
	return !sb->overflow;
}

size_t strbuf_room(const struct strbuf *sb)
{
	return sb->max - sb->len;
}
