/*
 * Heap blocks that are there or the process is not. Every size a client can influence is bounded
 * before it comes here, so a failure means that the machine is out of memory: the process ends with
 * status 70 (EX_SOFTWARE) and the master makes another one. Called by everybody but the guest; it
 * never returns NULL.
 */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALLOC_EXIT 70

static NORETURN void out_of_memory(void)
{
	static const char note[] = "belljar: out of memory\n";

	/* _exit: the handlers of a process without memory had better not run. */
	if (write(STDERR_FILENO, note, sizeof(note) - 1) < 0)
		_exit(ALLOC_EXIT);
	_exit(ALLOC_EXIT);
}

static void *present(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

/* malloc(0) may be NULL, which would look like exhaustion. */
void *xmalloc(size_t size)
{
	return present(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return present(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	return present(realloc(p, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t len)
{
	char *copy = xmalloc(len + 1);

	if (len)
		memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *xasprintf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory();
	return text;
}
