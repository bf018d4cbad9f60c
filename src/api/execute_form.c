/*
 * POST /v1/execute as a form: fields become the members of the JSON object that the same request
 * would have as JSON, by the rows of execute_schema, and the schema judges them as it judges JSON.
 * Files go into the store while they come, uncommitted, and are gone with the request. Called by
 * execute_read. It never keeps a file in memory and never decides what a field's value may be.
 */
#include "api/api.h"
#include "api/execute.h"
#include "api/files.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/utf8.h"
#include "conf.h"
#include "web/request.h"
#include "wire/json.h"
#include "wire/multipart.h"

#include <string.h>

struct form {
	struct execute *ex;
	struct route_times *times;
	struct json_object *tree;
	const struct schema_row *row; /* of the field that comes; NULL: a file, or no field of ours
				       */
	struct strbuf text;	      /* its value so far */
	int64_t text_bytes;	      /* of all fields */
	size_t values;		      /* of all that are JSON */
	bool is_file;
	struct execute_part *part; /* the file that comes; NULL: a field, or a file without name */
};

static const struct schema_row *find_row(const char *name)
{
	for (size_t i = 0; i < execute_schema.count; i++)
		if (strcmp(execute_schema.rows[i].name, name) == 0)
			return &execute_schema.rows[i];
	return NULL;
}

/* A 422 of the shape that the schema's own have, for what the schema does not see. */
static int refuse(struct form *f, const char *type, const char *msg, struct json_object *input,
		  struct err *err)
{
	struct schema_problems problems = { 0 };
	AUTO_FREE char *loc = xasprintf("/%s", f->row->name);

	schema_problem(&problems, type, loc, msg, input);
	json_object_put(f->times->problems);
	f->times->problems = json_object_get(problems.list);
	schema_problems_clear(&problems);
	return err_set(err, ERR_INVALID, "%s: %s", loc, msg);
}

static struct json_object *string_of(const struct strbuf *text)
{
	return json_object_new_string_len(text->buf, (int)text->len);
}

/* The fields whose text is the program's and not the form's. */
static bool is_content(const struct schema_row *row)
{
	return strcmp(row->name, "code") == 0 || strcmp(row->name, "stdin") == 0;
}

static bool all_breaks_are_crlf(const struct strbuf *text)
{
	for (size_t i = 0; i < text->len; i++) {
		if (text->buf[i] == '\n')
			return false;
		if (text->buf[i] == '\r' && text->buf[++i] != '\n')
			return false;
	}
	return true;
}

/* HTML's forms send each line break of a text area as CRLF. A text that has others too was not
 * written by one, so it stays as it is. */
static void plain_breaks(struct strbuf *text)
{
	size_t to = 0;

	if (!all_breaks_are_crlf(text))
		return;
	for (size_t i = 0; i < text->len; i++)
		if (text->buf[i] != '\r')
			text->buf[to++] = text->buf[i];
	strbuf_cut(text, to);
}

/* What is no number stays text: the schema then says what was expected. */
static struct json_object *number_of(const struct strbuf *text)
{
	AUTO_JSON *value = NULL;

	if (json_load(text->buf, text->len, &value, NULL) == 0 &&
	    (json_object_is_type(value, json_type_int) ||
	     json_object_is_type(value, json_type_double)))
		return steal(&value);
	return string_of(text);
}

static bool text_is(const struct strbuf *text, const char *word)
{
	return text->len == strlen(word) && memcmp(text->buf, word, text->len) == 0;
}

/* "on" is what a ticked box sends. */
static struct json_object *bool_of(const struct strbuf *text)
{
	if (text_is(text, "true") || text_is(text, "on"))
		return json_object_new_boolean(true);
	if (text_is(text, "false") || text_is(text, "off"))
		return json_object_new_boolean(false);
	return string_of(text);
}

/* All values below this one and itself. json_load has bounded the depth. */
static size_t count_values(struct json_object *value)
{
	size_t count = 1;

	if (json_object_is_type(value, json_type_array))
		for (size_t i = 0; i < json_object_array_length(value); i++)
			count += count_values(json_object_array_get_idx(value, i));
	if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, name, member)
		{
			(void)name;
			count += count_values(member);
		}
	}
	return count;
}

/* A field that is JSON. json_load bounds the values of one text, and a form has many. */
static int parse(struct form *f, struct json_object **out, struct err *err)
{
	struct err why = ERR_INIT;
	AUTO_JSON *input = NULL;
	AUTO_JSON *value = NULL;

	if (json_load(f->text.buf, f->text.len, &value, &why)) {
		input = string_of(&f->text);
		return refuse(f, "json_invalid", why.text, input, err);
	}
	f->values += count_values(value);
	if (f->values > LIMIT_JSON_VALUES)
		return err_set(err, ERR_TOO_LARGE,
			       "The fields of the form have more than %d JSON values together.",
			       LIMIT_JSON_VALUES);
	*out = steal(&value);
	return 0;
}

/* Each field is one more string of the list, whatever it looks like. */
static int add_strings(struct form *f)
{
	struct json_object *list;

	if (!json_object_object_get_ex(f->tree, f->row->name, &list)) {
		list = json_object_new_array();
		json_object_object_add(f->tree, f->row->name, list);
	}
	json_object_array_add(list, string_of(&f->text));
	return 0;
}

/* json-c fails here only without memory. */
static int put(struct form *f, struct json_object *value)
{
	json_object_object_add(f->tree, f->row->name, value);
	return 0;
}

static int add_json(struct form *f, struct err *err)
{
	struct json_object *value = NULL;

	if (parse(f, &value, err))
		return -1;
	if (f->row->type == SCHEMA_ANY)
		f->ex->args = xstrndup(f->text.buf, f->text.len);
	return put(f, value);
}

static int add_value(struct form *f, struct err *err)
{
	switch (f->row->type) {
	case SCHEMA_STRING:
		if (is_content(f->row))
			plain_breaks(&f->text);
		break;
	case SCHEMA_INT:
	case SCHEMA_NUMBER:
		return put(f, number_of(&f->text));
	case SCHEMA_BOOL:
		return put(f, bool_of(&f->text));
	case SCHEMA_STRINGS:
		return add_strings(f);
	case SCHEMA_ANY:
	case SCHEMA_LIST:
	case SCHEMA_MAP:
	case SCHEMA_OBJECT:
		return add_json(f, err);
	case SCHEMA_LATER:
		break;
	}
	return put(f, string_of(&f->text));
}

static int end_field(struct form *f, struct err *err)
{
	if (!f->row || (f->text.len == 0 && !is_content(f->row)))
		return 0;
	if (!utf8_valid(f->text.buf, f->text.len))
		return refuse(f, "string_unicode", "Input should be valid UTF-8", NULL, err);
	if (f->row->type != SCHEMA_STRINGS &&
	    json_object_object_get_ex(f->tree, f->row->name, NULL))
		return refuse(f, "value_error", "The form has this field twice", NULL, err);
	return add_value(f, err);
}

/* The place of a file: that of an earlier one of its name, which goes, or one more. */
static int make_place(struct execute *ex, const char *name, struct execute_part **out,
		      struct err *err)
{
	for (size_t i = 0; i < ex->parts_count; i++)
		if (strcmp(ex->parts[i].name, name) == 0) {
			blob_write_clear(&ex->parts[i].write);
			*out = &ex->parts[i];
			return 0;
		}
	if (ex->parts_count == LIMIT_FILES)
		return err_set(err, ERR_TOO_LARGE, "The form has more than %d files.", LIMIT_FILES);
	ex->parts = xrealloc(ex->parts, (ex->parts_count + 1) * sizeof(*ex->parts));
	*out = &ex->parts[ex->parts_count++];
	**out = (struct execute_part){ .name = xstrdup(name), .write = BLOB_WRITE_INIT };
	return 0;
}

static int begin_file(struct form *f, const char *name, struct err *err)
{
	const struct blob_rules rules = files_rules();

	if (make_place(f->ex, name, &f->part, err))
		return -1;
	return blob_write_open(&f->part->write, api_store(), API_TENANT, name, &rules, err);
}

static int on_begin(void *arg, const struct multipart_head *head, struct err *err)
{
	struct form *f = arg;

	f->row = NULL;
	f->part = NULL;
	f->is_file = head->is_file;
	strbuf_reset(&f->text);
	if (head->is_file)
		return head->filename[0] ? begin_file(f, head->filename, err) : 0;
	f->row = find_row(head->name);
	/* The schema lists it among the ignored ones, and nobody reads its value. */
	if (!f->row)
		json_object_object_add(f->tree, head->name, NULL);
	return 0;
}

static int on_data(void *arg, const void *data, size_t len, struct err *err)
{
	struct form *f = arg;

	if (f->part)
		return blob_write_add(&f->part->write, data, len, err);
	if (f->is_file)
		return err_set(err, ERR_BAD_NAME, "A file of the form has content but no name.");
	f->text_bytes += (int64_t)len;
	if (f->text_bytes > conf->max_request_bytes)
		return err_set(err, ERR_TOO_LARGE,
			       "The fields of the form are together over the limit of %lld bytes "
			       "(MAX_REQUEST_BYTES).",
			       (long long)conf->max_request_bytes);
	if (f->row)
		strbuf_add(&f->text, data, len);
	return 0;
}

static int on_end(void *arg, struct err *err)
{
	struct form *f = arg;

	if (f->part)
		return blob_write_settle(&f->part->write, err);
	return f->is_file ? 0 : end_field(f, err);
}

static int push(void *arg, const void *data, size_t len, struct err *err)
{
	return multipart_push(arg, data, len, err);
}

static int take_body(struct form *f, struct request *req, struct err *err)
{
	static const struct multipart_events events = { on_begin, on_data, on_end };
	const struct multipart_limits limits = {
		.body_bytes = conf->max_upload_mb << 20,
		.body_name = "MAX_UPLOAD_MB",
		.field_bytes = INT64_MAX, /* on_data bounds all of them together */
		.parts = LIMIT_PARTS,
		.empty_filename = true,
	};
	AUTO(multipart) m;

	if (multipart_init(&m, req->content_type, &limits, &events, f, err) ||
	    request_each(req, limits.body_bytes, limits.body_name, push, &m, err) ||
	    multipart_finish(&m, err))
		return -1;
	return 0;
}

/* What the fields say, and what they say together with the files. */
static int take_tree(struct form *f, struct err *err)
{
	struct execute *ex = f->ex;
	size_t count;

	if (execute_take_fields(ex, f->tree, f->times, err))
		return -1;
	if (!ex->fields.args)
		free(steal(&ex->args)); /* null, which is none */
	count = ex->fields.files.count + ex->parts_count;
	if (count > LIMIT_FILES)
		return err_set(err, ERR_INVALID,
			       "files: with those of the form there are %zu, the limit is %d",
			       count, LIMIT_FILES);
	return 0;
}

int execute_form_read(struct execute *ex, struct request *req, struct route_times *times,
		      struct err *err)
{
	struct form f = { .ex = ex, .times = times, .tree = json_object_new_object() };
	int rc;

	strbuf_init(&f.text, (size_t)conf->max_request_bytes);
	rc = take_body(&f, req, err) || take_tree(&f, err) ? -1 : 0;
	strbuf_clear(&f.text);
	json_object_put(f.tree);
	return rc;
}

void execute_form_clear(struct execute *ex)
{
	for (size_t i = 0; i < ex->parts_count; i++) {
		blob_write_clear(&ex->parts[i].write);
		free(ex->parts[i].name);
	}
	free(steal(&ex->parts));
	ex->parts_count = 0;
}
