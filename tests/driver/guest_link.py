"""A worker's side of the guest protocol (src/wire/frame.h) for tests: starts a guest and speaks frames with it.

The guest runs in a container of the image where Docker and the image are there, else in namespaces of this machine.
"""

import os
import select
import struct
import subprocess
import time

JOB, PUT, DATA, END, GO, STDIN, STDIN_END, CANCEL = range(1, 9)
HELLO, STARTED, FAIL, STDOUT, STDERR, EXIT, FILE, SKIP, STDIN_ROOM, BYE = range(64, 74)
FAILS = {1: "protocol", 2: "disk", 3: "path", 4: "start", 5: "cancelled"}
CAUSES = {1: "exit", 2: "signal", 3: "timeout", 4: "oom", 5: "cancelled", 6: "cpu"}
SKIPS = {1: "link", 2: "special", 3: "too_large", 4: "too_many", 5: "total", 6: "unreadable", 7: "name", 8: "depth"}
EXIT_FIELDS = "cause exit_code signal oom wall_us cpu_us memory_peak stdout_bytes stderr_bytes".split()
FRAME_MAX = 65536
MIB = 1 << 20
MODULES = "/usr/local/lib/python3.13/dist-packages"  # where the image's interpreter looks as well
IMAGE = os.environ.get("BELLJAR_TEST_IMAGE", "belljar-python")


class Gone(Exception):
    """The guest ended its stream."""


def same(got, want):
    assert got == want, f"got {got!r:.600}, want {want!r:.600}"


def verdict(got, cause, exit_code, signal=0):
    assert "fail" not in got, got["fail"]
    same((got["cause"], got["exit_code"], got["signal"]), (cause, exit_code, signal))


def have_image():
    try:
        done = subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def container_command(folder, name, python, workspace, memory, preimport=""):
    tmpfs = "rw,nosuid,nodev,uid=65532,gid=65532,mode=0755,nr_inodes=8192"
    return [
        "docker", "run", "-i", "--rm", "--name", name, "--label", "belljar-test=guest",
        "--network", "none", "--read-only", "--user", "65532:65532", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--pids-limit", "64", "--memory", memory, "--memory-swap", memory,
        "--log-driver", "none", "--tmpfs", f"/workspace:{tmpfs},exec,size={workspace}",
        "--tmpfs", f"/tmp:{tmpfs},size=64m", "--shm-size", "8m", "-v", f"{folder}:/belljar:ro",
        "-v", f"{folder}/modules:{MODULES}:ro", "-e", f"BELLJAR_PREIMPORT={preimport}",
        IMAGE, "/belljar/guest", python,
    ]  # fmt: skip


def namespace_command(folder, python, workspace):
    size = f"size={workspace},nr_inodes=8192"
    script = (  # the folder lies in /tmp, so it is copied before /tmp becomes the guest's own
        f"mount -t tmpfs none /mnt && cp -r {folder}/. /mnt && mount -t tmpfs none /dev/shm"
        f" && mount -t tmpfs -o size=64m none /tmp && mkdir /tmp/w && mount -t tmpfs -o {size} none /tmp/w"
        f" && exec /mnt/guest {python} /tmp/w"
    )
    return ["unshare", "-Urpfm", "--mount-proc", "sh", "-c", script]


def field(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def job_text(timeout_ms=5000, output=1 << 20, cpu_s=0, files_max=100, files_bytes=8 << 20, file_bytes=32 << 20,
             show=0, main="main.py", args="", argv=(), env=None):  # fmt: skip
    strings = lambda rows: b"".join(os.fsencode(r) + b"\0" for r in rows)
    return (
        struct.pack(">IQIIQQI", timeout_ms, output, cpu_s, files_max, files_bytes, file_bytes, show)
        + field(main) + field(args) + field(strings(argv))
        + field(strings(f"{k}={v}" for k, v in (env or {}).items()))
    )  # fmt: skip


class Guest:
    def __init__(self, command, hello=True):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.buffer = b""
        self.last = {}
        if hello:
            kind, data = self.recv(30)
            assert kind == HELLO, (kind, data)

    def raw(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Gone from None

    def send(self, kind, data=b""):
        self.raw(struct.pack(">BBHI", kind, 0, 0, len(data)) + data)

    def recv(self, timeout=20):
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 8:
                kind, zero, zero2, size = struct.unpack(">BBHI", self.buffer[:8])
                assert zero == 0 and zero2 == 0 and size <= FRAME_MAX, "malformed header from the guest"
                if len(self.buffer) >= 8 + size:
                    data, self.buffer = self.buffer[8 : 8 + size], self.buffer[8 + size :]
                    return kind, data
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("the guest is silent")
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise Gone
            self.buffer += part

    def job(self, **options):
        text = job_text(**options)
        while len(text) >= FRAME_MAX:
            self.send(JOB, text[:FRAME_MAX])
            text = text[FRAME_MAX:]
        self.send(JOB, text)

    def put(self, path, data):
        data = data.encode() if isinstance(data, str) else data
        self.send(PUT, field(path) + struct.pack(">Q", len(data)))
        for at in range(0, len(data), FRAME_MAX):
            self.send(DATA, data[at : at + FRAME_MAX])
        self.send(END)

    def start(self, code, files=(), **options):
        self.job(**options)
        self.put(options.get("main", "main.py"), code)
        for path, data in dict(files).items():
            self.put(path, data)
        self.send(GO)

    def finish(self, stdin=b"", end_stdin=True, timeout=30):
        """Feeds stdin by credit and collects until BYE or FAIL. Returns everything as a dict."""
        got = {"stdout": b"", "stderr": b"", "files": {}, "skipped": {}, "order": []}
        room, name = 0, None
        pending, ended = memoryview(bytes(stdin)), not end_stdin
        while True:
            kind, data = self.recv(timeout)
            got["order"].append(kind)
            if kind == STDOUT:
                got["stdout"] += data
            elif kind == STDERR:
                got["stderr"] += data
            elif kind == STDIN_ROOM:
                room += struct.unpack(">I", data)[0]
            elif kind == EXIT:
                got.update(zip(EXIT_FIELDS, struct.unpack(">IIIIQQQQQ", data)))
                got["cause"] = CAUSES[got["cause"]]
                ended = True
            elif kind == FAIL:
                size = struct.unpack(">I", data[4:8])[0]
                got["fail"] = (FAILS[struct.unpack(">I", data[:4])[0]], data[8:].decode(errors="replace"))
                assert size == len(data) - 8
                return got
            elif kind == FILE:
                size = struct.unpack(">I", data[:4])[0]
                name = data[4 : 4 + size].decode()
                got["files"][name] = b""
                left = struct.unpack(">Q", data[4 + size :])[0]
            elif kind == DATA:
                left -= len(data)
                got["files"][name] += data
            elif kind == END:
                assert left == 0, name
            elif kind == SKIP:
                size = struct.unpack(">I", data[:4])[0]
                got["skipped"][data[4 : 4 + size].decode()] = SKIPS[struct.unpack(">I", data[4 + size :])[0]]
            elif kind == BYE:
                return got
            elif kind != STARTED:
                raise AssertionError(f"unexpected frame {kind}")
            while room and len(pending) and not ended:
                part = bytes(pending[: min(room, FRAME_MAX)])
                self.send(STDIN, part)
                room -= len(part)
                pending = pending[len(part) :]
            if not len(pending) and not ended and STARTED in got["order"]:
                self.send(STDIN_END)
                ended = True

    def close(self, timeout=10):
        """Ends the input; the guest must end by itself. Returns its exit code."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            return self.process.wait(timeout)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
