"""Figures of the computations alone, without a broker: scoring, directions, images, the lab."""

import os
import statistics
import subprocess
import time

from figures import note
from programs import D, HERE, ROOT, venv

SHAPES = [(d, h, k) for d in (14, 104, 512, 2048) for h in (64, 256) for k in (2, 10)]
# Seconds that the authors' program takes for a whole run (JAX, one core), as given by those who
# planned this: it cannot be run here.
AUTHORS_S = {"adult": 220.0, "compas": 119.0}


def kernel(b, figures, selected):
    lines = b.c("kernel", 5 if b.quick else 31).splitlines()
    for line, (d, h, k) in zip(lines, SHAPES):
        values, text = line.split(" : ")
        name, *ratios = values.split()
        if selected(name):
            figures.add(name, [float(r) for r in ratios], 1.6 if d == 14 else 1.25, False, "x",
                        text)
    values, text = lines[-1].split(" : ")
    if selected("denormals"):
        figures.add("denormals", [float(r) for r in values.split()[1:]], 1.5, False, "x", text)


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


def images(b, figures, selected):
    """The small transformer on one core: a forward pass against the matrix products that it needs,
    scoring against the forward pass, and training steps against those of flax, turn by turn."""
    rounds = 5 if b.quick else 21
    ms = {}
    for line in b.c("images", rounds).splitlines():
        name, *values = line.split()
        ms[name] = [float(v) for v in values]
    middle = {name: statistics.median(values) for name, values in ms.items()}
    if selected("images_forward"):
        figures.add("images_forward", [p / f for p, f in zip(ms["products"], ms["forward"])], .5,
                    True, "x", f"of 128 images {middle['forward']:.1f} ms, their matrix products alone "
                    f"{middle['products']:.1f}")
    if selected("images_scoring"):
        figures.add("images_scoring", [f / s for f, s in zip(ms["forward"], ms["score"])], .8, True,
                    "x", f"{middle['score'] / 128:.2f} ms an image")
    if selected("images_training"):
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
