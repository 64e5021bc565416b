#!/usr/bin/env python3
"""Kills and suspends the parts of a pipeline on a real Kafka, and the Kafka, at random; then
counts, on the topics alone, whether every guarantee held.

    chaos.py [--kills 100] [--seed N] [--brokers 1] [--keep]

At the end the leader alone is killed and suspended in turn, a tenth as often: how long a takeover
takes. With 3 brokers every topic has three replicas, of which two must have what is written; one of them
is killed, suspended or restarted, each in turn, or two at once, beside the others.

Prints what was done and found, and one line of JSON. Exit code 1 when anything is wrong; then
logs and dumps stay in build/chaos.*."""

import argparse
import collections
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../system"))
sys.path.insert(0, HERE)
import check  # noqa: E402
import fisd_test  # noqa: E402
from brokers import Brokers  # noqa: E402
from cluster import Cluster, wait_until  # noqa: E402
from fisd_test import ROOT, Pipeline, fields, t_config  # noqa: E402
from own_broker import committed  # noqa: E402
from traffic import Feeder, Labeller  # noqa: E402

PARTITIONS = 3
IN_FLIGHT = 24
DEADLINE = 6.0
# Who is hurt, and how: (weight, choice).
TARGETS = {"t1": 30, "t2": 30, "s1": 15, "s2": 15, "broker": 10}
KINDS = {"kill": 45, "term": 20, "freeze": 25, "pause": 10}
# With several brokers.
MORE_TARGETS = {**TARGETS, "broker": 60}
BROKER_KINDS = {"kill": 40, "term": 15, "freeze": 20, "pause": 5, "rolling": 8, "two": 12}


def config(budget):
    return t_config(
        topics={"partitions": PARTITIONS},
        selection={"labels_per_round": 32, "window_records": 400, "budget": budget,
                   "in_flight": IN_FLIGHT},
        labels={"deadline": f"{DEADLINE:.0f}s", "replace": True},
        kafka={"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000},
        training={"warm_up_epochs": 5, "steps_per_round": 60},
        runtime={"commit_interval": "50ms"})


def choose(r, weights):
    return r.choices(list(weights), list(weights.values()))[0]


def say(text):
    print(f"chaos: {text}", flush=True)


class Run:
    def __init__(self, kills, seed, brokers, directory):
        self.random = random.Random(seed)
        self.kills, self.seed, self.dir = kills, seed, directory
        self.budget = 8 * kills
        self.faults, self.violations = [], []
        self.brokers = Brokers(brokers, directory)
        self.targets = MORE_TARGETS if brokers > 1 else TARGETS
        self.p = Pipeline(config(self.budget), name="chaos")
        self.cluster = Cluster(self.brokers, self.p)

    def run(self):
        began = time.monotonic()
        self.cluster.start()
        self.feeder = Feeder(self.p, self.seed, rate=250)
        self.labeller = Labeller(self.p, self.seed, DEADLINE)
        self.feeder.start()
        self.labeller.start()
        try:
            wait_until(self.cluster.leader, "a first leader", 180, self.cluster)
            self.hurt()
            self.settle()
        except AssertionError as e:
            self.violations.append(("it goes on", str(e)))
        self.feeder.finish()
        self.labeller.finish()
        self.cluster.stop()
        found, counts = check.check(*self.dump())
        self.violations += found
        return self.report(counts, time.monotonic() - began)

    def hurt(self):
        r = self.random
        for number in range(self.kills):
            until = time.monotonic() + r.uniform(2, 6.5)
            free = {}
            while not free or time.monotonic() < until:
                self.cluster.supervise()
                time.sleep(.05)
                free = {t: w for t, w in self.targets.items() if t not in self.cluster.busy}
            target = choose(r, free)
            several = target == "broker" and len(self.brokers.nodes) > 1
            kind = choose(r, BROKER_KINDS if several else KINDS)
            self.faults.append(self.cluster.hurt(target, kind, r))
            if number % 10 == 9:
                say(f"{number + 1} faults, {len(self.labeller.seen)} of about {self.budget} "
                    f"requests seen, {self.feeder.sent} records")
            self.p.write("faults.txt", "".join(f"{x}\n" for x in self.faults).encode())

    def take_over(self):
        """The leader alone is killed or suspended: how long it takes until one leads again."""
        for number in range(self.kills // 10):
            name, c = self.cluster.leader(), self.cluster
            fault = c.hurt(name, ("kill", "freeze")[number % 2], self.random)
            self.faults.append(fault)
            wait_until(lambda: c.led_since(fault.at), "one leads again", 180, c)
            c.mend()
            wait_until(lambda: any(max(c.nodes[name].times(x), default=0) > fault.at
                                   for x in ("ready to lead", "leads, and")),
                       f"{name} stands by, or was back before the other one led", 180, c)

    # ---- the end

    def spent(self):
        return self.state().get(8) == 3  # phase DONE

    def state(self):
        newest = {}
        for m in fisd_test.consume(self.p.topic("ledger")):
            if m.key == b"\0":
                newest = dict(fields(m.value))
        return newest

    def read_up(self):
        """Nothing is left unread: offsets of both roles stand behind the last message."""
        for group, topic in (("scorer", "records"), ("trainer", "labels"),
                             ("trainer", "candidates")):
            last = {m.partition: m.offset for m in fisd_test.consume(self.p.topic(topic))}
            at = self.committed(group, topic)
            if any(at.get(str(n), -1) <= offset for n, offset in last.items()):
                return False
        return True

    def committed(self, group, topic):
        count = 1 if topic == "candidates" else PARTITIONS
        found = committed(f"{self.p.name}-{group}", self.p.topic(topic), list(range(count)))
        return {str(n): offset for n, offset in found.items()}

    def settle(self):
        """No more faults but of the leader; all is up. The budget is spent, then nothing is left to
        do."""
        self.cluster.mend()
        say(f"{self.kills} faults; waiting for the end of the budget")
        wait_until(self.spent, "the budget is spent", 600, self.cluster)
        self.take_over()
        self.feeder.finish()
        self.labeller.finish()
        wait_until(self.read_up, "all that was sent is read and committed", 180, self.cluster)

    def dump(self):
        topics = {name: fisd_test.consume(self.p.topic(name)) for name in check.TOPICS}
        facts = {"prefix": self.p.name, "budget": self.budget, "in_flight": IN_FLIGHT,
                 "classes": ["no", "yes"],
                 "committed": {f"{g}/{t}": self.committed(g, t) for g, t in
                               (("scorer", "records"), ("trainer", "candidates"),
                                ("trainer", "labels"))}}
        check.save(os.path.join(self.dir, "dump"), topics, facts)
        return topics, facts

    def report(self, counts, took):
        c = self.cluster
        clean, leads = c.takeovers(self.faults)
        seconds = sorted(s for _, s in clean)
        kinds = collections.Counter(
            f"{'broker' if f.target == 'broker' else f.target[0] + '*'} {f.kind}"
            for f in self.faults)
        for name, status, *rest in c.slow:
            self.violations.append(("SIGTERM ends it in order",
                                    f"{name}: status {rest[0]} after {status} s: {rest[-1]}"))
        for name, status, line in c.exits:
            self.violations.append(("it ends on SIGTERM only",
                                    f"{name} ended by itself, status {status}: {line}"))
        for name, text in self.violations[:100]:
            say(f"violated: {name}: {text}")
        say("faults: " + ", ".join(f"{n} {k}" for k, n in sorted(kinds.items())))
        say(f"{leads} times a trainer began to lead; fenced {c.count('fenced')}, stepped down "
            f"{c.count('stepped_down')}, resumed {c.count('resuming')}; undisturbed takeovers: "
            + (f"{len(seconds)}, median {statistics.median(seconds):.1f} s, longest "
               f"{seconds[-1]:.1f} s" if seconds else "none"))
        print(json.dumps({
            "seed": self.seed, "brokers": len(self.brokers.nodes), "kills": len(self.faults), "seconds": round(took, 1),
            "faults": dict(sorted(kinds.items())), "takeovers": leads,
            "takeover_seconds": clean, "stop_seconds_max": max((s for s, _ in c.stops), default=0),
            "stops": len(c.stops), "stops_with_status_1": sum(s == 1 for _, s in c.stops),
            "replays_failed": self.feeder.failed, **counts,
            "violations": len(self.violations)}), flush=True)
        return not self.violations

    def close(self):
        self.feeder.over.set()
        self.labeller.over.set()
        if self.labeller.kcat:
            self.labeller.kcat.kill()
        for node in self.p.nodes:
            node.kill()
        self.brokers.stop()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--kills", type=int, default=100)
    a.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    a.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    a.add_argument("--keep", action="store_true", help="keep logs and dumps in any case")
    o = a.parse_args()
    base = os.environ.get("FISD_TEST_DIR") or os.path.join(ROOT, "build")
    directory = tempfile.mkdtemp(prefix="chaos.", dir=base)
    os.environ["FISD_TEST_DIR"] = directory
    say(f"seed {o.seed}, {o.kills} faults, {o.brokers} brokers, in {directory}")
    run = Run(o.kills, o.seed, o.brokers, directory)
    good = False
    try:
        good = run.run()
    finally:
        run.close()
        if good and not o.keep:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            say(f"logs and dumps are in {directory}; check.py {directory}/dump counts again")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
