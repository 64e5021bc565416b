#!/usr/bin/env python3
"""Records by a schema registry, as Confluent's serializers write them: they become the candidates
that the same rows in JSON become, wait while the registry is away, and what has no schema is refused
by its id. The registry is a stand-in of its HTTP interface (schema_registry.py)."""

import base64
import json
import os
import re
import ssl
import struct
import subprocess

from certificate import self_signed
from fisd_test import (FISCTL, KAFKA, ROOT, Pipeline, Skip, csv_bytes, has, main, people, record_json, same, t_config, test,
                       wait)
from http_client import client_of
from schema_registry import SchemaRegistry

# By TLS 1.3 this refusal comes behind the handshake, and finds the connection closed now and then.
NO_CERTIFICATE = re.compile("alert certificate required|is not connected|reset by peer")
PYTHON = os.path.join(ROOT, "build/cache/serializers/bin/python")
HERE = os.path.dirname(os.path.abspath(__file__))
SECRET = "registry-Pa55word"
ROWS = list(people(60, 21))


def frame(schema_id, rest=b""):
    return b"\0" + struct.pack(">I", schema_id) + rest


def serialized(p, registry, arguments, rows):
    """The rows, framed and registered by Confluent's serializer."""
    if not os.path.exists(PYTHON):
        raise Skip("build/cache/serializers has no confluent-kafka; make deps-serializers")
    r = subprocess.run([PYTHON, os.path.join(HERE, "registry_serialize.py"), registry.url,
                        p.topic("records"), *arguments], input="\n".join(map(json.dumps, rows)),
                       capture_output=True, text=True, timeout=180)
    same(r.returncode, 0, r.stderr)
    return [base64.b64decode(line) for line in r.stdout.split()]


def config(registry, columns=None, records=None, **more):
    c = t_config(distinct=None, records={"encoding": "registry", **(records or {}),
                                         "registry": {"url": registry.url, "timeout": "1s", **more}},
                 http={"listen": "127.0.0.1:0"})
    del c["distinct"]
    c["selection"]["distinct"] = False
    if columns:
        c["columns"] = columns
    return c


def tls(p):
    """A context with a certificate of localhost, which is in the pipeline's folder, and that clients
    must have too."""
    context = self_signed(p, "registry")
    context.load_verify_locations(os.path.join(p, "registry.crt"))
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def schema(*fields):
    return {"type": "record", "name": "Person", "namespace": "org.example", "fields": list(fields)}


PERSON = schema(
    field("id", "string"), field("age", ["null", "double"]), field("hours", "float"),
    field("job", {"type": "enum", "name": "Job", "symbols": ["clerk", "driver", "nurse"]}),
    field("score", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 4}))


def avro_row(row):
    return {**{k: row[k] for k in ("id", "age", "hours", "job")},
            "score": {"$decimal": f"{row['score']:.4f}"}}


def alarms(p):
    return [a["name"] for a in client_of(p).api("alarms")["alarms"]]


@test("Avro of Confluent's serializer: the candidates are those of JSON; without a registry they wait")
def _():
    with SchemaRegistry() as registry, Pipeline(config(registry), name="avro") as p:
        p.write("person.json", json.dumps([PERSON]).encode())
        values = serialized(p, registry, [os.path.join(p.dir, "person.json")], map(avro_row, ROWS))
        same(values[0][:5], frame(1), "the frame")
        registry.mode = 500
        bad = [(b"unknown", frame(77, b"x"), ["schema id 77: schema registry localhost: not found",
                                              "40403"]),
               (b"plain", record_json(ROWS[0]), ["no frame with a schema's id"]),
               (b"cut", values[0][:-3], ["schema id 1: Avro: ", "at byte"])]
        p.produce("records", [(None, v) for v in values] + [(k, v) for k, v, _ in bad])
        p.start()
        wait(lambda: "registry_away" in alarms(p), "the alarm", alive=p.alive)
        has(p.log(), "registry host=localhost id=1", "status 500 of /schemas/ids/1")
        same(p.consume("candidates"), [], "candidates while the registry is away")
        r = p.fisctl("doctor")
        same(r.returncode, 1, "doctor's exit status")
        has(r.stdout, "fault   registry", "status 500")
        registry.mode = None
        p.wait_counts("scored", records=len(ROWS), refused=len(bad), tombstones=0)
        wait(lambda: "registry_away" not in alarms(p), "the end of the alarm", alive=p.alive)
        p.check_dead_letters("records", {len(ROWS) + i: ((k, v), parts)
                                         for i, (k, v, parts) in enumerate(bad)})
        codes = {m.key: m.headers["fis.error.code"] for m in p.consume("dead-letter")}
        same(codes, {b"unknown": "unknown_schema", b"plain": "malformed", b"cut": "malformed"})
        found = p.wait_candidates([row["id"].encode() for row in ROWS])
        for row in ROWS:
            same(json.loads(found[row["id"].encode()].record),
                 {k: row[k] for k in ("id", "age", "hours", "job", "score")}, "record")
        same([g for g in registry.gets if g == "/schemas/ids/77"], ["/schemas/ids/77"],
             "requests for the id that is unknown, after those that failed")
        # The same rows in JSON, by the same registry, have the same features and scores.
        registry.register("json", "{}", "JSON")
        p.produce("records", [(None, frame(2) + record_json({**row, "id": "j" + row["id"]}))
                              for row in ROWS])
        again = p.wait_candidates([b"j" + row["id"].encode() for row in ROWS])
        for row in ROWS:
            a, b = found[row["id"].encode()], again[b"j" + row["id"].encode()]
            same((a.vector, a.scores), (b.vector, b.scores), f"candidate {row['id']}")
        r = p.fisctl("doctor")
        has(r.stdout, f"ok      registry       localhost: subject {p.topic('records')}-value, "
            "version 1, schema id 1")
        r = p.fisctl("init", "validation.csv", "--label", "hired", "--sensitive", "group", "-b", KAFKA,
                     "--stream", p.topic("records"), "--registry", registry.url, "-o", "fresh.yaml")
        same(r.returncode, 0, r.stderr)
        with open(os.path.join(p.dir, "fresh.yaml")) as f:
            has(f.read(), "encoding: registry", f'url: "{registry.url}"')
        has(r.stdout, f"of the first {len(ROWS) * 2 + 3} records of ", ", 3 were not read")
        tap = subprocess.Popen([FISCTL, "-c", p.config_path, "tap", "--json", "--limit", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=p.dir, text=True)

        def seen():  # it begins at the topic's end
            p.produce("records", [(None, values[0])])
            return tap.poll() is not None
        wait(seen, "a record of fisctl tap", alive=p.alive)
        out, err = tap.communicate()
        same((tap.returncode, json.loads(out)["id"]), (0, ROWS[0]["id"]), err)


@test("nested, nullable, referenced, boolean and unknown fields; a sensitive one is not let through")
def _():
    columns = [{"name": "person.age"}, {"name": "hours"}, {"name": "job", "type": "categorical"},
               {"name": "score"}, {"name": "tenant", "type": "categorical"}]
    rows = [{**row, "person.age": row["age"], "tenant": "true" if i % 2 else "false"}
            for i, row in enumerate(people(400, 1))]
    validation = [{**row, "person.age": row["age"], "tenant": "true"} for row in people(400, 2)]
    names = ["id"] + [c["name"] for c in columns] + ["hired"]

    def text(rows, names):
        return "\n".join([",".join(names)] + [",".join(str(r[n]) for n in names) for r in rows]).encode()

    with SchemaRegistry() as registry, Pipeline(
            config(registry, columns, {"unknown": "pass", "ignore": ["trace"]}), name="nested",
            files={"initial.csv": text(rows, names),
                   "validation.csv": text(validation, names + ["group"])}) as p:
        registry.register("common", json.dumps(
            {"type": "record", "name": "Body", "namespace": "org.common",
             "fields": [field("age", ["null", "int"])]}))
        wide = schema(field("id", "long"), field("person", "org.common.Body"),
                      field("hours", ["null", "long"]), field("job", "string"),
                      field("score", "double"), field("tenant", "boolean"),
                      field("trace", "bytes"), field("tags", {"type": "array", "items": "string"}),
                      field("born", {"type": "int", "logicalType": "date"}),
                      field("prefs", {"type": "map", "values": "int"}))
        p.write("wide.json", json.dumps([wide, ["org.common.Body", "common", 1]]).encode())
        row = {"id": 7, "person": {"age": 41}, "hours": None, "job": "nurse", "score": 0.5,
               "tenant": True, "trace": {"$bytes": [1, 2]}, "tags": ["a", "é"],
               "born": {"$date": "1970-01-11"}, "prefs": {"x": 1}}
        values = serialized(p, registry, [os.path.join(p.dir, "wide.json")], [row])
        leak = schema(field("id", "string"), field("person", "org.common.Body"),
                      field("group", "string"))
        p.write("leak.json", json.dumps([leak, ["org.common.Body", "common", 1]]).encode())
        values += serialized(p, registry, [os.path.join(p.dir, "leak.json")],
                             [{"id": "L", "person": {"age": None}, "group": "A"}])
        p.produce("records", [(None, v) for v in values])
        p.start()
        p.wait_counts("scored", records=1, refused=1, tombstones=0)
        record = json.loads(p.wait_candidates([b"7"])[b"7"].record)
        same(record, {**{k: v for k, v in row.items() if k != "trace"}, "born": 10}, "record")
        dead = p.wait_messages("dead-letter", 1)[0]
        has(dead.reason, "unknown column 'group'")


PROTO = """syntax = "proto3";
package org.example;
message Other { string x = 1; }
message Person {
  message Body { optional double age = 1; }
  enum Job { clerk = 0; driver = 1; nurse = 2; }
  string id = 1;
  Body body = 2;
  optional float hours = 3;
  Job job = 4;
  double score = 5;  // 0 where it is not sent
  repeated string tags = 6;
  map<string, int32> prefs = 7;
}
"""


@test("protobuf of Confluent's serializer, by the text of the schema: nested, absent, repeated")
def _():
    columns = [{"name": "body.age"}, {"name": "hours"}, {"name": "job", "type": "categorical"},
               {"name": "score"}]

    def rows(n, seed):
        return [{**row, "body.age": row["age"]} for row in people(n, seed)]

    names = ["id"] + [c["name"] for c in columns] + ["hired"]
    files = {"initial.csv": csv_bytes(rows(400, 1), names),
             "validation.csv": csv_bytes(rows(400, 2), names + ["group"])}
    with SchemaRegistry(first_id=300) as registry, Pipeline(
            config(registry, columns, {"unknown": "pass", "framing": "confluent"}), name="proto",
            files=files) as p:
        path = p.write("person.proto", PROTO.encode())
        sent = [{"id": r["id"], "body": {"age": r["age"]}, "hours": r["hours"], "job": r["job"],
                 "score": r["score"], "tags": ["a", "é"], "prefs": {"k": 1}} for r in ROWS]
        sent += [{"id": "bare"}]
        values = serialized(p, registry, [path, "org.example.Person"], sent)
        assert any(a.get("schemaType") == "PROTOBUF" for a in registry.schemas.values())
        # Confluent's own serializer registers the serialized file; other writers register its text.
        for answer in registry.schemas.values():
            answer["schema"] = PROTO
            answer.pop("references", None)
        number = struct.unpack(">I", values[0][1:5])[0]
        bad = [(b"index", frame(number, b"\2\x12"), [f"schema id {number}: ", "no message"]),
               (b"cut", values[0][:-3], [f"schema id {number}: ", "truncated"])]
        p.produce("records", [(None, v) for v in values] + [(k, v) for k, v, _ in bad])
        p.start()
        p.wait_counts("scored", records=len(sent), refused=len(bad), tombstones=0)
        p.check_dead_letters("records", {len(sent) + i: ((k, v), parts)
                                         for i, (k, v, parts) in enumerate(bad)})
        found = p.wait_candidates([r["id"].encode() for r in sent])
        for r in sent[:-1]:
            same(json.loads(found[r["id"].encode()].record), r, "record")
        same(json.loads(found[b"bare"].record), {"id": "bare", "job": "clerk", "score": 0},
             "a record of defaults")


def init_by(p, registry):
    """fisctl init with the registry's login on the command line, and in a file. What it prints."""
    def init(name, *login):
        ask = ["init", "validation.csv", "--label", "hired", "--sensitive", "group", "-b", KAFKA, "--stream",
               p.topic("records"), "-o", name]
        return p.fisctl(*ask, *(a for x in login for a in ("--registry", x)))

    ca = "ca_file=registry.crt"
    own = ["tls_cert=registry.crt", "tls_key=registry.key"]
    user = ["user=fisd", "password=file:secret"]
    p.write("wrong", b"wrong")
    for login, why in (([], "certificate"), ([ca, *own, "user=fisd", "password=file:wrong"], "status 401"),
                       ([ca, *own, "user=fisd"], "no records.registry.password, allowed both"),
                       (["usr=fisd"], "'records.registry.user'?"), (["password=x"], "password=file:PATH"),
                       (["password=file:none"], "found the file 'none'"),
                       (["none.properties"], "neither http://HOST, https://HOST, NAME=VALUE nor a file")):
        r = init("refused.yaml", registry.url, *login)
        same(r.returncode, 1, f"{login}: {r.stdout}")
        has(r.stderr, why)
    has(init("refused.yaml", "https://fisd:x@localhost").stderr, "a user within the URL")
    same(os.path.exists(os.path.join(p.dir, "refused.yaml")), False, "a refused configuration")
    os.mkdir(os.path.join(p.dir, "sub"))
    p.write("sub/registry.properties", "\n".join(
        ["# a comment", f"url = {registry.url}", *(x.replace("registry.", "../registry.") for x in [ca, *own]),
         "user=fisd", "password=file:../secret"]).encode())
    out = ""
    for name, login in (("line.yaml", [registry.url, ca, *own, *user]), ("file.yaml", ["sub/registry.properties"])):
        r = init(name, *login)
        same(r.returncode, 0, r.stderr)
        has(r.stdout, "1 record of a sample")
        with open(os.path.join(p.dir, name)) as f:
            has(f.read(), f'url: "{registry.url}"', 'user: "fisd"', f'password: "file:{p.dir}/secret"',
                f'ca_file: "{p.dir}/registry.crt"', f'tls_key: "{p.dir}/registry.key"')
        out += r.stdout + r.stderr
    checked = subprocess.run([FISCTL, "-c", os.path.join(p.dir, "file.yaml"), "doctor"], capture_output=True,
                             text=True, timeout=180)
    has(checked.stdout, "ok      registry       localhost: subject")
    return out + checked.stdout


@test("over TLS with a user: nothing without certificates, nor with another password")
def _():
    with Pipeline(t_config(), name="tls") as p:
        context = tls(p.dir)
        p.write("secret", b"wrong\n")
        with SchemaRegistry("fisd", SECRET, context) as registry:
            registry.register("s", json.dumps(PERSON))
            p.config = {**config(registry, user="fisd", password="file:secret"), "pipeline": p.name}
            p.save()
            r = p.fisctl("doctor")
            has(r.stdout, "fault   registry", "certificate")
            p.config["records"]["registry"]["ca_file"] = "registry.crt"
            p.save()
            out = p.fisctl("doctor").stdout
            has(out, "fault   registry")
            assert NO_CERTIFICATE.search(out), out
            p.config["records"]["registry"].update(tls_cert="registry.crt", tls_key="registry.key")
            p.save()
            has(p.fisctl("doctor").stdout, "fault   registry", "status 401", "check user and password")
            p.write("secret", SECRET.encode())
            out = p.fisctl("doctor").stdout
            has(out, "warning registry", f"no subject {p.topic('records')}-value")
            registry.register(p.topic("records") + "-value", json.dumps(PERSON))
            has(p.fisctl("doctor").stdout, "ok      registry", "schema id 1, which can be read")
            p.produce("records", [(b"k", frame(1, b"\2x" + b"\0" + bytes(4) + b"\0" + b"\2\x01"))])
            p.start()
            p.wait_counts("scored", records=1, refused=0, tombstones=0)
            out += init_by(p, registry)
            registry.mode = "hang"
            p.produce("records", [(b"l", frame(3, b"x"))])
            p.wait_log(r"registry host=localhost id=3 .*reason=")
            same(p.stop(), 0, "a registry that hangs holds no end up")
            assert SECRET not in p.log() + out, "the password is shown"


if __name__ == "__main__":
    main()
