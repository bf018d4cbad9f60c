#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * Opens a relative path below a folder, never outside of it and never through a symbolic link,
 * whatever someone has put there. flags are open's; O_CLOEXEC, O_NOCTTY and O_NONBLOCK are always
 * added (a FIFO must not hold anybody). Returns the descriptor or -1 with errno: ELOOP or EXDEV for
 * a path that would leave the folder.
 */
int beneath_open(int dir_fd, const char *path, int flags, mode_t mode);
/* The same without openat2(2): component by component. For kernels and filters that lack the call.
 */
int beneath_walk(int dir_fd, const char *path, int flags, mode_t mode);
/* The folder `path` below, made if it is missing (its parents are not), with exactly this mode. */
int beneath_make(int dir_fd, const char *path, mode_t mode);
/* A regular file for reading; anything else is -1 with errno EINVAL. out_size may be NULL. */
int beneath_file(int dir_fd, const char *path, off_t *out_size);
/* Removes the folder `name` directly below, with the plain entries in it. 0 also when it is already
 * gone, -1 with errno. */
int beneath_remove(int dir_fd, const char *name);
