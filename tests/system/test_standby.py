#!/usr/bin/env python3
"""A trainer that stands by says "ready to lead" only if it could: the files that it would lead with
have been read once, and what is wrong with them ends its start, in the words of a leader."""

import os
import re

from fisd_test import Pipeline, csv_bytes, has, main, people, same, t_config, test, wait

COLUMNS = ["id", "age", "hours", "job", "score"]
ONE_GROUP = [{**row, "group": "A"} for row in people(400, 2)]
WRONG = [
    # section, file, its bytes (none: it is not there), words of the reason
    ("initial", "nothere.csv", None, ["nothere.csv", "No such file"]),
    ("initial", "wrong.csv", csv_bytes(people(9, 1), ["id", "age", "hours", "job", "hired"]),
     ["wrong.csv", "score"]),
    ("validation", "nothere.csv", None, ["nothere.csv", "No such file"]),
    ("validation", "wrong.csv", csv_bytes(people(9, 1), COLUMNS + ["hired"]),
     ["wrong.csv", "group"]),
    ("validation", "wrong.csv", csv_bytes(ONE_GROUP, COLUMNS + ["hired", "group"]),
     ["the validation set has 1 group"]),
]


def reason(node):
    """Why it ended: what is wrong with a file, or what the trainer refused."""
    found = re.findall(r"key '\w+.file': found (.*)\n", node.log())
    return found[0] if found else re.findall(r" failed .*reason=\"(.*)\"\n", node.log())[0]


@test("with a file that cannot be used a standby does not start, and says what a leader says")
def _():
    with Pipeline(t_config()) as p:
        leader = p.node("leader", "trainer").start()
        for i, (section, name, data, words) in enumerate(WRONG):
            path = os.path.join(p.dir, name)
            if data is not None:
                p.write(name, data)
            node = p.node(f"standby{i}", "trainer", **{section: {"file": path}})
            node.start(ready=None)
            assert node.ended() != 0, node.log()
            has(reason(node), *words)
            assert "ready to lead" not in node.log(), node.log()
            # A leader's words: the same configuration, alone.
            with Pipeline(t_config(**{section: {"file": path}})) as alone:
                alone.start(ready=None)
                assert alone.ended() != 0, alone.log()
                same(reason(node), reason(alone))
        good = p.node("good", "trainer").start(ready=r"ready to lead")
        same(leader.stop(), 0)
        good.wait_log(r" takeover role=trainer ")


CHANGED = [
    # section of the configuration, words of the reason, whether it may be accepted
    ({"classes": ["yes", "no"], "positive": "yes"}, "classes 'yes', 'no' (was 'no', 'yes')", False),
    ({"positive": "no"}, "positive class no (was yes)", True),
    ({"fairness": {"metric": "demographic_parity"}},
     "metric demographic_parity (was equalized_odds)", True),
    ({"validation": {"file": "regions.csv", "sensitive": ["region"]}},
     "sensitive columns 'region' (was 'group')", True),
    ({"selection": {"algorithm": "entropy"}}, "algorithm entropy (was fis+)", True),
    ({"training": {"hidden": [5]}}, "hidden layers 5 (was ", False),
    ({"model": {"base": {"type": "trees"}}}, "base trees (was none)", False),
]


def failure(node):
    return re.search(r" failed role=\w+ reason=\"(.*?)\"\n", node.log())[1]


@test("a standby of a changed pipeline is refused before it is ready; a change that may be is accepted "
      "by its code, and recorded")
def _():
    with Pipeline(t_config()) as p:
        leader = p.node("leader", "trainer").start()
        p.wait_messages("ledger", 1)
        p.write("regions.csv", csv_bytes([{**row, "region": row["group"]} for row in people(400, 2)],
                                         COLUMNS + ["hired", "region"]))
        for i, (sections, words, may) in enumerate(CHANGED):
            node = p.node(f"changed{i}", "trainer", **sections)
            node.start(ready=None)
            same(node.ended(), 1, node.log())
            has(failure(node), words, p.topic("ledger"))
            same("accept_change" in failure(node), may, failure(node))
            assert "ready to lead" not in node.log(), node.log()
        scorer = p.node("scorer", "scorer", selection={"algorithm": "entropy"}).start(ready=None)
        same(scorer.ended(), 1, scorer.log())
        same(failure(scorer), "the trainer selects by fis+, and this scorer would score by entropy: give "
             "all processes the same selection.algorithm, .strategy and .mode")
        code = re.search(r"accept_change: (\w+)", p.nodes[3].log())[1]
        taken = p.node("taken", "trainer", accept_change=code,
                       fairness={"metric": "demographic_parity"}).start(ready=r"ready to lead")
        same(leader.stop(), 0)
        taken.wait_log(r" changed name=\"metric\" from=\"equalized_odds\" to=\"demographic_parity\" version=2")
        same(taken.stop(), 0)


@test("two pipelines on one ledger: one leads, the other is refused, whichever comes first")
def _():
    with Pipeline(t_config()) as p:
        own = {"topics": {"prefix": p.name}}
        a, b = (p.node(n, "trainer", "scorer", pipeline=f"{p.name}-{n}", **own) for n in "ab")
        for n in (a, b):
            n.start(ready=None)
        ended = wait(lambda: [n for n in (a, b) if n.process.poll() is not None], "one ends")
        same(len(ended), 1)
        loser, winner = ended[0], (b if ended[0] is a else a)
        same(loser.ended(), 1, loser.log())
        names = [f"{p.name}-{n.name}" for n in (winner, loser)]
        has(failure(loser),
            "pipeline {}, and this is pipeline {}".format(*names))
        winner.wait_log(r" version version=1 ")
        same(winner.stop(), 0)
        loser.start(ready=None)
        same(loser.ended(), 1, loser.log())
        assert " version version=" not in loser.log(), loser.log()
        winner.start(ready=r" takeover role=trainer ")


main()
