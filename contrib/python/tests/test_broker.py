"""Against a real Kafka and fisd: protobuf and raw, several votes, processes that are killed."""

import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest
import xxhash

import fisd
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from conftest import WAIT, Daemon, dead_letters, wait, write_rows
from fisd import _kafka, fis_pb2

NUMBERS = """
pipeline: {name}
kafka: {{bootstrap.servers: "{broker}"}}
classes: ["no", "yes"]
dimension: 3
records: {{encoding: {encoding}}}
labels: {{encoding: {labels}, votes: 2}}
initial: {{file: initial.csv, label: y}}
validation: {{file: validation.csv, label: y, sensitive: [g]}}
fairness: {{metric: equalized_odds}}
selection: {{labels_per_round: 8, rounds: 1, budget: 8, window_records: 200, window_time: 2s}}
gate: {{replace: always, epsilon: 1, min_cell: 1}}
training: {{hidden: [8], warm_up_epochs: 5, steps_per_round: 5}}
"""


@pytest.fixture(params=[("protobuf", "protobuf"), ("raw", "json")], ids=lambda p: p[0])
def numbers(request, work, broker):
    """A fisd on made-up numbers, as its encodings are what is tested."""
    encoding, labels = request.param
    folder, dice = work / encoding, random.Random(2)
    folder.mkdir()

    def row(i, more):
        x = [dice.gauss(0, 1) for _ in range(3)]
        return {"id": f"r{i}", **{f"f{k}": v for k, v in enumerate(x)},
                "y": "yes" if sum(x) > 0 else "no", **({"g": dice.choice("ab")} if more else {})}

    write_rows(folder / "initial.csv", [row(i, False) for i in range(200)])
    write_rows(folder / "validation.csv", [row(i, True) for i in range(600)])
    (folder / "fisd.yaml").write_text(NUMBERS.format(
        name=f"{encoding}-{os.getpid()}", broker=broker, encoding=encoding, labels=labels))
    daemon = Daemon(folder).start()
    yield daemon
    daemon.stop()


def test_numbers_and_two_votes(numbers):
    p = fisd.Pipeline.load(numbers.config)
    with fisd.Models(p) as models, fisd.Records(p) as records:
        models.wait(WAIT)
        x = np.random.default_rng(1).normal(size=(400, 3))
        x[::3, :2] = 0  # sparse in protobuf
        assert records.send(x, ids=[f"r{i}" for i in range(400)]) == 400
        records.flush()
        with fisd.Requests(p, group="a", idle=WAIT) as one, \
                fisd.Requests(p, group="b", idle=WAIT) as two:
            seen = set()
            for first, second in zip(one, two):
                assert first.votes == 2
                with pytest.raises(fisd.LabelError, match="name its annotator"):
                    one.answer(first, "yes")
                one.answer(first, "yes", annotator="ann")
                two.answer(second, index=1, annotator="bob")
                if first.record is not None:
                    sent = x[int(first.id[1:])].astype(np.float32)
                    assert np.allclose(list(first.record.values()), sent)
                seen.add(first.id)
                if len(seen) == 8:
                    break
        version = models.wait(WAIT, 2)
        assert version.labels_bought == 8
        assert np.array_equal(version.predict_proba(x), models.predict_proba(list(map(
            lambda r: dict(zip(version.columns, r)), x))))
        assert dead_letters(p) == []


NESTED = """
pipeline: {name}
kafka: {{bootstrap.servers: "{broker}"}}
classes: ["no", "yes"]
columns: [{{name: x}}, {{name: home.city, type: categorical}}, {{name: home.geo.lat}}]
records: {{id: who.id, passthrough: [who.name], numeric_text: true}}
initial: {{file: initial.csv, label: y}}
validation: {{file: validation.csv, label: y, sensitive: [g]}}
fairness: {{metric: equalized_odds}}
selection: {{labels_per_round: 4, rounds: 1, budget: 4, window_records: 40, window_time: 2s}}
"""


def test_nested_records_and_numbers_as_texts(work, broker):
    """What Records sends is what fisd scores and asks about; predictions are the same by any shape."""
    folder, dice = work / "nested", random.Random(3)
    folder.mkdir()

    def row(i):
        x = dice.gauss(0, 1)
        return {"who.id": f"i{i}", "x": x, "home.city": dice.choice(["Ulm", "Bonn"]),
                "home.geo.lat": dice.gauss(48, 1), "y": "yes" if x > 0 else "no", "g": dice.choice("ab")}

    rows = [row(i) for i in range(800)]
    write_rows(folder / "initial.csv", [{k: v for k, v in r.items() if k != "g"} for r in rows[:200]])
    write_rows(folder / "validation.csv", rows[200:])
    (folder / "fisd.yaml").write_text(NESTED.format(name=f"nested-{os.getpid()}", broker=broker))
    daemon = Daemon(folder).start()
    try:
        p = fisd.Pipeline.load(daemon.config)
        people = [{"who": {"id": f"n{i}", "name": "N"}, "x": str(dice.gauss(0, 1)) if i % 2 else
                   dice.gauss(0, 1), "home": {"city": "Ulm", "geo": {"lat": 48 + i / 100}}}
                  for i in range(100)]
        with fisd.Models(p) as models, fisd.Records(p) as records:
            models.wait(WAIT)
            assert records.send(people) == 100
            records.flush()
            flat = [{"x": float(r["x"]), "home.city": "Ulm", "home.geo.lat": r["home"]["geo"]["lat"]}
                    for r in people]
            assert (models.predict_proba(people) == models.predict_proba(flat)).all()
            labelled = [{**r, "y": "yes", "g": "a", "who.id": "x"} for r in flat]
            assert (models.predict_proba(labelled) == models.predict_proba(flat)).all()
            with pytest.raises(fisd.RecordError, match="unknown column '[yg]'"):
                records.send(labelled)
            with pytest.raises(fisd.RecordError, match="unknown column 'home.zip'"):
                models.predict_proba({"home": {"zip": 1}})
        wait(lambda: "scored records=100 " in daemon.log() or "records=100 " in daemon.log(),
             "all are scored")
        with fisd.Requests(p, idle=WAIT) as requests:
            request = next(iter(requests))
            assert request.id[0] == "n" and request.record["home"]["city"] == "Ulm"
            assert request.record["who"]["name"] == "N"
        assert dead_letters(p) == []
    finally:
        daemon.stop()


LABELLER = """
import sys, time, fisd
p = fisd.Pipeline.load(sys.argv[1])
with fisd.Requests(p, group="killed", kafka={"session.timeout.ms": 6000}) as requests:
    for r in requests:
        requests.answer(r, "<=50K")
        print(r.id, flush=True)
        time.sleep(0.02)
"""


def test_a_labeller_that_is_killed(daemons, pool):
    """Again and again in the middle: every request is answered in the end, and none is lost."""
    daemon = daemons("killed")
    p = fisd.Pipeline.load(daemon.config)
    with fisd.Models(p) as models, fisd.Records(p) as records:
        models.wait(WAIT)
        records.send(pool[:2000])
    finished, dice = " version version=3 ", random.Random(5)
    until = time.monotonic() + 2 * WAIT
    handed = []
    while finished not in daemon.log():
        assert time.monotonic() < until
        process = subprocess.Popen([sys.executable, "-c", LABELLER, daemon.config],
                                   stdout=subprocess.PIPE, text=True)
        for _ in range(dice.randint(5, 30)):
            if finished in daemon.log():
                break
            line = process.stdout.readline()
            handed.append(line.strip())
            if len(set(handed)) == 64:
                wait(lambda: finished in daemon.log(), "the last round ends")
        process.kill()
        process.stdout.close()
        process.wait()
    assert len(set(handed)) == 64
    with pytest.raises(fisd.KafkaError, match="Unknown topic"):
        list(_kafka.read_all(p, p.topic("records") + "x", 5))


def test_which_requests_come_again(daemons, pool):
    daemon = daemons("cancelled")
    p = fisd.Pipeline.load(daemon.config)
    with fisd.Models(p) as models, fisd.Records(p) as records:
        models.wait(WAIT)
        records.send(pool[:2000])
    with fisd.Requests(p, group="watching", withdrawals=True) as requests:
        first = wait(lambda: requests.poll(0.5), "a request")
        daemon.fisctl("labels", "cancel", first.id)

        def withdrawn():
            found = requests.poll(0.5)
            return found if isinstance(found, fisd.Withdrawal) else None
        assert wait(withdrawn, "its withdrawal").reason == "cancelled"
    with fisd.Requests(p, group="watching", idle=2) as requests:
        assert first.id not in [r.id for r in requests]

    # What was handed out and not answered comes again, whatever behind it was answered.
    with fisd.Requests(p, group="lazy", idle=5) as requests:
        handed = [r for _, r in zip(range(6), requests)]
        requests.answer(handed[5], "<=50K")
    with fisd.Requests(p, group="lazy", idle=2) as requests:
        again = {r.id for r in requests}
    assert {r.id for r in handed[:5]} <= again and handed[5].id not in again


def test_a_damaged_version_is_left_out(work, broker):
    """Whole versions from others than fisd: one damaged, one whose chunks come backwards."""
    p = fisd.Pipeline(f"damaged-{os.getpid()}", broker)
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(p.topic("models"), 1, 1)])[p.topic("models")].result(30)
    producer = Producer({"bootstrap.servers": broker, "enable.idempotence": True})

    def send(version, damage=False, served=True):
        m = fis_pb2.ModelVersion(version=version, served=served, classes=["a", "b"])
        m.encoder.columns.add(name="x", type=1, scale=2, deviation=1)
        m.network.width.extend([1, 2])
        m.network.parameters.extend([0, 0, version, 0])
        payload = m.SerializeToString()
        digest = xxhash.xxh3_128_intdigest(payload) ^ damage
        for i, piece in reversed(list(enumerate((payload[:9], payload[9:])))):
            producer.produce(p.topic("models"), fis_pb2.Chunk(
                version=version, index=i, count=2, total_bytes=len(payload), data=piece,
                checksum_low=digest & (1 << 64) - 1, checksum_high=digest >> 64
            ).SerializeToString(), key=f"{version}/{i}")
        producer.flush(30)

    errors, served = [], []
    send(1)
    send(2, damage=True)
    with fisd.Models(p, on_error=errors.append, on_served=served.append, keep=3) as models:
        assert models.wait(WAIT).version == 1
        assert "checksum" in str(errors[0])
        send(3, served=False)
        send(4)
        producer.produce(p.topic("models"), b"\xff\xff")
        producer.produce(p.topic("models"), None, key="1/0")
        assert models.wait(WAIT, 4).version == 4
        assert [v.version for v in models.versions] == [1, 3, 4]
        for version in (5, 6, 7):
            send(version, served=False)
        wait(lambda: [v.version for v in models.versions] == [4, 6, 7], "three are kept")
        assert models.served.version == 4 and models.predict({"x": 1})[0] == "a"
        with pytest.raises(fisd.NotReady, match="version 4 is served"):
            models.wait(0.1, 8)
    assert [v.version for v in served] == [1, 4] and len(errors) == 2
    late = []
    with fisd.Models(p, on_served=late.append) as models:
        assert models.wait(WAIT).version == 4
    assert [v.version for v in late] == [4], "versions of before are not swapped in one by one"
    assert models.predict({"x": 1})[0] == "a", "it goes on with what it has"
