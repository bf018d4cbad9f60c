/*
 * make bench: fresh containers a second, ours through nginx beside the engine's own rate, at
 * several concurrencies. The two take turns in slices of the given time, each after a rest. One
 * process for each client at once, so that no client waits for another in this program.
 *
 * The service begins a slice with a full pool. So beside the jobs answered in a second of the slice
 * there is the rate until the pool was full again and the last container removed: the truth of an
 * endless load lies between the two. Containers are counted before and after.
 *
 * rate URL INSTANCE POOL SECONDS GUEST_DIR IMAGE
 */
#include "base/clock.h"
#include "base/num.h"
#include "bench/client.h"
#include "bench/floor.h"
#include "bench/series.h"
#include "docker/engine.h"
#include "wire/json.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MAX 60
#define SLICES 2
#define HELLO "{\"code\": \"print('hello')\"}"

static const int levels[] = { 1, 2, 4, 8 };
static const char *bases[2];
static unsigned restless;

/* What one client has done; in memory that it shares with its parent. */
struct client {
	struct series times;
	unsigned done, errors;
	char why[FLOOR_WHY];
};

/* One side at one concurrency, all its slices. */
struct side {
	const char *name;
	unsigned done, errors;
	int64_t slice_us, rest_us; /* until the last client ended; until all was as before */
	struct series times;
	char why[FLOOR_WHY];
};

static void ours(struct client *c, int64_t deadline_us)
{
	while (clock_us() < deadline_us) {
		int64_t us;

		if (client_execute(bases[0], HELLO, "hello\n", &us) == CLIENT_ERROR) {
			c->errors++;
			continue;
		}
		c->done++;
		series_add(&c->times, us);
	}
}

static void engines(struct client *c, const struct floor *f, int64_t deadline_us)
{
	AUTO_JSON *body = floor_body(f, true);
	struct engine e = { 0 };

	floor_open(&e);
	while (clock_us() < deadline_us) {
		int64_t us, start = clock_us();

		if (!floor_cycle(&e, body, &us, c->why)) {
			c->errors++;
			continue;
		}
		c->done++;
		series_add(&c->times, clock_us() - start);
	}
	engine_close(&e);
}

static void start_clients(struct client *clients, int count, const struct floor *f,
			  int64_t deadline_us)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			bench_fail("fork", strerror(errno));
		if (pid > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* an end of the bench is one of its load */
		if (f)
			engines(&clients[i], f, deadline_us);
		else
			ours(&clients[i], deadline_us);
		_exit(0);
	}
}

static void add(struct side *to, const struct client *c)
{
	to->done += c->done;
	to->errors += c->errors;
	if (*c->why)
		snprintf(to->why, sizeof(to->why), "%s", c->why);
	for (size_t i = 0; i < c->times.count; i++)
		series_add(&to->times, (int64_t)(c->times.ms[i] * 1000.0));
}

/* f: the engine's side; NULL: ours. */
static void slice(struct side *side, int count, const struct floor *f, int64_t slice_us, int pool)
{
	size_t size = sizeof(struct client) * (size_t)count;
	struct client *clients =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (clients == MAP_FAILED)
		bench_fail("memory", strerror(errno));
	restless += !client_settle(bases, pool);
	int64_t start = clock_us();

	start_clients(clients, count, f, start + slice_us);
	for (int i = 0; i < count; i++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			bench_fail("a client ended badly for", side->name);
	}
	side->slice_us += clock_us() - start;
	restless += !client_settle(bases, pool);
	side->rest_us += clock_us() - start;
	for (int i = 0; i < count; i++)
		add(side, &clients[i]);
	munmap(clients, size);
}

static double per_second(unsigned done, int64_t us)
{
	return us > 0 ? done * 1e6 / (double)us : 0;
}

static void print_side(struct side *s, struct side *base, int level)
{
	double rate = per_second(s->done, s->slice_us), of = per_second(base->done, base->slice_us);

	printf("%-34s %7d %6u %8.2f %7.3f %8.2f %8.1f %8.1f %8.1f %6u\n", s->name, level, s->done,
	       rate, of > 0 ? rate / of : 0, per_second(s->done, s->rest_us),
	       series_at(&s->times, 0.5), series_at(&s->times, 0.95), series_at(&s->times, 0.99),
	       s->errors);
	if (s->errors && *s->why)
		printf("  the last error: %s\n", s->why);
}

static void json_side(struct side *s, struct side *base, int level, const char *comma)
{
	double rate = per_second(s->done, s->slice_us), of = per_second(base->done, base->slice_us);

	printf("%s{\"name\": \"%s\", \"concurrency\": %d, \"n\": %u, \"per_second\": %.3f, "
	       "\"ratio\": %.4f, \"per_second_with_rest\": %.3f, \"p50\": %.1f, \"p95\": %.1f, "
	       "\"p99\": %.1f, \"errors\": %u}",
	       comma, s->name, level, s->done, rate, of > 0 ? rate / of : 0,
	       per_second(s->done, s->rest_us), series_at(&s->times, 0.5),
	       series_at(&s->times, 0.95), series_at(&s->times, 0.99), s->errors);
}

static void print(struct side all[][2], int64_t seconds)
{
	char title[64];

	snprintf(title, sizeof(title), "sustained, %d s each", (int)seconds);
	printf("\n%-34s %7s %6s %8s %7s %8s %8s %8s %8s %6s\n", title, "at once", "n", "per s",
	       "ratio", "+ rest", "p50 ms", "p95 ms", "p99 ms", "errors");
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		for (int j = 0; j < 2; j++)
			print_side(&all[i][j], &all[i][0], levels[i]);
	printf("{\"title\": \"%s\", \"unit\": \"per second\", \"rows\": [", title);
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		for (int j = 0; j < 2; j++)
			json_side(&all[i][j], &all[i][0], levels[i], i || j ? ", " : "");
	puts("]}");
}

static void print_count(const char *what, const char *instance, size_t before)
{
	size_t after = floor_count(instance);

	printf("containers of %s: %zu before, %zu after\n", what, before, after);
	printf("{\"title\": \"containers of %s\", \"before\": %zu, \"after\": %zu}\n", what, before,
	       after);
}

int main(int argc, char **argv)
{
	static struct side all[ARRAY_SIZE(levels)][2];
	static struct floor f;
	int64_t seconds, pool;

	if (argc != 7 || !num_int(argv[3], 1, 256, &pool) ||
	    !num_int(argv[4], SLICES, SECONDS_MAX, &seconds)) {
		fprintf(stderr, "usage: rate URL INSTANCE POOL SECONDS(%d to %d) GUEST_DIR IMAGE\n",
			SLICES, SECONDS_MAX);
		return 64;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	bases[0] = argv[1];
	floor_init(&f, argv[5], argv[6]);
	client_settle(bases, (int)pool);
	size_t before = floor_count(argv[2]), before_bare = floor_count(FLOOR_INSTANCE);

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		all[i][0].name = "bare engine: create to remove";
		all[i][1].name = "belljar: jobs through nginx";
		for (int turn = 0; turn < SLICES * 2; turn++)
			slice(&all[i][turn % 2], levels[i], turn % 2 ? NULL : &f,
			      seconds * 1000000 / SLICES, (int)pool);
	}
	print(all, seconds);
	printf("waits for rest that gave up: %u\n", restless);
	print_count("the service", argv[2], before);
	print_count("the bare engine's side", FLOOR_INSTANCE, before_bare);
	return 0;
}
