#!/usr/bin/env python3
"""The labelling page in a browser, by its keyboard, against the topics: two people at once, undo, skip,
votes, a restart, a lost connection, a phone. FISD_TEST_PICTURES=directory keeps pictures of it."""

import base64
import csv
import io
import json
import os
import struct
import zlib

from browser import ENTER, ESCAPE, TAB, Browser
from fisd_test import FEATURES, Pipeline, has, main, people, same, t_config, test, wait
from http_client import Client, value

TOKENS = {"ann": "token-of-ann-0123456789", "bob": "token-of-bob-0123456789",
          "Żoë": "token-of-zoe-0123456789"}
ODD = '<img src=x onerror="document.title=1">'  # an id may be anything
ROWS = [{**r, "id": ODD + r["id"]} for r in people(900, 3)]


def png(width, height):
    """A picture: a gradient."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes((x * 255 // width + y) % 256 for x in range(width))
                    for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


PICTURE = "data:image/png;base64," + base64.b64encode(png(320, 180)).decode()
SHOW = [
    {"column": "job", "name": "Occupation", "help": "as stated in the application"},
    {"column": "age", "name": "Age", "help": "years", "template": "{age} years"},
    {"column": "hours", "name": "Hours a week"},
    {"column": "scan", "name": "Photograph", "as": "image"},
    {"column": "file", "name": "File", "as": "link", "template": "https://files.example/{file}.pdf"},
    {"column": "note", "name": "Note"},
]


def config(**sections):
    return t_config(**{
        "selection": {"labels_per_round": 8, "in_flight": 8, "window_records": 200},
        "training": {"warm_up_epochs": 5, "steps_per_round": 20, "fresh_steps": 50},
        "kafka": {"session.timeout.ms": 6000}, "runtime": {"commit_interval": "50ms"},
        "records": {"passthrough": ["scan", "file", "note"]},
        "http": {"listen": "127.0.0.1:0"}, **sections,
        "labels": {"page": True, "annotators": "people", "undo": "1m", "show": SHOW,
                   **sections.get("labels", {})}})


class Desk:
    """fisd with the page, and the people at it: Client of each, and tabs of one browser."""

    def __init__(self, p, browser=None):
        self.p, self.b = p, browser
        p.write("people", "".join(f"{n}  {t}\n" for n, t in TOKENS.items()).encode())

    def start(self, **kw):
        since = len(self.p.log())
        self.p.start(**kw)
        self.address = self.p.wait_log(r" http address=(\S+) ", since).group(1)
        return self

    def feed(self, n=200, count=8):
        rows = ROWS[:n]
        odd = {"scan": PICTURE, "file": "../a b/ü", "note": ODD}
        self.p.produce("records", [(None, json.dumps({k: r[k] for k in ["id", *FEATURES]} | odd).encode())
                                   for r in rows])
        self.p.wait_messages("label-requests", count)

    def of(self, name):
        return Client(self.address, TOKENS[name])

    def next(self, name, query=""):
        answer = self.of(name).get("/api/v1/label/next" + query)
        return answer.json if answer.status == 200 else {"state": answer.status}

    def shown(self, name):
        """Until a record is shown to them; its id."""
        return wait(lambda: (self.next(name).get("request") or {}).get("id"), f"a record for {name}",
                    alive=self.p.alive)

    def post(self, name, what, **body):
        return self.of(name).ask("POST", "/api/v1/label/" + what, json.dumps(body))

    def labels(self):
        """Of the topic: (id, annotator, label or status)."""
        found = [json.loads(m.value) for m in self.p.consume("labels")]
        return [(v["id"], v["annotator"], v.get("label", v["status"])) for v in found]

    def until_labels(self, n):
        return wait(lambda: len(self.labels()) >= n and self.labels(), f"{n} labels", alive=self.p.alive)

    def undo_is(self, text):
        """labels.undo from now on, by a reload."""
        since = len(self.p.log())
        self.p.config["labels"]["undo"] = text
        self.p.save()
        self.p.signal(1)
        self.p.wait_log(r" reload .*labels.undo", since)

    # ---- the page

    def open(self, name):
        self.b.open(f"http://{self.address}/label#token={TOKENS[name]}")
        self.b.size(1280, 800)

    def title(self, prefix="Record "):
        """Until a record is shown; its id."""
        wait(lambda: self.b.seen("#record") and self.b.text("#record-title").startswith(prefix)
             and not self.b.run("return document.querySelector('#skip').disabled"),
             "a record on the page", alive=self.p.alive if self.p.process else None)
        return self.b.text("#record-title")[len(prefix):]

    def press(self, key):
        """A key, and the id of the record that comes then (None: nothing is left)."""
        before = self.title()
        self.b.press(key)
        wait(lambda: not self.b.seen("#record") or self.b.text("#record-title") != "Record " + before,
             f"what follows {key}", alive=self.p.alive)
        return self.title() if self.b.seen("#record") else None

    def says(self, css, *parts):
        wait(lambda: all(x in self.b.text(css) for x in parts), f"{css} says {parts}")

    def picture(self, name):
        to = os.environ.get("FISD_TEST_PICTURES")
        if to:
            self.b.picture(os.path.join(to, name + ".png"), whole=False)

    def no_complaints(self):
        bad = [line for line in self.b.log() if "/api/v1/" not in line]
        same(bad, [], "console")
        same(self.b.run("return document.title"), "Label records")

    def fits(self, width):
        self.b.size(width, 800, phone=True)
        wide = self.b.run("""return [...document.querySelectorAll("body *")]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".unseen, .skip"))
            .map(e => e.tagName + "#" + e.id + "." + e.className)""")
        same((self.b.run("return document.documentElement.scrollWidth"), wide), (width, []),
             f"what is wider than {width} pixels")


def not_an_answer(desk):
    """bob skips a record, sends nothing at all for it, drops a label that he had chosen, and answers it;
    each of it twice. What the topic then has of it."""
    def twice(what, *statuses, **body):
        same([desk.post("bob", what, id=i, **body).status for _ in range(2)], list(statuses), f"{what} {body}")

    i = desk.shown("bob")
    twice("answer", 409, 409)
    desk.undo_is("1m")
    twice("answer", 202, 202, label="no")
    twice("undo", 200, 404)
    desk.undo_is("0s")
    same(desk.post("bob", "answer", id=i, status="skipped").status, 202)
    wait(lambda: desk.post("bob", "answer", id=i, status="skipped").status == 200, "Kafka has the skip")
    same(desk.post("bob", "answer", id=i, label="yes").status, 202)
    wait(lambda: desk.post("bob", "answer", id=i, label="yes").status == 200, "Kafka has the answer")
    out = [(i, "bob", "skipped"), (i, "bob", "yes")]
    same([v for v in desk.labels() if v[0] == i], out, "labels on the topic")

    def memory():
        rows = csv.DictReader(io.StringIO(desk.p.fisctl("ledger", "export").stdout))
        return {r["id"]: r["class"] for r in rows if r["class"]}
    wait(lambda: i in memory(), "the answer is used")
    same(memory(), {v[0]: v[2] for v in desk.labels() if v[2] in ("no", "yes")}, "what has a class")
    return out


@test("two people by keyboard: never the same record, undo, skip and unsure, what the topic has")
def two_people():
    with Browser() as b, Pipeline(config()) as p:
        desk = Desk(p, b).start()
        desk.feed()
        first = b.this_tab()
        desk.open("ann")
        of_ann = desk.title()
        same(b.text("#question"), "hired", "the question, by the label's column")
        has(b.text("#fields"), "Occupation", "as stated in the application", "years", ODD)
        same(b.run("return [...document.querySelectorAll('#fields dt')].map(e => e.firstChild.data)"),
             [s["name"] for s in SHOW], "the order of labels.show")
        same(b.run("return document.querySelector('#fields a').href"),
             "https://files.example/..%2Fa%20b%2F%C3%BC.pdf", "what is special is escaped")
        wait(lambda: b.run("return document.querySelector('#fields img').naturalWidth"), "the image")
        same(b.run("return document.querySelectorAll('#fields img').length"), 1, "images")
        desk.picture("label-desktop")
        desk.fits(390)
        desk.picture("label-phone")
        b.size(1280, 800)
        second = b.new_tab()
        desk.open("bob")
        of_bob = desk.title()
        assert of_ann != of_bob, of_ann

        b.tab(first)
        shown = desk.press("2")
        assert shown not in (of_ann, of_bob), shown
        desk.says("#status", "yes: kept")
        same(desk.press("z"), of_ann, "undo brings it back")
        desk.says("#status", "taken back")
        same(desk.press("1"), shown, "and then what there was")
        desk.press("s")
        same(desk.labels(), [], "nothing is sent while it can be taken back")
        desk.undo_is("0s")
        third = desk.title()
        fourth = desk.press("u")
        b.tab(second)
        same(desk.title(), of_bob, "of bob, who did nothing")
        b.run("document.querySelector('[data-class=\"1\"]').focus()")
        same(b.focused(), "BUTTON", "the focus")
        desk.press(ENTER)
        got = desk.until_labels(2)
        same(sorted(got), sorted([(third, "ann", "unsure"), (of_bob, "bob", "yes")]))
        b.tab(first)
        same(desk.title(), fourth)
        has(b.text("#progress"), "3 done today")
        got += not_an_answer(desk)
        desk.no_complaints()
        p.signal(15)  # what is held goes out before the end
        same(p.ended(), 0)
        same(sorted(desk.labels()), sorted(got + [(of_ann, "ann", "no"), (shown, "ann", "skipped")]))
        log = p.log()
        assert not any(t in log for t in TOKENS.values()), "a token is in the log"


@test("three votes: three people, none of them twice, and nobody else's record in a lease")
def votes():
    with Pipeline(config(labels={"votes": 3, "undo": "0s"}, selection={"labels_per_round": 2, "in_flight": 2, "window_records": 200})) as p:
        desk = Desk(p).start()
        desk.feed(count=2)
        anyone = Client(desk.address)
        has(anyone.get("/label").headers["Content-Security-Policy"], "img-src 'self' data: http: https:;")
        assert "http:" not in anyone.get("/").headers["Content-Security-Policy"]
        for headers in ({}, {"Authorization": "Bearer token-of-ann-012345678"}, {"X-Annotator": "ann"}):
            same(anyone.ask("GET", "/api/v1/label/next", headers=headers).status, 401, f"{headers}")
        a = desk.shown("ann")
        same([desk.shown("bob"), desk.shown("Żoë")], [a, a], "a place for each of three people")
        same(desk.post("ann", "answer", id=a, label="yes").status, 202)
        b = desk.shown("ann")
        assert a != b, "ann is shown it again"
        same(desk.post("bob", "answer", id=a, label="no").status, 202)
        same(desk.post("ann", "answer", id=a, label="no").status, 409, "a label is not taken back")
        wait(lambda: desk.post("ann", "answer", id=a, label="yes").status == 200, "Kafka has it")
        # Nothing here is an answer, and never class 0.
        for expected, bodies in (
                (400, ({"id": b, "label": None}, {"id": b, "label": ["yes"]}, {"id": b, "label": True},
                       {"label": "yes"}, [], "x")),
                (409, ({"id": b}, {"id": b, "label": ""}, {"id": b, "label": "YES"}, {"id": b, "class_index": 2},
                       {"id": b, "label": "yes", "status": "skipped"}, {"id": b, "label": "n\0o"}))):
            for body in bodies:
                status = desk.of("ann").ask("POST", "/api/v1/label/answer", json.dumps(body)).status
                same(status, expected, f"{body}")
        same(desk.post("ann", "answer", id="nobody asked", label="yes").status, 404)
        same(desk.post("Żoë", "answer", id=a, label="yes").status, 202)
        same(sorted(desk.until_labels(3)), sorted([(a, "ann", "yes"), (a, "bob", "no"), (a, "Żoë", "yes")]))
        p.wait_log(r"labels=1 ")
        for name in ("ann", "bob", "Żoë"):
            same(desk.shown(name), b)
            desk.post(name, "answer", id=b, status="skipped")
        wait(lambda: desk.next("ann")["state"] == "empty", "both are over")
        same([l[2] for l in desk.until_labels(6)[3:]], ["skipped"] * 3)
        alpha = desk.next("ann")["agreement"]
        same((alpha["records"], round(alpha["alpha"], 9), alpha["own"]), (1, 0.0, 0.5))
        wait(lambda: anyone.api("agreement")["records"] == 1, "the trainer has them too")
        r = p.fisctl("labels", "status", "--json")
        same(r.returncode, 0, r.stderr)
        there = json.loads(r.stdout)["agreement"]
        same(there, anyone.api("agreement"), "fisctl and the API")
        same([(a["annotator"], a["answers"], a["share"]) for a in there["annotators"]],
             [("ann", 1, 0.5), ("bob", 1, 0), ("Żoë", 1, 0.5)])
        same(value(anyone.metrics(), "fisd_agreement_alpha"), 0)
        has(p.fisctl("labels", "status").stdout, "alpha 0.00, on 1 record", "bob: 1 answer")


@test("kill -9: what was acknowledged is there, what was not the page sends again; the connection is lost")
def killed():
    with Browser() as b, Pipeline(config(labels={"undo": "1m"})) as p:
        desk = Desk(p, b).start()
        desk.feed()
        desk.open("ann")
        first = desk.title()
        second = desk.press("2")  # held for a minute: nobody has it but the page and this process
        p.kill()
        b.press("1")
        desk.says("#trouble", "connection is lost", "2 answers are kept here")
        desk.picture("label-lost")
        same(desk.labels(), [])
        p.config["labels"]["undo"] = "0s"
        p.config["http"]["listen"] = desk.address
        p.save()
        desk.start(ready=r" http address")
        got = desk.until_labels(2)
        same(sorted(got), sorted([(first, "ann", "yes"), (second, "ann", "no")]))
        wait(lambda: b.run("return localStorage.getItem('fisd-label-answers:ann')") == "[]",
             "what is acknowledged is not kept")
        third = desk.title()
        assert third not in (first, second), "an answered record is shown again"
        wait(lambda: not b.seen("#trouble"), "the trouble is over")
        p.kill()
        desk.start(ready=r" http address")
        wait(lambda: desk.next("ann")["state"] == "task", "a record")
        same(desk.next("ann")["progress"]["done"], 2, "answers that are read again")
        same(desk.post("ann", "answer", id=first, label="yes").status, 200, "a repetition")
        same(len(desk.labels()), 2)


@test("nothing to label: the page says why, and goes on by itself; a scorer alone serves it by name")
def nothing():
    with Browser() as b, Pipeline(config(labels={"question": "Would <b>you</b> hire them?"},
                                         selection={"labels_per_round": 8, "window_records": 150})) as p:
        del p.config["labels"]["annotators"]
        p.save()
        trainer = p.start()
        p.fisctl("labels", "pause", "--reason", "lunch")
        scorer = p.node("scorer", "scorer").start(ready=r"labelling|started")
        address = scorer.wait_log(r" http address=(\S+) ").group(1)
        b.size(390, 800, phone=True)
        b.open(f"http://{address}/label")
        wait(lambda: b.seen("#login"), "who labels?")
        b.type("#login-text", "Ada L\u00fc" + ENTER)
        desk = Desk(p, b)
        desk.says("#waiting-text", "Why: paused")
        desk.picture("label-empty-phone")
        desk.fits(390)
        b.size(1280, 800)
        p.fisctl("labels", "resume")
        desk.feed()
        record = desk.title()
        same(b.focused(), "record-title", "where a screen reader begins")
        same(b.text("#question"), "Would <b>you</b> hire them?")
        b.press("z")
        desk.says("#status", "There is no answer to take back")
        b.press("?")
        wait(lambda: b.run("return document.querySelector('#help').open"), "the help")
        b.press("2")
        desk.picture("label-help")
        same(desk.title(), record, "a key is not an answer while the help is open")
        b.press(ESCAPE)
        order = []
        for _ in range(6):
            b.press(TAB)
            order.append(b.run("return document.activeElement.innerText.trim()"))
        has(" ".join(order), "no", "yes", "Skip", "Unsure")
        names = b.run("""return [...document.querySelectorAll("button")].filter(e => e.getClientRects().length)
            .map(e => e.innerText.trim() || e.getAttribute("aria-label"))""")
        assert all(names), names
        b.open(f"http://{address}/")
        wait(lambda: b.seen("#label-page"), "a link from the dashboard")
        trainer.alive()
        same(Client(address).get("/api/v1/label/next").status, 403)
        same(Client(address).ask("POST", "/api/v1/label/answer", json.dumps({"id": record, "label": "no"})).status,
             403, "without a header that only the page can set")


if __name__ == "__main__":
    main()
