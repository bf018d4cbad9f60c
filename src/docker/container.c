/*
 * The life of one container through the engine: create from the recipe, attach, start, change its
 * limits, kill, look, list, remove. Called by fillers and by the keeper's reconciliation. It
 * decides nothing about the container's confinement (recipe.c) and reads nothing of its stream.
 */
#include "docker/container.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/ident.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "docker/engine.h"
#include "docker/names.h"
#include "docker/recipe.h"
#include "docker/reply.h"
#include "wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CREATE_TRIES 3	  /* a new name, and one without an optional CPU limit */
#define REMOVE_WAIT_MS 10 /* first pause before looking again; doubles up to ... */
#define REMOVE_WAIT_MAX_MS 200
#define NAME_DIGITS 16 /* of the random name: 64 bits */
#define PATH_BYTES 256

static bool id_ok(const char *id)
{
	return strlen(id) == CONTAINER_ID - 1 && strspn(id, "0123456789abcdef") == CONTAINER_ID - 1;
}

/* "/containers/<id><rest>"; nothing but an id of the engine's own form reaches a path. */
static int id_path(const char *id, const char *rest, char *out, struct err *err)
{
	if (!id_ok(id))
		return err_set(err, ERR_INTERNAL, "A container id has 64 hexadecimal digits");
	snprintf(out, PATH_BYTES, "/containers/%s%s", id, rest);
	return 0;
}

static int call(struct engine *e, const char *method, const char *id, const char *rest,
		int *out_status, struct json_object **out_answer, struct err *err)
{
	char path[PATH_BYTES];

	if (id_path(id, rest, path, err) < 0)
		return -1;
	return engine_call(e, method, path, NULL, out_status, out_answer, err);
}

static int fail_create(int status, const char *image, struct json_object *answer, struct err *err)
{
	const char *message = engine_message(answer);

	if (status == 404 && strcasestr(message, "image"))
		err_set(err, ERR_IMAGE,
			"Image %.100s is not present on the engine: build it with `make images`",
			image);
	else if (strcasestr(message, "range of CPUs"))
		err_set(err, ERR_SANDBOX,
			"The engine's host has fewer CPUs than a job may use: lower CPU_LIMIT");
	else
		err_set(err, ERR_SANDBOX, "The engine refused to make the container");
	return err_cause(err, "create: HTTP %d %s", status, message);
}

/* A host without CPU quotas refuses NanoCpus instead of warning (trap 23). True if it may be
 * dropped, and is. */
static bool drop_cpu(struct json_object *limits, const char *optional, struct json_object *answer)
{
	const char *limit = recipe_warned(engine_message(answer));

	if (!limit || strcmp(limit, "cpu") || !recipe_listed(optional, "cpu") ||
	    !reply_get(limits, "NanoCpus"))
		return false;
	json_object_object_del(limits, "NanoCpus");
	return true;
}

/* Sends the body until it is taken: a name may be in use (trap 30), or the CPU limit be optional
 * and impossible. */
static int create(struct engine *e, struct json_object *body, const char *optional,
		  struct json_object **out_answer, struct err *err)
{
	for (int try = 1;; try++) {
		AUTO_JSON *answer = NULL;
		char path[PATH_BYTES], name[NAME_DIGITS + 1];
		int status;

		ident_hex(name, NAME_DIGITS);
		snprintf(path, sizeof(path), "/containers/create?name=belljar-%s", name);
		if (engine_call(e, "POST", path, body, &status, &answer, err) < 0)
			return -1;
		if (status == 201 && id_ok(reply_text(answer, "Id"))) {
			*out_answer = steal(&answer);
			return 0;
		}
		if (try < CREATE_TRIES &&
		    (status == 409 || drop_cpu(reply_get(body, "HostConfig"), optional, answer)))
			continue;
		return fail_create(status, reply_text(body, "Image"), answer, err);
	}
}

static int judge_warnings(struct json_object *answer, const char *optional, struct err *err)
{
	struct json_object *list = reply_get(answer, "Warnings");

	if (!json_object_is_type(list, json_type_array))
		return 0;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(list, i));
		const char *limit = recipe_warned(text ? text : "");

		if (limit && (!*limit || recipe_listed(optional, limit)))
			continue;
		if (limit)
			err_set(err, ERR_SANDBOX, "The engine can't apply the %s limit", limit);
		else
			err_set(err, ERR_SANDBOX,
				"The engine took the container's limits with a warning");
		return err_cause(err, "warning: %s", text ? text : "null");
	}
	return 0;
}

/* Reads back what is in force: limits have been dropped with a 201 and without a warning (trap 23).
 */
static int judge_inspect(struct engine *e, const struct recipe *r, const char *optional,
			 const char *id, struct err *err)
{
	AUTO_JSON *inspect = NULL;
	int status;

	if (call(e, "GET", id, "/json", &status, &inspect, err) < 0)
		return -1;
	if (status != 200)
		return err_set(err, ERR_SANDBOX, "The container vanished after it was made");
	return recipe_check(r, optional, inspect, err);
}

int container_create(struct engine *e, const struct recipe *r, const char *optional, char *out_id,
		     struct err *err)
{
	AUTO_JSON *body = recipe_body(r);
	AUTO_JSON *answer = NULL;
	const char *id;

	if (create(e, body, optional, &answer, err) < 0)
		return -1;
	id = reply_text(answer, "Id");
	if (judge_warnings(answer, optional, err) < 0 ||
	    judge_inspect(e, r, optional, id, err) < 0) {
		container_remove(e, id, NULL);
		return -1;
	}
	memcpy(out_id, id, CONTAINER_ID);
	return 0;
}

int container_create_setup(struct engine *e, const struct recipe *r, char *out_id, struct err *err)
{
	AUTO_JSON *body = recipe_setup_body(r);
	AUTO_JSON *answer = NULL;

	if (create(e, body, "", &answer, err) < 0)
		return -1;
	memcpy(out_id, reply_text(answer, "Id"), CONTAINER_ID);
	return 0;
}

static int update(struct engine *e, struct json_object *body, const char *optional, const char *id,
		  struct json_object **out_answer, struct err *err)
{
	char path[PATH_BYTES];

	if (id_path(id, "/update", path, err) < 0)
		return -1;
	for (;;) {
		AUTO_JSON *answer = NULL;
		int status;

		if (engine_call(e, "POST", path, body, &status, &answer, err) < 0)
			return -1;
		if (status == 200) {
			*out_answer = steal(&answer);
			return 0;
		}
		if (drop_cpu(body, optional, answer))
			continue;
		err_set(err, ERR_SANDBOX, "The engine refused to change the container's limits");
		return err_cause(err, "update: HTTP %d %s", status, engine_message(answer));
	}
}

int container_update(struct engine *e, const struct recipe *r, const char *optional, const char *id,
		     struct err *err)
{
	AUTO_JSON *body = recipe_update_body(r);
	AUTO_JSON *answer = NULL;

	if (update(e, body, optional, id, &answer, err) < 0 ||
	    judge_warnings(answer, optional, err) < 0)
		return -1;
	return judge_inspect(e, r, optional, id, err);
}

int container_attach(struct engine *e, const char *id, struct err *err)
{
	char path[PATH_BYTES];

	if (id_path(id, "/attach?stream=1&stdin=1&stdout=1&stderr=1", path, err) < 0)
		return -1;
	return engine_hijack(e, path, err);
}

/*
 * The engine words a failed exec of the entrypoint in its own ways, as a 400 or a 500; all of them
 * name the file. It means that the guest volume was removed and that the engine made a new, empty
 * one for this container.
 */
static bool guest_missing(const char *text)
{
	return strstr(text, RECIPE_GUEST_DIR "/guest") &&
	       (strcasestr(text, "no such file") || strcasestr(text, "not found"));
}

int container_start(struct engine *e, const char *id, struct err *err)
{
	AUTO_JSON *answer = NULL;
	struct err inner = ERR_INIT;
	const char *message;
	int status = 0;

	if (call(e, "POST", id, "/start", &status, &answer, &inner) < 0) {
		if (inner.sys || !guest_missing(inner.cause)) {
			if (err)
				*err = inner;
			return -1;
		}
		message = inner.cause;
	} else {
		if (status == 204 || status == 304)
			return 0;
		message = engine_message(answer);
	}
	if (guest_missing(message))
		err_sys(err, ERR_SANDBOX, ENOENT, "The volume with the guest is gone or empty");
	else
		err_set(err, ERR_SANDBOX, "The container could not be started");
	return err_cause(err, "start: HTTP %d %s", status, message);
}

int container_kill(struct engine *e, const char *id, struct err *err)
{
	AUTO_JSON *answer = NULL;
	int status;

	if (call(e, "POST", id, "/kill?signal=KILL", &status, &answer, err) < 0)
		return -1;
	/* 404: removed already. 409: not running (trap 31), which is what was wanted. */
	if (status == 204 || status == 404 || status == 409)
		return 0;
	err_set(err, ERR_ENGINE, "The container could not be killed");
	return err_cause(err, "kill: HTTP %d %s", status, engine_message(answer));
}

/* 1: it is gone, 0: not yet, -1: the engine can't be asked. */
static int remove_once(struct engine *e, const char *id, struct err *err)
{
	AUTO_JSON *answer = NULL, *inspect = NULL;
	int status;

	if (call(e, "DELETE", id, "?force=1&v=1", &status, &answer, err) < 0)
		return err->sys ? -1 : 0;
	err_set(err, ERR_ENGINE, "The container is still there");
	err_cause(err, "remove: HTTP %d %s", status, status >= 400 ? engine_message(answer) : "");
	if (call(e, "GET", id, "/json", &status, &inspect, err) < 0)
		return err->sys ? -1 : 0;
	return status == 404;
}

int container_remove(struct engine *e, const char *id, struct err *err)
{
	int64_t pause = REMOVE_WAIT_MS;

	if (!id_ok(id))
		return err_set(err, ERR_INTERNAL, "A container id has 64 hexadecimal digits");
	for (;;) {
		struct err inner = ERR_INIT;
		int rc = remove_once(e, id, &inner);

		if (rc > 0)
			return 0;
		if (rc < 0 || clock_left(e->deadline_ms) <= pause) {
			if (err)
				*err = inner;
			return -1;
		}
		clock_wait(clock_ms() + pause);
		pause = MIN(pause * 2, (int64_t)REMOVE_WAIT_MAX_MS);
	}
}

int container_inspect(struct engine *e, const char *id, struct container_state *out,
		      struct err *err)
{
	AUTO_JSON *answer = NULL;
	int status;

	if (call(e, "GET", id, "/json", &status, &answer, err) < 0)
		return -1;
	if (status == 404)
		return err_set(err, ERR_NOT_FOUND, "The container is not there");
	if (status != 200) {
		err_set(err, ERR_ENGINE, "The container could not be inspected");
		return err_cause(err, "inspect: HTTP %d %s", status, engine_message(answer));
	}
	*out = (struct container_state){ .running = reply_bool(answer, "State/Running"),
					 .oom_killed = reply_bool(answer, "State/OOMKilled"),
					 .exit_code = (int)reply_int(answer, "State/ExitCode") };
	reply_copy(answer, "State/Status", out->status, sizeof(out->status));
	return 0;
}

static bool read_row(struct json_object *item, struct container_row *row)
{
	struct json_object *labels = reply_get(item, "Labels");
	const char *id = reply_text(item, "Id");

	*row = (struct container_row){ 0 };
	if (!id_ok(id))
		return false;
	memcpy(row->id, id, CONTAINER_ID);
	reply_copy(labels, NAME_ROLE, row->role, sizeof(row->role));
	num_int(reply_text(labels, NAME_DEADLINE), 0, INT64_MAX, &row->deadline_wall_s);
	return true;
}

int container_list(struct engine *e, const char *instance, struct container_row **out_rows,
		   size_t *out_count, struct err *err)
{
	AUTO_FREE char *filter = reply_filter(instance, NULL);
	AUTO_FREE char *path = xasprintf("/containers/json?all=1&filters=%s", filter);
	AUTO_JSON *answer = NULL;
	struct container_row *rows;
	size_t count, used = 0;
	int status;

	if (engine_call(e, "GET", path, NULL, &status, &answer, err) < 0)
		return -1;
	if (status != 200 || !json_object_is_type(answer, json_type_array)) {
		err_set(err, ERR_ENGINE, "The containers could not be listed");
		return err_cause(err, "list: HTTP %d %s", status, engine_message(answer));
	}
	count = json_object_array_length(answer);
	rows = xcalloc(count + 1, sizeof(*rows));
	for (size_t i = 0; i < count; i++)
		used += read_row(json_object_array_get_idx(answer, i), &rows[used]);
	*out_rows = rows;
	*out_count = used;
	return 0;
}
