#!/usr/bin/env python3
"""The main job on real records: the demo as a user runs it, and the same pipeline on a real broker."""

import json
import os
import re
import subprocess
import sys
import tempfile

from fisd_test import FISCTL, FISD, KAFKA, ROOT, Pipeline, main, same, test

DEMO = os.path.join(ROOT, "config/demo")
CACHE = os.path.join(ROOT, "build/cache")
METRICS = {"accuracy", "equalized_odds", "demographic_parity", "equal_opportunity"}


def judge(test_rows, random, fair):
    """Bands: over 12 seeds accuracy was .846 +- .005 and equalized odds .048 +- .009 for fis+,
    .845 +- .004 and .096 +- .033 for random labels. A sign error lands far outside."""
    for name, m in ((random, test_rows[random]), (fair, test_rows[fair])):
        assert m["accuracy"] > 0.825, f"accuracy of {name}: {m}"
    assert test_rows[fair]["equalized_odds"] < 0.09, f"equalized odds of {fair}: {test_rows[fair]}"


@test("the demo: ten rounds on the embedded broker, and its last line")
def _():
    with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as folder:
        r = subprocess.run(
            ["bash", os.path.join(DEMO, "demo.sh"), "--bin", os.path.dirname(FISD), "--dir", folder,
             "--cache", CACHE, "--seed", "1"], capture_output=True, text=True, timeout=600)
        same(r.returncode, 0, f"exit status ({r.stderr[-2000:]})")
        demo = json.loads(r.stdout.strip().split("\n")[-1])["demo"]
        same(set(demo["test"]), {"warm_up", "random", "xgboost", "fis+"})
        for m in demo["test"].values():
            same(set(m), METRICS)
        same((demo["versions"], demo["labels"], demo["records"]), (11, 1280, 34370))
        same(demo["published"] + demo["rejected"], 11)
        assert demo["published"] >= 2, demo
        judge(demo["test"], "random", "fis+")
        # A split on which random labels are as unfair as on average (.106): on some (seed 3) they
        # happen to be fair already, and which is ahead there is a matter of timing.
        assert demo["test"]["fis+"]["equalized_odds"] < demo["test"]["random"]["equalized_odds"]


def adult_config():
    """config/adult.yaml as fisd sees it, for a real broker."""
    text = open(os.path.join(ROOT, "config/adult.yaml")).read()
    text = re.sub(r"^delivery: .*$", "delivery: exactly_once", text, flags=re.M)
    text = re.sub(r"^pipeline: .*$", "", text, flags=re.M)
    return text + f"\nkafka: {{bootstrap.servers: '{KAFKA}'}}\n"


class AdultPipeline(Pipeline):
    def save(self):
        self.write("fisd.yaml", f"pipeline: {self.name}\n{adult_config()}".encode())


@test("the same pipeline on a real broker, exactly once")
def _():
    with AdultPipeline({}, name="adult", files={}) as p:
        subprocess.run([sys.executable, os.path.join(DEMO, "adult.py"), "--data", p.dir, "--seed",
                        "4", "--regime", "scarce", "--cache", CACHE], check=True,
                       capture_output=True, timeout=360)
        p.start()
        tools = [subprocess.Popen([FISCTL, "-c", os.path.join(p.dir, "fisd.yaml"), *a],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for a in (("label", "--answers", os.path.join(p.dir, "answers.csv")),
                           ("replay", os.path.join(p.dir, "pool.csv"), "--rate", "1000"))]
        try:
            r = p.fisctl("watch", "--until", "versions=11", "--timeout", "300", timeout=330)
            same(r.returncode, 0, f"fisctl watch ({r.stdout[-500:]} {r.stderr})")
        finally:
            for t in tools:
                t.terminate()
                t.wait()
        served = json.loads(p.fisctl("models", "evaluate", "--version", "served", "--test",
                                     "test.csv", "--json").stdout)
        first = json.loads(p.fisctl("models", "evaluate", "--version", "1", "--test", "test.csv",
                                    "--json").stdout)
        judge({"warm-up": first, "fis+": served}, "warm-up", "fis+")
        asked = [m.key for m in p.consume("label-requests")]
        same((len(asked), len(set(asked))), (1280, 1280), "requests, and different ones")


main()
