#!/usr/bin/env python3
"""The rules and the dashboard for Prometheus and Grafana: promtool accepts and tests them, and a
running fisd serves every metric and label that they name. Alarms, from a real broker to the rules'
metrics."""

import json
import os
import re
import shutil
import signal
import tempfile

import promtool
from fisd_test import (FEATURES, ROOT, Pipeline, csv_bytes, has, main, people, record_json, same, t_config,
                       test, wait)
from http_client import client_of, value

RULES = os.path.join(ROOT, "config/prometheus/fisd.rules.yml")
GRAFANA = os.path.join(ROOT, "config/grafana/fisd.json")
NOT_OURS = {"up"}


def rules_text():
    with open(RULES) as f:
        return f.read()


def dashboard():
    with open(GRAFANA) as f:
        return json.load(f)


def expressions():
    """Of the rules and of the dashboard: (where, PromQL)."""
    out, lines = [], rules_text().split("\n")
    for i, line in enumerate(lines):
        m = re.match(r"( +)expr: (.*)", line)
        if not m:
            continue
        text = m.group(2)
        if text == "|":
            more = []
            for after in lines[i + 1:]:
                if len(after) - len(after.lstrip()) <= len(m.group(1)):
                    break
                more.append(after.strip())
            text = " ".join(more)
        out.append((f"{RULES}:{i + 1}", text))
    page = dashboard()
    for panel in page["panels"]:
        out += [(f"panel {panel['title']}", t["expr"]) for t in panel.get("targets", [])]
    out += [(f"annotation {a['name']}", a["expr"]) for a in page["annotations"]["list"]]
    return out


_NAME = re.compile(r"\b((?:fisd|process)_[a-z0-9_]+|up)\b(?:\{([^}]*)\})?")
_PAIR = re.compile(r'([a-z]+)="([^"]*)"')


def expected():
    """Every (metric, labels with their values) that is looked at, with where."""
    found = []
    for where, text in expressions():
        for name, labels in _NAME.findall(text):
            found.append((where, name, dict(_PAIR.findall(labels))))
    return found


def missing(metrics):
    out = []
    for where, name, labels in expected():
        if name not in NOT_OURS and not any(
                n == name and labels.items() <= dict(pairs).items() for n, pairs in metrics):
            out.append(f"{where}: {name} {labels}")
    return out


@test("promtool accepts configuration and rules, and every alert has a test that passes")
def _():
    where = os.path.dirname(RULES)
    for what, file in (("rules", "fisd.rules.yml"), ("config", "prometheus.yml")):
        status, text = promtool.run("check", what, os.path.join(where, file))
        same(status, 0, text)
    tests = os.path.join(ROOT, "tests/prometheus")
    status, text = promtool.run("test", "rules", "fisd.test.yml", cwd=tests)
    same(status, 0, text)
    with open(os.path.join(tests, "fisd.test.yml")) as f:
        tested = set(re.findall(r"alertname: (\w+)", f.read()))
    same(set(re.findall(r"- alert: (\w+)", rules_text())), tested)


@test("promtool's tests can fail: with another limit they do")
def _():
    with tempfile.TemporaryDirectory() as d:
        os.makedirs(f"{d}/config/prometheus")
        shutil.copytree(os.path.join(ROOT, "tests/prometheus"), f"{d}/tests/prometheus")
        with open(f"{d}/config/prometheus/fisd.rules.yml", "w") as f:
            f.write(rules_text().replace("fisd_versions_rejected_in_row >= 5",
                                         "fisd_versions_rejected_in_row >= 4"))
        status, text = promtool.run("test", "rules", "fisd.test.yml", cwd=f"{d}/tests/prometheus")
        assert status != 0, text
        has(text, "FisdGateRejecting")


@test("the Grafana dashboard is whole")
def _():
    page = dashboard()
    ids = [p["id"] for p in page["panels"]]
    same(len(ids), len(set(ids)), "ids of panels")
    taken = set()
    for p in page["panels"]:
        g = p["gridPos"]
        assert g["x"] + g["w"] <= 24, p["title"]
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"])
                 for y in range(g["y"], g["y"] + g["h"])}
        assert not cells & taken, f"{p['title']} lies on another"
        taken |= cells
        assert p["type"] == "row" or p["targets"], p["title"]
    same([v["name"] for v in page["templating"]["list"]], ["datasource", "job"])


def config():
    return t_config(http={"listen": "127.0.0.1:0"},
                    fairness={"metric": "equalized_odds", "target": 0.000001},
                    selection={"labels_per_round": 16, "window_records": 800, "budget": 17,
                               "daily_budget": 16},
                    privacy={"noise": 8, "key": "a-key-of-thirty-two-letters-or-more"},
                    alarms={"rejected": 1, "dead_letters": 0.001},
                    scorer={"batch": 32})  # of which all rows are counted for drift


@test("a running fisd serves every metric that rules and dashboard name; alarms go out and come back")
def _():
    validation = [{**r, "job": "pilot"} if i == 7 else r for i, r in enumerate(people(400, 2))]
    files = {"initial.csv": csv_bytes(people(400, 1), ["id", *FEATURES, "hired"]),
             "validation.csv": csv_bytes(validation, ["id", *FEATURES, "hired", "group"])}
    with Pipeline(config(), files=files) as p:
        p.start()
        c = client_of(p)
        rows = list(people(2600, 3))
        truth = {r["id"].encode(): r["hired"].encode() for r in rows}
        # As the initial set, and then of other people: all are twenty years older.
        p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                              for r in rows[:600]])
        p.wait_counts("scored", records=600)
        first = wait(lambda: next((d for d in [c.api("drift")] if d["columns"]), None), "drift")
        assert first["initial_rows"] > 0
        assert all(col["index"] < 0.1 for col in first["columns"]), first
        same([a["name"] for a in c.api("alarms")["alarms"] if a["name"] == "drift"], [])
        for r in rows[600:]:
            r["age"] += 20
        p.produce("records", [(r["id"].encode(), record_json(r, with_id=False))
                              for r in rows[600:]] + [(b"bad", b"{")] * 30)
        drifted = wait(lambda: next((d for d in [c.api("drift")] if d["columns"] and
                                     d["columns"][0]["index"] > 0.25), None), "drift of age")
        same(drifted["columns"][0]["column"], "age")
        same(drifted["columns_above"], 1)
        ids = [m.key for m in p.wait_messages("label-requests", 16)]
        p.produce("labels", [(k, b'{"label": "%s"}' % truth[k]) for k in ids])
        p.wait_log(r" version version=2 ")
        try:
            wait(lambda: not missing(c.metrics()), "all metrics")
        except AssertionError:
            raise AssertionError("not served:\n" + "\n".join(missing(c.metrics()))) from None
        m = c.metrics()
        assert value(m, "fisd_drift_index", column="age") > 0.25
        assert value(m, "fisd_drift_index", column="job") < 0.1
        # Alarms: unfair (the target is next to nothing), little budget, dead letters.
        raised = wait(lambda: {a["name"]: a for a in c.api("alarms")["alarms"]}
                      if {"unfair", "budget_low", "daily_budget_low", "dead_letters"} <=
                      {a["name"] for a in c.api("alarms")["alarms"]} else None, "alarms")
        same(raised["unfair"]["severity"], "critical")
        same(c.api("alarms")["alarms"][0]["severity"], "critical", "critical ones first")
        has(raised["unfair"]["text"], "equalized_odds", "fairness.target")
        m = c.metrics()
        same(value(m, "fisd_alarm", name="unfair", severity="critical"), 1)
        same(value(m, "fisd_alarm", name="broker_away", severity="critical"), 0)
        p.wait_log(r" alarm name=unfair state=raised ")
        # A target that is met, by SIGHUP: it goes, after a while.
        p.config["fairness"]["target"] = 0.9
        p.save()
        p.signal(signal.SIGHUP)
        p.wait_log(r" reload .*fairness.target")
        p.wait_log(r" alarm name=unfair state=over ", timeout=360)
        same(p.stop(), 0)


main()
