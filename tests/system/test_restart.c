/*
 * The engine goes away and comes back: a relay of the tests' own stands between the service and the
 * real engine, and is closed and opened. Jobs fail with 503 and a hint meanwhile and work again
 * without a restart of ours.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/ps.h"
#include "support/relay.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct service svc;
static struct relay engine;

static void start(bool open)
{
	service_prepare(&svc, NULL);
	AUTO_FREE char *path = xasprintf("%s/engine.sock", svc.dir);
	AUTO_FREE char *host = xasprintf("DOCKER_HOST=unix://%s", path);
	service_set(&svc, host);
	if (open)
		relay_open(&engine, path, dock_socket());
	snprintf(engine.path, sizeof(engine.path), "%s", path);
	service_start(&svc, open);
}

static void reopen(void)
{
	AUTO_FREE char *path = xstrdup(engine.path);
	relay_open(&engine, path, dock_socket());
}

static void teardown(void)
{
	service_clear(&svc);
	relay_close(&engine);
}

static void want_job(void)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('works')", NULL, &a);
	WANT_STR(&a, "stdout", "works\n");
}

static void want_503(void)
{
	AUTO(answer) a = ANSWER_INIT;
	service_try(&svc, "print(1)", NULL, &a);
	WANT_STATUS(&a, 503);
	WANT_STR(&a, "error.code", "engine_unavailable");
	WANT(&a, strlen(answer_str(&a, "error.hint")) > 10);
	WANT(&a, answer_header(&a, "Retry-After"));
}

static bool works(void *arg UNUSED)
{
	AUTO(answer) a = ANSWER_INIT;
	service_try(&svc, "print('works')", NULL, &a);
	WANT(&a, a.status == 200 || a.status == 503);
	return a.status == 200;
}

static bool is_ill(void *arg UNUSED)
{
	AUTO(answer) a = ANSWER_INIT;
	service_call(&svc, "GET", "/health", NULL, &a);
	return strcmp(answer_str(&a, "status"), "error") == 0;
}

START_TEST(down_and_up_again)
{
	start(true);
	pid_t keeper = service_one(&svc, "keeper");
	want_job();
	for (int round = 0; round < 2; round++) {
		ck_assert(service_wait_clean(&svc));
		relay_close(&engine);
		want_503();
		ck_assert_msg(tool_until(is_ill, NULL, TOOL_WAIT_MS), "health doesn't see it");
		want_503();
		reopen();
		ck_assert_msg(tool_until(works, NULL, TOOL_WAIT_MS), "jobs don't work again");
		want_job();
	}
	ck_assert_int_eq(service_one(&svc, "keeper"), keeper);
}
END_TEST

START_TEST(down_at_the_start)
{
	start(false);
	want_503();
	reopen();
	ck_assert_msg(tool_until(works, NULL, TOOL_WAIT_MS), "jobs don't work");
}
END_TEST

START_TEST(down_in_the_middle_of_a_job)
{
	struct fcgi job;
	char id[DOCK_ID];
	AUTO(answer) a = ANSWER_INIT;
	start(true);
	service_begin(&svc, "import time\nprint('before', flush=True)\ntime.sleep(50)",
		      "\"timeout_ms\":60000", &job);
	ck_assert_msg(dock_wait_one(svc.instance, id), "no container came");
	ck_assert(service_busy_worker(&svc) > 0);
	tool_sleep_ms(2000); /* the program has no other witness of its line */
	relay_close(&engine);
	fcgi_finish(&job, &a, 60000);
	WANT_STATUS(&a, 200); /* it ran, and what is known of it is told */
	WANT(&a, strcmp(answer_str(&a, "status"), "ok") != 0);
	WANT_STR(&a, "stdout", "before\n");
	reopen();
	ck_assert_msg(tool_until(works, NULL, TOOL_WAIT_MS), "jobs don't work again");
	ck_assert_msg(service_wait_clean(&svc), "the lost job's container stays");
}
END_TEST

Suite *suite_restart(void)
{
	Suite *s = suite_create("restart");
	TCase *tc = tcase_create("restart");
	if (!dock_socket())
		return s; /* an engine over TCP has no socket to stand before */
	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, down_and_up_again);
	tcase_add_test(tc, down_at_the_start);
	tcase_add_test(tc, down_in_the_middle_of_a_job);
	suite_add_tcase(s, tc);
	return s;
}
