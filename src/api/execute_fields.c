/*
 * The fields of POST /v1/execute as a table, and the way from a body to a struct. Called by
 * execute.c; ranges that the operator sets are execute_check.c's.
 */
#include "api/execute.h"
#include "base/alloc.h"
#include "base/err.h"
#include "conf.h"
#include "wire/json.h"

#include <string.h>

/* Beyond any cap that is checked by name later, so that the message can name the operator's cap. */
#define ANY_SIZE INT32_MAX

#define AT(type, member) offsetof(struct type, member)

static const struct schema_row file_rows[] = {
	{ .name = "path",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_REQUIRED,
	  .offset = AT(execute_file, path),
	  .max = ANY_SIZE },
	{ .name = "content",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE | SCHEMA_NUL,
	  .offset = AT(execute_file, content),
	  .len_offset = AT(execute_file, content_len),
	  .max = ANY_SIZE },
	{ .name = "content_base64",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_file, content_base64),
	  .max = ANY_SIZE },
	{ .name = "file_id",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_file, file_id),
	  .max = ANY_SIZE },
};
static const struct schema file_schema = { file_rows, ARRAY_SIZE(file_rows),
					   sizeof(struct execute_file) };

static const struct schema_row limit_rows[] = {
	{ .name = "memory_mb",
	  .type = SCHEMA_INT,
	  .offset = AT(execute_limits, memory_mb),
	  .min = 1,
	  .max = ANY_SIZE },
	{ .name = "cpus",
	  .type = SCHEMA_NUMBER,
	  .offset = AT(execute_limits, cpu_milli),
	  .min = 1,
	  .max = ANY_SIZE },
	{ .name = "pids",
	  .type = SCHEMA_INT,
	  .offset = AT(execute_limits, pids),
	  .min = 1,
	  .max = ANY_SIZE },
	{ .name = "disk_mb",
	  .type = SCHEMA_INT,
	  .offset = AT(execute_limits, disk_mb),
	  .min = 1,
	  .max = ANY_SIZE },
	{ .name = "cpu_time_s",
	  .type = SCHEMA_INT,
	  .offset = AT(execute_limits, cpu_time_s),
	  .min = 1,
	  .max = ANY_SIZE },
	{ .name = "output_bytes",
	  .type = SCHEMA_INT,
	  .offset = AT(execute_limits, output_bytes),
	  .min = 1,
	  .max = ANY_SIZE },
};
static const struct schema limit_schema = { limit_rows, ARRAY_SIZE(limit_rows),
					    sizeof(struct execute_limits) };

static const char *const networks[] = { "none", "allowlist", "full", NULL };
static const char *const encodings[] = { "text", "base64", NULL };

static const struct schema_row rows[] = {
	{ .name = "code",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_REQUIRED,
	  .offset = AT(execute_fields, code),
	  .max = ANY_SIZE },
	{ .name = "stdin",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE | SCHEMA_NUL,
	  .offset = AT(execute_fields, stdin_text),
	  .len_offset = AT(execute_fields, stdin_len),
	  .max = ANY_SIZE },
	{ .name = "timeout_ms",
	  .type = SCHEMA_INT,
	  .offset = AT(execute_fields, timeout_ms),
	  .min = 1,
	  .max = INT64_MAX - 1 },
	{ .name = "last_line_interactive",
	  .type = SCHEMA_BOOL,
	  .offset = AT(execute_fields, show_last) },
	{ .name = "files",
	  .type = SCHEMA_LIST,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, files),
	  .max = LIMIT_FILES,
	  .sub = &file_schema },
	{ .name = "language",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, language),
	  .max = 64 },
	{ .name = "version",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, version),
	  .max = 64 },
	{ .name = "args",
	  .type = SCHEMA_ANY,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, args) },
	{ .name = "argv",
	  .type = SCHEMA_STRINGS,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, argv),
	  .max = LIMIT_ARGV },
	{ .name = "env",
	  .type = SCHEMA_MAP,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, env),
	  .max = LIMIT_ENV },
	{ .name = "network",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, network),
	  .max = 64,
	  .one_of = networks },
	{ .name = "encoding",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, encoding),
	  .max = 64,
	  .one_of = encodings },
	{ .name = "limits",
	  .type = SCHEMA_OBJECT,
	  .flags = SCHEMA_NULLABLE,
	  .offset = AT(execute_fields, limits),
	  .sub = &limit_schema },
	{ .name = "session_id",
	  .type = SCHEMA_LATER,
	  .help = "sessions are not available yet; send the files each call needs in files" },
	{ .name = "image",
	  .type = SCHEMA_LATER,
	  .help = "images of your own are not available yet; leave it out for Python" },
	{ .name = "workspace",
	  .type = SCHEMA_LATER,
	  .help = "folders of the operator are not available yet; send files instead" },
};
const struct schema execute_schema = { rows, ARRAY_SIZE(rows), sizeof(struct execute_fields) };

void execute_init(struct execute *ex)
{
	*ex = (struct execute){ .lease = LEASE_INIT,
				.argv = STRBUF(LIMIT_ARGV_BYTES),
				.env = STRBUF(LIMIT_ENV_BYTES) };
	ex->fields.timeout_ms = conf->default_timeout_ms;
	ex->fields.show_last = true;
	execute_output_init(&ex->output);
}

void execute_clear(struct execute *ex)
{
	lease_clear(&ex->lease);
	run_result_clear(&ex->result);
	execute_output_clear(&ex->output);
	for (size_t i = 0; i < ex->inputs_count; i++) {
		free((char *)ex->inputs[i].path);
		auto_close(&ex->inputs[i].fd);
		strbuf_clear(&ex->contents[i]);
	}
	execute_form_clear(ex);
	free(ex->inputs);
	free(ex->contents);
	free(ex->args);
	strbuf_clear(&ex->argv);
	strbuf_clear(&ex->env);
	json_object_put(ex->ignored);
	schema_clear(&execute_schema, &ex->fields);
}

/* Keeps the client's own spelling, so that no number changes on its way through a parser. */
static void keep_args(struct execute *ex, const struct strbuf *body)
{
	const char *text;
	size_t len;

	if (!ex->fields.args)
		return;
	if (execute_find_args(body->buf, body->len, &text, &len))
		ex->args = xstrndup(text, len);
	else
		ex->args = xstrdup(
			json_object_to_json_string_ext(ex->fields.args, JSON_C_TO_STRING_PLAIN));
}

static int not_an_object(struct json_object *value, struct schema_problems *problems,
			 struct err *err)
{
	static const char text[] = "the body must be a JSON object";

	schema_problem(problems, "model_attributes_type", "", text, value);
	return err_set(err, ERR_INVALID, "%s", text);
}

int execute_take_fields(struct execute *ex, struct json_object *tree, struct route_times *times,
			struct err *err)
{
	struct schema_problems problems = { 0 };
	int rc;

	if (json_object_is_type(tree, json_type_object))
		rc = schema_fill(&execute_schema, tree, &ex->fields, &problems, err);
	else
		rc = not_an_object(tree, &problems, err);
	times->problems = json_object_get(problems.list);
	ex->ignored = json_object_get(problems.ignored);
	schema_problems_clear(&problems);
	return rc;
}

int execute_read(struct execute *ex, struct request *req, struct route_times *times,
		 struct err *err)
{
	AUTO(strbuf) body = STRBUF((size_t)conf->max_request_bytes);
	AUTO_JSON *tree = NULL;

	if (request_content_is(req, "multipart/form-data"))
		return execute_form_read(ex, req, times, err);
	if (request_body(req, &body, conf->max_request_bytes, "MAX_REQUEST_BYTES", err) ||
	    json_load(body.buf, body.len, &tree, err) || execute_take_fields(ex, tree, times, err))
		return -1;
	keep_args(ex, &body);
	return 0;
}
