"""The Python driver: makes a waiting interpreter run one job exactly as `python3 main.py` would.

The guest starts `python3 main.py` with this folder as PYTHONPATH before it has a program. The site
module then imports this file as the last step of the interpreter's start. It says that it is ready,
waits on descriptor 3 for the job (counts of show_last, argv, env, args as big-endian words, then
the bytes), applies it, and takes itself out of everything that a program can see. While it waits it
may import modules, named in BELLJAR_PREIMPORT; a job that they don't suit is refused, and the guest
gives it to an interpreter without them. When this file returns, CPython itself opens main.py, which
has been written meanwhile, and runs it: no frame, hook or module of ours is beneath the program.
"""

import io
import os
import sys

CTL = 3
ARGS_FILE = "/tmp/belljar-args.json"  # written by the guest before the job is handed over
AST_ONLY = 0x400  # ast.PyCF_ONLY_AST; a program must not find `ast` imported
HIDDEN = "<belljar>"  # no identifier, so no program means it
PLACE = "(lambda: 0).__builtins__['__spec__'].loader.find_spec.__func__.__globals__"
FIRST_FIELDS = ("func", "left", "test", "value", "keys", "values", "elts")


def forget():
    """Undoes what the start left behind, then lets the image's own sitecustomize run in our place.

    Returns the exception that the site module must see: the one of a failing sitecustomize, or,
    where there is none, the one that says so; both are what it would have met without us.
    """
    here = os.path.dirname(__file__)
    while here in sys.path:
        sys.path.remove(here)
    sys.path_importer_cache.pop(here, None)
    os.environ.pop("PYTHONPATH", None)
    del sys.modules["sitecustomize"]
    try:
        import sitecustomize  # the next one on sys.path
    except Exception as e:
        return e.with_traceback(None)
    return None


def read_exact(count):
    data = bytearray()
    while len(data) < count:
        part = os.read(CTL, min(count - len(data), 1 << 16))
        if not part:
            os._exit(1)  # the guest is gone, and the container with it
        data += part
    return bytes(data)


def strings(data):
    return [os.fsdecode(text) for text in data.split(b"\0")[:-1]]


def parse_json(text):
    """json.loads without the json package, which a program must not find imported."""
    before = "_json" in sys.modules
    from _json import make_scanner

    context = type(sys.implementation)(
        strict=True,
        object_hook=None,
        object_pairs_hook=None,
        parse_float=float,
        parse_int=int,
        parse_constant=float,
    )
    value = make_scanner(context)(text.strip(" \t\r\n"), 0)[0]
    if not before:
        sys.modules.pop("_json", None)
    return value


def apply(argv, env, args):
    sys.argv += argv
    sys.orig_argv += argv
    for row in env:
        name, _, value = row.partition("=")
        os.environ[name] = value
    if args:
        sys.modules["__main__"].__dict__["_args"] = parse_json(args.decode())
        os.environ["BELLJAR_ARGS"] = ARGS_FILE


def refuse(text):
    os.write(CTL, f"F{text}"[:300].encode(errors="replace"))
    os._exit(1)


def preimport(names):
    """Imports the modules, and returns what finds a file of the job's that one of them hides."""
    here = os.path.dirname(__file__)
    sys.path.insert(0, here)
    module = __import__("preimport")
    del sys.modules["preimport"]
    sys.path.remove(here)
    sys.path_importer_cache.pop(here, None)
    try:
        looked_up = module.run(names.split(","), CTL)
    except Exception as e:
        refuse(e)
    return lambda: module.shadowed(looked_up)


def take_job(hidden_file):
    """Takes and applies the job; returns whether the last expression is to be shown."""
    head = read_exact(16)
    show, argv, env, args = (int.from_bytes(head[i : i + 4], "big") for i in (0, 4, 8, 12))
    argv, env, args = read_exact(argv), read_exact(env), read_exact(args)
    if hidden := hidden_file():
        refuse(f"{hidden} has the name of a module that is imported already")
    try:
        apply(strings(argv), strings(env), args)
    except Exception as e:
        refuse(f"{type(e).__name__}: {e}")
    os.write(CTL, b"G")
    os.close(CTL)
    return bool(show)


def display(value):
    """What the prompt does with a value, but builtins._ stays as it was and no frame of ours is in
    a traceback.
    """
    names = sys.modules["builtins"].__dict__
    kept = [names["_"]] if "_" in names else []
    try:
        sys.displayhook(value)
    except BaseException as e:
        e.__traceback__ = e.__traceback__.tb_next
        raise
    finally:
        if kept:
            names["_"] = kept[0]
        else:
            names.pop("_", None)


def hidden_names():
    """What PLACE gives: a namespace that programs don't look into and that an expression can reach
    without any name of theirs.
    """
    return sys.modules["builtins"].__spec__.loader.find_spec.__func__.__globals__


def first(node):
    """The part of an expression that is evaluated first: where a debugger or Ctrl-C finds the
    statement's beginning.
    """
    while True:
        parts = [getattr(node, name, None) for name in FIRST_FIELDS]
        parts = [part[0] if isinstance(part, list) and part else part for part in parts]
        parts = [part for part in parts if hasattr(part, "lineno")]
        if not parts:
            return node
        node = parts[0]


def shown(value, path):
    """The expression `display(value)` at the place of value; display is fetched as hidden_names
    does, once.
    """
    call = compile(f"{PLACE}.pop({HIDDEN!r})(0)", path, "eval", AST_ONLY, True).body
    start, todo = first(value), [call]
    while todo:
        node = todo.pop()
        for name in node._attributes:
            setattr(node, name, getattr(value if node is call else start, name))
        for field in node._fields:
            part = getattr(node, field)
            parts = part if isinstance(part, list) else [part]
            todo += [part for part in parts if hasattr(part, "_fields")]
    call.args = [value]
    return call


def compile_shown(source, path):
    """The code of main.py with its last expression shown; None if it doesn't end in one."""
    tree = compile(source, path, "exec", AST_ONLY, True)
    last = tree.body[-1] if tree.body else None
    if type(last).__name__ != "Expr" or type(last.value).__name__ == "Starred":
        return None
    is_doc = len(tree.body) == 1 and isinstance(getattr(last.value, "value", None), str)
    if is_doc and type(last.value).__name__ == "Constant":
        # a module that is only a docstring keeps it
        again = compile(source, path, "exec", AST_ONLY, True).body[0]
        again.value = shown(again.value, path)
        tree.body.append(again)
    else:
        last.value = shown(last.value, path)
    return compile(tree, path, "exec", 0, True)


def compile_quietly(source, path):
    """compile_shown as a compiled file's bytes. Its warnings are written only if it succeeds: else
    CPython compiles, and warns, again.
    """
    import marshal

    stderr = sys.stderr
    sys.stderr = quiet = io.StringIO()
    try:
        code = compile_shown(source, path)
        magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
        data = code and magic + bytes(12) + marshal.dumps(code)
    except Exception:
        data = None  # CPython reports what is wrong, in its own words
    finally:
        sys.stderr = stderr
    if data:
        stderr.write(quiet.getvalue())
        stderr.flush()
    return data


def overwrite(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)


def swap_in(path, source, compiled):
    """Makes main.py a compiled file until CPython has loaded it, which it does for any file with
    that magic.

    In place and from memory, so that the folder never shows a second file, and so that the room for
    the source is certainly there again. The profile hook runs before the program's first
    instruction.
    """
    loaders = sys.modules["_frozen_importlib_external"]
    names = sys.modules["__main__"].__dict__
    before = os.stat(path)

    def restore():
        overwrite(path, source)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def hook(frame, event, arg):
        if event != "call" or frame.f_globals is not names:
            return
        sys.setprofile(None)
        restore()
        names["__loader__"] = loaders.SourceFileLoader("__main__", path)
        hidden_names()[HIDDEN] = display

    try:
        overwrite(path, compiled)
    except OSError:
        restore()  # no room for it: the program runs, its last value isn't shown
        return
    sys.setprofile(hook)


def show_last():
    path = os.path.abspath(sys.argv[0])
    try:
        with open(path, "rb", 0) as f:
            source = f.read()
    except OSError:
        return
    compiled = compile_quietly(source, path)
    if compiled:
        swap_in(path, source, compiled)


def main():
    names = os.environ.pop("BELLJAR_PREIMPORT", "")
    error = forget()
    os.set_inheritable(CTL, False)
    os.write(CTL, b"R")
    if take_job(preimport(names) if names else lambda: None):
        show_last()
    if error:
        raise error


main()
