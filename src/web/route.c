/*
 * Finds the row of the route table for a request. Called by the worker's loop; 404, 405 with Allow,
 * 415 and the redirect of a trailing slash all follow from the table. It never calls a handler.
 */
#include "web/route.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "web/response.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Most that a redirect's target may need: each byte of a path as %XX. */
#define LOCATION_BYTES (sizeof(((struct response *)0)->headers[0].value) - 1)

/* Copies what {} matched. What is too long to be any id of ours stays too long to be one when it
 * is cut, so that the handler says what is wrong with it. */
static bool take_arg(struct request *req, size_t index, const char *text, size_t len)
{
	if (index >= ARRAY_SIZE(req->route_args) || len == 0)
		return false;
	len = utf8_cut(text, len, MIN(len, sizeof(req->route_args[0]) - 1));
	memcpy(req->route_args[index], text, len);
	req->route_args[index][len] = '\0';
	return true;
}

/* True if the first len bytes of path are the pattern; fills route_args. */
static bool matches(struct request *req, const char *pattern, const char *path, size_t len)
{
	const char *end = path + len;
	size_t args = 0;

	while (*pattern) {
		if (*pattern == '{') {
			size_t segment = strcspn(path, "/");

			segment = MIN(segment, (size_t)(end - path));
			if (!take_arg(req, args++, path, segment))
				return false;
			path += segment;
			pattern += strcspn(pattern, "}") + 1;
		} else if (path < end && *path == *pattern) {
			path++;
			pattern++;
		} else {
			return false;
		}
	}
	return path == end;
}

static bool takes_method(const struct route *row, enum request_method method)
{
	return row->method == method || (row->method == METHOD_GET && method == METHOD_HEAD);
}

static bool takes_type(const struct route *row, const struct request *req)
{
	if (!row->types || req->content_type[0] == '\0')
		return true;
	for (const char *const *type = row->types; *type; type++)
		if (request_content_is(req, *type))
			return true;
	return false;
}

static void add_allow(char *allow, enum request_method method)
{
	static const char *const names[] = {
		[METHOD_GET] = "GET, HEAD, ",
		[METHOD_POST] = "POST, ",
		[METHOD_PUT] = "PUT, ",
		[METHOD_DELETE] = "DELETE, ",
	};
	size_t len = strlen(allow);

	if ((size_t)method < ARRAY_SIZE(names) && names[method] && !strstr(allow, names[method]))
		snprintf(allow + len, 64 - len, "%s", names[method]);
}

/* 307 keeps method and body; the query stays. Only a path that a pattern matched comes here, so it
 * begins with one slash. */
static int redirect(struct request *req, struct response *res, struct route_times *times,
		    struct err *err)
{
	AUTO(strbuf) to = STRBUF(LOCATION_BYTES);
	(void)times;

	for (const char *s = req->path; s[1]; s++) {
		if (isascii(*s) && (isalnum((unsigned char)*s) || strchr("/-_.~", *s)))
			strbuf_addch(&to, *s);
		else
			strbuf_addf(&to, "%%%02X", (unsigned char)*s);
	}
	if (req->query[0])
		strbuf_addf(&to, "?%s", req->query);
	if (!strbuf_ok(&to))
		return err_set(err, ERR_NOT_FOUND,
			       "no such path; paths have no slash at their end");
	response_header(res, "Location", "%s", to.buf);
	res->status = 307;
	return 0;
}

static const struct route redirect_row = { METHOD_OTHER, "", NULL, redirect };

/* The path without its last slash, when a row has that. */
static const struct route *find_slashless(const struct route *table, size_t count,
					  struct request *req)
{
	size_t len = strlen(req->path);

	if (len < 2 || req->path[len - 1] != '/')
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (matches(req, table[i].pattern, req->path, len - 1))
			return &redirect_row;
	return NULL;
}

static int wrong_type(const struct route *row, const struct request *req, struct err *err)
{
	AUTO(strbuf) taken = STRBUF(200);

	for (const char *const *type = row->types; *type; type++)
		strbuf_addf(&taken, "%s%s", type == row->types ? "" : " or ", *type);
	return err_set(err, ERR_MEDIA_TYPE, "the content type %.80s is not taken here; send %s",
		       req->content_type, taken.buf);
}

const struct route *route_find(const struct route *table, size_t count, struct request *req,
			       char *allow, struct err *err)
{
	allow[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const struct route *row = &table[i];

		if (!matches(req, row->pattern, req->path, strlen(req->path)))
			continue;
		if (!takes_method(row, req->method)) {
			add_allow(allow, row->method);
			continue;
		}
		if (takes_type(row, req))
			return row;
		wrong_type(row, req, err);
		return NULL;
	}
	if (allow[0]) {
		snprintf(allow + strlen(allow), 64 - strlen(allow), "OPTIONS");
		err_set(err, ERR_METHOD, "%s is not allowed here; allowed: %s", req->method_name,
			allow);
		return NULL;
	}
	const struct route *row = find_slashless(table, count, req);

	if (!row)
		err_set(err, ERR_NOT_FOUND, "no such path: %.160s", req->path);
	return row;
}
