/*
 * The header of one part of a form (RFC 7578 section 4): which field it is, and whether it is a
 * file. Called by multipart.c with a whole header, which it has bounded. The part's Content-Type is
 * not read: what a client calls its bytes decides nothing here.
 */
#include "wire/multipart_head.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "wire/filename.h"
#include "wire/param.h"

#include <string.h>
#include <strings.h>

struct line {
	const char *name, *value;
	size_t name_len, value_len;
};

/* RFC 5322 section 2.2.3: a line that begins with a blank goes on with the one before. */
static void unfold(char *text, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		if (text[i] == '\r' && text[i + 1] == '\n' &&
		    (text[i + 2] == ' ' || text[i + 2] == '\t'))
			text[i] = text[i + 1] = ' ';
	}
}

static int split_line(const char *text, size_t len, struct line *out, struct err *err)
{
	const char *colon = memchr(text, ':', len);

	if (!colon || colon == text)
		return err_set(err, ERR_BAD_MULTIPART,
			       "A line of a part's header is not of the form 'Name: value'.");
	*out = (struct line){ .name = text, .name_len = (size_t)(colon - text) };
	out->value = colon + 1;
	out->value_len = len - out->name_len - 1;
	return 0;
}

static bool line_is(const struct line *l, const char *name)
{
	return l->name_len == strlen(name) && strncasecmp(l->name, name, l->name_len) == 0;
}

static int read_name(struct multipart_head *out, const struct param_list *params, struct err *err)
{
	AUTO(strbuf) sb = STRBUF(LIMIT_FIELD_NAME_BYTES);
	const struct param *p = param_find(params, "name");

	if (!p)
		return err_set(
			err, ERR_BAD_MULTIPART,
			"A part has no name; Content-Disposition must be form-data; name=\"...\".");
	param_text(p, &sb);
	if (!strbuf_ok(&sb))
		return err_set(err, ERR_BAD_MULTIPART,
			       "A field name is over the limit of %d bytes.",
			       LIMIT_FIELD_NAME_BYTES);
	if (sb.len == 0 || !utf8_valid(sb.buf, sb.len))
		return err_set(err, ERR_BAD_MULTIPART, "A field name is empty or not valid UTF-8.");
	for (size_t i = 0; i < sb.len; i++) {
		if ((unsigned char)sb.buf[i] < 0x20 || sb.buf[i] == 0x7f)
			return err_set(err, ERR_BAD_MULTIPART,
				       "A field name must not contain NUL or control characters.");
	}
	memcpy(out->name, sb.buf, sb.len + 1);
	return 0;
}

static int read_filename(struct multipart_head *out, const struct param_list *params,
			 bool allow_empty, struct err *err)
{
	/* The largest name that the header has room for: the rule on names is what answers, not the
	 * buffer. */
	AUTO(strbuf) sb = STRBUF(2 * LIMIT_PART_HEAD);
	const struct param *plain = param_find(params, "filename");
	const struct param *ext = param_find(params, "filename*");

	out->is_file = plain || ext;
	if (!out->is_file)
		return 0;
	if (!ext)
		param_text(plain, &sb);
	else if (param_ext(ext, &sb, err) < 0)
		return -1;
	if (!(allow_empty && sb.len == 0) && filename_check(sb.buf, sb.len, err) < 0)
		return -1;
	memcpy(out->filename, sb.buf, sb.len + 1);
	return 0;
}

static int read_disposition(struct multipart_head *out, const struct line *l, bool allow_empty,
			    struct err *err)
{
	struct param_list params;

	if (out->name[0])
		return err_set(err, ERR_BAD_MULTIPART,
			       "A part has two Content-Disposition headers.");
	if (param_parse(&params, l->value, l->value_len, err) < 0)
		return -1;
	if (!param_first_is(&params, "form-data"))
		return err_set(err, ERR_BAD_MULTIPART,
			       "The Content-Disposition of a part must be form-data.");
	if (read_name(out, &params, err) < 0)
		return -1;
	return read_filename(out, &params, allow_empty, err);
}

/* RFC 7578 section 4.7: not used in forms. Storing encoded bytes as if they were the file would be
 * wrong. */
static int check_encoding(const struct line *l, struct err *err)
{
	struct param_list value;

	if (param_parse(&value, l->value, l->value_len, err) < 0)
		return -1;
	if (param_first_is(&value, "binary") || param_first_is(&value, "8bit") ||
	    param_first_is(&value, "7bit"))
		return 0;
	return err_set(err, ERR_BAD_MULTIPART,
		       "A part has the Content-Transfer-Encoding '%.*s'; only binary, 8bit and "
		       "7bit are known.",
		       (int)MIN(value.first_len, (size_t)40), value.first);
}

int multipart_head_parse(struct multipart_head *out, char *text, size_t len, bool allow_empty,
			 struct err *err)
{
	struct line l = { 0 };

	*out = (struct multipart_head){ 0 };
	unfold(text, len);
	while (len) {
		const char *end = memmem(text, len, "\r\n", 2);
		size_t n = end ? (size_t)(end - text) : len;

		if (split_line(text, n, &l, err) < 0)
			return -1;
		if (line_is(&l, "content-disposition") &&
		    read_disposition(out, &l, allow_empty, err) < 0)
			return -1;
		if (line_is(&l, "content-transfer-encoding") && check_encoding(&l, err) < 0)
			return -1;
		n += end ? 2 : 0;
		text += n;
		len -= n;
	}
	if (!out->name[0])
		return err_set(err, ERR_BAD_MULTIPART, "A part has no Content-Disposition header.");
	return 0;
}
