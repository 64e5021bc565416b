"""contrib/examples/embeddings as its README has it: real text, a real model, a pipeline of 384 numbers."""

import csv
import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest

import fisd
from conftest import ROOT, WAIT, Daemon, wait

SCRIPT = ROOT / "contrib/examples/embeddings/embed.py"

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def embed():
    spec = importlib.util.spec_from_file_location("embed", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(embed, work, broker):
    """What `prepare` writes, but for a name of the pipeline that no other run has."""
    made = work / "embeddings"
    try:
        embed.fetch(made)
    except subprocess.CalledProcessError as e:
        pytest.skip(f"the model or the data cannot be fetched: {e}")
    subprocess.run([sys.executable, SCRIPT, "prepare", made, broker], check=True, timeout=600)
    config = made / "fisd.yaml"
    config.write_text(config.read_text().replace("pipeline: cases", f"pipeline: {work.name}-cases"))
    return made


@pytest.fixture(scope="module")
def model(embed, folder):
    return embed.MiniLM(folder)


def test_the_model_is_that_of_its_authors(model):
    """The cosines that the documentation of sentence-transformers prints for all-MiniLM-L6-v2."""
    x = model(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    assert x.shape == (3, 384) and x.dtype == np.float32
    assert np.allclose(x @ x.T, [[1, .6660, .1046], [.6660, 1, .1411], [.1046, .1411, 1]], atol=1e-3)
    alone = model(["He drove to the stadium."])
    assert np.allclose(alone[0], x[2], atol=1e-5), "what stands beside a text does not change it"


def rows(path):
    with open(path, newline="") as f:
        return {r["id"]: r for r in csv.DictReader(f)}


def test_texts_become_requests_and_their_answers_a_version(model, folder):
    stream, answers = rows(folder / "stream.csv"), rows(folder / "answers.csv")
    files = {name: rows(folder / f"{name}.csv") for name in ("initial", "validation")}
    assert {name: len(f) for name, f in files.items()} == {"initial": 300, "validation": 2500}
    assert stream.keys() == answers.keys() and len(stream) == 7214 - 2800
    assert ["race" in next(iter(f.values())) for f in files.values()] == [False, True]
    daemon = Daemon(folder).start()
    pipeline = fisd.Pipeline.load(daemon.config)
    try:
        with fisd.Models(pipeline) as models:
            first = models.wait(WAIT)
            assert len(first.columns) == 384
            assert .62 < first.metrics["accuracy"] < .71, "a coin has .55, the README .664"
        subprocess.run([sys.executable, SCRIPT, "send", folder], check=True, timeout=600)
        with fisd.Requests(pipeline, group="looks on", idle=WAIT) as requests:
            request = next(iter(requests))
        text = stream[request.id]["text"]
        assert dict(request.attributes) == {"text": text}
        assert re.search(r"(felony|misdemeanor), at the age of \d+, after \d+ earlier charges$", text)
        record = [request.record[f"f{i}"] for i in range(384)]
        assert np.allclose(record, model([text])[0], atol=1e-5), "the record is the text's embedding"
        daemon.fisctl("label", "--answers", str(folder / "answers.csv"), "--limit", "128")
        wait(lambda: re.search(r" version=2 ", daemon.log()), "128 answers are a second version's")
    finally:
        daemon.stop()
