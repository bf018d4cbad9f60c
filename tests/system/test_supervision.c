/*
 * What the master and the keeper owe to each other and to whoever starts them: nothing inherited,
 * no descriptor too many in any role, an end that is not put off by work, a restart that is put off
 * only by deaths, slots that come back.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "docker/names.h"
#include "suites.h"
#include "support/answer.h"
#include "support/cleanup.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define YOUNG_MS 2000 /* as proc/master.c */

static struct service svc;

static void teardown(void)
{
	service_clear(&svc);
}

static void want_job(void)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('works')", NULL, &a);
	WANT_STR(&a, "stdout", "works\n");
}

static bool is_well(void *arg UNUSED)
{
	AUTO(answer) a = ANSWER_INIT;
	if (access(svc.fcgi, F_OK) != 0)
		return false;
	service_call(&svc, "GET", "/health", NULL, &a);
	return a.status == 200 && strcmp(answer_str(&a, "status"), "ok") == 0;
}

/* The service as the last word of a shell script, in the process that the script ran in. */
static void start_by(const char *script)
{
	service_prepare(&svc, NULL);
	AUTO_FREE char *text = xasprintf("%s %s", script, service_binary());
	const char *const argv[] = { "sh", "-c", text, NULL };
	svc.pid = tool_spawn(&(struct tool_child){
		.argv = argv, .env = (const char *const *)svc.env, .log = svc.log });
	cleanup_pid(svc.pid);
	ck_assert_msg(tool_until(is_well, NULL, 90000), "the service did not start");
}

/* Counts what a process has open, by the beginning of the link's text. */
static int open_of(pid_t pid, const char *kind)
{
	int n = 0;
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], target[256];
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		ssize_t len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		n += len > 0 && strncmp(target, kind, strlen(kind)) == 0;
	}
	return n;
}

START_TEST(a_starter_that_ignores_its_children)
{
	start_by("exec env --ignore-signal=CHLD"); /* a shell's trap does not last */
	pid_t janitor = service_one(&svc, "janitor");
	ck_assert(kill(janitor, SIGKILL) == 0);
	ck_assert_msg(service_wait_role(&svc, "janitor", 1, janitor), "nobody noticed its death");
	want_job();
}
END_TEST

START_TEST(a_starter_without_standard_descriptors)
{
	start_by("exec 0<&- 1>&- 2>&-; exec");
	pid_t worker = service_one(&svc, "worker");
	/* Were a socket descriptor 2, log lines would be written to it. */
	for (int fd = 0; fd < 3; fd++) {
		char path[64], target[256] = "";
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)worker, fd);
		ck_assert(readlink(path, target, sizeof(target) - 1) > 0);
		ck_assert_str_eq(target, "/dev/null");
	}
	want_job();
}
END_TEST

START_TEST(a_starter_that_leaves_things_open)
{
	start_by("umask 077; exec 7</etc/passwd 8</dev/zero; exec");
	pid_t tree[PS_MAX];
	size_t n = ps_tree(svc.pid, tree, PS_MAX);
	ck_assert_uint_gt(n, 3);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(open_of(tree[i], "/etc/passwd"), 0);
		ck_assert_int_eq(open_of(tree[i], "/dev/zero"), 0);
	}
	want_job();
}
END_TEST

static bool keeper_is_idle(void *arg)
{
	return open_of(*(pid_t *)arg, "socket:") == 1;
}

/* All that each role has open when nothing runs; more would be a way for it to what isn't its. */
START_TEST(descriptors_of_each_role)
{
	pid_t workers[PS_MAX];
	service_up(&svc, NULL);
	want_job();
	ck_assert(service_wait_clean(&svc));
	pid_t keeper = service_one(&svc, "keeper"), janitor = service_one(&svc, "janitor");
	size_t n = service_role(&svc, "worker", workers, PS_MAX);
	ck_assert_uint_gt(n, 3);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(open_of(workers[i], "socket:"), 1); /* the FastCGI listener */
		ck_assert_int_eq(ps_fd_count(workers[i]),
				 6); /* what waits for it, the store's folder */
	}
	ck_assert_int_eq(ps_fd_count(janitor), 4); /* the store's folder */
	ck_assert_msg(tool_until(keeper_is_idle, &keeper, TOOL_WAIT_MS),
		      "the keeper has %d sockets", open_of(keeper, "socket:"));
	ck_assert_int_eq(ps_fd_count(keeper), 5); /* its listener and its signals */
	ck_assert_int_eq(open_of(svc.pid, "socket:"), 2);
	ck_assert_int_eq(ps_fd_count(svc.pid), 7); /* both, the pid file, and its signals */
}
END_TEST

struct look {
	pid_t keeper;
	int fillers, worst;
};

/* Fillers that are alive now: what they have open besides the standard three. */
static void look_at_fillers(struct look *l)
{
	pid_t all[PS_MAX];
	size_t n = ps_children(l->keeper, all, PS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!ps_named(all[i], "filler"))
			continue; /* still on its way from the keeper's copy */
		int sockets = open_of(all[i], "socket:");
		l->fillers += sockets > 0;
		l->worst = MAX(l->worst, sockets);
	}
}

START_TEST(fillers_hold_nobody_elses_lease)
{
	struct fcgi jobs[3], one;
	AUTO(answer) last = ANSWER_INIT;
	service_up(&svc, (const char *const[]){ "MAX_CONCURRENT_JOBS=4", NULL });
	struct look l = { .keeper = service_one(&svc, "keeper") };
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		service_begin(&svc, "import time\ntime.sleep(4)\nprint(1)", NULL, &jobs[i]);
	while (dock_list(svc.instance, NULL, 0) < ARRAY_SIZE(jobs))
		tool_sleep_ms(20);
	service_begin(&svc, "print(2)", NULL, &one);
	while (!fcgi_done(&one))
		look_at_fillers(&l);
	fcgi_finish(&one, &last, TOOL_WAIT_MS);
	WANT_STATUS(&last, 200);
	ck_assert_int_gt(l.fillers, 0);
	/* The pair to the keeper, the engine's connection and the library's own two, and the stream
	 * that is being made. With the keeper's there would be four more at least. */
	ck_assert_int_le(l.worst, 5);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		AUTO(answer) a = ANSWER_INIT;
		fcgi_finish(&jobs[i], &a, 120000);
		WANT_STATUS(&a, 200);
	}
}
END_TEST

/* Requests wait already when SIGTERM comes: a worker that never has to wait still ends. */
START_TEST(work_does_not_put_off_the_end)
{
	static struct fcgi waiting[40];
	const struct fcgi_request r = { .uri = "/health" };
	char own[32];
	service_up(&svc, (const char *const[]){ "WORKERS=1", NULL });
	pid_t worker = service_one(&svc, "worker");
	ck_assert(kill(worker, SIGSTOP) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		fcgi_start(&waiting[i], svc.fcgi, &r);
	snprintf(own, sizeof(own), "\"pid\":%d,", (int)worker);
	int before = tool_count(svc.log, own);
	ck_assert(kill(worker, SIGTERM) == 0 && kill(worker, SIGCONT) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		AUTO(answer) a = ANSWER_INIT;
		fcgi_finish(&waiting[i], &a, TOOL_WAIT_MS);
		WANT_STATUS(&a, 200);
	}
	/* The one it may have been waiting for; all others are its successor's. */
	ck_assert_int_le(tool_count(svc.log, own) - before, 1);
	ck_assert_int_ne(service_one(&svc, "worker"), worker);
}
END_TEST

static pid_t successor(const char *role, pid_t old, int64_t *out_ms)
{
	int64_t start = clock_ms();
	ck_assert(kill(old, SIGKILL) == 0);
	ck_assert_msg(service_wait_role(&svc, role, 1, old), "no successor of the %s", role);
	*out_ms = clock_ms() - start;
	return service_one(&svc, role);
}

/* The longer a role keeps dying young the later it is started; one that has lived starts at once,
 * whatever was before. */
START_TEST(a_long_life_wipes_out_young_deaths)
{
	int64_t took = 0;
	service_up(&svc, NULL);
	pid_t janitor = service_one(&svc, "janitor");
	for (int i = 0; i < 5; i++)
		janitor = successor("janitor", janitor, &took);
	ck_assert_int_ge(took, 700); /* 100, 200, 400, 800, 1600 ms, the first maybe none */
	tool_sleep_ms(YOUNG_MS + 200);
	successor("janitor", janitor, &took);
	ck_assert_int_le(took, 700);
}
END_TEST

/* Nobody waits, and a slot is free: that is no reason to refuse. */
START_TEST(a_free_slot_needs_no_wait)
{
	service_up(&svc, (const char *const[]){ "QUEUE_TIMEOUT_MS=0", "QUEUE_LENGTH=0", NULL });
	for (int i = 0; i < 3; i++) {
		want_job();
		ck_assert(service_wait_clean(&svc));
		tool_sleep_ms(200);
	}
}
END_TEST

/* Containers of jobs: the one that helps with the guest's volume takes no slot. */
static size_t jobs_now(void)
{
	char ids[16][DOCK_ID];
	size_t jobs = 0, n = MIN(dock_list(svc.instance, ids, ARRAY_SIZE(ids)), ARRAY_SIZE(ids));
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = dock_inspect(ids[i]), *labels, *role;
		if (o && json_pointer_get(o, "/Config/Labels", &labels) == 0 &&
		    json_object_object_get_ex(labels, NAME_ROLE, &role))
			jobs += strcmp(json_object_get_string(role), "job") == 0;
		json_object_put(o);
	}
	return jobs;
}

/* A keeper that comes back counts what runs already before it starts more. */
START_TEST(slots_outlive_the_keeper)
{
	struct fcgi old[2], fresh[2];
	service_up(&svc, (const char *const[]){ "MAX_CONCURRENT_JOBS=2", NULL });
	for (size_t i = 0; i < ARRAY_SIZE(old); i++)
		service_begin(&svc, "import time\ntime.sleep(5)\nprint('old')", NULL, &old[i]);
	while (jobs_now() < ARRAY_SIZE(old))
		tool_sleep_ms(20);
	tool_sleep_ms(1500); /* until both have their containers: leases, not makings */
	ck_assert(kill(service_one(&svc, "keeper"), SIGKILL) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(fresh); i++)
		service_begin(&svc, "print('new')", NULL, &fresh[i]);
	size_t most = 0;
	while (!fcgi_done(&fresh[0]) || !fcgi_done(&fresh[1])) {
		most = MAX(most, jobs_now());
		tool_sleep_ms(30);
	}
	ck_assert_uint_le(most, 2);
	for (size_t i = 0; i < ARRAY_SIZE(old); i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO(answer) b = ANSWER_INIT;
		fcgi_finish(&old[i], &a, 120000);
		WANT_STR(&a, "stdout", "old\n");
		fcgi_finish(&fresh[i], &b, 120000);
		WANT_STR(&b, "stdout", "new\n");
	}
}
END_TEST

START_TEST(the_keeper_has_room_for_every_worker)
{
	AUTO(strbuf) text = STRBUF(1 << 16);
	char path[64];
	struct rlimit own;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &own), 0);
	start_by("ulimit -S -n 256; exec");
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)service_one(&svc, "keeper"));
	ck_assert(tool_read(path, &text));
	const char *line = strstr(text.buf, "Max open files");
	ck_assert_ptr_nonnull(line);
	/* The hard limit is the machine's word. */
	ck_assert_int_ge(strtol(line + strlen("Max open files"), NULL, 10),
			 (long)MIN(own.rlim_max, (rlim_t)4096));
}
END_TEST

Suite *suite_supervision(void)
{
	Suite *s = suite_create("supervision");
	TCase *tc = tcase_create("supervision");
	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, a_starter_that_ignores_its_children);
	tcase_add_test(tc, a_starter_without_standard_descriptors);
	tcase_add_test(tc, a_starter_that_leaves_things_open);
	tcase_add_test(tc, descriptors_of_each_role);
	tcase_add_test(tc, fillers_hold_nobody_elses_lease);
	tcase_add_test(tc, work_does_not_put_off_the_end);
	tcase_add_test(tc, a_long_life_wipes_out_young_deaths);
	tcase_add_test(tc, a_free_slot_needs_no_wait);
	tcase_add_test(tc, slots_outlive_the_keeper);
	tcase_add_test(tc, the_keeper_has_room_for_every_worker);
	suite_add_tcase(s, tc);
	return s;
}
