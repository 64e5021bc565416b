"""The lab and the daemon are one engine: the same split of Adult, run by `fisctl lab run` and by
fisd on a broker (mode pool), gives the same versions, to the last bit of every weight."""

import glob
import json
import os
import re
import struct
import subprocess
import tempfile

from fisd_test import FISCTL, KAFKA, ROOT, Pipeline, same

ROUNDS = 3
CACHE = os.path.join(ROOT, "build/cache")


def in_the_lab(folder, settings, task):
    r = subprocess.run([FISCTL, "lab", "run", "--tasks", task, "--methods", "fis+", "--metrics",
                        "eod", "--regime", "scarce", "--seeds", "1", "--publish", "every", "--set",
                        f"rounds={ROUNDS} {settings}".strip(), "--files", folder, "--cache", CACHE],
                       capture_output=True, text=True, timeout=300)
    same(r.returncode, 0, f"fisctl lab run ({r.stderr})")
    return glob.glob(os.path.join(folder, "*"))[0]


class SamePipeline(Pipeline):
    """With the files and the configuration that the lab wrote."""

    def __init__(self, folder):
        self.source = folder
        files = {n: open(os.path.join(folder, n), "rb").read()
                 for n in ("initial.csv", "validation.csv", "pool.csv", "answers.csv")}
        super().__init__({}, name="same", files=files)

    def save(self):
        text = open(os.path.join(self.source, "fisd.yaml")).read()
        text = re.sub(r"^pipeline: .*$", f"pipeline: {self.name}", text, flags=re.M)
        text = text.replace("delivery: at_least_once\n", "")  # so that a kill changes nothing
        self.write("fisd.yaml", f"{text}kafka: {{bootstrap.servers: '{KAFKA}'}}\n".encode())


def bits(parameters):
    return b"".join(struct.pack("<f", p) for p in parameters)


def verdict(v):
    return v["served"], v["gate"]["verdict"], v["gate"]["reason"]


def until_versions(p, n):
    r = p.fisctl("watch", "--until", f"versions={n}", "--timeout", "300", timeout=330)
    same(r.returncode, 0, f"fisctl watch ({r.stdout[-500:]} {r.stderr})")


def compare(settings="", die_after=None, task="adult-sex"):
    with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as folder:
        lab = in_the_lab(folder, settings, task)
        versions = [json.loads(line) for line in open(os.path.join(lab, "versions.jsonl"))]
        same(len(versions), ROUNDS + 1, "versions of the lab")
        with SamePipeline(lab) as p:
            r = p.fisctl("replay", "pool.csv", timeout=300)
            same(r.returncode, 0, f"fisctl replay ({r.stderr})")
            p.start()
            label = subprocess.Popen([FISCTL, "-c", p.config_path, "label", "--answers",
                                      os.path.join(p.dir, "answers.csv")],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                if die_after:
                    until_versions(p, die_after)
                    p.kill()
                    p.start(ready=" restored ")
                until_versions(p, ROUNDS + 1)
            finally:
                label.terminate()
                label.wait()
            for v in versions:
                shown = p.fisctl("models", "show", str(v["version"]), "--weights", "--json")
                same(shown.returncode, 0, f"fisctl models show ({shown.stderr})")
                found = json.loads(shown.stdout)
                same(verdict(found), verdict(v), f"verdict of version {v['version']}")
                assert bits(found["parameters"]) == bits(v["parameters"]), \
                    f"version {v['version']}: other weights"
                same(found.get("trees"), v.get("trees"), f"trees of version {v['version']}")
        # So that it is not the same for want of training.
        assert len({bits(v["parameters"]) for v in versions}) == ROUNDS + 1
        return versions
