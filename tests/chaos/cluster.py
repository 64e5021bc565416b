"""Two scorers, two trainers and brokers, and what can be done to them."""

import collections
import functools
import re
import signal
import threading
import time

from fisd_process import same, wait
from brokers import Brokers

SESSION = 6.0
LEADS = r'took_ms=\d+ text="leads'
# Seconds after a fault until its target is of use again; scorers have no part in a takeover.
BACK = {"broker": 12, "t1": 3, "t2": 3}
NODES = {"s1": "scorer", "s2": "scorer", "t1": "trainer", "t2": "trainer"}


class Fault(collections.namedtuple("Fault", "at target kind leader seconds")):
    """What was done to whom, when (since 1970), for how long, and whether it led just then."""


# Led by one of several brokers each: what is at work when that one is hurt.
LED = ["__transaction_state", "__consumer_offsets", "ledger", "heads", "models", "label-requests",
       "labels", "candidates", "records", "control"]


class Cluster:
    def __init__(self, brokers: Brokers, p):
        self.brokers, self.p = brokers, p
        self.led = []          # topics whose leader is hurt next
        self.nodes = {}
        for name, role in NODES.items():
            # One of the scorers keeps its place in the group while it is away.
            own = {"group.instance.id": name} if name == "s2" else {}
            self.nodes[name] = p.node(name, role, kafka=own)
        self.busy = set()      # targets that a fault has hold of
        self.threads = []
        self.failed = []       # faults that could not be carried out or ended
        self.exits = []        # (name, status, last line): nobody had asked for it
        self.slow = []         # (name, seconds, status) of a SIGTERM that went wrong
        self.stops = []        # (seconds, status) of all

    def start(self):
        for node in self.nodes.values():
            node.start(ready=None)

    def leader(self):
        """The trainer that was the last to say that it leads."""
        times = {n: max(node.times(LEADS), default=0) for n, node in self.nodes.items()
                 if NODES[n] == "trainer"}
        times = {n: t for n, t in times.items() if t}
        return max(times, key=times.get) if times else None

    def led_since(self, at):
        """When a trainer first reported after that that it leads; or None."""
        return min((t for n in ("t1", "t2") for t in self.nodes[n].times(LEADS) if t > at),
                   default=None)

    def supervise(self):
        """Starts again what has ended by itself, as a supervisor would, and remembers it."""
        same(self.failed, [], "faults of the harness itself")
        for name, node in self.nodes.items():
            if name in self.busy or not node.process or node.process.poll() is None:
                continue
            lines = node.log().splitlines() or [""]
            self.exits.append((name, node.process.returncode, lines[-1][:300]))
            node.process = None
            node.start(ready=None)

    # ---- faults

    def hurt(self, target, kind, r):
        """Begins a fault; a thread of its own ends it. The Fault."""
        self.busy.add(target)
        seconds = {"kill": lambda: r.uniform(.1, 3), "term": lambda: r.uniform(.1, 3),
                   "freeze": lambda: r.uniform(SESSION + 1.5, SESSION + 4),
                   "pause": lambda: r.uniform(.3, 3), "rolling": lambda: 0,
                   "two": lambda: r.uniform(1, 8)}[kind]()
        fault = Fault(time.time(), target, kind, target == self.leader(), round(seconds, 2))
        work = self.hurt_node
        if target == "broker":
            work = functools.partial(self.hurt_brokers, self.victims(kind, r))
        thread = threading.Thread(target=self.guarded, args=(work, target, kind, seconds))
        self.threads.append(thread)
        thread.start()
        return fault

    def guarded(self, work, target, kind, seconds):
        try:
            work(target, kind, seconds)
        except Exception as e:
            self.failed.append(f"{target}, {kind}: {e!r}")
        finally:
            self.busy.discard(target)

    def hurt_node(self, target, kind, seconds):
        node = self.nodes[target]
        if kind in ("freeze", "pause"):
            node.signal(signal.SIGSTOP)
            time.sleep(seconds)
            node.signal(signal.SIGCONT)
            return
        if kind == "kill":
            node.kill()
        else:
            self.terminate(target)
        time.sleep(seconds)
        node.start(ready=None)

    def victims(self, kind, r):
        """Of several, the leader of each topic in turn; and what else a fault needs."""
        nodes = self.brokers.nodes
        if kind == "rolling" or len(nodes) == 1:
            return nodes
        self.led = self.led or r.sample(LED, len(LED))
        topic = self.led.pop()
        first = self.brokers.leader_of(topic if topic[0] == "_" else self.p.topic(topic), r)
        others = [n for n in nodes if n is not first]
        return [first, r.choice(others)] if kind == "two" else [first]

    def hurt_brokers(self, nodes, _, kind, seconds):
        if kind in ("freeze", "pause"):
            nodes[0].signal(signal.SIGSTOP)
            time.sleep(seconds)
            nodes[0].signal(signal.SIGCONT)
        elif kind == "rolling":
            for node in nodes:
                node.stop()
                self.brokers.start([node])
            return
        else:
            for node in nodes:
                node.stop() if kind == "term" else node.kill()
            time.sleep(seconds)
            self.brokers.start(nodes)
            return
        self.brokers.start([])  # until all is in sync

    def terminate(self, name):
        """SIGTERM: it must end by itself, and in time."""
        node, began = self.nodes[name], time.monotonic()
        try:
            status = node.ended(40, signal.SIGTERM)
        except AssertionError as e:
            status = str(e)
        took = time.monotonic() - began
        self.stops.append((round(took, 1), status))
        # 1: without a broker there was something left, or the group could not be left in time.
        if status not in (0, 1) or took > 32:
            lines = node.log().splitlines() or [""]
            self.slow.append((name, round(took, 1), status, lines[-1][:200]))

    def mend(self):
        """Waits for all faults to be over."""
        for thread in self.threads:
            thread.join()
        self.supervise()

    def stop(self):
        for name in self.nodes:
            if self.nodes[name].process:
                self.terminate(name)

    # ---- takeovers

    def takeovers(self, faults):
        """Seconds from a fault of the leader to the word of the other one, where nothing else was
        hurt in between; and how many there were in all."""
        lines = sorted(t for n in ("t1", "t2") for t in self.nodes[n].times(LEADS))
        clean = []
        for fault in faults:
            after = [t for t in lines if t > fault.at]
            if fault.leader and fault.kind != "pause" and after and not any(
                    f.at < after[0] and f.at + f.seconds + back > fault.at for f in faults
                    for back in [BACK.get(f.target)] if back and f is not fault):
                clean.append((fault.kind, round(after[0] - fault.at, 2)))
        return clean, len(lines)

    def count(self, event):
        return sum(len(re.findall(rf"^\S+ \w+ {event} ", self.nodes[n].log(), re.M))
                   for n in self.nodes)


def wait_until(condition, what, seconds, cluster):
    """As wait(), with the supervisor at work."""
    def looked_after():
        cluster.supervise()
        return condition()
    wait(looked_after, what, seconds)
