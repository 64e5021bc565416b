#!/usr/bin/env python3
"""How fast fisd is, as ratios between things measured here, turn by turn, in one run.

    bench.py [--bin DIR] [--quick] [figure …]     figures by the beginnings of their names

Prints a table and one JSON line for each figure. Starts a Kafka broker of its own. What is measured
is warmed up first; every figure is the median of its rounds, with the least and the most.
"""

import argparse
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
from compute import SHAPES, directions, images, kernel, lab, sparse  # noqa: E402
from figures import Figures, note  # noqa: E402
from latency import embeddings, refit, under_load  # noqa: E402
from memory import heap_size, rss_growth  # noqa: E402
from priority import first_of_all  # noqa: E402
from programs import ROOT, Bench  # noqa: E402
from throughput import end_to_end, peers, trees  # noqa: E402

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

    def selected(name):
        return not o.figure or any(name.startswith(f) for f in o.figure)

    if not any(selected(n) for _, names in SECTIONS for n in names):
        sys.exit(f"bench: no figure is called {' or '.join(o.figure)}")
    begin, figures, b = time.monotonic(), Figures(), Bench(o.bin, o.quick)
    for run, names in SECTIONS:
        if any(selected(n) for n in names):
            section = time.monotonic()
            run(b, figures, selected)
            note(f"{run.__name__}: {time.monotonic() - section:.1f} s")
    note(f"{time.monotonic() - begin:.0f} s")
    return figures.finish()


if __name__ == "__main__":
    sys.exit(main())
