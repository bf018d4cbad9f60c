/*
 * What the cleanup attributes of base.h call at the end of a scope. Both leave errno as it was: a
 * scope may end between a failed call and the look at its errno.
 */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void auto_free(void *pp)
{
	int saved = errno;
	void *p;

	/* Not *(void **)pp: the variable is a pointer of some other type. */
	memcpy(&p, pp, sizeof(p));
	free(p);
	errno = saved;
}

void auto_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}
