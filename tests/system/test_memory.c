/*
 * What the service costs while nothing runs: sixteen workers that have served, and all other roles,
 * below 40 MiB together, each page counted once (PSS).
 */
#include "base/base.h"
#include "suites.h"
#include "support/answer.h"
#include "support/ps.h"
#include "support/service.h"

#include <check.h>
#include <string.h>

#define WORKERS 16
#define MOST_KIB (40 * 1024)

static struct service svc;

static void teardown(void)
{
	service_clear(&svc);
}

#ifndef __SANITIZE_ADDRESS__
/* Sanitizers multiply memory: nothing to measure in that build. */
START_TEST(idle_roles_are_small)
{
	pid_t all[PS_MAX];
	AUTO(answer) a = ANSWER_INIT;
	service_up(&svc, (const char *const[]){ "WORKERS=16", NULL });
	ck_assert(service_wait_role(&svc, "worker", WORKERS, 0));
	service_execute(&svc, "open('f', 'w').write('x')\nprint('hello')", NULL, &a);
	ck_assert(service_wait_clean(&svc));
	for (int i = 0; i < 4 * WORKERS; i++) {
		AUTO(answer) h = ANSWER_INIT;
		service_call(&svc, "GET", "/health", NULL, &h);
		WANT_STATUS(&h, 200);
	}
	size_t n = ps_tree(svc.pid, all, PS_MAX);
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += ps_pss_kb(all[i]);
	ck_assert_uint_ge(n, WORKERS + 3);
	ck_assert_int_gt(sum, 0);
	ck_assert_msg(sum < MOST_KIB, "%zu processes use %ld KiB", n, (long)sum);
}
END_TEST
#endif

/* A worker that has made a large answer gives the memory back. */
START_TEST(large_jobs_leave_nothing)
{
	pid_t all[PS_MAX];
	AUTO(answer) first = ANSWER_INIT;
	service_up(&svc, (const char *const[]){ "WORKERS=1", NULL });
	/* Its first file makes a worker map the database of file types, which stays. */
	service_execute(&svc, "open('f', 'w').write('some text')", NULL, &first);
	ck_assert(service_wait_clean(&svc));
	size_t n = ps_tree(svc.pid, all, PS_MAX);
	int64_t before = 0, after = 0;
	for (size_t i = 0; i < n; i++)
		before += ps_rss_kb(all[i]);
	for (int i = 0; i < 5; i++) {
		AUTO(answer) a = ANSWER_INIT;
		service_execute(&svc,
				"open('f', 'wb').write(b'x' * (10 << 20))\nprint('x' * (1 << 20))",
				NULL, &a);
		WANT_STR(&a, "status", "ok");
	}
	ck_assert(service_wait_clean(&svc));
	n = ps_tree(svc.pid, all, PS_MAX);
	for (size_t i = 0; i < n; i++)
		after += ps_rss_kb(all[i]);
#ifndef __SANITIZE_ADDRESS__
	ck_assert_msg(after - before < 5 * 1024, "grown from %ld to %ld KiB", (long)before,
		      (long)after);
#endif
}
END_TEST

Suite *suite_memory(void)
{
	Suite *s = suite_create("memory");
	TCase *tc = tcase_create("memory");
	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, NULL, teardown);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(tc, idle_roles_are_small);
#endif
	tcase_add_test(tc, large_jobs_leave_nothing);
	suite_add_tcase(s, tc);
	return s;
}
