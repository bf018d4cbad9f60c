/*
 * The keeper's connections: workers ask one fixed-shape question each, get their container or a
 * refusal, and hold the connection as their lease. keeper.c calls it; whether and when a job gets a
 * container is decided in keeper_admit.c. Whatever a connection says besides its one question ends
 * it. Reads no byte of a request.
 */
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "conf.h"
#include "limits.h"
#include "metrics.h"
#include "proc/keeper.h"
#include "proc/setup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STATUS_FRESH_MS 2000 /* health probes come every few seconds, pages poll faster */
#define STATUS_ILL_MS 500    /* a fault that is mended should not be told for long */

#define DEAF_MS 100   /* without a free descriptor: until some may have been closed */
#define QUIET_MS 1000 /* between two lines about refused connections */

/* Why the connection may not be ours; NULL when it may. *out_pid: whom to count it for. */
static const char *peer_refused(const struct keeper *k, int conn, pid_t *out_pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return "who connects is not known";
	if (peer.uid != 0 && peer.uid != k->setup->uid)
		return "a foreign user";
	*out_pid = peer.uid == 0 ? 0 : peer.pid;
	int n = 0;
	for (size_t i = 0; *out_pid && i < k->clients_top; i++)
		n += k->clients[i].state != CLIENT_FREE && k->clients[i].peer == *out_pid;
	return n < KEEPER_PEER_CONNS ? NULL : "too many of one process";
}

static struct keeper_client *free_client(struct keeper *k)
{
	for (size_t i = 0; i < KEEPER_CLIENTS; i++)
		if (k->clients[i].state == CLIENT_FREE)
			return &k->clients[i];
	return NULL;
}

static void refuse_connection(struct keeper *k, int conn, const char *why)
{
	close(conn);
	if (clock_ms() < k->quiet_until_ms)
		return;
	k->quiet_until_ms = clock_ms() + QUIET_MS;
	log_warn("a connection was refused: %s", why);
}

void client_close(struct keeper *k, struct keeper_client *c)
{
	close(c->conn);
	if (c->box) {
		c->box->client = NULL;
		/* One in the making is doomed when its filler reports. */
		if (c->box->state == BOX_LEASED) {
			k->calm_until_ms = MAX(k->calm_until_ms, clock_ms() + LIMIT_ANSWER_MS);
			box_doom(k, c->box);
		}
	}
	*c = (struct keeper_client){ .state = CLIENT_FREE, .conn = -1 };
	while (k->clients_top > 0 && k->clients[k->clients_top - 1].state == CLIENT_FREE)
		k->clients_top--;
}

void client_refuse(struct keeper *k, struct keeper_client *c, const struct err *err)
{
	struct lease_grant grant = { .magic = LEASE_MAGIC, .code = err->code };
	struct err ignored = ERR_INIT;
	grant.retry_after_s = (uint32_t)MAX(err->retry_after_s, 0);
	snprintf(grant.text, sizeof(grant.text), "%s", err->text);
	snprintf(grant.cause, sizeof(grant.cause), "%s", err->cause);
	io_send_fd(c->conn, &grant, sizeof(grant), -1, &ignored);
	client_close(k, c);
}

int client_grant(struct keeper *k, struct keeper_client *c, int stream, bool warm)
{
	int64_t now = clock_ms();
	struct lease_grant grant = { .magic = LEASE_MAGIC, .code = ERR_NONE, .warm = warm };
	struct err err = ERR_INIT;
	metrics_add(METRIC_POOL_TAKES, warm ? "hit" : "miss", NULL, 1);
	c->box->state = BOX_LEASED;
	k->calm_until_ms = now + LIMIT_CALM_MS;
	c->box->next_ms = now + c->ask.run_ms + LIMIT_HOLD_MS;
	grant.queue_ms = (uint32_t)(c->making_ms - c->asked_ms);
	grant.start_ms = (uint32_t)(now - c->making_ms);
	memcpy(grant.id, c->box->id, sizeof(grant.id));
	memcpy(grant.engine, k->engine, sizeof(grant.engine));
	int r = io_send_fd(c->conn, &grant, sizeof(grant), stream, &err);
	/* The worker's copy must be the last one, or the guest would never see the end of its
	 * input. */
	close(stream);
	if (r < 0)
		client_close(k, c);
	return r;
}

static void answer_status(struct keeper *k, struct keeper_client *c)
{
	struct lease_status answer = k->status;
	struct err ignored = ERR_INIT;
	answer.magic = LEASE_MAGIC;
	answer.slots = (uint32_t)conf->jobs;
	answer.leased = (uint32_t)box_count(k);
	answer.queued = (uint32_t)admit_queued(k);
	io_send_fd(c->conn, &answer, sizeof(answer), -1, &ignored);
	client_close(k, c);
}

void client_status_all(struct keeper *k)
{
	for (size_t i = 0; i < k->clients_top; i++)
		if (k->clients[i].state == CLIENT_STATUS)
			answer_status(k, &k->clients[i]);
}

static void ask_status(struct keeper *k, struct keeper_client *c)
{
	int64_t fresh = k->status.problem[0] ? STATUS_ILL_MS : STATUS_FRESH_MS;
	if (k->status_ms > 0 && clock_ms() - k->status_ms < fresh) {
		answer_status(k, c);
		return;
	}
	c->state = CLIENT_STATUS;
	c->until_ms = clock_ms() + LIMIT_STATUS_MS;
	if (!filler_running(k, FILLER_STATUS))
		filler_status(k);
}

static void read_ask(struct keeper *k, struct keeper_client *c)
{
	struct err err = ERR_INIT;
	int fd = -1;
	if (io_recv_fd(c->conn, &c->ask, sizeof(c->ask), &fd, clock_ms(), &err) < 0 || fd >= 0 ||
	    !lease_ask_ok(&c->ask)) {
		if (fd >= 0)
			close(fd);
		client_close(k, c);
		return;
	}
	if (c->ask.kind == LEASE_STATUS)
		ask_status(k, c);
	else
		admit_ask(k, c);
}

/* After its question a connection has only one thing to say: that it ends. */
void client_event(struct keeper *k, struct keeper_client *c)
{
	if (c->state == CLIENT_ASKING)
		read_ask(k, c);
	else
		client_close(k, c);
}

void client_accept(struct keeper *k)
{
	int64_t now = clock_ms();
	int conn = accept4(k->setup->keeper_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (conn < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED)
			k->deaf_until_ms = now + DEAF_MS;
		return;
	}
	pid_t peer = 0;
	struct keeper_client *c = free_client(k);
	const char *why = c ? peer_refused(k, conn, &peer) : "too many in all";
	if (why) {
		refuse_connection(k, conn, why);
		return;
	}
	*c = (struct keeper_client){ .state = CLIENT_ASKING, .conn = conn, .peer = peer };
	c->asked_ms = now;
	c->until_ms = now + LIMIT_ASK_MS;
	k->clients_top = MAX(k->clients_top, (size_t)(c - k->clients) + 1);
	/* Its question comes with it, as a rule. */
	if (io_wait(conn, POLLIN, now))
		client_event(k, c);
}

static void timed_out(struct keeper *k, struct keeper_client *c)
{
	struct err err = ERR_INIT;
	if (c->state != CLIENT_QUEUED) {
		client_close(k, c);
		return;
	}
	if (keeper_ready(k))
		admit_late(k, c, &err);
	else if (k->setup_failures > 0)
		err = k->setup_err;
	else
		err_set(&err, ERR_ENGINE, "The Docker engine was not ready within %d s.",
			LIMIT_SETUP_MS / 1000);
	client_refuse(k, c, &err);
}

/* The time to wait for a slot does not count while the engine is being prepared, as after each
 * start; that has its own limit, and a failure of it refuses all that wait. */
static int64_t due_ms(const struct keeper *k, const struct keeper_client *c)
{
	if (c->state != CLIENT_QUEUED || keeper_ready(k) || k->setup_failures > 0)
		return c->until_ms;
	return MAX(c->until_ms, c->asked_ms + LIMIT_SETUP_MS);
}

int64_t client_timers(struct keeper *k, int64_t now, int64_t next)
{
	for (size_t i = 0; i < k->clients_top; i++) {
		struct keeper_client *c = &k->clients[i];
		if (c->state == CLIENT_FREE || c->state == CLIENT_SERVED)
			continue;
		int64_t due = due_ms(k, c);
		if (due <= now)
			timed_out(k, c);
		else
			next = MIN(next, due);
	}
	return next;
}
