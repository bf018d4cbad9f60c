/* What pool_fixture.h says. */
#include "unit/proc/pool_fixture.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "proc/setup.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct keeper *pool_k;
static struct setup setup;
struct conf pool_conf;
static unsigned made; /* boxes */

void pool_open(void)
{
	struct err err = ERR_INIT;
	setenv("DOCKER_HOST", "unix:///nonexistent/engine.sock", 1);
	setenv("LOG_LEVEL", "error", 1);
	ck_assert_int_eq(conf_load(&pool_conf, NULL, &err), 0);
	conf_use(&pool_conf);
	setup_log();
	setup = (struct setup)SETUP_INIT;
	pool_k = xcalloc(1, sizeof(*pool_k));
	pool_k->setup = &setup;
	pool_k->adopted = true;
	snprintf(pool_k->volume, sizeof(pool_k->volume), "v");
	pool_learn(pool_k);
	made = 0;
}

static void end_fillers(void)
{
	for (size_t i = 0; i < KEEPER_FILLERS; i++) {
		struct keeper_filler *f = &pool_k->fillers[i];
		if (f->used)
			close(f->sock);
		if (f->pid > 0) {
			kill(f->pid, SIGKILL);
			waitpid(f->pid, NULL, 0);
		}
		*f = (struct keeper_filler){ .sock = -1 };
	}
}

void pool_close(void)
{
	end_fillers();
	free(pool_k->pool.ground);
	free(pool_k);
	conf_use(NULL);
	conf_clear(&pool_conf);
	unsetenv("DOCKER_HOST");
	unsetenv("LOG_LEVEL");
}

struct lease_limits pool_usual(void)
{
	return (struct lease_limits){
		.memory_mb = (uint32_t)pool_conf.memory_mb,
		.cpu_milli = (uint32_t)pool_conf.cpu_milli,
		.pids = (uint32_t)pool_conf.pids,
		.disk_mb = (uint32_t)conf_disk_mb(&pool_conf, pool_conf.memory_mb),
		.tmp_mb = (uint32_t)conf_tmp_mb(&pool_conf, pool_conf.memory_mb)
	};
}

/* A box as the pool makes it; out_end: the container's side of its stream, NULL for WARMING. */
struct box *pool_add(enum box_state state, int *out_end)
{
	char id[65];
	int pair[2];
	snprintf(id, sizeof(id), "%064x", ++made);
	struct box *b = box_new(pool_k, state, id);
	b->limits = pool_usual();
	b->made = pool_k->pool.made;
	b->born_ms = clock_ms();
	if (out_end) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		b->stream = pair[0];
		*out_end = pair[1];
	}
	return b;
}

struct box *pool_add_warm(void)
{
	int end;
	return pool_add(BOX_WARM, &end);
}

/* A queued client; out_end: the worker's side of its connection. */
struct keeper_client *pool_queue(const char *tenant, struct lease_limits limits, int *out_end)
{
	struct keeper_client *client = &pool_k->clients[pool_k->clients_top++];
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	*client = (struct keeper_client){ .state = CLIENT_QUEUED,
					  .conn = pair[0],
					  .order = pool_k->order++,
					  .asked_ms = clock_ms(),
					  .ask = { .run_ms = 1000, .limits = limits } };
	snprintf(client->ask.tenant, sizeof(client->ask.tenant), "%s", tenant);
	*out_end = pair[1];
	return client;
}

int pool_count(enum box_state state)
{
	int n = 0;
	for (size_t i = 0; i < KEEPER_BOXES; i++)
		n += pool_k->boxes[i].state == state;
	return n;
}

int pool_fillers(enum filler_kind kind)
{
	int n = 0;
	for (size_t i = 0; i < KEEPER_FILLERS; i++)
		n += pool_k->fillers[i].used && pool_k->fillers[i].task.kind == kind;
	return n;
}

/* The grant that lies in the worker's end. */
struct lease_grant pool_granted(int end, int *out_stream)
{
	struct lease_grant grant;
	struct err err = ERR_INIT;
	ck_assert_int_eq(
		io_recv_fd(end, &grant, sizeof(grant), out_stream, clock_ms() + 1000, &err), 0);
	return grant;
}
