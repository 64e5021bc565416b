#!/usr/bin/env python3
"""The operator's commands: what fisctl says of them, what the trainer does, what the topics show,
and that they are still in force after a crash."""

import json

from fisd_test import (Pipeline, fields, has, main, people, record_json, same, t_config, test, wait)
from http_client import client_of, value
from own_broker import delete_records

ROWS = list(people(8000, 3))
TRUTH = {r["id"]: r["hired"] for r in ROWS}


def config(**selection):
    return t_config(selection={"labels_per_round": 24, "window_records": 300, **selection},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    gate={"replace": "always", "epsilon": 0.2},
                    kafka={"session.timeout.ms": 45000, "group.instance.id": "one"},
                    runtime={"commit_interval": "50ms"})


class Work:
    """A stream and an honest labeller, a step at a time."""

    def __init__(self, p):
        self.p, self.sent, self.answered = p, 0, set()

    def feed(self, n=300):
        self.p.produce("records", [(None, record_json(r)) for r in ROWS[self.sent:self.sent + n]])
        self.sent += n

    def requests(self):
        """ids asked for, and those that were taken back."""
        bodies = [(m.key.decode(), json.loads(m.value)) for m in self.p.consume("label-requests")]
        return ([k for k, b in bodies if not b.get("cancelled")],
                {k: b["reason"] for k, b in bodies if b.get("cancelled")})

    def answer(self):
        fresh = [i for i in self.requests()[0] if i not in self.answered]
        if fresh:
            self.p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode())
                                      for i in fresh])
            self.answered.update(fresh)

    def until_version(self, n):
        def there():
            self.answer()
            if len(versions(self.p)) >= n:
                return True
            if not self.requests()[0] or not set(self.requests()[0]) - self.answered:
                self.feed(150)
            return False
        wait(there, f"version {n}", alive=self.p.alive)


def versions(p):
    """What fisctl lists: one dict a version."""
    r = p.fisctl("models", "list", "--json")
    same(r.returncode, 0, r.stderr)
    listed = [json.loads(line) for line in r.stdout.splitlines()]
    return [{**v, "reason": v["gate"]["reason"]} for v in listed]


def command(p, *arguments, code=0):
    """Runs fisctl; its outcome as JSON has ok and text."""
    r = p.fisctl(*arguments)
    same(r.returncode, code, f"fisctl {' '.join(arguments)}: {r.stdout}{r.stderr}")
    return r.stdout + r.stderr


def status(p):
    r = p.fisctl("labels", "status", "--json")
    same(r.returncode, 0, r.stderr)
    return json.loads(r.stdout)


def weights(p, version):
    r = p.fisctl("models", "show", str(version), "--weights")
    same(r.returncode, 0, r.stderr)
    return json.loads(r.stdout)["parameters"]


def crash(p):
    p.kill()
    p.start(ready=r" restored ")


@test("why nothing is asked for: a window that fills, and the next one while labels are out")
def _():
    with Pipeline(config()) as p:
        w = Work(p)
        client = client_of(p.start())

        def shows(state, text, window):
            metrics = client.metrics()
            leading = client.api("status")["trainer"]["leading"]
            return (leading["asking"]["state"] == state and text in leading["asking"]["text"] and
                    text in client.api("status")["doing"] and
                    value(metrics, "fisd_asking", state=state) == 1 and
                    sum(v for (n, _), v in metrics.items() if n == "fisd_asking") == 1 and
                    value(metrics, "fisd_window_records") == window and
                    value(metrics, "fisd_window_full_records") == 300 and
                    text in command(p, "labels", "status"))

        def watched():
            """The last line of progress, that begins where the topics end."""
            text = command(p, "watch", "--plain", "--timeout", "3", "--until", "round=99", code=1)
            return text.split(" progress ")[-1]
        w.feed(168)
        wait(lambda: shows("window", "waiting: 168 of 300 records of the window, round 1", 168),
             "the window", alive=p.alive)
        has(watched(), "window=168 asking=window text=\"waiting: 168 of 300 records of the window, ")
        w.feed(132)
        w.feed(77)
        p.wait_messages("label-requests", 24)
        wait(lambda: shows("in_flight", "waiting: 77 of 300 records of the next window", 77),
             "the next window", alive=p.alive)
        has(watched(), "asking=in_flight", "77 of 300 records of the next window")
        same(status(p)["asking"], "in_flight")


@test("pause: nothing is asked for, answers are taken, also after a crash; resume: it goes on")
def _():
    with Pipeline(config()) as p:
        w = Work(p)
        p.start()
        w.feed()
        p.wait_messages("label-requests", 24)
        some = w.requests()[0][:10]
        command(p, "labels", "pause", "--reason", "the tool is being moved", "--by", "ann")
        same(status(p)["asking"], "paused")
        has(command(p, "labels", "status"), "paused, round 1, by ann: the tool is being moved")
        p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode()) for i in some])
        w.answered.update(some)
        wait(lambda: status(p)["accepted"] + status(p)["set_aside"] == 10, "10 labels taken")
        crash(p)
        same(status(p)["paused"], True)
        w.answer()  # the round ends
        p.wait_log(r" version version=2 ")
        w.feed(600)
        p.wait_log(r" round round=2 scored=\d+ ")
        command(p, "labels", "pause")  # twice is once; and all before it was handled
        same(len(w.requests()[0]), 24, "requests while it was paused")
        command(p, "labels", "resume")
        p.wait_messages("label-requests", 48)
        same(status(p)["paused"], False)


@test("patience: rounds that publish nothing end the asking, with budget left; resume goes on")
def _():
    c = t_config(selection={"labels_per_round": 24, "window_records": 300, "patience": 1, "budget": 240},
                 training={"warm_up_epochs": 5, "steps_per_round": 60},
                 gate={"min_rows": 100000})
    with Pipeline(c) as p:
        w = Work(p)
        p.start()
        p.wait_log(r" detectable rows=\d+ metric=\S+ gap=0")
        w.until_version(2)
        p.wait_log(r" patience rounds=1 saved=216 ")
        wait(lambda: status(p)["asking"] == "patience", "what the ledger says", alive=p.alive)
        asked = len(w.requests()[0])
        w.feed()
        crash(p)
        w.feed()
        p.wait_log(r" ready ")
        same((status(p)["asking"], len(w.requests()[0])), ("patience", asked))
        has(command(p, "labels", "status"), "1 round in a row published nothing")
        has(command(p, "labels", "resume"), "requested again")
        wait(lambda: len(w.requests()[0]) > asked, "it goes on", alive=p.alive)


@test("cancel: the request is taken back once, its budget and place are free; a late answer counts")
def _():
    with Pipeline(config(budget=24)) as p:
        w = Work(p)
        p.start()
        w.feed()
        p.wait_messages("label-requests", 24)
        first, second = w.requests()[0][:2]
        command(p, "labels", "cancel", first, second)
        wait(lambda: len(w.requests()[0]) == 26, "two others in their place")
        same(w.requests()[1], {first: "cancelled", second: "cancelled"})
        out = command(p, "labels", "cancel", first, code=1)
        has(out, "no open request")
        has(command(p, "labels", "cancel", "nobody", code=1), "no open request")
        crash(p)
        s = status(p)
        same((s["cancelled"], s["open"], s["charged"]), (2, 24, 24))
        p.produce("labels", [(first.encode(), b'{"label": "yes"}')])
        wait(lambda: status(p)["cancelled"] == 1, "a late answer")
        same(status(p)["charged"], 25, "it is paid for")
        same(len(p.consume("dead-letter")), 0, "dead letters")
        same(len(w.requests()[0]), 26, "requests")


@test("the topic of requests is lost: open ones are sent again, also after a restart; or taken back")
def _():
    with Pipeline(config(budget=60)) as p:
        w = Work(p)
        p.start()
        w.feed()
        p.wait_messages("label-requests", 24)
        first = [(m.key, json.loads(m.value)) for m in p.consume("label-requests")]
        crash(p)
        topic = p.topic("label-requests")
        delete_records(topic, 0, p.consume("label-requests")[-1].offset + 1)
        same(p.consume("label-requests"), [], "requests left")
        w.answered.update(k.decode() for k, _ in first[:4])
        p.produce("labels", [(k, json.dumps({"label": TRUTH[k.decode()]}).encode())
                             for k, _ in first[:4]])
        wait(lambda: status(p)["open"] == 20, "answers without their requests", alive=p.alive)
        has(command(p, "labels", "resend", "--open"), "resend: done", "20 requests are sent again")
        again = {m.key: json.loads(m.value) for m in p.wait_messages("label-requests", 20)}
        for k, body in first[4:]:
            at = again[k]["requested_at"]  # by the pipeline's clock, which a restart rounds
            assert abs(at - body["requested_at"]) < 1000, (at, body)
            same(again[k], {**body, "head": again[k]["head"], "requested_at": at}, f"request {k}")
        has(command(p, "labels", "resend", first[5][0].decode()), "1 request is sent again")
        same(len(p.wait_messages("label-requests", 21)), 21)
        w.answer()
        p.wait_log(r" version version=2 .* labels=24 ")
        w.feed()
        p.wait_log(r" asked labels=24 open=24", since=p.log().index(" version version=2 "))
        command(p, "labels", "pause")
        has(command(p, "labels", "cancel", "--all"), "24 requests are withdrawn")
        s = status(p)
        same((s["open"], s["cancelled"], s["charged"]), (0, 24, 24))
        same(len(w.requests()[1]), 24, "withdrawals")


def check_diff(p, a, b, again):
    """From version a to b; `again` has the weights of b."""
    rows = [{k: v for k, v in r.items() if k not in ("hired", "group")} for r in ROWS[:500]]
    p.write("rows.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
    found = json.loads(command(p, "models", "diff", str(a), str(b), "--on", "rows.jsonl", "--json"))
    one, two = ([line["class"] for line in map(json.loads, command(
        p, "predict", "rows.jsonl", "--version", str(v), "--json").splitlines())] for v in (a, b))
    changed = sum(x != y for x, y in zip(one, two))
    assert changed, "no prediction differs: nothing is compared"
    same((found["predictions"]["rows"], found["predictions"]["changed"]), (500, changed))
    same(sum(c["rows"] for c in found["predictions"]["classes"]), changed, "by classes")
    x, y = (weights(p, v) for v in (a, b))
    distance = sum((m - n) ** 2 for m, n in zip(x, y)) ** .5
    assert abs(found["weights"]["distance"] / distance - 1) < 1e-5, (found["weights"], distance)
    listed = {v["version"]: v for v in versions(p)}
    same(found["labels"]["bought"],
         listed[b]["lineage"]["labels_bought"] - listed[a]["lineage"]["labels_bought"])
    same(found["difference"]["accuracy"]["value"] > 0,
         listed[b]["metrics"]["accuracy"] > listed[a]["metrics"]["accuracy"])
    same(found["configuration"], [])
    none = json.loads(command(p, "models", "diff", str(b), str(again), "--on", "rows.jsonl", "--json"))
    same((none["weights"]["distance"], none["predictions"]["changed"]), (0, 0), "the same weights")
    has(command(p, "models", "diff", str(a), str(b), "--on", "rows.jsonl"), "group 1: accuracy",
        f"{changed} of 500 rows change", "weights: distance", "nothing that versions carry")
    has(command(p, "models", "diff", str(a), str(b), "--on", "none.csv", code=1), "none.csv")


def check_card(p, listed, served, rejected):
    card = json.loads(command(p, "models", "card", str(served), "--json"))
    version = next(v for v in listed if v["version"] == served)
    for key in ("metrics", "gate", "lineage"):
        same(card[key], version[key], key)
    same(card["card"]["data"], {"columns": 4, "validation_rows": version["metrics"]["n"]})
    same(card["card"]["groups"], None, "names of groups")
    for g, of in zip(card["metrics"]["groups"], card["card"]["group_intervals"]):
        low, high = of["accuracy"]  # the ends are where the score test begins to reject
        for end in (low, high):
            width = 1.959964 * (end * (1 - end) / g["n"]) ** .5
            assert abs(abs(g["accuracy"] - end) - width) < 1e-6, (g, of)
        assert low < g["accuracy"] < high, (g, of)
    text = command(p, "models", "card", str(served))
    has(text, f"# Model card: {p.name}, version {served}\n".replace("_", "\\_"), "| job | categorical | categories: 3 ",
        "## Limits", "## Not for", f"| {version['lineage']['labels_bought']} |",
        *(line for line in card["card"]["limits"] + card["card"]["not_for"]))
    assert "Serving: the gate" not in text, text
    has(command(p, "models", "card", str(rejected)), "- Serving: the gate has rejected it.")


@test("pin, rollback, promote, compare: a version is served again as a new one; the log only grows")
def _():
    with Pipeline(config()) as p:
        w = Work(p)
        p.start()
        w.until_version(3)
        v = versions(p)
        before = [x["version"] for x in v if x["served"]]
        assert len(before) >= 2, v
        command(p, "models", "pin", "--reason", "an audit")
        w.until_version(len(v) + 1)
        pinned = versions(p)[-1]
        same((pinned["served"], pinned["reason"]), (False, "pinned"))
        crash(p)
        w.until_version(len(v) + 2)
        same(versions(p)[-1]["reason"], "pinned", "after a crash")

        # Pinned still: a round that ends in between changes nothing of what is served.
        out = command(p, "models", "rollback", "--reason", "complaints")
        last = [x for x in versions(p) if x["reason"] == "rolled_back"][-1]
        n = last["version"]  # a round may have ended in between
        has(out, f"version {n} is served", f"version {before[-2]}")
        same((last["version"], last["served"], last["reason"], last["parent"]),
             (n, True, "rolled_back", before[-1]))
        same(weights(p, n), weights(p, before[-2]), "weights")
        shown = next(x for x in versions(p) if x["version"] == before[-2])["metrics"]["accuracy"]
        same(last["metrics"]["accuracy"], shown, "accuracy, which is of the weights")
        has(out, f"accuracy {shown:.4f} as it was judged")

        if len(before) > 2:
            has(out, f"a rollback goes to version {before[-3]}")
            out = command(p, "models", "rollback")
            n = [x for x in versions(p) if x["reason"] == "rolled_back"][-1]["version"]
            same(weights(p, n), weights(p, before[-3]), "weights one further back")
        else:
            has(command(p, "models", "rollback", code=1), f"nothing was served before version {n}")
        command(p, "models", "rollback", "--to", str(before[-1]))
        n = [x for x in versions(p) if x["reason"] == "rolled_back"][-1]["version"]
        same(weights(p, n), weights(p, before[-1]), "weights of --to")
        back = [x["version"] for x in versions(p) if x["reason"] == "rolled_back"]

        out = command(p, "models", "promote", str(pinned["version"]))
        last = [x for x in versions(p) if x["reason"] == "promoted"][-1]
        same((last["served"], last["parent"]), (True, n))
        same(weights(p, last["version"]), weights(p, pinned["version"]), "weights")

        has(command(p, "models", "promote", "99", code=1), "99")
        has(command(p, "models", "rollback", "99", code=1), "99")
        same([x["version"] for x in versions(p) if x["reason"] in ("rolled_back", "promoted")],
             [*back, last["version"]], "a refused command makes no version")
        command(p, "models", "unpin")
        crash(p)
        w.until_version(last["version"] + 2)
        after = versions(p)
        same([x["version"] for x in after], list(range(1, len(after) + 1)), "versions")
        same(after[last["version"]]["parent"], last["version"], "parent of the next")
        out = command(p, "models", "compare", str(before[-2]), str(last["version"]))
        has(out, "accuracy")
        out = command(p, "models", "compare", str(before[-2]), str(n), "--data", "validation.csv")
        has(out, "accuracy")
        check_diff(p, before[0], before[-1], n)
        check_card(p, after, before[-1], pinned["version"])


@test("a command that no trainer takes is reported as waiting, and is done by the next trainer, once")
def _():
    with Pipeline(config()) as p:
        w = Work(p)
        p.start()
        w.feed()
        p.wait_messages("label-requests", 24)
        same(p.stop(), 0, "exit status")
        out = command(p, "labels", "pause", "--wait", "1", code=3)
        p.start(ready=r" control command=pause ok=1 ")
        wait(lambda: status(p)["paused"], "the pause is committed", alive=p.alive)
        print("# " + out.strip(), flush=True)
        crash(p)
        command(p, "labels", "resume")
        same(p.log().count(" control command=pause "), 1, "times it was done")


def started_apart(p):
    """The trainer, and a scorer in a process of its own, which stays when the trainer goes."""
    w = Work(p)
    scorer = p.node("scorer", "scorer")
    p.start()
    scorer.start(ready=r" assigned role=scorer ")
    return w, scorer


@test("a pause that was sent while no trainer ran holds before the first label is asked for")
def _():
    with Pipeline({**config(), "roles": ["trainer"]}) as p:
        w, scorer = started_apart(p)
        same(p.stop(), 0, "exit status")
        w.feed()  # a whole window: the trainer asks as soon as it has read it
        scorer.wait_log(r" scored .*\blag=0\b")
        command(p, "labels", "cancel", "nobody", "--wait", "0", code=3)
        first = p.consume("control")[-1]
        p.produce("control", [(first.key, first.value)] * 3000)  # the pause is far behind
        command(p, "labels", "pause", "--wait", "0", code=3)
        since = len(p.log())
        p.start(ready=r" restored ")
        p.wait_log(r" control command=pause ok=1 ", since)
        p.wait_log(r" round round=1 scored=300 ", since)
        command(p, "labels", "pause")  # and all before it was handled
        same(len(w.requests()[0]), 0, "requests while it was paused")
        command(p, "labels", "resume")
        same(len(p.wait_messages("label-requests", 24)), 24, "requests")


@test("a pause that retention has removed is lost and holds nothing up")
def _():
    with Pipeline({**config(), "roles": ["trainer"]}) as p:
        w, scorer = started_apart(p)
        command(p, "labels", "pause")
        command(p, "labels", "resume")
        same(p.stop(), 0, "exit status")
        w.feed()
        scorer.wait_log(r" scored .*\blag=0\b")
        command(p, "labels", "pause", "--wait", "0", code=3)
        delete_records(p.topic("control"), 0, 3)
        p.start(ready=r" restored ")
        p.wait_messages("label-requests", 24)
        same(p.log_fields("offsets_lost")["lost"], "1", "commands lost")


@test("what is no command is refused and stops nothing")
def _():
    with Pipeline(config()) as p:
        p.start()
        p.produce("control", [(b"x", b"\xff\xff"), (b"y", b""), (b"z", bytes([8, 99])), (b"", b"{}")])
        command(p, "labels", "pause")
        same(len([m for m in p.consume("dead-letter")
                  if m.headers["fis.error.topic"] == p.topic("control")]), 4, "dead letters")
        state = dict(fields(next(m.value for m in reversed(p.consume("ledger")) if m.key == b"\0")))
        same(state.get(11), 1, "paused, on the ledger")


if __name__ == "__main__":
    main()
