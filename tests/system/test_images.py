#!/usr/bin/env python3
"""Images as records, in files and on topics: one picture is the same input however it comes, people
are shown it, and what is no picture ends in the dead-letter topic with its reason."""

import base64
import csv
import io
import json
import struct

from browser import Browser
from fisd_test import Pipeline, has, main, proto, same, t_config, test, wait
from http_client import client_of
from image_files import golden, pictures, png

VIT = {"type": "vit", "image": [8, 8, 3], "patch": 4, "width": 16, "depth": 1, "heads": 2, "mlp": 16}
KINDS = golden()


def config(window, **sections):
    c = t_config(training={"hidden": [16], "warm_up_epochs": 4, "batch": 32},
                 selection={"labels_per_round": 20, "window_records": window, "distinct": False},
                 **sections)
    del c["columns"]
    c["model"] = VIT
    return c


def text(data):
    return base64.b64encode(data).decode()


def csv_of(rows, *columns):
    out = io.StringIO(newline="")
    w = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    w.writeheader()
    w.writerows(rows)
    return out.getvalue().encode()


def files():
    """The initial rows name files, the validation rows have their images in them."""
    initial, validation = list(pictures(120, 1)), list(pictures(400, 2))
    out = {f"{r['id']}.png": png(r["pixels"], 8, 8) for r in initial}
    for r in initial:
        r["image"] = f"{r['id']}.png"
    for r in validation:
        r["image"] = text(png(r["pixels"], 8, 8))
    return {**out, "initial.csv": csv_of(initial, "id", "image", "hired"),
            "validation.csv": csv_of(validation, "id", "image", "hired", "group")}


def image(data, height=0, width=0, channels=0):
    shape = [(2, height), (3, width), (4, channels)]
    return proto((6, proto((1, data), *[s for s in shape if s[1]])))


def number(v):
    """Of a byte, in 32 bits."""
    single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
    return single(single(v / 127.5) - 1)


def numbers(pixels):
    return proto((2, b"".join(struct.pack("<f", number(v)) for v in pixels)))


def send(p, good, bad):
    """Good and bad records in one batch; each bad one becomes a dead letter, all others candidates."""
    messages = [(f"bad-{i}".encode(), v, reason) for i, (v, reason) in enumerate(bad)]
    for i, (name, value) in enumerate(good.items()):
        messages.insert(2 * i, (name.encode(), value, None))
    p.produce("records", [m[:2] for m in messages])
    p.start()
    p.wait_counts("scored", records=len(good), refused=len(bad), tombstones=0)
    words = {k: w for k, _, w in messages if w}
    p.check_dead_letters("records", {m.offset: ((m.key, m.value), [words[m.key]])
                                     for m in p.consume("records") if m.key in words})
    return p.wait_candidates([n.encode() for n in good])


def requests(p, count):
    got = [json.loads(m.value) for m in p.wait_messages("label-requests", count)]
    return {r["id"]: r["record"] for r in got}


@test("protobuf: PNG, JPEG, raw bytes and numbers; each kind of file ends as the documents state")
def _():
    row = next(pictures(1, 7))
    pixels, picture = row["pixels"], png(row["pixels"], 8, 8)
    good = {"png": image(picture), "raw": image(pixels, 8, 8, 3), "numbers": numbers(pixels),
            "grey": image(bytes(range(64)), 8, 8, 1), "png-16": image(KINDS["png-16-bit"][0]),
            **{k: image(v) for k, (v, words) in KINDS.items() if not words and k.startswith("jpeg")}}
    bad = [(image(v), words) for k, (v, words) in KINDS.items() if words and k not in ("channels", "empty")]
    bad += [(image(pixels, 8, 9, 3), "192 raw bytes; 8 x 9 x 3 are 216"),
            (image(pixels, 8, 8, 4), "192 raw bytes; 8 x 8 x 4 are 256"),
            (image(pixels * 4, 16, 12, 4), "4 channels; model.image has 3"),
            (image(b"", 60000, 60000, 3), "60000 x 60000 pixels"),
            (image(b""), "no bytes found"), (proto((6, b"")), "no bytes found"),
            (image(picture) + image(picture), "image: two of them"),
            (image(picture) + numbers(pixels), "image and features: one of them expected"),
            (proto((1, b"x")), "0 features, 192 expected")]
    c = config(len(good), records={"encoding": "protobuf", "max_pixels": 100000})
    with Pipeline(c, "i", files()) as p:
        found = send(p, good, bad)
        for name in "raw", "numbers":
            same(found[name.encode()].vector, found[b"png"].vector, f"the same picture as {name}")
        assert found[b"grey"].vector != found[b"png"].vector
        kinds = {**{k: v for k, (v, _) in KINDS.items()}, "png": picture, "png-16": KINDS["png-16-bit"][0]}
        for key, shown in requests(p, len(good)).items():
            if key == "numbers":
                same(len(shown), 192, "a record of numbers")
            elif key in kinds:
                same(shown, {"image": text(kinds[key])}, key)
            else:
                same(shown["image"][:11], "iVBORw0KGgo", f"raw bytes as a PNG: {key}")


def see_shown(p, good):
    """What the labelling page gets, and what it looks like."""
    client, shown, people = client_of(p), {}, {}
    for i in range(len(good)):
        one = client.ask("GET", "/api/v1/label/next", headers={"X-Annotator": f"ann-{i}"}).json["request"]
        shown[one["id"]], people[one["id"]] = one["fields"], f"ann-{i}"
    for key in "png", "uri":
        same([(f["as"], f["value"]) for f in shown[key]],
             [("image", "data:image/png;base64," + json.loads(good["png"])["image"])], key)
    same([f["value"][:22] for f in shown["numbers"]], ["data:image/png;base64,"], "numbers are a picture")
    same(shown["large"][0]["value"][:23], "data:image/jpeg;base64,", "a JPEG")
    with Browser() as b:
        b.media(prefers_color_scheme="dark")
        for key, times in ("numbers", 36), ("wide", None):
            look(b, f"http://{client.address}/label", people[key], times)


def look(b, page, person, times):
    """A small picture is enlarged, with square pixels that are sharp; none is distorted, or wider
    than a phone; what is transparent is white, as for the model."""
    b.open(page)
    b.run("sessionStorage.setItem('fisd-label-name', arguments[0])", person)
    b.open(page)
    for width, phone in (1280, False), (390, True):
        b.size(width, 800, phone=phone)
        wait(lambda: b.run("return document.querySelector('#fields img[class]')?.complete"), "the picture")
        natural, box, right, alt, style, back = b.run("""const e = document.querySelector("#fields img");
            const r = e.getBoundingClientRect(), s = getComputedStyle(e);
            return [[e.naturalWidth, e.naturalHeight], [r.width, r.height], r.right, e.alt, s.imageRendering, s.backgroundColor]""")
        if times:
            same(box, [times * n for n in natural], "a whole number of times as large")
        same(style, "pixelated" if times else "auto")
        assert abs(box[0] / box[1] - natural[0] / natural[1]) < .02 and right <= width, (natural, box, right)
        same((alt, back), ("image of this record", "rgb(255, 255, 255)"))


@test("JSON: base64 as it is or as a data: address; requests, page, predict and replay have the image")
def _():
    rows = list(pictures(40, 8))
    picture, pixels = png(rows[0]["pixels"], 8, 8), rows[0]["pixels"]
    as_json = lambda **members: json.dumps(members).encode()
    good = {"png": as_json(image=text(picture)), "uri": as_json(image="data:image/jpg;base64," + text(picture)),
            "numbers": as_json(**{f"f{i}": number(v) for i, v in enumerate(pixels)}),
            "large": as_json(image=text(KINDS["jpeg-large"][0])),
            "wide": as_json(image=text(png(bytes(3 * 600 * 200), 200, 600)))}
    bad = [(as_json(image="scan_17.png"), "a PNG or JPEG in base64 expected"),
           (as_json(image=17), "base64 expected, 17 found"),
           (as_json(image=text(picture), images=1), "unknown column 'images' (allowed: image, or f0,"),
           (as_json(image=None), "base64 expected, null found"),
           (as_json(image=text(picture)[:-8]), "truncated PNG"),
           (as_json(image=text(picture), f3=1), "image and f3: one of them expected"),
           (as_json(image=text(picture), age=1), "unknown column 'age'"),
           (as_json(id="a"), "no image, and 0 of its 192 numbers"),
           (as_json(f0=1, f1=2), "no image, and 2 of its 192 numbers"),
           (as_json(image=text(KINDS["gif"][0])), "a GIF found"),
           (as_json(image=""), "no bytes found"),
           (as_json(image=base64.encodebytes(picture).decode()), "white space found as character 77"),
           (as_json(image=text(picture)[:-1]), "no multiple of 4"),
           (as_json(image="https://x.example/a.png"), "base64 expected, : found as character 6"),
           (as_json(image=[text(picture)] * 2), "base64 expected, an array found")]
    c = config(len(good), labels={"page": True}, http={"listen": "127.0.0.1:0"})
    with Pipeline(c, "j", files()) as p:
        found = send(p, good, bad)
        same(found[b"uri"].vector, found[b"png"].vector, "as an address")
        same(found[b"numbers"].vector, found[b"png"].vector, "as numbers")
        for key, shown in requests(p, len(good)).items():
            same(shown, json.loads(good[key]), "the record of a request")
        see_shown(p, good)
        p.write("rows.csv", csv_of([{"id": r["id"], "image": f"{r['id']}.png"} for r in rows], "id", "image"))
        for r in rows:
            p.write(f"{r['id']}.png", png(r["pixels"], 8, 8))
        p.write("rows.jsonl", b"\n".join(json.dumps(
            {"id": r["id"], "image": f"{r['id']}.png"}).encode() for r in rows))
        p.write("inside.jsonl", b"\n".join(json.dumps(
            {"id": r["id"], "image": text(png(r["pixels"], 8, 8))}).encode() for r in rows))
        p.write("numbers.csv", csv_of([{"id": r["id"], **{f"f{i}": repr(number(v)) for i, v in
                enumerate(r["pixels"])}} for r in rows], "id", *[f"f{i}" for i in range(192)]))
        predicted = {n: p.fisctl("predict", n) for n in ("rows.csv", "rows.jsonl", "inside.jsonl", "numbers.csv")}
        for n, r in predicted.items():
            same((r.returncode, r.stdout), (0, predicted["rows.csv"].stdout), n + r.stderr)
        same(len(predicted["rows.csv"].stdout.splitlines()), 41, "rows of fisctl predict")
        before = len(p.consume("records"))
        for n in "rows.csv", "rows.jsonl":
            r = p.fisctl("replay", n)
            same(r.returncode, 0, r.stderr)
        sent = [json.loads(m.value) for m in p.consume("records")][before:]
        for s, r in zip(sent, rows + rows):
            same(s, {"id": r["id"], "image": text(png(r["pixels"], 8, 8))}, "what replay sends")
        row = {f"f{i}": 0 for i in range(192)}
        for name, rows, where, words in (
                ("bad.csv", b"id,image\na,nowhere.png\n", "line 2", "image: no file"),
                ("wrapped.csv", csv_of([{"image": base64.encodebytes(picture).decode()}], "image"), "line 2", "white space found"),
                ("both.csv", csv_of([{"image": "p8-0.png", "f3": 1}], "image", "f3"), "line 1", "image and f3: one of them"),
                ("both.jsonl", as_json(image="p8-0.png", **row), "line 1", "image and f0: one of them"),
                ("none.csv", b"id,age\na,3\n", "line 1", "no column 'image' in the header"),
                ("none.jsonl", as_json(id="a"), "none.jsonl", "image")):
            p.write(name, rows)
            for command in ("predict", "replay") if name == "bad.csv" else ("predict",):
                r = p.fisctl(command, name)
                assert r.returncode, name
                has(r.stderr, f"{name}: {where}" if where.startswith("line") else where, words)


main()
