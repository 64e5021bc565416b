#!/usr/bin/env python3
"""Versions that must not be served, or must say what they are: one class only, training that blows
up, cells that are too small, a validation set that changes. Numbers that could not be measured are
absent, never 0 and never NaN."""

import json
import re

from fisd_test import (FEATURES, Pipeline, csv_bytes, has, main, people, record_json, same,
                       t_config, test, wait)

COLUMNS = ["id"] + FEATURES + ["hired"]


def config(**sections):
    out = t_config(selection={"labels_per_round": 16, "window_records": 300, "rounds": 2},
                   training={"warm_up_epochs": 10, "steps_per_round": 40})
    for k, v in sections.items():
        out[k] = {**out[k], **v} if isinstance(v, dict) and isinstance(out.get(k), dict) else v
    return out


class Run:
    """A pipeline that is fed a window at a time, and answered from the truth."""

    def __init__(self, p, rows):
        self.p, self.rows, self.sent = p, rows, 0
        self.truth = {r["id"]: r["hired"] for r in rows}

    def round(self, version, answers=None):
        """Until this version is there; its line in the log."""
        p, n = self.p, self.p.config["selection"]["window_records"]
        known = {m.key for m in p.consume("label-requests")}
        p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                              for r in self.rows[self.sent:self.sent + n]])
        self.sent += n
        r = p.config["selection"]["labels_per_round"]
        requests = p.wait_messages("label-requests", len(known) + r)
        p.produce("labels", [(m.key, json.dumps(
            {"label": answers or self.truth[m.key.decode()]}).encode())
            for m in requests if m.key not in known])
        return p.wait_log(rf" version version={version} .*").group(0)


def no_nan_anywhere(p, count):
    """The versions, when so many are committed. No NaN and no infinity in JSON, in texts for
    people, or on the log."""
    for line in p.log().splitlines():
        assert not re.search(r"\b-?(nan|inf)\b", line, re.I), line
    def listed():
        r = p.fisctl("models", "list", "--json")
        same(r.returncode, 0, r.stderr)
        return r if len(r.stdout.splitlines()) >= count else None
    r = wait(listed, f"{count} versions", alive=p.alive if p.process else None)
    assert not re.search(r"\b-?(nan|inf|infinity)\b", r.stdout, re.I), r.stdout
    return [{**m, **m["gate"]} for m in map(json.loads, r.stdout.splitlines())]


def show(p, version):
    r = p.fisctl("models", "show", str(version))
    same(r.returncode, 0, r.stderr)
    return r.stdout


# ---- one class ------------------------------------------------------------------------------

@test("a constant predictor is shown as one, and nothing is published on cells of one row")
def _():
    rows = list(people(2000, 6, .0005))
    same(sum(r["hired"] == "yes" for r in rows), 1, "rows with the class yes")
    files = {"initial.csv": csv_bytes(rows, COLUMNS),
             "validation.csv": csv_bytes(rows, COLUMNS + ["group"])}
    with Pipeline(config(), files=files) as p:
        p.start()
        run = Run(p, list(people(2000, 16, .0005)))
        for version in (2, 3):
            has(run.round(version), "verdict=reject reason=cell_too_small")
        models = no_nan_anywhere(p, 3)
        same(len(models), 3, "versions")
        text = show(p, 1)
        has(text, "constant predictor", "n/e")
        assert re.search(r"balanced accuracy +0?\.500", text), text
        assert re.search(r"no +1\.000", text) and re.search(r"yes +0?\.000", text), text
        for m in models:
            same(m["metrics"].get("equalized_odds"), None, f"equalized odds of {m['version']}")
            assert m["metrics"]["accuracy"] > .99, m
        same([m["verdict"] for m in models], ["publish", "reject", "reject"])
        same(p.log_fields("version")["served"], "1")


@test("not one row of the positive class: the start is refused, with the reason")
def _():
    rows = [r for r in people(2000, 8, .0005) if r["hired"] == "no"]
    files = {"initial.csv": csv_bytes(rows, COLUMNS),
             "validation.csv": csv_bytes(rows, COLUMNS + ["group"])}
    with Pipeline(config(), files=files) as p:
        p.start(ready=None)
        same(p.ended(), 1, "exit status")
        has(p.log(), "equalized_odds cannot be estimated", "positive class")
        same(p.consume("models"), [], "versions")
        same(p.consume("heads"), [], "heads")


@test("a class that the initial set has not is reported, and learnt from labels")
def _():
    rows = [{**r, "hired": "no"} for r in people(400, 1)]
    files = {"initial.csv": csv_bytes(rows, COLUMNS),
             "validation.csv": csv_bytes(people(400, 2), COLUMNS + ["group"])}
    with Pipeline(config(selection={"labels_per_round": 64, "window_records": 500, "rounds": 6},
                         training={"hidden": [64]}),
                  files=files) as p:
        p.start()
        has(p.log(), 'class_unseen class="yes"', "it predicts one class only")
        run = Run(p, list(people(3000, 3)))
        for version in range(2, 8):
            line = run.round(version)
        models = no_nan_anywhere(p, 7)
        has(show(p, 1), "constant predictor")
        assert models[-1]["metrics"]["predicted_classes"] == 2 or "verdict=publish" in line, line
        assert max(m["metrics"]["accuracy"] for m in models) > models[0]["metrics"]["accuracy"], models


# ---- training that blows up ------------------------------------------------------------------

def newest(p, topic):
    """The messages of the newest version on a topic of chunks, as bytes by key."""
    return {m.key: m.value for m in p.consume(topic)}


@test("a round that blows up is rejected, nothing of it leaves, and the next one is as usual")
def _():
    with Pipeline(config(selection={"rounds": 4})) as p:
        p.start()
        run = Run(p, list(people(3000, 3)))
        run.round(2)
        same(p.stop(), 0)
        served = p.log_fields("version")["served"]
        before = newest(p, "models")
        p.config["training"]["learning_rate"] = 1e6
        p.save()
        p.start(ready=r" started ")
        line = run.round(3)
        has(line, "verdict=reject reason=not_finite", f"served={served}", "loss", "not finite")
        same(p.stop(), 0)
        after = newest(p, "models")
        same({k: v for k, v in after.items() if k in before}, before, "what is served")
        p.config["training"]["learning_rate"] = .01
        p.save()
        p.start(ready=r" started ")
        line = run.round(4)
        assert "not_finite" not in line, line
        models = no_nan_anywhere(p, 4)
        same(models[2]["reason"], "not_finite")
        same(models[2]["metrics"].get("accuracy"), None, "accuracy of what was not measured")
        has(show(p, 3), "not_finite")
        assert models[3]["metrics"]["accuracy"] > .6, models[3]


@test("a warm-up that blows up: the start is refused, with the reason")
def _():
    with Pipeline(config(training={"learning_rate": 1e6})) as p:
        p.start(ready=None)
        same(p.ended(), 1, "exit status")
        has(p.log(), "warm-up", "not finite")
        same((p.consume("models"), p.consume("heads")), ([], []), "versions and heads")


# ---- validation rows that come and go --------------------------------------------------------

def example(row, group=None):
    return json.dumps({**{k: row[k] for k in FEATURES}, "hired": row["hired"],
                       "group": group or row["group"]}).encode()


@test("examples from topics: a null takes one away, a group that goes is refused, one that comes "
      "is judged")
def _():
    c = config(selection={"rounds": 0}, initial={"source": "topic"},
               validation={"source": "topic"})
    del c["initial"]["file"], c["validation"]["file"]
    initial, rows = list(people(400, 1)), list(people(400, 2))
    with Pipeline(c, files={}) as p:
        p.produce("initial", [(r["id"].encode(), example(r)[:-1].rsplit(b', "group"', 1)[0] + b"}")
                              for r in initial])
        p.produce("validation", [(r["id"].encode(), example(r)) for r in rows])
        p.start()
        has(p.log(), "initial rows=400", "validation rows=400 groups=2")
        run = Run(p, list(people(4000, 3)))
        p.produce("validation", [(b"s2-5", None)])
        p.wait_log(r" validation rows=399 groups=2 from=next_round")
        run.round(2)  # judged on the rows of its beginning
        p.wait_log(r" validation_changed rows=399 groups=2 ")
        run.round(3)
        models = no_nan_anywhere(p, 3)
        rows_of = [sum(g["rows"] if "rows" in g else g["n"] for g in m["metrics"]["groups"])
                   for m in models]
        same(rows_of[:3], [400, 400, 399], "rows that judged versions 1, 2 and 3")
        # A bad one is reported without its values, and the old one stays.
        p.produce("validation", [(b"s2-7", b'{"age": "SECRET-AGE", "group": "SECRET-GROUP"}'),
                                 (b"s2-8", b'{"age": 3, "group": SECRET-GROUP')])
        p.wait_log(r" example_refused topic=\S+ partition=0 offset=40[12] ")
        wait(lambda: p.log().count(" example_refused ") == 2, "both are refused", alive=p.alive)
        assert "SECRET" not in p.log(), p.log()[-600:]
        # A third group; then only one is left, which nothing can be compared with.
        p.produce("validation", [(f"x{i}".encode(), example(r, "C"))
                                 for i, r in enumerate(people(150, 9))])
        p.wait_log(r" validation rows=549 groups=3 from=next_round")
        run.round(4)
        run.round(5)
        same(len(no_nan_anywhere(p, 5)[4]["metrics"]["groups"]), 3, "groups of version 5")
        p.produce("validation", [(r["id"].encode(), None) for r in rows])
        p.wait_log(r" error validation text=\"kept as it was\" .*1 groups?")
        run.round(6)
        same(len(no_nan_anywhere(p, 6)[5]["metrics"]["groups"]), 3, "groups of version 6")


@test("an empty validation topic is named")
def _():
    c = config(validation={"source": "topic"})
    del c["validation"]["file"]
    with Pipeline(c) as p:
        p.start(ready=None)
        same(p.ended(), 1, "exit status")
        has(p.log(), p.topic("validation"), "no validation example")


if __name__ == "__main__":
    main()
