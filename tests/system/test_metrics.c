/*
 * GET /metrics against the real service: known traffic shows in the right counts and in no other,
 * counts outlive the process that had them, and it answers whatever else is dead. Each answer is
 * read strictly (support/prom.h).
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/form.h"
#include "support/front.h"
#include "support/prom.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct service svc;
static struct front web;
static struct prom before, now;

static void teardown(void)
{
	prom_clear(&before);
	prom_clear(&now);
	front_stop(&web);
	service_clear(&svc);
}

static void scrape(struct prom *out)
{
	AUTO(answer) a = ANSWER_INIT;
	service_call(&svc, "GET", "/metrics", NULL, &a);
	WANT(&a, a.status == 200);
	ck_assert_str_eq(answer_header(&a, "Content-Type"),
			 "text/plain; version=0.0.4; charset=utf-8");
	prom_clear(out);
	prom_parse(out, a.body.buf);
}

/* What is waited for: a series that has at least (or, exact, just) that value. */
struct wish {
	const char *series;
	double value;
	bool exact;
};

static bool is_true(void *arg)
{
	const struct wish *w = arg;
	scrape(&now);
	double value = prom_get(&now, w->series);
	return w->exact ? value >= w->value && value <= w->value : value >= w->value;
}

static void wait_for(const char *series, double value, bool exact)
{
	struct wish w = { series, value, exact };
	ck_assert_msg(tool_until(is_true, &w, TOOL_WAIT_MS), "%s is %f, not %f", series,
		      prom_get(&now, series), value);
}

/* Growth from `before` to `now`. */
static double grown(const char *series)
{
	return prom_get(&now, series) - prom_get(&before, series);
}

static double grown_all(const char *prefix)
{
	return prom_sum(&now, prefix) - prom_sum(&before, prefix);
}

#define JOBS "belljar_jobs_total{language=\"python\",status=\""
#define REFUSED "belljar_job_rejections_total{cause=\""
#define UPLOADS "belljar_upload_rejections_total{cause=\""
#define REQUESTS(route, class) "belljar_requests_total{route=\"" route "\",class=\"" class "\"}"
#define STAGE(part, stage) "belljar_job_stage_seconds_" part "{stage=\"" stage "\"}"
#define STEPS(step) "belljar_container_seconds_count{step=\"" step "\"}"
#define TAKES(result) "belljar_pool_takes_total{result=\"" result "\"}"
#define WARM "belljar_pool_containers{state=\"warm\"}"

static size_t bytes_sent;

static void job(const char *code, const char *more, int status)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *body = service_body(code, more);
	bytes_sent += strlen(body);
	service_call(&svc, "POST", "/v1/execute", body, &a);
	WANT_STATUS(&a, status);
}

/* A file of that size; cut: without the end of the form. */
static void upload(const char *name, size_t size, bool cut, int status)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(4 << 20);
	AUTO_FREE char *data = xcalloc(size, 1);
	form_file(&body, "file", name, "text/plain", data, size);
	if (!cut)
		form_end(&body);
	const struct fcgi_request r = {
		.uri = "/v1/files", .type = FORM_TYPE, .body = body.buf, .len = body.len
	};
	fcgi_call(svc.fcgi, &r, &a, 60000);
	WANT_STATUS(&a, status);
}

static void wrong_type(const char *uri)
{
	AUTO(answer) a = ANSWER_INIT;
	const struct fcgi_request r = { .uri = uri, .type = "text/x-c", .body = "x", .len = 1 };
	fcgi_call(svc.fcgi, &r, &a, 60000);
	WANT_STATUS(&a, 415);
}

static void call(const char *uri, int status)
{
	AUTO(answer) a = ANSWER_INIT;
	service_call(&svc, "GET", uri, NULL, &a);
	WANT(&a, a.status == status);
}

START_TEST(jobs_by_their_end)
{
	service_up(&svc, NULL);
	scrape(&before);
	bytes_sent = 0;
	job("print('x' * 5000)", NULL, 200);
	job("print('again')", NULL, 200);
	job("raise SystemExit(3)", NULL, 200);
	job("import time; time.sleep(60)", "\"timeout_ms\":1300", 200);
	job("import os; os.kill(os.getpid(), 9)", NULL, 200);
	job("1", "\"limits\":{\"memory_mb\":1}", 422);
	job("1", "\"timeout_ms\":\"soon\"", 422);
	scrape(&now);
	ck_assert_double_eq(grown(JOBS "ok\"}"), 2);
	ck_assert_double_eq(grown(JOBS "error\"}"), 1);
	ck_assert_double_eq(grown(JOBS "timeout\"}"), 1);
	ck_assert_double_eq(grown(JOBS "signaled\"}"), 1);
	ck_assert_double_eq(grown_all("belljar_jobs_total"), 5);
	ck_assert_double_eq(grown(REFUSED "invalid_field\"}"), 2);
	ck_assert_double_eq(grown_all("belljar_job_rejections_total"), 2);
	ck_assert_double_eq(grown(REQUESTS("/v1/execute", "2xx")), 5);
	ck_assert_double_eq(grown(REQUESTS("/v1/execute", "4xx")), 2);
	ck_assert_double_eq(grown("belljar_request_bytes_total"), (double)bytes_sent);
	ck_assert_double_gt(grown("belljar_response_bytes_total"), 5000 + 7 * 200);
	ck_assert_double_eq(grown(STAGE("count", "run")), 5);
	ck_assert_double_eq(grown(STAGE("count", "collect")), 5);
	ck_assert_double_eq(grown(STAGE("count", "start")), 5);
	ck_assert_double_eq(grown(STAGE("count", "queue")), 5);
	ck_assert_double_gt(grown(STAGE("sum", "run")), 1.2);
	ck_assert_double_gt(grown(STAGE("sum", "start")), 0.01);
	ck_assert_double_ge(grown("belljar_job_stage_seconds_bucket{stage=\"run\",le=\"1\"}"), 3);
	ck_assert_double_eq(grown_all("belljar_upload_rejections_total"), 0);
	ck_assert_double_eq(grown_all("belljar_engine_errors_total"), 0);
	ck_assert_double_eq(grown_all("belljar_role_restarts_total"), 0);
}
END_TEST

START_TEST(uploads_and_other_routes)
{
	service_up(&svc, (const char *const[]){ "MAX_FILE_SIZE_MB=1", "UPLOAD_DENY=image/*",
						"FILES_QUOTA_MB=2", NULL });
	scrape(&before);
	upload("a.txt", 1000, false, 201);
	upload("b.txt", (1 << 20) + 1, false, 413);
	upload("c.txt", 1 << 20, false, 201);
	upload("c.txt", 1 << 20, false, 507);
	upload("d.txt", 10, true, 400);
	upload("bad\x01name", 10, false, 400);
	wrong_type("/v1/files");
	wrong_type("/v1/execute");
	call("/v1/files", 200);
	call("/v1/files/00000000-0000-4000-8000-000000000000", 404);
	call("/v1/files/", 307);
	call("/no/such/path", 404);
	call("/v1/execute", 405);
	scrape(&now);
	ck_assert_double_eq(grown(UPLOADS "too_large\"}"), 1);
	ck_assert_double_eq(grown(UPLOADS "store_full\"}"), 1);
	ck_assert_double_eq(grown(UPLOADS "bad_multipart\"}"), 1);
	ck_assert_double_eq(grown(UPLOADS "bad_file_name\"}"), 1);
	ck_assert_double_eq(grown(UPLOADS "unsupported_media_type\"}"), 1);
	ck_assert_double_eq(grown_all("belljar_upload_rejections_total"), 5);
	ck_assert_double_eq(grown(REQUESTS("/v1/files", "2xx")), 3);
	ck_assert_double_eq(grown(REQUESTS("/v1/files", "4xx")), 4);
	ck_assert_double_eq(grown(REQUESTS("/v1/files", "5xx")), 1);
	ck_assert_double_eq(grown(REQUESTS("/v1/files/{id}", "4xx")), 1);
	ck_assert_double_eq(grown(REQUESTS("other", "3xx")), 1);
	ck_assert_double_eq(grown(REQUESTS("other", "4xx")), 2);
	ck_assert_double_eq(grown(REQUESTS("/metrics", "2xx")), 1); /* the first, not this one */
	ck_assert_double_eq(grown("belljar_stored_files"), 2);
	ck_assert_double_eq(grown("belljar_stored_bytes"), 1000 + (1 << 20));
	ck_assert_double_eq(grown(REFUSED "unsupported_media_type\"}"), 1);
	ck_assert_double_eq(grown_all("belljar_job_rejections_total"), 1);
}
END_TEST

/* One worker: what it has counted is in its row when it dies, and the next one goes on there. */
START_TEST(counts_outlive_their_worker)
{
	service_up(&svc, (const char *const[]){ "WORKERS=1", NULL });
	job("print(1)", NULL, 200);
	job("1", "\"timeout_ms\":0", 422);
	scrape(&before);
	ck_assert_double_eq(prom_get(&before, JOBS "ok\"}"), 1);
	ck_assert_double_eq(prom_get(&before, "belljar_processes{role=\"worker\"}"), 1);
	pid_t worker = service_one(&svc, "worker");
	ck_assert_int_eq(kill(worker, SIGKILL), 0);
	ck_assert(service_wait_role(&svc, "worker", 1, worker));
	scrape(&now);
	ck_assert_double_eq(grown("belljar_role_restarts_total{role=\"worker\"}"), 1);
	ck_assert_double_eq(grown_all("belljar_role_restarts_total"), 1);
	ck_assert_double_eq(prom_get(&now, "belljar_processes{role=\"worker\"}"), 1);
	ck_assert_double_eq(grown_all("belljar_jobs_total"), 0);
	ck_assert_double_eq(grown_all("belljar_job_rejections_total"), 0);
	ck_assert_double_eq(grown_all("belljar_job_stage_seconds"), 0);
	job("print(1)", NULL, 200);
	scrape(&now);
	ck_assert_double_eq(prom_get(&now, JOBS "ok\"}"), 2);
}
END_TEST

/* Reloaded workers end and are replaced: nothing died, and nothing is lost. */
START_TEST(counts_outlive_a_reload)
{
	service_up(&svc, NULL);
	job("print(1)", NULL, 200);
	scrape(&before);
	pid_t worker = service_one(&svc, "worker");
	ck_assert_int_eq(kill(svc.pid, SIGHUP), 0);
	ck_assert(ps_wait_gone(worker));
	job("print(1)", NULL, 200);
	wait_for("belljar_processes{role=\"worker\"}",
		 prom_get(&before, "belljar_processes{role=\"worker\"}"), true);
	ck_assert_double_eq(grown(JOBS "ok\"}"), 1);
	ck_assert_double_eq(grown_all("belljar_role_restarts_total"), 0);
}
END_TEST

START_TEST(answers_without_a_keeper)
{
	service_up(&svc, (const char *const[]){ "POOL_SIZE=1", NULL });
	job("print(1)", NULL, 200);
	wait_for(WARM, 1, true);
	scrape(&before);
	pid_t keeper = service_one(&svc, "keeper");
	ck_assert_int_eq(kill(keeper, SIGSTOP), 0);
	int64_t begin = clock_ms();
	scrape(&now);
	ck_assert_int_lt(clock_ms() - begin, 1000);
	ck_assert_int_eq(kill(keeper, SIGKILL), 0);
	wait_for("belljar_role_restarts_total{role=\"keeper\"}", 1, true);
	ck_assert_double_eq(grown(JOBS "ok\"}"), 0);
	ck_assert_double_ge(grown_all("belljar_container_seconds_count"), 0);
	ck_assert_double_eq(grown("belljar_leaked_containers_total"), 0);
	wait_for(WARM, 1, true);
	job("print(1)", NULL, 200);
}
END_TEST

START_TEST(running_queued_busy_and_left)
{
	struct fcgi first, second;
	AUTO(answer) a = ANSWER_INIT;
	service_up(&svc, (const char *const[]){ "MAX_CONCURRENT_JOBS=1", "QUEUE_LENGTH=1", NULL });
	scrape(&before);
	ck_assert_double_eq(prom_get(&before, "belljar_job_slots"), 1);
	service_begin(&svc, "import time; time.sleep(60)", NULL, &first);
	wait_for("belljar_jobs_running", 1, true);
	service_begin(&svc, "print(2)", NULL, &second);
	wait_for("belljar_jobs_queued", 1, true);
	ck_assert_double_eq(prom_get(&now, "belljar_jobs_running"), 1);
	job("print(3)", NULL, 503);
	tool_sleep_ms(500);
	fcgi_drop(&first);
	fcgi_finish(&second, &a, 60000);
	WANT_STATUS(&a, 200);
	wait_for("belljar_jobs_running", 0, true);
	ck_assert_double_eq(grown(JOBS "ok\"}"), 1);
	ck_assert_double_eq(grown(JOBS "cancelled\"}") + grown(REFUSED "client_gone\"}"), 1);
	ck_assert_double_eq(grown(REFUSED "busy\"}"), 1);
	ck_assert_double_gt(grown(STAGE("sum", "queue")), 0.4);
}
END_TEST

START_TEST(pool_and_containers)
{
	service_up(&svc, (const char *const[]){ "POOL_SIZE=2", NULL });
	wait_for(WARM, 2, true);
	scrape(&before);
	tool_sleep_ms(50);
	ck_assert_double_ge(prom_get(&before, STEPS("create")), 2);
	ck_assert_double_ge(prom_get(&before, STEPS("start")), 2);
	scrape(&now);
	ck_assert_double_gt(prom_get(&now, "belljar_pool_oldest_seconds"), 0.04);
	job("print(1)", NULL, 200);
	scrape(&now);
	ck_assert_double_eq(grown(TAKES("hit")), 1);
	ck_assert_double_eq(grown(TAKES("miss")), 0);
	wait_for(WARM, 2, true);
	job("print(1)", "\"limits\":{\"memory_mb\":300,\"disk_mb\":20}", 200);
	scrape(&now);
	ck_assert_double_eq(grown(TAKES("hit")), 1);
	ck_assert_double_eq(grown(TAKES("miss")), 1);
	wait_for(STEPS("remove"), prom_get(&before, STEPS("remove")) + 2, false);
	ck_assert_double_gt(prom_sum(&now, "belljar_container_seconds_sum{step=\"create\"}"),
			    0.005);
}
END_TEST

START_TEST(a_warm_container_that_dies)
{
	char id[DOCK_ID];
	service_up(&svc, (const char *const[]){ "POOL_SIZE=1", NULL });
	wait_for(WARM, 1, true);
	ck_assert(dock_wait_one(svc.instance, id));
	dock_remove(id);
	wait_for("belljar_pool_lost_total", 1, true);
	wait_for(WARM, 1, true);
}
END_TEST

START_TEST(leaked_containers)
{
	char id[DOCK_ID];
	service_up(&svc, NULL);
	job("print(1)", NULL, 200);
	ck_assert(service_wait_clean(&svc));
	ck_assert(dock_run(svc.instance, "[\"sleep\",\"300\"]", id));
	ck_assert_int_eq(kill(svc.pid, SIGHUP), 0); /* the keeper looks at once */
	wait_for("belljar_leaked_containers_total", 1, true);
	ck_assert(service_wait_clean(&svc));
}
END_TEST

START_TEST(engine_errors)
{
	AUTO_FREE char *host = xasprintf("DOCKER_HOST=unix://%s/no.sock", tool_temp_dir());
	service_prepare(&svc, (const char *const[]){ host, NULL });
	service_start(&svc, false);
	wait_for("belljar_engine_errors_total{task=\"setup\"}", 2, false);
	scrape(&before);
	job("print(1)", NULL, 503);
	scrape(&now);
	ck_assert_double_eq(grown(REFUSED "engine_unavailable\"}"), 1);
	ck_assert_double_eq(grown_all("belljar_jobs_total"), 0);
}
END_TEST

START_TEST(nginx_lets_only_this_machine)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) other = STRBUF(1 << 20);
	service_up(&svc, NULL);
	front_start(&web, &svc, NULL);
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/metrics", web.port);
	const char *const curl[] = { "curl",	    "-si",	 "--noproxy", "*",
				     "--interface", "127.0.0.2", url,	      NULL };
	front_call(&web, "GET", "/metrics", NULL, NULL, &a);
	WANT(&a, a.status == 200);
	prom_parse(&now, a.body.buf);
	ck_assert_int_eq(tool_run(curl, NULL, &other), 0);
	ck_assert_msg(strstr(other.buf, " 403 ") != NULL, "%s", other.buf);
	ck_assert_msg(strstr(other.buf, "\"code\": \"forbidden\"") != NULL, "%s", other.buf);
	ck_assert_msg(strstr(other.buf, "X-Content-Type-Options: nosniff") != NULL, "%s",
		      other.buf);
	ck_assert_ptr_null(strstr(other.buf, "belljar_"));
}
END_TEST

Suite *suite_metrics(void)
{
	Suite *s = suite_create("metrics");
	TCase *tc = tcase_create("metrics");
	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, jobs_by_their_end);
	tcase_add_test(tc, uploads_and_other_routes);
	tcase_add_test(tc, counts_outlive_their_worker);
	tcase_add_test(tc, counts_outlive_a_reload);
	tcase_add_test(tc, answers_without_a_keeper);
	tcase_add_test(tc, running_queued_busy_and_left);
	tcase_add_test(tc, pool_and_containers);
	tcase_add_test(tc, a_warm_container_that_dies);
	tcase_add_test(tc, leaked_containers);
	tcase_add_test(tc, engine_errors);
	tcase_add_test(tc, nginx_lets_only_this_machine);
	suite_add_tcase(s, tc);
	return s;
}
