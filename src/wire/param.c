/*
 * Parameters of header values (`type; name=value; name*=ext`). Pure text: the multipart parser uses
 * it for the request's Content-Type and each part's Content-Disposition. Nothing is copied until a
 * value is asked for, and every value is appended to a buffer that has a maximum. Whether a value
 * is a good name is for others to decide.
 */
#include "wire/param.h"

#include "base/err.h"
#include "base/num.h"
#include "base/strbuf.h"

#include <string.h>
#include <strings.h>

/* RFC 9110 section 5.6.2 */
static bool is_token(char c)
{
	if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return true;
	return c != '\0' && strchr("!#$%&'*+-.^_`|~", c);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* What an unquoted value may hold; wider than a token, see param.h. */
static bool is_bare(char c)
{
	return (unsigned char)c > 0x20 && c != 0x7f && c != '"' && c != ';' && c != ',';
}

/* The text that is left to parse. */
struct cursor {
	const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
}

static size_t take_while(struct cursor *c, bool (*good)(char))
{
	const char *from = c->at;

	while (c->at < c->end && good(*c->at))
		c->at++;
	return (size_t)(c->at - from);
}

/* Behind the opening quote: up to the closing one and over it. A backslash hides only a quote or a
 * backslash. */
static int take_quoted(struct cursor *c, struct param *p, struct err *err)
{
	p->quoted = true;
	p->value = c->at;
	for (; c->at < c->end; c->at++) {
		if (*c->at == '"') {
			p->value_len = (size_t)(c->at++ - p->value);
			return 0;
		}
		if (*c->at == '\\' && c->end - c->at > 1 && (c->at[1] == '"' || c->at[1] == '\\'))
			c->at++;
	}
	return err_set(err, ERR_BAD_MULTIPART,
		       "A header parameter has an opening quote and no closing one.");
}

static int take_value(struct cursor *c, struct param *p, struct err *err)
{
	if (c->at < c->end && *c->at == '"') {
		c->at++;
		return take_quoted(c, p, err);
	}
	p->quoted = false;
	p->value = c->at;
	p->value_len = take_while(c, is_bare);
	if (p->value_len == 0)
		return err_set(err, ERR_BAD_MULTIPART, "The header parameter '%.*s' has no value.",
			       (int)MIN(p->name_len, (size_t)40), p->name);
	return 0;
}

static bool same_name(const struct param *p, const char *name, size_t len)
{
	return p->name_len == len && strncasecmp(p->name, name, len) == 0;
}

static int take_param(struct param_list *out, struct cursor *c, struct err *err)
{
	struct param p = { .name = c->at };

	p.name_len = take_while(c, is_token);
	if (p.name_len == 0 || c->at == c->end || *c->at != '=')
		return err_set(err, ERR_BAD_MULTIPART,
			       "A header parameter is not of the form name=value.");
	c->at++;
	if (take_value(c, &p, err) < 0)
		return -1;
	for (size_t i = 0; i < out->count; i++) {
		if (same_name(&out->items[i], p.name, p.name_len))
			return err_set(err, ERR_BAD_MULTIPART,
				       "The header parameter '%.*s' comes twice.",
				       (int)MIN(p.name_len, (size_t)40), p.name);
	}
	if (out->count == LIMIT_PARAMS)
		return err_set(err, ERR_BAD_MULTIPART, "A header has more than %d parameters.",
			       LIMIT_PARAMS);
	out->items[out->count++] = p;
	return 0;
}

int param_parse(struct param_list *out, const char *text, size_t len, struct err *err)
{
	struct cursor c = { text, text + len };

	out->count = 0;
	skip_blanks(&c);
	out->first = c.at;
	out->first_len = take_while(&c, is_bare);
	for (skip_blanks(&c); c.at < c.end; skip_blanks(&c)) {
		if (*c.at != ';')
			return err_set(
				err, ERR_BAD_MULTIPART,
				"The parameters of a header must be separated by semicolons.");
		c.at++;
		skip_blanks(&c);
		/* "a; ;b" and a semicolon at the end are allowed. */
		if (c.at == c.end || *c.at == ';')
			continue;
		if (take_param(out, &c, err) < 0)
			return -1;
	}
	return 0;
}

bool param_first_is(const struct param_list *list, const char *word)
{
	return list->first_len == strlen(word) &&
	       strncasecmp(list->first, word, list->first_len) == 0;
}

const struct param *param_find(const struct param_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (same_name(&list->items[i], name, strlen(name)))
			return &list->items[i];
	}
	return NULL;
}

int param_percent(const char *s, size_t left)
{
	uint64_t byte;

	if (left < 3 || s[0] != '%' || !num_hex(s + 1, 2, &byte))
		return -1;
	return (int)byte;
}

/* The character at s in a quoted value; *out_len: how many bytes stand for it. */
static char quoted_char(const char *s, size_t left, size_t *out_len)
{
	int byte = param_percent(s, left);

	*out_len = 1;
	if (byte == '"' || byte == '\r' || byte == '\n') {
		*out_len = 3;
		return (char)byte;
	}
	if (s[0] == '\\' && left > 1 && (s[1] == '"' || s[1] == '\\')) {
		*out_len = 2;
		return s[1];
	}
	return s[0];
}

void param_text(const struct param *p, struct strbuf *out)
{
	size_t n;

	if (!p->quoted) {
		strbuf_add(out, p->value, p->value_len);
		return;
	}
	for (size_t i = 0; i < p->value_len; i += n)
		strbuf_addch(out, quoted_char(p->value + i, p->value_len - i, &n));
}

static void add_latin1(struct strbuf *out, unsigned char c)
{
	if (c < 0x80) {
		strbuf_addch(out, (char)c);
		return;
	}
	strbuf_addch(out, (char)(0xc0 | c >> 6));
	strbuf_addch(out, (char)(0x80 | (c & 0x3f)));
}

/* The percent-encoded part; RFC 8187 allows few other characters, but all that stand for themselves
 * are harmless. */
static int ext_chars(const char *s, size_t len, bool latin1, struct strbuf *out, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		int byte = (unsigned char)s[i];

		if (s[i] == '%') {
			byte = param_percent(s + i, len - i);
			if (byte < 0)
				return err_set(err, ERR_BAD_NAME,
					       "The percent-encoding of filename* is not valid "
					       "(RFC 8187).");
			i += 2;
		}
		if (latin1)
			add_latin1(out, (unsigned char)byte);
		else
			strbuf_addch(out, (char)byte);
	}
	return 0;
}

int param_ext(const struct param *p, struct strbuf *out, struct err *err)
{
	const char *end = p->value + p->value_len;
	const char *first = memchr(p->value, '\'', p->value_len);
	const char *second = first ? memchr(first + 1, '\'', (size_t)(end - first - 1)) : NULL;
	size_t set_len;
	bool latin1;

	if (!second)
		return err_set(err, ERR_BAD_NAME,
			       "filename* must have the form UTF-8''name (RFC 8187).");
	set_len = (size_t)(first - p->value);
	latin1 = set_len == 10 && strncasecmp(p->value, "ISO-8859-1", set_len) == 0;
	if (!latin1 && !(set_len == 5 && strncasecmp(p->value, "UTF-8", set_len) == 0))
		return err_set(err, ERR_BAD_NAME,
			       "filename* has the character set '%.*s'; UTF-8 is the one to use.",
			       (int)MIN(set_len, (size_t)40), p->value);
	return ext_chars(second + 1, (size_t)(end - second - 1), latin1, out, err);
}
