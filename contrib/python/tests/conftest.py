"""One Kafka and one fisd on the Adult data for all tests of the session."""

import csv
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import pytest

import fisd
from fisd import _kafka

ROOT = pathlib.Path(__file__).resolve().parents[3]
FISD = os.environ.get("FISD", str(ROOT / "build/release/bin/fisd"))
FISCTL = os.environ.get("FISCTL", str(ROOT / "build/release/bin/fisctl"))
WAIT = 90.0
LABEL = "income"

CONFIG = """
pipeline: {name}
kafka: {{bootstrap.servers: "{broker}"}}
classes: ["<=50K", ">50K"]
columns:
  - {{name: age}}
  - {{name: fnlwgt}}
  - {{name: education-num, scale: none}}
  - {{name: capital-gain}}
  - {{name: capital-loss}}
  - {{name: hours-per-week}}
  - {{name: workclass, type: categorical}}
  - {{name: education, type: categorical}}
  - {{name: marital-status, type: categorical}}
  - {{name: occupation, type: categorical}}
  - {{name: relationship, type: categorical}}
  - {{name: race, type: categorical}}
  - {{name: native-country, type: categorical}}
topics: {{partitions: 2}}
records: {{passthrough: [note]}}
initial: {{file: initial.csv, label: income}}
validation: {{file: validation.csv, label: income, sensitive: [sex]}}
fairness: {{metric: equalized_odds}}
selection: {{labels_per_round: 32, rounds: 2, budget: 64, window_records: 1000, window_time: 2s}}
gate: {{replace: always, epsilon: 1, min_cell: 1}}
training: {{hidden: [32], warm_up_epochs: 20, steps_per_round: 30}}
{more}
"""


def wait(condition, what, timeout=WAIT):
    """Until condition() gives something true, which is returned."""
    until = time.monotonic() + timeout
    while True:
        got = condition()
        if got:
            return got
        assert time.monotonic() < until, f"not within {timeout:g} s: {what}"
        time.sleep(0.05)


def dead_letters(pipeline):
    """The codes on the dead-letter topic, which fisd makes when it needs it."""
    try:
        return [dict(m.headers())["fis.error.code"].decode()
                for m in _kafka.read_all(pipeline, pipeline.topic("dead_letter"), 20)]
    except fisd.KafkaError:
        return []


class Daemon:
    """fisd in a directory of its own, with the configuration fisd.yaml there."""

    def __init__(self, folder):
        self.folder, self.process = folder, None
        self.config = folder / "fisd.yaml"

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([FISD, "-c", self.config], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, cwd=self.folder)
        return self

    def fisctl(self, *arguments):
        done = subprocess.run([FISCTL, "-c", self.config, *arguments], capture_output=True,
                              text=True, timeout=WAIT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def log(self):
        return (self.folder / "log").read_text()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("fisd")


@pytest.fixture(scope="session")
def broker(work):
    """host:port of a real Kafka."""
    given = os.environ.get("FISD_TEST_KAFKA")
    if given:
        yield given
        return
    script = ROOT / "tests/system/kafka.sh"
    done = subprocess.run([script, "start", work / "kafka"], stdout=subprocess.PIPE, text=True,
                          timeout=300, check=True)
    yield done.stdout.strip()
    subprocess.run([script, "stop", work / "kafka"], check=False)


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


@pytest.fixture(scope="session")
def adult(work):
    """initial.csv (with missing values), pool, answers, validation, test.csv of real people."""
    folder = work / "data"
    subprocess.run([sys.executable, ROOT / "config/demo/adult.py", "--data", folder,
                    "--cache", ROOT / "build/cache"], check=True, capture_output=True, timeout=300)
    rows = rows_of(folder / "initial.csv")
    dice = random.Random(1)
    for row in rows:
        for name in ("age", "workclass", "capital-gain"):
            if dice.random() < 0.05:
                row[name] = ""
    write_rows(folder / "initial.csv", rows)
    return folder


@pytest.fixture(scope="session")
def daemons(work, broker, adult):
    """Makes a fisd: daemons(name, more configuration, replacements of it)."""
    made = []

    def make(name, more="", replace=(), start=True):
        folder = work / name
        folder.mkdir()
        for part in ("initial.csv", "validation.csv"):
            shutil.copy(adult / part, folder)
        text = CONFIG.format(name=f"{name}-{os.getpid()}", broker=broker, more=more)
        for old, new in replace:
            assert old in text
            text = text.replace(old, new)
        (folder / "fisd.yaml").write_text(text)
        daemon = Daemon(folder)
        made.append(daemon)
        return daemon.start() if start else daemon

    yield make
    for daemon in made:
        daemon.stop()


@pytest.fixture(scope="session")
def daemon(daemons):
    """The fisd that most tests share."""
    return daemons("adult")


@pytest.fixture(scope="session")
def pipeline(daemon):
    return fisd.Pipeline.load(daemon.config)


NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def typed(row, drop=("sex", LABEL)):
    """A row of a CSV file as a record: numbers as numbers, empty cells left out."""
    return {k: float(v) if k in NUMERIC else v for k, v in row.items() if v != "" and k not in drop}


@pytest.fixture(scope="session")
def pool(adult):
    return [typed(row) for row in rows_of(adult / "pool.csv")]


@pytest.fixture(scope="session")
def answers(adult):
    return {row["id"]: row[LABEL] for row in rows_of(adult / "answers.csv")}
