/*
 * A job's container from both sides: what docker inspect says of it is the recipe (written here
 * once more, by hand), and what a program inside sees. Bombs end in a verdict while another job
 * runs on.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct service svc;

static void setup(void)
{
	service_up(&svc, NULL);
}

static void teardown(void)
{
	service_clear(&svc);
}

/* The inspect answer of a job that is running, as an answer so that the assertions show it. */
static void inspect_running(struct answer *out, struct fcgi *job, const char *more)
{
	char id[DOCK_ID];
	ck_assert_msg(service_wait_clean(&svc), "a container of an earlier test is left");
	service_begin(&svc, "import time\ntime.sleep(50)", more, job);
	ck_assert_msg(dock_wait_one(svc.instance, id), "no container came");
	out->json = dock_inspect(id);
	WANT(out, out->json != NULL);
}

static void want_list(const struct answer *a, const char *path, const char *want)
{
	const char *got = json_object_to_json_string_ext(
		answer_get(a, path), JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (strcmp(got, want) != 0)
		answer_fail(a, __FILE__, __LINE__, "%s is %s, wanted %s", path, got, want);
}

/* null, [] and {} all mean: none. */
static void want_none(const struct answer *a, const char *path)
{
	struct json_object *o = answer_get(a, path);
	bool none =
		!o ||
		(json_object_is_type(o, json_type_array) && json_object_array_length(o) == 0) ||
		(json_object_is_type(o, json_type_object) && json_object_object_length(o) == 0) ||
		(json_object_is_type(o, json_type_string) && json_object_get_string_len(o) == 0);
	if (!none)
		answer_fail(a, __FILE__, __LINE__, "%s is %s, wanted none", path,
			    json_object_to_json_string(o));
}

static void want_limits(const struct answer *a, int64_t memory_mb, int64_t milli, int64_t pids)
{
	WANT_INT(a, "HostConfig.Memory", memory_mb << 20);
	WANT_INT(a, "HostConfig.MemorySwap", memory_mb << 20);
	WANT_INT(a, "HostConfig.NanoCpus", milli * 1000000);
	WANT_INT(a, "HostConfig.PidsLimit", pids);
}

static int64_t tmpfs_mb(const struct answer *a, const char *path, const char *option)
{
	struct json_object *o = answer_get(a, path);
	const char *text = json_object_get_string(o), *size = text ? strstr(text, "size=") : NULL;
	if (!size || !strstr(text, "nr_inodes=") || !strstr(text, "nosuid") ||
	    !strstr(text, "nodev") || !strstr(text, option))
		answer_fail(a, __FILE__, __LINE__, "%s is %s", path, text ? text : "missing");
	char *unit;
	int64_t n = strtol(size + 5, &unit, 10);
	return *unit == 'm' ? n : *unit == 'k' ? n >> 10 : n >> 20;
}

START_TEST(inspect_equals_the_recipe)
{
	AUTO(answer) a = ANSWER_INIT;
	struct fcgi job;
	inspect_running(&a, &job, "\"timeout_ms\":60000");
	WANT_STR(&a, "Config.User", "65532:65532");
	WANT_STR(&a, "Config.Image", dock_image());
	WANT_STR(&a, "Config.WorkingDir", "/workspace");
	WANT_BOOL(&a, "Config.Tty", false);
	WANT_BOOL(&a, "Config.OpenStdin", true);
	WANT_BOOL(&a, "Config.StdinOnce", true);
	want_list(&a, "Config.Entrypoint", "[\"/belljar/guest\"]");
	const char *env = json_object_to_json_string(answer_get(&a, "Config.Env"));
	WANT(&a, strstr(env, "LANG=C.UTF-8") && strstr(env, "TZ=UTC"));
	WANT_STR(&a, "HostConfig.NetworkMode", "none");
	WANT_BOOL(&a, "HostConfig.ReadonlyRootfs", true);
	WANT_BOOL(&a, "HostConfig.Privileged", false);
	WANT_BOOL(&a, "HostConfig.PublishAllPorts", false);
	want_list(&a, "HostConfig.CapDrop", "[\"ALL\"]");
	want_none(&a, "HostConfig.CapAdd");
	want_list(&a, "HostConfig.SecurityOpt", "[\"no-new-privileges\"]");
	want_limits(&a, 512, 1000, 64);
	WANT_STR(&a, "HostConfig.LogConfig.Type", "none");
	WANT_STR(&a, "LogPath", "");
	WANT_STR(&a, "HostConfig.IpcMode", "private");
	WANT_STR(&a, "HostConfig.RestartPolicy.Name", "no");
	want_list(&a, "HostConfig.Ulimits.0.Name", "\"nofile\"");
	WANT_INT(&a, "HostConfig.Ulimits.1.Hard", 0);
	want_list(&a, "HostConfig.Ulimits.1.Name", "\"core\"");
	static const char *const none[] = { "HostConfig.Binds",	      "HostConfig.Devices",
					    "HostConfig.VolumesFrom", "HostConfig.PortBindings",
					    "HostConfig.PidMode",     "HostConfig.UTSMode",
					    "HostConfig.Links",	      "HostConfig.ExtraHosts",
					    "HostConfig.GroupAdd",    "HostConfig.UsernsMode",
					    "NetworkSettings.Ports" };
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		want_none(&a, none[i]);
	fcgi_drop(&job);
}
END_TEST

START_TEST(inspect_has_one_mount_and_labels)
{
	AUTO(answer) a = ANSWER_INIT;
	struct fcgi job;
	inspect_running(&a, &job, "\"timeout_ms\":60000");
	WANT(&a, json_object_array_length(answer_get(&a, "Mounts")) == 1);
	WANT_STR(&a, "Mounts.0.Type", "volume");
	WANT_STR(&a, "Mounts.0.Destination", "/belljar");
	WANT_BOOL(&a, "Mounts.0.RW", false);
	int64_t sum = tmpfs_mb(&a, "HostConfig.Tmpfs./workspace", "exec") +
		      tmpfs_mb(&a, "HostConfig.Tmpfs./tmp", "mode=1777") +
		      tmpfs_mb(&a, "HostConfig.Tmpfs./dev/shm", "noexec");
	WANT(&a, sum < 512);
	WANT(&a, json_object_object_length(answer_get(&a, "HostConfig.Tmpfs")) == 3);
	struct json_object *labels = answer_get(&a, "Config.Labels"), *v;
	static const char *const names[] = { "owner",  "role",	   "instance",
					     "tenant", "deadline", "spec" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *key = xasprintf("com.belljar.%s", names[i]);
		if (!json_object_object_get_ex(labels, key, &v) || !json_object_get_string_len(v))
			answer_fail(&a, __FILE__, __LINE__, "no label %s", key);
	}
	fcgi_drop(&job);
}
END_TEST

START_TEST(inspect_has_the_limits_of_the_request)
{
	AUTO(answer) a = ANSWER_INIT;
	struct fcgi job;
	inspect_running(&a, &job,
			"\"timeout_ms\":60000,\"limits\":{\"memory_mb\":128,\"cpus\":0.25,\"pids\":"
			"20,\"disk_mb\":16}");
	want_limits(&a, 128, 250, 20);
	ck_assert_int_eq(tmpfs_mb(&a, "HostConfig.Tmpfs./workspace", "exec"), 16);
	fcgi_drop(&job);
}
END_TEST

struct view_row {
	const char *code, *out;
};

static const struct view_row view_rows[] = {
	{ "import os\nprint(sorted(os.listdir('/sys/class/net')))", "['lo']\n" },
	{ "import socket\ns = socket.socket()\ns.settimeout(5)\n"
	  "try: s.connect(('192.0.2.1', 80)); print('connected')\nexcept OSError as e: "
	  "print(e.errno)",
	  "101\n" }, /* ENETUNREACH */
	{ "for l in open('/proc/self/status'):\n    k, v = l.split(':', 1)\n"
	  "    if k.startswith('Cap') or k in ('NoNewPrivs', 'Uid', 'Gid', 'Seccomp'): print(k, "
	  "v.split())",
	  "Uid ['65532', '65532', '65532', '65532']\nGid ['65532', '65532', '65532', '65532']\n"
	  "CapInh ['0000000000000000']\nCapPrm ['0000000000000000']\nCapEff ['0000000000000000']\n"
	  "CapBnd ['0000000000000000']\nCapAmb ['0000000000000000']\nNoNewPrivs ['1']\nSeccomp "
	  "['2']\n" },
	{ "import os\nfor p in ('/var/run/docker.sock', '/run/docker.sock', '/run/belljar'): "
	  "print(os.path.exists(p))",
	  "False\nFalse\nFalse\n" },
	/* Every folder of the container that lets us write is one of the sized mounts (or the
	   kernel's own). */
	{ "import os\n"
	  "found = []\n"
	  "for top, dirs, files in os.walk('/'):\n"
	  "    if top in ('/proc', '/sys'): dirs[:] = []; continue\n"
	  "    p = os.path.join(top, '.probe')\n"
	  "    try:\n"
	  "        open(p, 'w').close(); os.remove(p); found.append(top)\n"
	  "    except OSError: pass\n"
	  "print(sorted(found))",
	  "['/dev/shm', '/tmp', '/workspace']\n" },
	{ "import os\n"
	  "for p in ('/proc/sys/kernel/hostname', '/proc/sysrq-trigger', "
	  "'/sys/fs/cgroup/memory.max',\n"
	  "          '/sys/fs/cgroup/memory/memory.limit_in_bytes', '/belljar/guest', "
	  "'/etc/passwd', '/proc/1/oom_score_adj',\n"
	  "          '/proc/1/comm', '/dev/sda', '/dev/mem'):\n"
	  "    try: os.open(p, os.O_WRONLY); print('open', p)\n"
	  "    except OSError: pass",
	  "" },
	{ "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
	  "print(libc.unshare(0x10000000), libc.mount(b'none', b'/tmp', b'tmpfs', 0, None), "
	  "libc.chroot(b'/tmp'), "
	  "libc.setuid(0), libc.ptrace(16, 1, 0, 0))",
	  "-1 -1 -1 -1 -1\n" },
	{ "import os, subprocess\n"
	  "for f in ('/usr/bin/su', '/bin/mount', '/usr/bin/passwd'):\n"
	  "    if os.path.exists(f): subprocess.run([f, '--version'], capture_output=True)\n"
	  "print(subprocess.run(['sh', '-c', 'grep NoNewPrivs /proc/self/status'], "
	  "capture_output=True).stdout)",
	  "b'NoNewPrivs:\\t1\\n'\n" },
};

START_TEST(inside_views)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, view_rows[_i].code,
			"\"timeout_ms\":60000,\"last_line_interactive\":false", &a);
	WANT_STR(&a, "stderr", "");
	WANT_STR(&a, "stdout", view_rows[_i].out);
	WANT_STR(&a, "status", "ok");
}
END_TEST

START_TEST(bombs_end_in_a_verdict_beside_a_quiet_job)
{
	static const char *const bombs[] = {
		"import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
		"blocks = []\nwhile True: blocks.append(bytearray(b'\\1') * (4 << 20))\n",
	};
	static const char *const verdicts[] = { "timeout", "oom" };
	struct fcgi quiet, bomb[2];
	service_begin(&svc, "import time\nfor i in range(30): print(i); time.sleep(0.1)",
		      "\"timeout_ms\":60000", &quiet);
	for (size_t i = 0; i < 2; i++)
		service_begin(&svc, bombs[i], "\"timeout_ms\":3000,\"limits\":{\"memory_mb\":128}",
			      &bomb[i]);
	for (size_t i = 0; i < 2; i++) {
		AUTO(answer) a = ANSWER_INIT;
		fcgi_finish(&bomb[i], &a, 120000);
		WANT_STATUS(&a, 200);
		/* On a very slow machine memory may not be full when the time is over. */
		if (i == 0 || strcmp(answer_str(&a, "status"), "timeout") != 0)
			WANT_STR(&a, "status", verdicts[i]);
	}
	AUTO(answer) q = ANSWER_INIT;
	fcgi_finish(&quiet, &q, 120000);
	WANT_STATUS(&q, 200);
	WANT_STR(&q, "status", "ok");
	WANT_IN(&q, "stdout", "28\n29\n");
	ck_assert(service_wait_clean(&svc));
}
END_TEST

START_TEST(a_container_killed_from_outside_is_a_verdict)
{
	struct fcgi job;
	char id[DOCK_ID];
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) killed = ANSWER_INIT;
	service_begin(
		&svc,
		"import time\nprint('before', flush=True)\nopen('started', 'w')\ntime.sleep(50)",
		"\"timeout_ms\":60000", &job);
	ck_assert_msg(dock_wait_one(svc.instance, id), "no container came");
	ck_assert(service_busy_worker(&svc) > 0);
	tool_sleep_ms(3000); /* the program's line has no other witness than the answer */
	AUTO_FREE char *path = xasprintf("/containers/%s/kill?signal=KILL", id);
	dock_call("POST", path, NULL, &killed);
	fcgi_finish(&job, &a, 120000);
	WANT_STATUS(&a, 200);
	WANT(&a, strcmp(answer_str(&a, "status"), "ok") != 0);
	WANT_STR(&a, "stdout", "before\n");
	WANT_BOOL(&a, "timed_out", false);
	ck_assert(service_wait_clean(&svc));
}
END_TEST

Suite *suite_sandbox(void)
{
	Suite *s = suite_create("sandbox");
	TCase *tc = tcase_create("sandbox");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, inspect_equals_the_recipe);
	tcase_add_test(tc, inspect_has_one_mount_and_labels);
	tcase_add_test(tc, inspect_has_the_limits_of_the_request);
	tcase_add_loop_test(tc, inside_views, 0, (int)ARRAY_SIZE(view_rows));
	tcase_add_test(tc, bombs_end_in_a_verdict_beside_a_quiet_job);
	tcase_add_test(tc, a_container_killed_from_outside_is_a_verdict);
	suite_add_tcase(s, tc);
	return s;
}
