/*
 * The form parser: what a body means, whatever way it is cut. Every row is fed whole, byte by byte,
 * and cut in two at every place; the texts of all must be the same.
 */
#include "base/err.h"
#include "unit/suites.h"
#include "unit/wire/multipart_rows.h"

#include <check.h>

START_TEST(takes_forms_apart)
{
	static const struct row rows[] = {
		{ PART("name=\"a\"") "hello" END, "<a>hello</>ok" },
		{ PART("name=a") "hello\r\n--XX--", "<a>hello</>ok" },
		/* Fields before and after several files. */
		{ PART("name=a") "1\r\n" PART("name=f; filename=x") "2\r\n" PART(
			  "name=f; filename=y") "3\r\n" PART("name=b") "4" END,
		  "<a>1</><f|x>2</><f|y>3</><b>4</>ok" },
		/* No parts at all is what a form without fields sends. */
		{ "--XX--\r\n", "ok" },
		{ "\r\n--XX--\r\n", "ok" },
		/* Content that ends or begins in line ends, or is nothing. */
		{ PART("name=a") END, "<a></>ok" },
		{ PART("name=a") "--XX--", "<a></>ok" },
		{ PART("name=a") "\r\n\r\n" END, "<a>\r\n\r\n</>ok" },
		{ PART("name=a") "\r\r\n\r" END, "<a>\r\r\n\r</>ok" },
		/* Beginnings of the delimiter that are none. */
		{ PART("name=a") "\r\n--X\r\n--\r\n-" END, "<a>\r\n--X\r\n--\r\n-</>ok" },
		{ PART("name=a") "\r\n--X\r\r\n-\r\n\r" END, "<a>\r\n--X\r\r\n-\r\n\r</>ok" },
		{ PART("name=a") "x--XX--\n--XX\n" END, "<a>x--XX--\n--XX\n</>ok" },
		{ PART("name=a") "--XY" END, "<a>--XY</>ok" },
		/* Preamble, epilogue, blanks after the boundary. */
		{ "pre\r\namble --XX\r\n" PART("name=a") "1" END "epi\r\n--XX\r\nlogue",
		  "<a>1</>ok" },
		{ "--XX \t \r\n" CD "name=a\r\n\r\n1\r\n--XX-- \r\n", "<a>1</>ok" },
		/* Bytes of any kind are content. */
		{ PART("name=f; filename=b") "\xff\xfe\x01\x80" END, "<f|b>\xff\xfe\x01\x80</>ok" },
	};

	rows_check(rows, ARRAY_SIZE(rows));
}
END_TEST

START_TEST(refuses_broken_bodies)
{
	static const struct row rows[] = {
		{ "", "!bad_multipart: The body does not contain the boundary that Content-Type "
		      "names." },
		{ "no form", "!bad_multipart: The body does not contain the boundary that "
			     "Content-Type names." },
		{ "x--XX--", "!bad_multipart: The body does not contain the boundary that "
			     "Content-Type names." },
		{ PART("name=a") "1",
		  "<a>1!bad_multipart: The body ends before the closing boundary." },
		{ PART("name=a") "1\r\n--XX",
		  "<a>1</>!bad_multipart: The body ends before the closing boundary." },
		{ PART("name=a") "1\r\n--XX-",
		  "<a>1</>!bad_multipart: The body ends before the closing boundary." },
		{ PART("name=a") "1\r\n--XX\r\n",
		  "<a>1</>!bad_multipart: The body ends before the closing boundary." },
		{ PART("name=a") "1\r\n--X",
		  "<a>1!bad_multipart: The body ends before the closing boundary." },
		{ "--XX\r\nContent-Dis",
		  "!bad_multipart: The body ends before the closing boundary." },
		{ PART("name=a") "1\r\n--XXY\r\n" END,
		  "<a>1</>!bad_multipart: A line begins with the boundary and goes on with other "
		  "bytes." },
		{ "--XX-x",
		  "!bad_multipart: A line begins with the boundary and goes on with other bytes." },
		{ "--XX -",
		  "!bad_multipart: A line begins with the boundary and goes on with other bytes." },
		{ "--XX\n" CD "name=a\n\n1\n--XX--\n",
		  "!bad_multipart: The line of a boundary ends in LF alone; lines must end in "
		  "CRLF." },
		{ "--XX\rx", "!bad_multipart: The line of a boundary has a CR without LF." },
		{ "--XX\r\n" CD "name=a\n\n1" END,
		  "!bad_multipart: A part's header has a CR or LF alone; lines must end in CRLF." },
		{ "--XX\r\n" CD "name=a\rb\r\n\r\n1" END,
		  "!bad_multipart: A part's header has a CR or LF alone; lines must end in CRLF." },
	};

	rows_check(rows, ARRAY_SIZE(rows));
}
END_TEST

START_TEST(reads_headers)
{
	static const struct row rows[] = {
		{ HEAD("content-disposition:form-data;name=a\r\n"), "<a>1</>ok" },
		{ HEAD("X-Other: b\r\nCONTENT-DISPOSITION: Form-Data ; NAME=a ;; FILENAME=b ;\r\n"),
		  "<a|b>1</>ok" },
		{ HEAD("Content-Disposition: form-data;\r\n name=\"a\";\r\n\tfilename=\"b\"\r\n"),
		  "<a|b>1</>ok" },
		{ HEAD(CD "name=a\r\nContent-Type: multipart/mixed; boundary=YY\r\n"),
		  "<a>1</>ok" },
		{ HEAD(CD "name=a\r\nContent-Transfer-Encoding: 8BIT\r\n"), "<a>1</>ok" },
		{ HEAD(CD "name=a\r\nContent-Transfer-Encoding: base64\r\n"),
		  "!bad_multipart: A part has the Content-Transfer-Encoding 'base64'; only binary, "
		  "8bit and 7bit are "
		  "known." },
		{ "--XX\r\n\r\n1" END,
		  "!bad_multipart: A part has no Content-Disposition header." },
		{ HEAD("Content-Type: text/plain\r\n"),
		  "!bad_multipart: A part has no Content-Disposition header." },
		{ HEAD(CD "name=a\r\n" CD "name=b\r\n"),
		  "!bad_multipart: A part has two Content-Disposition headers." },
		{ HEAD("Content-Disposition: attachment; name=a\r\n"),
		  "!bad_multipart: The Content-Disposition of a part must be form-data." },
		{ HEAD("Content-Disposition: form-data\r\n"),
		  "!bad_multipart: A part has no name; Content-Disposition must be form-data; "
		  "name=\"...\"." },
		{ HEAD("no colon here\r\n"),
		  "!bad_multipart: A line of a part's header is not of the form 'Name: value'." },
		{ HEAD(CD "name=\"\"\r\n"),
		  "!bad_multipart: A field name is empty or not valid UTF-8." },
		{ HEAD(CD "name=\"\xff\"\r\n"),
		  "!bad_multipart: A field name is empty or not valid UTF-8." },
		{ HEAD(CD "name=\"a%0Ab\"\r\n"),
		  "!bad_multipart: A field name must not contain NUL or control characters." },
		{ HEAD(CD "name=a; name=b\r\n"),
		  "!bad_multipart: The header parameter 'name' comes twice." },
		{ HEAD(CD "name=a; filename=b; FileName=c\r\n"),
		  "!bad_multipart: The header parameter 'FileName' comes twice." },
		{ HEAD(CD "name=\"a\r\n"),
		  "!bad_multipart: A header parameter has an opening quote and no closing one." },
		{ HEAD(CD "name=a b\r\n"),
		  "!bad_multipart: The parameters of a header must be separated by semicolons." },
		{ HEAD(CD "name=\r\n"),
		  "!bad_multipart: The header parameter 'name' has no value." },
		{ HEAD(CD "name\r\n"),
		  "!bad_multipart: A header parameter is not of the form name=value." },
	};

	rows_check(rows, ARRAY_SIZE(rows));
}
END_TEST

START_TEST(bounds_bodies)
{
	static const struct multipart_limits small = {
		.body_bytes = 60, .body_name = "MAX_REQUEST_BYTES", .field_bytes = 5, .parts = 1
	};
	static const struct multipart_limits two = {
		.body_bytes = 1000, .body_name = "X", .field_bytes = 5, .parts = 2
	};
	static const struct row over_body = {
		PART("name=a; filename=b") "0123456789" END,
		"<a|b>!too_large: The request body is over MAX_REQUEST_BYTES, 60 bytes."
	};
	static const struct row fields[] = {
		{ PART("name=a") "12345" END, "<a>12345</>ok" },
		{ PART("name=a") "123456" END,
		  "<a>12345!too_large: The field 'a' is over the limit of 5 bytes." },
		{ PART("name=a") "1234\r\n-" END,
		  "<a>1234\r!too_large: The field 'a' is over the limit of 5 bytes." },
		/* A file has no such limit here; and each field has its own. */
		{ PART("name=a; filename=b") "123456" END, "<a|b>123456</>ok" },
		{ PART("name=a") "12345\r\n" PART("name=b") "67890" END,
		  "<a>12345</><b>67890</>ok" },
		{ PART("name=a") "\r\n" PART("name=b") "\r\n" PART("name=c") END,
		  "<a></><b></>!too_large: The body has more than 2 parts." },
	};

	row_check(&small, &over_body);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		row_check(&two, &fields[i]);
}
END_TEST

#define SEVENTY "0123456789012345678901234567890123456789012345678901234567890123456789"

START_TEST(checks_boundaries)
{
	static const struct {
		const char *type, *body, *want;
	} rows[] = {
		{ "Multipart/Form-Data; charset=utf-8; boundary=\"a b'()+_,-./:=?c\"",
		  "--a b'()+_,-./:=?c--", "ok" },
		{ "multipart/form-data; boundary=----=_Part/1", "------=_Part/1--", "ok" },
		{ "multipart/form-data; boundary=" SEVENTY, "--" SEVENTY "--", "ok" },
		{ "multipart/form-data; boundary=" SEVENTY "1", "",
		  "!bad_multipart: The boundary must be 1 to 70 of the characters that RFC 2046 "
		  "allows." },
		{ "multipart/form-data; boundary=\"\"", "",
		  "!bad_multipart: The boundary must be 1 to 70 of the characters that RFC 2046 "
		  "allows." },
		{ "multipart/form-data; boundary=\"a \"", "",
		  "!bad_multipart: The boundary must be 1 to 70 of the characters that RFC 2046 "
		  "allows." },
		{ "multipart/form-data; boundary=a@b", "",
		  "!bad_multipart: The boundary must be 1 to 70 of the characters that RFC 2046 "
		  "allows." },
		{ "multipart/form-data", "",
		  "!bad_multipart: The Content-Type multipart/form-data has no boundary." },
		{ "multipart/mixed; boundary=a", "",
		  "!bad_multipart: The Content-Type is not multipart/form-data." },
		{ "", "", "!bad_multipart: The Content-Type is not multipart/form-data." },
		{ "multipart/form-data; boundary=a; boundary=b", "",
		  "!bad_multipart: The header parameter 'boundary' comes twice." },
	};
	AUTO(strbuf) log = STRBUF(PART_LOG_MAX);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		row_parse(&log, &row_limits, rows[i].type, rows[i].body, strlen(rows[i].body), 1,
			  1);
		ck_assert_msg(strcmp(log.buf, rows[i].want) == 0, "%s gave %s", rows[i].type,
			      log.buf);
	}
}
END_TEST

START_TEST(keeps_its_failure)
{
	AUTO(strbuf) log = STRBUF(PART_LOG_MAX);
	struct err err = ERR_INIT;
	struct multipart m;

	ck_assert_int_eq(multipart_init(&m, TYPE, &row_limits, &part_log_events, &log, &err), 0);
	ck_assert_int_eq(multipart_push(&m, "--XX!", 5, &err), -1);
	err = (struct err)ERR_INIT;
	ck_assert_int_eq(multipart_push(&m, "--XX--\r\n", 8, &err), -1);
	ck_assert_int_eq(err.code, ERR_BAD_MULTIPART);
	err = (struct err)ERR_INIT;
	ck_assert_int_eq(multipart_finish(&m, &err), -1);
	ck_assert_str_eq(err.text, "A line begins with the boundary and goes on with other bytes.");
	ck_assert_uint_eq(log.len, 0);
	multipart_clear(&m);
}
END_TEST

static int refuse_data(void *arg, const void *data UNUSED, size_t len UNUSED, struct err *err)
{
	++*(int *)arg;
	return err_set(err, ERR_STORE_FULL, "no room");
}

static int accept_begin(void *arg UNUSED, const struct multipart_head *head UNUSED,
			struct err *err UNUSED)
{
	return 0;
}

START_TEST(stops_with_its_receiver)
{
	static const struct multipart_events events = { accept_begin, refuse_data, part_log_end };
	static const char body[] = PART("name=a; filename=b") "0123" END;
	struct err err = ERR_INIT;
	struct multipart m;
	int calls = 0;

	ck_assert_int_eq(multipart_init(&m, TYPE, &row_limits, &events, &calls, &err), 0);
	for (size_t i = 0; i < sizeof(body) - 1; i++) {
		if (multipart_push(&m, body + i, 1, &err) < 0)
			ck_assert_int_eq(err.code, ERR_STORE_FULL);
	}
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(multipart_finish(&m, &err), -1);
	ck_assert_str_eq(err.text, "no room");
	multipart_clear(&m);
}
END_TEST

static int count_data(void *arg, const void *data UNUSED, size_t len, struct err *err UNUSED)
{
	*(int64_t *)arg += (int64_t)len;
	return 0;
}

static int accept_end(void *arg UNUSED, struct err *err UNUSED)
{
	return 0;
}

START_TEST(needs_no_memory_for_content)
{
	static const struct multipart_events events = { accept_begin, count_data, accept_end };
	static const struct multipart_limits wide = { .body_bytes = 1LL << 40,
						      .body_name = "X",
						      .parts = 1 };
	static const char head[] = PART("name=a; filename=b"), end[] = END;
	static char block[1 << 16];
	struct err err = ERR_INIT;
	int64_t bytes = 0;
	struct multipart m;

	/* Much of it looks like the beginning of a delimiter. */
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = "\r\n--X\r\r\n-"[i % 9];
	ck_assert_int_eq(multipart_init(&m, TYPE, &wide, &events, &bytes, &err), 0);
	ck_assert_int_eq(multipart_push(&m, head, sizeof(head) - 1, &err), 0);
	for (int i = 0; i < 256; i++)
		ck_assert_int_eq(multipart_push(&m, block, sizeof(block), &err), 0);
	ck_assert_int_eq(multipart_push(&m, end, sizeof(end) - 1, &err), 0);
	ck_assert_int_eq(multipart_finish(&m, &err), 0);
	ck_assert_int_eq(bytes, 256 * (int64_t)sizeof(block));
	ck_assert_uint_le(m.text.cap, 2 * LIMIT_PART_HEAD);
	multipart_clear(&m);
}
END_TEST

Suite *suite_wire_multipart(void)
{
	Suite *s = suite_create("wire/multipart");
	TCase *t = tcase_create("parser");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, takes_forms_apart);
	tcase_add_test(t, refuses_broken_bodies);
	tcase_add_test(t, reads_headers);
	tcase_add_test(t, bounds_bodies);
	tcase_add_test(t, checks_boundaries);
	tcase_add_test(t, keeps_its_failure);
	tcase_add_test(t, stops_with_its_receiver);
	tcase_add_test(t, needs_no_memory_for_content);
	suite_add_tcase(s, t);
	return s;
}
