#!/usr/bin/env python3
"""Writes krippendorff.txt: what the package krippendorff says of 30 random tables of answers.

    python3 -m venv venv && venv/bin/pip install krippendorff==0.9.0
    venv/bin/python tests/golden/make_krippendorff.py

Of each: alpha, of each class against the rest, and without each annotator. nan: the package cannot
say, since all answers that can be compared are of one class, or there are none.
"""
import importlib.metadata
import pathlib
import sys
import warnings

import krippendorff
import numpy as np

VERSION = "0.9.0"
here = pathlib.Path(__file__).resolve().parent


def alpha(table):
    """table[annotator][record]; nan: no answer."""
    pairable = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")


def random_table(seed):
    rng = np.random.default_rng(seed)
    people, classes, records = 2 + seed % 5, 2 + seed % 4, int(rng.integers(3, 70))
    truth = rng.choice(classes, records, p=rng.dirichlet(np.full(classes, 1.5)))
    right = rng.random((people, records)) < rng.uniform(.2, 1, (people, 1))
    table = np.where(right, truth, rng.integers(0, classes, (people, records))).astype(float)
    table[rng.random((people, records)) < rng.uniform(0, .7)] = np.nan
    return table, classes


def write(out, title, table, classes):
    binary = [alpha(np.where(np.isnan(table), np.nan, table == k)) for k in range(classes)]
    without = [alpha(np.delete(table, i, axis=0)) for i in range(len(table))]
    print(title, 0, file=out)
    for name, numbers in [("size", [*table.shape, classes]),
                          ("answers", np.nan_to_num(table, nan=-1).astype(int).ravel()),
                          ("alpha", [alpha(table)]), ("class", binary), ("without", without)]:
        print(name, len(numbers), file=out)
        print(" ".join(repr(float(x)) if isinstance(x, float) else str(int(x)) for x in numbers),
              file=out)


def main():
    if importlib.metadata.version("krippendorff") != VERSION:
        sys.exit(f"krippendorff {VERSION} is pinned")
    with open(here / "krippendorff.txt", "w") as out:
        for seed in range(28):
            write(out, f"random{seed}", *random_table(seed))
        write(out, "one-class", np.zeros((3, 5)), 2)
        write(out, "no-pair", np.array([[0, np.nan, 1], [np.nan, 1, np.nan]]), 2)


if __name__ == "__main__":
    main()
