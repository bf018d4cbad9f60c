/* The engine's multiplexed stream: the same bytes per kind however it is cut, and never more than
 * came in. */
#include "base/strbuf.h"
#include "fuzz/fuzz.h"
#include "wire/dstream.h"

static int note(void *arg, enum dstream_kind kind, const void *data, size_t len)
{
	struct strbuf *seen = arg;

	FUZZ_CHECK(kind >= DSTREAM_STDOUT && kind <= DSTREAM_DAEMON && len > 0);
	strbuf_add(&seen[kind], data, len);
	return 0;
}

static int feed(const uint8_t *data, size_t size, size_t step, struct strbuf *seen, bool *out_edge)
{
	struct dstream d;
	int rc = 0;

	for (int i = 0; i < 4; i++)
		strbuf_init(&seen[i], size);
	dstream_init(&d, note, seen);
	for (size_t at = 0; at < size && rc == 0; at += step)
		rc = dstream_push(&d, data + at, MIN(step, size - at));
	*out_edge = dstream_at_edge(&d);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf whole[4], pieces[4];
	bool edge, edge_pieces;
	int rc = feed(data, size, MAX(size, (size_t)1), whole, &edge);

	FUZZ_CHECK(feed(data, size, 1 + size % 7, pieces, &edge_pieces) == rc &&
		   edge == edge_pieces);
	for (int i = 0; i < 4; i++) {
		FUZZ_CHECK(strbuf_ok(&whole[i]) && whole[i].len == pieces[i].len);
		FUZZ_CHECK(memcmp(whole[i].buf, pieces[i].buf, whole[i].len) == 0);
		strbuf_clear(&whole[i]);
		strbuf_clear(&pieces[i]);
	}
	return 0;
}
