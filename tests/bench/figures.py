"""What is printed: a line for each figure, and at the end the same as JSON."""

import json
import statistics


def note(text):
    print(f"# {text}", flush=True)


def numbers(text):
    words = text.split()
    return {k: float(v) for k, v in zip(words[::2], words[1::2])}


class Figures:
    def __init__(self):
        self.lines = []

    def add(self, name, values, goal, at_least, unit="", text=""):
        """A figure is its median; at_least: the goal is a lower bound, else an upper one."""
        ratio = statistics.median(values)
        ok = ratio >= goal if at_least else ratio <= goal
        line = {"bench": name, "ratio": short(ratio), "min": short(min(values)),
                "max": short(max(values)), "goal": goal, "ok": ok}
        self.lines.append(line)
        print(f"{name:24} {short(ratio):>9} {unit:3} [{short(min(values))}, {short(max(values))}]"
              f"  goal {'>=' if at_least else '<='} {goal:<6} {'ok' if ok else 'MISSED':6} {text}",
              flush=True)

    def finish(self):
        for line in self.lines:
            print(json.dumps(line))
        return 0 if self.lines else 2


def short(x):
    return float(f"{x:.4g}")
