/*
 * Takes apart the body of a form while it arrives. Called by the handlers that accept uploads; the
 * parts go on to whoever `events` points to. It never keeps content, never touches a file, and
 * reads each byte once.
 *
 * How it works: a state for each kind of place in the body, and one function for each that takes as
 * many bytes as belong to it. Content ends at CR LF "--" boundary. That text holds one CR, its
 * first byte, so a match that fails can't hide the beginning of another: what was held back is
 * content, and the search goes on at the byte that did not fit. Held-back bytes need no buffer, as
 * they are the beginning of the delimiter itself.
 */
#include "wire/multipart.h"

#include "wire/param.h"

#include <inttypes.h>
#include <string.h>

/* The bytes a function may take, and how many it did. */
struct piece {
	const char *at;
	size_t len, used;
};

static int bad(struct err *err, const char *text)
{
	return err_set(err, ERR_BAD_MULTIPART, "%s", text);
}

/* RFC 2046 section 5.1.1: bchars, not ending in a space. */
static bool boundary_ok(const char *s, size_t len)
{
	if (len == 0 || len > LIMIT_BOUNDARY_BYTES || s[len - 1] == ' ')
		return false;
	for (size_t i = 0; i < len; i++) {
		bool alnum = (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'z') ||
			     (s[i] >= 'A' && s[i] <= 'Z');

		if (!alnum && (s[i] == '\0' || !strchr("'()+_,-./:=? ", s[i])))
			return false;
	}
	return true;
}

static int read_boundary(struct multipart *m, const char *content_type, struct err *err)
{
	AUTO(strbuf) sb = STRBUF(LIMIT_BOUNDARY_BYTES);
	struct param_list params;
	const struct param *p;

	if (param_parse(&params, content_type, strlen(content_type), err) < 0)
		return -1;
	if (!param_first_is(&params, "multipart/form-data"))
		return bad(err, "The Content-Type is not multipart/form-data.");
	p = param_find(&params, "boundary");
	if (!p)
		return bad(err, "The Content-Type multipart/form-data has no boundary.");
	param_text(p, &sb);
	if (!strbuf_ok(&sb) || !boundary_ok(sb.buf, sb.len))
		return err_set(
			err, ERR_BAD_MULTIPART,
			"The boundary must be 1 to %d of the characters that RFC 2046 allows.",
			LIMIT_BOUNDARY_BYTES);
	memcpy(m->delim, "\r\n--", 4);
	memcpy(m->delim + 4, sb.buf, sb.len + 1);
	m->delim_len = sb.len + 4;
	return 0;
}

/* A delimiter may follow at once: the CRLF before it is taken as seen, and is not content. */
static void expect_delimiter(struct multipart *m, enum multipart_state state)
{
	m->state = state;
	m->matched = m->unsent = 2;
}

int multipart_init(struct multipart *m, const char *content_type,
		   const struct multipart_limits *limits, const struct multipart_events *events,
		   void *arg, struct err *err)
{
	*m = (struct multipart){ .events = events, .arg = arg, .limits = *limits };
	strbuf_init(&m->text, LIMIT_PART_HEAD);
	expect_delimiter(m, MULTIPART_PREAMBLE);
	return read_boundary(m, content_type, err);
}

void multipart_clear(struct multipart *m)
{
	strbuf_clear(&m->text);
}

/* Content of a part, or of the preamble, which nobody wants. */
static int content(struct multipart *m, const char *data, size_t len, struct err *err)
{
	int64_t room = m->limits.field_bytes - m->part_bytes;
	bool over = !m->head.is_file && (int64_t)len > room;

	if (len == 0 || m->state == MULTIPART_PREAMBLE)
		return 0;
	/* What fits is passed on first, so that the events do not depend on how the body was cut.
	 */
	if (over)
		len = (size_t)room;
	m->part_bytes += (int64_t)len;
	if (len && m->events->data(m->arg, data, len, err) < 0)
		return -1;
	if (over)
		return err_set(err, ERR_TOO_LARGE,
			       "The field '%s' is over the limit of %" PRId64 " bytes.",
			       m->head.name, m->limits.field_bytes);
	return 0;
}

static int delimiter_seen(struct multipart *m, struct err *err)
{
	bool was_part = m->state == MULTIPART_BODY;

	m->matched = m->unsent = 0;
	m->state = MULTIPART_AFTER;
	return was_part ? m->events->end(m->arg, err) : 0;
}

/* Passes content on until behind a whole delimiter. What may be the beginning of one stays back, as
 * a count. */
static int take_content(struct multipart *m, struct piece *p, struct err *err)
{
	bool carried = m->matched > 0; /* a match that began in an earlier piece */
	size_t from = 0, i = 0;

	while (i < p->len && m->matched < m->delim_len) {
		if (m->matched == 0) {
			const char *cr = memchr(p->at + i, '\r', p->len - i);

			i = cr ? (size_t)(cr - p->at) : p->len;
			if (!cr)
				break;
		}
		if (p->at[i] == m->delim[m->matched]) {
			m->matched++;
			i++;
			continue;
		}
		if (carried) {
			if (content(m, m->delim + m->unsent, m->matched - m->unsent, err) < 0)
				return -1;
			carried = false;
			from = i;
		}
		m->matched = m->unsent = 0;
	}
	p->used = i;
	if (!carried && content(m, p->at + from, i - m->matched - from, err) < 0)
		return -1;
	return m->matched == m->delim_len ? delimiter_seen(m, err) : 0;
}

static int take_after(struct multipart *m, struct piece *p, struct err *err)
{
	char c = p->at[0];

	p->used = 1;
	if (c == '-' && m->state == MULTIPART_AFTER)
		m->state = MULTIPART_DASH;
	else if (c == '\r')
		m->state = MULTIPART_LF;
	else if (c == ' ' || c == '\t')
		m->state = MULTIPART_PADDING;
	else if (c == '\n')
		return bad(err, "The line of a boundary ends in LF alone; lines must end in CRLF.");
	else
		return bad(err, "A line begins with the boundary and goes on with other bytes.");
	return 0;
}

static int take_dash(struct multipart *m, struct piece *p, struct err *err)
{
	p->used = 1;
	if (p->at[0] != '-')
		return bad(err, "A line begins with the boundary and goes on with other bytes.");
	m->state = MULTIPART_EPILOGUE;
	return 0;
}

static int take_lf(struct multipart *m, struct piece *p, struct err *err)
{
	p->used = 1;
	if (p->at[0] != '\n')
		return bad(err, "The line of a boundary has a CR without LF.");
	if (m->parts == m->limits.parts)
		return err_set(err, ERR_TOO_LARGE, "The body has more than %zu parts.",
			       m->limits.parts);
	m->parts++;
	m->part_bytes = 0;
	strbuf_reset(&m->text);
	m->state = MULTIPART_HEAD;
	return 0;
}

static int head_done(struct multipart *m, struct err *err)
{
	/* Without the empty line, which is all there is if the part has no header. */
	if (multipart_head_parse(&m->head, m->text.buf, m->text.len - 2, m->limits.empty_filename,
				 err) < 0)
		return -1;
	strbuf_reset(&m->text);
	expect_delimiter(m, MULTIPART_BODY);
	return m->events->begin(m->arg, &m->head, err);
}

static bool head_complete(const struct strbuf *text)
{
	const char *end = text->buf + text->len;

	if (text->len == 2)
		return memcmp(text->buf, "\r\n", 2) == 0;
	return text->len >= 4 && memcmp(end - 4, "\r\n\r\n", 4) == 0;
}

static int take_head(struct multipart *m, struct piece *p, struct err *err)
{
	for (; p->used < p->len; p->used++) {
		char c = p->at[p->used], before = m->text.len ? m->text.buf[m->text.len - 1] : '\0';

		if ((before == '\r') != (c == '\n'))
			return bad(err,
				   "A part's header has a CR or LF alone; lines must end in CRLF.");
		strbuf_addch(&m->text, c);
		if (!strbuf_ok(&m->text))
			return err_set(err, ERR_BAD_MULTIPART,
				       "The header of a part is over the limit of %d bytes.",
				       LIMIT_PART_HEAD);
		if (c == '\n' && head_complete(&m->text)) {
			p->used++;
			return head_done(m, err);
		}
	}
	return 0;
}

static int take_rest(struct multipart *m, struct piece *p, struct err *err)
{
	(void)m;
	(void)err;
	p->used = p->len;
	return 0;
}

static int (*const takers[])(struct multipart *m, struct piece *p, struct err *err) = {
	[MULTIPART_PREAMBLE] = take_content, [MULTIPART_BODY] = take_content,
	[MULTIPART_AFTER] = take_after,	     [MULTIPART_PADDING] = take_after,
	[MULTIPART_DASH] = take_dash,	     [MULTIPART_LF] = take_lf,
	[MULTIPART_HEAD] = take_head,	     [MULTIPART_EPILOGUE] = take_rest,
};

static int take_all(struct multipart *m, const char *data, size_t len, struct err *err)
{
	while (len) {
		struct piece p = { .at = data, .len = len };

		if (takers[m->state](m, &p, err) < 0)
			return -1;
		data += p.used;
		len -= p.used;
	}
	return 0;
}

static int fail(struct multipart *m, const struct err *why, struct err *err)
{
	if (m->state != MULTIPART_FAILED)
		m->failure = *why;
	m->state = MULTIPART_FAILED;
	if (err)
		*err = m->failure;
	return -1;
}

int multipart_push(struct multipart *m, const void *data, size_t len, struct err *err)
{
	int64_t room = m->limits.body_bytes - m->body_bytes;
	bool over = (int64_t)len > room;
	struct err why = ERR_INIT;

	if (m->state == MULTIPART_FAILED)
		return fail(m, NULL, err);
	if (over)
		len = (size_t)room;
	m->body_bytes += (int64_t)len;
	if (take_all(m, data, len, &why) < 0)
		return fail(m, &why, err);
	if (!over)
		return 0;
	err_set(&why, ERR_TOO_LARGE, "The request body is over %s, %" PRId64 " bytes.",
		m->limits.body_name, m->limits.body_bytes);
	return fail(m, &why, err);
}

int multipart_finish(struct multipart *m, struct err *err)
{
	struct err why = ERR_INIT;

	if (m->state == MULTIPART_EPILOGUE)
		return 0;
	if (m->state == MULTIPART_PREAMBLE)
		bad(&why, "The body does not contain the boundary that Content-Type names.");
	else
		bad(&why, "The body ends before the closing boundary.");
	return fail(m, &why, err);
}
