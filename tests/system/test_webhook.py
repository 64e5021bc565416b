#!/usr/bin/env python3
"""The webhook, against a real HTTP server that fails, hangs and redirects: each published version
arrives, in order and signed, across a kill; nothing goes where a redirect leads."""

import hashlib
import hmac
import http.server
import json
import os
import threading

from certificate import self_signed
from fisd_test import Pipeline, has, main, people, record_json, same, t_config, test, wait

SECRET = "a secret of the webhook's tests"
ROWS = list(people(20000, 3))
TRUTH = {row["id"]: row["hired"] for row in ROWS}


class Receiver(http.server.ThreadingHTTPServer):
    """Answers each delivery as `plan` says (the last entry for ever): a status, "hang", or
    ("to", url). `got` is what came, with its outcome."""
    daemon_threads = True

    def __init__(self, plan, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan, self.got, self.free = list(plan), [], threading.Event()
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' if context else ''}://localhost:{self.server_port}/hooks/not-for-logs"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        pass  # a client that hangs up

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free.set()
        self.shutdown()
        self.server_close()

    def versions(self, outcome=200):
        return [json.loads(body)["version"] for what, _, body in list(self.got) if what == outcome]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        s = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        what = s.plan.pop(0) if len(s.plan) > 1 else s.plan[0]
        s.got.append((what, dict(self.headers), body))
        if what == "hang":
            s.free.wait(60)
            return
        self.send_response(307 if isinstance(what, tuple) else what)
        if isinstance(what, tuple):
            self.send_header("Location", what[1])
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        pass


def config(receiver, **more):
    return t_config(selection={"labels_per_round": 24, "window_records": 300},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    gate={"replace": "always", "epsilon": 0.2},
                    webhook={"url": receiver.url, "secret": "${HOOK}", "timeout": "1s", **more})


def published(p):
    r = p.fisctl("models", "list", "--json")
    same(r.returncode, 0, r.stderr)
    return [v for v in map(json.loads, r.stdout.splitlines()) if v["served"]]


def until(p, n):
    """Records and answers, until so many versions are published; p is what leads."""
    def enough():
        asked = {m.key for m in p.consume("label-requests")} - {m.key for m in p.consume("labels")}
        p.produce("labels", [(k, json.dumps({"label": TRUTH[k.decode()]}).encode()) for k in asked])
        if not asked:
            p.produce("records", [(None, record_json(ROWS.pop())) for _ in range(200)])
        return len(published(p)) >= n
    wait(enough, f"{n} published versions", alive=p.alive)


def arrived(p, r):
    def all_there():
        return set(v["version"] for v in published(p)) <= set(r.versions())
    wait(all_there, "all published versions", alive=p.alive)


@test("fails, hangs, redirects, is killed: every published version arrives, in order and signed")
def _():
    os.environ["HOOK"] = SECRET
    with Receiver([200]) as elsewhere, Receiver([500]) as r:
        with Pipeline(config(r), name="hook") as p:
            p.start()
            wait(lambda: len(r.got) >= 2, "a second attempt", alive=p.alive)
            p.kill()
            r.plan = [503, "hang", ("to", elsewhere.url), 200]
            p.start(ready=" restored ")
            wait(lambda: r.versions() == [1], "version 1", alive=p.alive)
            until(p, 3)
            arrived(p, r)
            same(elsewhere.got, [], "what a redirect led to")
            seen = r.versions()
            same(seen, sorted(seen), "order")
            listed = {v["version"]: v for v in published(p)}
            for what, headers, body in r.got:
                sign = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
                same(headers["X-Fisd-Signature"], "sha256=" + sign, "signature")
                v = json.loads(body)
                same(headers["X-Fisd-Delivery"], f"{p.name}/{v['version']}")
                of = listed[v["version"]]
                same((v["event"], v["pipeline"], v["metric"]),
                     ("version_published", p.name, "equalized_odds"))
                for key, value in (("accuracy", of["metrics"]["accuracy"]),
                                   ("violation", of["metrics"]["equalized_odds"])):
                    assert abs(v[key] - value) < 1e-6, (key, v, value)
            has(p.log(), "status 503, 2xx expected", "status 307: redirects are not followed",
                "webhook version=1 delivered=yes", "host=localhost")
            for hidden in (SECRET, "not-for-logs"):
                assert hidden not in p.log(), f"{hidden} in the log"
            same(p.stop(), 0)
            before = r.versions()
            p.start(ready=" restored ")
            n = len(published(p))
            until(p, n + 1)
            arrived(p, r)
            again = set(r.versions()[len(before):]) & set(before)
            same(again, set(), "delivered again after a stop in good order")


@test("of two trainers the one that leads delivers; a takeover goes on where it was")
def _():
    os.environ["HOOK"] = SECRET
    with Receiver([200]) as r:
        with Pipeline(config(r), name="hook") as p:
            p.start()
            wait(lambda: r.versions() == [1], "version 1", alive=p.alive)
            other = p.node("other", "trainer")
            other.start(ready="ready to lead")
            until(p, 2)
            arrived(p, r)
            assert "delivered=" not in other.log(), "a standby has delivered"
            before = len(published(p))
            scorer = p.node("scorer", "scorer").start(ready=" assigned ")
            same(p.stop(), 0)
            other.wait_log(" takeover ")
            p.alive = scorer.alive
            until(p, before + 1)
            arrived(p, r)
            seen = r.versions()
            same(seen, sorted(set(seen)), "each once, in order")
            has(other.log(), "delivered=yes")


@test("a certificate that does not verify is no delivery; webhook.ca_file makes it one")
def _():
    os.environ["HOOK"] = SECRET
    with Pipeline(t_config(), name="hook") as p:
        with Receiver([200], self_signed(p.dir, "hook")) as r:
            p.config = {**config(r), "pipeline": p.name}
            p.save()
            p.start()
            p.wait_log(r"webhook version=1 delivered=no .*certificate")
            same(r.got, [], "what came")
            same(p.stop(), 0)
            p.config = {**config(r, ca_file="hook.crt"), "pipeline": p.name}
            p.save()
            p.start(ready=" restored ")
            wait(lambda: r.versions() == [1], "version 1", alive=p.alive)


if __name__ == "__main__":
    main()
