"""Modules whose import does something that a program which doesn't use them could see, and two that do nothing bad."""

import os

# Name: source, and the word of the driver's refusal; None: it serves.
MODULES = {
    "good": ("VALUE = 7\n", None),
    "uses_good": ("import good\n", None),
    "tries": ("import good\ntry: import optional\nexcept ImportError: pass\n", None),
    "prints": ("print('words')\n", "output"),
    "writes": ("import os\nos.write(2, b'words')\n", "output"),
    "child_writes": ("import os\nif os.fork() == 0:\n    os.write(1, b'words'); os._exit(0)\nos.wait()\n", "output"),
    "warns": ("import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)\n", "output"),
    "fails_late": ("import good\nraise ValueError\n", "its own import"),
    "exits_late": ("import good, sys\nsys.exit(3)\n", "its own import"),
    "fails": ("1 / 0\n", None),
    "exits": ("raise SystemExit(3)\n", None),
    "interrupts": ("raise KeyboardInterrupt\n", None),
    "generator": ("raise GeneratorExit\n", None),
    "syntax": ("def f(:\n", None),
    "threads": ("import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n", "Threads"),
    "forks": ("import os, time\nif os.fork() == 0:\n    time.sleep(2)\n    os._exit(0)\n", "children"),
    "leaves_zombie": ("import os\nif os.fork() == 0:\n    os._exit(0)\n", "children"),
    "handles": ("import signal\nsignal.signal(signal.SIGTERM, lambda *a: None)\n", "signal handlers"),
    "handles_int": ("import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n", "signal handlers"),
    "blocks": ("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [10])\n", "SigBlk"),
    "opens": ("F = open('/dev/null')\n", "descriptors"),
    "changes_folder": ("import os\nos.chdir('/')\n", "folder"),
    "masks": ("import os\nos.umask(0o77)\n", "Umask"),
    "limits": ("import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nresource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))\n", "limits"),
    "sets_env": ("import os\nos.environ['NEW'] = '1'\n", "environment"),
    "drops_env": ("import os\nos.environ.pop('LANG')\n", "environment"),
    "sets_locale": ("import locale\nlocale.setlocale(locale.LC_ALL, 'C')\n", "locale"),
    "hooks": ("import sys\nsys.excepthook = print\n", "sys"),
    "replaces_stdout": ("import io, sys\nsys.stdout = io.StringIO()\n", "sys"),
    "adds_to_sys": ("import sys\nsys.mine = 1\n", "sys"),
    "adds_builtin": ("import builtins\nbuiltins._ = str\n", "builtins"),
    "adds_path": ("import sys\nsys.path.append('/lib')\n", "search path"),
    "recursion": ("import sys\nsys.setrecursionlimit(5000)\n", "settings"),
    "profiles": ("import sys\nsys.setprofile(lambda *a: None)\n", "settings"),
    "stops_gc": ("import gc\ngc.disable()\n", "gc"),
    "looks_like_script": ("import __main__\nassert __main__.__file__.endswith('/main.py') and __main__.__name__ == '__main__'\n", None),
}

# Those that an interpreter doesn't survive, or doesn't come back from.
DEADLY = {
    "dies": "import os\nos._exit(0)\n",
    "aborts": "import os\nos.abort()\n",
    "kills": "import os\nos.kill(os.getpid(), 9)\n",
    "sleeps": "import time\ntime.sleep(1000)\n",
    "spins": "while True: pass\n",
    "reads_stdin": "import sys\nsys.stdin.read()\n",
    "eats": "blocks = []\nwhile True: blocks.append(bytearray(b'x') * (4 << 20))\n",
    "burns": "import time\nwhile time.process_time() < 2.2: pass\n",
    "children_burn": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time\\nwhile time.process_time() < 1: pass'])\n",
    "slow": "import time\ntime.sleep(0.7)\n",
}


def write(folder):
    os.makedirs(folder, exist_ok=True)
    sources = {name: row[0] for name, row in MODULES.items()} | DEADLY
    for name, source in sources.items():
        with open(os.path.join(folder, name + ".py"), "w") as f:
            f.write(source)
