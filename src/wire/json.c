/*
 * The way from bytes to a json-c tree, and from text to a JSON string. json-c alone accepts far
 * more than JSON, so jsonscan decides what is JSON, and json-c only builds the tree from what has
 * passed. Its strict mode isn't used: releases from 0.17 on refuse non-ASCII text with it.
 *
 * Integers of any size are JSON. json-c keeps what fits int64_t or uint64_t and clamps the rest;
 * schema.c refuses every integer beyond int64_t, and who passes numbers on untouched has to take
 * them from the source text.
 */
#include "wire/json.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "limits.h"

/* Offsets are int in json-c. */
#define JSON_BYTES_MAX (1 << 30)

static size_t trimmed(const char *s, size_t len)
{
	while (len > 0 && strchr(" \t\r\n", s[len - 1]))
		len--;
	return len;
}

/* Feeds a text that has passed the scan. A number's end is only seen at the byte behind it, hence
 * the blank. */
static struct json_object *build(struct json_tokener *tok, const char *s, size_t len, bool *out_ok)
{
	struct json_object *o = json_tokener_parse_ex(tok, s, (int)len);
	enum json_tokener_error e = json_tokener_get_error(tok);
	size_t end = json_tokener_get_parse_end(tok);

	if (e == json_tokener_continue) {
		o = json_tokener_parse_ex(tok, " ", 1);
		e = json_tokener_get_error(tok);
		end = len;
	}
	*out_ok = e == json_tokener_success && end == len;
	return o;
}

int json_load(const void *data, size_t len, struct json_object **out, struct err *err)
{
	struct json_tokener *tok;
	struct json_object *o;
	bool ok = false;

	if (len > JSON_BYTES_MAX)
		return err_set(err, ERR_TOO_LARGE, "JSON of %zu bytes; at most %d are allowed.",
			       len, JSON_BYTES_MAX);
	if (jsonscan(data, len, err) < 0)
		return -1;
	/* The scan has enforced the depth; json-c counts the value itself as one more level. */
	tok = json_tokener_new_ex(LIMIT_JSON_DEPTH + 2);
	if (!tok)
		return err_set(err, ERR_INTERNAL, "No memory for a JSON parser.");
	o = build(tok, data, trimmed(data, len), &ok);
	json_tokener_free(tok);
	if (!ok) {
		json_object_put(o);
		return err_set(err, ERR_BAD_JSON, "The JSON text is not accepted by the parser.");
	}
	*out = o;
	return 0;
}

void json_add_string(struct strbuf *out, const char *s, size_t len)
{
	size_t from = 0;

	strbuf_addch(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		strbuf_add(out, s + from, i - from);
		from = i + 1;
		if (c == '"' || c == '\\')
			strbuf_addf(out, "\\%c", c);
		else if (c == '\n')
			strbuf_addstr(out, "\\n");
		else if (c == '\t')
			strbuf_addstr(out, "\\t");
		else
			strbuf_addf(out, "\\u%04x", c);
	}
	strbuf_add(out, s + from, len - from);
	strbuf_addch(out, '"');
}

void json_clear(struct json_object **o)
{
	json_object_put(*o);
	*o = NULL;
}
