#!/usr/bin/env python3
"""What becomes of requests for labels: deadlines, replacement, late answers, people who skip, and
several who must agree; through restarts, within the budget."""

import json

from fisd_test import (Pipeline, fields, has, main, people, record_json, same, t_config, test, wait)

REQUESTED, ACCEPTED, SET_ASIDE, EXPIRED, SKIPPED, TIED = 2, 3, 4, 5, 6, 8
STATES = {2: "requested", 3: "used", 4: "used", 5: "expired", 6: "skipped", 7: "cancelled",
          8: "tied"}
ROWS = list(people(1000, 3))


def config(labels, **selection):
    return t_config(selection={"labels_per_round": 16, "window_records": 200, **selection},
                    labels=labels, training={"warm_up_epochs": 5, "steps_per_round": 60},
                    kafka={"session.timeout.ms": 45000, "group.instance.id": "one"},
                    runtime={"commit_interval": "50ms"})


def start(p, records=200):
    p.start()
    p.produce("records", [(None, record_json(r)) for r in ROWS[:records]])
    return [m.key for m in p.wait_messages("label-requests", 16)][:16]


def entries(p):
    """id -> fields of its newest entry: {number: last value}, and the votes under "votes"."""
    found = {}
    for m in p.consume("ledger"):
        if not m.key.startswith(b"\0"):
            pairs = fields(m.value) if m.value is not None else []
            found[m.key] = {**dict(pairs), "votes": [dict(fields(v)) for n, v in pairs if n == 10]}
    return {k: v for k, v in found.items() if v.get(1, 0) >= REQUESTED}


def states(p):
    return {k: STATES[e[1]] for k, e in entries(p).items()}


def requests(p):
    """ids asked for, and reasons of those that were withdrawn by id; each once."""
    bodies = [(m.key, json.loads(m.value)) for m in p.consume("label-requests")]
    asked = [k for k, b in bodies if not b.get("cancelled")]
    gone = [k for k, b in bodies if b.get("cancelled")]
    same(len(asked), len(set(asked)), "an id was asked for twice")
    same(len(gone), len(set(gone)), "an id was withdrawn twice")
    return asked, {k: b["reason"] for k, b in bodies if b.get("cancelled")}


def label(cls=None, who=None, status=None, at=None):
    body = {"label": cls, "annotator": who, "status": status, "labelled_at_ms": at}
    return json.dumps({k: v for k, v in body.items() if v is not None}).encode()


def send(p, *answers):
    """(id, answer), to one partition, so that they come in this order."""
    p.produce("labels", list(answers), 0)


def wait_states(p, expected):
    wait(lambda: expected.items() <= states(p).items(), f"on the ledger: {expected}", alive=p.alive)


def dead(p):
    """Reasons of the labels that were refused, by id."""
    return [(m.key, m.reason) for m in p.consume("dead-letter")]


@test("what is not answered in time is withdrawn and replaced; a late answer is used all the same")
def _():
    with Pipeline(config({"deadline": "5s", "replace": True}, budget=24)) as p:
        ids = start(p)
        request = json.loads(p.consume("label-requests")[0].value)
        same(request["deadline"] - request["requested_at"], 5000, "deadline of a request")
        send(p, *[(i, label("yes")) for i in ids[:4]])
        wait_states(p, {i: "expired" for i in ids[4:]})
        asked, gone = requests(p)
        for i in ids[4:]:
            same(gone[i], "expired")
        same({entries(p)[i].get(9, 0) for i in ids[4:]}, {1}, "refunded")
        send(p, (ids[5], label("no")))  # late
        wait_states(p, {ids[5]: "used"})
        same(entries(p)[ids[5]].get(9, 0), 0, "refunded: it is paid for after all")
        p.kill()  # what expired stays so
        p.start(ready=r" restored ")
        replaced = [i for i in requests(p)[0] if i not in ids]
        assert len(replaced) >= 11, replaced
        send(p, *[(i, label("yes")) for i in replaced])
        send(p, (ids[6], label("yes")))  # late, and from before the crash
        p.wait_log(r" version version=2 round=1 ")
        wait_states(p, {i: "used" for i in [*ids[:4], ids[5], ids[6]]})
        same(dead(p), [])


@test("without replacement, what expired stays charged: the budget is the number of requests")
def _():
    with Pipeline(config({"deadline": "2s"}, budget=24)) as p:
        ids = start(p)
        wait(lambda: len(requests(p)[1]) == 24, "24 withdrawn", alive=p.alive)
        asked, _ = requests(p)
        same(len(asked), 24, "requests")
        same({e.get(9, 0) for e in entries(p).values()}, {0}, "refunded")
        send(p, (ids[0], label("yes")))
        wait_states(p, {ids[0]: "used"})
        p.kill()
        p.start(ready=r" restored ")
        send(p, (ids[1], label("yes")))
        wait_states(p, {ids[1]: "used"})
        same(len(requests(p)[0]), 24, "requests")


@test("L18: a skip is no answer: it is noted with who and when, its place is free, and the budget")
def _():
    with Pipeline(config({}, budget=16)) as p:
        ids = start(p)
        skip = label(status="skipped", who="ann", at=1767225600000)
        unsure = label(status="unsure", who="bob", at=1767225700000)
        for _ in range(2):  # every event twice
            send(p, (ids[0], skip), (ids[1], unsure), (ids[2], skip))
        wait_states(p, {ids[0]: "skipped", ids[1]: "skipped", ids[2]: "skipped"})
        wait(lambda: len(requests(p)[0]) == 19, "three others in their place", alive=p.alive)
        e = entries(p)
        votes = [(v[1], v[2], v.get(3, 0), v[4]) for i in ids[:2] for v in e[i]["votes"]]
        same(votes, [(b"ann", 1, 0, 1767225600000), (b"bob", 2, 0, 1767225700000)],
             "who, status, class and when")
        same([e[i].get(9, 0) for i in ids[:3]], [1, 1, 1], "refunded")
        for _ in range(2):  # un-skipped, and answered
            send(p, (ids[2], label("yes", who="ann")))
        wait_states(p, {ids[2]: "used"})
        same(entries(p)[ids[2]].get(2, 0), 1, "class")
        p.wait_log(r" labels round=1 \S+ labels=1 open=\d+ kept=\d+ duplicates=4 ")
        used = [k for k, s in states(p).items() if s == "used"]
        same(used, [ids[2]], "the labels that were used")
        same(dead(p), [])
        # The late yes took the place of one that had been asked instead: never more than 16 open
        # or answered when something is asked for.
        send(p, (ids[3], label(status="skipped")))
        wait_states(p, {ids[3]: "skipped"})
        same(len(requests(p)[0]), 19, "requests: no place is free")


@test("several must agree: votes, ties, skips, contradictions, and a crash between two votes")
def _():
    with Pipeline(config({"votes": 3}, budget=16)) as p:
        ids = start(p)
        same(json.loads(p.consume("label-requests")[0].value)["votes"], 3, "votes requested")
        sure, split, tie, skips, nobody, same_one, open_ = ids[:7]
        send(p, (sure, label("yes", "a")), (sure, label("yes", "b")),  # two of three: decided
             (sure, label("yes", "c")), (sure, label("no", "d")),
             (split, label("yes", "a")), (split, label("no", "b")),
             (tie, label("yes", "a")), (tie, label("no", "b")), (tie, label(None, "c", "unsure")),
             (skips, label(None, "a", "skipped")), (skips, label(None, "b", "skipped")),
             (skips, label(None, "c", "unsure")),
             (nobody, label("yes")),
             (same_one, label("no", "a")), (same_one, label("no", "a")),
             (same_one, label("yes", "a")),
             (open_, label("yes", "a")))
        wait_states(p, {sure: "used", tie: "tied", skips: "skipped"})
        p.wait_messages("dead-letter", 2)
        refused = dead(p)
        same([k for k, _ in refused], [nobody, same_one], "answers that were refused")
        has(refused[0][1], "3 annotators")
        has(refused[1][1], "contradicts", "annotator")
        same(requests(p)[1], {sure: "decided"}, "withdrawn, since the third cannot change it")
        # `skips` is refunded and replaced; a tie is paid for.
        wait(lambda: len(requests(p)[0]) == 17, "one in place of the skipped", alive=p.alive)
        same({k: e.get(9, 0) for k, e in entries(p).items() if k in (tie, skips)},
             {tie: 0, skips: 1}, "refunded")
        same({states(p)[i] for i in (split, same_one, open_)}, {"requested"})
        p.kill()
        p.start(ready=r" restored ")
        send(p, (split, label("no", "c")), (same_one, label("no", "a")),
             (same_one, label("no", "b")), (open_, label("yes", "a")))
        wait_states(p, {split: "used", same_one: "used"})
        e = entries(p)
        same({i: e[i].get(2, 0) for i in (sure, split, same_one)}, {sure: 1, split: 0, same_one: 0},
             "classes")
        same(states(p)[open_], "requested")
        same(len(e[open_]["votes"]), 1, "votes of one that was answered twice by one person")
        same(len(dead(p)), 2, "answers that were refused")


@test("a day's budget: so many are asked for, also through a restart")
def _():
    with Pipeline(config({}, budget=16, daily_budget=5)) as p:
        p.start()
        p.produce("records", [(None, record_json(r)) for r in ROWS[:200]])
        ids = [m.key for m in p.wait_messages("label-requests", 5)]
        p.wait_log(r" daily_budget spent=5 ")
        send(p, *[(i, label("yes")) for i in ids])
        wait_states(p, {i: "used" for i in ids})
        p.kill()
        p.start(ready=r" restored ")
        p.wait_log(r" assigned role=trainer ", p.log().rindex(" restored "))
        send(p, (ids[0], label("no")))  # something to wait for
        p.wait_messages("dead-letter", 1)
        same(len(p.consume("label-requests")), 5, "requests")


if __name__ == "__main__":
    main()
