/*
 * Turns what is known after the end into the numbers of an EXIT frame. serve.c calls it once per
 * job. It reads the cgroup's counters and changes nothing.
 */
#include "guest/verdict.h"

#include "guest/guest.h"

#include <signal.h>
#include <sys/wait.h>

static uint32_t exit_code(int status)
{
	if (WIFEXITED(status))
		return (uint32_t)WEXITSTATUS(status);
	return 128 + (uint32_t)WTERMSIG(status);
}

static bool oom_happened(const struct guest *g)
{
	struct cgroup_count now = cgroup_oom_kills();

	return now.known && g->oom_before.known && now.kills > g->oom_before.kills;
}

/* SIGXCPU at the soft limit; a program that ignores it meets the kernel's SIGKILL a second later.
 */
static bool cpu_spent(const struct guest *g, int sig)
{
	if (g->job.cpu_time_s == 0)
		return false;
	return sig == SIGXCPU ||
	       (sig == SIGKILL &&
		g->child.main_cpu_us >= g->cpu_before_us + g->job.cpu_time_s * 1000000ULL);
}

static enum frame_cause cause_of(const struct guest *g, int sig, bool oom)
{
	if (g->forced)
		return g->forced;
	if (sig == 0)
		return FRAME_CAUSE_EXIT;
	if (sig == SIGKILL && oom)
		return FRAME_CAUSE_OOM;
	return cpu_spent(g, sig) ? FRAME_CAUSE_CPU : FRAME_CAUSE_SIGNAL;
}

void verdict_make(const struct guest *g, struct frame_exit *out)
{
	const struct child *c = &g->child;
	/* one that even the kill left in the kernel has no status of its own yet */
	int status = c->ended ? c->status : SIGKILL;
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	uint64_t peak = cgroup_memory_peak();
	bool oom = oom_happened(g);

	*out = (struct frame_exit){
		.cause = cause_of(g, sig, oom),
		.exit_code = exit_code(status),
		.signal = (uint32_t)sig,
		.oom = oom,
		.wall_us = (uint64_t)MAX(g->ended_us - g->started_us, 0),
		.cpu_us = c->all_cpu_us > g->cpu_before_us ? c->all_cpu_us - g->cpu_before_us : 0,
		.memory_peak = peak ? peak : c->rss_peak,
		.stdout_bytes = g->out_bytes,
		.stderr_bytes = g->err_bytes,
	};
}
