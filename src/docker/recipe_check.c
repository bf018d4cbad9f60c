/*
 * What became of the recipe: the comparison of an inspect answer with what was asked, field by
 * field by a table, and the words in which engines say that they dropped a limit (trap 23). Called
 * by container.c and by tests.
 */
#include "base/err.h"
#include "docker/recipe.h"
#include "docker/reply.h"
#include "wire/json.h"

#include <string.h>

enum match {
	MATCH_SAME,   /* equal JSON */
	MATCH_HOLDS,  /* a list or object that holds at least ours: the image adds its own */
	MATCH_ABSENT, /* equal, or left out or empty by engines that know no such field or have it
			 as their default */
	MATCH_MOUNT   /* our one mount is among the container's real ones, read-only */
};

struct check_row {
	const char *asked; /* path in the body */
	const char *got;   /* path in the inspect answer */
	enum match match;
	const char *limit; /* the limit it belongs to, NULL: none, never optional */
};

static const struct check_row check_table[] = {
	{ "Image", "Config/Image", MATCH_SAME, NULL },
	{ "Hostname", "Config/Hostname", MATCH_SAME, NULL },
	{ "User", "Config/User", MATCH_SAME, NULL },
	{ "WorkingDir", "Config/WorkingDir", MATCH_SAME, NULL },
	{ "Entrypoint", "Config/Entrypoint", MATCH_SAME, NULL },
	{ "Cmd", "Config/Cmd", MATCH_ABSENT, NULL },
	{ "Env", "Config/Env", MATCH_HOLDS, NULL },
	{ "Tty", "Config/Tty", MATCH_SAME, NULL },
	{ "OpenStdin", "Config/OpenStdin", MATCH_SAME, NULL },
	{ "StdinOnce", "Config/StdinOnce", MATCH_SAME, NULL },
	{ "AttachStdin", "Config/AttachStdin", MATCH_SAME, NULL },
	{ "AttachStdout", "Config/AttachStdout", MATCH_SAME, NULL },
	{ "AttachStderr", "Config/AttachStderr", MATCH_SAME, NULL },
	{ "NetworkDisabled", "Config/NetworkDisabled", MATCH_ABSENT, NULL },
	{ "StopSignal", "Config/StopSignal", MATCH_SAME, NULL },
	{ "Labels", "Config/Labels", MATCH_HOLDS, NULL },
	{ "HostConfig/NetworkMode", "HostConfig/NetworkMode", MATCH_SAME, NULL },
	{ "HostConfig/ReadonlyRootfs", "HostConfig/ReadonlyRootfs", MATCH_SAME, NULL },
	{ "HostConfig/CapDrop", "HostConfig/CapDrop", MATCH_SAME, NULL },
	{ "HostConfig/SecurityOpt", "HostConfig/SecurityOpt", MATCH_HOLDS, NULL },
	{ "HostConfig/Privileged", "HostConfig/Privileged", MATCH_SAME, NULL },
	{ "HostConfig/IpcMode", "HostConfig/IpcMode", MATCH_SAME, NULL },
	{ "HostConfig/CgroupnsMode", "HostConfig/CgroupnsMode", MATCH_ABSENT,
	  NULL }, /* since API 1.41 */
	{ "HostConfig/LogConfig/Type", "HostConfig/LogConfig/Type", MATCH_SAME, NULL },
	{ "HostConfig/RestartPolicy/Name", "HostConfig/RestartPolicy/Name", MATCH_SAME, NULL },
	{ "HostConfig/AutoRemove", "HostConfig/AutoRemove", MATCH_SAME, NULL },
	{ "HostConfig/Init", "HostConfig/Init", MATCH_ABSENT, NULL },
	{ "HostConfig/Memory", "HostConfig/Memory", MATCH_SAME, "memory" },
	{ "HostConfig/MemorySwap", "HostConfig/MemorySwap", MATCH_SAME, "swap" },
	{ "HostConfig/NanoCpus", "HostConfig/NanoCpus", MATCH_SAME, "cpu" },
	{ "HostConfig/PidsLimit", "HostConfig/PidsLimit", MATCH_SAME, "pids" },
	{ "HostConfig/OomScoreAdj", "HostConfig/OomScoreAdj", MATCH_SAME, NULL },
	{ "HostConfig/Ulimits", "HostConfig/Ulimits", MATCH_HOLDS, NULL },
	{ "HostConfig/Tmpfs", "HostConfig/Tmpfs", MATCH_SAME, NULL },
	{ "HostConfig/Sysctls", "HostConfig/Sysctls", MATCH_SAME, NULL },
	{ "HostConfig/Mounts", "Mounts", MATCH_MOUNT, NULL },
	{ "HostConfig/Runtime", "HostConfig/Runtime", MATCH_SAME, NULL },
};

static bool list_holds(struct json_object *list, struct json_object *item)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		if (json_object_equal(json_object_array_get_idx(list, i), item))
			return true;
	}
	return false;
}

static bool holds(struct json_object *asked, struct json_object *got)
{
	if (json_object_get_type(asked) != json_object_get_type(got))
		return false;
	if (json_object_is_type(asked, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(asked); i++) {
			if (!list_holds(got, json_object_array_get_idx(asked, i)))
				return false;
		}
		return true;
	}
	json_object_object_foreach(asked, name, value)
	{
		if (!json_object_equal(value, json_object_object_get(got, name)))
			return false;
	}
	return true;
}

static bool empty(struct json_object *got)
{
	return !got ||
	       (json_object_is_type(got, json_type_string) && !json_object_get_string_len(got)) ||
	       (json_object_is_type(got, json_type_array) && !json_object_array_length(got));
}

/* The engine's list of real mounts: ours, and nothing else that reaches outside (the image may
 * declare volumes, which would be writable). */
static bool mounted(struct json_object *asked, struct json_object *got)
{
	struct json_object *want = json_object_array_get_idx(asked, 0), *row;

	if (!json_object_is_type(got, json_type_array) || json_object_array_length(got) != 1)
		return false;
	row = json_object_array_get_idx(got, 0);
	return !strcmp(reply_text(row, "Type"), "volume") &&
	       !strcmp(reply_text(row, "Name"), reply_text(want, "Source")) &&
	       !strcmp(reply_text(row, "Destination"), reply_text(want, "Target")) &&
	       reply_get(row, "RW") && !reply_bool(row, "RW");
}

static bool matches(const struct check_row *row, struct json_object *body,
		    struct json_object *inspect)
{
	struct json_object *asked = reply_get(body, row->asked),
			   *got = reply_get(inspect, row->got);

	if (!asked) /* the engine's default was asked for */
		return true;
	switch (row->match) {
	case MATCH_SAME:
		return json_object_equal(asked, got);
	case MATCH_HOLDS:
		return holds(asked, got);
	case MATCH_ABSENT:
		return empty(got) || json_object_equal(asked, got);
	case MATCH_MOUNT:
		return mounted(asked, got);
	}
	return false;
}

int recipe_check(const struct recipe *r, const char *optional, struct json_object *inspect,
		 struct err *err)
{
	AUTO_JSON *body = recipe_body(r);

	for (size_t i = 0; i < ARRAY_SIZE(check_table); i++) {
		const struct check_row *row = &check_table[i];

		if (matches(row, body, inspect) ||
		    (row->limit && recipe_listed(optional, row->limit)))
			continue;
		err_set(err, ERR_SANDBOX, "The container was not made as asked: %s differs",
			row->got);
		return err_cause(err, "asked %.100s, got %.100s",
				 json_object_to_json_string(reply_get(body, row->asked)),
				 json_object_to_json_string(reply_get(inspect, row->got)));
	}
	return 0;
}

int recipe_verify(const struct recipe *r, struct json_object *inspect, struct err *err)
{
	return recipe_check(r, "", inspect, err);
}

bool recipe_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t item = strcspn(list, ",");

		if (item == len && !strncmp(list, word, len))
			return true;
		list += item + (list[item] == ',');
		list += strspn(list, " ");
	}
	return false;
}

/* From moby's daemon/daemon_unix.go, versions 19.03 to 29, and podman's. The first row that fits
 * counts. */
static const struct {
	const char *words, *limit;
} warning_table[] = {
	{ "swap limit", "swap" },    { "memory limited without swap", "swap" },
	{ "memory swappiness", "" }, { "memory limit", "memory" },
	{ "pids limit", "pids" },    { "cpu cfs", "cpu" },
	{ "nanocpus", "cpu" },	     { "cpu quota", "cpu" },
	{ "ipv4 forwarding", "" }, /* network none */
};

const char *recipe_warned(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(warning_table); i++) {
		if (strcasestr(text, warning_table[i].words))
			return warning_table[i].limit;
	}
	return NULL;
}
