/*
 * Pages of a tenant's files. There is no index that could disagree with the disk: each page is one
 * walk over the folders, whose times of change are the upload times (blob_write.c sets them), and
 * only the files of the page are read. The walk keeps the `limit` + 1 first keys behind the cursor
 * in a heap; the newest file is the first, for that is the one that somebody looks for.
 */
#include "store/blob_list.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "store/blob_meta.h"
#include "store/scan.h"
#include "store/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

struct key {
	int64_t ms;
	char id[IDENT_UUID];
};

/* The first keys seen; keys[0] is the last of them. */
struct heap {
	struct key *keys;
	size_t count, max;
	struct key after;
};

static int compare(const void *pa, const void *pb)
{
	const struct key *a = pa, *b = pb;

	if (a->ms != b->ms)
		return a->ms > b->ms ? -1 : 1;
	return strcmp(b->id, a->id);
}

static void swap(struct key *a, struct key *b)
{
	struct key t = *a;

	*a = *b;
	*b = t;
}

static void sift_up(struct heap *h, size_t i)
{
	while (i > 0 && compare(&h->keys[(i - 1) / 2], &h->keys[i]) < 0) {
		swap(&h->keys[(i - 1) / 2], &h->keys[i]);
		i = (i - 1) / 2;
	}
}

static void sift_down(struct heap *h)
{
	size_t i = 0;

	for (;;) {
		size_t left = 2 * i + 1, big = i;

		if (left < h->count && compare(&h->keys[left], &h->keys[big]) > 0)
			big = left;
		if (left + 1 < h->count && compare(&h->keys[left + 1], &h->keys[big]) > 0)
			big = left + 1;
		if (big == i)
			return;
		swap(&h->keys[i], &h->keys[big]);
		i = big;
	}
}

static bool consider(void *arg, int dir_fd, const char *name)
{
	struct heap *h = arg;
	struct key k = { 0 };
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return true;
	k.ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	snprintf(k.id, sizeof(k.id), "%s", name);
	if (compare(&k, &h->after) <= 0)
		return true;
	if (h->count < h->max) {
		h->keys[h->count] = k;
		sift_up(h, h->count++);
	} else if (compare(&k, &h->keys[0]) < 0) {
		h->keys[0] = k;
		sift_down(h);
	}
	return true;
}

/* "<milliseconds>.<id>" */
static int read_cursor(const char *text, struct key *out, struct err *err)
{
	const char *dot = text ? strchr(text, '.') : NULL;
	char ms[24];

	*out = (struct key){ .ms = INT64_MAX };
	if (!text || !*text)
		return 0;
	if (dot && (size_t)(dot - text) < sizeof(ms) && ident_is_uuid(dot + 1)) {
		snprintf(ms, sizeof(ms), "%.*s", (int)(dot - text), text);
		snprintf(out->id, sizeof(out->id), "%s", dot + 1);
		if (num_int(ms, INT64_MIN, INT64_MAX, &out->ms))
			return 0;
	}
	return err_set(err, ERR_INVALID,
		       "The parameter 'after' is '%.60s'; it must be the `next` of a page.", text);
}

/* Files that were deleted since the walk saw them, and expired ones, are left out. */
static void load_page(struct blob_list *out, const struct store *s, const char *tenant,
		      const struct key *keys, size_t count)
{
	int64_t now = clock_wall_ms();

	out->items = xcalloc(count, sizeof(*out->items));
	for (size_t i = 0; i < count; i++) {
		const char two[3] = { keys[i].id[0], keys[i].id[1], '\0' };
		AUTO_CLOSE int fd = store_dir(s, tenant, two, false);
		struct blob *b = &out->items[out->count];

		if (fd < 0 || blob_meta_load(fd, keys[i].id, b, NULL) < 0)
			continue;
		if (b->expires_ms && b->expires_ms <= now)
			blob_clear(b);
		else
			out->count++;
	}
}

int blob_list_load(struct blob_list *out, const struct store *s, const char *tenant,
		   const char *after, size_t limit, struct err *err)
{
	struct heap h = { .max = MIN(MAX(limit, (size_t)1), (size_t)LIMIT_LIST) + 1 };
	AUTO_FREE struct key *keys = NULL;
	size_t shown;

	if (read_cursor(after, &h.after, err) < 0)
		return -1;
	h.keys = keys = xcalloc(h.max, sizeof(*keys));
	scan_files(s, tenant, consider, &h);
	qsort(keys, h.count, sizeof(*keys), compare);
	shown = MIN(h.count, h.max - 1);
	*out = (struct blob_list){ .limit = h.max - 1 };
	if (h.count > shown)
		snprintf(out->next, sizeof(out->next), "%" PRId64 ".%s", keys[shown - 1].ms,
			 keys[shown - 1].id);
	load_page(out, s, tenant, keys, shown);
	return 0;
}

void blob_list_clear(struct blob_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		blob_clear(&list->items[i]);
	free(list->items);
	*list = (struct blob_list){ 0 };
}
