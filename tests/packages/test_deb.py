#!/usr/bin/env python3
"""The Debian packages: lintian; and a life on a system: installed, run as its own user, upgraded,
removed, purged.

    tests/packages/test_deb.py [DIRECTORY]     default build/deb, as `make deb` leaves it

The system is this one, seen through an overlay in a mount namespace: real dpkg and maintainer
scripts, and nothing of it stays. That takes root and a kernel that lets root mount an overlay;
where it does not, the test says so and fails. systemctl is played by a script that writes down
what it is asked, since systemd is no part of the overlay.
"""

import glob
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/system"))
from fisd_test import csv_bytes, has, main, people, same, test, wait  # noqa: E402

DEBS = os.path.realpath(sys.argv.pop(1) if len(sys.argv) > 1 else os.path.join(ROOT, "build/deb"))
COLUMNS = ["id", "age", "hours", "job", "score", "hired"]
PIPELINE = """pipeline: loans
delivery: at_least_once
classes: ["no", "yes"]
columns: [{name: age}, {name: hours}, {name: job, type: categorical}, {name: score}]
initial: {file: initial.csv, label: hired}
validation: {file: validation.csv, label: hired, sensitive: [group]}
fairness: {metric: equalized_odds}
gate: {min_rows: 300}
"""
SYSTEMCTL = '#!/bin/sh\necho "$@" >> /var/tmp/systemctl.calls\n'


def run(*command, **kw):
    return subprocess.run(command, capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, **kw)


class System:
    """This system, with changes of its own in `upper`."""

    MOUNT = ('mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" '
             '&& mount -t proc proc "$1/root/proc" && mount --bind /dev "$1/root/dev" '
             '&& d=$1 && shift && exec chroot "$d/root" "$@"')

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="deb.", dir="/var/tmp")
        for name in ("upper", "work", "root"):
            os.mkdir(os.path.join(self.dir, name))
        self.put("usr/local/sbin/systemctl", SYSTEMCTL, 0o755)
        self.put("usr/sbin/policy-rc.d", "#!/bin/sh\nexit 0\n", 0o755)
        os.makedirs(self.at("run/systemd/system"))

    def at(self, path):
        return os.path.join(self.dir, "upper", path)

    def put(self, path, text, mode):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.at(path), mode)

    def command(self, *command):
        return ["unshare", "-m", "sh", "-c", self.MOUNT, "sh", self.dir, *command]

    def inside(self, *command, ok=True):
        r = run(*self.command(*command), env={"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
                                              "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})
        assert not ok or r.returncode == 0, f"{command}: {r.returncode}\n{r.stdout}{r.stderr}"
        return r if not ok else r.stdout

    def calls(self):
        """What systemctl was asked since the last look."""
        path = self.at("var/tmp/systemctl.calls")
        text = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            os.unlink(path)
        return text

    def files(self):
        """What is here and not on the system below; what was taken away does not count."""
        found = set()
        for d, _, names in os.walk(self.at("")):
            found |= {os.path.relpath(os.path.join(d, n), self.at("")) for n in names
                      if not stat.S_ISCHR(os.lstat(os.path.join(d, n)).st_mode)}
        return found


def package(name):
    found = [p for p in glob.glob(os.path.join(DEBS, f"{name}_*.deb"))]
    assert len(found) == 1, f"{DEBS}: {found}; 'make deb' builds them"
    return found[0]


def upgraded(directory):
    """The same package as of a later version, with another example."""
    tree = os.path.join(directory, "tree")
    run("dpkg-deb", "-R", package("fisd"), tree, check=True)
    with open(os.path.join(tree, "DEBIAN/control"), encoding="utf-8") as f:
        control = f.read()
    version = run("dpkg-deb", "-f", package("fisd"), "Version").stdout.strip()
    with open(os.path.join(tree, "DEBIAN/control"), "w", encoding="utf-8") as f:
        f.write(control.replace(f"Version: {version}", f"Version: {version}+later"))
    with open(os.path.join(tree, "etc/fisd/example.yaml"), "a", encoding="utf-8") as f:
        f.write("# of the later version\n")
    path = os.path.join(directory, "later.deb")
    run("dpkg-deb", "--root-owner-group", "-b", tree, path, check=True)
    return path


system = System() if os.geteuid() == 0 else None


@test("lintian has nothing to say")
def _():
    changes = glob.glob(os.path.join(DEBS, "*.changes"))
    same(len(changes), 1, "changes files")
    assert shutil.which("lintian"), "lintian is missing; 'make deps-deb' installs it"
    r = run("lintian", "--allow-root", "--display-info", "--pedantic", "--fail-on",
            "error,warning,info,pedantic", changes[0])
    same((r.returncode, r.stdout), (0, ""), r.stderr)


@test("installed: the user, the directory that it alone may read, programs, manuals, the unit")
def _():
    assert system, "this test is for root: it installs packages, into an overlay"
    print(system.inside("dpkg", "-i", package("fisd"), package("libfis-dev")).replace("\n", "\n# "))
    user = system.inside("getent", "passwd", "fisd").strip().split(":")
    assert user[5:] == ["/", "/usr/sbin/nologin"] or user[6].endswith("nologin"), user
    assert 0 < int(user[2]) < 1000, "no user of the system"
    same(system.inside("stat", "-c", "%U:%G %a", "/etc/fisd").strip(), "root:fisd 750")
    has(system.inside("fisd", "--version"), "fisd ")
    has(system.inside("fisctl", "--version"), "fisctl ")
    for page in ("8 fisd", "1 fisctl", "5 fisd.yaml"):
        system.inside("test", "-s", system.inside("man", "-w", *page.split()).strip())
    has(system.inside("cat", "/lib/systemd/system/fisd@.service"), "ExecStart=/usr/bin/fisd ")
    has(system.inside("pkg-config", "--cflags", "--libs", "fis"), "-lfis")
    has(system.calls(), "daemon-reload")


@test("a pipeline runs as the package's user, and nobody else can read its configuration")
def _():
    system.put("etc/fisd/loans.yaml", PIPELINE, 0o640)
    system.put("etc/fisd/initial.csv", csv_bytes(people(400, 1), COLUMNS).decode(), 0o640)
    system.put("etc/fisd/validation.csv", csv_bytes(people(400, 2), COLUMNS + ["group"]).decode(),
               0o640)
    system.inside("sh", "-c", "chown root:fisd /etc/fisd/*")
    r = system.inside("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "fisd",
                      "--check-config=/etc/fisd/loans.yaml", ok=False)
    same(r.returncode, 2, r.stdout)
    has(r.stderr, "/etc/fisd/loans.yaml: cannot be opened: Permission denied")
    with open(os.path.join(system.dir, "log"), "w+", encoding="utf-8") as log:
        p = subprocess.Popen(
            system.command("setpriv", "--reuid=fisd", "--regid=fisd", "--clear-groups",
                           "--no-new-privs", "fisd", "-c", "/etc/fisd/loans.yaml", "--embedded"),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def text():
            log.seek(0)
            return log.read()

        try:
            wait(lambda: " version version=1 " in text() or p.poll() is not None, "a version")
            assert p.poll() is None, text()
            with open(f"/proc/{p.pid}/status", encoding="utf-8") as f:
                uid = [x for x in f if x.startswith("Uid:")][0].split()[1]
            same(uid, system.inside("id", "-u", "fisd").strip(), "uid of the process")
            p.terminate()
            same(p.wait(60), 0, text())
        finally:
            if p.poll() is None:
                p.kill()


@test("upgraded: what was changed by hand stays, and running pipelines are restarted")
def _():
    uid = system.inside("id", "-u", "fisd")
    system.inside("sh", "-c", "echo '# by hand' >> /etc/fisd/example.yaml; chmod 751 /etc/fisd")
    system.calls()
    with tempfile.TemporaryDirectory(prefix="later.", dir="/var/tmp") as d:
        path = upgraded(d)
        system.inside("dpkg", "--force-confdef", "--force-confold", "-i", path)
    has(system.inside("dpkg-query", "-W", "-f", "${Status} ${Version}", "fisd"),
        "install ok installed", "+later")
    same(system.inside("id", "-u", "fisd"), uid, "uid")
    has(system.inside("cat", "/etc/fisd/example.yaml"), "# by hand")
    has(system.inside("cat", "/etc/fisd/example.yaml.dpkg-dist"), "# of the later version")
    same(system.inside("stat", "-c", "%a", "/etc/fisd").strip(), "751", "a mode set by hand")
    has(system.inside("cat", "/etc/fisd/loans.yaml"), "pipeline: loans")
    has(system.calls(), "daemon-reload", "try-restart fisd@*.service")


@test("removed: pipelines are stopped, configurations stay; purged: only what is not its own")
def _():
    system.calls()
    system.inside("dpkg", "-r", "fisd", "libfis-dev")
    has(system.calls(), "stop fisd@*.service")
    for name in ("/usr/bin/fisd", "/lib/systemd/system/fisd@.service", "/usr/include/fis",
                 "/usr/share/man/man8/fisd.8.gz", "/usr/lib/sysusers.d/fisd.conf"):
        assert system.inside("test", "-e", name, ok=False).returncode, f"{name} is still there"
    has(system.inside("ls", "/etc/fisd"), "example.yaml", "loans.yaml")
    system.inside("dpkg", "-P", "fisd", "libfis-dev")
    same(sorted(system.inside("ls", "/etc/fisd").split()),
         ["initial.csv", "loans.yaml", "validation.csv"], "what is left after purge")
    system.inside("sh", "-c", "rm /etc/fisd/*")
    left = [f for f in system.files() if "fis" in os.path.basename(f)]
    same(left, [], "files that stayed")


@test("purged where nobody has written a configuration: /etc/fisd goes too")
def _():
    system.inside("rm", "-rf", "/etc/fisd")
    system.inside("dpkg", "-i", package("fisd"))
    system.inside("dpkg", "-P", "fisd")
    assert system.inside("test", "-e", "/etc/fisd", ok=False).returncode, "/etc/fisd is still there"


if __name__ == "__main__":
    started = time.monotonic()
    try:
        main()
    finally:
        print(f"# {time.monotonic() - started:.1f} s", flush=True)
        if system:
            shutil.rmtree(system.dir, ignore_errors=True)
