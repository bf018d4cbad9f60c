/*
 * The form parser: what a body means, whatever way it is cut. Every row is fed whole, byte by byte,
 * and cut in two at every place; the texts of all must be the same.
 */
#include "base/err.h"
#include "fuzz/part_log.h"
#include "unit/suites.h"

#include <check.h>

#define TYPE "multipart/form-data; boundary=XX"
#define CD "Content-Disposition: form-data; "
#define PART(cd) "--XX\r\n" CD cd "\r\n\r\n"
#define END "\r\n--XX--\r\n"

static const struct multipart_limits limits = {
	.body_bytes = 100000, .body_name = "MAX_REQUEST_BYTES", .field_bytes = 40, .parts = 4
};

struct row {
	const char *body, *want;
};

struct pieces {
	size_t first, rest, count;
};

static size_t next_piece(void *arg)
{
	struct pieces *p = arg;

	return p->count++ == 0 ? p->first : p->rest;
}

static void parse(struct strbuf *log, const struct multipart_limits *l, const char *type,
		  const char *body, size_t len, size_t first, size_t rest)
{
	struct pieces p = { .first = first, .rest = rest };

	strbuf_reset(log);
	part_log_run(log, type, l, body, len, next_piece, &p);
}

static void check_bytes(const struct multipart_limits *l, const struct row *r, size_t len)
{
	const char *type = TYPE;
	AUTO(strbuf) log = STRBUF(PART_LOG_MAX);

	parse(&log, l, type, r->body, len, len + 1, 1);
	ck_assert_msg(log.len == strlen(log.buf) && strcmp(log.buf, r->want) == 0,
		      "%s\n gave %s\nwanted %s", r->body, log.buf, r->want);
	for (size_t cut = 1; cut < len; cut++) {
		parse(&log, l, type, r->body, len, cut, len);
		ck_assert_msg(strcmp(log.buf, r->want) == 0, "%s\ncut at %zu gave %s", r->body, cut,
			      log.buf);
	}
	for (size_t step = 1; step <= 7; step++) {
		parse(&log, l, type, r->body, len, step, step);
		ck_assert_msg(strcmp(log.buf, r->want) == 0, "%s\nby %zu gave %s", r->body, step,
			      log.buf);
	}
}

static void check_all_ways(const struct multipart_limits *l, const struct row *r)
{
	check_bytes(l, r, strlen(r->body));
}

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_all_ways(&limits, &rows[i]);
}

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

	check_rows(rows, ARRAY_SIZE(rows));
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

	check_rows(rows, ARRAY_SIZE(rows));
}
END_TEST

#define HEAD(lines) "--XX\r\n" lines "\r\n1" END

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

	check_rows(rows, ARRAY_SIZE(rows));
}
END_TEST

#define NAMED(p) PART("name=f; " p) "1" END

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

	check_rows(rows, ARRAY_SIZE(rows));
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

	check_rows(rows, ARRAY_SIZE(rows));
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

	check_bytes(&limits, &name, sizeof(in_name) - 1);
	check_bytes(&limits, &file, sizeof(in_file) - 1);
	/* In content it is a byte like any other. */
	parse(&log, &limits, TYPE, content, sizeof(content) - 1, 1, 1);
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
	parse(&log, &limits, TYPE, body.buf, body.len, 1, 1);
	ck_assert_uint_eq(log.len, 255 + strlen("<f|>1</>ok"));
	named(&body, 256);
	parse(&log, &limits, TYPE, body.buf, body.len, 1, 1);
	ck_assert_str_eq(log.buf,
			 "!bad_file_name: The file name has 256 bytes; at most 255 are allowed.");
	named(&body, 5000);
	parse(&log, &limits, TYPE, body.buf, body.len, 1, 1);
	ck_assert_str_eq(log.buf,
			 "!bad_file_name: The file name has 5000 bytes; at most 255 are allowed.");
	named(&body, 20000);
	parse(&log, &limits, TYPE, body.buf, body.len, 20100, 1);
	ck_assert_str_eq(log.buf,
			 "!bad_multipart: The header of a part is over the limit of 16384 bytes.");
	parse(&log, &limits, TYPE, body.buf, body.len, 1, 1);
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
		parse(&log, &limits, TYPE, body.buf, body.len, 1, 1);
		if (n == LIMIT_FIELD_NAME_BYTES)
			ck_assert_str_eq(log.buf + log.len - 2, "ok");
		else
			ck_assert_str_eq(
				log.buf,
				"!bad_multipart: A field name is over the limit of 128 bytes.");
	}
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

	check_all_ways(&small, &over_body);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		check_all_ways(&two, &fields[i]);
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
		check_all_ways(&lenient, &rows[i]);
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
		parse(&log, &limits, rows[i].type, rows[i].body, strlen(rows[i].body), 1, 1);
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

	ck_assert_int_eq(multipart_init(&m, TYPE, &limits, &part_log_events, &log, &err), 0);
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

	ck_assert_int_eq(multipart_init(&m, TYPE, &limits, &events, &calls, &err), 0);
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
	tcase_add_test(t, keeps_names);
	tcase_add_test(t, refuses_names);
	tcase_add_test(t, refuses_nul);
	tcase_add_test(t, bounds_names);
	tcase_add_test(t, bounds_field_names);
	tcase_add_test(t, bounds_bodies);
	tcase_add_test(t, passes_empty_names_on_where_asked);
	tcase_add_test(t, checks_boundaries);
	tcase_add_test(t, keeps_its_failure);
	tcase_add_test(t, stops_with_its_receiver);
	tcase_add_test(t, needs_no_memory_for_content);
	suite_add_tcase(s, t);
	return s;
}
