/*
 * Housekeeping of the store, called by the janitor. A half-written file belongs to nobody when the
 * lock on its content can be had: the kernel drops it with the writer. A file's expiry is in its
 * meta.json, whose time of change repeats it, so that only what looks expired is read. Never
 * removes what a live writer holds, nor a file whose description says that it lives.
 */
#include "store/sweep.h"

#include "base/err.h"
#include "base/ident.h"
#include "store/beneath.h"
#include "store/blob.h"
#include "store/blob_meta.h"
#include "store/quota.h"
#include "store/scan.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct round {
	const struct store *store;
	const char *tenant;
	int64_t now_ms;
	const volatile sig_atomic_t *stop;
	struct sweep *result;
	struct err *err;
	bool failed;
};

static bool going_on(const struct round *r)
{
	return !r->stop || !*r->stop;
}

static int64_t changed_ms(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* Older than `age` by its time of change; the folder itself, not what a link points to. */
static bool dir_is_older(const struct round *r, int dir_fd, const char *name, int64_t age)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       changed_ms(&st) + age < r->now_ms;
}

static void check_expired(struct round *r, const char *id, const struct blob *b)
{
	if (b->expires_ms == 0 || b->expires_ms > r->now_ms)
		return;
	if (blob_discard(r->store, r->tenant, id, NULL) == 0)
		r->result->expired++;
}

static bool sweep_file(void *arg, int dir_fd, const char *id)
{
	struct round *r = arg;
	AUTO(blob) b = { 0 };
	struct stat st;

	if (scan_stat(dir_fd, id, "meta.json", &st) && changed_ms(&st) > r->now_ms)
		return going_on(r);
	if (blob_meta_load(dir_fd, id, &b, NULL) == 0)
		check_expired(r, id, &b);
	else if (dir_is_older(r, dir_fd, id, LIMIT_DAMAGED_MS) &&
		 blob_discard(r->store, r->tenant, id, NULL) == 0)
		r->result->damaged++;
	return going_on(r);
}

/* True if no writer holds tmp/<id>: a writer keeps its content locked from its making to its end.
 */
static bool writer_is_dead(int tmp_fd, const char *id)
{
	char path[IDENT_UUID + 16];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/content", id);
	fd = beneath_file(tmp_fd, path, NULL);
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Asked under the quota's lock, under which a writer makes its folder and locks its content: what
 * is seen here is never half made. */
static bool is_abandoned(const struct round *r, int tmp_fd, const char *id)
{
	AUTO(quota) q = QUOTA_INIT;

	return quota_lock(&q, r->store, r->tenant, NULL) == 0 && writer_is_dead(tmp_fd, id);
}

static bool is_gone(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && strcmp(name + len - 5, ".gone") == 0;
}

static bool sweep_temp(void *arg, int tmp_fd, const char *name)
{
	struct round *r = arg;
	bool dead;

	/* What is being deleted may be cleared away by two at once. What nobody here makes is left
	 * alone. */
	if (is_gone(name))
		dead = true;
	else
		dead = ident_is_uuid(name) && dir_is_older(r, tmp_fd, name, LIMIT_STALE_MS) &&
		       is_abandoned(r, tmp_fd, name);
	if (dead && beneath_remove(tmp_fd, name) == 0)
		r->result->leftovers++;
	return going_on(r);
}

static bool sweep_tenant(void *arg, int dir_fd, const char *tenant)
{
	struct round *r = arg;
	struct stat st;

	if (fstatat(dir_fd, tenant, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return going_on(r);
	r->tenant = tenant;
	scan_temps(r->store, tenant, sweep_temp, r);
	if (going_on(r))
		scan_files(r->store, tenant, sweep_file, r);
	/* The dead took claims with them, which only a count finds. */
	if (going_on(r) && quota_recount(r->store, tenant, r->failed ? NULL : r->err) < 0)
		r->failed = true;
	return going_on(r);
}

int sweep_run(const struct store *s, int64_t now_ms, const volatile sig_atomic_t *stop,
	      struct sweep *out, struct err *err)
{
	struct round r = { .store = s, .now_ms = now_ms, .stop = stop, .result = out, .err = err };

	*out = (struct sweep){ 0 };
	scan_tenants(s, sweep_tenant, &r);
	if (r.failed)
		return -1;
	return quota_resum(s, &out->usage, err);
}
