"""Hostile programs and hostile workers: what neither can do to the guest."""

import os
import struct
import time

from guest_link import (CANCEL, DATA, END, GO, JOB, MIB, PUT, STARTED, STDIN, Gone, field,
                        job_text, same, verdict)  # fmt: skip


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


def test_other_signals(place):
    verdict(place.run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"), "signal", 139, 11)
    verdict(place.run("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)"), "signal", 143, 15)
    got = place.run("""\
import os
try: os.kill(1, 9)
except OSError as e: print(e)
for s in list(range(1, 32)) + [40, 64]:
    try: os.kill(1, s)
    except OSError as e: print(e)
import time; time.sleep(.3); print('lives')""")
    same(got["stdout"], b"lives\n")


def test_kills_everything_it_can(place):
    got = place.run("""\
import os, time
if os.fork() == 0: time.sleep(60)
os.kill(-1, 9)
print(os.wait()[1])""")
    same(got["stdout"], b"9\n")
    verdict(got, "exit", 0)


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
    got = place.run("""\
blocks = []
while True:
    blocks.append(bytearray(b"\\x01") * (4 << 20))""", timeout_ms=20000, limits={"memory": "128m"})
    verdict(got, "oom", 137, 9)
    same(got["oom"], 1)
    assert 100 * MIB < got["memory_peak"] <= 128 * MIB, got["memory_peak"]


test_out_of_memory.container_only = True


def test_out_of_memory_in_a_child(place):
    code = """\
import subprocess, sys
p = subprocess.run([sys.executable, '-c', 'b = []\\nwhile True: b.append(bytearray(1 << 22))'])
print(p.returncode)"""
    got = place.run(code, timeout_ms=20000, limits={"memory": "128m"})
    verdict(got, "exit", 0)
    same((got["stdout"], got["oom"]), (b"-9\n", 1))


test_out_of_memory_in_a_child.container_only = True


def test_memory_in_files(place):
    code = "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(1 << 20))"
    got = place.run(code, timeout_ms=20000, file_bytes=0, limits={"memory": "128m"})
    verdict(got, "oom", 137, 9)


test_memory_in_files.container_only = True


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
nice = os.getpriority(os.PRIO_PROCESS, 0)  # an engine started by a niced shell gives containers its own
tried('own', lambda: os.setpriority(os.PRIO_PROCESS, 0, min(nice + 5, 19)))
tried('own group', lambda: os.setpriority(os.PRIO_PGRP, 0, min(nice + 6, 19)))
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
    got = place.run("""\
import os
print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:4], os.getsid(0) == os.getpid())""")
    same(got["stdout"], b"[0, 1, 2, 3] True\n")  # 3 is the folder being listed
    got = place.run("""\
import os
for fd in range(3, 20):
    try: print(fd, os.readlink(f'/proc/self/fd/{fd}'))
    except OSError: pass""")
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
    for path in ("../x", "/abs", "a/../../x", "..", ".", "", "a//b", "a/", "./a", "a\0b", "n" * 256, b"bad\xff", """\
a
b""", "/".join("abcdefghijklmnopq"), "a/" * 600):
        staging_failure(place, "path", (JOB, job_text()), put(path))


def test_staging_in_disorder(place):
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
    got = place.guest(hello=False, python="/no/such/python").finish(end_stdin=False)
    same(got["fail"][0], "start")
    assert "/no/such/python" in got["fail"][1] and "No such file" in got["fail"][1], got["fail"]


def test_zombies(place):
    code = """\
import os, time
for i in range(100):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
time.sleep(.3)
print(sum('\\nState:\\tZ' in open(f'/proc/{p}/status').read() for p in os.listdir('/proc') if p.isdigit()))"""
    got = place.run(code, timeout_ms=20000)
    same(got["stdout"], b"0\n")
