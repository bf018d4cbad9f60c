"""What comes back from the workspace, and what is skipped and why."""

from guest_link import MIB, same, verdict


def test_workspace_full(place):
    code = """\
try:
    with open('big', 'wb') as f:
        while True: f.write(bytes(1 << 20))
except OSError as e: print('errno', e.errno)
"""
    got = place.run(code, file_bytes=0, limits={"workspace": "8m"})
    verdict(got, "exit", 0)
    same((got["stdout"], got["skipped"]), (b"errno 28\n", {}))
    assert 7 * MIB < len(got["files"]["big"]) <= 8 * MIB


def test_workspace_full_of_names(place):
    code = """\
n = 0
try:
    while True: open(f'f{n}', 'w').close(); n += 1
except OSError as e: print(e.errno)
"""
    got = place.run(code, files_max=10, timeout_ms=20000)
    verdict(got, "exit", 0)
    same(got["stdout"], b"28\n")
    same((len(got["files"]), len(got["skipped"])), (10, 1000))
    same(sorted(got["files"]), sorted(f"f{n}" for n in (0, 1, 10, 100, 1000, 1001, 1002, 1003, 1004, 1005)))


def test_tmp_full(place):
    code = """\
try:
    with open("/tmp/big", "wb") as f:
        for _ in range(200): f.write(b"\\0" * (1 << 20))
except OSError as e:
    print("errno", e.errno)
"""
    got = place.run(code, file_bytes=0)
    same(got["stdout"], b"errno 28\n")


def test_files_come_back(place):
    code = """\
import os
os.makedirs('d/e')
open('d/e/x.bin', 'wb').write(bytes(range(256)) * 1000)
open('a é 世界.txt', 'w').write('é')
open('empty', 'w')
open('in.txt', 'a').write('+')
open('d.txt', 'w').write('z')"""
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
    code = """\
import os, socket
os.symlink("/etc/passwd", "report.txt")
os.symlink("../../../../etc", "dir")
os.mkfifo("pipe")
open("real.txt", "w").write("ok")
os.link("real.txt", "hard.txt")
s = socket.socket(socket.AF_UNIX); s.bind("sock")
os.symlink(".", "loop")
"""
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
    code = """\
import os
os.mkdir('shut'); open('shut/x', 'w').write('in'); os.chmod('shut', 0)
open('f', 'w').write('f'); os.chmod('f', 0)
os.mkdir('noexec'); open('noexec/y', 'w').write('y'); os.chmod('noexec', 0o400)
os.chmod('.', 0)"""
    got = place.run(code)
    same(got["files"], {"shut/x": b"in", "f": b"f", "noexec/y": b"y"})
    same(got["skipped"], {})


def test_sparse_file(place):
    got = place.run("open('s', 'wb').truncate(1 << 40)", file_bytes=0)
    same((got["files"], got["skipped"]), ({}, {"s": "too_large"}))


def test_many_folders(place):
    code = """\
import os
for i in range(40):
    for j in range(40): os.makedirs(f'd{i}/e{j}')
for i in range(100): open(f'd7/e7/f{i:03}', 'w').write(str(i))"""
    got = place.run(code)
    same(list(got["files"]), [f"d7/e7/f{i:03}" for i in range(100)])
