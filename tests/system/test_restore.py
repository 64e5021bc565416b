#!/usr/bin/env python3
"""Another machine goes on from ledger, heads and models alone; and what it trains then is, to the
bit, what the first one would have trained."""

import json
import os
import shutil

from fisd_test import (Pipeline, fields, has, main, people, record_json, same, t_config, test, wait)
from own_broker import delete_topic

ROWS = list(people(3000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}
WINDOW, R = 300, 24


def config(**sections):
    return t_config(selection={"labels_per_round": R, "window_records": WINDOW},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    kafka={"session.timeout.ms": 45000, "group.instance.id": "one"},
                    runtime={"commit_interval": "50ms"}, **sections)


class Life:
    """One window of records a round, and answers one at a time in the order of the requests."""

    def __init__(self, p):
        self.p, self.answered, self.sent = p, 0, 0

    def feed(self, n=WINDOW):
        self.p.produce("records", [(None, record_json(r)) for r in ROWS[self.sent:self.sent + n]])
        self.sent += n

    def asked(self):
        ids = [m.key.decode() for m in self.p.consume("label-requests")]
        same(len(ids), len(set(ids)), "an id was asked for twice")
        return ids

    def answer(self, upto):
        """Answers requests until so many were answered in all."""
        wait(lambda: len(self.asked()) >= upto, f"request {upto}", alive=self.p.alive)
        self.p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode())
                                  for i in self.asked()[self.answered:upto]])
        self.answered = upto

    def round(self, number):
        self.feed(number * WINDOW - self.sent)
        self.answer(number * R)
        wait(lambda: any(m.key.startswith(b"%d/" % (number + 1)) for m in self.p.consume("models")),
             f"version {number + 1}", alive=self.p.alive)


def versions(p):
    """What fisctl lists, with the weights of each."""
    r = p.fisctl("models", "list", "--json")
    same(r.returncode, 0, r.stderr)
    found = []
    for v in map(json.loads, r.stdout.splitlines()):
        shown = p.fisctl("models", "show", str(v["version"]), "--weights")
        found.append((v["version"], v["served"], v["gate"], v["metrics"],
                      json.loads(shown.stdout)["parameters"]))
    return found


def ledger(p):
    """Ids that are held, ids that were answered, and records of the window, as committed."""
    newest = {m.key: dict(fields(m.value)) for m in p.consume("ledger") if m.value is not None}
    gone = {m.key for m in p.consume("ledger") if m.value is None}
    states = {k: f.get(1) for k, f in newest.items() if not k.startswith(b"\0") and k not in gone}
    return ({k for k, s in states.items() if s == 1}, {k for k, s in states.items() if s in (3, 4)},
            newest[b"\0"].get(2, 0))


def move(p):
    """To another directory, as on another machine: the files of the configuration, nothing else."""
    other = p.dir + ".moved"
    os.mkdir(other)
    for name in ("fisd.yaml", "initial.csv", "validation.csv"):
        shutil.copy(os.path.join(p.dir, name), other)
    shutil.rmtree(p.dir)
    shutil.move(other, p.dir)


@test("killed in a round, its candidates deleted, on another machine: to the bit what it would be")
def _():
    with Pipeline(config(), name="whole") as p:
        life = Life(p)
        p.start()
        for number in (1, 2, 3):
            life.round(number)
        expected, asked = versions(p), life.asked()
    with Pipeline(config(), name="whole") as p:
        life = Life(p)
        p.start()
        life.round(1)
        life.feed(WINDOW // 2)
        wait(lambda: ledger(p)[2] == WINDOW // 2, "half a window", alive=p.alive)
        p.kill()
        held = ledger(p)[0]
        assert len(held) > R, held
        delete_topic(p.topic("candidates"))
        move(p)
        p.start(ready=r" restored round=2 phase=collect .* checkpoint=yes")
        life.feed(WINDOW // 2)
        life.answer(R + 10)
        wait(lambda: len(ledger(p)[1]) == R + 10, "10 labels of the second round", alive=p.alive)
        assert {m.key for m in p.consume("label-requests")[R:]} & held, "none was held before"
        p.kill()
        p.start(ready=r" restored round=2 phase=label .* checkpoint=yes")
        life.round(2)
        p.kill()
        p.start(ready=r" restored round=3 phase=collect .* checkpoint=yes")
        life.round(3)
        same(life.asked(), asked, "requests, in their order")
        found = versions(p)
        same([v[:3] for v in found], [v[:3] for v in expected], "versions")
        for a, b in zip(found, expected):
            same(a[3], b[3], f"metrics of version {a[0]}")
            assert a[4] == b[4], f"weights of version {a[0]}"
        restored = p.log_fields("restored")
        print(f"# restored {restored['entries']} entries, {restored['bytes']} bytes in "
              f"{restored['took_ms']} ms", flush=True)


@test("heads or models gone: no trainer begins on half of its memory")
def _():
    for topic in ("heads", "models"):
        with Pipeline(config()) as p:
            life = Life(p)
            p.start()
            life.round(1)
            same(p.stop(), 0, "exit status")
            delete_topic(p.topic(topic))
            wait(lambda: p.fisctl("topics", "create").returncode == 0 and
                 p.fisctl("topics", "check").returncode == 0, f"{topic} is there again")
            p.start(ready=None)
            same(p.ended(), 1, "exit status")
            has(p.log(), f" failed role=trainer reason=\"{p.name}.{topic}: ", "is not there")
            print("# " + [x for x in p.log().splitlines() if " failed " in x][-1][25:], flush=True)


def only(p, topic):
    """What is committed there, to be put back."""
    return [(m.key, m.value) for m in p.consume(topic)]


@test("an older ledger under newer heads and models: nothing is overwritten; with its own, it goes on")
def _():
    with Pipeline(config()) as p:
        life = Life(p)
        p.start()
        life.round(1)
        same(p.stop(), 0, "exit status")
        old = {t: only(p, t) for t in ("ledger", "heads", "models")}
        p.start(ready=r" restored ")
        life.round(2)
        same(p.stop(), 0, "exit status")
        asked, models = life.asked(), only(p, "models")
        heads = only(p, "heads")

        def put_back(topic, messages):
            delete_topic(p.topic(topic))
            wait(lambda: p.fisctl("topics", "create").returncode == 0 and
                 p.fisctl("topics", "check").returncode == 0, f"{topic} is there again")
            p.produce(topic, messages)

        def refused(topic, what):
            p.start(ready=None)
            same(p.ended(), 1, "exit status")
            reported = [x for x in p.log().splitlines() if " failed " in x][-1]
            has(reported, f" failed role=trainer reason=\"{p.name}.{topic}: {what}", f"{p.name}.ledger",
                "of different times", "one backup")
            print("# " + reported[25:], flush=True)

        put_back("ledger", old["ledger"])
        refused("models", "version 3 is newer")
        put_back("models", old["models"])
        refused("heads", "head ")
        put_back("ledger", [])
        refused("models", "version 2 is newer")
        put_back("models", models)
        put_back("heads", heads)
        same((life.asked(), only(p, "models")), (asked, models), "nothing was asked or written")
        for topic in old:
            put_back(topic, old[topic])
        p.start(ready=r" restored round=2 phase=collect ")


if __name__ == "__main__":
    main()
