/* The engine's stream: the same calls however it is cut, and the end at the first header that is
 * none. */
#include "base/strbuf.h"
#include "unit/suites.h"
#include "wire/dstream.h"

#include <check.h>

static const char stream[] = "\1\0\0\0\0\0\0\5hello"
			     "\2\0\0\0\0\0\0\3err"
			     "\0\0\0\0\0\0\0\2in"
			     "\1\0\0\0\0\0\0\0"
			     "\3\0\0\0\0\0\0\4oops";
static struct strbuf seen[4];
static int calls, stop_after;

static int note(void *arg, enum dstream_kind kind, const void *data, size_t len)
{
	struct strbuf *all = arg;

	ck_assert_uint_gt(len, 0);
	strbuf_add(&all[kind], data, len);
	return ++calls == stop_after;
}

static void setup(void)
{
	for (int i = 0; i < 4; i++)
		strbuf_init(&seen[i], 100);
	calls = stop_after = 0;
}

static void teardown(void)
{
	for (int i = 0; i < 4; i++)
		strbuf_clear(&seen[i]);
}

START_TEST(cut_anywhere)
{
	size_t step = (size_t)_i;
	struct dstream d;

	dstream_init(&d, note, seen);
	for (size_t at = 0; at < sizeof(stream) - 1; at += step)
		ck_assert_int_eq(dstream_push(&d, stream + at, MIN(step, sizeof(stream) - 1 - at)),
				 0);
	ck_assert(dstream_at_edge(&d));
	ck_assert_str_eq(seen[DSTREAM_STDOUT].buf, "helloin");
	ck_assert_str_eq(seen[DSTREAM_STDERR].buf, "err");
	ck_assert_str_eq(seen[DSTREAM_DAEMON].buf, "oops");
}
END_TEST

START_TEST(knows_its_edges)
{
	struct dstream d;

	dstream_init(&d, note, seen);
	ck_assert(dstream_at_edge(&d));
	for (size_t i = 0; i < 13; i++) {
		ck_assert_int_eq(dstream_push(&d, stream + i, 1), 0);
		ck_assert_int_eq(dstream_at_edge(&d), i == 12);
	}
}
END_TEST

START_TEST(counts_large_payloads)
{
	static const char head[] = "\1\0\0\0\xff\xff\xff\xff";
	struct dstream d;

	dstream_init(&d, note, seen);
	ck_assert_int_eq(dstream_push(&d, head, 8), 0);
	ck_assert_int_eq(dstream_push(&d, "abc", 3), 0);
	ck_assert_str_eq(seen[DSTREAM_STDOUT].buf, "abc");
	ck_assert_uint_eq(d.left, UINT32_MAX - 3);
	ck_assert(!dstream_at_edge(&d));
}
END_TEST

START_TEST(refuses_other_heads)
{
	static const char *const bad[] = { "\4\0\0\0\0\0\0\1x",	  "\1\1\0\0\0\0\0\1x",
					   "\1\0\1\0\0\0\0\1x",	  "\1\0\0\1\0\0\0\1x",
					   "\xff\0\0\0\0\0\0\1x", "HTTP/1.1 " };
	struct dstream d;

	dstream_init(&d, note, seen);
	ck_assert_int_eq(dstream_push(&d, bad[_i], 9), -1);
	ck_assert(!dstream_at_edge(&d));
	ck_assert_int_eq(dstream_push(&d, stream, sizeof(stream) - 1), -1);
	ck_assert_int_eq(calls, 0);
}
END_TEST

START_TEST(stops_when_told)
{
	struct dstream d;

	stop_after = 2;
	dstream_init(&d, note, seen);
	ck_assert_int_eq(dstream_push(&d, stream, sizeof(stream) - 1), -1);
	ck_assert_int_eq(calls, 2);
	ck_assert_int_eq(dstream_push(&d, stream, 1), -1);
	ck_assert_int_eq(calls, 2);
}
END_TEST

Suite *suite_wire_dstream(void)
{
	Suite *s = suite_create("wire_dstream");
	TCase *tc = tcase_create("dstream");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, cut_anywhere, 1, sizeof(stream));
	tcase_add_test(tc, knows_its_edges);
	tcase_add_test(tc, counts_large_payloads);
	tcase_add_loop_test(tc, refuses_other_heads, 0, 6);
	tcase_add_test(tc, stops_when_told);
	suite_add_tcase(s, tc);
	return s;
}
