/*
 * Reads members of the engine's JSON answers, and writes the filters of its queries. Called by all
 * files of docker/. It judges nothing: what is not there reads as empty, the caller decides whether
 * that is a failure.
 */
#include "docker/reply.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "docker/names.h"
#include "wire/json.h"

#include <string.h>

#define NAME_MAX_BYTES 64 /* one name in a path of ours */
#define FILTER_MAX_BYTES 1024

struct json_object *reply_get(struct json_object *answer, const char *path)
{
	char name[NAME_MAX_BYTES];

	while (answer && *path) {
		size_t len = strcspn(path, "/");

		if (len >= sizeof(name) || !json_object_is_type(answer, json_type_object))
			return NULL;
		memcpy(name, path, len);
		name[len] = '\0';
		answer = json_object_object_get(answer, name);
		path += len + (path[len] == '/');
	}
	return answer;
}

const char *reply_text(struct json_object *answer, const char *path)
{
	struct json_object *value = reply_get(answer, path);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

int64_t reply_int(struct json_object *answer, const char *path)
{
	struct json_object *value = reply_get(answer, path);

	return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
}

bool reply_bool(struct json_object *answer, const char *path)
{
	struct json_object *value = reply_get(answer, path);

	return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

void reply_copy(struct json_object *answer, const char *path, char *out, size_t size)
{
	const char *text = reply_text(answer, path);
	size_t len = strlen(text);

	if (len >= size)
		len = utf8_cut(text, len, size - 1);
	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
	out[len] = '\0';
}

char *reply_filter(const char *instance, const char *more_json)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
	AUTO_FREE char *label = xasprintf("%s=%s", NAME_INSTANCE, instance);
	AUTO_JSON *filter = more_json ? json_tokener_parse(more_json) : json_object_new_object();
	AUTO(strbuf) out = STRBUF(FILTER_MAX_BYTES);
	struct json_object *labels = json_object_new_array();

	json_object_array_add(labels, json_object_new_string(label));
	json_object_object_add(filter, "label", labels);
	for (const char *c = json_object_to_json_string_ext(filter, JSON_C_TO_STRING_PLAIN); *c;
	     c++) {
		if (strchr(plain, *c))
			strbuf_addch(&out, *c);
		else
			strbuf_addf(&out, "%%%02X", (unsigned char)*c);
	}
	return xstrdup(out.buf);
}
