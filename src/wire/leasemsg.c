/*
 * Checks of the fixed-size messages that workers, keeper and fillers exchange. Both ends are ours,
 * but a worker reads hostile bytes, so the keeper looks at every field as if it were a stranger's;
 * only then comes the operator's policy.
 */
#include "wire/leasemsg.h"

#include "limits.h"

/* Beyond what any configuration allows (conf.c): such a value was not made by a worker of ours. */
#define WAIT_MS_MAX (2 * 3600 * 1000)
#define RUN_MS_MAX (2 * 24 * 3600 * 1000)
#define MB_MAX (1 << 20)
#define CPU_MILLI_MAX 1024000
#define PIDS_MAX 32768
#define RETRY_S_MAX (24 * 3600)
#define SLOTS_MAX 1000000

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool within(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max;
}

static bool limits_ok(const struct lease_limits *l)
{
	return within(l->memory_mb, LIMIT_MEMORY_MIN_MB, MB_MAX) &&
	       within(l->cpu_milli, LIMIT_CPU_MIN_MILLI, CPU_MILLI_MAX) &&
	       within(l->pids, LIMIT_PIDS_MIN, PIDS_MAX) && within(l->disk_mb, 1, MB_MAX) &&
	       within(l->tmp_mb, 1, MB_MAX) && l->disk_mb + l->tmp_mb < l->memory_mb;
}

/* A name as the store has them for folders. */
static bool tenant_ok(const char *tenant)
{
	size_t len = strspn(tenant, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	return tenant[len] == '\0' && len > 0 && len <= LIMIT_TENANT_BYTES;
}

bool lease_ask_ok(const struct lease_ask *ask)
{
	if (ask->magic != LEASE_MAGIC)
		return false;
	if (ask->kind == LEASE_STATUS)
		return true;
	return ask->kind == LEASE_TAKE && ask->wait_ms <= WAIT_MS_MAX &&
	       within(ask->run_ms, 1, RUN_MS_MAX) && ask->made <= 1 && limits_ok(&ask->limits) &&
	       ends(ask->tenant, sizeof(ask->tenant)) && tenant_ok(ask->tenant);
}

/* A container's id, or nothing where there is no container. */
static bool id_ok(const char *id, bool needed)
{
	size_t len = strspn(id, "0123456789abcdef");

	return id[len] == '\0' && len <= 64 && (len > 0 || !needed);
}

bool lease_grant_ok(const struct lease_grant *g)
{
	if (g->magic != LEASE_MAGIC || g->code >= ERR_COUNT || g->retry_after_s > RETRY_S_MAX ||
	    g->warm > 1)
		return false;
	if (!ends(g->id, sizeof(g->id)) || !ends(g->engine, sizeof(g->engine)) ||
	    !ends(g->text, sizeof(g->text)) || !ends(g->cause, sizeof(g->cause)))
		return false;
	return id_ok(g->id, g->code == ERR_NONE);
}

bool lease_status_ok(const struct lease_status *s)
{
	if (s->magic != LEASE_MAGIC || s->installed > 1 || s->running > 1 || s->image_exists > 1 ||
	    s->limits_ok > 1)
		return false;
	if (s->slots > SLOTS_MAX || s->leased > SLOTS_MAX || s->queued > SLOTS_MAX)
		return false;
	return ends(s->engine, sizeof(s->engine)) &&
	       ends(s->engine_version, sizeof(s->engine_version)) &&
	       ends(s->api_version, sizeof(s->api_version)) &&
	       ends(s->oci_runtime, sizeof(s->oci_runtime)) && ends(s->cgroup, sizeof(s->cgroup)) &&
	       ends(s->os, sizeof(s->os)) && ends(s->image, sizeof(s->image)) &&
	       ends(s->problem, sizeof(s->problem)) && ends(s->fix, sizeof(s->fix));
}
