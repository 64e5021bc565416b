"""What a user would write today: confluent-kafka and numpy, the mathematics of fisd's scorer.

    peer_numpy.py BROKER TOPIC RECORDS D HIDDEN CLASSES      protobuf records, dense

Prints the rate between 20 % and 80 % of the records, as the loops in C do.
"""

import sys
import time

import numpy as np
from confluent_kafka import Consumer, TopicPartition

BATCH = 16384


def model(d, hidden, classes):
    r = np.random.default_rng(1)
    first = r.normal(0, .1, (d, 3 * hidden)).astype(np.float32)
    bias = r.normal(0, .1, 3 * hidden).astype(np.float32)
    last = [r.normal(0, .1, (hidden, classes)).astype(np.float32) for _ in range(3)]
    return first, bias, last


def score(x, m, hidden):
    """Expected kept gain and entropy."""
    first, bias, (w, ga, gf) = m
    z = x @ first + bias
    on = z[:, :hidden] > 0
    a = np.where(on, z[:, :hidden], 0)
    logits = a @ w
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    influence = []
    for i, g in ((1, ga), (2, gf)):
        s = a @ g + np.where(on, z[:, i * hidden:(i + 1) * hidden], 0) @ w
        influence.append(s - (p * s).sum(axis=1, keepdims=True))
    acc, fair = influence
    gain = -(p * np.where((acc <= 0) & (fair <= 0), fair, 0)).sum(axis=1)
    entropy = -(p * np.log(np.maximum(p, 1e-30))).sum(axis=1)
    return gain, entropy


def batches(broker, topic, records):
    c = Consumer({"bootstrap.servers": broker, "group.id": f"peer-{time.time_ns()}",
                  "enable.auto.commit": False, "queued.max.messages.kbytes": 65536})
    partitions = c.list_topics(topic).topics[topic].partitions
    c.assign([TopicPartition(topic, p, 0) for p in partitions])
    done = 0
    while done < records:
        got = [m.value() for m in c.consume(BATCH, 1) if not m.error()]
        done += len(got)
        if got:
            yield done, got


def features(values, d):
    """Record.features in one piece: a tag, a length, and the floats."""
    header = len(values[0]) - 4 * d
    return np.frombuffer(b"".join(v[header:] for v in values), np.float32).reshape(-1, d)


def timed(broker, topic, records, d, work):
    begin = end = None
    for done, values in batches(broker, topic, records):
        work(features(values, d))
        now = time.monotonic()
        if begin is None and done >= records // 5:
            begin = (done, now)
        if end is None and done >= records // 5 * 4:
            end = (done, now)
    print(f"rate {(end[0] - begin[0]) / (end[1] - begin[1]):.0f}")


def main():
    broker, topic = sys.argv[1:3]
    records, d, hidden, classes = (int(x) for x in sys.argv[3:7])
    m = model(d, hidden, classes)
    best = [np.empty(0, np.float32)] * 2

    def work(x):
        for i, s in enumerate(score(x, m, hidden)):
            all_scores = np.concatenate([best[i], s])
            best[i] = all_scores if len(all_scores) <= 256 else -np.partition(-all_scores, 255)[:256]

    timed(broker, topic, records, d, work)


if __name__ == "__main__":
    main()
