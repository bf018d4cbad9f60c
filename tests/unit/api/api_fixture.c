/* What api_fixture.h says: the steps of the worker's loop around one handler, with a CGI request as
 * its input. */
#include "unit/api/api_fixture.h"

#include "api/api.h"
#include "store/mime.h"
#include "unit/api/keeper_script.h"
#include "unit/box/guest_script.h"
#include "web/channel.h"
#include "wire/json.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ANSWER_BYTES (1 << 20)

struct api_fixture api_fixture = { .res = { .body_fd = -1 } };

static void set_stdin(const char *body, size_t len)
{
	int fd = memfd_create("body", 0);

	ck_assert_int_eq(write(fd, body, len), (long)len);
	lseek(fd, 0, SEEK_SET);
	dup2(fd, 0);
	close(fd);
}

void api_fixture_clear(void)
{
	response_clear(&api_fixture.res);
	json_clear(&api_fixture.body);
	json_clear(&api_fixture.times.problems);
	api_fixture = (struct api_fixture){ .res = { .body_fd = -1 } };
}

static int handle(struct request *req)
{
	struct api_fixture *f = &api_fixture;
	char allow[64];
	const struct route *route = route_find(api_routes, api_routes_count, req, allow, &f->err);

	return route ? route->handle(req, &f->res, &f->times, &f->err) : -1;
}

static void set_request(const struct api_request *r)
{
	const char *question = strchr(r->path, '?');
	char length[32];

	set_stdin(r->body ? r->body : "", r->len);
	snprintf(length, sizeof(length), "%zu", r->len);
	setenv("BELLJAR_ACCEL", r->direct ? "" : "/.belljar/files/", 1);
	setenv("REQUEST_METHOD", r->method ? r->method : r->body ? "POST" : "GET", 1);
	setenv("REQUEST_URI", r->path, 1);
	setenv("QUERY_STRING", question ? question + 1 : "", 1);
	setenv("CONTENT_LENGTH", r->length ? r->length : length, 1);
	setenv("CONTENT_TYPE", r->type ? r->type : r->body ? "application/json" : "", 1);
	setenv("HTTP_ACCEPT", r->accept ? r->accept : "", 1);
}

int api_send(const struct api_request *r)
{
	struct api_fixture *f = &api_fixture;
	struct channel *channel = channel_new(-1, true);
	struct request req;
	struct err bad = ERR_INIT;

	api_fixture_clear();
	set_request(r);
	response_init(&f->res, ANSWER_BYTES);
	ck_assert_int_eq(request_open(&req, channel, &f->err), 0);
	if (handle(&req))
		response_error(&f->res, &f->err, f->times.problems);
	channel_free(channel);
	ck_assert(strbuf_ok(&f->res.body));
	if (f->res.body.buf[0] == '{' || f->res.body.buf[0] == '[')
		ck_assert_msg(json_load(f->res.body.buf, f->res.body.len, &f->body, &bad) == 0,
			      "%s", bad.text);
	return f->res.status;
}

int api_call(const char *path, const char *body, size_t len)
{
	return api_send(&(struct api_request){ .path = path, .body = body, .len = len });
}

const char *api_header(const char *name)
{
	for (size_t i = 0; i < api_fixture.res.headers_count; i++)
		if (strcmp(api_fixture.res.headers[i].name, name) == 0)
			return api_fixture.res.headers[i].value;
	return NULL;
}

int api_execute_json(const char *body)
{
	return api_call("/v1/execute", body, strlen(body));
}

struct json_object *api_at(const char *where)
{
	struct json_object *at = api_fixture.body;

	for (size_t len; *where; where += len + (where[len] == '.')) {
		char name[64] = "";

		len = strcspn(where, ".");
		memcpy(name, where, MIN(len, sizeof(name) - 1));
		if (json_object_is_type(at, json_type_array))
			at = json_object_array_get_idx(at, (size_t)(name[0] - '0'));
		else
			ck_assert_msg(json_object_object_get_ex(at, name, &at), "%s", where);
	}
	return at;
}

const char *api_text(const char *where)
{
	ck_assert_msg(json_object_is_type(api_at(where), json_type_string), "%s", where);
	return json_object_get_string(api_at(where));
}

int64_t api_int(const char *where)
{
	ck_assert_msg(json_object_is_type(api_at(where), json_type_int), "%s", where);
	return json_object_get_int64(api_at(where));
}

bool api_is_null(const char *where)
{
	return json_object_is_type(api_at(where), json_type_null);
}

void api_fixture_setup(void)
{
	struct err err = ERR_INIT;

	keeper_conf();
	ck_assert_msg(mime_setup(&err) == 0 && api_open(&err) == 0, "%s: %s", err.text, err.cause);
}

void api_fixture_teardown(void)
{
	api_fixture_clear();
	api_close();
	keeper_stop();
	keeper_conf_clear();
	mime_end();
}

int api_execute_with(void (*guest)(int), const char *body)
{
	const struct lease_status well = {
		.magic = LEASE_MAGIC, .running = 1, .image_exists = 1, .limits_ok = 1
	};

	keeper_stop();
	keeper_start(&well, guest);
	return api_execute_json(body);
}

void api_guest_started(int fd)
{
	guest_hear_job(fd);
	guest_say(fd, FRAME_STARTED, NULL, 0);
	guest_say_room(fd, 4096);
}

void api_guest_bye(int fd)
{
	guest_say(fd, FRAME_BYE, NULL, 0);
}
