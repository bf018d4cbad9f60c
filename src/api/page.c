/*
 * What every page of the service shares: its frame, and the one function by which a text that is
 * not ours gets into it. Called by page_error.c, page_files.c and execute_page.c. It writes no tag
 * from a text, ever: what a program or a client says can only be read, not become markup.
 */
#include "api/page.h"

#include "base/utf8.h"
#include "store/blob.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static void nav_link(struct strbuf *out, const char *path, const char *name, const char *here)
{
	bool current = here && strcmp(path, here) == 0;

	strbuf_addf(out, "<a href=\"%s\"%s>%s</a>", path, current ? " aria-current=\"page\"" : "",
		    name);
}

void page_begin(struct strbuf *out, const char *title, const char *here)
{
	strbuf_addstr(out, "<!DOCTYPE html>\n"
			   "<html lang=\"en\">\n"
			   "<head>\n"
			   "<meta charset=\"utf-8\">\n"
			   "<meta name=\"viewport\" content=\"width=device-width, "
			   "initial-scale=1\">\n"
			   "<title>");
	page_str(out, title);
	strbuf_addstr(out, " - Belljar</title>\n"
			   "<meta name=\"color-scheme\" content=\"light dark\">\n"
			   "<link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\n"
			   "<link rel=\"stylesheet\" href=\"/style.css\">\n"
			   "</head>\n"
			   "<body>\n"
			   "<header><a href=\"/\">Belljar</a> <nav aria-label=\"Pages\">");
	nav_link(out, "/", "Run", here);
	strbuf_addch(out, ' ');
	nav_link(out, "/v1/files", "Stored files", here);
	strbuf_addstr(out, "</nav></header>\n<main>\n");
}

void page_end(struct strbuf *out)
{
	strbuf_addstr(out, "</main>\n</body>\n</html>\n");
}

/* One byte below 0x80 as markup has it; NULL: as it is. `buf` holds at least 4 bytes. */
static const char *escape(unsigned char c, char *buf)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '\n':
	case '\t':
		return NULL;
	case 0x7f:
		return "\xe2\x90\xa1"; /* U+2421 */
	default:
		if (c >= 0x20)
			return NULL;
		memcpy(buf, "\xe2\x90\x80", 4); /* U+2400 is the picture of NUL */
		buf[2] = (char)(0x80 + c);
		return buf;
	}
}

/* What stands for the character at s; NULL: itself. *out_len is how much of s it is. */
static const char *shown(const char *s, size_t left, char *buf, size_t *out_len)
{
	unsigned char c = (unsigned char)s[0];

	*out_len = 1;
	if (c == '\r' && left > 1 && s[1] == '\n')
		return "";
	/* U+0080 to U+009F are control characters too, without pictures. */
	if (c == 0xc2 && left > 1 && (unsigned char)s[1] < 0xa0) {
		*out_len = 2;
		return REPLACEMENT;
	}
	return escape(c, buf);
}

static void add_valid(struct strbuf *out, const char *text, size_t len)
{
	size_t from = 0, taken;
	char buf[4];

	for (size_t i = 0; i < len; i += taken) {
		const char *instead = shown(text + i, len - i, buf, &taken);

		if (!instead)
			continue;
		strbuf_add(out, text + from, i - from);
		strbuf_addstr(out, instead);
		from = i + taken;
	}
	strbuf_add(out, text + from, len - from);
}

void page_text(struct strbuf *out, const char *text, size_t len)
{
	AUTO(strbuf) clean = STRBUF(3 * len);

	if (utf8_valid(text, len)) {
		add_valid(out, text, len);
		return;
	}
	utf8_scrub(&clean, text, len, true);
	add_valid(out, clean.buf, clean.len);
}

void page_str(struct strbuf *out, const char *text)
{
	page_text(out, text, strlen(text));
}

void page_size(struct strbuf *out, int64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB" };
	double value = (double)bytes / 1000;
	size_t i = 0;

	if (bytes < 1000) {
		strbuf_addf(out, "%lld B", (long long)bytes);
		return;
	}
	for (; value >= 999.5 && i + 1 < ARRAY_SIZE(units); i++)
		value /= 1000;
	strbuf_addf(out, "%.*f %s", value < 10 ? 1 : 0, value, units[i]);
}

/* A name may be written from right to left or say so: <bdi> keeps that from what stands beside it.
 */
void page_link(struct strbuf *out, const struct blob *file)
{
	strbuf_addstr(out, "<a href=\"/v1/files/");
	page_str(out, file->id);
	strbuf_addstr(out, "\"><bdi>");
	page_str(out, file->name);
	strbuf_addstr(out, "</bdi></a>");
}
