"""Figures of time under load: a record's latency, and the longest turn of the loop. Of embeddings the
rate too; of trees, turns while they are fitted."""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

from figures import numbers
from priority import undisturbed
from programs import CLASSES, D, HIDDEN, PARTITIONS, QUICK_N, Fisd
from http_client import client_of  # found by programs

WARM_SECONDS = 3  # before what counts, where records come at a rate


def scored(client):
    return sum(x for (name, _), x in client.metrics().items() if name == "fisd_records_total")


def until_scored(p, client, n):
    """Looks seldom: reading all metrics is work too."""
    while scored(client) < n:
        p.alive()
        time.sleep(.25)


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


def under_load(b, figures, selected):
    """At half the rate that is reached when the records are produced meanwhile."""
    n = QUICK_N if b.quick else 4000000
    peak = live_peak(b, n)
    runs, rounds, taken = undisturbed(1 if b.quick else 5, 1 if b.quick else 10,
                                      lambda: paced(b, peak / 2, 8 if b.quick else 20))
    p50, p99, longest = zip(*runs)
    text = (f"at {peak / 2e6:.2f} million records/s, half of what producer, broker and fisd reach "
            f"together, in {len(runs)} of {rounds} rounds (the host took up to {taken:.0%} of the "
            "processors)")
    if selected("latency_p99_ms"):
        figures.add("latency_p99_ms", p99, 20, False, "ms",
                    f"{text}; of all records, p50 {statistics.median(p50):.1f} ms")
    if selected("loop_stall_ms"):
        full = b.score_topic(b.topic("protobuf", D, n), n, "protobuf")["loop"]
        figures.add("loop_stall_ms", longest, 10, False, "ms",
                    f"{text}: no turn was longer; as fast as it can, with no processor free: p99 "
                    f"{full['p99_ms']} ms, longest {full['longest_ms']} ms")


def embeddings(b, figures, selected):
    """What a large model makes of texts or images, as raw records: a whole topic against the fastest
    bare loop, and the latency at half the rate that is reached while they are produced."""
    for d, n in ((384, 1000000), (1024, 400000)):
        name = f"embeddings_{d}"
        n, rounds = (n // 4, 2) if b.quick else (n, 7)
        if selected(name):
            topic = b.topic("raw", d, n)
            loop = b.best_loop(topic, n)
            pairs = [(b.drain(topic, n, loop), b.score_topic(topic, n, "raw", d=d))
                     for _ in range(rounds)]
            ours, bare = ([x["rate"] for x in part] for part in zip(*[p[::-1] for p in pairs]))
            figures.add(name, [o / r for o, r in zip(ours, bare)], .5, True, "x",
                        f"{statistics.median(ours) / 1e3:.0f} of {statistics.median(bare) / 1e3:.0f} "
                        "thousand records/s; CPU "
                        f"{statistics.median(o['cpu_us'] for _, o in pairs):.2f} us a record")
        if selected(name + "_p99_ms"):
            peak = live_peak(b, n, d, "raw")
            runs, _, _ = undisturbed(1 if b.quick else 3, 1 if b.quick else 6,
                                     lambda: paced(b, peak / 2, 8, d, "raw"))
            p50, p99, _ = zip(*runs)
            figures.add(name + "_p99_ms", p99, 50, False, "ms",
                        f"at {peak / 2e3:.0f} thousand records/s; p50 {statistics.median(p50):.1f} ms")


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
    the first version on, since the initial rows are read before it, and before there is a base. In
    the loop's own processor time: by the clock a turn also waits for other programs. No lock is held
    while a base is fitted (docs/performance.md), so that there is nothing else to wait for."""
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
    turns = lambda: [buckets(client, f"fisd_loop_turn_{x}seconds") for x in ("cpu_", "")]
    with p:
        p.start()
        until(1)
        client = client_of(p)
        before = turns()
        labels = subprocess.Popen(fisctl("label", "--answers", os.path.join(b.dir, "pool.csv")),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            subprocess.run(fisctl("replay", os.path.join(b.dir, "pool.csv")), check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until(6)
            after = turns()
        finally:
            labels.terminate()
            labels.wait()
        p.stop()
        fits = len(re.findall(r" base trees=", p.log()))
    own, clock = ([1e3 * quantile(x, y, q) for q in (1, .99)] for x, y in zip(before, after))
    figures.add("refit_stall_ms", own[:1], 10, False, "ms",
                f"{fits} fits to {n - 3000} rows and more; processor time of turns, p99 "
                f"{own[1]:.2f} ms; by the clock {clock[0]:.3g} ms, p99 {clock[1]:.2f} ms")
