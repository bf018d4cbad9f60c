#pragma once

#include "base/base.h"

struct err;

/*
 * Checks the name of an uploaded file, which is kept exactly as it came: 1 to LIMIT_NAME_BYTES
 * bytes of UTF-8, one name (no '/', not "." or ".."), no NUL and no control characters. A backslash
 * is a character like any other. ERR_BAD_NAME names the rule; nothing is ever stripped.
 */
int filename_check(const char *name, size_t len, struct err *err);
