#!/usr/bin/env python3
"""fisctl init: from a table of one's own to a pipeline that publishes version 1."""

import collections
import csv
import gzip
import json
import os
import random
import re
import signal
import subprocess
import tempfile

from fisd_test import FISCTL, FISD, KAFKA, has, main, produce, same, test, wait
from own_broker import create_topic

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
                       timeout=180)
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
            "sex=F: ", "sex=M: ", f"{3040 - len(labelled)} rows without label or sex",
            "with the features of an earlier one", "one value in all rows: constant",
            "dates: applied", "few whole numbers: code",
            "separates the classes almost alone: decided_as (AUC ", "demographic_parity 0.")
        config = open(os.path.join(d, "people-1.yaml")).read()
        has(config, 'classes: ["no", "yes"]', "passthrough: [", 'id: "Person Nr"')
        has(init(d, *ARGUMENTS, status=1), "people-1.yaml", "exists already")
        for n, validation in ((1400, "validation  500 rows;"), (600, "validation  297 rows; under 500")):
            write(os.path.join(d, f"{n}.csv"), rows(n))
            has(init(d, f"{n}.csv", "-l", "granted", "-s", "sex"), validation)
        write(os.path.join(d, "few.csv"), [{**r, "sex": "X"} if i % 15 == 1 else r for i, r in enumerate(table)])
        small = ["few.csv", "-l", "granted", "-s", "sex", "--split", "-o"]
        os.mkdir(os.path.join(d, "few"))
        advice = re.search(r"rows of groups: sex=X (\d+)\. While one has under 30 .* or use --validation (\d+)\n",
                           init(d, *small, "few/p.yaml"))
        assert advice and int(advice[1]) < 30, "the group that is too small"
        os.mkdir(os.path.join(d, "enough"))
        assert "min_cell" not in init(d, *small, "enough/p.yaml", "--validation", advice[2]), "the advice helps"
        has(init(d, *ARGUMENTS, "--positive", "maybe", status=1), 'no class "maybe"')
        has(init(d, "people 1.csv", "--label", "grnted", "--sensitive", "sex", status=1), "grnted",
            "granted")
        has(init(d, "people 1.csv", "--label", "granted", "--sensitive", "Person Nr", status=1),
            "64 combinations")
        same(init(d, "people 1.csv", status=2).count("--label"), 1)


@test("a misspelt column, one in two roles, blanks in a list; what cannot be written leaves nothing behind")
def _():
    with folder() as d:
        write(os.path.join(d, "people 1.csv"), rows())

        def refused(*arguments):
            before = sorted(os.listdir(d))
            text = init(d, "people 1.csv", "--split", *arguments, status=1)
            same(sorted(os.listdir(d)), before, "files")
            return text
        has(refused("-l", "grantd", "-s", "sex"), "did you mean 'granted'?")
        has(refused("-l", "granted", "-s", "sex,granted"), 'cannot be the label and the sensitive column')
        open(os.path.join(d, "answers.csv"), "w").close()
        has(refused("-l", "granted", "-s", "sex"), "answers.csv: it exists already", "-o FOLDER/")
        os.remove(os.path.join(d, "answers.csv"))
        has(refused("-l", "granted", "-s", "sex", "-o", "nowhere/p.yaml"), "nowhere/p.yaml: No such file")
        has(init(d, "people 1.csv", "-l", "granted", "-s", " sex , plan", "-o", "p.yaml"), "sex=F, plan=basic")


@test("numbers with a comma are left out, and no categories; a pipe that ends early is no trouble")
def _():
    with folder() as d:
        table = [{**r, "age": f"{r['age']},5" if i % 3 else r["age"], "job": f"{i % 4},x"}
                 for i, r in enumerate(rows(800))]
        write(os.path.join(d, "people 1.csv"), table)
        has(init(d, *ARGUMENTS), "left out    numbers with a comma: age; write 1234.5")
        config = open(os.path.join(d, "people-1.yaml")).read()
        has(config, '# - {name: "age", type: categorical} # left out: numbers with a comma',
            '  - {name: "job", type: categorical}')
        for out, message in (("| true", ""), ("> /dev/full", "standard output cannot be written")):
            r = subprocess.run(["bash", "-o", "pipefail", "-c", f"{FISCTL} --help {out}; {FISCTL} init "
                                f"'people 1.csv' -l granted -s sex -o $RANDOM.yaml {out}"], cwd=d,
                               capture_output=True, text=True, timeout=180)
            has(r.stderr, message)
            same(message or r.stderr, message, "standard error")


@test("a signal ends it while it reads a table that does not end, and leaves nothing behind")
def _():
    with folder() as d:
        os.mkfifo(os.path.join(d, "slow.csv"))
        for number in (signal.SIGINT, signal.SIGTERM):
            slow = subprocess.Popen([FISCTL, "init", "slow.csv", "-l", "granted", "-s", "sex", "--split"], cwd=d)
            with open(os.path.join(d, "slow.csv"), "w") as f:  # returns when it is open there too
                f.write("id,sex,granted\n")
                f.flush()
                slow.send_signal(number)
                same(slow.wait(60), -number, "how it ended")
            same(os.listdir(d), ["slow.csv"], "files")


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
                           text=True, timeout=180)
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
        has(init(d, *ARGUMENTS, "--stream", "new.csv"), "look at     of the 105 rows of new.csv, 5 are in people 1.csv")
        write(os.path.join(d, "short.csv"), table, ["Person Nr", "age"])
        has(init(d, *ARGUMENTS, "--stream", "short.csv", "-o", "s.yaml"),
            "column plan is not in short.csv")
        init(d, *ARGUMENTS, "--stream", "loans.incoming", "-o", "t.yaml")
        has(open(os.path.join(d, "t.yaml")).read(), 'records: "loans.incoming"')


def nested(n, seed=1):
    """People as objects in objects: numbers in quotes, members that no column can hold."""
    r = random.Random(seed)
    for i in range(n):
        sex, age = r.choice("FM"), r.randint(18, 80)
        granted = "yes" if r.random() < (.6 if age > 40 else .3) else "no"
        yield {"id": i if i != 77 else 76, "age": str(age) if i % 3 else age,
               "address": {"city": r.choice(["Ulm", "Köln"]), "geo": {"lat": 48 + r.random()}},
               "tags": ["a"], "open": True, "word": f"w{r.randint(0, 1500)}",
               "decided": "x" if granted == "yes" else None, "who": {"sex": sex},
               "income": "n/a" if i % 50 == 0 else r.randint(1000, 9000), "granted": granted}


def check(d, config):
    r = subprocess.run([FISD, "--check-config", config], cwd=d, capture_output=True, text=True,
                       timeout=180)
    same((r.returncode, r.stderr), (0, ""))


@test("JSON lines in gzip: nested members, numbers in quotes, what no column holds, what the stream has")
def _():
    with folder() as d:
        with gzip.open(os.path.join(d, "people.jsonl.gz"), "wt") as f:
            f.writelines(json.dumps(x) + "\n" for x in nested(3000))
        with open(os.path.join(d, "new.jsonl"), "w") as f:
            f.writelines(json.dumps({**x, "id": f"n{i}", "income": 5, "address":
                                     {"city": "Bonn", "geo": {"lat": 1}}, "note": "x"}) + "\n"
                         for i, x in enumerate(nested(200, 2)))
        out = init(d, "people.jsonl.gz", "--label", "granted", "--sensitive", "who.sex", "--stream",
                   "new.jsonl", "--split")
        has(out, "people.jsonl.gz: 3,000 rows", "who.sex=F: ", "more than 1,000 categories: word",
            "neither numbers nor texts: tags;", "one value in all rows: open;",
            "almost alone: decided (AUC 1.000)",
            'income: 60 of 3000 cells are no number', '"n/a"',
            "1 of 3,000 rows with the id of an earlier one: not used; if id is shared by rows", "stream      new.jsonl: 200 rows",
            "100 % of the rows of new.jsonl have a category of address.city",
            "new.jsonl has the sensitive column who.sex", "new.jsonl has the label column granted",
            "column note of new.jsonl is not in people.jsonl.gz")
        config = open(os.path.join(d, "people.yaml")).read()
        has(config, 'name: "address.geo.lat"}', 'passthrough: ["tags", "open", "word", "note"]',
            'ignore: ["who.sex", "granted"]', "numeric_text: true")
        check(d, "people.yaml")
        ids = [r["id"] for k in ("initial", "validation") for r in read(os.path.join(d, k + ".csv"))]
        same(len(ids), len(set(ids)))
        same(len(ids), 2999)
        has(init(d, "people.jsonl.gz", "--label", "granted", "--sensitive", "who.sex", "--stream",
                 "gone.jsonl", "-o", "x.yaml", status=1), "gone.jsonl", "cannot be opened")


@test("--stream TOPIC with -b: a sample of it, with the frame of Confluent's serializers")
def _():
    with folder() as d:
        topic = "init-people.incoming"
        with open(os.path.join(d, "people.jsonl"), "w") as f:
            f.writelines(json.dumps(x) + "\n" for x in nested(600))
        ask = ["people.jsonl", "--label", "granted", "--sensitive", "who.sex", "--stream", topic]
        has(init(d, *ask, "-o", "0.yaml"), f"topic {topic} was not looked at: -b names no broker")
        create_topic(topic, 3)
        has(init(d, *ask, "-o", "1.yaml", "-b", KAFKA), "was not looked at: it has no records yet")
        produce(topic, [(b"%d" % i, b"\0\0\0\0\7" + json.dumps({**x, "trace": "x"}).encode())
                        for i, x in enumerate(nested(300))] + [(b"x", b"no JSON")])
        has(init(d, *ask, "-o", "2.yaml", "-b", KAFKA),
            f"of the first 301 records of {topic}, 1 was not read: no JSON object",
            f"stream      {topic}: 300 records of a sample", f"column trace of {topic} is not in",
            f"of the 300 rows of {topic}, 300 are in people.jsonl too")
        has(open(os.path.join(d, "2.yaml")).read(), f'records: "{topic}"', "framing: confluent",
            'ignore: ["who.sex", "granted"]', "numeric_text: true", f'"{KAFKA}"')


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
