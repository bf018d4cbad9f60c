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

/* A request as a client would send it. */
struct api_request {
	const char *method; /* NULL: POST with a body, GET without */
	const char *path;   /* with its query */
	const char *type;   /* Content-Type; NULL: application/json when there is a body */
	const char *accept; /* NULL: no Accept header */
	const void *body;   /* NULL: none */
	size_t len;
	const char *length; /* Content-Length in place of len */
	bool direct;	    /* no web server that sends stored files itself */
};
/* Routes and handles; returns the status that a client would see. An answer in JSON is parsed into
 * api_fixture.body. */
int api_send(const struct api_request *r);
/* The same in short: body NULL is GET, else POST of JSON. */
int api_call(const char *path, const char *body, size_t len);
/* A header of the answer that its handler has set, or NULL. */
const char *api_header(const char *name);
int api_execute_json(const char *body);
/* The value at "a.b.0.c" of the answer; fails the test when it isn't there. */
struct json_object *api_at(const char *where);
const char *api_text(const char *where);
int64_t api_int(const char *where);
bool api_is_null(const char *where);
void api_fixture_clear(void);

/* With an empty store below RUN_DIR, libmagic, and settings from the environment; and with a keeper
 * whose containers run `guest` (NULL: it has no slot). */
void api_fixture_setup(void);
void api_fixture_teardown(void);
int api_execute_with(void (*guest)(int fd), const char *body);
/* A guest's first and last steps. */
void api_guest_started(int fd);
void api_guest_bye(int fd);
