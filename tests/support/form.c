/* What form.h says. */
#include "support/form.h"

#include <string.h>

static void add_quoted(struct strbuf *out, const char *text)
{
	strbuf_addch(out, '"');
	for (const char *s = text; *s; s++) {
		if (*s == '"')
			strbuf_addstr(out, "%22");
		else
			strbuf_addch(out, *s);
	}
	strbuf_addch(out, '"');
}

static void begin(struct strbuf *body)
{
	strbuf_addstr(body, "--" FORM_BOUNDARY "\r\nContent-Disposition: form-data");
}

void form_part(struct strbuf *body, const char *params, const void *data, size_t len)
{
	begin(body);
	strbuf_addf(body, "%s\r\n\r\n", params);
	strbuf_add(body, data, len);
	strbuf_addstr(body, "\r\n");
}

void form_field(struct strbuf *body, const char *name, const char *value)
{
	begin(body);
	strbuf_addstr(body, "; name=");
	add_quoted(body, name);
	strbuf_addf(body, "\r\n\r\n%s\r\n", value);
}

void form_file(struct strbuf *body, const char *name, const char *filename, const char *type,
	       const void *data, size_t len)
{
	begin(body);
	strbuf_addstr(body, "; name=");
	add_quoted(body, name);
	strbuf_addstr(body, "; filename=");
	add_quoted(body, filename);
	strbuf_addf(body, "\r\nContent-Type: %s\r\n\r\n", type);
	strbuf_add(body, data, len);
	strbuf_addstr(body, "\r\n");
}

void form_end(struct strbuf *body)
{
	strbuf_addstr(body, "--" FORM_BOUNDARY "--\r\n");
}
