#pragma once

#include "base/base.h"

#include <json-c/json.h>

struct err;
struct strbuf;

/*
 * json-c made strict: RFC 8259 and nothing else. A scan of our own (jsonscan.c) comes first: valid
 * UTF-8, one value, depth <= LIMIT_JSON_DEPTH, members <= LIMIT_JSON_KEYS, no duplicate names in
 * one object, no NaN or Infinity, no single quotes, no comments, no control characters in strings,
 * no lone surrogates, numbers in JSON's form. Failure is ERR_BAD_JSON with the byte offset and the
 * reason. *out is the caller's (json_object_put).
 */
int json_load(const void *data, size_t len, struct json_object **out, struct err *err);
/* The scan alone. */
int jsonscan(const void *data, size_t len, struct err *err);
/* Appends s as a JSON string with quotes; bytes must be valid UTF-8. Non-ASCII stays as it is. */
void json_add_string(struct strbuf *out, const char *s, size_t len);
void json_clear(struct json_object **o);
#define AUTO_JSON __attribute__((cleanup(json_clear))) struct json_object
