"""Records go in, people are asked, a version comes out, and Python predicts as fisd does."""

import json
import os
import pickle
import random
import struct
import subprocess

import numpy as np
import pandas
import pytest

import fisd
from conftest import LABEL, NUMERIC, WAIT, dead_letters, rows_of, typed, wait, write_rows
from fisd import _encoder, _kafka

REFERENCE = os.environ.get("REFERENCE", "build/python/reference")
COUNT = 1000


@pytest.fixture(scope="module")
def models(pipeline):
    with fisd.Models(pipeline) as models:
        models.wait(WAIT)
        yield models


@pytest.fixture(scope="module")
def trained(pipeline, pool, answers, models):
    """Two rounds of labels: answered one by one, skipped once, beside a follower."""
    served = []
    with fisd.Models(pipeline, on_served=served.append) as other, \
            fisd.Records(pipeline) as records:
        first = other.wait(WAIT)
        frame = pandas.DataFrame(pool[:2000])
        frame["note"] = "from a frame"
        assert records.send(frame) == 2000
        records.flush()
        asked, skipped = [], None
        with fisd.Requests(pipeline, annotator="ann", idle=WAIT) as requests:
            for request in requests:
                assert request.record["note"] == "from a frame"
                assert request.classes == ("<=50K", ">50K")
                if skipped is None:
                    skipped = request.id
                    requests.skip(request)
                    continue
                requests.answer(request, answers[request.id])
                asked.append(request.id)
                if len(asked) == 64:
                    break
        assert len(set(asked)) == 64 and skipped not in asked
        last = other.wait(WAIT, first.version + 2)
        wait(lambda: len(served) == 3, "a callback for each served version")
    assert [v.version for v in served] == [first.version, first.version + 1, first.version + 2]
    models.wait(WAIT, last.version)
    return last


def spoilt(adult):
    """Real rows of the test set, some values of which are missing or were never seen."""
    dice = random.Random(7)
    rows = rows_of(adult / "test.csv")[:COUNT]
    for i, row in enumerate(rows):
        for name in row:
            if name in ("id", "sex", LABEL):
                continue
            if dice.random() < 0.05:
                row[name] = ""
            elif name not in NUMERIC and dice.random() < 0.05:
                row[name] = f"never seen {i} ü"
        if i % 100 == 0:
            row["capital-gain"] = "3e30"  # cut off at 50 deviations
    return rows


def text(s):
    raw = s.encode()
    return struct.pack("I", len(raw)) + raw


def by_reference(version, rows):
    """Features [n, d] and logits [n, K] by the C library."""
    m, out = version.message, []
    columns = m.encoder.columns or _encoder._pixel_columns(m.encoder.image)
    out.append(struct.pack("I", len(columns)))
    for c in columns:
        out.append(text(c.name) + struct.pack("=IIddII", c.type, c.scale, c.mean, c.deviation,
                                              c.missing_indicator, len(c.categories)))
        out.extend(text(k) for k in c.categories)
    trees = m.encoder.trees
    out.append(struct.pack("III", trees.margins, trees.depth, len(trees.leaf) >> trees.depth))
    out.extend(np.array(numbers, dtype=kind).tobytes() for numbers, kind in
               ((trees.feature, np.uint32), (trees.threshold, np.float32), (trees.leaf, np.float32)))
    out.append(struct.pack(f"I{len(m.network.width)}I", len(m.network.width), *m.network.width))
    t = m.network.transformer
    out.append(struct.pack("9I", t.height, t.width, t.channels, t.patch, t.dim, t.depth, t.heads,
                           t.mlp, t.token))
    out.append(np.array(m.network.parameters, dtype=np.float32).tobytes())
    out.append(struct.pack("I", len(rows)))
    for row in rows:
        for name in version.columns:
            v = row.get(name)
            out.append(struct.pack("I", 0) if v is None else
                       struct.pack("=Id", 1, v) if isinstance(v, float) else
                       struct.pack("I", 2) + text(v))
    done = subprocess.run([REFERENCE], input=b"".join(out), stdout=subprocess.PIPE, check=True)
    d, k = t.height * t.width * t.channels or m.network.width[0], m.network.width[-1]
    both = np.frombuffer(done.stdout, dtype=np.float32).reshape(len(rows), d + k)
    return both[:, :d], both[:, d:]


def softmax(z):
    e = np.exp(z.astype(np.float64) - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_predictions_are_those_of_c(trained, adult):
    rows = [typed(row) for row in spoilt(adult)]
    features, logits = by_reference(trained, rows)
    assert any(c.missing_indicator for c in trained.message.encoder.columns)
    assert np.array_equal(trained.encode(rows, ignore=["id"]), features)
    assert np.isclose(features, 50).any(), "a value is cut off"
    got = trained.predict_proba(rows, ignore=["id"])
    assert np.abs(got - softmax(logits)).max() < 1e-5
    assert list(trained.predict(rows, ignore=["id"])) == \
        [trained.classes[i] for i in logits.argmax(axis=1)]
    assert got.shape == (COUNT, 2) and np.allclose(got.sum(axis=1), 1)


def based(scale, classes):
    """A version over a base of `classes` classes, with random weights."""
    dice = np.random.default_rng(3)
    m = fisd.fis_pb2.ModelVersion(version=1, pipeline="p", served=True,
                                  classes=[str(k) for k in range(classes)])
    columns = ["a"] + [f"s{k}" for k in range(1 if classes == 2 else classes)]
    for name in columns:
        m.encoder.columns.add(name=name, type=fisd.fis_pb2.Encoder.Column.NUMERIC, deviation=1,
                              scale=fisd.fis_pb2.Encoder.Column.NONE if name == "a" else scale)
    m.network.width.extend([len(columns), 4, classes])
    parameters = (len(columns) + 1) * 4 + 5 * classes
    m.network.parameters.extend(dice.normal(size=parameters).astype(np.float32).tolist())
    return fisd.Version(m.SerializeToString())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", ["LOGIT", "PROBABILITY"])
def test_a_base_is_that_of_c(scale, classes):
    version = based(getattr(fisd.fis_pb2.Encoder.Column, scale), classes)
    dice = np.random.default_rng(4)
    scores = dice.normal(scale=20, size=(COUNT, len(version.columns)))
    if scale == "PROBABILITY":
        scores = dice.random(scores.shape)
        scores[:3, 1] = 0, 1, 1.0000001
    rows = [dict(zip(version.columns, row)) for row in scores.tolist()]
    features, logits = by_reference(version, rows)
    assert np.array_equal(version.encode(rows), features)
    assert np.abs(version.logits(rows) - logits).max() < 1e-4
    with pytest.raises(fisd.RecordError, match="no value"):
        version.logits([{"a": 1}])
    if scale == "PROBABILITY":
        with pytest.raises(fisd.RecordError, match="a probability"):
            version.logits([{**rows[0], "s0": 87}])


@pytest.mark.parametrize("classes", [2, 3])
def test_trees_are_those_of_c(classes):
    dice = np.random.default_rng(5)
    m = fisd.fis_pb2.ModelVersion.FromString(based(fisd.fis_pb2.Encoder.Column.NONE, classes)
                                             .message.SerializeToString())
    margins, n, depth = (1 if classes == 2 else classes), 12, 3
    trees = m.encoder.trees
    trees.margins, trees.depth = margins, depth
    d = len(m.encoder.columns)
    trees.feature.extend(dice.integers(0, d, n * 7).tolist())
    trees.threshold.extend(dice.normal(size=n * 7).astype(np.float32).tolist())
    trees.leaf.extend(dice.normal(size=n * 8).astype(np.float32).tolist())
    del m.network.width[:], m.network.parameters[:]
    m.network.width.extend([d + margins, classes])
    m.network.parameters.extend(dice.normal(size=(d + margins + 1) * classes).tolist())
    version = fisd.Version(m.SerializeToString())
    rows = [dict(zip(version.columns, row)) for row in dice.normal(size=(COUNT, d)).tolist()]
    features, logits = by_reference(version, rows)
    assert np.array_equal(version.encode(rows), features)
    assert np.abs(version.logits(rows) - logits).max() < 1e-4


def seeing(token):
    """A version for images of 8 x 12 in colour, with random weights."""
    dice = np.random.default_rng(6)
    m = fisd.fis_pb2.ModelVersion(version=1, pipeline="p", served=True, classes=list("abc"))
    m.encoder.image.height, m.encoder.image.width, m.encoder.image.channels = 8, 12, 3
    m.encoder.image.mean.extend([-.2, 0, .1])
    m.encoder.image.deviation.extend([.5, .7, .002])  # some numbers are cut off
    t = m.network.transformer
    t.height, t.width, t.channels, t.patch, t.token = 8, 12, 3, 4, token
    t.dim, t.depth, t.heads, t.mlp = 16, 2, 4, 24
    m.network.width.extend([16, 8, 3])
    block = 2 * 16 + 17 * 48 + 17 * 16 + 2 * 16 + 17 * 24 + 25 * 16
    n = 49 * 16 + (6 + 2 * token) * 16 + 2 * block + 2 * 16 + 17 * 8 + 9 * 3
    m.network.parameters.extend(dice.normal(scale=.5, size=n).astype(np.float32).tolist())
    return fisd.Version(m.SerializeToString())


@pytest.mark.parametrize("token", [False, True])
def test_a_transformer_is_that_of_c(token):
    version = seeing(token)
    images = np.random.default_rng(7).integers(0, 256, (300, 8, 12, 3), dtype=np.uint8)
    encoded = version.encode(images)
    numbers = images.reshape(300, -1).astype(np.float32) / np.float32(127.5) - np.float32(1)
    rows = [{name: float(v) for name, v in zip(version.columns, row)} for row in numbers]
    features, logits = by_reference(version, rows)
    assert np.array_equal(encoded, features) and np.array_equal(version.encode(rows), features)
    got = version.predict_proba(images)
    assert np.abs(got - softmax(logits)).max() < 1e-5 and got.std(axis=0).min() > .01
    assert np.array_equal(version.predict_proba(images[0]), version.predict_proba(images[:1]))
    assert np.abs(version.predict_proba(numbers) - got).max() < 1e-5
    assert np.isclose(np.abs(encoded), 50).any(), "a number is cut off"
    assert np.array_equal(pickle.loads(pickle.dumps(version)).predict(images),
                          version.predict(images))
    with pytest.raises(fisd.RecordError, match=r"shape \(8, 12, 3\) are allowed"):
        version.predict(images[:, :4])
    with pytest.raises(fisd.RecordError, match="row 1.*no finite number"):
        version.predict(np.where(np.arange(2)[:, None, None, None] == 1, np.nan, images[:2]))
    assert version.predict_proba(images[:0]).shape == (0, 3)
    m = version.message
    del m.network.parameters[-1]
    with pytest.raises(fisd.ModelError, match="parameters"):
        fisd.Version(m.SerializeToString())


def test_metrics_are_those_of_fisctl(trained, adult, daemon):
    """fisctl reads the same rows from a file, by its own reader, encoder and network."""
    rows = spoilt(adult)
    path = daemon.folder / "spoilt.csv"
    write_rows(path, rows)
    reported = json.loads(daemon.fisctl("models", "evaluate", "--version", str(trained.version),
                                    "--test", str(path), "--json"))
    frame = pandas.read_csv(path)
    ignore = ["id", "sex", LABEL]
    hit = trained.predict(frame, ignore) == frame[LABEL]
    assert reported["rows"] == COUNT
    assert reported["accuracy"] == pytest.approx(hit.mean(), abs=1e-6)
    p = trained.predict_proba(frame, ignore)
    y = frame[LABEL].map({k: i for i, k in enumerate(trained.classes)}).to_numpy()
    loss = -np.log(p[np.arange(COUNT), y])
    risk = max(abs(loss[(frame["sex"] == g).to_numpy()].mean() - loss.mean())
               for g in frame["sex"].unique())
    assert reported["risk_disparity"] == pytest.approx(risk, abs=1e-5)


def test_one_row_is_the_same_in_every_shape(trained, pool):
    record = {k: v for k, v in pool[0].items() if k != "id"}
    one = trained.predict_proba(record)
    assert one.shape == (1, 2)
    assert np.array_equal(one, trained.predict_proba([record]))
    assert np.array_equal(one, trained.predict_proba(pandas.DataFrame([record])))
    values = np.array([[record.get(c) for c in trained.columns]], dtype=object)
    assert np.array_equal(one, trained.predict_proba(values))
    assert np.array_equal(one, trained.predict_proba(values[0]))
    assert trained.predict_proba([]).shape == (0, 2)


def test_a_version_can_be_pickled(trained, pool):
    again = pickle.loads(pickle.dumps(trained))
    assert np.array_equal(again.predict_proba(pool[:9], ["id"]),
                          trained.predict_proba(pool[:9], ["id"]))


def test_the_follower_knows_what_fisctl_knows(trained, models, daemon):
    listed = [json.loads(line) for line in daemon.fisctl("models", "list", "--json").splitlines()]
    assert [(v["version"], v["served"]) for v in listed] == \
        [(v.version, v.served) for v in models.versions]
    for row, v in zip(listed, models.versions):
        assert row["lineage"]["labels_bought"] == v.labels_bought
        assert v.metrics["accuracy"] == pytest.approx(row["metrics"]["accuracy"], abs=1e-6)
    assert models[1].parent == 0
    with pytest.raises(KeyError):
        models[99]


def test_a_rollback_is_swapped_in(trained, models, daemon, pool):
    before = models.served
    daemon.fisctl("models", "rollback", "1")
    after = models.wait(WAIT, before.version + 1)
    assert after.reason == "rolled_back"
    assert np.array_equal(models.predict_proba(pool[:50]),
                          models[1].predict_proba(pool[:50], ["id"]))


def test_nothing_is_handed_out_again(trained, pipeline):
    """Not to the same group, and not to a new one: everything is answered."""
    for group in (None, "others"):
        with fisd.Requests(pipeline, group=group, idle=3) as requests:
            assert list(requests) == []


def test_a_correction_is_seen_by_the_operator(trained, pipeline, answers, broker):
    first = next(m for m in _kafka.read_all(pipeline, pipeline.topic("labels"), 10)
                 if b'"label"' in m.value())
    row = json.loads(first.value())
    other = next(k for k in trained.classes if k != row["label"])
    with fisd.Labels(pipeline) as labels:
        labels.correct(row["id"], other, annotator="ann")

    assert wait(lambda: dead_letters(pipeline), "a dead letter") == ["contradiction"]


def test_classifier(trained, models, adult):
    from sklearn.base import clone
    from sklearn.metrics import get_scorer, roc_auc_score
    from sklearn.pipeline import make_pipeline
    frame = pandas.read_csv(adult / "test.csv")
    classifier = clone(fisd.FisdClassifier(trained, ignore=["id", "sex", LABEL])).fit()
    p = classifier.predict_proba(frame)
    assert list(classifier.classes_) == sorted(trained.classes)
    assert roc_auc_score(frame[LABEL] == ">50K", p[:, 1]) > 0.8
    assert classifier.score(frame, frame[LABEL]) == \
        (trained.predict(frame, ["id", "sex", LABEL]) == frame[LABEL]).mean()
    assert get_scorer("neg_log_loss")(classifier, frame, frame[LABEL]) > -0.7
    following = clone(fisd.FisdClassifier(models, follow=True, ignore=["id", "sex", LABEL]))
    assert make_pipeline(following.fit()).predict(frame[:5]).shape == (5,)
    assert following.version_ is models.served
