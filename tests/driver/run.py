#!/usr/bin/env python3
"""Compares the driver with plain `python3 main.py`, byte for byte: stdout, stderr, exit code.

usage: run.py DRIVERS_FOLDER [PYTHON...]
Without PYTHON: this interpreter and /usr/bin/python3. Prints "N passed, N failed" and exits non-zero if any failed.
"""

import importlib.util
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import odd_modules
from programs import SAME, SHOWN, Case

TIMEOUT = 60
ADDRESS = re.compile(rb"0x[0-9a-f]{6,16}")  # of objects and threads: differs between any two runs
ENV = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}


def encode(text):
    return text if isinstance(text, bytes) else text.encode()


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)


def fill(folder, case):
    for path, text in {"main.py": case.code, **case.files}.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as f:
            f.write(encode(text))


def finish(process, stdin):
    try:
        out, err = process.communicate(stdin, TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return out, err + b"\n[timed out]", None
    return ADDRESS.sub(b"0xADDR", out), ADDRESS.sub(b"0xADDR", err), process.returncode


def plain(python, folder, case):
    empty(folder)
    fill(folder, case)
    pipe = subprocess.PIPE
    process = subprocess.Popen([python, "main.py", *case.argv], cwd=folder, env={**ENV, **case.env},
                               stdin=pipe, stdout=pipe, stderr=pipe)  # fmt: skip
    return finish(process, case.stdin)


def read_byte(sock):
    sock.settimeout(TIMEOUT)
    return sock.recv(1)


def preimported(sock):
    """What comes behind the names that are imported in advance."""
    while (got := read_byte(sock)) == b"I":
        pass
    return got


def start_driver(python, drivers, folder, preimport=""):
    """An interpreter that waits for its job in an empty folder, as the guest starts it."""
    empty(folder)
    env = {**ENV, "PYTHONPATH": drivers, **({"BELLJAR_PREIMPORT": preimport} if preimport else {})}
    ours, theirs = socket.socketpair()
    pipe = subprocess.PIPE

    def place():
        os.dup2(theirs.fileno(), 3, True)

    process = subprocess.Popen([python, "main.py"], cwd=folder, env=env, stdin=pipe, stdout=pipe,
                               stderr=pipe, close_fds=True, pass_fds=[3], preexec_fn=place)  # fmt: skip
    theirs.close()
    return process, ours


def send_job(ours, case, show, args=b""):
    argv = b"".join(os.fsencode(a) + b"\0" for a in case.argv)
    env = b"".join(os.fsencode(f"{k}={v}") + b"\0" for k, v in case.env.items())
    ours.sendall(struct.pack(">IIII", show, len(argv), len(env), len(args)) + argv + env + args)


def driven(python, drivers, folder, case, show, args=b"", preimport=""):
    process, ours = start_driver(python, drivers, folder, preimport)
    with ours:
        if read_byte(ours) != b"R" or (preimport and preimported(ours) != b"P"):
            return b"", ours.recv(400) + finish(process, b"")[1], None
        fill(folder, case)
        send_job(ours, case, show, args)
        taken = read_byte(ours)
    out, err, code = finish(process, case.stdin)
    return (out, err, code) if taken == b"G" else (out, err + b"\n[job not taken]", code)


def show_difference(what, got, want):
    at = 0
    if isinstance(got, bytes):
        at = max(len(os.path.commonprefix([got, want])) - 60, 0)
        got, want = got[at:], want[at:]
    print(f"  {what} from {at} is   {got!r:.700}\n  {what} from {at} want {want!r:.700}")


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, got, want):
        if got == want:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}")
        for what, g, w in zip(("stdout", "stderr", "exit code"), got, want):
            if g != w:
                show_difference(what, g, w)


def wanted_shown(case, bare):
    out, err, code = bare
    if case.shown_full is not None:
        return case.shown_full.encode(), err, code
    return out + (case.shown or "").encode(), err, code


def compare(report, python, drivers, folder):
    for case in SAME:
        want = plain(python, folder, case)
        for show in (0, 1):
            got = driven(python, drivers, folder, case, show)
            report.check(f"{python}: {case.name} (show={show})", got, want)
    for case in SHOWN:
        bare = plain(python, folder, case)
        report.check(f"{python}: {case.name} (show=0)", driven(python, drivers, folder, case, 0), bare)
        got = driven(python, drivers, folder, case, 1)
        report.check(f"{python}: {case.name} (shown)", got, wanted_shown(case, bare))


# What many programs of the list import, and what those modules import.
IN_ADVANCE = "json,decimal,inspect,unittest,multiprocessing.pool,concurrent.futures.process,asyncio,pickle,dataclasses"


WITH_PANDAS = "state", "hello", "atexit", "del order", "unraisable", "thread outlives main", "fork", "mp fork", "own names"


def without_modules(got):
    """The rows of "state" in which an interpreter with modules imported in advance may differ."""
    out, err, code = got
    rows = [row for row in out.split(b"\n") if not row.startswith((b"modules ", b"classes "))]
    return b"\n".join(rows), err, code


def compare_preimported(report, python, drivers, folder):
    """The same programs with modules imported in advance. Those with argv or env get a fresh interpreter."""
    for case in SAME + SHOWN:
        if case.argv or case.env:
            continue
        bare = plain(python, folder, case)
        want = wanted_shown(case, bare) if case in SHOWN else bare
        got = driven(python, drivers, folder, case, 1, preimport=IN_ADVANCE)
        report.check(f"{python}: {case.name} (modules in advance)", without_modules(got), without_modules(want))
        if case.name in WITH_PANDAS and importlib.util.find_spec("pandas"):
            got = driven(python, drivers, folder, case, 1, preimport="numpy,pandas")
            report.check(f"{python}: {case.name} (pandas in advance)", without_modules(got), without_modules(want))


def answer(python, path, folder, names, case=None, early=False, before=None):
    """The driver's last words on the socket, and what the program printed."""
    process, ours = start_driver(python, path, folder, names)
    with ours:
        if before:
            fill(folder, before)
        words = read_byte(ours)
        words += read_byte(ours) if early else preimported(ours)
        if words == b"RP" or early:
            fill(folder, case)
            send_job(ours, case, 1)
        while part := ours.recv(4096):
            words += part
    return words.decode(), finish(process, case.stdin if case else b"")[:2]


def preimports(report, python, drivers, folder, modules):
    odd_modules.write(modules)
    path = f"{drivers}:{modules}"

    def check(name, got, want):
        report.check(f"{python}: in advance: {name}", got, want)

    code = "import sys\nprint('{0}' in sys.modules, 'good' in sys.modules)\nimport good\nsorted(globals())[-2:]"
    for name, (_, word) in odd_modules.MODULES.items():
        got, (out, err) = answer(python, path, folder, name, Case("", code.format(name)))
        if word:
            words = f"RF{name} can't be imported in advance: "
            check(name, (got[: len(words)], word in got[len(words) :].split(", "), out, err), (words, True, b"", b""))
            continue
        there = name not in ("fails", "exits", "interrupts", "generator", "syntax")
        out_want = f"{there} {name in ('good', 'uses_good', 'tries')}\n['good', 'sys']\n".encode()
        check(name, (got, out, err), ("RPG", out_want, b""))

    code = "import sys\nprint([n for n in ('good', 'slow', 'preimport', 'select', 'gc', '_locale') if n in sys.modules])"
    own = "import sys\nall = object.__subclasses__() + Exception.__subclasses__()\n"
    own += "[c for c in all if c.__module__ in ('preimport', 'sitecustomize')], sys.path_importer_cache.keys() & {%r}"
    got, (out, err) = answer(python, path, folder, "good", Case("", own % drivers))
    check("nothing of ours is left", (got, out, err), ("RPG", b"([], set())\n", b""))
    for names, there in (("no_such,,good, x,os.nothing,json,json.nothing,a..b", ["good"]), ("no_such", [])):
        got, (out, err) = answer(python, path, folder, names, Case("", code))
        check(names, (got, out, err), ("RPG", f"{there}\n".encode(), b""))
    got, (out, err) = answer(python, path, folder, "slow,good", Case("", code), early=True)
    check("a job comes meanwhile", (got, out, err), ("RIPG", b"['slow']\n", b""))

    case = Case("", "import good, csv\nprint(good.__file__.rsplit('/', 2)[-2:], csv.__file__.endswith('/w/csv.py'))")
    fake = Case("", "", files={"good.py": "print('fake')", "json/__init__.py": "1/0", "csv.py": "1/0"})
    got, (out, err) = answer(python, path, folder, "good,json", case, before=fake)
    check("files of a job that are there already", (got[:3], out, err), ("RPF", b"", b""))

    for entry in "good.py", "good/x.txt", "good.so", "good.abi3.so", "goodrc", ".good", "optional.py", "json/__init__.py", "re.py":
        case = Case("", "1", files={entry: ""})
        got, (out, err) = answer(python, path, folder, "tries,json", case)
        want = f"RPF{entry.split('/')[0]} has the name of a module that is imported already"
        check(f"a file {entry}", (got, out, err), (want, b"", b""))
    case = Case("", "1", files={"data.json": "", "goods.py": "", "d/good.py": "", "Good.py": "", "src": "", "time.py": "", "x": ""})
    got, (out, err) = answer(python, path, folder, "tries,json", case)
    check("other files", (got, out, err), ("RPG", b"1\n", b""))


FAILING_REPR = """
class A:
    def __repr__(self):
        return 1 / 0
A()
"""
FAILING_REPR_TRACEBACK = """Traceback (most recent call last):
  File "{main}", line 5, in <module>
    A()
  File "{main}", line 4, in __repr__
    return 1 / 0
           ~~^~~
ZeroDivisionError: division by zero
"""


def without_carets(text):
    return b"\n".join(row for row in text.split(b"\n") if row.strip(b" ~^"))


def extras(report, python, drivers, folder):
    """What plain python3 has no counterpart for."""
    main = os.path.join(folder, "main.py")
    out, err, code = driven(python, drivers, folder, Case("", FAILING_REPR), 1)
    want = FAILING_REPR_TRACEBACK.format(main=main).encode()
    report.check(f"{python}: a repr that fails", (out, without_carets(err), code), (b"", without_carets(want), 1))

    names = "import sys, os\nprint(_args, os.environ['BELLJAR_ARGS'], 'json' in sys.modules, '_json' in sys.modules)\n"
    args = '{"a": [1, 2.5, true, null, "é\\ud83d\\udc0d"], "": {}}'.encode()
    text = "{'a': [1, 2.5, True, None, 'é🐍'], '': {}} /tmp/belljar-args.json False False\n".encode()
    report.check(f"{python}: args", driven(python, drivers, folder, Case("", names), 0, args), (text, b"", 0))

    got = driven(python, drivers, folder, Case("", "print(1)"), 0, b"[" * 100000 + b"]" * 100000)
    report.check(f"{python}: args nested too deeply", got, (b"", b"\n[job not taken]", 1))

    both = Case("", "import time, os\nprint(os.environ['HOME'], sorted(k for k in os.environ if 'BELL' in k))", env={"HOME": "/x"})
    report.check(f"{python}: no args", driven(python, drivers, folder, both, 0), (b"/x []\n", b"", 0))

    process, ours = start_driver(python, drivers, folder)
    read_byte(ours)
    ours.close()
    report.check(f"{python}: the guest goes away", finish(process, b""), (b"", b"", 1))


def interpreters(named):
    found = {}
    for python in named or [sys.executable, "/usr/bin/python3"]:
        if os.path.exists(python):
            found.setdefault(os.path.realpath(python), python)
    return list(found.values())


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    drivers = os.path.abspath(sys.argv[1])
    report = Report()
    with tempfile.TemporaryDirectory(prefix="belljar-driver-") as base:
        folder = os.path.join(base, "w")
        for python in interpreters(sys.argv[2:]):
            compare(report, python, drivers, folder)
            extras(report, python, drivers, folder)
            compare_preimported(report, python, drivers, folder)
            preimports(report, python, drivers, folder, os.path.join(base, "modules"))
    print(f"driver: {report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
