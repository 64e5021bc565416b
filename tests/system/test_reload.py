#!/usr/bin/env python3
"""SIGHUP, again and again and at bad moments: one line of an error or of what changed, the old
configuration goes on, nothing leaks, nothing ends."""

import os
import re
import signal
import time

from fisd_test import Pipeline, has, main, people, record_json, same, t_config, test, wait
from http_client import client_of, value


def config():
    return t_config(http={"listen": "127.0.0.1:0"},
                    selection={"labels_per_round": 40, "window_records": 200, "in_flight": 10,
                               "heap": 80})


def descriptors(p):
    return len(os.listdir(f"/proc/{p.process.pid}/fd"))


def reloads(p, since=0):
    return re.findall(r"^\S+ \w+ reload .*$", p.log()[since:], re.M)


def hang_up(p):
    """SIGHUP; the lines about it."""
    since = len(p.log())
    p.signal(signal.SIGHUP)
    wait(lambda: reloads(p, since), "a line on the reload", alive=p.alive)
    return reloads(p, since)


def limit_goes_up(p, c):
    """From 10 to 20, by way of a file with a mistake."""
    p.config["selection"]["in_flight"] = 20
    p.save()
    with open(p.config_path, "a", encoding="utf-8") as f:
        f.write("oops: [\n")
    lines = hang_up(p)
    same(len(lines), 1)
    assert re.search(r" error reload .*fisd\.yaml:\d+:\d+: ", lines[0]), lines[0]
    has(lines[0], "nothing was changed")
    same(c.get("/readyz").status, 200)
    same(len(p.wait_messages("label-requests", 10)), 10, "requests under the old limit")
    same(value(c.metrics(), "fisd_label_requests_open"), 10)
    p.save()
    lines = hang_up(p)
    same(len(lines), 1)
    has(lines[0], 'changed="selection.in_flight"')
    same(len(p.wait_messages("label-requests", 20)), 20, "requests under the new limit")


def what_needs_a_restart(p, c):
    p.config["http"]["listen"] = "127.0.0.1:1"
    p.config["topics"]["labels"] = p.topic("other-labels")
    p.save()
    lines = hang_up(p)
    same(len(lines), 1)
    assert re.search(r" warn reload .*not_changed=\"topics.labels, http.listen\" .*restart",
                     lines[0]), lines[0]
    assert "in use" not in p.log()
    same(c.get("/healthz").status, 200, "where it listened it listens")
    p.config["http"]["listen"] = "127.0.0.1:0"
    del p.config["topics"]["labels"]
    p.save()
    has(hang_up(p)[0], "nothing differs")


def ten_in_a_second(p, c):
    before, since = descriptors(p), len(p.log())
    for i in range(10):
        p.config["selection"]["in_flight"] = 20 + i % 2
        p.save()
        p.signal(signal.SIGHUP)
        time.sleep(0.1)  # of the trial: ten of them in a second
    p.config["selection"]["in_flight"] = 20
    p.save()
    hang_up(p)
    assert len(reloads(p, since)) <= 11, reloads(p, since)
    same(c.get("/readyz").status, 200)
    wait(lambda: descriptors(p) <= before, f"descriptors: {before} before", timeout=180)


def in_the_middle_of_commits(p, truth):
    """Each label goes into a transaction; signals come all the while."""
    done = set()
    while len(done) < 40:
        ids = [m.key for m in p.consume("label-requests") if m.key not in done]
        for k in ids:
            p.produce("labels", [(k, b'{"label": "%s"}' % truth[k])])
            p.signal(signal.SIGHUP)
        done.update(ids)
    p.wait_log(r" version version=2 ")
    same(len(done), 40)
    counts = p.log_fields("version")
    same(counts["labels"], "40", "each label is used once")


@test("a mistake, its correction, keys that wait, ten in a second, in the middle of transactions")
def _():
    with Pipeline(config()) as p:
        p.start()
        c = client_of(p)
        rows = list(people(200, 3))
        p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in rows])
        wait(lambda: c.get("/readyz").status == 200, "ready")
        p.wait_messages("label-requests", 10)
        limit_goes_up(p, c)
        what_needs_a_restart(p, c)
        ten_in_a_second(p, c)
        in_the_middle_of_commits(p, {r["id"].encode(): r["hired"].encode() for r in rows})


def takes_hang_ups(pid):
    """Whether the program has begun, and stated what it does with the signal: before that the system
    ends any process by it."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        masks = dict(re.findall(r"^(Sig(?:Ign|Cgt)):\s+(\w+)", f.read(), re.M))
    return any(int(m, 16) & 1 << (signal.SIGHUP - 1) for m in masks.values())


@test("from the first moment of a start on, and until it is ready")
def _():
    with Pipeline(config()) as p:
        p.start(ready=None)
        wait(lambda: takes_hang_ups(p.process.pid), "the program", alive=p.alive)

        def another():
            p.signal(signal.SIGHUP)
            return " ready ready=yes" in p.log()

        wait(another, "ready", alive=p.alive)
        assert not re.search(r" error | failed ", p.log()), p.log()


main()
