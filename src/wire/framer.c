/*
 * Cuts a stream of bytes into guest frames. One buffer of the largest frame, allocated once; a
 * header that claims more is refused before anything is stored. What a frame means, and whether it
 * may come now, is the caller's business.
 */
#include "wire/framer.h"

#include "base/alloc.h"

void framer_init(struct framer *f, int (*fn)(void *, uint8_t, const uint8_t *, size_t), void *arg)
{
	*f = (struct framer){ .buf = xmalloc(FRAME_MAX), .fn = fn, .arg = arg };
}

void framer_clear(struct framer *f)
{
	free(f->buf);
	*f = (struct framer){ 0 };
}

/* Takes bytes of the header; true if there are still some to come or the header is good. */
static bool take_head(struct framer *f, const uint8_t *p, size_t n)
{
	memcpy(f->head + f->head_len, p, n);
	f->head_len += n;
	f->len = 0;
	return f->head_len < FRAME_HEAD || frame_parse_head(f->head, &f->type, &f->want);
}

int framer_push(struct framer *f, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		bool in_head = f->head_len < FRAME_HEAD;
		size_t n = MIN(len, in_head ? FRAME_HEAD - f->head_len : f->want - f->len);

		if (in_head) {
			if (!take_head(f, p, n))
				return -1;
		} else {
			memcpy(f->buf + f->len, p, n);
			f->len += n;
		}
		p += n;
		len -= n;
		if (f->head_len < FRAME_HEAD || f->len < f->want)
			continue;
		f->head_len = 0;
		if (f->fn(f->arg, f->type, f->buf, f->len) != 0)
			return -1;
	}
	return 0;
}

bool framer_at_edge(const struct framer *f)
{
	return f->head_len == 0;
}
