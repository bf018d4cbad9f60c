#pragma once

#include "base/base.h"

struct err;

/*
 * Checks and normalises a relative path of a file in the workspace: "./a", "d//a" and "d/" become
 * "a", "d/a" and "d". Refused with ERR_INVALID and a text that begins with "File paths" or "File
 * path": empty, ".", absolute, ".." anywhere, NUL, invalid UTF-8, control characters, a component
 * over 255 bytes, over LIMIT_PATH_BYTES, deeper than LIMIT_PATH_DEPTH. *out is the caller's.
 */
int path_normalise(const char *path, size_t len, char **out, struct err *err);
/* True if path_normalise accepts it and would leave it as it is (for names that come from a
 * container). */
bool path_is_clean(const char *path, size_t len);
