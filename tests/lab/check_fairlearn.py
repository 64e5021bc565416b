#!/usr/bin/env python3
"""Holds fisctl's figures against Fairlearn's and scikit-learn's on the same predictions.

    fisctl lab run … --predictions DIR
    python3 -m venv build/fairlearn && build/fairlearn/bin/pip install fairlearn
    build/fairlearn/bin/python tests/lab/check_fairlearn.py DIR

By hand, since it needs packages from PyPI. Exits with 1 when a figure differs by more than 1e-9, or
when there is nothing to check. For more than two classes the largest gap over classes is held
against the largest of Fairlearn's for one class against the rest.
"""

import collections
import csv
import json
import os
import sys

import fairlearn
from fairlearn.metrics import (MetricFrame, demographic_parity_difference,
                               equalized_odds_difference, false_positive_rate, true_positive_rate)
from sklearn.metrics import accuracy_score, balanced_accuracy_score

TOLERANCE = 1e-9


def gap(rate, label, predicted, group):
    return MetricFrame(metrics=rate, y_true=label, y_pred=predicted,
                       sensitive_features=group).difference()


def of_class(k, label, predicted, group):
    """(DP, TPR gap, FPR gap, equalized odds) of class k against the rest."""
    y, p = [int(v == k) for v in label], [int(v == k) for v in predicted]
    return (demographic_parity_difference(y, p, sensitive_features=group),
            gap(true_positive_rate, y, p, group), gap(false_positive_rate, y, p, group),
            equalized_odds_difference(y, p, sensitive_features=group))


def figures(run, label, group, predicted):
    classes = [run["positive"]] if run["classes"] == 2 else range(run["classes"])
    gaps = [of_class(k, label, predicted, group) for k in classes]
    dp, tpr, fpr, odds = (max(values) for values in zip(*gaps))
    return {"accuracy": accuracy_score(label, predicted),
            "balanced_accuracy": balanced_accuracy_score(label, predicted),
            "dp": dp, "eop": tpr, "eod": (tpr + fpr) / 2, "eod_max": odds}


def check(path):
    """The largest difference, after saying what differs."""
    with open(path, encoding="utf-8", newline="") as f:
        run = json.loads(f.readline().lstrip("# "))
        rows = [tuple(map(int, row)) for row in list(csv.reader(f))[1:]]
    label, group, predicted = (list(column) for column in zip(*rows))
    worst = 0.0
    for name, theirs in figures(run, label, group, predicted).items():
        difference = abs(theirs - run[name]) if run[name] is not None else float("inf")
        worst = max(worst, difference)
        if difference > TOLERANCE:
            print(f"{path}: {name}: here {run[name]}, Fairlearn {theirs}")
    return run, worst


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_fairlearn.py DIR")
    worst = collections.defaultdict(float)
    count = collections.Counter()
    for name in sorted(os.listdir(sys.argv[1])):
        if name.endswith(".csv"):
            run, difference = check(os.path.join(sys.argv[1], name))
            worst[run["method"]] = max(worst[run["method"]], difference)
            count[run["method"]] += 1
    print(f"Fairlearn {fairlearn.__version__}")
    for method, difference in worst.items():
        print(f"{method:16s} {count[method]:4d} runs, largest difference {difference:.1e}")
    sys.exit(0 if worst and max(worst.values()) <= TOLERANCE else 1)


if __name__ == "__main__":
    main()
