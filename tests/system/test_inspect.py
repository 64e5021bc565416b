#!/usr/bin/env python3
"""What fisctl shows of a pipeline's inside, and what it takes out of it."""

import json
import os
import subprocess

from fisd_test import (FISCTL, KAFKA, Pipeline, has, main, people, record_json, same, score_values,
                       t_config, test, wait)
from own_broker import set_topics


def wait_for(process, seconds):
    """Until it ends, or for so long."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def doctor(p, code):
    """(check, level) -> [(text, command)]"""
    r = p.fisctl("doctor", "--json")
    same(r.returncode, code, r.stdout + r.stderr)
    found = {}
    for line in r.stdout.splitlines():
        f = json.loads(line)
        found.setdefault((f["check"], f["level"]), []).append((f["text"], f.get("command", "")))
    return found


@test("doctor: all that is wrong at once, with the command that corrects it")
def _():
    with Pipeline(t_config()) as p:
        p.start()
        well = doctor(p, 0)
        same({level for _, level in well}, {"ok"}, str(well))
        same({check for check, _ in well}, {"configuration", "files", "broker", "topics", "replicas",
             "retention", "limits", "rights", "processes", "selection", "lag", "transactions", "clocks"})
        shared = p.config["selection"]
        p.config["selection"] = {**shared, "heap": shared["labels_per_round"], "seed": 77}
        p.save()
        scorer = p.node("scorer", "scorer").start(ready=None)
        scorer.wait_log(
            r" other_selection role=scorer used=\"selection.heap (\d+) and not \d+, selection.seed 1 and not 77\"")
        has(str(doctor(p, 0)["selection", "warning"]), "the trainer has selection.heap ", " and not ")
        same(scorer.stop(), 0)
        p.config["selection"] = shared
        p.save()
        same(p.stop(), 0)
        set_topics("cleanup.policy", "delete", p.topic("ledger"))
        set_topics("max.message.bytes", "100000", p.topic("models"), p.topic("candidates"))
        set_topics("retention.ms", "1000", p.topic("label-requests"))
        set_topics("min.insync.replicas", "2", p.topic("heads"))
        p.produce("records", [(b"k", b'{"age": 1}')])
        os.unlink(os.path.join(p.dir, "validation.csv"))
        found = doctor(p, 1)

        def finds(check, level, text, command):
            for t, c in found[check, level]:
                if text in t and command in c:
                    return
            raise AssertionError(f"{text!r} with {command!r} is not in {found}")

        alter = f"kafka-configs.sh --bootstrap-server {KAFKA} --alter --entity-type topics --entity-name "
        finds("topics", "fault", p.topic("ledger") + " cleanup.policy is delete",
              alter + p.topic("ledger") + " --add-config cleanup.policy=compact")
        finds("limits", "warning", p.topic("models"), alter + p.topic("models"))
        finds("limits", "warning", p.topic("candidates"), alter + p.topic("candidates"))
        finds("retention", "warning", p.topic("label-requests"), "retention.ms=604800000")
        finds("replicas", "fault", p.topic("heads") + ": nothing can be written", "min.insync")
        finds("files", "fault", "validation.csv: No such file", "")
        finds("processes", "warning", "0 scorers, 0 trainers", "fisd -c")
        finds("lag", "warning", "1 message of " + p.topic("records") + " waits: no scorer runs", "")
        has(p.fisctl("doctor").stdout, "faults, ", "fault   topics")
        p.config["classes"] = ["yes"]
        p.config["nonsense"] = 1
        p.save()
        found = doctor(p, 1)
        same(set(found), {("configuration", "fault")})
        same(len(found["configuration", "fault"]), 2, str(found))
    with Pipeline(t_config(kafka={"bootstrap.servers": "127.0.0.1:1"}), topics=False) as p:
        has(str(doctor(p, 1)["broker", "fault"]), "127.0.0.1:1")


# No id is a part of another one.
ROWS = [{**r, "id": f"person-{n:04d}"} for n, r in enumerate(people(1200, 3))]
TRUTH = {r["id"]: r["hired"] for r in ROWS}


def newest(p, topic):
    """key -> value of what compaction would leave."""
    found = {m.key: m.value for m in p.consume(topic)}
    return {k: v for k, v in found.items() if v is not None}


def traces(p, record):
    """Where the ledger, heads and models have the id, once they are compacted."""
    return [(t, k) for t in ("ledger", "heads", "models") for k, v in newest(p, t).items()
            if record.encode() in k or record.encode() in v]


def forget(p, code, *ids):
    r = p.fisctl("forget", "--json", *ids)
    same(r.returncode, code, r.stdout + r.stderr)
    return [json.loads(x) for x in r.stdout.splitlines()]


def status(p):
    return json.loads(p.fisctl("labels", "status", "--json").stdout)


@test("forget: a label, an open request and a candidate leave ledger, heap and rows for good")
def _():
    c = t_config(selection={"labels_per_round": 16, "window_records": 400, "heap": 64, "budget": 100},
                 runtime={"commit_interval": "50ms"})
    with Pipeline(c) as p:
        p.start()
        p.produce("records", [(None, record_json(r)) for r in ROWS[:400]])
        asked = [m.key.decode() for m in p.wait_messages("label-requests", 16)][:16]
        p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i], "annotator": "anna"}).encode())
                             for i in asked[:3]])
        wait(lambda: status(p)["accepted"] + status(p)["set_aside"] == 3, "three labels")
        labelled, opened = asked[0], asked[5]
        held = next(k.decode() for k in newest(p, "ledger")
                    if not k.startswith(b"\0") and k.decode() not in asked)
        charged = status(p)["charged"]
        same([f["outcome"] for f in forget(p, 1, "nobody")], ["refused"])
        since = len(p.log())
        for i, was in ((held, "a candidate"), (opened, "requested"), (labelled, "labelled")):
            (f,) = forget(p, 0, i)
            same((f["outcome"], f["text"]), ("done", f"the record, which was {was}, is forgotten"))
            same(traces(p, i), [])
        p.wait_log(r" resuming role=trainer .*a record was forgotten", since)
        (f,) = forget(p, 0, labelled)
        same(f["text"], "it was forgotten before")
        requests = [json.loads(m.value) for m in p.consume("label-requests") if m.key == opened.encode()]
        same([x.get("reason") for x in requests], [None, "forgotten"])
        p.wait_log(r" takeover ", since)
        s = status(p)
        same(s["accepted"] + s["set_aside"], 2)
        assert s["charged"] >= charged, "it was refunded to the budget"
        assert labelled not in p.log()[since:] and opened not in p.log()[since:], "the log names it"

        # It comes again, and nobody is asked; a late label of it is refused. A crash changes nothing.
        p.kill()
        since = len(p.log())
        p.start(ready=r" takeover role=trainer ")
        same(status(p)["charged"], s["charged"])
        p.produce("labels", [(opened.encode(), b'{"label": "yes"}')])
        p.wait_log(r" label_refused ", since)
        gone = [r for r in ROWS if r["id"] in (held, opened, labelled)]
        p.produce("records", [(None, record_json(r)) for r in gone + ROWS[400:800]])

        def answer():
            fresh = {m.key.decode() for m in p.consume("label-requests")} - set(asked)
            p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode())
                                 for i in sorted(fresh | set(asked[1:]) - {opened})])
            asked.extend(fresh)
            return " version version=2 " in p.log()
        wait(answer, "version 2, without it", alive=p.alive)
        for r in gone:
            same(traces(p, r["id"]), [])
        shown = json.loads(p.fisctl("models", "show", "2", "--json").stdout)
        same(shown["lineage"]["labels_bought"], 16)  # a round's, without the forgotten one


def explains(p, record, **expected):
    r = p.fisctl("explain", "--json", record)
    same(r.returncode, 0, r.stderr)
    found = json.loads(r.stdout)
    same({k: found.get(k) for k in expected}, expected, str(found))
    return found


@test("explain: what became of a record, everybody's answers, influences, rank and columns")
def _():
    c = t_config(selection={"labels_per_round": 16, "window_records": 400, "heap": 64},
                 labels={"votes": 2}, runtime={"commit_interval": "50ms"})
    with Pipeline(c) as p:
        p.start()
        p.produce("records", [(None, record_json(r)) for r in ROWS[:400]])
        asked = [m.key.decode() for m in p.wait_messages("label-requests", 16)][:16]
        first = asked[0]
        p.produce("labels", [(first.encode(), b'{"label": "yes", "annotator": "anna"}')], 0)
        wait(lambda: explains(p, first, state="open")["answers"], "the first answer")
        found = explains(p, first, state="open", round=1, head=1, requested_by_head=1)
        same([(a["annotator"], a["class"]) for a in found["answers"]], [("anna", "yes")])
        row = next(r for r in ROWS if r["id"] == first)
        same(found["record"], {k: row[k] for k in ("id", "age", "hours", "job", "score")})
        candidate = p.candidates()[first.encode()]
        same(candidate.head, 1)
        near = [abs(a - b) < 1e-4 for a in score_values(candidate)
                for b in found["scores"].values() if b is not None]
        assert any(near), (found["scores"], score_values(candidate))
        labels = found["labels"]
        for kind in ("influence_loss", "influence_unfairness"):  # sum_k p_k infl(k) = 0
            total = sum(v["probability"] * v[kind] for v in labels.values())
            assert abs(total) < 1e-4, (kind, labels)
        same(sorted(x["column"] for x in found["columns"]), ["age", "hours", "job", "score"])
        sizes = [abs(x["change"]) for x in found["columns"]]
        assert sizes == sorted(sizes, reverse=True) and sizes[0] > 0, found["columns"]
        same(len(json.loads(p.fisctl("explain", "--json", "-m", "2", first).stdout)["columns"]), 2)
        p.produce("labels", [(first.encode(), b'{"label": "yes", "annotator": "bert"}')], 0)
        wait(lambda: "class" in explains(p, first), "its label")
        found = explains(p, first)
        same((found["class"], len(found["answers"])), ("yes", 2))
        held = next(k.decode() for k in newest(p, "ledger")
                    if not k.startswith(b"\0") and k.decode() not in asked)
        found = explains(p, held, state="held", answers=[])
        same(found["record"]["id"], held)
        assert 1 <= min(r for r in found["rank"].values() if r) <= found["candidates"], found
        r = p.fisctl("explain", "nobody")
        same(r.returncode, 1)
        has(r.stderr, "nobody is unknown")
        has(p.fisctl("explain", first).stdout, "influence_unfairness", "anna")


@test("tap: records as they come, with the scores of their scorer and whether it offered them")
def _():
    with Pipeline(t_config(selection={"labels_per_round": 16, "window_records": 1000})) as p:
        p.start()
        p.produce("records", [(None, record_json(r)) for r in ROWS[:50]])
        p.wait_log(r" scored records=50 ")
        tap = subprocess.Popen([FISCTL, "-c", p.config_path, "tap", "--json", "--limit", "200"],
                               stdout=subprocess.PIPE, text=True)
        try:
            sent = 50  # what it missed while it began is made up for
            while tap.poll() is None and sent + 20 < len(ROWS):
                p.produce("records", [(None, record_json(r)) for r in ROWS[sent:sent + 20]])
                sent += 20
                wait_for(tap, 0.5)
            out, _ = tap.communicate(timeout=180)
        finally:
            tap.kill()
        same(tap.returncode, 0)
        seen = [json.loads(x) for x in out.splitlines()]
        same(len(seen), 200)
        assert seen[0]["offset"] >= 50, seen[0]
        offered = p.candidates()
        same({s["id"] for s in seen if s["offered"]},
             {s["id"] for s in seen} & {i.decode() for i in offered})
        assert 0 < sum(s["offered"] for s in seen) < 200
        for s in seen:
            same(abs(sum(s["probabilities"].values()) - 1) < 1e-4, True)
            same(sorted(s["scores"]), ["ekg", "entropy"])
            c = offered.get(s["id"].encode())
            if c and c.head == s["head"]:
                near = [abs(a - b) < 1e-4 for a in score_values(c) for b in s["scores"].values()
                        if b is not None]
                assert any(near), (s, score_values(c))


if __name__ == "__main__":
    main()
