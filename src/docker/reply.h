#pragma once

#include "base/base.h"

#include <json-c/json.h>

/*
 * Reading an engine's answers. `path` is names joined by '/', "HostConfig/Memory" (label names hold
 * dots). Nothing here fails: a member that is missing or of another type reads as NULL, "", 0 or
 * false, because engines leave out what is empty. Everything returned is borrowed from the answer.
 */
struct json_object *reply_get(struct json_object *answer, const char *path);
const char *reply_text(struct json_object *answer, const char *path);
int64_t reply_int(struct json_object *answer, const char *path);
bool reply_bool(struct json_object *answer, const char *path);
/* Copies the text, cut to fit (never inside a character) and without control characters. */
void reply_copy(struct json_object *answer, const char *path, char *out, size_t size);

/* {"label":["com.belljar.instance=<instance>"]} and any more filters, URL-encoded for a query (trap
 * 36). The caller's. */
char *reply_filter(const char *instance, const char *more_json);
