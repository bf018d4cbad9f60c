/* The page of stored files: a row for each, links by ids, and the same tags whatever the names. */
#include "api/page.h"
#include "base/err.h"
#include "store/blob_list.h"
#include "unit/api/page_kit.h"
#include "unit/suites.h"
#include "web/response.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "11111111-2222-4333-8444-55555555555"

static struct blob items[2];
static struct blob_list list;
static struct response res;
static struct err err;

static void setup(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		items[i] = (struct blob){ .size = 1500 * (int64_t)(i + 1),
					  .mime = "text/csv",
					  .name = (char *)(i ? "b.csv" : "a <b>.csv"),
					  .created_ms = 1767225599000,
					  .expires_ms = i ? 0 : 1767225600000 };
		snprintf(items[i].id, sizeof(items[i].id), ID "%zu", i);
	}
	list = (struct blob_list){ .items = items, .count = ARRAY_SIZE(items) };
	response_init(&res, 10);
	err = (struct err)ERR_INIT;
}

static void teardown(void)
{
	response_clear(&res);
}

static void make_page(void)
{
	ck_assert_msg(files_page(&list, &res, &err) == 0, "%s", err.text);
	ck_assert_int_eq(res.status, 200);
	ck_assert_str_eq(res.content_type, "text/html; charset=utf-8");
}

START_TEST(lists_the_files)
{
	make_page();
	page_has(&res.body, "<table class=\"files\">");
	page_has(&res.body, "<a href=\"/v1/files/" ID "0\"><bdi>a &lt;b&gt;.csv</bdi></a>");
	page_has(&res.body, "<td class=\"size\">1.5 kB</td><td>text/csv</td>");
	page_has(&res.body, "\">2025-12-31 23:59 UTC</time>");
	page_has(&res.body,
		 "<time datetime=\"2026-01-01T00:00:00.000Z\">2026-01-01 00:00 UTC</time>");
	page_has(&res.body, "<a href=\"/v1/files/" ID "1\"><bdi>b.csv</bdi></a>");
	page_has(&res.body, ">never</td>");
	page_has_not(&res.body, "class=\"empty\"");
	page_has_not(&res.body, "after=");
}
END_TEST

START_TEST(has_a_form_for_uploads)
{
	make_page();
	page_has(&res.body, "action=\"/v1/files\" method=\"post\" enctype=\"multipart/form-data\"");
	page_has(&res.body, "name=\"file\" type=\"file\" multiple");
}
END_TEST

START_TEST(links_the_next_page)
{
	list.limit = LIMIT_LIST;
	snprintf(list.next, sizeof(list.next), "1767225599000.%s", items[1].id);
	make_page();
	page_has(&res.body, "href=\"/v1/files?after=1767225599000." ID "1\">Next page</a>");
	list.limit = 2;
	make_page();
	page_has(&res.body, ID "1&amp;limit=2\">Next page</a>");
}
END_TEST

START_TEST(says_that_there_is_nothing)
{
	list.count = 0;
	make_page();
	page_has(&res.body, "<p class=\"empty\">There are no files here.");
	page_has(&res.body, "enctype=\"multipart/form-data\"");
	page_has_not(&res.body, "<table");
}
END_TEST

/* Expired files are passed over, so a page may be empty and not the last. */
START_TEST(goes_on_behind_an_empty_page)
{
	list.count = 0;
	list.limit = LIMIT_LIST;
	snprintf(list.next, sizeof(list.next), "1.%s", items[1].id);
	make_page();
	page_has(&res.body, "have expired.</p>");
	page_has(&res.body, "?after=1." ID "1\">");
}
END_TEST

START_TEST(names_and_types_are_never_tags)
{
	AUTO(strbuf) plain = STRBUF(10000);

	make_page();
	page_tags(&res.body, &plain);
	for (unsigned seed = 0; seed < PAGE_ROUNDS; seed++) {
		AUTO(strbuf) tags = STRBUF(10000);
		char name[LIMIT_PATH_BYTES + 1] = "";

		page_hostile(seed, name, seed % sizeof(name));
		page_hostile(seed + 1, items[1].mime, LIMIT_MIME_TYPE_BYTES);
		items[0].name = name;
		make_page();
		page_tags(&res.body, &tags);
		ck_assert_str_eq(tags.buf, plain.buf);
	}
}
END_TEST

/* A full page of the longest names that grow the most. */
START_TEST(the_largest_page_fits)
{
	struct blob *many = calloc(LIMIT_LIST, sizeof(*many));
	char name[LIMIT_PATH_BYTES + 1];

	memset(name, '"', LIMIT_PATH_BYTES);
	name[LIMIT_PATH_BYTES] = '\0';
	for (size_t i = 0; i < LIMIT_LIST; i++) {
		many[i] = items[0];
		many[i].size = INT64_MAX;
		many[i].name = name;
		memset(many[i].mime, '&', LIMIT_MIME_TYPE_BYTES);
	}
	list.items = many;
	list.count = LIMIT_LIST;
	make_page();
	page_has(&res.body, "</html>");
	free(many);
}
END_TEST

Suite *suite_api_page_files(void)
{
	Suite *s = suite_create("api/page_files");
	TCase *t = tcase_create("page_files");

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, lists_the_files);
	tcase_add_test(t, has_a_form_for_uploads);
	tcase_add_test(t, links_the_next_page);
	tcase_add_test(t, says_that_there_is_nothing);
	tcase_add_test(t, goes_on_behind_an_empty_page);
	tcase_add_test(t, names_and_types_are_never_tags);
	tcase_add_test(t, the_largest_page_fits);
	suite_add_tcase(s, t);
	return s;
}
