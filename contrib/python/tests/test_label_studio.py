"""The bridge between a real fisd and a real Label Studio (LABEL_STUDIO: its program)."""

import csv
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

import fisd
from conftest import WAIT, dead_letters, wait
from fisd import _kafka
from fisd._label_studio_http import Studio
from fisd.label_studio import Webhook

PROGRAM = os.environ.get("LABEL_STUDIO") or shutil.which("label-studio")
TOKEN = "0123456789abcdef0123456789abcdef01234567"
PATIENCE = 300  # seconds for an answer of Label Studio on a machine that is busy
REQUESTS = 130  # more than one page of tasks
CHOICES = {"from_name": "label", "to_name": "record", "type": "choices"}

pytestmark = pytest.mark.skipif(not PROGRAM, reason="label-studio is not installed")


class LabelStudio:
    """A Label Studio of its own on 127.0.0.1, with SQLite."""

    def __init__(self, folder):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.folder, self.url = folder, f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        environment = {**os.environ, "COLLECT_ANALYTICS": "false", "SENTRY_DSN": "",
                       "LABEL_STUDIO_BASE_DATA_DIR": str(self.folder), "HOME": str(self.folder)}
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port",
                 str(self.port), "--host", self.url, "--data-dir", self.folder, "--username",
                 "fisd@example.com", "--password", "fisd-fisd", "--user-token", TOKEN,
                 "--enable-legacy-api-token"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=self.folder)
        try:  # its first start makes the tables, which takes a minute where nothing else runs
            wait(self.answers, f"Label Studio starts; see {self.folder}/log", 600)
        except BaseException:
            self.kill()
            raise
        return self

    def answers(self):
        assert self.process.poll() is None, f"Label Studio ended; see {self.folder}/log"
        try:
            return Studio(self.url, TOKEN, 5).call("GET", "/api/projects/")
        except fisd.BridgeError:
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = LabelStudio(tmp_path_factory.mktemp("label-studio")).start()
    yield made
    if made.process.poll() is None:
        made.process.send_signal(signal.SIGTERM)
        try:
            made.process.wait(20)
        except subprocess.TimeoutExpired:
            made.kill()


@pytest.fixture(scope="module")
def studio(server):
    return Studio(server.url, TOKEN, PATIENCE)


@pytest.fixture(scope="module")
def fisd_at_work(daemons, pool):
    """A fisd that asks for 130 labels in one round."""
    daemon = daemons("studio", replace=[("labels_per_round: 32, rounds: 2, budget: 64",
                                         f"labels_per_round: {REQUESTS}, rounds: 1, "
                                         f"budget: {REQUESTS}")])
    pipeline = fisd.Pipeline.load(daemon.config)
    with fisd.Models(pipeline) as models, fisd.Records(pipeline) as records:
        models.wait(WAIT)
        records.send(pool[:2000])
    return daemon


@pytest.fixture(scope="module")
def pipeline(fisd_at_work):
    return fisd.Pipeline.load(fisd_at_work.config)


def tasks_of(studio, project):
    return {t["data"]["fisd_id"]: t for t in studio.tasks(project, 50)}


def annotate(studio, task, label=None, **more):
    result = [{**CHOICES, "value": {"choices": [label]}}] if label else []
    path = f"/api/tasks/{task['id']}/annotations/" + ("?was_cancelled=1" if not label else "")
    return studio.call("POST", path, {"result": result, "was_cancelled": not label, **more})


def sent(pipeline):
    """By id: the answers on the labels topic, in their order."""
    out = {}
    for m in _kafka.read_all(pipeline, pipeline.topic("labels"), 20):
        a = json.loads(m.value())
        out.setdefault(a["id"], []).append(a.get("label") or a["status"])
    return out


def nothing_to_send(summary):
    return (summary.answered, summary.corrected, summary.deleted) == (0, 0, 0)


def test_a_token_or_project_that_is_none(server, pipeline):
    with pytest.raises(fisd.BridgeError, match="401"):
        fisd.LabelStudioBridge(pipeline, server.url, "0" * 40, 1)
    with pytest.raises(fisd.BridgeError, match="404"):
        fisd.LabelStudioBridge(pipeline, server.url, TOKEN, 999)
    with pytest.raises(fisd.BridgeError, match="is Label Studio there"):
        fisd.LabelStudioBridge(pipeline, "http://127.0.0.1:1", TOKEN, 1)


def test_a_personal_access_token(server, studio):
    studio.call("POST", "/api/jwt/settings",
                {"api_tokens_enabled": True, "legacy_api_tokens_enabled": True})
    token = studio.call("POST", "/api/token/", {})["token"]
    assert token.count(".") == 2
    other = Studio(server.url, token)
    assert "results" in other.call("GET", "/api/projects/")
    other._access = "an.expired.one"
    assert "results" in other.call("GET", "/api/projects/"), "it gets a new one"


def test_from_requests_to_tasks_and_back(server, studio, pipeline, fisd_at_work, answers):
    project = fisd.LabelStudioBridge.create_project(server.url, TOKEN, "Adult",
                                                    ["<=50K", ">50K"], unsure="cannot say")

    def bridge():
        return fisd.LabelStudioBridge(pipeline, server.url, TOKEN, project, unsure="cannot say",
                                      timeout=PATIENCE)

    # Killed behind the import, before the commit: the next life makes no task twice.
    crashed = bridge()
    crashed._commit = lambda: (_ for _ in ()).throw(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        wait(crashed.step, "requests")
    command = [sys.executable, "-m", "fisd.label_studio", str(fisd_at_work.config), "--url",
               server.url, "--project", str(project), "--unsure", "cannot say", "--interval", ".2"]
    process = subprocess.Popen(command, env={**os.environ, "LABEL_STUDIO_TOKEN": TOKEN})
    try:
        wait(lambda: len(tasks_of(studio, project)) == REQUESTS, "a task for each request")
    finally:
        process.kill()
        process.wait()
    everything = studio.tasks(project, 100)
    assert len(everything) == REQUESTS, "more than a page, and none twice"
    tasks = tasks_of(studio, project)
    assert len(tasks) == REQUESTS
    one = next(iter(tasks.values()))["data"]
    assert one["record"]["education-num"] and one["fisd_criterion"] and "sex" not in one["record"]

    with bridge() as b:
        assert not b.step(), "nothing is left to do, and it is committed"

    # By priority: what the trainer asked for first comes first.
    first = max(tasks.values(), key=lambda t: t["data"]["fisd_priority"])
    given = studio.call("GET", f"/api/projects/{project}/next")
    assert given["data"]["fisd_id"] == first["data"]["fisd_id"]

    # People work: labels, skips, "cannot say", a change of mind, an answer without a class.
    ids = sorted(tasks)
    done = {i: annotate(studio, tasks[i], answers[i]) for i in ids[:40]}
    for i in ids[40:43]:
        annotate(studio, tasks[i])
    annotate(studio, tasks[ids[43]], "cannot say")
    studio.call("PATCH", f"/api/annotations/{done[ids[0]]['id']}/",
                {"result": [{**CHOICES, "value": {"choices": [answers[ids[0]]]}}]})
    for i in ids[44:46]:
        studio.call("DELETE", f"/api/tasks/{tasks[i]['id']}/")
    annotate(studio, tasks[ids[46]], "neither")
    with bridge() as b:
        summary = b.step()
        assert (summary.created, summary.answered, summary.deleted, summary.corrected,
                summary.problems) == (0, 44, 2, 0, 1)
        assert nothing_to_send(b.step()), "what was given back may be asked for again"
    expected = {**{i: [answers[i]] for i in ids[:40]}, **{i: ["skipped"] for i in ids[40:43]},
                ids[43]: ["unsure"], **{i: ["skipped"] for i in ids[44:46]}}
    assert sent(pipeline) == expected

    # Either side is killed: what was sent is not sent again.
    abandoned = bridge()
    server.kill()
    with pytest.raises(fisd.BridgeError, match="is Label Studio there"):
        abandoned.step()
    server.start()
    del abandoned
    with bridge() as b:
        assert nothing_to_send(b.step())
        assert sent(pipeline) == expected

        # Too late for fisd, and not hidden: a correction and a deletion behind the answer.
        other = next(k for k in ("<=50K", ">50K") if k != answers[ids[0]])
        studio.call("PATCH", f"/api/annotations/{done[ids[0]]['id']}/",
                    {"result": [{**CHOICES, "value": {"choices": [other]}}]})
        studio.call("DELETE", f"/api/annotations/{done[ids[1]]['id']}/")
        summary = b.step()
        assert (summary.corrected, summary.deleted, summary.answered) == (1, 1, 0)
        assert nothing_to_send(b.step())
        expected[ids[0]].append(other)
        expected[ids[1]].append("skipped")
        assert sent(pipeline) == expected
        assert wait(lambda: dead_letters(pipeline), "a dead letter") == ["contradiction"]

        # A skip is followed by an answer after all; a request is withdrawn.
        annotation = studio.call("GET", f"/api/tasks/{tasks[ids[40]]['id']}/")["annotations"][0]
        studio.call("PATCH", f"/api/annotations/{annotation['id']}/", {
            "was_cancelled": False,
            "result": [{**CHOICES, "value": {"choices": [answers[ids[40]]]}}]})
        fisd_at_work.fisctl("labels", "cancel", ids[47])
        summary = b.step()
        assert (summary.corrected, summary.withdrawn) == (1, 1)
        assert studio.call("GET", f"/api/tasks/{tasks[ids[47]]['id']}/", none_on=404) is None

        # The rest is answered, and what was given back is asked for again: a version comes.
        def work():
            for i, task in tasks_of(studio, project).items():
                if not task["annotations"]:
                    annotate(studio, task, answers[i])
            b.step()
            return " version version=2 " in fisd_at_work.log()
        wait(work, "the round ends in a version", 2 * WAIT)
    assert len(studio.tasks(project, 100)) == len(tasks_of(studio, project))


def ledger(daemon):
    return {r["id"]: r for r in csv.DictReader(io.StringIO(daemon.fisctl("ledger", "export")))}


@pytest.mark.parametrize("how", ["webhook", "polling"])
def test_a_skip_is_not_an_answer(server, studio, daemons, pool, how):
    """Skipped, nothing chosen, a draft, a prediction: none of them is a class. Of five requests only the
    one in which a class was chosen, after it had been skipped, becomes a row of training; once."""
    daemon = daemons(f"skip-{how}", replace=[("labels_per_round: 32, rounds: 2, budget: 64",
                                              "labels_per_round: 16, rounds: 1, budget: 16, in_flight: 5")])
    pipeline = fisd.Pipeline.load(daemon.config)
    with fisd.Models(pipeline) as models, fisd.Records(pipeline) as records:
        models.wait(WAIT)
        records.send(pool[:2000])
    project = fisd.LabelStudioBridge.create_project(server.url, TOKEN, how, ["<=50K", ">50K"])
    webhook = Webhook("127.0.0.1:0") if how == "webhook" else None
    stop = threading.Event()
    with fisd.LabelStudioBridge(pipeline, server.url, TOKEN, project, timeout=PATIENCE) as b:
        def asked(n):
            """So many tasks, in the order of their making."""
            def there():
                event()
                found = sorted(tasks_of(studio, project).values(), key=lambda t: t["id"])
                return len(found) == n and found
            return wait(there, f"{n} tasks")

        def event():
            """Twice, as Label Studio may send it."""
            for _ in range(2 if webhook else 0):
                with urllib.request.urlopen(f"http://{webhook.address}/", b"{}", timeout=10) as r:
                    assert r.status == 204

        def until(expected):
            def there():
                event()
                found = sent(pipeline)
                return [found.get(i, []) for i in ids] == expected
            wait(there, f"answers {expected}")

        def states():
            """What fisd remembers of the first five records: state and whether the budget is charged."""
            memory = ledger(daemon)
            return [(memory[i]["state"], memory[i]["charged"]) for i in ids]

        runs = threading.Thread(target=b.run, args=(3600.0 if webhook else 0.2, stop, webhook))
        runs.start()
        try:
            tasks = asked(5)
            ids = [t["data"]["fisd_id"] for t in tasks]
            skipped, empty, prediction, draft, other = tasks
            choice = {**CHOICES, "value": {"choices": [">50K"]}}
            annotation = annotate(studio, skipped)
            annotate(studio, empty, was_cancelled=False)
            studio.call("POST", "/api/predictions/", {"task": prediction["id"], "result": [choice]})
            studio.call("POST", f"/api/tasks/{draft['id']}/drafts",
                        {"result": [choice], "lead_time": 1.0})
            until([["skipped"], ["skipped"], [], [], []])
            wait(lambda: states() == 2 * [("skipped", "0")] + 3 * [("open", "1")], "two skips, refunded")
            asked(7)  # the places of both are free again
            studio.call("PATCH", f"/api/annotations/{annotation['id']}/",
                        {"was_cancelled": False, "result": [choice]})
            until([["skipped", ">50K"], ["skipped"], [], [], []])
            wait(lambda: ledger(daemon)[ids[0]]["class"] == ">50K", "the answer is in the ledger")
            event()
        finally:
            stop.set()
            runs.join()
            if webhook:
                webhook.close()
        assert nothing_to_send(b.step())
    memory = ledger(daemon)
    assert [i for i, r in memory.items() if r["class"]] == ids[:1], "what has a label"
    assert memory[ids[0]]["state"] in ("accepted", "set_aside") and memory[ids[0]]["charged"] == "1"
    assert memory[ids[1]]["state"] == "skipped" and len(memory) == 7
    message = next(json.loads(m.value()) for m in _kafka.read_all(pipeline, pipeline.topic("labels"), 20)
                   if json.loads(m.value())["id"] == ids[1])
    assert message["annotator"].startswith("ls-") and message["labelled_at_ms"] > 0, "who, and when"
    status = daemon.fisctl("labels", "status")
    assert re.search(r"answered +1: ", status) and re.search(r" 1 skipped", status), status
    assert dead_letters(pipeline) == []


def test_it_settles_first(server, studio, pipeline, fisd_at_work):
    """What is corrected in time is sent once, and a project that is gone is no mass of skips."""
    project = fisd.LabelStudioBridge.create_project(server.url, TOKEN, "Other", ["<=50K", ">50K"])
    task = studio.call("POST", "/api/tasks/", {"project": project, "data": {"fisd_id": "x-1",
                                                                           "record": {}}})
    annotate(studio, task, ">50K")
    with fisd.LabelStudioBridge(pipeline, server.url, TOKEN, project, settle=3600, timeout=PATIENCE) as b:
        assert b.step().answered == 0
        b.settle = 0
        studio.call("DELETE", f"/api/projects/{project}/")
        before = sent(pipeline)
        with pytest.raises(fisd.BridgeError, match="404"):
            b.step()
        assert sent(pipeline) == before
