/*
 * What makes nginx's server a site: the names it answers to (all others get a 421, so that no other
 * site's name can be made to point here), how SERVER_NAMES becomes them, and the
 * Strict-Transport-Security of a site with TLS, which every answer must have, once.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/form.h"
#include "support/front.h"
#include "support/service.h"
#include "support/tool.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HSTS "max-age=31536000"

static struct service svc;
static struct front web;

static void setup(void)
{
	service_up(&svc, NULL);
	front_start(&web, &svc, NULL);
}

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

/* The answer to bytes that libcurl wouldn't send; its head begins with the status line. */
static void raw_call(struct front *f, const char *request, struct answer *out)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)f->port) };
	AUTO(strbuf) text = STRBUF(1 << 20);
	char piece[4096];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	for (ssize_t n; (n = read(fd, piece, sizeof(piece))) > 0;)
		strbuf_add(&text, piece, (size_t)n);
	close(fd);
	ck_assert_msg(text.len > 12 && strncmp(text.buf, "HTTP/1.", 7) == 0, "no HTTP answer");
	answer_parse(out, text.buf, text.len);
	ck_assert_int_eq(sscanf(text.buf, "HTTP/1.%*1[01] %d", &out->status), 1);
}

static void call_as(struct front *f, const char *host, const char *path, struct answer *out)
{
	AUTO_FREE char *header = xasprintf("Host: %s", host);
	front_call(f, "GET", path, NULL, (const char *const[]){ header, NULL }, out);
}

static void want_unknown(const struct answer *a)
{
	WANT_STATUS(a, 421);
	WANT_STR(a, "error.code", "unknown_host");
	WANT_IN(a, "error.message", "Host");
	WANT_IN(a, "error.hint", "SERVER_NAMES");
	WANT_STR(a, "detail", answer_str(a, "error.message"));
	WANT(a, strncmp(answer_header(a, "Content-Type"), "application/json", 16) == 0);
	WANT(a, strlen(answer_header(a, "X-Request-Id")) == 32);
	WANT(a, strcmp(answer_header(a, "X-Content-Type-Options"), "nosniff") == 0);
}

START_TEST(names_of_this_machine)
{
	static const char *const names[] = { "localhost", "LOCALHOST", "localhost.", "127.0.0.1",
					     "[::1]" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO(answer) b = ANSWER_INIT;
		AUTO_FREE char *port = xasprintf("%s:%d", names[i], web.port);
		call_as(&web, names[i], "/health", &a);
		WANT_STATUS(&a, 200);
		call_as(&web, port, "/health", &b);
		WANT_STATUS(&b, 200);
	}
}
END_TEST

/* Pages, the service's paths and nginx's own alike. */
START_TEST(names_of_others)
{
	static const char *const names[] = {
		"rebound.example",
		"rebound.example:8000",
		"localhost.rebound.example",
		"127.0.0.1.rebound.test",
		"127.0.0.2",
		"_",
		"xlocalhost",
		"[::2]",
	};
	static const char *const paths[] = { "/", "/style.css", "/health", "/v1/files" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t j = 0; j < ARRAY_SIZE(paths); j++) {
			AUTO(answer) a = ANSWER_INIT;
			call_as(&web, names[i], paths[j], &a);
			want_unknown(&a);
		}
}
END_TEST

START_TEST(no_program_of_others)
{
	AUTO(answer) a = ANSWER_INIT;
	front_call(&web, "POST", "/v1/execute", "{\"code\":\"print(1)\"}",
		   (const char *const[]){ "Host: rebound.example", NULL }, &a);
	want_unknown(&a);
}
END_TEST

/* The address line goes before Host, and HTTP/1.0 needs none. */
START_TEST(names_elsewhere)
{
	AUTO(answer) none = ANSWER_INIT;
	AUTO(answer) line = ANSWER_INIT;
	AUTO(answer) bad = ANSWER_INIT;
	raw_call(&web, "GET /health HTTP/1.0\r\n\r\n", &none);
	want_unknown(&none);
	raw_call(&web,
		 "GET http://rebound.example/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		 "Connection: close\r\n\r\n",
		 &line);
	want_unknown(&line);
	raw_call(&web, "GET /health HTTP/1.1\r\n\r\n", &bad);
	WANT_STATUS(&bad, 400);
	WANT_STR(&bad, "error.code", "bad_request");
}
END_TEST

/* Starts a second nginx with one more setting. */
static void start_other(struct front *f, const char *name, const char *setting)
{
	AUTO_FREE char *dir = xasprintf("NGINX_DIR=%s/%s", svc.dir, name);
	front_start(f, &svc, (const char *const[]){ dir, setting, NULL });
}

START_TEST(names_of_the_operator)
{
	static const struct {
		const char *name;
		int status;
	} rows[] = { { "box.example", 200 },  { "a.pool.example", 200 }, { "127.0.0.1", 200 },
		     { "localhost", 421 },    { "pool.example", 421 },	 { "[::1]", 421 },
		     { "x.box.example", 421 } };
	struct front other;
	start_other(&other, "named", "SERVER_NAMES=box.example *.pool.example");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(answer) a = ANSWER_INIT;
		call_as(&other, rows[i].name, "/health", &a);
		WANT_STATUS(&a, rows[i].status);
	}
	front_stop(&other);
}
END_TEST

static const char *const any_rows[] = { "SERVER_NAMES=_", "HOST=0.0.0.0" };

START_TEST(any_name)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) none = ANSWER_INIT;
	AUTO_FREE char *name = xasprintf("any-%d", _i);
	struct front other;
	start_other(&other, name, any_rows[_i]);
	call_as(&other, "whatever.example", "/health", &a);
	WANT_STATUS(&a, 200);
	raw_call(&other, "GET /health HTTP/1.0\r\n\r\n", &none);
	WANT_STATUS(&none, 200);
	front_stop(&other);
}
END_TEST

static const char *const bad_names[] = {
	"a;b", "a{", "}", "~^.*$", "\"a\"", "a'b", "$host", "a\\b", "a#b", "a&b", "a/b", "a\nb",
};

START_TEST(names_that_nginx_cannot_hold)
{
	AUTO(strbuf) said = STRBUF(1 << 16);
	AUTO_FREE char *script = xasprintf("%s/src/ops/nginx.sh", tool_root_dir());
	AUTO_FREE char *names = xasprintf("SERVER_NAMES=%s", bad_names[_i]);
	AUTO_FREE char *dir = xasprintf("NGINX_DIR=%s/refused", svc.dir);
	const char *const argv[] = { "sh", script, "render", NULL };
	const char *const env[] = { dir, names, NULL };
	ck_assert_int_eq(tool_run(argv, env, &said), 1);
	ck_assert_msg(strstr(said.buf, "SERVER_NAMES"), "it said: %s", said.buf);
}
END_TEST

/* nginx's files as a site with TLS has them: its server block sets the value. */
static char *source_with_hsts(void)
{
	char *dir = tool_new_dir("hsts");
	AUTO(strbuf) said = STRBUF(1 << 16);
	AUTO_FREE char *command = xasprintf("cp %s/nginx/*.conf %s/ && grep -h 'set .belljar_hsts' "
					    "%s/nginx/tls.sample.conf >>%s/belljar_limits.conf",
					    tool_root_dir(), dir, tool_root_dir(), dir);
	const char *const argv[] = { "sh", "-c", command, NULL };
	ck_assert_msg(tool_run(argv, NULL, &said) == 0, "%s", said.buf);
	return dir;
}

/* value NULL: there must be none. */
static void want_hsts(const struct answer *a, int status, const char *value)
{
	const char *mark = "\nStrict-Transport-Security: ";
	const char *first = strstr(a->head.buf, mark);
	WANT(a, a->status == status);
	WANT(a, (first != NULL) == (value != NULL));
	if (first)
		WANT(a, strncmp(first + strlen(mark), value, strlen(value)) == 0 &&
				!strstr(first + 1, mark));
}

/* Of every kind of location that has headers of its own. */
static void want_hsts_everywhere(struct front *f, const char *value)
{
	AUTO(answer) up = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	form_file(&body, "file", "a.txt", "text/plain", "abc", 3);
	form_end(&body);
	front_call(f, "POST", "/v1/files", body.buf,
		   (const char *const[]){ "Content-Type: " FORM_TYPE, NULL }, &up);
	want_hsts(&up, 201, value);
	AUTO_FREE char *file = xasprintf("/v1/files/%s", answer_str(&up, "file_id"));
	const struct {
		const char *method, *path, *header;
		int status;
	} rows[] = {
		{ "GET", "/", NULL, 200 },
		{ "GET", "/health", NULL, 200 },
		{ "GET", "/v1/nothing", NULL, 404 },
		{ "GET", "/.belljar/404", NULL, 404 },
		{ "PUT", "/style.css", NULL, 405 },
		{ "GET", "/health", "Host: rebound.example", 421 },
		{ "GET", file, NULL, 200 },
		{ "GET", file, "Range: bytes=1-1", 206 },
		{ "GET", file, "Range: bytes=9-", 416 },
		{ "GET", file, "If-Match: \"x\"", 412 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(answer) a = ANSWER_INIT;
		front_call(f, rows[i].method, rows[i].path, NULL,
			   (const char *const[]){ rows[i].header, NULL }, &a);
		want_hsts(&a, rows[i].status, value);
	}
}

START_TEST(strict_transport)
{
	AUTO_FREE char *dir = source_with_hsts();
	AUTO_FREE char *source = xasprintf("NGINX_SOURCE=%s", dir);
	struct front other;
	start_other(&other, "strict", source);
	want_hsts_everywhere(&other, HSTS);
	front_stop(&other);
	want_hsts_everywhere(&web, NULL);
}
END_TEST

Suite *suite_site(void)
{
	Suite *s = suite_create("site");
	TCase *tc = tcase_create("site");
	tcase_set_timeout(tc, 120);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, names_of_this_machine);
	tcase_add_test(tc, names_of_others);
	tcase_add_test(tc, no_program_of_others);
	tcase_add_test(tc, names_elsewhere);
	tcase_add_test(tc, names_of_the_operator);
	tcase_add_loop_test(tc, any_name, 0, ARRAY_SIZE(any_rows));
	tcase_add_loop_test(tc, names_that_nginx_cannot_hold, 0, ARRAY_SIZE(bad_names));
	tcase_add_test(tc, strict_transport);
	suite_add_tcase(s, tc);
	return s;
}
