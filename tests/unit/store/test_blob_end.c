/* How stored files end: deleted, expired, damaged. */
#include "base/clock.h"
#include "base/err.h"
#include "support/tool.h"
#include "unit/store/store_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <unistd.h>

START_TEST(deletes)
{
	AUTO(blob) b = { 0 };
	AUTO_CLOSE int fd = -1;
	char id[IDENT_UUID], text[8] = "";

	put_text("a", "xyz", id);
	ck_assert_int_eq(blob_open(&store, "t", id, &b, &fd, &err), 0);
	ck_assert_int_eq(blob_delete(&store, "t", id, &err), 0);
	ck_assert_int_eq(blob_delete(&store, "t", id, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_int_eq(files_on_disk(), 0);
	check_counters();
	/* Who reads it goes on. */
	ck_assert_int_eq(read(fd, text, sizeof(text)), 3);
	ck_assert_str_eq(text, "xyz");
}
END_TEST

START_TEST(expires)
{
	const struct blob_rules brief = { .max_bytes = 10, .max_name = "X", .ttl_ms = 1 };
	const struct blob_rules forever = { .max_bytes = 10, .max_name = "X" };
	AUTO(blob) b = { 0 };
	AUTO(blob) kept = { 0 };
	struct blob again;
	struct sweep swept;

	ck_assert_int_eq(put("a", "x", 1, &brief, &b), 0);
	ck_assert_int_eq(put("a", "x", 1, &forever, &kept), 0);
	tool_sleep_ms(5);
	ck_assert_int_eq(blob_stat(&store, "t", b.id, &again, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_msg(strstr(err.cause, "expired"), "%s", err.cause);
	ck_assert_int_eq(blob_delete(&store, "t", b.id, &err), -1);
	ck_assert_int_eq(kept.expires_ms, 0);
	/* Sweeps, even far ahead in time, take only what has an end; its time is looked at in
	 * seconds first. */
	ck_assert_int_eq(
		sweep_run(&store, clock_wall_ms() + 100LL * 365 * 86400000, NULL, &swept, &err), 0);
	ck_assert_int_eq(swept.expired, 1);
	ck_assert_int_eq(swept.damaged, 0);
	ck_assert_int_eq(swept.usage.files, 1);
	ck_assert_int_eq(files_on_disk(), 2);
	ck_assert_int_eq(blob_stat(&store, "t", kept.id, &again, &err), 0);
	blob_clear(&again);
	check_counters();
}
END_TEST

static void damage(const char *id, const char *part, const char *text)
{
	tool_write(below("t/%.2s/%s/%s", id, id, part), text);
}

START_TEST(takes_damaged_files_for_none)
{
	static const char *const metas[] = {
		"",
		"{",
		"[]",
		"{}",
		"null",
		"{\"name\": 1}",
		"{\"name\": \"a\", \"mime\": \"a/b\", \"sha256\": \"00\", \"size\": 3, "
		"\"created_ms\": 1, \"expires_ms\": 0}",
		"{\"name\": \"../a\", \"mime\": \"a/b\", \"sha256\": "
		"\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\", \"size\": "
		"3, \"created_ms\": 1, "
		"\"expires_ms\": 0}",
		"{\"name\": \"a\", \"mime\": \"a/b\", \"sha256\": "
		"\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\", \"size\": "
		"-3, \"created_ms\": 1, "
		"\"expires_ms\": 0}",
	};
	char id[IDENT_UUID], huge[LIMIT_META_BYTES + 100];
	struct sweep swept;
	struct blob b;

	put_text("a", "abc", id);
	damage(id, "content", "ab");
	ck_assert_int_eq(blob_stat(&store, "t", id, &b, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_msg(strstr(err.cause, "size"), "%s", err.cause);
	damage(id, "content", "abc");
	ck_assert_int_eq(blob_stat(&store, "t", id, &b, &err), 0);
	blob_clear(&b);
	for (size_t i = 0; i < ARRAY_SIZE(metas); i++) {
		damage(id, "meta.json", metas[i]);
		ck_assert_msg(blob_stat(&store, "t", id, &b, &err) < 0, "%s", metas[i]);
		ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	}
	memset(huge, ' ', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	damage(id, "meta.json", huge);
	ck_assert_int_eq(blob_stat(&store, "t", id, &b, &err), -1);
	/* It may be the disk's fault, so it stays for a day. */
	ck_assert_int_eq(
		sweep_run(&store, clock_wall_ms() + LIMIT_DAMAGED_MS / 2, NULL, &swept, &err), 0);
	ck_assert_int_eq(swept.damaged, 0);
	ck_assert_int_eq(
		sweep_run(&store, clock_wall_ms() + LIMIT_DAMAGED_MS + 1000, NULL, &swept, &err),
		0);
	ck_assert_int_eq(swept.damaged, 1);
	ck_assert_int_eq(files_on_disk(), 0);
	check_counters();
}
END_TEST

Suite *suite_store_blob_end(void)
{
	Suite *s = suite_create("store/blob_end");
	TCase *t = tcase_create("end");

	tcase_add_checked_fixture(t, store_setup, store_teardown);
	tcase_add_test(t, deletes);
	tcase_add_test(t, expires);
	tcase_add_test(t, takes_damaged_files_for_none);
	suite_add_tcase(s, t);
	return s;
}
