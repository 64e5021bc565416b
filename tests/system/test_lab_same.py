#!/usr/bin/env python3
"""The lab and the daemon are one engine (lab_same.py): Adult."""

from fisd_test import main, test
from lab_same import ROUNDS, compare


@test("three rounds of Adult: weights and verdicts of the lab and of fisd are the same to the bit")
def _():
    compare()


@test("the same over boosted trees, which are fitted again after the trainer was killed")
def _():
    versions = compare("trees=1", die_after=ROUNDS)
    assert versions[-1]["trees"] != versions[-2]["trees"]


main()
