#pragma once

#include "base/strbuf.h"
#include "wire/multipart.h"

/*
 * The events of a form as one text, in which pieces of content are joined: two parses that mean the
 * same have the same text. For the unit tests and the fuzz target, hence functions in a header.
 */
#define PART_LOG_MAX (8 << 20)

static inline int part_log_begin(void *arg, const struct multipart_head *head,
				 struct err *err UNUSED)
{
	struct strbuf *log = arg;

	if (head->is_file)
		strbuf_addf(log, "<%s|%s>", head->name, head->filename);
	else
		strbuf_addf(log, "<%s>", head->name);
	return 0;
}

static inline int part_log_data(void *arg, const void *data, size_t len, struct err *err UNUSED)
{
	strbuf_add(arg, data, len);
	return 0;
}

static inline int part_log_end(void *arg, struct err *err UNUSED)
{
	strbuf_addstr(arg, "</>");
	return 0;
}

static const struct multipart_events part_log_events = { part_log_begin, part_log_data,
							 part_log_end };

/* Parses a body in pieces whose sizes `next` gives (at least 1 each), and ends the text with "ok"
 * or the error. */
static inline void part_log_run(struct strbuf *log, const char *type,
				const struct multipart_limits *limits, const char *body, size_t len,
				size_t (*next)(void *arg), void *arg)
{
	struct err err = ERR_INIT;
	struct multipart m;
	int r = multipart_init(&m, type, limits, &part_log_events, log, &err);

	if (r == 0) {
		for (size_t i = 0, n; r == 0 && i < len; i += n) {
			n = next(arg);
			n = n > len - i ? len - i : n;
			r = multipart_push(&m, body + i, n, &err);
		}
		if (r == 0)
			r = multipart_finish(&m, &err);
		multipart_clear(&m);
	}
	if (r == 0)
		strbuf_addstr(log, "ok");
	else
		strbuf_addf(log, "!%s: %s", err_info(err.code)->name, err.text);
}
