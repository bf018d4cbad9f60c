/*
 * The whole way through a real nginx: headers, nginx's own refusals in the service's form, the
 * request id in both logs, caps and timeouts that fit the service's.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/front.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BODY_CAP 1000000

static struct service svc;
static struct front web;

static void setup(void)
{
	static const char *const env[] = { "MAX_REQUEST_BYTES=1000000", NULL };
	service_up(&svc, env);
	front_start(&web, &svc, env);
}

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

START_TEST(a_job)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(&web, "print('hello')", NULL, &a);
	WANT_STR(&a, "stdout", "hello\n");
	WANT_STR(&a, "status", "ok");
}
END_TEST

static const char *const header_rows[][2] = {
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Content-Security-Policy", "default-src" },
};

static void want_headers(const struct answer *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(header_rows); i++) {
		const char *value = answer_header(a, header_rows[i][0]);
		if (!value || !strstr(value, header_rows[i][1]))
			answer_fail(a, __FILE__, __LINE__, "%s is %s", header_rows[i][0],
				    value ? value : "missing");
	}
	const char *id = answer_header(a, "X-Request-Id");
	WANT(a, id && strlen(id) == 32);
	const char *server = answer_header(a, "Server");
	WANT(a, !server || !strpbrk(server, "0123456789"));
}

static void want_error(const struct answer *a, int status, const char *code)
{
	WANT_STATUS(a, status);
	WANT_STR(a, "error.code", code);
	WANT(a,
	     strlen(answer_str(a, "error.message")) > 0 && strlen(answer_str(a, "error.hint")) > 0);
	WANT(a, strlen(answer_str(a, "detail")) > 0);
	WANT(a, strncmp(answer_header(a, "Content-Type"), "application/json", 16) == 0);
	want_headers(a);
}

START_TEST(security_headers)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	front_call(&web, "GET", "/health", NULL, NULL, &a);
	WANT_STATUS(&a, 200);
	want_headers(&a);
	front_call(&web, "GET", "/v1/nothing", NULL, NULL, &b);
	want_error(&b, 404, "not_found");
}
END_TEST

START_TEST(the_request_id_is_in_both_logs)
{
	AUTO(answer) a = ANSWER_INIT;
	front_call(&web, "GET", "/v1/docker/status", NULL,
		   (const char *const[]){ "X-Request-Id: forged", NULL }, &a);
	WANT_STATUS(&a, 200);
	AUTO_FREE char *id = xstrdup(answer_header(&a, "X-Request-Id"));
	WANT(&a, strlen(id) == 32);
	ck_assert_msg(service_wait_log(&svc, id), "the service's log has no %s", id);
	ck_assert_msg(tool_wait_text(web.access_log, id), "nginx's log has no %s", id);
	ck_assert_int_eq(tool_count(svc.log, "forged"), 0);
}
END_TEST

START_TEST(a_body_over_the_cap)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body = xmalloc(BODY_CAP + 2);
	memset(body, 'x', BODY_CAP + 1);
	body[BODY_CAP + 1] = '\0';
	front_call(&web, "POST", "/v1/execute", body, NULL, &a);
	want_error(&a, 413, "too_large");
	WANT_IN(&a, "detail", "1000000");
}
END_TEST

START_TEST(a_body_at_the_cap_reaches_the_service)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body = xmalloc(BODY_CAP + 1);
	memset(body, 'x', BODY_CAP);
	body[BODY_CAP] = '\0';
	front_call(&web, "POST", "/v1/execute", body, NULL, &a);
	WANT_STATUS(&a, 400);
	WANT_STR(&a, "error.code", "bad_json");
}
END_TEST

/* A worker that dies in the middle of a job is a 502 of nginx in our form. */
START_TEST(a_dead_worker_is_a_502)
{
	AUTO(answer) a = ANSWER_INIT;
	pid_t helper = fork();
	if (helper == 0) {
		pid_t worker = service_busy_worker(&svc);
		_exit(worker > 0 && kill(worker, SIGKILL) == 0 ? 0 : 1);
	}
	AUTO_FREE char *body = service_body("import time\ntime.sleep(50)", "\"timeout_ms\":60000");
	front_call(&web, "POST", "/v1/execute", body, NULL, &a);
	ck_assert_int_eq(tool_wait(helper, TOOL_WAIT_MS), 0);
	want_error(&a, 502, "service_down");
	WANT(&a, answer_header(&a, "Retry-After"));
	ck_assert(service_wait_clean(&svc));
	AUTO(answer) b = ANSWER_INIT;
	front_execute(&web, "print('again')", NULL, &b);
	WANT_STR(&b, "stdout", "again\n");
}
END_TEST

START_TEST(methods)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	AUTO(answer) c = ANSWER_INIT;
	front_call(&web, "HEAD", "/health", NULL, NULL, &a);
	ck_assert_int_eq(a.status, 200);
	ck_assert_uint_eq(a.body.len, 0);
	front_call(&web, "GET", "/v1/execute", NULL, NULL, &b);
	WANT_STATUS(&b, 405);
	WANT(&b, strstr(answer_header(&b, "Allow"), "POST"));
	front_call(&web, "GET", "/health/", NULL, NULL, &c);
	WANT(&c, c.status == 307 && strstr(answer_header(&c, "Location"), "/health"));
}
END_TEST

/* "180s" of a directive in the rendered configuration. */
static long directive(const char *file, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/conf/%s", web.dir, file);
	AUTO(strbuf) text = STRBUF(1 << 20);
	ck_assert(tool_read(path, &text));
	const char *at = strstr(text.buf, name);
	ck_assert_msg(at, "%s has no %s", file, name);
	return strtol(at + strlen(name), NULL, 10);
}

START_TEST(timeouts_and_caps_fit_the_service)
{
	/* the longest job, the longest wait (nginx.sh's own default where the test names none), and
	 * something more */
	ck_assert_int_gt(directive("belljar_fastcgi.conf", "fastcgi_read_timeout "), 60 + 10);
	ck_assert_int_eq(directive("belljar_limits.conf", "client_max_body_size "), BODY_CAP);
}
END_TEST

/* The files as they are in the repository (for a site that drops them in) have the service's
 * defaults. */
START_TEST(the_cap_in_the_repository_is_the_services_default)
{
	AUTO_FREE char *path = xasprintf("%s/nginx/belljar_limits.conf", tool_root_dir());
	AUTO(strbuf) nginx = STRBUF(1 << 20);
	AUTO(strbuf) table = STRBUF(1 << 20);
	ck_assert(tool_read(path, &nginx));
	ck_assert_int_eq(
		tool_run((const char *const[]){ service_binary(), "-T", NULL }, NULL, &table), 0);
	const char *row = strstr(table.buf, "`MAX_REQUEST_BYTES` | `");
	const char *cap = strstr(nginx.buf, "client_max_body_size ");
	ck_assert(row && cap);
	ck_assert_int_eq(strtol(row + 23, NULL, 10), strtol(cap + 21, NULL, 10));
}
END_TEST

Suite *suite_nginx(void)
{
	Suite *s = suite_create("nginx");
	TCase *tc = tcase_create("nginx");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_job);
	tcase_add_test(tc, security_headers);
	tcase_add_test(tc, the_request_id_is_in_both_logs);
	tcase_add_test(tc, a_body_over_the_cap);
	tcase_add_test(tc, a_body_at_the_cap_reaches_the_service);
	tcase_add_test(tc, a_dead_worker_is_a_502);
	tcase_add_test(tc, methods);
	tcase_add_test(tc, timeouts_and_caps_fit_the_service);
	tcase_add_test(tc, the_cap_in_the_repository_is_the_services_default);
	suite_add_tcase(s, tc);
	return s;
}
