/*
 * The pages in a real browser, through a real nginx: the form at / with its script and without,
 * files in and pictures out, errors as text. The strict policy of the pages holds when the
 * browser's console stays empty.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/browser.h"
#include "support/front.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST_S 180
#define WIDE 1000
#define PHONE 360
#define HIGH 900
#define TOO_LARGE (3 << 20)	   /* over the suite's MAX_UPLOAD_MB */
#define KEY_CONTROL "\xee\x80\x89" /* WebDriver's code points */
#define KEY_ENTER "\xee\x80\x87"

static struct service svc;
static struct front web;
static struct browser scripted, plain;

static void setup(void)
{
	/* Matplotlib's first import may be slow on a machine that does much else. */
	static const char *const env[] = { "MAX_FILE_SIZE_MB=1", "MAX_UPLOAD_MB=2",
					   "DEFAULT_TIMEOUT_MS=25000", NULL };
	service_up(&svc, env);
	front_start(&web, &svc, env);
	browser_start(&scripted, true);
	browser_start(&plain, false);
}

static void teardown(void)
{
	browser_stop(&plain);
	browser_stop(&scripted);
	front_stop(&web);
	service_clear(&svc);
}

static void go(struct browser *b, const char *path, int width, bool dark)
{
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d%s", web.port, path);
	browser_view(b, width, HIGH, dark);
	browser_go(b, url);
	free(browser_console(b)); /* what an earlier test has left */
	browser_go(b, url);
}

static void want_quiet(struct browser *b)
{
	AUTO_FREE char *said = browser_console(b);
	ck_assert_msg(!said[0], "the console says:\n%s", said);
}

static void want_path(struct browser *b, const char *path)
{
	AUTO_FREE char *url = browser_url(b);
	AUTO_FREE char *want = xasprintf("http://127.0.0.1:%d%s", web.port, path);
	ck_assert_str_eq(url, want);
}

static void want_text(struct browser *b, const char *css, const char *part)
{
	AUTO_FREE char *text = browser_text(b, css);
	ck_assert_msg(strstr(text, part), "%s has no \"%s\" but:\n%s", css, part, text);
}

static void want_eval(struct browser *b, const char *body, const char *want)
{
	AUTO_FREE char *got = browser_eval(b, body);
	ck_assert_msg(strcmp(got, want) == 0, "\"%s\" is not \"%s\": %s", got, want, body);
}

static void fill(struct browser *b, const char *css, const char *text)
{
	browser_empty(b, css);
	browser_type(b, css, text);
}

/* Runs the program and waits for its result (or the error) on the page. */
static void run(struct browser *b, const char *code)
{
	fill(b, "#run-code", code);
	browser_click(b, "#run [type=submit]");
	browser_wait(b, ".result, .error");
}

static char *new_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", svc.dir, name);
	tool_write(path, text);
	return path;
}

static bool picture_is_shown(void *arg)
{
	AUTO_FREE char *width = browser_property(arg, ".result img", "naturalWidth");
	return width[0] && strcmp(width, "0") != 0;
}

static const char plot_code[] = "import csv\n"
				"import matplotlib.pyplot as plt\n"
				"rows = list(csv.DictReader(open('numbers.csv')))\n"
				"y = [int(r['y']) for r in rows]\n"
				"plt.plot(y)\n"
				"plt.savefig('plot.png')\n"
				"print('rows', len(rows), 'sum', sum(y))";

static void plot_a_table(struct browser *b)
{
	AUTO_FREE char *csv = new_file("numbers.csv", "x,y\n1,10\n2,25\n3,7\n");
	go(b, "/", WIDE, false);
	browser_type(b, "#run-files", csv);
	run(b, plot_code);
	want_text(b, ".result .verdict.ok", "exit 0");
	want_text(b, ".result .stdout", "rows 3 sum 42");
	want_text(b, ".result ul.files", "plot.png");
	ck_assert_msg(tool_until(picture_is_shown, b, TOOL_WAIT_MS), "the picture isn't shown");
	AUTO_FREE char *alt = browser_attribute(b, ".result img", "alt");
	ck_assert_str_eq(alt, "plot.png");
	want_quiet(b);
}

/* Tests */

START_TEST(a_table_and_a_plot_with_script)
{
	plot_a_table(&scripted);
	want_path(&scripted, "/");
	/* The code is still there, and the answer hasn't brought a second main heading. */
	AUTO_FREE char *code = browser_property(&scripted, "#run-code", "value");
	ck_assert_str_eq(code, plot_code);
	ck_assert_uint_eq(browser_count(&scripted, "h1"), 1);
}
END_TEST

START_TEST(a_table_and_a_plot_without_script)
{
	plot_a_table(&plain);
	want_path(&plain, "/v1/execute");
	ck_assert_uint_eq(browser_count(&plain, "main h1"), 1);
}
END_TEST

START_TEST(the_example_runs)
{
	go(&scripted, "/", WIDE, false);
	browser_click(&scripted, "#run [type=submit]");
	browser_wait(&scripted, ".result");
	want_text(&scripted, ".result .stdout", "from -");
	ck_assert(tool_until(picture_is_shown, &scripted, TOOL_WAIT_MS));
	want_quiet(&scripted);
}
END_TEST

static void upload_two(struct browser *b, const char *name)
{
	AUTO_FREE char *other = xasprintf("%s two.txt", name);
	AUTO_FREE char *a = new_file(name, "one\n");
	AUTO_FREE char *c = new_file(other, "two\n");
	AUTO_FREE char *both = xasprintf("%s\n%s", a, c);
	go(b, "/", WIDE, false);
	browser_type(b, "#upload-files", both);
	browser_click(b, "#upload [type=submit]");
	browser_wait(b, "table.files");
	want_text(b, "table.files", name);
	want_text(b, "table.files", other);
	want_quiet(b);
}

START_TEST(an_upload_with_script)
{
	upload_two(&scripted, "with script.txt");
	want_path(&scripted, "/");
	want_text(&scripted, "#upload .status", "Stored");
	/* Stored once, not twice. */
	want_eval(&scripted, "return document.querySelector('#upload-files').files.length", "0");
}
END_TEST

START_TEST(an_upload_without_script)
{
	upload_two(&plain, "without script.txt");
	want_path(&plain, "/v1/files");
}
END_TEST

START_TEST(a_program_that_fails_says_how)
{
	struct browser *both[] = { &scripted, &plain };
	struct browser *b = both[_i];
	go(b, "/", WIDE, false);
	run(b, "import sys\nprint('no good', file=sys.stderr)\nsys.exit(3)");
	want_text(b, ".result .verdict.bad", "3");
	want_text(b, ".result .stderr", "no good");
	go(b, "/", WIDE, false);
	browser_type(b, "#run-timeout", "400");
	run(b, "while True: pass");
	want_text(b, ".result .verdict.bad", "400 ms");
	want_quiet(b);
}
END_TEST

START_TEST(an_error_is_told_with_its_hint)
{
	struct browser *both[] = { &scripted, &plain };
	struct browser *b = both[_i];
	go(b, "/", WIDE, false);
	browser_type(b, "#run-timeout", "99999999");
	run(b, "pass");
	want_text(b, ".error .message", "timeout_ms");
	ck_assert_uint_eq(browser_count(b, ".error .hint"), 1);
}
END_TEST

/* Answers of nginx alone are JSON, and it may close before it has read all. */
START_TEST(an_upload_that_is_too_large)
{
	AUTO_FREE char *text = xmalloc(TOO_LARGE + 1);
	memset(text, 'x', TOO_LARGE);
	text[TOO_LARGE] = '\0';
	AUTO_FREE char *path = new_file("large.txt", text);
	go(&scripted, "/", WIDE, false);
	browser_type(&scripted, "#upload-files", path);
	browser_click(&scripted, "#upload [type=submit]");
	browser_wait(&scripted, ".outcome .error .message");
	want_text(&scripted, "#upload .status", "Failed");
	want_path(&scripted, "/");
	want_eval(&scripted, "return document.querySelector('#upload-files').files.length", "1");
}
END_TEST

/* What a program writes is text, whatever it looks like. */
START_TEST(output_is_never_markup)
{
	struct browser *both[] = { &scripted, &plain };
	struct browser *b = both[_i];
	go(b, "/", WIDE, false);
	run(b, "bad = '<img src=/x onerror=alert(1)><script>document.title=1</script></pre>&amp;'\n"
	       "print(bad)\n"
	       "open('<i>&quot;.txt', 'w').write(bad)");
	want_text(b, ".result .stdout",
		  "<img src=/x onerror=alert(1)><script>document.title=1</script></pre>&amp;");
	want_text(b, ".result ul.files", "<i>&quot;.txt");
	ck_assert_uint_eq(browser_count(b, ".result img, .result i, .result script"), 0);
	want_quiet(b);
}
END_TEST

START_TEST(control_and_enter_run)
{
	go(&scripted, "/", WIDE, false);
	fill(&scripted, "#run-code", "print(input() * 2)");
	browser_type(&scripted, "#run-stdin", "ab" KEY_CONTROL KEY_ENTER);
	browser_wait(&scripted, ".result");
	want_text(&scripted, ".result .stdout", "abab");
	want_eval(&scripted, "return document.querySelector('#run-stdin').value", "ab");
}
END_TEST

START_TEST(stop_ends_the_program)
{
	go(&scripted, "/", WIDE, false);
	fill(&scripted, "#run-code", "import time\ntime.sleep(9)");
	browser_click(&scripted, "#run [type=submit]");
	ck_assert_msg(service_busy_worker(&svc) > 0, "no program runs");
	browser_wait(&scripted, "#run .stop:not([hidden])");
	browser_click(&scripted, "#run .stop");
	want_text(&scripted, "#run .status", "Stopped");
	ck_assert_uint_eq(browser_count(&scripted, ".result, .error, #run .stop:not([hidden])"), 0);
	ck_assert_msg(service_wait_log(&svc, "cancelled"), "the service didn't see it");
}
END_TEST

START_TEST(files_are_dropped)
{
	go(&scripted, "/", WIDE, false);
	free(browser_eval(
		&scripted,
		"for (const text of ['old', 'new and longer']) {"
		"const t = new DataTransfer(); t.items.add(new File([text], 'dropped.txt'));"
		"document.querySelector('#run-code').dispatchEvent(new DragEvent('drop',"
		"{bubbles: true, cancelable: true, dataTransfer: t})); }"));
	want_text(&scripted, "#run .chosen", "dropped.txt\n14 B");
	want_eval(&scripted, "return document.querySelector('#run-files').files.length", "1");
	run(&scripted, "print(open('dropped.txt').read())");
	want_text(&scripted, ".result .stdout", "new and longer");
	browser_click(&scripted, "#run .chosen .remove");
	want_eval(&scripted, "return document.querySelector('#run-files').files.length", "0");
	want_quiet(&scripted);
}
END_TEST

static const char labels[] =
	"return [...document.querySelectorAll('input, select, textarea, progress')]"
	".filter((e) => !e.labels.length && !e.ariaLabel).map((e) => e.outerHTML).join()";

START_TEST(the_page_is_in_order)
{
	go(&scripted, "/", WIDE, false);
	want_eval(&scripted, labels, "");
	ck_assert_uint_eq(browser_count(&scripted, "h1"), 1);
	ck_assert_uint_eq(browser_count(&scripted, "html[lang] header, nav, main"), 3);
	ck_assert_uint_eq(browser_count(&scripted, "[style], style, script:not([src])"), 0);
	want_quiet(&scripted);
	/* Without script there is nothing that only a script could do. */
	go(&plain, "/", WIDE, false);
	AUTO_FREE char *text = browser_text(&plain, "main");
	ck_assert_msg(!strstr(text, "Stop") && !strstr(text, "drop"), "%s", text);
	want_quiet(&plain);
}
END_TEST

/* The page before and after an answer with long lines and names, and the list of files. */
START_TEST(a_phone_needs_no_sideways_scrolling)
{
	static const char fits[] =
		"return document.documentElement.scrollWidth <= window.innerWidth";
	go(&scripted, "/", PHONE, false);
	want_eval(&scripted, "return window.innerWidth", "360");
	want_eval(&scripted, fits, "true");
	run(&scripted, "print('x' * 500)\nopen('n' * 200 + '.txt', 'w').write('1')");
	want_text(&scripted, ".result ul.files", "nnn");
	want_eval(&scripted, fits, "true");
	go(&scripted, "/v1/files", PHONE, false);
	want_text(&scripted, "table.files", "nnn");
	want_eval(&scripted, fits, "true");
	want_quiet(&scripted);
}
END_TEST

/* WCAG 2.2, 1.4.3: the words whose contrast with what is behind them is below 4.5. */
static const char contrast[] =
	"const rgb = (c) => c.match(/[\\d.]+/g).map(Number), bad = [];"
	"const lin = (v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;"
	"const lum = ([r, g, b]) => .2126 * lin(r) + .7152 * lin(g) + .0722 * lin(b);"
	"const own = (e) => rgb(getComputedStyle(e).backgroundColor);"
	"const ground = (e) => own(e).length < 4 || own(e)[3] ? own(e) : ground(e.parentElement);"
	"for (const e of document.body.querySelectorAll('*')) {"
	" const words = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());"
	" if (!words || !e.checkVisibility()) continue;"
	" const a = lum(rgb(getComputedStyle(e).color)), b = lum(ground(e));"
	" const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);"
	" if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2)); }"
	"return bad.join(', ')";

START_TEST(words_can_be_read_in_light_and_dark)
{
	bool dark = _i == 1;
	go(&scripted, "/", WIDE, dark);
	want_eval(&scripted, "return matchMedia('(prefers-color-scheme: dark)').matches",
		  dark ? "true" : "false");
	run(&scripted, "import sys\nprint(1)\nopen('f.txt', 'w').write('1')\nsys.exit('no')");
	want_eval(&scripted, contrast, "");
	browser_type(&scripted, "#run-timeout", "99999999");
	browser_click(&scripted, "#run [type=submit]");
	browser_wait(&scripted, ".error");
	want_eval(&scripted, contrast, "");
	go(&scripted, "/v1/files", WIDE, dark);
	browser_wait(&scripted, "table.files");
	want_eval(&scripted, contrast, "");
}
END_TEST

Suite *suite_browser(void)
{
	Suite *s = suite_create("browser");
	TCase *t = tcase_create("pages");
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_set_timeout(t, TEST_S);
	tcase_add_test(t, the_page_is_in_order);
	tcase_add_test(t, a_table_and_a_plot_with_script);
	tcase_add_test(t, a_table_and_a_plot_without_script);
	tcase_add_test(t, the_example_runs);
	tcase_add_test(t, an_upload_with_script);
	tcase_add_test(t, an_upload_without_script);
	tcase_add_loop_test(t, a_program_that_fails_says_how, 0, 2);
	tcase_add_loop_test(t, an_error_is_told_with_its_hint, 0, 2);
	tcase_add_test(t, an_upload_that_is_too_large);
	tcase_add_loop_test(t, output_is_never_markup, 0, 2);
	tcase_add_test(t, control_and_enter_run);
	tcase_add_test(t, stop_ends_the_program);
	tcase_add_test(t, files_are_dropped);
	tcase_add_test(t, a_phone_needs_no_sideways_scrolling);
	tcase_add_loop_test(t, words_can_be_read_in_light_and_dark, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
