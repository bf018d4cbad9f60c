#pragma once

#include "store/blob.h"
#include "store/blob_list.h"
#include "store/blob_write.h"
#include "store/quota.h"
#include "store/store.h"
#include "store/sweep.h"

/* An empty store for one test, and questions about what is really on its disk. */

extern struct store store;
extern char *store_path; /* its folder */
extern struct err err;

/* Setup and teardown of a checked fixture. store.limits may be changed by a test at any time. */
void store_setup(void);
void store_teardown(void);
/* Opens a store in the folder, in place of the one that is open. */
void store_reopen(const char *path);

/* 1 MiB, no MIME rules, one hour. */
extern const struct blob_rules store_rules;
/* Writes a file whole; 0 or -1 with err. *out may be NULL. */
int put(const char *name, const void *data, size_t len, const struct blob_rules *rules,
	struct blob *out);
/* The same with `len` bytes of a pattern that depends on seed, given in pieces of 10,000. */
int put_bytes(const char *name, size_t len, unsigned seed, struct blob *out);
/* A text, by the default rules, which must succeed; the id is copied to out. */
void put_text(const char *name, const char *text, char *out_id);
/* True if the stored content is that of put_bytes. */
bool same_bytes(const char *id, size_t len, unsigned seed);

/* Regular files below the store, but for the counters. */
int files_on_disk(void);
/* Sum and number of all `content` files on the disk, half-written ones included. */
struct usage content_on_disk(void);
/* Fails the test unless the counters are what the disk says. */
void check_counters(void);
/* A path below the store; valid until the next but three calls. */
const char *below(const char *fmt, ...) PRINTF_LIKE(1, 2);
