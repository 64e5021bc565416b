#!/usr/bin/env python3
"""What a scorer's time goes to, by perf: shares of the processor time of fisd while it scores a topic
of protobuf records as fast as it can.

    profile.py [--bin DIR] [--records N] [--encoding protobuf|raw]

Needs perf and the right to use it. docs/performance.md has a table of it.
"""

import argparse
import collections
import os
import re
import subprocess

from figures import numbers
from priority import first_of_all
from programs import D, ROOT, Bench

# By the first that matches a sample's function; a thread's other functions are its own line.
PARTS = [
    ("GEMM of the first layer", r"block\d+$"),
    ("trees of a base", r"trees\d+$|below\d+$|^apply_first|^fis_trees"),
    ("gather: the tile, turned", r"transpose\d+$|turn\d+$|sparse\d+$"),
    ("later layers, ReLU, softmax, influences", r"few\d+$|relu\d+$|softmax\d+$|centre\d+$|others\d+$|network_|^fis_influence"),
    ("criteria", r"criteria|logf|score_rows"),
    ("decode", r"decode|wire_|encoder|run_512$|run_256$|utf8|find_id|scoring_run|memchr"),
    ("heap, ranges, offsets", r"scorer_|heap|sift_|handle_message|send_some|note_latency|admit"),
]
THREADS = [("rdk:broker", "librdkafka's threads: receive, and a little for what is produced"),
           ("rdk:main", "librdkafka's main threads"),
           ("worker", "workers, other functions"),
           ("loop", "the loop: messages taken and given back, librdkafka's locks, the kernel")]


def samples(path):
    """(thread, function) of each sample."""
    text = subprocess.run(["perf", "script", "-i", path, "-F", "comm,tid,ip,sym", "--no-inline"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for line in text.splitlines():
        m = re.match(r"\s*(\S.*?)\s+(\d+)\s+[0-9a-f]+\s+(\S+)", line)
        if m:
            yield m[1], int(m[2]), m[3]


def part_of(command, tid, function, loop):
    thread = ("loop" if tid == loop else "worker") if command == "fisd" else command
    for name, pattern in PARTS:
        if command == "fisd" and re.search(pattern, function):
            return name
    return next((text for begin, text in THREADS if thread.startswith(begin)), thread)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--records", type=int, default=4000000)
    parser.add_argument("--encoding", default="protobuf")
    o = parser.parse_args()
    first_of_all()
    b = Bench(o.bin, False)
    topic = b.topic(o.encoding, D, o.records)
    b.score_topic(topic, o.records, o.encoding)  # warm
    data = os.path.join(b.dir, "perf.data")
    with b.fisd(topic, o.encoding) as p:
        p.start(ready=r" started ")
        perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", data,
                                 "-p", str(p.process.pid)], stderr=subprocess.DEVNULL)
        got = numbers(b.c("progress", b.broker, f"{p.name}.candidates", o.records))
        loop, cpu_us = p.process.pid, p.cpu_s() * 1e6 / o.records
        p.stop()
        perf.wait()
    parts = collections.Counter(part_of(*s, loop) for s in samples(data))
    whole = sum(parts.values()) or 1
    print(f"{got['rate'] / 1e6:.2f} million records/s, {cpu_us:.2f} us of processor time a record, "
          f"{whole} samples")
    for name, n in parts.most_common():
        print(f"{100 * n / whole:5.1f} % {1000 * cpu_us * n / whole:5.0f} ns  {name}")


if __name__ == "__main__":
    main()
