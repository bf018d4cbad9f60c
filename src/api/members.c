/*
 * JSON members as text. Used by the handlers of api/ for every answer they write; it checks no
 * nesting, which the tests of each answer do.
 */
#include "api/members.h"

#include "wire/json.h"

#include <string.h>

void member_key(struct strbuf *out, const char *name)
{
	char last = out->len > 0 ? out->buf[out->len - 1] : '{';

	if (last != '{' && last != '[')
		strbuf_addch(out, ',');
	json_add_string(out, name, strlen(name));
	strbuf_addch(out, ':');
}

void member_text(struct strbuf *out, const char *name, const char *text, size_t len)
{
	member_key(out, name);
	json_add_string(out, text, len);
}

void member_str(struct strbuf *out, const char *name, const char *text)
{
	if (text)
		member_text(out, name, text, strlen(text));
	else
		member_null(out, name);
}

void member_int(struct strbuf *out, const char *name, int64_t value)
{
	member_key(out, name);
	strbuf_addf(out, "%lld", (long long)value);
}

void member_bool(struct strbuf *out, const char *name, bool value)
{
	member_key(out, name);
	strbuf_addstr(out, value ? "true" : "false");
}

void member_null(struct strbuf *out, const char *name)
{
	member_key(out, name);
	strbuf_addstr(out, "null");
}

void member_milli(struct strbuf *out, const char *name, int64_t milli)
{
	member_key(out, name);
	strbuf_addf(out, "%lld.%03d", (long long)(milli / 1000), (int)(milli % 1000));
	while (out->buf[out->len - 1] == '0' && out->buf[out->len - 2] != '.')
		strbuf_cut(out, out->len - 1);
}

void member_open(struct strbuf *out, const char *name, char bracket)
{
	member_key(out, name);
	strbuf_addch(out, bracket);
}
