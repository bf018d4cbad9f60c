/*
 * An HTTP answer as the tests see it: status, header, body, JSON by path, and assertions whose
 * failure shows the whole answer with the end of the service's log. Speaks to nobody.
 */
#include "support/answer.h"

#include "support/tool.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_SHOWN 1500
#define LOG_SHOWN 1500

static const char *log_path;

void answer_log_path(const char *path)
{
	log_path = path;
}

void answer_clear(struct answer *a)
{
	strbuf_clear(&a->head);
	strbuf_clear(&a->body);
	if (a->json)
		json_object_put(a->json);
	a->json = NULL;
	a->status = 0;
	a->problem[0] = '\0';
}

void answer_parse_body(struct answer *a)
{
	struct json_tokener *tok = json_tokener_new_ex(200);
	a->json = json_tokener_parse_ex(tok, a->body.buf, (int)a->body.len);
	bool whole = json_tokener_get_error(tok) == json_tokener_success &&
		     json_tokener_get_parse_end(tok) == a->body.len;
	json_tokener_free(tok);
	if (!whole && a->json) {
		json_object_put(a->json);
		a->json = NULL;
	}
}

static size_t take_line(struct answer *a, const char *data, size_t len, bool *out_last)
{
	const char *nl = memchr(data, '\n', len);
	size_t used = nl ? (size_t)(nl - data) + 1 : len;
	size_t text = nl ? used - 1 : used;
	if (text && data[text - 1] == '\r')
		text--;
	*out_last = text == 0;
	if (text) {
		strbuf_add(&a->head, data, text);
		strbuf_addch(&a->head, '\n');
	}
	return used;
}

void answer_parse(struct answer *a, const void *data, size_t len)
{
	const char *p = data;
	size_t at = 0;
	for (bool last = false; at < len && !last;)
		at += take_line(a, p + at, len - at, &last);
	strbuf_add(&a->body, p + at, len - at);
	const char *status = answer_header(a, "Status");
	a->status = status ? (int)strtol(status, NULL, 10) : len ? 200 : 0;
	answer_parse_body(a);
}

const char *answer_header(const struct answer *a, const char *name)
{
	static char value[4096];
	size_t n = strlen(name);
	for (const char *line = a->head.buf; *line;) {
		size_t len = strcspn(line, "\n");
		if (len > n && strncasecmp(line, name, n) == 0 && line[n] == ':') {
			const char *v = line + n + 1 + strspn(line + n + 1, " ");
			snprintf(value, sizeof(value), "%.*s", (int)(len - (size_t)(v - line)), v);
			return value;
		}
		line += len + (line[len] == '\n');
	}
	return NULL;
}

struct json_object *answer_json_get(struct json_object *top, const char *path)
{
	struct json_object *o = top;
	char step[64];
	while (o && *path) {
		size_t len = strcspn(path, ".");
		snprintf(step, sizeof(step), "%.*s", (int)len, path);
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, (size_t)strtol(step, NULL, 10));
		else if (!json_object_is_type(o, json_type_object) ||
			 !json_object_object_get_ex(o, step, &o))
			o = NULL;
		path += len + (path[len] == '.');
	}
	return o;
}

struct json_object *answer_get(const struct answer *a, const char *path)
{
	return answer_json_get(a->json, path);
}

int64_t answer_int(const struct answer *a, const char *path)
{
	struct json_object *o = answer_get(a, path);
	if (!json_object_is_type(o, json_type_int))
		answer_fail(a, __FILE__, __LINE__, "%s is not an integer", path);
	return json_object_get_int64(o);
}

const char *answer_str(const struct answer *a, const char *path)
{
	struct json_object *o = answer_get(a, path);
	if (!json_object_is_type(o, json_type_string))
		answer_fail(a, __FILE__, __LINE__, "%s is not a string", path);
	return json_object_get_string(o);
}

struct json_object *answer_find(const struct answer *a, const char *list, const char *key,
				const char *value)
{
	struct json_object *array = answer_get(a, list), *v;
	if (!json_object_is_type(array, json_type_array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct json_object *row = json_object_array_get_idx(array, i);
		if (json_object_object_get_ex(row, key, &v) &&
		    json_object_is_type(v, json_type_string) &&
		    strcmp(json_object_get_string(v), value) == 0)
			return row;
	}
	return NULL;
}

void answer_fail(const struct answer *a, const char *file, int line, const char *fmt, ...)
{
	char why[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	char *log = log_path ? tool_tail(log_path, LOG_SHOWN) : NULL;
	ck_abort_msg("%s:%d: %s\nstatus %d %s (%" PRId64 " ms)\n%.600s%.*s\n--- log\n%s", file,
		     line, why, a->status, a->problem, a->ms, a->head.buf, BODY_SHOWN, a->body.buf,
		     log ? log : "");
	abort();
}

void answer_want_status(const struct answer *a, int status, const char *file, int line)
{
	if (a->status != status)
		answer_fail(a, file, line, "status %d, wanted %d", a->status, status);
	if (!a->json)
		answer_fail(a, file, line, "the body is not JSON");
}

static const char *shown(const struct answer *a, const char *path)
{
	return json_object_to_json_string_ext(answer_get(a, path), JSON_C_TO_STRING_PLAIN);
}

void answer_want_str(const struct answer *a, const char *path, const char *want, const char *file,
		     int line)
{
	struct json_object *o = answer_get(a, path);
	size_t len = strlen(want);
	if (!json_object_is_type(o, json_type_string) ||
	    (size_t)json_object_get_string_len(o) != len ||
	    memcmp(json_object_get_string(o), want, len) != 0)
		answer_fail(a, file, line, "%s is %.300s, wanted \"%.300s\"", path, shown(a, path),
			    want);
}

void answer_want_int(const struct answer *a, const char *path, int64_t min, int64_t max,
		     const char *file, int line)
{
	struct json_object *o = answer_get(a, path);
	int64_t v = json_object_get_int64(o);
	if (!json_object_is_type(o, json_type_int) || v < min || v > max)
		answer_fail(a, file, line, "%s is %.100s, wanted %" PRId64 " to %" PRId64, path,
			    shown(a, path), min, max);
}

void answer_want_bool(const struct answer *a, const char *path, bool want, const char *file,
		      int line)
{
	struct json_object *o = answer_get(a, path);
	if (!json_object_is_type(o, json_type_boolean) || json_object_get_boolean(o) != want)
		answer_fail(a, file, line, "%s is %.100s, wanted %s", path, shown(a, path),
			    want ? "true" : "false");
}

void answer_want_null(const struct answer *a, const char *path, const char *file, int line)
{
	const char *dot = strrchr(path, '.');
	struct json_object *o = a->json, *v = NULL;
	char parent[64];
	if (dot) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(dot - path), path);
		o = answer_get(a, parent);
	}
	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, dot ? dot + 1 : path, &v) || v)
		answer_fail(a, file, line, "%s is not null", path);
}

void answer_want_in(const struct answer *a, const char *path, const char *part, const char *file,
		    int line)
{
	struct json_object *o = answer_get(a, path);
	if (!json_object_is_type(o, json_type_string) || !strstr(json_object_get_string(o), part))
		answer_fail(a, file, line, "%s is %.600s, which has no \"%s\"", path,
			    shown(a, path), part);
}
