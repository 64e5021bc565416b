#!/usr/bin/env python3
"""Answers: which label is which class, what is none, and what an answer that is none leaves behind."""

import json

from fisd_test import (FEATURES, Pipeline, csv_bytes, fields, has, main, people, record_json, same,
                       t_config, test, wait)

ASKED = {"labels_per_round": 64, "window_records": 200, "budget": 70}
REQUESTED, ACCEPTED, SET_ASIDE, SKIPPED = 2, 3, 4, 6


def start(p, requests=64):
    """Starts fisd, gives it a window of records; the ids that are asked for, oldest first."""
    p.start()
    p.produce("records", [(None, record_json(r)) for r in people(200, 3)])
    return [m.key for m in p.wait_messages("label-requests", requests)]


def ledger(p):
    """id -> (state, class index): the newest entry of each; a null takes it away."""
    newest = {m.key: m.value for m in p.consume("ledger") if not m.key.startswith(b"\0")}
    entries = {k: dict(fields(v)) for k, v in newest.items() if v is not None}
    return {k: (e.get(1, 0), e.get(2, 0)) for k, e in entries.items()}


def bought(p):
    """The ids whose label was taken, with the class."""
    return {i: k for i, (state, k) in ledger(p).items() if state in (ACCEPTED, SET_ASIDE)}


def send(p, answers):
    """answers: (id, value, parts of the reason, or None when it is taken). Each bad answer is in
    the dead letters, with its bytes; the others are not."""
    p.produce("labels", [a[:2] for a in answers])
    p.check_dead_letters("labels", {i: (a[:2], a[2]) for i, a in enumerate(answers) if a[2]})


def label(literal, **more):
    extra = "".join(f', "{k}": {json.dumps(v)}' for k, v in more.items())
    return ('{"label": ' + literal + extra + "}").encode()


ALLOWED = ['allowed: "no", "yes"']


@test("JSON labels: which class, once, by whom asked; a bad answer leaves the request open")
def _():
    with Pipeline(t_config(selection=ASKED)) as p:
        ids = start(p)
        fresh = iter(ids)
        none = [("1", ["label 1"]), ('"1"', ['label "1"']), ("2", ["label 2"]),
                ("-1", ["label -1"]), ('"YES"', ['label "YES"']), ("true", ["label true"]),
                ("1.0", ["label 1"]), ("null", ["label null"]), ('""', ['label ""']),
                ('["yes"]', ['label ["yes"]']), ('"ye"', ['label "ye"']), ("0", ["label 0"]), ("false", ["label false"]),
                ("{}", ["label {}"]), ('"maybe"', ['label "maybe"'])]
        bad = [(next(fresh), label(text), parts + ALLOWED) for text, parts in none]
        bad += [(next(fresh), b'{"annotator": "a"}', ["no label"] + ALLOWED)]
        bad += [(next(fresh), body, parts) for body, parts in (
            (b'{"class_index": 2}', ["class_index 2", "0 to 1"]),
            (b'{"class_index": -1}', ["class_index -1"]),
            (b'{"class_index": "1"}', ['class_index "1"']),
            (b'{"class_index": 1.5}', ["class_index 1.5"]),
            (b'{"class_index": true}', ["class_index true"]),
            (label('"yes"', class_index=0), ["disagree"]),
            (label('"yes"', status="skipped"), ["skipped", "one or the other"]),
            (label('"yes"', status="done"), ["status", "labelled"]),
            (b'"yes"', ["an object expected"]),
            (b"", ["empty"]),
            (b"\xff\xfe", ["not UTF-8"]),
            (b'{"label": "yes"', ["ends in the middle"]),
            (None, ["no value", "null"]))]
        first, second, third, skipped = (next(fresh) for _ in range(4))
        answers = bad + [
            (b"nobody", label('"yes"'), ["no label was requested"]),
            (None, label('"yes"'), ["id"]),
            (b"long", label('"' + "a" * 1_200_000 + '"'), ["1200013 bytes", "1048576"]),
            (first, label('"yes"'), None),
            (first, label('"yes"', annotator="b"), None),
            (first, label('"no"'), ["contradicts", "no"]),
            (second, label('"no"', class_index=0), None),
            (b"other key", label('"yes"', id=third.decode()), None),
            (skipped, b'{"status": "skipped"}', None),
        ]
        send(p, answers)
        refused = sum(a[2] is not None for a in answers)
        # The skipped one's place in flight, and nothing else, was given to another request.
        p.wait_messages("label-requests", 65)
        same(bought(p), {first: 1, second: 0, third: 1}, "labels taken")
        same(ledger(p)[skipped][0], SKIPPED)
        # What was only answered badly is open, and takes a good answer, by name or by index.
        good = [(i, label('"yes"' if n % 2 else '"no"') if n % 3 else
                 b'{"class_index": %d}' % (n % 2)) for n, (i, *_) in enumerate(bad)]
        p.produce("labels", good)
        p.wait_log(r" labels round=1 .*labels=%d open=%d .*duplicates=1 skipped=1 refused=%d" %
                   (3 + len(bad), 64 - 3 - len(bad), refused))
        expected = {first: 1, second: 0, third: 1, **{i: n % 2 for n, (i, _) in enumerate(good)}}
        same(bought(p), expected, "labels taken")
        requests = p.consume("label-requests")
        same(len({m.key for m in requests}), len(requests), "an id was asked for twice")
        same(json.loads(requests[0].value)["classes"], ["no", "yes"])


@test("classes that look like numbers: their own names, in the configured order")
def _():
    def three(rows):
        for n, r in enumerate(rows):
            yield {**r, "hired": ["0", "1", "10"][n % 3] if r["hired"] == "yes" else "10"}
    names = ["id"] + FEATURES + ["hired"]
    files = {"initial.csv": csv_bytes(three(people(400, 1)), names),
             "validation.csv": csv_bytes(three(people(400, 2)), names + ["group"])}
    with Pipeline(t_config(classes=["0", "1", "10"], selection=ASKED), files=files) as p:
        ids = start(p)
        good = {"0": 0, "1": 1, "10": 2, '"0"': 0, '"1"': 1, '"10"': 2, "-0": 0, "1.0": 1,
                '"1.0"': 1, '" 1"': 1, "1e1": 2}
        bad = ["01", "100", '"01"', '"+1"', "true", "false", "2"]
        ids = dict(zip(list(good) + bad, ids))
        allowed = ['"0", "1", "10"']
        send(p, [(ids[t], label(t), None) for t in good] +
             [(ids[t], label(t), ["JSON"] if t == "01" else allowed) for t in bad])
        p.wait_log(r" labels round=1 .*labels=11 ")
        same(bought(p), {ids[t]: k for t, k in good.items()}, "labels taken")
        same(json.loads(p.consume("label-requests")[0].value)["classes"], ["0", "1", "10"])


@test("protobuf labels: class 0 is no bytes at all, and counts once")
def _():
    with Pipeline(t_config(labels={"encoding": "protobuf"}, selection=ASKED)) as p:
        ids = start(p)
        names = "empty framed both index name unsure unknown own a b c d e f g"
        ids = dict(zip(names.split(), ids))
        own = ids["own"]
        send(p, [
            (ids["empty"], b"", None),
            (ids["framed"], b"\0\0\0\0\7\0", None),
            (ids["empty"], b"", None),
            (ids["both"], b"\x10\x01\x1a\x03yes", None),
            (ids["name"], b"\x1a\x02no", None),
            (ids["index"], b"\x10\x01", None),
            (ids["unsure"], b"\x20\x02", None),
            (ids["unknown"], b"\x10\x01\x9a\x06\x03abc", None),
            (b"another key", bytes([10, len(own)]) + own + b"\x10\x01", None),
            (ids["a"], None, ["no value"]),
            (ids["b"], b"\x10\x02", ["class 2", "0..1", "[no, yes]"]),
            (ids["c"], b"\x1a\x03YES", ["YES", "[no, yes]"]),
            (ids["d"], b"\x10\x01\x1a\x02no", ["no"]),
            (ids["e"], b"\x20\x07", ["7"]),
            (ids["f"], b"\x10\x01\x20\x01", ["SKIPPED"]),
            (ids["g"], b"\x10", ["truncated"]),
            (ids["empty"], b"\x10\x01", ["contradicts", '"yes"']),
            (b"nobody", b"", ["no label was requested"]),
            (None, b"\0\0\0\0\7\0", ["id"]),
        ])
        expected = {ids[i]: k for i, k in (("empty", 0), ("framed", 0), ("name", 0), ("both", 1),
                                         ("index", 1), ("unknown", 1), ("own", 1))}
        p.wait_messages("label-requests", 65)
        p.wait_log(r" labels round=1 .*labels=7 .*duplicates=1 skipped=1 refused=10")
        same(bought(p), expected, "labels taken")


@test("validation from a topic: a null takes an example out; groups' names stay inside")
def _():
    one, other = "Zqx-alpha", "Zqx-beta"
    names = FEATURES + ["hired", "group"]
    rows = [{**r, "group": one if r["group"] == "A" else other} for r in people(400, 2)]
    config = t_config(validation={"source": "topic"}, initial={"source": "topic"},
                      selection={"labels_per_round": 8, "window_records": 50})
    del config["validation"]["file"], config["initial"]["file"]
    with Pipeline(config) as p:
        examples = [(r["id"].encode(), record_json(r, names)) for r in rows]
        bad = {"age": 1, "hours": 2, "job": "clerk", "score": 1, "hired": "yes"}
        examples += [(b"b%d" % i, json.dumps({**bad, "group": g}).encode()) for i, g in
                     enumerate(["", None, [one], {other: 1}, True])]
        examples += [(b"b5", json.dumps(bad).encode()), (b"b6", b'{"group": "Zqx-gamma" 1}'),
                     (b"b7", json.dumps({**bad, "group": one, "hired": other}).encode()),
                     (b"b8", json.dumps({**bad, "group": one, "age": other}).encode()),
                     (b"b9", json.dumps({**bad, "group": one, "age": 1e39}).encode()),
                     (b"bb", json.dumps({**bad, "group": one + "\x1f"}).encode()),
                     (b"bc", json.dumps({**bad, "group": one * 200}).encode()),
                     (b"s2-7", b"")]
        initial = [(r["id"].encode(), record_json(r, FEATURES + ["hired"]))
                   for r in people(400, 1)]
        p.produce("initial", initial + [(b"c1", record_json(rows[0], names)),
                                        (b"c2", json.dumps({**bad, "age": "old"}).encode()),
                                        (b"c3", json.dumps({**bad, "hired": 1}).encode())])
        p.produce("validation", examples)
        p.start()
        p.wait_log(r" validation rows=400 groups=2")
        p.wait_log(r" initial rows=400 ")
        refused = [x for x in p.log().split("\n") if " example_refused " in x]
        same(len(refused), len(examples) - len(rows) + 3 - 3, "\n".join(refused))
        p.produce("validation", [(b"s2-5", None), (b"s2-999", None)])
        p.wait_log(r" validation rows=399 groups=2 from=next_round")
        p.produce("records", [(None, record_json(r)) for r in people(200, 3)])
        asked = p.wait_messages("label-requests", 8)
        p.produce("labels", [(m.key, label('"yes"')) for m in asked])
        p.wait_log(r" version version=2 ")
        p.produce("records", [(None, record_json(r)) for r in people(200, 4)])
        asked = p.wait_messages("label-requests", 16)[8:]
        p.produce("labels", [(m.key, label('"no"')) for m in asked])
        p.wait_log(r" version version=3 ")
        # The log is ahead of the transaction that brings the version.
        shown = wait(lambda: p.fisctl("models", "show", "3", "--json").stdout, "version 3")
        shown = json.loads(shown)
        same(shown["metrics"]["n"], 399, "rows behind the metrics")
        for topic in ("candidates", "label-requests", "heads", "models", "ledger", "dead-letter"):
            assert not any(b"Zqx" in (m.value or b"") for m in p.consume(topic)), topic
        same(p.stop(), 0)
        assert "Zqx" not in p.log(), "a sensitive value is in the log"


if __name__ == "__main__":
    main()
