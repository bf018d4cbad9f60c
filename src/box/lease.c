/*
 * A worker's side of the keeper's socket: one connection asks for a container and keeps it until
 * the lease ends. api/ calls it. A keeper that dies while a worker waits is asked again after its
 * restart: nothing of the job has begun then. It never speaks to Docker.
 */
#include "box/lease.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "limits.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_MS 100

static int keeper_gone(const struct err *cause, struct err *err)
{
	err_sys(err, ERR_ENGINE, cause->sys, "the service's sandbox keeper does not answer");
	return err_cause(err, "%s", cause->text);
}

/* Waits until conn can be read or time is up; ERR_CLIENT_GONE when watch_fd hangs up first. conn
 * -1: a pause. */
static int wait_watching(int conn, int watch_fd, int64_t deadline, struct err *err)
{
	struct pollfd fds[2] = { { .fd = conn, .events = POLLIN },
				 { .fd = watch_fd, .events = POLLRDHUP } };

	for (;;) {
		int n = poll(fds, 2, clock_left(deadline));

		if (n < 0 && errno != EINTR)
			return err_sys(err, ERR_INTERNAL, errno,
				       "cannot wait for the sandbox keeper");
		if (n > 0 && fds[1].revents)
			return err_set(err, ERR_CLIENT_GONE,
				       "the client left while its job waited for a container");
		if (n > 0 || clock_left(deadline) == 0)
			return 0;
	}
}

/* The grant of one connection. *out_again: the keeper is away and may be asked once more. */
static int ask_once(struct lease *lease, const char *path, const struct lease_ask *ask,
		    struct lease_grant *out_grant, int watch_fd, int64_t deadline, bool *out_again,
		    struct err *err)
{
	struct err cause = ERR_INIT;

	*out_again = true;
	lease->conn = io_unix_connect(path, SOCK_SEQPACKET, deadline, &cause);
	if (lease->conn < 0 || io_send_fd(lease->conn, ask, sizeof(*ask), -1, &cause))
		return keeper_gone(&cause, err);
	if (wait_watching(lease->conn, watch_fd, deadline, err)) {
		*out_again = false;
		return -1;
	}
	*out_again = clock_left(deadline) > 0;
	if (io_recv_fd(lease->conn, out_grant, sizeof(*out_grant), &lease->stream, deadline,
		       &cause))
		return keeper_gone(&cause, err);
	return 0;
}

/* Asks until there is an answer; a keeper that does not come back within LIMIT_KEEPER_MS is given
 * up. */
static int ask_keeper(struct lease *lease, const char *path, const struct lease_ask *ask,
		      struct lease_grant *out_grant, int watch_fd, struct err *err)
{
	int64_t deadline = clock_ms() + ask->wait_ms + LIMIT_LEASE_MS;
	int64_t gone_since = 0;

	for (;;) {
		int64_t asked = clock_ms();
		bool again;

		if (ask_once(lease, path, ask, out_grant, watch_fd, deadline, &again, err) == 0)
			return 0;
		lease_clear(lease);
		/* A connection that stood for a while means that the keeper had come back in
		 * between. */
		if (gone_since == 0 || clock_ms() - asked > RETRY_MS)
			gone_since = clock_ms();
		if (!again || clock_ms() - gone_since > LIMIT_KEEPER_MS)
			return -1;
		if (wait_watching(-1, watch_fd, MIN(clock_ms() + RETRY_MS, deadline), err))
			return -1;
	}
}

/* What the keeper said becomes the caller's error. */
static int refused(const struct lease_grant *grant, struct err *err)
{
	err_set(err, (enum err_code)grant->code, "%s", grant->text);
	if (err)
		err->retry_after_s = (int)MIN(grant->retry_after_s, 3600u);
	return grant->cause[0] ? err_cause(err, "%s", grant->cause) : -1;
}

int lease_take(struct lease *lease, const char *path, const struct lease_ask *ask, int watch_fd,
	       struct err *err)
{
	struct lease_grant grant;

	if (ask_keeper(lease, path, ask, &grant, watch_fd, err))
		return -1;
	if (!lease_grant_ok(&grant) || (grant.code == ERR_NONE) != (lease->stream >= 0)) {
		lease_clear(lease);
		return err_set(err, ERR_INTERNAL,
			       "the sandbox keeper sent an answer that is not valid");
	}
	if (grant.code != ERR_NONE) {
		lease_clear(lease);
		return refused(&grant, err);
	}
	if (io_set_nonblock(lease->stream, true)) {
		lease_clear(lease);
		return err_sys(err, ERR_INTERNAL, errno, "cannot use the container's stream");
	}
	snprintf(lease->id, sizeof(lease->id), "%s", grant.id);
	snprintf(lease->engine, sizeof(lease->engine), "%s", grant.engine);
	lease->warm = grant.warm != 0;
	lease->queue_ms = grant.queue_ms;
	lease->start_ms = grant.start_ms;
	return 0;
}

void lease_clear(struct lease *lease)
{
	auto_close(&lease->stream);
	auto_close(&lease->conn);
	lease->stream = lease->conn = -1;
}

int lease_ask_status(const char *path, struct lease_status *out, struct err *err)
{
	const struct lease_ask ask = { .magic = LEASE_MAGIC, .kind = LEASE_STATUS };
	int64_t deadline = clock_ms() + LIMIT_STATUS_MS;
	struct err cause = ERR_INIT;
	AUTO_CLOSE int fd = -1;
	AUTO_CLOSE int conn = io_unix_connect(path, SOCK_SEQPACKET, deadline, &cause);

	if (conn < 0 || io_send_fd(conn, &ask, sizeof(ask), -1, &cause) ||
	    io_recv_fd(conn, out, sizeof(*out), &fd, deadline, &cause))
		return keeper_gone(&cause, err);
	if (fd >= 0 || !lease_status_ok(out))
		return err_set(err, ERR_INTERNAL,
			       "the sandbox keeper sent an answer that is not valid");
	return 0;
}
