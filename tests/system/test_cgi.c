/*
 * The same binary as a plain CGI program under fcgiwrap, against the keeper of a running service.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/cleanup.h"
#include "support/fcgi.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct service svc;
static pid_t wrap;
static char wrap_socket[200];

static bool is_listening(void *arg UNUSED)
{
	return access(wrap_socket, F_OK) == 0;
}

static void setup(void)
{
	service_up(&svc, NULL);
	snprintf(wrap_socket, sizeof(wrap_socket), "%s/wrap.sock", svc.dir);
	AUTO_FREE char *where = xasprintf("unix:%s", wrap_socket);
	const char *const argv[] = { "fcgiwrap", "-s", where, NULL };
	AUTO_FREE char *log = xasprintf("%s/wrap.log", svc.dir);
	wrap = tool_spawn(&(struct tool_child){ .argv = argv, .log = log });
	cleanup_pid(wrap);
	bool up = tool_until(is_listening, NULL, TOOL_WAIT_MS);
	AUTO_FREE char *said = tool_tail(log, 500);
	ck_assert_msg(up, "fcgiwrap (Debian package fcgiwrap) does not listen: %s", said);
}

static void teardown(void)
{
	(void)tool_stop(wrap, TOOL_WAIT_MS);
	cleanup_forget(wrap);
	service_clear(&svc);
}

/* The settings go the way of a web server's fastcgi_param: fcgiwrap makes them the program's
 * environment. */
static void call(const char *method, const char *path, const char *body, struct answer *out)
{
	const char *params[] = { "SCRIPT_FILENAME",
				 service_binary(),
				 "DOCUMENT_ROOT",
				 "/",
				 "PATH_INFO",
				 path,
				 "RUN_DIR",
				 svc.run_dir,
				 "SERVICE_USER",
				 tool_service_user(),
				 "REQUEST_ID",
				 "cgi0123456789",
				 NULL };
	AUTO_FREE char *uri = xasprintf("/belljar%s", path);
	fcgi_call(wrap_socket,
		  &(struct fcgi_request){ .method = method,
					  .uri = uri,
					  .body = body,
					  .len = body ? strlen(body) : 0,
					  .params = params },
		  out, 120000);
}

START_TEST(a_job)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body = service_body("open('f', 'w').write('some text')\nprint(input())",
					    "\"stdin\":\"hello\"");
	call("POST", "/v1/execute", body, &a);
	WANT_STATUS(&a, 200);
	WANT_STR(&a, "stdout", "hello\n");
	WANT_STR(&a, "files.0.path", "f");
	WANT_STR(&a, "files.0.mime_type", "text/plain");
	ck_assert(service_wait_clean(&svc));
}
END_TEST

START_TEST(health_and_errors)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	AUTO(answer) c = ANSWER_INIT;
	call("GET", "/health", NULL, &a);
	WANT_STATUS(&a, 200);
	WANT_STR(&a, "status", "ok");
	call("GET", "/nothing", NULL, &b);
	WANT_STATUS(&b, 404);
	WANT_STR(&b, "error.code", "not_found");
	call("POST", "/v1/execute", "{", &c);
	WANT_STATUS(&c, 400);
}
END_TEST

/* Arguments that a CGI server takes from the query are no options. */
START_TEST(the_query_is_no_option)
{
	AUTO(strbuf) out = STRBUF(1 << 20);
	AUTO_FREE char *run = xasprintf("RUN_DIR=%s", svc.run_dir);
	AUTO_FREE char *user = xasprintf("SERVICE_USER=%s", tool_service_user());
	const char *const argv[] = { service_binary(), "-T", NULL };
	const char *const env[] = { "GATEWAY_INTERFACE=CGI/1.1",
				    "REQUEST_METHOD=GET",
				    "PATH_INFO=/health",
				    "REQUEST_URI=/health",
				    "QUERY_STRING=-T",
				    run,
				    user,
				    NULL };
	ck_assert_int_eq(tool_run(argv, env, &out), 0);
	ck_assert_msg(strstr(out.buf, "Status: 200") && strstr(out.buf, "\"status\":\"ok\""), "%s",
		      out.buf);
	ck_assert_msg(!strstr(out.buf, "MAX_REQUEST_BYTES"), "%s", out.buf);
}
END_TEST

Suite *suite_cgi(void)
{
	Suite *s = suite_create("cgi");
	TCase *tc = tcase_create("cgi");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_job);
	tcase_add_test(tc, health_and_errors);
	tcase_add_test(tc, the_query_is_no_option);
	suite_add_tcase(s, tc);
	return s;
}
