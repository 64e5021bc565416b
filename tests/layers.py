"""Holds the sources to their layout; see `make layers`.

    layers.py NAME=SEEN,SEEN,… …

NAME is a layer (src/NAME) or a folder of one (daemon/scorer); it may include itself, what it sees
(layers, folders, or single headers) and include/fis. A folder inherits what its layer sees of other
layers. Also refused: a folder that is not listed or does not say what it is for in the first line
of its README.md; a header of a folder's own (…_impl.h) that another one includes; I/O and threads
in the pure layers (the log has its writer); a ring of more than RING_MAX modules by what they
include, where x.c, x.h, x_impl.h and include/fis/x.h are one; and, with --objects DIR (the
compiled sources), a ring of more than RING_MAX files by what they call.
"""

import os
import re
import subprocess
import sys

RING_MAX = 3
SENTENCE_MAX = 300
PUBLIC = ("core", "base")  # whose headers are in include/fis
PURE = ("base", "core", "role", "session")
THE_LOG = "src/base/log_writer.c"  # the one thread below the layers that have threads
IMPURE = re.compile(r"#include <(librdkafka|uv\.|sys/socket|pthread|fcntl)")
INCLUDE = re.compile(r'#include "([a-z_/0-9]+\.(?:h|inc))"')


def sources(top):
    for folder, _, names in os.walk(top):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".inc")):
                yield os.path.join(folder, name)


def folder_of(path):
    """src/daemon/scorer/x.c -> daemon/scorer"""
    return os.path.dirname(path).split("/", 1)[1]


def may_see(sees, folder, header):
    layer = folder.split("/")[0]
    allowed = [folder, "fis"] + sees[folder] + (sees[layer] if folder != layer else [])
    return any(header == a or os.path.dirname(header) == a for a in allowed)


def check_file(path, sees, includes):
    folder = folder_of(path)
    with open(path) as f:
        text = f.read()
    for header in INCLUDE.findall(text):
        if not os.path.exists(os.path.join("src", header)):
            if not header.startswith("fis/"):
                continue  # generated
        elif not may_see(sees, folder, header):
            yield f"{path}: {folder} may not include {header}"
        elif header.endswith("_impl.h") and os.path.dirname(header) != folder:
            yield f"{path}: {header} is for its own folder only"
        includes.append((path, "src/" + header))
    if folder in PURE and path != THE_LOG and IMPURE.search(text):
        yield f"{path}: no I/O and no threads in {folder}"


def check_public():
    for path in sources("include/fis"):
        with open(path) as f:
            for header in INCLUDE.findall(f.read()):
                if not header.startswith("fis/"):
                    yield f"{path}: public headers include public headers only"


def check_folders(sees):
    for folder, below, names in os.walk("src"):
        name = folder.partition("/")[2]
        if not name:
            continue
        if name not in sees and any(n.endswith(".c") for n in names):
            yield f"{folder}: not in the list of layers and folders (Makefile)"
        readme = os.path.join(folder, "README.md")
        first = open(readme).readline().strip() if os.path.exists(readme) else ""
        if not first.endswith(".") or first.startswith("#") or len(first) > SENTENCE_MAX:
            yield f"{readme}: its first line must say in one sentence what {folder} is for"


def check_names():
    """Two files never share a name: it says what the file is without the folder."""
    seen = {}
    for path in [*sources("src"), *sources("tests")]:
        other = seen.setdefault(os.path.basename(path), path)
        if other != path:
            yield f"{path}: {other} has the same name"


def module(path):
    """src/role/x_impl.h -> src/role/x; src/fis/x.h -> src/core/x, where x is of core"""
    name = re.sub(r"(_impl)?\.(c|h|inc)$", "", path)
    for layer in PUBLIC:
        own = name.replace("src/fis/", f"src/{layer}/")
        if own != name and os.path.exists(own + ".c"):
            return own
    return name


def calls(objects):
    """(caller, called) of the sources, by the symbols of what they were compiled to."""
    of = {os.path.join(objects, p[:-2] + ".o"): p for p in sources("src") if p.endswith(".c")}
    out = subprocess.run(["nm", "-A", *filter(os.path.exists, of)], check=True,
                         capture_output=True, text=True).stdout
    defined, needed = {}, []
    for path, kind, symbol in re.findall(r"^(.*?):[0-9a-f ]* (\w) (\S+)$", out, re.M):
        if kind == "U":
            needed.append((of[path], symbol))
        elif kind.isupper():
            defined[symbol] = of[path]
    return [(path, defined[symbol]) for path, symbol in needed if symbol in defined]


def rings(pairs):
    """Strongly connected components, larger than one (Tarjan)."""
    arrows = {}
    for a, b in pairs:
        arrows.setdefault(a, set()).add(b)
    order, low, stack, found = {}, {}, [], []

    def visit(m):
        order[m] = low[m] = len(order)
        stack.append(m)
        for n in sorted(arrows.get(m, ())):
            if n not in order:
                visit(n)
            if n in stack:
                low[m] = min(low[m], low[n])
        if low[m] == order[m]:
            at = stack.index(m)
            if len(stack) - at > 1:
                found.append(stack[at:])
            del stack[at:]

    for m in sorted(arrows):
        if m not in order:
            visit(m)
    return found


def main(arguments):
    sees, objects = {}, None
    if arguments[:1] == ["--objects"]:
        objects, arguments = arguments[1], arguments[2:]
    for a in arguments:
        name, _, seen = a.partition("=")
        sees[name] = [s for s in seen.split(",") if s]
    includes, wrong = [], []
    for path in sources("src"):
        if folder_of(path) in sees:
            wrong += check_file(path, sees, includes)
    wrong += check_public()
    wrong += check_folders(sees)
    wrong += check_names()
    included = [(module(a), module(b)) for a, b in includes]
    for what, pairs in ("include", included), ("call", calls(objects) if objects else []):
        wrong += [f"a ring by what they {what}: " + ", ".join(sorted(ring))
                  for ring in rings(pairs) if len(ring) > RING_MAX]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main(sys.argv[1:]))
