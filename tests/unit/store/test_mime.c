/* MIME types of contents: known kinds, hostile ones within their time, and no database at all. */
#include "base/err.h"
#include "limits.h"
#include "store/mime.h"
#include "unit/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

START_TEST(knows_types)
{
	struct err err = ERR_INIT;

	ck_assert_msg(mime_setup(&err) == 0, "%s", err.cause);
	ck_assert_int_eq(mime_setup(&err), 0);
	ck_assert_str_eq(mime_of("plain text\n", 11), "text/plain");
	ck_assert_str_eq(mime_of("{\"a\":1}", 7), "application/json");
	ck_assert_str_eq(mime_of("%PDF-1.7\n", 9), "application/pdf");
	ck_assert_str_eq(mime_of("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\10\2\0\0\0", 29),
			 "image/png");
	ck_assert_str_eq(mime_of("\1\0\xff\0\3\4\5\6", 8), "application/octet-stream");
	ck_assert_ptr_nonnull(strchr(mime_of("", 0), '/'));
	mime_end();
}
END_TEST

/* Line ends are the dearest content known: all rules for text look at each of them. */
START_TEST(looks_at_the_beginning_only)
{
	size_t len = 16 << 20;
	char *lines = malloc(len);
	clock_t begin;

	ck_assert_int_eq(mime_setup(NULL), 0);
	memset(lines, '\n', len);
	begin = clock();
	ck_assert_str_eq(mime_of(lines, len), "text/plain");
	ck_assert_int_lt((clock() - begin) * 1000 / CLOCKS_PER_SEC, 2000);
	free(lines);
	mime_end();
}
END_TEST

START_TEST(answers_without_a_database)
{
	struct err err = ERR_INIT;

	ck_assert_str_eq(mime_of("plain text\n", 11), "application/octet-stream");
	setenv("MAGIC", "/nonexistent", 1);
	ck_assert_int_eq(mime_setup(&err), -1);
	ck_assert_int_eq(err.code, ERR_INTERNAL);
	ck_assert_str_eq(mime_of("plain text\n", 11), "application/octet-stream");
}
END_TEST

Suite *suite_store_mime(void)
{
	Suite *s = suite_create("store/mime");
	TCase *t = tcase_create("mime");

	tcase_add_test(t, knows_types);
	tcase_add_test(t, looks_at_the_beginning_only);
	tcase_add_test(t, answers_without_a_database);
	suite_add_tcase(s, t);
	return s;
}
