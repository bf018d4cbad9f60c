#pragma once

#include "base/base.h"

/* Heap blocks or the end of the process (exit status 70): a request's sizes are bounded, so this is
 * the machine's exhaustion. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len); /* copies exactly len bytes and adds NUL */
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);
