#!/usr/bin/env python3
"""A trainer that stands by says "ready to lead" only if it could: the files that it would lead with
have been read once, and what is wrong with them ends its start, in the words of a leader."""

import os
import re

from fisd_test import Pipeline, csv_bytes, has, main, people, same, t_config, test

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
    return re.findall(r"key '\w+.file': found (.*)\n", node.log())[0]


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
            assert node.ended(30) != 0, node.log()
            has(reason(node), *words)
            assert "ready to lead" not in node.log(), node.log()
            # A leader's words: the same configuration, alone.
            with Pipeline(t_config(**{section: {"file": path}})) as alone:
                alone.start(ready=None)
                assert alone.ended(30) != 0, alone.log()
                same(reason(node), reason(alone))
        good = p.node("good", "trainer").start(ready=r"ready to lead")
        same(leader.stop(), 0)
        good.wait_log(r" takeover role=trainer ")


main()
