#!/usr/bin/env python3
"""The checker of the chaos runs finds what is wrong: a small history in which all is right passes,
and each way of spoiling it is found by the check that is there for it. Needs no broker."""

import copy
import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
from fisd_test import Message, main, proto, same, test, varint  # noqa: E402
from messages import (ACCEPTED, EXPIRED, IN_HEAP, REQUESTED, SET_ASIDE, SKIPPED,  # noqa: E402
                      checksum)

# ---- writing messages ----------------------------------------------------------------------


def fixed(number, value):
    return varint(number << 3 | 1) + value


def chunks(version, body, size=60):
    parts = [body[i:i + size] for i in range(0, len(body), size)]
    sums = checksum(body)
    return [proto((1, version), (2, i), (3, len(parts)), (4, len(body)), (7, part))
            + fixed(5, sums[:8]) + fixed(6, sums[8:]) for i, part in enumerate(parts)]


def entry(state, cls=0, round_=1, refunded=0):
    return proto((1, state), (2, cls), (4, round_), (9, refunded))


def state(round_, head, model, served, clock, counted):
    return proto((1, round_), (3, head), (4, model), (5, served), (8, 1), (9, clock), (17, head),
                 *[(18, proto((1, p), (2, n))) for p, n in counted.items()])


def version(number, parent, served, accuracy=.8, bought=0, round_=0, weights=10, value=1.0,
            val_0=.8):
    network = proto((1, varint(4) + varint(2)), (2, struct.pack(f"<{weights}f", *[value] * weights)))
    gate = proto((2, b"fairer"), (5, proto((1, b"val_0"), (2, val_0))),
                 (5, proto((1, b"floor"), (2, .795))))
    body = proto((2, number), (3, parent), (5, served), (8, network), (10, gate),
                 (11, proto((4, proto((1, b"accuracy"), (2, accuracy))))),
                 (13, proto((1, bought), (5, round_))))
    return chunks(number, body)


def progress(*ranges):
    return proto((2, proto(*[(7, proto(*zip(range(1, 7), r))) for r in ranges])))


# ---- a history in which all is right -------------------------------------------------------

def asked(i, **more):
    return i, json.dumps({"id": i.decode(), "round": 1, **more}).encode()


def answer(i, **what):
    return i, json.dumps(what).encode()


def good():
    record = b'{"age": 1}'
    topics = {
        "records": {0: [(b"r%d" % i, record) for i in range(5)] + [(b"junk", b"{no")],
                    1: [(b"q%d" % i, record) for i in range(4)]},
        "candidates": {0: [(b"", progress((0, 0, 4, 4, 0, 0))), (b"r0", proto((1, b""))),
                           (b"", proto((1, b"")) + progress((1, 0, 4, 4, 0, 0),
                                                            (0, 2, 6, 3, 1, 0)))]},
        "label-requests": {0: [asked(i) for i in (b"r0", b"r1", b"r2", b"r3")]
                           + [asked(b"r2", cancelled=True, reason="expired"), asked(b"q1")]},
        "labels": {0: [answer(b"r0", label="yes"), answer(b"r0", label="yes"),
                       answer(b"r0", label="no"), answer(b"nobody", label="yes"),
                       answer(b"r1", label="maybe")],
                   1: [answer(b"r1", label="no"), answer(b"r3", status="skipped"),
                       answer(b"q1", label="yes"), answer(b"r2", label="yes")]},
        "heads": {0: [(b"", c) for v in (1, 2, 3) for c in chunks(v, b"head %d" % v * 60)]},
        "models": {0: [(b"", c) for c in models()]},
        "ledger": {0: [
            (b"\0", state(1, 1, 1, 1, 10, {0: 4})), (b"r4", entry(IN_HEAP)),
            *[(i, entry(REQUESTED)) for i in (b"r0", b"r1", b"r2", b"r3")], (b"r4", None),
            (b"\0checkpoint/0", b"anything"), (b"r0", entry(ACCEPTED, 1)), (b"r1", entry(SET_ASIDE)),
            (b"r2", entry(EXPIRED, refunded=1)), (b"r3", entry(SKIPPED, refunded=1)),
            (b"q1", entry(REQUESTED)), (b"q1", entry(ACCEPTED, 1)),
            (b"\0", state(2, 2, 2, 1, 20, {0: 6, 1: 4})), (b"r2", entry(ACCEPTED, 1, 2)),
            (b"\0", state(3, 3, 3, 3, 30, {0: 6, 1: 4}))]},
        "dead-letter": {0: []},
    }
    made = {name: [Message(p, o, k, v, {}) for p, ms in parts.items()
                   for o, (k, v) in enumerate(ms)] for name, parts in topics.items()}
    made["dead-letter"] = [dead("records", 0, 5), dead("labels", 0, 2), dead("labels", 0, 3),
                           dead("labels", 0, 4)]
    facts = {"prefix": "p", "budget": 4, "in_flight": 4, "classes": ["no", "yes"],
             "committed": {"scorer/records": {"0": 6, "1": 4}, "trainer/candidates": {"0": 3},
                           "trainer/labels": {"0": 5, "1": 4}}}
    return made, facts


def dead(topic, partition, offset):
    return Message(0, 0, b"", b"", {"fis.error.topic": "p." + topic, "fis.error.offset": str(offset),
                                    "fis.error.partition": str(partition)})


# ---- ways to spoil it ----------------------------------------------------------------------

def put(topics, name, index, **what):
    topics[name][index] = topics[name][index]._replace(**what)


def ledger_index(topics, key, number=0):
    return [i for i, m in enumerate(topics["ledger"]) if m.key == key][number]


def again(topics, name, index):
    topics[name].append(topics[name][index])


MODELS = [dict(number=1, parent=0, served=1), dict(number=2, parent=1, served=0, accuracy=.7,
                                                   bought=3, round_=1),
          dict(number=3, parent=1, served=1, accuracy=.796, bought=4, round_=2)]


def models():
    return [c for m in MODELS for c in version(**m)]


def spoil_model(topics, number, **other):
    topics["models"] = [Message(0, 0, b"", c, {}) for m in MODELS
                        for c in version(**{**m, **(other if m["number"] == number else {})})]


def drop(topics, name, index):
    del topics[name][index]


def chunk_changed(topics, f, name="heads", index=1):
    put(topics, name, index, value=topics[name][index].value.replace(*f))


BAD = {
    "every record is scored": {
        "a range is missing": lambda t, f: put(t, "candidates", 0, value=progress()),
        "a range ends too early":
            lambda t, f: put(t, "candidates", 2, value=progress((1, 0, 3, 3, 0, 0),
                                                                (0, 2, 6, 3, 1, 0))),
        "a record of a range is not accounted for":
            lambda t, f: put(t, "candidates", 0, value=progress((0, 0, 4, 3, 0, 0))),
        "what is no record vanished": lambda t, f: drop(t, "dead-letter", 0),
        "a good record was refused": lambda t, f: t["dead-letter"].append(dead("records", 1, 2)),
    },
    "offsets are committed to the end": {
        "a partition lags": lambda t, f: f["committed"]["scorer/records"].update({"1": 3}),
        "labels are not committed": lambda t, f: f["committed"].pop("trainer/labels"),
    },
    "no record is asked for twice": {
        "a request is there twice": lambda t, f: again(t, "label-requests", 0),
        "withdrawn twice": lambda t, f: again(t, "label-requests", 4),
    },
    "requests and ledger say the same": {
        "a request is not on the ledger": lambda t, f: t["label-requests"].append(
            Message(0, 9, *asked(b"q3"), {})),
        "a request was never sent": lambda t, f: drop(t, "label-requests", 0),
        "withdrawn, without a message to the tool": lambda t, f: drop(t, "label-requests", 4),
    },
    "the budget and the limit in flight hold at every step": {
        "the budget is smaller": lambda t, f: f.update(budget=3),
        "fewer may be open": lambda t, f: f.update(in_flight=3),
        "what expired was not refunded": lambda t, f: [
            put(t, "ledger", ledger_index(t, b"r2", 1), value=entry(EXPIRED)), f.update(budget=3)],
    },
    "what is asked, answered or given up stays so": {
        "used a second time": lambda t, f: again(t, "ledger", ledger_index(t, b"r0", 1)),
        "asked for again": lambda t, f: again(t, "ledger", ledger_index(t, b"r3", 0)),
        "an answer is forgotten": lambda t, f: put(t, "ledger", ledger_index(t, b"\0", 2),
                                                   key=b"r0", value=None),
        "answered before it was asked for": lambda t, f: t["ledger"].append(
            Message(0, 99, b"q2", entry(ACCEPTED), {})),
        "back into the heap": lambda t, f: t["ledger"].append(
            Message(0, 99, b"r1", entry(IN_HEAP), {})),
    },
    "every label is used once": {
        "a label was lost": lambda t, f: put(t, "ledger", ledger_index(t, b"q1", 1),
                                             value=entry(SKIPPED)),
        "used as another class": lambda t, f: put(t, "ledger", ledger_index(t, b"q1", 1),
                                                  value=entry(ACCEPTED, 0)),
        "used without an answer": lambda t, f: drop(t, "labels", 7),
        "a skip became a class": lambda t, f: put(t, "ledger", ledger_index(t, b"r3", 1),
                                                  value=entry(ACCEPTED)),
        "a contradiction vanished": lambda t, f: drop(t, "dead-letter", 1),
        "a good answer was refused": lambda t, f: t["dead-letter"].append(dead("labels", 1, 0)),
        "refused twice": lambda t, f: again(t, "dead-letter", 2),
    },
    "nothing is left open": {
        "an answer was passed over": lambda t, f: drop(t, "ledger", ledger_index(t, b"q1", 1)),
    },
    "versions are consecutive, whole, and there once": {
        "one is missing": lambda t, f: t.update(models=[
            m for m in t["models"] if not m.value.startswith(proto((1, 2)))]),
        "weights are missing": lambda t, f: spoil_model(t, 3, weights=9),
        "a weight is not a number": lambda t, f: spoil_model(t, 3, value=float("nan")),
    },
    "every message is one of its topic": {
        "a version is there twice": lambda t, f: t["models"].extend(t["models"][-2:]),
        "a chunk is missing": lambda t, f: drop(t, "models", 1),
        "a byte of a head is another": lambda t, f: chunk_changed(t, (b"head 1", b"heed 1", 1)),
        "heads go back": lambda t, f: t["heads"].reverse(),
        "an entry without a state": lambda t, f: put(t, "ledger", ledger_index(t, b"r0"),
                                                     value=b""),
        "a request that is no JSON": lambda t, f: put(t, "label-requests", 0, value=b"{"),
        "half a progress": lambda t, f: put(t, "candidates", 0, value=progress((0, 0, 4, 4, 0, 0))
                                            [:-3]),
    },
    "what is served keeps the accuracy": {
        "below the floor": lambda t, f: spoil_model(t, 3, accuracy=.7949),
        "accuracy is not known": lambda t, f: spoil_model(t, 3, accuracy=float("nan")),
        "the floor moved": lambda t, f: spoil_model(t, 3, val_0=.79),
        "another parent": lambda t, f: spoil_model(t, 3, parent=2),
        "the ledger says another": lambda t, f: put(
            t, "ledger", ledger_index(t, b"\0", 2), value=state(3, 3, 3, 1, 30, {0: 6, 1: 4})),
    },
    "versions were trained on the labels that the ledger has": {
        "a label was trained on twice": lambda t, f: spoil_model(t, 3, bought=5),
        "a label was not trained on": lambda t, f: spoil_model(t, 2, bought=2),
    },
    "the trainer's state only goes on": {
        "a round again": lambda t, f: again(t, "ledger", ledger_index(t, b"\0", 0)),
        "records are counted again": lambda t, f: put(
            t, "ledger", ledger_index(t, b"\0", 2), value=state(3, 3, 3, 3, 30, {0: 5, 1: 4})),
        "the clock goes back": lambda t, f: put(
            t, "ledger", ledger_index(t, b"\0", 2), value=state(3, 3, 3, 3, 19, {0: 6, 1: 4})),
        "a version that the state does not know": lambda t, f: put(
            t, "ledger", ledger_index(t, b"\0", 2), value=state(3, 3, 2, 3, 30, {0: 6, 1: 4})),
        "no state": lambda t, f: t.update(ledger=[m for m in t["ledger"] if m.key != b"\0"]),
    },
}


def spoiled(function, **other):
    topics, facts = copy.deepcopy(good())
    function(topics, facts, **other)
    return check.check(topics, facts)


@test("a history in which all is right passes")
def _():
    found, counts = check.check(*good())
    same(found, [])
    same((counts["labels_used"], counts["labels_refused"], counts["versions"]), (4, 3, 3))


@test("each way to spoil it is found, by its check")
def _():
    same(sorted(BAD), sorted([name for name, _ in check._checks]
                             + ["every message is one of its topic"]), "checks that are tried")
    for name, ways in BAD.items():
        for what, function in ways.items():
            found, _ = spoiled(function)
            names = {n for n, _ in found}
            assert name in names, f"{what}: found {sorted(names)}, expected {name!r}"
    print(f"# {sum(map(len, BAD.values()))} ways", flush=True)


@test("what was saved is what was there")
def _():
    import tempfile
    with tempfile.TemporaryDirectory() as d:
        topics, facts = good()
        check.save(d, topics, facts)
        same(check.load(d), (topics, facts))


if __name__ == "__main__":
    main()
