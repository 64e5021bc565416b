#!/usr/bin/env python3
"""fisctl on a real broker: topics, files that are replayed, answers, versions, watching."""

import csv
import io
import json
import os
import resource
import signal
import subprocess
import time

from fisd_test import (FISCTL, Pipeline, consume, csv_bytes, floats, has, main, people, same,
                       t_config, test, w_config, wait)

COLUMNS = ["id", "age", "hours", "job", "score"]
ROUND = {"labels_per_round": 32, "window_records": 400, "rounds": 2, "budget": 64, "window_time": "3s"}


def ok(r):
    assert r.returncode == 0, f"exit status {r.returncode}: {r.stdout} {r.stderr}"
    return r.stdout


def fails(r, *parts):
    same(r.returncode, 1, f"exit status ({r.stdout} {r.stderr})")
    has(r.stderr, *parts)
    return r.stderr


def records(p):
    return [(m.key, m.value) for m in p.consume("records")]


@test("topics: created with policies and partitions, and checked")
def _():
    with Pipeline(t_config(topics={"partitions": 3}), topics=False) as p:
        fails(p.fisctl("topics", "check"), "missing or not as configured: 10 of 10 topics")
        out = ok(p.fisctl("topics", "create"))
        for name in ("records", "candidates", "label-requests", "labels", "heads", "models",
                     "ledger", "control", "dead-letter", "fleet"):
            has(out, p.topic(name))
        same(out.count("created"), 10)
        same(ok(p.fisctl("topics", "create")).count(" ok\n"), 10)
        same(ok(p.fisctl("topics", "check")).count(" ok\n"), 10)
        p.config["topics"]["partitions"] = 5
        p.save()
        fails(p.fisctl("topics", "check"), "missing or not as configured: ")


@test("topics delete: only what fisd wrote, after a question, and never under a process")
def _():
    with Pipeline(t_config(selection=ROUND)) as p:
        p.start()
        fails(p.fisctl("topics", "delete", "--yes"), "1 scorer and 1 trainer;")
        p.produce("records", [(b"k", b'{"age": 1}')])
        p.wait_log(r" scored records=1 ")
        same(p.stop(), 0)
        fails(p.fisctl("topics", "delete", stdin=subprocess.DEVNULL), "--yes")
        fails(p.fisctl("topics", "delete", input="something else\n"), "nothing was deleted")
        fails(p.fisctl("topics", "delete", "nothing", "--yes"), "nothing is not a topic")
        same(ok(p.fisctl("topics", "check")).count(" ok\n"), 10)
        out = ok(p.fisctl("topics", "delete", input=p.name + "\n"))
        has(out, "0 labels paid for", "version 1 is served", p.topic("ledger"))
        same(out.count("deleted\n"), 8)
        has(out, f"{p.topic('labels')} stay. To begin again")
        left = [x.split()[0] for x in p.fisctl("topics", "check").stdout.splitlines() if " ok" in x]
        same(left, [p.topic("records"), p.topic("labels")])
        same(len(records(p)), 1)
        same(ok(p.fisctl("topics", "delete", "labels", p.topic("records"), "--yes")).count("deleted"), 2)
        has(ok(p.fisctl("topics", "delete", "--yes")), "There is nothing to delete.")
        p.make_topics()  # it starts over, with the first record: no group remembers a place
        p.produce("records", [(b"k", b'{"age": 2}')])
        since = len(p.log())
        p.start()
        p.wait_log(r" scored records=1 ", since)


@test("replay: a byte order mark, CRLF, no line break at the end")
def _():
    with Pipeline(t_config()) as p:
        p.write("a.csv", b'\xef\xbb\xbf"age",hours,job,score\r\n39,40,"clerk",1.5\r\n50,13,driver,2')
        same(ok(p.fisctl("replay", "a.csv")), "sent 2 records\n")
        same(records(p), [(None, b'{"age":39,"hours":40,"job":"clerk","score":1.5}'),
                          (None, b'{"age":50,"hours":13,"job":"driver","score":2}')])
        p.write("mark.csv", b"\xef\xbb\xbf")
        fails(p.fisctl("replay", "mark.csv"), "mark.csv", "no header")
        fails(p.fisctl("replay", "none.csv"), "none.csv")


@test("replay: a quote that never closes, in a small file and in one of 300 MB")
def _():
    start = b'age,hours,job,score\n39,40,clerk,1\n50,13,"driver,2\n'
    with Pipeline(t_config()) as p:
        p.write("small.csv", start + 1000 * b"39,40,clerk,1\n")
        fails(p.fisctl("replay", "small.csv"), "line 3, column 3: quote opened and not closed",
              "1 record was sent, 1,001 rows were not")
        same(len(records(p)), 1)
        with open(os.path.join(p.dir, "large.csv"), "wb") as f:
            f.write(start)
            for _ in range(2100):
                f.write(10000 * b"39,40,clerk,1\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        fails(p.fisctl("replay", "large.csv"), "line 3, column 3: quote opened and not closed",
              "1 record was sent, 21,000,001 rows were not")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        assert peak == before or peak < 100000, f"{peak} KB at most"
        os.unlink(os.path.join(p.dir, "large.csv"))


@test("replay: a line break inside a quoted field is part of the text")
def _():
    with Pipeline(t_config()) as p:
        p.write("a.csv", b'id,age,hours,job,score\na,39,40,clerk,1\nb,50,13,"dri\nver",2\nc,1,2,x,3\n')
        same(ok(p.fisctl("replay", "a.csv")), "sent 3 records\n")
        got = dict(records(p))
        same(sorted(got), [b"a", b"b", b"c"])
        same(json.loads(got[b"b"])["job"], "dri\nver")


@test("replay: limit, rate, JSON lines, raw; a sensitive column never leaves")
def _():
    with Pipeline(t_config()) as p:
        p.write("pool.csv", csv_bytes(people(50, 3), COLUMNS))
        began = time.monotonic()
        same(ok(p.fisctl("replay", "pool.csv", "--limit", "20", "--rate", "10/s")),
             "sent 20 records\n")
        assert 1.8 < time.monotonic() - began < 18, "20 records at 10 a second, not at 1"
        p.write("a.jsonl", b'{"id": "j", "age": 3, "hours": 1.50, "job": null, "score": 1}\n')
        same(ok(p.fisctl("replay", "a.jsonl")), "sent 1 record\n")
        same(records(p)[-1], (b"j", b'{"id": "j", "age": 3, "hours": 1.50, "job": null, "score": 1}'))
        p.write("s.csv", csv_bytes(people(5, 3), COLUMNS + ["group"]))
        fails(p.fisctl("replay", "s.csv"), "line 1: column 'group' is sensitive")
        p.wait_messages("records", 21)
        same(len(records(p)), 21)
    with Pipeline(w_config()) as p:
        p.write("a.csv", csv_bytes(floats(3, 3), ["id", "f3", "f2", "f1", "f0"]))
        same(ok(p.fisctl("replay", "a.csv")), "sent 3 records\n")
        same({len(v) for _, v in records(p)}, {16})


@test("replay: a broker that is not there")
def _():
    with Pipeline(t_config()) as p:
        p.write("pool.csv", csv_bytes(people(5, 3), COLUMNS))
        r = p.fisctl("-b", "127.0.0.1:1", "replay", "pool.csv")
        fails(r, "127.0.0.1:1", "0 records were sent, 5 rows were not")


def running(p, *arguments):
    return subprocess.Popen([FISCTL, "-c", os.path.join(p.dir, "fisd.yaml"), *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=p.dir)


def ended(process, number=None):
    if number:
        process.send_signal(number)
    out, err = process.communicate(timeout=180)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def predicts(p, accuracy):
    """fisctl predict: what version 1 predicts for test.csv has the accuracy that evaluate finds, and
    CSV, JSON lines and a pipe give the same."""
    text = ok(p.fisctl("predict", "test.csv", "--version", "1"))
    rows = list(csv.DictReader(io.StringIO(text)))
    with open(os.path.join(p.dir, "test.csv")) as f:
        truth = list(csv.DictReader(f))
    same([r["id"] for r in rows], [t["id"] for t in truth])
    right = sum(r["class"] == t["hired"] for r, t in zip(rows, truth)) / len(truth)
    assert abs(right - accuracy) < 1e-6, (right, accuracy)
    for r in rows:
        yes, no = float(r["probability_yes"]), float(r["probability_no"])
        assert abs(yes + no - 1) < 1e-5 and (yes > no) == (r["class"] == "yes"), r
    lines = [json.dumps({k: float(t[k]) if k in ("age", "hours", "score") else t[k]
                         for k in COLUMNS if t[k]}) for t in truth]
    out = ok(p.fisctl("predict", "-", "--format", "jsonl", "--json", "--version", "1",
                      input="\n".join(lines)))
    same([json.loads(line) for line in out.splitlines()],
         [{"id": r["id"], "class": r["class"],
           "probabilities": {k: float(r["probability_" + k]) for k in ("no", "yes")}}
          for r in rows])
    fails(p.fisctl("predict", "test.csv", "--version", "99"), "no version 99")
    p.write("pandas.csv", b",id,age,hours,job,score\n0,1,2,3,A,4\n")
    has(ok(p.fisctl("predict", "pandas.csv")), "id,class,", "\n1,")
    p.write("short.csv", b"id,age\n1,2\n")
    fails(p.fisctl("predict", "short.csv"), "short.csv", "hours")
    p.write("odd.csv", b"id,age,hours,job,score\n1,2,3,A,4\n2,old,3,A,4\n")
    fails(p.fisctl("predict", "odd.csv"), "odd.csv: line 3", "age")
    p.write("huge.csv", b"id,age,hours,job,score\n1,2,3,A,4\n2,1e300,3,A,4\n")
    fails(p.fisctl("predict", "huge.csv"), "huge.csv: line 3", "age")
    same(p.fisctl("predict").returncode, 2)


def exports(p, truth):
    """fisctl ledger export: a row per request, in their order, with what the topics say of it."""
    requests = {m.key.decode(): json.loads(m.value) for m in p.consume("label-requests")}
    rows = list(csv.DictReader(io.StringIO(ok(p.fisctl("ledger", "export")))))
    same(sorted(r["id"] for r in rows), sorted(requests))
    same([r["asked_at"] for r in rows], sorted(r["asked_at"] for r in rows))
    for r in rows:
        q = requests[r["id"]]
        same((r["round"], r["criterion"], r["head"]),
             (str(q["round"]), q["criterion"], str(q["head"])))
        same((r["class"], r["votes"], r["of"], r["charged"]), (truth[r["id"]], "1", "1", "1"))
        assert r["state"] in ("accepted", "set_aside"), r
    lines = [json.loads(x) for x in ok(p.fisctl("ledger", "export", "--json")).splitlines()]
    same([(x["id"], x["class"], x["charged"]) for x in lines],
         [(r["id"], r["class"], True) for r in rows])
    same(p.fisctl("ledger").returncode, 2)


@test("a pipeline from records to versions, by fisctl alone")
def _():
    pool = list(people(2000, 5))
    with Pipeline(t_config(selection=ROUND, gate={"min_cell": 5, "min_rows": 100})) as p:
        p.write("pool.csv", csv_bytes(pool, COLUMNS))
        p.write("answers.csv", csv_bytes(pool, ["id", "hired"]))
        p.write("test.csv", csv_bytes(people(500, 9), COLUMNS + ["hired", "group"]))
        p.start()
        labeller = running(p, "label", "--answers", "answers.csv")
        same(ok(p.fisctl("replay", "pool.csv", "--rate", "500")), "sent 2,000 records\n")
        lines = ok(p.fisctl("watch", "--until", "done", "--timeout", "60"))
        has(lines, " version version=1 round=0 verdict=publish reason=first", "version version=3 ")
        out = ok(ended(labeller, signal.SIGINT))
        has(out, "64 labels sent, 0 skipped, 0 unsure; asked for 64, 0 of them not in the file")

        # A second labeller finds that all is answered.
        out = ok(p.fisctl("label", "--answers", "answers.csv", "--until-idle", "1"))
        has(out, "0 labels sent", "asked for 0")
        same(len(p.consume("labels")), 64)

        versions = [json.loads(v) for v in ok(p.fisctl("models", "list", "--json")).splitlines()]
        same([v["version"] for v in versions], [1, 2, 3])
        same([v["lineage"]["labels_bought"] for v in versions], [0, 32, 64])
        table = ok(p.fisctl("models", "list")).splitlines()
        has(table[0], "version", "verdict", "accuracy", "DP", "EOp", "EOd", "labels", "kept")
        has(table[1], "served: first", "[")
        shown = ok(p.fisctl("models", "show", "1"))
        has(shown, "version 1 of", "served", "group", "recall of each class", "yes", "(positive)")
        for secret in ("group A", "group=A", "A=", "=B"):
            assert secret not in shown, f"{secret!r} is in: {shown}"
        weights = json.loads(ok(p.fisctl("models", "show", "served", "--weights")))
        assert len(weights["parameters"]) > 100
        rows = [json.loads(v) for v in
                ok(p.fisctl("models", "evaluate", "--test", "test.csv", "--json")).splitlines()]
        same({r["rows"] for r in rows}, {500})
        same(rows[0]["version"], 1)
        assert rows[0]["accuracy"] > 0.6, rows[0]
        low, high = rows[0]["intervals"]["accuracy"]
        assert low < rows[0]["accuracy"] < high
        assert rows[0]["equalized_odds"] <= rows[0]["equalized_odds_max"]
        has(ok(p.fisctl("models", "evaluate", "--version", "1", "--test", "test.csv")), "EOd max")
        predicts(p, rows[0]["accuracy"])
        exports(p, {r["id"]: r["hired"] for r in pool})
        fails(p.fisctl("models", "show", "99"), "no version 99", "newest is 3")
        fails(p.fisctl("models", "evaluate", "--test", "none.csv"), "none.csv")
        fails(p.fisctl("watch", "--until", "versions=9", "--timeout", "1"), "versions=9 was not")


@test("label: a person at the terminal, who is asked again what was left")
def _():
    request = '{"id":"r%d","round":1,"criterion":"ekg","head":1,"record":{"age":%d,"job":"\\u001b[2J"}}'
    with Pipeline(t_config()) as p:
        p.produce("label-requests", [(b"r%d" % i, (request % (i, 30 + i)).encode())
                                     for i in range(1, 6)])
        p.produce("label-requests", [(b"bad", b"{")])
        p.produce("label-requests", [(b"r6", (request % (6, 30)).encode()),
                                     (b"r6", b'{"id":"r6","cancelled":true,"reason":"expired"}')])
        r = p.fisctl("label", "--annotator", "ann", input="1\nperhaps\nyes\ns\nu\nq\n")
        has(ok(r), "record r1, round 1, picked by ekg", "age  31", "1) no   2) yes", "none of these",
            "2 labels sent, 1 skipped, 1 unsure\n")
        assert "withdrawn" not in r.stdout, f"history is reported as news: {r.stdout}"
        assert "\x1b" not in r.stdout, "a record drives the terminal"
        labels = [json.loads(m.value) for m in p.consume("labels")]
        assert all(abs(v.pop("labelled_at_ms") / 1000 - time.time()) < 60 for v in labels), labels
        same({v.pop("annotator") for v in labels}, {"ann"})
        same(labels, [{"id": "r1", "status": "labelled", "label": "no"},
                      {"id": "r2", "status": "labelled", "label": "yes"},
                      {"id": "r3", "status": "skipped"}, {"id": "r4", "status": "unsure"}])
        r = p.fisctl("label", "--until-idle", "2", input="no\n")
        assert "record r1," not in r.stdout, r.stdout
        has(ok(r), "record r5,", "1 label sent")
        has(r.stderr, "passed over")


@test("label: what is withdrawn while it runs is reported, and the summary comes once")
def _():
    request = '{"id":"r%d","round":1,"criterion":"ekg","head":1,"record":{"age":3%d,"job":"x"}}'
    with Pipeline(t_config()) as p:
        p.write("answers.csv", b"id,hired\n" + b"".join(b"r%d,yes\n" % i for i in range(1, 7)))
        p.produce("label-requests", [(b"r%d" % i, (request % (i, i)).encode())
                                     for i in range(1, 7)])
        labeller = running(p, "label", "--answers", "answers.csv", "--delay", "1000",
                           "--until-idle", "2")
        p.wait_messages("labels", 1)
        p.produce("label-requests", [(b"r6", b'{"id":"r6","cancelled":true,"reason":"expired"}')])
        r = ended(labeller)
        same(ok(r), "5 labels sent, 0 skipped, 0 unsure; asked for 5, 0 of them not in the file; "
                    "1 withdrawn before their turn\n")
        for line in r.stderr.splitlines():  # none, or what was so until then
            has(line, "so far: ", " sent, 0 skipped")
            assert "5 labels sent" not in line, "the summary comes twice"


@test("commands to the trainer: what it does, what it refuses and why, and that none has taken it")
def _():
    pool = list(people(1500, 5))
    with Pipeline(t_config(selection=ROUND, gate={"min_cell": 5, "min_rows": 100})) as p:
        p.write("pool.csv", csv_bytes(pool, COLUMNS))
        p.write("answers.csv", csv_bytes(pool, ["id", "hired"]))
        p.write("test.csv", csv_bytes(people(300, 9), COLUMNS + ["hired", "group"]))
        r = p.fisctl("labels", "pause", "--wait", "1")
        same(r.returncode, 3)
        has(r.stderr, "no trainer has taken it")
        fails(p.fisctl("labels", "status"), "no trainer has written its state")
        p.start()
        wait(lambda: '"paused":true' in p.fisctl("labels", "status", "--json").stdout, "a pause")
        has(ok(p.fisctl("labels", "resume", "--reason", "ready")), "resume: done")
        ok(p.fisctl("replay", "pool.csv"))
        p.wait_messages("label-requests", 32)
        status = json.loads(ok(p.fisctl("labels", "status", "--json")))
        same([status[k] for k in ("paused", "asking", "open", "accepted", "charged",
                                    "budget", "daily_budget")],
             [False, "in_flight", 32, 0, 32, 64, None])
        opened = [json.loads(x) for x in
                  ok(p.fisctl("labels", "status", "--open", "--json")).splitlines()]
        same(len(opened), 32)
        r = p.fisctl("labels", "cancel", opened[0]["id"], "nobody", "--json")
        same([(v["id"], v["outcome"]) for v in map(json.loads, r.stdout.splitlines())],
             [(opened[0]["id"], "done"), ("nobody", "refused")])
        same(r.returncode, 1)
        same(json.loads(ok(p.fisctl("labels", "status", "-j")))["cancelled"], 1)
        has(ok(p.fisctl("models", "pin")), "pin: done")
        fails(p.fisctl("models", "rollback"), "rollback: refused", "before version 1")
        fails(p.fisctl("models", "promote", "9"), "promote: refused", "version 9")
        has(ok(p.fisctl("label", "--answers", "answers.csv", "--limit", "64")),
            "asked for 64, 0 of them not in the file\n")
        p.wait_log(r" version version=3 ")
        has(ok(p.fisctl("models", "unpin")), "unpin: done")
        r = p.fisctl("models", "rollback", "1")
        if r.returncode == 0:  # else its accuracy is below the floor, which is the trainer's to say
            has(ok(p.fisctl("models", "list")), "served: rolled back", "served now: version 4")
        both = json.loads(ok(p.fisctl("models", "compare", "1", "2", "--data", "test.csv", "-j")))
        d = both["difference"]["accuracy"]
        assert d["low"] <= d["value"] <= d["high"], d
        assert abs(both["b"]["accuracy"] - both["a"]["accuracy"] - d["value"]) < 1e-5, both
        has(ok(p.fisctl("models", "compare", "1", "served")), "difference", "group 1: TPR")


@test("wrong usage is status 2, and says what is right")
def _():
    with Pipeline(t_config(), topics=False) as p:
        for arguments, part in ((["nothing"], "fisctl --help lists them"),
                                (["replay"], "a FILE is required"), (["topics", "drop"], "create, check"),
                                (["watch", "--until", "never"], "versions=N"),
                                (["label", "--limit", "none"], "at least 1"),
                                (["models", "evaluate"], "--test FILE"), ([], "commands:"),
                                (["models", "promote"], "one VERSION"),
                                (["models", "rollback", "x"], "a number from 1"),
                                (["models", "compare", "1"], "two versions"),
                                (["labels"], "status, pause, resume, cancel, resend"),
                                (["labels", "resend", "x", "--open"], "in place of IDs"),
                                (["labels", "cancel"], "the ID of at least one record")):
            r = p.fisctl(*arguments)
            same(r.returncode, 2, f"exit status of {arguments}")
            has(r.stderr, part)
        for command in ("topics", "replay", "label", "labels", "models", "watch"):
            has(ok(p.fisctl(command, "--help")), f"usage: fisctl {command}", "--bootstrap")
        r = subprocess.run([FISCTL, "-c", "/nonexistent.yaml", "models", "list"],
                           capture_output=True, text=True, timeout=180)
        fails(r, "/nonexistent.yaml")


if __name__ == "__main__":
    main()
