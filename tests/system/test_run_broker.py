#!/usr/bin/env python3
"""fisd and a broker that stops answering, or dies: it leaves in time and says what was left, it
waits for one that comes back, and nothing is lost or asked for twice. (A broker of its own.)"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import fisd_test
from fisd_test import FISCTL, WAIT, Pipeline, has, main, people, record_json, same, t_config, test, wait
from http_client import client_of
from own_broker import Broker

ROWS = list(people(30000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}
SHUTDOWN = 4


def config(kafka=None, **sections):
    return t_config(selection={"labels_per_round": 32, "window_records": 1000, "rounds": 2,
                               "budget": 64},
                    kafka={"session.timeout.ms": 6000, **(kafka or {})},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    runtime={"shutdown_timeout": f"{SHUTDOWN}s", "commit_interval": "50ms"},
                    **sections)


def records(first, n):
    return [(r["id"].encode(), record_json(r, with_id=False)) for r in ROWS[first:first + n]]


def answer(p, known):
    fresh = [m.key for m in p.consume("label-requests") if m.key not in known]
    if fresh:
        p.produce("labels", [(k, json.dumps({"label": TRUTH[k.decode()]}).encode()) for k in fresh])
        known.update(fresh)


def pause(seconds, p):
    """For so long there is no broker; fisd must live."""
    until = time.monotonic() + seconds
    wait(lambda: time.monotonic() > until, "the end of a pause", alive=p.alive)


def finish(p, n):
    """Streams and answers until both rounds are over, and counts."""
    known = {m.key for m in p.consume("labels")}
    sent = n

    def done():
        nonlocal sent
        answer(p, known)
        if " done rounds=2 " in p.log():
            return True
        p.produce("records", records(sent, 200))
        sent += 200
        return False
    wait(done, "the end of both rounds", 60, p.alive)
    wait(lambda: p.offsets_scored() >= sent, f"{sent} records scored", 60, p.alive)
    same(p.stop(), 0, "exit status")
    requests = [m.key for m in p.consume("label-requests")]
    same((len(requests), len(set(requests))), (64, 64), "requests, and distinct ones")


def fisctl_begins(p, *arguments):
    return subprocess.Popen([FISCTL, "-c", p.config_path, *arguments], cwd=p.dir, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


broker = Broker()


@test("what a broker that stopped answering has not taken is reported, within the bound")
def _():
    with Pipeline(config()) as p:
        p.start()
        p.produce("records", records(0, 1200))
        known = set()
        p.wait_messages("label-requests", 32)
        over = threading.Event()
        sent = 1200

        def stream():
            nonlocal sent
            while not over.is_set():
                try:
                    p.produce("records", records(sent, 100))
                except AssertionError:
                    return
                except subprocess.TimeoutExpired:
                    return
                sent += 100
        feeder = threading.Thread(target=stream)
        feeder.start()
        wait(lambda: sent >= 1600, "a stream")
        answer(p, known)
        broker.signal(signal.SIGSTOP)
        try:
            pause(2, p)
            started = time.monotonic()
            status = p.ended(SHUTDOWN + 10, signal.SIGTERM)
            took = time.monotonic() - started
            print(f"# ended with status {status} after {took:.1f} s", flush=True)
            if status != 0:
                same(status, 1, "exit status")
                has(p.log(), "not committed")
        finally:
            over.set()
            broker.signal(signal.SIGCONT)
        feeder.join()
        p.start(ready=r" started ")
        finish(p, sent)


@test("a broker that is killed: fisd leaves in time, and with both back nothing is missing")
def _():
    with Pipeline(config()) as p:
        p.start()
        p.produce("records", records(0, 1200))
        p.wait_messages("label-requests", 32)
        answer(p, set())
        broker.kill()
        try:
            pause(1, p)
            started = time.monotonic()
            status = p.ended(SHUTDOWN + 10, signal.SIGTERM)
            print(f"# ended with status {status} after {time.monotonic() - started:.1f} s", flush=True)
            assert status in (0, 1), status
        finally:
            broker.start()
        p.start(ready=r" started ")
        finish(p, 1200)


@test("a broker that stops answering for longer than a session, and comes back, is waited for, by "
      "fisctl too")
def _():
    with Pipeline(config()) as p:
        p.start()
        p.produce("records", records(0, 1200))
        p.wait_messages("label-requests", 32)
        known = set()
        answer(p, known)
        broker.signal(signal.SIGSTOP)
        try:
            commands = [fisctl_begins(p, *a) for a in (("topics", "create"), ("labels", "status"))]
            pause(22, p)
        finally:
            broker.signal(signal.SIGCONT)
        for c in commands:
            out, err = c.communicate(timeout=WAIT)
            same(c.returncode, 0, out + err)
            has(err, "waiting for a broker at " + broker.address)
        finish(p, 1200)
        print(f"# {p.log().count(' resuming ')} times from the ledger", flush=True)
        same(len(p.consume("dead-letter")), 0, "dead letters")


@test("a trainer whose place is taken lets its unit go, and goes on from the ledger")
def _():
    with Pipeline(config(kafka={"group.instance.id": "one"})) as p:
        p.start()
        p.produce("records", records(0, 1200))
        p.wait_messages("label-requests", 32)
        known = set()
        # Somebody comes by the same name, to which a broker gives the place.
        thief = subprocess.Popen(
            ["kcat", "-b", fisd_test.KAFKA, "-G", f"{p.name}-trainer", p.topic("ledger"),
             "-X", "group.instance.id=one", "-X", "enable.auto.commit=false",
             "-X", "partition.assignment.strategy=cooperative-sticky"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            p.wait_log(r" resuming role=trainer from=ledger ")
            answer(p, known)
        finally:
            thief.kill()
            thief.wait()
        p.wait_log(r" takeover role=trainer ", p.log().index(" resuming "))
        finish(p, 1200)
        same(len(p.consume("dead-letter")), 0, "dead letters")


@test("a broker that hangs while it makes a trainer the leader: it steps down, and ends on SIGTERM")
def _():
    with Pipeline(config()) as p:
        a = p.node("a", "trainer").start()
        p.wait_messages("models", 1)
        a.kill()
        since = len(a.log())
        a.start(ready=r"chosen by the group")
        broker.signal(signal.SIGSTOP)
        try:
            a.wait_log(r" stepped_down role=trainer ", since)
            pause(1, a)
            started = time.monotonic()
            same(a.stop(), 0, "exit status")
            took = time.monotonic() - started
            print(f"# ended after {took:.1f} s", flush=True)
            assert took < SHUTDOWN + 5, f"it took {took:.1f} s"
        finally:
            broker.signal(signal.SIGCONT)
        a.start(ready=r' takeover role=trainer ')


@contextlib.contextmanager
def another_cluster(*processes):
    """The same address, and nothing of what was there: all of them end and say so."""
    broker.stop()
    shutil.rmtree(os.path.join(broker.dir, "data"))
    broker.start()
    yield
    for p in processes:
        same(p.ended(), 1, f"exit status of {p.name}")
        has(p.log(), "another cluster answers at the brokers' address",
            "restore ledger, heads and models from a backup")


@test("another cluster at the same address: each process ends and says so, and begins again when started")
def _():
    with Pipeline(config()) as p:
        scorer = p.node("s", "scorer").start(ready=r" started ")
        p.start()
        p.produce("records", records(0, 1200))
        p.wait_messages("label-requests", 32)
        with another_cluster(p, scorer):
            pass
        since = len(scorer.log())
        scorer.start(ready=r" started ")
        client = client_of(scorer, since=since)
        wait(lambda: "no head yet" in client.get("/readyz").text, "readiness in words")
        # Nothing is missing on this one, so that nothing fails.
        with another_cluster(scorer):
            p.make_topics()
        scorer.start(ready=r" started ")
        same(scorer.stop(), 0, "a scorer that waits ends on SIGTERM")
        p.start()


if __name__ == "__main__":
    try:
        main()
    finally:
        broker.stop()
