#!/usr/bin/env python3
"""docs/tutorial.md as it is written: its blocks of commands in one shell, what they print beside what
the document shows, and in between a person on the labelling page, in a browser, by the keys that it
names."""

import os
import re
import socket
import subprocess
import tempfile
import time

from browser import ENTER, Browser
from fisd_test import FISD, KAFKA, ROOT, Skip, has, main, same, test, wait

WHEELS = os.path.join(ROOT, "build/cache/wheels")
STEP = re.compile(r"^```(\w*)\n(.*?)^```$|^\d\. (Open .*?)\n\n", re.M | re.S)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def steps(text):
    """(kind, text, heading): sh, text (what the block before it prints) and person, in their order."""
    found = [(m[1] if m[1] is not None else "person", m[2] or m[3],
              re.findall(r"^#+ (.*)$", text[:m.start()], re.M)[-1]) for m in STEP.finditer(text)]
    same(text.count("\n```"), 2 * sum(kind != "person" for kind, _, _ in found), "fences")
    same({kind for kind, _, _ in found}, {"sh", "text", "person"})
    return found


def printed(shown):
    """The expression for what a block shows: … is anything, on a line of its own any lines."""
    return "".join("(?:.*\n)*?" if line == "…" else
                   ".*".join(re.escape(part) for part in line.split("…")) + "\n"
                   for line in shown.splitlines())


class Reader:
    """Somebody with the document, an empty folder and a shell."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0
        # The system's pip, from files that were fetched before: no test waits for a network.
        env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": WHEELS, "PIP_NO_COMPILE": "1",
               "PIP_DISABLE_PIP_VERSION_CHECK": "1", "TERM": "dumb"}
        self.shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, cwd=folder, env=env, text=True,
                                      start_new_session=True)

    def run(self, commands):
        """A block; what it prints."""
        self.number += 1
        base = os.path.join(self.folder, f".block{self.number}")
        with open(base, "w") as f:
            f.write("set -e -o pipefail\n" + commands)
        self.shell.stdin.write(f". {base} < /dev/null > {base}.out 2>&1\necho $? > {base}.done\n")
        self.shell.stdin.flush()

        def over():
            return self.shell.poll() is not None or os.path.exists(base + ".done")
        wait(over, f"the end of: {commands}", 600)
        with open(base + ".out") as f:
            out = f.read()
        same(self.shell.poll(), None, f"{commands}\nfailed: {out}\nthe shell's status")
        return out

    def label(self, text, browser):
        """As a person: a name, and a key for each record."""
        url = re.search(r"<(http\S+)>", text)[1]
        keys = [k.lower() for k in re.findall(r"<kbd>(\w)</kbd>", text)][:3]
        browser.open(url)
        wait(lambda: browser.seen("#login"), "the question for a name")
        browser.type("#login-text", "Ann" + ENTER)
        for key in keys:
            def shown():
                title = browser.seen("#record") and browser.text("#record-title")
                return title if title and title != self.before else None
            self.before = wait(shown, "a record")
            has(browser.text("#fields"), "Credit limit", "Taiwan dollars")
            browser.press(key)

    before = None


def as_here(text, port, home):
    """The document with this machine's values in the two places that a reader fills in, and a
    pipeline's name that no other test on this broker has."""
    text = re.sub(r"\bcredit(?=[. :])(?! card)", f"credit-{port}", text)
    for name, value in (("FISD", home), ("BROKER", KAFKA)):
        text, n = re.subn(rf"^export {name}=\S+", f"export {name}={value}", text, flags=re.M)
        same(n, 1, f"export {name}")
    return text.replace(":9464", f":{port}")


def checkout(folder):
    """The checkout as the document has it, with the programs that are tested."""
    os.makedirs(os.path.join(folder, "build/release"))
    os.symlink(os.path.dirname(os.path.abspath(FISD)), os.path.join(folder, "build/release/bin"))
    os.symlink(os.path.join(ROOT, "build/python"), os.path.join(folder, "build/python"))
    return folder


@test("from a table to a served version, a prediction in Python, and labels by a person")
def _():
    if not os.path.exists(os.path.join(WHEELS, "ready")):
        raise Skip(f"{WHEELS} is not there: make deps-wheels could not fetch packages")
    with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as d, Browser() as browser:
        home, work = checkout(os.path.join(d, "fisd")), os.path.join(d, "work")
        os.mkdir(work)
        with open(os.path.join(ROOT, "docs/tutorial.md")) as f:
            port = free_port()
            text = as_here(f.read(), port, home)
        reader, out = Reader(work), ""
        try:
            for kind, body, heading in steps(text):
                began = time.monotonic()
                if kind == "sh":
                    out = reader.run(body)
                elif kind == "text":
                    assert re.fullmatch(printed(body), out), f"{heading}: printed\n{out}\nshown\n{body}"
                else:
                    reader.label(body, browser)
                    status = f"fisctl -c credit-{port}.yaml labels status\n"
                    wait(lambda: " 126, " in reader.run(status), "three answers arrive")
                if kind != "text":
                    print(f"# {heading}: {time.monotonic() - began:.1f} s for: "
                          f"{body.splitlines()[0]}", flush=True)
            reader.shell.stdin.close()
            same(reader.shell.wait(30), 0)
        finally:
            if reader.shell.poll() is None:
                os.killpg(reader.shell.pid, 15)
                reader.shell.wait(30)


if __name__ == "__main__":
    main()
