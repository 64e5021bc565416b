#!/usr/bin/env python3
"""How long a trainer takes to go on from a ledger of many labels: after a SIGTERM, after a kill -9,
and as a hot standby.

    restore_time.py [LABELS]      default 100000; in five rounds, bought by fisd itself

Prints a line for each, and one line of JSON. Starts a Kafka of its own; needs `make all deps-test`."""

import json
import os
import re
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../system"))
import fisd_test  # noqa: E402
from fisd_test import FEATURES, ROOT, Pipeline, csv_bytes, people, t_config, wait  # noqa: E402
from own_broker import Broker  # noqa: E402

ROUNDS = 5
PATIENCE = 600


def config(r):
    return t_config(selection={"labels_per_round": r, "window_records": 2 * r,
                               "rounds": ROUNDS, "budget": ROUNDS * r},
                    kafka={"session.timeout.ms": 6000, "group.instance.id": "one"},
                    training={"warm_up_epochs": 5, "steps_per_round": 60})


def buy(p, r):
    """All rounds, as fast as it goes."""
    known = 0
    for number in range(1, ROUNDS + 1):
        rows = people(2 * r, 10 + number)
        path = p.write("records.csv", csv_bytes(rows, ["id"] + FEATURES))
        done = p.fisctl("replay", path, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        wait(lambda: p.log_fields("asked").get("open") == str(r), f"requests of round {number}",
             PATIENCE, p.alive)
        def all_asked():
            got = fisd_test.consume(p.topic("label-requests"))
            return got if len(got) >= number * r else None
        asked = wait(all_asked, "all requests", PATIENCE, p.alive)[known:]
        known += len(asked)
        p.produce("labels", [(m.key, b'{"label": "%s"}' % (b"yes", b"no")[i % 2])
                             for i, m in enumerate(asked)])
        p.wait_log(rf" version version={number + 1} ", timeout=PATIENCE)
        print(f"round {number}: {known} labels", flush=True)
    p.wait_log(r" done rounds=", timeout=PATIENCE)


def restored(node, since, began, what):
    """The trainer's own account, and the time from `began` until it leads."""
    node.wait_log(r" takeover role=trainer ", since, PATIENCE)
    until = max(node.times(r" takeover role=trainer ", since)) - began
    own = node.log_fields("restored")
    print(f"{what}: leads after {until:.2f} s; {own['entries']} entries, {own['bytes']} bytes; "
          f"from election {node.log_fields('takeover')['took_ms']} ms, of which reading memory into "
          f"the role {own['took_ms']} ms", flush=True)
    return {"seconds": round(until, 2), "entries": int(own["entries"]), "bytes": int(own["bytes"])}


def measure(labels):
    r = labels // ROUNDS
    p = Pipeline(config(r), name="restore")
    p.start()
    buy(p, r)
    out = {"labels": r * ROUNDS, "ledger_messages": len(fisd_test.consume(p.topic("ledger")))}
    for what, end in (("after SIGTERM", lambda: p.stop(120)), ("after kill -9", p.kill)):
        end()
        since, began = len(p.log()), time.time()
        p.start(ready=None)
        out[re.sub(r"\W+", "_", what)] = restored(p, since, began, what)
    standby = p.node("standby", "trainer", kafka={"group.instance.id": "two"})
    began = time.time()
    standby.start(ready=None)
    standby.wait_log(r"ready to lead", timeout=PATIENCE)
    print(f"a standby is ready after {standby.when('ready to lead') - began:.2f} s", flush=True)
    since = len(standby.log())
    began = time.time()
    p.kill()
    out["standby_after_kill"] = restored(standby, since, began, "the standby, after kill -9")
    with open(f"/proc/{standby.process.pid}/status") as f:
        out["resident_kib"] = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
    print(json.dumps(out), flush=True)
    standby.kill()


def main():
    labels = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    directory = tempfile.mkdtemp(prefix="restore.", dir=os.path.join(ROOT, "build"))
    os.environ["FISD_TEST_DIR"] = directory
    broker = Broker(directory=os.path.join(directory, "kafka"))
    good = False
    try:
        measure(labels)
        good = True
    finally:
        broker.stop()
        if good:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
