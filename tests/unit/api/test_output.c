/* Files of a job on their way into the store: whole ones stay only if the client was told, and what
 * the store does not take has its reason. */
#include "api/api.h"
#include "api/execute.h"
#include "base/err.h"
#include "store/blob_list.h"
#include "store/quota.h"
#include "unit/api/api_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct execute_output out;
static struct run_sink sink;

static void setup(void)
{
	setenv("FILES_QUOTA_MB", "1", 1);
	api_fixture_setup();
	execute_output_init(&out);
	sink = execute_output_sink(&out);
}

static void teardown(void)
{
	execute_output_clear(&out);
	api_fixture_teardown();
}

static void give(const char *path)
{
	struct err err = ERR_INIT;

	ck_assert_int_eq(sink.begin(sink.arg, path, 4, &err), 0);
	ck_assert_int_eq(sink.data(sink.arg, "da", 2, &err), 0);
	ck_assert_int_eq(sink.data(sink.arg, "ta", 2, &err), 0);
	ck_assert_int_eq(sink.end(sink.arg, &err), 0);
}

/* Listed files, and what the counters say of all, half-written ones included. */
static void want_stored(size_t files)
{
	AUTO(blob_list) list = { 0 };
	struct usage total, mine;
	struct err err = ERR_INIT;

	ck_assert_int_eq(blob_list_load(&list, api_store(), API_TENANT, NULL, 100, &err), 0);
	ck_assert_uint_eq(list.count, files);
	ck_assert_int_eq(quota_read(api_store(), API_TENANT, &total, &mine, &err), 0);
	ck_assert_int_eq(mine.files, (int64_t)files);
	ck_assert_int_eq(mine.bytes, 4 * (int64_t)files);
}

START_TEST(files_are_kept_for_who_was_told)
{
	give("a.txt");
	give("d/b.txt");
	ck_assert_uint_eq(out.count, 2);
	ck_assert_str_eq(out.files[1].name, "d/b.txt");
	ck_assert_str_eq(out.files[1].mime, "text/plain");
	out.kept = true;
	execute_output_clear(&out);
	want_stored(2);
}
END_TEST

START_TEST(files_go_when_nobody_was_told)
{
	for (int i = 0; i < 20; i++)
		give("a.txt");
	want_stored(20);
	execute_output_clear(&out);
	want_stored(0);
}
END_TEST

START_TEST(half_a_file_leaves_nothing)
{
	struct err err = ERR_INIT;

	give("a.txt");
	ck_assert_int_eq(sink.begin(sink.arg, "half", 1000, &err), 0);
	ck_assert_int_eq(sink.data(sink.arg, "da", 2, &err), 0);
	sink.abort(sink.arg);
	out.kept = true;
	execute_output_clear(&out);
	want_stored(1);
}
END_TEST

START_TEST(a_full_store_is_said)
{
	static char much[700000];
	struct err err = ERR_INIT;

	ck_assert_int_eq(sink.begin(sink.arg, "a", sizeof(much) * 2, &err), 0);
	ck_assert_int_eq(sink.data(sink.arg, much, sizeof(much), &err), 0);
	ck_assert_int_eq(sink.data(sink.arg, much, sizeof(much), &err), -1);
	ck_assert_int_eq(err.code, ERR_STORE_FULL);
	ck_assert_int_eq(out.trouble.code, ERR_STORE_FULL);
	sink.abort(sink.arg);
	want_stored(0);
}
END_TEST

START_TEST(a_file_over_the_largest_is_no_trouble)
{
	struct err err = ERR_INIT;

	ck_assert_int_eq(sink.begin(sink.arg, "a", (100u << 20) + 1, &err), -1);
	ck_assert_int_eq(err.code, ERR_TOO_LARGE);
	ck_assert_int_eq(out.trouble.code, ERR_NONE);
}
END_TEST

Suite *suite_api_output(void)
{
	Suite *s = suite_create("api_output");
	TCase *tc = tcase_create("api_output");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, files_are_kept_for_who_was_told);
	tcase_add_test(tc, files_go_when_nobody_was_told);
	tcase_add_test(tc, half_a_file_leaves_nothing);
	tcase_add_test(tc, a_full_store_is_said);
	tcase_add_test(tc, a_file_over_the_largest_is_no_trouble);
	suite_add_tcase(s, tc);
	return s;
}
