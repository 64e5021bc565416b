"""fisd as a process: started, stopped, killed, and its log read."""

import datetime
import os
import re
import signal
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FISD = os.environ.get("FISD", os.path.join(ROOT, "build/release/bin/fisd"))
FISCTL = os.environ.get("FISCTL", os.path.join(ROOT, "build/release/bin/fisctl"))
WAIT = 180.0  # seconds; how long a condition may take at most: nothing waits longer than it must

# The numbers of epoll_wait, epoll_pwait and epoll_pwait2 (x86-64, else).
EPOLL_WAIT = ("232", "281", "22", "441")

# Signals that the parent ignores (nohup, a job in the background) or blocks would be ignored or
# blocked in every program started here: a handler of Python's is the default action in a child.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])

# ---- waiting -------------------------------------------------------------------------------

_stalls = []  # (when it ended, seconds) of every stall of this machine


def _watch_stalls():
    at = time.monotonic()
    while True:
        time.sleep(0.05)
        now = time.monotonic()
        if now - at > 0.5:
            _stalls.append((now, now - at))
        at = now


threading.Thread(target=_watch_stalls, daemon=True).start()


def stalled(since):
    """Seconds since then (of time.monotonic()) in which this machine ran nothing: a bound on
    time, or on what a session survives, is not judged where they are many."""
    return sum(length for end, length in list(_stalls) if end > since)


def wait(condition, what, timeout=WAIT, alive=None):
    """Until condition() gives something true, which is returned. alive() raises to give up."""
    since = time.monotonic()
    while True:
        got = condition()
        if got:
            return got
        if alive:
            alive()
        if time.monotonic() > since + timeout + stalled(since):
            raise AssertionError(f"not within {timeout:.0f} s: {what}")
        time.sleep(0.03)


def same(found, expected, what=""):
    assert found == expected, f"{what}\n  found:  {found!r}\n  expected: {expected!r}"


def has(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in: {text}"


# ---- a process -----------------------------------------------------------------------------

class Process:
    """fisd with the configuration NAME.yaml of a directory, and its log NAME.log beside it."""

    def __init__(self, directory, name="fisd", program=FISD):
        self.dir, self.name, self.program, self.process = directory, name, program, None
        self.config_path = os.path.join(directory, name + ".yaml")
        self.log_path = os.path.join(directory, name + ".log")

    def start(self, ready=r" version version=1 ", env=None):
        """Starts fisd; waits until its log, from here on, has `ready` (None: does not wait)."""
        since = len(self.log())
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "-c", self.config_path], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.dir, env={**os.environ, **(env or {})})
        if ready:
            self.wait_log(ready, since)
        return self

    def alive(self):
        status = self.process.poll()
        assert status is None, f"fisd ended with status {status}"

    def stop(self, timeout=WAIT):
        """SIGTERM; the exit status."""
        return self.ended(timeout, signal.SIGTERM)

    def ended(self, timeout=WAIT, number=None):
        """Waits for the end; the exit status. The process is killed when it does not come."""
        process, self.process = self.process, None
        if number:
            process.send_signal(number)
        try:
            wait(lambda: process.poll() is not None, "the end of fisd", timeout)
        finally:
            process.kill()
            process.wait()
        self.check_log()
        return process.returncode

    def kill(self):
        """SIGKILL, as a crash."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, number):
        self.process.send_signal(number)

    def suspend(self):
        """SIGSTOP while the loop waits: a stop in the middle of a turn would be a long turn."""
        def waiting():
            self.signal(signal.SIGSTOP)
            with open(f"/proc/{self.process.pid}/syscall") as f:
                if f.read().split()[0] in EPOLL_WAIT:
                    return True
            self.signal(signal.SIGCONT)
            return False
        wait(waiting, f"{self.name} waits for events", alive=self.alive)

    def log(self):
        try:
            with open(self.log_path, "rb") as f:
                return f.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def check_log(self):
        """Every line is key=value, whatever came in; a sanitizer's report is not."""
        line = re.compile(r'\S+Z (debug|info|warn|error) \w+( [\w.]+=("([^"\\]|\\.)*"|[^\s"]*))*\Z')
        for text in self.log().splitlines():
            assert line.match(text) or text.startswith("fisd: "), f"not a line of the log: {text}"

    def times(self, pattern, since=0):
        """When each line with a match after `since` was written: seconds since 1970."""
        text, found = self.log(), []
        for match in re.compile(pattern).finditer(text, since):
            line = text[text.rfind("\n", 0, match.start()) + 1:]
            stamp = datetime.datetime.strptime(line.split(" ", 1)[0], "%Y-%m-%dT%H:%M:%S.%fZ")
            found.append(stamp.replace(tzinfo=datetime.timezone.utc).timestamp())
        return found

    def when(self, pattern, since=0):
        """The first of these times."""
        found = self.times(pattern, since)
        assert found, f"no log line /{pattern}/"
        return found[0]

    def wait_log(self, pattern, since=0, timeout=WAIT):
        """Until the log has a match of the pattern after `since`; the match."""
        expression = re.compile(pattern)
        return wait(lambda: expression.search(self.log(), since), f"log line /{pattern}/", timeout,
                    self.alive if self.process else None)

    def log_fields(self, event):
        """The key=value pairs of the newest log line of an event; {} when there is none."""
        lines = re.findall(rf"^\S+ \w+ {event} (.*)$", self.log(), re.M)
        return dict(re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)', lines[-1])) if lines else {}

    def wait_counts(self, event, timeout=WAIT, **expected):
        """Until the newest line of an event has these numbers, exactly."""
        text = {k: str(v) for k, v in expected.items()}
        try:
            wait(lambda: text.items() <= self.log_fields(event).items(), "", timeout, self.alive)
        except AssertionError as e:
            raise AssertionError(f"{event}: expected {text}, last found "
                                 f"{self.log_fields(event)}: {e}") from None
