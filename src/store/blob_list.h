#pragma once

#include "base/base.h"
#include "store/blob.h"

struct err;
struct store;

#define BLOB_CURSOR_BYTES (IDENT_UUID + 24)

/* Some of a tenant's files, the newest first (by upload time and id). */
struct blob_list {
	struct blob *items;
	size_t count;
	size_t limit;		      /* the most a page was to have */
	char next[BLOB_CURSOR_BYTES]; /* `after` of the page that follows; empty: this was the last
					 one */
};

/*
 * At most `limit` (1 to LIMIT_LIST) files behind the cursor `after` (NULL or empty: from the
 * first). A file that is there during all of a walk over the pages comes exactly once, whatever is
 * added or deleted meanwhile, the file of the cursor included. A page may hold fewer than limit,
 * even none, and have a next one: expired files are passed over. Memory: limit entries, however
 * many files there are. ERR_INVALID: not a cursor.
 */
int blob_list_load(struct blob_list *out, const struct store *s, const char *tenant,
		   const char *after, size_t limit, struct err *err);
void blob_list_clear(struct blob_list *list);
