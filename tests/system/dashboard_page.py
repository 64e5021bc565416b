"""The dashboard as its tests see it, in a browser, with a pipeline behind it."""

import json
import os
import urllib.request

from fisd_test import has, people, record_json, same, t_config, wait

TOKEN = "a token of twenty-odd characters"
ODD = '<img src=x onerror="document.title=1">'  # an id may be anything
ROWS = [{**r, "id": ODD + r["id"]} for r in people(9000, 3)]
TRUTH = {r["id"]: r["hired"] for r in ROWS}


def config(**sections):
    return t_config(**{
        "selection": {"labels_per_round": 24, "window_records": 300},
        "training": {"warm_up_epochs": 5, "steps_per_round": 60},
        "gate": {"replace": "always", "epsilon": 0.2}, "kafka": {"session.timeout.ms": 6000},
        "runtime": {"commit_interval": "50ms"}, "http": {"token_file": "http.token"}, **sections})


class Page:
    """fisd, its API, and a browser that looks at it."""

    def __init__(self, p, browser):
        self.p, self.b, self.sent, self.answered = p, browser, 0, set()

    def start(self, node=None, **kw):
        """The page of the pipeline's process, or of one of its nodes."""
        p = node or self.p
        self.p.write("http.token", TOKEN.replace(" ", "-").encode() + b"\n")
        since = len(p.log())
        p.start(**kw)
        self.url = "http://" + p.wait_log(r" http address=(\S+) ", since).group(1)
        self.b.size(1280, 900)
        self.b.open(self.url)
        return self

    def api(self, path):
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", timeout=180) as r:
            return json.load(r)

    def until(self, condition, what):
        try:
            return wait(condition, what, alive=self.p.alive if self.p.process else None)
        except AssertionError as e:
            raise AssertionError(f"{e}; the page ({self.level()}) says: {self.b.text('#headline')} "
                                 f"{self.b.text('#alarms')} {self.b.log()}") from None

    def headline(self, *parts):
        """Until the first line of the headline has all these parts."""
        def shown():
            text = self.b.text("#headline")
            return all(x in text for x in parts)
        self.until(shown, f"headline {parts}")

    def level(self):
        return self.b.run("return document.querySelector('#headline')?.dataset.level")

    def picture(self, name, whole=True):
        to = os.environ.get("FISD_TEST_PICTURES")
        if to:
            self.b.picture(os.path.join(to, name + ".png"), whole)

    # ---- work for fisd

    def feed(self, n=300):
        rows = ROWS[self.sent:self.sent + n]
        self.p.produce("records", [(None, record_json(r)) for r in rows])
        self.sent += n

    def answer(self):
        asked = [m.key.decode() for m in self.p.consume("label-requests")]
        fresh = [i for i in asked if i in TRUTH and i not in self.answered]
        if fresh:
            self.p.produce("labels", [(i.encode(), json.dumps({"label": TRUTH[i]}).encode())
                                      for i in fresh])
            self.answered.update(fresh)

    def until_versions(self, n):
        def there():
            self.answer()
            if len(self.api("versions")["versions"]) >= n:
                return True
            if not self.api("requests")["open"]:
                self.feed(150)
            return False
        self.until(there, f"{n} versions")

    def until_window(self):
        """Nothing is requested, and the window holds some records."""
        def there():
            self.answer()
            t = self.api("status")["trainer"]["leading"]
            idle = not self.api("requests")["open"] and t["records"] >= self.sent
            if idle and not t["window"] and t["job"] == "none":
                self.feed(150)
            return idle and t["window"]
        self.until(there, "a window that is not full")

    # ---- checks

    def unfold(self, on=True):
        self.b.run("document.querySelectorAll('details').forEach(d => { d.open = arguments[0]; })", on)

    def screens(self):
        """At most three screens of a desktop, six of a phone; nothing is unfolded."""
        for width, height, most in ((1280, 800, 3), (390, 844, 6)):
            self.b.size(width, height, phone=width < 700)
            turns = self.b.run("return Number(document.body.dataset.turns)")
            self.until(lambda: self.b.run("return Number(document.body.dataset.turns)") > turns + 1, "turns")
            self.until(lambda: self.b.run("""const c = window.Chart.getChart("p-accuracy");
                return !c || c.width <= document.querySelector("#p-accuracy").parentNode.clientWidth"""),
                       "plots of this width")
            found = self.b.run("return document.documentElement.scrollHeight") / height
            print(f"# {found:.2f} screens of {width}x{height}", flush=True)
            assert found <= most, f"{found:.2f} screens of {width}x{height}"
        self.b.size(1280, 900)

    def no_complaints(self):
        """Neither an error of the scripts nor a refusal of the security policy."""
        bad = [line for line in self.b.log() if "/api/v1/" not in line]
        same(bad, [], "console")
        same(self.b.run("""return performance.getEntriesByType("resource").map(e => e.name)
            .filter(n => !n.startsWith(location.origin) && !n.startsWith("data:"))"""), [],
             "what was fetched from elsewhere")

    def fits(self, width):
        """Charts follow the window a moment later."""
        self.b.size(width, 740, phone=True)

        def found():
            wide = self.b.run("""return [...document.querySelectorAll("body *")]
                .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll"))
                .map(e => e.tagName + "#" + e.id + "." + e.className)""")
            return self.b.run("return document.documentElement.scrollWidth"), wide
        try:
            self.until(lambda: found() == (width, []), f"nothing wider than {width} pixels")
        except AssertionError:
            same(found(), (width, []), f"what is wider than {width} pixels")


def rate(x):
    return "n/e" if x is None else f"{x:.3f}"


def first_line(cell):
    return cell.split("\n")[0]
