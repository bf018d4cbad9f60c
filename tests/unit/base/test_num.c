/* Strict numbers: exact values at the edges, and refusals that leave the output alone. */
#include "base/num.h"
#include "unit/suites.h"

#include <check.h>

static const struct {
	const char *in;
	int64_t min, max;
	bool ok;
	int64_t want;
} ints[] = {
	{ "0", 0, 10, true, 0 },
	{ "10", 0, 10, true, 10 },
	{ "11", 0, 10, false, 0 },
	{ "-1", 0, 10, false, 0 },
	{ "-1", -1, 10, true, -1 },
	{ "9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX },
	{ "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
	{ "-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN },
	{ "-9223372036854775809", INT64_MIN, INT64_MAX, false, 0 },
	{ "99999999999999999999999", INT64_MIN, INT64_MAX, false, 0 },
	{ "", INT64_MIN, INT64_MAX, false, 0 },
	{ "-", INT64_MIN, INT64_MAX, false, 0 },
	{ "-0", INT64_MIN, INT64_MAX, false, 0 },
	{ "+1", INT64_MIN, INT64_MAX, false, 0 },
	{ "01", INT64_MIN, INT64_MAX, false, 0 },
	{ " 1", INT64_MIN, INT64_MAX, false, 0 },
	{ "1 ", INT64_MIN, INT64_MAX, false, 0 },
	{ "1\n", INT64_MIN, INT64_MAX, false, 0 },
	{ "0x10", INT64_MIN, INT64_MAX, false, 0 },
	{ "1e3", INT64_MIN, INT64_MAX, false, 0 },
	{ "1.0", INT64_MIN, INT64_MAX, false, 0 },
	{ "--1", INT64_MIN, INT64_MAX, false, 0 },
	{ "١", INT64_MIN, INT64_MAX, false, 0 },
};

START_TEST(reads_integers)
{
	int64_t v = 4711;

	ck_assert_msg(num_int(ints[_i].in, ints[_i].min, ints[_i].max, &v) == ints[_i].ok, "%s",
		      ints[_i].in);
	ck_assert_int_eq(v, ints[_i].ok ? ints[_i].want : 4711);
}
END_TEST

static const struct {
	const char *in;
	bool ok;
	int64_t want;
} millis[] = {
	{ "1", true, 1000 },
	{ "0.5", true, 500 },
	{ "1.25", true, 1250 },
	{ "0.001", true, 1 },
	{ "2.000", true, 2000 },
	{ "-0.5", true, -500 },
	{ "0", true, 0 },
	{ "0.0", true, 0 },
	{ "1000", true, 1000000 },
	{ "1000.001", false, 0 },
	{ "0.0001", false, 0 },
	{ "1.", false, 0 },
	{ ".5", false, 0 },
	{ "1.2.3", false, 0 },
	{ "1,5", false, 0 },
	{ "", false, 0 },
	{ "-", false, 0 },
	{ "-0", false, 0 },
	{ "1e1", false, 0 },
	{ "00.5", false, 0 },
	{ "1.-5", false, 0 },
	{ "nan", false, 0 },
	{ "9223372036854775807", false, 0 },
	{ "0. 5", false, 0 },
};

START_TEST(reads_thousandths)
{
	int64_t v = 4711;

	ck_assert_msg(num_milli(millis[_i].in, -1000000, 1000000, &v) == millis[_i].ok, "%s",
		      millis[_i].in);
	ck_assert_int_eq(v, millis[_i].ok ? millis[_i].want : 4711);
}
END_TEST

START_TEST(reads_hex)
{
	uint64_t v = 4711;

	ck_assert(!num_hex("", 0, &v));
	ck_assert(!num_hex("12345678901234567", 17, &v));
	ck_assert(!num_hex("0x", 2, &v));
	ck_assert(!num_hex(" 1", 2, &v));
	ck_assert(!num_hex("1g", 2, &v));
	ck_assert_uint_eq(v, 4711);
	ck_assert(num_hex("fFzz", 2, &v));
	ck_assert_uint_eq(v, 255);
	ck_assert(num_hex("ffffffffffffffff", 16, &v));
	ck_assert_uint_eq(v, UINT64_MAX);
}
END_TEST

Suite *suite_base_num(void)
{
	Suite *s = suite_create("base_num");
	TCase *tc = tcase_create("num");

	tcase_add_loop_test(tc, reads_integers, 0, ARRAY_SIZE(ints));
	tcase_add_loop_test(tc, reads_thousandths, 0, ARRAY_SIZE(millis));
	tcase_add_test(tc, reads_hex);
	suite_add_tcase(s, tc);
	return s;
}
