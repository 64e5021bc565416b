#!/usr/bin/env python3
"""Puts tables that `fisctl lab … --markdown FILE` wrote into docs/results.md.

    tests/lab/fill_results.py rich=rich.md scarce=scarce.md …

NAME=FILE: what stands between "begin NAME" and "end NAME" is replaced by the file. All or nothing.
"""

import os
import re
import sys

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "results.md")


def main():
    if len(sys.argv) < 2 or not all("=" in word for word in sys.argv[1:]):
        sys.exit("usage: fill_results.py NAME=FILE …")
    with open(RESULTS, encoding="utf-8") as f:
        text = f.read()
    for word in sys.argv[1:]:
        name, path = word.split("=", 1)
        with open(path, encoding="utf-8") as f:
            table = f.read().strip()
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
        if len(pattern.findall(text)) != 1:
            names = ", ".join(re.findall(r"<!-- begin (\S+) -->", text))
            sys.exit(f"fill_results.py: found '{name}', allowed are {names}")
        text = pattern.sub(lambda _: f"{begin}\n{table}\n{end}", text)
    with open(RESULTS, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
