#pragma once

#include "base/base.h"
#include "base/ident.h"
#include "limits.h"

struct err;

/* clang-format off */
/*
 * The folder FILE_STORAGE_DIR and what is common to all that work in it:
 *
 *   usage                  what is stored, in all and by tenant (quota.c); its lock is the only one
 *   <tenant>/usage
 *   <tenant>/tmp/<id>/     a file that is being written: content, meta.json
 *   <tenant>/tmp/<id>.gone/  one that is being removed
 *   <tenant>/<2>/<id>/     a whole file; <2>: the first two digits of its id
 *
 * A file comes and goes by one rename of its folder, so at any moment it is there with both parts or it
 * is not. Nothing is synced to the disk, by design: after a loss of power the newest files may be gone or
 * short, and a short one counts as gone (blob.c compares sizes).
 */
/* clang-format on */
struct store_limits {
	int64_t total_bytes, tenant_bytes;    /* 0: no limit */
	int64_t total_files, tenant_files;    /* 0: no limit */
	const char *total_name, *tenant_name; /* the settings behind the bytes, for messages */
};

struct store {
	int fd; /* the folder */
	struct store_limits limits;
};

#define STORE_INIT                                                                                 \
	{                                                                                          \
		.fd = -1                                                                           \
	}
/* Folders are passed through but not listed by others, content is readable: who may come in is
 * decided by the top folder alone. */
#define STORE_DIR_MODE 0711
#define STORE_PRIVATE_MODE 0700
#define STORE_CONTENT_MODE 0644
#define STORE_META_MODE 0600

/* Opens an existing folder. Its last component may be a link, which is the operator's word.
 * ERR_INTERNAL. */
int store_open(struct store *s, const char *dir, const struct store_limits *limits,
	       struct err *err);
void store_clear(struct store *s);
/* True for 1 to LIMIT_TENANT_BYTES of a-z 0-9 - _, beginning with a letter or digit. Names of the
 * store itself are not tenants. */
bool store_tenant_ok(const char *tenant);
/*
 * The folder `sub` of a tenant ("tmp", two digits, or "" for the tenant's own). make: it and the
 * tenant are made if they are missing. Returns the descriptor or -1 with errno; a tenant of bad
 * form is EINVAL.
 */
int store_dir(const struct store *s, const char *tenant, const char *sub, bool make);
/* What a failed write means: ERR_STORE_FULL when there is no space, else ERR_INTERNAL with errno
 * for the log. */
int store_failed(struct err *err, int sys, const char *what);
