/*
 * The janitor: removes what a crash left half written beneath FILE_STORAGE_DIR, as SERVICE_USER and
 * under the workers' seccomp filter. Forked by the master. A file is written as "*.tmp" and renamed
 * when it is whole, so an old "*.tmp" has no owner. Never follows a link, never leaves the folder,
 * never speaks to clients or Docker.
 */
#include "proc/janitor.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf.h"
#include "proc/setup.h"
#include "proc/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWEEP_MS 60000	    /* a leftover harms nobody for a minute */
#define LEFTOVER_MS 3600000 /* no upload lasts an hour: nginx and the worker end it long before */
#define DEPTH_MAX 4	    /* tenant / two digits / id / file */

static bool is_leftover(const char *name, const struct stat *st)
{
	size_t len = strlen(name);
	if (!S_ISREG(st->st_mode) || len < 4 || strcmp(name + len - 4, ".tmp") != 0)
		return false;
	return (int64_t)st->st_mtime * 1000 + LEFTOVER_MS < clock_wall_ms();
}

static int sweep_dir(int fd, int depth);

static int sweep_entry(int dir_fd, const char *name, int depth)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (is_leftover(name, &st))
		return unlinkat(dir_fd, name, 0) == 0;
	if (!S_ISDIR(st.st_mode) || depth >= DEPTH_MAX)
		return 0;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? 0 : sweep_dir(fd, depth + 1);
}

/* Takes fd; returns how many files went. */
static int sweep_dir(int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return 0;
	}
	int removed = 0;
	const struct dirent *entry;
	while (!stop_asked() && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			removed += sweep_entry(dirfd(dir), entry->d_name, depth);
	closedir(dir);
	return removed;
}

static void sweep(void)
{
	int fd = open(conf->storage_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		log_warn("cannot open FILE_STORAGE_DIR %s: %s", conf->storage_dir, strerror(errno));
		return;
	}
	int removed = sweep_dir(fd, 1);
	if (removed > 0)
		log_info("removed %d leftover files", removed);
}

int janitor_run(const struct setup *s)
{
	(void)s;
	sigset_t none;
	sigemptyset(&none);
	stop_catch();
	while (!stop_asked()) {
		sweep();
		/* The master left SIGTERM blocked; it is let in only here, so it cannot come
		 * between test and wait. */
		const struct timespec wait = { .tv_sec = SWEEP_MS / 1000 };
		ppoll(NULL, 0, &wait, &none);
	}
	return 0;
}
