/*
 * Containers when the engine gets in the way: warnings, conflicts, dropped limits, failing starts,
 * removals in progress. Part of suite_engine. Where the fake has no rule, the real engine does the
 * work.
 */
#include "base/clock.h"
#include "base/err.h"
#include "support/dock.h"
#include "support/enginekit.h"
#include "support/fake_engine.h"
#include "support/tool.h"
#include "system/engine_parts.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ANSWER(status, text) "HTTP/1.1 " status " x\r\nConnection: close\r\n\r\n" text
#define SHORT_MS 400

/* Removes what the failed create may have left; how many there were. */
static size_t left_over(void)
{
	char ids[8][DOCK_ID];
	size_t count = dock_list(kit_instance(), ids, ARRAY_SIZE(ids));

	for (size_t i = 0; i < count && i < ARRAY_SIZE(ids); i++)
		dock_remove(ids[i]);
	return count;
}

static const struct {
	const char *warning, *optional, *says; /* says NULL: it succeeds */
} warning_rows[] = {
#define KERNEL "Your kernel does not support "
	{ KERNEL "memory limit capabilities or the cgroup is not mounted. Limitation discarded.",
	  "swap", "memory limit" },
	{ KERNEL
	  "swap limit capabilities or the cgroup is not mounted. Memory limited without swap.",
	  "", "swap limit" },
	{ KERNEL
	  "swap limit capabilities or the cgroup is not mounted. Memory limited without swap.",
	  "memory, swap", NULL },
	{ KERNEL "pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.", "",
	  "pids limit" },
	{ KERNEL "pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.",
	  "pids", NULL },
	{ KERNEL "CPU CFS quota or the cgroup is not mounted. Quota discarded.", "pids",
	  "cpu limit" },
	{ "IPv4 forwarding is disabled. Networking will not work.", "", NULL },
	{ "Something new is not supported.", "memory,swap,pids,cpu", "with a warning" },
#undef KERNEL
};

START_TEST(a_warning_is_a_failure_unless_accepted)
{
	char with[300], id[CONTAINER_ID];
	const struct fake_rule rule = {
		"POST /containers/create", FAKE_EDIT, "\"Warnings\":[]", with, 0, 0
	};
	struct fake_engine f;
	struct err err = ERR_INIT;
	struct kit k;
	int rc;

	snprintf(with, sizeof(with), "\"Warnings\":[\"%s\"]", warning_rows[_i].warning);
	fake_start(&f, &rule, 1, 0);
	kit_begin(&k, f.host);
	rc = container_create(&k.engine, &k.recipe, warning_rows[_i].optional, id, &err);
	ck_assert_msg((rc == 0) == !warning_rows[_i].says, "%s: %s", warning_rows[_i].warning,
		      err.text);
	if (warning_rows[_i].says) {
		ck_assert_int_eq(err.code, ERR_SANDBOX);
		kit_has(err.text, warning_rows[_i].says);
		kit_has(err.cause, warning_rows[_i].warning);
	}
	ck_assert_uint_eq(left_over(), rc == 0 ? 1 : 0);
	kit_end(&k);
	fake_stop(&f);
}
END_TEST

static const struct {
	const char *from, *to, *field, *limit;
} drop_rows[] = {
	{ "\"PidsLimit\":32", "\"PidsLimit\":0", "HostConfig/PidsLimit", "pids" },
	{ "\"Memory\":268435456", "\"Memory\":0", "HostConfig/Memory", "memory" },
	{ "\"MemorySwap\":268435456", "\"MemorySwap\":-1", "HostConfig/MemorySwap", "swap" },
	{ "\"NanoCpus\":500000000", "\"NanoCpus\":0", "HostConfig/NanoCpus", "cpu" },
	{ "\"RW\":false", "\"RW\":true", "Mounts", NULL },
	{ "\"ReadonlyRootfs\":true", "\"ReadonlyRootfs\":false", "HostConfig/ReadonlyRootfs",
	  NULL },
};

/* A 201 without a warning, and still something is not in force (trap 23). */
START_TEST(what_was_dropped_silently_is_noticed)
{
	const struct fake_rule rule = { "GET /json",	  FAKE_EDIT, drop_rows[_i].from,
					drop_rows[_i].to, 0,	     0 };
	struct fake_engine f;
	struct err err = ERR_INIT;
	struct kit k;
	char id[CONTAINER_ID];
	int rc;

	fake_start(&f, &rule, 1, 0);
	kit_begin(&k, f.host);
	k.engine.deadline_ms =
		clock_ms() + 3000; /* the removal's own look is edited too: it tries until then */
	ck_assert_int_eq(container_create(&k.engine, &k.recipe, "", id, &err), -1);
	ck_assert_int_eq(err.code, ERR_SANDBOX);
	kit_has(err.text, drop_rows[_i].field);
	ck_assert_uint_eq(left_over(), 0);
	k.engine.deadline_ms = clock_ms() + 10000;
	rc = container_create(&k.engine, &k.recipe,
			      drop_rows[_i].limit ? drop_rows[_i].limit : "cpu,pids", id, &err);
	ck_assert_int_eq(rc, drop_rows[_i].limit ? 0 : -1);
	ck_assert_uint_eq(left_over(), drop_rows[_i].limit ? 1 : 0);
	kit_end(&k);
	fake_stop(&f);
}
END_TEST

START_TEST(a_taken_name_is_replaced)
{
	struct fake_rule rule = {
		"POST /containers/create",
		FAKE_RAW,
		ANSWER("409", "{\"message\":\"Conflict. The container name is already in use\"}"),
		NULL,
		0,
		1
	};
	struct fake_engine f;
	struct err err = ERR_INIT;
	struct kit k;
	char id[CONTAINER_ID];

	fake_start(&f, &rule, 1, 0);
	kit_begin(&k, f.host);
	kit_create(&k, id);
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	kit_end(&k);
	fake_stop(&f);
	rule.times = 0; /* always: it ends after a few */
	fake_start(&f, &rule, 1, 0);
	kit_begin(&k, f.host);
	ck_assert_int_eq(container_create(&k.engine, &k.recipe, "", id, &err), -1);
	kit_has(err.cause, "Conflict");
	ck_assert_uint_eq(fake_hits(&f, 0), 3);
	kit_end(&k);
	fake_stop(&f);
}
END_TEST

/* NanoCpus on a host without CPU quotas is an error, not a warning. */
START_TEST(an_impossible_cpu_limit_is_left_out_if_optional)
{
	static const struct fake_rule rule = {
		"POST /containers/create",
		FAKE_RAW,
		ANSWER("400", "{\"message\":\"NanoCPUs can not be set, as your kernel does not "
			      "support CPU CFS scheduler\"}"),
		NULL,
		0,
		1
	};
	struct fake_engine f;
	struct err err = ERR_INIT;
	struct kit k;
	char id[CONTAINER_ID];
	struct json_object *inspect;

	fake_start(&f, &rule, 1, 0);
	kit_begin(&k, f.host);
	ck_assert_int_eq(container_create(&k.engine, &k.recipe, "memory", id, &err), -1);
	fake_stop(&f);
	kit_end(&k);
	fake_start(&f, &rule, 1, 0);
	kit_begin(&k, f.host);
	ck_assert_msg(container_create(&k.engine, &k.recipe, "cpu", id, &err) == 0, "%s: %s",
		      err.text, err.cause);
	inspect = dock_inspect(id);
	ck_assert_int_eq(recipe_verify(&k.recipe, inspect, &err), -1);
	kit_has(err.text, "HostConfig/NanoCpus");
	json_object_put(inspect);
	ck_assert_uint_eq(left_over(), 1);
	kit_end(&k);
	fake_stop(&f);
}
END_TEST

static const struct {
	const char *answer;
	enum err_code code;
	int sys;
} start_rows[] = {
	{ ANSWER("204", ""), ERR_NONE, 0 },
	{ ANSWER("304", ""), ERR_NONE, 0 },
	{ ANSWER("400", "{\"message\":\"exec: \\\"/belljar/guest\\\": stat /belljar/guest: no such "
			"file or directory\"}"),
	  ERR_SANDBOX, ENOENT },
	{ ANSWER("404", "{\"message\":\"crun: executable file `/belljar/guest` not found: No such "
			"file or directory\"}"),
	  ERR_SANDBOX, ENOENT },
	{ ANSWER("500",
		 "{\"message\":\"OCI runtime error: /belljar/guest: no such file or directory\"}"),
	  ERR_SANDBOX, ENOENT },
	{ ANSWER("404", "{\"message\":\"No such container: x\"}"), ERR_SANDBOX, 0 },
	{ ANSWER("409", "{\"message\":\"container is marked for removal and cannot be started\"}"),
	  ERR_SANDBOX, 0 },
	{ ANSWER("500", "{\"message\":\"no space left on device\"}"), ERR_ENGINE, 0 },
	{ "HTTP/1.1 204", ERR_ENGINE, EPROTO },
};

START_TEST(a_failed_start_says_what_to_do)
{
	const struct fake_rule rules[] = {
		FAKE_PING, { "POST /start", FAKE_RAW, start_rows[_i].answer, NULL, 0, 0 }
	};
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;

	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 10000, &err), 0);
	ck_assert_int_eq(container_start(&e, ID64, &err), start_rows[_i].code ? -1 : 0);
	ck_assert_msg(err.code == start_rows[_i].code && err.sys == start_rows[_i].sys,
		      "%s: %d %d %s", start_rows[_i].answer, err.code, err.sys, err.text);
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

#define GONE ANSWER("404", "{\"message\":\"No such container\"}")
#define THERE ANSWER("200", "{\"State\":{}}")
#define PROGRESS ANSWER("409", "{\"message\":\"removal of container x is already in progress\"}")

static const struct {
	struct fake_rule rules[4];
	int rc, sys;
	unsigned deletes; /* at least */
} remove_rows[] = {
	{ { { "DELETE /containers", FAKE_RAW, PROGRESS, NULL, 0, 2 },
	    { "DELETE /containers", FAKE_RAW, GONE, NULL, 0, 0 },
	    { "GET /json", FAKE_RAW, THERE, NULL, 0, 2 },
	    { "GET /json", FAKE_RAW, GONE, NULL, 0, 0 } },
	  0,
	  0,
	  3 },
	{ { { "DELETE /containers", FAKE_RAW,
	      ANSWER("500", "{\"message\":\"device or resource busy\"}"), NULL, 0, 2 },
	    { "DELETE /containers", FAKE_RAW, ANSWER("204", ""), NULL, 0, 0 },
	    { "GET /json", FAKE_RAW, GONE, NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 } },
	  0,
	  0,
	  3 },
	/* 204, but it stays */
	{ { { "DELETE /containers", FAKE_RAW, ANSWER("204", ""), NULL, 0, 0 },
	    { "GET /json", FAKE_RAW, THERE, NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 } },
	  -1,
	  0,
	  2 },
	{ { { "DELETE /containers", FAKE_RAW, ANSWER("500", "{\"message\":\"broken\"}"), NULL, 0,
	      0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 } },
	  -1,
	  0,
	  2 },
	{ { { "DELETE /containers", FAKE_RAW_HANG, "", NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 },
	    { "-", FAKE_RAW, "", NULL, 0, 0 } },
	  -1,
	  ETIMEDOUT,
	  1 },
};

START_TEST(removal_ends_only_when_it_is_gone)
{
	struct fake_rule rules[5] = { FAKE_PING };
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;
	unsigned deletes;

	memcpy(rules + 1, remove_rows[_i].rules, sizeof(remove_rows[_i].rules));
	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 10000, &err), 0);
	e.deadline_ms = clock_ms() + (remove_rows[_i].rc ? SHORT_MS : 10000);
	ck_assert_msg(container_remove(&e, ID64, &err) == remove_rows[_i].rc, "row %d: %s: %s", _i,
		      err.text, err.cause);
	ck_assert_int_eq(err.sys, remove_rows[_i].sys);
	ck_assert_int_le(clock_ms(), e.deadline_ms + 1000);
	deletes = fake_hits(&f, 1);
	ck_assert_uint_ge(deletes, remove_rows[_i].deletes);
	ck_assert_uint_lt(deletes, 50); /* with back-off */
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

TCase *engine_trouble(void)
{
	TCase *t = tcase_create("trouble");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_warning_is_a_failure_unless_accepted, 0, ARRAY_SIZE(warning_rows));
	tcase_add_loop_test(t, what_was_dropped_silently_is_noticed, 0, ARRAY_SIZE(drop_rows));
	tcase_add_test(t, a_taken_name_is_replaced);
	tcase_add_test(t, an_impossible_cpu_limit_is_left_out_if_optional);
	tcase_add_loop_test(t, a_failed_start_says_what_to_do, 0, ARRAY_SIZE(start_rows));
	tcase_add_loop_test(t, removal_ends_only_when_it_is_gone, 0, ARRAY_SIZE(remove_rows));
	return t;
}
