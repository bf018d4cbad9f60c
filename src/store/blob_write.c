/*
 * How a file comes into the store. Called for uploads and for results of jobs. The content grows in
 * a folder below tmp; the last step is the rename of that folder, so a crash at any point leaves
 * the whole file or rubbish in tmp that the janitor clears away. Nothing is synced (store.h says
 * why).
 *
 * Quota: the content's size on disk is what is claimed, set by ftruncate under the store's lock in
 * steps ahead of the writing, and brought down to the true size at the end. So a count of sizes at
 * any moment is right, claims included.
 */
#include "store/blob_write.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/path.h"
#include "store/beneath.h"
#include "store/blob_meta.h"
#include "store/mime.h"
#include "store/quota.h"
#include "store/store.h"
#include "wire/mimelist.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder tmp/<id> with an empty content, which is locked as long as its descriptor is open. */
static int make_temp(int tmp_fd, const char *id)
{
	AUTO_CLOSE int dir_fd = -1;
	AUTO_CLOSE int fd = -1;

	dir_fd = beneath_make(tmp_fd, id, STORE_DIR_MODE);
	if (dir_fd < 0)
		return -1;
	fd = beneath_open(dir_fd, "content", O_RDWR | O_CREAT | O_EXCL, STORE_CONTENT_MODE);
	if (fd < 0 || fchmod(fd, STORE_CONTENT_MODE) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int sys = errno;

		beneath_remove(tmp_fd, id);
		errno = sys;
		return -1;
	}
	return steal_fd(&fd);
}

static int begin(struct blob_write *w, struct err *err)
{
	AUTO(quota) q = QUOTA_INIT;
	AUTO_CLOSE int tmp_fd = -1;

	if (quota_lock(&q, w->store, w->tenant, err) < 0 || quota_add(&q, 0, 1, err) < 0)
		return -1;
	tmp_fd = store_dir(w->store, w->tenant, "tmp", true);
	if (tmp_fd < 0)
		return store_failed(err, errno, "tmp");
	w->fd = make_temp(tmp_fd, w->blob.id);
	if (w->fd < 0)
		return store_failed(err, errno, "the temporary file");
	return quota_save(&q, err);
}

int blob_write_open(struct blob_write *w, const struct store *s, const char *tenant,
		    const char *name, const struct blob_rules *rules, struct err *err)
{
	*w = (struct blob_write){ .store = s, .rules = *rules, .fd = -1 };
	if (!path_is_clean(name, strlen(name)))
		return err_set(err, ERR_BAD_NAME, "The file name '%.80s' cannot be stored.", name);
	if (!store_tenant_ok(tenant))
		return err_set(err, ERR_INTERNAL, "The tenant has no valid name.");
	snprintf(w->tenant, sizeof(w->tenant), "%s", tenant);
	ident_uuid(w->blob.id);
	w->blob.name = xstrdup(name);
	w->head = xmalloc(LIMIT_MIME_BYTES);
	sha256_init(&w->sum);
	return begin(w, err);
}

/* Room on the quota up to `end` bytes of content, taken in steps so that the lock is rare. */
static int claim(struct blob_write *w, int64_t end, struct err *err)
{
	AUTO(quota) q = QUOTA_INIT;
	int64_t more = end - w->claimed, ahead;

	if (more <= 0)
		return 0;
	if (quota_lock(&q, w->store, w->tenant, err) < 0)
		return -1;
	/* Ahead as much as there is already, so that many small files hold little of what others
	 * could use; no more than there is and than the file may become. */
	ahead = MIN(MAX(w->blob.size, (int64_t)LIMIT_CLAIM_FIRST), (int64_t)LIMIT_CLAIM_BYTES);
	more = MAX(more, MIN(MIN(ahead, quota_room(&q)), w->rules.max_bytes - w->claimed));
	if (quota_add(&q, more, 0, err) < 0)
		return -1;
	if (ftruncate(w->fd, w->claimed + more) < 0)
		return store_failed(err, errno, "ftruncate");
	w->claimed += more;
	return quota_save(&q, err);
}

/* Once, with the first bytes or all there are. */
static int find_type(struct blob_write *w, struct err *err)
{
	if (!w->head)
		return 0;
	/* libmagic has words of its own for nothing, which are no types. */
	snprintf(w->blob.mime, sizeof(w->blob.mime), "%s",
		 w->head_len ? mime_of(w->head, w->head_len) : "application/octet-stream");
	free(steal(&w->head));
	return mimelist_permit(w->rules.allow, w->rules.deny, w->blob.mime, err);
}

static int look_at(struct blob_write *w, const void *data, size_t len, struct err *err)
{
	size_t n;

	if (!w->head)
		return 0;
	n = MIN(len, LIMIT_MIME_BYTES - w->head_len);
	memcpy(w->head + w->head_len, data, n);
	w->head_len += n;
	return w->head_len == LIMIT_MIME_BYTES ? find_type(w, err) : 0;
}

static int write_all(struct blob_write *w, const char *data, size_t len, struct err *err)
{
	while (len) {
		ssize_t n = pwrite(w->fd, data, len, w->blob.size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return store_failed(err, n < 0 ? errno : ENOSPC, "write");
		sha256_add(&w->sum, data, (size_t)n);
		w->blob.size += n;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int blob_write_add(struct blob_write *w, const void *data, size_t len, struct err *err)
{
	if (len == 0)
		return 0;
	if ((int64_t)len > w->rules.max_bytes - w->blob.size)
		return err_set(err, ERR_TOO_LARGE,
			       "The file exceeds maximum size: %s allows %" PRId64 " bytes.",
			       w->rules.max_name, w->rules.max_bytes);
	if (look_at(w, data, len, err) < 0 || claim(w, w->blob.size + (int64_t)len, err) < 0)
		return -1;
	return write_all(w, data, len, err);
}

/* What was claimed ahead goes back: the content's size on disk becomes its true one. */
static int trim(struct blob_write *w, struct quota *q, struct err *err)
{
	if (ftruncate(w->fd, w->blob.size) < 0)
		return store_failed(err, errno, "ftruncate");
	quota_add(q, w->blob.size - w->claimed, 0, NULL);
	w->claimed = w->blob.size;
	return 0;
}

int blob_write_settle(struct blob_write *w, struct err *err)
{
	AUTO(quota) q = QUOTA_INIT;

	if (find_type(w, err) < 0)
		return -1;
	if (w->claimed == w->blob.size)
		return 0;
	if (quota_lock(&q, w->store, w->tenant, err) < 0 || trim(w, &q, err) < 0)
		return -1;
	return quota_save(&q, err);
}

/* What the description needs, and the description, in the folder that is still below tmp. */
static int describe(struct blob_write *w, int dir_fd, struct err *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	struct blob *b = &w->blob;

	sha256_hex(&w->sum, b->sha256);
	b->created_ms = clock_wall_ms();
	b->expires_ms = w->rules.ttl_ms ? b->created_ms + w->rules.ttl_ms : 0;
	if (blob_meta_save(dir_fd, b, err) < 0)
		return -1;
	/* The folder's time is what lists are ordered by. */
	times[1].tv_sec = b->created_ms / 1000;
	times[1].tv_nsec = b->created_ms % 1000 * 1000000;
	if (futimens(dir_fd, times) < 0)
		return store_failed(err, errno, "the folder's time");
	return 0;
}

static int publish(struct blob_write *w, int tmp_fd, struct err *err)
{
	const char two[3] = { w->blob.id[0], w->blob.id[1], '\0' };
	AUTO_CLOSE int shelf_fd = store_dir(w->store, w->tenant, two, true);
	AUTO(quota) q = QUOTA_INIT;
	int sys = 0;

	if (shelf_fd < 0)
		return store_failed(err, errno, "the folder of two digits");
	if (quota_lock(&q, w->store, w->tenant, err) < 0 || trim(w, &q, err) < 0)
		return -1;
	if (renameat(tmp_fd, w->blob.id, shelf_fd, w->blob.id) < 0)
		sys = errno;
	/* Whether the file has moved or not, its size has changed. Failure only makes the next one
	 * count. */
	(void)quota_save(&q, NULL);
	if (sys)
		return store_failed(err, sys, "the rename");
	auto_close(&w->fd);
	w->fd = -1;
	return 0;
}

int blob_write_commit(struct blob_write *w, struct blob *out, struct err *err)
{
	AUTO_CLOSE int tmp_fd = store_dir(w->store, w->tenant, "tmp", false);
	AUTO_CLOSE int dir_fd = -1;

	if (find_type(w, err) < 0)
		return -1;
	if (tmp_fd >= 0)
		dir_fd = beneath_open(tmp_fd, w->blob.id, O_RDONLY | O_DIRECTORY, 0);
	if (dir_fd < 0)
		return store_failed(err, errno, "the temporary folder");
	if (describe(w, dir_fd, err) < 0 || publish(w, tmp_fd, err) < 0)
		return -1;
	if (out) {
		*out = w->blob;
		w->blob.name = NULL;
	}
	return 0;
}

static void abandon(struct blob_write *w)
{
	AUTO_CLOSE int tmp_fd = store_dir(w->store, w->tenant, "tmp", false);
	AUTO(quota) q = QUOTA_INIT;
	struct stat st;

	/* Without the lock the file goes all the same, and the next count puts the counters right.
	 */
	if (quota_lock(&q, w->store, w->tenant, NULL) == 0 && fstat(w->fd, &st) == 0) {
		quota_add(&q, -(int64_t)st.st_size, -1, NULL);
		(void)quota_save(&q, NULL);
	}
	if (tmp_fd >= 0)
		(void)beneath_remove(tmp_fd, w->blob.id);
}

void blob_write_clear(struct blob_write *w)
{
	if (w->fd >= 0)
		abandon(w);
	auto_close(&w->fd);
	free(w->head);
	blob_clear(&w->blob);
	*w = (struct blob_write)BLOB_WRITE_INIT;
}
