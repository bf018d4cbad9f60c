/*
 * Admission: who may wait for a container, who is next, and for how long others should stay away.
 * keeper.c and its fellows call it. Tenants take turns, so that nobody waits for all of another's
 * jobs; within a tenant it is first come, first served. Trusts no field of a question: limits are
 * compared with the operator's maxima.
 */
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "conf.h"
#include "limits.h"
#include "proc/keeper.h"

#include <poll.h>
#include <string.h>
#include <sys/sysinfo.h>

#define RETRY_MAX_S 60	/* what was usual of late says nothing about more than a minute */
#define LEARN_SHIFT 3	/* each job counts an eighth: eight jobs ago is half forgotten */
#define LEARN_OUTLIER 4 /* one endless job among short ones must not tell all to stay away */
#define WARM_MB 32	/* an interpreter that waits, with a few modules */

int admit_queued(const struct keeper *k)
{
	int n = 0;
	for (size_t i = 0; i < k->clients_top; i++)
		n += k->clients[i].state == CLIENT_QUEUED;
	return n;
}

bool admit_waits(const struct keeper *k)
{
	for (size_t i = 0; i < k->clients_top; i++)
		if (k->clients[i].state == CLIENT_QUEUED)
			return true;
	return false;
}

void admit_refuse_all(struct keeper *k, const struct err *err)
{
	for (size_t i = 0; i < k->clients_top; i++)
		if (k->clients[i].state == CLIENT_QUEUED)
			client_refuse(k, &k->clients[i], err);
}

/*
 * Whether a comes before b: tenants in the order of their names, beginning after the one that was
 * served last, which gives each tenant that waits one turn a round. Of one tenant, by order.
 */
static bool before(const struct keeper *k, const struct keeper_client *a,
		   const struct keeper_client *b)
{
	int names = strcmp(a->ask.tenant, b->ask.tenant);
	if (names == 0)
		return a->order < b->order;
	bool a_later = strcmp(a->ask.tenant, k->turn) > 0;
	bool b_later = strcmp(b->ask.tenant, k->turn) > 0;
	return a_later == b_later ? names < 0 : a_later;
}

struct keeper_client *admit_next(struct keeper *k)
{
	struct keeper_client *first = NULL;
	for (size_t i = 0; i < k->clients_top; i++) {
		struct keeper_client *c = &k->clients[i];
		if (c->state == CLIENT_QUEUED && (!first || before(k, c, first)) &&
		    box_count_of(k, c->peer) < KEEPER_PEER_BOXES)
			first = c;
	}
	return first;
}

void admit_served(struct keeper *k, const struct keeper_client *c)
{
	memcpy(k->turn, c->ask.tenant, sizeof(k->turn));
}

/* A moving average, in which no single job weighs more than a few usual ones. */
void admit_learn(struct keeper *k, int64_t slot_ms)
{
	if (k->slot_usual_ms <= 0) {
		k->slot_usual_ms = MAX(slot_ms, (int64_t)1);
		return;
	}
	int64_t seen = MIN(slot_ms, k->slot_usual_ms * LEARN_OUTLIER);
	int64_t step = (seen - k->slot_usual_ms) / (1 << LEARN_SHIFT);
	k->slot_usual_ms = MAX(k->slot_usual_ms + step, (int64_t)1);
}

int admit_retry_s(const struct keeper *k, int before_him)
{
	int64_t rounds_ms = (before_him + conf->jobs) * k->slot_usual_ms / conf->jobs;
	return (int)MIN(MAX((rounds_ms + 999) / 1000, (int64_t)1), (int64_t)RETRY_MAX_S);
}

/* The operator's maxima; the worker has checked them too, but it is the one who reads hostile
 * bytes. */
static const char *over_limit(const struct lease_ask *ask)
{
	const struct lease_limits *l = &ask->limits;
	if (l->memory_mb < LIMIT_MEMORY_MIN_MB || l->memory_mb > conf->max_memory_mb)
		return "memory_mb";
	if (l->cpu_milli < LIMIT_CPU_MIN_MILLI || l->cpu_milli > conf->max_cpu_milli)
		return "cpus";
	if (l->pids < LIMIT_PIDS_MIN || l->pids > conf->max_pids)
		return "pids";
	if (l->disk_mb < 1 || l->disk_mb > conf->max_disk_mb)
		return "disk_mb";
	if (l->tmp_mb < 1 || (int64_t)l->tmp_mb + l->disk_mb >= l->memory_mb)
		return "tmp_mb";
	if (ask->run_ms > conf->max_timeout_ms + LIMIT_STAGES_MS)
		return "timeout_ms";
	return NULL;
}

/* A worker does one job at a time. What looks like a second one may be the first one's end that has
 * not been read yet. */
static bool peer_has_job(struct keeper *k, const struct keeper_client *asking)
{
	bool has = false;
	for (size_t i = 0; asking->peer && i < k->clients_top; i++) {
		struct keeper_client *c = &k->clients[i];
		if (c == asking || c->peer != asking->peer ||
		    (c->state != CLIENT_QUEUED && c->state != CLIENT_SERVED))
			continue;
		if (io_wait(c->conn, POLLIN, clock_ms()))
			client_close(k, c);
		else
			has = true;
	}
	return has;
}

/* Busy, and when it will probably not be. */
static int busy(const struct keeper *k, int before_him, struct err *err)
{
	err->retry_after_s = admit_retry_s(k, before_him);
	return -1;
}

static int admit(struct keeper *k, const struct keeper_client *c, struct err *err)
{
	const char *over = over_limit(&c->ask);
	if (over)
		return err_set(err, ERR_INVALID, "%s is outside the operator's limits.", over);
	if (k->draining)
		return err_set(err, ERR_BUSY, "The service is stopping.");
	if (peer_has_job(k, c))
		return err_set(err, ERR_BUSY, "This worker has a job already.");
	int waiting = admit_queued(k);
	if (waiting < conf->queue + MAX(0, conf->jobs - box_count(k)))
		return 0;
	err_set(err, ERR_BUSY, "All %lld job slots are taken and %lld jobs wait already.",
		(long long)conf->jobs, (long long)conf->queue);
	return busy(k, waiting, err);
}

void admit_late(const struct keeper *k, const struct keeper_client *c, struct err *err)
{
	err_set(err, ERR_BUSY, "No job slot became free within %lld ms.",
		(long long)(c->until_ms - c->asked_ms));
	busy(k, admit_queued(k) - 1, err);
}

void admit_ask(struct keeper *k, struct keeper_client *c)
{
	struct err err = ERR_INIT;
	if (admit(k, c, &err) < 0) {
		client_refuse(k, c, &err);
		return;
	}
	c->state = CLIENT_QUEUED;
	c->order = k->order++;
	c->until_ms = c->asked_ms + MIN((int64_t)c->ask.wait_ms, conf->queue_timeout_ms);
}

/* Only where the engine is this machine's: another's memory is not ours to see. */
void admit_check_memory(void)
{
	struct sysinfo info;
	if (strncmp(conf->docker_host, "unix:", 5) != 0 || sysinfo(&info) < 0)
		return;
	int64_t have_mb = (int64_t)((uint64_t)info.totalram * info.mem_unit >> 20);
	int64_t need_mb = conf->jobs * conf->memory_mb + conf->pool_size * WARM_MB;
	if (need_mb > have_mb)
		log_warn(
			"%lld jobs of %lld MiB and %lld warm containers may use %lld MiB together, "
			"but this machine has %lld MiB: lower MAX_CONCURRENT_JOBS or "
			"MEMORY_LIMIT_MB, or jobs will be killed for want of memory",
			(long long)conf->jobs, (long long)conf->memory_mb,
			(long long)conf->pool_size, (long long)need_mb, (long long)have_mb);
}
