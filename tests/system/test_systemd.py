#!/usr/bin/env python3
"""fisd under systemd: what it tells the manager (through a socket of the test's own), the watchdog
that only a loop that turns feeds, SIGHUP, and the unit."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from fisd_test import (ENDLESS, ROOT, Pipeline, fields, has, main, people, record_json, same,
                       t_config, test, wait)

WATCHDOG_S = 2


class Manager:
    """The manager's end of sd_notify: every datagram with its time. It reads all the time: who
    sends into a full queue waits."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="notify.")  # a path of a socket is short
        self.path = os.path.join(self.dir, "socket")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.got = []
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while text := self.socket.recv(4096):
            self.got.append((time.monotonic(), text.decode()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"", self.path)
        self.thread.join()
        self.socket.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def read(self):
        """All that was reported so far: (time, text)."""
        return list(self.got)

    def lines(self):
        return [line for _, text in self.read() for line in text.split("\n")]

    def wait_line(self, pattern, p, since=0, timeout=180):
        expression = re.compile(pattern)
        return wait(lambda: next((m for m in map(expression.fullmatch, self.lines()[since:]) if m),
                                 None), f"notify {pattern}", timeout, p.alive)

    def feeds(self, since):
        return sum(t >= since and text == "WATCHDOG=1" for t, text in self.read())

    def env(self):
        return {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))}


def records(p, n, seed):
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                          for r in people(n, seed)])


@test("READY when the roles run, a status line, STOPPING; and the log names no socket")
def _():
    with Manager() as m, Pipeline(t_config()) as p:
        p.start(ready=None, env=m.env())
        m.wait_line("READY=1", p)
        has(p.log(), " started pipeline=")
        m.wait_line("STATUS=.*(running|leading|scoring).*", p)
        p.wait_log(r" version version=1 ")
        same(m.lines().count("READY=1"), 1, "READY=1")
        assert "STOPPING=1" not in m.lines()
        same(p.stop(), 0)
        has(m.lines(), "STOPPING=1")
        assert m.path not in p.log()


@test("without a broker: a status line that says what is waited for, and READY in the end")
def _():
    with socket.socket() as s, Manager() as m:
        s.bind(("127.0.0.1", 0))  # bound and not listened to
        config = t_config()
        config["kafka"] = {"bootstrap.servers": f"127.0.0.1:{s.getsockname()[1]}"}
        with Pipeline(config, topics=False) as p:
            p.start(ready=None, env=m.env())
            m.wait_line("STATUS=.*Kafka.*", p)
            assert "READY=1" not in m.lines(), "ready before the time is over"
            m.wait_line("READY=1", p, timeout=180)
            assert p.stop() in (0, 1)


@test("the watchdog is fed through a job of many seconds, and not by a process that stands still")
def _():
    config = t_config(selection={"labels_per_round": 4, "window_records": 300, "heap": 16},
                      training={**ENDLESS, "warm_up_epochs": 1},
                      runtime={"shutdown_timeout": "1s"})
    with Manager() as m, Pipeline(config) as p:
        p.start(env=m.env())
        records(p, 300, 3)
        ids = [x.key for x in p.wait_messages("label-requests", 4)]
        p.produce("labels", [(k, b'{"label": "yes"}') for k in ids])
        # A quarter of the round is one label: training begins with the first.
        wait(lambda: any(dict(fields(x.value)).get(1) in (3, 4) for x in p.consume("ledger")
                         if x.key in ids), "a label on the ledger", alive=p.alive)
        begin = time.monotonic()
        wait(lambda: m.feeds(begin) >= 5, "five feeds", alive=p.alive)
        times = [t for t, text in m.read() if text == "WATCHDOG=1" and t >= begin]
        gaps = [b - a for a, b in zip(times, times[1:])]
        assert max(gaps) < WATCHDOG_S, f"gaps {gaps}"

        p.signal(signal.SIGSTOP)
        # What was on its way when it stopped has arrived; from then on nothing does.
        quiet = time.monotonic() + 0.2
        wait(lambda: time.monotonic() > quiet + 2 * WATCHDOG_S, "time to pass")
        same(m.feeds(quiet), 0, "feeds of a stopped process")
        p.signal(signal.SIGCONT)
        since = time.monotonic()
        wait(lambda: m.feeds(since) > 0, "a feed after SIGCONT", alive=p.alive)
        assert p.stop() in (0, 1)


@test("SIGHUP: what can change does, at work; what cannot is named; a mistake changes nothing")
def _():
    config = t_config(selection={"labels_per_round": 8, "window_records": 100, "heap": 16,
                                 "budget": 8})
    with Manager() as m, Pipeline(config) as p:
        p.start(env=m.env())
        records(p, 100, 5)
        ids = [x.key for x in p.wait_messages("label-requests", 8)]
        p.produce("labels", [(k, b'{"label": "yes"}') for k in ids])
        p.wait_log(r" done rounds=1 labels=8")

        p.signal(signal.SIGHUP)
        p.wait_log(r" info reload file=\S+ text=\"nothing differs\"")
        m.wait_line("RELOADING=1", p)
        m.wait_line(r"MONOTONIC_USEC=\d+", p)
        assert m.lines().index("RELOADING=1") < len(m.lines()) - m.lines()[::-1].index("READY=1")

        p.write("fisd.yaml", b"selection: {budget: none}\n")
        p.signal(signal.SIGHUP)
        p.wait_log(r" error reload .*nothing was changed")
        p.alive()

        p.config["selection"]["budget"] = 12
        p.config["runtime"] = {"workers": 2}
        p.config["classes"] = ["yes", "no"]
        p.save()
        p.signal(signal.SIGHUP)
        p.wait_log(r' reload file=\S+ changed="selection.budget"')
        p.wait_log(r' warn reload file=\S+ not_changed="classes, .*runtime.workers" .*restart')
        # There is more budget: the trainer that was done asks for four more.
        p.wait_log(r" going_on round=2 ")
        records(p, 100, 6)
        more = [x.key for x in p.wait_messages("label-requests", 12)]
        same(len(more), 12, "requests")
        same(len(set(more)), 12, "none twice")
        p.produce("labels", [(k, b'{"label": "no"}') for k in set(more) - set(ids)])
        p.wait_log(r" done rounds=\d+ labels=12")

        p.config["log"] = {"level": "error"}
        p.save()
        for _ in range(2):  # the second finds nothing to do, and says nothing any more
            since = len(m.lines())
            log = p.log()
            p.signal(signal.SIGHUP)
            m.wait_line("READY=1", p, since)
        same(p.log(), log, "log.level is not in force")


@test("the unit: Type=notify with a watchdog, and hardly anything that it may do")
def _():
    with open(os.path.join(ROOT, "systemd/fisd@.service"), encoding="utf-8") as f:
        unit = f.read().replace("@PREFIX@", "/usr")
    has(unit, "Type=notify", "WatchdogSec=", "ExecReload=", "User=fisd")
    if not shutil.which("systemd-analyze"):
        print("# systemd-analyze is not here", flush=True)
        return
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "fisd@.service")
        with open(path, "w", encoding="utf-8") as f:
            f.write(unit)
        r = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", path],
                           capture_output=True, text=True, timeout=180)
        exposure = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", r.stdout).group(1))
        print(f"# exposure {exposure}", flush=True)
        assert exposure <= 1.5, r.stdout


if __name__ == "__main__":
    main()
