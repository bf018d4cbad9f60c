#pragma once

#include "base/err.h"
#include "web/response.h"
#include "web/route.h"

#include <json-c/json.h>

/* One request through a handler of the route table, in this process. */
struct api_fixture {
	struct response res;
	struct route_times times;
	struct err err;
	struct json_object *body; /* the answer, or the error body */
};
extern struct api_fixture api_fixture;

/* Routes and handles; returns the status that a client would see. Body NULL: GET. */
int api_call(const char *path, const char *body, size_t len);
int api_execute_json(const char *body);
/* The value at "a.b.0.c" of the answer; fails the test when it isn't there. */
struct json_object *api_at(const char *where);
const char *api_text(const char *where);
int64_t api_int(const char *where);
bool api_is_null(const char *where);
void api_fixture_clear(void);

/* With a keeper whose containers run `guest` (NULL: it has no slot). */
void api_fixture_setup(void);
void api_fixture_teardown(void);
int api_execute_with(void (*guest)(int fd), const char *body);
/* A guest's first and last steps. */
void api_guest_started(int fd);
void api_guest_bye(int fd);
