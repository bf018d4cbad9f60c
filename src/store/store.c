/*
 * The store's top folder and the way into a tenant's. Everything in store/ comes through here to
 * reach the disk, so a tenant's name is checked in one place before a path is built from it. Holds
 * one descriptor and no state.
 */
#include "store/store.h"

#include "base/err.h"
#include "store/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int store_open(struct store *s, const char *dir, const struct store_limits *limits, struct err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, ERR_INTERNAL, errno, "The file store cannot be opened.");
	*s = (struct store){ .fd = fd, .limits = *limits };
	return 0;
}

void store_clear(struct store *s)
{
	auto_close(&s->fd);
	s->fd = -1;
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool store_tenant_ok(const char *tenant)
{
	size_t len = strnlen(tenant, LIMIT_TENANT_BYTES + 1);

	if (len == 0 || len > LIMIT_TENANT_BYTES || !is_alnum(tenant[0]))
		return false;
	for (size_t i = 1; i < len; i++) {
		if (!is_alnum(tenant[i]) && tenant[i] != '-' && tenant[i] != '_')
			return false;
	}
	return strcmp(tenant, "usage") != 0;
}

int store_dir(const struct store *s, const char *tenant, const char *sub, bool make)
{
	AUTO_CLOSE int fd = -1;
	mode_t mode = strcmp(sub, "tmp") == 0 ? STORE_PRIVATE_MODE : STORE_DIR_MODE;

	if (!store_tenant_ok(tenant)) {
		errno = EINVAL;
		return -1;
	}
	fd = make ? beneath_make(s->fd, tenant, STORE_DIR_MODE)
		  : beneath_open(s->fd, tenant, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0 || !*sub)
		return steal_fd(&fd);
	return make ? beneath_make(fd, sub, mode)
		    : beneath_open(fd, sub, O_RDONLY | O_DIRECTORY, 0);
}

int store_failed(struct err *err, int sys, const char *what)
{
	if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
		err_sys(err, ERR_STORE_FULL, sys, "The file store has no space left.");
	else
		err_sys(err, ERR_INTERNAL, sys, "The file store failed.");
	return err_cause(err, "%s", what);
}
