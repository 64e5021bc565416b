#!/usr/bin/env python3
"""fisctl lab on images that a user has: CelebA's folder and MedMNIST's .npz, as their makers write
them, and what is reported when they are not so."""

import json
import os
import random
import shutil
import subprocess
import tempfile

from fisd_test import FISCTL, ROOT, Skip, has, main, same, test

PYTHON = os.path.join(ROOT, "build/cache/onnx/bin/python")
SHORT = ["--methods", "random", "--seeds", "1", "--threads", "1", "--set",
         "rounds=1 labels=16 steps=20 warm-up=20"]


def made(folder, kind, name, *arguments):
    if not os.access(PYTHON, os.X_OK):
        raise Skip("no numpy and Pillow: 'make deps-test' fetches them, where there is a network")
    path = os.path.join(folder, name)
    subprocess.run([PYTHON, os.path.join(ROOT, "tests/system/make_images.py"), kind, path,
                    *map(str, arguments)], check=True, timeout=300)
    return path


def lab(folder, *arguments, code=0):
    """What is reported, and the records of the runs."""
    out = os.path.join(folder, "out.json")
    r = subprocess.run([FISCTL, "lab", "run", *SHORT, "--json", out, *arguments],
                       capture_output=True, text=True, timeout=300)
    same(r.returncode, code, f"fisctl lab run {arguments} ({r.stderr})")
    if code:
        return r.stderr
    with open(out, encoding="utf-8") as f:
        return r.stderr, json.load(f)["cells"]


def temporary():
    return tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR"))


def learnt(cells):
    """The label is half of the image: a model that has seen the images finds it."""
    assert all(c["test_accuracy"]["mean"] > .9 for c in cells), cells


@test("CelebA's folder: images belong to their labels; official parts, the paper's shares")
def _():
    with temporary() as folder:
        path = made(folder, "celeba", "celeba", 800, 30, 200)
        text, cells = lab(folder, "--tasks", "celeba-smiling-images", "--data", path, "--methods",
                          "random")
        has(text, "celeba-smiling-images: 800 images of 64 x 64 x 3 for training, 200 for test and "
                  "validation; 2 classes, 2 groups")
        learnt(cells)
        same([cells[0]["regime"], cells[0]["n_validation"]], ["rich", 20], "regime, validation")


def spoilt(path, name, change):
    """The folder with one list changed line by line: lines to lines."""
    file = os.path.join(path, name)
    shutil.copy(file, file + ".whole")
    with open(file, encoding="ascii") as f:
        lines = f.read().split("\n")
    with open(file, "w", encoding="ascii") as f:
        f.write("\n".join(change(lines)))
    return file


def put(n, text):
    return lambda lines: [*lines[:n], text(lines[n]), *lines[n + 1:]]


@test("CelebA's folder: file, line, what was found and what is allowed")
def _():
    attributes, partition = "list_attr_celeba.txt", "list_eval_partition.txt"
    cases = [
        (attributes, put(0, lambda _: "51"), "line 1: found 51 images, and 50 lines of them"),
        (attributes, put(0, lambda _: "49"), "line 1: found 49 images, and 50 lines of them"),
        (attributes, put(0, lambda _: "many"), "line 1: found 'many', allowed is the number"),
        (attributes, lambda lines: [], "line 1: found '', allowed is the number"),
        (attributes, put(1, lambda s: s.replace("Smiling", "smile")),
         "list_attr_celeba.txt: line 2: no column 'Smiling'"),
        (attributes, put(6, lambda s: s.replace("-1", " 0").replace(" 1", " 0")),
         "line 7: 000005.jpg: Smiling: found '0', allowed are 1 and -1"),
        (attributes, put(9, lambda s: s + " 1"), "line 10: 000008.jpg: found 41 values, allowed are 40"),
        (partition, put(4, lambda _: "000005.jpg 3"),
         "list_eval_partition.txt: line 5: 000005.jpg: found '3', allowed are 0 (training)"),
        (partition, put(4, lambda _: "000005.jpg"), "line 5: 000005.jpg: found '', allowed are 0"),
        (partition, put(4, lambda _: "000006.jpg 0"),
         "line 5: found 000006.jpg, allowed is 000005.jpg, as in line 7 of list_attr_celeba.txt"),
        (partition, lambda lines: lines[:40], "found the end, allowed is 000041.jpg"),
        (partition, lambda lines: lines[:-1] + ["x.jpg 0"], "line 51: found x.jpg, which "),
    ]
    with temporary() as folder:
        path = made(folder, "celeba", "celeba", 30, 0, 20)
        run = lambda: lab(folder, "--tasks", "celeba-smiling-images", "--data", path, code=1)
        for name, change, expected in cases:
            file = spoilt(path, name, change)
            has(run(), file + ": ", expected)
            os.replace(file + ".whole", file)
        image = os.path.join(path, "img_align_celeba/000033.jpg")
        for content, expected in ((b"no image", "image"), (b"", "image"), (None, "No such file")):
            os.remove(image)
            if content is not None:
                with open(image, "wb") as f:
                    f.write(content)
            has(run(), image + " (line 35 of list_attr_celeba.txt): ", expected)
        os.remove(os.path.join(path, partition))
        has(run(), partition + ": No such file", "CelebA's folder has")
        has(lab(folder, "--tasks", "celeba-smiling-images", code=1), "--data names the folder")
        has(lab(folder, "--data", path, code=1), "no task that reads it")


@test("MedMNIST's .npz: packed or stored, grey or in colour, groups in it or in a file of rows")
def _():
    with temporary() as folder:
        grey = made(folder, "medmnist", "grey.npz", 28, 1, 400, 100, 200, "groups")
        text, cells = lab(folder, "--data", grey)
        has(text, "grey: 400 images of 28 x 28 x 1 for training, 100 for validation, 200 for test")
        learnt(cells)
        same(cells[0]["n_validation"], 100, "rows of val_images")
        colour = made(folder, "medmnist", "colour.npz", 24, 3, 400, 0, 200, "plain")
        has(lab(folder, "--data", colour, code=1), "it has no groups", "--groups FILE")
        groups = os.path.join(folder, "groups.csv")
        rows = ["sex,age"] + [f"{random.choice('MF')},{i}" for i in range(600)]
        for n, expected in ((599, "598 rows; allowed is one for each of the 600 images"), (601, None),
                            (602, "line 602: more rows than the 600 images")):
            with open(groups, "w", encoding="ascii") as f:
                f.write("\n".join((rows + ["F,1"])[:n]) + "\n")
            arguments = ["--data", colour, "--groups", groups, "--sensitive", "sex", "--tasks", "colour"]
            if expected:
                has(lab(folder, *arguments, code=1), groups + ": ", expected)
            else:
                learnt(lab(folder, *arguments)[1])
        has(lab(folder, "--data", colour, "--groups", groups, "--sensitive", "x", code=1),
            "no column 'x'", "found: sex, age")
        has(lab(folder, "--data", grey, "--methods", "jtt", code=1), "any but jtt")


@test("MedMNIST's .npz: the file, the array, what was found and what is allowed")
def _():
    write = ("import numpy, sys\nfor i, change in enumerate(sys.argv[3:]):\n z = dict(numpy.load(sys.argv[1]))\n"
             " exec(change)\n numpy.savez(sys.argv[2] % i, **z)")
    cases = [
        ("del z['test_labels']", "no array test_labels (found: "),
        ("z['train_images'] = z['train_images'] / 255.", "train_images: found <f8 [40][8][8]; allowed"),
        ("z['train_images'] = z['train_images'].reshape(40, 64)", "found |u1 [40][64]; allowed"),
        ("z['train_images'] = z['train_images'][..., None].repeat(5, 3)", "[8][8][5]; allowed"),
        ("z['val_images'] = z['val_images'][:, :4]", "images of train are 8 x 8 x 1"),
        ("z['train_labels'] = z['train_labels'].repeat(14, 1)",
         "train_labels: found |u1 [40][14]; allowed is one whole number for each of the 40 images"),
        ("z['train_labels'] = z['train_labels'][1:]", "train_labels: found |u1 [39][1]"),
        ("z['train_labels'] = z['train_labels'].astype('>i4')", "a little-endian array"),
        ("z['train_labels'] = z['train_labels'].astype(str)", "train_labels.npy: found {'descr': '<U"),
        ("z['train_images'] = numpy.asfortranarray(z['train_images'])", "'fortran_order': True"),
        ("z['train_labels'] = z['train_labels'].astype(object)", "train_labels.npy: found"),
    ]
    with temporary() as folder:
        good = made(folder, "medmnist", "good.npz", 8, 1, 40, 30, 30, "groups")
        subprocess.run([PYTHON, "-c", write, good, os.path.join(folder, "bad%d.npz"),
                        *(change for change, _ in cases)], check=True, timeout=180)
        for i, (_, expected) in enumerate(cases):
            bad = os.path.join(folder, f"bad{i}.npz")
            has(lab(folder, "--data", bad, code=1), bad + ": ", expected)
        with open(good, "rb") as f:
            whole = f.read()
        for part, expected in ((whole[:len(whole) // 2], "no .npz"), (b"", "no .npz"),
                               (whole[:2000] + bytes([whole[2000] ^ 255]) + whole[2001:], "damaged")):
            with open(bad, "wb") as f:
                f.write(part)
            has(lab(folder, "--data", bad, code=1), bad + ": ", expected)
        has(lab(folder, "--data", os.path.join(folder, "none.npz"), code=1), "No such file")


if __name__ == "__main__":
    main()
