/*
 * Stored files by their ids: describe, open, remove. Every path begins here, behind blob_id_check,
 * and is opened by beneath.c. Called by the handlers of files and jobs, and by sweeps. It never
 * writes content; that is blob_write.c.
 */
#include "store/blob.h"

#include "base/clock.h"
#include "base/err.h"
#include "store/beneath.h"
#include "store/blob_meta.h"
#include "store/quota.h"
#include "store/scan.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void blob_clear(struct blob *b)
{
	free(b->name);
	*b = (struct blob){ 0 };
}

int blob_id_check(const char *id, struct err *err)
{
	if (ident_is_uuid(id))
		return 0;
	return err_set(err, ERR_BAD_ID,
		       "'%.40s' is not a file id; it must be a UUID of version 4 in lower case.",
		       id);
}

static int not_found(const char *id, int sys, struct err *err)
{
	return err_sys(err, ERR_NOT_FOUND, sys, "The file %s was not found.", id);
}

/* The folder of two digits that holds the id's folder. */
static int open_shelf(const struct store *s, const char *tenant, const char *id, struct err *err)
{
	char two[3] = "";
	int fd;

	if (blob_id_check(id, err) < 0)
		return -1;
	memcpy(two, id, 2);
	fd = store_dir(s, tenant, two, false);
	return fd < 0 ? not_found(id, errno, err) : fd;
}

static int load_live(int shelf_fd, const char *id, struct blob *out, struct err *err)
{
	if (blob_meta_load(shelf_fd, id, out, err) < 0)
		return -1;
	if (out->expires_ms == 0 || out->expires_ms > clock_wall_ms())
		return 0;
	blob_clear(out);
	not_found(id, 0, err);
	return err_cause(err, "it has expired");
}

int blob_stat(const struct store *s, const char *tenant, const char *id, struct blob *out,
	      struct err *err)
{
	AUTO_CLOSE int shelf_fd = open_shelf(s, tenant, id, err);

	return shelf_fd < 0 ? -1 : load_live(shelf_fd, id, out, err);
}

int blob_open(const struct store *s, const char *tenant, const char *id, struct blob *out,
	      int *out_fd, struct err *err)
{
	AUTO_CLOSE int shelf_fd = open_shelf(s, tenant, id, err);
	char path[IDENT_UUID + 16];
	AUTO(blob) b = { 0 };
	off_t size;
	int fd;

	if (shelf_fd < 0 || load_live(shelf_fd, id, &b, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/content", id);
	fd = beneath_file(shelf_fd, path, &size);
	if (fd < 0)
		return not_found(id, errno, err);
	*out = b;
	*out_fd = fd;
	b.name = NULL;
	return 0;
}

/* Out of sight by one rename, together with the counters; what is left is rubbish that anybody may
 * clear away. */
static int move_away(const struct store *s, const char *tenant, const char *id, int shelf_fd,
		     int tmp_fd, struct err *err)
{
	AUTO(quota) q = QUOTA_INIT;
	char gone[IDENT_UUID + 8];
	struct stat st;
	bool counted;

	if (quota_lock(&q, s, tenant, err) < 0)
		return -1;
	counted = scan_stat(shelf_fd, id, "content", &st);
	snprintf(gone, sizeof(gone), "%s.gone", id);
	if (renameat(shelf_fd, id, tmp_fd, gone) < 0)
		return errno == ENOENT ? not_found(id, errno, err)
				       : store_failed(err, errno, "the rename");
	if (counted)
		quota_add(&q, -(int64_t)st.st_size, -1, NULL);
	/* A failure is a wrong sum until the next count, and the file is gone all the same. */
	(void)quota_save(&q, NULL);
	return 0;
}

int blob_discard(const struct store *s, const char *tenant, const char *id, struct err *err)
{
	AUTO_CLOSE int shelf_fd = open_shelf(s, tenant, id, err);
	AUTO_CLOSE int tmp_fd = shelf_fd < 0 ? -1 : store_dir(s, tenant, "tmp", true);
	char gone[IDENT_UUID + 8];

	if (shelf_fd < 0)
		return -1;
	if (tmp_fd < 0)
		return store_failed(err, errno, "tmp");
	if (move_away(s, tenant, id, shelf_fd, tmp_fd, err) < 0)
		return -1;
	snprintf(gone, sizeof(gone), "%s.gone", id);
	/* What cannot be removed now is left to a sweep. */
	(void)beneath_remove(tmp_fd, gone);
	return 0;
}

int blob_delete(const struct store *s, const char *tenant, const char *id, struct err *err)
{
	AUTO(blob) b = { 0 };

	if (blob_stat(s, tenant, id, &b, err) < 0)
		return -1;
	return blob_discard(s, tenant, id, err);
}

int blob_path(const char *tenant, const char *id, char *out, struct err *err)
{
	if (blob_id_check(id, err) < 0)
		return -1;
	if (!store_tenant_ok(tenant))
		return err_set(err, ERR_INTERNAL, "The tenant has no valid name.");
	snprintf(out, BLOB_PATH_BYTES, "%s/%.2s/%s/content", tenant, id, id);
	return 0;
}
