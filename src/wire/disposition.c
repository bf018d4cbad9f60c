/*
 * The header that names a download. Called for every file that is sent. The name comes from a
 * client or from a program in a sandbox, so nothing of it may end the quoted text or the header
 * line.
 */
#include "wire/disposition.h"

#include "base/strbuf.h"

#include <string.h>

/* One '_' for a character that is not ASCII. A quote and a backslash would need an escape, which
 * not every browser takes off again, and some decode what looks like %XX (RFC 6266, appendix D). */
static void add_plain(struct strbuf *out, const char *name)
{
	for (const char *s = name; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c >= 0x80 && c < 0xc0)
			continue;
		strbuf_addch(out, c < 0x20 || c >= 0x7f || strchr("\"\\%", c) ? '_' : (char)c);
	}
}

/* attr-char of RFC 8187 section 3.2.1. */
static bool is_attr_char(char c)
{
	bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

	return alnum || strchr("!#$&+-.^_`|~", c);
}

static void add_exact(struct strbuf *out, const char *name)
{
	for (const char *s = name; *s; s++) {
		if (is_attr_char(*s))
			strbuf_addch(out, *s);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*s);
	}
}

void disposition_attachment(struct strbuf *out, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	strbuf_addstr(out, "attachment; filename=\"");
	add_plain(out, name);
	strbuf_addstr(out, "\"; filename*=UTF-8''");
	add_exact(out, name);
}
