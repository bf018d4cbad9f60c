/*
 * The recipe of a job's container: the one place that decides a field of HostConfig, and the check
 * of an inspect answer against it. Called by container.c and volume.c. It takes nothing from a
 * request but the five numbers of struct lease_limits, which the keeper has checked.
 */
#include "docker/recipe.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "docker/names.h"
#include "docker/reply.h"
#include "limits.h"
#include "wire/json.h"
#include "wire/sha256.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MIB ((int64_t)1 << 20)
#define NANO_PER_MILLI ((int64_t)1000000)

static void put(struct json_object *o, const char *name, struct json_object *value)
{
	json_object_object_add(o, name, value);
}

static void put_text(struct json_object *o, const char *name, const char *value)
{
	put(o, name, json_object_new_string(value));
}

static void put_int(struct json_object *o, const char *name, int64_t value)
{
	put(o, name, json_object_new_int64(value));
}

static void put_bool(struct json_object *o, const char *name, bool value)
{
	put(o, name, json_object_new_boolean(value));
}

static void put_list(struct json_object *o, const char *name, const char *const *values,
		     size_t count)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(list, json_object_new_string(values[i]));
	put(o, name, list);
}

static struct json_object *put_object(struct json_object *o, const char *name)
{
	struct json_object *inner = json_object_new_object();

	put(o, name, inner);
	return inner;
}

static void put_tmpfs(struct json_object *o, const char *path, int64_t mb, int inodes,
		      const char *more)
{
	char text[160];

	snprintf(text, sizeof(text), "rw,nosuid,nodev,size=%lldm,nr_inodes=%d,%s", (long long)mb,
		 inodes, more);
	put_text(o, path, text);
}

static int64_t shm_mb(const struct lease_limits *l)
{
	int64_t rest = (int64_t)l->memory_mb - l->disk_mb - l->tmp_mb;

	return MAX((int64_t)1, MIN((int64_t)LIMIT_SHM_MB, rest / 2));
}

bool recipe_can_become(const struct lease_limits *from, const struct lease_limits *to)
{
	return from->disk_mb == to->disk_mb && from->tmp_mb == to->tmp_mb &&
	       shm_mb(from) == shm_mb(to);
}

/*
 * Memory-backed, so they count as the container's memory; an unbounded number of empty files would
 * too, hence nr_inodes. /dev/shm is ours because ShmSize bounds no inodes; it gets a part of what
 * the other two leave, so that all three stay below the memory limit.
 */
static void add_tmpfs(struct json_object *host, const struct lease_limits *l)
{
	struct json_object *tmpfs = put_object(host, "Tmpfs");

	/* Programs are built and run in the workspace and in /tmp. */
	put_tmpfs(tmpfs, "/workspace", l->disk_mb, LIMIT_WORKSPACE_INODES,
		  "exec,uid=65532,gid=65532,mode=0755");
	put_tmpfs(tmpfs, "/tmp", l->tmp_mb, LIMIT_TMP_INODES, "exec,mode=1777");
	put_tmpfs(tmpfs, "/dev/shm", shm_mb(l), LIMIT_SHM_INODES, "noexec,mode=1777");
}

static void add_ulimit(struct json_object *list, const char *name, int64_t value)
{
	struct json_object *row = json_object_new_object();

	put_text(row, "Name", name);
	put_int(row, "Soft", value);
	put_int(row, "Hard", value);
	json_object_array_add(list, row);
}

/* What can be changed while a container runs. */
static void add_cgroup_limits(struct json_object *host, const struct lease_limits *l)
{
	put_int(host, "Memory", l->memory_mb * MIB);
	put_int(host, "MemorySwap",
		l->memory_mb * MIB); /* memory and swap together: no swap (trap 24) */
	put_int(host, "NanoCpus", l->cpu_milli * NANO_PER_MILLI);
	put_int(host, "PidsLimit", l->pids);
}

/* No nproc: the kernel counts it per uid over all containers, and they all have the same uid.
 * PidsLimit is the bound. */
static void add_limits(struct json_object *host, const struct lease_limits *l)
{
	struct json_object *ulimits = json_object_new_array();

	add_cgroup_limits(host, l);
	put_int(host, "OomScoreAdj",
		LIMIT_OOM_SCORE); /* when the host runs out of memory, jobs go before services */
	add_ulimit(ulimits, "nofile", LIMIT_NOFILE);
	add_ulimit(ulimits, "core", 0);
	put(host, "Ulimits", ulimits);
}

/* System V segments end with their last user; message queues, whose memory no limit of ours counts,
 * don't exist. */
static void add_sysctls(struct json_object *host)
{
	struct json_object *sysctls = put_object(host, "Sysctls");

	put_text(sysctls, "kernel.shm_rmid_forced", "1");
	put_text(sysctls, "kernel.msgmni", "0");
	put_text(sysctls, "fs.mqueue.queues_max",
		 "0"); /* /dev/mqueue is writable whatever ReadonlyRootfs says */
}

static void add_mount(struct json_object *host, const struct recipe *r, bool read_only)
{
	struct json_object *mounts = json_object_new_array(), *mount = json_object_new_object();

	put_text(mount, "Type", "volume");
	put_text(mount, "Source", r->volume);
	put_text(mount, "Target", RECIPE_GUEST_DIR);
	put_bool(mount, "ReadOnly", read_only);
	/* An image with files of its own at the same place must not get them into the volume. */
	put_bool(put_object(mount, "VolumeOptions"), "NoCopy", true);
	json_object_array_add(mounts, mount);
	put(host, "Mounts", mounts);
}

/* What every container of the service has. MaskedPaths, ReadonlyPaths, seccomp: left out, which
 * keeps the engine's own (trap 27). */
static void add_confinement(struct json_object *host)
{
	struct json_object *log = put_object(host, "LogConfig");

	put_text(host, "NetworkMode", "none");
	put_bool(host, "ReadonlyRootfs", true);
	put_list(host, "CapDrop", (const char *const[]){ "ALL" }, 1);
	put_list(host, "SecurityOpt", (const char *const[]){ "no-new-privileges" }, 1);
	put_bool(host, "Privileged", false);
	put_text(host, "IpcMode", "private");
	put_text(host, "CgroupnsMode",
		 "private"); /* the container's own counters at one place on cgroup v1 and v2 */
	put_text(log, "Type", "none"); /* trap 28 */
	put_text(put_object(host, "RestartPolicy"), "Name", "no");
	put_bool(host, "AutoRemove", false); /* trap 12 */
	put_bool(host, "Init", false);	     /* the guest is PID 1 */
}

static struct json_object *host_config(const struct recipe *r)
{
	struct json_object *host = json_object_new_object();

	add_confinement(host);
	add_limits(host, &r->limits);
	add_tmpfs(host, &r->limits);
	add_sysctls(host);
	add_mount(host, r, true);
	if (*r->oci_runtime)
		put_text(host, "Runtime", r->oci_runtime);
	return host;
}

static struct json_object *add_labels(struct json_object *body, const struct recipe *r,
				      const char *role)
{
	struct json_object *labels = put_object(body, "Labels");
	char deadline[24];

	snprintf(deadline, sizeof(deadline), "%lld", (long long)r->deadline_wall_s);
	put_text(labels, NAME_OWNER, NAME_OWNER_VALUE);
	put_text(labels, NAME_ROLE, role);
	put_text(labels, NAME_INSTANCE, r->instance);
	put_text(labels, NAME_DEADLINE, deadline);
	put_text(labels, NAME_TENANT, "local");
	return labels;
}

/* Config's part. */
static void add_program(struct json_object *body, const struct recipe *r)
{
	static const char *const guest[] = { RECIPE_GUEST_DIR "/guest" };
	char preimport[sizeof(RECIPE_PREIMPORT "=") + LIMIT_PREIMPORT_BYTES];
	const char *const env[] = { "LANG=C.UTF-8", "TZ=UTC", "HOME=/tmp", preimport };
	bool prepared = r->preimport && *r->preimport;

	snprintf(preimport, sizeof(preimport), RECIPE_PREIMPORT "=%s",
		 prepared ? r->preimport : "");
	put_text(body, "Image", r->image);
	put_text(body, "Hostname", "belljar"); /* the default is the container's id */
	put_text(body, "User", "65532:65532");
	put_text(body, "WorkingDir", "/workspace");
	put_list(body, "Entrypoint", guest, ARRAY_SIZE(guest));
	put_list(body, "Cmd", NULL, 0);
	put_list(body, "Env", env, ARRAY_SIZE(env) - !prepared);
	put_bool(body, "Tty", false);
	put_bool(body, "OpenStdin", true);
	put_bool(body, "StdinOnce", true); /* trap 7 */
	put_bool(body, "AttachStdin", true);
	put_bool(body, "AttachStdout", true);
	put_bool(body, "AttachStderr", true);
	/* With NetworkMode none this alone spares older engines a start of themselves, half of the
	 * time a container takes. */
	put_bool(body, "NetworkDisabled", true);
	put_text(body, "StopSignal", "SIGKILL"); /* PID 1 has no handler for another one */
}

/* Two containers with the same spec were made alike, whenever that was: what a pool of warm ones
 * asks. */
static void spec_hash(struct json_object *body, char *out)
{
	struct sha256 s;
	const char *text = json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN);

	sha256_init(&s);
	sha256_add(&s, text, strlen(text));
	sha256_hex(&s, out);
}

static struct json_object *body_without_labels(const struct recipe *r)
{
	struct json_object *body = json_object_new_object();

	add_program(body, r);
	put(body, "HostConfig", host_config(r));
	return body;
}

/* The label keeps what it was made with: labels can't be changed. */
static void made_hash(const struct recipe *r, struct json_object *body, char *out)
{
	struct recipe made = *r;
	AUTO_JSON *other = NULL;

	if (r->born) {
		made.limits = *r->born;
		other = body_without_labels(&made);
	}
	spec_hash(other ? other : body, out);
}

struct json_object *recipe_body(const struct recipe *r)
{
	struct json_object *body = body_without_labels(r);
	char hash[SHA256_HEX];

	made_hash(r, body, hash);
	put_text(add_labels(body, r, NAME_ROLE_JOB), NAME_SPEC, hash);
	return body;
}

struct json_object *recipe_update_body(const struct recipe *r)
{
	struct json_object *body = json_object_new_object();

	add_cgroup_limits(body, &r->limits);
	return body;
}

struct json_object *recipe_setup_body(const struct recipe *r)
{
	struct json_object *body = json_object_new_object(), *host = json_object_new_object();

	add_program(body, r);
	add_labels(body, r, NAME_ROLE_SETUP);
	add_confinement(host);
	add_mount(host, r, false);
	put(body, "HostConfig", host);
	return body;
}
