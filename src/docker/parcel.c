/*
 * The guest's files on their way into the volume: read from disk, hashed, packed as a tar, compared
 * with a tar that the engine sends back. Called by volume.c. It speaks to no engine and writes no
 * file.
 */
#include "docker/parcel.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "limits.h"
#include "wire/sha256.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_DEPTH 4	/* below drivers/ */
#define TAR_BLOCK 10240 /* libarchive pads to it */

static int add_item(struct parcel *p, const char *path, bool folder, char *data, size_t len,
		    struct err *err)
{
	if (p->count == LIMIT_GUEST_FILES || p->bytes + len > LIMIT_GUEST_BYTES) {
		free(data);
		return err_set(err, ERR_INTERNAL, "The guest has more than %d files or %d bytes",
			       LIMIT_GUEST_FILES, LIMIT_GUEST_BYTES);
	}
	if (!p->items)
		p->items = xcalloc(LIMIT_GUEST_FILES, sizeof(*p->items));
	p->items[p->count++] = (struct parcel_item){ xstrdup(path), folder, data, len };
	p->bytes += len;
	return 0;
}

static int read_file(struct parcel *p, const char *full, const char *path, struct err *err)
{
	AUTO_CLOSE int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	AUTO_FREE char *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, ERR_INTERNAL, errno, "The guest's file %s can't be read", full);
	if (!S_ISREG(st.st_mode) || st.st_size > LIMIT_GUEST_BYTES)
		return err_set(err, ERR_INTERNAL, "%s is no regular file of at most %d bytes", full,
			       LIMIT_GUEST_BYTES);
	data = xmalloc((size_t)st.st_size + 1);
	if (io_read_all(fd, data, (size_t)st.st_size, -1, err) < 0)
		return -1;
	return add_item(p, path, false, steal(&data), (size_t)st.st_size, err);
}

static int wanted(const struct dirent *d)
{
	return d->d_name[0] != '.' && strcmp(d->d_name, "__pycache__") != 0;
}

static int read_folder(struct parcel *p, const char *full, const char *path, int depth,
		       struct err *err);

static int read_entry(struct parcel *p, const char *full, const char *path, int depth,
		      struct err *err)
{
	struct stat st;

	if (lstat(full, &st) < 0)
		return err_sys(err, ERR_INTERNAL, errno, "The guest's file %s can't be read", full);
	if (S_ISDIR(st.st_mode))
		return read_folder(p, full, path, depth + 1, err);
	return read_file(p, full, path, err);
}

static int read_folder(struct parcel *p, const char *full, const char *path, int depth,
		       struct err *err)
{
	struct dirent **list = NULL;
	int rc = 0, count;

	if (depth > FOLDER_DEPTH)
		return err_set(err, ERR_INTERNAL, "%s is too deep", full);
	if (add_item(p, path, true, NULL, 0, err) < 0)
		return -1;
	count = scandir(full, &list, wanted, alphasort);
	if (count < 0)
		return err_sys(err, ERR_INTERNAL, errno, "The guest's folder %s can't be read",
			       full);
	for (int i = 0; i < count; i++) {
		if (rc == 0) {
			AUTO_FREE char *below = xasprintf("%s/%s", full, list[i]->d_name);
			AUTO_FREE char *name = xasprintf("%s/%s", path, list[i]->d_name);

			rc = read_entry(p, below, name, depth, err);
		}
		free(list[i]);
	}
	free(list);
	return rc;
}

int parcel_load(struct parcel *p, const char *dir, struct err *err)
{
	AUTO_FREE char *guest = xasprintf("%s/guest", dir);
	AUTO_FREE char *drivers = xasprintf("%s/drivers", dir);

	*p = (struct parcel){ 0 };
	if (read_file(p, guest, "guest", err) < 0 ||
	    read_folder(p, drivers, "drivers", 0, err) < 0) {
		parcel_clear(p);
		return -1;
	}
	return 0;
}

void parcel_clear(struct parcel *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->items[i].path);
		free(p->items[i].data);
	}
	free(p->items);
	*p = (struct parcel){ 0 };
}

/* Modes are part of what the hash stands for: they follow from the item alone. */
static unsigned mode_of(const struct parcel_item *item)
{
	return item->folder || !strcmp(item->path, "guest") ? 0555 : 0444;
}

void parcel_hash(const struct parcel *p, char *out, size_t size)
{
	char hex[SHA256_HEX], head[64];
	struct sha256 s;

	sha256_init(&s);
	for (size_t i = 0; i < p->count; i++) {
		const struct parcel_item *item = &p->items[i];
		/* Lengths first, so that no two lists of files are the same bytes. */
		int n = snprintf(head, sizeof(head), "%zu %o %zu\n", strlen(item->path),
				 mode_of(item), item->len);

		sha256_add(&s, head, (size_t)n);
		sha256_add(&s, item->path, strlen(item->path));
		if (item->len)
			sha256_add(&s, item->data, item->len);
	}
	sha256_hex(&s, hex);
	snprintf(out, size, "%.*s", (int)(size - 1), hex);
}

static int write_item(struct archive *a, struct archive_entry *entry,
		      const struct parcel_item *item)
{
	archive_entry_clear(entry);
	archive_entry_set_pathname(entry, item->path);
	archive_entry_set_filetype(entry, item->folder ? AE_IFDIR : AE_IFREG);
	archive_entry_set_perm(entry, mode_of(item));
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_size(entry, (la_int64_t)item->len);
	if (archive_write_header(a, entry) != ARCHIVE_OK)
		return -1;
	if (item->len && archive_write_data(a, item->data, item->len) != (la_ssize_t)item->len)
		return -1;
	return 0;
}

int parcel_tar(const struct parcel *p, struct strbuf *out, struct err *err)
{
	size_t size = p->bytes + p->count * 2048 + 2 * TAR_BLOCK, used = 0;
	AUTO_FREE char *block = xmalloc(size);
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	int rc = archive_write_set_format_ustar(a);

	if (rc == ARCHIVE_OK)
		rc = archive_write_open_memory(a, block, size, &used);
	for (size_t i = 0; rc == ARCHIVE_OK && i < p->count; i++)
		rc = write_item(a, entry, &p->items[i]);
	if (archive_write_close(a) != ARCHIVE_OK)
		rc = ARCHIVE_FATAL;
	archive_entry_free(entry);
	archive_write_free(a);
	strbuf_add(out, block, used);
	if (rc != ARCHIVE_OK || !strbuf_ok(out))
		return err_set(err, ERR_INTERNAL, "The guest's files could not be packed");
	return 0;
}

/* The path below the archive's top folder, without slashes at its end; NULL for the top folder
 * itself. */
static char *below_top(const char *name)
{
	const char *slash = name ? strchr(name, '/') : NULL;
	size_t len = slash ? strlen(slash + 1) : 0;

	while (len && slash[len] == '/')
		len--;
	return len ? xstrndup(slash + 1, len) : NULL;
}

static const struct parcel_item *find(const struct parcel *p, const char *path)
{
	for (size_t i = 0; i < p->count; i++) {
		if (!strcmp(p->items[i].path, path))
			return &p->items[i];
	}
	return NULL;
}

static bool same_bytes(struct archive *a, const struct parcel_item *item)
{
	AUTO_FREE char *data = xmalloc(item->len + 1);
	size_t used = 0;
	la_ssize_t n = 0;

	/* One byte more than ours is asked for: a longer file is another file. */
	while (used <= item->len &&
	       (n = archive_read_data(a, data + used, item->len + 1 - used)) > 0)
		used += (size_t)n;
	return n >= 0 && used == item->len && (used == 0 || !memcmp(data, item->data, used));
}

static bool same_entry(struct archive *a, struct archive_entry *entry,
		       const struct parcel_item *item)
{
	if (archive_entry_filetype(entry) != (item->folder ? AE_IFDIR : AE_IFREG) ||
	    archive_entry_hardlink(entry))
		return false;
	if ((archive_entry_perm(entry) & 07777) != mode_of(item) || archive_entry_uid(entry) != 0)
		return false;
	return item->folder || same_bytes(a, item);
}

/* Each of ours is met exactly once, and nothing else is there. */
static bool compare_all(const struct parcel *p, struct archive *a)
{
	bool met[LIMIT_GUEST_FILES] = { false };
	struct archive_entry *entry;
	size_t count = 0;
	int rc;

	while ((rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
		AUTO_FREE char *path = below_top(archive_entry_pathname(entry));
		const struct parcel_item *item = path ? find(p, path) : NULL;

		if (!path && archive_entry_filetype(entry) == AE_IFDIR)
			continue;
		if (!item || met[item - p->items] || !same_entry(a, entry, item))
			return false;
		met[item - p->items] = true;
		count++;
	}
	return rc == ARCHIVE_EOF && count == p->count;
}

bool parcel_equals(const struct parcel *p, const void *tar, size_t len)
{
	struct archive *a = archive_read_new();
	bool same = archive_read_support_format_tar(a) == ARCHIVE_OK &&
		    archive_read_open_memory(a, tar, len) == ARCHIVE_OK && compare_all(p, a);

	archive_read_free(a);
	return same;
}
