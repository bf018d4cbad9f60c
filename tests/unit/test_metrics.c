/* The table of metrics against the lists it repeats words of, and what adding, setting and
 * observing do to the sums. */
#include "api/api.h"
#include "base/err.h"
#include "metrics.h"
#include "proc/role.h"
#include "unit/suites.h"

#include <check.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t *cells;

static void setup(void)
{
	struct err err = ERR_INIT;
	ck_assert_msg(metrics_open(&err) == 0, "%s", err.text);
	metrics_reach(3);
	metrics_place(0);
}

static void teardown(void)
{
	free(steal(&cells));
	metrics_close();
}

/* The value of a series now; cell 0 of a histogram is its first bucket. */
static uint64_t value(enum metric m, size_t series, size_t cell)
{
	free(cells);
	cells = metrics_read();
	ck_assert_ptr_nonnull(cells);
	return cells[metrics_at(m, series) + cell];
}

static bool has_value(enum metric m, size_t label, const char *text)
{
	const char *const *v = metrics_table[m].labels[label].values;
	while (*v && strcmp(*v, text) != 0)
		v++;
	return *v != NULL;
}

START_TEST(every_row_is_whole)
{
	const struct metric_row *row = &metrics_table[_i];
	ck_assert_ptr_nonnull(row->name);
	ck_assert(strncmp(row->name, "belljar_", 8) == 0);
	ck_assert_uint_eq(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(row->name));
	ck_assert_int_eq(row->help[strlen(row->help) - 1], '.');
	for (size_t i = 0; i < METRIC_LABELS; i++) {
		ck_assert(!row->labels[i].name == !row->labels[i].values);
		ck_assert(!row->labels[i].name || row->labels[i].values[0]);
	}
	ck_assert(row->labels[0].name || !row->labels[1].name);
	for (int other = 0; other < _i; other++)
		ck_assert_str_ne(metrics_table[other].name, row->name);
}
END_TEST

START_TEST(has_every_route)
{
	for (size_t i = 0; i < api_routes_count; i++)
		ck_assert_msg(has_value(METRIC_REQUESTS, 0, api_routes[i].pattern), "%s",
			      api_routes[i].pattern);
}
END_TEST

START_TEST(has_every_role)
{
	for (int kind = 0; kind < ROLE_COUNT; kind++) {
		ck_assert(has_value(METRIC_PROCESSES, 0, role_table[kind].name));
		ck_assert(has_value(METRIC_ROLE_RESTARTS, 0, role_table[kind].name));
	}
}
END_TEST

static bool is_code(const char *text)
{
	for (int code = ERR_BAD_REQUEST; code < ERR_COUNT; code++)
		if (strcmp(err_info((enum err_code)code)->name, text) == 0)
			return true;
	return strcmp(text, "other") == 0;
}

START_TEST(causes_are_codes)
{
	static const enum metric by_cause[] = { METRIC_JOB_REJECTIONS, METRIC_UPLOAD_REJECTIONS };
	for (size_t i = 0; i < ARRAY_SIZE(by_cause); i++) {
		const char *const *v = metrics_table[by_cause[i]].labels[0].values;
		for (; *v; v++)
			ck_assert_msg(is_code(*v), "%s", *v);
		ck_assert_str_eq(v[-1], "other");
	}
}
END_TEST

START_TEST(every_series_has_cells_of_its_own)
{
	size_t at = 0;
	for (enum metric m = 0; m < METRIC_COUNT; m++)
		for (size_t i = 0; i < metrics_series(m); i++) {
			ck_assert_uint_eq(metrics_at(m, i), at);
			at += metrics_cells(m);
		}
}
END_TEST

/* Each combination of values reaches the series that is shown under these values. */
START_TEST(adds_to_the_series_of_its_values)
{
	size_t n = metrics_series(METRIC_REQUESTS);
	for (size_t i = 0; i < n; i++)
		metrics_add(METRIC_REQUESTS, metrics_value(METRIC_REQUESTS, 0, i),
			    metrics_value(METRIC_REQUESTS, 1, i), i + 1);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(value(METRIC_REQUESTS, i, 0), i + 1);
	ck_assert_str_eq(metrics_value(METRIC_REQUESTS, 0, 0), "/v1/execute");
	ck_assert_str_eq(metrics_value(METRIC_REQUESTS, 1, 1), "3xx");
	ck_assert_str_eq(metrics_value(METRIC_REQUESTS, 0, 5), "/v1/files");
}
END_TEST

START_TEST(unknown_values_are_other_or_nothing)
{
	size_t last = metrics_series(METRIC_JOB_REJECTIONS) - 1;
	metrics_add(METRIC_JOB_REJECTIONS, "bad_weather", NULL, 1);
	metrics_add(METRIC_JOB_REJECTIONS, NULL, NULL, 1);
	ck_assert_uint_eq(value(METRIC_JOB_REJECTIONS, last, 0), 2);
	metrics_add(METRIC_REQUESTS, "/health", "6xx", 1);
	metrics_add(METRIC_ENGINE_ERRORS, "lunch", NULL, 1);
	metrics_set(METRIC_PROCESSES, NULL, 1);
	metrics_observe(METRIC_JOB_STAGE_SECONDS, "", 1);
	uint64_t sum = 0;
	for (size_t i = 0; i < metrics_at(METRIC_COUNT - 1, 0); i++)
		sum += (value(0, 0, 0), cells[i]);
	ck_assert_uint_eq(sum, 2);
}
END_TEST

static const struct {
	int64_t us;
	size_t bucket;
} observed[] = {
	{ -5, 0 },	  { 0, 0 },	    { 1000, 0 },      { 1001, 1 },
	{ 59999999, 14 }, { 60000000, 14 }, { 60000001, 15 }, { INT64_MAX / 2, 15 },
};

START_TEST(observes_into_one_bucket)
{
	ck_assert_uint_eq(metrics_bounds_count, 15);
	metrics_observe(METRIC_CONTAINER_SECONDS, "start", observed[_i].us);
	for (size_t i = 0; i <= metrics_bounds_count; i++)
		ck_assert_uint_eq(value(METRIC_CONTAINER_SECONDS, 1, i), i == observed[_i].bucket);
	ck_assert_uint_eq(value(METRIC_CONTAINER_SECONDS, 1, 16),
			  observed[_i].us < 0 ? 0 : (uint64_t)observed[_i].us);
	ck_assert_uint_eq(value(METRIC_CONTAINER_SECONDS, 0, 16), 0);
}
END_TEST

START_TEST(bounds_rise)
{
	for (size_t i = 1; i < metrics_bounds_count; i++)
		ck_assert_int_gt(metrics_bounds_us[i], metrics_bounds_us[i - 1]);
}
END_TEST

static void in_child(size_t place)
{
	pid_t pid = fork();
	if (pid == 0) {
		metrics_place(place);
		metrics_add(METRIC_LEAKED_CONTAINERS, NULL, NULL, 2);
		metrics_set(METRIC_JOBS_RUNNING, NULL, 5);
		metrics_set(METRIC_POOL_OLDEST, NULL, 77);
		metrics_observe(METRIC_CONTAINER_SECONDS, "create", 10);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* Of the dead, what they counted stays, and what they said of the present goes. */
START_TEST(the_ended_leave_their_counts)
{
	in_child(1);
	in_child(2);
	ck_assert_uint_eq(value(METRIC_LEAKED_CONTAINERS, 0, 0), 4);
	ck_assert_uint_eq(value(METRIC_JOBS_RUNNING, 0, 0), 10);
	metrics_ended(1);
	metrics_ended(METRICS_PLACES);
	ck_assert_uint_eq(value(METRIC_LEAKED_CONTAINERS, 0, 0), 4);
	ck_assert_uint_eq(value(METRIC_CONTAINER_SECONDS, 0, 0), 2);
	ck_assert_uint_eq(value(METRIC_JOBS_RUNNING, 0, 0), 5);
	ck_assert_uint_eq(value(METRIC_POOL_OLDEST, 0, 0), 77);
}
END_TEST

START_TEST(without_a_row_nothing_happens)
{
	metrics_place(METRICS_PLACES);
	metrics_add(METRIC_LEAKED_CONTAINERS, NULL, NULL, 1);
	ck_assert_uint_eq(value(METRIC_LEAKED_CONTAINERS, 0, 0), 0);
	metrics_close();
	metrics_add(METRIC_LEAKED_CONTAINERS, NULL, NULL, 1);
	metrics_reach(1);
	metrics_ended(0);
	ck_assert_ptr_null(metrics_read());
}
END_TEST

Suite *suite_metrics(void)
{
	Suite *s = suite_create("metrics");
	TCase *tc = tcase_create("metrics");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, every_row_is_whole, 0, METRIC_COUNT);
	tcase_add_test(tc, has_every_route);
	tcase_add_test(tc, has_every_role);
	tcase_add_test(tc, causes_are_codes);
	tcase_add_test(tc, every_series_has_cells_of_its_own);
	tcase_add_test(tc, adds_to_the_series_of_its_values);
	tcase_add_test(tc, unknown_values_are_other_or_nothing);
	tcase_add_loop_test(tc, observes_into_one_bucket, 0, ARRAY_SIZE(observed));
	tcase_add_test(tc, bounds_rise);
	tcase_add_test(tc, the_ended_leave_their_counts);
	tcase_add_test(tc, without_a_row_nothing_happens);
	suite_add_tcase(s, tc);
	return s;
}
