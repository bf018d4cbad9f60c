#pragma once

#include "base/base.h"
#include "limits.h"

struct err;

/* The decoded parameters of an address. All texts are the struct's own and valid UTF-8 without NUL.
 */
struct query {
	char *text; /* names and values, each ended by NUL */
	struct {
		const char *name, *value;
	} items[LIMIT_QUERY_PARAMS];
	size_t count;
};

/*
 * Decodes "a=1&b=x%20y+z" (application/x-www-form-urlencoded, without '?'). ERR_BAD_REQUEST: bad
 * percent-encoding, NUL, no UTF-8, one name twice, more than LIMIT_QUERY_PARAMS. "a" is "a=", an
 * empty piece is skipped. The caller ends it with query_clear, also after a failure.
 */
int query_parse(struct query *q, const char *text, size_t len, struct err *err);
void query_clear(struct query *q);
/* The value of that name (case matters), or NULL. Borrowed from q. */
const char *query_get(const struct query *q, const char *name);
/* A whole number in [min, max]; `fallback` if the name is not there or its value empty. ERR_INVALID
 * names parameter and range. */
int query_int(const struct query *q, const char *name, int64_t min, int64_t max, int64_t fallback,
	      int64_t *out, struct err *err);
