#!/usr/bin/env python3
"""The lab and the daemon are one engine (lab_same.py): images, of `make test-all`."""

from fisd_test import main, test
from lab_same import ROUNDS, compare


@test("images, a transformer, AdamW and images that are moved; the trainer was killed")
def _():
    compare("labels=16 steps=20 warm-up=2", die_after=ROUNDS, task="mnist-colour")


main()
