/*
 * An error as a page: what response_error says, for people. Called by the worker's loop, the only
 * place that turns an err into an answer. It decides nothing about the error itself: status and
 * headers are those of response_error.
 */
#include "api/page.h"
#include "base/err.h"
#include "limits.h"
#include "web/response.h"

#include <json-c/json.h>
#include <string.h>

/* LIMIT_PROBLEMS problems of about 200 bytes, escaped, and the frame. */
#define PAGE_ERROR_BYTES (128 << 10)

static const char *title_of(int status)
{
	if (status == 404)
		return "Not found";
	return status >= 500 ? "The service cannot do this now" : "That did not work";
}

/* ["body", "files", 0, "path"] as "files[0].path": the names are those of the form's fields. */
static void add_place(struct strbuf *out, struct json_object *loc)
{
	size_t count =
		json_object_is_type(loc, json_type_array) ? json_object_array_length(loc) : 0;

	for (size_t i = 1; i < count; i++) {
		struct json_object *step = json_object_array_get_idx(loc, i);

		if (json_object_is_type(step, json_type_int)) {
			strbuf_addf(out, "[%lld]", (long long)json_object_get_int64(step));
			continue;
		}
		if (i > 1)
			strbuf_addch(out, '.');
		page_text(out, json_object_get_string(step),
			  (size_t)json_object_get_string_len(step));
	}
}

static void add_problem(struct strbuf *out, struct json_object *problem)
{
	struct json_object *loc = NULL, *msg = NULL;

	json_object_object_get_ex(problem, "loc", &loc);
	json_object_object_get_ex(problem, "msg", &msg);
	strbuf_addstr(out, "<li><code>");
	add_place(out, loc);
	strbuf_addstr(out, "</code>: ");
	if (msg)
		page_text(out, json_object_get_string(msg),
			  (size_t)json_object_get_string_len(msg));
	strbuf_addstr(out, "</li>\n");
}

static void add_problems(struct strbuf *out, struct json_object *problems)
{
	size_t count = json_object_is_type(problems, json_type_array)
			       ? json_object_array_length(problems)
			       : 0;

	if (count == 0)
		return;
	strbuf_addstr(out, "<ul class=\"problems\">\n");
	for (size_t i = 0; i < count; i++)
		add_problem(out, json_object_array_get_idx(problems, i));
	strbuf_addstr(out, "</ul>\n");
}

static void add_retry(struct strbuf *out, const struct response *res)
{
	for (size_t i = 0; i < res->headers_count; i++)
		if (strcmp(res->headers[i].name, "Retry-After") == 0)
			strbuf_addf(out, "<p class=\"note\">Retry-After: %s seconds</p>\n",
				    res->headers[i].value);
}

/* Whom the log can tell more about it. */
static void add_request(struct strbuf *out, int status, const char *request_id)
{
	if (status < 500)
		return;
	strbuf_addstr(out, "<p class=\"note\">Request id: <code>");
	page_str(out, request_id);
	strbuf_addstr(out, "</code></p>\n");
}

static void write_page(struct response *res, const struct err *err, struct json_object *problems,
		       const char *request_id)
{
	struct strbuf *out = &res->body;
	const char *title = title_of(res->status);

	page_begin(out, title, NULL);
	strbuf_addf(out, "<section class=\"error\" role=\"alert\">\n<h1>%s</h1>\n", title);
	strbuf_addstr(out, "<p class=\"message\">");
	page_str(out, err->text);
	strbuf_addstr(out, "</p>\n");
	add_problems(out, problems);
	strbuf_addstr(out, "<p class=\"hint\">");
	page_str(out, err_info(err->code)->hint);
	strbuf_addstr(out, "</p>\n");
	add_retry(out, res);
	add_request(out, res->status, request_id);
	strbuf_addstr(out,
		      "</section>\n<p class=\"back\"><a href=\"/\">Back to the form</a></p>\n");
	page_end(out);
}

void page_error(struct response *res, const struct err *err, struct json_object *problems,
		const char *request_id)
{
	/* The body of before may be an answer of many MiB that failed. */
	strbuf_clear(&res->body);
	strbuf_init(&res->body, PAGE_ERROR_BYTES);
	response_error(res, err, NULL);
	strbuf_reset(&res->body);
	res->content_type = PAGE_TYPE;
	write_page(res, err, problems, request_id);
	if (strbuf_ok(&res->body))
		return;
	strbuf_reset(&res->body);
	write_page(res, err, NULL, request_id);
}
