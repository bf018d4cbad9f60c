/*
 * The tests' own view of the Docker engine: list by label, inspect, remove. Separate from
 * src/docker, so that a fault there can't hide itself.
 */
#include "support/dock.h"

#include "base/alloc.h"
#include "support/answer.h"
#include "support/tool.h"
#include "support/web.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STALE_S 3600

static const char *docker_host(void)
{
	const char *host = getenv("DOCKER_HOST");
	return host && *host ? host : "unix:///var/run/docker.sock";
}

const char *dock_socket(void)
{
	const char *host = docker_host();
	return strncmp(host, "unix://", 7) == 0 ? host + 7 : NULL;
}

void dock_call(const char *method, const char *path, const char *body, struct answer *out)
{
	const char *host = docker_host();
	const char *tcp = strncmp(host, "tcp://", 6) == 0 ? host + 6 : "engine";
	AUTO_FREE char *url = xasprintf("http://%s%s", tcp, path);
	web_call(&(struct web_request){ .method = method,
					.unix_path = dock_socket(),
					.url = url,
					.body = body,
					.len = body ? strlen(body) : 0 },
		 out);
}

const char *dock_image(void)
{
	const char *image = getenv("PYTHON_IMAGE");
	return image && *image ? image : "belljar-python";
}

bool dock_has_image(const char *name)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/images/%s/json", name);
	dock_call("GET", path, NULL, &a);
	return a.status == 200;
}

#define LABEL_FILTER "%%7B%%22label%%22%%3A%%5B%%22" DOCK_INSTANCE_LABEL "%s%s%%22%%5D%%7D"

/* Containers with the label (any value when instance is ""). */
static void list_call(const char *instance, struct answer *out)
{
	AUTO_FREE char *path = xasprintf("/containers/json?all=1&filters=" LABEL_FILTER,
					 *instance ? "%3D" : "", instance);
	dock_call("GET", path, NULL, out);
}

size_t dock_list(const char *instance, char (*out_ids)[DOCK_ID], size_t max)
{
	AUTO(answer) a = ANSWER_INIT;
	list_call(instance, &a);
	WANT(&a, a.status == 200);
	size_t n = json_object_array_length(a.json);
	for (size_t i = 0; i < n && i < max; i++)
		snprintf(out_ids[i], DOCK_ID, "%s",
			 json_object_get_string(
				 answer_json_get(json_object_array_get_idx(a.json, i), "Id")));
	return n;
}

static bool is_running(const char *id)
{
	struct json_object *o = dock_inspect(id);
	bool running = json_object_get_boolean(answer_json_get(o, "State.Running"));
	json_object_put(o);
	return running;
}

struct one {
	const char *instance;
	char (*id)[DOCK_ID];
};

static bool one_runs(void *arg)
{
	struct one *w = arg;
	return dock_list(w->instance, w->id, 1) == 1 && is_running(*w->id);
}

bool dock_wait_one(const char *instance, char *out_id)
{
	struct one w = { instance, (char(*)[DOCK_ID])out_id };
	return tool_until(one_runs, &w, TOOL_WAIT_MS);
}

static bool none_left(void *arg)
{
	return dock_list(arg, NULL, 0) == 0;
}

bool dock_wait_none(const char *instance, int ms)
{
	return tool_until(none_left, (void *)(uintptr_t)instance, ms);
}

struct json_object *dock_inspect(const char *id)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/containers/%s/json", id);
	dock_call("GET", path, NULL, &a);
	return a.status == 200 ? json_object_get(a.json) : NULL;
}

void dock_remove(const char *id)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/containers/%s?force=1&v=1", id);
	dock_call("DELETE", path, NULL, &a);
}

bool dock_run(const char *instance, const char *command, char *out_id)
{
	AUTO(answer) made = ANSWER_INIT;
	AUTO(answer) started = ANSWER_INIT;
	AUTO_FREE char *body =
		xasprintf("{\"Image\":\"%s\",\"Entrypoint\":%s,\"Labels\":{\"%s\":\"%s\"},"
			  "\"NetworkDisabled\":true,\"HostConfig\":{\"NetworkMode\":\"none\"}}",
			  dock_image(), command, DOCK_INSTANCE_LABEL, instance);
	dock_call("POST", "/containers/create", body, &made);
	if (made.status != 201)
		return false;
	snprintf(out_id, DOCK_ID, "%s", answer_str(&made, "Id"));
	AUTO_FREE char *path = xasprintf("/containers/%s/start", out_id);
	dock_call("POST", path, NULL, &started);
	return started.status == 204;
}

/* The label is the name, or the name and '-' and more: run 12 must not remove what run 123 has. */
static bool label_is_of(struct json_object *row, const char *name)
{
	struct json_object *labels = answer_json_get(row, "Labels"), *v;
	size_t len = strlen(name);
	if (!json_object_is_type(labels, json_type_object) ||
	    !json_object_object_get_ex(labels, DOCK_INSTANCE_LABEL, &v))
		return false;
	const char *label = json_object_get_string(v);
	return strncmp(label, name, len) == 0 && (label[len] == '\0' || label[len] == '-');
}

static void remove_containers(const char *name, int64_t older_s)
{
	AUTO(answer) a = ANSWER_INIT;
	list_call("", &a);
	if (a.status != 200 || !json_object_is_type(a.json, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(a.json); i++) {
		struct json_object *row = json_object_array_get_idx(a.json, i);
		int64_t made = json_object_get_int64(answer_json_get(row, "Created"));
		if (label_is_of(row, name) && time(NULL) - made >= older_s)
			dock_remove(json_object_get_string(answer_json_get(row, "Id")));
	}
}

/* Volumes with a label of ours for which fn is true. One that another service uses stays: the
 * engine refuses. */
static void remove_volumes(bool (*fn)(struct json_object *row, const char *name), const char *name)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/volumes?filters=" LABEL_FILTER, "", "");
	dock_call("GET", path, NULL, &a);
	struct json_object *list = answer_get(&a, "Volumes");
	if (!json_object_is_type(list, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		if (!fn(row, name))
			continue;
		AUTO(answer) gone = ANSWER_INIT;
		AUTO_FREE char *one = xasprintf(
			"/volumes/%s", json_object_get_string(answer_json_get(row, "Name")));
		dock_call("DELETE", one, NULL, &gone);
	}
}

/* The runner whose pid is in the label has ended. */
static bool is_orphan(struct json_object *row, const char *name)
{
	struct json_object *labels = answer_json_get(row, "Labels"), *v;
	int pid = 0;
	if (!label_is_of(row, name) || !json_object_object_get_ex(labels, DOCK_INSTANCE_LABEL, &v))
		return false;
	return sscanf(json_object_get_string(v), DOCK_RUN_NAME "-%d", &pid) == 1 && pid > 0 &&
	       kill(pid, 0) < 0 && errno == ESRCH;
}

void dock_remove_run(const char *name)
{
	remove_containers(name, 0);
	remove_volumes(label_is_of, name);
}

void dock_remove_stale(void)
{
	remove_containers(DOCK_RUN_NAME, STALE_S);
	remove_volumes(is_orphan, DOCK_RUN_NAME);
}
