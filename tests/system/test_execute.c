/*
 * POST /v1/execute as api.md has it: every field of the answer with its right value, every field of
 * the request. Over FastCGI, real containers.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct service svc;

static void setup(void)
{
	service_up(&svc, NULL);
}

static void teardown(void)
{
	service_clear(&svc);
}

START_TEST(answer_has_every_field)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "import sys\nprint('hello')\nprint('oh', file=sys.stderr)", NULL, &a);
	WANT_STR(&a, "stdout", "hello\n");
	WANT_STR(&a, "stderr", "oh\n");
	WANT_INT(&a, "exit_code", 0);
	WANT_BOOL(&a, "timed_out", false);
	WANT_RANGE(&a, "duration_ms", 0, 10000);
	WANT_STR(&a, "status", "ok");
	WANT_NULL(&a, "signal");
	WANT_BOOL(&a, "oom_killed", false);
	WANT_BOOL(&a, "stdout_truncated", false);
	WANT_BOOL(&a, "stderr_truncated", false);
	WANT_INT(&a, "stdout_bytes", 6);
	WANT_INT(&a, "stderr_bytes", 3);
	WANT(&a, json_object_array_length(answer_get(&a, "files")) == 0);
	WANT(&a, json_object_array_length(answer_get(&a, "skipped")) == 0);
	WANT_RANGE(&a, "usage.wall_ms", 0, 10000);
	WANT_RANGE(&a, "usage.cpu_ms", 1, 10000);
	WANT_RANGE(&a, "usage.memory_peak_bytes", 1 << 20, 512 << 20);
	WANT_RANGE(&a, "usage.queue_ms", 0, 60000);
	WANT_RANGE(&a, "usage.start_ms", 1, 60000);
}
END_TEST

START_TEST(answer_says_where_it_ran)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "", NULL, &a);
	WANT_STR(&a, "stdout", "");
	WANT_INT(&a, "limits.memory_mb", 512);
	WANT_INT(&a, "limits.pids", 64);
	WANT_INT(&a, "limits.cpu_time_s", 30);
	WANT_INT(&a, "limits.output_bytes", 1048576);
	WANT_INT(&a, "limits.disk_mb", 256);
	WANT(&a, json_object_get_double(answer_get(&a, "limits.cpus")) == 1.0);
	WANT_STR(&a, "sandbox.mode", "docker");
	WANT_STR(&a, "sandbox.image", dock_image());
	WANT_STR(&a, "sandbox.language", "python");
	WANT_IN(&a, "sandbox.version", "3.");
	WANT_STR(&a, "sandbox.network", "none");
	WANT_BOOL(&a, "sandbox.warm", false);
	WANT(&a, strlen(answer_str(&a, "sandbox.id")) >= 12);
	WANT(&a, strlen(answer_str(&a, "sandbox.engine")) > 0);
}
END_TEST

struct run_row {
	const char *code, *more, *out, *err; /* err: a part of stderr; NULL: stderr is empty */
	int exit_code;
};

static void run_row(const struct run_row *r)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, r->code, r->more, &a);
	WANT_STR(&a, "stdout", r->out);
	WANT_INT(&a, "exit_code", r->exit_code);
	WANT_STR(&a, "status", r->exit_code ? "error" : "ok");
	if (r->err)
		WANT_IN(&a, "stderr", r->err);
	else
		WANT_STR(&a, "stderr", "");
}

#define LAST_OFF "\"last_line_interactive\":false"

static const struct run_row last_rows[] = {
	{ "1+1", NULL, "2\n", NULL, 0 },
	{ "1+1", LAST_OFF, "", NULL, 0 },
	{ "x = 3\nx", NULL, "3\n", NULL, 0 },
	{ "'a'", NULL, "'a'\n", NULL, 0 },
	{ "None", NULL, "", NULL, 0 },
	{ "1+1;", NULL, "2\n", NULL, 0 },
	{ "a = 1; a", NULL, "1\n", NULL, 0 },
	{ "5\n(1,\n 2)  # comment\n\n", NULL, "(1, 2)\n", NULL, 0 },
	{ "if True:\n    5", NULL, "", NULL, 0 },
	{ "x = 5", NULL, "", NULL, 0 },
	{ "print('x')\n7", NULL, "x\n7\n", NULL, 0 },
	{ "print('x', end='')\n1/0\n8", NULL, "x", "ZeroDivisionError", 1 },
	{ "from __future__ import annotations\ndef f(x: Undefined): pass\nf.__annotations__", NULL,
	  "{'x': 'Undefined'}\n", NULL, 0 },
	{ "\"\"\"doc\"\"\"\n__doc__", NULL, "'doc'\n", NULL, 0 },
	{ "import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))).__module__", NULL,
	  "'__main__'\n", NULL, 0 },
	{ "import inspect\ndef f():\n    return 42  # why\nprint(inspect.getsource(f), end='')",
	  NULL, "def f():\n    return 42  # why\n", NULL, 0 },
	{ "import sys\n(__name__, sys.argv[1:], sys.modules['__main__'].__name__)", NULL,
	  "('__main__', [], '__main__')\n", NULL, 0 },
	{ "import os, sys\nos.getcwd(), os.path.samefile(__file__, sys.argv[0])", NULL,
	  "('/workspace', True)\n", NULL, 0 },
	{ "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n"
	  "    with m.Pool(2) as p: print(p.map(f, [1, 2, 3]))\n"
	  "    with m.get_context('spawn').Pool(1) as p: print(p.map(f, [4]))\n",
	  NULL, "[1, 4, 9]\n[16]\n", NULL, 0 },
};

START_TEST(last_line)
{
	run_row(&last_rows[_i]);
}
END_TEST

START_TEST(traceback_is_the_programs_own)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "# one\ndef f():\n    return 1 / 0  # here\n\n\nf()\n", NULL, &a);
	WANT_INT(&a, "exit_code", 1);
	WANT_STR(&a, "status", "error");
	WANT_STR(&a, "stderr",
		 "Traceback (most recent call last):\n"
		 "  File \"/workspace/main.py\", line 6, in <module>\n"
		 "    f()\n"
		 "    ~^^\n"
		 "  File \"/workspace/main.py\", line 3, in f\n"
		 "    return 1 / 0  # here\n"
		 "           ~~^~~\n"
		 "ZeroDivisionError: division by zero\n");
}
END_TEST

static const struct run_row run_rows[] = {
	{ "import sys; sys.exit(3)", NULL, "", NULL, 3 },
	{ "import sys; sys.exit('gone')", NULL, "", "gone\n", 1 },
	{ "def f(:", NULL, "", "SyntaxError", 1 },
	{ "print(open('main.py').read(), end='')\n# \xc3\xa9 \t x\r\n", LAST_OFF,
	  "print(open('main.py').read(), end='')\n# \xc3\xa9 \t x\n", NULL, 0 },
	{ "print(open('main.py', newline='').read(), end='')\r\n# crlf\r\n", LAST_OFF,
	  "print(open('main.py', newline='').read(), end='')\r\n# crlf\r\n", NULL, 0 },
	{ "input()", NULL, "", "EOFError", 1 },
	{ "input()", "\"stdin\":null", "", "EOFError", 1 },
	{ "input()", "\"stdin\":\"\"", "", "EOFError", 1 },
	{ "import sys; print(sys.stdin.read(), end='')", "\"stdin\":\"a\\nb\\u00e9\"",
	  "a\nb\xc3\xa9", NULL, 0 },
	{ "import sys; print(sys.stdin.buffer.read())", "\"stdin\":\"x\\u0000y\"", "b'x\\x00y'\n",
	  NULL, 0 },
	{ "import sys; print(sys.argv[1:])", "\"argv\":[\"--x\",\"a b\",\"\",\"\\u00fc\"]",
	  "['--x', 'a b', '', '\xc3\xbc']\n", NULL, 0 },
	{ "import os; print(os.environ['FOO'], os.environ['E'] == '')",
	  "\"env\":{\"FOO\":\"b=r \\u00e9\",\"E\":\"\"}", "b=r \xc3\xa9 True\n", NULL, 0 },
	{ "print(_args)", "\"args\":{\"a\":[1,2.5,null,true,\"\\u00e9\"]}",
	  "{'a': [1, 2.5, None, True, '\xc3\xa9']}\n", NULL, 0 },
	{ "import json, os; print(json.load(open(os.environ['BELLJAR_ARGS'])) == _args == [1, "
	  "{'b': 2}])",
	  "\"args\":[1,{\"b\":2}]", "True\n", NULL, 0 },
	{ "print(_args)", "\"args\":\"text\"", "text\n", NULL, 0 },
	{ "import os; print(os.getuid(), os.getgid(), os.getgroups(), os.getpid() != 1)", NULL,
	  "65532 65532 [65532] True\n", NULL, 0 },
	{ "print(os)", NULL, "", "NameError", 1 },
	{ "import os, sys\nprint([k for k in os.environ if k.startswith('BELLJAR') or k == "
	  "'PYTHONPATH'], "
	  "[p for p in sys.path if 'belljar' in p], [m for m in sys.modules.values() if 'belljar' "
	  "in "
	  "str(getattr(m, '__file__', '')) and 'opt' not in m.__file__])",
	  NULL, "[] [] []\n", NULL, 0 },
};

START_TEST(programs)
{
	run_row(&run_rows[_i]);
}
END_TEST

START_TEST(base64_output)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(
		&svc,
		"import sys\nsys.stdout.buffer.write(bytes([0, 255, 65]))\nsys.stderr.write('e')",
		"\"encoding\":\"base64\"," LAST_OFF, &a);
	WANT_STR(&a, "stdout", "AP9B");
	WANT_STR(&a, "stderr", "ZQ==");
	WANT_INT(&a, "stdout_bytes", 3);
}
END_TEST

START_TEST(limits_of_the_request)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('x' * 1000)",
			"\"limits\":{\"memory_mb\":128,\"cpus\":0.5,\"pids\":16,\"disk_mb\":32,"
			"\"cpu_time_s\":3,"
			"\"output_bytes\":100}",
			&a);
	WANT_INT(&a, "limits.memory_mb", 128);
	WANT_INT(&a, "limits.pids", 16);
	WANT_INT(&a, "limits.disk_mb", 32);
	WANT_INT(&a, "limits.cpu_time_s", 3);
	WANT_INT(&a, "limits.output_bytes", 100);
	WANT(&a, json_object_get_double(answer_get(&a, "limits.cpus")) == 0.5);
	WANT_BOOL(&a, "stdout_truncated", true);
	WANT_INT(&a, "stdout_bytes", 1001);
	const char *out = answer_str(&a, "stdout");
	WANT(&a, strlen(out) <= 100 && strlen(out) > 50);
	WANT(&a, strcmp(out + strlen(out) - 15, "\n...[truncated]") == 0);
}
END_TEST

START_TEST(truncation_keeps_characters_whole)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('\xf0\x9f\x90\x8d' * 100, end='')",
			"\"limits\":{\"output_bytes\":118}", &a);
	WANT_BOOL(&a, "stdout_truncated", true);
	WANT_INT(&a, "stdout_bytes", 400);
	const char *out = answer_str(&a, "stdout");
	WANT(&a, !strstr(out, "\xef\xbf\xbd"));
	WANT(&a, strlen(out) <= 118 && strlen(out) % 4 == 15 % 4);
}
END_TEST

START_TEST(output_at_the_cap_is_untouched)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('x' * 200, end='')", "\"limits\":{\"output_bytes\":200}", &a);
	WANT_BOOL(&a, "stdout_truncated", false);
	WANT_INT(&a, "stdout_bytes", 200);
	WANT(&a, strlen(answer_str(&a, "stdout")) == 200);
}
END_TEST

struct signal_row {
	const char *number, *name;
	int exit_code;
};
static const struct signal_row signal_rows[] = { { "15", "SIGTERM", 143 },
						 { "11", "SIGSEGV", 139 },
						 { "9", "SIGKILL", 137 } };

START_TEST(signals)
{
	const struct signal_row *r = &signal_rows[_i];
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *code = xasprintf("import os\nos.kill(os.getpid(), %s)", r->number);
	service_execute(&svc, code, NULL, &a);
	WANT_STR(&a, "status", "signaled");
	WANT_STR(&a, "signal", r->name);
	WANT_INT(&a, "exit_code", r->exit_code);
	WANT_BOOL(&a, "timed_out", false);
	WANT_BOOL(&a, "oom_killed", false);
}
END_TEST

START_TEST(cpu_time_ends_a_loop)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print('in', flush=True)\nwhile True: pass",
			"\"timeout_ms\":60000,\"limits\":{\"cpu_time_s\":1}", &a);
	WANT_STR(&a, "stdout", "in\n");
	WANT(&a, strcmp(answer_str(&a, "status"), "ok") != 0);
	WANT_RANGE(&a, "usage.cpu_ms", 900, 20000);
	WANT_RANGE(&a, "duration_ms", 900, 59000);
}
END_TEST

START_TEST(time_counts_from_the_start_of_the_program)
{
	AUTO(answer) a = ANSWER_INIT;
	/* Four at once on three slots: the last one waits for longer than its own timeout. */
	struct fcgi jobs[4];
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		service_begin(&svc, "import time\ntime.sleep(2)\nprint('done')",
			      "\"timeout_ms\":20000", &jobs[i]);
	service_execute(&svc, "print('hello')", "\"timeout_ms\":2000", &a);
	WANT_STR(&a, "stdout", "hello\n");
	WANT_STR(&a, "status", "ok");
	WANT_RANGE(&a, "duration_ms", 0, 1999);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		AUTO(answer) b = ANSWER_INIT;
		fcgi_finish(&jobs[i], &b, 120000);
		WANT_STATUS(&b, 200);
		WANT_STR(&b, "stdout", "done\n");
		WANT_RANGE(&b, "usage.wall_ms", 1990, 19999);
	}
}
END_TEST

START_TEST(jobs_share_nothing)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	service_execute(
		&svc, "for p in ('/workspace/k', '/tmp/k', '/dev/shm/k'): open(p, 'w').write('1')",
		NULL, &a);
	WANT_STR(&a, "status", "ok");
	service_execute(&svc,
			"import os\nprint(sorted(os.listdir('/workspace')), os.listdir('/tmp'), "
			"os.listdir('/dev/shm'))",
			NULL, &b);
	WANT_STR(&b, "stdout", "['main.py'] [] []\n");
	WANT(&a, strcmp(answer_str(&a, "sandbox.id"), answer_str(&b, "sandbox.id")) != 0);
}
END_TEST

START_TEST(libraries)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"import numpy, pandas, scipy, sklearn, matplotlib, seaborn, requests, "
			"httpx, bs4, lxml, "
			"openpyxl, xlsxwriter, yaml, tabulate, jinja2, jsonschema, PIL, sympy\n"
			"import matplotlib.pyplot as plt\n"
			"plt.title('caf\xc3\xa9 \xe4\xb8\x96\xe7\x95\x8c')\n"
			"plt.plot([1, 2, 3])\n"
			"plt.show()\n",
			"\"timeout_ms\":60000," LAST_OFF, &a);
	WANT_STR(&a, "stderr", "");
	WANT_STR(&a, "stdout", "");
	WANT_STR(&a, "status", "ok");
	WANT_STR(&a, "files.0.mime_type", "image/png");
	WANT_RANGE(&a, "files.0.size_bytes", 1000, 1 << 20);
}
END_TEST

START_TEST(a_client_that_leaves_ends_its_job)
{
	struct fcgi f;
	char id[DOCK_ID];
	service_begin(&svc, "import time\ntime.sleep(50)", "\"timeout_ms\":60000", &f);
	ck_assert_msg(dock_wait_one(svc.instance, id), "no container came");
	ck_assert(service_busy_worker(&svc) > 0);
	fcgi_drop(&f);
	ck_assert_msg(service_wait_clean(&svc), "the container of a client that left stays");
}
END_TEST

START_TEST(unknown_fields_are_named)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print(1)", "\"colour\":1,\"zzz\":{\"a\":[]}", &a);
	WANT_STR(&a, "stdout", "1\n");
	WANT_STR(&a, "ignored.0", "colour");
	WANT_STR(&a, "ignored.1", "zzz");
}
END_TEST

Suite *suite_execute(void)
{
	Suite *s = suite_create("execute");
	TCase *tc = tcase_create("execute");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, answer_has_every_field);
	tcase_add_test(tc, answer_says_where_it_ran);
	tcase_add_loop_test(tc, last_line, 0, (int)ARRAY_SIZE(last_rows));
	tcase_add_test(tc, traceback_is_the_programs_own);
	tcase_add_loop_test(tc, programs, 0, (int)ARRAY_SIZE(run_rows));
	tcase_add_test(tc, base64_output);
	tcase_add_test(tc, limits_of_the_request);
	tcase_add_test(tc, truncation_keeps_characters_whole);
	tcase_add_test(tc, output_at_the_cap_is_untouched);
	tcase_add_loop_test(tc, signals, 0, (int)ARRAY_SIZE(signal_rows));
	tcase_add_test(tc, cpu_time_ends_a_loop);
	tcase_add_test(tc, time_counts_from_the_start_of_the_program);
	tcase_add_test(tc, jobs_share_nothing);
	tcase_add_test(tc, libraries);
	tcase_add_test(tc, a_client_that_leaves_ends_its_job);
	tcase_add_test(tc, unknown_fields_are_named);
	suite_add_tcase(s, tc);
	return s;
}
