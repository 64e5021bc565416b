#!/usr/bin/env python3
"""Sensitive values stay where they are: on no topic but validation, in no log, in no error, never a
feature."""

import json
import os
import subprocess

from fisd_test import (FEATURES, FISD, Pipeline, csv_bytes, has, main, people, record_json, same,
                       t_config, test)

TOPICS = ["records", "candidates", "label-requests", "labels", "heads", "models", "ledger",
          "dead-letter"]


def secret(rows):
    return [{**r, "group": "SECRET-GROUP-" + r["group"]} for r in rows]


def config(**sections):
    return t_config(selection={"labels_per_round": 32, "window_records": 500, "rounds": 1},
                    log={"level": "debug"}, **sections)


def nowhere(p, *texts):
    for name in TOPICS:
        for m in p.consume(name):
            for part in (m.key, m.value, str(m.headers).encode()):
                assert b"SECRET" not in (part or b""), f"{name} offset {m.offset}: {part[:300]}"
    for text in (p.log(),) + texts:
        at = text.find("SECRET")
        assert at < 0, text[max(0, at - 300):at + 60]


def play(p):
    rows = list(people(600, 3))
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in rows])
    truth = {r["id"]: r["hired"] for r in rows}
    p.produce("labels", [(m.key, json.dumps({"label": truth[m.key.decode()]}).encode())
                         for m in p.wait_messages("label-requests", 32)])
    p.wait_log(r" version version=2 round=1 ")
    same(p.stop(), 0)


@test("planted group names are on no topic, in no log and in nothing that fisctl shows")
def _():
    columns = ["id"] + FEATURES + ["hired", "group"]
    files = {"initial.csv": csv_bytes(secret(people(400, 1)), columns),  # not asked for here
             "validation.csv": csv_bytes(secret(people(400, 2)), columns)}
    with Pipeline(config(), files=files) as p:
        p.start()
        has(p.log(), "initial rows=400 features=8", "validation rows=400 groups=2")
        play(p)
        shown = [p.fisctl("models", *a) for a in (["list"], ["list", "--json"], ["show", "2"],
                                                  ["show", "2", "--weights"])]
        same([r.returncode for r in shown], [0] * 4)
        nowhere(p, *[r.stdout + r.stderr for r in shown])
        for m in p.consume("models"):
            assert b"group" not in m.value.replace(b"groups", b""), "the sensitive column's name"


@test("planted group names on the validation topic, with examples that cannot be read among them")
def _():
    c = config(validation={"source": "topic"})
    del c["validation"]["file"]
    with Pipeline(c) as p:
        rows = secret(people(400, 2))
        good = [(r["id"].encode(),
                 json.dumps({k: r[k] for k in FEATURES + ["hired", "group"]}).encode())
                for r in rows]
        row = {k: rows[0][k] for k in FEATURES + ["hired", "group"]}
        bad = [json.dumps({**row, **change}).encode() for change in (
            {"age": "SECRET-AGE"}, {"hired": "SECRET-CLASS"}, {"group": None},
            {"group": ["SECRET-GROUP-A"]}, {"group": {"a": "SECRET-GROUP-A"}}, {"group": 17},
            {"extra": "SECRET-EXTRA"}, {"group": "SECRET-GROUP-A" * 100},
            {"group": "SECRET\u001fGROUP"})]
        bad += [b'{"group": "SECRET-GROUP-A', b'{"group": SECRET-GROUP-A}', b"SECRET", b"[1]",
                b'{"group": "SECRET-\xff"}', b'{"group": "SECRET-GROUP-A"} SECRET',
                b'{"group": "SECRET-GROUP-A", "group": "SECRET-GROUP-B"}']
        p.produce("validation", good[:200] + [(f"b{i}".encode(), v) for i, v in enumerate(bad)]
                  + good[200:])
        p.start()
        print(f"# {p.log().count(' example_refused ')} of {len(bad)} were refused", flush=True)
        for line in p.log().splitlines():
            if " example_refused " in line:
                print("# " + line[line.index("reason"):], flush=True)
        play(p)
        nowhere(p)


@test("a validation file that cannot be read: the line is named, its values are not")
def _():
    columns = ["id"] + FEATURES + ["hired", "group"]
    rows = secret(people(400, 2))
    good = csv_bytes(rows, columns).decode().splitlines()
    bad = [rows[9]["id"] + ",39,40,clerk,1.5,SECRET-CLASS,SECRET-GROUP-A",
           rows[9]["id"] + ",39,40,clerk,1.5,yes,SECRET-GROUP-A,SECRET-MORE",
           rows[9]["id"] + ',39,40,clerk,1.5,yes,"SECRET-GROUP-A',
           rows[9]["id"] + ",39,40,clerk,1.5,yes," + "SECRET-GROUP-A" * 500]
    for line in bad:
        text = "\n".join(good[:10] + [line] + good[11:]) + "\n"
        files = {"initial.csv": csv_bytes(people(400, 1), ["id"] + FEATURES + ["hired"]),
                 "validation.csv": text.encode()}
        with Pipeline(config(), files=files) as p:
            p.start(ready=None)
            same(p.ended(), 2, "exit status")
            has(p.log(), "key 'validation.file'", "validation.csv: line 11")
            print("# " + p.log().splitlines()[-1], flush=True)
            assert "SECRET-GROUP" not in p.log() and "SECRET-MORE" not in p.log(), p.log()


def check(p):
    r = subprocess.run([FISD, "--check-config", os.path.join(p.dir, "fisd.yaml")],
                       capture_output=True, text=True, timeout=180)
    return r.returncode, r.stderr


@test("a sensitive column that is named as a feature, a label or passed through is refused")
def _():
    for change, part in (
            ({"columns": [{"name": "age"}, {"name": "group", "type": "categorical"}]}, "columns"),
            ({"records": {"passthrough": ["group"]}}, "passthrough"),
            ({"validation": {"label": "group"}}, "label")):
        with Pipeline({**t_config(**change)}, topics=False) as p:
            status, text = check(p)
            same(status, 2, f"status with {change}: {text}")
            has(text, "fisd.yaml:", "validation.sensitive", "'group'", part)
            run = subprocess.run([FISD, "-c", os.path.join(p.dir, "fisd.yaml")],
                                 capture_output=True, text=True, timeout=180)
            same((run.returncode, run.stderr), (2, text), "the daemon itself")


if __name__ == "__main__":
    main()
