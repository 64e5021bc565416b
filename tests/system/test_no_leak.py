#!/usr/bin/env python3
"""What is planted in the validation set is in no byte of any topic: not its groups, not its ids, not
its categories, not its features, whatever was committed or aborted, in whatever way it is written."""

import base64
import json
import math
import struct

import fisd_test
from fisd_test import (FEATURES, Pipeline, csv_bytes, has, main, people, record_json, same, t_config,
                       test)

TEXTS = ["SECRETGROUP-ALPHA", "SECRETGROUP-BETA", "SECRETID-", "SECRETJOB"]
ODD = {"age": 77.125, "hours": 3.375}  # of a planted row; side by side among the features


def planted(n=400):
    """Validation rows with names that are nowhere else, and one in ten with odd features."""
    for i, r in enumerate(people(n, 2)):
        r = {**r, "id": f"SECRETID-{i}", "group": {"A": TEXTS[0], "B": TEXTS[1]}[r["group"]]}
        if i % 10 == 0:
            r = {**r, **ODD, "job": "SECRETJOB"}
        yield r


def scaled(initial):
    """The odd features as the encoder has them: less the mean, over the deviation."""
    out = []
    for name in ("age", "hours"):
        x = [r[name] for r in initial]
        mean = sum(x) / len(x)
        out.append((ODD[name] - mean) / math.sqrt(sum((v - mean) ** 2 for v in x) / len(x)))
    return out


def forms(initial):
    """name -> bytes: each planted thing in each way that it could be written."""
    found = {}
    for text in TEXTS:
        for name, t in (("", text), (" in lower case", text.lower())):
            found[text + name] = t.encode()
            found[f"{text}{name}, UTF-16"] = t.encode("utf-16-le")
            found[f"{text}{name}, hexadecimal"] = t.encode().hex().encode()
            for shift in range(3):  # what stands before it moves the letters of base64
                whole = base64.b64encode(b"\0" * shift + t.encode())
                cut = whole[(shift * 8 + 5) // 6:len(whole) - 4]
                found[f"{text}{name}, base64 {shift}"] = cut
    for kind, (age, hours) in (("as given", (ODD["age"], ODD["hours"])),
                               ("scaled", scaled(initial))):
        found[f"features {kind}, float"] = struct.pack("<ff", age, hours)[1:]
        found[f"features {kind}, double"] = struct.pack("<dd", age, hours)[2:]
    found["a feature as text"] = b"77.125"
    return found


def every_byte(topic):
    """Committed or not; keys, values and headers."""
    return fisd_test.kcat(["-C", "-t", topic, "-e", "-o", "beginning", "-X",
                            "isolation.level=read_uncommitted", "-X", "check.crcs=true",
                            "-f", "%k%s%h"])


def topics(p):
    """All of this pipeline, and Kafka's own, which hold what groups and transactions say."""
    listed = json.loads(fisd_test.kcat(["-L", "-J"]))
    names = {t["topic"] for t in listed["topics"]}
    ours = {t for t in names if t.startswith(p.name + ".")}
    assert len(ours) >= 9, ours
    return sorted(ours | (names & {"__consumer_offsets", "__transaction_state"}))


def scan(p, initial, *texts):
    """(where, what) of everything that was found; and how many bytes were looked at."""
    found, looked, expected = [], 0, forms(initial)
    places = [(t, every_byte(t)) for t in topics(p)]
    places += [(f"text {i}", t.encode()) for i, t in enumerate(texts)]
    for where, data in places:
        looked += len(data)
        low = data.lower()
        for what, b in expected.items():
            if b in data or (what in TEXTS and b.lower() in low):
                found.append((where, what))
    return found, looked


def play(p, rows):
    """A round with whatever makes fisd speak: refused input, commands, a crash, another start."""
    bad = [b"{", b'{"age": "x"}', b'{"nobody": 1}', b"\xff", b'{"age": 1e99}']
    p.produce("records", [(None, b) for b in bad])
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in rows])
    truth = {r["id"]: r["hired"] for r in rows}
    asked = p.wait_messages("label-requests", 32)
    p.kill()
    p.start(ready=r" restored ")
    labels = [(m.key, json.dumps({"label": truth[m.key.decode()]}).encode()) for m in asked]
    p.produce("labels", labels + [(b"stranger", b'{"label": "yes"}'), (asked[0].key, b'{"label": 7}')])
    p.wait_log(r" version version=2 round=1 ")
    p.wait_messages("dead-letter", len(bad) + 2)
    for command in (["labels", "pause"], ["labels", "resume"], ["models", "pin"],
                    ["models", "unpin"], ["models", "promote", "2"], ["models", "rollback"]):
        p.fisctl(*command)
    same(p.stop(), 0, "exit status")


def shown(p):
    """What people get to see, in one go."""
    texts = [p.log()]
    for a in (["models", "list", "--json"], ["models", "show", "2"], ["models", "show", "2", "--json"],
              ["models", "show", "2", "--weights"], ["labels", "status"], ["topics", "list"]):
        r = p.fisctl(*a)
        texts += [r.stdout, r.stderr]
    return texts


def run(**sections):
    initial = list(people(400, 1))
    columns = ["id"] + FEATURES + ["hired", "group"]
    files = {"initial.csv": csv_bytes(initial, columns[:-1]),
             "validation.csv": csv_bytes(planted(), columns)}
    c = t_config(selection={"labels_per_round": 32, "window_records": 500, "rounds": 1},
                 log={"level": "debug"}, **sections)
    with Pipeline(c, files=files) as p:
        p.start()
        has(p.log(), "validation rows=400 groups=2")
        play(p, list(people(600, 3)))
        found, looked = scan(p, initial, *shown(p))
        print(f"# {looked} bytes of {len(topics(p))} topics and of what was shown", flush=True)
        same(found, [], "planted in the validation set, and found elsewhere")
        assert looked > 200000, looked
        return p, initial


@test("nothing planted in the validation set is in any byte of any topic, log or answer")
def _():
    p, initial = run()
    # And the search finds what is there, in every form.
    expected = forms(initial)
    p.produce("records", [(b"\0" + b, b"{}") for b in expected.values()])
    found, _ = scan(p, initial)
    same({what for _, what in found}, set(expected), "found when it is there")


@test("nor with noise on the directions")
def _():
    p, _ = run(privacy={"noise": 4, "key": "a-key-of-thirty-two-letters-or-more"})
    has(p.log(), " privacy refreshes=")
    assert "a-key-of-thirty-two" not in p.log(), "the key"
    text = p.fisctl("models", "show", "2").stdout
    has(text, "epsilon", "refreshes with noise 4")
    for t in topics(p):
        assert b"a-key-of-thirty-two" not in every_byte(t), "the key"


if __name__ == "__main__":
    main()
