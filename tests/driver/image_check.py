"""Checks the Python runtime image from inside: run as a job's user on a read-only root with an empty workspace.

Prints one line per failure and ends with 1, or "image ok" and 0. It takes no argument and needs nothing but the image.
"""

import glob
import importlib
import os
import resource
import subprocess
import sys
import time

MODULES = (
    "numpy pandas scipy scipy.stats scipy.optimize sklearn sklearn.linear_model sklearn.ensemble matplotlib "
    "matplotlib.pyplot seaborn requests httpx bs4 lxml.etree openpyxl xlsxwriter yaml tabulate jinja2 jsonschema "
    "PIL.Image sympy"
).split()

# A first plot in a fresh container: imports, drawing and PNG together. Building a font list would take longer.
MAX_PLOT_SECONDS = 3.0

PLOT = """
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.title("Latin, 中文, 日本語 かな, 한국어, −1 é")
plt.figure()
plt.bar(["a", "b"], [1, 2])
plt.show()
plt.show()
assert plt.get_fignums() == [], "show() must close what it has saved"
plt.plot([3, 1])
plt.gcf().show()
"""

BOXES = """
import matplotlib.pyplot as plt
plt.rcParams["font.family"] = ["DejaVu Sans"]
plt.title("中文")
plt.show()
"""

failures = []


def check(good, text):
    if not good:
        failures.append(text)


def child_seconds():
    """CPU time of ended children: a busy machine or a cold disk says nothing about the image."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def python(source):
    start = child_seconds()
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    return done, child_seconds() - start


def check_imports():
    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception as problem:
            check(False, f"import {name}: {problem!r}")


def check_plot():
    done, seconds = python(PLOT)
    check(done.returncode == 0, f"plot ended with {done.returncode}: {done.stderr}")
    check(done.stderr == "", f"plot wrote to stderr: {done.stderr!r}")
    check(seconds < MAX_PLOT_SECONDS, f"plot took {seconds:.1f} s")
    names = sorted(glob.glob("plot_*.png"))
    check(names == ["plot_1.png", "plot_2.png", "plot_3.png"], f"show() left {names}")
    check(glob.glob("*") == glob.glob("plot_*.png"), f"left behind: {os.listdir('.')}")


def check_plot_pixels():
    from PIL import Image

    for name in glob.glob("plot_*.png"):
        with Image.open(name) as picture:
            picture.load()
            check(picture.format == "PNG" and picture.size == (640, 480), f"{name}: {picture.size}")
            check(len(picture.convert("L").getcolors()) > 2, f"{name} is blank")


def check_missing_glyph_warns():
    """Shows that the empty stderr of check_plot means that CJK glyphs were found, not that nobody looked."""
    done, _ = python(BOXES)
    check("missing from font" in done.stderr, f"no warning without the CJK font: {done.stderr!r}")


def check_round_trips():
    import numpy
    import pandas

    table = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", "é", "中"]})
    table.to_excel("/tmp/t.xlsx", index=False)
    check(pandas.read_excel("/tmp/t.xlsx").equals(table), "an Excel file doesn't read back")
    check("| 中" in table.to_markdown(), "to_markdown (tabulate)")
    matrix = numpy.random.default_rng(1).random((600, 600))
    start = time.process_time()
    check(numpy.allclose(matrix @ numpy.linalg.inv(matrix), numpy.eye(600), atol=1e-6), "matrix inverse")
    check(time.process_time() - start < 2.0, "linear algebra is slow: not OpenBLAS?")


def check_learning():
    from sklearn.cluster import KMeans
    import numpy

    points = numpy.array([[0, 0], [0, 1], [9, 9], [9, 8]])
    labels = KMeans(n_clusters=2, n_init=1, random_state=0).fit(points).labels_
    check(labels[0] == labels[1] != labels[2] == labels[3], f"KMeans: {labels}")


def check_surroundings():
    check(sys.version_info[:2] == (3, 13), f"Python {sys.version}")
    check(os.getcwd() == "/workspace", f"working directory {os.getcwd()}")
    check(os.getuid() == 65532, f"uid {os.getuid()}")
    check(time.tzname[0] == "UTC", f"time zone {time.tzname}")
    check(sys.stdout.encoding == "utf-8", f"stdout is {sys.stdout.encoding}")
    check(subprocess.run(["bash", "-c", "python -V"], capture_output=True).returncode == 0, "bash and python")


def main():
    check_surroundings()
    check_plot()
    check_plot_pixels()
    check_missing_glyph_warns()
    check_imports()
    check_round_trips()
    check_learning()
    for failure in failures:
        print(f"FAIL {failure}")
    if failures:
        return 1
    print("image ok")
    return 0


sys.exit(main())
