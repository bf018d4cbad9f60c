/*
 * A table with a row of each type, over any JSON: the struct obeys the rows, a refusal has problems
 * which are JSON of a bounded size, and the same tree always gives the same verdict.
 */
#include "base/err.h"
#include "base/strbuf.h"
#include "fuzz/fuzz.h"
#include "limits.h"
#include "wire/json.h"
#include "wire/schema.h"

struct item {
	char *path, *content;
	size_t content_len;
};
struct thing {
	char *name, *choice;
	int64_t n, milli;
	bool flag, n_set;
	struct json_object *any;
	struct schema_list list;
	struct schema_strings argv, env;
	struct item inner;
};

#define AT(type, member) .offset = offsetof(struct type, member)
static const struct schema_row item_rows[] = {
	{ .name = "path",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_REQUIRED,
	  AT(item, path),
	  .min = 1,
	  .max = 20 },
	{ .name = "content",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NUL,
	  AT(item, content),
	  .len_offset = offsetof(struct item, content_len),
	  .max = 20 },
};
static const struct schema item_schema = { item_rows, ARRAY_SIZE(item_rows), sizeof(struct item) };
static const char *const choices[] = { "a", "b", NULL };
static const struct schema_row rows[] = {
	{ .name = "name",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_REQUIRED,
	  AT(thing, name),
	  .max = 20 },
	{ .name = "choice",
	  .type = SCHEMA_STRING,
	  .flags = SCHEMA_NULLABLE,
	  AT(thing, choice),
	  .max = 9,
	  .one_of = choices },
	{ .name = "n",
	  .type = SCHEMA_INT,
	  AT(thing, n),
	  .set_offset = offsetof(struct thing, n_set),
	  .min = -5,
	  .max = 100 },
	{ .name = "milli", .type = SCHEMA_NUMBER, AT(thing, milli), .min = 1, .max = 5000 },
	{ .name = "flag", .type = SCHEMA_BOOL, AT(thing, flag) },
	{ .name = "any", .type = SCHEMA_ANY, AT(thing, any) },
	{ .name = "list", .type = SCHEMA_LIST, AT(thing, list), .max = 4, .sub = &item_schema },
	{ .name = "argv", .type = SCHEMA_STRINGS, AT(thing, argv), .max = 4 },
	{ .name = "env", .type = SCHEMA_MAP, AT(thing, env), .max = 4 },
	{ .name = "inner",
	  .type = SCHEMA_OBJECT,
	  .flags = SCHEMA_NULLABLE,
	  AT(thing, inner),
	  .sub = &item_schema },
	{ .name = "later", .type = SCHEMA_LATER, .help = "wait" },
};
static const struct schema schema = { rows, ARRAY_SIZE(rows), sizeof(struct thing) };

static void check_strings(const struct schema_strings *l, size_t max)
{
	size_t bytes = 0;

	FUZZ_CHECK(l->count <= max);
	for (size_t i = 0; i < l->count; i++) {
		FUZZ_CHECK(strlen(l->items[i]) == l->lens[i]);
		bytes += l->lens[i];
	}
	FUZZ_CHECK(bytes == l->bytes || max == 8);
}

static void check_thing(const struct thing *t)
{
	const struct item *items = t->list.items;

	FUZZ_CHECK(t->name && strlen(t->name) <= 20);
	FUZZ_CHECK(!t->choice || strcmp(t->choice, "a") == 0 || strcmp(t->choice, "b") == 0);
	FUZZ_CHECK(t->n >= -5 && t->n <= 100 && (t->n_set || t->n == 0));
	FUZZ_CHECK(t->milli >= 0 && t->milli <= 5000);
	FUZZ_CHECK(t->list.count <= 4);
	for (size_t i = 0; i < t->list.count; i++)
		FUZZ_CHECK(strlen(items[i].path) >= 1 && items[i].content_len <= 20);
	check_strings(&t->argv, 4);
	check_strings(&t->env, 8);
}

static void check_problems(const struct schema_problems *p)
{
	const char *text = json_object_to_json_string_ext(p->list, JSON_C_TO_STRING_PLAIN);

	FUZZ_CHECK(json_object_array_length(p->list) > 0 &&
		   json_object_array_length(p->list) <= LIMIT_PROBLEMS);
	FUZZ_CHECK(strlen(text) < 1 << 20 && jsonscan(text, strlen(text), NULL) == 0);
}

static int fill_once(struct json_object *tree)
{
	struct schema_problems problems = { 0 };
	struct thing thing = { 0 };
	struct err err = ERR_INIT;
	int rc = schema_fill(&schema, tree, &thing, &problems, &err);

	if (rc == 0) {
		FUZZ_CHECK(!problems.list);
		check_thing(&thing);
	} else {
		FUZZ_CHECK(err.code == ERR_INVALID || err.code == ERR_UNAVAILABLE_FIELD);
		check_problems(&problems);
	}
	schema_clear(&schema, &thing);
	schema_problems_clear(&problems);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON *tree = NULL;

	if (json_load(data, size, &tree, NULL) == 0)
		FUZZ_CHECK(fill_once(tree) == fill_once(tree));
	return 0;
}
