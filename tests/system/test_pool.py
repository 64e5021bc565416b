#!/usr/bin/env python3
"""Pool mode: each round scores all that the topic had when it began, and asks for the best of it
that was not asked for; through restarts, with scorers that come and go."""

import json

from fisd_test import Pipeline, main, people, record_json, same, t_config, test, wait
from own_broker import delete_records

ROWS = list(people(6000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}


def config(partitions, rounds, r=16, **sections):
    c = t_config(topics={"partitions": partitions},
                 training={"warm_up_epochs": 5, "steps_per_round": 60},
                 kafka={"session.timeout.ms": 6000, "heartbeat.interval.ms": 500,
                        "group.instance.id": "one"},
                 runtime={"commit_interval": "50ms"}, **sections)
    c["selection"] = {"mode": "pool", "labels_per_round": r, "rounds": rounds}
    return c


def fill(p, first, n):
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                          for r in ROWS[first:first + n]])
    return {r["id"] for r in ROWS[first:first + n]}


def asked(p):
    """round -> ids."""
    found = {}
    for m in p.consume("label-requests"):
        body = json.loads(m.value)
        if not body.get("cancelled"):
            found.setdefault(body["round"], []).append(m.key.decode())
    every = [i for ids in found.values() for i in ids]
    same(len(every), len(set(every)), "an id was asked for twice")
    return found


def answer(p, ids):
    p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode()) for i in ids])


def scans(p):
    """scan -> {partition: [(begin, next)] in the order in which scorers reported them}."""
    found = {}
    for r in p.ranges():
        found.setdefault(r.scan, {}).setdefault(r.partition, []).append((r.begin, r.next))
    return found


def covered(p, ends):
    """Every scan that was followed to its end went over all of each partition, and not beyond."""
    for scan, parts in scans(p).items():
        assert scan > 0, "progress of no scan"
        for partition, ranges in parts.items():
            at = 0
            for begin, after in sorted(ranges):
                assert begin <= at, f"scan {scan}: {partition}: offsets {at} to {begin} are missing"
                at = max(at, after)
            assert at <= ends[partition], f"scan {scan}: {partition}: up to {at}"


def ends(p):
    found = {}
    for m in p.consume("records"):
        found[m.partition] = max(found.get(m.partition, 0), m.offset + 1)
    return found


def wait_round(p, n, r=16):
    """Until the requests of a round are there; its ids."""
    wait(lambda: len(asked(p).get(n, [])) == r, f"the requests of round {n}", alive=p.alive)
    return asked(p)[n]


@test("of 400 copies of a row one is asked for in a round, by two scorers; the others wait")
def _():
    with Pipeline(config(4, 3)) as p:
        other = p.node("other", "scorer", kafka={"group.instance.id": "other"})
        p.start()
        other.start(ready=r" assigned role=scorer partitions=[1-9]")
        fill(p, 0, 300)
        p.produce("records", [(b"copy%d" % i, record_json(ROWS[5], with_id=False))
                              for i in range(400)])
        for n in (1, 2, 3):
            ids = wait_round(p, n)
            copies = [i for i in ids if i.startswith("copy") or i == ROWS[5]["id"]]
            assert len(copies) <= 1, f"round {n}: {copies}"
            p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH.get(i, "no")}).encode())
                                 for i in ids])
        p.wait_log(r" done rounds=3 ")
        # All copies are as good as the first of them, so they come in turn, in the order of ids.
        found = [i for ids in asked(p).values() for i in ids if i.startswith("copy")]
        same(found, sorted(found), "copies")


@test("each round is over the whole topic, as it was when it began; nothing is asked for again")
def _():
    with Pipeline(config(3, rounds=4)) as p:
        pool = fill(p, 0, 900)
        p.start()
        first = wait_round(p, 1)
        more = fill(p, 900, 900)  # after the round began: not for this round
        same(set(first) - pool, set(), "asked for beyond the end of the scan")
        answer(p, first)
        rounds = [first]
        for n in (2, 3, 4):
            rounds.append(wait_round(p, n))
            answer(p, rounds[-1])
        p.wait_log(r" done rounds=4 labels=64")
        both = set().union(*rounds[1:])
        assert both & more and both & pool, "the later rounds are over both"
        covered(p, ends(p))
        full = [s for s in scans(p).values()
                if {k: max(b for _, b in v) for k, v in s.items()} == ends(p)]
        assert len(full) >= 3, f"{len(full)} scans went to the end"
        print(f"# {len(scans(p))} scans", flush=True)


@test("killed in the middle of scans: the round is the same as without")
def _():
    chosen = []
    for kills in (0, 4):
        with Pipeline(config(2, rounds=2), name=f"pool{kills}") as p:
            fill(p, 0, 3000)
            for _ in range(kills):
                p.start(ready=r" (leader|takeover) role=trainer took_ms=")
                n = len(p.consume("candidates"))
                wait(lambda: len(p.consume("candidates")) > n or " asked " in p.log(), "a scan",
                     alive=p.alive)
                p.kill()
            p.start(ready=r" assigned role=trainer ")
            ids = wait_round(p, 1)
            answer(p, sorted(ids))
            second = wait_round(p, 2)
            chosen.append((sorted(ids), len(set(second) & set(ids))))
            covered(p, ends(p))
    same(chosen[1], chosen[0], "what was asked for")


@test("scorers come and go during scans; the trainer is taken over")
def _():
    with Pipeline(config(4, rounds=3)) as p:
        del p.config["kafka"]["group.instance.id"]
        p.save()
        fill(p, 0, 4000)
        nodes = {n: p.node(n, role) for n, role in
                 (("t1", "trainer"), ("t2", "trainer"), ("s1", "scorer"), ("s2", "scorer"))}
        for n in ("t1", "t2", "s1"):
            nodes[n].start(ready=None)
        nodes["s1"].wait_log(r" scan role=scorer ")
        nodes["s2"].start(ready=None)
        ids = wait_round_nodes(p, nodes, 1)
        nodes["s1"].kill()
        answer(p, ids)
        ids = wait_round_nodes(p, nodes, 2)
        nodes["s1"].start(ready=None)
        leads = r'took_ms=\d+ text="leads'
        leader = max(("t1", "t2"), key=lambda n: max(nodes[n].times(leads), default=0))
        nodes[leader].kill()
        answer(p, ids)
        ids = wait_round_nodes(p, nodes, 3)
        answer(p, ids)
        other = nodes["t2" if leader == "t1" else "t1"]
        other.wait_log(r" done rounds=3 labels=48")
        covered(p, ends(p))


def wait_round_nodes(p, nodes, n):
    def there():
        for node in nodes.values():
            if node.process:
                node.alive()
        return len(asked(p).get(n, [])) == 16
    wait(there, f"the requests of round {n}")
    return asked(p)[n]


@test("an empty topic; and partitions of which the beginning is gone")
def _():
    with Pipeline(config(2, rounds=0)) as p:
        p.start()
        p.produce("records", [(b"other", b"{no record")], 1)
        p.wait_log(r" round round=1 scored=\d+ candidates=0 ")
        same(p.stop(), 0, "exit status")  # else a scan may come before the records are gone
        for partition, first in ((0, 0), (1, 300)):
            p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                                  for r in ROWS[first:first + 300]], partition)
        delete_records(p.topic("records"), 0, 200)
        p.start(ready=r" restored ")
        wait(lambda: asked(p), "requests", alive=p.alive)
        (n, ids), = asked(p).items()
        gone = {r["id"] for r in ROWS[:200]}
        answer(p, wait_round(p, n))
        second = wait_round(p, n + 1)
        same(set(second) & gone, set(), "asked for, though it is gone")
        answer(p, second)
        p.wait_log(rf" version version=\d+ round={n + 1} ")


if __name__ == "__main__":
    main()
