#!/usr/bin/env python3
"""Manual pages and completion: written from the tables, so every option and every command is there;
well-formed; and what the completion offers, the programs understand."""

import os
import re
import shlex
import shutil
import subprocess

from fisd_test import FISCTL, FISD, has, main, same, test


def run(*command, **kw):
    return subprocess.run(command, capture_output=True, text=True, timeout=180,
                          stdin=subprocess.DEVNULL, **kw)


def out(*command):
    r = run(*command)
    same((r.returncode, r.stderr), (0, ""), command)
    return r.stdout


def plain(page):
    """A page without its markup."""
    page = re.sub(r"\\f[BIR]", "", page).replace("\\-", "-").replace("\\&", "")
    return page.replace("\\(aq", "'").replace("\\(ti", "~").replace("\\(ha", "^")


def options_of(help_text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", help_text))


PAGES = {"fisd.8": (FISD, "--print-man"), "fisd.yaml.5": (FISD, "--print-config", "--man"),
         "fisctl.1": (FISCTL, "--print-man")}


@test("each page is well-formed")
def _():
    for name, command in PAGES.items():
        page = out(*command)
        title, section = name.rsplit(".", 1)
        has(page, f'.TH {title.upper()} {section} ', ".SH \"NAME\"", ".SH \"SEE ALSO\"")
        for line in page.splitlines():
            # A request is one of those that these pages use, and nothing that text brought in.
            assert not line.startswith(("'",)), f"{name}: {line}"
            if line.startswith("."):
                assert re.match(r'\.(\\"|TH|SH|SS|TP|PP|RS|RE|B|BR|br|nf|fi|nh|ad)\b', line) or \
                    line.startswith('.\\"'), f"{name}: {line}"
        if shutil.which("groff"):
            r = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-k", "-z"], input=page,
                               capture_output=True, text=True, timeout=180)
            same((r.returncode, r.stderr), (0, ""), name)


@test("every option of fisd, every command of fisctl with its options, every key of the file")
def _():
    page = plain(out(*PAGES["fisd.8"]))
    for option in options_of(out(FISD, "--help")):
        has(page, option)
    page = plain(out(*PAGES["fisctl.1"]))
    commands = re.findall(r"^  (\w+) +\S", out(FISCTL, "--help").split("options,")[0], re.M)
    assert len(commands) >= 7, commands
    for command in commands:
        has(page, f"fisctl {command}")
        for option in options_of(out(FISCTL, command, "--help")):
            has(page, option)
    page = plain(out(*PAGES["fisd.yaml.5"]))
    table = out(FISD, "--print-config", "--reference")
    keys = re.findall(r"^\| `([^`]+)`", table, re.M)
    assert len(keys) > 60, keys
    for key in keys:
        has(page, f"\n{key}\n")
    live = [row for row in table.splitlines() if "Reloaded by SIGHUP" in row]
    same(page.count("SIGHUP reloads it."), len(live), "options that are reloaded")


def complete(program, *words):
    """What is offered for the last of these words."""
    script = out(program, "--print-completion")
    name = os.path.basename(program)
    line = " ".join(shlex.quote(w) for w in (name, *words))
    r = subprocess.run(["bash", "-c", f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}\n'
                        f'_{name}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
                       capture_output=True, text=True, timeout=180, cwd=os.path.dirname(__file__))
    same((r.returncode, r.stderr), (0, ""), words)
    return r.stdout.split()


@test("completion offers commands, their verbs, their options, and files where files go")
def _():
    has(complete(FISCTL, ""), "topics", "replay", "label", "labels", "models", "watch", "lab")
    same(complete(FISCTL, "mo"), ["models"])
    same(sorted(complete(FISCTL, "-c", "x.yaml", "models", "r")), ["rollback"])
    same(complete(FISCTL, "lab", "in"), ["influence-check"])
    has(complete(FISCTL, "lab", "run", "--s"), "--seeds", "--sensitive", "--set")
    same(complete(FISCTL, "replay", "kafka.s"), ["kafka.sh"])
    same(complete(FISCTL, "label", "--answers", "kafka.s"), ["kafka.sh"])
    same(complete(FISCTL, "--bootstrap", ""), [])
    has(complete(FISD, "--"), "--config", "--check-config", "--embedded")
    same(complete(FISD, "-c", "kafka.s"), ["kafka.sh"])


@test("what completion offers, fisctl knows")
def _():
    for command in ("topics", "labels", "models", "lab"):
        verbs = [w for w in complete(FISCTL, command, "") if not w.startswith("-")]
        assert len(verbs) >= 2, f"{command}: {verbs}"
        for verb in verbs:
            # The laboratory needs no configuration, and would begin.
            more = ["--help"] if command == "lab" else []
            r = run(FISCTL, "-c", "/nonexistent.yaml", command, verb, *more)
            assert not re.search(rf"found '{verb}'|no command '{verb}'", r.stderr), r.stderr
        for option in (w for w in complete(FISCTL, command, "--") if w.startswith("--")):
            r = run(FISCTL, command, option, "--help")
            assert "no option" not in r.stderr, f"{command} {option}: {r.stderr}"


if __name__ == "__main__":
    main()
