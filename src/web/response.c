/*
 * The answer to one request: status, headers, and a body held whole or in a file (events of a
 * stream go their own way). Handlers fill it; the worker's loop sends it. The one error body of the
 * service is made here. It never looks at what a body means.
 */
#include "web/response.h"

#include "base/alloc.h"
#include "base/err.h"
#include "web/channel.h"
#include "web/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JSON_TYPE "application/json; charset=utf-8"

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 204, "No Content" },
	{ 303, "See Other" },
	{ 307, "Temporary Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 422, "Unprocessable Content" },
	{ 429, "Too Many Requests" },
	{ 499, "Client Closed Request" },
	{ 500, "Internal Server Error" },
	{ 503, "Service Unavailable" },
	{ 507, "Insufficient Storage" },
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Status";
}

void response_init(struct response *res, size_t max)
{
	memset(res, 0, sizeof(*res));
	res->status = 200;
	res->content_type = JSON_TYPE;
	res->body_fd = -1;
	strbuf_init(&res->body, max);
}

void response_clear(struct response *res)
{
	strbuf_clear(&res->body);
	auto_close(&res->body_fd);
	res->body_fd = -1;
	res->headers_count = 0;
}

static bool printable(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < 0x20 || *value == 0x7f)
			return false;
	return true;
}

void response_header(struct response *res, const char *name, const char *fmt, ...)
{
	char value[sizeof(res->headers[0].value)];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(value) || !printable(value) ||
	    res->headers_count == RESPONSE_HEADERS)
		return;
	res->headers[res->headers_count].name = name;
	memcpy(res->headers[res->headers_count].value, value, (size_t)len + 1);
	res->headers_count++;
}

void response_json(struct response *res, int status, struct json_object *body)
{
	size_t len;
	const char *text = json_object_to_json_string_length(
		body, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);

	strbuf_reset(&res->body);
	strbuf_add(&res->body, text, len);
	res->status = status;
	res->content_type = JSON_TYPE;
}

void response_error(struct response *res, const struct err *err, struct json_object *detail_list)
{
	const struct err_info *info = err_info(err->code);
	int retry = info->retry_after_s > 0 && err->retry_after_s > 0 ? err->retry_after_s
								      : info->retry_after_s;
	struct json_object *body = json_object_new_object(), *error = json_object_new_object();

	json_object_object_add(error, "code", json_object_new_string(info->name));
	json_object_object_add(error, "message", json_object_new_string(err->text));
	json_object_object_add(error, "hint", json_object_new_string(info->hint));
	if (retry > 0) {
		json_object_object_add(error, "retry_after_s", json_object_new_int(retry));
		response_header(res, "Retry-After", "%d", retry);
	}
	json_object_object_add(body, "detail",
			       detail_list ? json_object_get(detail_list)
					   : json_object_new_string(err->text));
	json_object_object_add(body, "error", error);
	response_json(res, info->status, body);
	json_object_put(body);
}

static void add_header(struct strbuf *head, const char *name, const char *value)
{
	strbuf_addf(head, "%s: %s\r\n", name, value);
}

/* Unless the handler has set one of that name. */
static void add_default(struct strbuf *head, const struct response *res, const char *name,
			const char *value)
{
	for (size_t i = 0; i < res->headers_count; i++)
		if (strcmp(res->headers[i].name, name) == 0)
			return;
	add_header(head, name, value);
}

static int64_t body_bytes(const struct response *res)
{
	return res->body_fd >= 0 ? res->body_size : (int64_t)res->body.len;
}

static void build_head(struct strbuf *head, const struct response *res, const struct request *req)
{
	strbuf_addf(head, "Status: %d %s\r\n", res->status, reason_of(res->status));
	if (res->status != 204) {
		if (res->body.len > 0)
			add_default(head, res, "Content-Type", res->content_type);
		strbuf_addf(head, "Content-Length: %lld\r\n", (long long)body_bytes(res));
	}
	add_header(head, "X-Request-Id", req->id);
	add_default(head, res, "Cache-Control", "no-store");
	add_header(head, "X-Content-Type-Options", "nosniff");
	for (size_t i = 0; i < res->headers_count; i++)
		add_header(head, res->headers[i].name, res->headers[i].value);
	strbuf_addstr(head, "\r\n");
}

/* A file that has become shorter breaks the answer off: its length is said already. */
static int send_file(const struct response *res, struct channel *c, struct err *err)
{
	AUTO_FREE char *piece = xmalloc(LIMIT_PIECE_BYTES);

	for (int64_t left = res->body_size; left > 0;) {
		ssize_t n =
			read(res->body_fd, piece, (size_t)MIN(left, (int64_t)LIMIT_PIECE_BYTES));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(err, ERR_INTERNAL, n < 0 ? errno : 0,
				       "the file could not be read to its end");
		if (channel_write(c, piece, (size_t)n, err))
			return -1;
		left -= n;
	}
	return 0;
}

static int send_body(const struct response *res, struct channel *c, struct err *err)
{
	if (res->body_fd >= 0)
		return send_file(res, c, err);
	return channel_write(c, res->body.buf, res->body.len, err);
}

int response_send(struct response *res, struct request *req, int64_t *out_bytes, struct err *err)
{
	AUTO(strbuf) head = STRBUF(RESPONSE_HEADERS * (LIMIT_HEADER_VALUE + 64));
	bool with_body = req->method != METHOD_HEAD && res->status != 204;

	*out_bytes = 0;
	if (!strbuf_ok(&res->body))
		return err_set(err, ERR_INTERNAL, "the answer is larger than %zu bytes",
			       res->body.max);
	build_head(&head, res, req);
	res->sent = true;
	if (channel_write(req->channel, head.buf, head.len, err))
		return -1;
	if (with_body && send_body(res, req->channel, err))
		return -1;
	*out_bytes = (int64_t)head.len + (with_body ? body_bytes(res) : 0);
	return channel_flush(req->channel, err);
}
