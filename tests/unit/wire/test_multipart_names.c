/* Names in forms: how browsers and RFCs write them, what is kept exactly, and every rule that
 * refuses one. */
#include "base/err.h"
#include "unit/suites.h"
#include "unit/wire/multipart_rows.h"

#include <check.h>

START_TEST(keeps_names)
{
	static const struct row rows[] = {
		{ NAMED("filename=\"Relev\u00e9 \u2013 \u00e9t\u00e9 (v1).csv\""),
		  "<f|Relev\u00e9 \u2013 \u00e9t\u00e9 (v1).csv>1</>ok" },
		{ NAMED("filename=\u65e5\u672c.txt"), "<f|\u65e5\u672c.txt>1</>ok" },
		{ NAMED("filename=\" -.hidden; x=y \""), "<f| -.hidden; x=y >1</>ok" },
		{ NAMED("filename=\"...\""), "<f|...>1</>ok" },
		/* A quote as browsers write it, and as RFC 9110 does; a backslash that is only
		   that. */
		{ NAMED("filename=\"a%22b%2F%20%\""), "<f|a\"b%2F%20%>1</>ok" },
		{ NAMED("filename=\"a\\\"b\\\\c\\d\""), "<f|a\"b\\c\\d>1</>ok" },
		{ NAMED("filename=\"..\\x\""), "<f|..\\x>1</>ok" },
		{ NAMED("filename=a%22b"), "<f|a%22b>1</>ok" },
		/* RFC 8187, which wins over the plain form. */
		{ NAMED("filename*=UTF-8''%e2%82%ac%20rates.txt"), "<f|\u20ac rates.txt>1</>ok" },
		{ NAMED("filename=\"EURO.txt\"; filename*=utf-8'en'%E2%82%AC.txt"),
		  "<f|\u20ac.txt>1</>ok" },
		{ NAMED("filename*=iso-8859-1''%A3%20rates"), "<f|\u00a3 rates>1</>ok" },
		{ NAMED("filename*=\"UTF-8''a\""), "<f|a>1</>ok" },
		{ NAMED("filename*=UTF-8''%e2%82"),
		  "!bad_file_name: The file name must be valid UTF-8." },
		{ NAMED("filename*=UTF-8''a%2"),
		  "!bad_file_name: The percent-encoding of filename* is not valid (RFC 8187)." },
		{ NAMED("filename*=UTF-8''a%zz"),
		  "!bad_file_name: The percent-encoding of filename* is not valid (RFC 8187)." },
		{ NAMED("filename*=UTF-8'a"),
		  "!bad_file_name: filename* must have the form UTF-8''name (RFC 8187)." },
		{ NAMED("filename*=koi8-r''a"), "!bad_file_name: filename* has the character set "
						"'koi8-r'; UTF-8 is the one to use." },
	};

	rows_check(rows, ARRAY_SIZE(rows));
}
END_TEST

START_TEST(refuses_names)
{
	static const struct row rows[] = {
		{ NAMED("filename=\"../../tmp/x\""),
		  "!bad_file_name: The file name must be one name without folders, without '/': "
		  "'../../tmp/x'." },
		{ NAMED("filename=\"/tmp/x\""), "!bad_file_name: The file name must be one name "
						"without folders, without '/': '/tmp/x'." },
		{ NAMED("filename=\"a/../../x\""), "!bad_file_name: The file name must be one name "
						   "without folders, without '/': 'a/../../x'." },
		{ NAMED("filename*=UTF-8''..%2Fx"), "!bad_file_name: The file name must be one "
						    "name without folders, without '/': '../x'." },
		{ NAMED("filename=\"..\""),
		  "!bad_file_name: The file name must not be '..', which is a folder." },
		{ NAMED("filename=.; b=c"),
		  "!bad_file_name: The file name must not be '.', which is a folder." },
		{ NAMED("filename=\"\""),
		  "!bad_file_name: The file name is empty; every file needs a name." },
		{ NAMED("filename*=UTF-8''"),
		  "!bad_file_name: The file name is empty; every file needs a name." },
		{ NAMED("filename*=UTF-8''a%00b"),
		  "!bad_file_name: The file name must not contain a NUL byte." },
		{ NAMED("filename=\"a\xff\""),
		  "!bad_file_name: The file name must be valid UTF-8." },
		{ NAMED("filename=\"a%0Ab\""),
		  "!bad_file_name: The file name must not contain control characters: 'a?b'." },
		{ NAMED("filename=\"a\x7f\""),
		  "!bad_file_name: The file name must not contain control characters: 'a?'." },
		{ NAMED("filename=\"\xc2\x85\""),
		  "!bad_file_name: The file name must not contain control characters: '?"
		  "?'." },
	};

	rows_check(rows, ARRAY_SIZE(rows));
}
END_TEST

START_TEST(refuses_nul)
{
	static const char in_name[] = HEAD(CD "name=\"a\0b\"\r\n"),
			  in_file[] = NAMED("filename=\"a\0b\"");
	static const char content[] = PART("name=a; filename=b") "0\0" END;
	const struct row name = {
		in_name, "!bad_multipart: A field name must not contain NUL or control characters."
	};
	const struct row file = { in_file,
				  "!bad_file_name: The file name must not contain a NUL byte." };
	AUTO(strbuf) log = STRBUF(PART_LOG_MAX);

	row_check_bytes(&row_limits, &name, sizeof(in_name) - 1);
	row_check_bytes(&row_limits, &file, sizeof(in_file) - 1);
	/* In content it is a byte like any other. */
	row_parse(&log, &row_limits, TYPE, content, sizeof(content) - 1, 1, 1);
	ck_assert_uint_eq(log.len, 12);
	ck_assert_mem_eq(log.buf, "<a|b>0\0</>ok", 12);
}
END_TEST

/* A part whose file name has n bytes, as a fresh text. */
static void named(struct strbuf *out, size_t n)
{
	strbuf_reset(out);
	strbuf_addstr(out, "--XX\r\n" CD "name=f; filename=\"");
	for (size_t i = 0; i < n; i++)
		strbuf_addch(out, "abcdefg"[i % 7]);
	strbuf_addstr(out, "\"\r\n\r\n1" END);
}

START_TEST(bounds_names)
{
	AUTO(strbuf) body = STRBUF(1 << 20);
	AUTO(strbuf) log = STRBUF(PART_LOG_MAX);

	named(&body, 255);
	row_parse(&log, &row_limits, TYPE, body.buf, body.len, 1, 1);
	ck_assert_uint_eq(log.len, 255 + strlen("<f|>1</>ok"));
	named(&body, 256);
	row_parse(&log, &row_limits, TYPE, body.buf, body.len, 1, 1);
	ck_assert_str_eq(log.buf,
			 "!bad_file_name: The file name has 256 bytes; at most 255 are allowed.");
	named(&body, 5000);
	row_parse(&log, &row_limits, TYPE, body.buf, body.len, 1, 1);
	ck_assert_str_eq(log.buf,
			 "!bad_file_name: The file name has 5000 bytes; at most 255 are allowed.");
	named(&body, 20000);
	row_parse(&log, &row_limits, TYPE, body.buf, body.len, 20100, 1);
	ck_assert_str_eq(log.buf,
			 "!bad_multipart: The header of a part is over the limit of 16384 bytes.");
	row_parse(&log, &row_limits, TYPE, body.buf, body.len, 1, 1);
	ck_assert_str_eq(log.buf,
			 "!bad_multipart: The header of a part is over the limit of 16384 bytes.");
}
END_TEST

START_TEST(bounds_field_names)
{
	AUTO(strbuf) body = STRBUF(1 << 20);
	AUTO(strbuf) log = STRBUF(PART_LOG_MAX);

	for (size_t n = LIMIT_FIELD_NAME_BYTES; n <= LIMIT_FIELD_NAME_BYTES + 1; n++) {
		strbuf_reset(&body);
		strbuf_addf(&body, "--XX\r\n" CD "name=\"%0*d\"\r\n\r\n1" END, (int)n, 0);
		row_parse(&log, &row_limits, TYPE, body.buf, body.len, 1, 1);
		if (n == LIMIT_FIELD_NAME_BYTES)
			ck_assert_str_eq(log.buf + log.len - 2, "ok");
		else
			ck_assert_str_eq(
				log.buf,
				"!bad_multipart: A field name is over the limit of 128 bytes.");
	}
}
END_TEST

START_TEST(passes_empty_names_on_where_asked)
{
	static const struct multipart_limits lenient = { .body_bytes = 1000,
							 .body_name = "X",
							 .field_bytes = 5,
							 .parts = 2,
							 .empty_filename = true };
	static const struct row rows[] = {
		{ NAMED("filename=\"\""), "<f|>1</>ok" },
		{ NAMED("filename=\"..\""),
		  "!bad_file_name: The file name must not be '..', which is a folder." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		row_check(&lenient, &rows[i]);
}
END_TEST

Suite *suite_wire_multipart_names(void)
{
	Suite *s = suite_create("wire/multipart_names");
	TCase *t = tcase_create("names");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, keeps_names);
	tcase_add_test(t, refuses_names);
	tcase_add_test(t, refuses_nul);
	tcase_add_test(t, bounds_names);
	tcase_add_test(t, bounds_field_names);
	tcase_add_test(t, passes_empty_names_on_where_asked);
	suite_add_tcase(s, t);
	return s;
}
