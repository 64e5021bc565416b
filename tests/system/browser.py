"""A headless Chromium, driven by chromedriver over the WebDriver protocol; no packages needed."""

import base64
import json
import os
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request

from fisd_process import wait

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    """with Browser() as b: b.open(url); b.run("return document.title")"""

    def __enter__(self):
        self.port, self.session = _free_port(), None
        self.profile = tempfile.TemporaryDirectory(prefix="browser.", ignore_cleanup_errors=True,
                                                   dir=os.environ.get("FISD_TEST_DIR"))
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait(self._ready, "chromedriver", 30)
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
                         f"--user-data-dir={self.profile.name}"]
            made = self._call("POST", "", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": {"args": arguments},
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = made["sessionId"]
            self.media()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.session:
            self._call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def _ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/status", timeout=180) as r:
                return json.load(r)["value"]["ready"]
        except OSError:
            return False

    def _call(self, method, path, body=None):
        base = f"http://127.0.0.1:{self.port}/session" + (f"/{self.session}" if self.session else "")
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as r:
                return json.load(r)["value"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"browser: {json.load(e)['value']['message']}") from None

    def open(self, url):
        self._call("POST", "/url", {"url": url})

    def new_tab(self):
        """Another tab, which is driven from now on; its handle for tab()."""
        handle = self._call("POST", "/window/new", {"type": "tab"})["handle"]
        self.tab(handle)
        return handle

    def this_tab(self):
        return self._call("GET", "/window")

    def tab(self, handle):
        self._call("POST", "/window", {"handle": handle})

    def run(self, script, *arguments):
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self):
        """What the console printed since the last time: errors and refusals of the security policy."""
        return [f"{line['level']}: {line['message']}"
                for line in self._call("POST", "/se/log", {"type": "browser"})]

    # ---- looking -------------------------------------------------------------------------------

    def text(self, css):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", css)

    def seen(self, css):
        """Whether it is there and has a place on the page."""
        return self.run("return !!document.querySelector(arguments[0])?.getClientRects().length", css)

    def rows(self, css):
        """The rows of a table's body: texts of their cells."""
        return self.run("""return [...document.querySelectorAll(arguments[0] + ' tbody tr')]
            .map(r => [...r.cells].map(c => c.innerText.trim()))""", css)

    def size(self, width, height, phone=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=phone)

    def media(self, **features):
        """prefers_color_scheme="dark" and the like. Without motion: what is clicked stands still."""
        features = {"prefers_reduced_motion": "reduce", **features}
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def picture(self, path, whole=True):
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    # ---- acting --------------------------------------------------------------------------------

    def _element(self, css):
        return self._call("POST", "/element", {"using": "css selector", "value": css})[_ELEMENT]

    def click(self, css):
        self._call("POST", f"/element/{self._element(css)}/click")

    def type(self, css, text):
        self._call("POST", f"/element/{self._element(css)}/value", {"text": text})

    def press(self, key):
        """One key, to whatever has the focus."""
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def focused(self):
        return self.run("const e = document.activeElement; return e.id || e.dataset.key || "
                        "e.getAttribute('href') || e.getAttribute('aria-label') || e.tagName")
