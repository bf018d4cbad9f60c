#!/usr/bin/env python3
"""Runs the real guest through scripted dialogues and checks its verdicts.

usage: guest_test.py GUEST_BINARY DRIVERS_FOLDER [NAME...]
In containers of the image where Docker and the image are there (so memory and process limits are real), else in
namespaces of this machine, where the tests that need those limits are left out and said to be. Prints
"N passed, N failed" and exits non-zero if any failed.
"""

import os
import shutil
import sys
import tempfile
import time
import traceback

import guest_files
import guest_preimport
import guest_run
import guest_shield
import odd_modules
from guest_link import Guest, container_command, have_image, namespace_command


class Place:
    """Starts guests and ends every one of them."""

    def __init__(self, folder, in_container):
        self.folder, self.in_container, self.count, self.open = folder, in_container, 0, []

    def guest(self, hello=True, python=None, memory="256m", workspace="64m", preimport=""):
        self.count += 1
        if self.in_container:
            name = f"belljar-test-guest-{os.getpid()}-{self.count}"
            command = container_command(self.folder, name, python or "python3", workspace, memory, preimport)
        else:
            command = namespace_command(self.folder, python or "/usr/bin/python3", workspace)
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


def install(binary, drivers, folder):
    shutil.copy(binary, os.path.join(folder, "guest"))
    shutil.copytree(drivers, os.path.join(folder, "drivers"), ignore=shutil.ignore_patterns("__pycache__"))
    odd_modules.write(os.path.join(folder, "modules"))
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
    modules = (guest_run, guest_files, guest_shield, guest_preimport)
    tests = {n[5:]: f for m in modules for n, f in vars(m).items() if n.startswith("test_")}
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
