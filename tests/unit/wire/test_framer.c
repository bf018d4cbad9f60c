/* Frames out of a stream cut anywhere, and the end at the first malformed one. */
#include "base/strbuf.h"
#include "unit/suites.h"
#include "wire/framer.h"

#include <check.h>

static struct strbuf stream, seen;
static int stop_after;

static int note(void *arg, uint8_t type, const uint8_t *data, size_t len)
{
	ck_assert_ptr_eq(arg, &seen);
	strbuf_addf(&seen, "%u:%zu:", type, len);
	strbuf_add(&seen, data, MIN(len, (size_t)8));
	strbuf_addch(&seen, ';');
	return stop_after > 0 && --stop_after == 0;
}

static void add_frame(enum frame_type type, const char *data, size_t len)
{
	uint8_t head[FRAME_HEAD];

	frame_head(head, type, (uint32_t)len);
	strbuf_add(&stream, head, sizeof(head));
	strbuf_add(&stream, data, len);
}

static void setup(void)
{
	static char most[FRAME_MAX];

	memset(most, 'm', sizeof(most));
	strbuf_init(&stream, 200000);
	strbuf_init(&seen, 10000);
	stop_after = 0;
	add_frame(FRAME_STDOUT, "hello", 5);
	add_frame(FRAME_BYE, "", 0);
	add_frame(FRAME_STDERR, most, sizeof(most));
	add_frame(FRAME_BYE, "", 0);
}

static void teardown(void)
{
	strbuf_clear(&stream);
	strbuf_clear(&seen);
}

static const char want[] = "67:5:hello;73:0:;68:65536:mmmmmmmm;73:0:;";

/* Sizes from one byte to all at once. */
START_TEST(cut_anywhere)
{
	size_t step = (size_t)1 << _i;
	struct framer f;

	framer_init(&f, note, &seen);
	for (size_t at = 0; at < stream.len; at += step)
		ck_assert_int_eq(framer_push(&f, stream.buf + at, MIN(step, stream.len - at)), 0);
	ck_assert(framer_at_edge(&f));
	ck_assert_str_eq(seen.buf, want);
	framer_clear(&f);
}
END_TEST

START_TEST(knows_its_edges)
{
	struct framer f;

	framer_init(&f, note, &seen);
	ck_assert(framer_at_edge(&f));
	ck_assert_int_eq(framer_push(&f, NULL, 0), 0);
	for (size_t i = 0; i < 13; i++) {
		ck_assert_int_eq(framer_push(&f, stream.buf + i, 1), 0);
		ck_assert_int_eq(framer_at_edge(&f), i == 12);
	}
	framer_clear(&f);
	framer_clear(&f);
}
END_TEST

START_TEST(refuses_bad_heads)
{
	static const uint8_t heads[][8] = { { 1, 1, 0, 0, 0, 0, 0, 0 },
					    { 1, 0, 0, 1, 0, 0, 0, 0 },
					    { 1, 0, 0, 0, 0, 1, 0, 1 },
					    { 1, 0, 0, 0, 255, 255, 255, 255 } };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct framer f;

		framer_init(&f, note, &seen);
		ck_assert_int_eq(framer_push(&f, heads[i], 8), -1);
		ck_assert_uint_eq(seen.len, 0);
		framer_clear(&f);
	}
}
END_TEST

START_TEST(stops_when_told)
{
	struct framer f;

	stop_after = 2;
	framer_init(&f, note, &seen);
	ck_assert_int_eq(framer_push(&f, stream.buf, stream.len), -1);
	ck_assert_str_eq(seen.buf, "67:5:hello;73:0:;");
	framer_clear(&f);
}
END_TEST

Suite *suite_wire_framer(void)
{
	Suite *s = suite_create("wire_framer");
	TCase *tc = tcase_create("framer");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, cut_anywhere, 0, 18);
	tcase_add_test(tc, knows_its_edges);
	tcase_add_test(tc, refuses_bad_heads);
	tcase_add_test(tc, stops_when_told);
	suite_add_tcase(s, tc);
	return s;
}
