#!/usr/bin/env python3
"""Makes the tables of docs/results with the present engine: every task, both regimes, six seeds.

    tests/lab/results.py [--fisctl FILE] [--seeds N] [--threads N]

Runs `fisctl lab run` for each part of PARTS, keeps the runs in build/results/ENGINE (ENGINE: what
git has of the sources), from where it goes on when it was interrupted, and writes
docs/results/PART.md and the summaries of docs/results.md, between its marks. Data are fetched on
first use into $FISD_CACHE, else build/cache.
"""

import argparse
import os
import re
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDER = os.path.join(ROOT, "docs/results")
MAIN = ("adult-sex,adult-age,compas,celeba-smiling,celeba-attractive,celeba-young,celeba-big-nose,"
        "credit,health")
FURTHER = "adult-race,adult-occupation,celeba-attractive-young,celeba-big-nose-young"
# Title, tasks, regime, methods. The ways to publish are compared where labels are few.
PARTS = {
    "scarce": ("Few labels", MAIN, "scarce",
               "random,xgb+entropy,random+pub,entropy+pub,fis+"),
    "rich": ("Many labels", MAIN, "rich", "random,xgb+entropy,fis+"),
    "further": ("More groups, more classes", FURTHER, "scarce", "random,xgb+entropy,fis+"),
}
SOURCES = ("src/core", "src/data", "src/role", "src/session", "src/lab", "include")
SUMMARY = re.compile(r"\n(Over the cells .*)", re.S)


def engine():
    """A name for the sources that made the numbers; with changes that are not committed, a new one."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words, *SOURCES], capture_output=True,
                              text=True).stdout
    trees = [line.split()[2][:6] for line in git("ls-tree", "HEAD").splitlines()]
    changed = git("status", "--porcelain").strip()
    return "-".join(trees) + (f"-changed-{os.getpid()}" if changed or not trees else "")


def run(options, part, against):
    """The table of a part against a method, as Markdown; and the command."""
    _, tasks, regime, methods = PARTS[part]
    words = ["run", "--tasks", tasks, "--metrics", "dp,eod", "--regime", regime, "--seeds",
             str(options.seeds), "--methods", methods, "--anchors", "--against", against]
    kept = os.path.join(ROOT, "build/results", engine())
    os.makedirs(kept, exist_ok=True)
    table = os.path.join(kept, f"{part}.md")
    env = {"FISD_CACHE": os.path.join(ROOT, "build/cache"), **os.environ}
    subprocess.run([options.fisctl, "lab", *words, "--threads", str(options.threads), "--resume",
                    os.path.join(kept, f"{part}.jsonl"), "--markdown", table], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    with open(table, encoding="utf-8") as f:
        return f.read().strip(), "fisctl lab " + " ".join(words)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    parser = argparse.ArgumentParser(description="Make the tables of docs/results.")
    parser.add_argument("--fisctl", default=os.path.join(ROOT, "build/release/bin/fisctl"))
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    since = time.monotonic()
    summaries = []
    for part, (title, *_) in PARTS.items():
        rival, _ = run(options, part, "xgb+entropy")
        table, command = run(options, part, "random")
        parts = [SUMMARY.search(text).group(1) for text in (table, rival)]
        write(os.path.join(FOLDER, part + ".md"),
              f"# {title}\n\n`{command}`\n\n{table}\n\n{parts[1]}\n")
        summaries.append(f"### {title}\n\n" + "\n\n".join(parts))
    page = os.path.join(ROOT, "docs/results.md")
    with open(page, encoding="utf-8") as f:
        text = f.read()
    begin, end = "<!-- summaries: tests/lab/results.py -->\n", "<!-- end of summaries -->\n"
    if begin not in text or end not in text:
        sys.exit(f"results.py: {page} has no marks '{begin.strip()}' and '{end.strip()}'")
    write(page, text[:text.index(begin)] + begin + "\n" + "\n\n".join(summaries) + "\n\n" +
          text[text.index(end):])
    print(f"results.py: docs/results made in {(time.monotonic() - since) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
