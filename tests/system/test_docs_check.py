#!/usr/bin/env python3
"""tests/docs_check.py refuses what it should, and names the place: on a tree with one fault each."""

import os
import shutil
import subprocess
import sys
import tempfile

from fisd_test import ROOT, has, main, same, test

CHECK = os.path.join(ROOT, "tests/docs_check.py")


def check(files):
    tree = tempfile.mkdtemp(prefix="fisd-docs-")
    try:
        for name, text in {"README.md": "# fisd\n", **files}.items():
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="utf-8") as f:
                f.write(text)
        r = subprocess.run([sys.executable, CHECK, "--root", tree], capture_output=True, text=True)
        return r.returncode, r.stderr
    finally:
        shutil.rmtree(tree)


def refused(name, text, *words):
    status, out = check({name: text})
    same(status, 1, f"{name}: {text!r}")
    has(out, *words)


def passes(name, text):
    same(check({name: text}), (0, ""), f"{name}: {text!r}")


@test("an unclear word is refused in documents, comments and strings, with line and remedy")
def _():
    refused("docs/a.md", "# A\n\nA token is wanted.\n", "docs/a.md:3: 'wanted': use requested")
    refused("src/base/a.c", "int a;\n/* What it told. */\n", "src/base/a.c:2: 'told'")
    refused("src/base/a.c", 'f("%s wants a value");\n', "src/base/a.c:1: 'wants': use requires")
    refused("src/base/a.h", "/* Of\n * late. */\n", "src/base/a.h:1: 'Of late': use recently")
    refused("config/a.yaml", "# begins anew\n", "config/a.yaml:1: 'anew'")
    refused("Makefile", "a: ## said\n", "Makefile:1: 'said'")
    refused("tests/system/a.py", 'a = 1\n\n\ndef b():\n    """What\n    it told."""\n',
            "tests/system/a.py:6: 'told'")
    refused("tests/core/a.c", "static void it_is_said(void **state)\n", "tests/core/a.c:1: 'said'")


@test("identifiers, code and names of fields are not texts")
def _():
    passes("src/base/a.c", 'int wanted; int said_answers;\nf("wanted"); /* `told`, out [wanted] */\n')
    passes("docs/a.md", "# A\n\nThe field `wanted`.\n\n```\nwants told\n```\n")
    passes("Makefile", "told: said\n")
    passes("contrib/a.py", 'told = {"said": wants}\n')


@test("broken links and headings are refused, and so is a long README")
def _():
    refused("docs/a.md", "# A\n[b](b.md)\n", "docs/a.md:2: link to b.md: there is no such file")
    refused("docs/a.md", "# A\n[b](#c)\n", "docs/a.md:2: link to #c: there is no such heading")
    passes("docs/a.md", "# Go on: `a`\n[b](#go-on-a), [r](../README.md#fisd)\n")
    refused("docs/a.md", "# A\n\nSee `src/a/b.c`.\n", "docs/a.md:3: src/a/b.c: there is no such file")
    passes("docs/a.md", "# A\n\n`src/cli/cmd_NAME.c`, `src/core/acquisition*.c`\n")
    refused("README.md", "x" * 10241, "README.md:1: 10241 bytes: at most 10240")
    passes("README.md", "x" * 10240)


@test("what is in the tree passes")
def _():
    r = subprocess.run([sys.executable, CHECK], capture_output=True, text=True)
    same((r.returncode, r.stderr), (0, ""))


main()
