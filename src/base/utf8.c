/*
 * UTF-8 as Unicode defines it (version 15, table 3-7): one function knows the well-formed
 * sequences, the others walk. Used for every text that leaves or enters the service as JSON; never
 * guesses another encoding.
 */
#include "base/utf8.h"

#include "base/strbuf.h"

enum kind { WHOLE, ILL, INCOMPLETE };

/* What may follow a lead byte: the range of the second byte and the length of all. */
struct lead {
	uint8_t first, last, low, high, len;
};

static const struct lead leads[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static const struct lead *find_lead(uint8_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(leads); i++) {
		if (c >= leads[i].first && c <= leads[i].last)
			return &leads[i];
	}
	return NULL;
}

/*
 * Bytes at p that belong together: a character (WHOLE), the maximal subpart of an ill-formed
 * sequence (ILL), or a beginning which the end of the data cuts off (INCOMPLETE). left > 0.
 */
static size_t next(const uint8_t *p, size_t left, enum kind *out_kind)
{
	const struct lead *lead;

	*out_kind = WHOLE;
	if (p[0] < 0x80)
		return 1;
	*out_kind = ILL;
	lead = find_lead(p[0]);
	if (!lead)
		return 1;
	for (size_t i = 1; i < lead->len; i++) {
		uint8_t low = i == 1 ? lead->low : 0x80, high = i == 1 ? lead->high : 0xbf;

		if (i == left) {
			*out_kind = INCOMPLETE;
			return i;
		}
		if (p[i] < low || p[i] > high)
			return i;
	}
	*out_kind = WHOLE;
	return lead->len;
}

bool utf8_valid(const void *data, size_t len)
{
	const uint8_t *p = data;
	enum kind kind;

	for (size_t i = 0; i < len;) {
		i += next(p + i, len - i, &kind);
		if (kind != WHOLE)
			return false;
	}
	return true;
}

size_t utf8_scrub(struct strbuf *out, const void *data, size_t len, bool final)
{
	const uint8_t *p = data;
	size_t from = 0, i = 0;
	enum kind kind;

	while (i < len) {
		size_t n = next(p + i, len - i, &kind);

		if (kind == INCOMPLETE && !final)
			break;
		if (kind != WHOLE) {
			strbuf_add(out, p + from, i - from);
			strbuf_add(out, "\xef\xbf\xbd", 3);
			from = i + n;
		}
		i += n;
	}
	/* i < from never holds: from is where the last bad sequence ended. */
	if (i > from)
		strbuf_add(out, p + from, i - from);
	return i;
}

size_t utf8_cut(const void *data, size_t len, size_t max)
{
	const uint8_t *p = data;
	size_t n = MIN(len, max);
	enum kind kind;

	/* A character has at most four bytes, so a cut one begins at most three before the end. */
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		uint8_t c = p[n - back];

		if (c >= 0x80 && c <= 0xbf)
			continue;
		next(p + n - back, back, &kind);
		return kind == INCOMPLETE ? n - back : n;
	}
	return n;
}
