#!/usr/bin/env python3
"""make install: what is there, that it runs, that a program of somebody else's links to libfis with
what pkg-config says, and that systemd accepts the unit."""

import glob
import os
import re
import shutil
import stat
import subprocess
import tempfile

from fisd_test import FISCTL, FISD, ROOT, has, main, same, test

PROGRAM = r"""
#include <fis/network.h>
#include <fis/selector.h>
#include <fis/learner.h>
#include <fis/gate.h>
#include <fis/encoder.h>
#include <fis/version.h>
#include <stdio.h>

int main(void)
{
    struct fis_shape shape;
    struct fis_rng rng;
    struct fis_error e;
    float params[64], x[2] = {1, -1}, logits[2];
    if (fis_shape_init(&shape, 2, (uint32_t[]){3}, 1, 2, &e) < 0)
        return 1;
    fis_rng_seed(&rng, 1, 1);
    fis_network_init(&shape, params, &rng);
    struct fis_scratch *s = fis_scratch_new(&shape, 1, 0);
    fis_network_forward(&shape, params, x, 1, s, logits);
    fis_scratch_free(s);
    printf("%s %zu\n", FIS_VERSION, fis_shape_params(&shape));
    return logits[0] == logits[0] ? 0 : 1;
}
"""

# Headers and library in C++, beside functions with names that libfis's own files use.
PROGRAM_CPP = r"""
#include <fis/encoder.h>
#include <fis/fairness.h>
#include <fis/gate.h>
#include <fis/learner.h>
#include <fis/network.h>
#include <fis/selector.h>
#include <cstdio>
#include <vector>

extern "C" {
int interpolate = 1;
int make_point() { return 2; }
int rows_add() { return 3; }
int log_line() { return 4; }
}

int main()
{
    fis_shape shape{};
    fis_rng rng{};
    fis_error e{};
    const std::vector<uint32_t> hidden{3};
    if (fis_shape_init(&shape, 2, hidden.data(), 1, 2, &e) < 0)
        return 1;
    std::vector<float> params(fis_shape_params(&shape)), logits(2);
    const float x[2] = {1, -1};
    fis_rng_seed(&rng, 1, 1);
    fis_network_init(&shape, params.data(), &rng);
    fis_scratch *s = fis_scratch_new(&shape, 1, 0);
    fis_network_forward(&shape, params.data(), x, 1, s, logits.data());
    fis_scratch_free(s);
    const int refused = fis_shape_init(&shape, 0, nullptr, 0, 2, &e);
    std::printf("%g %d\n%s\n", static_cast<double>(logits[0]), -refused == e.kind, e.text);
    return interpolate + make_point() + rows_add() + log_line() == 10 ? 0 : 1;
}
"""

tree = tempfile.mkdtemp(prefix="install.", dir=os.environ.get("FISD_TEST_DIR"))


def run(*command, **kw):
    return subprocess.run(command, capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, **kw)


def at(path):
    return os.path.join(tree, path)


@test("the files are there, with the rights they need, and none besides under DESTDIR")
def _():
    build = os.path.relpath(os.path.dirname(os.path.dirname(os.path.realpath(FISD))), ROOT)
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    r = run("make", "-C", ROOT, f"B={build}", f"DESTDIR={tree}", "PREFIX=/usr", "install", env=env)
    same(r.returncode, 0, r.stdout + r.stderr)
    found = sorted(os.path.relpath(os.path.join(d, f), tree)
                   for d, _, files in os.walk(tree) for f in files)
    for name in ("usr/bin/fisd", "usr/bin/fisctl", "usr/lib/libfis.a", "usr/lib/pkgconfig/fis.pc",
                 "usr/include/fis/selector.h", "usr/share/fisd/fis.proto",
                 "usr/share/fisd/example.yaml", "usr/share/doc/fisd/README.md",
                 "usr/share/doc/fisd/LICENSE", "usr/lib/systemd/system/fisd@.service"):
        assert name in found, f"{name} is missing: {found}"
    for name in found:
        assert name.startswith("usr/"), name
        mode = stat.S_IMODE(os.stat(at(name)).st_mode)
        same(mode, 0o755 if name.startswith("usr/bin/") else 0o644, f"mode of {name}")
        if not name.startswith("usr/bin/") and not name.endswith(".a"):
            with open(at(name), encoding="utf-8") as f:
                text = f.read()
            assert tree not in text and "@PREFIX@" not in text, f"{name}: a path of the build"


@test("what the documents name and link to is there")
def _():
    docs = at("usr/share/doc/fisd")
    names = [os.path.relpath(os.path.join(d, f), docs) for d, _, files in os.walk(docs)
             for f in files]
    for name in ("docs/operations.md", "docs/design.md", "docs/threat-model.md",
                 "docs/performance.md"):
        assert name in names, f"{name} is missing: {names}"
    named = 0
    for name in names + ["../../man/man5/fisd.yaml.5"]:
        with open(os.path.join(docs, name), encoding="utf-8") as f:
            text = f.read().replace("\\-", "-")
        links = [x for x in re.findall(r"\]\(([^)\s]+)\)", text) if not x.startswith(("http", "#"))]
        links += re.findall(r"/usr/share/(?:doc/)?fisd/[\w./-]*\w", text)
        links += re.findall(r"(?<![\w/])(?:config|proto)/\w[\w./-]*\w", text)
        named_docs = re.findall(r"(?<![\w/.-])(?:docs/[\w-]+|[A-Z][A-Z-]{3,})\.md\b", text)
        for link in [os.path.join(docs, x) for x in named_docs] + links:
            path = at(link[1:]) if link.startswith("/usr/") else os.path.normpath(
                os.path.join(docs, os.path.dirname(name), link.split("#")[0]))
            assert os.path.exists(path), f"{name} names {link}, which is not installed"
            named += 1
    assert named > 20, named


@test("the programs run from there, and the example configuration passes its check")
def _():
    for program in ("fisd", "fisctl"):
        r = run(at(f"usr/bin/{program}"), "--version")
        same((r.returncode, r.stderr), (0, ""), program)
        assert re.match(rf"{program} \d+\.\d+\.\d+", r.stdout), r.stdout
    example = at("usr/share/fisd/example.yaml")
    r = run(at("usr/bin/fisd"), "--check-config", example)
    same((r.returncode, r.stderr.count("No such file")), (2, 2), r.stderr)  # and nothing else
    same(len(r.stderr.splitlines()), 2, r.stderr)


def compile_with_pkg_config(compiler, *options):
    """Builds tree/x from the file that the options name; its output."""
    r = run("pkg-config", f"--define-variable=prefix={tree}/usr", "--cflags", "--libs", "fis",
            env={**os.environ, "PKG_CONFIG_PATH": at("usr/lib/pkgconfig")})
    same(r.returncode, 0, r.stderr)
    flags = r.stdout.split()
    has(r.stdout, f"-I{tree}/usr/include", f"-L{tree}/usr/lib", "-lfis")
    r = run(compiler, "-Wall", "-Wextra", "-Werror", "-o", at("x"), *options, *flags)
    same(r.returncode, 0, f"{flags}\n{r.stderr}")
    r = run(at("x"))
    same(r.returncode, 0, r.stdout + r.stderr)
    return r.stdout


@test("a program compiles and links with what pkg-config says")
def _():
    with open(at("x.c"), "w") as f:
        f.write(PROGRAM)
    out = compile_with_pkg_config("gcc", "-std=c11", at("x.c"))
    version = run(at("usr/bin/fisd"), "--version").stdout.split()[1]
    same(out.split()[0], version, "version of the headers")


@test("a C++ program too, and its own names do not collide with those inside libfis")
def _():
    if not shutil.which("g++"):
        print("# g++ is not here", flush=True)
        return
    with open(at("x.cc"), "w") as f:
        f.write(PROGRAM_CPP)
    out = compile_with_pkg_config("g++", "-std=c++17", at("x.cc"))
    same(out.splitlines()[0].split()[1], "1", "kind of the error")
    has(out, "network: 0 inputs")


@test("systemd accepts the unit, and the unit keeps to what fisd promises")
def _():
    with open(at("usr/lib/systemd/system/fisd@.service")) as f:
        unit = f.read()
    has(unit, "ExecStart=/usr/bin/fisd --config /etc/fisd/%i.yaml", "RestartPreventExitStatus=2")
    stop = int(re.search(r"TimeoutStopSec=(\d+)", unit).group(1))
    assert stop > 25, "systemd would kill it before the longest runtime.shutdown_timeout"
    check = unit.index("ExecReload=/usr/bin/fisd --check-config")
    assert check < unit.index("ExecReload=kill -HUP"), "a reload with a mistake must fail"
    if not shutil.which("systemd-analyze"):
        print("# systemd-analyze is not here", flush=True)
        return
    # The programs it names are looked up: they are in the tree.
    local = at("fisd@.service")
    with open(local, "w") as f:
        f.write(unit.replace("/usr/bin/", f"{tree}/usr/bin/").replace("file:/usr/",
                                                                      f"file:{tree}/usr/"))
    r = run("systemd-analyze", "verify", "--man=no", local)
    mine = [x for x in (r.stdout + r.stderr).splitlines() if "fisd" in x]
    same((r.returncode, mine), (0, []), r.stdout + r.stderr)


@test("containers: the image has every library that the programs are linked to, configurations load")
def _():
    containers = os.path.join(ROOT, "contrib/containers")
    with open(os.path.join(containers, "Containerfile")) as f:
        image = f.read().split("FROM ${DEBIAN}\n")[1].split()
    paths = dict(re.findall(r"^\s*(\S+) .*=> (\S+)$", run("ldconfig", "-p").stdout, re.M))
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", FISD, FISCTL).stdout)
    assert len(set(needed)) > 8, needed
    for library in set(needed) - {"libc.so.6", "libm.so.6"}:
        package = run("dpkg", "-S", os.path.realpath(paths[library])).stdout.split(":")[0]
        if package and "librdkafka.so.1" in needed:  # not linked from build/cache, RDKAFKA=new
            assert package in image, f"Containerfile: {package} is missing, for {library}"
    for path in sorted(glob.glob(os.path.join(containers, "*/*fisd.yaml")) +
                       glob.glob(os.path.join(containers, "compose/data/*.yaml"))):
        r = run(FISD, "--check-config=" + path,
                env={**os.environ, "KAFKA_USERNAME": "a", "KAFKA_PASSWORD": "b"})
        wrong = [line for line in r.stderr.splitlines() if "No such file" not in line]
        same(wrong, [], f"{path}, but for the files that are not there")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(tree, ignore_errors=True)
