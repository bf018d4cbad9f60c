#pragma once

#include "base/base.h"
#include "base/strbuf.h"
#include "box/lease.h"
#include "box/run.h"
#include "limits.h"
#include "web/route.h"
#include "wire/schema.h"
#include "wire/sha256.h"

#include <json-c/json.h>

struct err;
struct response;

/* What the files execute*.c share: one call of POST /v1/execute from its body to its answer. */

/* As the fields came (execute_fields.c). */
struct execute_file {
	char *path;
	char *content; /* NULL: not given */
	size_t content_len;
	char *content_base64;
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

/* The files that come back, as JSON text (execute_output.c). */
struct execute_output {
	struct strbuf json; /* the members of `files` */
	size_t start;	    /* where the file that comes begins in it */
	uint64_t total;	    /* bytes of all files taken */
	struct sha256 sha;
	uint8_t head[LIMIT_MIME_BYTES];
	size_t head_len;
	uint8_t rest[3]; /* bytes that make no whole base64 group yet */
	size_t rest_len;
};

struct execute {
	struct execute_fields fields;
	struct json_object *ignored; /* array of names, or NULL */
	char *args;		     /* JSON text as the client wrote it, NULL: none */
	struct lease_limits limits;
	int64_t cpu_time_s, output_bytes;
	struct strbuf argv, env;  /* as a JOB frame has them */
	struct run_input *inputs; /* [0] is the program; paths owned */
	struct strbuf *contents;  /* decoded base64 of inputs[i]; both have room for all files and
				     the program */
	size_t inputs_count;
	struct lease lease;
	struct run_result result;
	struct execute_output output;
};

void execute_init(struct execute *ex);
void execute_clear(struct execute *ex);

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

void execute_output_init(struct execute_output *o, uint64_t files_max);
void execute_output_clear(struct execute_output *o);
struct run_sink execute_output_sink(struct execute_output *o);

/* api.md's word for how the job ended. */
const char *execute_status(const struct execute *ex);
int execute_answer(struct execute *ex, struct response *res, struct err *err);
