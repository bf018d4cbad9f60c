/* Deadlines and the written form of times. */
#include "base/clock.h"
#include "unit/suites.h"

#include <check.h>
#include <limits.h>

static const struct {
	int64_t ms;
	const char *text;
} times[] = {
	{ 0, "1970-01-01T00:00:00.000Z" },
	{ 1, "1970-01-01T00:00:00.001Z" },
	{ -1, "1969-12-31T23:59:59.999Z" },
	{ 1709210096789, "2024-02-29T12:34:56.789Z" },
	{ 253402300799999, "9999-12-31T23:59:59.999Z" },
	{ 253402300800000, "1970-01-01T00:00:00.000Z" },
	{ INT64_MAX, "1970-01-01T00:00:00.000Z" },
	{ INT64_MIN + 1000, "1970-01-01T00:00:00.000Z" },
};

START_TEST(writes_times)
{
	char out[CLOCK_TEXT];

	clock_rfc3339(times[_i].ms, out);
	ck_assert_str_eq(out, times[_i].text);
}
END_TEST

START_TEST(counts_what_is_left)
{
	int64_t now = clock_ms();

	ck_assert_int_eq(clock_left(now - 1), 0);
	ck_assert_int_eq(clock_left(-1), 0);
	ck_assert_int_eq(clock_left(INT64_MAX), INT_MAX);
	ck_assert_int_gt(clock_left(now + 10000), 5000);
	ck_assert_int_le(clock_left(now + 10000), 10000);
}
END_TEST

START_TEST(waits_until_the_deadline)
{
	int64_t from = clock_ms();

	clock_wait(from - 1000);
	clock_wait(-1);
	ck_assert_int_lt(clock_ms() - from, 5000);
	clock_wait(from + 30);
	ck_assert_int_ge(clock_ms(), from + 30);
}
END_TEST

START_TEST(clocks_agree)
{
	int64_t ms = clock_ms(), us = clock_us();

	ck_assert_int_ge(us / 1000, ms);
	ck_assert_int_lt(us / 1000, ms + 5000);
	ck_assert_int_gt(clock_wall_ms(), 1600000000000);
}
END_TEST

Suite *suite_base_clock(void)
{
	Suite *s = suite_create("base_clock");
	TCase *tc = tcase_create("clock");

	tcase_add_loop_test(tc, writes_times, 0, ARRAY_SIZE(times));
	tcase_add_test(tc, counts_what_is_left);
	tcase_add_test(tc, waits_until_the_deadline);
	tcase_add_test(tc, clocks_agree);
	suite_add_tcase(s, tc);
	return s;
}
