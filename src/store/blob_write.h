#pragma once

#include "base/base.h"
#include "limits.h"
#include "store/blob.h"
#include "wire/sha256.h"

struct err;
struct store;

/* What is allowed for one file. Texts are borrowed for the writer's life. */
struct blob_rules {
	int64_t max_bytes;
	const char *max_name;	  /* the setting behind it: "MAX_FILE_SIZE_MB" */
	const char *allow, *deny; /* wire/mimelist.h; NULL: everything, nothing */
	int64_t ttl_ms;		  /* 0: never expires */
};

/*
 * Writes one file into the store, piece by piece: counted, hashed, its type found from its first
 * LIMIT_MIME_BYTES, under the quota. Nobody sees it before blob_write_commit; without that,
 * blob_write_clear removes every trace. Between open and the end it holds one descriptor and about
 * 5 KiB, so a request may keep all of its files open and commit them together when its body has
 * proved whole.
 *
 *   AUTO(blob_write) w = BLOB_WRITE_INIT;
 */
struct blob_write {
	const struct store *store;
	struct blob_rules rules;
	char tenant[LIMIT_TENANT_BYTES + 1];
	struct blob blob; /* id and name from the start, the rest is found on the way */
	int fd; /* content, with a lock that tells sweeps that its writer lives; -1: not open */
	int64_t claimed; /* bytes of quota, which is the size the file has on disk */
	struct sha256 sum;
	uint8_t *head; /* for libmagic; NULL once the type is known */
	size_t head_len;
};

#define BLOB_WRITE_INIT                                                                            \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * Begins a file. name: a clean relative path (uploads have passed filename_check before),
 * ERR_BAD_NAME. ERR_STORE_FULL: quota, or no space; ERR_BUSY: the store's lock was not to be had.
 */
int blob_write_open(struct blob_write *w, const struct store *s, const char *tenant,
		    const char *name, const struct blob_rules *rules, struct err *err);
/* ERR_TOO_LARGE over max_bytes, ERR_MEDIA_TYPE as soon as the type is known, ERR_STORE_FULL. After
 * a failure only clear makes sense. */
int blob_write_add(struct blob_write *w, const void *data, size_t len, struct err *err);
/*
 * After the last byte, for who wants to read w->fd before the commit or instead of one: finds the
 * type and cuts the content, claimed ahead until now, to blob.size. ERR_MEDIA_TYPE, ERR_BUSY. To
 * clear or to commit is what may follow.
 */
int blob_write_settle(struct blob_write *w, struct err *err);
/* The file is there, whole, when this returns 0; *out (may be NULL) is the caller's, who ends it
 * with blob_clear. */
int blob_write_commit(struct blob_write *w, struct blob *out, struct err *err);
/* Ends the writer in any state; a file that was not committed leaves nothing behind. */
void blob_write_clear(struct blob_write *w);
