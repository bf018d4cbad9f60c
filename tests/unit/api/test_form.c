/* POST /v1/execute as a form: what becomes of each field and file, and that the store is as empty
 * after each request as it was before. */
#include "unit/api/api_fixture.h"
#include "unit/api/form_kit.h"
#include "unit/api/keeper_script.h"
#include "unit/suites.h"

#include <check.h>
#include <string.h>

static void says(const char *body, const char *want)
{
	int status = form_send(body, strlen(body));

	ck_assert_msg(status == 200, "%s: %d %s", body, status, api_fixture.err.text);
	ck_assert_msg(strstr(api_text("stdout"), want), "%s\nwanted in\n%s", want,
		      api_text("stdout"));
	ck_assert_int_eq(form_stored(), 0);
}

START_TEST(takes_every_kind_of_field)
{
	says(FIELD("argv", "-x") FIELD("limits", "{\"cpus\": 0.5, \"pids\": 9}") FIELD(
		     "stdin", "in") FIELD("args", " {\"n\": 1e400, \"u\":\"\xc3\xa9\"}")
		     FILE_PART("a.bin", "A\r\nB") FIELD("env", "{\"A\":\"1\"}")
			     FIELD("timeout_ms", "77") FIELD("argv", "a b") FIELD(
				     "last_line_interactive", "false") FIELD("language", "python")
				     FIELD("files", "[{\"path\":\"d/"
						    "x\",\"content\":\"1\"}]")
					     FIELD("code", "print('\xe2\x82\xac')") END,
	     "77 0 args= {\"n\": 1e400, \"u\":\"\xc3\xa9\"} argv=-x|a b| env=A=1| "
	     "[main.py]print('\xe2\x82\xac')[d/x]1[a.bin]A\r\nB stdin=in");
	ck_assert_uint_eq(keeper_limits().cpu_milli, 500);
	ck_assert_uint_eq(keeper_limits().pids, 9);
	says(FIELD("encoding", "text") CODE END, "[main.py]c stdin=");
}
END_TEST

static const struct {
	const char *body, *want;
} rows[] = {
	/* Line breaks as a text area sends them, and as nothing but a file can have them. */
	{ FIELD("code", "a\r\n\r\nb\r\n") FIELD("stdin", "1\r\n2") END,
	  "[main.py]a\n\nb\n stdin=1\n2" },
	{ FIELD("code", "a\r\nb\nc") END, "[main.py]a\r\nb\nc stdin=" },
	{ FIELD("code", "a\rb\r\n") END, "[main.py]a\rb\r\n stdin=" },
	{ FIELD("code", "a\r\n\r") END, "[main.py]a\r\n\r stdin=" },
	{ CODE FIELD("args", "[1,\r\n2]") END, "args=[1,\r\n2] " },
	{ CODE FIELD("argv", "a\r\nb") END, "argv=a\r\nb| " },
	/* What a page sends for what nobody has filled in. */
	{ FIELD("language", "") CODE FIELD("stdin", "") FILE_PART("", "") FIELD("timeout_ms", "")
		  FIELD("args", "") FIELD("argv", "") FIELD("limits", "") FIELD("session_id", "")
			  FIELD("last_line_interactive", "") END,
	  "10000 1 args= argv= env= [main.py]c stdin=" },
	{ FIELD("code", "") END, "[main.py] stdin=" },
	{ CODE FIELD("timeout_ms", "") FIELD("timeout_ms", "5") END, "5 1 " },
	/* Boxes. */
	{ CODE FIELD("last_line_interactive", "on") END, " 1 args=" },
	{ CODE FIELD("last_line_interactive", "off") END, " 0 args=" },
	{ CODE FIELD("last_line_interactive", "true") END, " 1 args=" },
	/* JSON that is no object. */
	{ CODE FIELD("args", "null") FIELD("limits", "null") END, " args= argv=" },
	{ CODE FIELD("args", "\"x\"") END, " args=\"x\" argv=" },
	{ CODE FIELD("args", "123456789012345678901234567890") END,
	  " args=123456789012345678901234567890 " },
	{ CODE FIELD("timeout_ms", " 5 ") END, "5 1 " },
	/* Arguments: one for each field, or a list. */
	{ CODE FIELD("argv", "5") FIELD("argv", "{}") FIELD("argv", "5") END, "argv=5|{}|5| " },
	{ CODE FIELD("argv", "a") FIELD("argv", "[\"x\"]") FIELD("argv", "[b") END,
	  "argv=a|[\"x\"]|[b| " },
	/* Files: their bytes, the last of a name, names that mean something. */
	{ CODE FILE_PART("a", "1") FILE_PART("b", "2") FILE_PART("a", "33") END,
	  "[main.py]c[a]33[b]2 stdin=" },
	{ FILE_PART("main.py", "mine") CODE END, "[__main__.py]c[main.py]mine stdin=" },
	{ CODE FILE_PART("empty", "") END, "[main.py]c[empty] stdin=" },
	{ CODE FILE_PART("-rf", "1") FILE_PART(".x", "2") FILE_PART("...", "3")
		  FILE_PART("a b\xc3\xa9%22'\\\\", "4") END,
	  "[-rf]1[.x]2[...]3[a b\xc3\xa9\"'\\]4 " },
	{ CODE FIELD("files", "[{\"path\":\"a\",\"content\":\"1\"}]") FILE_PART("a", "2") END,
	  "[main.py]c[a]2 stdin=" },
	{ CODE
	  "--XX\r\nContent-Disposition: form-data; name=code; filename=\"p.py\"\r\n\r\nx\r\n" END,
	  "[main.py]c[p.py]x " },
};

START_TEST(takes_forms)
{
	says(rows[_i].body, rows[_i].want);
}
END_TEST

START_TEST(lists_what_it_does_not_know)
{
	says(FIELD("submit", "Run") FIELD("co/de", "\xff") FIELD("submit", "again")
		     CODE FILE_PART("a", "1") END,
	     "[main.py]c[a]1 ");
	ck_assert_uint_eq(json_object_array_length(api_at("ignored")), 2);
	ck_assert_str_eq(api_text("ignored.0"), "submit");
	ck_assert_str_eq(api_text("ignored.1"), "co~1de");
}
END_TEST

Suite *suite_api_form(void)
{
	Suite *s = suite_create("api/form");
	TCase *t = tcase_create("form");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, form_setup, form_teardown);
	tcase_add_test(t, takes_every_kind_of_field);
	tcase_add_loop_test(t, takes_forms, 0, ARRAY_SIZE(rows));
	tcase_add_test(t, lists_what_it_does_not_know);
	suite_add_tcase(s, t);
	return s;
}
