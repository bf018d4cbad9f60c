/* Queries of addresses: escapes, doubles, numbers; and the operator's lists of MIME types. */
#include "base/err.h"
#include "unit/suites.h"
#include "wire/mimelist.h"
#include "wire/query.h"

#include <check.h>
#include <inttypes.h>

static struct query q;
static struct err err;

static int parse(const char *text)
{
	query_clear(&q);
	err = (struct err)ERR_INIT;
	return query_parse(&q, text, strlen(text), &err);
}

START_TEST(decodes)
{
	ck_assert_int_eq(parse("a=1&b=x%20y+z&&c&=v&%C3%A9=%26%3D&d=a=b"), 0);
	ck_assert_uint_eq(q.count, 6);
	ck_assert_str_eq(query_get(&q, "a"), "1");
	ck_assert_str_eq(query_get(&q, "b"), "x y z");
	ck_assert_str_eq(query_get(&q, "c"), "");
	ck_assert_str_eq(query_get(&q, ""), "v");
	ck_assert_str_eq(query_get(&q, "\u00e9"), "&=");
	ck_assert_str_eq(query_get(&q, "d"), "a=b");
	ck_assert_ptr_null(query_get(&q, "A"));
	ck_assert_int_eq(parse(""), 0);
	ck_assert_uint_eq(q.count, 0);
	/* The most NULs for the bytes. */
	ck_assert_int_eq(parse("a&b&c&d&e&f&g"), 0);
	ck_assert_str_eq(query_get(&q, "g"), "");
	query_clear(&q);
}
END_TEST

START_TEST(refuses)
{
	static const char *const bad[] = { "a=%",    "a=%2",  "a=%zz",	 "%",  "a=%00",
					   "a%00=1", "a=%ff", "a=1&a=2", "a&a" };
	char many[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(parse(bad[i]) < 0, "%s", bad[i]);
		ck_assert_int_eq(err.code, ERR_BAD_REQUEST);
	}
	for (int i = 0; i <= LIMIT_QUERY_PARAMS; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "p%d&", i);
	ck_assert_int_eq(parse(many), -1);
	many[len - 4] = '\0';
	ck_assert_int_eq(parse(many), 0);
	query_clear(&q);
}
END_TEST

START_TEST(reads_numbers)
{
	static const char *const bad[] = {
		"n=0", "n=11", "n=+1", "n=1.0", "n=%201", "n=a", "n=99999999999999999999"
	};
	int64_t v = 0;

	ck_assert_int_eq(parse("n=10&e="), 0);
	ck_assert_int_eq(query_int(&q, "n", 1, 10, 5, &v, &err), 0);
	ck_assert_int_eq(v, 10);
	ck_assert_int_eq(query_int(&q, "e", 1, 10, 5, &v, &err), 0);
	ck_assert_int_eq(v, 5);
	ck_assert_int_eq(query_int(&q, "none", 1, 10, 7, &v, &err), 0);
	ck_assert_int_eq(v, 7);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(parse(bad[i]), 0);
		ck_assert_msg(query_int(&q, "n", 1, 10, 5, &v, &err) < 0, "%s", bad[i]);
		ck_assert_int_eq(err.code, ERR_INVALID);
		ck_assert_msg(strstr(err.text, "from 1 to 10"), "%s", err.text);
	}
	query_clear(&q);
}
END_TEST

START_TEST(checks_mime_lists)
{
	static const char *const good[] = { "",	      " , ",	 "*",
					    "*/*",    "image/*", "text/plain,image/svg+xml",
					    "a/b c/d" };
	static const char *const bad[] = { "image", "image/", "/png",  "*/png",	 "im age/*",
					   "a/b/c", "**",     "a;b/c", "\"a/b\"" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(mimelist_check(good[i], &err) == 0, "%s: %s", good[i], err.text);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(mimelist_check(bad[i], &err) < 0, "%s", bad[i]);
		ck_assert_int_eq(err.code, ERR_INVALID);
	}
}
END_TEST

START_TEST(permits_by_mime_list)
{
	static const struct {
		const char *allow, *deny, *type,
			*want; /* want: a piece of the text, NULL: permitted */
	} rows[] = {
		{ "", "", "image/png", NULL },
		{ NULL, NULL, "image/png", NULL },
		{ " , ", NULL, "image/png", NULL },
		{ "image/*", "", "image/png", NULL },
		{ "IMAGE/PNG", "", "image/png; charset=binary", NULL },
		{ "text/* image/png", "", "image/png", NULL },
		{ "*", "", "image/png", NULL },
		{ "text/*", "", "image/png",
		  "image/png, which is not among the types that this service accepts (UPLOAD_ALLOW "
		  "is 'text/*')" },
		{ "image/*", "", "imagery/png", "imagery/png" },
		{ "image/pn", "", "image/png", "UPLOAD_ALLOW" },
		{ "image/png", "", "image/pn", "UPLOAD_ALLOW" },
		{ "image/*", "a/b, image/*", "image/png", "refuses (UPLOAD_DENY has 'image/*')" },
		{ "", "*/*", "image/png", "UPLOAD_DENY has '*/*'" },
		{ "", "text/*", "image/png", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = mimelist_permit(rows[i].allow, rows[i].deny, rows[i].type, &err);

		ck_assert_msg((r < 0) == (rows[i].want != NULL), "row %zu", i);
		if (r < 0) {
			ck_assert_int_eq(err.code, ERR_MEDIA_TYPE);
			ck_assert_msg(strstr(err.text, rows[i].want), "%s", err.text);
		}
	}
}
END_TEST

Suite *suite_wire_query(void)
{
	Suite *s = suite_create("wire/query");
	TCase *t = tcase_create("query");

	tcase_add_test(t, decodes);
	tcase_add_test(t, refuses);
	tcase_add_test(t, reads_numbers);
	tcase_add_test(t, checks_mime_lists);
	tcase_add_test(t, permits_by_mime_list);
	suite_add_tcase(s, t);
	return s;
}
