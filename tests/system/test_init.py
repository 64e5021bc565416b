#!/usr/bin/env python3
"""fisctl init: from a table of one's own to a pipeline that publishes version 1."""

import collections
import csv
import os
import random
import subprocess
import tempfile

from fisd_test import FISCTL, FISD, has, main, same, test, wait

N = 3000
COLUMNS = ["Person Nr", "age", "job", "plan", "constant", "applied", "code", "decided_as", "sex",
           "granted"]


def rows(n=N, seed=1):
    r = random.Random(seed)
    for i in range(n):
        sex, age = r.choice("FM"), r.randint(18, 80)
        granted = "yes" if r.random() < (.6 if age > 40 else .3) else "no"
        yield {"Person Nr": f"P{i:06}", "age": age, "job": r.choice(["a, b", 'say "x"', "ü", ""]),
               "plan": r.choice(["basic", "plus"]), "constant": 7, "code": r.randint(1, 4),
               "applied": f"2026-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
               "decided_as": granted.upper() if r.random() < .99 else "", "sex": sex,
               "granted": granted if i % 100 else ""}


def write(path, table, columns=COLUMNS):
    with open(path, "w", newline="") as f:
        w = csv.DictWriter(f, columns, extrasaction="ignore", lineterminator="\n")
        w.writeheader()
        w.writerows(table)


def read(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def init(folder, *arguments, status=0):
    r = subprocess.run([FISCTL, "init", *arguments], cwd=folder, capture_output=True, text=True,
                       timeout=60)
    same(r.returncode, status, f"exit status ({r.stdout} {r.stderr})")
    return r.stdout if status == 0 else r.stderr


def folder():
    return tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR"))


ARGUMENTS = ["people 1.csv", "--label", "granted", "--sensitive", "sex", "--id", "Person Nr"]


@test("the report: classes, groups, and what is odd about columns and rows")
def _():
    with folder() as d:
        table = list(rows())
        table += [dict(r, **{"Person Nr": f"Q{i}"}) for i, r in enumerate(table[:40])]
        write(os.path.join(d, "people 1.csv"), table)
        out = init(d, *ARGUMENTS)
        labelled = [r for r in table if r["granted"]]
        yes = sum(r["granted"] == "yes" for r in labelled)
        has(out, "people 1.csv: 3,040 rows, 10 columns", f"yes {yes:,} (", "positive",
            "sex=F: ", "sex=M: ", f"{3040 - len(labelled)} rows have no label or no sex",
            "repeat the features of an earlier one", "one value in all rows: constant",
            "dates: applied", "few whole numbers: code",
            "separates the classes almost alone: decided_as (AUC ", "demographic_parity 0.")
        config = open(os.path.join(d, "people-1.yaml")).read()
        has(config, 'classes: ["no", "yes"]', "passthrough: [", 'id: "Person Nr"')
        has(init(d, *ARGUMENTS, status=1), "people-1.yaml", "exists already")
        has(init(d, *ARGUMENTS, "--positive", "maybe", status=1), 'no class "maybe"')
        has(init(d, "people 1.csv", "--label", "grnted", "--sensitive", "sex", status=1), "grnted",
            "granted")
        has(init(d, "people 1.csv", "--label", "granted", "--sensitive", "Person Nr", status=1),
            "64 combinations")
        same(init(d, "people 1.csv", status=2).count("--label"), 1)


@test("--split: disjoint, stratified, repeatable; the configuration passes its check")
def _():
    with folder() as d:
        table = list(rows())
        write(os.path.join(d, "people 1.csv"), table)
        init(d, *ARGUMENTS, "--split", "--validation", "1000", "--initial", "300")
        parts = {k: read(os.path.join(d, k + ".csv"))
                 for k in ("initial", "validation", "stream", "answers")}
        same(len(parts["initial"]), 300)
        same(len(parts["validation"]), 1000)
        same([r["Person Nr"] for r in parts["stream"]], [r["Person Nr"] for r in parts["answers"]])
        ids = [r["Person Nr"] for k in ("initial", "validation", "stream") for r in parts[k]]
        by_id = {r["Person Nr"]: r for r in table}
        same(sorted(ids), sorted(k for k, r in by_id.items() if r["granted"]))
        for name, part in parts.items():
            same("sex" in part[0], name == "validation", f"sex in {name}")
            same("granted" in part[0], name != "stream", f"the label in {name}")
            for r in part:
                for column, text in r.items():
                    same(text, str(by_id[r["Person Nr"]][column]), f"{name}, {column}")
        cells = collections.Counter((r["sex"], r["granted"]) for r in table if r["granted"])
        for cell, n in collections.Counter(
                (r["sex"], r["granted"]) for r in parts["validation"]).items():
            assert abs(n - cells[cell] * 1000 / sum(cells.values())) <= 1, (cell, n)
        r = subprocess.run([FISD, "--check-config", "people-1.yaml"], cwd=d, capture_output=True,
                           text=True, timeout=30)
        same((r.returncode, r.stderr), (0, ""))

        first = open(os.path.join(d, "validation.csv")).read()
        os.mkdir(os.path.join(d, "again"))
        init(d, *ARGUMENTS, "--split", "--validation", "1000", "--initial", "300", "-o",
             "again/p.yaml")
        same(open(os.path.join(d, "again/validation.csv")).read(), first)


@test("--stream FILE: rows that are in both, columns that are missing; TOPIC is configured")
def _():
    with folder() as d:
        table = list(rows(600))
        write(os.path.join(d, "people 1.csv"), table)
        write(os.path.join(d, "new.csv"), [dict(r, age=r["age"] + 100) for r in rows(100, 2)] + table[:5],
              [c for c in COLUMNS if c not in ("sex", "granted")])
        has(init(d, *ARGUMENTS, "--stream", "new.csv"), "look at     5 of 105 rows of new.csv are in people 1.csv")
        write(os.path.join(d, "short.csv"), table, ["Person Nr", "age"])
        has(init(d, *ARGUMENTS, "--stream", "short.csv", "-o", "s.yaml"),
            "column plan is not in short.csv")
        init(d, *ARGUMENTS, "--stream", "loans.incoming", "-o", "t.yaml")
        has(open(os.path.join(d, "t.yaml")).read(), 'records: "loans.incoming"')


@test("the pipeline that it writes publishes version 1, on the embedded broker")
def _():
    with folder() as d:
        write(os.path.join(d, "people 1.csv"), rows())
        init(d, *ARGUMENTS, "--split", "-o", "fisd.yaml")
        path = os.path.join(d, "fisd.yaml")
        text = open(path).read().replace("kafka:", "delivery: at_least_once\nunused:")
        lines = [line for line in text.splitlines()
                 if not line.startswith(("unused", "  bootstrap"))]
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        log = open(os.path.join(d, "log"), "w+")
        fisd = subprocess.Popen([FISD, "--embedded", "-c", path], cwd=d, stdout=log, stderr=log)
        try:
            wait(lambda: " version version=1 " in open(log.name).read(), "version 1",
                 alive=lambda: same(fisd.poll(), None, open(log.name).read()))
        finally:
            fisd.terminate()
            fisd.wait(30)
            log.close()


if __name__ == "__main__":
    main()
