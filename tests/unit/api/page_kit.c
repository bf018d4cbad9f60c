/* What page_kit.h says: a tokenizer small enough to be believed, and hostile texts. */
#include "unit/api/page_kit.h"

#include "base/utf8.h"

#include <check.h>
#include <string.h>

static void check_entity(const char *at)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strncmp(at, known[i], strlen(known[i])) == 0)
			return;
	ck_abort_msg("%.20s", at);
}

/* A tag from its < on; returns its > or fails. */
static const char *read_tag(const char *at, struct strbuf *out)
{
	for (; *at && *at != '>'; at++) {
		const char *value = *at == '"' ? at + 1 : NULL, *end;
		bool alt = value && strncmp(at - 5, " alt=", 5) == 0;

		strbuf_addch(out, *at);
		if (!value)
			continue;
		end = strchr(value, '"');
		ck_assert_ptr_nonnull(end);
		if (!alt)
			strbuf_add(out, value, (size_t)(end - value));
		strbuf_addch(out, '"');
		at = end;
	}
	ck_assert_int_eq(*at, '>');
	strbuf_addstr(out, ">\n");
	return at;
}

void page_tags(const struct strbuf *page, struct strbuf *out)
{
	ck_assert(strbuf_ok(page));
	ck_assert(utf8_valid(page->buf, page->len));
	for (size_t i = 0; i < page->len; i++) {
		unsigned char c = (unsigned char)page->buf[i];

		ck_assert((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
		if (c == '&')
			check_entity(page->buf + i);
	}
	for (const char *at = page->buf; *at; at++)
		if (*at == '<')
			at = read_tag(at, out);
	ck_assert(strbuf_ok(out));
}

void page_hostile(unsigned seed, char *text, size_t len)
{
	static const char *const pieces[] = { "<script>",     "</pre>",	  "\">",     "' onload='",
					      "&lt;",	      "&#x3c;",	  "<!--",    "]]>",
					      "\xe2\x80\xae", "\xc0\xbc", "\r\n",    "\xe2",
					      "<img/",	      "\xc2\x85", "</title>" };
	uint32_t state = seed * 2654435761U + 1;

	for (size_t i = 0; i < len;) {
		const char *piece;

		state = state * 1664525U + 1013904223U;
		if (state >> 31) {
			text[i++] = (char)(state >> 16);
			continue;
		}
		piece = pieces[(state >> 16) % ARRAY_SIZE(pieces)];
		for (; *piece && i < len; i++)
			text[i] = *piece++;
	}
}

void page_has(const struct strbuf *page, const char *text)
{
	ck_assert_msg(strstr(page->buf, text) != NULL, "no %s in\n%s", text, page->buf);
}

void page_has_not(const struct strbuf *page, const char *text)
{
	ck_assert_msg(strstr(page->buf, text) == NULL, "%s in\n%s", text, page->buf);
}
