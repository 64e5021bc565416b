"""The quick start of the README, run as it is written."""

import pathlib
import random
import re
import subprocess
import sys

from conftest import ROOT, Daemon, wait, write_rows

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def person(dice, id_, more=None):
    """An application, made up: the README's data set is the reader's own."""
    amount, purpose = dice.randint(1, 99) * 100, dice.choice(["car", "house", "travel"])
    granted = amount < 5000 if dice.random() < 0.9 else amount >= 5000
    row = {"id": id_, "amount": amount, "months": dice.randint(6, 60),
           "income": dice.randint(10, 90) * 100, "purpose": purpose,
           "housing": dice.choice(["rent", "own"])}
    return {**row, **({"granted": "yes" if granted else "no"} if more else {}),
            **({"sex": dice.choice(["f", "m"]), "young": dice.choice(["0", "1"])}
               if more == "sensitive" else {})}


def test_quick_start(work, broker):
    """Twenty lines, against the example configuration of fisd with a small budget."""
    code = re.search(r"<!-- quick start.*?```python\n(.*?)```", README.read_text(), re.S).group(1)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    folder, dice = work / "readme", random.Random(1)
    folder.mkdir()
    write_rows(folder / "initial.csv", [person(dice, f"i{i}", "label") for i in range(400)])
    write_rows(folder / "validation.csv", [person(dice, f"v{i}", "sensitive") for i in range(800)])
    people = [person(dice, f"a{i}", "label") for i in range(1500)]
    write_rows(folder / "answers.csv", people)
    write_rows(folder / "applications.csv",
               [{k: v for k, v in p.items() if k != "granted"} for p in people])
    name = f"pipeline: {work.name}-credit"
    text = (ROOT / "config/example.yaml").read_text()
    text = text.replace("localhost:9092", broker) \
        .replace("labels_per_round: 128", "labels_per_round: 16\n  rounds: 1\n"
                 "  window_records: 1000\n  window_time: 2s").replace("budget: 2000", "budget: 16")
    for file in ("credit.yaml", "fisd.yaml"):
        (folder / file).write_text(text.replace("pipeline: credit", name))
    daemon = Daemon(folder).start()
    try:
        script = code.replace("idle=30", "idle=15")
        done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "('no', 'yes')" in done.stdout and "<fisd.Version" in done.stdout
        wait(lambda: re.search(r"labels=16 ", daemon.log()), "sixteen answers arrive")
    finally:
        daemon.stop()
