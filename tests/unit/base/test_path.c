/* File names from clients and containers: what is normalised, what is refused and how the refusal
 * begins. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/path.h"
#include "limits.h"
#include "unit/suites.h"

#include <check.h>

static const struct {
	const char *in, *want;
} good[] = {
	{ "a", "a" },
	{ "./a", "a" },
	{ "d//a", "d/a" },
	{ "d/", "d" },
	{ "././d/./a", "d/a" },
	{ "a\\b", "a\\b" },
	{ "-x", "-x" },
	{ "...", "..." },
	{ "a..b", "a..b" },
	{ "ä €/ 日本.txt", "ä €/ 日本.txt" },
	{ ".hidden", ".hidden" },
	{ "a b ", "a b " },
	{ "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16" },
};

START_TEST(normalises)
{
	AUTO_FREE char *out = NULL;
	struct err err = ERR_INIT;

	ck_assert_int_eq(path_normalise(good[_i].in, strlen(good[_i].in), &out, &err), 0);
	ck_assert_str_eq(out, good[_i].want);
	ck_assert(path_is_clean(out, strlen(out)));
	ck_assert_int_eq(path_is_clean(good[_i].in, strlen(good[_i].in)),
			 strcmp(good[_i].in, out) == 0);
}
END_TEST

#define BAD(text)                                                                                  \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
static const struct {
	const char *in;
	size_t len;
} bad[] = {
	BAD(""),
	BAD("."),
	BAD("./"),
	BAD("././."),
	BAD("/"),
	BAD("/etc/passwd"),
	BAD("//a"),
	BAD(".."),
	BAD("../x"),
	BAD("a/../b"),
	BAD("a/.."),
	BAD("./.."),
	BAD("a\0b"),
	BAD("a\nb"),
	BAD("a\x7f"),
	BAD("\t"),
	BAD("a\xff"),
	BAD("a/\xc0\xae\xc0\xae/b"),
	BAD("\xed\xa0\x80"),
	BAD("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"),
};

START_TEST(refuses)
{
	char *out = NULL;
	struct err err = ERR_INIT;

	ck_assert_int_eq(path_normalise(bad[_i].in, bad[_i].len, &out, &err), -1);
	ck_assert_ptr_null(out);
	ck_assert_int_eq(err.code, ERR_INVALID);
	ck_assert_msg(strncmp(err.text, "File path", 9) == 0, "%s", err.text);
	ck_assert(!path_is_clean(bad[_i].in, bad[_i].len));
}
END_TEST

START_TEST(parent_says_file_paths)
{
	char *out = NULL;
	struct err err = ERR_INIT;

	ck_assert_int_eq(path_normalise("../x", 4, &out, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "File paths"));
}
END_TEST

START_TEST(bounds_lengths)
{
	char text[LIMIT_PATH_BYTES + 2];
	char *out = NULL;
	struct err err = ERR_INIT;

	memset(text, 'a', sizeof(text));
	ck_assert(path_is_clean(text, LIMIT_NAME_BYTES));
	ck_assert(!path_is_clean(text, LIMIT_NAME_BYTES + 1));
	for (size_t i = LIMIT_NAME_BYTES; i < sizeof(text); i += LIMIT_NAME_BYTES + 1)
		text[i] = '/';
	text[LIMIT_PATH_BYTES - 1] = 'a';
	text[LIMIT_PATH_BYTES - 20] = '/';
	ck_assert(path_is_clean(text, LIMIT_PATH_BYTES));
	ck_assert(!path_is_clean(text, LIMIT_PATH_BYTES + 1));
	ck_assert_int_eq(path_normalise(text, LIMIT_PATH_BYTES + 1, &out, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "1024"));
}
END_TEST

Suite *suite_base_path(void)
{
	Suite *s = suite_create("base_path");
	TCase *tc = tcase_create("path");

	tcase_add_loop_test(tc, normalises, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(tc, refuses, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, parent_says_file_paths);
	tcase_add_test(tc, bounds_lengths);
	suite_add_tcase(s, tc);
	return s;
}
