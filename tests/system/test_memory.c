/*
 * What the service costs in memory: while nothing runs (sixteen workers that have served, and all
 * other roles, below 40 MiB together, each page counted once), after large answers, and while files
 * of 100 MB pass through. Nothing of that is asked of a build with sanitizers, which multiply it.
 */
#include "base/alloc.h"
#include "base/base.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/form.h"
#include "support/front.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"
#include "uploads.h"
#include "wire/sha256.h"

#include <check.h>
#include <string.h>

#define WORKERS 16
#define MOST_KIB (40 * 1024)
#define LARGE_BYTES 100000000
#define UPLOAD_KIB (4 * 1024) /* what a worker may need for an upload of any size */
#define JOB_KIB (8 * 1024)    /* what any role may need for files of any size */
#define CALL_MS 120000

static struct service svc;
static struct front web;

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

#ifndef __SANITIZE_ADDRESS__
/* Sanitizers multiply memory: nothing to measure in that build. */
START_TEST(idle_roles_are_small)
{
	pid_t all[PS_MAX];
	AUTO(answer) a = ANSWER_INIT;
	service_up(&svc, (const char *const[]){ "WORKERS=16", NULL });
	ck_assert(service_wait_role(&svc, "worker", WORKERS, 0));
	service_execute(&svc, "open('f', 'w').write('x')\nprint('hello')", NULL, &a);
	ck_assert(service_wait_clean(&svc));
	for (int i = 0; i < 4 * WORKERS; i++) {
		AUTO(answer) h = ANSWER_INIT;
		service_call(&svc, "GET", "/health", NULL, &h);
		WANT_STATUS(&h, 200);
	}
	size_t n = ps_tree(svc.pid, all, PS_MAX);
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += ps_pss_kb(all[i]);
	ck_assert_uint_ge(n, WORKERS + 3);
	ck_assert_int_gt(sum, 0);
	ck_assert_msg(sum < MOST_KIB, "%zu processes use %ld KiB", n, (long)sum);
}
END_TEST
#endif

/* A worker that has made a large answer gives the memory back. */
START_TEST(large_jobs_leave_nothing)
{
	pid_t all[PS_MAX];
	AUTO(answer) first = ANSWER_INIT;
	service_up(&svc, (const char *const[]){ "WORKERS=1", NULL });
	/* Its first file makes a worker map the database of file types, which stays. */
	service_execute(&svc, "open('f', 'w').write('some text')", NULL, &first);
	ck_assert(service_wait_clean(&svc));
	size_t n = ps_tree(svc.pid, all, PS_MAX);
	int64_t before = 0, after = 0;
	for (size_t i = 0; i < n; i++)
		before += ps_rss_kb(all[i]);
	for (int i = 0; i < 5; i++) {
		AUTO(answer) a = ANSWER_INIT;
		service_execute(&svc,
				"open('f', 'wb').write(b'x' * (10 << 20))\nprint('x' * (1 << 20))",
				NULL, &a);
		WANT_STR(&a, "status", "ok");
	}
	ck_assert(service_wait_clean(&svc));
	n = ps_tree(svc.pid, all, PS_MAX);
	for (size_t i = 0; i < n; i++)
		after += ps_rss_kb(all[i]);
#ifndef __SANITIZE_ADDRESS__
	ck_assert_msg(after - before < 5 * 1024, "grown from %ld to %ld KiB", (long)before,
		      (long)after);
#endif
}
END_TEST

#ifndef __SANITIZE_ADDRESS__
static void one_worker(void)
{
	service_up(&svc, (const char *const[]){ "WORKERS=1", NULL });
	front_start(&web, &svc, NULL);
}

/* LARGE_BYTES of content into the store through nginx. */
static void upload_large(const struct strbuf *content, struct answer *out)
{
	AUTO(strbuf) body = STRBUF(LARGE_BYTES + 4096);
	form_file(&body, "file", "large.bin", "application/octet-stream", content->buf,
		  content->len);
	uploads_send(&web, &body, out);
	WANT_STATUS(out, 201);
	WANT_INT(out, "size_bytes", LARGE_BYTES);
}

START_TEST(a_large_upload_passes_through)
{
	AUTO(strbuf) content = STRBUF(LARGE_BYTES);
	AUTO(answer) small = ANSWER_INIT;
	AUTO(answer) large = ANSWER_INIT;
	one_worker();
	/* Makes the worker map the database of file types, which stays. */
	uploads_fill(&web, "small.bin", 10000, 1, &small);
	WANT_STATUS(&small, 201);
	uploads_bytes(&content, LARGE_BYTES, 2);
	pid_t worker = service_one(&svc, "worker");
	int64_t before = ps_rss_kb(worker);
	ck_assert(ps_forget_peak(worker));
	upload_large(&content, &large);
	int64_t peak = ps_peak_kb(worker);
	ck_assert_int_gt(before, 0);
	ck_assert_int_ge(peak, before);
	ck_assert_msg(peak - before < UPLOAD_KIB, "grown from %ld to %ld KiB", (long)before,
		      (long)peak);
	/* It was this one that wrote the file. */
	ck_assert_int_ge(ps_written(worker), LARGE_BYTES);
}
END_TEST

/* The processes of the service and the guest while a job runs. */
struct seen {
	pid_t pid;
	char *name;
	int64_t before, peak;
};

struct watch {
	struct seen all[PS_MAX];
	size_t count;
	int64_t forked; /* what a process that comes later has from its parent, the keeper */
	pid_t guest;
	int64_t guest_peak, guest_written;
};

static struct seen *watch_pid(struct watch *w, pid_t pid, int64_t before)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->all[i].pid == pid)
			return &w->all[i];
	ck_assert_uint_lt(w->count, PS_MAX);
	w->all[w->count] =
		(struct seen){ .pid = pid, .name = ps_status(pid, "Name"), .before = before };
	return &w->all[w->count++];
}

static void watch_begin(struct watch *w)
{
	pid_t all[PS_MAX];
	size_t n = ps_tree(svc.pid, all, PS_MAX);
	w->forked = ps_rss_kb(service_one(&svc, "keeper"));
	ck_assert_int_gt(w->forked, 0);
	for (size_t i = 0; i < n; i++) {
		watch_pid(w, all[i], ps_rss_kb(all[i]));
		ck_assert(ps_forget_peak(all[i]));
	}
}

/* Process 1 of the one container, in our own numbers; 0: not started yet. */
static pid_t find_guest(void)
{
	char id[1][DOCK_ID];
	if (dock_list(svc.instance, id, 1) != 1)
		return 0;
	struct json_object *o = dock_inspect(id[0]);
	pid_t pid = (pid_t)json_object_get_int(answer_json_get(o, "State.Pid"));
	json_object_put(o);
	return pid;
}

static void watch_look(struct watch *w)
{
	pid_t all[PS_MAX];
	size_t n = ps_tree(svc.pid, all, PS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct seen *s = watch_pid(w, all[i], w->forked);
		s->peak = MAX(s->peak, ps_peak_kb(all[i]));
	}
	if (w->guest == 0)
		w->guest = find_guest();
	if (w->guest > 0) {
		w->guest_peak = MAX(w->guest_peak, ps_peak_kb(w->guest));
		w->guest_written = MAX(w->guest_written, ps_written(w->guest));
	}
}

/* The guest has no time before its files: all of it must fit, the program's text included. */
static void watch_end(struct watch *w)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct seen *s = &w->all[i];
		ck_assert_msg(s->peak - s->before < JOB_KIB, "%s: grown from %ld to %ld KiB",
			      s->name, (long)s->before, (long)s->peak);
		free(s->name);
	}
	ck_assert_int_gt(w->guest_peak, 0);
	ck_assert_msg(w->guest_peak < JOB_KIB, "the guest: %ld KiB", (long)w->guest_peak);
	/* It was looked at until most of the file was on its way back. */
	ck_assert_int_gt(w->guest_written, LARGE_BYTES + LARGE_BYTES / 2);
}

static void want_sum(const struct answer *a, const struct strbuf *content)
{
	struct sha256 sum;
	char hex[SHA256_HEX];
	sha256_init(&sum);
	sha256_add(&sum, content->buf, content->len);
	sha256_hex(&sum, hex);
	WANT_STR(a, "files.0.sha256", hex);
}

START_TEST(a_large_file_passes_a_job)
{
	AUTO(strbuf) content = STRBUF(LARGE_BYTES);
	AUTO(answer) stored = ANSWER_INIT;
	AUTO(answer) a = ANSWER_INIT;
	static struct watch w;
	struct fcgi job;
	one_worker();
	uploads_bytes(&content, LARGE_BYTES, 3);
	upload_large(&content, &stored);
	AUTO_FREE char *files = xasprintf("\"files\":[{\"path\":\"large.bin\",\"file_id\":\"%s\"}]",
					  answer_str(&stored, "file_id"));
	watch_begin(&w);
	service_begin(&svc, "with open('large.bin', 'r+b') as f:\n    f.write(b'A')", files, &job);
	while (!fcgi_done(&job)) {
		watch_look(&w);
		tool_sleep_ms(5);
	}
	fcgi_finish(&job, &a, CALL_MS);
	WANT_STATUS(&a, 200);
	WANT_STR(&a, "status", "ok");
	WANT_STR(&a, "files.0.path", "large.bin");
	WANT_INT(&a, "files.0.size_bytes", LARGE_BYTES);
	content.buf[0] = 'A';
	want_sum(&a, &content);
	watch_end(&w);
}
END_TEST
#endif

Suite *suite_memory(void)
{
	Suite *s = suite_create("memory");
	TCase *tc = tcase_create("memory");
	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, NULL, teardown);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(tc, idle_roles_are_small);
	tcase_add_test(tc, a_large_upload_passes_through);
	tcase_add_test(tc, a_large_file_passes_a_job);
#endif
	tcase_add_test(tc, large_jobs_leave_nothing);
	suite_add_tcase(s, tc);
	return s;
}
