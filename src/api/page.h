#pragma once

#include "base/base.h"
#include "base/strbuf.h"

struct blob;
struct blob_list;
struct err;
struct json_object;
struct response;

/*
 * The pages for browsers that the service itself makes; www/style.css has their structure and
 * classes. They need no script and hold no inline style, so that the policy of the web server can
 * forbid both.
 */
#define PAGE_TYPE "text/html; charset=utf-8"
/* What page_begin and page_end write at most, with a title of our own. */
#define PAGE_FRAME_BYTES 2048
/* The bytes that one byte of a text becomes at most: &quot; */
#define PAGE_GROWTH 6
/* One link or picture beside its name. */
#define PAGE_LINK_BYTES 256

/* From the doctype to <main>. `here` is the path of the page if the navigation has it, else NULL.
 */
void page_begin(struct strbuf *out, const char *title, const char *here);
void page_end(struct strbuf *out);

/*
 * The only way for a text that is not a literal into a page, between tags as well as in a quoted
 * attribute. Control characters become their picture (U+2400 on) or U+FFFD, but for tab and line
 * end; CRLF is one line end. Ill-formed UTF-8 becomes U+FFFD.
 */
void page_text(struct strbuf *out, const char *text, size_t len);
void page_str(struct strbuf *out, const char *text);
/* "999 B", "1.2 kB": as app.js writes it. */
void page_size(struct strbuf *out, int64_t bytes);
/* A link to a stored file by its id, named by its name. */
void page_link(struct strbuf *out, const struct blob *file);

/* The page of response_error: the same status and headers. It never fails; a list of problems that
 * does not fit is left out. The id is shown where the fault is ours. */
void page_error(struct response *res, const struct err *err, struct json_object *problems,
		const char *request_id);

/* The page of GET /v1/files: a part of the list, a form for uploads, a link to the part that
 * follows. ERR_INTERNAL: it does not fit. */
int files_page(const struct blob_list *list, struct response *res, struct err *err);
