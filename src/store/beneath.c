/*
 * Every open of the store goes through here. The store's folders belong to the service, but whoever
 * could plant a link in them must not be able to make it read or write elsewhere; so the kernel is
 * told not to follow any, by openat2 where it has it, else by opening each component with
 * O_NOFOLLOW. Paths come from blob.c, which checks ids first; a ".." is refused here as well.
 */
#include "store/beneath.h"

#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALWAYS (O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* The last component is opened by the caller's flags, the ones before as folders. Takes dir_fd if
 * it is not `root`. */
static int step(int root, int dir_fd, const char *name, bool last, int flags, mode_t mode)
{
	int how =
		last ? flags | ALWAYS | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir_fd, name, how, last ? mode : 0);

	if (dir_fd != root)
		auto_close(&dir_fd);
	return fd;
}

int beneath_walk(int dir_fd, const char *path, int flags, mode_t mode)
{
	char name[LIMIT_NAME_BYTES + 1];
	int fd = dir_fd;

	while (fd >= 0) {
		size_t n = strcspn(path, "/");
		bool last = path[n] == '\0';

		if (n == 0 || n > LIMIT_NAME_BYTES || (n == 2 && memcmp(path, "..", 2) == 0)) {
			if (fd != dir_fd)
				close(fd);
			errno = n > LIMIT_NAME_BYTES ? ENAMETOOLONG : EXDEV;
			return -1;
		}
		memcpy(name, path, n);
		name[n] = '\0';
		fd = step(dir_fd, fd, name, last, flags, mode);
		if (last)
			break;
		path += n + 1;
	}
	/* O_PATH with O_NOFOLLOW opens a link itself; the other flags refuse it. O_DIRECTORY does
	 * with both. */
	return fd;
}

int beneath_open(int dir_fd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | ALWAYS),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* openat2 refuses flags that mean nothing with O_PATH. */
	if (flags & O_PATH)
		how.flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	/* EPERM and ENOSYS: a kernel before 5.6, or a container's filter that does not know the
	 * call. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
		return beneath_walk(dir_fd, path, flags, mode);
	return (int)fd;
}

int beneath_make(int dir_fd, const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	char parent[LIMIT_PATH_BYTES];
	AUTO_CLOSE int parent_fd = -1;
	int fd = beneath_open(dir_fd, path, O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (slash) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		parent_fd = beneath_open(dir_fd, parent, O_RDONLY | O_DIRECTORY, 0);
		if (parent_fd < 0)
			return -1;
	}
	/* EEXIST: another process was faster. */
	if (mkdirat(slash ? parent_fd : dir_fd, slash ? slash + 1 : path, mode) < 0 &&
	    errno != EEXIST)
		return -1;
	fd = beneath_open(dir_fd, path, O_RDONLY | O_DIRECTORY, 0);
	/* The process's umask must not decide who can read the store. */
	if (fd >= 0 && fchmod(fd, mode) < 0) {
		auto_close(&fd);
		return -1;
	}
	return fd;
}

int beneath_file(int dir_fd, const char *path, off_t *out_size)
{
	int fd = beneath_open(dir_fd, path, O_RDONLY, 0);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	if (out_size)
		*out_size = st.st_size;
	return fd;
}

/* Takes fd. */
static void remove_entries(int fd)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		auto_close(&fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}

int beneath_remove(int dir_fd, const char *name)
{
	int fd = beneath_open(dir_fd, name, O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0)
		remove_entries(fd);
	else if (errno == ELOOP || errno == ENOTDIR)
		return unlinkat(dir_fd, name, 0);
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return -1;
	return 0;
}
