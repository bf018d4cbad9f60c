#pragma once

#include "base/strbuf.h"
#include "wire/schema.h"

struct err;

/* What schema.c (the walk), schema_value.c (one value) and schema_problem.c (the list) share.
 * Nobody else includes it. */

struct fill {
	struct schema_problems *problems;
	struct strbuf loc; /* of the value at hand: "/files/0/path" */
	struct err *err;
	bool failed;
};

/* A problem of the value at f->loc; the first one becomes the error. ctx ({"ge": 1}; NULL: none) is
 * taken over. */
void schema_report(struct fill *f, const char *type, const char *msg, struct json_object *input,
		   struct json_object *ctx);

/* Each stores the value or reports one problem. `at` is the member's place, `out` the struct's. */
void schema_fill_int(struct fill *f, const struct schema_row *row, struct json_object *v, void *at);
void schema_fill_number(struct fill *f, const struct schema_row *row, struct json_object *v,
			void *at);
void schema_fill_string(struct fill *f, const struct schema_row *row, struct json_object *v,
			void *out);
void schema_fill_bool(struct fill *f, struct json_object *v, void *at);
/* True if v is a string without NUL, unless the row allows it; else a problem is reported. */
bool schema_string_ok(struct fill *f, const struct schema_row *row, struct json_object *v);
/* True if the number of items is within the row's range; else a problem is reported. `what`:
 * "List". */
bool schema_count_ok(struct fill *f, const struct schema_row *row, const char *what, size_t count,
		     struct json_object *v);

/* As schema_problem, with a ctx that is taken over. */
void schema_problem_add(struct schema_problems *problems, const char *type, const char *loc,
			const char *msg, struct json_object *input, struct json_object *ctx);
/* Remembers a name that no row has; only so many. */
void schema_ignore(struct schema_problems *problems, const char *name);
/* Appends "/name" with JSON Pointer's escapes (RFC 6901), long names shortened. */
void schema_loc_add(struct strbuf *loc, const char *name);
