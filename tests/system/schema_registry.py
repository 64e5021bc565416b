"""A stand-in for a schema registry's HTTP interface, as Confluent documents it: subjects, versions,
ids and references, basic authentication and TLS. `mode` says how it fails: None, a status, "hang",
"malformed"."""

import base64
import http.server
import json
import threading
import urllib.parse

TYPE = "application/vnd.schemaregistry.v1+json"


class SchemaRegistry(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, user=None, password=None, context=None, first_id=1):
        super().__init__(("127.0.0.1", 0), Handler)
        self.schemas, self.subjects = {}, {}  # id -> answer; subject -> [id, …]
        self.next_id, self.mode, self.gets, self.free = first_id, None, [], threading.Event()
        self.lock = threading.Lock()
        pair = f"{user}:{password}".encode()
        self.required = "Basic " + base64.b64encode(pair).decode() if user else None
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' if context else ''}://localhost:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        pass  # a client that hangs up, or does not trust us

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free.set()
        self.shutdown()
        self.server_close()

    def register(self, subject, schema, kind="AVRO", references=()):
        """The id; the same schema has one id under all subjects."""
        answer = {"schema": schema, "references": list(references)}
        if kind != "AVRO":  # which goes without saying
            answer["schemaType"] = kind
        if not references:
            del answer["references"]
        with self.lock:
            known = [i for i, a in self.schemas.items() if a == answer]
            i = known[0] if known else self.next_id
            self.next_id += not known
            self.schemas[i] = answer
            versions = self.subjects.setdefault(subject, [])
            if i not in versions:
                versions.append(i)
        return i

    def version(self, subject, version):
        ids = self.subjects[subject]
        number = len(ids) if version in ("latest", "-1") else int(version)
        return {"subject": subject, "version": number, "id": ids[number - 1],
                **self.schemas[ids[number - 1]]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", TYPE)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def fails(self):
        s = self.server
        if s.required and self.headers.get("Authorization") != s.required:
            self.answer(401, {"error_code": 401, "message": "Unauthorized"})
        elif s.mode == "hang":
            s.free.wait(60)
        elif s.mode == "malformed":
            self.answer(200, b'{"schema": "{\\"type\\"')
        elif s.mode:
            self.answer(s.mode, {"error_code": 50001, "message": "Error in the backend"})
        else:
            return False
        return True

    def do_GET(self):
        s = self.server
        path = urllib.parse.urlsplit(self.path).path
        parts = [urllib.parse.unquote(p) for p in path.strip("/").split("/")]
        s.gets.append(path)
        if self.fails():
            return
        try:
            if parts[:2] == ["schemas", "ids"]:
                self.answer(200, s.schemas[int(parts[2])])
            elif parts[0] == "subjects" and parts[2] == "versions":
                self.answer(200, s.version(parts[1], parts[3]))
            else:
                self.answer(404, {"error_code": 404, "message": "HTTP 404 Not Found"})
        except KeyError:
            code = 40403 if parts[0] == "schemas" else 40401
            self.answer(404, {"error_code": code, "message": "not found"})

    def do_POST(self):
        s = self.server
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.fails():
            return
        parts = [urllib.parse.unquote(p) for p in urllib.parse.urlsplit(self.path).path.strip("/").split("/")]
        i = s.register(parts[1], asked["schema"], asked.get("schemaType", "AVRO"),
                       asked.get("references") or ())
        self.answer(200, {"id": i} if parts[2:] == ["versions"] else
                    {**s.version(parts[1], s.subjects[parts[1]].index(i) + 1), "id": i})

    def log_message(self, *_):
        pass
