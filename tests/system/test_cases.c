/*
 * Programs that broke other services, through real nginx, with exactly the right values. The
 * numbers C01 to C15 are those of the project's list; what needs a shell runs bash from a Python
 * program. Limits: 5 s, 256 MiB, 64 pids, 64 MiB /tmp, 1 MiB a stream.
 */
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/front.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct service svc;
static struct front web;

#define MEMORY "\"limits\":{\"memory_mb\":256}"
#define LAST_OFF "\"last_line_interactive\":false"

static void setup(void)
{
	static const char *const env[] = { "DEFAULT_TIMEOUT_MS=5000",
					   "MEMORY_LIMIT_MB=256",
					   "PIDS_LIMIT=64",
					   "TMP_LIMIT_MB=64",
					   "DISK_LIMIT_MB=128",
					   "MAX_OUTPUT_BYTES=1048576",
					   NULL };
	service_up(&svc, env);
	front_start(&web, &svc, env);
}

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

/* The whole request less the wait for a slot and for the container, which a slow machine makes
 * long: within ms. */
static void want_total(const struct answer *a, int64_t ms)
{
	int64_t own = a->ms - answer_int(a, "usage.queue_ms") - answer_int(a, "usage.start_ms");
	if (own > ms)
		answer_fail(a, __FILE__, __LINE__,
			    "took %ld ms besides queue and start, at most %ld are right", (long)own,
			    (long)ms);
}

/* "Clean": no container is left soon after the answer. */
static void want_clean(void)
{
	ck_assert_msg(service_wait_clean(&svc), "a container is left after the answer");
}

static int64_t service_pss_kb(void)
{
	pid_t all[PS_MAX];
	size_t n = ps_tree(svc.pid, all, PS_MAX);
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += ps_pss_kb(all[i]);
	return sum;
}

START_TEST(c01_flood_on_stdout)
{
	AUTO(answer) warm = ANSWER_INIT;
	AUTO(answer) a = ANSWER_INIT;
	front_execute(&web, "print('z' * (2 << 20))", NULL, &warm);
	want_clean();
	int64_t before = service_pss_kb();
	front_execute(&web, "line = \"z\" * 8191\nwhile True:\n    print(line)\n", NULL, &a);
	WANT_STR(&a, "status", "timeout");
	WANT_BOOL(&a, "timed_out", true);
	WANT_NULL(&a, "exit_code");
	WANT_BOOL(&a, "stdout_truncated", true);
	size_t len = strlen(answer_str(&a, "stdout"));
	WANT(&a, len <= 1048576 && len > 1000000);
	WANT_RANGE(&a, "stdout_bytes", 1048577, INT64_MAX);
	WANT_RANGE(&a, "duration_ms", 5000, 6000);
	want_total(&a, 20000);
	want_clean();
#ifndef __SANITIZE_ADDRESS__
	int64_t grown = service_pss_kb() - before;
	ck_assert_msg(grown < 5 * 1024, "the service has grown by %ld KiB", (long)grown);
#else
	(void)before;
#endif
}
END_TEST

START_TEST(c02_partial_output_survives_the_timeout)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(
		&web,
		"import time\nprint(\"first\", flush=True)\nprint(\"second\")\ntime.sleep(60)\n",
		"\"timeout_ms\":2000", &a);
	WANT_STR(&a, "status", "timeout");
	WANT_STR(&a, "stdout", "first\nsecond\n");
	WANT_NULL(&a, "exit_code");
	WANT_RANGE(&a, "duration_ms", 2000, 3000);
	want_total(&a, 15000);
	want_clean();
}
END_TEST

START_TEST(c03_stopping_itself_does_not_stop_the_clock)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(&web,
		      "import os\nos.execvp('bash', ['bash', '-c', 'echo begin; kill -STOP 0; echo "
		      "after'])\n",
		      "\"timeout_ms\":2000", &a);
	WANT_IN(&a, "stdout", "begin\n");
	WANT_RANGE(&a, "duration_ms", 0, 3000);
	want_total(&a, 15000);
	want_clean();
}
END_TEST

START_TEST(c05_command_not_found)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(&web,
		      "import os\nos.execvp('bash', ['bash', '-c', 'qqnotacommand --flag'])\n",
		      NULL, &a);
	WANT_INT(&a, "exit_code", 127);
	WANT_IN(&a, "stderr", "qqnotacommand");
}
END_TEST

START_TEST(c06_out_of_memory_is_named)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(
		&web,
		"blocks = []\nwhile True:\n    blocks.append(bytearray(b\"\\x01\") * (4 << 20))\n",
		"\"timeout_ms\":20000,\"limits\":{\"memory_mb\":128}", &a);
	WANT_STR(&a, "status", "oom");
	WANT_BOOL(&a, "oom_killed", true);
	WANT_BOOL(&a, "timed_out", false);
	WANT_INT(&a, "limits.memory_mb", 128);
	WANT_IN(&a, "message", "128 MiB");
	want_clean();
}
END_TEST

START_TEST(c07_a_kill_that_is_not_oom)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(&web,
		      "import os, signal\nprint(\"bye\", flush=True)\nos.kill(os.getpid(), "
		      "signal.SIGKILL)\n"
		      "print(\"alive\", flush=True)\n",
		      NULL, &a);
	WANT_STR(&a, "stdout", "bye\n");
	WANT_STR(&a, "status", "signaled");
	WANT_STR(&a, "signal", "SIGKILL");
	WANT_BOOL(&a, "oom_killed", false);
	WANT_INT(&a, "exit_code", 137);
}
END_TEST

START_TEST(c08_bytes_that_are_not_utf8)
{
	static const char code[] =
		"import sys\nsys.stdout.buffer.write(b\"A\\xff\\xfe\\x00B\\n\")\n";
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	front_execute(&web, code, LAST_OFF, &a);
	struct json_object *text = answer_get(&a, "stdout");
	static const char want[] = "A\xef\xbf\xbd\xef\xbf\xbd\0B\n";
	WANT(&a, (size_t)json_object_get_string_len(text) == sizeof(want) - 1 &&
			 memcmp(json_object_get_string(text), want, sizeof(want) - 1) == 0);
	WANT(&a, strstr(a.body.buf, "\\u0000") != NULL);
	front_execute(&web, code, LAST_OFF ",\"encoding\":\"base64\"", &b);
	WANT_STR(&b, "stdout", "Qf/+AEIK");
}
END_TEST

START_TEST(c09_characters_across_chunk_edges)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(
		&web,
		"import sys, time\n"
		"for part in (b\"caf\\xc3\", b\"\\xa9 \\xf0\\x9f\", b\"\\x90\\x8d\\n\"):\n"
		"    sys.stdout.buffer.write(part); sys.stdout.buffer.flush(); time.sleep(0.3)\n",
		NULL, &a);
	WANT_STR(&a, "stdout", "caf\xc3\xa9 \xf0\x9f\x90\x8d\n");
}
END_TEST

START_TEST(c12_links_and_odd_files)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(
		&web,
		"import os\nos.symlink(\"/etc/passwd\", \"report.txt\")\n"
		"os.symlink(\"../../../../etc\", \"dir\")\nos.mkfifo(\"pipe\")\n"
		"open(\"real.txt\", \"w\").write(\"ok\")\nos.link(\"real.txt\", \"hard.txt\")\n",
		NULL, &a);
	struct json_object *real = answer_find(&a, "files", "path", "real.txt");
	AUTO(strbuf) text = STRBUF(100);
	WANT(&a,
	     real &&
		     service_stored(&svc, json_object_get_string(answer_json_get(real, "file_id")),
				    &text) &&
		     strcmp(text.buf, "ok") == 0);
	WANT(&a, answer_find(&a, "skipped", "path", "report.txt"));
	WANT(&a, answer_find(&a, "skipped", "path", "dir"));
	WANT(&a, answer_find(&a, "skipped", "path", "pipe"));
	WANT(&a, !answer_find(&a, "files", "path", "report.txt"));
}
END_TEST

START_TEST(c13_fork_bomb)
{
	AUTO(answer) quiet = ANSWER_INIT;
	AUTO(answer) beside = ANSWER_INIT;
	AUTO(answer) bomb = ANSWER_INIT;
	static const char work[] = "s = 0\nfor i in range(200000): s += i\nprint(s)";
	struct fcgi f;
	front_execute(&web, work, NULL, &quiet);
	service_begin(&svc,
		      "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
		      "\"timeout_ms\":2000", &f);
	ck_assert_msg(service_busy_worker(&svc) > 0, "no worker took the job");
	front_execute(&web, work, NULL, &beside);
	fcgi_finish(&f, &bomb, 120000);
	WANT_STATUS(&bomb, 200);
	WANT_STR(&bomb, "status", "timeout");
	WANT_RANGE(&bomb, "duration_ms", 2000, 4000);
	WANT_STR(&beside, "stdout", "19999900000\n");
	WANT_STR(&beside, "status", "ok");
	/* Its normal time: the bomb has one CPU of its own at most; ten times is for machines that
	 * have only one. */
	WANT_RANGE(&beside, "usage.wall_ms", 0, 10 * answer_int(&quiet, "usage.wall_ms") + 2000);
	want_clean();
}
END_TEST

START_TEST(c14_full_scratch_space_is_an_error)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(&web,
		      "try:\n    with open(\"/tmp/big\", \"wb\") as f:\n"
		      "        for _ in range(200): f.write(b\"\\0\" * (1 << 20))\n"
		      "except OSError as e:\n    print(\"errno\", e.errno)\n",
		      MEMORY, &a);
	WANT_STR(&a, "stdout", "errno 28\n");
	WANT_STR(&a, "status", "ok");
}
END_TEST

START_TEST(c15_locale_and_time_zone)
{
	AUTO(answer) a = ANSWER_INIT;
	front_execute(&web,
		      "import sys, time\nprint(\"na\xc3\xafve \xe4\xb8\x96\xe7\x95\x8c\", "
		      "sys.stdout.encoding.lower(), "
		      "time.tzname[0])\n",
		      NULL, &a);
	WANT_STR(&a, "stdout", "na\xc3\xafve \xe4\xb8\x96\xe7\x95\x8c utf-8 UTC\n");
}
END_TEST

Suite *suite_cases(void)
{
	Suite *s = suite_create("cases");
	TCase *tc = tcase_create("cases");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, c01_flood_on_stdout);
	tcase_add_test(tc, c02_partial_output_survives_the_timeout);
	tcase_add_test(tc, c03_stopping_itself_does_not_stop_the_clock);
	tcase_add_test(tc, c05_command_not_found);
	tcase_add_test(tc, c06_out_of_memory_is_named);
	tcase_add_test(tc, c07_a_kill_that_is_not_oom);
	tcase_add_test(tc, c08_bytes_that_are_not_utf8);
	tcase_add_test(tc, c09_characters_across_chunk_edges);
	tcase_add_test(tc, c12_links_and_odd_files);
	tcase_add_test(tc, c13_fork_bomb);
	tcase_add_test(tc, c14_full_scratch_space_is_an_error);
	tcase_add_test(tc, c15_locale_and_time_zone);
	suite_add_tcase(s, tc);
	return s;
}
