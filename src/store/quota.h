#pragma once

#include "base/base.h"

struct err;
struct store;

/* What is stored or claimed by writers. */
struct usage {
	int64_t bytes, files;
};

/*
 * The counters of one tenant and of the whole store, held under the store's lock, which all
 * processes share. The sum they stand for is that of st_size of every `content`, half-written ones
 * included, so whoever changes such a size or moves such a file does it while it holds the lock and
 * changes the counters by the same.
 *
 *   AUTO(quota) q = QUOTA_INIT;
 *   quota_lock(&q, ...) ; quota_add(&q, bytes, files, err) ; change the disk ; quota_save(&q, err)
 *
 * The end of the scope unlocks; without quota_save nothing has changed. A process that dies in
 * between leaves a wrong sum until quota_recount.
 */
struct quota {
	const struct store *store;
	int lock_fd, tenant_fd; /* the two usage files */
	int tenant_dir;
	struct usage total, tenant;
};

#define QUOTA_INIT                                                                                 \
	{                                                                                          \
		.lock_fd = -1, .tenant_fd = -1, .tenant_dir = -1                                   \
	}

/* Waits at most LIMIT_STORE_LOCK_MS: ERR_BUSY. The tenant's folder is made if it is missing.
 * Unreadable counters are counted anew. */
int quota_lock(struct quota *q, const struct store *s, const char *tenant, struct err *err);
/* Changes the counters in memory. Growth over a limit of the store is ERR_STORE_FULL, and nothing
 * is changed. */
int quota_add(struct quota *q, int64_t bytes, int64_t files, struct err *err);
/* Bytes that may still be added. */
int64_t quota_room(const struct quota *q);
int quota_save(struct quota *q, struct err *err);
void quota_clear(struct quota *q);

/* Counts the tenant's files anew; quota_resum then makes the whole store's counters the sum of the
 * tenants'. For sweeps. */
int quota_recount(const struct store *s, const char *tenant, struct err *err);
int quota_resum(const struct store *s, struct usage *out, struct err *err);
/* What the counters say of the whole store and of the tenant, for metrics. */
int quota_read(const struct store *s, const char *tenant, struct usage *out_total,
	       struct usage *out_tenant, struct err *err);
