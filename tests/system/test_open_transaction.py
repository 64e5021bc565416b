#!/usr/bin/env python3
"""A transaction that is open on a topic of the pipeline hides what is behind it. A process that reads
the topic to its end waits for it, names it, and goes on by itself."""

import contextlib
import re
import subprocess

import fisd_test
from fisd_test import (Pipeline, has, main, people, proto, record_json, same, t_config,
                       test, wait)
from http_client import Client
from own_broker import Broker, hang

ROWS = list(people(4000, 3))
ASKED = 20


def config(**sections):
    return t_config(selection={"labels_per_round": ASKED, "window_records": 300, "budget": 40},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    kafka={"session.timeout.ms": 6000}, runtime={"commit_interval": "50ms"},
                    **sections)


class Transaction:
    """A producer of its own that has sent tombstones, and holds its transaction open."""

    def __init__(self, topic, name="foreign", key="zz", timeout_ms=600000):
        self.topic = topic
        self.kcat = subprocess.Popen(
            [*fisd_test.kcat_command(), "-P", "-t", topic, "-K:", "-Z", "-X",
             f"transactional.id={name}-{topic}" if name == "foreign" else f"transactional.id={name}",
             "-X", "linger.ms=0", "-X", f"transaction.timeout.ms={timeout_ms}"],
            stdin=subprocess.PIPE)
        self.kcat.stdin.write((key.encode() + b":\n") * 256)  # kcat reads 1024 bytes at a time
        self.kcat.stdin.flush()
        wait(lambda: self.uncommitted() > len(fisd_test.consume(topic)), f"it is open on {topic}")

    def uncommitted(self):
        return len(fisd_test.kcat(["-C", "-t", self.topic, "-e", "-X",
                                   "isolation.level=read_uncommitted", "-f", "x"]))

    def commit(self):
        """Returns when it is decided, which may be before it is written to the topic."""
        self.kcat.stdin.close()
        same(self.kcat.wait(180), 0, "kcat")


def feed(p, first, n=300):
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                          for r in ROWS[first:first + n]])


def asked(p):
    ids = [m.key for m in p.consume("label-requests")]
    same(len(ids), len(set(ids)), "an id was asked for twice")
    return ids


def not_ready(node):
    """What /readyz says."""
    return Client(node.log_fields("http")["address"]).get("/readyz").text


def waits(node, topic, since):
    what = f"waiting for an open transaction on {topic}[0] at offset "
    node.wait_log(r' waiting role=\w+ text="' + re.escape(what) + r"\d+", since)
    wait(lambda: what in not_ready(node), "/readyz says " + what, alive=node.alive)


@test("the start waits for the ledger, heads and models, one after the other; nothing is lost")
def _():
    with Pipeline(config()) as p:
        p.start(ready=" ready ready=yes")
        first = {t: Transaction(p.topic(t)) for t in ("ledger", "heads", "models")}
        feed(p, 0)
        p.wait_messages("label-requests", ASKED)
        same(p.stop(), 0)
        since = len(p.log())
        p.start(ready=None)
        for topic in first:
            p.wait_log(rf'waiting for an open transaction on {p.topic(topic)}\[0\] at offset', since)
        has(not_ready(p), "waiting for an open transaction on ")
        r = p.fisctl("labels", "status", timeout=180)
        assert r.returncode != 0, r.stdout
        has(r.stderr, "waiting for an open transaction on " + p.topic("ledger"))
        found = p.fisctl("doctor").stdout
        for t in first:
            has(found, f"{p.topic(t)}: a transaction that has been open")
        has(found, "kafka-transactions.sh --bootstrap-server")
        feed(p, 0)  # what was scored before, again
        for t in ("models", "heads"):
            first[t].commit()
            p.alive()
            assert " restored " not in p.log()[since:], "it did not wait"
        same(len(asked(p)), ASKED)
        first["ledger"].commit()
        p.wait_log(r" restored .* entries=(?!0 )", since)
        p.wait_log(r" ready ready=yes", since)
        same(len(set(asked(p))), ASKED)


@contextlib.contextmanager
def validated_by_topic(session_ms=6000):
    c = config(validation={"source": "topic"})
    c["kafka"]["session.timeout.ms"] = session_ms
    del c["validation"]["file"]
    with Pipeline(c) as p:
        columns = ["age", "hours", "job", "score", "hired", "group"]
        p.produce("validation", [(r["id"].encode(), record_json(r, columns, with_id=False))
                                 for r in people(400, 2)])
        yield p


@test("a standby in whose way a transaction is takes over when that ends; so does the role's topic")
def _():
    with validated_by_topic() as p:
        a, b = p.node("a", "trainer"), p.node("b", "trainer")
        scorer = p.node("s", "scorer").start(ready=None)
        a.start()
        b.start(ready=r"ready to lead")
        ledger, validation = Transaction(p.topic("ledger")), Transaction(p.topic("validation"))
        feed(p, 0)
        p.wait_messages("label-requests", ASKED)
        since = len(b.log())
        a.kill()
        waits(b, p.topic("ledger"), since)
        ledger.commit()
        waits(b, p.topic("validation"), since)
        assert " takeover " not in b.log()[since:], "it did not wait"
        validation.commit()
        b.wait_log(r" takeover role=trainer ", since)
        same(len(asked(p)), ASKED)
        scorer.alive()


def asks_only():
    """A request for a topic that is not there does not make it, with the broker's own policy."""
    with Pipeline(config(topics={"create": False}), topics=False) as p:
        p.start(ready=r"does not exist \(topics.create is off\)")
        for command in (["topics", "check"], ["doctor"], ["ledger", "export"], ["topics", "check"]):
            same(p.fisctl(*command).returncode, 1, command)
        same(p.fisctl("topics", "check").stdout.count("does not exist"), 10)


def loses_its_end(broker):
    """What was acknowledged and is gone with the end of the ledger is missed: at a start, and between
    what a leader has read and its first message there."""
    with validated_by_topic(session_ms=45000) as p:  # its leader outlives the broker's restart
        p.start(ready=" ready ready=yes")
        feed(p, 0)
        p.wait_messages("label-requests", ASKED)
        same(p.stop(), 0)
        broker.lose_tail(p.topic("ledger"), 200)
        since = len(p.log())
        p.start(ready=None)
        assert p.ended() != 0, "it goes on"
        has(p.log()[since:], "its end is lost", "what was requested in it may be requested again")
        code = re.search(r"accept_change: (lost\d+)", p.log()[since:])[1]
        p.config["accept_change"] = code
        p.save()
        since = len(p.log())
        p.start(ready=" ready ready=yes")
        has(p.log()[since:], f" ledger_lost topic={p.topic('ledger')}", f"accepted={code}")
        feed(p, 300)  # and the next start has nothing to accept
        wait(lambda: len(p.consume("label-requests")) > ASKED, "requests", alive=p.alive)
        same(p.stop(), 0)
        validation = Transaction(p.topic("validation"))
        since = len(p.log())
        p.start(ready=None)
        waits(p, p.topic("validation"), since)
        broker.lose_tail(p.topic("ledger"), 200)
        validation.kcat.kill()
        Transaction(p.topic("validation")).commit()  # it begins by ending the one that was open
        # It halts, or Kafka misses a message of its own and ends it; nothing is committed.
        wait(lambda: p.process.poll() or " halted role=trainer " in p.log()[since:], "the leader misses it")
        p.kill()
        since = len(p.log())
        p.start(ready=None)
        assert p.ended() != 0, "it goes on"
        has(p.log()[since:], "its end is lost")


@test("what a killed broker has left open of an earlier trainer is ended, and does not count")
def _():
    broker = Broker("transaction.partition.verification.enable=false",
                    "auto.create.topics.enable=true")
    try:
        asks_only()
        with Pipeline(config()) as p:
            p.start(ready=" ready ready=yes")
            feed(p, 0)
            p.wait_messages("label-requests", ASKED)
            same(p.stop(), 0)
            held = len(p.consume("ledger"))
            hang(f"{p.name}-trainer", p.topic("ledger"), b"zz")
            since = len(p.log())
            p.start(ready=None)
            p.wait_log(r" restored .* entries=(?!0 )", since)
            feed(p, 0)
            p.wait_log(r" scored records=300 ", since)
            same(len(asked(p)), ASKED)
            keys = [m.key for m in p.consume("ledger")]
            assert len(keys) >= held and b"zz" not in keys, "half a unit counts"
            same(p.stop(), 0)
            hang(f"{p.name}-trainer", p.topic("label-requests"), b"zz")  # nothing else is held back
            p.start(ready=" ready ready=yes")
            r = p.fisctl("labels", "resend", "--open", timeout=180)
            same(r.returncode, 0, r.stdout + r.stderr)
            wait(lambda: len(p.consume("label-requests")) == 2 * ASKED, "requests are read again",
                 alive=p.alive)
        loses_its_end(broker)
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
