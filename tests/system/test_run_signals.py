#!/usr/bin/env python3
"""Signals, and the ends that fisd comes to: drained, not drained, at once, and with no broker."""

import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time

from fisd_test import (ENDLESS, FISD, Pipeline, fields, has, main, people, record_json, same,
                       t_config, test, wait)
from http_client import Client


def timed_stop(p, bound, number=signal.SIGTERM):
    started = time.monotonic()
    status = p.ended(bound, number)
    print(f"# ended with status {status} after {time.monotonic() - started:.1f} s", flush=True)
    return status


def long_job(p):
    """A round whose training takes far longer than the test waits."""
    p.start()
    rows = list(people(300, 3))
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in rows])
    ids = [m.key for m in p.wait_messages("label-requests", 4)]
    p.produce("labels", [(k, b'{"label": "yes"}') for k in ids])
    # A quarter of the round is one label: training begins with the first.
    wait(lambda: any(dict(fields(m.value)).get(1) in (3, 4) for m in p.consume("ledger")
                     if m.key in ids), "a label on the ledger", alive=p.alive)


def long_config(timeout):
    return t_config(selection={"labels_per_round": 4, "window_records": 300, "heap": 16},
                    training={**ENDLESS, "warm_up_epochs": 1},
                    runtime={"shutdown_timeout": timeout})


@test("SIGHUP is answered by a line, also many of them; SIGTERM drains and ends with 0, whatever a library does at the end")
def _():
    with Pipeline(t_config()) as p:
        hangs = os.path.join(p.dir, "hangs.so")
        source = p.write("hangs.c", b"#include <unistd.h>\n__attribute__((destructor)) static void end(void) { pause(); }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", hangs, source], check=True, timeout=180)
        p.start(env={"LD_PRELOAD": hangs})
        p.process.send_signal(signal.SIGHUP)
        p.wait_log(r" reload file=\S+ text=\"nothing differs\"")
        for _ in range(10):
            p.process.send_signal(signal.SIGHUP)
        rows = list(people(50, 4))
        p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in rows])
        p.wait_counts("scored", records=50)
        same(timed_stop(p, 15), 0, "exit status")
        has(p.log(), 'stopping reason="SIGTERM"', "stopped status=0")


@test("SIGINT drains too; no connection gets the number of a standard descriptor that is closed")
def _():
    with Pipeline(t_config()) as p:
        p.process = subprocess.Popen(["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', FISD, p.config_path],
                                     cwd=p.dir)
        p.wait_messages("models", 1)
        same([os.readlink(f"/proc/{p.process.pid}/fd/{fd}") for fd in range(3)], 3 * ["/dev/null"])
        same(timed_stop(p, 15, signal.SIGINT), 0, "exit status")


@test("nobody reads standard error, nor the manager's socket: HTTP answers, SIGTERM drains")
def _():
    with socket.socket() as s, tempfile.TemporaryDirectory() as d, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
        manager.bind(os.path.join(d, "socket"))
        manager.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        s.close()
        with Pipeline(t_config(http={"listen": address}, log={"level": "debug"})) as p:
            reader, writer = os.pipe()
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
            p.process = subprocess.Popen(
                [FISD, "-c", p.config_path], stdin=subprocess.DEVNULL, stdout=writer, stderr=writer,
                cwd=p.dir, env={**os.environ, "NOTIFY_SOCKET": os.path.join(d, "socket"),
                                "WATCHDOG_USEC": "400000"})
            os.close(writer)
            client = Client(address)

            def metric(name, **labels):
                try:
                    return client.metrics().get((name, tuple(sorted(labels.items()))), 0)
                except OSError:
                    return 0

            wait(lambda: metric("fisd_trainer_leads"), "the trainer leads", alive=p.alive)
            p.produce("labels", [(b"x%d" % i, b'{"label": "yes"}') for i in range(2000)])
            wait(lambda: metric("fisd_labels_total", outcome="refused") == 2000, "refused labels",
                 alive=p.alive)
            assert metric("fisd_log_lines_total", outcome="summed") > 1500
            written = bytearray()
            same(timed_stop(p, 20), 0, "exit status")
            while more := os.read(reader, 65536):
                written += more
            os.close(reader)
            # A line is written whole, so the last one may have found too little room.
            assert len(written) >= 2048, f"the pipe was not full: {len(written)} bytes"


@test("a second SIGTERM ends at once; what was committed stays")
def _():
    with Pipeline(long_config("20s")) as p:
        long_job(p)
        p.process.send_signal(signal.SIGTERM)
        p.wait_log(r" stopping reason=\"SIGTERM\"")
        p.alive()
        same(timed_stop(p, 10), 128 + signal.SIGTERM, "exit status")
        has(p.log(), "second signal: ending at once")


@test("a job that outlasts the time to drain: status 1, and the log says what is done again")
def _():
    with Pipeline(long_config("1s")) as p:
        long_job(p)
        same(timed_stop(p, 15), 1, "exit status")
        has(p.log(), "the time to drain is over", "a job was still running")
        p.config["training"]["steps_per_round"] = 40  # the labels are there: the round ends
        p.save()
        p.start(ready=r" version version=2 round=1 .* labels=4 ")


@test("SIGTERM before any broker was reached")
def _():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # bound and not listened to: nobody else can take it
        dead = f"127.0.0.1:{s.getsockname()[1]}"
        config = t_config()
        config["kafka"] = {"bootstrap.servers": dead}
        with Pipeline(config, topics=False) as p:
            p.start(ready=r" warn kafka ")
            has(p.log(), dead.split(":")[1])
            status = timed_stop(p, 25)
            assert status in (0, 1), f"exit status {status}"


@test("a clean start after each of them says nothing of what is not there")
def _():
    with Pipeline(t_config()) as p:
        p.start()
        same(p.stop(), 0)
        p.start(ready=r" started ")
        p.wait_log(r" assigned role=trainer ", since=len(p.log()) // 2)
        same(p.stop(), 0)
        # An alarm of a condition that lasts a second (few validation rows) may be among them.
        lines = [x for x in p.log().splitlines() if " warn " in x or " error " in x]
        same([x for x in lines if " warn alarm " not in x], [])


if __name__ == "__main__":
    main()
