/* Feeds one body in many cuttings and compares the texts of the events. */
#include "unit/wire/multipart_rows.h"

#include "base/err.h"

#include <check.h>

const struct multipart_limits row_limits = {
	.body_bytes = 100000, .body_name = "MAX_REQUEST_BYTES", .field_bytes = 40, .parts = 4
};

struct pieces {
	size_t first, rest, count;
};

static size_t next_piece(void *arg)
{
	struct pieces *p = arg;

	return p->count++ == 0 ? p->first : p->rest;
}

void row_parse(struct strbuf *log, const struct multipart_limits *l, const char *type,
	       const char *body, size_t len, size_t first, size_t rest)
{
	struct pieces p = { .first = first, .rest = rest };

	strbuf_reset(log);
	part_log_run(log, type, l, body, len, next_piece, &p);
}

void row_check_bytes(const struct multipart_limits *l, const struct row *r, size_t len)
{
	const char *type = TYPE;
	AUTO(strbuf) log = STRBUF(PART_LOG_MAX);

	row_parse(&log, l, type, r->body, len, len + 1, 1);
	ck_assert_msg(log.len == strlen(log.buf) && strcmp(log.buf, r->want) == 0,
		      "%s\n gave %s\nwanted %s", r->body, log.buf, r->want);
	for (size_t cut = 1; cut < len; cut++) {
		row_parse(&log, l, type, r->body, len, cut, len);
		ck_assert_msg(strcmp(log.buf, r->want) == 0, "%s\ncut at %zu gave %s", r->body, cut,
			      log.buf);
	}
	for (size_t step = 1; step <= 7; step++) {
		row_parse(&log, l, type, r->body, len, step, step);
		ck_assert_msg(strcmp(log.buf, r->want) == 0, "%s\nby %zu gave %s", r->body, step,
			      log.buf);
	}
}

void row_check(const struct multipart_limits *l, const struct row *r)
{
	row_check_bytes(l, r, strlen(r->body));
}

void rows_check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		row_check(&row_limits, &rows[i]);
}
