#!/usr/bin/env python3
"""Turns paper-golden.json into paper-golden.txt, which the C tests read with fscanf.

Each entry is a line "name count" and a line of numbers. The order of the cases is kept; an entry
"case <i>" with no number begins one. Gradients are reordered into the slab's order (weights, then
biases, layer by layer); the source has biases first.

    python3 tests/golden/make_golden.py
"""
import json
import pathlib

here = pathlib.Path(__file__).resolve().parent


def flat(value):
    if isinstance(value, list):
        return [x for v in value for x in flat(v)]
    return [value]


def slab(gradient, d, hidden, classes):
    sizes = [hidden, d * hidden, classes, hidden * classes]
    parts, at = [], 0
    for size in sizes:
        parts.append(gradient[at:at + size])
        at += size
    assert at == len(gradient)
    return parts[1] + parts[0] + parts[3] + parts[2]


def entries(case):
    w, val, cand = case["weights"], case["val"], case["candidates"]
    d, hidden = len(w["Dense_0.kernel"]), len(w["Dense_0.bias"])
    order = lambda g: slab(g, d, hidden, len(w["Dense_1.bias"]))
    yield "shape", [d, hidden, len(w["Dense_1.bias"])]
    yield "params", flat([w[k] for k in ("Dense_0.kernel", "Dense_0.bias", "Dense_1.kernel",
                                         "Dense_1.bias")])
    for k in ("x", "y", "group", "batches", "logits"):
        yield "val." + k, flat(val[k])
    for k in ("x", "y_true", "logits", "grad_norm"):
        yield "cand." + k, flat(cand[k])
    yield "acc.loss", flat(case["acc_loss_per_batch"])
    yield "acc.g", order(case["g_acc"])
    yield "acc.g_norm", [case["g_acc_norm"]]
    yield "acc.infl", flat(case["infl_acc"])
    yield "proxy", case["proxy_label"]
    for name, m in case["metrics"].items():
        yield name + ".phi", m["phi_per_batch"]
        yield name + ".batch_norm", m["g_fair_norm_per_batch"]
        yield name + ".g", order(m["g_fair"])
        yield name + ".g_norm", [m["g_fair_norm"]]
        yield name + ".infl", flat(m["infl_fair"])
        yield name + ".before", m["score_before_true_label_check"]
        yield name + ".after", m["score_after_true_label_check"]
        whole = m["whole_val_as_one_batch"]
        yield name + ".whole.phi", [whole["phi"]]
        yield name + ".whole.g_norm", [whole["g_fair_norm"]]
        yield name + ".whole.infl", flat(whole["infl_fair"])


def main():
    golden = json.loads((here / "paper-golden.json").read_text())
    with open(here / "paper-golden.txt", "w") as out:
        for i, case in enumerate(golden["cases"]):
            print(f"case{i} 0", file=out)
            for name, numbers in entries(case):
                print(f"{name} {len(numbers)}", file=out)
                print(" ".join(repr(x) for x in numbers), file=out)


if __name__ == "__main__":
    main()
