#!/usr/bin/env python3
"""A short run of `make chaos`: a few random faults of scorers, trainers and the broker, counted
from the topics. And the self-test of what counts."""

import os
import subprocess
import sys

from fisd_test import ROOT, main, same, test

CHAOS = os.path.join(ROOT, "tests/chaos")


def run(*command, seconds):
    r = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace", timeout=seconds)
    print("# " + r.stdout.rstrip("\n").replace("\n", "\n# "), flush=True)
    return r.returncode


@test("the checker finds each way to spoil a history")
def _():
    same(run(os.path.join(CHAOS, "test_check.py"), seconds=180), 0)


@test("some random faults, and every guarantee holds")
def _():
    same(run(os.path.join(CHAOS, "chaos.py"), "--kills", "6", seconds=900), 0)


if __name__ == "__main__":
    main()
