"""Counts, on the topics of a pipeline, whether its guarantees held. It reads what a read_committed
consumer got (kcat), and shares no code with fisd.

    check.py DIR      DIR/<topic>.jsonl and DIR/facts.json, as save() wrote them

A check is a function that yields what is wrong; check() runs all of them."""

import base64
import collections
import json
import os
import sys

from messages import (ANSWERED, CANCELLED, EXPIRED, IN_HEAP, REQUESTED, SKIPPED, STATE_KEY, STATES,
                      Bad, chunk, ledger_entry, model, ranges, request, trainer_state, whole)
from fisd_test import Message

TOPICS = ["records", "candidates", "label-requests", "labels", "heads", "models", "ledger",
          "dead-letter"]


def save(directory, topics, facts):
    os.makedirs(directory, exist_ok=True)

    def text(b):
        return None if b is None else base64.b64encode(b).decode()
    for name, messages in topics.items():
        with open(os.path.join(directory, name + ".jsonl"), "w") as f:
            for m in messages:
                f.write(json.dumps([m.partition, m.offset, text(m.key), text(m.value),
                                    m.headers]) + "\n")
    with open(os.path.join(directory, "facts.json"), "w") as f:
        json.dump(facts, f, indent=1)


def load(directory):
    def raw(t):
        return None if t is None else base64.b64decode(t)
    topics = {}
    for name in TOPICS:
        with open(os.path.join(directory, name + ".jsonl")) as f:
            topics[name] = [Message(p, o, raw(k), raw(v), h) for p, o, k, v, h in
                            map(json.loads, f)]
    with open(os.path.join(directory, "facts.json")) as f:
        return topics, json.load(f)


# ---- what the checks look at ---------------------------------------------------------------

class World:
    """The topics, decoded. facts: prefix, classes, budget, in_flight, and committed:
    {"<group>/<topic>": {"<partition>": offset}}."""

    def __init__(self, topics, facts):
        self.topics, self.facts, self.trouble = topics, facts, []
        self.requests = self.decode("label-requests", request, whole_message=True)
        pieces = [c for c in self.decode("heads", chunk) if c.count]  # not floors
        self.heads, texts = whole(pieces, "head")
        self.trouble += texts
        bodies, texts = whole(self.decode("models", chunk), "version")
        self.trouble += texts
        self.models = [model(body) for body in bodies.values()]
        self.entries, self.states = [], []  # as they were written: (key, Entry or None), State
        for m in topics["ledger"]:
            self.take_ledger(m)
        self.ranges = [r for found in self.decode("candidates", ranges) for r in found]
        self.final = dict(self.entries)
        self.asked = {k for k, e in self.entries if e and e.state == REQUESTED}

    def decode(self, topic, how, whole_message=False):
        out = []
        for m in self.topics[topic]:
            try:
                out.append(how(m if whole_message else m.value))
            except (Bad, ValueError, KeyError, IndexError, AssertionError, TypeError) as e:
                self.trouble.append(f"{topic}/{m.partition}/{m.offset}: no message of it: {e!r}")
        return out

    def take_ledger(self, m):
        try:
            if m.key == STATE_KEY:
                self.states.append(trainer_state(m.value))
            elif not m.key.startswith(STATE_KEY):
                self.entries.append((m.key, ledger_entry(m.value) if m.value is not None else None))
        except (Bad, KeyError, IndexError, AssertionError) as e:
            self.trouble.append(f"ledger/{m.offset}: no message of it: {e!r}")

    def dead(self, topic):
        """(partition, offset) of the messages of a topic that went to dead-letter, and how often."""
        name = self.facts["prefix"] + "." + topic
        return collections.Counter(
            (int(m.headers["fis.error.partition"]), int(m.headers["fis.error.offset"]))
            for m in self.topics["dead-letter"] if m.headers.get("fis.error.topic") == name)


_checks = []


def check_of(name):
    def add(function):
        _checks.append((name, function))
        return function
    return add


# ---- records -------------------------------------------------------------------------------

@check_of("every record is scored")
def records_scored(w):
    """The ranges that scorers reported cover every offset, and account for every record in them;
    what is refused is in dead-letter, and nothing else is."""
    ends = collections.Counter()
    for m in w.topics["records"]:
        ends[m.partition] = max(ends[m.partition], m.offset + 1)
    for partition, end in sorted(ends.items()):
        at = 0
        for r in sorted(r for r in w.ranges if r.partition == partition):
            if r.next - r.begin != r.records + r.refused + r.tombstones:
                yield f"records/{partition}: {r} does not account for all its records"
            if r.begin > at:
                yield f"records/{partition}: offsets {at} to {r.begin - 1} were not scored"
            at = max(at, r.next)
        if at < end:
            yield f"records/{partition}: scored up to {at} of {end}"
    dead = w.dead("records")
    bad = {(m.partition, m.offset) for m in w.topics["records"] if not good_record(m)}
    for place in sorted(bad - set(dead)):
        yield f"records/{place[0]}/{place[1]}: refused, and not in dead-letter"
    for place in sorted(set(dead) - bad):
        yield f"records/{place[0]}/{place[1]}: a good record in dead-letter"


def good_record(m):
    """Of this run's making: what is bad is no JSON at all."""
    return m.value is not None and m.value.startswith(b"{") and m.value.endswith(b"}")


@check_of("offsets are committed to the end")
def committed(w):
    for group, topic in (("scorer", "records"), ("trainer", "candidates"), ("trainer", "labels")):
        found = w.facts["committed"].get(f"{group}/{topic}", {})
        last = {m.partition: m.offset for m in w.topics[topic]}
        for partition, offset in sorted(last.items()):
            at = found.get(str(partition), -1)
            if at < offset + 1:
                yield f"{group}: {topic}/{partition} is committed up to {at} of {offset + 1}"


# ---- requests and budget -------------------------------------------------------------------

@check_of("no record is asked for twice")
def asked_once(w):
    for cancelled, what in ((False, "asked for"), (True, "withdrawn")):
        times = collections.Counter(r.id for r in w.requests if r.cancelled == cancelled)
        for i, n in times.items():
            if n > 1:
                yield f"{i.decode()} is {what} {n} times"


@check_of("requests and ledger say the same")
def requests_on_ledger(w):
    asked = {r.id for r in w.requests if not r.cancelled}
    gone = {r.id for r in w.requests if r.cancelled}
    withdrawn = {k for k, e in w.entries if e and e.state in (EXPIRED, CANCELLED)}
    for a, b, text in ((asked, w.asked, "asked for, and not on the ledger"),
                       (w.asked, asked, "on the ledger, and not asked for"),
                       (gone, withdrawn, "withdrawn, and not on the ledger"),
                       (withdrawn, gone, "withdrawn on the ledger alone")):
        for i in sorted(a - b):
            yield f"{i.decode()}: {text}"


@check_of("the budget and the limit in flight hold at every step")
def budget(w):
    charged, open_now = set(), set()
    for key, e in w.entries:
        if not e or e.state == IN_HEAP:
            continue
        new = e.state == REQUESTED and key not in charged
        charged.discard(key) if e.refunded else charged.add(key)
        open_now.add(key) if e.state == REQUESTED else open_now.discard(key)
        if new and len(charged) > w.facts["budget"]:
            yield f"{key.decode()}: request {len(charged)} on a budget of {w.facts['budget']}"
        if new and len(open_now) > w.facts["in_flight"]:
            yield f"{key.decode()}: {len(open_now)} open, allowed {w.facts['in_flight']}"


# ---- labels --------------------------------------------------------------------------------

@check_of("what is asked, answered or given up stays so")
def life(w):
    """Each entry follows from the one before."""
    state = {}
    for key, e in w.entries:
        before, after = state.get(key, 0), e.state if e else 0
        if after == 0:
            fine = before == IN_HEAP
        elif after == IN_HEAP:
            fine = before in (0, IN_HEAP)
        elif after == REQUESTED:
            fine = before in (0, IN_HEAP, REQUESTED)
        elif after in ANSWERED:
            fine = before >= REQUESTED and before not in ANSWERED
        else:
            fine = before in (REQUESTED, after)
        if not fine:
            yield f"{key.decode()}: {STATES[after]} follows {STATES[before]}"
        state[key] = after


def expected_labels(w):
    """From the labels topic alone: id -> class of the answer that counts, ids that were skipped,
    and the places of the answers that are to be refused."""
    answer, skipped, refused = {}, set(), set()
    for m in w.topics["labels"]:
        place = (m.partition, m.offset)
        try:
            body = json.loads(m.value)
            cls = w.facts["classes"].index(body["label"]) if "label" in body else None
        except (ValueError, TypeError):
            refused.add(place)
            continue
        if m.key not in w.asked:
            refused.add(place)
        elif cls is None:
            if m.key not in answer:
                skipped.add(m.key)
        elif answer.setdefault(m.key, cls) != cls:
            refused.add(place)
    return answer, skipped - set(answer), refused


@check_of("every label is used once")
def labels_used(w):
    answer, skipped, refused = expected_labels(w)
    used = {k: e.cls for k, e in w.final.items() if e and e.state in ANSWERED}
    for i in sorted(set(answer) - set(used)):
        yield f"{i.decode()}: answered, and not used"
    for i in sorted(set(used) - set(answer)):
        yield f"{i.decode()}: used, and nobody answered"
    for i in sorted(set(used) & set(answer)):
        if used[i] != answer[i]:
            yield f"{i.decode()}: class {used[i]} on the ledger, {answer[i]} was answered"
    for i in sorted(skipped):
        if w.final[i] is None or w.final[i].state not in (SKIPPED, EXPIRED, CANCELLED):
            yield f"{i.decode()}: skipped, and {STATES[w.final[i].state]} on the ledger"
    dead = w.dead("labels")
    for place in sorted(refused ^ set(dead)):
        yield (f"labels/{place[0]}/{place[1]}: "
               + ("not in dead-letter" if place in refused else "a good answer in dead-letter"))
    for place, n in dead.items():
        if n > 1:
            yield f"labels/{place[0]}/{place[1]}: {n} times in dead-letter"


@check_of("nothing is left open")
def nothing_open(w):
    answer, skipped, _ = expected_labels(w)
    for key, e in w.final.items():
        if e and e.state == REQUESTED and (key in answer or key in skipped):
            yield f"{key.decode()}: answered, and open"


# ---- heads, versions, state ----------------------------------------------------------------

@check_of("versions are consecutive, whole, and there once")
def versions(w):
    found = [m.version for m in w.models]
    if found != list(range(1, len(found) + 1)):
        yield f"versions {found}"
    for m in w.models:
        if m.parameters and m.parameters != m.by_widths or m.served and not m.parameters:
            yield f"version {m.version}: {m.parameters} parameters of {m.by_widths}"
        if not m.finite:
            yield f"version {m.version}: a parameter is not finite"


@check_of("what is served keeps the accuracy")
def served(w):
    now = 0
    val_0 = w.models[0].val_0 if w.models else None
    for m in w.models:
        if m.parent != now:
            yield f"version {m.version}: its parent is {m.parent}, {now} was served"
        if m.val_0 != val_0:
            yield f"version {m.version}: val_0 is {m.val_0}, and was {val_0}"
        if not m.served:
            continue
        now = m.version
        if m.accuracy is None or not m.accuracy >= m.floor - 1e-9:
            yield f"version {m.version}: accuracy {m.accuracy}, floor {m.floor}"
    if w.states and w.states[-1].served != now:
        yield f"the ledger says that {w.states[-1].served} is served, and it is {now}"


@check_of("versions were trained on the labels that the ledger has")
def lineage(w):
    rounds = [e.round for _, e in w.final.items() if e and e.state in ANSWERED]
    for m in w.models:
        bought = sum(r <= m.round for r in rounds)
        if m.reason not in ("rolled_back", "promoted") and m.bought != bought:
            yield f"version {m.version}: trained on {m.bought} labels, the ledger has {bought}"


@check_of("the trainer's state only goes on")
def forward(w):
    before = None
    for s in w.states:
        if before:
            for name in ("round", "head", "model", "clock_ms", "checkpoint"):
                if getattr(s, name) < getattr(before, name):
                    yield f"{name} {getattr(s, name)} follows {getattr(before, name)}"
            for partition, n in before.counted.items():
                if s.counted.get(partition, 0) < n:
                    yield f"records/{partition}: counted {s.counted.get(partition, 0)} after {n}"
        before = s
    if before and w.models and before.model != w.models[-1].version:
        yield f"the ledger's version is {before.model}, the newest {w.models[-1].version}"
    if before and w.heads and before.head != max(w.heads):
        yield f"the ledger's head is {before.head}, the newest {max(w.heads)}"
    if not before:
        yield "no state was written"


# ---- all -----------------------------------------------------------------------------------

def check(topics, facts):
    """What is wrong: (name of the check, text), and counts for the summary."""
    w = World(topics, facts)
    found = [("every message is one of its topic", t) for t in w.trouble]
    for name, function in _checks:
        found += [(name, text) for text in function(w)]
    _, _, refused = expected_labels(w)
    final = collections.Counter(STATES[e.state] for e in w.final.values() if e)
    return found, {
        "records": len(w.topics["records"]), "requests": len(w.asked),
        "labels_delivered": len(w.topics["labels"]), "labels_refused": len(refused),
        "labels_used": final["accepted"] + final["set_aside"], "expired": final["expired"],
        "skipped": final["skipped"], "open": final["requested"], "heads": len(w.heads),
        "versions": len(w.models), "served": sum(m.served for m in w.models),
        "ledger_messages": len(w.topics["ledger"]),
        "rounds": w.states[-1].round if w.states else 0, "checks": len(_checks) + 1,
    }


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check.py DIR")
    found, counts = check(*load(sys.argv[1]))
    for name, text in found[:200]:
        print(f"violated: {name}: {text}")
    print(json.dumps({**counts, "violations": len(found)}))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
