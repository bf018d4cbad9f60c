/*
 * Names of files in a workspace, from clients and from containers. One walk over the components
 * decides; nothing here touches a file system. Whatever passes is relative, has no dot components
 * and no control characters, and fits every file system.
 */
#include "base/path.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "limits.h"

#include <stdlib.h>
#include <string.h>

/* How much of a bad path an error shows. */
#define SHOWN 80
#define ARGS_SHOWN(path, len) (int)MIN(len, (size_t)SHOWN), path

static bool has_control(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return true;
	}
	return false;
}

/* What concerns the path as a whole. */
static int check_whole(const char *path, size_t len, struct err *err)
{
	if (len == 0)
		return err_set(err, ERR_INVALID, "File path is empty; it must name a file.");
	if (len > LIMIT_PATH_BYTES)
		return err_set(err, ERR_INVALID, "File path has %zu bytes; at most %d are allowed.",
			       len, LIMIT_PATH_BYTES);
	if (!utf8_valid(path, len))
		return err_set(err, ERR_INVALID, "File paths must be valid UTF-8.");
	if (has_control(path, len))
		return err_set(err, ERR_INVALID,
			       "File paths must not contain control characters: '%.*s'.",
			       ARGS_SHOWN(path, len));
	if (path[0] == '/')
		return err_set(
			err, ERR_INVALID,
			"File paths must be relative to the workspace, not absolute: '%.*s'.",
			ARGS_SHOWN(path, len));
	return 0;
}

/* One component that is neither empty nor ".". */
static int check_component(const char *name, size_t len, size_t depth, struct err *err)
{
	if (len == 2 && name[0] == '.' && name[1] == '.')
		return err_set(err, ERR_INVALID, "File paths must not contain '..'.");
	if (len > LIMIT_NAME_BYTES)
		return err_set(err, ERR_INVALID,
			       "File path has a component of %zu bytes, '%.*s...'; at most %d are "
			       "allowed.",
			       len, SHOWN, name, LIMIT_NAME_BYTES);
	if (depth > LIMIT_PATH_DEPTH)
		return err_set(err, ERR_INVALID, "File path is more than %d levels deep.",
			       LIMIT_PATH_DEPTH);
	return 0;
}

static int normalise(const char *path, size_t len, struct strbuf *out, struct err *err)
{
	size_t depth = 0, n;

	if (check_whole(path, len, err) < 0)
		return -1;
	for (size_t i = 0; i < len; i += n + 1) {
		const char *slash = memchr(path + i, '/', len - i);

		n = slash ? (size_t)(slash - path) - i : len - i;
		if (n == 0 || (n == 1 && path[i] == '.'))
			continue;
		if (check_component(path + i, n, ++depth, err) < 0)
			return -1;
		if (out->len)
			strbuf_addch(out, '/');
		strbuf_add(out, path + i, n);
	}
	if (depth == 0)
		return err_set(err, ERR_INVALID,
			       "File path '%.*s' names the workspace, not a file in it.",
			       ARGS_SHOWN(path, len));
	return 0;
}

int path_normalise(const char *path, size_t len, char **out, struct err *err)
{
	AUTO(strbuf) sb = STRBUF(LIMIT_PATH_BYTES);

	if (normalise(path, len, &sb, err) < 0)
		return -1;
	*out = xstrndup(sb.buf, sb.len);
	return 0;
}

bool path_is_clean(const char *path, size_t len)
{
	AUTO(strbuf) sb = STRBUF(LIMIT_PATH_BYTES);

	if (normalise(path, len, &sb, NULL) < 0)
		return false;
	return sb.len == len && memcmp(sb.buf, path, len) == 0;
}
