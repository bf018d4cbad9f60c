#pragma once

#include "base/base.h"
#include "base/ident.h"
#include "limits.h"
#include "wire/sha256.h"

struct err;
struct store;

/* One stored file, as its meta.json describes it. */
struct blob {
	char id[IDENT_UUID];
	char *name; /* as given: a clean relative path (base/path.h), mostly one name; the struct's
		       own */
	int64_t size;
	char sha256[SHA256_HEX];
	char mime[LIMIT_MIME_TYPE_BYTES + 1];
	int64_t created_ms; /* since 1970 */
	int64_t expires_ms; /* 0: never */
};

void blob_clear(struct blob *b);

/* The only form of an id, in lower case; checked before any path is built from one. ERR_BAD_ID. */
int blob_id_check(const char *id, struct err *err);
/*
 * Describes a stored file; the caller ends *out with blob_clear. ERR_BAD_ID; ERR_NOT_FOUND:
 * unknown, another tenant's, expired, or damaged (the cause says which).
 */
int blob_stat(const struct store *s, const char *tenant, const char *id, struct blob *out,
	      struct err *err);
/* The same, with a descriptor for reading the content (a regular file of out->size bytes). It stays
 * readable when the file is deleted. */
int blob_open(const struct store *s, const char *tenant, const char *id, struct blob *out,
	      int *out_fd, struct err *err);
/* ERR_NOT_FOUND as for blob_stat, so of two that delete one file at once, one gets it. */
int blob_delete(const struct store *s, const char *tenant, const char *id, struct err *err);
/* Removes a file in any state, damaged and expired ones too: for sweeps and for those who undo
 * their own writes. */
int blob_discard(const struct store *s, const char *tenant, const char *id, struct err *err);
/* Where the content is, below the store's folder: "<tenant>/<2>/<id>/content". For the web server.
 * ERR_BAD_ID. */
#define BLOB_PATH_BYTES (LIMIT_TENANT_BYTES + IDENT_UUID + 16)
int blob_path(const char *tenant, const char *id, char *out, struct err *err);
