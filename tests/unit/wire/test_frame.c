/* The guest protocol's bytes: exact layout, what comes back is what was put, and no prefix or
 * suffix is taken for a whole. */
#include "unit/suites.h"
#include "wire/frame.h"

#include <check.h>

static uint8_t buf[4096], copy[4096];

static const struct frame_job job = {
	.timeout_ms = 1000,
	.output_bytes = 0x0102030405060708,
	.cpu_time_s = 30,
	.files_max = 64,
	.files_bytes = 1 << 30,
	.file_bytes = UINT64_MAX,
	.show_last = 1,
	.main_name = "main.py",
	.main_name_len = 7,
	.args = "{\"a\":1}",
	.args_len = 7,
	.argv = "one\0\0three",
	.argv_len = 11,
	.env = "A=b",
	.env_len = 4,
};

static struct frame_out out_to(size_t max)
{
	return (struct frame_out){ .buf = buf, .max = max, .ok = true };
}

START_TEST(heads)
{
	static const uint8_t want[] = { 65, 0, 0, 0, 0, 1, 0, 0 };
	uint8_t head[FRAME_HEAD], type = 0;
	uint32_t len = 7;

	frame_head(head, FRAME_STARTED, FRAME_MAX);
	ck_assert_mem_eq(head, want, sizeof(want));
	ck_assert(frame_parse_head(head, &type, &len));
	ck_assert_uint_eq(type, FRAME_STARTED);
	ck_assert_uint_eq(len, FRAME_MAX);
	head[7] = 1;
	ck_assert(!frame_parse_head(head, &type, &len));
	frame_head(head, FRAME_STARTED, UINT32_MAX);
	ck_assert(!frame_parse_head(head, &type, &len));
	for (int i = 1; i < 4; i++) {
		frame_head(head, FRAME_STARTED, 0);
		head[i] = 1;
		ck_assert(!frame_parse_head(head, &type, &len));
	}
	ck_assert_uint_eq(len, FRAME_MAX);
}
END_TEST

START_TEST(numbers_and_fields)
{
	static const uint8_t want[] = { 1, 2, 3, 4, 0, 0,   0,	 0, 0, 0, 0,
					9, 0, 0, 0, 2, 'h', 'i', 0, 0, 0, 0 };
	struct frame_out out = out_to(sizeof(want));
	struct frame_in in = { .buf = buf, .len = sizeof(want), .ok = true };
	uint32_t len;

	frame_put_u32(&out, 0x01020304);
	frame_put_u64(&out, 9);
	frame_put_field(&out, "hi", 2);
	frame_put_field(&out, NULL, 0);
	ck_assert(out.ok);
	ck_assert_uint_eq(out.len, sizeof(want));
	ck_assert_mem_eq(buf, want, sizeof(want));
	ck_assert_uint_eq(frame_get_u32(&in), 0x01020304);
	ck_assert_uint_eq(frame_get_u64(&in), 9);
	ck_assert_mem_eq(frame_get_field(&in, &len), "hi", 2);
	ck_assert_uint_eq(len, 2);
	ck_assert(!frame_in_done(&in));
	ck_assert_ptr_nonnull(frame_get_field(&in, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert(frame_in_done(&in));
	ck_assert_uint_eq(frame_get_u32(&in), 0);
	ck_assert(!frame_in_done(&in));
}
END_TEST

START_TEST(writers_stop_at_the_end)
{
	struct frame_out out = out_to(5);

	memset(buf, 0xee, 16);
	frame_put_u32(&out, 1);
	frame_put_u32(&out, 2);
	ck_assert(!out.ok);
	frame_put_field(&out, "", 0);
	ck_assert(!out.ok);
	for (size_t i = 4; i < 16; i++)
		ck_assert_uint_eq(buf[i], 0xee);
}
END_TEST

START_TEST(a_field_cannot_claim_more_than_there_is)
{
	static const uint8_t claims[] = { 0xff, 0xff, 0xff, 0xff, 'a', 'b' };
	struct frame_in in = { .buf = claims, .len = sizeof(claims), .ok = true };
	uint32_t len = 5;

	ck_assert_ptr_null(frame_get_field(&in, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert(!in.ok);
}
END_TEST

START_TEST(jobs_come_back)
{
	struct frame_out out = out_to(sizeof(buf));
	struct frame_job got = { 0 };

	frame_put_job(&out, &job);
	ck_assert(out.ok);
	ck_assert(frame_get_job(buf, out.len, &got));
	ck_assert_uint_eq(got.timeout_ms, job.timeout_ms);
	ck_assert_uint_eq(got.output_bytes, job.output_bytes);
	ck_assert_uint_eq(got.cpu_time_s, job.cpu_time_s);
	ck_assert_uint_eq(got.files_max, job.files_max);
	ck_assert_uint_eq(got.files_bytes, job.files_bytes);
	ck_assert_uint_eq(got.file_bytes, job.file_bytes);
	ck_assert_uint_eq(got.show_last, 1);
	ck_assert_uint_eq(got.main_name_len, 7);
	ck_assert_mem_eq(got.main_name, "main.py", 7);
	ck_assert_mem_eq(got.args, job.args, 7);
	ck_assert_uint_eq(got.argv_len, 11);
	ck_assert_mem_eq(got.argv, job.argv, 11);
	ck_assert_uint_eq(got.env_len, 4);
	for (size_t len = 0; len < out.len; len++)
		ck_assert(!frame_get_job(buf, len, &got));
	ck_assert(!frame_get_job(buf, out.len + 1, &got));
}
END_TEST

static bool round_trips(const struct frame_job *j)
{
	struct frame_out out = out_to(sizeof(buf));
	struct frame_job got;

	frame_put_job(&out, j);
	ck_assert(out.ok);
	return frame_get_job(buf, out.len, &got);
}

START_TEST(jobs_are_checked)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/" };
	struct frame_job j = job;

	j.argv_len = 10; /* without its last NUL */
	ck_assert(!round_trips(&j));
	j = job;
	j.env_len = 3;
	ck_assert(!round_trips(&j));
	j = job;
	j.argv_len = j.env_len = j.args_len = 0;
	ck_assert(round_trips(&j));
	j.show_last = 2;
	ck_assert(!round_trips(&j));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		j = job;
		j.main_name = names[i];
		j.main_name_len = (uint32_t)strlen(names[i]);
		ck_assert(!round_trips(&j));
	}
	j = job;
	j.main_name = "a\0b";
	j.main_name_len = 3;
	ck_assert(!round_trips(&j));
}
END_TEST

static const struct frame_exit good_exit = { .cause = FRAME_CAUSE_SIGNAL,
					     .exit_code = 137,
					     .signal = 9,
					     .oom = 1,
					     .wall_us = 1,
					     .cpu_us = 2,
					     .memory_peak = 3,
					     .stdout_bytes = 4,
					     .stderr_bytes = 5 };

static bool exit_trips(const struct frame_exit *e, struct frame_exit *got)
{
	struct frame_out out = out_to(sizeof(buf));

	frame_put_exit(&out, e);
	ck_assert(out.ok);
	for (size_t len = 0; len < out.len; len++)
		ck_assert(!frame_get_exit(buf, len, got));
	ck_assert(!frame_get_exit(buf, out.len + 1, got));
	return frame_get_exit(buf, out.len, got);
}

START_TEST(exits_come_back)
{
	struct frame_exit got;

	memset(&got, 0xee, sizeof(got));
	ck_assert(exit_trips(&good_exit, &got));
	ck_assert_mem_eq(&got, &good_exit, sizeof(got));
}
END_TEST

START_TEST(exits_are_checked)
{
	struct frame_exit bad[10], got;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good_exit;
	bad[0].cause = 0;
	bad[1].cause = FRAME_CAUSE_CPU + 1;
	bad[2].exit_code = 256;
	bad[3].signal = 65;
	bad[4].oom = 2;
	bad[5].wall_us = UINT64_MAX;
	bad[6].cpu_us = UINT64_MAX;
	bad[7].memory_peak = UINT64_MAX;
	bad[8].stdout_bytes = UINT64_MAX;
	bad[9].stderr_bytes = (uint64_t)INT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!exit_trips(&bad[i], &got), "row %zu", i);
}
END_TEST

/* Every single bit flipped: either refused or read back as what it says, and never beyond the end
 * (the sanitizers look). */
START_TEST(flipped_bits_are_harmless)
{
	struct frame_out out = out_to(sizeof(buf));
	struct frame_job got;

	frame_put_job(&out, &job);
	memcpy(copy, buf, out.len);
	for (size_t bit = 0; bit < out.len * 8; bit++) {
		char *exact = malloc(out.len);

		memcpy(exact, copy, out.len);
		exact[bit / 8] = (char)(exact[bit / 8] ^ 1 << bit % 8);
		if (frame_get_job((uint8_t *)exact, out.len, &got)) {
			ck_assert_uint_le(got.main_name_len, 255);
			ck_assert(got.argv >= exact && got.argv + got.argv_len <= exact + out.len);
			ck_assert(got.env >= exact && got.env + got.env_len <= exact + out.len);
		}
		free(exact);
	}
}
END_TEST

Suite *suite_wire_frame(void)
{
	Suite *s = suite_create("wire_frame");
	TCase *tc = tcase_create("frame");

	tcase_add_test(tc, heads);
	tcase_add_test(tc, numbers_and_fields);
	tcase_add_test(tc, writers_stop_at_the_end);
	tcase_add_test(tc, a_field_cannot_claim_more_than_there_is);
	tcase_add_test(tc, jobs_come_back);
	tcase_add_test(tc, jobs_are_checked);
	tcase_add_test(tc, exits_come_back);
	tcase_add_test(tc, exits_are_checked);
	tcase_add_test(tc, flipped_bits_are_harmless);
	suite_add_tcase(s, tc);
	return s;
}
