#!/usr/bin/env python3
"""Metrics, health and API of fisd, on a real broker: what is shown is what the topics have."""

import json
import os
import re
import signal
import socket
import subprocess

import promtool
from certificate import self_signed
from fisd_test import (FEATURES, FISD, Pipeline, candidates_of, fields, has, main, people, proto,
                       record_json, same, t_config, test, wait)
from http_client import TOKEN, client_of, trust, value


# An Offer of one candidate with the id "x", a record in JSON and one feature.
ONE_WIDE = b"\x0a\x09\x0a\x01x\x28\x01\x12\x02\x08\x01"


def varied(candidate, encoding, record):
    """An Offer of this candidate with another record."""
    others = [f for f in fields(candidate) if f[0] not in (5, 6)]
    return proto((1, proto(*others, (5, encoding), (6, record))))


def http_config(http=None, **sections):
    return t_config(http={"listen": "127.0.0.1:0", "token_file": "token", **(http or {})},
                    **sections)


def pipeline(config=None, **more):
    p = Pipeline(config or http_config(), **more)
    p.write("token", (TOKEN + "\n").encode())
    return p


def stream(p, n, seed=3):
    rows = list(people(n, seed))
    p.produce("records", [(r["id"].encode(), record_json(r, with_id=False)) for r in rows])
    return {r["id"].encode(): r["hired"].encode() for r in rows}


def answer(p, truth, ids):
    p.produce("labels", [(k, b'{"label": "%s"}' % truth[k]) for k in ids])


def check_models(p, c, version):
    """ONNX and card by HTTP are those of fisctl."""
    r = p.fisctl("models", "export", str(version), "--onnx", "--output", "one.onnx")
    same(r.returncode, 0, r.stderr)
    a = c.get(f"/api/v1/models/{version}.onnx")
    same((a.status, a.headers["Content-Type"]), (200, "application/octet-stream"))
    with open(os.path.join(p.dir, "one.onnx"), "rb") as f:
        same(a.body == f.read(), True, "the bytes of the ONNX")
    card = c.get(f"/api/v1/models/{version}/card.md")
    same(card.headers["Content-Type"], "text/markdown; charset=utf-8")
    same(card.text, p.fisctl("models", "card", str(version)).stdout)
    same(c.api(f"models/{version}/card"),
         json.loads(p.fisctl("models", "card", str(version), "--json").stdout))
    served = c.api("versions")["served"]
    same(c.api("models/served/card")["version"], served)
    same(c.get(f"/api/v1/models/{served}.onnx").body == c.get("/api/v1/models/served.onnx").body, True)
    for path in ("99.onnx", "2", "x.onnx", "2.txt", "0.onnx", ""):
        same(c.get("/api/v1/models/" + path).status, 404, path)


def ready(c):
    return wait(lambda: c.get("/readyz").status == 200, "ready")


@test("metrics, versions and status agree with the topics over a round")
def _():
    config = http_config(selection={"labels_per_round": 16, "window_records": 400, "budget": 40})
    with pipeline(config) as p:
        p.start()
        c = client_of(p, TOKEN)
        ready(c)
        p.produce("records", [(b"bad", b"{")])
        truth = stream(p, 400)
        ids = [m.key for m in p.wait_messages("label-requests", 16)]
        m = c.metrics()
        same(value(m, "fisd_records_total", outcome="scored"), 400)
        same(value(m, "fisd_records_total", outcome="refused"), 1)
        same(value(m, "fisd_dead_letters_total", topic=p.topic("records"), reason="malformed"), 1)
        offers = [c for m in p.consume("candidates") for c in candidates_of(m.value)]
        same(value(m, "fisd_candidates_offered_total"), len(offers))
        same(value(m, "fisd_candidates_total"), len(offers))
        same(value(m, "fisd_label_requests_open"), 16)
        same(value(m, "fisd_budget_left_labels"), 24)
        same(value(m, "fisd_phase", phase="label"), 1)
        same(value(m, "fisd_trainer_leads"), 1)
        same(value(m, "fisd_ready"), 1)
        same(value(m, "fisd_lag_messages", role="scorer", topic=p.topic("records"), partition="0"),
             0)
        same(value(m, "fisd_batch_records_sum"), 401)
        same(value(m, "fisd_record_latency_seconds_count"), 401)
        held = c.api("candidates")
        same(len({r["id"] for r in held["candidates"]}), value(m, "fisd_candidates_held"))
        same(held["held"], value(m, "fisd_candidates_held"))
        shown = [r["id"].encode() for r in c.api("requests")["requests"]]
        same(sorted(shown), sorted(ids), "open requests")
        assert not set(shown) & {r["id"].encode() for r in held["candidates"]}
        # One of several in a message is of another width: it is a dead letter, and the others count.
        offer = next(m.value for m in p.consume("candidates") if list(candidates_of(m.value)))
        p.produce("candidates", [(None, ONE_WIDE + offer)])
        wait(lambda: value(c.metrics(), "fisd_dead_letters_total", topic=p.topic("candidates"),
                           reason="wrong_width") == 1, "the dead letter")
        same(value(c.metrics(), "fisd_candidates_total"),
             len(offers) + len(list(candidates_of(offer))))
        letter = p.wait_messages("dead-letter", 2)[-1]
        same(letter.value, ONE_WIDE + offer)
        has(letter.reason, "candidate has 1 feature,")
        # So are those whose record nobody could be asked about: too short, or not what it says.
        body = fields(offer)[0][1]
        bad = [(3, b"\1\2\3", "3 bytes"), (1, b"[1]", "an object expected"),
               (2, b"\x12\x03abc", "not a multiple of 4")]
        p.produce("candidates", [(None, varied(body, *what)) for *what, _ in bad])
        for letter, (_, _, reason) in zip(p.wait_messages("dead-letter", 5)[2:], bad):
            has(letter.reason, reason)
        answer(p, truth, ids)
        p.produce("labels", [(b"nobody", b'{"label": "yes"}')])
        p.wait_log(r" version version=2 ")
        p.wait_log(r" label_refused ")
        versions = c.api("versions")
        line = p.log_fields("version")
        same([v["version"] for v in versions["versions"]], [1, 2])
        two = versions["versions"][1]
        same((two["verdict"], two["reason"]), (line["verdict"], line["reason"]))
        same(f'{two["metrics"]["accuracy"]:.4f}', line["accuracy"])
        same(f'{two["metrics"]["equalized_odds"]:.4f}', line["equalized_odds"])
        same(two, c.api("versions/2"))
        same(versions["served"], int(line["served"]))
        m = c.metrics()
        same(value(m, "fisd_labels_total", outcome="taken"), 16)
        same(value(m, "fisd_labels_total", outcome="refused"), 1)
        same(value(m, "fisd_versions_total", verdict="publish", reason="first"), 1)
        same(value(m, "fisd_versions_total", verdict=two["verdict"], reason=two["reason"]), 1)
        same(value(m, "fisd_version", which="newest"), 2)
        served = c.api(f"versions/{versions['served']}")
        same(round(value(m, "fisd_accuracy_ratio", model="served"), 6),
             round(served["metrics"]["accuracy"], 6))
        same([g["group"] for g in served["metrics"]["groups"]], ["0", "1"], "names are not shown")
        assert served["intervals"]["accuracy"]["low"] <= served["accuracy"]
        check_models(p, c, 2)
        status = c.api("status")
        same(status["trainer"]["leading"]["labels"]["taken"], 16)
        same(status["served"]["version"], versions["served"])
        same(sum(c.api("throughput")["records"]), 400)
        wait(lambda: {"records", "input", "outbox"} <= {k["client"] for k in
                                                         c.api("kafka")["clients"]}, "statistics")
        # After a restart the versions are those of the topic.
        since = len(p.log())
        same(p.stop(), 0)
        p.start(ready=r" restored ")
        c = client_of(p, TOKEN, since)
        ready(c)
        same([v["version"] for v in c.api("versions")["versions"]], [1, 2])
        same(c.api("versions/2"), two)
        check_models(p, c, 2)
        same(round(1000 * value(c.metrics(), "fisd_restore_seconds")),
             int(p.log_fields("restored")["took_ms"]), "ms of restoring")


def codes(p, topic):
    """key -> code of the dead letters of a topic."""
    return {m.key: m.headers["fis.error.code"] for m in p.consume("dead-letter")
            if m.headers["fis.error.topic"] == p.topic(topic)}


@test("dead letters are counted by why they were refused, and carry it")
def _():
    config = http_config(selection={"labels_per_round": 16, "window_records": 200, "budget": 40})
    good = next(people(1, 8))

    def changed(**columns):
        return record_json({**good, **columns}, [*FEATURES, *(columns.keys() - good.keys())], False)
    with pipeline(config) as p:
        p.start()
        c = client_of(p, TOKEN)
        ready(c)
        truth = stream(p, 200)
        asked = p.wait_messages("label-requests", 16)[0].key
        records = {b"malformed": b"{", b"wrong_type": changed(age="old"),
                   b"unknown_column": changed(wage=1), b"not_finite": changed(age=1e39),
                   b"too_long": b" " * (1 << 20) + b"{}", b"\xff": changed()}
        p.produce("records", list(records.items()))
        other = b"no" if truth[asked] == b"yes" else b"yes"
        p.produce("labels", [(asked, b'{"label": "%s"}' % truth[asked]), (asked, None),
                             (b"nobody", b'{"label": "yes"}'), (b"x", b'{"label": "maybe"}'),
                             (asked, b'{"label": "%s"}' % other), (None, b'{"label": "yes"}')])
        p.produce("control", [(b"c", b"\x08\x07")])
        expected = {"records": {k: "bad_id" if k == b"\xff" else k.decode() for k in records},
                  "control": {b"c": "bad_field"}}
        p.wait_counts("scored", refused=len(records))
        p.wait_messages("dead-letter", len(records) + 5 + 1)
        same({t: codes(p, t) for t in expected}, expected)
        same(sorted(m.headers["fis.error.code"] for m in p.consume("dead-letter")
                    if m.headers["fis.error.topic"] == p.topic("labels")),
             ["bad_id", "contradiction", "no_value", "not_asked", "unknown_class"])
        m = c.metrics()
        for m_ in p.consume("dead-letter"):
            labels = {"topic": m_.headers["fis.error.topic"], "reason": m_.headers["fis.error.code"]}
            same(value(m, "fisd_dead_letters_total", **labels), 1, str(labels))
            has(json.dumps(c.api("status")["dead_letters"]), json.dumps({**labels, "count": 1}))
        same(sum(v for k, v in m.items() if k[0] == "fisd_dead_letters_total"), len(records) + 6)
        reference = subprocess.run([FISD, "--print-dead-letters"], capture_output=True, text=True,
                                   timeout=180).stdout
        for name, labels in m:
            if name == "fisd_dead_letters_total":
                has(reference, f"| `{dict(labels)['reason']}` |")


@test("promtool accepts the metrics, each of which is in the reference")
def _():
    reference = subprocess.run([FISD, "--print-metrics"], capture_output=True,
                               text=True, timeout=180)
    same(reference.returncode, 0, reference.stderr)
    with pipeline() as p:
        p.start()
        c = client_of(p)
        ready(c)
        text = c.get("/metrics").text
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                has(reference.stdout, f"`{line.split(' ')[2]}`")
        same(promtool.run("check", "metrics", text=text), (0, ""), "promtool check metrics")


@test("health before there is a broker: it lives, it is not ready, and says why")
def _():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # bound and not listened to
        config = http_config()
        config["kafka"] = {"bootstrap.servers": f"127.0.0.1:{s.getsockname()[1]}"}
        with pipeline(config, topics=False) as p:
            p.start(ready=r" http ")
            c = client_of(p)
            same((c.get("/healthz").status, c.get("/healthz").text), (200, "ok\n"))
            a = c.get("/readyz")
            same(a.status, 503)
            has(a.text, "no broker has answered yet")
            wait(lambda: "no broker answers" in c.get("/readyz").text, "the trouble in words")
            same(value(c.metrics(), "fisd_ready"), 0)
            same(c.api("status")["ready"], False)
            a = c.ask("POST", "/api/v1/pause", headers={"Authorization": "Bearer " + TOKEN})
            same(a.status, 503)
            p.process.send_signal(signal.SIGTERM)
            p.ended()


@test("each role says what it waits for: a scorer for a head, a spare one for partitions, a standby")
def _():
    with pipeline() as p:
        one, two = p.node("s1", "scorer"), p.node("s2", "scorer")
        one.start(ready=r" assigned role=scorer")
        a = client_of(one)
        has(a.get("/readyz").text, "no head")
        p.config["roles"] = ["trainer"]
        p.save()
        p.start()
        ready(client_of(p))
        ready(a)
        two.start(ready=r" started ")
        b = client_of(two)

        def one_is_spare():
            found = [c.get("/readyz") for c in (a, b)]
            return any("no partition" in x.text for x in found) and any(x.status == 200
                                                                        for x in found)
        wait(one_is_spare, "one partition, two scorers: one of them is not ready")
        other = p.node("t2", "trainer")
        other.start(ready=r" standby ")
        s = client_of(other)
        ready(s)
        m = s.metrics()
        same((value(m, "fisd_trainer_leads"), value(m, "fisd_trainer_state", state="standby")),
             (0, 1))
        assert not any(k[0] == "fisd_round" for k in m), "figures of one who does not lead"
        same([v["version"] for v in s.api("versions")["versions"]], [1], "a standby knows versions")
        # Commands that are given where nobody leads: a standby reads what the leader did.
        s, a = client_of(other, TOKEN), client_of(one, TOKEN)
        same(s.command("pause")["outcome"], "done")
        same(client_of(p).api("status")["trainer"]["leading"]["paused"], True)
        refused = s.command("promote", version=99)
        same((refused["outcome"], "99" in refused["text"]), ("refused", True))
        given = [s.ask("POST", f"/api/v1/{x}", "{}").json["command"] for x in ("resume", "pause")]
        wait(lambda: s.api(f"commands/{given[1]}")["outcome"] == "done", "the last one")
        has(" done taken ", f' {s.api(f"commands/{given[0]}")["outcome"]} ')
        # A scorer reads nothing, and names who does.
        k = a.ask("POST", "/api/v1/resume", "{}").json["command"]
        wait(lambda: a.api(f"commands/{k}")["outcome"] == "sent", "on the topic")
        has(a.api(f"commands/{k}")["text"], "last_command", "reports the outcome")

        def last_command():
            x = client_of(p).api("status")["trainer"]["leading"]["last_command"]
            return x if x["command"] == k else None
        last = wait(last_command, "the leader's word on it")
        same((last["ok"], last["text"]), (True, "not paused"))


@test("commands by HTTP: they need the token, are on the topic, and what becomes of them is reported")
def _():
    with pipeline(http_config(http={"group_names": True})) as p:
        p.start()
        c = client_of(p, TOKEN)
        ready(c)
        for token, status in ((None, 401), ("x" * 20, 401), (TOKEN, 202)):
            a = type(c)(c.address, token).ask("POST", "/api/v1/pin", "{}")
            same(a.status, status)
            assert TOKEN not in a.text
        same(c.api("models/served/card")["card"]["groups"], ["A", "B"], "which may be shown here")
        has(c.get("/api/v1/models/served/card.md").text, "| A | ", "| B | ")
        for body in ("[]", "{", '{"by": 1}', '{"by": ""}', '{"what": 1}', '{"version": 2}'):
            same(c.ask("POST", "/api/v1/pause", body).status, 400, body)
        for body in ('{"by": "a\\u0000b"}', '{"reason": "' + 101 * "x" + '"}'):
            has(c.ask("POST", "/api/v1/pause", body).text, "1 to 100 characters")
        for body, status in ((127 * "é", 202), (128 * "é", 404), ("", 400), ("a\0b", 404)):
            same(c.ask("POST", "/api/v1/cancel", json.dumps({"id": body})).status, status, body)
        for body in ("", '{"version": 0}', '{"version": "2"}', '{"version": 1.5}'):
            same(c.ask("POST", "/api/v1/promote", body).status, 400, body)
        same(c.ask("POST", "/api/v1/pause", "x" * 5000).status, 413)
        done = c.command("pause", by="a person", reason="lunch")
        same((done["outcome"], done["by"]), ("done", "a person"))
        same(c.api("status")["trainer"]["leading"]["paused"], True)
        same(value(c.metrics(), "fisd_paused"), 1)
        refused = c.command("promote", version=99)
        same(refused["outcome"], "refused")
        has(refused["text"], "99")
        same(c.command("resume")["outcome"], "done")
        same([x["kind"] for x in c.api("commands")["commands"]],
             ["resume", "promote", "pause", "cancel", "pin"])
        same(len(p.consume("control")), 5)
        same(c.get("/api/v1/commands/none").status, 404)
        for path in ("/label", "/api/v1/label/next"):
            same(c.get(path).status, 404, f"{path}: labels.page is off")
        # Of several in quick succession the last one's outcome is reported, and all are in the log.
        burst = [c.ask("POST", f"/api/v1/{x}", "{}").json["command"]
                 for x in ("pause", "pin", "resume", "unpin", "pause", "resume")]
        wait(lambda: c.api(f"commands/{burst[-1]}")["outcome"] == "done", "the last one")
        for k in burst:
            line = p.wait_log(rf" control command=\w+ ok=(\d) id={re.escape(k)} text=\"")
            reported = c.api(f"commands/{k}")
            if reported["outcome"] == "taken":
                has(reported["text"], f"control with id={k}")
            else:
                same((reported["outcome"], line[1]), ("done", "1"))
        has(json.dumps(c.api("groups")), '"group": "A"', '"group": "B"')
        assert TOKEN not in p.log()


@test("SIGHUP reads the token again; one that is no token changes nothing")
def _():
    with pipeline() as p:
        p.start()
        c = client_of(p)

        def status(token):
            return type(c)(c.address, token).ask("POST", "/api/v1/resume").status
        same(status(TOKEN), 202)
        p.write("token", b"short")
        p.process.send_signal(signal.SIGHUP)
        p.wait_log(r"error http text=\"the token stays as it was\"")
        same(status(TOKEN), 202)
        since = len(p.log())
        p.write("token", b"another-token-of-the-tests")
        p.process.send_signal(signal.SIGHUP)
        reported = p.wait_log(r" reload .*", since)[0]
        has(reported, "the token in the file of http.token_file has changed, and is in force")
        assert TOKEN not in p.log() and "another-token-of" not in p.log()
        since = len(p.log())
        p.process.send_signal(signal.SIGHUP)
        has(p.wait_log(r" reload .*", since)[0], "nothing differs")
        wait(lambda: status("another-token-of-the-tests") == 202, "the new token")
        same(status(TOKEN), 401)


@test("TLS, and reads that need the token")
def _():
    config = http_config(http={"tls_cert": "page.crt", "tls_key": "page.key", "protect": "all"})
    with pipeline(config) as p:
        self_signed(p.dir, "page", "IP:127.0.0.1")
        p.start()
        context = trust(os.path.join(p.dir, "page.crt"))
        c, anyone = client_of(p, TOKEN, 0, context), client_of(p, None, 0, context)
        ready(anyone)
        same(anyone.get("/metrics").status, 401)
        same(anyone.get("/api/v1/status").status, 401)
        same(anyone.get("/api/v1/openapi.yaml").status, 200)
        assert c.metrics()
        same(c.api("status")["pipeline"], p.name)
        with socket.create_connection(tuple(c.address.split(":")), 10) as s:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b"200" not in s.recv(100), "plain HTTP on a TLS port"


@test("what cannot be listened to, or with, ends the start and says why")
def _():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        taken = f"127.0.0.1:{s.getsockname()[1]}"
        with pipeline(http_config(http={"listen": taken}), topics=False) as p:
            p.start(ready=None)
            same(p.ended(), 1)
            has(p.log(), taken, "in use")


def refused(p, key, words):
    """By a check and by a start, which end with 2 and tell the key's place; the token is not shown."""
    text = open(p.config_path).read().splitlines()
    quoted = f'"{key.split(".", 1)[1]}": '
    line = next(i for i, t in enumerate(text, 1) if quoted in t)
    column = text[line - 1].index(": ") + 3
    for option in "--check-config", "--config":
        r = subprocess.run([FISD, option, p.config_path], capture_output=True, text=True,
                           timeout=180, cwd=p.dir)
        same(r.returncode, 2, r.stdout)
        has(r.stderr, f"{p.config_path[-60:]}:{line}:{column}: key '{key}': ", *words)
        assert TOKEN not in r.stderr + r.stdout


@test("what is wrong in the configuration is found by the check, with its place; a start ends with 2")
def _():
    for http, key, words in (
            ({"listen": "127.0.0.1:99999"}, "listen", ["127.0.0.1:99999", "a port to 65535"]),
            ({"token_file": "nowhere"}, "token_file", ["nowhere' (No such file"]),
            ({"token_file": "fisd.yaml"}, "token_file", ["allowed 16 to 4096"]),
            ({"token_file": "credential:token"}, "token_file", ["$CREDENTIALS_DIRECTORY"]),
            ({"tls_cert": "token", "tls_key": "token"}, "tls_cert", ["cannot be used", "PEM"])):
        with pipeline(http_config(http=http), topics=False) as p:
            refused(p, f"http.{key}", words)
            if key != "listen":  # who only reads the same file is not stopped by it
                assert "http." not in p.fisctl("topics", "check").stderr


@test("so is what librdkafka does not take, with its place")
def _():
    for name, value, words in (("no.such.property", "1", ["not known to librdkafka"]),
                               ("session.timeout.ms", "abc", ["session.timeout.ms", "Invalid"])):
        with pipeline(http_config(kafka={name: value}), topics=False) as p:
            refused(p, f"kafka.{name}", words)


@test("statistics that come all the time, to the very end")
def _():
    with pipeline(http_config(kafka={"statistics.interval.ms": "1"})) as p:
        for _ in range(2):
            since = len(p.log())
            p.start(ready=r" assigned role=trainer ")
            c = client_of(p, None, since)
            wait(lambda: len(c.api("kafka")["clients"]) >= 5, "statistics of five clients")
            same(p.stop(), 0, "exit status")


@test("two of them on one machine find their places by themselves")
def _():
    config = t_config()
    with Pipeline(config, topics=False) as a, Pipeline(config, topics=False) as b:
        a.start(ready=r" http ")
        b.start(ready=r" http ")
        ports = {client_of(x).address for x in (a, b)}
        same(len(ports), 2)
        for address in ports:
            assert 9464 <= int(address.split(":")[1]) < 9484, address
        for x in (a, b):
            x.process.send_signal(signal.SIGTERM)
            x.ended()


if __name__ == "__main__":
    main()
