#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "box/lease.h"
#include "box/run.h"
#include "limits.h"
#include "store/blob.h"
#include "store/blob_write.h"
#include "web/route.h"
#include "wire/schema.h"

#include <json-c/json.h>

struct response;

/* What the files execute*.c share: one call of POST /v1/execute from its body to its answer. */

/* As the fields came (execute_fields.c). */
struct execute_file {
	char *path;
	char *content; /* NULL: not given */
	size_t content_len;
	char *content_base64;
	char *file_id;
};
/* 0: not given. */
struct execute_limits {
	int64_t memory_mb, cpu_milli, pids, disk_mb, cpu_time_s, output_bytes;
};
struct execute_fields {
	char *code;
	char *stdin_text;
	size_t stdin_len;
	int64_t timeout_ms;
	bool show_last;
	struct schema_list files; /* struct execute_file */
	char *language, *version, *network, *encoding;
	struct json_object *args;
	struct schema_strings argv, env;
	struct execute_limits limits;
};

/* A file that came as a part of a form: in the store as long as the request lasts, seen by nobody
 * (execute_form.c). */
struct execute_part {
	char *name;
	struct blob_write write;
};

/* The files that came back, in the store (execute_output.c). */
struct execute_output {
	struct blob_write write; /* the one that comes */
	struct blob *files;
	size_t count, room;
	bool kept;	    /* they are the client's; else clear takes them away again */
	struct err trouble; /* why the store did not take one of them, if that is ours to mend */
};

struct execute {
	struct execute_fields fields;
	struct json_object *ignored; /* array of names, or NULL */
	char *args;		     /* JSON text as the client wrote it, NULL: none */
	struct lease_limits limits;
	int64_t cpu_time_s, output_bytes;
	struct strbuf argv, env;    /* as a JOB frame has them */
	struct execute_part *parts; /* of a form */
	size_t parts_count;
	struct run_input *inputs; /* [0] is the program; paths and descriptors owned */
	struct strbuf *contents;  /* decoded base64 of inputs[i]; both have room for all files and
				     the program */
	size_t inputs_count;
	struct lease lease;
	struct run_result result;
	struct execute_output output;
};

void execute_init(struct execute *ex);
void execute_clear(struct execute *ex);

/* The names, types and bounds of the fields. */
extern const struct schema execute_schema;

/* Body to fields; a 422's list goes to times->problems. */
int execute_read(struct execute *ex, struct request *req, struct route_times *times,
		 struct err *err);
/* What a field table cannot say: caps of the operator, names, sums. Fills limits, argv and env. */
int execute_check(struct execute *ex, struct err *err);
/* Paths and contents into inputs; chooses the program's name. */
int execute_stage(struct execute *ex, struct err *err);
/* The text of member "args" within a JSON object that json_load has accepted; false if there is
 * none by that spelling. */
bool execute_find_args(const char *body, size_t len, const char **out, size_t *out_len);

/* The same for a body that is a multipart form: fields become the JSON values they stand for, files
 * go to ex->parts. */
int execute_form_read(struct execute *ex, struct request *req, struct route_times *times,
		      struct err *err);
void execute_form_clear(struct execute *ex);
/* The tree of a request's fields into ex->fields. */
int execute_take_fields(struct execute *ex, struct json_object *tree, struct route_times *times,
			struct err *err);

void execute_output_init(struct execute_output *o);
void execute_output_clear(struct execute_output *o);
struct run_sink execute_output_sink(struct execute_output *o);

/* api.md's word for how the job ended. */
const char *execute_status(const struct execute *ex);
/* How it ended, where exit code and status leave a question, in a sentence; false: they leave none.
 */
bool execute_explain(const struct execute *ex, char *out, size_t max);
/* Both outputs as the client gets them: valid UTF-8 within the cap, with a marker where something
 * is missing. Returns whether it is. *out is initialised here and the caller's. */
bool execute_text(const struct execute *ex, const struct strbuf *raw, uint64_t total,
		  struct strbuf *out);
/* The answer as JSON, and as a page for a browser. */
int execute_answer(struct execute *ex, struct response *res, struct err *err);
int execute_page(struct execute *ex, struct response *res, struct err *err);
