/* From bytes to a tree and from text to a JSON string: what the scan lets through arrives whole. */
#include "base/err.h"
#include "base/strbuf.h"
#include "limits.h"
#include "unit/suites.h"
#include "wire/json.h"

#include <check.h>

static const char *const same[] = {
	"{\"a\":[1,2.50,-3,1e10,true,false,null,\"x\"],\"b\":{}}",
	"\"top\"",
	"123",
	"-5",
	"1.25",
	"true",
	"null",
	"[]",
	"{\"ä\":\"€ 😀\"}",
	"9223372036854775807",
	"-9223372036854775808",
	"18446744073709551615",
	"[0.1000000000000000055511151231257827]",
};

START_TEST(keeps_what_it_reads)
{
	AUTO_JSON *o = NULL;
	struct err err = ERR_INIT;
	AUTO(strbuf) padded = STRBUF(200);

	ck_assert_msg(json_load(same[_i], strlen(same[_i]), &o, &err) == 0, "%s: %s", same[_i],
		      err.text);
	ck_assert_str_eq(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), same[_i]);
	json_clear(&o);
	ck_assert_ptr_null(o);
	strbuf_addf(&padded, " \n%s\r\n\t ", same[_i]);
	ck_assert_int_eq(json_load(padded.buf, padded.len, &o, &err), 0);
	ck_assert_str_eq(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), same[_i]);
}
END_TEST

START_TEST(decodes_strings)
{
	static const char text[] = "\"a\\u0000b\\ud83d\\ude00\\n\\/\"";
	AUTO_JSON *o = NULL;

	ck_assert_int_eq(json_load(text, strlen(text), &o, NULL), 0);
	ck_assert_int_eq(json_object_get_string_len(o), 9);
	ck_assert_mem_eq(json_object_get_string(o), "a\0b😀\n/", 9);
}
END_TEST

START_TEST(reads_only_what_it_is_given)
{
	AUTO_JSON *o = NULL;
	char *exact = malloc(2);

	memcpy(exact, "42", 2);
	ck_assert_int_eq(json_load(exact, 2, &o, NULL), 0);
	ck_assert_int_eq(json_object_get_int(o), 42);
	free(exact);
	json_clear(&o);
	ck_assert_int_eq(json_load("[1]]", 3, &o, NULL), 0);
	json_clear(&o);
	ck_assert_int_eq(json_load("[1]]", 4, &o, NULL), -1);
	ck_assert_ptr_null(o);
}
END_TEST

/* One row for each way in which json-c alone is generous. */
static const char *const bad[] = { "{'a':1}",	 "{\"a\":1,\"a\":2}",
				   "NaN",	 "[1,]",
				   "{\"a\":1,}", "\"\\ud800\"",
				   "nUll",	 "{}x",
				   "",		 "[1",
				   "/**/1",	 "\"\xff\"" };

START_TEST(refuses)
{
	struct json_object *o = NULL;
	struct err err = ERR_INIT;

	ck_assert_int_eq(json_load(bad[_i], strlen(bad[_i]), &o, &err), -1);
	ck_assert_int_eq(err.code, ERR_BAD_JSON);
	ck_assert_ptr_null(o);
}
END_TEST

/* The deepest text that the scan allows must not be too deep for json-c. */
START_TEST(depths_agree)
{
	AUTO(strbuf) text = STRBUF(1000);
	AUTO_JSON *o = NULL;
	struct err err = ERR_INIT;

	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		strbuf_addstr(&text, "[");
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		strbuf_addstr(&text, "]");
	ck_assert_msg(json_load(text.buf, text.len, &o, &err) == 0, "%s", err.text);
}
END_TEST

START_TEST(writes_strings)
{
	AUTO(strbuf) out = STRBUF(100);
	AUTO_JSON *o = NULL;

	json_add_string(&out, "a\"\\\n\t\r\x1f\0/ä€\x7f", 15);
	ck_assert_str_eq(out.buf, "\"a\\\"\\\\\\n\\t\\u000d\\u001f\\u0000/ä€\x7f\"");
	ck_assert_int_eq(json_load(out.buf, out.len, &o, NULL), 0);
	ck_assert_int_eq(json_object_get_string_len(o), 15);
	strbuf_reset(&out);
	json_add_string(&out, NULL, 0);
	ck_assert_str_eq(out.buf, "\"\"");
}
END_TEST

Suite *suite_wire_json(void)
{
	Suite *s = suite_create("wire_json");
	TCase *tc = tcase_create("json");

	tcase_add_loop_test(tc, keeps_what_it_reads, 0, ARRAY_SIZE(same));
	tcase_add_test(tc, decodes_strings);
	tcase_add_test(tc, reads_only_what_it_is_given);
	tcase_add_loop_test(tc, refuses, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, depths_agree);
	tcase_add_test(tc, writes_strings);
	suite_add_tcase(s, tc);
	return s;
}
