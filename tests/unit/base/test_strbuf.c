/* The bounded buffer: its invariants, its maximum, and that what does not fit is dropped whole. */
#include "base/strbuf.h"
#include "unit/suites.h"

#include <check.h>

START_TEST(is_always_a_string)
{
	AUTO(strbuf) sb = STRBUF(100);

	ck_assert_str_eq(sb.buf, "");
	strbuf_add(&sb, "", 0);
	strbuf_drop(&sb, 0);
	strbuf_cut(&sb, 0);
	strbuf_reset(&sb);
	ck_assert_str_eq(sb.buf, "");
	strbuf_addstr(&sb, "ab");
	strbuf_addch(&sb, 'c');
	strbuf_addf(&sb, "-%d-%s", 12, "x");
	ck_assert_str_eq(sb.buf, "abc-12-x");
	ck_assert_uint_eq(sb.len, 8);
	strbuf_add(&sb, "\0y", 2);
	ck_assert_uint_eq(sb.len, 10);
	ck_assert_mem_eq(sb.buf, "abc-12-x\0y", 11);
}
END_TEST

START_TEST(grows_to_its_maximum)
{
	AUTO(strbuf) sb = STRBUF(1000);

	for (int i = 0; i < 1000; i++) {
		strbuf_addch(&sb, (char)('a' + i % 26));
		ck_assert_int_eq(sb.buf[sb.len], 0);
	}
	ck_assert(strbuf_ok(&sb));
	ck_assert_uint_eq(strbuf_room(&sb), 0);
	ck_assert_uint_le(sb.cap, 1001);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(sb.buf[i], 'a' + i % 26);
	strbuf_addch(&sb, 'x');
	ck_assert(!strbuf_ok(&sb));
	ck_assert_uint_eq(sb.len, 1000);
}
END_TEST

START_TEST(drops_whole_appends)
{
	AUTO(strbuf) sb = STRBUF(5);

	strbuf_addstr(&sb, "abc");
	strbuf_addf(&sb, "%s", "def");
	ck_assert_str_eq(sb.buf, "abc");
	ck_assert(!strbuf_ok(&sb));
	strbuf_addstr(&sb, "de");
	ck_assert_str_eq(sb.buf, "abcde");
	ck_assert(!strbuf_ok(&sb));
	strbuf_reset(&sb);
	ck_assert(strbuf_ok(&sb));
	ck_assert_str_eq(sb.buf, "");
	strbuf_addstr(&sb, "12345");
	ck_assert(strbuf_ok(&sb));
}
END_TEST

START_TEST(edits_both_ends)
{
	AUTO(strbuf) sb = STRBUF(64);

	strbuf_addstr(&sb, "0123456789");
	strbuf_drop(&sb, 3);
	ck_assert_str_eq(sb.buf, "3456789");
	strbuf_cut(&sb, 2);
	ck_assert_str_eq(sb.buf, "34");
	strbuf_drop(&sb, 2);
	ck_assert_str_eq(sb.buf, "");
}
END_TEST

START_TEST(lives_again_after_clear)
{
	struct strbuf sb;

	strbuf_init(&sb, 0);
	strbuf_addch(&sb, 'x');
	ck_assert(!strbuf_ok(&sb));
	ck_assert_str_eq(sb.buf, "");
	strbuf_init(&sb, 3);
	strbuf_addstr(&sb, "abc");
	strbuf_clear(&sb);
	ck_assert_uint_eq(sb.max, 3);
	strbuf_addstr(&sb, "def");
	ck_assert_str_eq(sb.buf, "def");
	strbuf_clear(&sb);
	strbuf_clear(&sb);
	strbuf_init(&sb, SIZE_MAX / 2);
	strbuf_addstr(&sb, "x");
	strbuf_clear(&sb);
}
END_TEST

Suite *suite_base_strbuf(void)
{
	Suite *s = suite_create("base_strbuf");
	TCase *tc = tcase_create("strbuf");

	tcase_add_test(tc, is_always_a_string);
	tcase_add_test(tc, grows_to_its_maximum);
	tcase_add_test(tc, drops_whole_appends);
	tcase_add_test(tc, edits_both_ends);
	tcase_add_test(tc, lives_again_after_clear);
	suite_add_tcase(s, tc);
	return s;
}
