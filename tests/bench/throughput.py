"""Figures of rates: a topic that fisd scores as fast as it can, against bare loops and peers."""

import os
import statistics
import subprocess

from figures import note, numbers
from programs import CLASSES, D, HERE, HIDDEN, QUICK_N, venv

# Of which at least so much must be reached.
PEER_GOAL = 5


def end_to_end(b, figures, selected):
    loop = None
    for encoding, n, rounds, what, goal in (
            ("protobuf", QUICK_N if b.quick else 4000000, 2 if b.quick else 9, "none", .9),
            ("raw", QUICK_N if b.quick else 4000000, 2 if b.quick else 9, "none", .9),
            ("json", 20000 if b.quick else 200000, 2 if b.quick else 7, "json", .5)):
        name = f"end_to_end_{encoding}"
        if not selected(name):
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


def trees(b, figures, selected):
    """A base of 120 trees: a record's score against XGBoost's own prediction and the network's score,
    each alone; and a whole topic against the fastest bare loop."""
    if selected("scoring_trees"):
        rounds = 5 if b.quick else 31
        lines = [b.c("score", rounds, D, scale, "raw").split()[2:] for scale in ("none", "trees")]
        alone, both = ([float(v) for v in line] for line in lines)
        predict = [float(v) for v in b.c("predict", rounds, D).split()[1:]]
        middle = statistics.median
        figures.add("scoring_trees", [t / (n + p) for t, n, p in zip(both, alone, predict)], 1.6,
                    False, "x", f"{middle(both):.0f} ns; network {middle(alone):.0f}, XGBoost's "
                    f"prediction {middle(predict):.0f}")
    if selected("end_to_end_trees"):
        n, rounds = (QUICK_N, 2) if b.quick else (4000000, 7)
        topic = b.topic("protobuf", D, n)
        loop = b.best_loop(topic, n, "none", 1 if b.quick else 2)
        over = {"scale": "trees", "model": {"base": {"type": "trees"}}}
        pairs = [(b.drain(topic, n, loop), b.score_topic(topic, n, "protobuf", **over))
                 for _ in range(rounds)]
        figures.add("end_to_end_trees", [o["rate"] / r["rate"] for r, o in pairs], .5, True, "x",
                    f"{statistics.median(o['rate'] for _, o in pairs) / 1e6:.3f} million records/s")


def peers(b, figures, selected):
    if b.quick:
        note("peer_numpy, peer_jax: QUICK=1 installs nothing from PyPI")
        return
    python = venv("confluent-kafka", "numpy", "jax[cpu]")
    for name, n in (("peer_numpy", 1000000), ("peer_jax", 200000)):
        if not selected(name):
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
