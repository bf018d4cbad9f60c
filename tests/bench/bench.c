/*
 * make bench: a job through nginx and the same container made on the bare engine, in turn and in
 * one run, so that the machine's mood hits both. Prints its rows (series.h). The floor is create +
 * attach + start + the first byte of `python3 -c print(...)` in a container of our own recipe;
 * removing it is not counted on either side.
 *
 * bench URL_OF_EXECUTE ROUNDS GUEST_DIR IMAGE
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "bench/series.h"
#include "docker/container.h"
#include "docker/engine.h"
#include "docker/recipe.h"
#include "docker/volume.h"
#include "wire/json.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_MS 60000
#define INSTANCE "belljar-bench"

static void fail(const char *what, const struct err *err)
{
	fprintf(stderr, "bench: %s: %s (%s)\n", what, err ? err->text : "", err ? err->cause : "");
	exit(1);
}

static size_t keep(char *data, size_t size, size_t count, void *arg)
{
	strbuf_add(arg, data, size * count);
	return size * count;
}

/* One hello through nginx; the answer is checked, so that a fast error is no fast job. */
static void hello_ours(const char *url, struct series *s)
{
	AUTO(strbuf) answer = STRBUF(1 << 20);
	CURL *c = curl_easy_init();
	struct curl_slist *head = curl_slist_append(NULL, "Content-Type: application/json");
	int64_t start = clock_us();

	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, head);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, "{\"code\": \"print('hello')\"}");
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
	if (curl_easy_perform(c) != CURLE_OK || !strstr(answer.buf, "hello\\n")) {
		fprintf(stderr, "bench: no hello from %s: %.200s\n", url, answer.buf);
		exit(1);
	}
	series_add(s, clock_us() - start);
	curl_slist_free_all(head);
	curl_easy_cleanup(c);
}

/* Our recipe's body with the plain interpreter in place of the guest. */
static struct json_object *floor_body(const struct recipe *r, bool network_disabled)
{
	struct json_object *body = recipe_body(r), *cmd = json_object_new_array();

	json_object_array_add(cmd, json_object_new_string("/usr/bin/python3"));
	json_object_array_add(cmd, json_object_new_string("-c"));
	json_object_array_add(cmd, json_object_new_string("print('hello')"));
	json_object_object_add(body, "Entrypoint", cmd);
	json_object_object_del(body, "Cmd");
	json_object_object_add(body, "NetworkDisabled", json_object_new_boolean(network_disabled));
	return body;
}

static void create(struct engine *e, struct json_object *body, char *id)
{
	struct err err = ERR_INIT;
	AUTO_JSON *answer = NULL;
	struct json_object *member;
	int status;

	if (engine_call(e, "POST", "/containers/create", body, &status, &answer, &err))
		fail("create", &err);
	if (status != 201 || !json_object_object_get_ex(answer, "Id", &member)) {
		fprintf(stderr, "bench: create: %d %s\n", status, engine_message(answer));
		exit(1);
	}
	snprintf(id, CONTAINER_ID, "%s", json_object_get_string(member));
}

static void hello_floor(const char *host, const struct recipe *r, bool network_disabled,
			struct series *s)
{
	struct err err = ERR_INIT;
	struct engine e = { 0 };
	char id[CONTAINER_ID], byte;
	AUTO_JSON *body = floor_body(r, network_disabled);

	if (engine_open(&e, host, clock_ms() + CALL_MS, &err))
		fail("engine", &err);
	int64_t start = clock_us();
	create(&e, body, id);
	AUTO_CLOSE int stream = container_attach(&e, id, &err);
	if (stream < 0 || container_start(&e, id, &err) ||
	    io_read_all(stream, &byte, 1, clock_ms() + CALL_MS, &err))
		fail("floor", &err);
	series_add(s, clock_us() - start);
	if (container_remove(&e, id, &err))
		fail("remove", &err);
	engine_close(&e);
}

int main(int argc, char **argv)
{
	static struct series all[] = { { .name = "bare engine, our recipe, hello" },
				       { .name = "belljar cold, through nginx, hello" },
				       { .name = "bare engine, NetworkDisabled false" } };
	const char *host =
		getenv("DOCKER_HOST") ? getenv("DOCKER_HOST") : "unix:///var/run/docker.sock";
	struct err err = ERR_INIT;
	struct engine e = { 0 };
	char volume[VOLUME_NAME];
	int64_t rounds;

	if (argc != 5 || !num_int(argv[2], 1, ROUNDS_MAX, &rounds)) {
		fprintf(stderr, "usage: bench URL ROUNDS(1 to %d) GUEST_DIR IMAGE\n", ROUNDS_MAX);
		return 64;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (engine_open(&e, host, clock_ms() + CALL_MS, &err) ||
	    volume_guest(&e, argv[3], argv[4], INSTANCE, volume, &err))
		fail("engine", &err);
	engine_close(&e);
	struct recipe r = { .image = argv[4],
			    .volume = volume,
			    .instance = INSTANCE,
			    .oci_runtime = "",
			    .deadline_wall_s = clock_wall_ms() / 1000 + 3600,
			    .limits = { .memory_mb = 512,
					.cpu_milli = 1000,
					.pids = 64,
					.disk_mb = 256,
					.tmp_mb = 64 } };
	hello_ours(argv[1], &(struct series){ 0 }); /* the first of each fills caches */
	hello_floor(host, &r, true, &(struct series){ 0 });
	for (int64_t i = 0; i < rounds; i++) {
		hello_floor(host, &r, true, &all[0]);
		hello_ours(argv[1], &all[1]);
		hello_floor(host, &r, false, &all[2]);
	}
	series_print(all, ARRAY_SIZE(all));
	return 0;
}
