#!/usr/bin/env python3
"""The operations guide: every command in docs/operations.md is run, in order, on a real broker, with
stand-ins for systemctl (which runs fisd as the unit does) and curl (which knows the port). What the
guide promises of a standby, a backup and a disaster is looked at besides; and it names every alarm
and alert there is."""

import contextlib
import os
import re
import subprocess
import sys
import threading

from fisd_test import (FISCTL, FISD, KAFKA, ROOT, Pipeline, csv_bytes, has, main, people,
                       record_json, same, t_config, test, wait)
from own_broker import delete_topic, tool

GUIDE = os.path.join(ROOT, "docs/operations.md")

SYSTEMCTL = r'''#!@PYTHON@
"""systemctl start|stop|restart|reload fisd@NAME: with a process that has NAME.yaml."""
import os, re, signal, subprocess, sys, time

etc = "@ETC@"
verb, unit = sys.argv[1:]
name = re.fullmatch(r"fisd@([\w-]+)", unit)[1]
log, pid_file = f"{etc}/{name}.log", f"{etc}/{name}.pid"


def until(condition, what):
    end = time.monotonic() + 90
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{verb} {unit}: not within 90 s: {what}\n{text()[-3000:]}")
        time.sleep(0.05)


def text(since=0):
    with open(log, errors="replace") as f:
        f.seek(since)
        return f.read()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def start():
    since = os.path.getsize(log) if os.path.exists(log) else 0
    out = open(log, "ab")
    p = subprocess.Popen(["@FISD@", "-c", f"{etc}/{name}.yaml"], stdin=subprocess.DEVNULL,
                         stdout=out, stderr=out, start_new_session=True, cwd=etc)
    with open(pid_file, "w") as f:
        f.write(str(p.pid))
    until(lambda: " ready ready=yes" in text(since) or p.poll() is not None, "ready")
    if p.poll() is not None:
        sys.exit(f"{unit} ended with {p.returncode}\n{text(since)[-3000:]}")


def stop():
    pid = int(open(pid_file).read())
    os.kill(pid, signal.SIGTERM)
    until(lambda: not alive(pid), "end")
    os.remove(pid_file)


def reload():
    since = os.path.getsize(log)
    os.kill(int(open(pid_file).read()), signal.SIGHUP)
    until(lambda: " reload " in text(since), "a line on the reload")


for do in {"start": [start], "stop": [stop], "restart": [stop, start], "reload": [reload]}[verb]:
    do()
'''

CURL = r'''#!@PYTHON@
"""curl -sf localhost:9464/…: asks the process that listens."""
import re, sys, urllib.request
path = next(a for a in sys.argv[1:] if a.startswith("localhost:9464"))[len("localhost:9464"):]
with open("@ETC@/credit.log") as f:
    address = re.findall(r" http address=(\S+) ", f.read())[-1]
with urllib.request.urlopen(f"http://{address}{path}", timeout=20) as r:
    sys.stdout.write(r.read().decode())
'''


def guide():
    with open(GUIDE) as f:
        return f.read()


def blocks():
    """(the heading it stands under, the commands) in order."""
    out, heading = [], ""
    for m in re.finditer(r"^## ([^\n]*)$|^```sh\n(.*?)^```$", guide(), re.M | re.S):
        if m.group(1):
            heading = m.group(1)
        else:
            out.append((heading, m.group(2)))
    return out


class Machine:
    """A directory in place of /etc/fisd, and programs in place of the machine's."""

    def __init__(self, p):
        self.etc = p.dir
        self.bin = os.path.join(p.dir, "bin")
        os.mkdir(self.bin)
        for name, text in (("systemctl", SYSTEMCTL), ("curl", CURL)):
            for a, b in (("@PYTHON@", sys.executable), ("@ETC@", self.etc), ("@FISD@", FISD)):
                text = text.replace(a, b)
            with open(os.path.join(self.bin, name), "w") as f:
                f.write(text)
            os.chmod(f.name, 0o755)
        os.symlink(FISD, os.path.join(self.bin, "fisd"))
        os.symlink(FISCTL, os.path.join(self.bin, "fisctl"))

    def run(self, commands):
        text = commands.replace("/etc/fisd", self.etc).replace("localhost:9092", KAFKA)
        r = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", text], text=True, timeout=300,
                           capture_output=True, cwd=self.etc,
                           env={**os.environ, "PATH": self.bin + ":" + os.environ["PATH"]})
        assert r.returncode == 0, f"status {r.returncode}:\n{commands}\n{r.stdout}\n{r.stderr}"
        return r.stdout

    def log(self, name="credit"):
        with open(f"{self.etc}/{name}.log", errors="replace") as f:
            return f.read()

    def read(self, name):
        with open(f"{self.etc}/{name}") as f:
            return f.read()

    def end(self):
        for name in os.listdir(self.etc):
            if name.endswith(".pid"):
                try:
                    os.kill(int(self.read(name)), 9)
                except ProcessLookupError:
                    pass


def readme_config():
    """README's configuration, with this broker's address and the default mode."""
    with open(os.path.join(ROOT, "README.md")) as f:
        text = re.search(r"configuration, `credit\.yaml`.*?^```yaml\n(.*?)^```$", f.read(),
                         re.M | re.S)[1]
    has(text, "pipeline: credit\n", '"localhost:9092"', ", mode: pool}")
    return text.replace("localhost:9092", KAFKA).replace(", mode: pool", "")


COLUMNS = ["amount", "months", "income", "purpose"]


def applications(n, seed):
    """Rows for it: what people() makes, under the names of that file."""
    for row in people(n, seed):
        yield {"id": row["id"], "amount": row["age"], "months": row["hours"],
               "income": row["score"], "purpose": row["job"],
               "granted": row["hired"], "sex": row["group"]}


FILES = {
    "initial.csv": csv_bytes(applications(400, 1), COLUMNS + ["granted"]),
    "validation.csv": csv_bytes(applications(600, 2), COLUMNS + ["granted", "sex"]),
}


def answer(p, truth, done):
    """All that is asked for and was not answered."""
    ids = [m.key for m in p.consume("label-requests") if m.key not in done]
    p.produce("labels", [(k, b'{"label": "%s"}' % truth[k]) for k in ids])
    done.update(ids)


@contextlib.contextmanager
def trickle(p):
    """Records that come, for who follows them from their ends."""
    rows, over = list(applications(20, 4)), threading.Event()

    def send():
        while not over.wait(1):
            p.produce("records", [(None, record_json(r, COLUMNS, with_id=False)) for r in rows])
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()


@test("every command of the guide works, in order; a standby leads, and a backup brings all back")
def _():
    # The guide's pipeline has a name; the topics are its own.
    p = Pipeline(t_config(), topics=False, files=FILES)
    p.name = "credit"
    p.write("credit.yaml", readme_config().encode())
    p.config_path = os.path.join(p.dir, "credit.yaml")
    tool("TopicCommand", "--delete", "--if-exists", "--topic", r"credit\..*")  # of a run before
    p.make_topics()
    machine = Machine(p)
    rows = list(applications(10100, 3))
    truth = {r["id"].encode(): r["granted"].encode() for r in rows}
    done, ran = set(), []
    try:
        for heading, commands in blocks():
            if heading == "Disaster recovery" and "topics create" in commands:
                for topic in ("ledger", "heads", "models", "labels"):
                    delete_topic(p.topic(topic))
                wait(lambda: p.fisctl("topics", "create").returncode == 0 and
                     p.fisctl("topics", "check").returncode == 0, "topics are there again")
            if heading == "Backup":
                known = [m.key for m in p.consume("label-requests")]
            if "topics delete" in commands:
                continue  # test_fisctl does that: here it would take what is looked at below
            if "4711" in commands:  # a record that was requested; it may be forgotten
                commands = commands.replace("4711", known[-1].decode())
            with trickle(p) if " tap " in commands else contextlib.nullcontext():
                out = machine.run(commands)
            ran.append(heading)
            if heading == "Every day" and "healthz" in commands:
                has(out, "ok\n", "ready\n", '"pipeline":"credit"', '"alarms":')
                p.produce("records", [(r["id"].encode(), record_json(r, COLUMNS, with_id=False))
                                      for r in rows] + [(b"bad", b"{")])
                p.wait_messages("label-requests", 128)
                answer(p, truth, done)
                wait(lambda: " version version=2 " in machine.log(), "version 2")
            elif heading == "Every day":
                has(machine.log(), 'changed="alarms.label_age"')
            elif heading == "Alarms":
                has(out, "bad fis.error")
            elif heading == "Add a scorer":
                has(machine.log("credit-scorer"), "role=scorer partitions=",
                    " started pipeline=credit roles=scorer delivery=")
            elif heading == "Add a standby" and "stop fisd@credit " in commands:
                has(machine.log("credit-standby"),
                    " started pipeline=credit roles=trainer delivery=")
                wait(lambda: " text=\"leads, and " in machine.log("credit-standby"),
                     "the standby leads")
            elif heading == "Change what needs a restart":
                has(out, "labels_per_round: 32")
                answer(p, truth, done)
    finally:
        machine.end()
    same([h for h in ran if h == "Disaster recovery"], ["Disaster recovery"] * 2)
    before, after = machine.read("before"), machine.read("after")
    has(before, "served")
    same(after, before, "versions after the disaster")
    restored = re.findall(r" restored (.*)", machine.log())
    assert restored, "nothing was restored"
    assert int(re.search(r"entries=(\d+)", restored[-1])[1]) >= len(done), restored[-1]
    ids = [m.key for m in p.consume("label-requests")]
    same([i for i in known[:-1] if ids.count(i) != 1], [], "what the backup knows is not asked again")


@test("it names every alarm, every alert, and every event that is logged as a warning or an error")
def _():
    text = guide()
    alarms = subprocess.run([FISD, "--print-metrics"], capture_output=True, text=True, check=True)
    with open(os.path.join(ROOT, "src/daemon/monitor/alarms.c")) as f:
        names = re.findall(r'\[ALARM_\w+\] = \{"(\w+)"', f.read())
    assert len(names) > 10
    for name in names:
        assert re.search(rf"^\*\*.*\b{name}\*\*", text, re.M), f"no words on {name}"
    with open(os.path.join(ROOT, "config/prometheus/fisd.rules.yml")) as f:
        alerts = re.findall(r"- alert: (\w+)", f.read())
    for name in alerts:
        has(text, name)
    for name in re.findall(r"^\| `(\w+)` \|", alarms.stdout, re.M):
        has(text, f"| `{name}` |")
    events = set()
    for directory, _, files in os.walk(os.path.join(ROOT, "src")):
        for file in [x for x in files if x.endswith(".c")]:
            with open(os.path.join(directory, file)) as f:
                events |= set(re.findall(r'LOG_LEVEL_(?:ERROR|WARN), "(\w+)"', f.read()))
    assert len(events) > 10, events
    missing = {e for e in events - {"failed", "embedded_broker"} if f"`{e}`" not in text}
    same(missing, set(), "events without a word")


main()
