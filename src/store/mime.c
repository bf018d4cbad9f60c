/*
 * MIME types by libmagic, the one file that includes magic.h. A worker loads the database before
 * its sandbox closes and asks for each file that comes back. The bytes are hostile: only the first
 * few KiB are looked at, and the tests that unpack or walk structures are off.
 */
#include "store/mime.h"

#include "base/err.h"
#include "limits.h"

#include <magic.h>
#include <string.h>

static const char unknown[] = "application/octet-stream";

/* libmagic's handle: one a process, as loading costs a map of the whole database. */
static magic_t cookie;

int mime_setup(struct err *err)
{
	size_t bytes = LIMIT_MIME_BYTES;
	const int off = MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_ELF | MAGIC_NO_CHECK_CDF |
			MAGIC_NO_CHECK_APPTYPE;

	if (cookie)
		return 0;
	cookie = magic_open(MAGIC_MIME_TYPE | off);
	if (cookie && magic_load(cookie, NULL) == 0) {
		magic_setparam(cookie, MAGIC_PARAM_BYTES_MAX, &bytes);
		return 0;
	}
	err_set(err, ERR_INTERNAL, "libmagic cannot load its database");
	err_cause(err, "%s", cookie ? magic_error(cookie) : "magic_open failed");
	mime_end();
	return -1;
}

const char *mime_of(const void *data, size_t len)
{
	const char *type =
		cookie ? magic_buffer(cookie, data, MIN(len, (size_t)LIMIT_MIME_BYTES)) : NULL;

	/* "inode/x-empty" and its like are no types of a content. */
	return type && strchr(type, '/') && strncmp(type, "inode/", 6) != 0 ? type : unknown;
}

void mime_end(void)
{
	if (cookie)
		magic_close(cookie);
	cookie = NULL;
}
