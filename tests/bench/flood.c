/*
 * make bench: a job that prints 1 GiB, beside the same program on the host into a pipe whose reader
 * throws it away. The answer must be right: everything counted, the text cut at the cap. And what
 * the service's processes and the engine's grow by meanwhile: the peak of each role's largest
 * process above what it had before.
 *
 * flood URL POOL ROUNDS PYTHON MASTER_PID ENGINE_PID (0: not on this machine)
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "bench/client.h"
#include "bench/series.h"
#include "support/ps.h"
#include "wire/json.h"

#include <curl/curl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLOOD_ROUNDS_MAX 5 /* two or three seconds each */
#define FLOOD_BYTES (1LL << 30)
/* One line, for both sides: 16384 pieces of 64 KiB. */
#define PROGRAM "import sys\nfor i in range(16384): sys.stdout.buffer.write(b'x' * 65536)\n"
#define PROGRAM_JSON "import sys\\nfor i in range(16384): sys.stdout.buffer.write(b'x' * 65536)\\n"
#define ANSWER_MAX (4 << 20)
#define CUT "\n...[truncated]"

extern char **environ;

static struct json_object *member(struct json_object *of, const char *name)
{
	struct json_object *found = NULL;

	json_object_object_get_ex(of, name, &found);
	return found;
}

static void check(const struct strbuf *text)
{
	AUTO_JSON *answer = json_tokener_parse(text->buf);
	const char *out = json_object_get_string(member(answer, "stdout"));
	size_t len = out ? strlen(out) : 0;

	if (json_object_get_int64(member(answer, "stdout_bytes")) != FLOOD_BYTES ||
	    !json_object_get_boolean(member(answer, "stdout_truncated")) ||
	    json_object_get_int(member(answer, "exit_code")) != 0 || len < sizeof(CUT) ||
	    strcmp(out + len - strlen(CUT), CUT) != 0 || strspn(out, "x") != len - strlen(CUT))
		bench_fail("a wrong answer to the flood", text->buf);
}

static void ours(const char *base, struct series *wall, struct series *run)
{
	AUTO(strbuf) url = STRBUF(1024), body = STRBUF(1024), answer = STRBUF(ANSWER_MAX);

	strbuf_addf(&url, "%s/v1/execute", base);
	strbuf_addstr(&body, "{\"timeout_ms\": 60000, \"code\": \"" PROGRAM_JSON "\"}");
	struct client_call call = { .method = "POST",
				    .url = url.buf,
				    .header = "Content-Type: application/json",
				    .body = &body };
	int64_t start = clock_us();
	long status = client_must(&call, &answer);

	series_add(wall, clock_us() - start);
	if (status != 200)
		bench_fail("no answer to the flood", answer.buf);
	check(&answer);
	AUTO_JSON *root = json_tokener_parse(answer.buf);
	series_add(run, json_object_get_int64(member(root, "duration_ms")) * 1000);
}

static void host(char *python, struct series *s)
{
	char *argv[] = { (char *)"sh", (char *)"-c",	(char *)"\"$0\" -c \"$1\" | cat >/dev/null",
			 python,       (char *)PROGRAM, NULL };
	int status = -1;
	pid_t pid;
	int64_t start = clock_us();

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		bench_fail("the program on the host", python);
	series_add(s, clock_us() - start);
}

/* Processes of the service and the engine, and what each had before. */
struct watched {
	pid_t pids[PS_MAX];
	char *names[PS_MAX];
	int64_t rss_kb[PS_MAX], grown_kb[PS_MAX];
	size_t count;
};

static void watch(struct watched *w, pid_t master, pid_t engine)
{
	w->count = ps_tree(master, w->pids, PS_MAX - 1);
	if (engine > 0)
		w->pids[w->count++] = engine;
	for (size_t i = 0; i < w->count; i++)
		w->names[i] = ps_status(w->pids[i], "Name");
}

static void before(struct watched *w)
{
	for (size_t i = 0; i < w->count; i++) {
		w->rss_kb[i] = ps_rss_kb(w->pids[i]);
		if (!ps_forget_peak(w->pids[i]))
			bench_fail("cannot reset the peak of", w->names[i]);
	}
}

static void after(struct watched *w)
{
	for (size_t i = 0; i < w->count; i++)
		w->grown_kb[i] = MAX(w->grown_kb[i], ps_peak_kb(w->pids[i]) - w->rss_kb[i]);
}

/* The most that a process of this name has grown by; -1: an earlier one has the name already. */
static int64_t most(const struct watched *w, size_t at)
{
	int64_t kb = w->grown_kb[at];

	for (size_t i = 0; i < w->count; i++) {
		if (strcmp(w->names[i], w->names[at]) != 0)
			continue;
		if (i < at)
			return -1;
		kb = MAX(kb, w->grown_kb[i]);
	}
	return kb;
}

static void print_growth(const struct watched *w)
{
	printf("largest growth of a process while 1 GiB is printed, MiB:");
	for (size_t i = 0; i < w->count; i++)
		if (most(w, i) >= 0)
			printf(" %s %.1f", w->names[i], (double)most(w, i) / 1024.0);
	printf("\n{\"title\": \"growth by 1 GiB of output\", \"unit\": \"KiB\"");
	for (size_t i = 0; i < w->count; i++)
		if (most(w, i) >= 0)
			printf(", \"%s\": %lld", w->names[i], (long long)most(w, i));
	puts("}");
}

int main(int argc, char **argv)
{
	static struct series all[] = {
		{ .name = "host: python3 | cat >/dev/null", .mb = (double)FLOOD_BYTES / 1e6 },
		{ .name = "belljar, the whole request", .mb = (double)FLOOD_BYTES / 1e6 },
		{ .name = "of it: the program's run", .mb = (double)FLOOD_BYTES / 1e6 }
	};
	static struct watched watched;
	int64_t rounds, pool, master, engine;

	if (argc != 7 || !num_int(argv[2], 1, 256, &pool) ||
	    !num_int(argv[3], 1, ROUNDS_MAX, &rounds) || !num_int(argv[5], 2, 1 << 22, &master) ||
	    !num_int(argv[6], 0, 1 << 22, &engine)) {
		fprintf(stderr, "usage: flood URL POOL ROUNDS PYTHON MASTER_PID ENGINE_PID\n");
		return 64;
	}
	const char *const bases[] = { argv[1], NULL };

	curl_global_init(CURL_GLOBAL_DEFAULT);
	rounds = MIN(rounds, FLOOD_ROUNDS_MAX);
	watch(&watched, (pid_t)master, (pid_t)engine);
	for (int64_t i = 0; i <= rounds; i++) {
		client_settle(bases, (int)pool);
		host(argv[4], &all[0]);
		client_settle(bases, (int)pool);
		before(&watched);
		ours(argv[1], &all[1], &all[2]);
		after(&watched);
		for (size_t row = 0; i == 0 && row < ARRAY_SIZE(all); row++)
			all[row].count = 0; /* the first of each fills caches */
	}
	series_print("1 GiB of stdout", all, ARRAY_SIZE(all));
	print_growth(&watched);
	return 0;
}
