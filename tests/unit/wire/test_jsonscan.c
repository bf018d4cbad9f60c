/* What is JSON and what only looks like it; refusals name the byte. */
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "limits.h"
#include "unit/suites.h"
#include "wire/json.h"

#include <check.h>

static const char *const good[] = {
	"{}",
	"[]",
	" \t\r\n[ 1 , 2 ] \n",
	"0",
	"-0",
	"-1.5e+10",
	"1E400",
	"123456789012345678901234567890",
	"\"\"",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e9\\ud83d\\ude00\\uD83D\\uDE00\"",
	"\"\x7f ä € 😀 \xef\xbf\xbf\"",
	"true",
	"false",
	"null",
	"{\"a\":{\"a\":[{\"a\":null}]},\"A\":1,\"\":2,\"a \":3}",
	"{\"ab\":1,\"a\":2,\"abc\":3}",
};

START_TEST(accepts)
{
	struct err err = ERR_INIT;

	ck_assert_msg(jsonscan(good[_i], strlen(good[_i]), &err) == 0, "%s: %s", good[_i],
		      err.text);
}
END_TEST

#define ROW(text, at)                                                                              \
	{                                                                                          \
		text, sizeof(text) - 1, at                                                         \
	}
static const struct {
	const char *text;
	size_t len, at;
} bad[] = {
	ROW("", 0),
	ROW("  ", 2),
	ROW("{", 1),
	ROW("{\"a\"", 4),
	ROW("{\"a\":", 5),
	ROW("{\"a\":1", 6),
	ROW("{\"a\":1,", 7),
	ROW("{\"a\":1,}", 7),
	ROW("[1,]", 3),
	ROW("[1 2]", 3),
	ROW("[,1]", 1),
	ROW("{,}", 1),
	ROW("{a:1}", 1),
	ROW("{'a':1}", 1),
	ROW("{1:1}", 1),
	ROW("{\"a\" 1}", 5),
	ROW("{\"a\":'b'}", 5),
	ROW("{} {}", 3),
	ROW("{}x", 2),
	ROW("{}\0", 2),
	ROW("{}\0garbage", 2),
	ROW("\0{}", 0),
	ROW("// c\n{}", 0),
	ROW("{/**/}", 1),
	ROW("\xef\xbb\xbf{}", 0),
	ROW("NaN", 0),
	ROW("[Infinity]", 1),
	ROW("-Infinity", 1),
	ROW("nul", 0),
	ROW("True", 0),
	ROW("truefalse", 4),
	ROW("01", 1),
	ROW("-", 1),
	ROW("+1", 0),
	ROW(".5", 0),
	ROW("1.", 2),
	ROW("1.e1", 2),
	ROW("1e", 2),
	ROW("1e+", 3),
	ROW("0x10", 1),
	ROW("1_000", 1),
	ROW("-01", 2),
	ROW("\"abc", 4),
	ROW("\"a\nb\"", 2),
	ROW("\"a\tb\"", 2),
	ROW("\"a\0b\"", 2),
	ROW("\"\\x41\"", 2),
	ROW("\"\\\"", 3),
	ROW("\"\\u12\"", 3),
	ROW("\"\\u12g4\"", 3),
	ROW("\"\\ud800\"", 7),
	ROW("\"\\ud800\\n\"", 8),
	ROW("\"\\ud800\\u0041\"", 13),
	ROW("\"\\udc00\"", 7),
	ROW("\"\\udc00\\ud800\"", 7),
	ROW("\"a\xff\"", 2),
	ROW("\"ä\xc0\xaf\"", 3),
	ROW("\"\xed\xa0\x80\"", 1),
	ROW("\"\xf4\x90\x80\x80\"", 1),
	ROW("{\"a\":1,\"a\":2}", 7),
	ROW("{\"a\":1,\"b\":2,\"\\u0061\":3}", 13),
	ROW("{\"b\":{\"x\":1,\"x\":1}}", 12),
	ROW("[{\"\":1,\"\":1}]", 7),
	ROW("{\"a\":{},\"b\":[{\"c\":1}],\"a\":2}", 22),
	ROW("{\"a\\u0000b\":1}", 9),
};

START_TEST(refuses)
{
	struct err err = ERR_INIT;
	char want[32], *exact = malloc(bad[_i].len + 1);

	/* A block of the exact size: the sanitizer sees a read beyond it. */
	memcpy(exact, bad[_i].text, bad[_i].len);
	exact = realloc(exact, MAX(bad[_i].len, (size_t)1));
	snprintf(want, sizeof(want), " byte %zu: ", bad[_i].at);
	ck_assert_msg(jsonscan(exact, bad[_i].len, &err) < 0, "%s", bad[_i].text);
	ck_assert_int_eq(err.code, ERR_BAD_JSON);
	ck_assert_msg(strstr(err.text, want), "%s: %s, not %s", bad[_i].text, err.text, want);
	free(exact);
}
END_TEST

static bool nested_ok(int depth, const char *open, const char *close)
{
	AUTO(strbuf) text = STRBUF(1 << 20);

	for (int i = 0; i < depth; i++)
		strbuf_addstr(&text, open);
	strbuf_addstr(&text, "1");
	for (int i = 0; i < depth; i++)
		strbuf_addstr(&text, close);
	return jsonscan(text.buf, text.len, NULL) == 0;
}

START_TEST(bounds_depth)
{
	ck_assert(nested_ok(LIMIT_JSON_DEPTH, "[", "]"));
	ck_assert(!nested_ok(LIMIT_JSON_DEPTH + 1, "[", "]"));
	ck_assert(nested_ok(LIMIT_JSON_DEPTH, "{\"a\":", "}"));
	ck_assert(!nested_ok(LIMIT_JSON_DEPTH + 1, "{\"a\":", "}"));
	ck_assert(!nested_ok(100000, "[", "]"));
}
END_TEST

static int scan_many(size_t count, const char *fmt, const char *open, const char *close,
		     struct err *err)
{
	AUTO(strbuf) text = STRBUF(32 << 20);

	strbuf_addstr(&text, open);
	for (size_t i = 0; i < count; i++) {
		if (fmt)
			strbuf_addf(&text, "%s\"%060zu\":0", i ? "," : "", i);
		else
			strbuf_addstr(&text, i ? ",0" : "0");
	}
	strbuf_addstr(&text, close);
	ck_assert(strbuf_ok(&text));
	return jsonscan(text.buf, text.len, err);
}

START_TEST(bounds_names_and_values)
{
	int64_t from = clock_ms();
	struct err err = ERR_INIT;

	ck_assert_int_eq(scan_many(LIMIT_JSON_KEYS, "x", "{", "}", &err), 0);
	ck_assert_int_eq(scan_many(LIMIT_JSON_KEYS + 1, "x", "{", "}", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "more names"));
	ck_assert_int_eq(scan_many(LIMIT_JSON_VALUES - 1, NULL, "[", "]", &err), 0);
	ck_assert_int_eq(scan_many(LIMIT_JSON_VALUES, NULL, "[", "]", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "more values"));
	/* A compare of each name with each would take minutes. */
	ck_assert_int_lt(clock_ms() - from, 30000);
}
END_TEST

Suite *suite_wire_jsonscan(void)
{
	Suite *s = suite_create("wire_jsonscan");
	TCase *tc = tcase_create("jsonscan");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, accepts, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(tc, refuses, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, bounds_depth);
	tcase_add_test(tc, bounds_names_and_values);
	suite_add_tcase(s, tc);
	return s;
}
