/* The answer of a job as a page: every ending in words, outputs and names as text only, files by
 * their ids. */
#include "api/execute.h"
#include "base/alloc.h"
#include "base/err.h"
#include "unit/api/api_fixture.h"
#include "unit/api/page_kit.h"
#include "unit/suites.h"
#include "web/response.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "11111111-2222-4333-8444-55555555555"
#define OUTPUT_BYTES 1000

static struct execute ex;
static struct response res;
static struct err err;

static void setup(void)
{
	api_fixture_setup();
	execute_init(&ex);
	ex.fields.code = xstrdup("print(1 < 2)");
	ex.fields.timeout_ms = 10000;
	ex.limits.memory_mb = 512;
	ex.cpu_time_s = 30;
	ex.output_bytes = OUTPUT_BYTES;
	ex.output.kept = true; /* they are in no store */
	ex.lease.queue_ms = 7;
	ex.lease.start_ms = 1234;
	ex.result.out = ex.result.err = (struct strbuf)STRBUF(OUTPUT_BYTES);
	ex.result.exit = (struct frame_exit){
		.cause = FRAME_CAUSE_EXIT, .wall_us = 12345, .cpu_us = 5000, .memory_peak = 8500000
	};
	response_init(&res, 10);
	err = (struct err)ERR_INIT;
}

static void teardown(void)
{
	response_clear(&res);
	execute_clear(&ex);
	api_fixture_teardown();
}

static void make_page(void)
{
	ck_assert_msg(execute_page(&ex, &res, &err) == 0, "%s", err.text);
	ck_assert_int_eq(res.status, 200);
	ck_assert_str_eq(res.content_type, "text/html; charset=utf-8");
}

/* Ended by execute_clear. */
static void add_file(const char *name, const char *mime, int64_t size)
{
	struct execute_output *o = &ex.output;
	struct blob *file;

	o->files = xrealloc(o->files, (o->count + 1) * sizeof(*o->files));
	file = &o->files[o->count];
	*file = (struct blob){ .name = xstrdup(name), .size = size };
	snprintf(file->id, sizeof(file->id), ID "%zu", o->count);
	snprintf(file->mime, sizeof(file->mime), "%s", mime);
	o->count++;
}

static void add_skip(const char *path, const char *reason)
{
	ex.result.skipped[ex.result.skipped_count++] =
		(struct run_skip){ .path = xstrdup(path), .reason = reason };
}

static const struct {
	struct frame_exit exit;
	bool lost, cut;
	const char *verdict, *note;
} endings[] = {
	{ { .cause = FRAME_CAUSE_EXIT, .wall_us = 12999 },
	  false,
	  false,
	  "\"verdict ok\" role=\"status\">finished, exit 0 in 12 ms<",
	  NULL },
	{ { .cause = FRAME_CAUSE_EXIT, .exit_code = 1, .wall_us = 2345678 },
	  false,
	  false,
	  "\"verdict bad\" role=\"status\">failed: exit 1 in 2.35 s<",
	  NULL },
	{ { .cause = FRAME_CAUSE_EXIT, .oom = 1 },
	  false,
	  false,
	  "\"verdict ok\" role=\"status\">finished, exit 0 in 0 ms<",
	  "\"note\">a process was killed: the 512 MiB memory limit was reached<" },
	{ { .cause = FRAME_CAUSE_EXIT, .exit_code = 4 },
	  false,
	  true,
	  "\"verdict bad\" role=\"status\">failed: exit 4 in 0 ms<",
	  "\"note\">the container ended before all files had come back<" },
	{ { .cause = FRAME_CAUSE_TIMEOUT, .exit_code = 137, .signal = 9 },
	  false,
	  false,
	  "\"verdict bad\" role=\"status\">stopped: the time limit of 10000 ms was reached<",
	  NULL },
	{ { .cause = FRAME_CAUSE_OOM, .exit_code = 137, .signal = 9, .oom = 1 },
	  false,
	  false,
	  "\"verdict bad\" role=\"status\">killed: the 512 MiB memory limit was reached<",
	  NULL },
	{ { .cause = FRAME_CAUSE_CPU, .exit_code = 152, .signal = 24 },
	  false,
	  false,
	  "\"verdict bad\" role=\"status\">killed: the CPU time limit of 30 s was reached "
	  "(SIGXCPU)<",
	  NULL },
	{ { .cause = FRAME_CAUSE_SIGNAL, .exit_code = 139, .signal = 11 },
	  false,
	  false,
	  "\"verdict bad\" role=\"status\">ended by SIGSEGV<",
	  NULL },
	{ { .cause = FRAME_CAUSE_CANCELLED },
	  false,
	  false,
	  "\"verdict bad\" role=\"status\">cancelled<",
	  NULL },
	{ { 0 },
	  true,
	  false,
	  "\"verdict bad\" role=\"status\">the container ended without a verdict: ",
	  NULL },
};

START_TEST(says_how_it_ended)
{
	ex.result.exit = endings[_i].exit;
	ex.result.lost = endings[_i].lost;
	ex.result.cut = endings[_i].cut;
	make_page();
	page_has(&res.body, endings[_i].verdict);
	if (endings[_i].note)
		page_has(&res.body, endings[_i].note);
	else
		page_has_not(&res.body, "class=\"note\"");
}
END_TEST

START_TEST(lost_at_the_time_limit_is_a_timeout)
{
	ex.result.exit = (struct frame_exit){ 0 };
	ex.result.lost = true;
	ex.result.run_ms = 10001;
	make_page();
	page_has(&res.body, ">stopped: the time limit of 10000 ms was reached<");
	page_has(&res.body, "<dt>Time</dt><dd>10.00 s</dd>");
	page_has_not(&res.body, "<dt>CPU</dt>");
	page_has_not(&res.body, "<dt>Memory");
}
END_TEST

START_TEST(shows_outputs_and_program_as_text)
{
	strbuf_addstr(&ex.result.out, "\n<b>out</b>\r\n");
	strbuf_addstr(&ex.result.err, "</pre><script>");
	make_page();
	/* The first line end after <pre> is the markup's. */
	page_has(&res.body, "<h3>Output</h3>\n<pre class=\"stdout\" tabindex=\"0\">\n"
			    "\n&lt;b&gt;out&lt;/b&gt;\n</pre>");
	page_has(&res.body, "<h3>Errors</h3>\n<pre class=\"stderr\" tabindex=\"0\">\n"
			    "&lt;/pre&gt;&lt;script&gt;</pre>");
	page_has(&res.body, "<details><summary>The program</summary>\n"
			    "<pre class=\"code\" tabindex=\"0\">\nprint(1 &lt; 2)</pre>");
	page_has_not(&res.body, "no output");
	page_has_not(&res.body, "Cut at");
}
END_TEST

START_TEST(leaves_out_what_is_empty)
{
	make_page();
	page_has(&res.body, "<p class=\"empty\">The program wrote no output.</p>");
	page_has_not(&res.body, "class=\"stdout\"");
	page_has_not(&res.body, "class=\"stderr\"");
	page_has_not(&res.body, "class=\"files\"");
	page_has_not(&res.body, "class=\"skipped\"");
	page_has_not(&res.body, "<figure>");
	page_has(&res.body, "<p class=\"back\"><a href=\"/\">");
}
END_TEST

START_TEST(says_that_output_was_cut)
{
	for (int i = 0; i < OUTPUT_BYTES; i++)
		strbuf_addch(&ex.result.err, 'x');
	ex.result.exit.stderr_bytes = 123456789;
	make_page();
	page_has(&res.body, "...[truncated]</pre>\n<p class=\"note\">Cut at 1000 bytes of text; "
			    "the program wrote 123456789 bytes.</p>");
	page_has_not(&res.body, "class=\"stdout\"");
}
END_TEST

START_TEST(lists_files_and_shows_pictures)
{
	add_file("a/\"x\" onerror='y'.png", "image/png", 1500);
	add_file("table.csv", "text/csv", 20);
	add_file("drawing.svg", "image/svg+xml", 30);
	add_file("photo", "image/jpeg", 40);
	make_page();
	page_has(&res.body, "<li><a href=\"/v1/files/" ID "0\"><bdi>a/&quot;x&quot; "
			    "onerror=&#39;y&#39;.png</bdi></a> <span class=\"size\">1.5 kB</span>");
	page_has(&res.body, "<figure><img src=\"/v1/files/" ID "0\" alt=\"a/&quot;x&quot; "
			    "onerror=&#39;y&#39;.png\"><figcaption>");
	page_has(&res.body, "<a href=\"/v1/files/" ID "1\"><bdi>table.csv</bdi></a>");
	page_has(&res.body, "<img src=\"/v1/files/" ID "3\" alt=\"photo\">");
	page_has_not(&res.body, "<img src=\"/v1/files/" ID "1\"");
	page_has_not(&res.body, "<img src=\"/v1/files/" ID "2\"");
}
END_TEST

static const char *const reasons[] = { "link",	   "special",	 "too_large",
				       "too_many", "unreadable", "bad_name",
				       "too_deep", "store_full", "store_failed" };

START_TEST(says_why_files_were_skipped)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		add_skip("<i>", reasons[i]);
	ex.result.skipped_more = 3;
	make_page();
	page_has(&res.body, "<ul class=\"skipped\">\n<li><bdi>&lt;i&gt;</bdi>: it is a link, which "
			    "is not followed</li>");
	page_has(&res.body, ": the store is full</li>");
	page_has(&res.body, "<li>and 3 more</li>");
	/* Each has words, which are sentences. */
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		char bare[40];

		snprintf(bare, sizeof(bare), ": %s</li>", reasons[i]);
		page_has_not(&res.body, bare);
	}
}
END_TEST

START_TEST(tells_the_facts)
{
	make_page();
	page_has(&res.body, "<dt>Time</dt><dd>12 ms</dd>");
	page_has(&res.body, "<dt>CPU</dt><dd>5 ms</dd>");
	page_has(&res.body, "<dt>Memory, at most</dt><dd>8.5 MB</dd>");
	page_has(&res.body, "<dt>Waited for a container</dt><dd>7 ms</dd>");
	page_has(&res.body, "<dt>Container's start</dt><dd>1.23 s</dd>");
}
END_TEST

/* One job with something in every place where a text can be. */
static void fill(unsigned seed)
{
	char text[OUTPUT_BYTES], name[300] = "";

	page_hostile(seed, text, sizeof(text));
	strbuf_add(&ex.result.out, text, sizeof(text));
	page_hostile(seed + 1, text, sizeof(text));
	strbuf_add(&ex.result.err, text, sizeof(text));
	page_hostile(seed + 2, name, sizeof(name) - 1);
	add_file(name, "image/png", 5);
	add_skip(name, "link");
	free(ex.fields.code);
	ex.fields.code = xstrdup(name);
}

/* Whatever a program writes, the page has the same tags. */
START_TEST(output_is_never_a_tag)
{
	AUTO(strbuf) plain = STRBUF(20000);

	for (unsigned seed = 0; seed < PAGE_ROUNDS; seed++) {
		AUTO(strbuf) tags = STRBUF(20000);

		fill(seed);
		make_page();
		page_tags(&res.body, seed == 0 ? &plain : &tags);
		if (seed > 0)
			ck_assert_str_eq(tags.buf, plain.buf);
		teardown();
		setup();
	}
	page_has(&plain, "<img src=\"/v1/files/" ID "0\" alt=\"\">");
	page_has_not(&plain, "script");
}
END_TEST

/* Every text at its limit, of the characters that grow the most. */
START_TEST(the_largest_page_fits)
{
	char path[LIMIT_PATH_BYTES + 1];

	memset(path, '"', LIMIT_PATH_BYTES);
	path[LIMIT_PATH_BYTES] = '\0';
	free(ex.fields.code);
	ex.fields.code = xcalloc(1, LIMIT_CODE_BYTES + 1);
	memset(ex.fields.code, '"', LIMIT_CODE_BYTES);
	for (int i = 0; i < OUTPUT_BYTES; i++) {
		strbuf_addch(&ex.result.out, '"');
		strbuf_addch(&ex.result.err, '\xff');
	}
	ex.result.exit.stdout_bytes = ex.result.exit.stderr_bytes = UINT64_MAX;
	for (int i = 0; i < 300; i++)
		add_file(path, "image/png", INT64_MAX);
	for (int i = 0; i < LIMIT_SKIPPED; i++)
		add_skip(path, "too_large");
	make_page();
	page_has(&res.body, "</html>");
}
END_TEST

Suite *suite_api_page_execute(void)
{
	Suite *s = suite_create("api/page_execute");
	TCase *t = tcase_create("page_execute");

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, says_how_it_ended, 0, ARRAY_SIZE(endings));
	tcase_add_test(t, lost_at_the_time_limit_is_a_timeout);
	tcase_add_test(t, shows_outputs_and_program_as_text);
	tcase_add_test(t, leaves_out_what_is_empty);
	tcase_add_test(t, says_that_output_was_cut);
	tcase_add_test(t, lists_files_and_shows_pictures);
	tcase_add_test(t, says_why_files_were_skipped);
	tcase_add_test(t, tells_the_facts);
	tcase_add_test(t, output_is_never_a_tag);
	tcase_add_test(t, the_largest_page_fits);
	suite_add_tcase(s, t);
	return s;
}
