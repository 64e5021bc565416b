"""What the system tests share: fisd as a process, topics as bytes, and TAP.

A test is a function under @test("what is right"); it fails by an exception. main() runs all of
them and prints TAP: a failure shows its reason and the end of the log of every fisd it had started.

    with Pipeline(t_config()) as p:          # unique name, own directory, topics made
        p.start()                            # fisd; waits until it has published a version
        p.produce("records", [(b"k", b'{"age": 39}')])
        p.wait_log(r"scored records=1 ")

Environment: FISD, FISCTL, FISD_TEST_KAFKA=host:port (run.sh sets them). Python 3.11, no packages.
"""

import csv
import io
import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from typing import NamedTuple, Optional

# Names that tests take from here.
from fisd_process import FISCTL, FISD, ROOT, WAIT, Process, has, same, wait  # noqa: F401

KAFKA = os.environ.get("FISD_TEST_KAFKA", "")

# ---- data ----------------------------------------------------------------------------------

FEATURES = ["age", "hours", "job", "score"]


def people(n, seed, positive=0.5):
    """Rows whose label hangs on age, hours and score, and hours on the group a little."""
    r = random.Random(seed)
    for i in range(n):
        group = r.choice("AB")
        hired = r.random() < positive
        age = round(r.gauss(40 + 4 * hired, 9), 1)
        hours = round(r.gauss(38 + 3 * hired + 2 * (group == "A"), 6), 1)
        job = r.choice(["clerk", "driver", "nurse"])
        score = round(r.gauss(1.2 * hired, 1), 4)
        yield {"id": f"s{seed}-{i}", "age": age, "hours": hours, "job": job, "score": score,
               "hired": "yes" if hired else "no", "group": group}


def floats(n, seed, d=4):
    """Rows of a pipeline of raw floats: f0 … with a label that hangs on the first two."""
    r = random.Random(seed)
    for i in range(n):
        group = r.choice("AB")
        x = [round(r.gauss(0.3 * (group == "A"), 1), 4) for _ in range(d)]
        hired = x[0] - x[1] + r.gauss(0, 1) > 0
        yield {"id": f"w{seed}-{i}", **{f"f{k}": v for k, v in enumerate(x)},
               "hired": "yes" if hired else "no", "group": group}


def csv_bytes(rows, columns, line_end="\n", mark=b""):
    out = io.StringIO(newline="")
    w = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator=line_end)
    w.writeheader()
    w.writerows(rows)
    return mark + out.getvalue().encode()


def record_json(row, columns=FEATURES, with_id=True):
    keys = (["id"] if with_id else []) + list(columns)
    return json.dumps({k: row[k] for k in keys}).encode()


# ---- configurations ------------------------------------------------------------------------

def t_config(**sections):
    """The pipeline of named columns. A section given here is laid over the one that is there."""
    return _merged({
        "kafka": {"bootstrap.servers": KAFKA, "client.id": "fisd-test"},
        "classes": ["no", "yes"],
        "columns": [{"name": "age"}, {"name": "hours"},
                    {"name": "job", "type": "categorical"}, {"name": "score"}],
        "topics": {"partitions": 1},
        "initial": {"file": "initial.csv", "label": "hired"},
        "validation": {"file": "validation.csv", "label": "hired", "sensitive": ["group"]},
        "fairness": {"metric": "equalized_odds"},
        "selection": {"labels_per_round": 64, "window_records": 1000},
        "gate": {"min_rows": 300},
        "model": {"base": {"type": "none"}},  # the network alone, whose training is shown step by step
    }, sections)


def w_config(**sections):
    """The pipeline of four raw floats."""
    config = t_config()
    del config["columns"]
    return _merged({**config, "dimension": 4, "records": {"encoding": "raw"}}, sections)


def _merged(base, over):
    out = dict(base)
    for k, v in over.items():
        out[k] = _merged(out[k], v) if isinstance(v, dict) and isinstance(out.get(k), dict) else v
    return out


# A job of training that takes hours on any machine: the most steps, each of a large batch.
ENDLESS = {"steps_per_round": 1000000, "hidden": [256, 256], "batch": 4096}


# ---- topics --------------------------------------------------------------------------------

class Message(NamedTuple):
    partition: int
    offset: int
    key: Optional[bytes]
    value: Optional[bytes]
    headers: dict

    @property
    def reason(self):
        return self.headers.get("fis.error.reason", "")


_KEY_END, _END = b"\x1d\x1ck\x1d\x1c", b"\x1d\x1cm\x1d\x1c"
_HEADERS_END = b"\x1d\x1ch\x1d\x1c"


def _escaped(b):
    return "".join(f"\\x{c:02x}" for c in b)


def kcat_command():
    """It gives up when a connection does: librdkafka waits 10 s for a new one's first answer."""
    return ["kcat", "-q", "-m", "120", "-b", KAFKA, "-X", "socket.nagle.disable=true",
            "-X", "api.version.request.timeout.ms=120000"]


def kcat(arguments, **kw):
    command = [*kcat_command(), *arguments]
    r = subprocess.run(command, capture_output=True, timeout=WAIT, **kw)
    assert r.returncode == 0, f"kcat {' '.join(arguments)}: {r.stderr.decode(errors='replace')}"
    return r.stdout


def produce(topic, messages, partition=None):
    """Sends (key, value) in order; each is bytes, empty or not, or None for a null."""
    def run_of(m):
        return m[1] is None  # kcat writes either nulls or empty values, not both at once

    for null, run in itertools.groupby(messages, key=run_of):
        data = b""
        for key, value in run:
            body = b"" if value is None else value
            assert _END not in body and _KEY_END not in body, "a separator in the data"
            assert not (null and key is None), "a null key with a null value cannot be sent"
            data += (b"" if key is None else key + _KEY_END) + body + _END
        arguments = ["-P", "-t", topic, "-D", _END.decode(),
                     "-K", _KEY_END.decode(), "-X", "linger.ms=1", "-X", "enable.idempotence=true",
                     "-X", "message.max.bytes=33554432"]
        if partition is not None:
            arguments += ["-p", str(partition)]
        kcat(arguments + (["-Z"] if null else []), input=data)


def consume(topic, offset="beginning"):
    """All that is committed on a topic, by partition and offset."""
    out = kcat(["-C", "-t", topic, "-e", "-o", str(offset), "-X", "fetch.wait.max.ms=20",
                 "-X", "isolation.level=read_committed",
                 "-X", "fetch.message.max.bytes=33554432", "-X", "receive.message.max.bytes=67108864",
                 "-f", "%p %o %K %S|%k%s%h" + _escaped(_HEADERS_END)])
    messages, at = [], 0
    while at < len(out):
        bar = out.index(b"|", at)
        partition, at_offset, key_length, length = (int(x) for x in out[at:bar].split())
        at = bar + 1
        key = None if key_length < 0 else out[at:at + key_length]
        at += max(key_length, 0)
        value = None if length < 0 else out[at:at + length]
        at += max(length, 0)
        end = out.index(_HEADERS_END, at)
        messages.append(Message(partition, at_offset, key, value, _headers(out[at:end])))
        at = end + len(_HEADERS_END)
    return sorted(messages, key=lambda m: (m.partition, m.offset))


def _headers(text):
    """kcat joins headers with commas; ours all begin with fis."""
    found = {}
    for part in re.split(r"(?:^|,)(?=fis\.[a-z._]+=)", text.decode(errors="replace")):
        name, is_there, value = part.partition("=")
        if is_there:
            found[name] = value
    return found


# ---- protobuf ------------------------------------------------------------------------------

def _varint(b, at):
    value = shift = 0
    while True:
        value |= (b[at] & 0x7F) << shift
        shift += 7
        at += 1
        if b[at - 1] < 0x80:
            return value, at


def fields(b):
    """The fields of a message: (number, value); a value is an int or bytes (4 or 8 if fixed)."""
    at, out = 0, []
    while at < len(b):
        tag, at = _varint(b, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(b, at)
        elif kind == 2:
            length, at = _varint(b, at)
            value, at = b[at:at + length], at + length
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = b[at:at + size], at + size
        assert at <= len(b), "protobuf: cut short"
        out.append((tag >> 3, value))
    return out


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def proto(*pairs):
    """A message of fields (number, value): an int, bytes, or a float for a double."""
    out = b""
    for number, value in pairs:
        if isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, bytes):
            out += varint(number << 3 | 2) + varint(len(value)) + value
        else:
            out += varint(number << 3) + varint(value)
    return out


class Candidate(NamedTuple):
    id: bytes
    vector: bytes   # encoded features, as bytes of the message: for comparing bit by bit
    scores: tuple   # of (criterion, four bytes of the float)
    head: int
    record: bytes


def candidates_of(value):
    """The Candidates of an Offer."""
    for f in (fields(body) for kind, body in fields(value) if kind == 1):
        one = dict(f)
        scores = tuple((dict(fields(s)).get(1, 0), dict(fields(s)).get(2, b"\0\0\0\0"))
                       for n, s in f if n == 3)
        yield Candidate(one.get(1, b""), one.get(2, b""), scores, one.get(4, 0), one.get(6, b""))


class Range(NamedTuple):
    """Offsets [begin, next) of a partition that a scorer has handled."""
    scan: int   # 0: stream mode
    partition: int
    begin: int
    next: int
    records: int


def ranges_of(value):
    """The Ranges of an Offer's Progress."""
    for offers in (fields(body) for kind, body in fields(value) if kind == 2):
        for f in (dict(fields(one)) for n, one in offers if n == 7):
            yield Range(dict(offers).get(6, 0), *(f.get(n, 0) for n in range(1, 5)))


def score_values(c):
    return [struct.unpack("<f", s)[0] for _, s in c.scores]


# ---- a pipeline ----------------------------------------------------------------------------

_pipelines = []
_number = itertools.count(1)


class Pipeline(Process):
    """A directory with a configuration and its files, its topics, and fisd when it runs; and more
    of them, each a process with a log of its own, by node()."""

    def __init__(self, config, name="t", files=None, topics=True, fisd=FISD):
        assert KAFKA or not topics, "FISD_TEST_KAFKA is not set: run this by tests/system/run.sh"
        pipeline = f"{name}-{os.getpid()}-{next(_number)}"
        super().__init__(tempfile.mkdtemp(prefix=pipeline + ".",
                                          dir=os.environ.get("FISD_TEST_DIR")), program=fisd)
        self.name = pipeline
        self.config = {"pipeline": self.name, **config}
        self.nodes = []
        for file_name, data in (self.default_files() if files is None else files).items():
            self.write(file_name, data)
        self.save()
        _pipelines.append(self)
        if topics:
            self.make_topics()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """After a test that went well, fisd must have stopped in good order."""
        for one in [*self.nodes, self]:
            if one.process and kind is None:
                same(one.stop(), 0, f"exit status of {one.name}")
            elif one.process:
                one.kill()

    def node(self, name, *roles, **sections):
        """One more fisd of this pipeline, with these roles; not started."""
        config = _merged(self.config, {"roles": list(roles), **sections})
        self.write(name + ".yaml", json.dumps(config, indent=1).encode())
        node = Process(self.dir, name)
        self.nodes.append(node)
        return node

    def default_files(self):
        if self.config.get("dimension"):
            rows, x = floats, [f"f{i}" for i in range(self.config["dimension"])]
        else:
            rows, x = people, FEATURES
        return {"initial.csv": csv_bytes(rows(400, 1), ["id"] + x + ["hired"]),
                "validation.csv": csv_bytes(rows(400, 2), ["id"] + x + ["hired", "group"])}

    def write(self, name, data):
        with open(os.path.join(self.dir, name), "wb") as f:
            f.write(data)
        return os.path.join(self.dir, name)

    def save(self):
        """Writes the configuration again; JSON is YAML."""
        self.write("fisd.yaml", json.dumps(self.config, indent=1).encode())

    def topic(self, name):
        return f"{self.name}.{name}"

    def make_topics(self):
        r = self.fisctl("topics", "create")
        assert r.returncode == 0, f"fisctl topics create: {r.stderr}"

    def fisctl(self, *arguments, timeout=WAIT, **kw):
        """Runs fisctl with this pipeline's configuration; text in, text out."""
        command = [FISCTL, "-c", self.config_path, *arguments]
        return subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=timeout, cwd=self.dir, **kw)

    # ---- its topics

    def produce(self, topic, messages, partition=None):
        produce(self.topic(topic), messages, partition)

    def consume(self, topic):
        return consume(self.topic(topic))

    def wait_messages(self, topic, count, timeout=WAIT):
        """Until at least so many messages are there; all of them."""
        def enough():
            got = self.consume(topic)
            return got if len(got) >= count else None
        return wait(enough, f"{count} messages on {topic}", timeout,
                    self.alive if self.process else None)

    def check_dead_letters(self, topic, expected):
        """The dead letters of a topic of one partition are these and no others.

        expected: {offset: ((key, value), parts of the reason)}."""
        self.wait_messages("dead-letter", len(expected))
        found = [m for m in self.consume("dead-letter")
                 if m.headers.get("fis.error.topic") == self.topic(topic)]
        same(sorted(int(m.headers["fis.error.offset"]) for m in found), sorted(expected),
             "offsets of the dead letters")
        for m in found:
            _say(f"{m.value[-40:] if m.value else m.value!r}: {m.reason}")
        for m in found:
            (key, value), parts = expected[int(m.headers["fis.error.offset"])]
            same(m.headers["fis.error.partition"], "0")
            same((m.key, m.value), (key, value), "key and bytes of a dead letter")
            has(m.reason, *parts)
            assert m.headers.get("fis.error.code", "other") != "other", m.headers

    def candidates(self):
        """id -> Candidate, the newest of each id."""
        return {c.id: c for m in self.consume("candidates") for c in candidates_of(m.value)}

    def ranges(self):
        """All Ranges that scorers have reported, in that order."""
        return [r for m in self.consume("candidates") for r in ranges_of(m.value)]

    def offsets_scored(self):
        """How many offsets of the records scorers have reported; one that was scored again after a
        restart counts once."""
        done = set()
        for r in self.ranges():
            done.update((r.partition, offset) for offset in range(r.begin, r.next))
        return len(done)

    def wait_candidates(self, ids, timeout=WAIT):
        """Until all these ids were offered; id -> Candidate."""
        def all_there():
            got = self.candidates()
            return got if set(ids) <= got.keys() else None
        return wait(all_there, f"candidates {sorted(ids)[:8]} …", timeout, self.alive)


# ---- TAP -----------------------------------------------------------------------------------

_tests = []


class Skip(Exception):
    """Raised by a test that cannot run here; its text is the reason."""


def test(name):
    def add(function):
        _tests.append((name, function))
        return function
    return add


def _say(text, to=sys.stdout):
    for line in text.rstrip("\n").split("\n"):
        print("# " + line, file=to, flush=True)


def _clear(failed):
    for p in _pipelines:
        for one in [p, *p.nodes]:
            if failed and one.log():
                _say(f"--- end of the log of {one.name}\n" + one.log()[-4000:])
            one.kill()
        if not failed:
            shutil.rmtree(p.dir, ignore_errors=True)
    _pipelines.clear()


def main():
    """Runs the tests, or those whose name has the first argument in it."""
    chosen = [t for t in _tests if len(sys.argv) < 2 or sys.argv[1] in t[0]]
    bad = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, (name, function) in enumerate(chosen, 1):
        started = time.monotonic()
        reason = skip = None
        try:
            function()
        except Skip as e:
            skip = e
        except KeyboardInterrupt:
            _clear(False)
            raise
        except Exception as e:  # every way to fail is a failure, with its place
            where = traceback.extract_tb(e.__traceback__)
            line = [f for f in where if f.filename == sys.modules["__main__"].__file__]
            reason = f"{type(e).__name__}: {e}" + (f"\n  at line {line[-1].lineno}" if line else "")
        bad += reason is not None
        took = time.monotonic() - started
        print(f"{'not ok' if reason else 'ok'} {number} - {name} ({took:.1f} s)"
              + (f" # SKIP {skip}" if skip else ""), flush=True)
        if reason:
            _say(reason)
        _clear(reason is not None)
    sys.exit(1 if bad else 0)
