/* The table of failures and the texts that are made for clients and for the log. */
#include "base/err.h"
#include "base/utf8.h"
#include "unit/suites.h"

#include <check.h>
#include <errno.h>

START_TEST(every_code_has_a_row)
{
	const struct err_info *info = err_info(_i);

	ck_assert_ptr_nonnull(info->name);
	ck_assert_uint_gt(strlen(info->name), 0);
	ck_assert_uint_eq(strspn(info->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(info->name));
	ck_assert_int_ge(info->status, _i == ERR_NONE ? 200 : 400);
	ck_assert_int_le(info->status, 599);
	ck_assert_uint_gt(strlen(info->hint), 10);
	ck_assert_int_eq(info->hint[strlen(info->hint) - 1], '.');
	for (int other = 0; other < _i; other++)
		ck_assert_str_ne(err_info(other)->name, info->name);
}
END_TEST

static const struct {
	enum err_code code;
	const char *name;
	int status, retry;
} rows[] = {
	{ ERR_BAD_JSON, "bad_json", 400, 0 },	      { ERR_INVALID, "invalid_field", 422, 0 },
	{ ERR_TOO_LARGE, "too_large", 413, 0 },	      { ERR_BUSY, "busy", 503, 2 },
	{ ERR_ENGINE, "engine_unavailable", 503, 5 }, { ERR_IMAGE, "image_missing", 503, 0 },
	{ ERR_SANDBOX, "sandbox_failed", 503, 1 },    { ERR_TIMEOUT, "request_timeout", 408, 0 },
	{ ERR_CLIENT_GONE, "client_gone", 499, 0 },   { ERR_COUNT, "internal", 500, 0 },
	{ (enum err_code) - 1, "internal", 500, 0 },
};

START_TEST(rows_are_the_documented_ones)
{
	const struct err_info *info = err_info(rows[_i].code);

	ck_assert_str_eq(info->name, rows[_i].name);
	ck_assert_int_eq(info->status, rows[_i].status);
	ck_assert_int_eq(info->retry_after_s, rows[_i].retry);
}
END_TEST

START_TEST(set_replaces_everything)
{
	struct err e = {
		.code = ERR_BUSY, .sys = 5, .retry_after_s = 9, .text = "old", .cause = "old"
	};

	ck_assert_int_eq(err_set(&e, ERR_INVALID, "%s is %d", "x", 3), -1);
	ck_assert_int_eq(e.code, ERR_INVALID);
	ck_assert_int_eq(e.sys, 0);
	ck_assert_int_eq(e.retry_after_s, 0);
	ck_assert_str_eq(e.text, "x is 3");
	ck_assert_str_eq(e.cause, "");
	ck_assert_int_eq(err_set(NULL, ERR_INVALID, "x"), -1);
	ck_assert_int_eq(err_sys(NULL, ERR_INVALID, EIO, "x"), -1);
	ck_assert_int_eq(err_cause(NULL, "x"), -1);
}
END_TEST

START_TEST(causes_add_up)
{
	struct err e = ERR_INIT;

	err_sys(&e, ERR_ENGINE, ECONNREFUSED, "no engine");
	ck_assert_int_eq(e.sys, ECONNREFUSED);
	ck_assert_str_eq(e.text, "no engine");
	ck_assert_str_eq(e.cause, "ECONNREFUSED: Connection refused");
	err_cause(&e, "at %s", "/x");
	ck_assert_str_eq(e.cause, "ECONNREFUSED: Connection refused; at /x");
	for (int i = 0; i < 100; i++)
		err_cause(&e, "more");
	ck_assert_uint_lt(strlen(e.cause), sizeof(e.cause));
	err_sys(&e, ERR_ENGINE, 99999, "x");
	ck_assert_str_eq(e.cause, "errno 99999");
}
END_TEST

static const struct {
	const char *in, *want;
} texts[] = {
	{ "plain ä €", "plain ä €" },	      { "a\nb\x1b[0m\x7f", "a?b?[0m?" },
	{ "bad \xff\xfe end", "bad ?? end" }, { "cut \xe2\x82", "cut " },
	{ "c1 \xc2\x9b x", "c1 ?? x" },	      { "overlong \xc0\xaf", "overlong ??" },
};

START_TEST(texts_can_be_shown)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_INVALID, "%s", texts[_i].in);
	ck_assert_str_eq(e.text, texts[_i].want);
}
END_TEST

START_TEST(long_texts_are_cut_at_a_character)
{
	struct err e = ERR_INIT;
	char text[600] = "a";

	for (size_t i = 0; i < 250; i++)
		memcpy(text + 1 + 2 * i, "ä", 3);
	err_set(&e, ERR_INVALID, "%s", text);
	ck_assert_uint_eq(strlen(e.text), sizeof(e.text) - 1);
	ck_assert(utf8_valid(e.text, strlen(e.text)));
	err_set(&e, ERR_INVALID, "%s", text + 1);
	ck_assert_uint_eq(strlen(e.text), sizeof(e.text) - 2);
	ck_assert(utf8_valid(e.text, strlen(e.text)));
}
END_TEST

Suite *suite_base_err(void)
{
	Suite *s = suite_create("base_err");
	TCase *tc = tcase_create("err");

	tcase_add_loop_test(tc, every_code_has_a_row, 0, ERR_COUNT);
	tcase_add_loop_test(tc, rows_are_the_documented_ones, 0, ARRAY_SIZE(rows));
	tcase_add_test(tc, set_replaces_everything);
	tcase_add_test(tc, causes_add_up);
	tcase_add_loop_test(tc, texts_can_be_shown, 0, ARRAY_SIZE(texts));
	tcase_add_test(tc, long_texts_are_cut_at_a_character);
	suite_add_tcase(s, tc);
	return s;
}
