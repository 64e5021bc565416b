#!/usr/bin/env python3
"""K12: seven quiet days in half a minute. The broker forgets the trainer's transactional id and its
producer; what comes after is taken up without a person, and the id still fences. (A broker of its
own, that forgets after 15 s.)"""

import json
import signal
import time

from fisd_test import Pipeline, main, people, record_json, same, t_config, test, wait
from own_broker import Broker

ROWS = list(people(6000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}
QUIET = 30
FORGETFUL = ["transactional.id.expiration.ms=15000",
             "transaction.remove.expired.transaction.cleanup.interval.ms=2000",
             "producer.id.expiration.ms=15000", "producer.id.expiration.check.interval.ms=2000"]


def config(**more):
    return t_config(selection={"labels_per_round": 32, "window_records": 1000, "budget": 96},
                    kafka={"session.timeout.ms": 6000, **more},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    runtime={"commit_interval": "50ms"})


class Work:
    def __init__(self, p):
        self.p, self.sent, self.answered = p, 0, set()

    def feed(self, n):
        self.p.produce("records", [(None, record_json(r)) for r in ROWS[self.sent:self.sent + n]])
        self.sent += n

    def round(self, upto, alive):
        """Until so many were asked for; answers them, and waits until that was taken."""
        began = time.monotonic()
        ids = wait(lambda: len(self.asked()) >= upto and self.asked(), f"{upto} requests",
                   alive=alive)
        took = time.monotonic() - began
        self.p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode())
                                  for i in ids if i not in self.answered])
        self.answered.update(ids)
        number = upto // 32 + 1
        wait(lambda: any(m.key.startswith(b"%d/" % number) for m in self.p.consume("models")),
             f"version {number}", alive=alive)
        return took

    def asked(self):
        ids = [m.key.decode() for m in self.p.consume("label-requests")]
        same(len(ids), len(set(ids)), "an id was asked for twice")
        return ids


def quiet(alive):
    until = time.monotonic() + QUIET
    wait(lambda: time.monotonic() > until, "the quiet time", QUIET + 10, alive)


broker = Broker(*FORGETFUL)


@test("after a long quiet time the round goes on, and it is reported once at most")
def _():
    with Pipeline(config()) as p:
        p.start()
        work = Work(p)
        work.feed(1000)
        work.round(32, p.alive)
        quiet(p.alive)
        since = len(p.log())
        work.feed(1000)
        took = work.round(64, p.alive)
        assert took < 30, f"requests after {took:.1f} s"
        work.feed(1000)
        work.round(96, p.alive)
        bad = [x for x in p.log()[since:].splitlines() if x.split(" ")[1] in ("warn", "error")]
        print(f"# requests after {took:.1f} s; " + " | ".join(x[25:200] for x in bad), flush=True)
        assert len(bad) <= 1, bad
        same(len(work.asked()), 96, "requests")


@test("an id that was forgotten and taken again fences the one that held it before")
def _():
    with Pipeline(config()) as p:
        a = p.node("a", "trainer")
        # b: a stall of the machine does not cost it the lead
        b = p.node("b", "trainer", kafka={**p.config["kafka"], "session.timeout.ms": 45000})
        p.node("s", "scorer").start(ready=None)
        a.start()
        b.start(ready=r"ready to lead")
        work = Work(p)
        work.feed(1000)
        work.round(32, a.alive)
        quiet(a.alive)
        since_a, since_b = len(a.log()), len(b.log())
        a.signal(signal.SIGSTOP)
        b.wait_log(r" takeover role=trainer ", since_b)
        work.feed(1000)
        work.round(64, b.alive)
        a.signal(signal.SIGCONT)
        a.wait_log(r" (fenced|stepped_down) role=trainer ", since_a)
        work.feed(1000)
        work.round(96, b.alive)
        same(" takeover " in a.log()[since_a:], False, "the old one leads")
        same(len(p.consume("dead-letter")), 0, "dead letters")


if __name__ == "__main__":
    try:
        main()
    finally:
        broker.stop()
