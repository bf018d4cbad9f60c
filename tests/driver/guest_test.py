#!/usr/bin/env python3
"""Runs the real guest through scripted dialogues and checks its verdicts.

usage: guest_test.py GUEST_BINARY DRIVERS_FOLDER [NAME...]
In containers of the image where Docker and the image are there (so memory and process limits are real), else in
namespaces of this machine, where the tests that need those limits are left out and said to be. Prints
"N passed, N failed" and exits non-zero if any failed.
"""

import os
import shutil
import struct
import sys
import tempfile
import time
import traceback

from guest_link import (CANCEL, DATA, END, EXIT, FAIL, GO, JOB, PUT, STARTED, STDERR, STDIN, STDIN_ROOM, STDOUT, Gone, Guest,
                        container_command, field, have_image, namespace_command)  # fmt: skip

MIB = 1 << 20


class Place:
    """Starts guests and ends every one of them."""

    def __init__(self, folder, in_container):
        self.folder, self.in_container, self.count, self.open = folder, in_container, 0, []

    def guest(self, hello=True, **limits):
        self.count += 1
        if self.in_container:
            command = container_command(self.folder, f"belljar-test-guest-{os.getpid()}-{self.count}", **limits)
        else:
            limits.pop("memory", None)
            command = namespace_command(self.folder, "/usr/bin/python3", **limits)
        guest = Guest(command, hello)
        self.open.append(guest)
        return guest

    def run(self, code, files=(), stdin=b"", limits=None, **options):
        guest = self.guest(**(limits or {}))
        begin = time.monotonic()
        guest.start(code, files, **options)
        got = guest.finish(stdin)
        got["seconds"] = time.monotonic() - begin
        got["status"] = guest.close()
        assert got["status"] == 0, got
        return got

    def end(self):
        for guest in self.open:
            if guest.process.poll() is None:
                guest.close()
        self.open.clear()


def same(got, want):
    assert got == want, f"got {got!r:.600}, want {want!r:.600}"


def verdict(got, cause, exit_code, signal=0):
    assert "fail" not in got, got["fail"]
    same((got["cause"], got["exit_code"], got["signal"]), (cause, exit_code, signal))


def test_hello(place):
    got = place.run("print('hi')")
    verdict(got, "exit", 0)
    same((got["stdout"], got["stderr"], got["files"], got["skipped"]), (b"hi\n", b"", {}, {}))
    same(got["order"][0], STARTED)
    assert got["wall_us"] > 0 and got["cpu_us"] > 0 and got["memory_peak"] > MIB
    same((got["stdout_bytes"], got["stderr_bytes"], got["oom"]), (3, 0, 0))


def test_exit_code_and_traceback(place):
    got = place.run("import sys\ndef f():\n    1/0\nf()")
    verdict(got, "exit", 1)
    assert b"main.py\", line 4, in <module>" in got["stderr"] and b"ZeroDivisionError" in got["stderr"]
    verdict(place.run("raise SystemExit(42)"), "exit", 42)


def test_show_last_argv_env_args(place):
    code = "import os, sys, json\nprint(sys.argv[1:], os.environ['A'], _args, json.load(open(os.environ['BELLJAR_ARGS'])))\n1 + 1"
    got = place.run(code, show=1, argv=["x", "y z"], env={"A": "ä"}, args='{"k":[1,"é"]}')
    same(got["stdout"].decode(), "['x', 'y z'] ä {'k': [1, 'é']} {'k': [1, 'é']}\n2\n")
    verdict(got, "exit", 0)


def test_args_without_sense(place):
    got = place.run("print(1)", args="[" * 100000)
    same(got["fail"][0], "start")


def test_large_args(place):
    got = place.run("print(len(_args), _args[-1])", args='["' + "a" * 1000000 + '",7]')
    same(got["stdout"], b"2 7\n")


def test_start_environment(place):
    code = "import os, sys\nprint(sys.flags.hash_randomization, sys.flags.optimize, hash('a') == hash('a'), sorted(k for k in os.environ if k.startswith('PYTHON')))"
    got = place.run(code, env={"PYTHONHASHSEED": "0", "PYTHONOPTIMIZE": "1"})
    same(got["stdout"], b"0 1 True ['PYTHONDONTWRITEBYTECODE', 'PYTHONHASHSEED', 'PYTHONOPTIMIZE', 'PYTHONUNBUFFERED']\n")
    got = place.run("import time; print(time.tzname[0])", env={"TZ": "Asia/Tokyo"})
    same(got["stdout"], b"JST\n")


def test_locale_and_zone(place):
    got = place.run('import sys, time\nprint("naïve 世界", sys.stdout.encoding.lower(), time.tzname[0])')
    same(got["stdout"].decode(), "naïve 世界 utf-8 UTC\n")


def test_other_main_name(place):
    got = place.run("import sys\nprint(sys.argv, __file__.rsplit('/')[-1])\nopen('main.py').read()", main="__main__.py", files={"main.py": "data"}, show=1)
    same(got["stdout"], b"['__main__.py'] __main__.py\n'data'\n")
    same(got["files"], {})


def test_stdin(place):
    data = os.urandom(3 * MIB)
    got = place.run("import sys, hashlib\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())", stdin=data)
    import hashlib

    same(got["stdout"].decode().strip(), hashlib.sha256(data).hexdigest())


def test_stdin_unread(place):
    got = place.run("import time; time.sleep(.5); print('done')", stdin=bytes(5 * MIB))
    verdict(got, "exit", 0)
    same(got["stdout"], b"done\n")


def test_stdin_closed_by_the_program(place):
    got = place.run("import os, time\nos.close(0)\ntime.sleep(.5); print('done')", stdin=bytes(5 * MIB))
    same(got["stdout"], b"done\n")
    assert got["order"].count(STDIN_ROOM) > 5, "credit must go on when the program has closed its stdin"


def test_stdin_beyond_credit(place):
    guest = place.guest()
    guest.start("import time; time.sleep(9)")
    try:
        for _ in range(40):
            guest.send(STDIN, bytes(65536))
        guest.finish(end_stdin=False, timeout=10)
        raise AssertionError("stdin beyond the credit was taken")
    except Gone:
        pass


def test_stdin_while_writing(place):
    data = os.urandom(2 * MIB)
    got = place.run("import sys, shutil\nshutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)", stdin=data, output=4 * MIB)
    assert got["stdout"] == data
    verdict(got, "exit", 0)


def test_flood(place):
    got = place.run('line = "z" * 8191\nwhile True:\n    print(line)', timeout_ms=1500)
    verdict(got, "timeout", 137, 9)
    same(len(got["stdout"]), MIB)
    assert got["stdout_bytes"] > MIB and got["seconds"] < 2.5, got["seconds"]


def test_flood_on_both_at_different_caps(place):
    code = "import sys, threading\ndef f(s):\n    for i in range(300): s.buffer.write(b'e' * 10000)\nt = threading.Thread(target=f, args=(sys.stderr,)); t.start(); f(sys.stdout); t.join()"
    got = place.run(code, output=100001)
    same((len(got["stdout"]), len(got["stderr"])), (100001, 100001))
    same((got["stdout_bytes"], got["stderr_bytes"]), (3000000, 3000000))
    verdict(got, "exit", 0)


def test_no_output_wanted(place):
    got = place.run("print('x' * 100)", output=0)
    same((got["stdout"], got["stdout_bytes"]), (b"", 101))


def test_worker_that_does_not_read(place):
    guest = place.guest()
    guest.start("while True: print('y' * 5000)", timeout_ms=1000, output=64 * MIB)
    time.sleep(2.5)
    got = guest.finish(timeout=10)
    verdict(got, "timeout", 137, 9)
    assert got["wall_us"] < 1500000, "the deadline must not wait for the worker"
    same(len(got["stdout"]), got["stdout_bytes"])


def test_partial_output_at_timeout(place):
    got = place.run('import time\nprint("first", flush=True)\nprint("second")\ntime.sleep(60)', timeout_ms=1000)
    verdict(got, "timeout", 137, 9)
    same(got["stdout"], b"first\nsecond\n")
    assert got["seconds"] < 1.5 and 990000 < got["wall_us"] < 1300000


def test_stops_itself(place):
    got = place.run("import os, signal\nprint('begin', flush=True)\nos.kill(0, signal.SIGSTOP)\nprint('after')", timeout_ms=700)
    verdict(got, "timeout", 137, 9)
    same(got["stdout"], b"begin\n")


def test_child_holds_the_pipe(place):
    got = place.run("import subprocess\nsubprocess.Popen(['sleep', '300'])\nprint('finished')")
    verdict(got, "exit", 0)
    same(got["stdout"], b"finished\n")
    assert got["seconds"] < 1


def test_child_that_writes_in_the_grace(place):
    got = place.run("import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 0.03; echo late'])\nprint('main')")
    same(got["stdout"], b"main\nlate\n")


def test_daemon_is_killed(place):
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for fd in (0, 1, 2): os.close(fd)\n        time.sleep(1); open('late.txt', 'w').write('x')\n    os._exit(0)\nos.wait()\nprint('end')"
    got = place.run(code)
    same((got["stdout"], got["files"]), (b"end\n", {}))


def test_all_output_of_a_short_life(place):
    got = place.run("import os\nos.write(1, b'a' * 60000)\nos.write(2, b'b' * 60000)\nos._exit(3)")
    verdict(got, "exit", 3)
    same((len(got["stdout"]), len(got["stderr"])), (60000, 60000))


def test_killed_by_itself(place):
    got = place.run("import os, signal\nprint('bye', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\nprint('alive', flush=True)")
    verdict(got, "signal", 137, 9)
    same((got["stdout"], got["oom"]), (b"bye\n", 0))


def test_other_signals(place):
    verdict(place.run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"), "signal", 139, 11)
    verdict(place.run("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)"), "signal", 143, 15)
    got = place.run("import os\ntry: os.kill(1, 9)\nexcept OSError as e: print(e)\nfor s in list(range(1, 32)) + [40, 64]:\n    try: os.kill(1, s)\n    except OSError as e: print(e)\nimport time; time.sleep(.3); print('lives')")
    same(got["stdout"], b"lives\n")


def test_kills_everything_it_can(place):
    got = place.run("import os\nos.kill(-1, 9)\nprint('me')")
    same(got["stdout"], b"me\n")
    verdict(got, "exit", 0)


def test_cpu_limit(place):
    got = place.run("while True: pass", cpu_s=1, timeout_ms=15000)
    verdict(got, "cpu", 152, 24)
    assert 900000 < got["cpu_us"] < 2500000, got["cpu_us"]
    got = place.run("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", cpu_s=1, timeout_ms=15000)
    verdict(got, "cpu", 137, 9)


def test_cpu_of_children_counts(place):
    got = place.run("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time\\nwhile time.process_time() < .4: pass'])")
    assert got["cpu_us"] > 350000, got["cpu_us"]


def test_file_size_limit(place):
    got = place.run("try:\n    f = open('big', 'wb'); f.write(bytes(3 << 20)); f.flush()\nexcept OSError as e: print('errno', e.errno)", file_bytes=MIB)
    same(got["stdout"], b"errno 27\n")


def test_limits_in_force(place):
    got = place.run("import resource as r\nprint(r.getrlimit(r.RLIMIT_CORE), r.getrlimit(r.RLIMIT_NOFILE)[1] <= 4096)")
    same(got["stdout"], b"(0, 0) True\n")


def test_cancel(place):
    guest = place.guest()
    guest.start("import time\nopen('f', 'w').write('x')\nprint('go', flush=True)\ntime.sleep(60)", timeout_ms=60000)
    while guest.recv()[0] != STDOUT:
        pass
    guest.send(CANCEL)
    got = guest.finish(end_stdin=False)
    verdict(got, "cancelled", 137, 9)
    same(got["files"], {"f": b"x"})
    assert got["wall_us"] < 10000000


def test_cancel_before_start(place):
    guest = place.guest()
    guest.job()
    guest.send(CANCEL)
    same(guest.finish()["fail"][0], "cancelled")
    same(guest.close(), 0)


def test_end_of_input_ends_it(place):
    for steps in (0, 1, 2):
        guest = place.guest()
        if steps == 1:
            guest.job()
        if steps == 2:
            guest.start("import time; time.sleep(60)", timeout_ms=60000)
            same(guest.recv()[0], STARTED)
        begin = time.monotonic()
        same(guest.close(), 0)
        assert time.monotonic() - begin < 3


def test_fork_bomb(place):
    code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    got = place.run(code, timeout_ms=1500)
    verdict(got, "timeout", 137, 9)
    assert got["seconds"] < 3.5, got["seconds"]


test_fork_bomb.container_only = True


def test_out_of_memory(place):
    got = place.run('blocks = []\nwhile True:\n    blocks.append(bytearray(b"\\x01") * (4 << 20))', timeout_ms=20000, limits={"memory": "128m"})
    verdict(got, "oom", 137, 9)
    same(got["oom"], 1)
    assert 100 * MIB < got["memory_peak"] <= 128 * MIB, got["memory_peak"]


test_out_of_memory.container_only = True


def test_out_of_memory_in_a_child(place):
    code = "import subprocess, sys\np = subprocess.run([sys.executable, '-c', 'b = []\\nwhile True: b.append(bytearray(1 << 22))'])\nprint(p.returncode)"
    got = place.run(code, timeout_ms=20000, limits={"memory": "128m"})
    verdict(got, "exit", 0)
    same((got["stdout"], got["oom"]), (b"-9\n", 1))


test_out_of_memory_in_a_child.container_only = True


def test_memory_in_files(place):
    code = "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(1 << 20))"
    got = place.run(code, timeout_ms=20000, file_bytes=0, limits={"memory": "128m"})
    verdict(got, "oom", 137, 9)


test_memory_in_files.container_only = True


def test_workspace_full(place):
    code = "try:\n    with open('big', 'wb') as f:\n        while True: f.write(bytes(1 << 20))\nexcept OSError as e: print('errno', e.errno)\n"
    got = place.run(code, file_bytes=0, limits={"workspace": "8m"})
    verdict(got, "exit", 0)
    same((got["stdout"], got["skipped"]), (b"errno 28\n", {}))
    assert 7 * MIB < len(got["files"]["big"]) <= 8 * MIB


def test_workspace_full_of_names(place):
    code = "n = 0\ntry:\n    while True: open(f'f{n}', 'w').close(); n += 1\nexcept OSError as e: print(e.errno)\n"
    got = place.run(code, files_max=10, timeout_ms=20000)
    verdict(got, "exit", 0)
    same(got["stdout"], b"28\n")
    same((len(got["files"]), len(got["skipped"])), (10, 1000))
    same(sorted(got["files"]), sorted(f"f{n}" for n in (0, 1, 10, 100, 1000, 1001, 1002, 1003, 1004, 1005)))


def test_tmp_full(place):
    code = 'try:\n    with open("/tmp/big", "wb") as f:\n        for _ in range(200): f.write(b"\\0" * (1 << 20))\nexcept OSError as e:\n    print("errno", e.errno)\n'
    got = place.run(code, file_bytes=0)
    same(got["stdout"], b"errno 28\n")


def test_files_come_back(place):
    code = "import os\nos.makedirs('d/e')\nopen('d/e/x.bin', 'wb').write(bytes(range(256)) * 1000)\nopen('a é 世界.txt', 'w').write('é')\nopen('empty', 'w')\nopen('in.txt', 'a').write('+')\nopen('d.txt', 'w').write('z')"
    got = place.run(code, files={"in.txt": "in", "same.txt": "s", "sub/data.csv": "1,2"})
    want = {"a é 世界.txt": "é".encode(), "d.txt": b"z", "d/e/x.bin": bytes(range(256)) * 1000, "empty": b"", "in.txt": b"in+"}
    same(got["files"], want)
    same(list(got["files"]), ["a é 世界.txt", "d/e/x.bin", "d.txt", "empty", "in.txt"])
    same(got["skipped"], {})


def test_unchanged_inputs(place):
    code = (
        "import os, shutil\nt = open('same', 'rb').read()\nos.remove('same'); open('same', 'wb').write(t)\nos.utime('touched', (1, 1))\n"
        "open('one_byte', 'r+b').write(b'Y')\nopen('longer', 'a').write('x')\nopen('other', 'wb').write(b'q' * 300000)\nos.rename('moved', 'moved2')\nos.chmod('mode', 0o600)\nos.remove('gone')\n"
        "s = os.stat('stamp'); open('stamp', 'r+b').write(b'N'); os.utime('stamp', ns=(s.st_atime_ns, s.st_mtime_ns))\n"
    )
    names = "same touched one_byte longer moved mode gone stamp".split()
    got = place.run(code, files={**{n: n * 5000 for n in names}, "other": "p" * 300000, "kept/untouched": "u" * 100000})
    same(sorted(got["files"]), ["longer", "moved2", "one_byte", "other", "stamp"])


def test_links_and_odd_files(place):
    code = 'import os, socket\nos.symlink("/etc/passwd", "report.txt")\nos.symlink("../../../../etc", "dir")\nos.mkfifo("pipe")\nopen("real.txt", "w").write("ok")\nos.link("real.txt", "hard.txt")\ns = socket.socket(socket.AF_UNIX); s.bind("sock")\nos.symlink(".", "loop")\n'
    got = place.run(code)
    same(got["files"], {"hard.txt": b"ok", "real.txt": b"ok"})
    same(got["skipped"], {"report.txt": "link", "dir": "link", "pipe": "special", "sock": "special", "loop": "link"})


def test_skip_reasons(place):
    code = (
        "import os\nopen('a', 'wb').write(bytes(3000))\nopen('b', 'wb').write(bytes(9000))\nopen('c', 'wb').write(bytes(4000))\nopen('d', 'wb').write(bytes(2000))\n"
        "open(b'bad\\xff', 'w').write('x')\nopen('new\\nline', 'w').write('x')\nd = 'q'\nfor i in range(20):\n    os.mkdir(d); d += '/q'\n"
        "l = 'L' * 200\np = '.'\nfor i in range(5):\n    os.mkdir(l); os.chdir(l)\nopen('y' * 250, 'w')"
    )
    got = place.run(code, files_bytes=8000)
    same(sorted(got["files"]), ["a", "c"])
    skipped = {k: v for k, v in got["skipped"].items() if not k.startswith(("q", "L"))}
    same(skipped, {"b": "too_large", "d": "total", "bad?": "name", "new?line": "name"})
    same(got["skipped"]["q" + "/q" * 15], "depth")
    same(got["skipped"]["/".join(["L" * 200] * 5)], "name")


def test_rights_taken_away(place):
    code = "import os\nos.mkdir('shut'); open('shut/x', 'w').write('in'); os.chmod('shut', 0)\nopen('f', 'w').write('f'); os.chmod('f', 0)\nos.mkdir('noexec'); open('noexec/y', 'w').write('y'); os.chmod('noexec', 0o400)\nos.chmod('.', 0)"
    got = place.run(code)
    same(got["files"], {"shut/x": b"in", "f": b"f", "noexec/y": b"y"})
    same(got["skipped"], {})


def test_sparse_file(place):
    got = place.run("open('s', 'wb').truncate(1 << 40)", file_bytes=0)
    same((got["files"], got["skipped"]), ({}, {"s": "too_large"}))


def test_many_folders(place):
    code = "import os\nfor i in range(40):\n    for j in range(40): os.makedirs(f'd{i}/e{j}')\nfor i in range(100): open(f'd7/e7/f{i:03}', 'w').write(str(i))"
    got = place.run(code)
    same(list(got["files"]), [f"d7/e7/f{i:03}" for i in range(100)])


def test_guest_is_protected(place):
    code = """
import os, ctypes, resource
def tried(what, f):
    try: f(); print(what, 'done')
    except (OSError, ValueError) as e: print(what, getattr(e, 'errno', e))
for name in ('environ', 'mem', 'maps', 'fd', 'cwd', 'exe', 'root'):
    p = '/proc/1/' + name
    tried(name, lambda: os.listdir(p) if name == 'fd' else os.readlink(p) if name in ('cwd', 'exe', 'root') else open(p, 'rb').read(1))
tried('oom', lambda: open('/proc/1/oom_score_adj', 'w').write('1000'))
tried('fd0', lambda: open('/proc/1/fd/0', 'rb'))
tried('fd1', lambda: open('/proc/1/fd/1', 'wb'))
tried('prlimit', lambda: resource.prlimit(1, resource.RLIMIT_AS, (1, 1)))
tried('affinity', lambda: os.sched_setaffinity(1, {0}))
tried('scheduler', lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
tried('param', lambda: os.sched_setparam(1, os.sched_param(0)))
tried('priority', lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
tried('group', lambda: os.setpriority(os.PRIO_PGRP, 1, 19))
tried('user', lambda: os.setpriority(os.PRIO_USER, 0, 19))
tried('user2', lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))
tried('pidfd', lambda: os.pidfd_open(1))
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    if libc.syscall(*a) < 0: raise OSError(ctypes.get_errno(), '')
if os.uname().machine == 'x86_64':
    tried('ioprio', lambda: call(251, 1, 1, 3 << 13))
    tried('ioprio user', lambda: call(251, 3, os.getuid(), 3 << 13))
    tried('ptrace', lambda: call(101, 16, 1, 0, 0))
    tried('x32', lambda: call(0x40000000 + 39))
tried('own', lambda: os.setpriority(os.PRIO_PROCESS, 0, 5))
tried('own group', lambda: os.setpriority(os.PRIO_PGRP, 0, 6))
tried('own limit', lambda: resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (100, 100)))
tried('own affinity', lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
print(open('/proc/self/oom_score_adj').read().strip(), open('/proc/self/status').read().split('Seccomp:')[1][:3].strip(), os.getppid())
"""
    got = place.run(code)
    same(got["stderr"], b"")
    want = "".join(f"{n} 13\n" for n in "environ mem maps fd cwd exe root oom fd0 fd1".split())
    want += "".join(f"{n} 1\n" for n in "prlimit affinity scheduler param priority group user user2 pidfd".split())
    if os.uname().machine == "x86_64":
        want += "ioprio 1\nioprio user 1\nptrace 1\nx32 38\n"
    want += "own done\nown group done\nown limit done\nown affinity done\n1000 2 1\n"
    same(got["stdout"].decode(), want)


test_guest_is_protected.container_only = True  # root of a namespace may open more


def test_descriptors(place):
    got = place.run("import os\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:4], os.getsid(0) == os.getpid())")
    same(got["stdout"], b"[0, 1, 2, 3] True\n")  # 3 is the folder being listed
    got = place.run("import os\nfor fd in range(3, 20):\n    try: print(fd, os.readlink(f'/proc/self/fd/{fd}'))\n    except OSError: pass")
    same(got["stdout"], b"")


def staging_failure(place, want, *frames, **options):
    guest = place.guest(**options)
    for kind, data in frames:
        guest.send(kind, data)
    got = guest.finish(end_stdin=False)
    same(got["fail"][0], want)
    same(guest.close(), 0)
    return got["fail"][1]


def put(path, size=0):
    return PUT, field(path) + struct.pack(">Q", size)


def test_paths_refused(place):
    from guest_link import job_text

    for path in ("../x", "/abs", "a/../../x", "..", ".", "", "a//b", "a/", "./a", "a\0b", "n" * 256, b"bad\xff", "a\nb", "/".join("abcdefghijklmnopq"), "a/" * 600):
        staging_failure(place, "path", (JOB, job_text()), put(path))


def test_staging_in_disorder(place):
    from guest_link import job_text

    job = (JOB, job_text())
    staging_failure(place, "protocol", (PUT, b""))
    staging_failure(place, "protocol", (GO, b""))
    staging_failure(place, "protocol", (STDIN, b"x"))
    staging_failure(place, "protocol", (99, b""))
    staging_failure(place, "protocol", (JOB, b"short"))
    staging_failure(place, "protocol", job, job)
    staging_failure(place, "protocol", job, put("a", 5), (GO, b""))
    staging_failure(place, "protocol", job, put("a", 5), (DATA, b"123456"))
    staging_failure(place, "protocol", job, put("a", 5), (DATA, b"123"), (END, b""))
    staging_failure(place, "protocol", job, put("a", 5), put("b", 5))
    staging_failure(place, "protocol", job, (DATA, b"1"))
    staging_failure(place, "path", job, put("a", 0), (END, b""), put("a", 0))
    staging_failure(place, "path", job, put("a", 0), (END, b""), put("a/b", 0))


def test_disk_full_while_staging(place):
    guest = place.guest(workspace="1m")
    try:
        guest.start("print(1)", files={"fine": "x", "large.bin": bytes(5 * MIB)})
    except Gone:
        pass
    code, text = guest.finish(end_stdin=False)["fail"]
    same(code, "disk")
    assert "large.bin" in text, text


def test_garbage(place):
    for data in (b"\xff" * 64, struct.pack(">BBHI", JOB, 0, 0, 70000), struct.pack(">BBHI", JOB, 1, 0, 0)):
        guest = place.guest()
        guest.raw(data)
        assert guest.process.wait(10) != 0


def test_disorder_while_running(place):
    guest = place.guest()
    guest.start("import time; time.sleep(60)")
    guest.send(GO)
    assert guest.process.wait(10) != 0


def test_no_interpreter(place):
    guest = place.guest(hello=False) if not place.in_container else None
    if guest is None:
        command = container_command(place.folder, f"belljar-test-guest-{os.getpid()}-none")
        guest = Guest(command[:-1] + ["/no/such/python"], hello=False)
        place.open.append(guest)
        got = guest.finish(end_stdin=False)
        same(got["fail"][0], "start")
        assert "/no/such/python" in got["fail"][1] and "No such file" in got["fail"][1], got["fail"]


test_no_interpreter.container_only = True


def test_zombies(place):
    code = "import os, time\nfor i in range(100):\n    if os.fork() == 0:\n        if os.fork() == 0: os._exit(0)\n        os._exit(0)\n    os.wait()\ntime.sleep(.3)\nprint(sum('\\nState:\\tZ' in open(f'/proc/{p}/status').read() for p in os.listdir('/proc') if p.isdigit()))"
    got = place.run(code, timeout_ms=20000)
    same(got["stdout"], b"0\n")


def test_program_bytes(place):
    got = place.run('import sys\nsys.stdout.buffer.write(b"A\\xff\\xfe\\x00B\\n")')
    same(got["stdout"], b"A\xff\xfe\x00B\n")


def test_order_of_frames(place):
    got = place.run("print('a'); import sys; print('b', file=sys.stderr)")
    kinds = [k for k in got["order"] if k != STDIN_ROOM]
    same((kinds[0], kinds[-2], sorted(set(kinds[1:-2]))), (STARTED, EXIT, [STDOUT, STDERR]))


def install(binary, drivers, folder):
    shutil.copy(binary, os.path.join(folder, "guest"))
    shutil.copytree(drivers, os.path.join(folder, "drivers"), ignore=shutil.ignore_patterns("__pycache__"))
    os.chmod(folder, 0o755)
    os.chmod(os.path.join(folder, "guest"), 0o755)


def run_one(place, name, test):
    try:
        test(place)
        return True
    except Exception:
        print(f"FAILED {name}")
        traceback.print_exc(limit=-3, file=sys.stdout)
        return False
    finally:
        place.end()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    in_container = have_image()
    tests = {n[5:]: f for n, f in globals().items() if n.startswith("test_")}
    chosen = sys.argv[3:] or list(tests)
    results, left_out = [], []
    with tempfile.TemporaryDirectory(prefix="belljar-guest-") as folder:
        install(sys.argv[1], sys.argv[2], folder)
        place = Place(folder, in_container)
        for name in chosen:
            if getattr(tests[name], "container_only", False) and not in_container:
                left_out.append(name)
                continue
            results.append(run_one(place, name, tests[name]))
    if left_out:
        print("left out, they need the image:", ", ".join(left_out))
    print(f"guest: {sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
