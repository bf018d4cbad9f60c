/*
 * Guest frames: a stream gives the same frames whole and in pieces, and a JOB or EXIT payload that
 * is accepted is written back to the same bytes.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "fuzz/fuzz.h"
#include "wire/framer.h"

static void check_job(const uint8_t *data, size_t size)
{
	AUTO_FREE uint8_t *buf = xmalloc(size);
	struct frame_out out = { .buf = buf, .max = size, .ok = true };
	struct frame_job job;

	if (!frame_get_job(data, size, &job))
		return;
	frame_put_job(&out, &job);
	FUZZ_CHECK(out.ok && out.len == size && memcmp(buf, data, size) == 0);
	for (uint32_t i = 0; i < job.argv_len; i += (uint32_t)strlen(job.argv + i) + 1)
		FUZZ_CHECK(job.argv[job.argv_len - 1] == '\0');
}

static void check_exit(const uint8_t *data, size_t size)
{
	AUTO_FREE uint8_t *buf = xmalloc(size);
	struct frame_out out = { .buf = buf, .max = size, .ok = true };
	struct frame_exit e;

	if (!frame_get_exit(data, size, &e))
		return;
	frame_put_exit(&out, &e);
	FUZZ_CHECK(out.ok && out.len == size && memcmp(buf, data, size) == 0);
	FUZZ_CHECK(e.exit_code <= 255 && e.cause >= FRAME_CAUSE_EXIT && e.cause <= FRAME_CAUSE_CPU);
}

static int note(void *arg, uint8_t type, const uint8_t *data, size_t len)
{
	struct strbuf *seen = arg;

	FUZZ_CHECK(len <= FRAME_MAX);
	strbuf_addf(seen, "%u:%zu:", type, len);
	strbuf_add(seen, data, len);
	check_job(data, len);
	check_exit(data, len);
	return 0;
}

static int feed(const uint8_t *data, size_t size, size_t step, struct strbuf *seen)
{
	struct framer f;
	int rc = 0;

	framer_init(&f, note, seen);
	for (size_t at = 0; at < size && rc == 0; at += step)
		rc = framer_push(&f, data + at, MIN(step, size - at));
	framer_clear(&f);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(strbuf) whole = STRBUF(4 * size + 100);
	AUTO(strbuf) pieces = STRBUF(4 * size + 100);
	int rc = feed(data, size, MAX(size, (size_t)1), &whole);

	FUZZ_CHECK(feed(data, size, 1 + size % 11, &pieces) == rc);
	FUZZ_CHECK(whole.len == pieces.len && memcmp(whole.buf, pieces.buf, whole.len) == 0);
	check_job(data, size);
	check_exit(data, size);
	return 0;
}
