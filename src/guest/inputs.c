/*
 * Writes input files, checking every path again although the worker did, and remembers them. job.c
 * feeds it from frames, files.c asks it at the end. No program runs while files are written, so a
 * path can't change under it; that folders are opened without following links holds all the same.
 */
#include "guest/inputs.h"

#include "guest/names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* A kernel stamps files with its coarse clock: a write within this time of another may leave the
 * same ctime. */
#define STAMP_NS 50000000LL

#define SHOWN(len) (int)MIN(len, (size_t)200)

int inputs_init(struct inputs *in, int work_fd)
{
	in->work_fd = work_fd;
	in->fd = -1;
	return getrandom(in->key, sizeof(in->key), 0) == (ssize_t)sizeof(in->key) ? 0 : -1;
}

bool inputs_writing(const struct inputs *in)
{
	return in->fd >= 0;
}

/* Makes and opens the folders of path; *out_name is its last component. The descriptor is the
 * caller's. */
static int open_folder(int work_fd, char *path, const char **out_name)
{
	int at = fcntl(work_fd, F_DUPFD_CLOEXEC, 0);
	char *name = path;

	for (char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		int next;

		*slash = '\0';
		next = mkdirat(at, name, 0755) < 0 && errno != EEXIST
			       ? -1
			       : openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	*out_name = name;
	return at;
}

static int create(int work_fd, const char *path, size_t len)
{
	char copy[LIMIT_PATH_BYTES + 1];
	const char *name;
	int dir, fd, sys;

	memcpy(copy, path, len);
	copy[len] = '\0';
	dir = open_folder(work_fd, copy, &name);
	if (dir < 0)
		return -1;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	sys = errno;
	close(dir);
	errno = sys;
	return fd;
}

int inputs_begin(struct inputs *in, const char *path, size_t len, uint64_t size, struct why *why)
{
	struct input *row = &in->rows[in->count];

	if (inputs_writing(in))
		return why_set(why, FRAME_FAIL_PROTOCOL, "a file begins before the last one's end");
	if (in->count == INPUTS_MAX)
		return why_set(why, FRAME_FAIL_PROTOCOL, "more than %d files", INPUTS_MAX);
	if (!names_path_ok(path, len))
		return why_set(why, FRAME_FAIL_PATH, "refused path '%.*s'", SHOWN(len), path);
	in->fd = create(in->work_fd, path, len);
	if (in->fd < 0)
		return why_sys(why, FRAME_FAIL_PATH, "creating '%.*s'", SHOWN(len), path);
	*row = (struct input){ .path_at = in->paths_len, .path_len = len, .size = size };
	memcpy(in->paths + in->paths_len, path, len);
	in->paths[in->paths_len + len] = '\0';
	in->paths_len += len + 1;
	in->left = size;
	sip_init(&in->sip, in->key);
	return 0;
}

int inputs_data(struct inputs *in, const void *data, size_t len, struct why *why)
{
	const uint8_t *at = data;

	if (!inputs_writing(in) || len > in->left)
		return why_set(why, FRAME_FAIL_PROTOCOL,
			       "more bytes than the file was said to have");
	in->left -= len;
	sip_add(&in->sip, data, len);
	while (len) {
		ssize_t n = write(in->fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return why_sys(why, FRAME_FAIL_PATH, "writing '%.200s'",
				       in->paths + in->rows[in->count].path_at);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int inputs_end(struct inputs *in, struct why *why)
{
	struct input *row = &in->rows[in->count];
	struct stat st;

	if (!inputs_writing(in) || in->left)
		return why_set(why, FRAME_FAIL_PROTOCOL, "a file ends before its last byte");
	if (fstat(in->fd, &st) < 0)
		return why_sys(why, FRAME_FAIL_PATH, "writing '%.200s'", in->paths + row->path_at);
	close(in->fd);
	in->fd = -1;
	row->hash = sip_end(&in->sip);
	row->ino = st.st_ino;
	row->ctime = st.st_ctim;
	in->count++;
	return 0;
}

void inputs_seal(struct inputs *in)
{
	clock_gettime(CLOCK_REALTIME, &in->sealed);
}

static const struct input *find(const struct inputs *in, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < in->count; i++) {
		const struct input *row = &in->rows[i];

		if (row->path_len == len && memcmp(in->paths + row->path_at, path, len) == 0)
			return row;
	}
	return NULL;
}

static int64_t ns_between(const struct timespec *a, const struct timespec *b)
{
	return (int64_t)(b->tv_sec - a->tv_sec) * 1000000000 + (b->tv_nsec - a->tv_nsec);
}

/* ctime can't be set by a program; it proves something only if it was old when the program started.
 */
static bool untouched(const struct inputs *in, const struct input *row, const struct stat *st)
{
	return st->st_ino == row->ino && ns_between(&row->ctime, &st->st_ctim) == 0 &&
	       ns_between(&row->ctime, &in->sealed) > STAMP_NS;
}

bool inputs_unchanged(const struct inputs *in, const char *path, int fd, const struct stat *st,
		      uint8_t *buf, size_t buf_size)
{
	const struct input *row = find(in, path);
	struct sip sip;
	ssize_t n;

	if (!row || (uint64_t)st->st_size != row->size)
		return false;
	if (untouched(in, row, st))
		return true;
	sip_init(&sip, in->key);
	for (off_t at = 0; (n = pread(fd, buf, buf_size, at)) > 0; at += n)
		sip_add(&sip, buf, (size_t)n);
	return n == 0 && sip_end(&sip) == row->hash;
}
