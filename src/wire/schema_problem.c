/*
 * The list of what was wrong with a JSON object, in the shape that clients of FastAPI services
 * read: type, loc, msg, input, ctx. schema.c fills it, and handlers add checks that no row can
 * state. Bounded in every direction, and values are shortened: an answer must not send a program or
 * a file back.
 */
#include "base/num.h"
#include "base/utf8.h"
#include "limits.h"
#include "wire/schema_fill.h"

#define INPUT_TEXT 100	 /* bytes of a string that are shown */
#define INPUT_MEMBERS 16 /* members of an object or list that are shown */
#define LOC_NAME 100	 /* bytes of one name in a location */

static struct json_object *short_text(const char *s, size_t len, size_t max)
{
	AUTO(strbuf) sb = STRBUF(max + 3);

	if (len <= max)
		return json_object_new_string_len(s, (int)len);
	strbuf_add(&sb, s, utf8_cut(s, len, max));
	strbuf_addstr(&sb, "...");
	return json_object_new_string_len(sb.buf, (int)sb.len);
}

/* A copy small enough to send back; what is nested deeper is only named by its kind. */
static struct json_object *small_copy(struct json_object *v, int levels)
{
	struct json_object *copy;
	const char *text;
	size_t count;

	switch (json_object_get_type(v)) {
	case json_type_string:
		return short_text(json_object_get_string(v), (size_t)json_object_get_string_len(v),
				  INPUT_TEXT);
	case json_type_array:
		if (levels == 0)
			return json_object_new_string("[...]");
		copy = json_object_new_array();
		count = MIN(json_object_array_length(v), (size_t)INPUT_MEMBERS);
		for (size_t i = 0; i < count; i++)
			json_object_array_add(
				copy, small_copy(json_object_array_get_idx(v, i), levels - 1));
		return copy;
	case json_type_object:
		if (levels == 0)
			return json_object_new_string("{...}");
		copy = json_object_new_object();
		json_object_object_foreach(v, name, value)
		{
			struct json_object *key = short_text(name, strlen(name), LOC_NAME);

			json_object_object_add(copy, json_object_get_string(key),
					       small_copy(value, levels - 1));
			json_object_put(key);
			if (json_object_object_length(copy) == INPUT_MEMBERS)
				break;
		}
		return copy;
	case json_type_double:
		/* It prints as it was written, which may be as long as the request. */
		text = json_object_to_json_string(v);
		return strlen(text) <= INPUT_TEXT ? json_object_get(v)
						  : short_text(text, strlen(text), INPUT_TEXT);
	default:
		return json_object_get(v);
	}
}

void schema_loc_add(struct strbuf *loc, const char *name)
{
	size_t len = strlen(name), shown = utf8_cut(name, len, LOC_NAME);

	strbuf_addch(loc, '/');
	for (size_t i = 0; i < shown; i++) {
		if (name[i] == '~')
			strbuf_addstr(loc, "~0");
		else if (name[i] == '/')
			strbuf_addstr(loc, "~1");
		else
			strbuf_addch(loc, name[i]);
	}
	if (shown < len)
		strbuf_addstr(loc, "...");
}

/* One segment of a location: an index as a number, a name without its escapes. */
static struct json_object *segment(const char *s, size_t len)
{
	AUTO(strbuf) sb = STRBUF(len);
	int64_t index;

	for (size_t i = 0; i < len; i++) {
		bool escape = s[i] == '~' && i + 1 < len;

		i += escape;
		strbuf_addch(&sb, !escape ? s[i] : s[i] == '1' ? '/' : '~');
	}
	if (num_int(sb.buf, 0, INT32_MAX, &index))
		return json_object_new_int64(index);
	return json_object_new_string_len(sb.buf, (int)sb.len);
}

/* "/files/0/path" to ["body", "files", 0, "path"]. */
static struct json_object *loc_array(const char *loc)
{
	struct json_object *list = json_object_new_array();

	json_object_array_add(list, json_object_new_string("body"));
	while (*loc == '/') {
		size_t len = strcspn(loc + 1, "/");

		json_object_array_add(list, segment(loc + 1, len));
		loc += 1 + len;
	}
	return list;
}

void schema_problem_add(struct schema_problems *problems, const char *type, const char *loc,
			const char *msg, struct json_object *input, struct json_object *ctx)
{
	struct json_object *o;

	if (!problems->list)
		problems->list = json_object_new_array();
	if (json_object_array_length(problems->list) >= LIMIT_PROBLEMS) {
		json_object_put(ctx);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "type", json_object_new_string(type));
	json_object_object_add(o, "loc", loc_array(loc));
	json_object_object_add(o, "msg", json_object_new_string(msg));
	json_object_object_add(o, "input", small_copy(input, 1));
	if (ctx)
		json_object_object_add(o, "ctx", ctx);
	json_object_array_add(problems->list, o);
}

void schema_problem(struct schema_problems *problems, const char *type, const char *loc,
		    const char *msg, struct json_object *input)
{
	schema_problem_add(problems, type, loc, msg, input, NULL);
}

void schema_ignore(struct schema_problems *problems, const char *loc)
{
	if (!problems->ignored)
		problems->ignored = json_object_new_array();
	if (json_object_array_length(problems->ignored) < LIMIT_PROBLEMS)
		json_object_array_add(problems->ignored, json_object_new_string(loc));
}

void schema_problems_clear(struct schema_problems *p)
{
	json_object_put(p->list);
	json_object_put(p->ignored);
	*p = (struct schema_problems){ 0 };
}
