#!/usr/bin/env python3
"""The demo of images: fisd on coloured digits of MNIST as PNG, with its embedded broker.

    images.py [--bin DIR] [--dir DIR] [--cache DIR] [--seed N] [--rate N]

Two pipelines run side by side on the same records and the same budget of labels, each a fisd with its
embedded broker: the one of config/images.yaml (fis+), and one that spends the budget at random. Withheld
labels play the labellers. What fis+ requested is drawn as a contact sheet, DIR/seed-N/contact-sheet.png.
The last line of the output is one JSON object. Data, images and logs stay in DIR/seed-N.

Needs Python 3, and npm for the digits, once.
"""

import argparse
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from contact_sheet import png, sheet

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
SIDE, CHANNELS = 28, 3
BIASED = 2500  # of the rows, those whose colour says most of the label come first
# With a quarter of these the first model knows the colour alone, and its influences say nothing of
# digits: requests are of one colour for most of the rounds.
INITIAL = 1800
METRICS = ("accuracy", "equalized_odds", "demographic_parity", "equal_opportunity")
PATIENCE = 900  # seconds for the eight rounds; a run takes a tenth of that on two cores


def say(text=""):
    print(f"demo-images: {text}" if text else "", flush=True)


def fail(text):
    sys.exit(f"demo-images: {text}")


# ---- data ----------------------------------------------------------------------------------

def fetch(cache):
    """The rows of the lab's task mnist-colour, each with its pixels."""
    names = ["mnist-colour.csv", "mnist-colour.u8"]
    os.makedirs(cache, exist_ok=True)
    script = os.path.join(ROOT, "src", "lab", "fetch.py")
    if subprocess.run([sys.executable, script, cache, *names]).returncode:
        fail("the digits could not be prepared")
    size = SIDE * SIDE * CHANNELS
    with open(os.path.join(cache, names[0])) as rows, open(os.path.join(cache, names[1]), "rb") as pixels:
        return [{"id": f"digit-{i:05d}", "label": "high" if r["high"] == "1" else "low", "colour": r["colour"],
                 "pixels": pixels.read(size)} for i, r in enumerate(csv.DictReader(rows))]


def write(folder, name, columns, rows):
    with open(os.path.join(folder, name), "w", newline="") as out:
        w = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
        w.writeheader()
        w.writerows(rows)


def prepare(folder, cache, seed):
    """The files of the pipelines; id -> row of the stream."""
    rows = fetch(cache)
    draw = random.Random(seed)
    biased, rest = rows[:BIASED], rows[BIASED:]
    draw.shuffle(biased)
    draw.shuffle(rest)
    os.makedirs(os.path.join(folder, "digits"), exist_ok=True)
    for r in biased[:INITIAL] + rest:
        r["image"] = f"digits/{r['id']}.png"
        with open(os.path.join(folder, r["image"]), "wb") as out:
            out.write(png(r["pixels"], SIDE, SIDE))
    write(folder, "initial.csv", ["id", "image", "label"], biased[:INITIAL])
    write(folder, "validation.csv", ["id", "image", "label", "colour"], rest[:1050])
    write(folder, "test.csv", ["id", "image", "label", "colour"], rest[1050:3000])
    write(folder, "pool.csv", ["id", "image"], rest[3000:])
    write(folder, "answers.csv", ["id", "label"], rest[3000:])
    with open(os.path.join(ROOT, "config", "images.yaml")) as f:
        text = re.sub(r"^(selection):\n", rf"\1:\n  seed: {seed}\n", f.read(), flags=re.M)
    text = re.sub(r"^training: {", f"training: {{seed: {seed}, ", text, flags=re.M)
    with open(os.path.join(folder, "fis+.yaml"), "w") as out:
        out.write(text)
    # The same budget spent at random: plain training, and every version is published.
    text = re.sub(r"^pipeline: .*", "pipeline: images-random", text, flags=re.M)
    text = re.sub(r"algorithm: .*", "algorithm: random", text)
    text = re.sub(r"^training: {", "training: {publication: plain, ", text, flags=re.M)
    with open(os.path.join(folder, "random.yaml"), "w") as out:
        out.write(text + "gate: {replace: always, epsilon: 1, min_cell: 1}\n")
    return {r["id"]: r for r in rest[3000:]}


# ---- two pipelines -------------------------------------------------------------------------

class Run:
    """What was started, to be ended in order: the tools, then the daemons, which drain."""

    def __init__(self, bin_folder, folder, rate):
        self.bin, self.folder, self.rate = bin_folder, folder, rate
        self.broker_files = tempfile.mkdtemp(prefix="run.", dir=folder)
        self.env = {**os.environ, "FISD_RUN_DIR": self.broker_files}
        self.started = []
        self.daemons = {}
        self.requested = {}  # pipeline -> {id: round}, in the order of requests
        self.looked = 0.0

    def launch(self, log, program, *arguments):
        with open(os.path.join(self.folder, log), "w") as out:
            p = subprocess.Popen([os.path.join(self.bin, program), *arguments], stdout=out, stderr=subprocess.STDOUT,
                                 env=self.env, cwd=self.folder)
        self.started.append(p)
        return p

    def start(self, name):
        config = os.path.join(self.folder, name + ".yaml")
        before, until = set(os.listdir(self.broker_files)), time.monotonic() + 60
        self.requested[name] = {}
        daemon = self.daemons[name] = self.launch(f"{name}.log", "fisd", "--embedded", "-c", config)
        while set(os.listdir(self.broker_files)) == before:  # its broker can be found once it is there
            if daemon.poll() is not None or time.monotonic() > until:
                self.blame(name, "fisd did not start")
            time.sleep(.1)
        self.launch(f"{name}-label.log", "fisctl", "-c", config, "label", "--answers", "answers.csv")
        return self.launch(f"{name}-replay.log", "fisctl", "-c", config, "replay", "pool.csv", "--rate", str(self.rate))

    def blame(self, name, what):
        with open(os.path.join(self.folder, f"{name}.log")) as f:
            sys.stderr.write("".join(f.readlines()[-12:]))
        fail(f"{name}: {what}; logs: {self.folder}")

    def look(self, last=False):
        """Adds to what was requested: the embedded broker keeps the newest 5 MB of a ledger. On a machine
        that is slow for a while an export may run out of time; the next one has all of it."""
        for name, found in self.requested.items():
            for line in self.fisctl(name, "ledger", "export", "--json", must=last).splitlines():
                one = json.loads(line)
                found.setdefault(one["id"], one["round"])
        self.looked = time.monotonic()

    def follow(self, name, shown):
        """Until its rounds have ended."""
        config = os.path.join(self.folder, name + ".yaml")
        arguments = [os.path.join(self.bin, "fisctl"), "-c", config, "watch", "--until", "done", "--timeout", str(PATIENCE),
                     "--every", "5", *([] if shown else ["--plain"])]
        watch = subprocess.Popen(arguments, env=self.env, stdout=None if shown else subprocess.DEVNULL)
        self.started.append(watch)
        while watch.poll() is None:
            for other, daemon in self.daemons.items():
                if daemon.poll() is not None:
                    self.blame(other, "fisd has ended")
            if time.monotonic() > self.looked + 2:
                self.look()
            time.sleep(.1)
        if watch.returncode:
            self.blame(name, "its rounds did not end")

    def fisctl(self, name, *arguments, must=True):
        r = subprocess.run([os.path.join(self.bin, "fisctl"), "-c", os.path.join(self.folder, name + ".yaml"), *arguments],
                           env=self.env, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        if r.returncode and must:
            fail(f"fisctl {' '.join(arguments)} failed")
        return "" if r.returncode else r.stdout

    def end(self):
        for p in reversed(self.started):
            if p.poll() is None:
                p.terminate()
        for p in self.started:
            p.wait()
        shutil.rmtree(self.broker_files, ignore_errors=True)


# ---- what came of it -----------------------------------------------------------------------

def cell(result, metric):
    if result[metric] is None:
        return "n/e"
    texts = [f"{v:.3f}".replace("0.", ".", 1) for v in (result[metric], *result["intervals"][metric])]
    return f"{texts[0]} {texts[1]}–{texts[2]}"


def conclude(run, stream, seconds):
    lines = lambda text: [json.loads(line) for line in text.splitlines()]
    evaluate = lambda name, version: json.loads(run.fisctl(name, "models", "evaluate", "--version", version, "--test",
                                                           "test.csv", "--json"))
    run.look(last=True)
    requested, by_chance = run.requested["fis+"], run.requested["random"]
    versions = lines(run.fisctl("fis+", "models", "list", "--json"))
    results = {"warm_up": evaluate("fis+", "1"), "random": evaluate("random", "served"), "fis+": evaluate("fis+", "served")}
    against = lambda found: sum((stream[i]["colour"] == "red") != (stream[i]["label"] == "high") for i in found)

    path = os.path.join(run.folder, "contact-sheet.png")
    with open(path, "wb") as out:
        out.write(sheet([(number, stream[i]) for i, number in requested.items()], SIDE))
    say("versions of fis+, on the validation rows")
    print(run.fisctl("fis+", "models", "list"))
    say("on test images that none has seen, with 95 % intervals")
    say("(accuracy: more is better; the gaps EOd, DP, EOp: 0 is fair)")
    names = {"warm_up": "first model", "random": "random labels", "fis+": "fis+"}
    print(f"{'':13}" + "".join(f"  {t:<14}" for t in ("accuracy", "EOd", "DP", "EOp")).rstrip())
    for n, title in names.items():
        print(f"{title:13}" + "".join(f"  {cell(results[n], m):<14}" for m in METRICS).rstrip())
    print()
    say(f"of {len(requested)} images that fis+ requested, {against(requested)} have the colour that speaks against "
        f"their label; of {len(by_chance)} random ones, {against(by_chance)}")
    say(f"what was requested, as a picture: {path}")
    published = sum(v["served"] for v in versions)
    with open(os.path.join(run.folder, "fis+-replay.log")) as f:
        records = int(re.search(r"sent ([\d,]+) record", f.read()).group(1).replace(",", ""))
    print(json.dumps({"demo-images": {
        "test": {n: {m: r[m] for m in METRICS} for n, r in results.items()},
        "versions": len(versions), "published": published, "rejected": len(versions) - published,
        "labels": max(len(requested), *(v["lineage"]["labels_bought"] for v in versions)), "records": records,
        "against_colour": against(requested), "against_colour_random": against(by_chance),
        "sheet": path, "seconds": round(seconds())}}, separators=(",", ":")))


def main():
    o = argparse.ArgumentParser(description="The demo of images.")
    o.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="of fisd and fisctl")
    o.add_argument("--dir", default=os.path.join(ROOT, "build", "demo-images"), help="where data and logs go")
    o.add_argument("--cache", default=os.path.join(ROOT, "build", "cache"), help="where what is fetched stays")
    o.add_argument("--seed", type=int, default=1, help="of the split")
    o.add_argument("--rate", type=int, default=1000, help="records a second")
    o = o.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    folder = os.path.abspath(os.path.join(o.dir, f"seed-{o.seed}"))
    os.makedirs(folder, exist_ok=True)
    stream = prepare(folder, os.path.abspath(o.cache), o.seed)
    run = Run(os.path.abspath(o.bin), folder, o.rate)
    try:
        replay = run.start("fis+")
        run.start("random")
        say("two pipelines run: fis+ (shown here), and random labels")
        say(f"logs: {folder}")
        run.follow("fis+", True)
        say("fis+ is done; waiting for the other")
        run.follow("random", False)
        if replay.wait():
            run.blame("fis+", "the records could not be sent")
        conclude(run, stream, lambda: time.monotonic() - began)
    except KeyboardInterrupt:
        fail("interrupted")
    finally:
        run.end()


main()
