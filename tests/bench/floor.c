/*
 * The bare engine as the bench programs use it: the container that a job would get, without guest
 * and service, by calls of their own. It measures until the first byte; a loop around it makes the
 * rate that the engine has by itself.
 */
#include "bench/floor.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "bench/client.h"
#include "docker/container.h"
#include "docker/engine.h"
#include "docker/volume.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_MS 60000

static void fail(const char *what, const struct err *err)
{
	bench_fail(what, *err->cause ? err->cause : err->text);
}

void floor_open(struct engine *e)
{
	const char *host = getenv("DOCKER_HOST");
	struct err err = ERR_INIT;

	if (engine_open(e, host ? host : "unix:///var/run/docker.sock", clock_ms() + CALL_MS, &err))
		fail("engine", &err);
}

void floor_init(struct floor *f, const char *guest_dir, const char *image)
{
	struct err err = ERR_INIT;
	struct engine e = { 0 };

	engine_prepare();
	floor_open(&e);
	if (volume_guest(&e, guest_dir, image, FLOOR_INSTANCE, f->volume, &err))
		fail("volume", &err);
	engine_close(&e);
	f->recipe = (struct recipe){ .image = image,
				     .volume = f->volume,
				     .instance = FLOOR_INSTANCE,
				     .oci_runtime = "",
				     .deadline_wall_s = clock_wall_ms() / 1000 + 3600,
				     .limits = { .memory_mb = 512,
						 .cpu_milli = 1000,
						 .pids = 64,
						 .disk_mb = 256,
						 .tmp_mb = 64 } };
}

struct json_object *floor_body(const struct floor *f, bool network_disabled)
{
	struct json_object *body = recipe_body(&f->recipe), *cmd = json_object_new_array();

	json_object_array_add(cmd, json_object_new_string("/usr/bin/python3"));
	json_object_array_add(cmd, json_object_new_string("-c"));
	json_object_array_add(cmd, json_object_new_string("print('hello')"));
	json_object_object_add(body, "Entrypoint", cmd);
	json_object_object_del(body, "Cmd");
	json_object_object_add(body, "NetworkDisabled", json_object_new_boolean(network_disabled));
	return body;
}

static bool create(struct engine *e, struct json_object *body, char *id, struct err *err)
{
	AUTO_JSON *answer = NULL;
	struct json_object *member;
	int status;

	if (engine_call(e, "POST", "/containers/create", body, &status, &answer, err))
		return false;
	if (status != 201 || !json_object_object_get_ex(answer, "Id", &member)) {
		err_set(err, ERR_ENGINE, "create: %d %s", status, engine_message(answer));
		return false;
	}
	snprintf(id, CONTAINER_ID, "%s", json_object_get_string(member));
	return true;
}

static bool run(struct engine *e, const char *id, struct err *err)
{
	AUTO_CLOSE int stream = container_attach(e, id, err);
	char byte;

	return stream >= 0 && container_start(e, id, err) == 0 &&
	       io_read_all(stream, &byte, 1, e->deadline_ms, err) == 0;
}

bool floor_cycle(struct engine *e, struct json_object *body, int64_t *out_us, char *out_why)
{
	struct err err = ERR_INIT;
	char id[CONTAINER_ID];

	e->deadline_ms = clock_ms() + CALL_MS;
	int64_t start = clock_us();
	bool ok = create(e, body, id, &err);
	if (ok) {
		struct err gone = ERR_INIT;

		ok = run(e, id, &err);
		*out_us = clock_us() - start;
		if (container_remove(e, id, &gone) && ok) {
			err = gone;
			ok = false;
		}
	}
	if (!ok)
		snprintf(out_why, FLOOR_WHY, "%.200s: %.190s", err.text, err.cause);
	return ok;
}

size_t floor_count(const char *instance)
{
	AUTO_FREE struct container_row *rows = NULL;
	struct err err = ERR_INIT;
	struct engine e = { 0 };
	size_t count;

	floor_open(&e);
	if (container_list(&e, instance, &rows, &count, &err))
		fail("list of containers", &err);
	engine_close(&e);
	return count;
}
