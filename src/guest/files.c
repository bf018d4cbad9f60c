/*
 * Walks the workspace after the end and sends what the program left there. Nothing lives while it
 * walks, yet every name is a hostile program's: links are not followed, only regular files are
 * opened, depth, number and size are bounded, and so is the memory: a folder's names are read in
 * sorted batches, never all at once. serve.c calls it once.
 */
#include "guest/files.h"

#include "guest/guest.h"
#include "guest/names.h"
#include "guest/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_SPACE 256 /* NAME_MAX and the NUL */
#define BATCH 32       /* names that one scan of a folder gives */
#define SKIPS_MAX 1000 /* SKIP frames; then the walk ends, for the service names fewer anyway */
#define SCANNED_MAX 4000000 /* entries looked at in all scans: two seconds of work */

struct level {
	size_t count;
	char names[BATCH][NAME_SPACE];
};

struct walk {
	struct guest *g;
	char path[LIMIT_PATH_BYTES + 1];
	size_t len;
	uint32_t files, skips;
	uint64_t bytes, scanned;
	struct level levels[LIMIT_PATH_DEPTH];
	uint8_t entries[32 << 10]; /* of getdents64 */
};

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static bool over(const struct walk *w)
{
	return w->skips >= SKIPS_MAX || w->scanned >= SCANNED_MAX;
}

static void skip(struct walk *w, enum frame_skip reason)
{
	uint8_t buf[LIMIT_PATH_BYTES + 16];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };
	char path[LIMIT_PATH_BYTES + 1];

	memcpy(path, w->path, w->len);
	names_scrub(path, w->len);
	frame_put_field(&out, path, w->len);
	frame_put_u32(&out, reason);
	serve_room(w->g, out.len);
	if (!out.ok || !out_put(&w->g->out, FRAME_SKIP, buf, out.len))
		guest_quit(w->g, 1);
	w->skips++;
}

/* Sorts name into the batch, dropping the greatest when it is full. */
static void batch_add(struct level *l, const char *name)
{
	size_t at = l->count;

	while (at > 0 && strcmp(l->names[at - 1], name) > 0)
		at--;
	if (at == BATCH)
		return;
	if (l->count == BATCH)
		l->count--;
	memmove(l->names[at + 1], l->names[at], (l->count - at) * NAME_SPACE);
	memcpy(l->names[at], name, strlen(name) + 1);
	l->count++;
}

/* The BATCH least names of the folder that are greater than `after`. */
static void batch_read(struct walk *w, struct level *l, int fd, const char *after)
{
	long n;

	l->count = 0;
	lseek(fd, 0, SEEK_SET);
	while (!over(w) && (n = syscall(SYS_getdents64, fd, w->entries, sizeof(w->entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(w->entries + at);

			at += e->reclen;
			w->scanned++;
			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0 &&
			    strlen(e->name) < NAME_SPACE && strcmp(e->name, after) > 0)
				batch_add(l, e->name);
		}
	}
}

/* A program may have taken its own rights away; the file is ours, and it is a regular file or a
 * folder. */
static int open_own(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES || fchmodat(dir, name, 0700, 0) < 0)
		return fd;
	return openat(dir, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static void send_content(struct walk *w, int fd, uint64_t size)
{
	struct out *out = &w->g->out;

	for (uint64_t at = 0; at < size;) {
		ssize_t n;

		serve_room(w->g, FRAME_MAX);
		n = pread(fd, out_payload(out), MIN((uint64_t)FRAME_MAX, size - at), (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			guest_quit(w->g,
				   1); /* the size was said: better no answer than a wrong one */
		out_commit(out, FRAME_DATA, (size_t)n);
		at += (uint64_t)n;
	}
}

static void send_file(struct walk *w, int fd, uint64_t size)
{
	uint8_t buf[LIMIT_PATH_BYTES + 16];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	frame_put_field(&out, w->path, w->len);
	frame_put_u64(&out, size);
	serve_room(w->g, out.len);
	if (!out.ok || !out_put(&w->g->out, FRAME_FILE, buf, out.len))
		guest_quit(w->g, 1);
	send_content(w, fd, size);
	serve_room(w->g, 0);
	if (!out_put(&w->g->out, FRAME_END, NULL, 0))
		guest_quit(w->g, 1);
	w->files++;
	w->bytes += size;
}

static void consider_file(struct walk *w, int fd, const struct stat *st)
{
	struct guest *g = w->g;
	uint64_t size = (uint64_t)st->st_size;

	if (inputs_unchanged(&g->inputs, w->path, fd, st, g->scratch, sizeof(g->scratch)))
		return;
	if (w->files >= g->job.files_max)
		skip(w, FRAME_SKIP_TOO_MANY);
	else if (size > g->job.files_bytes)
		skip(w, FRAME_SKIP_TOO_LARGE);
	else if (size > g->job.files_bytes - w->bytes)
		skip(w, FRAME_SKIP_TOTAL);
	else
		send_file(w, fd, size);
}

static void visit_file(struct walk *w, int dir, const char *name)
{
	int fd = open_own(dir, name, 0);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		consider_file(w, fd, &st);
	else
		skip(w, FRAME_SKIP_UNREADABLE);
	child_close(&fd);
}

static void walk_folder(struct walk *w, int fd, size_t depth);

static void visit_folder(struct walk *w, int dir, const char *name, size_t depth)
{
	int fd;

	if (depth + 1 >= LIMIT_PATH_DEPTH) {
		skip(w, FRAME_SKIP_DEPTH);
		return;
	}
	fd = open_own(dir, name, O_DIRECTORY);
	if (fd < 0) {
		skip(w, FRAME_SKIP_UNREADABLE);
		return;
	}
	if (faccessat(fd, ".", X_OK, 0) < 0)
		fchmod(fd, 0700);
	walk_folder(w, fd, depth + 1);
	close(fd);
}

static bool is_main(const struct walk *w)
{
	return strcmp(w->path, w->g->main_name) == 0;
}

static void visit(struct walk *w, int dir, const char *name, size_t depth)
{
	struct stat st;

	if (!names_component_ok(name, strlen(name)))
		skip(w, FRAME_SKIP_NAME);
	else if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		skip(w, FRAME_SKIP_UNREADABLE);
	else if (S_ISDIR(st.st_mode))
		visit_folder(w, dir, name, depth);
	else if (S_ISLNK(st.st_mode))
		skip(w, FRAME_SKIP_LINK);
	else if (!S_ISREG(st.st_mode))
		skip(w, FRAME_SKIP_SPECIAL);
	else if (!is_main(w))
		visit_file(w, dir, name);
}

/* Puts name behind the folder's path; a path that gets too long is skipped under its folder's name.
 */
static void enter(struct walk *w, int dir, const char *name, size_t depth)
{
	size_t before = w->len, slash = before ? 1 : 0, len = strlen(name);

	if (before + slash + len > LIMIT_PATH_BYTES) {
		skip(w, FRAME_SKIP_NAME);
		return;
	}
	if (slash)
		w->path[before] = '/';
	memcpy(w->path + before + slash, name, len + 1);
	w->len = before + slash + len;
	visit(w, dir, name, depth);
	w->len = before;
	w->path[before] = '\0';
}

static void walk_folder(struct walk *w, int fd, size_t depth)
{
	struct level *l = &w->levels[depth];
	char last[NAME_SPACE] = "";

	do {
		batch_read(w, l, fd, last);
		for (size_t i = 0; i < l->count && !over(w); i++)
			enter(w, fd, l->names[i], depth);
		if (l->count)
			memcpy(last, l->names[l->count - 1], NAME_SPACE);
	} while (l->count == BATCH && !over(w));
}

void files_send(struct guest *g)
{
	static struct walk w;

	w.g = g;
	fchmod(g->work_fd, 0755);
	walk_folder(&w, g->work_fd, 0);
}
