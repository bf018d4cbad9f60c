/*
 * The stored files as a page: GET /v1/files for a browser. Called by the handler of that route with
 * a part of the list. It reads nothing of the store itself, and links by ids only: a name is shown
 * and nothing else.
 */
#include "api/page.h"
#include "base/clock.h"
#include "base/err.h"
#include "limits.h"
#include "store/blob_list.h"
#include "web/response.h"

/* The tags of one row and its two times. */
#define ROW_BYTES (PAGE_LINK_BYTES + 512)
/* The form, headings and the link to the next page. */
#define FIXED_BYTES (PAGE_FRAME_BYTES + 4096)

static void add_time(struct strbuf *out, int64_t wall_ms)
{
	char text[CLOCK_TEXT];

	clock_rfc3339(wall_ms, text);
	strbuf_addf(out, "<time datetime=\"%s\">%.10s %.5s UTC</time>", text, text, text + 11);
}

static void add_row(struct strbuf *out, const struct blob *file)
{
	strbuf_addstr(out, "<tr><td>");
	page_link(out, file);
	strbuf_addstr(out, "</td><td class=\"size\">");
	page_size(out, file->size);
	strbuf_addstr(out, "</td><td>");
	page_str(out, file->mime);
	strbuf_addstr(out, "</td><td data-label=\"Uploaded\">");
	add_time(out, file->created_ms);
	strbuf_addstr(out, "</td><td data-label=\"Expires\">");
	if (file->expires_ms == 0)
		strbuf_addstr(out, "never");
	else
		add_time(out, file->expires_ms);
	strbuf_addstr(out, "</td></tr>\n");
}

static void add_table(struct strbuf *out, const struct blob_list *list)
{
	strbuf_addstr(out,
		      "<table class=\"files\">\n<thead><tr><th scope=\"col\">Name</th>"
		      "<th scope=\"col\">Size</th><th scope=\"col\">Type</th>"
		      "<th scope=\"col\">Uploaded</th><th scope=\"col\">Expires</th></tr></thead>\n"
		      "<tbody>\n");
	for (size_t i = 0; i < list->count; i++)
		add_row(out, &list->items[i]);
	strbuf_addstr(out, "</tbody>\n</table>\n");
}

static void add_list(struct strbuf *out, const struct blob_list *list)
{
	strbuf_addstr(out, "<section aria-labelledby=\"files-title\">\n"
			   "<h1 id=\"files-title\">Stored files</h1>\n");
	if (list->count > 0)
		add_table(out, list);
	else
		strbuf_addstr(out, list->next[0]
					   ? "<p class=\"empty\">All files of this page have "
					     "expired.</p>\n"
					   : "<p class=\"empty\">There are no files here. What you "
					     "store, and what programs write, is listed until it "
					     "expires.</p>\n");
	if (list->next[0]) {
		strbuf_addstr(out, "<p class=\"more\"><a rel=\"next\" href=\"/v1/files?after=");
		page_str(out, list->next);
		if (list->limit != LIMIT_LIST)
			strbuf_addf(out, "&amp;limit=%zu", list->limit);
		strbuf_addstr(out, "\">Next page</a></p>\n");
	}
	strbuf_addstr(out, "</section>\n");
}

/* Not within a section: the script of / shows those of the answer to its own upload form. */
static void add_form(struct strbuf *out)
{
	strbuf_addstr(out,
		      "<h2 id=\"upload-title\">Store files</h2>\n"
		      "<form class=\"panel\" action=\"/v1/files\" method=\"post\" "
		      "enctype=\"multipart/form-data\" aria-labelledby=\"upload-title\">\n"
		      "<div class=\"field\">\n"
		      "<label for=\"upload-files\">Files to store</label>\n"
		      "<input id=\"upload-files\" name=\"file\" type=\"file\" multiple required>\n"
		      "</div>\n"
		      "<div class=\"actions\"><button type=\"submit\">Store</button></div>\n"
		      "</form>\n");
}

static size_t page_bytes(const struct blob_list *list)
{
	size_t bytes = FIXED_BYTES;

	for (size_t i = 0; i < list->count; i++)
		bytes += ROW_BYTES +
			 PAGE_GROWTH * (strlen(list->items[i].name) + LIMIT_MIME_TYPE_BYTES);
	return bytes;
}

int files_page(const struct blob_list *list, struct response *res, struct err *err)
{
	struct strbuf *out = &res->body;

	strbuf_clear(out);
	strbuf_init(out, page_bytes(list));
	page_begin(out, "Stored files", "/v1/files");
	add_list(out, list);
	add_form(out);
	page_end(out);
	res->status = 200;
	res->content_type = PAGE_TYPE;
	return strbuf_ok(out) ? 0
			      : err_set(err, ERR_INTERNAL, "the page does not fit into %zu bytes",
					out->max);
}
