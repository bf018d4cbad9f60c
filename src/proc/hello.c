/*
 * The first word of a container: only one whose guest has spoken is given to a worker. Called by
 * the filler. What it reads is hostile (an image may hold anything), so the parsers of wire/ do the
 * reading and nothing read here is kept but a bounded piece of stderr for the log.
 */
#include "proc/hello.h"

#include "base/err.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "wire/dstream.h"
#include "wire/frame.h"
#include "wire/framer.h"

#include <string.h>

#define CAUSE_BYTES                                                                                \
	200 /* of the container's stderr: fits err->cause beside the words around it               \
	     */

struct hello {
	struct framer framer;
	struct strbuf stderr_text;
	bool said, wrong;
};

static int on_frame(void *arg, uint8_t type, const uint8_t *data, size_t len)
{
	struct hello *h = arg;
	struct frame_in in = { .buf = data, .len = len, .ok = true };
	uint32_t version = frame_get_u32(&in);
	frame_get_u32(&in);
	h->wrong =
		h->said || type != FRAME_HELLO || version != FRAME_VERSION || !frame_in_done(&in);
	h->said = true;
	return h->wrong ? -1 : 0;
}

static int on_stream(void *arg, enum dstream_kind kind, const void *data, size_t len)
{
	struct hello *h = arg;
	if (kind == DSTREAM_STDOUT)
		return framer_push(&h->framer, data, len);
	strbuf_add(&h->stderr_text, data, MIN(len, strbuf_room(&h->stderr_text)));
	return 0;
}

static int hello_failed(const struct hello *h, const char *what, struct err *err)
{
	err_set(err, ERR_SANDBOX, "The sandbox did not become ready: %s.", what);
	if (h->stderr_text.len > 0)
		err_cause(err, "the container wrote: %s", h->stderr_text.buf);
	return -1;
}

static int read_hello(struct hello *h, int stream, int64_t deadline_ms, struct err *err)
{
	struct dstream d;
	dstream_init(&d, on_stream, h);
	while (!h->said || !dstream_at_edge(&d) || !framer_at_edge(&h->framer)) {
		char buf[4096];
		struct err cause = ERR_INIT;
		ssize_t n = io_read_some(stream, buf, sizeof(buf), deadline_ms, &cause);
		if (n < 0)
			return hello_failed(h, "it was silent until the deadline", err);
		if (n == 0)
			return hello_failed(h, "it ended before it was ready", err);
		if (dstream_push(&d, buf, (size_t)n) < 0)
			return hello_failed(h, "it does not speak the guest's protocol", err);
	}
	return 0;
}

int hello_wait(int stream, int64_t deadline_ms, struct err *err)
{
	struct hello h = { .stderr_text = STRBUF(CAUSE_BYTES) };
	framer_init(&h.framer, on_frame, &h);
	int r = read_hello(&h, stream, deadline_ms, err);
	framer_clear(&h.framer);
	strbuf_clear(&h.stderr_text);
	return r;
}
