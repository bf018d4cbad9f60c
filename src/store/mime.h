#pragma once

#include "base/base.h"

struct err;

/*
 * The MIME type of bytes by libmagic. mime_setup loads its database and must come before the
 * process gives up opening files; without it mime_of answers "application/octet-stream" for
 * everything.
 */
int mime_setup(struct err *err);
/* Looks at the first LIMIT_MIME_BYTES at most. The text is valid until the next call. Never NULL.
 */
const char *mime_of(const void *data, size_t len);
void mime_end(void);
