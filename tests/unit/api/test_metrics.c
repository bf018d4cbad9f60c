/* GET /metrics: who gets it, and its text read strictly. */
#include "api/api.h"
#include "base/clock.h"
#include "metrics.h"
#include "support/prom.h"
#include "unit/api/api_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct prom prom;

static void setup(void)
{
	struct err err = ERR_INIT;
	api_fixture_setup();
	ck_assert_msg(metrics_open(&err) == 0, "%s", err.text);
	metrics_reach(0);
	metrics_place(0);
	unsetenv("REMOTE_ADDR");
}

static void teardown(void)
{
	unsetenv("REMOTE_ADDR");
	prom_clear(&prom);
	metrics_close();
	api_fixture_teardown();
}

static void scrape(void)
{
	ck_assert_int_eq(api_call("/metrics", NULL, 0), 200);
	prom_clear(&prom);
	prom_parse(&prom, api_fixture.res.body.buf);
}

static const struct {
	const char *peer; /* NULL: none */
	int status;
} peers[] = {
	{ NULL, 200 },
	{ "", 200 },
	{ "127.0.0.1", 200 },
	{ "::1", 200 },
	{ "::ffff:127.0.0.1", 200 },
	{ "unix:", 200 },
	{ "127.0.0.2", 403 },
	{ "127.0.0.11", 403 },
	{ "10.0.0.1", 403 },
	{ "::ffff:10.0.0.1", 403 },
	{ "::", 403 },
	{ "localhost", 403 },
	{ " 127.0.0.1", 403 },
	{ "127.0.0.1, 10.0.0.1", 403 },
};

START_TEST(is_for_this_machine)
{
	if (peers[_i].peer)
		setenv("REMOTE_ADDR", peers[_i].peer, 1);
	ck_assert_int_eq(api_call("/metrics", NULL, 0), peers[_i].status);
	if (peers[_i].status == 403) {
		ck_assert_str_eq(api_text("error.code"), "forbidden");
		ck_assert_ptr_null(strstr(api_fixture.res.body.buf, "belljar_"));
	} else {
		ck_assert_str_eq(api_fixture.res.content_type,
				 "text/plain; version=0.0.4; charset=utf-8");
	}
}
END_TEST

START_TEST(has_a_sample_of_every_series)
{
	size_t want = 3; /* version, stored files and bytes */
	scrape();
	for (enum metric m = 0; m < METRIC_COUNT; m++) {
		size_t cells = metrics_cells(m); /* of a histogram: buckets, sum; and count */
		want += metrics_series(m) * (cells > 1 ? cells + 1 : 1);
	}
	ck_assert_uint_eq(prom.count, want);
	ck_assert_double_eq(prom_get(&prom, "belljar_build_info{version=\"" API_VERSION "\"}"), 1);
	ck_assert_double_eq(prom_get(&prom, "belljar_stored_files"), 0);
	ck_assert_double_eq(prom_sum(&prom, "belljar_requests_total"), 0);
}
END_TEST

START_TEST(shows_what_was_counted)
{
	metrics_add(METRIC_REQUESTS, "/v1/files/{id}", "4xx", 7);
	metrics_add(METRIC_REQUESTS, NULL, "4xx", 2);
	metrics_add(METRIC_JOBS, "python", "oom", UINT64_C(1) << 40);
	metrics_set(METRIC_JOBS_RUNNING, NULL, 3);
	scrape();
	ck_assert_double_eq(
		prom_get(&prom, "belljar_requests_total{route=\"/v1/files/{id}\",class=\"4xx\"}"),
		7);
	ck_assert_double_eq(
		prom_get(&prom, "belljar_requests_total{route=\"other\",class=\"4xx\"}"), 2);
	ck_assert_double_eq(
		prom_get(&prom, "belljar_jobs_total{language=\"python\",status=\"oom\"}"),
		1099511627776.0);
	ck_assert_double_eq(prom_get(&prom, "belljar_jobs_running"), 3);
}
END_TEST

START_TEST(histograms_are_cumulative_seconds)
{
	static const int64_t us[] = { 900, 2500, 2501, 70000000 };
	for (size_t i = 0; i < ARRAY_SIZE(us); i++)
		metrics_observe(METRIC_JOB_STAGE_SECONDS, "run", us[i]);
	scrape();
#define RUN(part, le) prom_get(&prom, "belljar_job_stage_seconds" part "{stage=\"run\"" le "}")
	ck_assert_double_eq(RUN("_bucket", ",le=\"0.001\""), 1);
	ck_assert_double_eq(RUN("_bucket", ",le=\"0.0025\""), 2);
	ck_assert_double_eq(RUN("_bucket", ",le=\"0.005\""), 3);
	ck_assert_double_eq(RUN("_bucket", ",le=\"60\""), 3);
	ck_assert_double_eq(RUN("_bucket", ",le=\"+Inf\""), 4);
	ck_assert_double_eq(RUN("_count", ""), 4);
	ck_assert_double_eq_tol(RUN("_sum", ""), 70.005901, 1e-9);
	ck_assert_double_eq(prom_get(&prom, "belljar_job_stage_seconds_count{stage=\"queue\"}"), 0);
#undef RUN
}
END_TEST

START_TEST(a_moment_is_shown_as_its_age)
{
	metrics_set(METRIC_POOL_OLDEST, NULL, 0);
	scrape();
	ck_assert_double_eq(prom_get(&prom, "belljar_pool_oldest_seconds"), 0);
	metrics_set(METRIC_POOL_OLDEST, NULL, (uint64_t)clock_ms() - 90500);
	scrape();
	ck_assert_double_ge(prom_get(&prom, "belljar_pool_oldest_seconds"), 90.5);
	ck_assert_double_lt(prom_get(&prom, "belljar_pool_oldest_seconds"), 95);
	metrics_set(METRIC_POOL_OLDEST, NULL, UINT64_MAX / 4); /* in the future: a lie */
	scrape();
	ck_assert_double_eq(prom_get(&prom, "belljar_pool_oldest_seconds"), 0);
}
END_TEST

/* A worker that was taken over may write anything into the rows. */
START_TEST(any_numbers_are_still_text)
{
	for (enum metric m = 0; m < METRIC_COUNT; m++)
		for (size_t i = 0; i < metrics_series(m) && metrics_cells(m) == 1; i++)
			metrics_add(m, metrics_value(m, 0, i), metrics_value(m, 1, i), UINT64_MAX);
	scrape();
	ck_assert_double_gt(prom_get(&prom, "belljar_jobs_queued"), 1e19);
}
END_TEST

/* Started by a CGI server: what the service counts is not to be seen from here. */
START_TEST(without_rows_it_says_what_it_knows)
{
	metrics_close();
	scrape();
	ck_assert_uint_eq(prom.count, 3);
}
END_TEST

START_TEST(a_store_that_fails_is_left_out)
{
	api_close();
	scrape();
	ck_assert(!prom_has(&prom, "belljar_stored_files"));
	ck_assert(prom_has(&prom, "belljar_jobs_queued"));
}
END_TEST

START_TEST(other_methods)
{
	const struct api_request post = { .method = "POST", .path = "/metrics" };
	const struct api_request head = { .method = "HEAD", .path = "/metrics" };
	ck_assert_int_eq(api_send(&post), 405);
	ck_assert_int_eq(api_send(&head), 200);
}
END_TEST

Suite *suite_api_metrics(void)
{
	Suite *s = suite_create("api_metrics");
	TCase *tc = tcase_create("metrics");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, is_for_this_machine, 0, ARRAY_SIZE(peers));
	tcase_add_test(tc, has_a_sample_of_every_series);
	tcase_add_test(tc, shows_what_was_counted);
	tcase_add_test(tc, histograms_are_cumulative_seconds);
	tcase_add_test(tc, a_moment_is_shown_as_its_age);
	tcase_add_test(tc, any_numbers_are_still_text);
	tcase_add_test(tc, without_rows_it_says_what_it_knows);
	tcase_add_test(tc, a_store_that_fails_is_left_out);
	tcase_add_test(tc, other_methods);
	suite_add_tcase(s, tc);
	return s;
}
