#!/usr/bin/env python3
"""fisd's command line: what --check-config and --print-config promise, exit statuses, and that
every wrong configuration says file, line, column, what was found and what is allowed."""

import os
import re
import subprocess
import tempfile

from fisd_test import FISCTL, FISD, has, main, same, test

GOOD = """pipeline: t
kafka: {bootstrap.servers: "127.0.0.1:9"}
classes: [no, yes]
columns: [{name: age}, {name: job, type: categorical}]
initial: {file: i.csv}
validation: {file: v.csv, sensitive: [group]}
"""


def rows(name, n=600):
    """As many rows of each group and class as the gate asks for; no row is in both files."""
    return "age,job,label,group\n" + "".join(
        f"{i + 1000 * (name == 'v.csv')},{'ab'[i % 2]},{['no', 'yes'][i % 2]},{'AB'[i // 2 % 2]}\n"
        for i in range(n))


def fisd(*arguments, text=None, env=None, files=("i.csv", "v.csv")):
    with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as d:
        path = os.path.join(d, "t.yaml")
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        for name in files:
            with open(os.path.join(d, name), "w") as f:
                f.write(rows(name))
        r = subprocess.run([FISD, *[a.replace("FILE", path) for a in arguments]], timeout=180,
                           capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           cwd=d, env={**os.environ, **(env or {})})
        return r.returncode, r.stdout.replace(path, "t.yaml"), r.stderr.replace(path, "t.yaml")


@test("--check-config: 0 and one line when it is right")
def _():
    same(fisd("--check-config", "FILE", text=GOOD), (0, "t.yaml: ok\n", ""))
    same(fisd("--check-config=FILE", text=GOOD), (0, "t.yaml: ok\n", ""))
    same(fisd("-c", "FILE", "--check-config", text=GOOD), (0, "t.yaml: ok\n", ""))
    same(fisd("--check-config", text=GOOD, env={"FISD_CONFIG": "t.yaml"})[0], 0)


@test("each kind of mistake: 2, with file:line:column, what was found and what is allowed")
def _():
    for change, line, column, parts in (
            (("pipeline: t", "pipline: t"), 1, 1, ["pipline", "pipeline"]),
            (("type: categorical", "type: categoric"), 4, None, ["categoric", "numeric"]),
            (("[no, yes]", "[no]"), 3, None, ["classes"]),
            (("[no, yes]", "[no, no]"), 3, None, ["classes"]),
            (("initial: {file", "initial: {fil"), 5, None, ["initial.fil"]),
            (("pipeline: t", "pipeline: t\npipeline: u"), 2, None, ["pipeline"]),
            (("classes", "selection: {labels_per_round: 0}\nclasses"), 3, None,
             ["selection.labels_per_round", "0", "65536"]),
            (("classes", "selection: {labels_per_round: 12abc}\nclasses"), 3, None, ["12abc"]),
            (("classes", "gate: {epsilon: .nan}\nclasses"), 3, None, ["gate.epsilon"]),
            (("classes", "gate: {epsilon: 1e999}\nclasses"), 3, None, ["gate.epsilon"]),
            (("classes", "selection: [1]\nclasses"), 3, None, ["selection"]),
            (("classes: [no, yes]", "classes: [no, yes"), None, None, []),
            (("sensitive: [group]", "sensitive: [age]"), 6, None, ["age", "never a feature"])):
        status, out, err = fisd("--check-config", "FILE", text=GOOD.replace(*change, 1))
        same((status, out), (2, ""), f"{change}: {err}")
        place = re.search(r"^fisd: t\.yaml:(\d+):(\d+): ", err, re.M)
        assert place, f"{change}: no place in: {err}"
        if line:
            same(int(place.group(1)), line, f"line of {change}: {err}")
        if column:
            same(int(place.group(2)), column, f"column of {change}: {err}")
        has(err, *parts)
        if parts and "never" not in parts[-1]:
            assert "found" in err or "did you mean" in err, err


@test("several mistakes are all reported; an empty or missing file is named")
def _():
    text = GOOD.replace("pipeline: t", "pipeline: 'a b'").replace("[no, yes]", "[no]")
    status, _, err = fisd("--check-config", "FILE", text=text)
    same(status, 2)
    same(len(err.splitlines()), 2, err)
    for text in ("", "# nothing\n", "\ufeff"):
        status, _, err = fisd("--check-config", "FILE", text=text)
        same(status, 2, err)
        has(err, "pipeline", "classes")
    status, _, err = fisd("--check-config", "nowhere.yaml")
    same(status, 2)
    has(err, "nowhere.yaml", "No such file")
    status, _, err = fisd("--check-config")
    same(status, 2)
    has(err, "fisd.yaml")


@test("files that are not there, or cannot be read, are found, each at its place")
def _():
    status, out, err = fisd("--check-config", "FILE", text=GOOD, files=())
    same((status, out), (2, ""))
    same([re.sub(r"found /\S*/", "found /", line) for line in err.splitlines()],
         [f"fisd: t.yaml:{line}:{column}: key '{key}.file': found /{name}: cannot be opened: No such "
          "file or directory"
          for line, column, key, name in ((5, 17, "initial", "i.csv"), (6, 20, "validation", "v.csv"))])
    status, _, err = fisd("--check-config", "FILE", text=GOOD.replace("i.csv", "."))
    same(status, 2)
    has(err, "initial.file", "CSV or JSON lines?")
    # Who reads none is not stopped by it.
    for text in ("roles: [scorer]\n" + GOOD,
                 GOOD.replace("file: i.csv", "source: topic").replace("file: v.csv", "source: topic")):
        same(fisd("--check-config", "FILE", text=text, files=()), (0, "t.yaml: ok\n", ""))
    same(fisd("--print-config", "--effective", "-c", "FILE", text=GOOD, files=())[0], 0)


def files(text, **contents):
    """--check-config beside files of these contents."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as d:
        for name, content in {"t.yaml": text, **contents}.items():
            with open(os.path.join(d, name), "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())
        r = subprocess.run([FISD, "--check-config", "t.yaml"], cwd=d, timeout=180, text=True,
                           capture_output=True)
        return r.returncode, r.stderr


@test("everything at once: files, columns, rows, secrets, certificates; and what is odd about the sets")
def _():
    i, v = rows("i.csv"), rows("v.csv")
    text = (GOOD.replace('"127.0.0.1:9"', '"127.0.0.1:9", sasl.password: "file:/gone/p"') +
            "http: {token_file: /gone/t, tls_cert: /gone/c, tls_key: /gone/k}\n"
            "privacy: {noise: 1, key: 'file:/gone/n'}\ngate: {epsilon: 7}\n")
    rc, found = files(text, **{"i.csv": i.replace("age,job", "agee,jobb"),
                               "v.csv": v.replace("1003,b", "1e99,b").replace(",yes,A", ",jes,A", 1)})
    same(rc, 2)
    has(found, "t.yaml:2:", "kafka.sasl.password", "/gone/p", "privacy.key", "/gone/n",
        "gate.epsilon", "/gone/t", "/gone/c", "/gone/k", "i.csv: line 1: no column 'age', 'job' in",
        "v.csv: line 5: column age", "v.csv: line 3: column label: not a class")
    same(found.count("t.yaml:"), 9, found)
    same("jes" in found, False, "a value of a validation row")
    # What does not end it is a warning.
    rc, found = files(GOOD, **{"i.csv": i.replace(",yes,", ",no,"),
                               "v.csv": "\n".join(v.split("\n")[:21])})
    same(rc, 0)
    has(found, 'i.csv: no row of class "yes"', "20 rows, and below 500 (gate.min_rows)",
        "has 5 rows, and below 30 (gate.min_cell)")
    rc, found = files(GOOD, **{"i.csv": i, "v.csv": v + "".join(x + "\n" for x in i.split()[1:101])})
    has(found, "100 of 700 rows have features and label of a row of", "i.csv")
    for bad in (b"PK\3\4 [Content_Types].xml", b"\xff\xfea\0", b"<html>", b"\x1f\x8b\x08\0", b"",
                b'age,job,label\n1,"a,no\n', b"age,job,label\n1,2\n", b"age;job;label\n1;a;no\n",
                b"age,age,label\n1,2,no\n", b"a\0b"):
        rc, found = files(GOOD, **{"i.csv": bad, "v.csv": bad})
        same((rc, found.count("key 'initial.file'"), found.count("key 'validation.file'")), (2, 1, 1),
             f"{bad}: {found}")


@test("the daemon refuses what --check-config refuses, and a pipeline without a broker")
def _():
    bad = GOOD.replace("[no, yes]", "[no]")
    same(fisd("-c", "FILE", text=bad)[::2], fisd("--check-config", "FILE", text=bad)[::2])
    status, _, err = fisd("-c", "FILE", text=GOOD.replace('kafka: {bootstrap.servers: "127.0.0.1:9"}\n', ""))
    same(status, 2)
    has(err, "kafka.bootstrap.servers", "--embedded")


@test("properties of Kafka that a client of the start would refuse: 2, by check and start, with place")
def _():
    for more, *parts in (("auto.offset.reset: latest", "earliest"), ("group.id: a", "by fisd itself"),
                         ("acks: 0", "loses messages"), ("acks: 1", "all"),
                         ("enable.auto.commit: true", "by fisd itself"),
                         ("max.poll.interval.ms: 1000", "session.timeout.ms"),
                         ("isolation.level: read_uncommitted", "by fisd itself"),
                         ("transactional.id: x", "by fisd itself"),
                         ("enable.idempotence: false", "by fisd itself"),
                         ("message.timeout.ms: 10", "by fisd itself"),
                         ("delivery.timeout.ms: 30000", "by fisd itself"),
                         ("queue.buffering.max.messages: 10", "by fisd itself"),
                         ("partition.assignment.strategy: x", "Unsupported"),
                         ("ssl.ca.location: /none, security.protocol: ssl", "ssl.ca.location")):
        text = GOOD.replace('"127.0.0.1:9"', '"127.0.0.1:9", ' + more)
        for arguments in (["--check-config", "FILE"], ["-c", "FILE"]):
            status, out, err = fisd(*arguments, text=text)
            same((status, out), (2, ""), f"{more}: {err}")
            assert re.match(r"fisd: t\.yaml:2:\d+: key 'kafka\.", err), err
            has(err, *parts)
    for brokers, *parts in (("http://h:9092", "'http://h:9092' (a scheme that Kafka does not have)", "HOST:PORT"),
                            ("h:1,SASL_SSL://g:1", "'SASL_SSL://g:1'", "security.protocol"),
                            ("h:70000", "(a port that is none)", "from 1 to 65535"), ("a,,b", "an empty entry")):
        text = GOOD.replace("127.0.0.1:9", brokers)
        for arguments in (["--check-config", "FILE"], ["-c", "FILE"]):
            status, out, err = fisd(*arguments, text=text)
            same((status, out), (2, ""), f"{brokers}: {err}")
            has(err, "fisd: t.yaml:2:28: key 'kafka.bootstrap.servers'", *parts)
        fisctl = subprocess.run([FISCTL, "-b", brokers, "-c", "none.yaml", "init", "none.csv", "--label", "a", "--sensitive", "b"],
                                capture_output=True, text=True, timeout=180)
        has(fisctl.stderr, "fisctl: -b: ", *parts)
        assert fisctl.returncode != 0, fisctl
    same(fisd("--check-config", "FILE", text=GOOD.replace("127.0.0.1:9", "[::1]:9092, PLAINTEXT://h"))[0], 0)
    for more in ("acks: all", "acks: -1", "session.timeout.ms: 20000", "isolation.level: read_committed"):
        text = GOOD.replace('"127.0.0.1:9"', '"127.0.0.1:9", ' + more)
        same(fisd("--check-config", "FILE", text=text)[0], 0, more)


@test("a network whose checkpoint could not be kept: 2, by check and start, with the arithmetic")
def _():
    for hidden, status in (("[2000, 4900]", 2), ("[8192, 8192, 8192]", 2), ("[2000, 3000]", 0)):
        text = GOOD + f"training: {{hidden: {hidden}}}\n"
        found, out, err = fisd("--check-config", "FILE", text=text)
        same((found, out), (status, "t.yaml: ok\n" if status == 0 else ""), err)
        if status:
            has(err, "t.yaml:7:20: key 'training.hidden'", "parameters", "9 x 4 bytes for each",
                "are allowed; choose smaller hidden layers")
            same(fisd("-c", "FILE", text=text)[::2], (2, err))
    many = GOOD.replace("{name: age}", ", ".join("{name: a%d}" % i for i in range(3000)))
    wide = many.replace("{name: job, type: categorical}", "{name: age}") + "training: {hidden: [4096]}\n"
    status, _, err = fisd("--check-config", "FILE", text=wide)  # by the number of columns alone
    same(status, 2)
    has(err, "3001 features")


@test("--print-config is a configuration: it passes its own check when what is needed is filled in")
def _():
    status, out, err = fisd("--print-config")
    same((status, err), (0, ""))
    for key in ("pipeline", "labels_per_round", "shutdown_timeout", "bootstrap", "learning_rate"):
        has(out, key)
    # Every option is there with a meaning; the defaults alone change nothing.
    status, effective, err = fisd("--print-config", "--effective", "-c", "FILE", text=GOOD)
    same((status, err), (0, ""), err)
    elsewhere = re.sub(r"/\S*/(?=[iv]\.csv)", "", effective)
    status, _, err = fisd("--check-config", "FILE", text=elsewhere)
    same((status, err), (0, ""), "the effective configuration, read again")
    status, again, err = fisd("--print-config", "--effective", "-c", "FILE", text=effective)
    relative = re.compile(r"file: .*")
    same(relative.sub("", again), relative.sub("", effective), "and again")
    status, table, _ = fisd("--print-config", "--reference")
    same(status, 0)
    has(table, "| `selection.budget` |")


@test("secrets are not printed, in no way")
def _():
    text = GOOD.replace('"127.0.0.1:9"', '"127.0.0.1:9", sasl.password: "HUSH${WORD}", '
                                         'ssl.key.password: HUSH')
    status, out, err = fisd("--print-config", "--effective", "-c", "FILE", text=text,
                            env={"WORD": "HUSH"})
    same(status, 0, err)
    has(out, "sasl.password")
    assert "HUSH" not in out + err, out
    status, out, err = fisd("--check-config", "FILE", text=text)
    same(status, 2)
    has(err, "WORD")
    assert "HUSH" not in err, err


@test("usage: 2 for what is not understood, 0 for help and version")
def _():
    status, out, err = fisd("--version")
    same((status, err), (0, ""))
    assert re.fullmatch(r"fisd \d+\.\d+\.\d+ \(librdkafka [\d.]+, built with [\d.]+\)\n", out), out
    status, out, _ = fisd("--help")
    same(status, 0)
    has(out, "--check-config", "--embedded", "SIGTERM", "Exit status")
    for wrong, part in ((["--nonsense"], "no option --nonsense"), (["file.yaml"], "found 'file.yaml', only options"),
                        (["--check-config", "a", "b"], "found 'b'"), (["-c"], "-c requires a value"),
                        (["--embedded=1"], "no option --embedded=1"), (["--man"], "--man goes with --print-config"),
                        (["--print-config", "--man", "--reference"], "no other form")):
        status, out, err = fisd(*wrong)
        same((status, out), (2, ""), str(wrong))
        has(err, "fisd: ", part, "try: fisd --help")
    same(fisd("--help", "--nonsense")[0], 0)


if __name__ == "__main__":
    main()
