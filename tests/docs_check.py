#!/usr/bin/env python3
"""
Checks of texts, for `make docs-check`: words that have a plain technical counterpart, links of the
documents, files that they name, README's size.

  docs_check.py [--root DIR] [FILE …]     FILE: only the words of these

Prints FILE:LINE, what was found and what to use; exit status 1 when there is anything. Words are
looked for in documents (but for code), and in the comments and strings of sources; identifiers and
strings of one word (names of fields, events, options) are not texts, but names of tests are.
"""
import argparse
import io
import os
import re
import sys
import tokenize

README_BYTES = 10240

# (what is refused, what to use)
WORDS = [
    (r"told", "given, notified, reported"),
    (r"said", "stated, reported, printed"),
    (r"anew", "again, from the start"),
    (r"of late", "recently"),
    (r"go(?:es)? by", "uses, depends on"),
    (r"wanted", "requested, required, expected"),
    (r"wants", "requires, needs, expects"),
    (r"is another one", "differs, does not match"),
    (r"are others now", "have changed"),
    (r"as it were", "(leave it out)"),
    (r"(?:has|have|gets?) (?:\w+ ){0,3}back", "is refunded, is restored"),
    (r"whoever", "the leader, the owner, the caller, a reader"),
    (r"mend(?:s|ed|ing)?", "correct, fix"),
    (r"in vain", "without an answer, without effect"),
    (r"lately", "recently"),
    (r"hears?(?: of| from)?", "reads, receives"),
    (r"sp(?:eaks?|oke) of", "names, is about"),
    (r"lets? (?:\w+ )?go", "drops, closes, releases"),
    (r"(?:is|are|was|were) \w+ no more", "is no longer"),
    (r"partitions? (?:that )?(?:began|begins?) again", "a recreated partition"),
]
REFUSED = [(re.compile(rf"\b{w}\b(?!=)", re.I), use) for w, use in WORDS]

TREES = ("src", "include", "config", "proto", "systemd", "docs", "tests", "contrib")
ROOT_FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")
C_LIKE = (".c", ".h", ".inc", ".js", ".css", ".proto")
PYTHON = (".py",)
PLAIN = (".md", ".yaml", ".yml", ".html")
# Texts of others, what is generated, and what states the refused words themselves.
OTHERS = ("tests/fuzz/corpus", "tests/golden", "tests/docs_check.py", "tests/system/test_docs_check.py")

TOKEN = re.compile(r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
                   re.S | re.X)
ONE_WORD = re.compile(r"""["'][\w.\-%]*["']$""")
QUOTED = re.compile(r"`[^`\n]*`|\[\w+\]")  # names in comments: `wanted`, out [wanted]
TEST_NAME = re.compile(r"(?<=^static void )\w+(?=\(void \*\*state\))", re.M)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def c_texts(text):
    """The text with all but comments and strings blanked: lines stay where they are."""
    names = list(TEST_NAME.finditer(text))
    out, at = [], 0
    for m in TOKEN.finditer(text):
        shown = blank(m[0]) if ONE_WORD.match(m[0]) else QUOTED.sub(lambda q: blank(q[0]), m[0])
        out += [blank(text[at:m.start()]), shown]
        at = m.end()
    shown = "".join(out) + blank(text[at:])
    for m in names:
        shown = shown[:m.start()] + m[0].replace("_", " ") + shown[m.end():]
    return shown


def py_texts(text):
    """The same for Python: comments, docstrings and strings of more than a word."""
    lines = [blank(line) for line in text.splitlines(keepends=True)]
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type == tokenize.COMMENT or t.type == tokenize.STRING and not ONE_WORD.match(t.string):
            row, begin = t.start
            for part in QUOTED.sub(lambda q: blank(q[0]), t.string).splitlines(keepends=True):
                line, shown = lines[row - 1], part.rstrip("\n")
                lines[row - 1] = line[:begin] + shown + line[begin + len(shown):]
                row, begin = row + 1, 0
    return "".join(lines)


def md_texts(text):
    text = re.sub(r"^```.*?^```", lambda m: blank(m[0]), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda m: blank(m[0]), text)


def words(path, text):
    if path.endswith(C_LIKE):
        text = c_texts(text)
    elif path.endswith(PYTHON):
        text = py_texts(text)
    elif path.endswith(".md"):
        text = md_texts(text)
    elif os.path.basename(path) == "Makefile":
        text = re.sub(r"^[^#\n]*", lambda m: blank(m[0]), text, flags=re.M)
    # A phrase may be cut by the end of a line, and by the quotes and stars around it.
    flat = re.sub(r'["*#\s]', " ", text)
    flat = re.sub(r" {2,}", lambda m: " " + "\0" * (len(m[0]) - 1), flat)
    places = [i for i, c in enumerate(flat) if c != "\0"]
    flat = flat.replace("\0", "")
    for pattern, use in REFUSED:
        for m in pattern.finditer(flat):
            line = text.count("\n", 0, places[m.start()]) + 1
            yield line, f"'{m[0]}': use {use}"


def anchors(text):
    for title in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        title = re.sub(r"[`*]|\]\([^)]*\)|\[", "", title).strip().lower()
        yield re.sub(r"[^\w\- ]", "", title).replace(" ", "-")


def links(root, path, text):
    for m in re.finditer(r"\]\(([^)\s]+)\)", md_texts(text)):
        link = m[1]
        line = text.count("\n", 0, m.start()) + 1
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(root, os.path.dirname(path), name)) if name else \
            os.path.join(root, path)
        if not os.path.exists(target):
            yield line, f"link to {link}: there is no such file"
        elif anchor:
            with open(target, encoding="utf-8") as f:
                if anchor not in anchors(f.read()):
                    yield line, f"link to {link}: there is no such heading"


def paths(root, text):
    """Files of the source that a document names: `src/role/scorer.h`; NAME and * stand for others."""
    for m in re.finditer(r"`((?:src|tests|include|config|proto)/[\w./-]+\.\w+)`", text):
        if "NAME" not in m[1] and not os.path.exists(os.path.join(root, m[1])):
            yield text.count("\n", 0, m.start()) + 1, f"{m[1]}: there is no such file"


def check_file(root, path, only_words):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    found = list(words(path, text))
    if path.endswith(".md") and not only_words:
        found += links(root, path, text)
        found += paths(root, text) if path != "CHANGELOG.md" else []  # what once was
    if path == "README.md" and not only_words and len(text.encode()) > README_BYTES:
        found.append((1, f"{len(text.encode())} bytes: at most {README_BYTES}"))
    return sorted(found)


def files(root):
    for name in ROOT_FILES:
        if os.path.exists(os.path.join(root, name)):
            yield name
    for tree in TREES:
        for directory, _, names in sorted(os.walk(os.path.join(root, tree))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(directory, name), root)
                if name.endswith(C_LIKE + PYTHON + PLAIN) and not path.startswith(OTHERS):
                    yield path


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    bad = 0
    for path in a.files or files(a.root):
        for line, text in check_file(a.root, path, bool(a.files)):
            print(f"{path}:{line}: {text}", file=sys.stderr)
            bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
