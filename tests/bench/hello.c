/*
 * make bench: how long a job takes, beside what it could take at least and what others offer for
 * it. All kinds in turn in every round, so that the machine's mood hits all; before each one the
 * services and the machine come to rest, so that none pays for the one before. The floor is create
 * + attach + start + the first byte of `python3 -c print(...)` in a container of our own recipe;
 * removing it is counted on neither side, but in that of `docker run --rm`, whose caller waits.
 *
 * hello URL URL_WITH_PREIMPORT POOL ROUNDS GUEST_DIR IMAGE PYTHON
 */
#include "base/clock.h"
#include "base/num.h"
#include "bench/client.h"
#include "bench/floor.h"
#include "bench/series.h"
#include "docker/engine.h"
#include "wire/json.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "print('hello')"
#define HELLO "{\"code\": \"" PROGRAM "\"}"
/* File systems are fixed when a container is made: the pool's have 256. */
#define HELLO_COLD "{\"code\": \"" PROGRAM "\", \"limits\": {\"disk_mb\": 255}}"
#define DESCRIBE                                                                                   \
	"{\"code\": \"import pandas as pd\\n"                                                      \
	"d = pd.DataFrame({'a': range(10), 'b': [x * 1.5 for x in range(10)]})\\n"                 \
	"print(d.describe())\"}"

extern char **environ;

enum { FLOOR, WARM, COLD, PANDAS, PANDAS_BARE, DOCKER_RUN, HOST, NETWORK, KINDS };
static struct series all[KINDS] = {
	[FLOOR] = { .name = "bare engine, our recipe, hello" },
	[WARM] = { .name = "belljar warm, hello" },
	[COLD] = { .name = "belljar cold, hello" },
	[PANDAS] = { .name = "belljar warm, pandas imported ahead, describe" },
	[PANDAS_BARE] = { .name = "belljar warm, import pandas, describe" },
	[DOCKER_RUN] = { .name = "docker run --rm, hello" },
	[HOST] = { .name = "python3 -c on the host, hello" },
	[NETWORK] = { .name = "bare engine, NetworkDisabled false" },
};
static unsigned restless, other_kind;
static const char *bases[3];
static int pool;

static void settle(void)
{
	restless += !client_settle(bases, pool);
}

/* Only answers of the kind that the row is about count. */
static void job(enum client_job kind, const char *base, const char *body, const char *text,
		struct series *s)
{
	int64_t us;

	settle();
	enum client_job got = client_execute(base, body, text, &us);
	if (got == CLIENT_ERROR)
		bench_fail("a wrong answer for", s->name);
	if (got == kind)
		series_add(s, us);
	else
		other_kind++;
}

static void bare(const struct floor *f, bool network_disabled, struct series *s)
{
	AUTO_JSON *body = floor_body(f, network_disabled);
	struct engine e = { 0 };
	char why[FLOOR_WHY];
	int64_t us;

	settle();
	floor_open(&e);
	if (!floor_cycle(&e, body, &us, why))
		bench_fail(s->name, why);
	engine_close(&e);
	series_add(s, us);
}

/* From its start until it has ended; its output is read and must be hello. */
static void command(char *const *argv, struct series *s)
{
	char text[64] = "";
	ssize_t len = 0, got;
	int out[2], status = -1;
	pid_t pid;
	posix_spawn_file_actions_t actions;

	settle();
	if (pipe2(out, O_CLOEXEC) < 0)
		bench_fail("pipe", s->name);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	int64_t start = clock_us();
	int rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);

	close(out[1]);
	while (rc == 0 && (got = read(out[0], text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += got;
	if (rc != 0 || waitpid(pid, &status, 0) != pid || status != 0 ||
	    strcmp(text, "hello\n") != 0)
		bench_fail(s->name, rc ? strerror(rc) : text);
	series_add(s, clock_us() - start);
	posix_spawn_file_actions_destroy(&actions);
	close(out[0]);
}

/* No network, as a job has none: the engine's own takes longer to make. */
static void docker_run(char *image)
{
	char *argv[] = { (char *)"docker",
			 (char *)"run",
			 (char *)"--rm",
			 (char *)"--network",
			 (char *)"none",
			 (char *)"--label",
			 (char *)"com.belljar.instance=" FLOOR_INSTANCE,
			 (char *)"--entrypoint",
			 (char *)"/usr/bin/python3",
			 image,
			 (char *)"-c",
			 (char *)PROGRAM,
			 NULL };

	command(argv, &all[DOCKER_RUN]);
}

static void round_of_all(const struct floor *f, char *image, char *python)
{
	char *on_host[] = { python, (char *)"-c", (char *)PROGRAM, NULL };

	bare(f, true, &all[FLOOR]);
	job(CLIENT_WARM, bases[0], HELLO, "hello\n", &all[WARM]);
	job(CLIENT_COLD, bases[0], HELLO_COLD, "hello\n", &all[COLD]);
	job(CLIENT_WARM, bases[1], DESCRIBE, "75%", &all[PANDAS]);
	job(CLIENT_WARM, bases[0], DESCRIBE, "75%", &all[PANDAS_BARE]);
	docker_run(image);
	command(on_host, &all[HOST]);
	bare(f, false, &all[NETWORK]);
}

int main(int argc, char **argv)
{
	static struct floor f;
	int64_t rounds, size;

	if (argc != 8 || !num_int(argv[3], 1, 256, &size) ||
	    !num_int(argv[4], 1, ROUNDS_MAX, &rounds)) {
		fprintf(stderr,
			"usage: hello URL URL_WITH_PREIMPORT POOL ROUNDS(1 to %d) "
			"GUEST_DIR IMAGE PYTHON\n",
			ROUNDS_MAX);
		return 64;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	bases[0] = argv[1];
	bases[1] = argv[2];
	pool = (int)size;
	floor_init(&f, argv[5], argv[6]);
	for (int64_t i = 0; i <= rounds; i++) {
		round_of_all(&f, argv[6], argv[7]);
		for (size_t kind = 0; i == 0 && kind < KINDS; kind++)
			all[kind].count = 0; /* the first of each fills caches */
	}
	series_print("one job, through nginx, the machine at rest", all, KINDS);
	printf("answers of another kind (cold for warm) left out: %u; waits for rest that gave up: "
	       "%u\n",
	       other_kind, restless);
	return 0;
}
