"""Figures of what is kept: memory over many records, and the price of a large heap."""

import signal
import statistics
import time

from figures import note
from latency import scored
from programs import LONG_D, LONG_N, QUICK_N
from http_client import client_of  # found by programs


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
