#!/usr/bin/env python3
"""Records that cannot be used, between records that can: each kind ends where the documents say,
counted, with a reason that a person understands, and changes no score of the good ones."""

import json
import random
import struct

from fisd_test import (Pipeline, floats, has, main, people, proto, record_json, same, t_config,
                       test, w_config)
from own_broker import create_topic

GOOD = {"age": 39.0, "hours": 40.0, "job": "clerk", "score": 1.5}
NOT_JSON = "not JSON"
ALL = {"distinct": False}  # records with equal features are offered, each under its id
TOO_LARGE = "a number beyond what a double holds"
NO_FLOAT = "does not fit a 32-bit float"


def good_records(n, seed=11):
    return [record_json(r, with_id=False) for r in people(n, seed)]


def column(name, literal):
    """A JSON record whose column has this text as its value; None: the column is not there."""
    parts = [f'"{k}": {json.dumps(v)}' for k, v in GOOD.items() if k != name]
    return "{" + ", ".join(parts + ([f'"{name}": {literal}'] if literal else [])) + "}"


def interleaved(good, bad):
    """One good record before each bad one, and good ones at the end: they share a batch."""
    out, rest = [], list(good)
    for message in bad:
        if rest:
            out.append(rest.pop(0))
        out.append(message)
    return out + rest


def run(p, good, bad, others=()):
    """Sends good values (as x0, x1 …) among bad messages before fisd starts, so that one batch
    holds them all, and the same good values alone (y0, y1 …) afterwards. `bad`: (key, value,
    parts of the reason); `others`: (key, value) that are scored too. Returns the candidates."""
    mixed = interleaved([(f"x{i}".encode(), v, None) for i, v in enumerate(good)],
                        list(bad) + [(k, v, None) for k, v in others])
    p.produce("records", [m[:2] for m in mixed])
    p.start()
    p.wait_counts("scored", records=len(good) + len(others), refused=len(bad), tombstones=0)
    p.check_dead_letters("records", {i: (m[:2], m[2]) for i, m in enumerate(mixed) if m[2]})
    p.produce("records", [(f"y{i}".encode(), v) for i, v in enumerate(good)])
    names = [f"{c}{i}".encode() for c in "xy" for i in range(len(good))]
    found = p.wait_candidates(names + [k for k, _ in others])
    same(len(found), len(names) + len(others), "number of candidates")
    for i in range(len(good)):
        x, y = found[f"x{i}".encode()], found[f"y{i}".encode()]
        same((x.vector, x.scores, x.head), (y.vector, y.scores, y.head),
             f"good record {i}, with and without bad ones in its batch")
    return found


@test("JSON: numbers that are none, text, structure, size; good records' scores do not change")
def _():
    bad = [(b"b%d" % i, column(name, literal).encode(), parts) for i, (name, literal, parts) in
           enumerate([
               ("age", "NaN", [NOT_JSON]), ("age", "Infinity", [NOT_JSON]),
               ("age", "-Infinity", [NOT_JSON]), ("score", "nan", [NOT_JSON]),
               ("age", "1e400", [TOO_LARGE]), ("age", "-1e400", [TOO_LARGE]),
               ("age", "1" + 400 * "0", [TOO_LARGE]),
               ("age", "1e39", ["column age", NO_FLOAT]),
               ("hours", "-1e39", ["column hours", NO_FLOAT]),
               ("age", '"NaN"', ["column age", "number expected", 'text "NaN"']),
               ("age", '"39"', ["column age", "number expected", 'text "39"']),
               ("age", '""', ["column age", "number expected", 'text ""']),
               ("age", "[39]", ["column age", "an array"]),
               ("age", "{}", ["column age", "an object"]),
               ("wage", "1", ["unknown column", "wage", "age, hours, job, score"]),
               ("group", '"A"', ["unknown column", "group"]),
               ("age", "39, \"age\": 40", ["second time"]),
               ("job", '"a\\u0000b"', ["NUL"]),
           ])]
    one = column("age", "39").encode()
    bad += [(b"empty", b"", ["empty"]),
            (b"spaces", b"  ", ["JSON"]),
            (b"utf8", one.replace(b"clerk", b"cl\xff\xferk"), ["not UTF-8"]),
            (b"cut", one[:-1], ["ends in the middle"]),
            (b"more", one + b"{}", ["follows the end"]),
            (b"array", b"[1, 2]", ["an object expected"]),
            (b"frame", b"\0\0\0\0\x07" + one, ["Confluent frame, schema id 7; records.encoding is json"]),
            (b"seven", b"7", ["an object expected"]),
            (b"deep", b'{"age": ' + b"[" * 5000 + b"]" * 5000 + b"}", ["nested too deeply"]),
            (b"\xff\xfe", one, ["id", "not UTF-8"]),
            (b"\x00k", one, ["id", "NUL"]),
            (b"k" * 300, one, ["id", "255"]),
            (None, b'{"id": "", "age": 1}', ["id is empty"]),
            (b"idobject", b'{"id": {}, "age": 1}', ["id"]),
            (b"big", b'{"age": 39, "job": "' + b"a" * 10_000_000 + b'"}',
             ["10000022 bytes", "at most 1048576"])]
    others = [(b"null", column("age", "null").encode()), (b"absent", column("age", None).encode()),
              (b"nojob", column("job", None).encode()), (b"new", column("job", '"pilot"').encode()),
              (b"number", column("job", "1").encode()),
              (b"tiny", column("age", "1e-400").encode()),
              (b"mark", b"\xef\xbb\xbf" + column("age", "39.0").encode()),
              (b"plain", column("age", "39").encode())]
    with Pipeline(t_config(selection=ALL)) as p:
        found = run(p, good_records(10), bad, others)
        same(found[b"null"][1:3], found[b"absent"][1:3], "null and absent are the same")
        same(found[b"mark"][1:3], found[b"plain"][1:3], "with a byte order mark and without")
        assert found[b"new"].vector != found[b"nojob"].vector, "unseen is not missing"
        p.wait_counts("scored", unseen=2)
        # No id of its own and no key: the place is the id.
        p.produce("records", [(None, column("age", "39").encode())])
        end = len(bad) + len(others) + 20
        p.wait_candidates([f"{p.topic('records')}/0/{end}".encode()])


@test("nested members, numbers in texts, members that are ignored or passed: what is offered of them")
def _():
    record = {"who": {"age": "39", "name": "Kim"}, "hours": " 40 ", "job": "clerk", "score": 1,
              "group": "A", "note": {"text": [1]}, "trace": "x"}
    flat = {"who.age": 39, "hours": 40, "job": "clerk", "score": "1.0"}
    columns = [{"name": "who.age"}, {"name": "hours"}, {"name": "job", "type": "categorical"},
               {"name": "score"}]
    records = {"numeric_text": True, "passthrough": ["note"], "ignore": ["group", "trace"],
               "refuse": ["secret"], "unknown": "ignore"}
    with Pipeline(t_config(selection=ALL, columns=columns, records=records)) as p:
        for name in ("initial.csv", "validation.csv"):
            path = f"{p.dir}/{name}"
            text = open(path).read().replace("age,", "who.age,", 1)
            with open(path, "w") as f:
                f.write(text)
        p.produce("records", [(b"nested", json.dumps(record).encode()),
                              (b"flat", json.dumps(flat).encode()),
                              (b"secret", json.dumps({**flat, "secret": 1}).encode()),
                              (b"text", json.dumps({**flat, "score": "1,000"}).encode())])
        p.start()
        p.wait_counts("scored", records=2, refused=2)
        found = p.wait_candidates([b"nested", b"flat"])
        same(found[b"nested"].vector, found[b"flat"].vector)
        same(json.loads(found[b"nested"].record),
             {"who": {"age": "39"}, "hours": " 40 ", "job": "clerk", "score": 1, "note": {"text": [1]}})
        p.check_dead_letters("records", {
            2: ((b"secret", json.dumps({**flat, "secret": 1}).encode()), ["unknown column 'secret'"]),
            3: ((b"text", json.dumps({**flat, "score": "1,000"}).encode()),
                ["column score", 'text "1,000"'])})


@test("raw: not finite, wrong length, nothing; good records' scores do not change")
def _():
    def raw(*x):
        return struct.pack("<4f", *x)
    nan, inf = b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f"
    three = raw(.5, -1, 0, 2)[:12]
    bad = [(b"nan", nan + three, ["feature 0", "nan", "not a finite number"]),
           (b"nan3", three + nan, ["feature 3", "nan"]),
           (b"-nan", three + b"\x01\x00\xc0\xff", ["feature 3", "nan"]),
           (b"inf", three + inf, ["feature 3", "inf"]),
           (b"-inf", three[:4] + b"\x00\x00\x80\xff" + three[4:], ["feature 1", "-inf"]),
           (b"15", raw(1, 2, 3, 4)[:15], ["15 bytes", "16 expected"]),
           (b"17", raw(1, 2, 3, 4) + b"\0", ["17 bytes", "16 expected"]),
           (b"0", b"", ["0 bytes", "16 expected"]),
           (b"json", b'{"f0": 1}', ["9 bytes", "16 expected"])]
    good = [raw(*(r[f"f{k}"] for k in range(4))) for r in floats(10, 12)]
    small = {"message.max.bytes": "100000"}
    with Pipeline(w_config(kafka=small, selection=ALL), name="w") as p:
        found = run(p, good, bad, [(b"large", raw(3e38, -3e38, 0, 1e-45))])
        same(found[b"large"].record, raw(3e38, -3e38, 0, 1e-45))
        # Longer than the dead-letter topic takes: it arrives cut, and says so.
        p.wait_log(fr" limit records\.max_bytes=\d+ in_force={100000 - 8192 - 18 * 4 - 2 * 8 - 6 * 5} ")
        p.produce("records", [(b"long", bytes(200_000)), (b"next", good[0])])
        p.wait_candidates([b"next"])
        last = p.wait_messages("dead-letter", len(bad) + 1)[-1]
        same((last.key, last.headers["fis.error.length"]), (b"long", "200000"))
        assert 90_000 < len(last.value) < 100_000, len(last.value)
        bad.append(None)
        # A null is a tombstone, and not the same as no bytes.
        p.produce("records", [(b"null", None), (b"after", good[0])])
        p.wait_candidates([b"after"])
        p.wait_counts("scored", tombstones=1, refused=len(bad))
        assert b"null" not in p.candidates()


@test("a topic that takes short messages gets them in short batches")
def _():
    with Pipeline(t_config(), topics=False) as p:
        create_topic(p.topic("dead-letter"), max_message_bytes=150_000)
        r = p.fisctl("topics", "create")
        same(r.returncode, 1, r.stdout)
        has(r.stdout, "max.message.bytes")
        p.start()
        # Together they make a batch of what librdkafka allows, a million bytes; not to be compressed.
        noise = random.Random(3)
        p.produce("records", [(b"bad%d" % k, noise.randbytes(90_000)) for k in range(12)])
        p.wait_messages("dead-letter", 12)
        p.alive()


def packed(*x):
    return struct.pack(f"<{len(x)}f", *x)


def sparse(indexes, data):
    return proto((3, proto((1, bytes(indexes)), (2, data))))


@test("protobuf: packed or not, in pieces, sparse, cut short, unknown fields, no bytes, a null")
def _():
    x = packed(.5, -1, 0, 2)
    one = [x[i:i + 4] for i in range(0, 16, 4)]
    unpacked = b"".join(b"\x15" + f for f in one)
    unknown = b"\x9a\x06\x03abc"  # field 99
    same_x = {
        b"r1": b"\x0a\x02r1\x12\x10" + x,
        b"r2": b"\x0a\x02r2" + unpacked,
        b"r3": b"\x0a\x02r3\x12\x08" + x[:8] + b"\x15" + one[2] + b"\x15" + one[3],
        b"r4": b"\x12\x04" + one[0] + b"\x12\x0c" + x[4:] + b"\x0a\x02r4",
        b"r6": b"\x0a\x02r6\x12\x10" + x + unknown,
        b"r7": b"\x0a\x02r9\x0a\x02r7\x12\x10" + x,
        b"r8": b"\0\0\0\0\x07\0" + b"\x0a\x02r8\x12\x10" + x,
        b"ra": proto((1, b"ra")) + sparse([0, 3, 1], one[0] + one[3] + one[1]),
    }
    zero = {b"z1": b"\x0a\x02z1\x1a\x00", b"z2": b"\x0a\x02z2\x12\x10" + bytes(16)}
    bad = [
        (b"\x0a\x02r5\x12\x0f" + x[:15], ["15 bytes", "multiple of 4"]),
        (b"", ["0 features", "4 expected"]),
        (b"\x0a\x02b1", ["0 features", "4 expected"]),
        (b"\x12\x0c" + x[:12], ["3 features", "4 expected"]),
        (b"\x12\x14" + x + one[0], ["5 features", "4 expected"]),
        (b"\x12\x10" + x[:9], ["truncated", "needs 16 bytes, 9 left"]),
        (b"\x0a\x02b2\x12\x10" + x + b"\x9a", ["truncated"]),
        (b"\x12\x10" + x[:12] + b"\0\0\xc0\x7f", ["feature 3", "nan"]),
        (sparse([0], b"\0\0\x80\x7f"), ["feature 0", "inf"]),
        (sparse([4], one[0]), ["index 4", "0..3"]),
        (sparse([1, 1], x[:8]), ["index 1 twice"]),
        (sparse([0, 1], one[0]), ["2 indexes for 1 value"]),
        (b"\x12\x10" + x + b"\x1a\x00", ["features and sparse"]),
        (b"\x0a\x01\xff\x12\x10" + x, ["id", "UTF-8"]),
        (b"\0\0\0", ["Confluent frame", "3 bytes, at least 6"]),
        (b"\0\0\0\0\x07\x0a\x02b2\x12\x10" + x, ["Confluent frame, schema id 7", "message index"]),
        (b"\0\0\0\0\x07\x02\x02\x0a\x02b2\x12\x10" + x, ["message index is 1, 0 is expected"]),
        (b'{"age": 39}', ["byte 0", "wire type 3"]),
    ]
    config = w_config(selection=ALL, records={"encoding": "protobuf"})
    with Pipeline(config, name="p") as p:
        good = list(same_x.values()) + list(zero.values())
        mixed = interleaved([(None, v, None) for v in good],
                            [(b"key%d" % i, v, parts) for i, (v, parts) in enumerate(bad)])
        mixed.insert(3, (b"r1", None, None))
        p.produce("records", [m[:2] for m in mixed])
        p.start()
        p.wait_counts("scored", records=len(good), refused=len(bad), tombstones=1)
        p.check_dead_letters("records", {i: (m[:2], m[2]) for i, m in enumerate(mixed) if m[2]})
        found = p.wait_candidates(list(same_x) + list(zero))
        same(len(found), len(good), "number of candidates")
        for i, value in same_x.items():
            same((found[i].vector, found[i].scores), (found[b"r1"].vector, found[b"r1"].scores),
                 f"{i} against r1")
            same(found[i].record, value, "the record in the candidate is the original")
        same(found[b"z1"][1:3], found[b"z2"][1:3], "sparse without entries is the zero vector")


@test("records.framing: confluent: JSON in frames, and labels; what has none is refused")
def _():
    frame = b"\0\0\0\0\x2a"
    config = t_config(records={"framing": "confluent"}, labels={"framing": "confluent"},
                      selection={"labels_per_round": 4, "window_records": 20})
    with Pipeline(config) as p:
        p.start()
        rows = [(b"g%d" % i, frame + v) for i, v in enumerate(good_records(20))]
        bare = (b"bare", column("age", "39").encode())
        p.produce("records", rows[:5] + [bare] + rows[5:])
        p.wait_counts("scored", records=20, refused=1)
        p.check_dead_letters("records", {5: (bare, ["no Confluent frame", "records.framing"])})
        asked = p.wait_messages("label-requests", 4)
        has(asked[0].value.decode(), '"record":{"')
        p.produce("labels", [(m.key, frame + b'{"label": "yes"}') for m in asked])
        p.wait_log(r" version version=2 .* labels=4 ")


@test("a start with numbers that are none in the files is refused, with file and line")
def _():
    p = Pipeline(t_config(), topics=True)
    rows = list(people(50, 1))
    names = ["id", "age", "hours", "job", "score", "hired"]
    head = ",".join(names) + "\n"
    lines = [",".join(str(r[n]) for n in names) for r in rows]
    for text in ("nan", "1e39", "39 years"):
        parts = lines[7].split(",")
        parts[1] = text
        p.write("initial.csv",
                (head + "\n".join(lines[:7] + [",".join(parts)] + lines[8:]) + "\n").encode())
        since = len(p.log())
        p.start(ready=None)
        same(p.ended(), 2, f"exit status with {text}")
        has(p.log()[since:], "initial.csv", "line 9", "age")


if __name__ == "__main__":
    main()
