/* POST /v1/execute as a form: what is refused, by which name, within which limits, and that nothing
 * of it stays in the store. */
#include "base/strbuf.h"
#include "limits.h"
#include "unit/api/api_fixture.h"
#include "unit/api/form_kit.h"
#include "unit/suites.h"

#include <check.h>
#include <string.h>

struct refusal {
	int status;
	const char *code, *names; /* names: part of error.message */
	const char *body;
};

static const struct refusal refusals[] = {
	{ 400, "bad_multipart", "boundary", "" },
	{ 400, "bad_multipart", "boundary", "{\"code\":\"1\"}" },
	{ 400, "bad_multipart", "closing boundary", CODE },
	{ 400, "bad_multipart", "closing boundary", CODE FILE_PART("a", "1") "--XX" },
	{ 400, "bad_multipart", "no name",
	  FILE_PART("a", "1") "--XX\r\nContent-Disposition: form-data\r\n\r\n" END },
	{ 400, "bad_file_name", "no name", FILE_PART("a", "1") FILE_PART("", "x") CODE END },
	{ 400, "bad_file_name", "", FILE_PART("a", "1") FILE_PART("../x", "x") CODE END },
	{ 400, "bad_file_name", "", FILE_PART("..", "x") CODE END },
	{ 422, "invalid_field", "/code: Field required", END },
	{ 422, "invalid_field", "/code: Field required", FILE_PART("a", "1") END },
	{ 422, "invalid_field", "/code: Input should be valid UTF-8", FIELD("code", "\xff") END },
	{ 422, "invalid_field", "/stdin: Input should be valid UTF-8",
	  FILE_PART("a", "1") CODE FIELD("stdin", "\xc3") END },
	{ 422, "invalid_field", "/code: The form has this field twice", CODE CODE END },
	{ 422, "invalid_field", "/limits: The form has this field twice",
	  CODE FIELD("limits", "null") FIELD("limits", "{}") END },
	{ 422, "invalid_field", "/timeout_ms: Input should be a valid integer",
	  CODE FIELD("timeout_ms", "soon") END },
	{ 422, "invalid_field", "/timeout_ms: Input should be a valid integer",
	  CODE FIELD("timeout_ms", "1.5") END },
	{ 422, "invalid_field", "/timeout_ms: Input should be a valid integer",
	  CODE FIELD("timeout_ms", "true") END },
	{ 422, "invalid_field", "/timeout_ms", CODE FIELD("timeout_ms", "0") END },
	{ 422, "invalid_field", "maximum of 60000", CODE FIELD("timeout_ms", "60001") END },
	{ 422, "invalid_field", "/last_line_interactive: Input should be a valid boolean",
	  CODE FIELD("last_line_interactive", "1") END },
	{ 422, "invalid_field", "/args: Not valid JSON at byte 0",
	  CODE FIELD("args", "hello") END },
	{ 422, "invalid_field", "/limits: Not valid JSON", CODE FIELD("limits", "{") END },
	{ 422, "invalid_field", "/limits", CODE FIELD("limits", "[]") END },
	{ 422, "invalid_field", "/env", CODE FIELD("env", "{\"A\":1}") END },
	{ 422, "invalid_field", "/files: Not valid JSON", CODE FIELD("files", "a.txt") END },
	{ 422, "invalid_field", "/files/0/path", CODE FIELD("files", "[{}]") END },
	{ 422, "not_available", "ruby", CODE FIELD("language", "ruby") END },
	{ 422, "not_available", "/session_id", CODE FIELD("session_id", "x") END },
};

START_TEST(refuses)
{
	const struct refusal *r = &refusals[_i];
	int status = form_send(r->body, strlen(r->body));

	ck_assert_msg(status == r->status, "%s: %d %s", r->body, status, api_fixture.err.text);
	ck_assert_str_eq(api_text("error.code"), r->code);
	ck_assert_msg(strstr(api_text("error.message"), r->names), "%s: %s", r->body,
		      api_fixture.err.text);
	if (r->names[0] == '/')
		ck_assert_str_eq(api_text("detail.0.loc.0"), "body");
}
END_TEST

START_TEST(refuses_nul_where_json_would)
{
	static const char code[] = FIELD("code", "a\0b") END;
	static const char stdin_text[] = CODE FIELD("stdin", "a\0b") END;
	static const char box[] = CODE FIELD("last_line_interactive", "on\0") END;

	ck_assert_int_eq(form_send(code, sizeof(code) - 1), 422);
	ck_assert_str_eq(api_text("detail.0.loc.1"), "code");
	ck_assert_int_eq(form_send(box, sizeof(box) - 1), 422);
	ck_assert_int_eq(form_send(stdin_text, sizeof(stdin_text) - 1), 200);
	ck_assert_int_eq(
		json_object_get_string_len(api_at("stdout")) - (int)strlen(api_text("stdout")), 2);
}
END_TEST

/* A form whose part in the middle is `fill` bytes. */
static int send_long(const char *head, size_t fill, const char *tail)
{
	AUTO(strbuf) body = STRBUF(64 << 20);

	strbuf_addstr(&body, head);
	for (size_t i = 0; i < fill; i++)
		strbuf_addch(&body, 'A');
	strbuf_addstr(&body, tail);
	return form_send(body.buf, body.len);
}

static void want_refusal(int status, int want, const char *names)
{
	ck_assert_msg(status == want, "%d %s", status, api_fixture.err.text);
	ck_assert_msg(strstr(api_text("error.message"), names), "%s", api_fixture.err.text);
	ck_assert_int_eq(form_stored(), 0);
}

START_TEST(bounds_a_file)
{
	form_set("MAX_FILE_SIZE_MB", "1");
	ck_assert_int_eq(send_long(CODE OPEN_FILE("a"), 1 << 20, "\r\n" END), 200);
	want_refusal(send_long(CODE OPEN_FILE("a"), (1 << 20) + 1, "\r\n" END), 413,
		     "MAX_FILE_SIZE_MB");
}
END_TEST

START_TEST(bounds_all_fields_together)
{
	form_set("MAX_REQUEST_BYTES", "1024");
	ck_assert_int_eq(send_long(CODE OPEN_FIELD("x"), 1023, "\r\n" END), 200);
	want_refusal(send_long(CODE OPEN_FIELD("x"), 1024, "\r\n" END), 413, "MAX_REQUEST_BYTES");
	want_refusal(send_long(CODE OPEN_FIELD("stdin"), 1024, "\r\n" END), 413,
		     "MAX_REQUEST_BYTES");
	/* Files are no fields. */
	ck_assert_int_eq(send_long(CODE OPEN_FILE("a"), 5000, "\r\n" END), 200);
}
END_TEST

START_TEST(bounds_the_body)
{
	form_set("MAX_FILE_SIZE_MB", "1");
	form_set("MAX_UPLOAD_MB", "2");
	want_refusal(send_long(CODE FILE_PART("a", "1") END, 2 << 20, ""), 413, "MAX_UPLOAD_MB");
}
END_TEST

START_TEST(bounds_the_values_of_all_json)
{
	AUTO(strbuf) body = STRBUF(8 << 20);

	for (int i = 0; i < 2; i++) {
		strbuf_addstr(&body, i == 0 ? OPEN_FIELD("args") "[0" : OPEN_FIELD("env") "[0");
		for (int n = 0; n < LIMIT_JSON_VALUES / 2; n++)
			strbuf_addstr(&body, ",0");
		strbuf_addstr(&body, "]\r\n");
	}
	strbuf_addstr(&body, CODE END);
	want_refusal(form_send(body.buf, body.len), 413, "JSON values together");
}
END_TEST

static void add_files(struct strbuf *body, int count)
{
	for (int i = 0; i < count; i++)
		strbuf_addf(body, OPEN_FILE("f%d") "%d\r\n", i, i);
}

START_TEST(bounds_the_number_of_files)
{
	AUTO(strbuf) full = STRBUF(1 << 20);
	AUTO(strbuf) over = STRBUF(1 << 20);

	strbuf_addstr(&full, CODE);
	add_files(&full, LIMIT_FILES);
	strbuf_addstr(&over, full.buf);
	strbuf_addstr(&full, OPEN_FILE("f7") "again\r\n" END);
	ck_assert_int_eq(form_send(full.buf, full.len), 200);
	ck_assert(strstr(api_text("stdout"), "[f7]again") &&
		  strstr(api_text("stdout"), "[f255]255"));
	strbuf_addstr(&over, OPEN_FILE("more") "\r\n" END);
	want_refusal(form_send(over.buf, over.len), 413, "more than 256 files");
	strbuf_reset(&over);
	add_files(&over, LIMIT_FILES);
	strbuf_addstr(&over, CODE FIELD("files", "[{\"path\":\"one\",\"content\":\"\"}]") END);
	want_refusal(form_send(over.buf, over.len), 422, "there are 257, the limit is 256");
}
END_TEST

START_TEST(keeps_to_the_rules_of_the_store)
{
	form_set("UPLOAD_DENY", "image/*");
	want_refusal(send_long(CODE FILE_PART("b", "text") OPEN_FILE("a.txt"), 0,
			       "GIF89a\x01\x01\x01\x01\x80 \r\n" END),
		     415, "image/gif");
	form_set("MAX_FILE_SIZE_MB", "1");
	form_set("FILES_QUOTA_MB", "1");
	want_refusal(send_long(CODE OPEN_FILE("a"), 1 << 20, "\r\n" FILE_PART("b", "1") END), 507,
		     "");
	/* The earlier of two of one name has given its room back. */
	ck_assert_int_eq(send_long(CODE OPEN_FILE("a"), 1 << 20, "\r\n" FILE_PART("a", "1") END),
			 200);
	ck_assert(strstr(api_text("stdout"), "[main.py]c[a]1 "));
}
END_TEST

START_TEST(leaves_nothing_of_a_body_that_breaks_off)
{
	static const char body[] = CODE FILE_PART("a", "1") OPEN_FILE("b") "half";

	ck_assert_int_eq(api_send(&(struct api_request){ .path = "/v1/execute",
							 .type = FORM_TYPE,
							 .body = body,
							 .len = sizeof(body) - 1,
							 .length = "5000" }),
			 400);
	ck_assert_str_eq(api_text("error.code"), "bad_request");
	ck_assert_int_eq(form_stored(), 0);
}
END_TEST

Suite *suite_api_form_refusals(void)
{
	Suite *s = suite_create("api/form_refusals");
	TCase *t = tcase_create("refusals");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, form_setup, form_teardown);
	tcase_add_loop_test(t, refuses, 0, ARRAY_SIZE(refusals));
	tcase_add_test(t, refuses_nul_where_json_would);
	tcase_add_test(t, bounds_a_file);
	tcase_add_test(t, bounds_all_fields_together);
	tcase_add_test(t, bounds_the_body);
	tcase_add_test(t, bounds_the_values_of_all_json);
	tcase_add_test(t, bounds_the_number_of_files);
	tcase_add_test(t, keeps_to_the_rules_of_the_store);
	tcase_add_test(t, leaves_nothing_of_a_body_that_breaks_off);
	suite_add_tcase(s, t);
	return s;
}
