#pragma once

#include "base/base.h"
#include "base/strbuf.h"
#include "limits.h"

#include <json-c/json.h>

struct err;
struct request;

#define RESPONSE_HEADERS 16
struct response {
	int status;
	const char *content_type; /* literal */
	struct strbuf body;
	struct {
		const char *name; /* literal */
		char value[LIMIT_HEADER_VALUE];
	} headers[RESPONSE_HEADERS];
	size_t headers_count;
	int body_fd; /* the body comes from here in place of `body`, body_size bytes; -1: no */
	int64_t body_size;
	bool sent;
};

/* max bounds the body. */
void response_init(struct response *res, size_t max);
void response_clear(struct response *res);
/* Values with control characters are refused (programming error: the header is dropped). A
 * Cache-Control or Content-Type set here goes in place of the usual one, and without a body too. */
void response_header(struct response *res, const char *name, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* Sets status and a JSON body (borrowed). */
void response_json(struct response *res, int status, struct json_object *body);
/*
 * The one error body (api.md): {"detail", "error": {code, message, hint, retry_after_s}};
 * detail_list (may be NULL, borrowed) stands in `detail` for a 422. Sets Retry-After.
 */
void response_error(struct response *res, const struct err *err, struct json_object *detail_list);
/* Sends status, headers and (unless HEAD) body; *out_bytes is what went out. */
int response_send(struct response *res, struct request *req, int64_t *out_bytes, struct err *err);
