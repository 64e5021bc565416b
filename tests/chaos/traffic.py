"""What goes on around the pipeline while it is hurt: a stream of records, and people who answer,
late, twice, wrongly, or not at all."""

import heapq
import itertools
import json
import os
import random
import subprocess
import threading
import time

import fisd_test
from fisd_test import FEATURES, csv_bytes, people, record_json

SLICE = 300  # records of one fisctl replay


def truth(record_id):
    """The class that an honest labeller gives: it only has to be the same every time."""
    return "yes" if hash_of(record_id) % 2 else "no"


def hash_of(text):
    n = 7
    for c in text.encode():
        n = (n * 31 + c) & 0xFFFFFFFF
    return n >> 3


def send(topic, messages, over=None):
    """Until the broker has them; what it may have had before a failure is sent again."""
    while not (over and over.is_set()):
        try:
            fisd_test.produce(topic, messages)
            return
        except (AssertionError, subprocess.TimeoutExpired):
            time.sleep(.3)


class Feeder(threading.Thread):
    """Sends people with fisctl replay, slice after slice, and now and then what is no record."""

    def __init__(self, p, seed, rate):
        super().__init__(daemon=True)
        self.p, self.seed, self.rate = p, seed, rate
        self.over = threading.Event()
        self.sent = self.failed = 0

    def run(self):
        for number in itertools.count(1):
            if self.over.is_set():
                return
            rows = list(people(SLICE, 1000 * self.seed + number))
            path = self.p.write(f"slice-{number}.csv", csv_bytes(rows, ["id"] + FEATURES))
            self.replay(path, rows)
            os.remove(path)
            if number % 3 == 0:
                send(self.p.topic("records"), [(b"junk-%d" % number, b"{no record")], self.over)

    def replay(self, path, rows):
        """A replay that fails (the broker was away for too long) is done again by other means, so
        that no row is missing; fisctl says itself how many it has sent."""
        try:
            r = self.p.fisctl("replay", path, "--rate", str(self.rate), timeout=360)
            if r.returncode == 0:
                self.sent += len(rows)
                return
        except subprocess.TimeoutExpired:
            pass
        self.failed += 1
        send(self.p.topic("records"), [(r["id"].encode(), record_json(r)) for r in rows], self.over)
        self.sent += len(rows)

    def finish(self):
        self.over.set()
        self.join()


class Labeller(threading.Thread):
    """Answers requests after a while. One in some is late (after the deadline), skipped, answered
    twice, contradicted, or never answered; some answers are to nobody's question, or no answer."""

    def __init__(self, p, seed, late):
        super().__init__(daemon=True)
        self.p, self.late, self.random = p, late, random.Random(seed)
        self.lock = threading.Lock()
        self.seen, self.due, self.order = set(), [], itertools.count()
        self.over = threading.Event()
        self.delivered = 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.kcat = None

    def start(self):
        super().start()
        self.reader.start()

    # ---- requests

    def read(self):
        """kcat may end with the broker: another one reads again from the beginning."""
        while not self.over.is_set():
            self.kcat = subprocess.Popen(
                ["kcat", "-q", "-E", "-u", "-C", "-b", fisd_test.KAFKA, "-o", "beginning",
                 "-t", self.p.topic("label-requests"), "-X", "isolation.level=read_committed",
                 "-X", "topic.metadata.refresh.interval.ms=2000", "-f", "%s\n"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for line in self.kcat.stdout:
                self.take(json.loads(line))
            self.kcat.wait()
            self.over.wait(.3)

    def take(self, request):
        i = request["id"]
        if request.get("cancelled") or i in self.seen:
            return
        self.seen.add(i)
        with self.lock:
            self.plan(i)

    def plan(self, i):
        r, kind = self.random, self.random.random()
        wait = r.uniform(.05, 1.2)
        if kind < .03:
            return  # nobody answers
        if kind < .11:
            wait = r.uniform(self.late * .8, self.late * 1.5)
        if kind < .17 and kind >= .11:
            self.at(wait, i, {"status": r.choice(["skipped", "unsure"])})
            if r.random() < .5:
                return
            wait += r.uniform(.5, 3)
        self.at(wait, i, {"label": truth(i)})
        if kind > .95:
            self.at(wait + r.uniform(0, 3), i, {"label": truth(i)})
        elif kind > .90:
            self.at(wait + r.uniform(0, 3), i, {"label": "no" if truth(i) == "yes" else "yes"})
        elif kind > .87:
            self.at(wait, f"nobody-{i}", {"label": "yes"})
        elif kind > .84:
            self.at(wait - .04, i, {"label": "perhaps"})

    def at(self, wait, i, answer):
        heapq.heappush(self.due, (time.monotonic() + wait, next(self.order), i, answer))

    # ---- answers

    def run(self):
        while not self.over.is_set():
            self.deliver(time.monotonic())
            self.over.wait(.1)

    def deliver(self, until):
        with self.lock:
            batch = []
            while self.due and self.due[0][0] <= until:
                _, _, i, answer = heapq.heappop(self.due)
                batch.append((i.encode(), json.dumps(answer).encode()))
        if batch:
            send(self.p.topic("labels"), batch)
            self.delivered += len(batch)

    def finish(self):
        """Delivers all that is still to come, at once, and ends."""
        self.over.set()
        self.join()
        self.deliver(time.monotonic() + 3600)
        if self.kcat:
            self.kcat.kill()
        self.reader.join()
