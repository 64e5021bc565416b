#!/usr/bin/env python3
"""Two trainers: one leads, the other stands by, and whatever becomes of the leader, the other goes
on from what was committed. Nothing is asked for twice, and nothing of a leader that came back from
the dead is committed."""

import json
import re
import signal
import time

from fisd_process import stalled
from fisd_test import (Pipeline, fields, main, people, record_json, same, t_config, test, wait)
from own_broker import join_group

ROWS = list(people(20000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}
SESSION = 6.0
BOUND = SESSION + 8      # the session's time, and a busy machine's
AT_ONCE = SESSION - 1    # without waiting for the session to end
STALL_MS = 1500          # of a turn of the loop, on a busy machine; what is waited for takes seconds
PATIENT = {"session.timeout.ms": 45000}  # a leader that a stall of the machine does not cost the lead


def config(**sections):
    return t_config(selection={"labels_per_round": 32, "window_records": 500, **sections},
                    kafka={"session.timeout.ms": int(SESSION * 1000)},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    runtime={"commit_interval": "50ms"})


class Pair:
    """Trainers a (it leads) and b (ready to lead), a scorer, a stream and its labeller."""

    def __init__(self, p, leader=None):
        self.p, self.sent, self.answered, self.began = p, 0, set(), time.monotonic()
        self.a = p.node("a", "trainer", kafka={**p.config["kafka"], **(leader or {})})
        self.b = p.node("b", "trainer")
        self.scorer = p.node("s", "scorer").start(ready=None)
        self.a.start()
        self.b.start(ready=r"ready to lead")
        self.b.wait_log(r"another trainer leads")
        self.work(1)

    def feed(self, n=250):
        self.p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                                   for r in ROWS[self.sent:self.sent + n]])
        self.sent += n

    def answer(self):
        fresh = [m.key.decode() for m in self.p.consume("label-requests")
                 if m.key.decode() not in self.answered]
        if fresh:
            self.p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode())
                                      for i in fresh])
            self.answered.update(fresh)

    def versions(self):
        return sorted({dict(fields(m.value)).get(1, 0) for m in self.p.consume("models")})

    def work(self, rounds):
        """Streams and answers until so many more versions are there."""
        expected = max(self.versions(), default=0) + rounds

        def there():
            self.feed()
            self.answer()
            return max(self.versions(), default=0) >= expected
        wait(there, f"version {expected}")

    def takes_over(self, standby, since, began, bound=BOUND):
        """Waits until the standby leads, within `bound` of `began` (of time.time())."""
        since_began = time.monotonic() - (time.time() - began)
        standby.wait_log(r" takeover role=trainer ", since, bound + 15)
        took = standby.when(r" takeover role=trainer ", since) - began
        stall = stalled(since_began)
        print(f"# it leads after {took:.2f} s, {stall:.1f} s of them a stall", flush=True)
        assert took <= bound or stall > 1, f"takeover took {took:.2f} s, allowed {bound:.1f}"

    def check(self):
        keys = [m.key for m in self.p.consume("label-requests")]
        same(len(keys), len(set(keys)), "an id was asked for twice")
        versions = self.versions()
        same(versions, list(range(1, len(versions) + 1)), "versions")
        chunks = [m.key for m in self.p.consume("models")]
        same(len(chunks), len(set(chunks)), "a version was published twice")
        self.answer()
        wait(lambda: set(self.labels()) == self.answered, "all labels on the ledger")
        same({i: k for i, k in self.labels().items()},
             {i: int(TRUTH[i] == "yes") for i in self.answered}, "labels")
        same(len(self.p.consume("dead-letter")), 0, "dead letters")

    def check_stalls(self):
        """No turn of a loop took long, whatever was opened and closed meanwhile."""
        for node in (self.a, self.b):
            same(node.stop(), 0, "exit status")
            longest = [float(x) for x in re.findall(r" loop .* longest_ms=([\d.]+)", node.log())]
            print(f"# {node.name}: the longest turns of its loops: {longest} ms", flush=True)
            assert max(longest) <= STALL_MS or stalled(self.began) > 1, f"allowed {STALL_MS} ms"

    def labels(self):
        newest = {m.key: m.value for m in self.p.consume("ledger")}
        entries = {k.decode(): dict(fields(v)) for k, v in newest.items()
                   if v is not None and not k.startswith(b"\0")}
        return {k: v.get(2, 0) for k, v in entries.items() if v[1] in (3, 4)}


@test("kill -9 of the leader: the other leads within the session's time, and again")
def _():
    with Pipeline(config()) as p:
        pair = Pair(p)
        for dies, lives in ((pair.a, pair.b), (pair.b, pair.a)):
            pair.feed(100)
            since, began = len(lives.log()), time.time()
            dies.kill()
            pair.takes_over(lives, since, began)
            pair.work(1)
            dies.start(ready=r"another trainer leads")
            pair.work(1)
        pair.check()
        pair.check_stalls()


@test("SIGTERM to the leader: it commits and leaves, the other leads at once")
def _():
    with Pipeline(config()) as p:
        pair = Pair(p)
        for _ in range(2):
            pair.feed(700)
            pair.answer()
            since, began = len(pair.b.log()), time.time()
            same(pair.a.stop(), 0, "exit status")
            stopped = time.time() - began
            print(f"# it ended after {stopped:.2f} s", flush=True)
            pair.takes_over(pair.b, since, began + stopped, AT_ONCE)
            pair.work(1)
            pair.a.start(ready=r"another trainer leads")
            pair.a, pair.b = pair.b, pair.a
        pair.check()
        pair.check_stalls()


@test("SIGSTOP of the leader: the other leads; the one that wakes says so, stands by, leads again")
def _():
    with Pipeline(config()) as p:
        pair = Pair(p)
        for number in range(2):
            pair.feed(300)
            if number:
                pair.answer()  # answers that it has not taken yet
            since_b, since_a, began = len(pair.b.log()), len(pair.a.log()), time.time()
            pair.a.suspend()
            pair.takes_over(pair.b, since_b, began)
            pair.work(1)
            pair.a.signal(signal.SIGCONT)
            pair.a.wait_log(r" (fenced|stepped_down) ", since_a)
            pair.a.wait_log(r"ready to lead", since_a)
            pair.a.wait_log(r"another trainer leads", since_a)
            same(" fenced " in pair.b.log()[since_b:], False, "the new leader was fenced")
            pair.work(1)
            same(" takeover " in pair.a.log()[since_a:], False, "the old one leads")
            pair.a, pair.b = pair.b, pair.a
        pair.check()
        pair.check_stalls()


@test("SIGSTOP of the standby, and its end: the leader does not notice")
def _():
    with Pipeline(config()) as p:
        pair = Pair(p, PATIENT)
        since = len(pair.a.log())
        pair.b.signal(signal.SIGSTOP)
        until = time.monotonic() + SESSION + 1
        while time.monotonic() < until:
            pair.work(1)
        pair.b.signal(signal.SIGCONT)
        pair.work(1)
        same(pair.b.stop(), 0, "exit status")
        pair.work(1)
        for word in ("stepped_down", "fenced", "resuming", "takeover"):
            if stalled(pair.began) > 3:
                break  # the broker may have stood still for longer than a session
            same(word in pair.a.log()[since:], False, word)
        pair.check()


@test("SIGTERM while the group has not answered yet who leads")
def _():
    with Pipeline(config()) as p:
        group = f"{p.name}-trainer"
        silent, generation = join_group(group, "", "cooperative-sticky", 30000)
        a = p.node("a", "trainer").start(ready=r" started ")
        wait(lambda: join_group(group, silent, "cooperative-sticky", 30000)[1] > generation,
             "the trainer has joined", alive=a.alive)
        a.wait_log(r"ready to lead")
        began = time.monotonic()
        same(a.stop(), 0, "exit status")
        print(f"# it ended after {time.monotonic() - began:.2f} s", flush=True)


if __name__ == "__main__":
    main()
