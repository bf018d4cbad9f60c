/* UTF-8 by Unicode's own examples, and the same result however the input is cut. */
#include "base/strbuf.h"
#include "base/utf8.h"
#include "unit/suites.h"

#include <check.h>

#define R "\xef\xbf\xbd"
#define ROW(in, want)                                                                              \
	{                                                                                          \
		in, sizeof(in) - 1, want, sizeof(want) - 1                                         \
	}

/* Examples of Unicode 15, tables 3-8 to 3-11, and the edges of each length. */
static const struct {
	const char *in;
	size_t len;
	const char *want;
	size_t want_len;
} rows[] = {
	ROW("", ""),
	ROW("abc\0d", "abc\0d"),
	ROW("\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf"),
	ROW("\xe0\xa0\x80\xef\xbf\xbf", "\xe0\xa0\x80\xef\xbf\xbf"),
	ROW("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"),
	ROW("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
	ROW("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "\x41"),
	ROW("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", R R R R R R R R "\x41"),
	ROW("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "\x41" R R "\x42"),
	ROW("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "\x41"),
	ROW("a\xc3", "a" R),
	ROW("a\xe2\x82", "a" R),
	ROW("a\xf0\x9f\x98", "a" R),
	ROW("\xf5\x80\xc1\x80\xfe", R R R R R),
	ROW("\xe2\x82\xac\xe2\x82\xe2\x82\xac", "\xe2\x82\xac" R "\xe2\x82\xac"),
};

START_TEST(scrubs)
{
	AUTO(strbuf) out = STRBUF(200);
	bool same = rows[_i].len == rows[_i].want_len &&
		    !memcmp(rows[_i].in, rows[_i].want, rows[_i].len);

	ck_assert_uint_eq(utf8_scrub(&out, rows[_i].in, rows[_i].len, true), rows[_i].len);
	ck_assert_uint_eq(out.len, rows[_i].want_len);
	ck_assert_mem_eq(out.buf, rows[_i].want, out.len);
	ck_assert_int_eq(utf8_valid(rows[_i].in, rows[_i].len), same);
	ck_assert(utf8_valid(out.buf, out.len));
}
END_TEST

/* Fed in two pieces with the rest of the first carried over, as a stream is. */
START_TEST(scrubs_the_same_in_pieces)
{
	for (size_t cut = 0; cut <= rows[_i].len; cut++) {
		AUTO(strbuf) out = STRBUF(200);
		size_t used = utf8_scrub(&out, rows[_i].in, cut, false);

		ck_assert_uint_le(used, cut);
		ck_assert_uint_le(cut - used, 3);
		utf8_scrub(&out, rows[_i].in + used, rows[_i].len - used, true);
		ck_assert_uint_eq(out.len, rows[_i].want_len);
		ck_assert_mem_eq(out.buf, rows[_i].want, out.len);
	}
}
END_TEST

START_TEST(cuts_between_characters)
{
	static const char text[] = "aä€😀z";
	static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11 };

	for (size_t max = 0; max < ARRAY_SIZE(want); max++)
		ck_assert_uint_eq(utf8_cut(text, strlen(text), max), want[max]);
	ck_assert_uint_eq(utf8_cut("a\x80\x80\x80\x80", 5, 4), 4);
	ck_assert_uint_eq(utf8_cut("\xff\xff", 2, 1), 1);
	ck_assert_uint_eq(utf8_cut("a\xe2\x82", 3, 3), 1);
	ck_assert_uint_eq(utf8_cut("", 0, 9), 0);
}
END_TEST

START_TEST(respects_the_maximum)
{
	AUTO(strbuf) out = STRBUF(4);

	utf8_scrub(&out, "\xff\xff", 2, true);
	ck_assert_uint_eq(out.len, 3);
	ck_assert(!strbuf_ok(&out));
}
END_TEST

Suite *suite_base_utf8(void)
{
	Suite *s = suite_create("base_utf8");
	TCase *tc = tcase_create("utf8");

	tcase_add_loop_test(tc, scrubs, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tc, scrubs_the_same_in_pieces, 0, ARRAY_SIZE(rows));
	tcase_add_test(tc, cuts_between_characters);
	tcase_add_test(tc, respects_the_maximum);
	suite_add_tcase(s, tc);
	return s;
}
