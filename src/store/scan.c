/*
 * The walks over the store's folders that listing, counting and sweeping share. Reads names and
 * sizes only, follows no link, changes nothing. Entries that are not of the store's making are
 * passed over.
 */
#include "store/scan.h"

#include "base/ident.h"
#include "store/beneath.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

/* What a walk passes on, and what it passes over. */
struct filter {
	bool (*wanted)(const char *name);
	scan_fn fn;
	void *arg;
	bool stopped;
};

void scan_entries(int dir_fd, scan_fn fn, void *arg)
{
	/* A descriptor of its own: the position belongs to the description that a dup would share.
	 */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		auto_close(&fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (!fn(arg, dir_fd, entry->d_name))
			break;
	}
	closedir(dir);
}

static bool pass_on(void *arg, int dir_fd, const char *name)
{
	struct filter *f = arg;

	if (f->wanted(name) && !f->fn(f->arg, dir_fd, name))
		f->stopped = true;
	return !f->stopped;
}

void scan_tenants(const struct store *s, scan_fn fn, void *arg)
{
	struct filter f = { .wanted = store_tenant_ok, .fn = fn, .arg = arg };

	scan_entries(s->fd, pass_on, &f);
}

void scan_files(const struct store *s, const char *tenant, scan_fn fn, void *arg)
{
	struct filter f = { .wanted = ident_is_uuid, .fn = fn, .arg = arg };
	AUTO_CLOSE int tenant_fd = store_dir(s, tenant, "", false);
	char name[3];

	for (unsigned i = 0; tenant_fd >= 0 && !f.stopped && i < 256; i++) {
		AUTO_CLOSE int fd = -1;

		snprintf(name, sizeof(name), "%02x", i);
		fd = beneath_open(tenant_fd, name, O_RDONLY | O_DIRECTORY, 0);
		if (fd >= 0)
			scan_entries(fd, pass_on, &f);
	}
}

void scan_temps(const struct store *s, const char *tenant, scan_fn fn, void *arg)
{
	AUTO_CLOSE int fd = store_dir(s, tenant, "tmp", false);

	if (fd >= 0)
		scan_entries(fd, fn, arg);
}

bool scan_stat(int dir_fd, const char *id, const char *part, struct stat *out)
{
	char path[IDENT_UUID + 16];
	AUTO_CLOSE int fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", id, part) >= sizeof(path))
		return false;
	fd = beneath_open(dir_fd, path, O_PATH, 0);
	return fd >= 0 && fstat(fd, out) == 0 && S_ISREG(out->st_mode);
}
