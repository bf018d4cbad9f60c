/* Rows of counters in shared memory: who sees what, what stays, and what a sum is of. */
#include "base/err.h"
#include "base/tally.h"
#include "unit/suites.h"

#include <check.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS 5
#define WIDTH 11

static struct tally t;

static void setup(void)
{
	struct err err = ERR_INIT;
	ck_assert_msg(tally_open(&t, ROWS, WIDTH, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
	tally_close(&t);
}

START_TEST(begins_at_zero)
{
	uint64_t sum[WIDTH];
	tally_reach(&t, ROWS);
	memset(sum, 0xff, sizeof(sum));
	tally_sum(&t, sum);
	for (size_t i = 0; i < WIDTH; i++)
		ck_assert_uint_eq(sum[i], 0);
}
END_TEST

START_TEST(sums_rows_in_use)
{
	uint64_t sum[WIDTH];
	for (size_t r = 0; r < ROWS; r++)
		for (size_t i = 0; i < WIDTH; i++)
			tally_set(&tally_row(&t, r)[i], (r + 1) * 100 + i);
	tally_reach(&t, 2);
	tally_reach(&t, 1); /* never fewer */
	tally_sum(&t, sum);
	for (size_t i = 0; i < WIDTH; i++)
		ck_assert_uint_eq(sum[i], 300 + 2 * i);
	tally_reach(&t, ROWS + 100);
	tally_sum(&t, sum);
	for (size_t i = 0; i < WIDTH; i++)
		ck_assert_uint_eq(sum[i], 1500 + ROWS * i);
}
END_TEST

START_TEST(rows_do_not_share_cache_lines)
{
	for (size_t r = 0; r < ROWS; r++) {
		ck_assert_uint_eq((uintptr_t)tally_row(&t, r) % 64, 0);
		if (r > 0)
			ck_assert_int_ge(tally_row(&t, r) - tally_row(&t, r - 1), WIDTH);
	}
	ck_assert_ptr_null(tally_row(&t, ROWS));
	ck_assert_ptr_null(tally_row(&t, SIZE_MAX));
}
END_TEST

static void in_child(size_t row, uint64_t n)
{
	pid_t pid = fork();
	int status;
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (uint64_t i = 0; i < n; i++)
			tally_add(&tally_row(&t, row)[3], 1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(counts_outlive_their_process)
{
	uint64_t sum[WIDTH];
	tally_reach(&t, 2);
	in_child(0, 1000);
	in_child(1, 20);
	in_child(1, 3); /* goes on where the one before it ended */
	tally_sum(&t, sum);
	ck_assert_uint_eq(sum[3], 1023);
	ck_assert_uint_eq(tally_get(&tally_row(&t, 1)[3]), 23);
}
END_TEST

START_TEST(several_writers_at_once)
{
	uint64_t sum[WIDTH];
	tally_reach(&t, ROWS);
	for (size_t r = 0; r < ROWS; r++)
		if (fork() == 0) {
			for (int i = 0; i < 100000; i++)
				tally_add(&tally_row(&t, r)[0], 1);
			_exit(0);
		}
	for (size_t r = 0; r < ROWS; r++)
		ck_assert_int_gt(wait(NULL), 0);
	tally_sum(&t, sum);
	ck_assert_uint_eq(sum[0], 100000 * ROWS);
}
END_TEST

START_TEST(closed_is_empty)
{
	tally_close(&t);
	tally_close(&t);
	ck_assert_ptr_null(tally_row(&t, 0));
	tally_reach(&t, 1);
}
END_TEST

Suite *suite_base_tally(void)
{
	Suite *s = suite_create("base_tally");
	TCase *tc = tcase_create("tally");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, begins_at_zero);
	tcase_add_test(tc, sums_rows_in_use);
	tcase_add_test(tc, rows_do_not_share_cache_lines);
	tcase_add_test(tc, counts_outlive_their_process);
	tcase_add_test(tc, several_writers_at_once);
	tcase_add_test(tc, closed_is_empty);
	suite_add_tcase(s, tc);
	return s;
}
