/*
 * The keeper: the only process that holds Docker. Theory of operation:
 *
 * One poll loop, which never blocks: it knows connections of workers (keeper_client.c), containers
 * (keeper_box.c), and fillers (keeper_filler.c, keeper_task.c), forked for every conversation with
 * the engine, because that may take any time. A connection that asks for a container waits in the
 * queue until a slot is free, then a filler makes one, and its stream goes to the worker. The
 * connection is the lease: when it closes, for whatever reason, the container is doomed and a
 * filler removes it. Everything that may exist in the engine holds its slot until it is seen to be
 * gone or dead. Ready containers wait in the pool (keeper_pool.c): a connection that finds one gets
 * its stream at once, without a filler. What has been given away never comes back.
 *
 * After a start nothing is known: the first sweep lists what carries our label. What runs may be in
 * use by a worker that outlived an earlier keeper; it is adopted: left alone until it ends (its
 * guest ends with the worker's stream) or its deadline has passed. Whatever later sweeps find that
 * nobody knows of is what a killed filler left, and is removed.
 *
 * The keeper reads nothing of clients but fixed-size questions, and nothing of containers at all.
 */
#include "proc/keeper.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf.h"
#include "docker/engine.h"
#include "limits.h"
#include "proc/setup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The slots of poll's array: the signals, the listener, then clients, fillers and warm containers
 * in their tables' order. */
struct watch {
	struct pollfd fds[2 + KEEPER_CLIENTS + KEEPER_FILLERS + KEEPER_BOXES];
	struct keeper_client *clients[KEEPER_CLIENTS];
	struct keeper_filler *fillers[KEEPER_FILLERS];
	struct box *boxes[KEEPER_BOXES];
	nfds_t clients_count, fillers_count, boxes_count;
};

static void drain(struct keeper *k)
{
	struct err err = ERR_INIT;
	if (k->draining)
		return;
	k->draining = true;
	k->drain_until_ms = clock_ms() + LIMIT_STOP_DRAIN_MS;
	err_set(&err, ERR_BUSY, "The service is stopping.");
	admit_refuse_all(k, &err);
	pool_drain(k);
}

/* Jobs go on; what is new follows the new settings. Everything that was learnt about the engine is
 * learnt again. */
static void reload(struct keeper *k)
{
	struct err err = ERR_INIT;
	if (setup_reload(k->setup, &err) < 0) {
		log_err("reload refused, the old configuration stays: %s", err.text);
		return;
	}
	k->volume[0] = '\0';
	k->status_ms = 0;
	k->setup_next_ms = 0;
	k->pool.next_ms = 0;
	admit_check_memory();
}

static void read_signals(struct keeper *k)
{
	struct signalfd_siginfo info;
	while (read(k->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGTERM)
			drain(k);
		else if (info.ssi_signo == SIGHUP)
			reload(k);
		else
			filler_reap(k);
	}
}

/* Why a setup is due: there is none, and either its pause is over or somebody waits and the last
 * failure is not fresh. */
static void keep_setup(struct keeper *k, int64_t now)
{
	if (k->volume[0] || filler_running(k, FILLER_SETUP) || filler_running(k, FILLER_SWEEP) ||
	    k->draining)
		return;
	bool waited_for = admit_waits(k);
	if (now >= k->setup_next_ms || (waited_for && k->setup_failures <= 1))
		filler_setup(k);
	else if (waited_for)
		admit_refuse_all(k, &k->setup_err);
}

static void keep_sweep(struct keeper *k, int64_t now)
{
	if (now < k->sweep_next_ms || filler_running(k, FILLER_SETUP) ||
	    filler_running(k, FILLER_SWEEP))
		return;
	filler_sweep(k);
}

bool keeper_ready(const struct keeper *k)
{
	return k->volume[0] && k->adopted;
}

bool keeper_calm(const struct keeper *k, int64_t now)
{
	return now < k->calm_until_ms && !k->draining && !admit_waits(k) &&
	       box_count(k) * 2 <= conf->jobs;
}

/* Warm containers first; who needs a new one waits for a place among the fillers. */
static void serve_queue(struct keeper *k)
{
	struct keeper_client *c;
	while (keeper_ready(k) && box_count(k) < conf->jobs && (c = admit_next(k))) {
		bool warm = pool_serve(k, c);
		if (!warm && !filler_may_make(k))
			break;
		if (!warm)
			filler_make(k, c);
	}
}

/* Starts what is due; returns when to look again. */
static int64_t keep(struct keeper *k)
{
	int64_t now = clock_ms(), next = now + 60000;
	keep_setup(k, now);
	keep_sweep(k, now);
	serve_queue(k);
	next = client_timers(k, now, next); /* who waits no time at all still gets a free slot */
	next = pool_timers(k, now, next);
	next = box_timers(k, now, next);
	next = filler_timers(k, now, next); /* last: those just started count */
	if (!filler_running(k, FILLER_SETUP) && !filler_running(k, FILLER_SWEEP)) {
		if (!k->volume[0] && !k->draining)
			next = MIN(next, MAX(k->setup_next_ms, now + 1));
		next = MIN(next, MAX(k->sweep_next_ms, now + 1));
	}
	if (k->deaf_until_ms > now)
		next = MIN(next, k->deaf_until_ms);
	return k->draining ? MIN(next, k->drain_until_ms) : next;
}

static nfds_t watch_all(struct keeper *k, struct watch *w)
{
	nfds_t n = 0;
	w->clients_count = w->fillers_count = w->boxes_count = 0;
	w->fds[n++] = (struct pollfd){ .fd = k->signals, .events = POLLIN };
	bool deaf = k->draining || k->deaf_until_ms > clock_ms();
	w->fds[n++] = (struct pollfd){ .fd = deaf ? -1 : k->setup->keeper_fd, .events = POLLIN };
	for (size_t i = 0; i < k->clients_top; i++)
		if (k->clients[i].state != CLIENT_FREE) {
			w->clients[w->clients_count++] = &k->clients[i];
			w->fds[n++] = (struct pollfd){ .fd = k->clients[i].conn, .events = POLLIN };
		}
	for (size_t i = 0; i < KEEPER_FILLERS; i++)
		if (k->fillers[i].used) {
			w->fillers[w->fillers_count++] = &k->fillers[i];
			w->fds[n++] = (struct pollfd){ .fd = k->fillers[i].sock, .events = POLLIN };
		}
	for (size_t i = 0; i < k->boxes_top; i++)
		if (k->boxes[i].state == BOX_WARM) {
			w->boxes[w->boxes_count++] = &k->boxes[i];
			w->fds[n++] = (struct pollfd){ .fd = k->boxes[i].stream, .events = POLLIN };
		}
	return n;
}

/*
 * Clients before fillers: a worker that has gone must not be given a container. An event may free
 * other entries of the tables, so each is still compared with the descriptor that was polled.
 */
static void handle_events(struct keeper *k, const struct watch *w)
{
	const struct pollfd *fd = &w->fds[2];
	for (nfds_t i = 0; i < w->clients_count; i++, fd++)
		if (fd->revents && w->clients[i]->state != CLIENT_FREE &&
		    w->clients[i]->conn == fd->fd)
			client_event(k, w->clients[i]);
	for (nfds_t i = 0; i < w->fillers_count; i++, fd++)
		if (fd->revents && w->fillers[i]->used && w->fillers[i]->sock == fd->fd)
			filler_event(k, w->fillers[i]);
	for (nfds_t i = 0; i < w->boxes_count; i++, fd++)
		if (fd->revents && w->boxes[i]->state == BOX_WARM && w->boxes[i]->stream == fd->fd)
			pool_event(k, w->boxes[i]);
	if (w->fds[1].revents)
		client_accept(k);
	if (w->fds[0].revents)
		read_signals(k);
}

/* A container that the engine did not give up in three attempts is left to the next start's sweep.
 */
static bool worth_waiting(const struct box *b)
{
	if (b->state == BOX_FREE || b->state == BOX_ADOPTED)
		return false;
	return b->state != BOX_DOOMED || b->removing || b->attempts < 3;
}

static bool finished(const struct keeper *k)
{
	if (!k->draining)
		return false;
	if (clock_ms() >= k->drain_until_ms)
		return true;
	for (size_t i = 0; i < k->boxes_top; i++)
		if (worth_waiting(&k->boxes[i]))
			return false;
	return true;
}

static int signals_open(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Each client, filler and warm container takes one, and a job's stream passes through. */
static void raise_descriptors(void)
{
	const rlim_t need = KEEPER_CLIENTS + 2 * KEEPER_FILLERS + KEEPER_BOXES + 64;
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= need)
		return;
	l.rlim_cur = MIN(l.rlim_max, need);
	setrlimit(RLIMIT_NOFILE, &l);
}

int keeper_run(const struct setup *s)
{
	struct keeper *k = xcalloc(1, sizeof(*k));
	struct watch *w = xcalloc(1, sizeof(*w));
	k->setup = s;
	raise_descriptors();
	k->signals = signals_open();
	if (k->signals < 0) {
		log_err("signalfd: %s", strerror(errno));
		return 1;
	}
	engine_prepare();
	admit_check_memory();
	while (!finished(k)) {
		int64_t next = keep(k);
		count_now(k);
		nfds_t n = watch_all(k, w);
		if (poll(w->fds, n, clock_left(next)) > 0)
			handle_events(k, w);
	}
	close(k->signals);
	free(k->pool.ground);
	free(w);
	free(k);
	return 0;
}
