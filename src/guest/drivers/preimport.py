"""Imports modules into an interpreter that waits, so that a job which wants them finds them there.

sitecustomize.py loads this file only if there is something to import. A job must not be able to
tell, but by sys.modules and by the time it saves. So a module is good for this only if importing it
does nothing that a program which doesn't use it could see: one that writes, warns, starts threads
or processes, keeps descriptors, changes signals, limits or the environment, or fails half-way has
spoilt the interpreter. That one ends then, and the guest starts another without the module.
"""

import os
import sys

FIRST_WAIT = 0.1  # seconds: a container made for a job has it sooner than that, and imports nothing
NEXT, DONE = b"I", b"P"  # what the guest is told: before each name of the list, and at the end
STATUS = ("Umask", "Threads", "SigBlk", "SigIgn", "SigCgt", "Cpus_allowed", "Seccomp", "NoNewPrivs")
SIGNALS = range(1, 65)
SYS_CALLS = (
    "getrecursionlimit getswitchinterval gettrace getprofile getdlopenflags get_asyncgen_hooks"
    " get_coroutine_origin_tracking_depth get_int_max_str_digits"
).split()
GC_CALLS = "isenabled get_threshold get_debug get_freeze_count".split()
BUILTINS = vars(sys.modules["builtins"])
PlainObject = type(sys.implementation)


def borrow(name):
    """A built-in module that a program must not find imported."""
    before = name in sys.modules
    module = __import__(name)
    if not before:
        sys.modules.pop(name, None)
    return module


def contents(path):
    with open(path, "rb", 0) as f:
        return f.readall()


def listing(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return None


def children():
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return "none"


def status():
    rows = contents("/proc/self/status").decode(errors="replace").split("\n")
    return {name: value for name, _, value in (row.partition(":") for row in rows) if name in STATUS}


def identities(names):
    return {name: id(value) for name, value in names.items()}


def prepare():
    """What is needed to import and to look at what an import has changed. No classes of our own here:
    a program would find them among object's.
    """
    return PlainObject(
        gc=borrow("gc"),
        locale=borrow("_locale"),
        signal=borrow("_signal"),
        kept=[dict(vars(sys)), dict(BUILTINS)],  # so that no other object gets their ids
        words=os.memfd_create("words", os.MFD_CLOEXEC),
        outputs=[os.dup(1), os.dup(2)],
    )


def mute(tools):
    """Files, not objects: C code and child processes write as well."""
    os.dup2(tools.words, 1)
    os.dup2(tools.words, 2)


def unmute(tools):
    for fd, kept in enumerate(tools.outputs, 1):
        os.dup2(kept, fd)
        os.close(kept)
    os.close(tools.words)


def words_written(tools):
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return os.fstat(tools.words).st_size


def state(tools):
    """What belongs to the process and not to a module. New finders and filters of warnings stay out
    of it: what is imported works with them, and only with them.
    """
    return {
        **status(),
        "output": words_written(tools),
        "limits": contents("/proc/self/limits"),
        "descriptors": listing("/proc/self/fd"),
        "children": children(),
        "folder": os.getcwd(),
        "home": listing(os.environ.get("HOME", "")),
        "environment": dict(os.environ),
        "locale": tools.locale.setlocale(tools.locale.LC_ALL),
        "signal handlers": [tools.signal.getsignal(n) for n in SIGNALS],
        "sys": identities(vars(sys)),
        "builtins": identities(BUILTINS),
        "search path": (list(sys.path), list(sys.path_hooks), list(sys.warnoptions)),
        "settings": [getattr(sys, name)() for name in SYS_CALLS if hasattr(sys, name)],
        "gc": [getattr(tools.gc, name)() for name in GC_CALLS],
    }


def import_one(tools, name):
    modules, before = set(sys.modules), state(tools)
    # as a program's first line would, so that a warning goes where it would have gone
    names = {"__name__": "__main__", "__file__": sys.argv[0], "name": name}
    try:
        eval("__import__(name)", names)
        whole = True
    except BaseException:
        # nothing to see if it isn't there at all; a part of a package can't be taken back
        whole = set(sys.modules) == modules
    after = state(tools)
    changed = [key for key in after if after[key] != before.get(key)]
    changed += [] if whole else ["its own import"]
    if changed:
        raise ImportError(f"{name} can't be imported in advance: {', '.join(changed)}")


def freeze(gc):
    """Takes all that is there out of the collector's sight: else every program's end looks through
    it, 150 ms with pandas. All but the program's own names, which it must still collect at the
    end: a full collection lets go of an empty dictionary.
    """
    main = vars(sys.modules["__main__"])
    names = dict(main)
    main.clear()
    gc.collect()
    gc.freeze()
    main.update(names)


def import_each(names, ctl):
    select = borrow("select").select
    if select([ctl], [], [], FIRST_WAIT)[0]:
        return
    tools = prepare()
    mute(tools)
    for name in names:
        if select([ctl], [], [], 0)[0]:
            break
        os.write(ctl, NEXT)
        import_one(tools, name)
    freeze(tools.gc)
    unmute(tools)
    os.write(ctl, DONE)


def run(names, ctl):
    """Imports the modules one by one until the job is there. Returns every name that was looked up
    for it: a program's own file of such a name would have been found instead.
    """
    looked_up, cached = set(), set(sys.path_importer_cache)

    def find_spec(name, path=None, target=None):
        looked_up.add(name.partition(".")[0])

    seen = PlainObject(find_spec=find_spec)  # the first finder, which finds nothing
    main = vars(sys.modules["__main__"])
    main["__file__"] = os.path.abspath(sys.argv[0])  # modules tell a script from a prompt by it
    sys.meta_path.insert(0, seen)
    try:
        import_each(names, ctl)
    finally:
        sys.meta_path.remove(seen)
        main.pop("__file__", None)
    for path in set(sys.path_importer_cache) - cached:
        del sys.path_importer_cache[path]
    return looked_up.difference(sys.builtin_module_names)


def shadowed(names):
    """An entry of the job's folder that would be imported, or, by its name, read, instead of what
    was: NAME, NAME.py, NAME.so, NAME.cfg, NAMErc, .NAME. None if there is none.
    """
    for entry in os.listdir(".") if names else ():
        stem = entry.lstrip(".").partition(".")[0]
        if stem in names or stem.removesuffix("rc") in names:
            return entry
    return None
