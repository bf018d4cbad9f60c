#pragma once

#include "base/base.h"

#include <json-c/json.h>

struct err;
struct strbuf;

/*
 * A field table turns a JSON object into a struct. The same rows give the checks, the 422 answer
 * and (through schema_row names) the documents. Strict: "5" is not an integer, true is not 1, 1.0
 * is not an integer, strings hold no NUL unless the row says so. Problems are collected, all at
 * once up to LIMIT_PROBLEMS.
 */
enum schema_type {
	SCHEMA_STRING,	/* char * at offset (caller's, NUL-terminated copy), size_t length at
			   len_offset if SCHEMA_NUL */
	SCHEMA_INT,	/* int64_t */
	SCHEMA_NUMBER,	/* int64_t thousandths (1.5 -> 1500) */
	SCHEMA_BOOL,	/* bool */
	SCHEMA_ANY,	/* struct json_object * (a reference, json_object_put) */
	SCHEMA_LIST,	/* of objects by `sub`: struct schema_list at offset */
	SCHEMA_STRINGS, /* list of strings: struct schema_strings */
	SCHEMA_MAP, /* object of strings: struct schema_strings with name, value, name, value... */
	SCHEMA_OBJECT, /* nested object by `sub`, filled in place at offset */
	SCHEMA_LATER /* a field of a later version: any value but null is ERR_UNAVAILABLE_FIELD, 422
			with `help` */
};
enum {
	SCHEMA_REQUIRED = 1,
	SCHEMA_NULLABLE = 2,
	SCHEMA_NUL = 4 /* NUL bytes allowed, length kept */
};

struct schema_row {
	const char *name;
	enum schema_type type;
	unsigned flags;
	size_t offset, len_offset, set_offset; /* set_offset: bool told whether the field came (0:
						  none; never at offset 0) */
	int64_t min, max;		       /* value, bytes of a string, or count of a list */
	const char *const *one_of;	       /* NULL-ended, strings only */
	const struct schema *sub;
	const char *help; /* SCHEMA_LATER: what to do instead */
};
struct schema {
	const struct schema_row *rows;
	size_t count, size; /* size of the struct */
};
struct schema_list {
	void *items; /* count structs of sub->size */
	size_t count;
};
struct schema_strings {
	char **items;
	size_t *lens;
	size_t count, bytes; /* bytes: sum of lengths */
};
/* What was wrong, in the shape of the 422 answer's `detail`: a JSON array of
 * {"type","loc","msg","input"}. */
struct schema_problems {
	struct json_object *list;    /* array or NULL */
	struct json_object *ignored; /* array of unknown names or NULL */
};

/*
 * Fills *out (zeroed by the caller, defaults set) from the object. -1: err (ERR_INVALID or
 * ERR_UNAVAILABLE_FIELD) names the first problem as "/files/0/path: ..." and problems->list has all
 * of them. Always end with schema_clear and schema_problems_clear.
 */
int schema_fill(const struct schema *s, struct json_object *object, void *out,
		struct schema_problems *problems, struct err *err);
/* Adds one more problem, for checks that a row cannot state. loc as "/files/0/path"; input
 * borrowed, may be NULL. */
void schema_problem(struct schema_problems *problems, const char *type, const char *loc,
		    const char *msg, struct json_object *input);
void schema_clear(const struct schema *s, void *out);
void schema_problems_clear(struct schema_problems *p);
