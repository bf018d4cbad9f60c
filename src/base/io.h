#pragma once

#include "base/base.h"

#include <sys/types.h>

struct err;

/* All deadlines are clock_ms() values; -1: none. Descriptors may be blocking or not. errno's value
 * is kept in err->sys. */

/* Writes everything. ETIMEDOUT in err->sys when the deadline passes. */
int io_write_all(int fd, const void *data, size_t len, int64_t deadline_ms, struct err *err);
/* Reads exactly len bytes; err->sys = ENODATA at an early end. */
int io_read_all(int fd, void *data, size_t len, int64_t deadline_ms, struct err *err);
/* Reads what is there, at most len: > 0 bytes, 0 at the end, -1 with err. */
ssize_t io_read_some(int fd, void *data, size_t len, int64_t deadline_ms, struct err *err);
/* Waits for events (poll's); true if any came before the deadline. */
bool io_wait(int fd, short events, int64_t deadline_ms);
/* One packet with at most one descriptor (fd -1: none) over a Unix socket. */
int io_send_fd(int sock, const void *data, size_t len, int fd, struct err *err);
/*
 * Receives one packet of exactly len bytes. *out_fd is the descriptor that came (close-on-exec) or
 * -1. A packet of other length, with more than one descriptor, or truncated, is an error and
 * nothing stays open. End of connection: err->sys = ENODATA.
 */
int io_recv_fd(int sock, void *data, size_t len, int *out_fd, int64_t deadline_ms, struct err *err);
int io_set_nonblock(int fd, bool on);
/* Connects to a Unix socket of the type (SOCK_STREAM or SOCK_SEQPACKET), close-on-exec; returns the
 * descriptor or -1 with err. */
int io_unix_connect(const char *path, int type, int64_t deadline_ms, struct err *err);
/* Listens on a Unix socket path with the mode given, replacing a stale file; non-blocking,
 * close-on-exec. */
int io_unix_listen(const char *path, int type, int backlog, unsigned mode, struct err *err);
