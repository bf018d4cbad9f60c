#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* Before the poison at the end: a banned name may not even be declared after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What every file may use: attributes, small helpers, cleanup and the list of banned functions. The
 * guest includes this header too, so it depends on nothing but the C library.
 */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_USE __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Descriptors and heap blocks that end with their scope; always initialised on the same line. */
void auto_free(void *pp);
void auto_close(int *fd);
#define AUTO_FREE __attribute__((cleanup(auto_free)))
#define AUTO_CLOSE __attribute__((cleanup(auto_close)))
/* AUTO(strbuf) b = ...; calls strbuf_clear(&b) at the end of the scope. */
#define AUTO(type) __attribute__((cleanup(type##_clear))) struct type

/* Hands a descriptor over: returns it and leaves -1, so that the cleanup does nothing. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

/* Hands a heap pointer over: returns it and leaves NULL. */
#define steal(pp)                                                                                  \
	({                                                                                         \
		__typeof__(*(pp)) steal_taken = *(pp);                                             \
		*(pp) = NULL;                                                                      \
		steal_taken;                                                                       \
	})

/* Functions that lose a length, an error or thread safety: use what stands beside them. */
#pragma GCC poison strcpy strcat strncat sprintf vsprintf strtok atoi atol atoll gets tmpnam mktemp
