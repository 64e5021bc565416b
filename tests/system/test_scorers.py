#!/usr/bin/env python3
"""Scorers of one group on a real broker: whatever comes and goes, every record is scored; and what
they say when their place in a topic is gone."""

import glob
import json
import os
import re
import signal
import subprocess

from fisd_test import (KAFKA, ROOT, Pipeline, has, main, people, produce, record_json, same,
                       t_config, test, wait)
from http_client import client_of, value

ROWS = list(people(9000, 11))
LIBS = os.path.join(os.environ.get("FISD_KAFKA_CACHE", os.path.join(ROOT, "build/cache/kafka")),
                    "libs")


def trainer(partitions, **sections):
    config = t_config(roles=["trainer"], topics={"partitions": partitions}, **sections)
    if config["selection"].get("mode") == "pool":
        del config["selection"]["window_records"]
    return Pipeline(config)


def scorer(p, **kafka):
    """A scorer of the pipeline, in a process of its own."""
    config = {**p.config, "roles": ["scorer"],
              "kafka": {**p.config["kafka"], "session.timeout.ms": "6000",
                        "heartbeat.interval.ms": "500", **kafka}}
    return Pipeline(config, name="scorer", topics=False)


def stream(p, n, first, partition=None):
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                          for r in ROWS[first:first + n]], partition)


def counted(p):
    """Records that count, as a reader of progress counts them; fails where one was passed over.
    The word of where a partition began may come late, from a scorer that has lost it since."""
    at, top, records = {}, {}, 0
    for _, partition, begin, after, n in p.ranges():
        if begin == after:  # where it began
            at[partition] = begin
            continue
        assert begin <= top.get(partition, 0), f"partition {partition}: {top} and then {begin}"
        top[partition] = max(after, top.get(partition, 0))
        if after > at.get(partition, 0):
            records += min(n, after - at.get(partition, 0))
            at[partition] = after
    return records


def java(tool, *arguments, package="org.apache.kafka.tools"):
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", LIBS + "/*",
               f"{package}.{tool}", "--bootstrap-server", KAFKA, *arguments]
    r = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert r.returncode == 0, f"{tool}: {r.stdout} {r.stderr}"
    return r.stdout


def resets(p):
    return re.findall(r" (info|warn) reset role=scorer topic=\S+ partition=(\d+) expected=(-?\d+) "
                      r"first_kept=(\d+) lost=(\d+) ", p.log())


def come_and_go(strategy):
    kafka = {"partition.assignment.strategy": strategy}
    with trainer(4) as p:
        p.start()
        with scorer(p, **kafka, **{"group.instance.id": "a"}) as a, \
                scorer(p, **kafka, **{"group.instance.id": "b"}) as b, scorer(p, **kafka) as c:
            stream(p, 1500, 0)
            a.start(ready=" assigned role=scorer partitions=4")
            wait(lambda: counted(p) == 1500, "1,500 records counted")
            stream(p, 1500, 1500)
            b.start(ready=" assigned role=scorer partitions=2")
            c.start(ready=" assigned role=scorer partitions=1")
            wait(lambda: counted(p) == 3000, "3,000 records counted")
            stream(p, 1500, 3000)
            a.kill()
            stream(p, 500, 4500)
            rebalances = b.log().count(" revoked ")
            a.start(ready=" assigned role=scorer partitions=")
            wait(lambda: counted(p) == 5000, "5,000 records counted")
            same(b.log().count(" revoked "), rebalances,
                 "rebalances while a member with a name of its own was away")
            c.process.send_signal(signal.SIGSTOP)
            stream(p, 1000, 5000)
            wait(lambda: counted(p) == 6000, "6,000 records counted, one scorer suspended")
            c.process.send_signal(signal.SIGCONT)
            stream(p, 1000, 6000)
            wait(lambda: counted(p) == 7000, "7,000 records counted")
            same(c.stop(), 0, "exit status")
            stream(p, 500, 7000)
            wait(lambda: counted(p) == 7500, "7,500 records counted")


@test("scorers come, are killed and suspended, and every record is scored: eager")
def _():
    come_and_go("range,roundrobin")


@test("scorers come, are killed and suspended, and every record is scored: cooperative")
def _():
    come_and_go("cooperative-sticky")


@test("K15: a scorer that was out of the group finds back, and says when it has no partition")
def _():
    with trainer(1) as p:
        p.start()
        kafka = {"max.poll.interval.ms": "10000"}
        with scorer(p, **kafka) as a, scorer(p, **kafka) as b:
            a.start(ready=" assigned role=scorer partitions=1")
            b.start(ready=" assigned role=scorer partitions=")
            stream(p, 500, 0)
            wait(lambda: counted(p) == 500, "500 records counted")
            none = r" warn assignment role=scorer partitions=0 "
            wait(lambda: re.search(none, a.log() + b.log()), "a scorer without a partition")
            idle, busy = (a, b) if re.search(none, a.log()) else (b, a)
            busy.process.send_signal(signal.SIGSTOP)
            stream(p, 2000, 500)
            idle.wait_log(r" info assignment role=scorer partitions=1")
            wait(lambda: counted(p) == 2500, "2,500 records counted")
            same(idle.stop(), 0, "exit status")
            since = len(busy.log())
            busy.process.send_signal(signal.SIGCONT)
            busy.wait_log(r" assigned role=scorer partitions=1", since, timeout=180)
            stream(p, 500, 2500)
            wait(lambda: counted(p) == 3000, "3,000 records counted")


@test("a scorer whose place another one takes, by the same group.instance.id, joins again")
def _():
    with trainer(2) as p:
        p.start()
        with scorer(p, **{"group.instance.id": "one"}) as s:
            s.start(ready=" assigned role=scorer partitions=2")
            stream(p, 500, 0)
            wait(lambda: counted(p) == 500, "500 records counted")
            other = subprocess.Popen(
                ["kcat", "-b", KAFKA, "-X", "group.instance.id=one", "-q", "-G", f"{p.name}-scorer",
                 p.topic("records")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                s.wait_log(r" warn lost_place role=scorer reason=\".*group.instance.id")
                stream(p, 500, 500)
                wait(lambda: counted(p) == 1000, "1,000 records counted", alive=s.alive)
            finally:
                other.kill()
                other.wait()
            same(s.stop(), 0, "exit status")


@test("K16: offsets that fell off retention are reported, with what is lost, and reading goes on")
def _():
    with trainer(1) as p:
        p.start()
        with scorer(p) as s:
            s.start(ready=" assigned role=scorer partitions=1")
            stream(p, 1000, 0)
            wait(lambda: counted(p) == 1000, "1,000 records counted")
            same(s.stop(), 0, "exit status")
            stream(p, 4000, 1000)
            before = p.write("before.json", (
                '{"partitions": [{"topic": "%s", "partition": 0, "offset": 3000}], "version": 1}'
                % p.topic("records")).encode())
            java("DeleteRecordsCommand", "--offset-json-file", before)
            s.start(ready=" assigned role=scorer partitions=1")
            s.wait_log(r" warn reset ")
            s.wait_counts("scored", records=2000, lost=2000, lag=0)
            same([r for r in resets(s) if r[0] == "warn"],
                 [("warn", "0", "1000", "3000", "2000")], "the line for the partition")
            same(s.stop(), 0, "exit status")


@test("K16: a records topic that was recreated is read from its beginning, and counts")
def _():
    with trainer(1) as p:
        p.start()
        with scorer(p) as s:
            s.start(ready=" assigned role=scorer partitions=1")
            stream(p, 1000, 0)
            wait(lambda: counted(p) == 1000, "1,000 records counted")
            same(s.stop(), 0, "exit status")
            java("TopicCommand", "--delete", "--topic", p.topic("records"))
            since = len(s.log())
            wait(lambda: p.fisctl("topics", "create").returncode == 0 and
                 p.fisctl("topics", "check").returncode == 0, "the topic is there again")
            stream(p, 500, 1000)
            s.start(ready=" assigned role=scorer partitions=1")
            s.wait_log(r" reset role=scorer topic=\S+ partition=0 expected=-?\d+ first_kept=0 "
                       r"lost=0 text=\".*recreated", since)
            s.wait_counts("scored", records=500, lost=0, lag=0)
            wait(lambda: counted(p) == 1500, "500 more counted")


@test("pool mode: each round goes through the whole topic, by two scorers")
def _():
    with trainer(2, selection={"mode": "pool", "labels_per_round": 20}) as p:
        stream(p, 1000, 0, 0)
        stream(p, 1000, 1000, 1)
        p.start()
        with scorer(p) as a, scorer(p) as b:
            a.start(ready=None)
            b.start(ready=None)
            asked = p.wait_messages("label-requests", 20)
            ids = {m.key for m in asked}
            same(len(ids), 20, "records asked for")
            truth = {r["id"].encode(): r["hired"] for r in ROWS}
            p.produce("labels", [(i, ('{"label": "%s"}' % truth[i]).encode()) for i in ids])
            again = p.wait_messages("label-requests", 40)
            same(len({m.key for m in again}), 40, "records asked for, none twice")
            p.wait_log(r" round round=2 scored=2000 ")
            # In the first round, the one that comes first may score what becomes the other's.
            wait(lambda: 4000 <= sum(int(x.log_fields("scored").get("records", 0))
                                     for x in (a, b)), "each round scores all 2,000 records")


def several(p):
    """A second topic of records, with as many partitions; its name."""
    other = p.topic("more-records")
    p.config["topics"]["records"] = [p.topic("records"), other]
    p.save()
    p.make_topics()
    return other


def to(topic, n, first, partition=None):
    produce(topic, [(r["id"].encode(), record_json(r, with_id=False))
                    for r in ROWS[first:first + n]], partition)


@test("several topics of records: every record of each is scored and counted, whichever scorer is killed")
def _():
    with trainer(2, selection={"window_records": 3000}) as p:
        other = several(p)
        p.start()
        with scorer(p, **{"group.instance.id": "a"}) as a, \
                scorer(p, **{"group.instance.id": "b"}) as b:
            a.start(ready=" assigned role=scorer partitions=4")
            b.start(ready=" assigned role=scorer partitions=2")
            stream(p, 1400, 0)
            to(other, 600, 1400)
            wait(lambda: counted(p) == 2000, "2,000 records counted, of both")
            a.kill()
            same(p.stop(), 0)
            p.config["topics"]["records"].reverse()  # the order makes no difference; b has the old one
            p.save()
            a.save()
            p.start(ready=" restored ")
            stream(p, 500, 2000)
            to(other, 500, 2500)
            a.start(ready=" assigned role=scorer partitions=")
            wait(lambda: counted(p) == 3000, "3,000 records counted")
            # The trainer that was started again counts what the first had not committed once more.
            p.wait_log(r" round round=1 scored=[123]000 ")
            to(other, 1, 3000, 1)
            produce(other, [(b"bad", b"{}{}")], 0)
            produce(other, [(None, record_json(ROWS[3001], with_id=False))], 1)
            [bad] = p.wait_messages("dead-letter", 1)
            same(bad.headers["fis.error.topic"], other)
            same(bad.headers["fis.error.partition"], "0")
            wait(lambda: counted(p) == 3002, "what was refused does not count")
            same(a.stop(), 0)
            same(b.stop(), 0)
        for topic in (p.topic("records"), other):
            r = java("ConsumerGroupCommand", "--describe", "--group", f"{p.name}-scorer",
                     package="org.apache.kafka.tools.consumer.group")
            lag = sum(int(line.split()[5]) for line in r.splitlines()
                      if line.split()[1:2] == [topic])
            same(lag, 0, f"lag of {topic}")


@test("several topics of records, pool mode: a scan goes through all of them")
def _():
    with trainer(2, selection={"mode": "pool", "labels_per_round": 20}) as p:
        other = several(p)
        stream(p, 600, 0)
        to(other, 900, 600)
        p.start()
        p.config["topics"]["records"].reverse()  # the order makes no difference
        with scorer(p) as a, scorer(p) as b:
            a.start(ready=None)
            b.start(ready=None)
            asked = p.wait_messages("label-requests", 20)
            truth = {r["id"].encode(): r["hired"] for r in ROWS}
            p.produce("labels", [(m.key, ('{"label": "%s"}' % truth[m.key]).encode()) for m in asked])
            p.wait_log(r" round round=2 scored=1500 ")


@test("every process shows what the pipeline does, and links to the others; none needs the trainer for it")
def _():
    with Pipeline(t_config(topics={"partitions": 2},
                           selection={"labels_per_round": 32, "window_records": 4000})) as p:
        nodes = [p.node("t", "trainer"), p.node("s1", "scorer"), p.node("s2", "scorer"),
                 p.node("standby", "trainer")]
        for n in nodes:
            n.start(ready=r" started ")
        clients = [client_of(n) for n in nodes]
        urls = {f"http://{c.address}/" for c in clients}

        def see(c, condition, what):
            wait(lambda: condition(c.api("fleet")), f"{c.address}: {what}")
        for c in clients:
            wait(lambda: [v["version"] for v in c.api("versions")["versions"]] == [1], "the version")
            same(c.api("status")["served"]["version"], 1, "what is served")
            see(c, lambda f: {x["address"] for x in f["processes"]} == urls, "all processes")
            see(c, lambda f: f["sums"]["leader"] and f["sums"]["trainers_ready"] == 2, "who leads")
        p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in ROWS[:2500]])
        for c in clients:
            see(c, lambda f: f["sums"]["records"] == 2500, "the records of all scorers")
            leading = [x["trainer"]["leading"] for x in c.api("fleet")["processes"]
                       if (x["trainer"] or {}).get("leads")]
            same(len(leading), 1, "leaders")
            has(leading[0]["asking"]["text"], "of 4,000 records of the window")
            m = c.metrics()
            same((value(m, "fisd_version", which="served"),
                  value(m, "fisd_fleet_processes", role="scorer", state="ready"),
                  value(m, "fisd_fleet_leader")), (1, 2, 1), c.address)
            assert value(m, "fisd_accuracy_ratio", model="served") > 0.5
        shown = json.loads(p.fisctl("status", "--json").stdout)
        same((shown["served"], len(shown["processes"]), shown["leader"] is None), (1, 4, False))
        has(p.fisctl("status").stdout, "version 1", "of 4,000 records of the window", *urls)
        # One that ends says so; the others go on without the trainer.
        same((nodes[0].stop(), nodes[3].stop()), (0, 0), "exit statuses")
        for c in clients[1:3]:
            see(c, lambda f: f["sums"]["leader"] is None and len(f["processes"]) == 2, "the end of two")
            same(c.api("status")["served"]["version"], 1, "what is served without a trainer")


if __name__ == "__main__":
    assert glob.glob(LIBS + "/kafka-tools*"), f"no Kafka tools in {LIBS}: kafka.sh fetch"
    main()
