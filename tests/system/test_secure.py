#!/usr/bin/env python3
"""On a broker that requires TLS, SCRAM and ACLs: fisd with the least rights of each role, and what the
others cannot see."""

import concurrent.futures
import json
import os
import re
import subprocess

import fisd_test
import secure_broker
from fisd_test import (FEATURES, FISD, FISCTL, Pipeline, Process, Skip, csv_bytes, has, main, people,
                       record_json, same, t_config, test)

USERS = ("scorer", "trainer", "labeller", "app")
# What each role needs, and no more. README's table says the same.
READS = {"scorer": ["records", "heads", "models", "fleet"],
         "trainer": ["candidates", "labels", "validation", "heads", "models", "ledger", "control",
                     "fleet"],
         "labeller": ["label-requests", "labels"]}  # the latter for fisctl label alone
WRITES = {"scorer": ["candidates", "dead-letter", "fleet"],
          "trainer": ["label-requests", "heads", "models", "ledger", "dead-letter", "fleet"],
          "labeller": ["labels"],
          "app": ["records"]}
DESCRIBES = {"scorer": ["ledger"], "trainer": ["records"]}
TOPICS = ["records", "candidates", "label-requests", "labels", "validation", "heads", "models",
          "ledger", "control", "dead-letter", "fleet"]

broker = secure_broker.SecureBroker(USERS)


def user_config(user, **sections):
    c = t_config(kafka=broker.client(user), validation={"source": "topic"},
                 selection={"labels_per_round": 32, "window_records": 400, "rounds": 1},
                 topics={"create": False}, log={"level": "debug"}, **sections)
    del c["validation"]["file"], c["kafka"]["client.id"]
    return c


def allow(p):
    """All rights of all users; several at a time, since each is a process."""
    running = []
    for user in USERS:
        for operation, table in (("Read", READS), ("Write", WRITES), ("Describe", DESCRIBES)):
            names = [p.topic(t) for t in table.get(user, [])]
            if names:
                running.append(broker.allow(user, [operation], topics=names))
        if user in ("scorer", "trainer", "labeller"):
            running.append(broker.allow(user, ["Read"], groups=[p.name]))
    running.append(broker.allow("trainer", ["Write", "Describe"], transactional=[p.name]))
    for r in running:
        _, text = r.communicate(timeout=240)
        same(r.returncode, 0, f"AclCommand: {text}")


def validation_messages(p, n=400):
    keep = FEATURES + ["hired", "group"]
    p.produce("validation", [(r["id"].encode(), json.dumps({k: r[k] for k in keep}).encode())
                             for r in people(n, 2)])


def check_no_password(*texts):
    for text in texts:
        at = text.find("S3CRET")
        assert at < 0, f"a password: {text[max(0, at - 200):at + 20]}"


def kcat(user, *arguments, data=None):
    """kcat as a user: whether it was allowed to, and what it printed."""
    own = {**broker.client(user, password=True)}
    flags = [x for k, v in own.items() for x in ("-X", f"{k}={v}")]
    env = {k: v for k, v in os.environ.items() if k != "KCAT_CONFIG"}
    r = subprocess.run(["kcat", *flags, *arguments], input=data, capture_output=True,
                       timeout=180, env=env)
    text = r.stderr.decode(errors="replace")
    denied = "authorization failed" in text.lower()
    assert denied or r.returncode == 0, f"kcat as {user}: {text}"
    return not denied, r.stdout


def open_pipeline():
    c = user_config("admin")
    p = Pipeline({**c, "topics": {"partitions": 1}}, files={})
    p.write("initial.csv", csv_bytes(people(400, 1), ["id"] + FEATURES + ["hired"]))
    allow(p)
    validation_messages(p)
    return p


def node(p, user, *roles, **sections):
    return p.node(user, *roles, **user_config(user, **sections))


@test("a round over TLS and SCRAM, with passwords in files and the least rights of each role")
def _():
    with open_pipeline() as p:
        trainer, scorer = node(p, "trainer", "trainer"), node(p, "scorer", "scorer")
        trainer.start()
        scorer.start(ready=r" head ")
        rows = list(people(500, 3))
        lines = b"".join(record_json(r, with_id=True) + b"\n" for r in rows)
        same(kcat("app", "-P", "-t", p.topic("records"), data=lines)[0], True, "app may write")
        requests = p.wait_messages("label-requests", 32)
        same({r.value is not None for r in requests}, {True})
        truth = p.write("answers.csv", csv_bytes(rows, ["id", "hired"]))
        labeller = node(p, "labeller", "scorer").config_path
        r = subprocess.run([FISCTL, "-c", labeller, "label", "--answers", truth, "--label", "hired",
                            "--limit", "32"], capture_output=True, text=True, timeout=180, cwd=p.dir)
        same(r.returncode, 0, r.stderr)
        trainer.wait_log(r" version version=2 round=1 ")
        same((scorer.stop(), trainer.stop()), (0, 0), "exit statuses")

        check_no_password(trainer.log(), scorer.log(), r.stdout, r.stderr)
        for n in (trainer, scorer):
            # Not being able to look at how topics are kept is a warning, and no reason to stop.
            lines = [x for x in n.log().splitlines() if "uthorization" in x]
            kept = [x for x in lines if " warn topic name=" in x and "DescribeConfigs" in x]
            same(lines, kept, "more rights are needed")
            same(len(kept), 3 if n is trainer else 0, "topics whose cleanup.policy is not known")
            shown = subprocess.run([FISD, "--print-config", "--effective", n.config_path], text=True,
                                   capture_output=True, timeout=180)
            same(shown.returncode, 0, shown.stderr)
            has(shown.stdout, f'"sasl.password": "file:{broker.path(n.name)}.password"')
            check_no_password(shown.stdout, shown.stderr)
        for t in TOPICS:
            for m in p.consume(t):
                check_no_password(((m.key or b"") + (m.value or b"")).decode("latin-1"))
        rights(p, trainer, scorer)
        matrix(p)


def doctor(p, node):
    """The findings of fisctl doctor as the principal of a node: those of each check."""
    r = subprocess.run([FISCTL, "-c", node.config_path, "doctor", "--json"], capture_output=True,
                       text=True, timeout=360, cwd=p.dir)
    check_no_password(r.stdout, r.stderr)
    found = {}
    for line in r.stdout.splitlines():
        f = json.loads(line)
        found.setdefault(f["check"], []).append((f["level"], f["text"], f.get("command", "")))
    same(r.returncode, int(any(f[0] == "fault" for c in found.values() for f in c)), str(found))
    return found


def rights(p, trainer, scorer):
    """fisctl doctor finds the least rights enough, and each one that another principal has not."""
    written = {t: len(p.consume(t)) for t in WRITES["trainer"]}
    for n, who in ((trainer, "a trainer"), (scorer, "a scorer")):
        same(doctor(p, n).get("rights"),
             [("ok", f"all that {who} of this configuration need", "")], who)
    found = doctor(p, p.node("labeller", "trainer", **user_config("labeller")))["rights"]
    same({f[0] for f in found}, {"fault"}, str(found))
    for t in READS["trainer"]:
        denied = any(f[1] == f"{p.topic(t)} may not be read" for f in found)
        same(denied, t not in READS["labeller"], f"reading {t}: {found}")
    for t in WRITES["trainer"]:
        has(str(found), f"{p.topic(t)} may not be written", f"--operation Write --topic {p.topic(t)}")
    has(str(found), f"the transactional id {p.name}-trainer may not be used",
        "--allow-principal User:labeller")
    found = doctor(p, p.node("app", "scorer", **user_config("app")))["rights"]
    has(str(found), f"the consumer group {p.name}-scorer may not be used")
    same({t: len(p.consume(t)) for t in written}, written, "what asking for rights has written")


def matrix(p):
    """Every user, every topic: who may read and who may write."""
    for user in USERS:
        reads = [t for t in TOPICS if kcat(user, "-C", "-t", p.topic(t), "-e", "-o", "end")[0]]
        same(reads, [t for t in TOPICS if t in READS.get(user, [])], f"what {user} may read")
        writes = [t for t in TOPICS if kcat(user, "-P", "-t", p.topic(t), "-p", "0", "-K", ":",
                                            "-X", "message.timeout.ms=5000", data=b"k:x")[0]]
        same(writes, [t for t in TOPICS if t in WRITES.get(user, [])], f"what {user} may write")
    same({u for u in USERS if "validation" in READS.get(u, [])}, {"trainer"}, "readers of validation")
    same({u for u in USERS if "heads" in READS.get(u, [])}, {"scorer", "trainer"},
         "readers of heads")


def refused(p, user, name, reported, **properties):
    """fisd of a user with these properties: the log says what is wrong, and goes on trying."""
    c = user_config(user)
    c["kafka"].update(properties)
    p.write(name + ".yaml", json.dumps({**c, "pipeline": p.name, "roles": [user]}).encode())
    n = Process(p.dir, name)
    p.nodes.append(n)
    n.start(ready=reported)
    check_no_password(n.log())
    assert " started " not in n.log() and " version " not in n.log(), n.log()
    same(n.stop(), 0, "exit status")


@test("a wrong password, and a certificate of another authority: reported, tried again, nothing shown")
def _():
    with Pipeline(user_config("admin"), topics=False) as p:
        refused(p, "scorer", "wrong-password", r"(?i)authentication failed",
                **{"sasl.password": "S3CRET-WRONG"})
        refused(p, "trainer", "wrong-authority", r"(?i)certificate verify failed",
                **{"ssl.ca.location": broker.path("other-ca.pem")})


def fisctl(p, *arguments, status=0):
    r = subprocess.run([FISCTL, *arguments], capture_output=True, text=True, timeout=360, cwd=p.dir)
    same(r.returncode, status, f"fisctl {arguments}: {r.stdout} {r.stderr}")
    check_no_password(r.stdout, r.stderr)
    return r.stdout + r.stderr


@test("-X before there is a configuration: fisctl init looks at a topic by TLS and a login, and writes them")
def _():
    with Pipeline({**user_config("admin"), "topics": {"partitions": 1}}, files={}) as p:
        columns = ["id"] + FEATURES + ["hired", "group"]
        p.write("people.csv", csv_bytes(people(900, 1), columns))
        p.produce("records", [(None, record_json(r)) for r in people(300, 3)])
        props = broker.client("admin")
        word = props.pop("sasl.password")
        p.write("client.properties", "".join(f"{k} = {v}\n" for k, v in props.items()).encode())
        p.write("word", b"S3CRET-WRONG\n")

        def init(out, *more, status=0):
            return fisctl(p, "init", "people.csv", "-l", "hired", "-s", "group", "--split", "-p", "x",
                          "--stream", p.topic("records"), "-o", out, *more, status=status)
        has(init("a.yaml", "-X", "client.properties", "-X", "sasl.password=S3CRET-X", status=1),
            "sasl.password", "file:PATH")
        with concurrent.futures.ThreadPoolExecutor() as both: # each waits for a broker that answers
            wrong, plain = both.map(lambda x: init("a.yaml", "-X", "client.properties", "-X", x, status=1),
                                    ["sasl.password=file:word", "security.protocol=PLAINTEXT"])
        has(wrong.lower(), "authentication failed")
        has(plain, p.topic("records"), f"no answer in time from the broker at {broker.address}")
        assert "handle destroyed" not in wrong + plain, wrong + plain
        same([f for f in os.listdir(p.dir) if f in ("a.yaml", "initial.csv")], [], "written so far")
        os.mkdir(os.path.join(p.dir, "new"))
        os.symlink(word[len("file:"):], os.path.join(p.dir, "right"))
        has(init("new/a.yaml", "-X", "client.properties", "-X", "sasl.password=file:right"),
            f"stream      {p.topic('records')}: 300 records of a sample")
        with open(os.path.join(p.dir, "new/a.yaml")) as f:
            text = f.read()
        has(text, f'bootstrap.servers: "{broker.address}"', 'sasl.mechanism: "SCRAM-SHA-512"',
            f'sasl.password: "{word}"')
        fisctl(p, "-c", "new/a.yaml", "topics", "create")
        fisctl(p, "-c", "new/a.yaml", "topics", "delete", "--yes")

        # A password in the file of properties is used, and not copied.
        with open(os.path.join(p.dir, "client.properties"), "a") as f:
            f.write("# of admin\nsasl.password=" + secure_broker.PASSWORD.format("admin") + "\n")
        has(init("new/b.yaml", "-X", "client.properties", status=1), "initial.csv", "exists already")
        os.mkdir(os.path.join(p.dir, "other"))
        has(init("other/b.yaml", "-X", "client.properties"), "300 records", "sasl.password is not copied")
        with open(os.path.join(p.dir, "other/b.yaml")) as f:
            text = f.read()
        check_no_password(text)
        has(text, '# sasl.password: "file:/path"')
        # Beside a configuration that has none of them.
        p.write("bare.yaml", json.dumps({**p.config, "kafka": {"bootstrap.servers": broker.address}}).encode())
        has(fisctl(p, "-c", "bare.yaml", "-X", "client.properties", "topics", "check"), "records")


def library():
    """The version of fisd's librdkafka."""
    text = subprocess.run([FISD, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(x) for x in re.search(r"librdkafka (\d+)\.(\d+)\.(\d+)", text).groups())


@test("SCRAM-SHA-256 and SCRAM-SHA-512 log in to the newest Kafka; an old library is warned about")
def _():
    old = library() < (2, 6, 1)
    if old:
        c = t_config(kafka={**broker.client("admin"), "bootstrap.servers": "127.0.0.1:9"})
        with Pipeline(c, topics=False) as p:
            p.start(ready=r"warn kafka librdkafka=\S+ text=\"SCRAM .* install librdkafka 2\.6\.1")
        raise Skip("librdkafka %d.%d.%d cannot (2.6.1 can): make test RDKAFKA=new" % library())
    outer, environment = fisd_test.KAFKA, os.environ["KCAT_CONFIG"]
    newest = secure_broker.SecureBroker([], version=None)
    try:
        scram_round(newest)
    finally:
        newest.stop()
        fisd_test.KAFKA, os.environ["KCAT_CONFIG"] = outer, environment


def scram_round(newest):
    """A round without kcat, which has the system's librdkafka."""
    by = {m: newest.client("admin", mechanism=m) for m in secure_broker.MECHANISMS}
    c = t_config(kafka=by["SCRAM-SHA-512"],
                 selection={"labels_per_round": 32, "window_records": 400, "rounds": 1})
    with Pipeline(c) as p:
        trainer = p.node("trainer", "trainer", kafka=by["SCRAM-SHA-512"])
        scorer = p.node("scorer", "scorer", kafka=by["SCRAM-SHA-256"])
        trainer.start()
        scorer.start(ready=r" assigned ")
        rows = list(people(500, 3))
        p.write("records.csv", csv_bytes(rows, ["id"] + FEATURES))
        p.write("answers.csv", csv_bytes(rows, ["id", "hired"]))
        for command in (["replay", "records.csv"],
                        ["label", "--answers", "answers.csv", "--label", "hired", "--limit", "32"]):
            r = p.fisctl(*command)
            same(r.returncode, 0, r.stderr)
        trainer.wait_log(r" version version=2 round=1 ")
        same((scorer.stop(), trainer.stop()), (0, 0), "exit statuses")
        for n in (trainer, scorer):
            assert "SCRAM" not in n.log(), n.log()


if __name__ == "__main__":
    try:
        main()
    finally:
        broker.stop()
