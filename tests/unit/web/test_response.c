/* Answers as bytes on a CGI server's pipe. */
#include "base/err.h"
#include "unit/suites.h"
#include "web/channel.h"
#include "web/request.h"
#include "web/response.h"
#include "wire/json.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char sent[70000];

/* Sends res and collects what left by standard output. */
static int send_it(struct response *res, const char *method)
{
	struct request req;
	struct err err = ERR_INIT;
	int64_t bytes = 0;
	struct channel *channel = channel_new(-1, true);
	int fds[2], saved = dup(1), rc;
	ssize_t n;

	setenv("REQUEST_METHOD", method, 1);
	setenv("REQUEST_URI", "/x", 1);
	setenv("REQUEST_ID", "abc123", 1);
	ck_assert_int_eq(request_open(&req, channel, &err), 0);
	ck_assert_int_eq(pipe(fds), 0);
	fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	dup2(fds[1], 1);
	close(fds[1]);
	rc = response_send(res, &req, &bytes, &err);
	channel_free(channel);
	dup2(saved, 1);
	close(saved);
	n = read(fds[0], sent, sizeof(sent) - 1);
	close(fds[0]);
	sent[n] = '\0';
	ck_assert_int_eq(n, bytes);
	return rc;
}

START_TEST(sends_head_and_body)
{
	AUTO(response) res;

	response_init(&res, 100);
	strbuf_addstr(&res.body, "{\"a\":1}");
	response_header(&res, "X-Test", "%d", 5);
	ck_assert_int_eq(send_it(&res, "GET"), 0);
	ck_assert_str_eq(sent,
			 "Status: 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
			 "Content-Length: 7\r\nX-Request-Id: abc123\r\nCache-Control: no-store\r\n"
			 "X-Content-Type-Options: nosniff\r\nX-Test: 5\r\n\r\n{\"a\":1}");
	ck_assert(res.sent);
}
END_TEST

START_TEST(head_has_no_body)
{
	AUTO(response) res;

	response_init(&res, 100);
	strbuf_addstr(&res.body, "{}");
	ck_assert_int_eq(send_it(&res, "HEAD"), 0);
	ck_assert_ptr_nonnull(strstr(sent, "Content-Length: 2\r\n"));
	ck_assert_ptr_null(strstr(sent, "{}"));
}
END_TEST

START_TEST(a_handlers_own_header_replaces_the_usual_one)
{
	AUTO(response) res;

	response_init(&res, 100);
	response_header(&res, "Cache-Control", "private");
	response_header(&res, "Content-Type", "image/png");
	ck_assert_int_eq(send_it(&res, "GET"), 0);
	ck_assert_ptr_nonnull(strstr(sent, "Cache-Control: private\r\n"));
	ck_assert_ptr_nonnull(strstr(sent, "Content-Type: image/png\r\n"));
	ck_assert_ptr_null(strstr(sent, "no-store"));
	response_clear(&res);
	response_init(&res, 100);
	response_header(&res, "Content-Type", "text/plain");
	strbuf_addstr(&res.body, "x");
	ck_assert_int_eq(send_it(&res, "GET"), 0);
	ck_assert_ptr_null(strstr(sent, "application/json"));
}
END_TEST

START_TEST(no_content_has_no_length)
{
	AUTO(response) res;

	response_init(&res, 100);
	res.status = 204;
	ck_assert_int_eq(send_it(&res, "DELETE"), 0);
	ck_assert_ptr_null(strstr(sent, "Content-Length"));
	ck_assert_ptr_nonnull(strstr(sent, "Status: 204 No Content\r\n"));
}
END_TEST

START_TEST(drops_headers_that_would_split)
{
	AUTO(response) res;

	response_init(&res, 100);
	response_header(&res, "X-A", "%s", "a\r\nSet-Cookie: x");
	response_header(&res, "X-B", "%s", "a\nb");
	ck_assert_uint_eq(res.headers_count, 0);
	for (int i = 0; i < RESPONSE_HEADERS + 3; i++)
		response_header(&res, "X-C", "%d", i);
	ck_assert_uint_eq(res.headers_count, RESPONSE_HEADERS);
}
END_TEST

START_TEST(refuses_an_answer_cut_short)
{
	AUTO(response) res;

	response_init(&res, 10);
	strbuf_addstr(&res.body, "0123456789a");
	ck_assert_int_eq(send_it(&res, "GET"), -1);
	ck_assert(!res.sent);
}
END_TEST

static struct json_object *error_body(struct response *res, const struct err *err,
				      struct json_object *list)
{
	struct json_object *body = NULL;
	struct err bad = ERR_INIT;

	response_error(res, err, list);
	ck_assert_int_eq(json_load(res->body.buf, res->body.len, &body, &bad), 0);
	return body;
}

static const char *text_at(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	ck_assert(json_object_object_get_ex(o, key, &value));
	return json_object_get_string(value);
}

START_TEST(error_bodies)
{
	AUTO(response) res;
	struct err err = ERR_INIT;
	AUTO_JSON *body = NULL, *list = json_object_new_array();
	struct json_object *error, *detail;

	response_init(&res, 10000);
	strbuf_addstr(&res.body, "{\"half\":");
	err_set(&err, ERR_BUSY, "no slot within %d \"s\"", 5);
	err.retry_after_s = 7;
	body = error_body(&res, &err, NULL);
	ck_assert_int_eq(res.status, 503);
	ck_assert_str_eq(text_at(body, "detail"), "no slot within 5 \"s\"");
	ck_assert(json_object_object_get_ex(body, "error", &error));
	ck_assert_str_eq(text_at(error, "code"), "busy");
	ck_assert_str_eq(text_at(error, "message"), "no slot within 5 \"s\"");
	ck_assert_str_eq(text_at(error, "retry_after_s"), "7");
	ck_assert_int_gt(strlen(text_at(error, "hint")), 10);
	ck_assert_str_eq(res.headers[0].name, "Retry-After");
	ck_assert_str_eq(res.headers[0].value, "7");
	json_clear(&body);
	response_clear(&res);

	err_set(&err, ERR_INVALID, "x");
	json_object_array_add(list, json_object_new_int(1));
	body = error_body(&res, &err, list);
	ck_assert_int_eq(res.status, 422);
	ck_assert(json_object_object_get_ex(body, "detail", &detail));
	ck_assert(json_object_is_type(detail, json_type_array));
	ck_assert_uint_eq(res.headers_count, 0);
}
END_TEST

Suite *suite_web_response(void)
{
	Suite *s = suite_create("web/response");
	TCase *t = tcase_create("response");

	tcase_add_test(t, sends_head_and_body);
	tcase_add_test(t, head_has_no_body);
	tcase_add_test(t, a_handlers_own_header_replaces_the_usual_one);
	tcase_add_test(t, no_content_has_no_length);
	tcase_add_test(t, drops_headers_that_would_split);
	tcase_add_test(t, refuses_an_answer_cut_short);
	tcase_add_test(t, error_bodies);
	suite_add_tcase(s, t);
	return s;
}
