#!/usr/bin/env python3
"""fisd is stopped and killed while people answer: no label is asked for twice, none that was given
is lost, every version is whole and there once, and no record is skipped."""

import json
import random
import threading
import time

from fisd_test import Pipeline, fields, main, people, record_json, same, t_config, test, wait
from own_broker import committed

ROWS = list(people(40000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}


class Labeller:
    """Answers every request of a pipeline from the truth, as long as it lives; and streams
    records, a few at a time, up to so many."""

    def __init__(self, p, records=0):
        self.p, self.answered, self.over = p, {}, threading.Event()
        self.records, self.sent = records, 0
        self.thread = threading.Thread(target=self.work, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def work(self):
        while not self.over.is_set():
            fresh = [m.key.decode() for m in self.p.consume("label-requests")
                     if m.key.decode() not in self.answered]
            if fresh:
                self.p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode())
                                          for i in fresh])
                self.answered.update((i, TRUTH[i]) for i in fresh)
            if self.sent < self.records:
                stream(self.p, 100, self.sent)
                self.sent += 100
            self.over.wait(.1)


def stream(p, n, first=0):
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                          for r in ROWS[first:first + n]])


def ledger(p):
    """id -> (state, class), and the trainer's own state, as they are now."""
    newest = {m.key: m.value for m in p.consume("ledger")}
    state = dict(fields(newest[b"\0"]))
    entries = {k.decode(): dict(fields(v)) for k, v in newest.items()
               if v is not None and not k.startswith(b"\0")}
    return {k: (v.get(1), v.get(2, 0)) for k, v in entries.items()}, state


def whole_versions(p):
    """version -> number of chunks; every chunk of every version is there once."""
    found = {}
    for m in p.consume("models"):
        chunk = dict(fields(m.value))
        version, index, count = chunk.get(1, 0), chunk.get(2, 0), chunk.get(3, 0)
        same((version, index) in found, False, f"chunk {index} of version {version}, once more")
        found[version, index] = count
    versions = sorted({v for v, _ in found})
    for v in versions:
        same(sorted(i for w, i in found if w == v), list(range(found[v, 0])), f"version {v}")
    return versions


def all_committed(p, role, topic):
    """Nothing but markers of transactions follows the committed offset, which is there when the
    marker of its own transaction is: soon after the commit was acknowledged."""
    last = p.consume(topic)[-1].offset
    wait(lambda: committed(f"{p.name}-{role}", p.topic(topic), [0])[0] > last,
         f"{topic}: an offset behind {last} is committed")


def check(p, labeller, budget, records):
    requests = [m.key.decode() for m in p.consume("label-requests")]
    same(len(requests), len(set(requests)), "an id was asked for twice")
    same(len(requests), budget, "requests")
    entries, state = ledger(p)
    answered = {k: v[1] for k, v in entries.items() if v[0] in (3, 4)}
    same(answered, {k: int(v == "yes") for k, v in labeller.answered.items()},
         "labels on the ledger")
    same(len(answered), budget, "labels")
    versions = whole_versions(p)
    same(versions, list(range(1, len(versions) + 1)), "versions")
    assert p.offsets_scored() >= records, "records were skipped"
    same(len(p.consume("dead-letter")), 0, "dead letters")
    return versions


def config(rounds, r, window):
    return t_config(selection={"labels_per_round": r, "window_records": window, "rounds": rounds,
                               "budget": rounds * r},
                    kafka={"session.timeout.ms": 45000, "group.instance.id": "one"},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    runtime={"commit_interval": "50ms"})


@test("SIGTERM in the middle of a window and of a round: it goes on where it stopped")
def _():
    with Pipeline(config(rounds=2, r=32, window=1000)) as p:
        p.start()
        stream(p, 600)
        p.wait_log(r" scored records=600 ")
        same(p.stop(), 0, "exit status")
        p.start(ready=r" started ")
        stream(p, 400, first=600)  # the first 600 count, and are candidates still
        requests = p.wait_messages("label-requests", 32)
        some = [m.key for m in requests[:20]]
        assert any(int(k.decode().split("-")[1]) < 600 for k in (m.key for m in requests))
        p.produce("labels", [(k, json.dumps({"label": TRUTH[k.decode()]}).encode()) for k in some])
        p.wait_log(r" labels round=1 \S+ labels=20 ")
        same(p.stop(), 0, "exit status")
        p.start(ready=r" started ")
        with Labeller(p) as labeller:
            labeller.answered.update((k.decode(), TRUTH[k.decode()]) for k in some)
            p.wait_log(r" version version=2 round=1 .* labels=32 ")
            stream(p, 1000, first=1000)
            p.wait_log(r" done rounds=2 labels=64")
            same(p.stop(), 0, "exit status")
            same(check(p, labeller, 64, 2000), [1, 2, 3])
        all_committed(p, "trainer", "candidates")
        all_committed(p, "trainer", "labels")
        all_committed(p, "scorer", "records")
        p.start(ready=r" restored round=3 phase=done .* checkpoint=yes")  # and once more: nothing is left to do
        same(len(p.consume("label-requests")), 64)


@test("killed a dozen times at random moments: nothing twice, nothing lost")
def _():
    seed = random.randrange(1 << 30)
    print(f"# seed {seed}", flush=True)
    r = random.Random(seed)
    with Pipeline(config(rounds=5, r=48, window=700)) as p, Labeller(p, len(ROWS)) as labeller:
        for _ in range(12):
            p.start(ready=None)
            until = time.monotonic() + r.uniform(.3, 3.5)
            wait(lambda: time.monotonic() > until, "the moment", alive=p.alive)
            p.kill()
        print(f"# killed for the last time after {labeller.sent} records, "
              f"{len(labeller.answered)} labels", flush=True)
        p.start(ready=None)
        p.wait_log(r" done rounds=5 labels=240", timeout=180)
        n = labeller.records = labeller.sent + 100
        wait(lambda: labeller.sent >= n and p.offsets_scored() >= labeller.sent, "all records scored",
             alive=p.alive)
        same(p.stop(), 0, "exit status")
        same(check(p, labeller, 240, labeller.sent), [1, 2, 3, 4, 5, 6])
        all_committed(p, "trainer", "labels")
        all_committed(p, "scorer", "records")


if __name__ == "__main__":
    main()
