/* What all pages share, and the error page: no text becomes markup, and an error is the same in
 * both forms. */
#include "api/page.h"
#include "base/err.h"
#include "limits.h"
#include "store/blob.h"
#include "unit/api/page_kit.h"
#include "unit/suites.h"
#include "web/response.h"

#include <check.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define R "\xef\xbf\xbd"
#define ROW(in, want)                                                                              \
	{                                                                                          \
		in, sizeof(in) - 1, want                                                           \
	}

static const struct {
	const char *in;
	size_t len;
	const char *want;
} texts[] = {
	ROW("", ""),
	ROW("plain text", "plain text"),
	ROW("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
	ROW("</pre>", "&lt;/pre&gt;"),
	ROW("\" onerror=\"x", "&quot; onerror=&quot;x"),
	ROW("' onerror='x", "&#39; onerror=&#39;x"),
	ROW("&lt;&", "&amp;lt;&amp;"),
	ROW("a\n\tb", "a\n\tb"),
	ROW("a\r\nb\r\n", "a\nb\n"),
	ROW("10%\r20%\r", "10%\xe2\x90\x8d"
			  "20%\xe2\x90\x8d"),
	ROW("\0", "\xe2\x90\x80"),
	ROW("a\0b", "a\xe2\x90\x80"
		    "b"),
	ROW("\x1b[31m", "\xe2\x90\x9b[31m"),
	ROW("\x1f\x7f", "\xe2\x90\x9f\xe2\x90\xa1"),
	ROW("\xc2\x80\xc2\x9f\xc2\xa0", R R "\xc2\xa0"),
	ROW("\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d"),
	ROW("<\xff>\xc2", "&lt;" R "&gt;" R),
};

START_TEST(escapes)
{
	AUTO(strbuf) out = STRBUF(200);

	page_text(&out, texts[_i].in, texts[_i].len);
	ck_assert_str_eq(out.buf, texts[_i].want);
	ck_assert_uint_eq(out.len, strlen(texts[_i].want));
}
END_TEST

/* Any bytes, and never more than the bound that callers reckon with. */
START_TEST(any_bytes_are_text)
{
	for (unsigned seed = 0; seed < PAGE_ROUNDS; seed++) {
		char text[120];
		AUTO(strbuf) out = STRBUF(PAGE_GROWTH * sizeof(text));
		AUTO(strbuf) tags = STRBUF(100);

		page_hostile(seed, text, sizeof(text));
		page_text(&out, text, sizeof(text));
		page_tags(&out, &tags);
		ck_assert_str_eq(tags.buf, "");
		ck_assert_ptr_null(strpbrk(out.buf, "<>\"'"));
	}
}
END_TEST

static const struct {
	int64_t bytes;
	const char *want;
} sizes[] = {
	{ 0, "0 B" },
	{ 999, "999 B" },
	{ 1000, "1.0 kB" },
	{ 1234, "1.2 kB" },
	{ 12345, "12 kB" },
	{ 999499, "999 kB" },
	{ 999500, "1.0 MB" },
	{ 104857600, "105 MB" },
	{ 5000000000, "5.0 GB" },
	{ 5000000000000, "5000 GB" },
};

START_TEST(sizes_are_readable)
{
	AUTO(strbuf) out = STRBUF(40);

	page_size(&out, sizes[_i].bytes);
	ck_assert_str_eq(out.buf, sizes[_i].want);
}
END_TEST

START_TEST(frame_has_what_the_policy_allows)
{
	AUTO(strbuf) out = STRBUF(PAGE_FRAME_BYTES);

	page_begin(&out, "A <title>", "/v1/files");
	page_end(&out);
	ck_assert(strbuf_ok(&out));
	page_has(&out, "<!DOCTYPE html>\n<html lang=\"en\">");
	page_has(&out, "<title>A &lt;title&gt; - Belljar</title>");
	page_has(&out, "<meta name=\"viewport\"");
	page_has(&out, "<link rel=\"stylesheet\" href=\"/style.css\">");
	page_has(&out, "<a href=\"/v1/files\" aria-current=\"page\">");
	page_has(&out, "<a href=\"/\">Run</a>");
	page_has(&out, "<main>\n</main>\n</body>\n</html>\n");
	page_has_not(&out, "style=");
	page_has_not(&out, "<style");
	page_has_not(&out, "<script");
}
END_TEST

START_TEST(links_use_the_id)
{
	const struct blob file = { .id = "11111111-2222-4333-8444-555555555555",
				   .name = (char *)"../\"><script>.html" };
	AUTO(strbuf) out = STRBUF(1000);

	page_link(&out, &file);
	ck_assert_str_eq(out.buf, "<a href=\"/v1/files/11111111-2222-4333-8444-555555555555\">"
				  "<bdi>../&quot;&gt;&lt;script&gt;.html</bdi></a>");
}
END_TEST

static const char *header(const struct response *res, const char *name)
{
	for (size_t i = 0; i < res->headers_count; i++)
		if (strcmp(res->headers[i].name, name) == 0)
			return res->headers[i].value;
	return NULL;
}

START_TEST(error_is_the_json_error_for_people)
{
	for (int code = ERR_BAD_REQUEST; code < ERR_COUNT; code++) {
		AUTO(response) page;
		AUTO(response) json;
		struct err err = ERR_INIT;
		const char *wait;

		response_init(&page, 10);
		response_init(&json, 10000);
		err_set(&err, (enum err_code)code, "the <b>value</b> is \"bad\"");
		page_error(&page, &err, NULL, "id-7");
		response_error(&json, &err, NULL);
		ck_assert_int_eq(page.status, json.status);
		ck_assert_str_eq(page.content_type, "text/html; charset=utf-8");
		page_has(&page.body, "<p class=\"message\">the &lt;b&gt;value&lt;/b&gt; is "
				     "&quot;bad&quot;</p>");
		page_has(&page.body, "<p class=\"hint\">");
		page_has(&page.body, "<p class=\"back\"><a href=\"/\">");
		page_has_not(&page.body, "class=\"problems\"");
		ck_assert_int_eq(strstr(page.body.buf, "id-7") != NULL, page.status >= 500);
		wait = header(&json, "Retry-After");
		ck_assert_int_eq(page.headers_count, json.headers_count);
		ck_assert_int_eq(strstr(page.body.buf, "Retry-After:") != NULL, wait != NULL);
		if (wait)
			ck_assert_str_eq(header(&page, "Retry-After"), wait);
	}
}
END_TEST

START_TEST(error_says_how_long_to_wait)
{
	AUTO(response) res;
	struct err err = ERR_INIT;

	response_init(&res, 10000);
	err_set(&err, ERR_BUSY, "no slot");
	err.retry_after_s = 17;
	page_error(&res, &err, NULL, "x");
	ck_assert_int_eq(res.status, 503);
	ck_assert_str_eq(header(&res, "Retry-After"), "17");
	page_has(&res.body, "Retry-After: 17 seconds");
}
END_TEST

static const char problems_text[] =
	"[{\"type\":\"missing\",\"loc\":[\"body\",\"files\",0,\"path\"],\"msg\":\"Field "
	"required\"},"
	"{\"type\":\"x\",\"loc\":[\"body\",\"<script>\"],\"msg\":\"Not \\\"<b>\\\"\",\"input\":7},"
	"{\"loc\":[\"body\"],\"msg\":\"Whole\"},{\"loc\":7},\"odd\"]";

START_TEST(error_lists_the_problems)
{
	struct json_object *problems = json_tokener_parse(problems_text);
	AUTO(response) res;
	AUTO(strbuf) tags = STRBUF(10000);
	struct err err = ERR_INIT;

	response_init(&res, 10000);
	err_set(&err, ERR_INVALID, "wrong");
	page_error(&res, &err, problems, "x");
	ck_assert_int_eq(res.status, 422);
	page_has(&res.body, "<li><code>files[0].path</code>: Field required</li>");
	page_has(&res.body, "<li><code>&lt;script&gt;</code>: Not &quot;&lt;b&gt;&quot;</li>");
	page_has(&res.body, "<li><code></code>: Whole</li>");
	page_tags(&res.body, &tags);
	page_has_not(&tags, "script");
	json_object_put(problems);
}
END_TEST

/* No list of ours is that long; the error must be told all the same. */
START_TEST(error_drops_what_does_not_fit)
{
	struct json_object *list = json_object_new_array();
	AUTO(response) res;
	struct err err = ERR_INIT;

	for (int i = 0; i < 5000; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "msg",
				       json_object_new_string("a message of some length"));
		json_object_array_add(list, o);
	}
	response_init(&res, 10000);
	err_set(&err, ERR_INVALID, "wrong");
	page_error(&res, &err, list, "x");
	ck_assert(strbuf_ok(&res.body));
	ck_assert_int_eq(res.status, 422);
	page_has(&res.body, "<p class=\"message\">wrong</p>");
	page_has(&res.body, "</html>");
	page_has_not(&res.body, "a message");
	json_object_put(list);
}
END_TEST

Suite *suite_api_page(void)
{
	Suite *s = suite_create("api/page");
	TCase *t = tcase_create("page");

	tcase_add_loop_test(t, escapes, 0, ARRAY_SIZE(texts));
	tcase_add_test(t, any_bytes_are_text);
	tcase_add_loop_test(t, sizes_are_readable, 0, ARRAY_SIZE(sizes));
	tcase_add_test(t, frame_has_what_the_policy_allows);
	tcase_add_test(t, links_use_the_id);
	tcase_add_test(t, error_is_the_json_error_for_people);
	tcase_add_test(t, error_says_how_long_to_wait);
	tcase_add_test(t, error_lists_the_problems);
	tcase_add_test(t, error_drops_what_does_not_fit);
	suite_add_tcase(s, t);
	return s;
}
