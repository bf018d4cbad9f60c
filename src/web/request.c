/*
 * One HTTP request as the web server handed it over: method, path decoded once, headers of
 * interest, and the body within its cap and deadline. Filled by the worker's loop, read by route.c
 * and the handlers. It never trusts a length it was told.
 */
#include "web/request.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/ident.h"
#include "base/num.h"
#include "base/utf8.h"
#include "web/channel.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const method_names[] = {
	[METHOD_GET] = "GET", [METHOD_HEAD] = "HEAD",	  [METHOD_POST] = "POST",
	[METHOD_PUT] = "PUT", [METHOD_DELETE] = "DELETE", [METHOD_OPTIONS] = "OPTIONS",
};

static const char *param(struct channel *c, const char *name)
{
	const char *value = channel_param(c, name);

	return value ? value : "";
}

static enum request_method method_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(method_names); i++)
		if (strcmp(name, method_names[i]) == 0)
			return (enum request_method)i;
	return METHOD_OTHER;
}

/* A request id of the web server is taken when it can stand in a log line and a header as it is. */
static void choose_id(char *out, const char *given)
{
	size_t len =
		strspn(given, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");

	if (len > 0 && len <= LIMIT_REQUEST_ID && given[len] == '\0')
		snprintf(out, LIMIT_REQUEST_ID + 1, "%s", given);
	else
		ident_hex(out, 32);
}

/* Copies a path, without its escapes if `escaped`; false for a broken escape, a control character,
 * an escaped slash (a segment would become two), or when it doesn't fit. */
static bool copy_path(char *out, size_t max, const char *in, size_t len, bool escaped)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		uint64_t byte = (unsigned char)in[i];

		if (escaped && in[i] == '%') {
			if (len - i < 3 || !num_hex(in + i + 1, 2, &byte) || byte == '/')
				return false;
			i += 2;
		}
		if (n + 1 >= max || byte < 0x20 || byte == 0x7f)
			return false;
		out[n++] = (char)byte;
	}
	out[n] = '\0';
	return true;
}

/* The web server decided by a path without dot segments; one that has them would be another path
 * here. */
static bool has_dot_segment(const char *path)
{
	for (const char *s = path; (s = strchr(s, '/')) != NULL;) {
		size_t len = strcspn(++s, "/");

		if ((len == 1 && s[0] == '.') || (len == 2 && s[0] == '.' && s[1] == '.'))
			return true;
	}
	return false;
}

/* PATH_INFO (a CGI server's, already decoded) or REQUEST_URI (as the client sent it). */
static int read_path(struct request *r, struct channel *c, struct err *err)
{
	const char *info = param(c, "PATH_INFO");
	const char *source = *info ? info : param(c, "REQUEST_URI");
	size_t len = *info ? strlen(info) : strcspn(source, "?");
	bool good = copy_path(r->path, sizeof(r->path), source, len, !*info);

	if (!good)
		r->path[0] = '\0';
	if (len >= sizeof(r->path))
		return err_set(err, ERR_BAD_REQUEST, "the path has %zu bytes, the limit is %zu",
			       len, sizeof(r->path) - 1);
	if (r->path[0] != '/' || !utf8_valid(r->path, strlen(r->path)) || has_dot_segment(r->path))
		return err_set(err, ERR_BAD_REQUEST,
			       "the path is not valid: it begins with '/', is UTF-8, and has no "
			       "'.' or '..' segments and no %%2F");
	return 0;
}

static int read_query(struct request *r, struct channel *c, struct err *err)
{
	const char *query = param(c, "QUERY_STRING");

	if (strlen(query) >= sizeof(r->query))
		return err_set(err, ERR_BAD_REQUEST, "the query has %zu bytes, the limit is %zu",
			       strlen(query), sizeof(r->query) - 1);
	memcpy(r->query, query, strlen(query) + 1);
	return 0;
}

/* Never cut: a boundary could be what is missing. */
static int read_type(struct request *r, struct channel *c, struct err *err)
{
	const char *type = param(c, "CONTENT_TYPE");

	if (strlen(type) >= sizeof(r->content_type))
		return err_set(err, ERR_BAD_REQUEST, "Content-Type has %zu bytes, the limit is %zu",
			       strlen(type), sizeof(r->content_type) - 1);
	memcpy(r->content_type, type, strlen(type) + 1);
	return 0;
}

static int read_length(struct request *r, struct channel *c, struct err *err)
{
	const char *length = param(c, "CONTENT_LENGTH");

	if (*length && !num_int(length, 0, INT64_MAX, &r->content_length))
		return err_set(err, ERR_BAD_REQUEST, "Content-Length is not a number");
	return 0;
}

int request_open(struct request *r, struct channel *c, struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->channel = c;
	r->start_ms = clock_ms();
	r->content_length = -1;
	r->method = method_of(param(c, "REQUEST_METHOD"));
	snprintf(r->method_name, sizeof(r->method_name), "%s", param(c, "REQUEST_METHOD"));
	snprintf(r->accept, sizeof(r->accept), "%s", param(c, "HTTP_ACCEPT"));
	choose_id(r->id, param(c, "REQUEST_ID"));
	if (read_path(r, c, err) || read_query(r, c, err) || read_type(r, c, err) ||
	    read_length(r, c, err))
		return -1;
	return 0;
}

static int body_too_large(int64_t max, const char *cap_name, struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, "the request body is over the limit of %lld bytes (%s)",
		       (long long)max, cap_name);
}

int request_each(struct request *r, int64_t max, const char *cap_name, request_take take, void *arg,
		 struct err *err)
{
	size_t size = r->content_length < 0 || r->content_length > LIMIT_PIECE_BYTES
			      ? LIMIT_PIECE_BYTES
			      : (size_t)r->content_length + 1;
	AUTO_FREE char *piece = xmalloc(size);
	int64_t start = clock_ms();
	long n;

	if (r->content_length > max)
		return body_too_large(max, cap_name, err);
	while ((n = channel_read(r->channel, piece, size, err)) > 0) {
		r->body_read += n;
		if (r->body_read > max)
			return body_too_large(max, cap_name, err);
		if (take(arg, piece, (size_t)n, err))
			return -1;
		if (clock_ms() - start > LIMIT_BODY_MS + r->body_read / LIMIT_BODY_RATE)
			return err_set(err, ERR_TIMEOUT,
				       "the request body took more than %lld s for %lld bytes",
				       (long long)(clock_ms() - start) / 1000,
				       (long long)r->body_read);
	}
	if (n < 0)
		return -1;
	if (r->content_length >= 0 && r->body_read < r->content_length)
		return err_set(err, ERR_BAD_REQUEST,
			       "the request body ended after %lld of %lld bytes",
			       (long long)r->body_read, (long long)r->content_length);
	return 0;
}

static int keep_piece(void *arg, const void *data, size_t len, struct err *err)
{
	(void)err;
	strbuf_add(arg, data, len);
	return 0;
}

int request_body(struct request *r, struct strbuf *out, int64_t max, const char *cap_name,
		 struct err *err)
{
	if (request_each(r, max, cap_name, keep_piece, out, err))
		return -1;
	return strbuf_ok(out) ? 0 : body_too_large((int64_t)out->max, cap_name, err);
}

void request_drain(struct request *r)
{
	int64_t deadline = clock_ms() + LIMIT_DRAIN_MS;
	char piece[16384];
	long n = 1;

	if (r->content_length <= r->body_read)
		return;
	while (n > 0 && clock_ms() < deadline) {
		struct err ignored = ERR_INIT;

		channel_hurry(r->channel, clock_left(deadline));
		n = channel_read(r->channel, piece, sizeof(piece), &ignored);
		r->body_read += MAX(n, 0);
	}
}

/* Length of the media type in a header: without parameters and blanks at its end. */
static size_t type_len(const char *header)
{
	size_t len = strcspn(header, ";,");

	while (len > 0 && (header[len - 1] == ' ' || header[len - 1] == '\t'))
		len--;
	return len;
}

bool request_content_is(const struct request *r, const char *type)
{
	const char *given = r->content_type + strspn(r->content_type, " \t");
	const char *star = strchr(type, '*');
	size_t len = type_len(given);

	if (!star)
		return len == strlen(type) && strncasecmp(given, type, len) == 0;
	size_t head = (size_t)(star - type), tail = strlen(star + 1);

	return len > head + tail && strncasecmp(given, type, head) == 0 &&
	       strncasecmp(given + len - tail, star + 1, tail) == 0;
}

/* The q parameter of one Accept element, in thousandths; 1000 when it has none or a broken one. */
static int64_t quality(const char *element, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		char text[8] = "";
		int64_t q = 1000;
		size_t digits;

		if (element[i] != ';')
			continue;
		i += 1 + strspn(element + i + 1, " \t");
		if (i + 2 >= len || (element[i] | 0x20) != 'q' || element[i + 1] != '=')
			continue;
		digits = MIN(strspn(element + i + 2, "0123456789."), sizeof(text) - 1);
		memcpy(text, element + i + 2, digits);
		return num_milli(text, 0, 1000, &q) ? q : 1000;
	}
	return 1000;
}

/* How exactly an Accept element names the type: 3 itself, 2 its family, 1 anything, 0 not. */
static int exactness(const char *element, const char *type)
{
	size_t family = strcspn(type, "/") + 1, len = type_len(element);

	if (len == strlen(type) && strncasecmp(element, type, len) == 0)
		return 3;
	if (len == family + 1 && strncasecmp(element, type, family) == 0 && element[family] == '*')
		return 2;
	return len == 3 && memcmp(element, "*/*", 3) == 0 ? 1 : 0;
}

static int64_t accept_quality(const char *accept, const char *type)
{
	int64_t q = 0;
	int best = 0;

	for (const char *s = accept; *s;) {
		size_t len;
		int exact;

		s += strspn(s, ", \t");
		len = strcspn(s, ",");
		exact = exactness(s, type);
		if (exact > best) {
			best = exact;
			q = quality(s, len);
		}
		s += len;
	}
	return q;
}

bool request_wants_html(const struct request *r)
{
	return accept_quality(r->accept, "text/html") >
	       accept_quality(r->accept, "application/json");
}
