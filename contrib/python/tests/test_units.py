"""What needs no broker: encodings, checks, errors."""

import base64
import json
import random
import struct
import warnings
import zlib

import numpy as np
import pandas
import pytest
import xxhash

import fisd
from fisd import _rows, fis_pb2, labels, requests
from fisd._chunks import Assembler

NOWHERE = "127.0.0.1:1"
COLUMNS = {"age": "numeric", "job": "categorical"}


def pipeline(**more):
    return fisd.Pipeline("p", NOWHERE, columns=COLUMNS, **more)


# ---- Pipeline --------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, message", [
    (dict(name="p"), "bootstrap.servers is missing"),
    (dict(name="p q", bootstrap=NOWHERE), "pipeline 'p q'"),
    (dict(name="p", bootstrap=NOWHERE, record_encoding="avro"), "json, protobuf, raw or registry"),
    (dict(name="p", bootstrap=NOWHERE, label_encoding="raw"), "json or protobuf"),
    (dict(name="p", bootstrap=NOWHERE, topics={"record": "x"}), "'record' is unknown"),
    (dict(name="p", bootstrap=NOWHERE, columns={"a": "text"}), "numeric or categorical"),
    (dict(name="p", bootstrap=NOWHERE, columns={"a": "categorical"}, record_encoding="raw"),
     "numeric columns only"),
])
def test_a_bad_pipeline(arguments, message):
    with pytest.raises(fisd.ConfigError, match=message):
        fisd.Pipeline(**arguments)


def test_load_reads_texts_as_fisd_does(tmp_path):
    """no, on, 010 and 1e3 are names there, whatever YAML 1.1 makes of them; $${ is ${."""
    path = tmp_path / "c.yaml"
    path.write_text("""pipeline: p
kafka: {bootstrap.servers: "h:1", enable.ssl.certificate.verification: true}
classes: [no, yes]
columns: [{name: 010}, {name: on, type: categorical}, {name: "$${x}"}]
records: {encoding: registry, numeric_text: true, passthrough: [1e3, 2026-01-01]}
validation: {label: y, sensitive: [null]}
""")
    p = fisd.Pipeline.load(path)
    assert p.classes == ("no", "yes") and p.numeric_text
    assert [(c.name, c.type) for c in p.columns] == [("010", "numeric"), ("on", "categorical"), ("${x}", "numeric")]
    assert p.passthrough == ("1e3", "2026-01-01") and p.examples == ("y", "null")
    assert p.kafka["enable.ssl.certificate.verification"] == "true"
    with pytest.raises(fisd.ConfigError, match="serializers"):
        fisd.Records(p)


def test_load(tmp_path, monkeypatch):
    (tmp_path / "secret").write_text("hunter2\n")
    monkeypatch.setenv("BROKER", "b:1")
    (tmp_path / "c.yaml").write_text(f"""
pipeline: credit
kafka: {{bootstrap.servers: "${{BROKER}}", sasl.password: "file:{tmp_path}/secret", enable.x: true,
         group.instance.id: one}} # ${{NOT_SET}} in a comment is not looked at
topics: {{prefix: pre, labels: answers, partitions: 3}}
records: {{id: key, passthrough: [note]}}
labels: {{encoding: protobuf}}
classes: ["no", "yes"]
columns: [{{name: age}}, {{name: job, type: categorical}}]
""".replace(" # ${NOT_SET} in a comment is not looked at", "\n# ${NOT_SET}"))
    p = fisd.Pipeline.load(tmp_path / "c.yaml")
    assert (p.topic("records"), p.topic("labels")) == ("pre.records", "answers")
    assert (p.id, p.label_encoding, p.classes) == ("key", "protobuf", ("no", "yes"))
    client = p.client()
    assert client["bootstrap.servers"] == "b:1" and client["sasl.password"] == "hunter2"
    assert client["enable.x"] == "true" and "group.instance.id" not in client
    assert not p.numeric_text
    assert p.examples == ()
    beside = "pipeline: p\nvalidation: {label: y, sensitive: [sex, age]}\nkafka: {bootstrap.servers: b, sasl.password: \"file:secret\",\n" \
        "  ssl.ca.location: ca.pem, ssl.crl.location: /crl, client.id: me}\n"
    (tmp_path / "beside.yaml").write_text(beside + "records: {numeric_text: true}\n")
    p = fisd.Pipeline.load(tmp_path / "beside.yaml")
    assert p.client()["sasl.password"] == "hunter2" and p.numeric_text
    assert p.kafka["ssl.ca.location"] == str(tmp_path / "ca.pem") and p.kafka["ssl.crl.location"] == "/crl"
    assert p.kafka["client.id"] == "me"
    assert p.examples == ("y", "sex", "age")
    (tmp_path / "bad.yaml").write_text("pipeline: p\nkafka: {bootstrap.servers: \"${NOT_SET}\"}")
    with pytest.raises(fisd.ConfigError, match="NOT_SET is not set"):
        fisd.Pipeline.load(tmp_path / "bad.yaml")
    (tmp_path / "none.yaml").write_text("a: 1")
    with pytest.raises(fisd.ConfigError, match="the key pipeline is missing"):
        fisd.Pipeline.load(tmp_path / "none.yaml")


# ---- Records ---------------------------------------------------------------------------------

class Caught(fisd.Records):
    """Records that go nowhere."""

    def __init__(self, pipeline):
        super().__init__(pipeline, timeout=0.1)
        self.out = []

    def produce(self, key, value, timestamp=0):
        self.out.append((key, value, timestamp))


def decoded(png):
    """Pixels of a PNG without filters: width, height, channels and bytes."""
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    at = png.index(b"IDAT")
    size = struct.unpack(">I", png[at - 4:at])[0]
    rows = zlib.decompress(png[at + 4:at + 4 + size])
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    stride = 1 + width * channels
    assert depth == 8 and len(rows) == height * stride
    return height, width, channels, b"".join(rows[y * stride + 1:(y + 1) * stride] for y in range(height))


def test_image_records():
    pixels = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)
    r = Caught(pipeline(passthrough=["note"]))
    assert r.send(pixels, ids=["a", "b"]) == 2
    assert r.send([{"id": 7, "image": b"\xff\xd8\xff", "note": 1}, {"image": pixels[0, :, :, 0]}]) == 2
    sent = [json.loads(v) for _, v, _ in r.out]
    assert [decoded(base64.b64decode(v["image"])) for v in (sent[0], sent[1], sent[3])] == [
        (3, 4, 3, pixels[0].tobytes()), (3, 4, 3, pixels[1].tobytes()), (3, 4, 1, pixels[0, :, :, 0].tobytes())]
    assert sent[2] == {"id": "7", "note": 1, "image": "/9j/"}
    for bad in (pixels[0].astype(float), np.zeros((2, 2, 5), np.uint8), np.zeros((0, 2, 3), np.uint8)):
        with pytest.raises(fisd.RecordError, match="uint8 of shape"):
            r.send({"image": bad})
    with pytest.raises(fisd.RecordError, match="expected, found"):
        r.send(np.zeros((1, 1, 1, 1, 1), np.uint8))
    p = Caught(fisd.Pipeline("p", NOWHERE, columns=["f0"], record_encoding="protobuf"))
    assert p.send(pixels, ids=["a", "b"]) == 2 and p.send({"image": b"\x89PNG"}) == 1
    records = [fis_pb2.Record.FromString(v) for _, v, _ in p.out]
    assert [(m.image.data, m.image.height, m.image.width, m.image.channels) for m in records] == [
        (pixels[0].tobytes(), 3, 4, 3), (pixels[1].tobytes(), 3, 4, 3), (b"\x89PNG", 0, 0, 0)]
    with pytest.raises(fisd.RecordError, match="raw records are numbers"):
        Caught(fisd.Pipeline("p", NOWHERE, columns=["f0"], record_encoding="raw")).send(pixels)


def test_json_records():
    r = Caught(pipeline(passthrough=["note"]))
    frame = pandas.DataFrame({"id": [1, 2], "age": [30.5, np.nan], "job": ["ä\"", None],
                              "note": [True, [1]]})
    assert r.send(frame) == 2
    assert r.send({"age": np.int32(7), "job": pandas.NA}, ids=["x"], event_times=[5]) == 1
    assert r.send(np.array([[1, "a"]], dtype=object)) == 1
    assert [(k, json.loads(v), t) for k, v, t in r.out] == [
        (b"1", {"id": "1", "age": 30.5, "job": "ä\"", "note": True}, 0),
        (b"2", {"id": "2", "note": [1]}, 0),
        (b"x", {"age": 7}, 5),
        (None, {"age": 1, "job": "a"}, 0)]
    assert b'"age":7}' in r.out[2][1], "an integer stays one"


def nested(**more):
    columns = {"age": "numeric", "address.city": "categorical", "address.geo.lat": "numeric"}
    return fisd.Pipeline("p", NOWHERE, columns=columns, **more)


def test_nested_records():
    r = Caught(nested(id="who.id", passthrough=["who.name", "trace"]))
    row = {"who": {"id": 7, "name": "x"}, "age": 1, "trace": {"a": {"b": [1]}},
           "address": {"city": "Ulm", "geo": {"lat": np.float64(48.4), "note": None}}}
    r.send([row, {"address.city": "Ulm", "address": {"geo": {"lat": float("nan")}}}])
    assert [(k, json.loads(v)) for k, v, _ in r.out] == [
        (b"7", {"who": {"id": "7", "name": "x"}, "age": 1, "trace": {"a": {"b": [1]}},
                "address": {"city": "Ulm", "geo": {"lat": 48.4}}}),
        (None, {"address.city": "Ulm", "address": {"geo": {}}})]
    for bad, message in (({"address": {"zip": 1}}, "unknown column 'address.zip'"),
                      ({"address": {"geo": {"lat": "x"}}}, "column address.geo.lat: expected a number"),
                      ({"address": {"city": {"x": 1}}}, "column address.city: expected a text")):
        with pytest.raises(fisd.RecordError, match=message):
            r.send(bad)
    raw = Caught(fisd.Pipeline("p", NOWHERE, record_encoding="raw", columns=["a.x", "a.y"]))
    raw.send({"a": {"x": 1, "y": 2}})
    assert raw.out[0][1] == struct.pack("<2f", 1, 2)


def test_paths_take_precedence_as_in_fisd():
    assert _rows.flat({"a": {"b": 1, "c": {"d": 2}}, "a.b": 3}) == {"a.b": 3, "a.c.d": 2}
    assert _rows.flat({"a": {"b": 1}}, {"a"}) == {"a": {"b": 1}}
    assert _rows.member({"a.b": {"c": 1}, "a": {"b": {"d": 2}}}, "a.b.c") == 1
    assert _rows.member({"a": {"b": {"d": 2}}}, "a.b.d") == 2
    assert _rows.member({"a": 1}, "a.b") is None


def test_numbers_as_texts():
    r = Caught(pipeline(numeric_text=True))
    r.send([{"age": " 41 "}, {"age": ""}, {"age": 7}, {"age": "-1.5e3"}])
    assert [json.loads(v)["age"] for _, v, _ in r.out] == [" 41 ", "", 7, "-1.5e3"]
    for bad in ("x", "0x10", "1_0", "nan", "1e39"):
        with pytest.raises(fisd.RecordError, match="column age"):
            r.send({"age": bad})
    assert [_rows.from_text(t) for t in ("41", " 4.50 ", "", "x", 3)] == [41, 4.5, None, "x", 3]
    rows = _rows.with_numbers([{"age": "41", "job": "7"}], ["age", "job"], {"age"})
    assert rows == [{"age": 41, "job": "7"}]


def test_unknown_columns_as_configured():
    r = Caught(pipeline(passthrough=["note"], unknown="ignore"))
    r.send({"age": 1, "trace": "x"})
    assert json.loads(r.out[0][1]) == {"age": 1, "trace": "x"}
    with pytest.raises(fisd.ConfigError, match="refuse, ignore or pass"):
        pipeline(unknown="drop")


@pytest.mark.parametrize("row, message", [
    ({"age": "7"}, "column age: expected a number, found the text '7'; convert"),
    ({"age": True}, "expected a number, found True"),
    ({"age": 1e39}, "does not fit a 32-bit float"),
    ({"age": float("inf")}, "does not fit"),
    ({"age": 1 << 70}, "more than 64 bits"),
    ({"job": True}, "column job: expected a text or a number, found True"),
    ({"agee": 7}, "unknown column 'agee'"),
    ({"age": 1, "id": "x" * 256}, "1 to 255 bytes"),
    ({"age": 1, "id": "a\0"}, "no NUL"),
    ({"age": 1, "id": 1.5}, "text or an integer"),
    ({"note": float("inf")}, "does not fit"),
    ({"note": object()}, "not JSON serializable"),
    ([1, 2], "expected a dict"),
])
def test_a_bad_record(row, message):
    r = Caught(pipeline(passthrough=["note"]))
    with pytest.raises(fisd.RecordError, match=message) as e:
        r.send(iter([{"age": 1, "job": "a"}, row]))
    assert (e.value.row, len(r.out)) == (1, 1)
    if isinstance(row, dict):
        assert e.value.sent == 1


def test_fewer_ids_than_rows():
    with pytest.raises(fisd.RecordError, match="fewer ids"):
        Caught(pipeline()).send([{"age": 1}, {"age": 2}], ids=["a"])


def test_protobuf_and_raw_records():
    names = [f"f{i}" for i in range(8)]
    p = fisd.Pipeline("p", NOWHERE, columns=names, record_encoding="protobuf")
    r = Caught(p)
    dense = np.arange(8.0)
    assert r.send(np.stack([dense, np.eye(8)[3], np.zeros(8)]), ids=["a", "b", "c"],
                  attributes=[{"image": "http://x"}, {}, {}]) == 3
    records = [fis_pb2.Record.FromString(v) for _, v, _ in r.out]
    assert list(records[0].features) == list(dense) and records[0].attributes["image"] == "http://x"
    assert (list(records[1].sparse.index), list(records[1].sparse.value)) == ([3], [1])
    assert records[2].HasField("sparse") and not records[2].features
    assert [m.id for m in records] == [b"a", b"b", b"c"]
    with pytest.raises(fisd.RecordError, match="column f2: missing"):
        r.send(dict(zip(names, [1, 1, None, 1, 1, 1, 1, 1])))
    with pytest.raises(fisd.RecordError, match="7 columns, expected 8"):
        r.send(np.zeros((1, 7)))
    raw = Caught(fisd.Pipeline("p", NOWHERE, columns=names, record_encoding="raw"))
    raw.send({n: v for n, v in zip(names, dense)}, ids=[5])
    assert raw.out == [(b"5", struct.pack("<8f", *dense), 0)]
    with pytest.raises(fisd.ConfigError, match="columns are needed"):
        fisd.Records(fisd.Pipeline("p", NOWHERE, record_encoding="raw"))


def test_a_broker_that_is_not_there():
    records = fisd.Records(pipeline(), timeout=1)
    records.send({"age": 1}, ids=["a-1"])
    with pytest.raises(fisd.DeliveryError) as e:
        records.flush()
    assert e.value.failures[0][0] == "a-1"
    with pytest.raises(fisd.KafkaError, match="is the broker there"):
        fisd.Requests(pipeline(), timeout=1)
    seen = []
    with fisd.Models(pipeline(), timeout=0.5, on_error=seen.append) as models:
        with pytest.raises(fisd.NotReady, match="the last error: .*broker"):
            models.wait(1.5)
        with pytest.raises(fisd.NotReady, match="wait"):
            models.predict_proba({"age": 1})
    assert isinstance(seen[0], fisd.KafkaError)


# ---- Labels and requests -----------------------------------------------------------------------

def one_label(p, call):
    sender = fisd.Labels(p, timeout=0.1)
    out = []
    sender.produce = lambda key, value, timestamp=0: out.append((key, value))
    call(sender)
    return out[0]


def test_labels_in_both_encodings():
    class Message:
        def __init__(self, pair):
            self.pair = pair

        def key(self):
            return self.pair[0]

        def value(self):
            return self.pair[1]

    for encoding in ("json", "protobuf"):
        p = pipeline(classes=["no", "yes"], label_encoding=encoding)
        for call, expected in (
                (lambda s: s.answer("ä", "yes", annotator="ann"), ("ä", "labelled", "yes", "ann")),
                (lambda s: s.answer(7, index=0), ("7", "labelled", "no", None)),
                (lambda s: s.skip("a"), ("a", "skipped", None, None)),
                (lambda s: s.unsure(b"a", annotator="b"), ("a", "unsure", None, "b"))):
            got = labels.decode(p, Message(one_label(p, call)))
            assert (got.id, got.status, got.label, got.annotator) == expected
    assert labels.decode(pipeline(), Message((b"k", b"\xff"))) is None


@pytest.mark.parametrize("arguments, message", [
    (dict(id="a", label="maybe"), "not a class"),
    (dict(id="a", label=1), "the name of a class"),
    (dict(id="a", index=2), "0 to 1 allowed"),
    (dict(id="a", index=True), "0 to 1 allowed"),
    (dict(id="a"), "one of label and index"),
    (dict(id="", label="yes"), "1 to 255 bytes"),
    (dict(id="a", label="yes", annotator="x" * 256), "1 to 255 bytes"),
])
def test_a_bad_label(arguments, message):
    with fisd.Labels(pipeline(classes=["no", "yes"]), timeout=0.1) as sender:
        with pytest.raises(fisd.LabelError, match=message):
            sender.answer(**arguments)


def test_protobuf_requests():
    class Message:
        def __init__(self, m):
            self.m = m

        def value(self):
            return self.m.SerializeToString()

        partition, offset, topic = (lambda self: 1), (lambda self: 2), (lambda self: "t")

    p = fisd.Pipeline("p", NOWHERE, columns=["a", "b"], label_encoding="protobuf")
    record = fis_pb2.Record(attributes={"k": "v"})
    record.sparse.index.append(1)
    record.sparse.value.append(2)
    m = fis_pb2.LabelRequest(id=b"x", round=3, classes=["n", "y"], votes=2, deadline_ms=9,
                             encoding=fis_pb2.ENCODING_PROTOBUF, record=record.SerializeToString())
    r = requests.decode(p, Message(m))
    assert (r.id, r.record, r.attributes, r.votes) == ("x", {"a": 0, "b": 2}, {"k": "v"}, 2)
    assert (r.deadline_ms, r.round, r.place, r.classes) == (9, 3, (1, 2), ("n", "y"))
    image = fis_pb2.Record(image=fis_pb2.Image(data=bytes(6), height=1, width=2, channels=3))
    m.record = image.SerializeToString()
    assert decoded(base64.b64decode(requests.decode(p, Message(m)).record["image"])) == (1, 2, 3, bytes(6))
    gone = requests.decode(p, Message(fis_pb2.LabelRequest(id=b"x", cancelled=True, reason="q")))
    assert (gone.id, gone.reason) == ("x", "q")


# ---- chunks and versions -----------------------------------------------------------------------

def chunks(version, payload, size):
    pieces = [payload[i:i + size] for i in range(0, len(payload), size)]
    digest = xxhash.xxh3_128_intdigest(payload)
    return [fis_pb2.Chunk(version=version, index=i, count=len(pieces), total_bytes=len(payload),
                          checksum_low=digest & (1 << 64) - 1, checksum_high=digest >> 64,
                          data=d).SerializeToString() for i, d in enumerate(pieces)]


def feed(assembler, messages):
    return [x for x in map(assembler.feed, messages) if x is not None]


def test_chunks_in_any_order_twice_and_mixed():
    dice = random.Random(3)
    payloads = [dice.randbytes(n) for n in (1, 1000, 4096)]
    messages = [c for v, p in enumerate(payloads) for c in chunks(v, p, 100)] * 2
    for _ in range(20):
        once = sorted(messages[:len(messages) // 2], key=lambda _: dice.random())
        assert sorted(feed(Assembler(), once), key=len) == payloads


def test_damaged_chunks():
    good = chunks(1, b"a" * 250, 100)
    bad = fis_pb2.Chunk.FromString(good[1])
    bad.data = b"b" + bad.data[1:]
    a = Assembler()
    with pytest.raises(fisd.ModelError, match="checksum of the 3 chunks is wrong"):
        feed(a, [good[0], bad.SerializeToString(), good[2]])
    assert feed(a, good) == [b"a" * 250], "what comes after is not affected"
    bad.data = b""
    with pytest.raises(fisd.ModelError, match="150 bytes in 3 chunks, 250 announced"):
        feed(a, [good[0], bad.SerializeToString(), good[2]])
    with pytest.raises(fisd.ModelError, match="not a chunk"):
        a.feed(b"\xff\xff")
    with pytest.raises(fisd.ModelError, match="chunk 0 of 0"):
        a.feed(b"")
    again = chunks(1, b"c" * 250, 100)
    assert feed(a, [good[0], good[1], *again]) == [b"c" * 250], "written again after a crash"


def model(**more):
    m = fis_pb2.ModelVersion(pipeline="p", version=4, served=True, classes=["n", "y"], positive=1)
    m.encoder.columns.add(name="age", type=1, scale=1, mean=10, deviation=4, missing_indicator=True)
    m.encoder.columns.add(name="raw", type=1, scale=2, mean=0, deviation=1)
    m.encoder.columns.add(name="job", type=2, categories=["a", "ä"])
    m.network.width.extend([7, 2])
    m.network.parameters.extend(np.arange(16) / 16)
    for k, v in more.items():
        setattr(m, k, v)
    return m


def test_encoding_by_hand():
    v = fisd.Version(model().SerializeToString())
    x = v.encode([{"age": 14, "raw": 1e6, "job": "ä"}, {"age": None, "job": "b"},
                  {"age": 1e30, "raw": -1, "job": float("nan")}, {}])
    assert x.tolist() == [[1, 0, 1e6, 0, 1, 0, 0], [0, 1, 0, 0, 0, 1, 0], [50, 0, -1, 0, 0, 0, 1],
                          [0, 1, 0, 0, 0, 0, 1]]
    frame = pandas.DataFrame({"age": [14, None], "raw": pandas.array([1, None], dtype="Int64"),
                              "job": pandas.Categorical(["a", None])})
    assert v.encode(frame).tolist() == [[1, 0, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 1]]
    assert v.positive == "y" and "4 of p: served" in repr(v)


@pytest.mark.parametrize("row, message", [
    ({"age": "x"}, "row 1: column age: expected a number, found 'x'"),
    ({"age": False}, "expected a number, found False"),
    ({"raw": 1e39}, "does not fit"),
    ({"job": [1]}, "expected a text or a number"),
    ({"jobb": "a"}, "unknown column 'jobb'"),
    ({"raw": 3e38}, "not a finite number"),
])
def test_a_row_that_cannot_be_scored(row, message):
    m = model()
    del m.network.parameters[:]
    m.network.parameters.extend([9] * 16)
    v = fisd.Version(m.SerializeToString())
    with pytest.raises(fisd.RecordError, match=message):
        v.predict_proba([{"age": 1}, row])
    with pytest.raises(fisd.RecordError):
        v.predict_proba(pandas.DataFrame([{"age": 1}, row]))


def test_an_array_of_numbers():
    v = fisd.Version(model().SerializeToString())
    with pytest.raises(fisd.RecordError, match="2 columns, expected 3"):
        v.predict(np.zeros((1, 2)))
    assert v.predict(np.zeros((1, 3))).shape == (1,), "0 is a category that it does not know"
    with pytest.raises(fisd.RecordError, match="shape"):
        v.predict(np.zeros((1, 3, 3)))


@pytest.mark.parametrize("change, message", [
    (lambda m: m.network.width.__setitem__(0, 8), "cannot predict with it"),
    (lambda m: m.network.parameters.append(1), "17 parameters, expected 16"),
    (lambda m: m.network.parameters.__setitem__(0, float("nan")), "finite"),
    (lambda m: m.network.ClearField("parameters"), "served and has no parameters"),
    (lambda m: setattr(m.encoder.columns[0], "type", 7), "type 7 is not known"),
    (lambda m: setattr(m.encoder.columns[0], "scale", 7), "scale 7 is not known"),
    (lambda m: setattr(m.encoder.columns[0], "deviation", 0), "above 0"),
    (lambda m: setattr(m, "positive", 2), "the positive one is 2"),
])
def test_a_version_that_cannot_be_used(change, message):
    m = model()
    change(m)
    with pytest.raises(fisd.ModelError, match=message):
        fisd.Version(m.SerializeToString())


def test_a_rejected_version_without_parameters():
    m = model(served=False)
    m.network.ClearField("parameters")
    v = fisd.Version(m.SerializeToString())
    assert not v.can_predict
    with pytest.raises(fisd.ModelError, match="it was rejected"):
        v.predict({"age": 1})
    with pytest.raises(fisd.ModelError, match="not a model version"):
        fisd.Version(b"\xff")


def test_missing_values_of_all_kinds():
    assert all(map(_rows.is_missing, (None, float("nan"), np.float32("nan"), pandas.NA, pandas.NaT,
                                      np.datetime64("NaT"))))
    assert not any(map(_rows.is_missing, (0, "", "nan", 0.0, False)))


# ---- FisdClassifier --------------------------------------------------------------------------

# Checks of scikit-learn about the interface. The others train on data of their own making, with
# columns and classes that a served version does not have.
CHECKS = """cloneable tags_renamed repr no_attributes_set_in_init overwrite_params
dont_overwrite_parameters fit_returns_self do_not_raise_errors_in_init_or_set_params mixin_order
valid_tag_types parameters_default_constructible get_params_invariance set_params dict_unchanged
fit_check_is_fitted readonly_memmap_input requires_y_none decision_proba_consistency""".split()


def test_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    pytest.importorskip("sklearn", "1.6")
    classifier = fisd.FisdClassifier(fisd.Version(model().SerializeToString()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(classifier, on_fail=None, on_skip=None)
    judged = {name: r for name in CHECKS for r in results if r["check_name"].endswith(name)}
    assert len(judged) > 12, sorted(judged)
    bad = {n: str(r["exception"]) for n, r in judged.items() if r["status"] != "passed"}
    assert not bad


def test_a_classifier_in_scikit_learn():
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    version = fisd.Version(model().SerializeToString())
    frame = pandas.DataFrame({"age": [14, None, 3, 9], "raw": [1, 2, None, 0], "job": list("aaäb")})
    p = version.predict_proba(frame)
    piped = make_pipeline(FunctionTransformer(), fisd.FisdClassifier(version)).fit(frame)
    assert (piped.predict_proba(frame) == p).all() and list(piped.classes_) == ["n", "y"]
    labels = np.where(p[:, 1] > np.median(p[:, 1]), "y", "n")
    crossed = cross_val_predict(fisd.FisdClassifier(version), frame, labels, cv=2,
                                method="predict_proba")
    assert (crossed == p).all() and roc_auc_score(labels, crossed[:, 1]) == 1
