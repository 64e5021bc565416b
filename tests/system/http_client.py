"""A client for fisd's HTTP: pages, JSON, metrics, commands."""

import http.client
import json
import re
import ssl

from fisd_process import wait

TOKEN = "a-token-of-the-tests-0123456789"


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.text)


class Client:
    def __init__(self, address, token=None, context=None):
        self.address, self.token, self.context = address, token, context

    def ask(self, method, path, body=None, headers=None):
        kind = http.client.HTTPSConnection if self.context else http.client.HTTPConnection
        more = {"context": self.context} if self.context else {}
        connection = kind(self.address, timeout=180, **more)
        headers = dict(headers or {})
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", path)

    def api(self, path):
        answer = self.get("/api/v1/" + path)
        assert answer.status == 200, f"{path}: {answer.status} {answer.text}"
        return answer.json

    def command(self, name, **body):
        """Gives one and waits for what becomes of it."""
        answer = self.ask("POST", "/api/v1/" + name, json.dumps(body))
        assert answer.status == 202, f"{name}: {answer.status} {answer.text}"
        one = "commands/" + answer.json["command"]
        wait(lambda: self.api(one)["outcome"] in ("done", "refused", "lost"), f"{name} is taken")
        return self.api(one)

    def metrics(self):
        """(name, {label: value}) -> number, after a look at the form of the text."""
        answer = self.get("/metrics")
        assert answer.status == 200, answer.text
        return parse_metrics(answer.text)


_SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|[+-]Inf|NaN)\Z')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|\Z)')


def parse_metrics(text):
    assert text.endswith("\n"), "the last line has no end"
    found, types, helped = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split(" ", 3)[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types, f"{name} has two types"
            assert name in helped, f"{name} has no help"
            types[name] = kind
        else:
            m = _SAMPLE.match(line)
            assert m, f"not a sample: {line!r}"
            name, labels, value = m.groups()
            pairs, rest = _LABEL.findall(labels or ""), _LABEL.sub("", labels or "")
            assert not rest, f"labels of {line!r}"
            base = re.sub(r"_(bucket|sum|count)\Z", "", name)
            assert name in types or types.get(base) == "histogram", f"{name} has no type"
            key = (name, tuple(sorted(pairs)))
            assert key not in found, f"twice: {line!r}"
            found[key] = float(value)
    for name, kind in types.items():
        assert (kind == "counter") == name.endswith("_total"), f"{name} is a {kind}"
    return found


def value(metrics, metric, **labels):
    key = (metric, tuple(sorted(labels.items())))
    assert key in metrics, f"{key} is not among {sorted(k for k in metrics if k[0] == metric)}"
    return metrics[key]


def client_of(process, token=None, since=0, context=None):
    """Of a fisd that has started: the log says where it listens."""
    m = process.wait_log(r" http address=(\S+) ", since)
    return Client(m.group(1), token, context)


def trust(certificate):
    return ssl.create_default_context(cafile=certificate)
