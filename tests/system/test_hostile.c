/*
 * Programs that attack what runs them: PID 1, its pipes and limits, the workspace, memory that
 * outlives a process. Each must end with the verdict and output of an ordinary program, and the
 * file it leaves must come back: the guest is unharmed.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/service.h"

#include <check.h>
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

#define LIBC "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"

/* Each prints only what succeeded; the harness appends the file and "alive". */
static const char *const attacks[] = {
	/* every signal to PID 1, to all, to its parent */
	"import os\nfor s in range(1, 65):\n    for p in (1, os.getppid()):\n"
	"        try: os.kill(p, s)\n        except OSError: pass\n"
	"try: os.kill(-1, 9)\nexcept OSError: pass\n",
	/* queued signals with data */
	LIBC
	"b = ctypes.create_string_buffer(128)\nfor s in range(1, 65): libc.syscall(129, 1, s, b)\n",
	/* limits of PID 1 */
	"import resource\nfor what in range(16):\n    for v in (0, 1):\n"
	"        try: resource.prlimit(1, what, (v, v)); print('prlimit', what)\n        except "
	"(OSError, ValueError): pass\n",
	/* its scheduling */
	"import os\n"
	"def t(name, f, *a):\n    try: f(*a); print(name)\n    except OSError: pass\n"
	"t('affinity', os.sched_setaffinity, 1, {0})\n"
	"t('idle', os.sched_setscheduler, 1, 5, os.sched_param(0))\n"
	"t('param', os.sched_setparam, 1, os.sched_param(0))\n"
	"t('prio', os.setpriority, os.PRIO_PROCESS, 1, 19)\n"
	"t('prio user', os.setpriority, os.PRIO_USER, os.getuid(), 19)\n"
	"t('prio user 0', os.setpriority, os.PRIO_USER, 0, 19)\n"
	"t('prio group', os.setpriority, os.PRIO_PGRP, os.getpgid(1), 19)\n",
	LIBC "for which, who in ((1, 1), (2, os.getpgid(1)), (3, os.getuid()), (3, 0)):\n"
	     "    if libc.syscall(251, which, who, 3 << 13) == 0: print('ioprio', which, who)\n",
	/* its files and memory */
	"import os\nfor n in ('mem', 'environ', 'maps', 'fd/0', 'fd/1', 'fd/2', "
	"'root/etc/hostname', 'cwd', 'exe',\n"
	"          'fdinfo/0', 'task/1/mem', 'auxv', 'stack', 'syscall', 'io', 'personality'):\n"
	"    try: print('read', n, os.read(os.open('/proc/1/' + n, os.O_RDONLY), 10))\n"
	"    except OSError: pass\n"
	"for n in ('mem', 'oom_score_adj', 'clear_refs', 'coredump_filter', 'timerslack_ns', "
	"'attr/current', 'comm', 'fd/0',\n"
	"          'fd/1', 'autogroup', 'uid_map', 'loginuid', 'make-it-fail', 'sched'):\n"
	"    try: os.write(os.open('/proc/1/' + n, os.O_WRONLY), b'1'); print('wrote', n)\n"
	"    except OSError: pass\n"
	"try: print(os.listdir('/proc/1/fd'))\nexcept OSError: pass\n",
	LIBC "for nr, a in ((101, (16, 1, 0, 0)), (101, (0x4206, 1, 0, 0)), (310, (1, 0, 0, 0, 0, "
	     "0)), (311, (1, 0, 0, 0, 0, 0)),\n"
	     "              (312, (1, os.getpid(), 0, 0, 0)), (256, (1, 8, 0, 0)), (279, (1, 0, 0, "
	     "0, 0, 0))):\n"
	     "    if libc.syscall(nr, *a) > 0: print('syscall', nr)\n"
	     "fd = libc.syscall(434, 1, 0)\n"
	     "if fd >= 0:\n"
	     "    for i in range(16):\n"
	     "        if libc.syscall(438, fd, i, 0) >= 0: print('pidfd_getfd', i)\n"
	     "    libc.syscall(424, fd, 9, 0, 0)\n",
	/* descriptors it may have inherited */
	"import os\nfor fd in range(3, 1024):\n    try: os.fstat(fd); print('fd', fd)\n    except "
	"OSError: pass\n",
	/* its own output pipes turned against their reader */
	"import fcntl, os\nfor fd in (0, 1, 2):\n    fcntl.fcntl(fd, fcntl.F_SETFL, "
	"os.O_NONBLOCK)\n"
	"    try: fcntl.fcntl(fd, 1031, 4096)\n    except OSError: pass\n"
	"for fd in (1, 2): fcntl.fcntl(fd, fcntl.F_SETFL, 0)\n",
	/* shared memory and queues */
	LIBC "for i in range(64):\n    if libc.shmget(0, 64 << 20, 0o1600) < 0: break\n"
	     "for i in range(64):\n    if libc.msgget(0, 0o1600) >= 0: print('msgget')\n"
	     "for i in range(64):\n    if libc.semget(0, 100, 0o1600) < 0: break\n"
	     "for i in range(64):\n    if libc.mq_open(b'/q%d' % i, 0o102, 0o600, None) >= 0: "
	     "print('mq_open')\n",
	/* a child in another session with the pipes open */
	"import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        "
	"time.sleep(300)\n    os._exit(0)\n",
	/* many that ignore everything */
	"import os, signal, time\nfor i in range(20):\n    if os.fork() == 0:\n"
	"        for s in range(1, 65):\n            try: signal.signal(s, signal.SIG_IGN)\n       "
	"     except (OSError, ValueError): pass\n"
	"        time.sleep(300)\n        os._exit(0)\n",
	/* stopped children */
	"import os, signal, time\nfor i in range(5):\n    p = os.fork()\n    if p == 0: "
	"time.sleep(300)\n    os.kill(p, signal.SIGSTOP)\n",
	/* a workspace that can't be walked */
	"import os\nd = os.open('.', os.O_RDONLY)\nfor i in range(2000):\n    os.mkdir('d', "
	"dir_fd=d)\n"
	"    d2 = os.open('d', os.O_RDONLY, dir_fd=d); os.close(d); d = d2\n",
	"import os\nos.mkdir('locked'); open('locked/x', 'w').write('x'); os.chmod('locked', 0)\n"
	"open('unread', 'w').write('x'); os.chmod('unread', 0)\n",
	"import os\nos.remove('main.py')\nos.chmod('.', 0o700)\n",
};

START_TEST(the_guest_is_unharmed)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *code =
		xasprintf("%s\nopen('0alive', 'w').write('x')\nprint('alive')\n", attacks[_i]);
	service_execute(&svc, code, "\"timeout_ms\":30000,\"last_line_interactive\":false", &a);
	WANT_STR(&a, "stderr", "");
	WANT_STR(&a, "stdout", "alive\n");
	WANT_INT(&a, "exit_code", 0);
	WANT_STR(&a, "status", "ok");
	WANT(&a, answer_find(&a, "files", "path", "0alive"));
	ck_assert(service_wait_clean(&svc));
}
END_TEST

START_TEST(a_full_workspace)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"n = 0\n"
			"try:\n"
			"    while True: open(f'f{n}', 'wb').write(b'\\0' * (1 << 20)); n += 1\n"
			"except OSError as e: print('errno', e.errno, 8 <= n <= 16)\n",
			"\"timeout_ms\":30000,\"limits\":{\"disk_mb\":16}", &a);
	WANT_STR(&a, "stdout", "errno 28 True\n");
	WANT_STR(&a, "status", "ok");
}
END_TEST

START_TEST(inodes_run_out)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"n = 0\n"
			"try:\n"
			"    while n < 200000: open(f'f{n}', 'w').close(); n += 1\n"
			"except OSError as e: print('errno', e.errno, n < 100000)\n",
			"\"timeout_ms\":60000", &a);
	WANT_STR(&a, "stdout", "errno 28 True\n");
	WANT_STR(&a, "status", "ok");
	WANT(&a, json_object_array_length(answer_get(&a, "files")) > 0);
}
END_TEST

START_TEST(closed_descriptors)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"import os, time\nprint('before', flush=True)\nfor fd in range(3): "
			"os.close(fd)\ntime.sleep(1)\n"
			"os._exit(5)\n",
			NULL, &a);
	WANT_STR(&a, "stdout", "before\n");
	WANT_INT(&a, "exit_code", 5);
	WANT_RANGE(&a, "duration_ms", 1000, 9999);
}
END_TEST

/* 16 MiB, the most there may be. */
#define STDIN_LINES ((16 << 20) / 64)

START_TEST(unread_stdin)
{
	AUTO(strbuf) more = STRBUF(32 << 20);
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	strbuf_addstr(&more, "\"stdin\":\"");
	for (int i = 0; i < STDIN_LINES; i++)
		strbuf_addstr(&more,
			      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\\n");
	strbuf_addstr(&more, "\"");
	service_execute(&svc, "print('alive')", more.buf, &a);
	WANT_STR(&a, "stdout", "alive\n");
	WANT_STR(&a, "status", "ok");
	service_execute(&svc, "import sys\nprint(len(sys.stdin.buffer.read()))", more.buf, &b);
	AUTO_FREE char *want = xasprintf("%d\n", STDIN_LINES * 64);
	WANT_STR(&b, "stdout", want);
}
END_TEST

START_TEST(stdin_closed_early)
{
	AUTO(strbuf) more = STRBUF(8 << 20);
	AUTO(answer) a = ANSWER_INIT;
	strbuf_addstr(&more, "\"stdin\":\"");
	for (int i = 0; i < 1 << 16; i++)
		strbuf_addstr(&more, "0123456789abcdef0123456789abcdef");
	strbuf_addstr(&more, "\"");
	service_execute(&svc,
			"import os\nos.read(0, 10)\nos.close(0)\nos.write(1, b'x' * 100000)\n",
			more.buf, &a);
	WANT_STR(&a, "status", "ok");
	WANT_RANGE(&a, "stdout_bytes", 100000, 100007); /* and the repr of the last line */
}
END_TEST

START_TEST(flood_on_both_streams)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"import os, threading\n"
			"def f(fd):\n    for i in range(160): os.write(fd, b'x' * 65536)\n"
			"t = [threading.Thread(target=f, args=(fd,)) for fd in (1, 2)]\n"
			"for x in t: x.start()\nfor x in t: x.join()\n"
			"open('after', 'w').write('x')\n",
			"\"timeout_ms\":60000,\"last_line_interactive\":false", &a);
	WANT_STR(&a, "status", "ok");
	WANT_INT(&a, "exit_code", 0);
	WANT_INT(&a, "stdout_bytes", 160 * 65536);
	WANT_INT(&a, "stderr_bytes", 160 * 65536);
	WANT_BOOL(&a, "stdout_truncated", true);
	WANT_BOOL(&a, "stderr_truncated", true);
	WANT(&a, strlen(answer_str(&a, "stdout")) <= 1048576);
	WANT(&a, answer_find(&a, "files", "path", "after"));
}
END_TEST

/* What looks like the protocol on the program's own output is output. */
START_TEST(forged_frames_are_text)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"import os\nfor t in list(range(1, 9)) + list(range(64, 75)):\n"
			"    os.write(1, bytes([t, 0, 0, 0, 0, 0, 0, 4]) + b'abcd')\n"
			"    os.write(1, bytes([t % 3, 0, 0, 0, 0, 0, 0, 4]) + b'abcd')\n",
			"\"encoding\":\"base64\",\"last_line_interactive\":false", &a);
	WANT_STR(&a, "status", "ok");
	WANT_INT(&a, "stdout_bytes", 19 * 24);
	WANT_INT(&a, "exit_code", 0);
}
END_TEST

START_TEST(the_whole_group_is_killed)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "import os\nprint('x', flush=True)\nos.killpg(0, 9)", NULL, &a);
	WANT_STR(&a, "stdout", "x\n");
	WANT_STR(&a, "status", "signaled");
	WANT_STR(&a, "signal", "SIGKILL");
}
END_TEST

Suite *suite_hostile(void)
{
	Suite *s = suite_create("hostile");
	TCase *tc = tcase_create("hostile");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, the_guest_is_unharmed, 0, (int)ARRAY_SIZE(attacks));
	tcase_add_test(tc, a_full_workspace);
	tcase_add_test(tc, inodes_run_out);
	tcase_add_test(tc, closed_descriptors);
	tcase_add_test(tc, unread_stdin);
	tcase_add_test(tc, stdin_closed_early);
	tcase_add_test(tc, flood_on_both_streams);
	tcase_add_test(tc, forged_frames_are_text);
	tcase_add_test(tc, the_whole_group_is_killed);
	suite_add_tcase(s, tc);
	return s;
}
