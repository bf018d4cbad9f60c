/*
 * Docker's multiplexed attach stream, taken apart. The engine writes the headers, but the bytes
 * have passed a container's pipe and a network, so nothing is believed: an unknown type or padding
 * ends the stream. Payload is handed on as it comes and never collected, so a header's length costs
 * nothing.
 */
#include "wire/dstream.h"

void dstream_init(struct dstream *d, int (*fn)(void *, enum dstream_kind, const void *, size_t),
		  void *arg)
{
	*d = (struct dstream){ .kind = DSTREAM_STDOUT, .fn = fn, .arg = arg };
}

/* A complete header: sets kind and left. */
static bool begin(struct dstream *d)
{
	const uint8_t *h = d->head;

	if (h[0] > DSTREAM_DAEMON || h[1] || h[2] || h[3])
		return false;
	d->kind = h[0] == 0 ? DSTREAM_STDOUT : (enum dstream_kind)h[0];
	d->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
	d->head_len = 0;
	return true;
}

/* Consumes some of a header or of a payload; 0 when broken. len > 0. */
static size_t step(struct dstream *d, const uint8_t *p, size_t len)
{
	size_t n;

	if (d->left > 0) {
		n = MIN(len, (size_t)d->left);
		d->left -= (uint32_t)n;
		return d->fn(d->arg, d->kind, p, n) == 0 ? n : 0;
	}
	n = MIN(len, sizeof(d->head) - d->head_len);
	memcpy(d->head + d->head_len, p, n);
	d->head_len += n;
	return d->head_len < sizeof(d->head) || begin(d) ? n : 0;
}

int dstream_push(struct dstream *d, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0 && !d->broken) {
		size_t n = step(d, p, len);

		d->broken = n == 0;
		p += n;
		len -= n;
	}
	return d->broken ? -1 : 0;
}

bool dstream_at_edge(const struct dstream *d)
{
	return !d->broken && d->head_len == 0 && d->left == 0;
}
