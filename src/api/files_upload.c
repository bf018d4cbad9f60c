/*
 * POST /v1/files: a form's files into the store. The body goes from nginx through the parser to the
 * disk in pieces; what a client says of a type or a length is not asked. Called through the route
 * table.
 *
 * All files of a request stay hidden until its body has proved whole and right, so a failure leaves
 * none of them. Only a worker that dies between two of the renames at the end could leave some.
 */
#include "api/api.h"
#include "api/files.h"
#include "api/members.h"
#include "base/alloc.h"
#include "base/err.h"
#include "conf.h"
#include "limits.h"
#include "store/blob.h"
#include "store/blob_write.h"
#include "web/response.h"
#include "wire/json.h"
#include "wire/multipart.h"
#include "wire/schema.h"

#include <string.h>

#define FILE_FIELD "file"
#define BODY_SETTING "MAX_UPLOAD_MB"

struct upload {
	struct multipart parser;
	struct blob_write *files; /* room for LIMIT_FILES */
	struct blob *blobs;	  /* those that are committed */
	size_t count, committed;
	bool in_file;	       /* the part at hand is the last of `files`; else it is dropped */
	struct strbuf ignored; /* names of dropped fields: members of a JSON list */
	size_t ignored_count;
	struct route_times *times;
};

/* "/name" with the escapes of RFC 6901. */
static void add_location(struct strbuf *loc, const char *name)
{
	strbuf_addch(loc, '/');
	for (const char *s = name; *s; s++) {
		if (*s == '~' || *s == '/')
			strbuf_addstr(loc, *s == '~' ? "~0" : "~1");
		else
			strbuf_addch(loc, *s);
	}
}

static int refuse_part(struct upload *u, const char *type, const char *name, const char *msg,
		       struct err *err)
{
	AUTO(strbuf) loc = STRBUF(2 * LIMIT_FIELD_NAME_BYTES + 1);
	struct schema_problems problems = { .list = u->times->problems };

	add_location(&loc, name);
	schema_problem(&problems, type, loc.buf, msg, NULL);
	u->times->problems = problems.list;
	return err_set(err, ERR_INVALID, "%s: %s", loc.buf, msg);
}

static int begin_file(struct upload *u, const char *filename, struct err *err)
{
	const struct blob_rules rules = files_rules();

	if (u->count == LIMIT_FILES)
		return err_set(err, ERR_TOO_LARGE, "The request has more than %d files.",
			       LIMIT_FILES);
	u->in_file = true;
	return blob_write_open(&u->files[u->count++], api_store(), API_TENANT, filename, &rules,
			       err);
}

static void ignore(struct upload *u, const char *name)
{
	u->in_file = false;
	if (u->ignored_count == LIMIT_PROBLEMS)
		return;
	if (u->ignored_count++ > 0)
		strbuf_addch(&u->ignored, ',');
	json_add_string(&u->ignored, name, strlen(name));
}

static int on_begin(void *arg, const struct multipart_head *head, struct err *err)
{
	bool is_ours = strcmp(head->name, FILE_FIELD) == 0;
	struct upload *u = arg;

	if (head->is_file && is_ours)
		return begin_file(u, head->filename, err);
	if (head->is_file)
		return refuse_part(u, "value_error", head->name,
				   "Files are taken from parts named '" FILE_FIELD "' only", err);
	if (is_ours)
		return refuse_part(u, "value_error", head->name,
				   "The part is no file: its Content-Disposition has no filename",
				   err);
	ignore(u, head->name);
	return 0;
}

static int on_data(void *arg, const void *data, size_t len, struct err *err)
{
	struct upload *u = arg;

	return u->in_file ? blob_write_add(&u->files[u->count - 1], data, len, err) : 0;
}

/* A type that is refused is known before any file of the request can be seen. */
static int on_end(void *arg, struct err *err)
{
	struct upload *u = arg;

	return u->in_file ? blob_write_settle(&u->files[u->count - 1], err) : 0;
}

static int take(void *arg, const void *data, size_t len, struct err *err)
{
	struct upload *u = arg;

	return multipart_push(&u->parser, data, len, err);
}

static int read_body(struct upload *u, struct request *req, struct err *err)
{
	static const struct multipart_events events = { on_begin, on_data, on_end };
	const struct multipart_limits limits = {
		.body_bytes = conf->max_upload_mb << 20,
		.body_name = BODY_SETTING,
		.field_bytes = LIMIT_SPARE_FIELD_BYTES,
		.parts = LIMIT_PARTS,
	};

	if (req->content_type[0] == '\0')
		return err_set(err, ERR_MEDIA_TYPE,
			       "the request has no content type; send multipart/form-data");
	if (multipart_init(&u->parser, req->content_type, &limits, &events, u, err) ||
	    request_each(req, limits.body_bytes, BODY_SETTING, take, u, err) ||
	    multipart_finish(&u->parser, err))
		return -1;
	return u->count > 0
		       ? 0
		       : refuse_part(u, "missing", FILE_FIELD, "The form must have a file", err);
}

/* Those that were visible already when another one failed go again. */
static void take_back(struct upload *u)
{
	for (size_t i = 0; i < u->committed; i++)
		(void)blob_discard(api_store(), API_TENANT, u->blobs[i].id, NULL);
}

static int commit(struct upload *u, struct err *err)
{
	for (; u->committed < u->count; u->committed++) {
		if (blob_write_commit(&u->files[u->committed], &u->blobs[u->committed], err)) {
			take_back(u);
			return -1;
		}
	}
	return 0;
}

static void add_ignored(struct upload *u, struct strbuf *body)
{
	if (u->ignored_count == 0)
		return;
	member_open(body, "ignored", '[');
	strbuf_add(body, u->ignored.buf, u->ignored.len);
	strbuf_addch(body, ']');
}

static void add_files(struct upload *u, struct strbuf *body)
{
	if (u->count == 1) {
		files_add(body, &u->blobs[0]);
		return;
	}
	strbuf_addch(body, '{');
	member_open(body, "files", '[');
	for (size_t i = 0; i < u->count; i++) {
		if (i > 0)
			strbuf_addch(body, ',');
		files_add(body, &u->blobs[i]);
		strbuf_addch(body, '}');
	}
	strbuf_addch(body, ']');
}

static int answer(struct upload *u, struct request *req, struct response *res, struct err *err)
{
	if (request_wants_html(req)) {
		response_header(res, "Location", "/v1/files");
		res->status = 303;
		return 0;
	}
	add_files(u, &res->body);
	add_ignored(u, &res->body);
	strbuf_addch(&res->body, '}');
	if (u->count == 1)
		response_header(res, "Location", "/v1/files/%s", u->blobs[0].id);
	res->status = 201;
	if (strbuf_ok(&res->body))
		return 0;
	take_back(u);
	return err_set(err, ERR_INTERNAL, "the answer does not fit");
}

static void upload_init(struct upload *u, struct route_times *times)
{
	*u = (struct upload){ .times = times };
	u->files = xcalloc(LIMIT_FILES, sizeof(*u->files));
	u->blobs = xcalloc(LIMIT_FILES, sizeof(*u->blobs));
	strbuf_init(&u->parser.text, 0);
	/* A name of which every byte is escaped. */
	strbuf_init(&u->ignored, (size_t)LIMIT_PROBLEMS * (6 * LIMIT_FIELD_NAME_BYTES + 3));
}

static void upload_clear(struct upload *u)
{
	for (size_t i = 0; i < u->count; i++)
		blob_write_clear(&u->files[i]);
	for (size_t i = 0; i < u->committed; i++)
		blob_clear(&u->blobs[i]);
	free(u->files);
	free(u->blobs);
	strbuf_clear(&u->ignored);
	multipart_clear(&u->parser);
}

int api_files_upload(struct request *req, struct response *res, struct route_times *times,
		     struct err *err)
{
	struct upload u;
	int rc = -1;

	response_header(res, "Vary", "Accept");
	upload_init(&u, times);
	if (api_open(err) == 0 && read_body(&u, req, err) == 0 && commit(&u, err) == 0)
		rc = answer(&u, req, res, err);
	upload_clear(&u);
	return rc;
}
