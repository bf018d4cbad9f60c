#pragma once

#include "base/base.h"

struct err;

/*
 * The FastCGI (or plain CGI) side of one request: the only files that include fcgiapp.h are
 * channel.c and those beside it. A worker has one channel and serves one request at a time.
 */
struct channel; /* opaque: FCGX_Request and its descriptor */

struct channel *
channel_new(int listen_fd,
	    bool cgi); /* cgi: this process's stdin, stdout and environment are the request */
void channel_free(struct channel *c);
/*
 * Waits for a request with `unblocked` as the signal mask during the wait (no race with
 * SIGTERM: 7.1 of libfcgi's facts). 1: there is one, 0: stop asked (*stop became true), -1 with
 * err.
 */
int channel_accept(struct channel *c, const volatile int *stop, struct err *err);
const char *channel_param(const struct channel *c, const char *name); /* NULL: not there */
/* Body bytes: > 0, 0 at its end, -1 (ERR_TIMEOUT or ERR_CLIENT_GONE). */
long channel_read(struct channel *c, void *buf, size_t len, struct err *err);
/* From now until the end of the request a read waits for at most ms of silence, not LIMIT_READ_MS.
 */
void channel_hurry(struct channel *c, int ms);
int channel_write(struct channel *c, const void *data, size_t len, struct err *err);
int channel_flush(struct channel *c, struct err *err);
/* The connection's descriptor, for hang-up watching; -1: none (CGI). */
int channel_fd(const struct channel *c);
/* Ends the request: closes the connection. */
void channel_finish(struct channel *c);
