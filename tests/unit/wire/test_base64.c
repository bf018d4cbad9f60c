/* RFC 4648's examples both ways, and texts that decode to something only by being generous. */
#include "base/strbuf.h"
#include "unit/suites.h"
#include "wire/base64.h"

#include <check.h>

static const struct {
	const char *plain, *text;
} rows[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xfe", "+//+" },
};

START_TEST(both_ways)
{
	AUTO(strbuf) text = STRBUF(100);
	AUTO(strbuf) plain = STRBUF(100);

	base64_encode(&text, rows[_i].plain, strlen(rows[_i].plain));
	ck_assert_str_eq(text.buf, rows[_i].text);
	ck_assert(base64_decode(&plain, text.buf, text.len));
	ck_assert_str_eq(plain.buf, rows[_i].plain);
}
END_TEST

START_TEST(all_bytes)
{
	AUTO(strbuf) text = STRBUF(1000);
	AUTO(strbuf) plain = STRBUF(1000);
	char all[256];

	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	for (size_t len = 0; len <= sizeof(all); len++) {
		strbuf_reset(&text);
		strbuf_reset(&plain);
		base64_encode(&text, all, len);
		ck_assert(base64_decode(&plain, text.buf, text.len));
		ck_assert_uint_eq(plain.len, len);
		ck_assert_mem_eq(plain.buf, all, len);
	}
}
END_TEST

static const char *const bad[] = { "Z",		"Zg",	    "Zg=",   "Zg===",	 "====",
				   "=",		"Z===",	    "Zh==",  "Zm9=",	 "Zm9v\n",
				   "Zm9v Zm9v", " Zm9v",    "Zm9v=", "Zg==Zg==", "Zm-_",
				   "Zm9*",	"Zm9vZ=g=", "Z=9v",  "Zm9\xc3",	 "Zm9vZg=v" };

START_TEST(refuses)
{
	AUTO(strbuf) plain = STRBUF(100);

	strbuf_addstr(&plain, "keep");
	ck_assert_msg(!base64_decode(&plain, bad[_i], strlen(bad[_i])), "%s", bad[_i]);
	ck_assert_str_eq(plain.buf, "keep");
}
END_TEST

START_TEST(appends_whole_or_nothing)
{
	AUTO(strbuf) text = STRBUF(7);

	base64_encode(&text, "abcd", 4);
	ck_assert_uint_eq(text.len, 0);
	ck_assert(!strbuf_ok(&text));
	base64_encode(&text, "abc", SIZE_MAX);
	ck_assert_uint_eq(text.len, 0);
	ck_assert(!base64_decode(&text, "Zm9v\0m9v", 8));
	ck_assert_uint_eq(text.len, 0);
}
END_TEST

Suite *suite_wire_base64(void)
{
	Suite *s = suite_create("wire_base64");
	TCase *tc = tcase_create("base64");

	tcase_add_loop_test(tc, both_ways, 0, ARRAY_SIZE(rows));
	tcase_add_test(tc, all_bytes);
	tcase_add_loop_test(tc, refuses, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, appends_whole_or_nothing);
	suite_add_tcase(s, tc);
	return s;
}
