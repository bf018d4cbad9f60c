/*
 * make bench: what the service, its nginx and the containers of its pool take while nothing is
 * asked of them. The proportional set size: a page that several processes share counts for each by
 * its part, so the rows add up.
 *
 * memory URL POOL MASTER_PID NGINX_PID INSTANCE
 */
#include "base/alloc.h"
#include "base/err.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "bench/client.h"
#include "bench/floor.h"
#include "docker/container.h"
#include "docker/engine.h"
#include "support/ps.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct role {
	char *name;
	unsigned count;
	int64_t kb, most_kb;
};
#define ROLES_MAX 16
static struct role roles[ROLES_MAX];
static size_t role_count;

static void add(const char *name, pid_t pid)
{
	int64_t kb = ps_pss_kb(pid);
	struct role *r = roles;

	while (r < roles + role_count && strcmp(r->name, name) != 0)
		r++;
	if (r == roles + ROLES_MAX || kb < 0)
		bench_fail("no memory to read of", name);
	if (r == roles + role_count) {
		r->name = xstrdup(name);
		role_count++;
	}
	r->count++;
	r->kb += kb;
	r->most_kb = MAX(r->most_kb, kb);
}

static void add_tree(const char *prefix, pid_t top)
{
	pid_t pids[PS_MAX];
	size_t count = ps_tree(top, pids, PS_MAX);

	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *comm = ps_status(pids[i], "Name");
		AUTO_FREE char *name = xasprintf("%s%s", prefix, comm);

		add(name, pids[i]);
	}
}

/* Waiting containers: the engine's process for each, and what runs inside. */
static void add_containers(const char *instance)
{
	AUTO_FREE struct container_row *rows = NULL;
	struct err err = ERR_INIT;
	struct engine e = { 0 };
	size_t count;
	pid_t all[PS_MAX];

	floor_open(&e);
	if (container_list(&e, instance, &rows, &count, &err))
		bench_fail("list of containers", err.text);
	engine_close(&e);
	size_t found = ps_children(1, all, PS_MAX);
	for (size_t i = 0; i < found; i++)
		for (size_t j = 0; j < count; j++)
			if (ps_named(all[i], rows[j].id))
				add_tree("container: ", all[i]);
}

static void print(void)
{
	printf("\n%-46s %5s %9s %9s %9s\n", "idle memory (PSS)", "n", "MiB", "each", "largest");
	for (size_t i = 0; i < role_count; i++) {
		double mib = (double)roles[i].kb / 1024.0;

		printf("%-46s %5u %9.1f %9.2f %9.2f\n", roles[i].name, roles[i].count, mib,
		       mib / roles[i].count, (double)roles[i].most_kb / 1024.0);
	}
	printf("{\"title\": \"idle memory\", \"unit\": \"KiB\", \"rows\": [");
	for (size_t i = 0; i < role_count; i++)
		printf("%s{\"name\": \"%s\", \"n\": %u, \"kib\": %lld, \"largest\": %lld}",
		       i ? ", " : "", roles[i].name, roles[i].count, (long long)roles[i].kb,
		       (long long)roles[i].most_kb);
	puts("]}");
}

int main(int argc, char **argv)
{
	int64_t pool, master, nginx;

	if (argc != 6 || !num_int(argv[2], 1, 256, &pool) ||
	    !num_int(argv[3], 2, 1 << 22, &master) || !num_int(argv[4], 2, 1 << 22, &nginx)) {
		fprintf(stderr, "usage: memory URL POOL MASTER_PID NGINX_PID INSTANCE\n");
		return 64;
	}
	const char *const bases[] = { argv[1], NULL };

	curl_global_init(CURL_GLOBAL_DEFAULT);
	client_settle(bases, (int)pool);
	add_tree("", (pid_t)master);
	add_tree("", (pid_t)nginx);
	add_containers(argv[5]);
	print();
	return 0;
}
