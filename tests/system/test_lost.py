#!/usr/bin/env python3
"""K15 and K16 for the trainer: out of its group and unaware of it; and labels that retention has
removed before they were read."""

import json
import re
import signal
import time

from fisd_test import ENDLESS, Pipeline, fields, has, main, people, record_json, same, t_config, test, wait
from fisd_process import stalled
from http_client import client_of, value
from own_broker import (add_partitions, committed, delete_records, delete_topic, set_topics, tool)

ROWS = list(people(8000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}
JUNK = (b"1", b"no entry")


def config(labels=None, kafka=None, training=None, **selection):
    return t_config(selection={"labels_per_round": 32, "window_records": 500, **selection},
                    labels=labels or {},
                    kafka={"session.timeout.ms": 6000, "heartbeat.interval.ms": 500,
                           **(kafka or {})},
                    training={"warm_up_epochs": 5, "steps_per_round": 60, **(training or {})},
                    runtime={"commit_interval": "50ms"})


def feed(p, first, n):
    p.produce("records", [(None, record_json(r)) for r in ROWS[first:first + n]])


def asked(p):
    bodies = [(m.key.decode(), json.loads(m.value)) for m in p.consume("label-requests")]
    ids = [k for k, b in bodies if not b.get("cancelled")]
    same(len(ids), len(set(ids)), "an id was asked for twice")
    return ids, [k for k, b in bodies if b.get("cancelled")]


def answer(p, ids):
    p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode()) for i in ids])


def states(p):
    newest = {m.key.decode(): dict(fields(m.value)) for m in p.consume("ledger")
              if m.value not in (None, *JUNK) and not m.key.startswith(b"\0")}
    return {k: f[1] for k, f in newest.items() if f[1] > 1}


def used(p):
    return {k for k, s in states(p).items() if s in (3, 4)}


def wait_version(p, n):
    wait(lambda: any(m.key.startswith(b"%d/" % n) for m in p.consume("models")), f"version {n}",
         alive=p.alive)


@test("K15: all in one process, suspended for longer than its sessions: it finds back by itself")
def _():
    with Pipeline(config(kafka={"max.poll.interval.ms": 10000}, budget=64)) as p:
        p.start()
        feed(p, 0, 500)
        wait(lambda: len(asked(p)[0]) == 32, "requests", alive=p.alive)
        since = len(p.log())
        p.signal(signal.SIGSTOP)
        feed(p, 500, 5000)
        answer(p, asked(p)[0])
        until = time.monotonic() + 20
        wait(lambda: time.monotonic() > until, "20 s")
        p.signal(signal.SIGCONT)
        began = time.monotonic()
        p.wait_log(r" (stepped_down|fenced) role=trainer ", since, 30)
        p.wait_log(r" takeover role=trainer ", since, 30)
        p.wait_log(r" assigned role=scorer partitions=1", since, 30)
        print(f"# it works again after {time.monotonic() - began:.1f} s", flush=True)
        wait_version(p, 2)
        wait(lambda: len(asked(p)[0]) == 64, "requests of the second round", alive=p.alive)
        answer(p, asked(p)[0][32:])
        wait_version(p, 3)
        same(len(used(p)), 64, "labels")
        same(len(p.consume("dead-letter")), 0, "dead letters")
        wait(lambda: p.log_fields("scored").get("lag") == "0", "no lag", alive=p.alive)


@test("K15: a job that takes longer than max.poll.interval.ms: nobody leaves a group")
def _():
    with Pipeline(config(kafka={"max.poll.interval.ms": 6000}, training=ENDLESS)) as p:
        p.start()
        feed(p, 0, 500)
        wait(lambda: len(asked(p)[0]) == 32, "requests", alive=p.alive)
        since = len(p.log())
        heads = len(p.consume("heads"))
        answer(p, asked(p)[0][:8])  # a quarter of a round: a job
        wait(lambda: len(used(p)) == 8, "8 labels", alive=p.alive)
        began = time.monotonic()
        feed(p, 500, 500)           # the scorer scores meanwhile
        wait(lambda: p.log_fields("scored").get("records") == "1000", "scored", alive=p.alive)
        wait(lambda: time.monotonic() > began + 12, "12 s of work", alive=p.alive)
        same(len(p.consume("heads")), heads, "heads: the job is over")
        for word in ("revoked", "stepped_down", "fenced", "resuming", "assigned"):
            if stalled(began) > 3:
                break  # a session of 6 s need not survive that
            same(bool(re.search(rf" {word} role=", p.log()[since:])), False, word)
        p.kill()


@test("candidates or dead letters on a compacted topic, which refuses them: the start says what to set")
def _():
    with Pipeline(config()) as p:
        for name in ("candidates", "dead-letter"):
            set_topics("cleanup.policy", "compact", p.topic(name))
            since = len(p.log())
            p.start(ready=None)
            same(p.ended(), 1, "exit status")
            has(p.log()[since:], f"topic {p.topic(name)} has cleanup.policy=compact", "without a key",
                f"--entity-name {p.topic(name)} --add-config cleanup.policy=delete")
            set_topics("cleanup.policy", "delete", p.topic(name))
        p.start()


@test("topics that take small messages: heads, versions and checkpoints go in smaller chunks")
def _():
    c = config(budget=32)
    c["training"]["hidden"] = [64, 64]
    with Pipeline(c) as p:
        set_topics("max.message.bytes", "12000", *[p.topic(t) for t in ("heads", "models", "ledger")])
        p.start()
        has(p.log(), "warn limit topics.max_chunk=")
        assert len([m for m in p.consume("models") if m.key.startswith(b"1/")]) > 2, "chunks"
        feed(p, 0, 500)
        wait(lambda: len(asked(p)[0]) == 32, "requests", alive=p.alive)
        same(p.stop(), 0)
        p.start(ready=r" restored round=1 .* checkpoint=yes")
        same(len(asked(p)[0]), 32)


def made_again(p, topic):
    delete_topic(p.topic(topic))
    wait(lambda: p.fisctl("topics", "create").returncode == 0 and
         p.fisctl("topics", "check").returncode == 0, f"{topic} is there again")


@test("labels, records and candidates recreated, with as many messages as were read: they are read")
def _():
    # It keeps its place for as long as making the topics takes.
    quick = {"topic.metadata.refresh.interval.ms": 1000, "session.timeout.ms": 250000}
    with Pipeline(config(kafka=quick, budget=64)) as p:
        p.start()
        feed(p, 0, 500)
        ids = wait(lambda: len(asked(p)[0]) == 32 and asked(p)[0], "requests", alive=p.alive)
        answer(p, ids[:16])
        wait(lambda: len(used(p)) == 16, "16 labels", alive=p.alive)
        wait(lambda: not p.fisctl("labels", "status").returncode, "it is idle", alive=p.alive)
        since = len(p.log())
        p.signal(signal.SIGSTOP)
        for topic in ("labels", "records", "candidates"):
            made_again(p, topic)
        answer(p, ids[16:])
        feed(p, 500, 500)
        p.signal(signal.SIGCONT)
        p.wait_log(rf" error offsets_lost topic={p.topic('labels')} partition=0 expected=16 "
                   r"first_kept=0 .*recreated", since)
        p.wait_log(rf" warn reset role=scorer topic={p.topic('records')} partition=0 expected=500 "
                   r"first_kept=0 .*recreated", since)
        p.wait_log(rf" warn offsets_lost topic={p.topic('candidates')} .*recreated", since)
        wait(lambda: len(used(p)) == 32, "all answers", alive=p.alive)
        wait(lambda: len(asked(p)[0]) > 32, "requests of the new records", alive=p.alive)


@test("K16: labels that were removed before they were read: an error, and their requests expire")
def _():
    for replace in (True, False):
        with Pipeline(config(labels={"replace": replace}, budget=40)) as p:
            p.start()
            feed(p, 0, 500)
            ids = wait(lambda: len(asked(p)[0]) == 32 and asked(p)[0], "requests", alive=p.alive)
            answer(p, ids[:8])
            wait(lambda: len(used(p)) == 8, "8 labels", alive=p.alive)
            same(p.stop(), 0, "exit status")
            answer(p, ids[8:20])
            delete_records(p.topic("labels"), 0, 18)  # ten of the twelve, unread
            p.start(ready=r" error offsets_lost topic=\S+\.labels partition=0 expected=8 "
                          r"first_kept=18 lost=10 ")
            p.wait_log(r" labels_lost labels=10 expired=24 ")
            wait(lambda: len(used(p)) == 10, "the two that were left, late", alive=p.alive)
            # Replaced, they cost nothing: 10 are paid for, 30 may be asked for besides, 32 in a
            # round. Else all 32 are, and 8 are left of the budget.
            count = 32 + (30 if replace else 8)
            wait(lambda: len(asked(p)[0]) == count or len(asked(p)[0]) > 32, "others instead",
                 alive=p.alive)
            same(sorted(asked(p)[1]), sorted(ids[8:]), "withdrawn")
            same(len(p.consume("dead-letter")), 0, "dead letters")
            s = states(p)
            charged = sum(1 for k, v in s.items() if v in (2, 3, 4) or v == 5 and not replace)
            assert charged <= 40, f"{charged} are charged on a budget of 40"


@test("K16: the labels topic recreated: what it has is read from its beginning")
def _():
    with Pipeline(config(budget=64)) as p:
        p.start()
        feed(p, 0, 500)
        ids = wait(lambda: len(asked(p)[0]) == 32 and asked(p)[0], "requests", alive=p.alive)
        answer(p, ids[:16])
        wait(lambda: len(used(p)) == 16, "16 labels", alive=p.alive)
        same(p.stop(), 0, "exit status")
        delete_topic(p.topic("labels"))
        wait(lambda: p.fisctl("topics", "create").returncode == 0 and
             p.fisctl("topics", "check").returncode == 0, "the topic is there again")
        answer(p, ids[16:20])
        p.start(ready=r" restored ")
        wait(lambda: len(used(p)) == 20, "4 labels of the new topic", alive=p.alive)
        answer(p, ids[20:])
        wait_version(p, 2)


MEMORY = ("ledger", "heads", "models")


def refused(p, *parts):
    """A start that ends with status 1; its reason."""
    since = len(p.log())
    p.start(ready=None)
    same(p.ended(), 1, "exit status")
    reason = re.search(r"failed role=\w+ reason=\"(.*)\"$", p.log()[since:], re.M).group(1)
    has(reason, *parts)
    return reason


@test("topics that delete what has to stay: named with the command that sets them, and no start "
      "until it was run")
def _():
    with Pipeline(config(budget=64)) as p:
        ledger, heads, models = (p.topic(t) for t in MEMORY)
        set_topics("cleanup.policy", "delete", ledger)
        set_topics("retention.ms", "60000", ledger)
        set_topics("cleanup.policy", "compact,delete", heads)
        r = p.fisctl("topics", "create")
        same(r.returncode, 1, r.stdout)
        has(r.stdout, "cleanup.policy is delete, expected compact",
            "cleanup.policy is compact,delete, expected compact")
        commands = [line for line in r.stdout.split("\n") if line.startswith("kafka-configs.sh ")]
        same(len(commands), 2, r.stdout)
        refused(p, f"topic {heads} has cleanup.policy=compact,delete", commands[0])
        has(p.log(), f"topic name={ledger} cleanup=delete retention_ms=60000 command=", commands[1])
        for command in commands:
            tool("ConfigCommand", *command.split()[3:])
        same(p.fisctl("topics", "check").returncode, 0, "fisctl topics check")
        p.start()


@test("a ledger whose messages were deleted is no new one")
def _():
    with Pipeline(config(budget=64)) as p:
        p.start()
        feed(p, 0, 500)
        wait(lambda: len(asked(p)[0]) == 32, "requests", alive=p.alive)
        same(p.stop(), 0, "exit status")
        topics = [p.topic(t) for t in MEMORY]
        set_topics("cleanup.policy", "compact,delete", *topics)
        for topic in topics:
            delete_records(topic, 0, -1)
        set_topics("cleanup.policy", "compact", *topics)
        refused(p, topics[0], "written before", "restore all three from one backup")
        same(len(asked(p)[0]), 32, "requests")


@test("topics that are not there and are not to be created are waited for, and named")
def _():
    with Pipeline(config(budget=64), topics=False) as p:
        p.config["topics"]["create"] = False
        p.save()
        p.start(ready=f"topic {p.topic('heads')} does not exist|topic {p.topic('ledger')} does not exist")
        p.make_topics()
        p.wait_log(r" version version=1 ")


PARTITIONS = {"topic.metadata.refresh.interval.ms": 1000}


@test("partitions that are added while it runs are read from their beginning, and one order stays")
def _():
    with Pipeline(config(budget=64, kafka=PARTITIONS)) as p:
        p.start()
        feed(p, 0, 500)
        wait(lambda: len(asked(p)[0]) == 32, "requests", alive=p.alive)
        for topic in ("labels", "candidates", *MEMORY, "control"):
            add_partitions(p.topic(topic), 3)
        first = asked(p)[0]
        p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode()) for i in first[:20]],
                  partition=2)
        p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode()) for i in first[20:]],
                  partition=1)
        wait_version(p, 2)
        for n in range(3):
            same(value(client_of(p).metrics(), "fisd_lag_messages", role="trainer",
                       topic=p.topic("labels"), partition=str(n)), 0, f"lag of partition {n}")
        feed(p, 500, 1500)
        wait(lambda: len(asked(p)[0]) == 64, "requests of the second round", alive=p.alive)
        same(p.stop(), 0, "exit status")
        wait(lambda: committed(f"{p.name}-trainer", p.topic("labels"), [1, 2]) == {1: 12, 2: 20},
             "offsets 12 and 20 are committed")
        for topic in ("candidates", *MEMORY):
            same({m.partition for m in p.consume(topic)}, {0}, f"partitions of {topic}")
        p.start(ready=r" restored round=")
        has(p.log(), f"topic name={p.topic('ledger')} partitions=3 ")
        answer(p, asked(p)[0][32:])
        wait_version(p, 3)
        same(len(used(p)), 64, "labels")
        same(len(p.consume("dead-letter")), 0, "dead letters")


@test("a topic of its own that is deleted while it runs is waited for, by name, and nothing is lost")
def _():
    with Pipeline(config(budget=64, kafka=PARTITIONS)) as p:
        p.start()
        for n in range(1, 11):
            feed(p, 50 * n - 50, 50)
            p.wait_counts("scored", records=50 * n)
        wait(lambda: len(asked(p)[0]) == 32, "requests", alive=p.alive)
        answer(p, asked(p)[0])
        wait_version(p, 2)
        delete_topic(p.topic("candidates"))
        feed(p, 500, 1500)
        p.wait_log(rf"kafka who=scorer text=.*{p.topic('candidates')}.*waiting for it")
        ready = client_of(p).get("/readyz")
        same(ready.status, 503, ready.text)
        has(ready.text, f"topic {p.topic('candidates')} is missing", "create it again")
        p.make_topics()
        wait(lambda: len(asked(p)[0]) == 64, "requests of the second round", alive=p.alive)
        wait(lambda: client_of(p).get("/readyz").status == 200, "ready", alive=p.alive)
        answer(p, asked(p)[0][32:])
        wait_version(p, 3)
        same(len(p.consume("dead-letter")), 0, "dead letters")
        wait(lambda: p.log_fields("scored").get("lag") == "0", "no lag", alive=p.alive)
        delete_topic(p.topic("dead-letter"))
        p.produce("labels", [(b"nobody", b'{"label": "yes"}')])
        p.wait_log(rf"kafka who=trainer text=.*{p.topic('dead-letter')}.*waiting for it: create it again")
        p.make_topics()
        wait(lambda: len(p.consume("dead-letter")) == 1, "the dead letter", alive=p.alive)
        same(len(used(p)), 64, "labels")


@test("what others write to the pipeline's own topics is named and left out, and the start goes on")
def _():
    memory = ("ledger", "heads", "models")
    with Pipeline(config(budget=64)) as p:
        p.start()
        feed(p, 0, 500)
        ids = wait(lambda: len(asked(p)[0]) == 32 and asked(p)[0], "requests", alive=p.alive)
        answer(p, ids[:16])
        wait(lambda: len(used(p)) == 16, "16 labels", alive=p.alive)
        same(p.stop(), 0, "exit status")
        for topic in (*memory, "candidates", "labels", "control"):
            p.produce(topic, [(b"zz", JUNK[0]), (b"z z", None)])
        p.produce("ledger", [(b"\0", JUNK[0]), (ids[0].encode(), JUNK[1])])
        since = len(p.log())
        p.start(ready=r" restored .* entries=(?!0 )")
        for topic in memory:
            p.wait_log(rf' error left_out role=trainer reason="{p.topic(topic)} partition 0 offset '
                       r"\d+ key 'zz': ", since)
        p.wait_log(rf' error left_out role=scorer topic={p.topic("heads")} partition=0 ', since)
        p.wait_log(r" alarm name=left_out state=raised ", since)
        same(len(re.findall(r" left_out role=trainer ", p.log()[since:])), 5)
        answer(p, ids[16:])
        wait_version(p, 2)
        same(len(used(p)), 32, "labels")
        letters = {m.headers["fis.error.topic"] for m in p.consume("dead-letter")}
        same(letters, {p.topic(t) for t in ("candidates", "labels", "control")}, "dead letters of")
        for command in (("models", "list"), ("labels", "status"), ("models", "show", "2")):
            r = p.fisctl(*command)
            same(r.returncode, 0, r.stderr)
        metrics = client_of(p, since=since).metrics()
        same(value(metrics, "fisd_left_out_messages_total", role="trainer"), 5.0)


@test("the ledger deleted and recreated under a leader: it stops asking at once, and so does a start")
def _():
    with Pipeline(config(budget=64)) as p:
        p.start()
        feed(p, 0, 500)
        ids = wait(lambda: len(asked(p)[0]) == 32 and asked(p)[0], "requests", alive=p.alive)
        answer(p, ids[:16])
        wait(lambda: len(used(p)) == 16, "16 labels", alive=p.alive)
        delete_topic(p.topic("ledger"))
        wait(lambda: p.fisctl("topics", "create").returncode == 0 and
             p.fisctl("topics", "check").returncode == 0, "the topic is there again")
        since = len(p.log())
        answer(p, ids[16:])
        p.wait_log(rf" error halted role=trainer topic={p.topic('ledger')} partition=0 ", since)
        p.wait_log(r" alarm name=halted state=raised ", since)
        reply = client_of(p).get("/readyz")
        same(reply.status, 503)
        has(reply.text, "was deleted or cut")
        feed(p, 500, 1000)
        wait(lambda: p.log_fields("scored").get("records") == "1500", "scored", alive=p.alive)
        same(len(asked(p)[0]), 32, "requests")
        assert p.stop() in (0, 1)
        p.start(ready=None)
        p.wait_log(r"is newer than the ledger|messages were deleted", since)
        same(p.ended(), 1, "exit status")
        same(len(asked(p)[0]), 32, "requests")


if __name__ == "__main__":
    main()
