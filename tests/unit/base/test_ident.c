/* Random names: their form, and that the form's check takes nothing else. */
#include "base/ident.h"
#include "unit/suites.h"

#include <check.h>

START_TEST(makes_uuids)
{
	char a[IDENT_UUID], b[IDENT_UUID];

	ident_uuid(a);
	ident_uuid(b);
	ck_assert_uint_eq(strlen(a), 36);
	ck_assert(ident_is_uuid(a));
	ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(makes_hex)
{
	char out[80];

	for (size_t n = 0; n <= 64; n++) {
		memset(out, 'x', sizeof(out));
		ident_hex(out, n);
		ck_assert_uint_eq(strlen(out), n);
		ck_assert_uint_eq(strspn(out, "0123456789abcdef"), n);
		ck_assert_int_eq(out[n + 1], 'x');
	}
}
END_TEST

static const char *const bad[] = {
	"",
	"0190e3a8-5b1c-4d2e-8f00-1234567890a",
	"0190e3a8-5b1c-4d2e-8f00-1234567890abc",
	"0190E3A8-5b1c-4d2e-8f00-1234567890ab",
	"0190e3a8-5b1c-1d2e-8f00-1234567890ab",
	"0190e3a8-5b1c-4d2e-cf00-1234567890ab",
	"0190e3a8-5b1c-4d2e-7f00-1234567890ab",
	"0190e3a8x5b1c-4d2e-8f00-1234567890ab",
	"0190e3a8-5b1c-4d2e-8f00-1234567890ag",
	"../../../../etc/passwd/0000000000000",
	"{190e3a8-5b1c-4d2e-8f00-1234567890a}",
};

START_TEST(refuses_other_forms)
{
	ck_assert_msg(!ident_is_uuid(bad[_i]), "%s", bad[_i]);
}
END_TEST

START_TEST(takes_all_variants)
{
	ck_assert(ident_is_uuid("0190e3a8-5b1c-4d2e-8f00-1234567890ab"));
	ck_assert(ident_is_uuid("0190e3a8-5b1c-4d2e-9f00-1234567890ab"));
	ck_assert(ident_is_uuid("0190e3a8-5b1c-4d2e-af00-1234567890ab"));
	ck_assert(ident_is_uuid("0190e3a8-5b1c-4d2e-bf00-1234567890ab"));
}
END_TEST

Suite *suite_base_ident(void)
{
	Suite *s = suite_create("base_ident");
	TCase *tc = tcase_create("ident");

	tcase_add_loop_test(tc, makes_uuids, 0, 20);
	tcase_add_test(tc, makes_hex);
	tcase_add_loop_test(tc, refuses_other_forms, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, takes_all_variants);
	suite_add_tcase(s, tc);
	return s;
}
