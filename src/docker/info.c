/*
 * The look at the engine for GET /v1/docker/status and /health: what is there, and what is wrong in
 * words with the way out of it. Called by the STATUS filler. It changes nothing in the engine and
 * never fails: not to get an answer is what it reports.
 */
#include "docker/info.h"

#include "base/clock.h"
#include "base/err.h"
#include "docker/engine.h"
#include "docker/image.h"
#include "docker/recipe.h"
#include "docker/reply.h"
#include "wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Clients look for the first words: they are those of the contract that /health keeps. */
static const struct {
	int sys;
	const char *words, *fix;
} reach_table[] = {
	{ EACCES, "Docker daemon not reachable: no permission",
	  "Run the keeper as root, or as a member of the group that owns the socket (docker)." },
	{ EPERM, "Docker daemon not reachable: no permission",
	  "Run the keeper as root, or as a member of the group that owns the socket (docker)." },
	{ ETIMEDOUT, "Docker daemon not responding",
	  "Look at the engine's log and the host's load; restart the engine if it hangs." },
	{ EPROTONOSUPPORT, "Docker daemon has no usable API version",
	  "Use Docker 19.03 or newer; for a newer engine than this service knows, set "
	  "min-api-version in daemon.json." },
	{ EPROTO, "Docker daemon not reachable: no proper answer",
	  "Check that DOCKER_HOST names a Docker engine without TLS." },
	{ EINVAL, "DOCKER_HOST is not usable",
	  "Set it to unix:///var/run/docker.sock or to tcp://host:2375." },
	{ 0, "Docker daemon not reachable: it answers with errors",
	  "Look at the engine's log; restart it." },
	/* ENOENT, ECONNREFUSED and all others */
	{ -1, "Docker daemon not reachable",
	  "Start Docker (systemctl start docker, or make run), or set DOCKER_HOST to where it "
	  "listens." },
};

/* Limits of the recipe, and what /info says about the host's ability to apply them. */
static const struct {
	const char *member, *limit, *fix;
} limit_table[] = {
	{ "MemoryLimit", "memory",
	  "Enable the memory controller: boot with cgroup_enable=memory, or delegate it to "
	  "rootless." },
	{ "SwapLimit", "swap", "Boot the host with swapaccount=1, or set OPTIONAL_LIMITS=swap." },
	{ "PidsLimit", "pids",
	  "Enable the pids controller of the kernel, or delegate it to rootless Docker." },
	{ "CpuCfsQuota", "cpu",
	  "Enable CONFIG_CFS_BANDWIDTH in the kernel, or set OPTIONAL_LIMITS=cpu." },
};

static void report(struct lease_status *out, const char *problem, const char *detail,
		   const char *fix)
{
	if (*out->problem) /* the first one is what to begin with */
		return;
	snprintf(out->problem, sizeof(out->problem), "%s%s%s", problem, *detail ? ": " : "",
		 detail);
	snprintf(out->fix, sizeof(out->fix), "%s", fix);
}

static void report_unreachable(struct lease_status *out, const struct err *err)
{
	int sys = err->code == ERR_INVALID ? EINVAL : err->sys;
	size_t i = 0;

	while (reach_table[i].sys != sys && reach_table[i].sys != -1)
		i++;
	report(out, reach_table[i].words, err->text, reach_table[i].fix);
}

static void look_at_limits(struct json_object *info, const char *optional, struct lease_status *out)
{
	out->limits_ok = 1;
	for (size_t i = 0; i < ARRAY_SIZE(limit_table); i++) {
		char words[80];

		/* An engine that leaves the member out doesn't say; the create call will. */
		if (!reply_get(info, limit_table[i].member) ||
		    reply_bool(info, limit_table[i].member))
			continue;
		if (recipe_listed(optional, limit_table[i].limit))
			continue;
		out->limits_ok = 0;
		snprintf(words, sizeof(words), "This host can't apply the %s limit of containers",
			 limit_table[i].limit);
		report(out, words, "", limit_table[i].fix);
	}
}

static void look_at_host(struct engine *e, const char *optional, struct lease_status *out)
{
	AUTO_JSON *info = NULL;
	struct err err = ERR_INIT;
	int status;

	if (engine_call(e, "GET", "/info", NULL, &status, &info, &err) < 0) {
		report_unreachable(out, &err);
		return;
	}
	if (status != 200) {
		report(out, "The Docker engine doesn't describe itself", engine_message(info),
		       "Look at the engine's log; a proxy in front of it must allow GET /info.");
		return;
	}
	reply_copy(info, "ServerVersion", out->engine_version, sizeof(out->engine_version));
	reply_copy(info, "DefaultRuntime", out->oci_runtime, sizeof(out->oci_runtime));
	reply_copy(info, "OperatingSystem", out->os, sizeof(out->os));
	snprintf(out->cgroup, sizeof(out->cgroup), "v%.3s",
		 *reply_text(info, "CgroupVersion")
			 ? reply_text(info, "CgroupVersion")
			 : "1"); /* engines before 20.10 know only v1 and don't say so */
	if (strcmp(reply_text(info, "OSType"), "linux") && *reply_text(info, "OSType"))
		report(out, "The Docker engine runs no Linux containers", "",
		       "Switch the engine to Linux containers.");
	look_at_limits(info, optional, out);
}

static void look_at_image(struct engine *e, const char *name, struct lease_status *out)
{
	struct err err = ERR_INIT;
	struct image image;
	char words[160], fix[240];

	if (image_inspect(e, name, &image, &err) == 0) {
		out->image_exists = 1;
		return;
	}
	if (err.code == ERR_IMAGE) {
		snprintf(words, sizeof(words), "Image %.100s not available locally", name);
		snprintf(fix, sizeof(fix),
			 "Build it with `make images`, or set PYTHON_IMAGE to one that is there.");
	} else {
		snprintf(words, sizeof(words), "%s image %.100s",
			 err.sys == ETIMEDOUT ? "Timeout checking"
					      : "The engine failed while checking",
			 name);
		snprintf(fix, sizeof(fix), "Look at the engine's log: %.180s", err.text);
	}
	report(out, words, "", fix);
}

void info_status(const char *host, const char *image, const char *optional, int64_t deadline_ms,
		 struct lease_status *out)
{
	struct engine e = { 0 };
	struct err err = ERR_INIT;

	*out = (struct lease_status){ .magic = LEASE_MAGIC };
	snprintf(out->image, sizeof(out->image), "%s", image);
	if (engine_open(&e, host, deadline_ms, &err) < 0) {
		/* No socket at all is the one sign from here that there is no Docker. */
		out->installed = err.sys != ENOENT && err.code != ERR_INVALID;
		report_unreachable(out, &err);
		return;
	}
	out->installed = out->running = 1;
	snprintf(out->engine, sizeof(out->engine), "%s", e.podman ? "Podman" : "Docker");
	snprintf(out->api_version, sizeof(out->api_version), "%s", e.api);
	look_at_host(&e, optional, out);
	look_at_image(&e, image, out);
	engine_close(&e);
}
