/*
 * One scalar value of a JSON object against its row: type, range, choice. schema.c walks, this file
 * judges; each function either stores the value or notes one problem.
 */
#include "base/alloc.h"
#include "base/err.h"
#include "wire/schema_fill.h"

#define MSG_BYTES 400

void schema_report(struct fill *f, const char *type, const char *msg, struct json_object *input,
		   struct json_object *ctx)
{
	if (!f->failed) {
		err_set(f->err, strcmp(type, "not_available") ? ERR_INVALID : ERR_UNAVAILABLE_FIELD,
			"%s%s%s", f->loc.buf, f->loc.len ? ": " : "", msg);
		f->failed = true;
	}
	schema_problem_add(f->problems, type, f->loc.buf, msg, input, ctx);
}

static struct json_object *ctx_of(const char *name, struct json_object *value)
{
	struct json_object *ctx = json_object_new_object();

	json_object_object_add(ctx, name, value);
	return ctx;
}

/* A value under its minimum (low) or over its maximum. */
static void report_bound(struct fill *f, const char *type, bool low, const char *bound,
			 struct json_object *input, struct json_object *number)
{
	char msg[MSG_BYTES];

	snprintf(msg, sizeof(msg), "Input should be %s than or equal to %s",
		 low ? "greater" : "less", bound);
	schema_report(f, type, msg, input, ctx_of(low ? "ge" : "le", number));
}

void schema_fill_int(struct fill *f, const struct schema_row *row, struct json_object *v, void *at)
{
	int64_t n;
	bool low, high;
	char bound[32];

	if (!json_object_is_type(v, json_type_int)) {
		schema_report(f, "int_type", "Input should be a valid integer", v, NULL);
		return;
	}
	n = json_object_get_int64(v);
	/* json-c keeps positive integers beyond int64_t as uint64_t and clamps the others. */
	high = n > row->max || json_object_get_uint64(v) > INT64_MAX;
	low = !high && (n < row->min || n == INT64_MIN);
	if (!low && !high) {
		*(int64_t *)at = n;
		return;
	}
	snprintf(bound, sizeof(bound), "%lld", (long long)(low ? row->min : row->max));
	report_bound(f, low ? "greater_than_equal" : "less_than_equal", low, bound, v,
		     json_object_new_int64(low ? row->min : row->max));
}

/* To the nearest thousandth; false when it is beyond int64_t, as 1e999 is. */
static bool to_milli(double d, int64_t *out)
{
	d *= 1000;
	if (!(d > -9e18 && d < 9e18))
		return false;
	*out = (int64_t)(d < 0 ? d - 0.5 : d + 0.5);
	return true;
}

void schema_fill_number(struct fill *f, const struct schema_row *row, struct json_object *v,
			void *at)
{
	double d = json_object_get_double(v), bound;
	char text[32];
	int64_t n;
	bool low;

	if (!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double)) {
		schema_report(f, "float_type", "Input should be a valid number", v, NULL);
		return;
	}
	if (to_milli(d, &n) && n >= row->min && n <= row->max) {
		*(int64_t *)at = n;
		return;
	}
	low = d * 1000 < (double)row->min;
	bound = (double)(low ? row->min : row->max) / 1000;
	snprintf(text, sizeof(text), "%.15g", bound);
	report_bound(f, low ? "greater_than_equal" : "less_than_equal", low, text, v,
		     json_object_new_double_s(bound, text));
}

static void report_length(struct fill *f, const char *type, bool low, const struct schema_row *row,
			  const char *what, struct json_object *v)
{
	int64_t bound = low ? row->min : row->max;
	char msg[MSG_BYTES];

	snprintf(msg, sizeof(msg), "%s at %s %lld", what, low ? "least" : "most", (long long)bound);
	schema_report(f, type, msg, v,
		      ctx_of(low ? "min_length" : "max_length", json_object_new_int64(bound)));
}

bool schema_count_ok(struct fill *f, const struct schema_row *row, const char *what, size_t count,
		     struct json_object *v)
{
	bool low = (int64_t)count<row->min, high = (int64_t)count> row->max;

	if (low || high)
		report_length(f, low ? "too_short" : "too_long", low, row, what, v);
	return !low && !high;
}

bool schema_string_ok(struct fill *f, const struct schema_row *row, struct json_object *v)
{
	if (!json_object_is_type(v, json_type_string)) {
		schema_report(f, "string_type", "Input should be a valid string", v, NULL);
		return false;
	}
	if ((row->flags & SCHEMA_NUL) ||
	    !memchr(json_object_get_string(v), '\0', (size_t)json_object_get_string_len(v)))
		return true;
	schema_report(f, "value_error", "String must not hold NUL characters", v, NULL);
	return false;
}

static bool is_one_of(const char *s, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(s, *words) == 0)
			return true;
	}
	return false;
}

/* "'none', 'allowlist' or 'full'" */
static void add_choice(struct strbuf *out, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (i > 0)
			strbuf_addstr(out, words[i + 1] ? ", " : " or ");
		strbuf_addf(out, "'%s'", words[i]);
	}
}

static void report_choice(struct fill *f, const struct schema_row *row, struct json_object *v)
{
	AUTO(strbuf) words = STRBUF(MSG_BYTES);
	char msg[MSG_BYTES + 32];

	add_choice(&words, row->one_of);
	snprintf(msg, sizeof(msg), "Input should be %s", words.buf);
	schema_report(f, "literal_error", msg, v,
		      ctx_of("expected", json_object_new_string(words.buf)));
}

void schema_fill_string(struct fill *f, const struct schema_row *row, struct json_object *v,
			void *out)
{
	char **at = (char **)((char *)out + row->offset);
	size_t len;
	bool low;

	if (!schema_string_ok(f, row, v))
		return;
	len = (size_t)json_object_get_string_len(v);
	low = (int64_t)len < row->min;
	if (low || (int64_t)len > row->max) {
		report_length(f, low ? "string_too_short" : "string_too_long", low, row,
			      "Bytes of the string should be", v);
		return;
	}
	if (row->one_of && !is_one_of(json_object_get_string(v), row->one_of)) {
		report_choice(f, row, v);
		return;
	}
	free(*at);
	*at = xstrndup(json_object_get_string(v), len);
	if (row->flags & SCHEMA_NUL)
		*(size_t *)((char *)out + row->len_offset) = len;
}

void schema_fill_bool(struct fill *f, struct json_object *v, void *at)
{
	if (json_object_is_type(v, json_type_boolean))
		*(bool *)at = json_object_get_boolean(v);
	else
		schema_report(f, "bool_type", "Input should be a valid boolean", v, NULL);
}
