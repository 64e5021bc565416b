"""Prometheus's own tool. Where it is not installed it is taken out of Debian's package, without the
server, into build/cache."""

import glob
import os
import shutil
import subprocess

from fisd_process import ROOT

CACHE = os.path.join(ROOT, "build/cache/promtool")


def promtool():
    found = shutil.which("promtool")
    if found:
        return found
    program = os.path.join(CACHE, "usr/bin/promtool")
    if not os.path.exists(program):
        _fetch(program)
    return program


def _fetch(program):
    work = f"{CACHE}.{os.getpid()}"
    os.makedirs(work)
    try:
        r = subprocess.run(["apt-get", "download", "prometheus"], cwd=work, capture_output=True,
                           text=True, timeout=360)
        packages = glob.glob(os.path.join(work, "*.deb"))
        assert packages, f"apt-get download prometheus: {r.stderr}"
        subprocess.run(["dpkg-deb", "-x", packages[0], work], check=True, timeout=180)
        os.makedirs(os.path.dirname(program), exist_ok=True)
        os.replace(os.path.join(work, "usr/bin/promtool"), program)  # whole, or not there
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run(*arguments, cwd=None, text=None):
    r = subprocess.run([promtool(), *arguments], cwd=cwd, input=text, capture_output=True,
                       text=True, timeout=300)
    return r.returncode, r.stdout + r.stderr
