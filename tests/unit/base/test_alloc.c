/* Blocks and copies of exact lengths, and the end of the process when there is no memory. */
#include "base/alloc.h"
#include "unit/suites.h"

#include <check.h>

START_TEST(gives_blocks_of_any_size)
{
	AUTO_FREE char *none = xmalloc(0), *zeroed = xcalloc(16, 4), *grown = xrealloc(NULL, 8);

	ck_assert_ptr_nonnull(none);
	for (size_t i = 0; i < 64; i++)
		ck_assert_int_eq(zeroed[i], 0);
	memcpy(grown, "1234567", 8);
	grown = xrealloc(grown, 4096);
	ck_assert_str_eq(grown, "1234567");
}
END_TEST

START_TEST(copies_strings)
{
	AUTO_FREE char *whole = xstrdup("abc"), *nul = xstrndup("a\0b", 3),
		       *empty = xstrndup("x", 0);
	AUTO_FREE char *text = xasprintf("%s-%d", "n", 7);

	ck_assert_str_eq(whole, "abc");
	ck_assert_mem_eq(nul, "a\0b", 4);
	ck_assert_str_eq(empty, "");
	ck_assert_str_eq(text, "n-7");
}
END_TEST

START_TEST(steal_leaves_nothing_behind)
{
	AUTO_FREE char *p = xstrdup("abc");
	char *taken = steal(&p);
	int fd = 3;

	ck_assert_ptr_null(p);
	ck_assert_str_eq(taken, "abc");
	free(taken);
	ck_assert_int_eq(steal_fd(&fd), 3);
	ck_assert_int_eq(fd, -1);
}
END_TEST

static volatile size_t too_much = SIZE_MAX / 2;

START_TEST(ends_without_memory)
{
	xmalloc(too_much);
}
END_TEST

START_TEST(ends_at_overflow)
{
	xcalloc(too_much, 4);
}
END_TEST

Suite *suite_base_alloc(void)
{
	Suite *s = suite_create("base_alloc");
	TCase *tc = tcase_create("alloc");

	tcase_add_test(tc, gives_blocks_of_any_size);
	tcase_add_test(tc, copies_strings);
	tcase_add_test(tc, steal_leaves_nothing_behind);
	tcase_add_exit_test(tc, ends_without_memory, 70);
	tcase_add_exit_test(tc, ends_at_overflow, 70);
	suite_add_tcase(s, tc);
	return s;
}
