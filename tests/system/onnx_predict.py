"""Run by the Python that has onnx and onnxruntime (make deps-test): checks a model, and predicts the
rows of a CSV file with it, as a program would that knows nothing of fisd.

    onnx_predict.py MODEL.onnx ROWS.csv      prints {"inputs", "outputs", "metadata", "classes",
                                             "probabilities"} as JSON
"""

import csv
import json
import sys

import numpy
import onnx
import onnxruntime


def inputs_of(session, rows):
    out = {}
    for i in session.get_inputs():
        if i.name == "features" and i.type == "tensor(float)":
            names = [f"f{k}" for k in range(i.shape[1])]
            out[i.name] = numpy.array([[float(r[n] or "nan") for n in names] for r in rows],
                                      dtype=numpy.float32)
            continue
        if i.name == "image":
            values = numpy.array([[float(r[f"f{k}"]) for k in range(numpy.prod(i.shape[1:]))]
                                  for r in rows])
            pixels = numpy.rint((values + 1) * 127.5).astype(numpy.uint8)
            out[i.name] = pixels.reshape(-1, *i.shape[1:]).astype(numpy.float32)
            continue
        cells = [r[i.name] for r in rows]
        if i.type == "tensor(string)":
            values = numpy.array(cells, dtype=object)
        else:
            assert i.type == "tensor(double)", i.type
            values = numpy.array([float(c) if c else numpy.nan for c in cells])
        out[i.name] = values.reshape(-1, 1)
    return out


def main():
    model, path = sys.argv[1:]
    onnx.checker.check_model(onnx.load(model), full_check=True)
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    classes, probabilities = session.run(names, inputs_of(session, rows))
    json.dump({"inputs": {i.name: i.type for i in session.get_inputs()}, "outputs": names,
               "metadata": session.get_modelmeta().custom_metadata_map,
               "classes": classes.tolist(), "probabilities": probabilities.tolist()}, sys.stdout)


main()
