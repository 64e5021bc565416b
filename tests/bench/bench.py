#!/usr/bin/env python3
"""How fast fisd is, as ratios between things measured here, turn by turn, in one run.

    bench.py [--bin DIR] [--quick] [figure …]     figures by the beginnings of their names

Prints a table and one JSON line for each figure. Starts a Kafka broker of its own. What is measured
is warmed up first; every figure is the median of its rounds, with the least and the most.
"""

import argparse
import atexit
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/system"))
sys.dont_write_bytecode = True
from fisd_process import Process  # noqa: E402
from http_client import client_of  # noqa: E402

D, HIDDEN, CLASSES = 104, 64, 2
QUICK_N = 1000000  # records of a topic
LONG_D, LONG_N = 14, 20000000
STOLEN = .01  # of the processors' time; what others on the host take is not what is measured
WARM_SECONDS = 3  # before what counts, where records come at a rate
NICE = -15
PARTITIONS = 4
BARE_LOOPS = [(4096, 0), (16384, 0), (16384, 1000), (16384, 3000), (65536, 8000)]
SHAPES = [(d, h, k) for d in (14, 104, 512, 2048) for h in (64, 256) for k in (2, 10)]
# Seconds that the authors' program takes for a whole run (JAX, one core), as given by them who
# planned this: it cannot be run here.
AUTHORS_S = {"adult": 220.0, "compas": 119.0}


# Of which at least so much must be reached.
PEER_GOAL = 5


def note(text):
    print(f"# {text}", flush=True)


# ---- figures -------------------------------------------------------------------------------

class Figures:
    def __init__(self):
        self.lines = []

    def add(self, name, values, goal, at_least, unit="", text=""):
        """A figure is its median; at_least: the goal is a lower bound, else an upper one."""
        ratio = statistics.median(values)
        ok = ratio >= goal if at_least else ratio <= goal
        line = {"bench": name, "ratio": _short(ratio), "min": _short(min(values)),
                "max": _short(max(values)), "goal": goal, "ok": ok}
        self.lines.append(line)
        print(f"{name:24} {_short(ratio):>9} {unit:3} [{_short(min(values))}, {_short(max(values))}]"
              f"  goal {'>=' if at_least else '<='} {goal:<6} {'ok' if ok else 'MISSED':6} {text}",
              flush=True)

    def finish(self):
        for line in self.lines:
            print(json.dumps(line))
        return 0 if self.lines else 2


def _short(x):
    return float(f"{x:.4g}")


# ---- programs ------------------------------------------------------------------------------

# As a broker in production has room for what it receives. With the tests' 256 MB it stops ten times
# a second for up to 30 ms, which would be what is measured.
KAFKA_JVM = ("-XX:TieredStopAtLevel=1 -Xms1g -Xmx1g -Xmn800m -XX:+AlwaysPreTouch "
             "-XX:+UseParallelGC")


class Bench:
    """The C program, a broker, and fisd on it."""

    def __init__(self, bin_dir, quick):
        self.bin, self.quick = os.path.abspath(bin_dir), quick
        self.dir = tempfile.mkdtemp(prefix="bench.", dir=os.path.join(ROOT, "build"))
        self.kafka = None
        self.count = 0
        self.topics = {}
        atexit.register(self.close)

    def close(self):
        if self.kafka:
            subprocess.run([self.kafka_sh, "stop", os.path.join(self.dir, "kafka")],
                           stderr=subprocess.DEVNULL)
            self.kafka = None
        shutil.rmtree(self.dir, ignore_errors=True)

    kafka_sh = os.path.join(ROOT, "tests/system/kafka.sh")

    @property
    def broker(self):
        if not self.kafka:
            r = subprocess.run([self.kafka_sh, "start", os.path.join(self.dir, "kafka"),
                                "log.message.timestamp.type=LogAppendTime"],
                               stdout=subprocess.PIPE, text=True,
                               env={"KAFKA_JVM": KAFKA_JVM, **os.environ})
            if r.returncode:
                sys.exit("bench: no broker")
            self.kafka = r.stdout.strip()
            with open(os.path.join(self.dir, "kafka/pid"), encoding="ascii") as f:
                hurry(f.read().strip())
        return self.kafka

    def c(self, *arguments, background=False, preload=""):
        command = [os.path.join(self.bin, "bench"), *[str(a) for a in arguments]]
        if background:
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        env = {**os.environ, "LD_PRELOAD": preload} if preload else None
        r = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env)
        if r.returncode:
            sys.exit(f"bench: {' '.join(command)}: status {r.returncode}")
        return r.stdout

    def topic(self, kind, d, n, partitions=PARTITIONS):
        """A topic of n records, made when it is first asked for."""
        name = f"{kind}-{d}-{n}-{partitions}"
        if name not in self.topics:
            self.c("topic", self.broker, name, partitions)
            out = self.c("feed", self.broker, name, kind, d, n)
            note(f"{name}: {out.strip()}")
            self.topics[name] = n
        return name

    def heads(self, d, scale, pipeline):
        name = f"heads-{pipeline}"
        if name not in self.topics:
            self.c("topic", self.broker, name, 1, "cleanup.policy=compact")
            self.c("head", self.broker, name, pipeline, d, HIDDEN, CLASSES, scale)
            self.topics[name] = 1
        return name

    def drain(self, topic, n, loop, what="none", preload=""):
        return numbers(self.c("drain", self.broker, topic, n, *loop, what, preload=preload))

    def allocator(self):
        """The library that fisd has malloc from; "": libc."""
        linked = subprocess.run(["ldd", os.path.join(self.bin, "fisd")], stdout=subprocess.PIPE,
                                text=True).stdout
        return next((x.split()[2] for x in linked.splitlines() if "jemalloc" in x), "")

    def best_loop(self, topic, n, what="none", rounds=1):
        """The fastest of the bare loops here and now."""
        # Parsing is all that counts, where there is any.
        loops = BARE_LOOPS[:1] if what != "none" else BARE_LOOPS[::2] if self.quick else BARE_LOOPS
        if len(loops) == 1:
            return loops[0]
        rates = {loop: max(self.drain(topic, n, loop, what)["rate"] for _ in range(rounds))
                 for loop in loops}
        best = max(rates, key=rates.get)
        note(f"bare {what} loops on {topic}: " +
             ", ".join(f"{b}/{p} us {r / 1e6:.2f}" for (b, p), r in rates.items()) +
             f" million records/s; best {best[0]}/{best[1]} us")
        return best

    def fisd(self, topic, encoding, d=D, scale="none", heads=None, **sections):
        """fisd with role scorer on a topic of records, under a name of its own; not started."""
        self.count += 1
        name = f"b{self.count}"
        config = {"pipeline": name, "roles": ["scorer"],
                  "kafka": {"bootstrap.servers": self.broker},
                  "topics": {"records": topic, "heads": heads or self.heads(d, scale, name)},
                  "classes": [f"c{i}" for i in range(CLASSES)], "dimension": d,
                  "records": {"encoding": encoding}, **sections}
        p = Fisd(self.dir, name, os.path.join(self.bin, "fisd"))
        with open(p.config_path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        return p

    def score_topic(self, topic, n, encoding, **kw):
        """The rate at which fisd scores a whole topic; with its CPU time, memory and log."""
        with self.fisd(topic, encoding, **kw) as p:
            p.start(ready=None)
            got = numbers(self.c("progress", self.broker, f"{p.name}.candidates", n))
            got["cpu_us"] = p.cpu_s() * 1e6 / n
            got["rss"] = p.rss()
            p.stop()
            got["loop"], got["latency"] = p.log_fields("loop"), p.log_fields("latency")
            return got


class Fisd(Process):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(x.split()[1]) for x in f if x.startswith("VmRSS:")) * 1024


def hurry(pid="self"):
    """A process and its session before other programs on this machine, which would be what is
    measured. Linux weighs sessions against each other first (autogroup): in a session of its own
    even an idle program gets a full share. The session's nice value from before."""
    path = f"/proc/{pid}/autogroup"
    try:
        with open(path, encoding="ascii") as f:
            before = f.read().split()[-1]
        with open(path, "w", encoding="ascii") as f:
            f.write(str(NICE))
        return before
    except (OSError, IndexError):
        return None


def calm(before):
    with open("/proc/self/autogroup", "w", encoding="ascii") as f:
        f.write(before)


def first_of_all():
    """This process, and all that it starts, until it ends; where it may."""
    try:
        os.nice(NICE)
    except PermissionError:
        pass
    before = hurry()
    if before is not None:
        atexit.register(calm, before)


def numbers(text):
    words = text.split()
    return {k: float(v) for k, v in zip(words[::2], words[1::2])}


# ---- what is measured ----------------------------------------------------------------------

def kernel(b, figures, wanted):
    lines = b.c("kernel", 5 if b.quick else 31).splitlines()
    for line, (d, h, k) in zip(lines, SHAPES):
        values, text = line.split(" : ")
        name, *ratios = values.split()
        if wanted(name):
            figures.add(name, [float(r) for r in ratios], 1.6 if d == 14 else 1.25, False, "x",
                        text)
    values, text = lines[-1].split(" : ")
    if wanted("denormals"):
        figures.add("denormals", [float(r) for r in values.split()[1:]], 1.5, False, "x", text)


def end_to_end(b, figures, wanted):
    loop = None
    for encoding, n, rounds, what, goal in (
            ("protobuf", QUICK_N if b.quick else 4000000, 2 if b.quick else 9, "none", .9),
            ("raw", QUICK_N if b.quick else 4000000, 2 if b.quick else 9, "none", .9),
            ("json", 20000 if b.quick else 200000, 2 if b.quick else 7, "json", .5)):
        name = f"end_to_end_{encoding}"
        if not wanted(name):
            continue
        topic = b.topic(encoding, D, n)
        if not (b.quick and encoding == "raw" and loop):  # of the same size and number
            loop = b.best_loop(topic, n, what, 1 if b.quick else 2)
        if not b.quick or encoding == "protobuf":
            b.score_topic(topic, n, encoding)  # warm
        # Enough batches to tell a rate by, where there are few records.
        more = {"scorer": {"batch": 512}} if encoding == "json" else {}
        own = "" if b.quick else b.allocator()
        bare, same, ours = [], [], []
        for _ in range(rounds):
            bare.append(b.drain(topic, n, loop, what))
            if own:
                same.append(b.drain(topic, n, loop, what, own))
            ours.append(b.score_topic(topic, n, encoding, **more))
        rate = lambda runs: statistics.median(r["rate"] for r in runs) / 1e6
        cpu = lambda runs: statistics.median(r["cpu_us"] for r in runs)
        figures.add(name, [o["rate"] / r["rate"] for o, r in zip(ours, bare)], goal, True, "x",
                    f"{rate(ours):.3f} of {rate(bare):.3f} million records/s; CPU "
                    f"{cpu(ours):.2f} of {cpu(bare):.2f} us a record"
                    + (f"; of a bare loop with fisd's allocator, {rate(same):.3f} million, "
                       f"{statistics.median(o['rate'] / r['rate'] for o, r in zip(ours, same)):.2f}"
                       if same else ""))


def trees(b, figures, wanted):
    """A base of 120 trees: a record's score against XGBoost's own prediction and the network's score,
    each alone; and a whole topic against the fastest bare loop."""
    if wanted("scoring_trees"):
        rounds = 5 if b.quick else 31
        lines = [b.c("score", rounds, D, scale, "raw").split()[2:] for scale in ("none", "trees")]
        alone, both = ([float(v) for v in line] for line in lines)
        predict = [float(v) for v in b.c("predict", rounds, D).split()[1:]]
        middle = statistics.median
        figures.add("scoring_trees", [t / (n + p) for t, n, p in zip(both, alone, predict)], 1.6,
                    False, "x", f"{middle(both):.0f} ns; network {middle(alone):.0f}, XGBoost's "
                    f"prediction {middle(predict):.0f}")
    if wanted("end_to_end_trees"):
        n, rounds = (QUICK_N, 2) if b.quick else (4000000, 7)
        topic = b.topic("protobuf", D, n)
        loop = b.best_loop(topic, n, "none", 1 if b.quick else 2)
        over = {"scale": "trees", "model": {"base": {"type": "trees"}}}
        pairs = [(b.drain(topic, n, loop), b.score_topic(topic, n, "protobuf", **over))
                 for _ in range(rounds)]
        figures.add("end_to_end_trees", [o["rate"] / r["rate"] for r, o in pairs], .5, True, "x",
                    f"{statistics.median(o['rate'] for _, o in pairs) / 1e6:.3f} million records/s")


def people(folder, n, seed):
    """A table of 20 numbers, a label and a group, whole and as a pipeline's files."""
    r = random.Random(seed)
    names = [f"f{i}" for i in range(20)]
    rows = []
    for i in range(n):
        x = [r.gauss(0, 1) for _ in names]
        rows.append([f"r{i}", *(f"{v:.4f}" for v in x), "AB"[r.random() < .5],
                     "yes" if x[0] - x[1] * x[2] + r.gauss(0, 1) > 0 else "no"])
    head = ["id", *names, "group", "label"]
    parts = {"validation": rows[:1000], "pool": rows[1000:3000], "initial": rows[3000:]}
    for part, of in parts.items():
        keep = [i for i, c in enumerate(head) if part == "validation" or c != "group"]
        with open(os.path.join(folder, part + ".csv"), "w", encoding="utf-8") as f:
            for row in [head, *of]:
                f.write(",".join(row[i] for i in keep) + "\n")
    return names


def refit(b, figures, _):
    """The loop's longest turn while a base is fitted again in each of five rounds, on a worker: from
    the first version on, since the initial rows are read before it, and before there is a base."""
    n = 8000 if b.quick else 23000
    columns = people(b.dir, n, 1)
    p = Fisd(b.dir, "refit", os.path.join(b.bin, "fisd"))
    config = {"pipeline": "refit", "kafka": {"bootstrap.servers": b.broker}, "classes": ["no", "yes"],
              "columns": [{"name": c} for c in columns], "records": {"ignore": ["label"]},
              "initial": {"file": "initial.csv"}, "validation": {"file": "validation.csv",
                                                                 "sensitive": ["group"]},
              "selection": {"mode": "pool", "labels_per_round": 32, "rounds": 5},
              "model": {"base": {"type": "trees", "growth": 0}}}
    with open(p.config_path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    fisctl = lambda *words: [os.path.join(b.bin, "fisctl"), "-c", p.config_path, *words]
    until = lambda versions: subprocess.run(
        fisctl("watch", "--until", f"versions={versions}", "--timeout", "900", "--plain"),
        check=True, stdout=subprocess.DEVNULL)
    turns = "fisd_loop_turn_seconds"
    with p:
        p.start()
        until(1)
        client = client_of(p)
        before = buckets(client, turns)
        labels = subprocess.Popen(fisctl("label", "--answers", os.path.join(b.dir, "pool.csv")),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            subprocess.run(fisctl("replay", os.path.join(b.dir, "pool.csv")), check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until(6)
            after = buckets(client, turns)
        finally:
            labels.terminate()
            labels.wait()
        p.stop()
        fits = len(re.findall(r" base trees=", p.log()))
    p99, longest = (1e3 * quantile(before, after, q) for q in (.99, 1))
    figures.add("refit_stall_ms", [longest], 10, False, "ms",
                f"{fits} fits to {n - 3000} rows and more; p99 of turns {p99:.2f} ms")


def sparse(b, figures, _):
    """Index and value against dense numbers of the same width, decoded and scored in memory; encoded
    as Adult is, its six numbers standardised."""
    lines = {}
    for line in b.c("score", 9 if b.quick else 41, D, "adult").splitlines():
        kind, size, *ns = line.split()
        lines[kind] = float(size), [float(x) for x in ns]
    (dense_bytes, dense), (bytes_, ours) = lines["protobuf"], lines["sparse"]
    text = (f"{statistics.median(ours):.0f} ns a record, dense {statistics.median(dense):.0f}; "
            f"{bytes_:.0f} bytes on the wire, dense {dense_bytes:.0f}: "
            f"{dense_bytes / bytes_:.1f} times fewer (goal 4)")
    figures.add("sparse", [d / o for d, o in zip(dense, ours)] if dense_bytes >= 4 * bytes_ else [0],
                2, True, "x", text)


def buckets(client, metric):
    """A histogram of /metrics: the count up to each bound."""
    return {float(dict(labels)["le"].replace("+Inf", "inf")): n
            for (name, labels), n in client.metrics().items() if name == f"{metric}_bucket"}


def quantile(before, after, q):
    """Of what was observed in between: linear in its bucket."""
    bounds = sorted(after)
    counts = [after[bound] - before[bound] for bound in bounds]
    below = low = 0
    for bound, count in zip(bounds, counts):
        if count >= q * counts[-1]:
            return low + (bound - low) * (q * counts[-1] - below) / ((count - below) or 1)
        below, low = count, bound
    return low


def live(b, d=D, kind="protobuf"):
    """fisd on a topic that is fed while it runs; not started. (It, the topic, a call for heads.)"""
    b.count += 1
    topic, heads, number = f"live-{b.count}", f"live-heads-{b.count}", b.count + 1
    b.c("topic", b.broker, topic, PARTITIONS)
    b.c("topic", b.broker, heads, 1, "cleanup.policy=compact")
    head = lambda version: b.c("head", b.broker, heads, f"b{number}", d, HIDDEN, CLASSES, "none", version)
    head(1)
    return b.fisd(topic, kind, d, heads=heads), topic, head


def live_peak(b, n, *what):
    """The rate that producer, broker and fisd reach together, on the same processors."""
    p, topic, _ = live(b, *what)
    d, kind = what or (D, "protobuf")
    with p:
        p.start(ready=r" assigned role=scorer partitions=[1-9]")
        feed = b.c("feed", b.broker, topic, kind, d, n, background=True)
        rate = numbers(b.c("progress", b.broker, f"{p.name}.candidates", n))["rate"]
        feed.wait()
        p.stop()
    return rate


def paced(b, rate, seconds, d=D, kind="protobuf"):
    """Records at a rate, with a new head in the middle, so that candidates keep coming. What came
    before is not counted: the group is joined, and the broker and the heaps get warm. (p50 and p99
    of the records' latency, the longest turn's bucket; ms)."""
    p, topic, head = live(b, d, kind)
    with p:
        p.start(ready=r" assigned role=scorer partitions=[1-9]")
        warm = int(rate * WARM_SECONDS)
        client = client_of(p)
        feed = b.c("feed", b.broker, topic, kind, d, int(rate * seconds) + warm, int(rate),
                   background=True)
        until_scored(p, client, warm)
        metrics = "fisd_record_latency_seconds", "fisd_loop_turn_seconds"
        before = [buckets(client, m) for m in metrics]
        head(2)
        if feed.wait():
            sys.exit("bench: feed failed")
        until_scored(p, client, warm + int(rate * seconds))
        latency, turns = [(x, buckets(client, m)) for x, m in zip(before, metrics)]
        p.stop()
    return [1e3 * quantile(*latency, q) for q in (.5, .99)] + [1e3 * quantile(*turns, 1)]


def ticks():
    """Of this machine's processors so far: all, and those that its host gave to others."""
    with open("/proc/stat", encoding="ascii") as f:
        spent = [int(x) for x in f.readline().split()[1:9]]
    return sum(spent), spent[7]


def undisturbed(wanted, most, run):
    """Rounds of run() from which the host took no processor, until there are so many, of `most` at
    most; all of them, when there is none. (Their results, how many rounds there were, the largest
    share that was taken.)"""
    rounds = []
    while len(rounds) < most and sum(share < STOLEN for share, _ in rounds) < wanted:
        before = ticks()
        result = run()
        spent, taken = (y - x for x, y in zip(before, ticks()))
        rounds.append((taken / max(1, spent), result))
    good = [result for share, result in rounds if share < STOLEN]
    return good or [r for _, r in rounds], len(rounds), max(share for share, _ in rounds)


def scored(client):
    return sum(x for (name, _), x in client.metrics().items() if name == "fisd_records_total")


def until_scored(p, client, n):
    """Looks seldom: reading all metrics is work too."""
    while scored(client) < n:
        p.alive()
        time.sleep(.25)


def under_load(b, figures, wanted):
    """At half the rate that is reached when the records are produced meanwhile."""
    n = QUICK_N if b.quick else 4000000
    peak = live_peak(b, n)
    runs, rounds, taken = undisturbed(1 if b.quick else 5, 1 if b.quick else 10,
                                      lambda: paced(b, peak / 2, 8 if b.quick else 20))
    p50, p99, longest = zip(*runs)
    text = (f"at {peak / 2e6:.2f} million records/s, half of what producer, broker and fisd reach "
            f"together, in {len(runs)} of {rounds} rounds (the host took up to {taken:.0%} of the "
            "processors)")
    if wanted("latency_p99_ms"):
        figures.add("latency_p99_ms", p99, 20, False, "ms",
                    f"{text}; of all records, p50 {statistics.median(p50):.1f} ms")
    if wanted("loop_stall_ms"):
        full = b.score_topic(b.topic("protobuf", D, n), n, "protobuf")["loop"]
        figures.add("loop_stall_ms", longest, 10, False, "ms",
                    f"{text}: no turn was longer; as fast as it can, with no processor free: p99 "
                    f"{full['p99_ms']} ms, longest {full['longest_ms']} ms")


def embeddings(b, figures, wanted):
    """What a large model makes of texts or images, as raw records: a whole topic against the fastest
    bare loop, and the latency at half the rate that is reached while they are produced."""
    for d, n in ((384, 1000000), (1024, 400000)):
        name = f"embeddings_{d}"
        n, rounds = (n // 4, 2) if b.quick else (n, 7)
        if wanted(name):
            topic = b.topic("raw", d, n)
            loop = b.best_loop(topic, n)
            pairs = [(b.drain(topic, n, loop), b.score_topic(topic, n, "raw", d=d))
                     for _ in range(rounds)]
            ours, bare = ([x["rate"] for x in part] for part in zip(*[p[::-1] for p in pairs]))
            figures.add(name, [o / r for o, r in zip(ours, bare)], .5, True, "x",
                        f"{statistics.median(ours) / 1e3:.0f} of {statistics.median(bare) / 1e3:.0f} "
                        "thousand records/s; CPU "
                        f"{statistics.median(o['cpu_us'] for _, o in pairs):.2f} us a record")
        if wanted(name + "_p99_ms"):
            peak = live_peak(b, n, d, "raw")
            runs, _, _ = undisturbed(1 if b.quick else 3, 1 if b.quick else 6,
                                     lambda: paced(b, peak / 2, 8, d, "raw"))
            p50, p99, _ = zip(*runs)
            figures.add(name + "_p99_ms", p99, 50, False, "ms",
                        f"at {peak / 2e3:.0f} thousand records/s; p50 {statistics.median(p50):.1f} ms")


def images(b, figures, wanted):
    """The small transformer on one core: a forward pass against the matrix products that it needs,
    scoring against the forward pass, and training steps against those of flax, turn by turn."""
    rounds = 5 if b.quick else 21
    ms = {}
    for line in b.c("images", rounds).splitlines():
        name, *values = line.split()
        ms[name] = [float(v) for v in values]
    middle = {name: statistics.median(values) for name, values in ms.items()}
    if wanted("images_forward"):
        figures.add("images_forward", [p / f for p, f in zip(ms["products"], ms["forward"])], .5,
                    True, "x", f"of 128 images {middle['forward']:.1f} ms, their matrix products alone "
                    f"{middle['products']:.1f}")
    if wanted("images_scoring"):
        figures.add("images_scoring", [f / s for f, s in zip(ms["forward"], ms["score"])], .8, True,
                    "x", f"{middle['score'] / 128:.2f} ms an image")
    if wanted("images_training"):
        images_training(b, figures, rounds)


def images_training(b, figures, rounds):
    if b.quick:
        note("images_training: QUICK=1 installs nothing from PyPI")
        return
    ours, theirs = [], []
    with subprocess.Popen([venv("jax[cpu]", "flax", "optax"), os.path.join(HERE, "peer_flax.py")],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        for _ in range(rounds // 3):
            print(3, file=peer.stdin, flush=True)
            theirs += [float(v) for v in peer.stdout.readline().split()]
            line = next(x for x in b.c("images", 3).splitlines() if x.startswith("train "))
            ours += [float(v) for v in line.split()[1:]]
        peer.stdin.close()
    figures.add("images_training", [t / o for t, o in zip(theirs, ours)], 2, True, "x",
                f"a step of 128 images {statistics.median(ours):.0f} ms "
                f"({128e3 / statistics.median(ours):.0f} images/s), flax "
                f"{statistics.median(theirs):.0f} ms")


def directions(b, figures, _):
    """Refreshing them for 10,000 validation rows and 10^5 parameters; on a worker. By fisd's defaults
    directions are preconditioned from 1,000 rows on (gate.precondition)."""
    lines = b.c("refresh", 3 if b.quick else 15).replace("refresh", "").split(":")
    plain, conditioned = ([float(x) for x in part.split()] for part in lines)
    figures.add("directions_ms", conditioned, 100, False, "ms",
                f"10,000 validation rows, 10^5 parameters, off the loop; without the preconditioner "
                f"{statistics.median(plain):.0f} ms")


def rss_growth(b, figures, _):
    """Memory after all records against memory after the first 5 % of them."""
    n = QUICK_N * 2 if b.quick else LONG_N
    first, values = n // 2 if b.quick else n // 20, []
    topic = b.topic("raw", LONG_D, n if b.quick else 2 * LONG_N)  # heap_size's
    for _ in range(1 if b.quick else 3):
        begin, end = rss_after(b, topic, first, n)
        values.append(end / begin)
    text = (f"{begin / 2**20:.0f} MiB after {first / 1e6:g} million records, "
            f"{end / 2**20:.0f} MiB after {n / 1e6:g} million")
    if not b.quick:
        many = rss_after(b, b.topic("raw", LONG_D, first, 1000), first)[0]
        text += f"; {many / 2**20:.0f} MiB after {first / 1e6:g} million on 1,000 partitions"
    figures.add("rss_growth", values, 1.02, False, "x", text)


def rss_after(b, topic, *counts):
    """Of fisd, after so many records of a topic."""
    with b.fisd(topic, "raw", d=LONG_D) as p:
        p.start(ready=None)
        found = []
        for n in counts:
            b.c("progress", b.broker, f"{p.name}.candidates", n)
            looks = []
            for _ in range(11):  # it goes up and down with the queue
                looks.append(p.rss())
                time.sleep(.05)
            found.append(statistics.median(looks))
        p.stop()
    return found


def by_turns(ps, first, last):
    """Several fisd that run a second each in turn and are stopped meanwhile, so that what drifts
    meets all alike: the rate of each from `first` records on, until one has `last` of them."""
    for p in ps:
        p.start(ready=None)
    clients = [client_of(p) for p in ps]
    for p in ps:
        p.process.send_signal(signal.SIGSTOP)
    n, took, ahead = [0] * len(ps), [0] * len(ps), 0
    while ahead < last:
        for i, (p, client) in enumerate(zip(ps, clients)):
            p.process.send_signal(signal.SIGCONT)
            begin, before = time.monotonic(), scored(client)
            time.sleep(1)
            after = scored(client)
            if first <= before and after < last:
                n[i] += after - before
                took[i] += time.monotonic() - begin
            p.process.send_signal(signal.SIGSTOP)
            ahead = max(ahead, after)
    for p in ps:
        p.process.send_signal(signal.SIGCONT)
        p.stop()
    return [x / y for x, y in zip(n, took)]


def heap_size(b, figures, _):
    """What a heap of 65,536 costs over one of 256, once it is full of good ones: over the second
    half of the records."""
    if b.quick:
        note("heap_size_effect: needs more records than QUICK=1 has time for")
        return
    topic, values = b.topic("raw", LONG_D, 2 * LONG_N), []
    for r in range(5):
        heaps = [256, 65536][::-1 if r % 2 else 1]
        with b.fisd(topic, "raw", d=LONG_D, selection={"heap": heaps[0]}) as p, \
                b.fisd(topic, "raw", d=LONG_D, selection={"heap": heaps[1]}) as q:
            rates = dict(zip(heaps, by_turns((p, q), LONG_N, 2 * LONG_N)))
        values.append(1 - rates[65536] / rates[256])
    figures.add("heap_size_effect", values, .05, False, "",
                f"share of the rate that is lost, from {LONG_N / 1e6:g} to {2 * LONG_N / 1e6:g} million "
                "records under one head")


def venv(*packages):
    """Python with these packages, in the cache."""
    path = os.path.join(ROOT, "build/cache/venv")
    python = os.path.join(path, "bin/python3")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", path], check=True)
    probe = "; ".join(f"import {p.split('[')[0].replace('-', '_')}" for p in packages)
    if subprocess.run([python, "-c", probe], stderr=subprocess.DEVNULL).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def peers(b, figures, wanted):
    if b.quick:
        note("peer_numpy, peer_jax: QUICK=1 installs nothing from PyPI")
        return
    python = venv("confluent-kafka", "numpy", "jax[cpu]")
    for name, n in (("peer_numpy", 1000000), ("peer_jax", 200000)):
        if not wanted(name):
            continue
        topic, ratios = b.topic("protobuf", D, n), []
        for _ in range(5):
            r = subprocess.run([python, os.path.join(HERE, f"{name}.py"), b.broker, topic, str(n),
                                str(D), str(HIDDEN), str(CLASSES)], stdout=subprocess.PIPE,
                               text=True, check=True)
            theirs = numbers(r.stdout)["rate"]
            ratios.append(b.score_topic(topic, n, "protobuf")["rate"] / theirs)
        figures.add(name, ratios, PEER_GOAL, True, "x", f"theirs {theirs / 1e6:.3f} million "
                    "records/s")


def lab(b, figures, _):
    """A whole run of FIS, from reading the data to the last verdict, on one core."""
    values, text = [], []
    for task, key in (("adult-sex", "adult"), ("compas", "compas")):
        for _ in range(2 if b.quick else 5):
            begin = time.monotonic()
            r = subprocess.run([os.path.join(b.bin, "fisctl"), "lab", "run", "--tasks", task,
                                "--methods", "fis+", "--seeds", "1", "--threads", "1", "--cache",
                                os.path.join(ROOT, "build/cache")], stdout=subprocess.DEVNULL)
            took = time.monotonic() - begin
            if r.returncode:
                note(f"lab_vs_authors: fisctl lab run: status {r.returncode}")
                return
            values.append(AUTHORS_S[key] / took)
        text.append(f"{key} {took:.2f} s, theirs {AUTHORS_S[key]:.0f} (as given)")
    figures.add("lab_vs_authors", values, 100, True, "x", "; ".join(text))


SECTIONS = [(kernel, [f"kernel_d{d}_h{h}_k{k}" for d, h, k in SHAPES] + ["denormals"]),
            (sparse, ["sparse"]),
            (embeddings, [f"embeddings_{d}{x}" for d in (384, 1024) for x in ("", "_p99_ms")]),
            (images, ["images_forward", "images_scoring", "images_training"]),
            (lab, ["lab_vs_authors"]),
            (end_to_end, ["end_to_end_protobuf", "end_to_end_raw", "end_to_end_json"]),
            (trees, ["scoring_trees", "end_to_end_trees"]),
            (refit, ["refit_stall_ms"]),
            (directions, ["directions_ms"]),
            (under_load, ["latency_p99_ms", "loop_stall_ms"]),
            (heap_size, ["heap_size_effect"]),
            (rss_growth, ["rss_growth"]),
            (peers, ["peer_numpy", "peer_jax"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("figure", nargs="*")
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    first_of_all()

    def wanted(name):
        return not o.figure or any(name.startswith(f) for f in o.figure)

    if not any(wanted(n) for _, names in SECTIONS for n in names):
        sys.exit(f"bench: no figure is called {' or '.join(o.figure)}")
    begin, figures, b = time.monotonic(), Figures(), Bench(o.bin, o.quick)
    for run, names in SECTIONS:
        if any(wanted(n) for n in names):
            section = time.monotonic()
            run(b, figures, wanted)
            note(f"{run.__name__}: {time.monotonic() - section:.1f} s")
    note(f"{time.monotonic() - begin:.0f} s")
    return figures.finish()


if __name__ == "__main__":
    sys.exit(main())
