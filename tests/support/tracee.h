#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * Makes a live process do system calls of our choice (ptrace), to see what its filter and its user
 * allow. x86-64 only: tracee_able() says.
 */
struct tracee {
	pid_t pid;
	long place; /* address in its stack that we may write */
};
bool tracee_able(void);
void tracee_attach(struct tracee *t, pid_t pid);
/* Copies bytes into its memory at the place; the address. */
long tracee_put(struct tracee *t, const void *data, size_t len);
/* The raw result: -errno, or a value. -ESHUTDOWN if the call ended the process. */
long tracee_call(struct tracee *t, long nr, long a, long b, long c);
/* Lets it go on as if nothing had been. */
void tracee_detach(struct tracee *t);
