#!/usr/bin/env python3
"""A base: fisd corrects the model that is in production, on the rows of Adult. Version 1 is that
model, its score comes with every record, and what has none or an impossible one is refused."""

import csv
import glob
import json
import math
import os
import subprocess
import tempfile

from fisd_test import FISCTL, KAFKA, ROOT, Pipeline, has, main, same, test

ROUNDS = 3


def adult():
    """The files of a split, each as rows."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as folder:
        r = subprocess.run([FISCTL, "lab", "run", "--tasks", "adult-sex", "--methods", "random",
                            "--metrics", "eod", "--regime", "scarce", "--seeds", "1", "--set", "rounds=1",
                            "--files", folder, "--cache", os.path.join(ROOT, "build/cache")],
                           capture_output=True, text=True, timeout=300)
        same(r.returncode, 0, f"fisctl lab run ({r.stderr})")
        files = {}
        for path in glob.glob(os.path.join(folder, "*", "*.csv")):
            with open(path, newline="") as f:
                files[os.path.basename(path)] = list(csv.DictReader(f))
        return files


def production(rows, label):
    """A model that is not fisd's: naive Bayes on texts; probability of >50K."""
    columns = [c for c in rows[0] if c not in ("id", "sex", label)]
    classes, counts = sorted({r[label] for r in rows}), {}
    for r in rows:
        for c in columns:
            key = (c, r[c][:2], r[label])
            counts[key] = counts.get(key, 0) + 1
    total = [sum(r[label] == k for r in rows) for k in classes]

    def score(row):
        odds = math.log(total[1] / total[0])
        for c in columns:
            a, b = ((counts.get((c, row[c][:2], k), 0) + 1) / (total[i] + 20)
                    for i, k in enumerate(classes))
            odds += math.log(b / a) / 4
        return 1 / (1 + math.exp(-odds))
    return score


def text_of(rows):
    with tempfile.TemporaryFile("w+", newline="") as f:
        w = csv.DictWriter(f, rows[0].keys())
        w.writeheader()
        w.writerows(rows)
        f.seek(0)
        return f.read().encode()


def config(files, label):
    numbers = {"age", "education-num", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week"}
    columns = [{"name": c, "type": "numeric" if c in numbers else "categorical"}
               for c in files["pool.csv"][0] if c not in ("id", "score")]
    return {"kafka": {"bootstrap.servers": KAFKA}, "classes": ["<=50K", ">50K"], "columns": columns,
            "model": {"base": {"type": "column", "name": "score", "scale": "probability"}},
            "topics": {"partitions": 1}, "initial": {"file": "initial.csv", "label": label},
            "validation": {"file": "validation.csv", "label": label, "sensitive": ["sex"]},
            "selection": {"mode": "pool", "labels_per_round": 64, "rounds": ROUNDS}}


def evaluated(p, version):
    r = p.fisctl("models", "evaluate", "--version", str(version), "--test", "test.csv", "--json")
    same(r.returncode, 0, f"fisctl models evaluate ({r.stderr})")
    return json.loads(r.stdout)


def wait_versions(p, n):
    r = p.fisctl("watch", "--until", f"versions={n}", "--timeout", "300", timeout=330)
    same(r.returncode, 0, f"fisctl watch ({r.stdout[-500:]} {r.stderr})")


@test("Adult over a model in production: version 1 is that model, later ones keep its accuracy")
def _():
    files = adult()
    label = next(c for c in files["answers.csv"][0] if c != "id")
    score = production(files["initial.csv"], label)
    for name in ("initial.csv", "validation.csv", "pool.csv", "test.csv"):
        for row in files[name]:
            row["score"] = repr(score(row))
    right = sum((float(r["score"]) > .5) == (r[label] == ">50K") for r in files["test.csv"])
    bad = [dict(files["pool.csv"][i], id=f"bad{i}", score=s) for i, s in
           enumerate(("", "87", "-0.5", "high"))]
    data = {n: text_of(rows) for n, rows in files.items()}
    data["bad.csv"] = text_of(bad)
    with Pipeline(config(files, label), name="base", files=data) as p:
        for name in ("bad.csv", "pool.csv"):
            r = p.fisctl("replay", name, timeout=300)
            same(r.returncode, 0, f"fisctl replay ({r.stderr})")
        p.start()
        wait_versions(p, 1)
        first = evaluated(p, 1)
        same(round(first["accuracy"] * first["rows"]), right, "right answers of version 1")
        reasons = [m.reason for m in p.wait_messages("dead-letter", 4)]
        same(len(reasons), 4, "dead letters")
        for reason, part in zip(reasons, ("no value; every record requires the base's score",
                                          "a probability (0 to 1) expected, 87 found",
                                          "a probability (0 to 1) expected, -0.5 found",
                                          "number expected")):
            has(reason, "column score: ", part)
        label_command = [FISCTL, "-c", p.config_path, "label", "--answers",
                         os.path.join(p.dir, "answers.csv")]
        labelling = subprocess.Popen(label_command, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
        try:
            for versions in (2, ROUNDS + 1):  # killed in between
                wait_versions(p, versions)
                if versions == 2:
                    p.kill()
                    p.start(ready=" restored ")
        finally:
            labelling.terminate()
            labelling.wait()
        r = p.fisctl("models", "list", "--json")
        served = [v["version"] for v in map(json.loads, r.stdout.splitlines()) if v["served"]]
        for version in served:
            assert evaluated(p, version)["accuracy"] > first["accuracy"] - .01, version
        shown = json.loads(p.fisctl("models", "show", "1", "--json").stdout)
        same(shown["columns"][-1]["scale"], "probability", "scale of the last column")


if __name__ == "__main__":
    main()
