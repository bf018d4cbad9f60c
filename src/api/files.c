/*
 * /v1/files but for the upload: the list, one file's bytes, its end. Called through the route
 * table. No content passes through here: a download is an answer without body that tells nginx
 * which file to send, and by which type and name; without nginx, the answer sends it.
 */
#include "api/files.h"

#include "api/api.h"
#include "api/members.h"
#include "api/page.h"
#include "base/err.h"
#include "conf.h"
#include "limits.h"
#include "store/blob.h"
#include "store/blob_list.h"
#include "web/channel.h"
#include "web/response.h"
#include "wire/disposition.h"
#include "wire/query.h"

#include <string.h>

/* Types that no browser runs as a program or a page, even if it opens them. */
static const char *const harmless_types[] = {
	"image/png",  "image/jpeg", "image/gif",	"image/webp",
	"text/plain", "text/csv",   "application/json", "application/pdf",
};

struct blob_rules files_rules(void)
{
	return (struct blob_rules){
		.max_bytes = conf->max_file_mb << 20,
		.max_name = "MAX_FILE_SIZE_MB",
		.allow = conf->upload_allow,
		.deny = conf->upload_deny,
		.ttl_ms = conf->file_ttl_s * 1000,
	};
}

void files_add(struct strbuf *out, const struct blob *b)
{
	strbuf_addch(out, '{');
	member_str(out, "file_id", b->id);
	member_str(out, "filename", b->name);
	member_int(out, "size_bytes", b->size);
	member_str(out, "mime_type", b->mime);
	member_str(out, "sha256", b->sha256);
	member_milli(out, "upload_time", b->created_ms);
	if (b->expires_ms)
		member_milli(out, "expires_at", b->expires_ms);
	else
		member_null(out, "expires_at");
}

/* One bad parameter in the shape of `detail` (wire/schema.h's problems are those of a body). */
static void refuse_parameter(struct route_times *times, const char *name, const char *value,
			     const struct err *err)
{
	struct json_object *o = json_object_new_object(), *loc = json_object_new_array();

	json_object_array_add(loc, json_object_new_string("query"));
	json_object_array_add(loc, json_object_new_string(name));
	json_object_object_add(o, "type", json_object_new_string("value_error"));
	json_object_object_add(o, "loc", loc);
	json_object_object_add(o, "msg", json_object_new_string(err->text));
	json_object_object_add(o, "input", json_object_new_string(value));
	times->problems = json_object_new_array();
	json_object_array_add(times->problems, o);
}

static int load_page(struct blob_list *list, const struct query *q, struct route_times *times,
		     struct err *err)
{
	const char *after = query_get(q, "after");
	int64_t limit;

	if (query_int(q, "limit", 1, LIMIT_LIST, LIMIT_LIST, &limit, err)) {
		refuse_parameter(times, "limit", query_get(q, "limit"), err);
		return -1;
	}
	if (blob_list_load(list, api_store(), API_TENANT, after, (size_t)limit, err) == 0)
		return 0;
	if (err->code == ERR_INVALID)
		refuse_parameter(times, "after", after, err);
	return -1;
}

static int list_json(const struct blob_list *list, struct response *res, struct err *err)
{
	struct strbuf *body = &res->body;

	strbuf_clear(body);
	strbuf_init(body, 2 * BLOB_CURSOR_BYTES + list->count * FILES_ROW_BYTES);
	strbuf_addch(body, '{');
	member_open(body, "files", '[');
	for (size_t i = 0; i < list->count; i++) {
		if (i > 0)
			strbuf_addch(body, ',');
		files_add(body, &list->items[i]);
		strbuf_addch(body, '}');
	}
	strbuf_addch(body, ']');
	member_str(body, "next", list->next[0] ? list->next : NULL);
	strbuf_addch(body, '}');
	return strbuf_ok(body) ? 0 : err_set(err, ERR_INTERNAL, "the list does not fit");
}

int api_files_list(struct request *req, struct response *res, struct route_times *times,
		   struct err *err)
{
	AUTO(blob_list) list = { 0 };
	AUTO(query) q = { 0 };

	response_header(res, "Vary", "Accept");
	if (api_open(err) || query_parse(&q, req->query, strlen(req->query), err) ||
	    load_page(&list, &q, times, err))
		return -1;
	return request_wants_html(req) ? files_page(&list, res, err) : list_json(&list, res, err);
}

static const char *sent_type(const char *mime)
{
	for (size_t i = 0; i < ARRAY_SIZE(harmless_types); i++)
		if (strcmp(mime, harmless_types[i]) == 0)
			return harmless_types[i];
	return "application/octet-stream";
}

/* The bytes: by the web server where it says that it can, from where it knows the store. */
static int find(const struct request *req, struct response *res, struct blob *out, struct err *err)
{
	const char *accel = channel_param(req->channel, "BELLJAR_ACCEL"), *id = req->route_args[0];
	char path[BLOB_PATH_BYTES];

	if (!accel || !*accel) {
		if (blob_open(api_store(), API_TENANT, id, out, &res->body_fd, err))
			return -1;
		res->body_size = out->size;
		response_header(res, "Content-Security-Policy", "sandbox; default-src 'none'");
		return 0;
	}
	if (blob_stat(api_store(), API_TENANT, id, out, err) ||
	    blob_path(API_TENANT, out->id, path, err))
		return -1;
	response_header(res, "X-Accel-Redirect", "%s%s", accel, path);
	return 0;
}

int api_files_download(struct request *req, struct response *res, struct route_times *times,
		       struct err *err)
{
	AUTO(strbuf) name = STRBUF(LIMIT_HEADER_VALUE);
	AUTO(blob) b = { 0 };
	(void)times;

	if (api_open(err) || find(req, res, &b, err))
		return -1;
	disposition_attachment(&name, b.name);
	response_header(res, "Content-Type", "%s", sent_type(b.mime));
	response_header(res, "Content-Disposition", "%s", name.buf);
	/* A file never changes, but it can be deleted: a browser keeps it and asks each time. */
	response_header(res, "Cache-Control", "private, no-cache");
	return 0;
}

int api_files_delete(struct request *req, struct response *res, struct route_times *times,
		     struct err *err)
{
	(void)times;

	if (api_open(err) || blob_delete(api_store(), API_TENANT, req->route_args[0], err))
		return -1;
	res->status = 204;
	return 0;
}
