"""What a program does and what the guest says of it: output, stdin, deadlines, signals, limits."""

import hashlib
import os
import time

from guest_link import CANCEL, EXIT, MIB, STARTED, STDERR, STDIN_ROOM, STDOUT, same, verdict


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
    code = """\
import os, sys, json
print(sys.argv[1:], os.environ['A'], _args, json.load(open(os.environ['BELLJAR_ARGS'])))
1 + 1"""
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
    code = """\
import os, sys
print(sys.flags.hash_randomization, sys.flags.optimize, hash('a') == hash('a'), sorted(k for k in os.environ if k.startswith('PYTHON')))"""
    got = place.run(code, env={"PYTHONHASHSEED": "0", "PYTHONOPTIMIZE": "1"})
    same(got["stdout"], b"0 1 True ['PYTHONDONTWRITEBYTECODE', 'PYTHONHASHSEED', 'PYTHONOPTIMIZE', 'PYTHONUNBUFFERED']\n")
    got = place.run("import time; print(time.tzname[0])", env={"TZ": "Asia/Tokyo"})
    same(got["stdout"], b"JST\n")


def test_locale_and_zone(place):
    got = place.run('import sys, time\nprint("naïve 世界", sys.stdout.encoding.lower(), time.tzname[0])')
    same(got["stdout"].decode(), "naïve 世界 utf-8 UTC\n")


def test_other_main_name(place):
    got = place.run("""\
import sys
print(sys.argv, __file__.rsplit('/')[-1])
open('main.py').read()""", main="__main__.py", files={"main.py": "data"}, show=1)
    same(got["stdout"], b"['__main__.py'] __main__.py\n'data'\n")
    same(got["files"], {})


def test_stdin(place):
    data = os.urandom(3 * MIB)
    got = place.run("""\
import sys, hashlib
print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())""", stdin=data)
    same(got["stdout"].decode().strip(), hashlib.sha256(data).hexdigest())


def test_stdin_unread(place):
    got = place.run("import time; time.sleep(.5); print('done')", stdin=bytes(5 * MIB))
    verdict(got, "exit", 0)
    same(got["stdout"], b"done\n")


def test_stdin_closed_by_the_program(place):
    got = place.run("import os, time\nos.close(0)\ntime.sleep(.5); print('done')", stdin=bytes(5 * MIB))
    same(got["stdout"], b"done\n")
    assert got["order"].count(STDIN_ROOM) > 5, "credit must go on when the program has closed its stdin"


def test_stdin_while_writing(place):
    data = os.urandom(2 * MIB)
    got = place.run("""\
import sys, shutil
shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)""", stdin=data, output=4 * MIB)
    assert got["stdout"] == data
    verdict(got, "exit", 0)


def test_flood(place):
    got = place.run('line = "z" * 8191\nwhile True:\n    print(line)', timeout_ms=1500)
    verdict(got, "timeout", 137, 9)
    same(len(got["stdout"]), MIB)
    assert got["stdout_bytes"] > MIB and got["seconds"] < 2.5, got["seconds"]


def test_flood_on_both_at_different_caps(place):
    code = """\
import sys, threading
def f(s):
    for i in range(300): s.buffer.write(b'e' * 10000)
t = threading.Thread(target=f, args=(sys.stderr,)); t.start(); f(sys.stdout); t.join()"""
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
    got = place.run("""\
import time
print("first", flush=True)
print("second")
time.sleep(60)""", timeout_ms=1000)
    verdict(got, "timeout", 137, 9)
    same(got["stdout"], b"first\nsecond\n")
    assert got["seconds"] < 1.5 and 990000 < got["wall_us"] < 1300000


def test_stops_itself(place):
    got = place.run("""\
import os, signal
print('begin', flush=True)
os.kill(0, signal.SIGSTOP)
print('after')""", timeout_ms=700)
    verdict(got, "timeout", 137, 9)
    same(got["stdout"], b"begin\n")


def test_child_holds_the_pipe(place):
    got = place.run("import subprocess\nsubprocess.Popen(['sleep', '300'])\nprint('finished')")
    verdict(got, "exit", 0)
    same(got["stdout"], b"finished\n")
    assert got["seconds"] < 1


def test_child_that_writes_in_the_grace(place):
    got = place.run("""\
import subprocess
subprocess.Popen(['sh', '-c', 'sleep 0.03; echo late'])
print('main')""")
    same(got["stdout"], b"main\nlate\n")


def test_daemon_is_killed(place):
    code = """\
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        time.sleep(1); open('late.txt', 'w').write('x')
    os._exit(0)
os.wait()
print('end')"""
    got = place.run(code)
    same((got["stdout"], got["files"]), (b"end\n", {}))


def test_all_output_of_a_short_life(place):
    got = place.run("import os\nos.write(1, b'a' * 60000)\nos.write(2, b'b' * 60000)\nos._exit(3)")
    verdict(got, "exit", 3)
    same((len(got["stdout"]), len(got["stderr"])), (60000, 60000))


def test_killed_by_itself(place):
    got = place.run("""\
import os, signal
print('bye', flush=True)
os.kill(os.getpid(), signal.SIGKILL)
print('alive', flush=True)""")
    verdict(got, "signal", 137, 9)
    same((got["stdout"], got["oom"]), (b"bye\n", 0))


def test_cpu_limit(place):
    got = place.run("while True: pass", cpu_s=1, timeout_ms=15000)
    verdict(got, "cpu", 152, 24)
    assert 900000 < got["cpu_us"] < 2500000, got["cpu_us"]
    got = place.run("""\
import signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True: pass""", cpu_s=1, timeout_ms=15000)
    verdict(got, "cpu", 137, 9)


def test_cpu_of_children_counts(place):
    got = place.run("""\
import subprocess, sys
subprocess.run([sys.executable, '-c', 'import time\\nwhile time.process_time() < .4: pass'])""")
    assert got["cpu_us"] > 350000, got["cpu_us"]


def test_file_size_limit(place):
    got = place.run("""\
try:
    f = open('big', 'wb'); f.write(bytes(3 << 20)); f.flush()
except OSError as e: print('errno', e.errno)""", file_bytes=MIB)
    same(got["stdout"], b"errno 27\n")


def test_limits_in_force(place):
    got = place.run("""\
import resource as r
print(r.getrlimit(r.RLIMIT_CORE), r.getrlimit(r.RLIMIT_NOFILE)[1] <= 4096)""")
    same(got["stdout"], b"(0, 0) True\n")


def test_cancel(place):
    guest = place.guest()
    guest.start("""\
import time
open('f', 'w').write('x')
print('go', flush=True)
time.sleep(60)""", timeout_ms=60000)
    while guest.recv()[0] != STDOUT:
        pass
    guest.send(CANCEL)
    got = guest.finish(end_stdin=False)
    verdict(got, "cancelled", 137, 9)
    same(got["files"], {"f": b"x"})
    assert got["wall_us"] < 10000000


def test_program_bytes(place):
    got = place.run('import sys\nsys.stdout.buffer.write(b"A\\xff\\xfe\\x00B\\n")')
    same(got["stdout"], b"A\xff\xfe\x00B\n")


def test_order_of_frames(place):
    got = place.run("print('a'); import sys; print('b', file=sys.stderr)")
    kinds = [k for k in got["order"] if k != STDIN_ROOM]
    same((kinds[0], kinds[-2], sorted(set(kinds[1:-2]))), (STARTED, EXIT, [STDOUT, STDERR]))
