"""Modules that the waiting interpreter imports in advance: what they save, and that no job can be hurt by them."""

import time

from guest_link import CANCEL, GO, MIB, PUT, field, same, verdict

SEEN = "import sys\nprint([n for n in '{}'.split(',') if n in sys.modules])"


def ready(place, names, wait=1.0, **limits):
    """A guest which has had time to import."""
    guest = place.guest(preimport=names, **limits)
    time.sleep(wait)
    return guest


def run_in(guest, code, files=(), stdin=b"", **options):
    begin = time.monotonic()
    guest.start(code, files, **options)
    got = guest.finish(stdin)
    got["seconds"] = time.monotonic() - begin
    same(guest.close(), 0)
    return got


def imported(place, names, want, code="", tries=(1, 3, 9, 27), **limits):
    """A run of SEEN in a guest that has imported these: how long that takes is the machine's affair."""
    for wait in tries:
        got = run_in(ready(place, names, wait, **limits), SEEN.format(names) + "\n" + code)
        if got["stdout"].decode().startswith(f"{want}\n"):
            break
    same(got["stdout"].decode().split("\n")[0], str(want))
    return got


def test_preimport(place):
    code = """\
import os, time, gc
t = time.perf_counter()
import pandas
print(time.perf_counter() - t < .1, pandas.DataFrame({'a': [1, 2]}).a.sum(), [k for k in os.environ if 'BELL' in k])
print(os.listdir('.'), [int(f) for f in os.listdir('/proc/self/fd')], len(os.listdir('/proc/self/task')))"""
    got = imported(place, "numpy,pandas", ["numpy", "pandas"], code)
    verdict(got, "exit", 0)
    same(got["stdout"].decode().split("\n")[1:-1], ["True 3 []", "['main.py'] [0, 1, 2, 3] 1"])
    same((got["stderr"], got["files"]), (b"", {}))
    assert got["cpu_us"] < 300000, got["cpu_us"]


def test_preimport_and_fork(place):
    code = "import os\nif os.fork() == 0: os._exit(4)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))"
    got = imported(place, "numpy,pandas", ["numpy", "pandas"], code)
    same((got["stdout"].split(b"\n")[1], got["stderr"]), (b"4", b""))


def test_preimport_shadowed(place):
    """A file of the job's wins, over a module that another one has imported as well."""
    for names, path in (("json", "json.py"), ("numpy,pandas", "pytz/__init__.py"), ("numpy,pandas", "csv.py")):
        name = path.split(".")[0].split("/")[0]
        got = run_in(ready(place, names, 2), f"import {name}\n{name}.X", {path: "X = 'mine'"}, show=1)
        verdict(got, "exit", 0)
        same((got["stdout"], got["stderr"], got["files"]), (b"'mine'\n", b"", {}))
    rc = "font.size: 33\n"
    code = "import matplotlib\nmatplotlib.rcParams['font.size']"
    got = run_in(ready(place, "matplotlib", 2), code, {"matplotlibrc": rc}, show=1, timeout_ms=20000)
    same(got["stdout"], b"33.0\n")


def test_preimport_and_environment(place):
    """What a module reads when it is imported must be the job's."""
    code = "import matplotlib\nmatplotlib.get_backend().lower()"
    got = run_in(ready(place, "matplotlib", 2), code, env={"MPLBACKEND": "svg"}, show=1, timeout_ms=20000)
    same((got["stdout"], got["stderr"]), (b"'svg'\n", b""))
    got = run_in(ready(place, "good"), "import sys\n'good' in sys.modules, sys.argv[1:]", argv=["a", "b"], show=1)
    same(got["stdout"], b"(False, ['a', 'b'])\n")
    got = run_in(ready(place, "good"), "import sys\n'good' in sys.modules, sys.argv", main="__main__.py", show=1)
    same(got["stdout"], b"(False, ['__main__.py'])\n")
    got = run_in(ready(place, "good"), "import sys, os\n'good' in sys.modules, _args", args="[1]", show=1)
    same(got["stdout"], b"(True, [1])\n")


def test_preimport_that_spoils(place):
    names = "prints,dies,no_such,aborts,good,threads,forks,kills,sets_env,warns,fails_late"
    code = "import os, time\nprint(len(os.listdir('/proc/self/task')), os.environ.get('NEW'))\ntime.sleep(.1)"
    got = imported(place, names, ["good"], code)
    same((got["stdout"].split(b"\n")[1:], got["stderr"]), ([b"1 None", b""], b""))
    verdict(got, "exit", 0)
    got = run_in(ready(place, "dies", .5), "print(1)")
    same(got["stdout"], b"1\n")


def test_preimport_that_hangs(place):
    """A job waits for an import only as long as a constant says; what it was given is all there."""
    for name in "sleeps", "spins", "reads_stdin":
        code = f"import sys\nprint('{name}' in sys.modules, sys.stdin.read(), len(_args[0]))\n5"
        got = run_in(ready(place, name), code, stdin=b"input", show=1, args='["' + "a" * 1000000 + '"]')
        verdict(got, "exit", 0)
        same((got["stdout"], got["stderr"]), (b"False input 1000000\n5\n", b""))
        assert got["seconds"] < 3 and got["cpu_us"] < 400000, got


def test_preimport_is_waited_for(place):
    got = run_in(place.guest(preimport="slow,good"), SEEN.format("slow,good"))
    same(got["stdout"], b"[]\n")  # the job was there before the first one
    got = run_in(ready(place, "good,slow", 0.4), SEEN.format("good,slow"))
    assert got["stdout"] in (b"[]\n", b"['good', 'slow']\n"), got["stdout"]


def test_preimport_does_not_count(place):
    code = "import time\nt = time.process_time() + .2\nwhile time.process_time() < t: pass"
    for name in "burns", "children_burn":
        got = imported(place, name, [name], code, tries=(4, 12, 36))
        assert 200000 <= got["cpu_us"] < 700000 and got["wall_us"] < 2000000, got
    got = run_in(ready(place, "burns", 6), "print(1)\nwhile True: pass", cpu_s=1, timeout_ms=15000)
    verdict(got, "cpu", 152, 24)
    assert 900000 < got["cpu_us"] < 2500000, got["cpu_us"]
    got = run_in(ready(place, "burns", 6), "import os\nos.kill(os.getpid(), 9)", cpu_s=1)
    verdict(got, "signal", 137, 9)


def test_preimport_without_memory(place):
    got = run_in(ready(place, "eats,good", 4, memory="128m"), SEEN.format("eats,good"))
    verdict(got, "exit", 0)
    same((got["stdout"], got["oom"]), (b"['good']\n", 0))
    got = run_in(ready(place, "eats", .4, memory="128m"), "import os; os.kill(os.getpid(), 9)")
    verdict(got, "signal", 137, 9)


def test_preimport_and_the_end(place):
    for name, wait in (("sleeps", 1), ("spins", 1), ("numpy,pandas", 0.3), ("dies,good", 0.2)):
        guest = ready(place, name, wait)
        begin = time.monotonic()
        same(guest.close(), 0)
        assert time.monotonic() - begin < 3
    guest = ready(place, "sleeps")
    guest.job()
    guest.send(CANCEL)
    same(guest.finish()["fail"][0], "cancelled")
    same(guest.close(), 0)
    guest = ready(place, "sleeps")
    guest.job()
    guest.send(PUT, field("../x"))
    same(guest.finish(end_stdin=False)["fail"][0], "protocol")
    same(guest.close(), 0)
    guest = ready(place, "sleeps")
    guest.start("import time; time.sleep(60)")
    guest.send(GO)
    assert guest.process.wait(10) != 0


def test_preimport_list(place):
    """Lists that are none."""
    for names in ("", ",", ",,,", "a" * 3000, "good," * 1000, "../good", "good;import os", "é"):
        got = run_in(ready(place, names, 0.3), "print('fine')")
        verdict(got, "exit", 0)
        same((got["stdout"], got["stderr"]), (b"fine\n", b""))
    got = run_in(ready(place, ",".join(f"no{i}" for i in range(300)), 1), "print('fine')")
    same(got["stdout"], b"fine\n")
    assert got["memory_peak"] < 64 * MIB


for test in [f for name, f in list(globals().items()) if name.startswith("test_")]:
    test.container_only = True  # the modules are put where the image's interpreter looks
