/* Pages: their order, and that a walk over them meets every file once whatever happens meanwhile.
 */
#include "base/clock.h"
#include "base/err.h"
#include "support/tool.h"
#include "unit/store/store_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <sys/stat.h>

#define MANY 40

static char ids[MANY][IDENT_UUID];

/* Some in the same millisecond, some not. */
static void fill_store(void)
{
	for (int i = 0; i < MANY; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		put_text(name, name, ids[i]);
		if (i % 7 == 0)
			tool_sleep_ms(2);
	}
}

static bool in_order(const struct blob *a, const struct blob *b)
{
	if (a->created_ms != b->created_ms)
		return a->created_ms > b->created_ms;
	return strcmp(a->id, b->id) > 0;
}

static int index_of(const char *id)
{
	for (int i = 0; i < MANY; i++) {
		if (strcmp(ids[i], id) == 0)
			return i;
	}
	return -1;
}

START_TEST(pages_in_order)
{
	fill_store();
	for (size_t limit = 1; limit <= MANY + 1; limit++) {
		char after[BLOB_CURSOR_BYTES] = "";
		struct blob last = { 0 };
		size_t seen = 0;

		do {
			AUTO(blob_list) page = { 0 };

			ck_assert_int_eq(blob_list_load(&page, &store, "t", after, limit, &err), 0);
			ck_assert_uint_eq(page.count, MIN(limit, MANY - seen));
			for (size_t i = 0; i < page.count; i++) {
				if (seen + i > 0)
					ck_assert(in_order(&last, &page.items[i]));
				last = page.items[i];
				last.name = NULL;
				ck_assert_int_ge(index_of(last.id), 0);
			}
			seen += page.count;
			memcpy(after, page.next, sizeof(after));
		} while (after[0]);
		ck_assert_uint_eq(seen, MANY);
	}
}
END_TEST

START_TEST(survives_deletes_and_additions)
{
	char after[BLOB_CURSOR_BYTES] = "", extra[IDENT_UUID];
	int seen[MANY] = { 0 }, deleted[MANY] = { 0 }, extras = 0, added = 0;

	fill_store();
	do {
		AUTO(blob_list) page = { 0 };

		ck_assert_int_eq(blob_list_load(&page, &store, "t", after, 5, &err), 0);
		for (size_t i = 0; i < page.count; i++) {
			int at = index_of(page.items[i].id);

			if (at < 0)
				extras++;
			else
				seen[at]++;
		}
		/* The last of this page, which the cursor names, and one that may be still to come.
		 */
		if (page.count && index_of(page.items[page.count - 1].id) >= 0) {
			int victims[] = { index_of(page.items[page.count - 1].id), added };

			for (int v = 0; v < 2; v++) {
				if (!deleted[victims[v]]++)
					ck_assert_int_eq(
						blob_delete(&store, "t", ids[victims[v]], &err), 0);
			}
		}
		if (added < 5) {
			put_text("extra", "x", extra);
			added++;
		}
		memcpy(after, page.next, sizeof(after));
	} while (after[0]);
	for (int i = 0; i < MANY; i++) {
		ck_assert_int_le(seen[i], 1);
		ck_assert_msg(seen[i] == 1 || deleted[i], "file %d was not seen", i);
	}
	/* Newer than every page that was still to come. */
	ck_assert_int_eq(extras, 0);
	check_counters();
}
END_TEST

START_TEST(leaves_out_expired_and_damaged)
{
	const struct blob_rules brief = { .max_bytes = 10, .max_name = "X", .ttl_ms = 1 };
	AUTO(blob_list) page = { 0 };
	char damaged[IDENT_UUID], good[IDENT_UUID];

	ck_assert_int_eq(put("a", "x", 1, &brief, NULL), 0);
	put_text("b", "x", damaged);
	tool_write(below("t/%.2s/%s/meta.json", damaged, damaged), "{");
	put_text("c", "x", good);
	tool_sleep_ms(5);
	ck_assert_int_eq(blob_list_load(&page, &store, "t", NULL, 10, &err), 0);
	ck_assert_uint_eq(page.count, 1);
	ck_assert_str_eq(page.items[0].id, good);
	ck_assert_str_eq(page.next, "");
}
END_TEST

START_TEST(passes_over_what_is_not_its_own)
{
	AUTO(blob_list) page = { 0 };
	struct sweep swept;
	char id[IDENT_UUID];

	put_text("a", "x", id);
	ck_assert_int_eq(mkdir(below("lost+found"), 0700), 0);
	ck_assert_int_eq(mkdir(below("t/zz"), 0700), 0);
	ck_assert_int_eq(mkdir(below("t/%.2s/notes", id), 0700), 0);
	ck_assert_int_eq(mkdir(below("t/tmp/notes"), 0700), 0);
	tool_write(below("stray"), "x");
	tool_write(below("t/%.2s/stray", id), "x");
	tool_write(below("t/%.2s/3f2b8a54-1c1d-4e3a-9c55-0123456789ab", id), "x");
	ck_assert_int_eq(blob_list_load(&page, &store, "t", NULL, 10, &err), 0);
	ck_assert_uint_eq(page.count, 1);
	ck_assert_int_eq(sweep_run(&store, clock_wall_ms() + 1800000, NULL, &swept, &err), 0);
	ck_assert_int_eq(swept.leftovers + swept.expired + swept.damaged, 0);
	ck_assert_int_eq(swept.usage.files, 1);
}
END_TEST

START_TEST(has_pages_of_nothing)
{
	AUTO(blob_list) page = { 0 };

	ck_assert_int_eq(blob_list_load(&page, &store, "t", NULL, 10, &err), 0);
	ck_assert_uint_eq(page.count, 0);
	ck_assert_str_eq(page.next, "");
}
END_TEST

START_TEST(refuses_cursors)
{
	static const char *const bad[] = {
		"x",
		".",
		"1",
		"1.",
		"1.x",
		"x.3f2b8a54-1c1d-4e3a-9c55-0123456789ab",
		"3f2b8a54-1c1d-4e3a-9c55-0123456789ab",
		"1.3f2b8a54-1c1d-4e3a-9c55-0123456789ab ",
		"99999999999999999999999999.3f2b8a54-1c1d-4e3a-9c55-0123456789ab"
	};
	struct blob_list page;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(blob_list_load(&page, &store, "t", bad[i], 10, &err) < 0, "%s",
			      bad[i]);
		ck_assert_int_eq(err.code, ERR_INVALID);
	}
}
END_TEST

START_TEST(bounds_pages)
{
	AUTO(blob_list) page = { 0 };
	AUTO(blob_list) rest = { 0 };
	char id[IDENT_UUID];

	for (int i = 0; i < LIMIT_LIST + 10; i++)
		put_text("a", "", id);
	ck_assert_int_eq(blob_list_load(&page, &store, "t", NULL, SIZE_MAX, &err), 0);
	ck_assert_uint_eq(page.count, LIMIT_LIST);
	ck_assert_int_eq(blob_list_load(&rest, &store, "t", page.next, LIMIT_LIST, &err), 0);
	ck_assert_uint_eq(rest.count, 10);
	ck_assert_str_eq(rest.next, "");
}
END_TEST

Suite *suite_store_list(void)
{
	Suite *s = suite_create("store/list");
	TCase *t = tcase_create("list");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, store_setup, store_teardown);
	tcase_add_test(t, pages_in_order);
	tcase_add_test(t, survives_deletes_and_additions);
	tcase_add_test(t, leaves_out_expired_and_damaged);
	tcase_add_test(t, passes_over_what_is_not_its_own);
	tcase_add_test(t, has_pages_of_nothing);
	tcase_add_test(t, refuses_cursors);
	tcase_add_test(t, bounds_pages);
	suite_add_tcase(s, t);
	return s;
}
