/* An empty store in the run's temporary folder. What is on disk is asked with ftw, not with the
 * code under test. */
#include "unit/store/store_fixture.h"

#include "base/err.h"
#include "store/mime.h"
#include "support/tool.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <unistd.h>

struct store store = STORE_INIT;
char *store_path;
struct err err;

const struct blob_rules store_rules = { .max_bytes = 1 << 20,
					.max_name = "MAX_FILE_SIZE_MB",
					.ttl_ms = 3600000 };

void store_reopen(const char *path)
{
	static const struct store_limits none;

	store_clear(&store);
	ck_assert_msg(store_open(&store, path, &none, &err) == 0, "%s: %s", err.text, err.cause);
}

void store_setup(void)
{
	store_path = tool_new_dir("store");
	err = (struct err)ERR_INIT;
	ck_assert_msg(mime_setup(&err) == 0, "%s", err.cause);
	store_reopen(store_path);
}

void store_teardown(void)
{
	store_clear(&store);
	mime_end();
	tool_rmtree(store_path);
	free(store_path);
	store_path = NULL;
}

int put(const char *name, const void *data, size_t len, const struct blob_rules *rules,
	struct blob *out)
{
	AUTO(blob_write) w = BLOB_WRITE_INIT;

	err = (struct err)ERR_INIT;
	if (blob_write_open(&w, &store, "t", name, rules, &err) < 0)
		return -1;
	if (blob_write_add(&w, data, len, &err) < 0)
		return -1;
	return blob_write_commit(&w, out, &err);
}

static void pattern(uint8_t *out, size_t from, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)((from + i) * 31 + (from + i) / 251 + seed * 97);
}

int put_bytes(const char *name, size_t len, unsigned seed, struct blob *out)
{
	static const struct blob_rules wide = { .max_bytes = 1LL << 40,
						.max_name = "X",
						.ttl_ms = 3600000 };
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	uint8_t piece[10000];

	err = (struct err)ERR_INIT;
	if (blob_write_open(&w, &store, "t", name, &wide, &err) < 0)
		return -1;
	for (size_t i = 0, n; i < len; i += n) {
		n = MIN(sizeof(piece), len - i);
		pattern(piece, i, n, seed);
		if (blob_write_add(&w, piece, n, &err) < 0)
			return -1;
	}
	return blob_write_commit(&w, out, &err);
}

void put_text(const char *name, const char *text, char *out_id)
{
	AUTO(blob) b = { 0 };

	ck_assert_msg(put(name, text, strlen(text), &store_rules, &b) == 0, "%s; %s", err.text,
		      err.cause);
	memcpy(out_id, b.id, sizeof(b.id));
}

bool same_bytes(const char *id, size_t len, unsigned seed)
{
	AUTO(blob) b = { 0 };
	AUTO_CLOSE int fd = -1;
	uint8_t want[10000], got[10000];

	if (blob_open(&store, "t", id, &b, &fd, &err) < 0 || b.size != (int64_t)len)
		return false;
	for (size_t i = 0, n; i < len; i += n) {
		n = MIN(sizeof(want), len - i);
		pattern(want, i, n, seed);
		if (pread(fd, got, n, (off_t)i) != (ssize_t)n || memcmp(got, want, n) != 0)
			return false;
	}
	return true;
}

static struct usage walked;
static int walked_files;

static int walk(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base;

	if (type != FTW_F || strcmp(name, "usage") == 0)
		return 0;
	walked_files++;
	if (strcmp(name, "content") == 0) {
		walked.bytes += st->st_size;
		walked.files++;
	}
	return 0;
}

int files_on_disk(void)
{
	walked_files = 0;
	(void)nftw(store_path, walk, 16, FTW_PHYS);
	return walked_files;
}

struct usage content_on_disk(void)
{
	walked = (struct usage){ 0 };
	(void)nftw(store_path, walk, 16, FTW_PHYS);
	return walked;
}

void check_counters(void)
{
	struct usage total, tenant, disk;

	ck_assert_msg(quota_read(&store, "t", &total, &tenant, &err) == 0, "%s", err.text);
	disk = content_on_disk();
	ck_assert_int_eq(tenant.bytes, disk.bytes);
	ck_assert_int_eq(tenant.files, disk.files);
	ck_assert_int_eq(total.bytes, disk.bytes);
	ck_assert_int_eq(total.files, disk.files);
}

const char *below(const char *fmt, ...)
{
	static char paths[4][512];
	static unsigned turn;
	char *out = paths[turn++ % 4];
	int n = snprintf(out, sizeof(paths[0]), "%s/", store_path);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + n, sizeof(paths[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	return out;
}
