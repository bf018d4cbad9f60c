/*
 * The buffer between the guest and its stdout. serve.c flushes it from its loop, everything else
 * only adds whole frames. It never blocks and never drops a byte: without room the producer has to
 * wait.
 */
#include "guest/out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

size_t out_room(const struct out *o)
{
	size_t free_bytes = sizeof(o->buf) - o->len;

	return free_bytes <= FRAME_HEAD ? 0 : MIN(free_bytes - FRAME_HEAD, (size_t)FRAME_MAX);
}

uint8_t *out_payload(struct out *o)
{
	if (o->start) {
		memmove(o->buf, o->buf + o->start, o->len);
		o->start = 0;
	}
	return o->buf + o->len + FRAME_HEAD;
}

void out_commit(struct out *o, enum frame_type type, size_t len)
{
	frame_head(o->buf + o->start + o->len, type, (uint32_t)len);
	o->len += FRAME_HEAD + len;
}

bool out_put(struct out *o, enum frame_type type, const void *data, size_t len)
{
	if (sizeof(o->buf) - o->len < FRAME_HEAD + len)
		return false;
	if (len)
		memcpy(out_payload(o), data, len);
	else
		out_payload(o);
	out_commit(o, type, len);
	return true;
}

int out_flush(struct out *o)
{
	while (o->len) {
		ssize_t n = write(o->fd, o->buf + o->start, o->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		o->start += (size_t)n;
		o->len -= (size_t)n;
	}
	o->start = 0;
	return 0;
}
