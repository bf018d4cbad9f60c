/* Field tables: what fills the struct, what is a problem and in which shape, and that no bytes of a
 * client are sent back whole. */
#include "base/err.h"
#include "base/strbuf.h"
#include "limits.h"
#include "unit/suites.h"
#include "wire/json.h"
#include "wire/schema.h"

#include <check.h>

struct item {
	char *path;
	int64_t n;
};
struct inner {
	int64_t memory, cpus;
};
struct thing {
	char *name, *choice, *raw;
	size_t raw_len;
	int64_t count;
	bool count_set, flag;
	struct json_object *any;
	struct schema_list list;
	struct schema_strings argv, env;
	struct inner inner;
};

#define AT(type, member) .offset = offsetof(struct type, member)
static const struct schema_row item_rows[] = {
	{ .name = "path",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_REQUIRED,
	  AT(item, path),
	  .min = 1,
	  .max = 300 },
	{ .name = "n", .type = SCHEMA_INT, AT(item, n), .max = 9 },
};
static const struct schema item_schema = { item_rows, ARRAY_SIZE(item_rows), sizeof(struct item) };
static const struct schema_row inner_rows[] = {
	{ .name = "memory", .type = SCHEMA_INT, AT(inner, memory), .min = 1, .max = INT64_MAX - 1 },
	{ .name = "cpus", .type = SCHEMA_NUMBER, AT(inner, cpus), .min = 50, .max = 4000 },
};
static const struct schema inner_schema = { inner_rows, ARRAY_SIZE(inner_rows),
					    sizeof(struct inner) };
static const char *const choices[] = { "none", "some", "all", NULL };
static const struct schema_row rows[] = {
	{ .name = "name",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_REQUIRED,
	  AT(thing, name),
	  .max = 1000 },
	{ .name = "choice",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  AT(thing, choice),
	  .max = 50,
	  .one_of = choices },
	{ .name = "raw",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE | SCHEMA_NUL,
	  AT(thing, raw),
	  .len_offset = offsetof(struct thing, raw_len),
	  .max = 50 },
	{ .name = "count",
	  .type = SCHEMA_INT,
	  AT(thing, count),
	  .set_offset = offsetof(struct thing, count_set),
	  .min = 1,
	  .max = 100 },
	{ .name = "flag", .type = SCHEMA_BOOL, AT(thing, flag) },
	{ .name = "any", .type = SCHEMA_ANY, .flags = SCHEMA_NULLABLE, AT(thing, any) },
	{ .name = "list",
	  .type = SCHEMA_LIST,
	  .flags = SCHEMA_NULLABLE,
	  AT(thing, list),
	  .max = 3,
	  .sub = &item_schema },
	{ .name = "argv",
	  .type = SCHEMA_STRINGS,
	  .flags = SCHEMA_NULLABLE,
	  AT(thing, argv),
	  .max = 3 },
	{ .name = "env", .type = SCHEMA_MAP, .flags = SCHEMA_NULLABLE, AT(thing, env), .max = 3 },
	{ .name = "inner",
	  .type = SCHEMA_OBJECT,
	  .flags = SCHEMA_NULLABLE,
	  AT(thing, inner),
	  .sub = &inner_schema },
	{ .name = "later", .type = SCHEMA_LATER, .help = "use argv instead" },
};
static const struct schema schema = { rows, ARRAY_SIZE(rows), sizeof(struct thing) };

static struct thing thing;
static struct schema_problems problems;
static struct json_object *tree;
static struct err err;

static void setup(void)
{
	thing = (struct thing){ .count = 7, .flag = true };
	problems = (struct schema_problems){ 0 };
	tree = NULL;
	err = (struct err)ERR_INIT;
}

static void teardown(void)
{
	schema_clear(&schema, &thing);
	schema_problems_clear(&problems);
	json_clear(&tree);
	ck_assert_ptr_null(thing.name);
	ck_assert_ptr_null(thing.list.items);
	ck_assert_ptr_null(thing.env.items);
	ck_assert_ptr_null(problems.list);
}

static int fill(const char *text)
{
	ck_assert_msg(json_load(text, strlen(text), &tree, &err) == 0, "%s: %s", text, err.text);
	return schema_fill(&schema, tree, &thing, &problems, &err);
}

static const char *plain(struct json_object *o)
{
	return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
}

START_TEST(fills_everything)
{
	const struct item *items;

	ck_assert_int_eq(
		fill("{\"name\":\"ä\",\"choice\":\"some\",\"raw\":\"a\\u0000b\",\"count\":100,"
		     "\"flag\":false,"
		     "\"any\":{\"x\":[1]},\"list\":[{\"path\":\"p\",\"n\":9},{\"path\":\"q\"}],"
		     "\"argv\":[\"\",\"b\"],\"env\":{\"A\":\"1\",\"B\":\"\"},"
		     "\"inner\":{\"memory\":1,\"cpus\":0.5},\"later\":null}"),
		0);
	items = thing.list.items;
	ck_assert_str_eq(thing.name, "ä");
	ck_assert_str_eq(thing.choice, "some");
	ck_assert_uint_eq(thing.raw_len, 3);
	ck_assert_mem_eq(thing.raw, "a\0b", 4);
	ck_assert_int_eq(thing.count, 100);
	ck_assert(thing.count_set);
	ck_assert(!thing.flag);
	ck_assert_str_eq(plain(thing.any), "{\"x\":[1]}");
	ck_assert_uint_eq(thing.list.count, 2);
	ck_assert_str_eq(items[0].path, "p");
	ck_assert_int_eq(items[0].n, 9);
	ck_assert_str_eq(items[1].path, "q");
	ck_assert_uint_eq(thing.argv.count, 2);
	ck_assert_str_eq(thing.argv.items[1], "b");
	ck_assert_uint_eq(thing.argv.bytes, 1);
	ck_assert_uint_eq(thing.env.count, 4);
	ck_assert_str_eq(thing.env.items[0], "A");
	ck_assert_str_eq(thing.env.items[1], "1");
	ck_assert_int_eq(thing.inner.memory, 1);
	ck_assert_int_eq(thing.inner.cpus, 500);
	ck_assert_ptr_null(problems.list);
	ck_assert_ptr_null(problems.ignored);
	ck_assert_int_eq(err.code, ERR_NONE);
}
END_TEST

START_TEST(keeps_defaults)
{
	ck_assert_int_eq(fill("{\"name\":\"\",\"choice\":null,\"raw\":null,\"any\":null,\"list\":"
			      "null,\"argv\":[],"
			      "\"env\":{},\"inner\":null}"),
			 0);
	ck_assert_str_eq(thing.name, "");
	ck_assert_ptr_null(thing.choice);
	ck_assert_ptr_null(thing.raw);
	ck_assert_ptr_null(thing.any);
	ck_assert_int_eq(thing.count, 7);
	ck_assert(!thing.count_set);
	ck_assert(thing.flag);
	ck_assert_uint_eq(thing.argv.count, 0);
}
END_TEST

/* Members beside a good name, and the one problem they make: all but `input`, which is the value
 * unless `input` says otherwise. */
static const struct {
	const char *members, *type, *loc, *msg, *input, *ctx;
} bad[] = {
	{ "\"count\":\"5\"", "int_type", "\"count\"", "Input should be a valid integer", "\"5\"",
	  NULL },
	{ "\"count\":true", "int_type", "\"count\"", "Input should be a valid integer", "true",
	  NULL },
	{ "\"count\":1.0", "int_type", "\"count\"", "Input should be a valid integer", "1.0",
	  NULL },
	{ "\"count\":1e2", "int_type", "\"count\"", "Input should be a valid integer", "1e2",
	  NULL },
	{ "\"count\":null", "int_type", "\"count\"", "Input should be a valid integer", "null",
	  NULL },
	{ "\"count\":0", "greater_than_equal", "\"count\"",
	  "Input should be greater than or equal to 1", "0", "{\"ge\":1}" },
	{ "\"count\":101", "less_than_equal", "\"count\"",
	  "Input should be less than or equal to 100", "101", "{\"le\":100}" },
	{ "\"count\":9223372036854775808", "less_than_equal", "\"count\"",
	  "Input should be less than or equal to 100", "9223372036854775808", "{\"le\":100}" },
	{ "\"count\":99999999999999999999999", "less_than_equal", "\"count\"",
	  "Input should be less than or equal to 100", "18446744073709551615", "{\"le\":100}" },
	{ "\"count\":-99999999999999999999999", "greater_than_equal", "\"count\"",
	  "Input should be greater than or equal to 1", "-9223372036854775808", "{\"ge\":1}" },
	{ "\"inner\":{\"memory\":9223372036854775807}", "less_than_equal", "\"inner\",\"memory\"",
	  "Input should be less than or equal to 9223372036854775806", "9223372036854775807",
	  "{\"le\":9223372036854775806}" },
	{ "\"inner\":{\"memory\":9223372036854775808}", "less_than_equal", "\"inner\",\"memory\"",
	  "Input should be less than or equal to 9223372036854775806", "9223372036854775808",
	  "{\"le\":9223372036854775806}" },
	{ "\"inner\":{\"cpus\":0.049}", "greater_than_equal", "\"inner\",\"cpus\"",
	  "Input should be greater than or equal to 0.05", "0.049", "{\"ge\":0.05}" },
	{ "\"inner\":{\"cpus\":4.001}", "less_than_equal", "\"inner\",\"cpus\"",
	  "Input should be less than or equal to 4", "4.001", "{\"le\":4}" },
	{ "\"inner\":{\"cpus\":1e999}", "less_than_equal", "\"inner\",\"cpus\"",
	  "Input should be less than or equal to 4", "1e999", "{\"le\":4}" },
	{ "\"inner\":{\"cpus\":-1e999}", "greater_than_equal", "\"inner\",\"cpus\"",
	  "Input should be greater than or equal to 0.05", "-1e999", "{\"ge\":0.05}" },
	{ "\"inner\":{\"cpus\":\"1\"}", "float_type", "\"inner\",\"cpus\"",
	  "Input should be a valid number", "\"1\"", NULL },
	{ "\"inner\":[]", "model_attributes_type", "\"inner\"",
	  "Input should be a valid dictionary or object to extract fields from", "[]", NULL },
	{ "\"flag\":\"no\"", "bool_type", "\"flag\"", "Input should be a valid boolean", "\"no\"",
	  NULL },
	{ "\"flag\":0", "bool_type", "\"flag\"", "Input should be a valid boolean", "0", NULL },
	{ "\"flag\":null", "bool_type", "\"flag\"", "Input should be a valid boolean", "null",
	  NULL },
	{ "\"raw\":5", "string_type", "\"raw\"", "Input should be a valid string", "5", NULL },
	{ "\"choice\":\"most\"", "literal_error", "\"choice\"",
	  "Input should be 'none', 'some' or 'all'", "\"most\"",
	  "{\"expected\":\"'none', 'some' or 'all'\"}" },
	{ "\"choice\":\"a\\u0000\"", "value_error", "\"choice\"",
	  "String must not hold NUL characters", "\"a\\u0000\"", NULL },
	{ "\"list\":{}", "list_type", "\"list\"", "Input should be a valid list", "{}", NULL },
	{ "\"list\":[1]", "model_attributes_type", "\"list\",0",
	  "Input should be a valid dictionary or object to extract fields from", "1", NULL },
	{ "\"list\":[{\"path\":\"x\"},{\"n\":1}]", "missing", "\"list\",1,\"path\"",
	  "Field required", "{\"n\":1}", NULL },
	{ "\"list\":[{\"path\":\"\"}]", "string_too_short", "\"list\",0,\"path\"",
	  "Bytes of the string should be at least 1", "\"\"", "{\"min_length\":1}" },
	{ "\"list\":[{\"path\":null}]", "string_type", "\"list\",0,\"path\"",
	  "Input should be a valid string", "null", NULL },
	{ "\"argv\":[\"a\",2]", "string_type", "\"argv\",1", "Input should be a valid string", "2",
	  NULL },
	{ "\"argv\":\"a\"", "list_type", "\"argv\"", "Input should be a valid list", "\"a\"",
	  NULL },
	{ "\"argv\":[\"\",\"\",\"\",\"\"]", "too_long", "\"argv\"",
	  "Items of the list should be at most 3", "[\"\",\"\",\"\",\"\"]", "{\"max_length\":3}" },
	{ "\"env\":[]", "dict_type", "\"env\"", "Input should be a valid dictionary", "[]", NULL },
	{ "\"env\":{\"A\":1}", "string_type", "\"env\",\"A\"", "Input should be a valid string",
	  "1", NULL },
	{ "\"env\":{\"a/b~c\":1}", "string_type", "\"env\",\"a/b~c\"",
	  "Input should be a valid string", "1", NULL },
	{ "\"later\":\"x\"", "not_available", "\"later\"",
	  "not available in this version: use argv instead", "\"x\"", NULL },
};

START_TEST(one_problem)
{
	AUTO(strbuf) text = STRBUF(1000);
	AUTO(strbuf) want = STRBUF(2000);

	strbuf_addf(&text, "{\"name\":\"n\",%s}", bad[_i].members);
	ck_assert_int_eq(fill(text.buf), -1);
	ck_assert_int_eq(err.code, strcmp(bad[_i].type, "not_available") ? ERR_INVALID
									 : ERR_UNAVAILABLE_FIELD);
	strbuf_addf(&want, "[{\"type\":\"%s\",\"loc\":[\"body\",%s],\"msg\":\"%s\",\"input\":%s",
		    bad[_i].type, bad[_i].loc, bad[_i].msg, bad[_i].input);
	if (bad[_i].ctx)
		strbuf_addf(&want, ",\"ctx\":%s", bad[_i].ctx);
	strbuf_addstr(&want, "}]");
	ck_assert_str_eq(plain(problems.list), want.buf);
	ck_assert_msg(strstr(err.text, bad[_i].msg), "%s", err.text);
	ck_assert_int_eq(err.text[0], '/');
}
END_TEST

START_TEST(all_problems_at_once)
{
	ck_assert_int_eq(fill("{\"count\":0,\"flag\":1,\"list\":[{},{\"path\":1}],\"later\":1}"),
			 -1);
	ck_assert_uint_eq(json_object_array_length(problems.list), 6);
	ck_assert_str_eq(err.text, "/name: Field required");
	ck_assert_int_eq(err.code, ERR_INVALID);
}
END_TEST

START_TEST(lists_ignored_names)
{
	ck_assert_int_eq(
		fill("{\"name\":\"\",\"x\":1,\"list\":[{\"path\":\"p\",\"y\":null}],\"Name\":2}"),
		0);
	ck_assert_str_eq(plain(problems.ignored), "[\"list/0/y\",\"x\",\"Name\"]");
}
END_TEST

START_TEST(bounds_its_lists)
{
	AUTO(strbuf) text = STRBUF(1 << 20);

	strbuf_addstr(&text, "{\"name\":\"\",\"list\":[");
	for (int i = 0; i < 3; i++) {
		strbuf_addf(&text, "%s{\"path\":\"\"", i ? "," : "");
		for (int k = 0; k < 100; k++)
			strbuf_addf(&text, ",\"%d%0200d\":1", i, k);
		strbuf_addstr(&text, "}");
	}
	strbuf_addstr(&text, "]}");
	ck_assert_int_eq(fill(text.buf), -1);
	ck_assert_uint_eq(json_object_array_length(problems.ignored), LIMIT_PROBLEMS);
	ck_assert_uint_lt(strlen(plain(problems.ignored)), LIMIT_PROBLEMS * 200);
	for (int i = 0; i < 2 * LIMIT_PROBLEMS; i++)
		schema_problem(&problems, "value_error", "/x", "no", NULL);
	ck_assert_uint_eq(json_object_array_length(problems.list), LIMIT_PROBLEMS);
}
END_TEST

/* What a client sent comes back shortened, and still as valid UTF-8. */
START_TEST(shortens_inputs)
{
	AUTO(strbuf) text = STRBUF(1 << 20);
	AUTO_JSON *again = NULL;
	const char *out;

	strbuf_addstr(&text, "{\"code\":\"");
	for (int i = 0; i < 5000; i++)
		strbuf_addstr(&text, "SECRET€");
	strbuf_addstr(&text, "\",\"deep\":[[[1]]],\"count\":1");
	for (int i = 0; i < 9000; i++)
		strbuf_addch(&text, '0');
	strbuf_addstr(&text, ".5}");
	ck_assert_int_eq(fill(text.buf), -1);
	out = plain(problems.list);
	ck_assert_uint_lt(strlen(out), 1000);
	ck_assert_ptr_nonnull(strstr(out, "\"[...]\""));
	ck_assert_ptr_nonnull(strstr(out, "SECRET"));
	ck_assert_int_eq(json_load(out, strlen(out), &again, &err), 0);
}
END_TEST

START_TEST(needs_an_object)
{
	ck_assert_int_eq(fill("[1]"), -1);
	ck_assert_str_eq(plain(problems.list),
			 "[{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"msg\":\"Input "
			 "should be a valid "
			 "dictionary or object to extract fields from\",\"input\":[1]}]");
	ck_assert_int_eq(strncmp(err.text, "Input", 5), 0);
}
END_TEST

START_TEST(rounds_to_thousandths)
{
	ck_assert_int_eq(fill("{\"name\":\"\",\"inner\":{\"cpus\":0.3333333}}"), 0);
	ck_assert_int_eq(thing.inner.cpus, 333);
	json_clear(&tree);
	schema_clear(&schema, &thing);
	ck_assert_int_eq(fill("{\"name\":\"\",\"inner\":{\"cpus\":2}}"), 0);
	ck_assert_int_eq(thing.inner.cpus, 2000);
}
END_TEST

START_TEST(places_of_own_problems)
{
	schema_problem(&problems, "value_error", "/files/3/a~1b", "no", NULL);
	ck_assert_str_eq(plain(problems.list),
			 "[{\"type\":\"value_error\",\"loc\":[\"body\",\"files\",3,\"a/b\"],"
			 "\"msg\":\"no\",\"input\":null}]");
}
END_TEST

Suite *suite_wire_schema(void)
{
	Suite *s = suite_create("wire_schema");
	TCase *tc = tcase_create("schema");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, fills_everything);
	tcase_add_test(tc, keeps_defaults);
	tcase_add_loop_test(tc, one_problem, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, all_problems_at_once);
	tcase_add_test(tc, lists_ignored_names);
	tcase_add_test(tc, bounds_its_lists);
	tcase_add_test(tc, shortens_inputs);
	tcase_add_test(tc, needs_an_object);
	tcase_add_test(tc, rounds_to_thousandths);
	tcase_add_test(tc, places_of_own_problems);
	suite_add_tcase(s, tc);
	return s;
}
