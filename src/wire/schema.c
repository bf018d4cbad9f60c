/*
 * Fills a struct from a JSON object by a table of rows. Called by the handlers in api/; json_load
 * has made sure that the tree comes from strict JSON. Every row is looked at even after a failure,
 * so that a client learns of all problems at once. Nothing is converted: a value has the type its
 * row says or it is a problem.
 */
#include "wire/schema.h"

#include "base/alloc.h"
#include "base/err.h"
#include "wire/json.h"
#include "wire/schema_fill.h"

#define LOC_BYTES 1024 /* a location: a few names of at most 100 bytes each */
#define MSG_BYTES 400

static void fill_object(struct fill *f, const struct schema *s, struct json_object *object,
			void *out);

static void strings_clear(struct schema_strings *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
	free(l->lens);
	*l = (struct schema_strings){ 0 };
}

/* Room for count strings; they are appended by strings_add. */
static void strings_begin(struct schema_strings *l, size_t count)
{
	strings_clear(l);
	l->items = xcalloc(count, sizeof(*l->items));
	l->lens = xcalloc(count, sizeof(*l->lens));
}

static void strings_add(struct schema_strings *l, const char *s, size_t len)
{
	l->items[l->count] = xstrndup(s, len);
	l->lens[l->count++] = len;
	l->bytes += len;
}

static void fill_strings(struct fill *f, const struct schema_row *row, struct json_object *v,
			 void *at)
{
	size_t count, before = f->loc.len;

	if (!json_object_is_type(v, json_type_array)) {
		schema_report(f, "list_type", "Input should be a valid list", v, NULL);
		return;
	}
	count = json_object_array_length(v);
	if (!schema_count_ok(f, row, "Items of the list should be", count, v))
		return;
	strings_begin(at, count);
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(v, i);

		strbuf_addf(&f->loc, "/%zu", i);
		if (schema_string_ok(f, row, item))
			strings_add(at, json_object_get_string(item),
				    (size_t)json_object_get_string_len(item));
		strbuf_cut(&f->loc, before);
	}
}

static void fill_map(struct fill *f, const struct schema_row *row, struct json_object *v, void *at)
{
	size_t count, before = f->loc.len;

	if (!json_object_is_type(v, json_type_object)) {
		schema_report(f, "dict_type", "Input should be a valid dictionary", v, NULL);
		return;
	}
	count = (size_t)json_object_object_length(v);
	if (!schema_count_ok(f, row, "Members of the dictionary should be", count, v))
		return;
	strings_begin(at, 2 * count);
	json_object_object_foreach(v, name, item)
	{
		schema_loc_add(&f->loc, name);
		if (schema_string_ok(f, row, item)) {
			strings_add(at, name, strlen(name));
			strings_add(at, json_object_get_string(item),
				    (size_t)json_object_get_string_len(item));
		}
		strbuf_cut(&f->loc, before);
	}
}

static bool object_ok(struct fill *f, struct json_object *v)
{
	if (json_object_is_type(v, json_type_object))
		return true;
	schema_report(f, "model_attributes_type",
		      "Input should be a valid dictionary or object to extract fields from", v,
		      NULL);
	return false;
}

static void list_clear(const struct schema *sub, struct schema_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		schema_clear(sub, (char *)l->items + i * sub->size);
	free(l->items);
	*l = (struct schema_list){ 0 };
}

static void fill_list(struct fill *f, const struct schema_row *row, struct json_object *v, void *at)
{
	struct schema_list *l = at;
	size_t count, before = f->loc.len;

	if (!json_object_is_type(v, json_type_array)) {
		schema_report(f, "list_type", "Input should be a valid list", v, NULL);
		return;
	}
	count = json_object_array_length(v);
	if (!schema_count_ok(f, row, "Items of the list should be", count, v))
		return;
	list_clear(row->sub, l);
	l->items = xcalloc(count, row->sub->size);
	l->count = count;
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(v, i);

		strbuf_addf(&f->loc, "/%zu", i);
		if (object_ok(f, item))
			fill_object(f, row->sub, item, (char *)l->items + i * row->sub->size);
		strbuf_cut(&f->loc, before);
	}
}

static void fill_any(struct json_object *v, void *at)
{
	struct json_object **o = at;

	json_object_put(*o);
	*o = json_object_get(v);
}

static void report_later(struct fill *f, const struct schema_row *row, struct json_object *v)
{
	char msg[MSG_BYTES];

	snprintf(msg, sizeof(msg), "not available in this version: %s", row->help);
	schema_report(f, "not_available", msg, v, NULL);
}

static void fill_value(struct fill *f, const struct schema_row *row, struct json_object *v,
		       void *out)
{
	void *at = (char *)out + row->offset;

	switch (row->type) {
	case SCHEMA_STRING:
		schema_fill_string(f, row, v, out);
		break;
	case SCHEMA_INT:
		schema_fill_int(f, row, v, at);
		break;
	case SCHEMA_NUMBER:
		schema_fill_number(f, row, v, at);
		break;
	case SCHEMA_BOOL:
		schema_fill_bool(f, v, at);
		break;
	case SCHEMA_ANY:
		fill_any(v, at);
		break;
	case SCHEMA_LIST:
		fill_list(f, row, v, at);
		break;
	case SCHEMA_STRINGS:
		fill_strings(f, row, v, at);
		break;
	case SCHEMA_MAP:
		fill_map(f, row, v, at);
		break;
	case SCHEMA_OBJECT:
		if (object_ok(f, v))
			fill_object(f, row->sub, v, at);
		break;
	case SCHEMA_LATER:
		report_later(f, row, v);
		break;
	}
}

/* One row: absent, null, or a value. */
static void fill_row(struct fill *f, const struct schema_row *row, struct json_object *object,
		     void *out)
{
	struct json_object *v;

	if (!json_object_object_get_ex(object, row->name, &v)) {
		if (row->flags & SCHEMA_REQUIRED)
			schema_report(f, "missing", "Field required", object, NULL);
		return;
	}
	if (!v && ((row->flags & SCHEMA_NULLABLE) || row->type == SCHEMA_LATER))
		return;
	if (row->set_offset)
		*(bool *)((char *)out + row->set_offset) = true;
	fill_value(f, row, v, out);
}

static bool has_row(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->rows[i].name, name) == 0)
			return true;
	}
	return false;
}

static void fill_object(struct fill *f, const struct schema *s, struct json_object *object,
			void *out)
{
	size_t before = f->loc.len;

	for (size_t i = 0; i < s->count; i++) {
		schema_loc_add(&f->loc, s->rows[i].name);
		fill_row(f, &s->rows[i], object, out);
		strbuf_cut(&f->loc, before);
	}
	json_object_object_foreach(object, name, value)
	{
		(void)value;
		if (has_row(s, name))
			continue;
		schema_loc_add(&f->loc, name);
		schema_ignore(f->problems, f->loc.buf + 1);
		strbuf_cut(&f->loc, before);
	}
}

int schema_fill(const struct schema *s, struct json_object *object, void *out,
		struct schema_problems *problems, struct err *err)
{
	struct fill f = { .problems = problems, .loc = STRBUF(LOC_BYTES), .err = err };

	if (object_ok(&f, object))
		fill_object(&f, s, object, out);
	strbuf_clear(&f.loc);
	return f.failed ? -1 : 0;
}

static void clear_row(const struct schema_row *row, void *at)
{
	switch (row->type) {
	case SCHEMA_STRING:
		free(*(char **)at);
		*(char **)at = NULL;
		break;
	case SCHEMA_ANY:
		json_clear(at);
		break;
	case SCHEMA_LIST:
		list_clear(row->sub, at);
		break;
	case SCHEMA_STRINGS:
	case SCHEMA_MAP:
		strings_clear(at);
		break;
	case SCHEMA_OBJECT:
		schema_clear(row->sub, at);
		break;
	case SCHEMA_INT:
	case SCHEMA_NUMBER:
	case SCHEMA_BOOL:
	case SCHEMA_LATER:
		break;
	}
}

void schema_clear(const struct schema *s, void *out)
{
	for (size_t i = 0; i < s->count; i++)
		clear_row(&s->rows[i], (char *)out + s->rows[i].offset);
}
