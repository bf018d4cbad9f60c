/*
 * What the store holds, counted in two small files that all processes share under one lock. Writers
 * claim room before they write, so that many at once can't pass a limit together. The counters are
 * a cache of what the disk says (the sizes of all `content` files), so a process that is killed at
 * any point costs at most a wrong sum until the next count.
 */
#include "store/quota.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/ident.h"
#include "base/num.h"
#include "store/beneath.h"
#include "store/scan.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* "%016x %016x\n": bytes and files. Of one size, so that a write replaces it whole and needs no new
 * block. */
#define RECORD 34
#define LOCK_STEP_MS 2

static int usage_open(int dir_fd)
{
	return beneath_open(dir_fd, "usage", O_RDWR | O_CREAT, STORE_META_MODE);
}

/* False if there is no record or one that cannot be right. */
static bool usage_load(int fd, struct usage *out)
{
	char text[RECORD + 1];
	uint64_t bytes, files;

	if (pread(fd, text, sizeof(text), 0) != RECORD || text[16] != ' ' ||
	    text[RECORD - 1] != '\n')
		return false;
	if (!num_hex(text, 16, &bytes) || !num_hex(text + 17, 16, &files))
		return false;
	if (bytes > INT64_MAX || files > INT64_MAX)
		return false;
	*out = (struct usage){ .bytes = (int64_t)bytes, .files = (int64_t)files };
	return true;
}

static int usage_store(int fd, const struct usage *u)
{
	char text[RECORD + 1];

	snprintf(text, sizeof(text), "%016" PRIx64 " %016" PRIx64 "\n", (uint64_t)u->bytes,
		 (uint64_t)u->files);
	errno = ENOSPC; /* for a short write, which has no errno of its own */
	return pwrite(fd, text, RECORD, 0) == RECORD ? 0 : -1;
}

static bool count_one(void *arg, int dir_fd, const char *name)
{
	struct usage *sum = arg;
	struct stat st;

	/* In tmp there are also "<id>.gone", which no longer count. */
	if (ident_is_uuid(name) && scan_stat(dir_fd, name, "content", &st)) {
		sum->bytes += st.st_size;
		sum->files++;
	}
	return true;
}

static struct usage count_tenant(const struct store *s, const char *tenant)
{
	struct usage sum = { 0 };

	scan_files(s, tenant, count_one, &sum);
	scan_temps(s, tenant, count_one, &sum);
	return sum;
}

struct summing {
	const struct store *store;
	struct usage sum;
};

static bool add_tenant(void *arg, int dir_fd, const char *tenant)
{
	struct summing *a = arg;
	AUTO_CLOSE int tenant_dir = store_dir(a->store, tenant, "", false);
	AUTO_CLOSE int fd = tenant_dir < 0 ? -1 : usage_open(tenant_dir);
	struct usage u;

	(void)dir_fd;
	if (fd < 0)
		return true;
	if (!usage_load(fd, &u)) {
		u = count_tenant(a->store, tenant);
		usage_store(fd, &u);
	}
	a->sum.bytes += u.bytes;
	a->sum.files += u.files;
	return true;
}

/* The lock must be held. */
static struct usage sum_tenants(const struct store *s)
{
	struct summing a = { .store = s };

	scan_tenants(s, add_tenant, &a);
	return a.sum;
}

static int take_lock(int fd, struct err *err)
{
	int64_t deadline = clock_ms() + LIMIT_STORE_LOCK_MS;

	/* Not a blocking flock: a process that was stopped while it held the lock must not stop all
	 * others for good. */
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return store_failed(err, errno, "the lock on usage");
		if (clock_ms() >= deadline)
			return err_set(err, ERR_BUSY, "The file store is busy.");
		clock_wait(clock_ms() + LOCK_STEP_MS);
	}
	return 0;
}

/* The store's lock and its counters, without a tenant's. */
static int lock_total(struct quota *q, const struct store *s, struct err *err)
{
	q->store = s;
	q->lock_fd = usage_open(s->fd);
	if (q->lock_fd < 0)
		return store_failed(err, errno, "usage");
	return take_lock(q->lock_fd, err);
}

int quota_lock(struct quota *q, const struct store *s, const char *tenant, struct err *err)
{
	if (lock_total(q, s, err) < 0)
		return -1;
	q->tenant_dir = store_dir(s, tenant, "", true);
	if (q->tenant_dir < 0)
		return store_failed(err, errno, "the tenant's folder");
	q->tenant_fd = usage_open(q->tenant_dir);
	if (q->tenant_fd < 0)
		return store_failed(err, errno, "the tenant's usage");
	if (!usage_load(q->tenant_fd, &q->tenant))
		q->tenant = count_tenant(s, tenant);
	if (!usage_load(q->lock_fd, &q->total))
		q->total = sum_tenants(s);
	return 0;
}

void quota_clear(struct quota *q)
{
	auto_close(&q->tenant_fd);
	auto_close(&q->tenant_dir);
	auto_close(&q->lock_fd);
	*q = (struct quota)QUOTA_INIT;
}

static int check_bytes(int64_t now, int64_t more, int64_t limit, const char *whose,
		       const char *name, struct err *err)
{
	if (more <= 0 || limit == 0 || now + more <= limit)
		return 0;
	return err_set(err, ERR_STORE_FULL,
		       "The %s is full: %s allows %" PRId64 " bytes and %" PRId64 " are in use.",
		       whose, name ? name : "its quota", limit, now);
}

static int check_files(int64_t now, int64_t more, int64_t limit, const char *whose, struct err *err)
{
	if (more <= 0 || limit == 0 || now + more <= limit)
		return 0;
	return err_set(err, ERR_STORE_FULL,
		       "The %s is full: it holds %" PRId64 " of %" PRId64 " files.", whose, now,
		       limit);
}

int quota_add(struct quota *q, int64_t bytes, int64_t files, struct err *err)
{
	const struct store_limits *l = &q->store->limits;

	static const char mine[] = "caller's file store", all[] = "file store";

	if (check_bytes(q->tenant.bytes, bytes, l->tenant_bytes, mine, l->tenant_name, err) < 0 ||
	    check_files(q->tenant.files, files, l->tenant_files, mine, err) < 0 ||
	    check_bytes(q->total.bytes, bytes, l->total_bytes, all, l->total_name, err) < 0 ||
	    check_files(q->total.files, files, l->total_files, all, err) < 0)
		return -1;
	/* Below zero would be the mark of a crash; it must not give room that is not there. */
	q->tenant.bytes = MAX(0, q->tenant.bytes + bytes);
	q->tenant.files = MAX(0, q->tenant.files + files);
	q->total.bytes = MAX(0, q->total.bytes + bytes);
	q->total.files = MAX(0, q->total.files + files);
	return 0;
}

int64_t quota_room(const struct quota *q)
{
	const struct store_limits *l = &q->store->limits;
	int64_t room = INT64_MAX;

	if (l->tenant_bytes)
		room = MIN(room, l->tenant_bytes - q->tenant.bytes);
	if (l->total_bytes)
		room = MIN(room, l->total_bytes - q->total.bytes);
	return MAX(0, room);
}

int quota_save(struct quota *q, struct err *err)
{
	int sys;

	if (usage_store(q->tenant_fd, &q->tenant) == 0 && usage_store(q->lock_fd, &q->total) == 0)
		return 0;
	sys = errno;
	/* An empty record is unreadable, so whoever locks next counts what there is. Emptying needs
	 * no space. */
	store_failed(err, sys, "the counters");
	if (ftruncate(q->tenant_fd, 0) < 0 || ftruncate(q->lock_fd, 0) < 0)
		err_cause(err, "they cannot be emptied either");
	return -1;
}

int quota_recount(const struct store *s, const char *tenant, struct err *err)
{
	AUTO(quota) q = QUOTA_INIT;
	struct usage counted;

	if (quota_lock(&q, s, tenant, err) < 0)
		return -1;
	counted = count_tenant(s, tenant);
	q.total.bytes = MAX(0, q.total.bytes + counted.bytes - q.tenant.bytes);
	q.total.files = MAX(0, q.total.files + counted.files - q.tenant.files);
	q.tenant = counted;
	return quota_save(&q, err);
}

int quota_resum(const struct store *s, struct usage *out, struct err *err)
{
	AUTO(quota) q = QUOTA_INIT;

	if (lock_total(&q, s, err) < 0)
		return -1;
	q.total = sum_tenants(s);
	if (usage_store(q.lock_fd, &q.total) < 0)
		return store_failed(err, errno, "the counters");
	*out = q.total;
	return 0;
}

int quota_read(const struct store *s, const char *tenant, struct usage *out_total,
	       struct usage *out_tenant, struct err *err)
{
	AUTO(quota) q = QUOTA_INIT;

	if (quota_lock(&q, s, tenant, err) < 0)
		return -1;
	*out_total = q.total;
	*out_tenant = q.tenant;
	return 0;
}
