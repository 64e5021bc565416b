#!/usr/bin/env python3
"""The runner can fail: what fails is not run again, and one failure is the run's exit status."""

import os
import subprocess
import tempfile

from fisd_test import has, main, same, test
from fisd_process import ROOT

PASSES = "#!/bin/sh\necho 1..1\necho ok 1\n"
# It leaves a mark, and passes where it finds one.
FAILS_ONCE = "#!/bin/sh\necho 1..1\n[ -e {mark} ] || echo not ok 1\n[ ! -e {mark} ] || echo ok 1\n" \
             "echo run >>{mark}\n"
CRASHES = "#!/bin/sh\necho 1..2\necho ok 1\nkill -9 $$\n"


def run(**programs):
    """run.sh over such tests: its exit status, its output, and what the mark has."""
    with tempfile.TemporaryDirectory() as folder:
        mark, paths = os.path.join(folder, "mark"), []
        for name, text in programs.items():
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "w") as f:
                f.write(text.replace("{mark}", mark))
            os.chmod(paths[-1], 0o755)
        r = subprocess.run([os.path.join(ROOT, "tests/system/run.sh"), *paths], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
        marks = open(mark).read() if os.path.exists(mark) else ""
        return r.returncode, r.stdout, marks


@test("a run of tests that pass succeeds")
def _():
    status, out, _ = run(one=PASSES, two=PASSES)
    same(status, 0, out)
    has(out, "Result: PASS")


@test("a test that fails once makes the run fail, and is not run again")
def _():
    status, out, marks = run(one=PASSES, two=FAILS_ONCE)
    assert status != 0, out
    has(out, "Result: FAIL", "two: not ok 1\n")
    same(marks, "run\n", "how often it ran")


@test("a test that ends before its plan makes the run fail")
def _():
    status, out, _ = run(one=CRASHES, two=PASSES)
    assert status != 0, out


if __name__ == "__main__":
    main()
