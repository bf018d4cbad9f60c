/*
 * More work than slots: every job is served or refused with a time to wait, the service answers
 * others meanwhile, and nothing is left.
 */
#include "base/clock.h"
#include "base/num.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 50
#define SLOTS 8
#define QUEUE 16
#define HEALTH_MS                                                                                  \
	100 /* most of the answers; a machine whose CPUs are all taken may be late with some */

static struct service svc;
static struct fcgi jobs[JOBS];

static void setup(void)
{
	service_up(&svc, (const char *const[]){ "MAX_CONCURRENT_JOBS=8", "QUEUE_LENGTH=16",
						"POOL_SIZE=4", NULL });
}

static void teardown(void)
{
	service_clear(&svc);
}

static bool all_done(void)
{
	bool all = true;
	for (size_t i = 0; i < JOBS; i++)
		all &= fcgi_done(&jobs[i]);
	return all;
}

static int by_size(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Asks for health until the jobs are done; the 90th percentile of its milliseconds. */
static int health_meanwhile(void)
{
	static int took[4000];
	size_t n = 0;
	int64_t end = clock_ms() + 120000;
	while (!all_done() && clock_ms() < end && n < ARRAY_SIZE(took)) {
		AUTO(answer) a = ANSWER_INIT;
		service_call(&svc, "GET", "/health", NULL, &a);
		WANT_STATUS(&a, 200);
		took[n++] = (int)a.ms;
		tool_sleep_ms(20);
	}
	ck_assert_uint_gt(n, 10);
	qsort(took, n, sizeof(*took), by_size);
	return took[n * 9 / 10];
}

struct tally {
	int served, refused;
};

static void judge(struct answer *a, const char *const *words, struct tally *t)
{
	bool known = false;
	if (a->status == 503 || a->status == 429) {
		const char *retry = answer_header(a, "Retry-After");
		int64_t seconds;
		WANT(a, retry && num_int(retry, 1, 60, &seconds));
		t->refused++;
		return;
	}
	WANT_STATUS(a, 200);
	for (size_t i = 0; words[i]; i++)
		known |= strcmp(answer_str(a, "status"), words[i]) == 0;
	WANT(a, known);
	t->served++;
}

static struct tally flood(const char *code, const char *more, const char *const *words)
{
	struct tally t = { 0 };
	for (size_t i = 0; i < JOBS; i++)
		service_begin(&svc, code, more, &jobs[i]);
	int health = health_meanwhile();
	for (size_t i = 0; i < JOBS; i++) {
		AUTO(answer) a = ANSWER_INIT;
		fcgi_finish(&jobs[i], &a, 60000);
		judge(&a, words, &t);
	}
	ck_assert_msg(health <= HEALTH_MS, "health took %d ms meanwhile", health);
	return t;
}

static size_t containers(void)
{
	return dock_list(svc.instance, NULL, 0);
}

static bool only_the_pool(void *arg UNUSED)
{
	return containers() == 4;
}

static void want_quiet(void)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('works')", NULL, &a);
	WANT_STR(&a, "stdout", "works\n");
	ck_assert_msg(tool_until(only_the_pool, NULL, TOOL_WAIT_MS), "%zu containers are there",
		      containers());
}

START_TEST(fifty_jobs_at_once)
{
	struct tally t =
		flood("import time\ntime.sleep(1)", NULL, (const char *const[]){ "ok", NULL });
	ck_assert_int_ge(t.served, SLOTS + QUEUE);
	ck_assert_int_gt(t.refused, 0);
	want_quiet();
}
END_TEST

/* Each ends when its time is over. */
START_TEST(fifty_jobs_at_their_limit)
{
	struct tally t = flood("import time\ntime.sleep(2)", "\"timeout_ms\":2000",
			       (const char *const[]){ "ok", "timeout", NULL });
	ck_assert_int_ge(t.served, SLOTS + QUEUE);
	want_quiet();
}
END_TEST

Suite *suite_flood(void)
{
	Suite *s = suite_create("flood");
	TCase *tc = tcase_create("flood");
	tcase_set_timeout(tc, 300);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, fifty_jobs_at_once);
	tcase_add_loop_test(tc, fifty_jobs_at_their_limit, 0, 3);
	suite_add_tcase(s, tc);
	return s;
}
