"""The programs that are measured: the C program of this folder, a broker, and fisd on it."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/system"))
from figures import note, numbers  # noqa: E402
from fisd_process import Process  # noqa: E402
from priority import hurry  # noqa: E402

D, HIDDEN, CLASSES = 104, 64, 2
QUICK_N = 1000000  # records of a topic
LONG_D, LONG_N = 14, 20000000
PARTITIONS = 4
BARE_LOOPS = [(4096, 0), (16384, 0), (16384, 1000), (16384, 3000), (65536, 8000)]

# As a broker in production has room for what it receives. With the tests' 256 MB it stops ten times
# a second for up to 30 ms, which would be what is measured.
KAFKA_JVM = ("-XX:TieredStopAtLevel=1 -Xms1g -Xmx1g -Xmn800m -XX:+AlwaysPreTouch "
             "-XX:+UseParallelGC")


class Bench:
    """The C program, a broker, and fisd on it."""

    def __init__(self, bin_dir, quick):
        self.bin, self.quick = os.path.abspath(bin_dir), quick
        self.dir = tempfile.mkdtemp(prefix="bench.", dir=os.path.join(ROOT, "build"))
        self.kafka = None
        self.count = 0
        self.topics = {}
        atexit.register(self.close)

    def close(self):
        if self.kafka:
            subprocess.run([self.kafka_sh, "stop", os.path.join(self.dir, "kafka")],
                           stderr=subprocess.DEVNULL)
            self.kafka = None
        shutil.rmtree(self.dir, ignore_errors=True)

    kafka_sh = os.path.join(ROOT, "tests/system/kafka.sh")

    @property
    def broker(self):
        if not self.kafka:
            r = subprocess.run([self.kafka_sh, "start", os.path.join(self.dir, "kafka"),
                                "log.message.timestamp.type=LogAppendTime"],
                               stdout=subprocess.PIPE, text=True,
                               env={"KAFKA_JVM": KAFKA_JVM, **os.environ})
            if r.returncode:
                sys.exit("bench: no broker")
            self.kafka = r.stdout.strip()
            with open(os.path.join(self.dir, "kafka/pid"), encoding="ascii") as f:
                hurry(f.read().strip())
        return self.kafka

    def c(self, *arguments, background=False, preload=""):
        command = [os.path.join(self.bin, "bench"), *[str(a) for a in arguments]]
        if background:
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        env = {**os.environ, "LD_PRELOAD": preload} if preload else None
        r = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env)
        if r.returncode:
            sys.exit(f"bench: {' '.join(command)}: status {r.returncode}")
        return r.stdout

    def topic(self, kind, d, n, partitions=PARTITIONS):
        """A topic of n records, made when it is first asked for."""
        name = f"{kind}-{d}-{n}-{partitions}"
        if name not in self.topics:
            self.c("topic", self.broker, name, partitions)
            out = self.c("feed", self.broker, name, kind, d, n)
            note(f"{name}: {out.strip()}")
            self.topics[name] = n
        return name

    def heads(self, d, scale, pipeline):
        name = f"heads-{pipeline}"
        if name not in self.topics:
            self.c("topic", self.broker, name, 1, "cleanup.policy=compact")
            self.c("head", self.broker, name, pipeline, d, HIDDEN, CLASSES, scale)
            self.topics[name] = 1
        return name

    def drain(self, topic, n, loop, what="none", preload=""):
        return numbers(self.c("drain", self.broker, topic, n, *loop, what, preload=preload))

    def allocator(self):
        """The library that fisd has malloc from; "": libc."""
        linked = subprocess.run(["ldd", os.path.join(self.bin, "fisd")], stdout=subprocess.PIPE,
                                text=True).stdout
        return next((x.split()[2] for x in linked.splitlines() if "jemalloc" in x), "")

    def best_loop(self, topic, n, what="none", rounds=1):
        """The fastest of the bare loops here and now."""
        # Parsing is all that counts, where there is any.
        loops = BARE_LOOPS[:1] if what != "none" else BARE_LOOPS[::2] if self.quick else BARE_LOOPS
        if len(loops) == 1:
            return loops[0]
        rates = {loop: max(self.drain(topic, n, loop, what)["rate"] for _ in range(rounds))
                 for loop in loops}
        best = max(rates, key=rates.get)
        note(f"bare {what} loops on {topic}: " +
             ", ".join(f"{b}/{p} us {r / 1e6:.2f}" for (b, p), r in rates.items()) +
             f" million records/s; best {best[0]}/{best[1]} us")
        return best

    def fisd(self, topic, encoding, d=D, scale="none", heads=None, **sections):
        """fisd with role scorer on a topic of records, under a name of its own; not started."""
        self.count += 1
        name = f"b{self.count}"
        config = {"pipeline": name, "roles": ["scorer"],
                  "kafka": {"bootstrap.servers": self.broker},
                  "topics": {"records": topic, "heads": heads or self.heads(d, scale, name)},
                  "classes": [f"c{i}" for i in range(CLASSES)], "dimension": d,
                  "records": {"encoding": encoding}, **sections}
        p = Fisd(self.dir, name, os.path.join(self.bin, "fisd"))
        with open(p.config_path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        return p

    def score_topic(self, topic, n, encoding, **kw):
        """The rate at which fisd scores a whole topic; with its CPU time, memory and log."""
        with self.fisd(topic, encoding, **kw) as p:
            p.start(ready=None)
            got = numbers(self.c("progress", self.broker, f"{p.name}.candidates", n))
            got["cpu_us"] = p.cpu_s() * 1e6 / n
            got["rss"] = p.rss()
            p.stop()
            got["loop"], got["latency"] = p.log_fields("loop"), p.log_fields("latency")
            return got


class Fisd(Process):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(x.split()[1]) for x in f if x.startswith("VmRSS:")) * 1024


def venv(*packages):
    """Python with these packages, in the cache."""
    path = os.path.join(ROOT, "build/cache/venv")
    python = os.path.join(path, "bin/python3")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", path], check=True)
    probe = "; ".join(f"import {p.split('[')[0].replace('-', '_')}" for p in packages)
    if subprocess.run([python, "-c", probe], stderr=subprocess.DEVNULL).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python
