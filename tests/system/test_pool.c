/*
 * Warm containers: handed out at once, used once, replaced when they die, age or are of old
 * settings, given other limits, and gone when the service is.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MOST 16

static struct service svc;

struct pool {
	char ids[MOST][DOCK_ID];
	size_t count, want;
	const char (*not_these)[DOCK_ID];
	size_t not_count;
};

static void start(const char *const *extra)
{
	service_prepare(&svc, extra);
	service_start(&svc, true);
}

static void teardown(void)
{
	service_clear(&svc);
}

/* The guest and the interpreter that it has started. */
static size_t processes(const char *id)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/containers/%s/top", id);
	dock_call("GET", path, NULL, &a);
	struct json_object *list = answer_get(&a, "Processes");
	return a.status == 200 && list ? json_object_array_length(list) : 0;
}

static bool listed(const char (*ids)[DOCK_ID], size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(ids[i], id) == 0)
			return true;
	return false;
}

static bool is_full(void *arg)
{
	struct pool *p = arg;
	p->count = dock_list(svc.instance, p->ids, MOST);
	if (p->count != p->want)
		return false;
	for (size_t i = 0; i < p->count; i++)
		if (processes(p->ids[i]) < 2 || listed(p->not_these, p->not_count, p->ids[i]))
			return false;
	return true;
}

/* Waits until the pool has so many, none of them one of `old`, and nothing else is there. */
static struct pool want_pool(size_t want, const struct pool *old)
{
	struct pool p = { .want = want };
	if (old) {
		p.not_these = old->ids;
		p.not_count = old->count;
	}
	ck_assert_msg(tool_until(is_full, &p, TOOL_WAIT_MS), "there are %zu containers, not %zu",
		      p.count, want);
	tool_sleep_ms(200); /* the interpreter is there, and says so to the keeper */
	p.not_these = NULL;
	return p;
}

static void want_job(bool warm)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('works')", NULL, &a);
	WANT_STR(&a, "stdout", "works\n");
	WANT_BOOL(&a, "sandbox.warm", warm);
}

START_TEST(each_is_ready_and_used_once)
{
	char last[DOCK_ID] = "";
	start((const char *const[]){ "POOL_SIZE=2", NULL });
	for (int i = 0; i < 4; i++) {
		AUTO(answer) a = ANSWER_INIT;
		struct pool p = want_pool(2, NULL);
		service_execute(&svc,
				"f = open('x', 'a+')\nprint(f.tell())\nf = open('/tmp/x', 'w')",
				NULL, &a);
		WANT_STR(&a, "stdout", "0\n");
		WANT_BOOL(&a, "sandbox.warm", true);
		WANT_RANGE(&a, "usage.start_ms", 0, 100);
		const char *id = answer_str(&a, "sandbox.id");
		WANT(&a, strcmp(id, last) != 0);
		WANT(&a, strncmp(id, p.ids[0], 12) == 0 || strncmp(id, p.ids[1], 12) == 0);
		snprintf(last, sizeof(last), "%s", id);
	}
	const struct pool end = want_pool(2, NULL);
	for (size_t i = 0; i < end.count; i++)
		ck_assert(strncmp(end.ids[i], last, 12) != 0);
}
END_TEST

static void kill_container(const char *id)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/containers/%s/kill", id);
	dock_call("POST", path, NULL, &a);
	ck_assert_int_eq(a.status, 204);
}

START_TEST(the_dead_are_replaced)
{
	start((const char *const[]){ "POOL_SIZE=2", NULL });
	struct pool p = want_pool(2, NULL);
	kill_container(p.ids[0]);
	dock_remove(p.ids[1]);
	want_pool(2, &p);
	want_job(true);
}
END_TEST

/* The engine tells the end of a stream late; until then only the job itself can find out. */
START_TEST(a_job_right_after_a_death_does_not_notice)
{
	start((const char *const[]){ "POOL_SIZE=2", NULL });
	for (int i = 0; i < 6; i++) {
		AUTO(answer) a = ANSWER_INIT;
		struct pool p = want_pool(2, NULL);
		kill_container(p.ids[0]);
		kill_container(p.ids[1]);
		service_execute(&svc, "print(open('in').read())",
				"\"files\":[{\"path\":\"in\",\"content\":\"data\"}]", &a);
		WANT_STR(&a, "stdout", "data\n");
	}
}
END_TEST

/* Its guest lives and its stream is open, so no look from outside tells. */
START_TEST(a_dead_interpreter_costs_nothing_but_time)
{
	AUTO(answer) a = ANSWER_INIT;
	start((const char *const[]){ "POOL_SIZE=2", NULL });
	const struct pool p = want_pool(2, NULL);
	for (size_t i = 0; i < p.count; i++) {
		pid_t inside[8];
		struct json_object *look = dock_inspect(p.ids[i]);
		pid_t guest = (pid_t)json_object_get_int(answer_json_get(look, "State.Pid"));
		ck_assert_int_gt(guest, 0);
		size_t n = ps_children(guest, inside, ARRAY_SIZE(inside));
		ck_assert_uint_eq(n, 1);
		ck_assert_int_eq(kill(inside[0], SIGKILL), 0);
		json_object_put(look);
	}
	service_execute(&svc, "print(input())", "\"stdin\":\"said\"", &a);
	WANT_STR(&a, "stdout", "said\n");
	WANT_BOOL(&a, "sandbox.warm", false);
}
END_TEST

struct limit_row {
	const char *more;
	const char *path; /* in the inspect answer */
	int64_t want;
	bool warm;
};
static const struct limit_row limit_rows[] = {
	{ "\"limits\":{\"memory_mb\":600}", "HostConfig.Memory", 600LL << 20, true },
	{ "\"limits\":{\"memory_mb\":600}", "HostConfig.MemorySwap", 600LL << 20, true },
	{ "\"limits\":{\"cpus\":0.5}", "HostConfig.NanoCpus", 500000000, true },
	{ "\"limits\":{\"pids\":20}", "HostConfig.PidsLimit", 20, true },
	{ "\"limits\":{\"disk_mb\":50}", "HostConfig.Memory", 512LL << 20, false },
};

/* The container whose id begins so; the caller's. */
static struct json_object *inspect_job(const char *name)
{
	char ids[MOST][DOCK_ID];
	size_t n = dock_list(svc.instance, ids, MOST);
	for (size_t i = 0; i < n && i < MOST; i++)
		if (strncmp(ids[i], name, strlen(name)) == 0)
			return dock_inspect(ids[i]);
	ck_abort_msg("there is no container %s", name);
}

/* While the program runs. */
START_TEST(other_limits_are_in_force)
{
	start((const char *const[]){ "POOL_SIZE=1", NULL });
	for (size_t i = 0; i < ARRAY_SIZE(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		AUTO(answer) a = ANSWER_INIT;
		struct fcgi job;
		struct pool p = want_pool(1, NULL);
		service_begin(&svc, "import time\ntime.sleep(2)", row->more, &job);
		tool_sleep_ms(1000); /* far more than a change takes */
		struct json_object *look = row->warm ? inspect_job(p.ids[0]) : NULL;
		fcgi_finish(&job, &a, 60000);
		WANT_STATUS(&a, 200);
		WANT_BOOL(&a, "sandbox.warm", row->warm);
		if (look)
			ck_assert_int_eq(json_object_get_int64(answer_json_get(look, row->path)),
					 row->want);
		json_object_put(look);
	}
}
END_TEST

static const char take_memory[] =
	"b = bytearray(%d << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\n"
	"print('fits')";

START_TEST(a_changed_memory_limit_holds)
{
	AUTO_FREE char *within = xasprintf(take_memory, 540), *beyond = xasprintf(take_memory, 640);
	AUTO(answer) fits = ANSWER_INIT;
	AUTO(answer) oom = ANSWER_INIT;
	start((const char *const[]){ "POOL_SIZE=1", NULL });
	want_pool(1, NULL);
	service_execute(&svc, within, "\"limits\":{\"memory_mb\":600}", &fits);
	WANT_BOOL(&fits, "sandbox.warm", true);
	WANT_STR(&fits, "stdout", "fits\n");
	want_pool(1, NULL);
	service_execute(&svc, beyond, "\"limits\":{\"memory_mb\":600}", &oom);
	WANT_BOOL(&oom, "sandbox.warm", true);
	WANT_BOOL(&oom, "oom_killed", true);
}
END_TEST

START_TEST(a_changed_process_limit_holds)
{
	AUTO(answer) a = ANSWER_INIT;
	start((const char *const[]){ "POOL_SIZE=1", NULL });
	want_pool(1, NULL);
	service_execute(
		&svc,
		"import os, time\nn = 0\ntry:\n  while n < 60:\n    if os.fork() == 0:\n"
		"      time.sleep(30)\n      os._exit(0)\n    n += 1\nexcept OSError: pass\n"
		"print(n)",
		"\"limits\":{\"pids\":20}", &a);
	WANT_BOOL(&a, "sandbox.warm", true);
	WANT_STR(&a, "stdout", "18\n"); /* beside the guest and the program */
}
END_TEST

START_TEST(the_old_are_replaced)
{
	start((const char *const[]){ "POOL_SIZE=2", "POOL_MAX_AGE_SEC=2", NULL });
	struct pool p = want_pool(2, NULL);
	p = want_pool(2, &p);
	want_pool(2, &p);
	want_job(true);
}
END_TEST

START_TEST(without_a_pool_nothing_is_made)
{
	start((const char *const[]){ "POOL_SIZE=0", NULL });
	want_job(false);
	ck_assert(service_wait_clean(&svc));
	tool_sleep_ms(500);
	ck_assert_uint_eq(dock_list(svc.instance, NULL, 0), 0);
}
END_TEST

START_TEST(a_stop_leaves_nothing)
{
	start((const char *const[]){ "POOL_SIZE=3", NULL });
	want_pool(3, NULL);
	want_job(true); /* a refill is under way */
	service_stop(&svc);
	ck_assert_uint_eq(dock_list(svc.instance, NULL, 0), 0);
}
END_TEST

static bool env_has(const char *id, const char *row)
{
	struct json_object *look = dock_inspect(id);
	struct json_object *env = answer_json_get(look, "Config.Env");
	bool found = false;
	for (size_t i = 0; env && i < json_object_array_length(env); i++)
		found |=
			strcmp(json_object_get_string(json_object_array_get_idx(env, i)), row) == 0;
	json_object_put(look);
	return found;
}

START_TEST(a_reload_resizes_and_replaces)
{
	service_prepare(&svc, (const char *const[]){ "POOL_SIZE=", NULL });
	AUTO_FREE char *file = xasprintf("%s/belljar.conf", svc.dir);
	tool_write(file, "POOL_SIZE=1\n");
	service_set_config(&svc, file);
	service_start(&svc, true);
	struct pool first = want_pool(1, NULL);
	tool_write(file, "POOL_SIZE=3\n");
	kill(svc.pid, SIGHUP);
	struct pool p = want_pool(3, NULL);
	ck_assert_msg(listed(p.ids, p.count, first.ids[0]),
		      "a container of the same settings went");
	tool_write(file, "POOL_SIZE=2\n");
	kill(svc.pid, SIGHUP);
	p = want_pool(2, NULL);
	tool_write(file, "POOL_SIZE=2\nPYTHON_PREIMPORT=json,csv\n");
	kill(svc.pid, SIGHUP);
	p = want_pool(2, &p);
	for (size_t i = 0; i < p.count; i++)
		ck_assert(env_has(p.ids[i], "BELLJAR_PREIMPORT=json,csv"));
	want_job(true);
}
END_TEST

START_TEST(a_keeper_that_dies_leaves_nothing)
{
	AUTO(answer) a = ANSWER_INIT;
	struct fcgi job;
	start((const char *const[]){ "POOL_SIZE=4", NULL });
	struct pool p = want_pool(4, NULL);
	service_begin(&svc, "import time\ntime.sleep(4)\nprint('to the end')", NULL, &job);
	ck_assert(service_busy_worker(&svc) > 0);
	pid_t keeper = service_one(&svc, "keeper");
	ck_assert_int_eq(kill(keeper, SIGKILL), 0);
	fcgi_finish(&job, &a, 60000);
	WANT_STATUS(&a, 200);
	WANT_STR(&a, "stdout", "to the end\n");
	ck_assert(service_wait_role(&svc, "keeper", 1, keeper));
	want_pool(4, &p);
	want_job(true);
}
END_TEST

Suite *suite_pool(void)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("pool");
	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, each_is_ready_and_used_once);
	tcase_add_test(tc, the_dead_are_replaced);
	tcase_add_test(tc, a_job_right_after_a_death_does_not_notice);
	tcase_add_test(tc, a_dead_interpreter_costs_nothing_but_time);
	tcase_add_test(tc, other_limits_are_in_force);
	tcase_add_test(tc, a_changed_memory_limit_holds);
	tcase_add_test(tc, a_changed_process_limit_holds);
	tcase_add_test(tc, the_old_are_replaced);
	tcase_add_test(tc, without_a_pool_nothing_is_made);
	tcase_add_test(tc, a_stop_leaves_nothing);
	tcase_add_test(tc, a_reload_resizes_and_replaces);
	tcase_add_test(tc, a_keeper_that_dies_leaves_nothing);
	suite_add_tcase(s, tc);
	return s;
}
