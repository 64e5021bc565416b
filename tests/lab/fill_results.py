#!/usr/bin/env python3
"""Makes the tables of docs/results again: one file each, with the command that gave it.

    tests/lab/fill_results.py [NAME…]        default: all of TABLES

NAME=FILE takes a table that `fisctl lab … --markdown FILE` wrote before. Data are fetched on first
use into $FISD_CACHE, else build/cache.
"""

import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FISCTL = os.environ.get("FISCTL", os.path.join(ROOT, "build/release/bin/fisctl"))
RUN = ("run --tasks adult-sex,adult-age,celeba-attractive,celeba-big-nose --metrics dp,eod --seeds 4"
       " --methods random,entropy,random+pub,entropy+pub,fis,fis+")
TABLES = {
    "scarce": ("Few labels", RUN + " --regime scarce"),
    "rich": ("Many labels", RUN + " --regime rich"),
}


def table(name, path):
    with open(path, encoding="utf-8") as f:
        body = f.read().strip()
    title, command = TABLES[name]
    with open(os.path.join(ROOT, "docs/results", name + ".md"), "w", encoding="utf-8") as f:
        f.write(f"# {title}\n\n`fisctl lab {command}`\n\n{body}\n")


def main():
    for word in sys.argv[1:] or TABLES:
        name, _, path = word.partition("=")
        if name not in TABLES:
            sys.exit(f"fill_results.py: found '{name}', allowed are {', '.join(TABLES)}")
        if not path:
            path = os.path.join(ROOT, "build", name + ".md")
            env = {"FISD_CACHE": os.path.join(ROOT, "build/cache"), **os.environ}
            subprocess.run([FISCTL, "lab", *TABLES[name][1].split(), "--markdown", path], env=env,
                           check=True)
        table(name, path)


if __name__ == "__main__":
    main()
