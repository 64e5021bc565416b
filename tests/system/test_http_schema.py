#!/usr/bin/env python3
"""The API against its contract: schemathesis makes requests from config/openapi.yaml, good and bad
ones, and holds every answer to it. Fetched by pip, once, into build/cache."""

import fcntl
import json
import os
import subprocess
import sys

from fisd_test import ROOT, Pipeline, main, people, record_json, same, t_config, test, wait
from http_client import TOKEN, client_of

VERSION = "4.32.5"
TREE = os.path.join(ROOT, "build/cache/schemathesis-" + VERSION)
EXAMPLES, SEED = os.environ.get("EXAMPLES", "8"), os.environ.get("SEED", "1")


def schemathesis():
    """Its command, and the environment that it needs."""
    os.makedirs(os.path.dirname(TREE), exist_ok=True)
    done = os.path.join(TREE, "done")
    with open(TREE + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(done):
            subprocess.run([sys.executable, "-m", "pip", "-q", "install", "--upgrade",
                            "--disable-pip-version-check", "--target", TREE,
                            "schemathesis==" + VERSION], check=True, timeout=400)
            with open(done, "w") as f:
                f.write(VERSION)
    return [sys.executable, os.path.join(TREE, "bin/st")], {**os.environ, "PYTHONPATH": TREE}


# 503 is an answer of the contract: a broker may be away for a moment, whatever the machine does.
CHECKS = b'[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", "503"]\n'


def what_failed(output):
    """From the first failure on: CI shows the first lines of what went wrong."""
    at = [i for i in map(output.find, ("= FAILURES", "= ERRORS")) if i >= 0]
    lines = output[min(at):].splitlines()[1:] if at else output.splitlines()[-20:]
    return "; ".join(line.strip() for line in lines if line.strip())[:6000]


@test("schemathesis finds nothing between the API and its contract")
def _():
    program, environment = schemathesis()
    config = t_config(http={"listen": "127.0.0.1:0", "token_file": "token"},
                      labels={"page": True, "annotators": "people", "undo": "0s"},
                      selection={"labels_per_round": 16, "window_records": 200})
    with Pipeline(config) as p:
        p.write("schemathesis.toml", CHECKS)
        p.write("token", TOKEN.encode())
        p.write("people", b"somebody " + TOKEN.encode())
        p.start()
        c = client_of(p, TOKEN)
        wait(lambda: c.get("/readyz").status == 200, "ready")
        rows = list(people(200, 3))
        p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in rows])
        p.wait_messages("label-requests", 16)
        r = subprocess.run(
            [*program, "run", f"http://{c.address}/api/v1/openapi.yaml", "-H",
             "Authorization: Bearer " + TOKEN, "--suppress-health-check", "too_slow", "--max-examples", EXAMPLES, "--phases",
             "examples,coverage,fuzzing", "--seed", SEED, "--request-timeout", "15", "--no-color"],
            capture_output=True, text=True, timeout=240, cwd=p.dir,
            env=environment)
        p.alive()
        assert r.returncode == 0, what_failed(r.stdout) + r.stderr[-2000:]
        same(c.get("/healthz").status, 200)
        status = c.ask("POST", "/api/v1/resume", json.dumps({})).status
        same(status, 202)


if __name__ == "__main__":
    main()
