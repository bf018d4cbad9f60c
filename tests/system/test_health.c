/*
 * /health, /ready and /v1/docker/status say in words what is wrong and how to mend it: no engine,
 * no permission, not an engine, no image. Jobs fail then with a 503 and a hint.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "docker/info.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct service svc;

static void teardown(void)
{
	service_clear(&svc);
}

static void start_with(const char *setting)
{
	service_prepare(&svc, (const char *const[]){ setting, NULL });
	service_start(&svc, false);
}

/* All three answers of a service that can't run jobs. */
static void want_ill(const char *message, const char *fix, const char *code)
{
	AUTO(answer) health = ANSWER_INIT;
	AUTO(answer) status = ANSWER_INIT;
	AUTO(answer) ready = ANSWER_INIT;
	AUTO(answer) job = ANSWER_INIT;
	service_call(&svc, "GET", "/health", NULL, &health);
	WANT_STATUS(&health, 200);
	WANT_STR(&health, "status", "error");
	WANT_IN(&health, "message", message);
	service_call(&svc, "GET", "/v1/docker/status", NULL, &status);
	WANT_STATUS(&status, 200);
	WANT_IN(&status, "problem", message);
	WANT_IN(&status, "fix", fix);
	service_call(&svc, "GET", "/ready", NULL, &ready);
	WANT_STATUS(&ready, 503);
	service_try(&svc, "print(1)", NULL, &job);
	WANT_STATUS(&job, 503);
	WANT_STR(&job, "error.code", code);
	WANT(&job, strlen(answer_str(&job, "error.hint")) > 0);
}

START_TEST(all_is_well)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	AUTO(answer) c = ANSWER_INIT;
	service_up(&svc, NULL);
	service_call(&svc, "GET", "/health", NULL, &a);
	WANT_STR(&a, "status", "ok");
	WANT_NULL(&a, "message");
	WANT_STR(&a, "version", "0.4.4");
	service_call(&svc, "GET", "/v1/docker/status", NULL, &b);
	static const char *const yes[] = { "installed", "running", "image_exists", "limits_ok" };
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		WANT_BOOL(&b, yes[i], true);
	WANT_STR(&b, "image", dock_image());
	WANT_NULL(&b, "problem");
	WANT_NULL(&b, "fix");
	static const char *const words[] = { "engine",	"engine_version", "api_version",
					     "runtime", "cgroup",	  "os" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		WANT(&b, strlen(answer_str(&b, words[i])) > 0);
	service_call(&svc, "GET", "/ready", NULL, &c);
	WANT_STATUS(&c, 200);
	AUTO(answer) d = ANSWER_INIT;
	service_call(&svc, "GET", "/api/tools/docker/status", NULL, &d);
	WANT_BOOL(&d, "running", true);
}
END_TEST

START_TEST(no_engine)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *host = xasprintf("DOCKER_HOST=unix://%s/no.sock", tool_temp_dir());
	start_with(host);
	want_ill("Docker daemon not reachable", "DOCKER_HOST", "engine_unavailable");
	service_try(&svc, "print(1)", NULL, &a);
	WANT(&a, answer_header(&a, "Retry-After"));
	WANT_RANGE(&a, "error.retry_after_s", 1, 3600);
}
END_TEST

START_TEST(no_engine_is_told_as_fields)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *host = xasprintf("DOCKER_HOST=unix://%s/no.sock", tool_temp_dir());
	start_with(host);
	service_call(&svc, "GET", "/v1/docker/status", NULL, &a);
	WANT_BOOL(&a, "installed", false);
	WANT_BOOL(&a, "running", false);
	WANT_BOOL(&a, "image_exists", false);
}
END_TEST

/* Nobody listens on that port any more. */
START_TEST(no_engine_over_tcp)
{
	AUTO_FREE char *host = xasprintf("DOCKER_HOST=tcp://127.0.0.1:%d", tool_free_port());
	start_with(host);
	want_ill("Docker daemon not reachable", "DOCKER_HOST", "engine_unavailable");
}
END_TEST

START_TEST(no_image)
{
	start_with("PYTHON_IMAGE=belljar-test-missing:none");
	want_ill("not available locally", "make images", "image_missing");
}
END_TEST

/* A server that is no engine: the service's own FastCGI socket. */
START_TEST(something_else_listens)
{
	AUTO(answer) a = ANSWER_INIT;
	service_prepare(&svc, NULL);
	AUTO_FREE char *host = xasprintf("DOCKER_HOST=unix://%s", svc.fcgi);
	service_set(&svc, host);
	service_start(&svc, false);
	service_call(&svc, "GET", "/health", NULL, &a);
	WANT_STR(&a, "status", "error");
	WANT_IN(&a, "message", "Docker daemon");
}
END_TEST

/* The service itself starts as root, whom no socket refuses; the look at the engine is therefore
 * asked as the unprivileged user. */
START_TEST(no_permission)
{
	struct stat st;
	const char *path = dock_socket();
	if (!path || stat(path, &st) != 0 || (st.st_mode & 0006))
		return; /* an engine that lets everybody in, or none to ask */
	const struct passwd *pw = getpwnam("nobody");
	AUTO_FREE char *host = xasprintf("unix://%s", path);
	struct lease_status status;
	ck_assert(setgroups(0, NULL) == 0 && setegid(pw->pw_gid) == 0 && seteuid(pw->pw_uid) == 0);
	info_status(host, dock_image(), "", clock_ms() + TOOL_WAIT_MS, &status);
	ck_assert(seteuid(0) == 0);
	ck_assert_msg(strstr(status.problem, "no permission"), "problem: %s", status.problem);
	ck_assert_msg(strstr(status.fix, "group"), "fix: %s", status.fix);
	ck_assert(status.installed && !status.running);
}
END_TEST

Suite *suite_health(void)
{
	Suite *s = suite_create("health");
	TCase *tc = tcase_create("health");
	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, all_is_well);
	tcase_add_test(tc, no_engine);
	tcase_add_test(tc, no_engine_is_told_as_fields);
	tcase_add_test(tc, no_engine_over_tcp);
	tcase_add_test(tc, no_image);
	tcase_add_test(tc, something_else_listens);
	tcase_add_test(tc, no_permission);
	suite_add_tcase(s, tc);
	return s;
}
