/*
 * The whole way through a real nginx: headers, nginx's own refusals in the service's form, the
 * request id in both logs, caps and timeouts that fit the service's, the pages. What nginx sends of
 * the store is in test_download.c.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/front.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_CAP 1000000     /* of JSON */
#define UPLOAD_CAP (2 << 20) /* of anything */
#define LARGE_BODIES 16	     /* limit_conn belljar_large */
#define MEDIUM_BODIES 64     /* limit_conn belljar_medium */

static struct service svc;
static struct front web;

static void setup(void)
{
	static const char *const env[] = { "MAX_REQUEST_BYTES=1000000", "MAX_UPLOAD_MB=2",
					   "MAX_FILE_SIZE_MB=1", NULL };
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
	{ "Referrer-Policy", "same-origin" },
	{ "Content-Security-Policy", "default-src 'none'; script-src 'self';" },
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
	ck_assert_msg(tool_wait_text(web.log, id), "nginx's log has no %s", id);
	ck_assert_int_eq(tool_count(svc.log, "forged"), 0);
}
END_TEST

static void post_bytes(size_t len, struct answer *out)
{
	AUTO_FREE char *body = xmalloc(len + 1);
	memset(body, 'x', len);
	body[len] = '\0';
	front_call(&web, "POST", "/v1/execute", body, NULL, out);
}

/* The service's own cap: its answer is seen although nginx had more of the body to give. */
START_TEST(a_body_over_the_cap_of_json)
{
	static const size_t sizes[] = { BODY_CAP + 1, UPLOAD_CAP };
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		AUTO(answer) a = ANSWER_INIT;
		post_bytes(sizes[i], &a);
		want_error(&a, 413, "too_large");
		WANT_IN(&a, "detail", "MAX_REQUEST_BYTES");
		WANT_IN(&a, "detail", "1000000");
	}
}
END_TEST

START_TEST(a_body_over_the_cap_of_nginx)
{
	AUTO(answer) a = ANSWER_INIT;
	post_bytes(UPLOAD_CAP + 1, &a);
	want_error(&a, 413, "too_large");
	WANT_STR(&a, "detail",
		 "The request body exceeds maximum size: MAX_UPLOAD_MB allows 2 MiB.");
}
END_TEST

START_TEST(a_body_at_the_cap_reaches_the_service)
{
	AUTO(answer) a = ANSWER_INIT;
	post_bytes(BODY_CAP, &a);
	WANT_STATUS(&a, 400);
	WANT_STR(&a, "error.code", "bad_json");
}
END_TEST

/* A connection that promises a body and sends none of it. */
static int begin_upload(const char *length)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)web.port) };
	AUTO_FREE char *head =
		xasprintf("POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n\r\n", length);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_eq(write(fd, head, strlen(head)), (ssize_t)strlen(head));
	return fd;
}

/* A row of bodies: what begins one, how many there may be, and one more. */
static const struct bodies {
	const char *length;
	int most;
	size_t len;
	const char *header;
} body_rows[] = {
	{ "Transfer-Encoding: chunked", LARGE_BODIES, 1, "Transfer-Encoding: chunked" },
	{ "Content-Length: 1000000", MEDIUM_BODIES, 1000000, NULL },
};

static const struct bodies *bodies;

static bool is_refused(void *arg)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body = xmalloc(bodies->len + 1);
	memset(body, 'x', bodies->len);
	body[bodies->len] = '\0';
	front_call(&web, "POST", "/v1/files", body, (const char *const[]){ bodies->header, NULL },
		   &a);
	answer_clear(arg);
	*(struct answer *)arg = a;
	a = (struct answer)ANSWER_INIT;
	return ((struct answer *)arg)->status == 429;
}

/* They lie on the disk until they are whole, so one address gets room for a few. */
START_TEST(bodies_at_a_time)
{
	int fds[MEDIUM_BODIES];
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	bodies = &body_rows[_i];
	for (int i = 0; i < bodies->most - 1; i++)
		fds[i] = begin_upload(bodies->length);
	tool_sleep_ms(300);
	ck_assert(!is_refused(&a));
	fds[bodies->most - 1] = begin_upload(bodies->length);
	ck_assert(tool_until(is_refused, &a, TOOL_WAIT_MS));
	want_error(&a, 429, "too_many_connections");
	WANT(&a, answer_header(&a, "Retry-After"));
	post_bytes(10, &b);
	WANT_STATUS(&b, 400);
	for (int i = 0; i < bodies->most; i++)
		close(fds[i]);
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

/* What nginx itself refuses says what it takes; the service does for its own paths, once too. */
START_TEST(methods_of_pages)
{
	static const char *const rows[][2] = {
		{ "PUT", "/" }, { "POST", "/" }, { "POST", "/style.css" }, { "DELETE", "/app.js" }
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(answer) a = ANSWER_INIT;
		front_call(&web, rows[i][0], rows[i][1], NULL, NULL, &a);
		want_error(&a, 405, "method_not_allowed");
		const char *first = strstr(a.head.buf, "\nAllow: GET, HEAD\n");
		WANT(&a, first && !strstr(first + 1, "\nAllow:"));
	}
}
END_TEST

/* The folder of a container is memory: logs go to the streams, and a body on disk is no news. */
START_TEST(no_log_grows_in_nginxs_folder)
{
	AUTO(strbuf) list = STRBUF(1 << 16);
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *logs = xasprintf("%s/logs", web.dir);
	post_bytes(BODY_CAP, &a);
	WANT_STATUS(&a, 400);
	AUTO_FREE char *id = xstrdup(answer_header(&a, "X-Request-Id"));
	ck_assert(tool_wait_text(web.log, id));
	ck_assert_int_eq(tool_count(web.log, "temporary file"), 0);
	const char *const find[] = { "find", logs, "-type", "f", NULL };
	ck_assert_int_eq(tool_run(find, NULL, &list), 0);
	ck_assert_str_eq(list.len ? list.buf : "", "");
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
	ck_assert_int_eq(directive("belljar_limits.conf", "client_max_body_size ") << 20,
			 UPLOAD_CAP);
}
END_TEST

/* The number that follows a text. */
static long number_after(const char *text, const char *mark)
{
	const char *at = strstr(text, mark);
	ck_assert_msg(at, "there is no \"%s\"", mark);
	return strtol(at + strlen(mark), NULL, 10);
}

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
	ck_assert_int_eq(number_after(table.buf, "`MAX_UPLOAD_MB` | `"),
			 number_after(nginx.buf, "client_max_body_size "));
	ck_assert(strstr(nginx.buf, "client_max_body_size 256m;"));
}
END_TEST

/* The pages: nothing inline, asked for again each time, but not sent again. */
START_TEST(pages)
{
	static const char *const paths[] = { "/", "/style.css", "/app.js", "/favicon.svg" };
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO(answer) b = ANSWER_INIT;
		front_call(&web, "GET", paths[i], NULL, NULL, &a);
		WANT(&a, a.status == 200);
		want_headers(&a);
		const char *policy = answer_header(&a, "Content-Security-Policy");
		WANT(&a, !strstr(policy, "unsafe") && strstr(policy, "frame-ancestors 'none'"));
		const char *cache = answer_header(&a, "Cache-Control");
		WANT(&a, cache && strcmp(cache, "no-cache") == 0);
		AUTO_FREE char *etag = xasprintf("If-None-Match: %s", answer_header(&a, "ETag"));
		front_call(&web, "GET", paths[i], NULL, (const char *const[]){ etag, NULL }, &b);
		WANT(&b, b.status == 304 && b.body.len == 0);
		want_headers(&b);
	}
}
END_TEST

/* What is no page is the service's to answer. */
START_TEST(paths_that_are_no_pages)
{
	static const char *const paths[] = { "/nothing.html", "/conf/nginx.conf", "/.belljar/",
					     "/../nginx.conf" };
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO(answer) a = ANSWER_INIT;
		front_call(&web, "GET", paths[i], NULL, NULL, &a);
		WANT(&a, a.status == 404 || a.status == 400);
		want_error(&a, a.status, a.status == 404 ? "not_found" : "bad_request");
	}
	AUTO(answer) b = ANSWER_INIT;
	front_call(&web, "POST", "/", "{}", NULL, &b);
	want_error(&b, 405, "method_not_allowed");
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
	tcase_add_test(tc, a_body_over_the_cap_of_json);
	tcase_add_test(tc, a_body_over_the_cap_of_nginx);
	tcase_add_loop_test(tc, bodies_at_a_time, 0, ARRAY_SIZE(body_rows));
	tcase_add_test(tc, a_body_at_the_cap_reaches_the_service);
	tcase_add_test(tc, a_dead_worker_is_a_502);
	tcase_add_test(tc, methods);
	tcase_add_test(tc, methods_of_pages);
	tcase_add_test(tc, no_log_grows_in_nginxs_folder);
	tcase_add_test(tc, timeouts_and_caps_fit_the_service);
	tcase_add_test(tc, the_cap_in_the_repository_is_the_services_default);
	tcase_add_test(tc, pages);
	tcase_add_test(tc, paths_that_are_no_pages);
	suite_add_tcase(s, tc);
	return s;
}
