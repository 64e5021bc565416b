"""A bridge to Label Studio: label requests become tasks, annotations become labels.

``python -m fisd.label_studio credit.yaml --url http://localhost:8080 --project 7`` runs it; the
token is in the environment as LABEL_STUDIO_TOKEN.
"""

from __future__ import annotations

import argparse
import datetime
import http.server
import logging
import os
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Type

import confluent_kafka as ck

from . import _kafka, labels, requests
from ._label_studio_http import Studio, labelling_config
from .errors import BridgeError, FisdError, KafkaError, NotReady
from .pipeline import Pipeline
from .requests import Request, Withdrawal

log = logging.getLogger("fisd")
MODEL = "fisd"  # the model version of the predictions whose scores are the order of the tasks
AT_ONCE = 500   # tasks of one import

Outcome = Tuple[str, Optional[str]]  # status and label


@dataclass
class Summary:
    """What a `LabelStudioBridge.step` did.

    Attributes
    ----------
    created : int
        Tasks that were made.
    withdrawn : int
        Tasks that were deleted because their request was withdrawn.
    answered : int
        First answers that were sent: labels, skips, and "unsure".
    corrected : int
        Answers that differ from the one that was sent before, of annotations that were changed.
    deleted : int
        Skips that were sent for annotations or whole tasks that people deleted.
    problems : int
        Annotations that name no single class; they are logged and left alone.
    """

    created: int = 0
    withdrawn: int = 0
    answered: int = 0
    corrected: int = 0
    deleted: int = 0
    problems: int = 0

    def __bool__(self) -> bool:
        return any(self.__dict__.values())


def priority(request: Request) -> float:
    """Above 0, at most 1; higher is asked first: earlier rounds, and in a round as the trainer
    asked."""
    return 1 / (1 + request.round + request.rank / 1e6)


class LabelStudioBridge:
    """Carries label requests to a project of Label Studio, and what people do there back.

    - A request becomes a task: ``record``, ``attributes``, ``fisd_id``, ``fisd_round``,
      ``fisd_criterion`` and ``fisd_priority`` are its data. With the project's "Uncertainty
      sampling" people get tasks by priority.
    - An annotation becomes a label of the annotator ``ls-<user>``; a skipped one, and one
      in which nothing is chosen, a skip; a draft or a prediction is no annotation. An
      annotation that is changed is sent again (`Labels.correct` says what fisd does with it); for
      one that is deleted after its answer was sent, and for a task that is deleted unanswered, a
      skip is sent.
    - The task of a withdrawn request is deleted, unless somebody has annotated it.

    The bridge keeps nothing itself: what is to do follows from the requests topic, its consumer
    group, the labels topic and the tasks. So it, Label Studio and the broker may be killed at any
    time; what was done is not done twice. Run one bridge for each project.

    Parameters
    ----------
    pipeline : Pipeline
    url : str
        Of Label Studio, as in a browser.
    token : str
        A legacy token or a personal access token.
    project : int
        See `create_project` for one that fits; another must have a ``Choices`` of the classes.
    choice : str
        The name of that ``Choices``.
    unsure : str, optional
        A choice that means "unsure".
    settle : float
        Seconds for which an annotation must have been left alone before it is sent: what is
        corrected or deleted earlier costs nothing. Uses both machines' clocks.
    priority : callable
        From a `Request` to a number above 0, at most 1; higher is first.
    page_size : int
        Tasks of one page when they are listed.
    timeout : float
        Seconds that single requests to the broker and to Label Studio may take.

    Raises
    ------
    BridgeError
        Label Studio cannot be reached, refuses the token, or has no such project.
    KafkaError, NotReady
        The topics cannot be read.
    """

    def __init__(self, pipeline: Pipeline, url: str, token: str, project: int, *,
                 choice: str = "label", unsure: Optional[str] = None, settle: float = 0.0,
                 priority: Callable[[Request], float] = priority, page_size: int = 100,
                 timeout: float = 30.0) -> None:
        self.pipeline, self.project = pipeline, project
        self.choice, self.unsure, self.settle = choice, unsure, settle
        self._priority, self._page_size = priority, page_size
        self._studio = Studio(url, token, timeout)
        self._votes = int(self._studio.call("GET", f"/api/projects/{project}/")
                          ["maximum_annotations"])
        self._topic = pipeline.topic("label_requests")
        self._ranks = requests.Ranks()
        self._requests: Dict[str, Request] = {}  # all that are not withdrawn
        self._withdrawn: Set[str] = set()
        self._given: Set[str] = set()  # a task was made for them, in this life or an earlier one
        self._sent: Dict[str, Dict[str, Outcome]] = {}  # by id and annotator
        self._others: Dict[str, Set[Optional[str]]] = {}  # who else has answered, at the start
        self._complained: Set[Tuple[int, str]] = set()
        self._read_answers(timeout)
        self._consumer = _kafka.reader(pipeline, {
            "group.id": f"{pipeline.name}-label-studio-{project}"})
        found = _kafka.assign_all(self._consumer, self._topic, timeout)
        self._committed = {p.partition: p.offset for p in self._consumer.committed(
            [ck.TopicPartition(self._topic, p) for p in found], timeout)}
        self._position: Dict[int, int] = {}
        self._partitions = set(found)
        self._ended: Set[int] = set()  # those that were read to their end once
        self._timeout = timeout
        self._labels = labels.Labels(pipeline, timeout=timeout)

    @staticmethod
    def create_project(url: str, token: str, title: str, classes: Sequence[str], *,
                       choice: str = "label", unsure: Optional[str] = None, votes: int = 1) -> int:
        """Makes a project for the bridge: the record as a table, a choice for each class.

        Returns
        -------
        int
            Its number.

        Raises
        ------
        BridgeError
            Label Studio cannot be reached, or refuses.
        """
        config = labelling_config(list(classes), choice, unsure)
        made = Studio(url, token).call("POST", "/api/projects/", {
            "title": title, "label_config": config, "sampling": "Uncertainty sampling",
            "maximum_annotations": votes, "show_skip_button": True})
        return int(made["id"])

    # ---- reading ------------------------------------------------------------------------------

    def _read_answers(self, timeout: float) -> None:
        """What was sent in earlier lives: the last answer of each annotator; and by others."""
        for message in _kafka.read_all(self.pipeline, self.pipeline.topic("labels"), timeout):
            answer = labels.decode(self.pipeline, message)
            if answer is None:
                continue
            who = answer.annotator or ""
            if who.startswith("ls-"):
                self._sent.setdefault(answer.id, {})[who] = (answer.status, answer.label)
            else:
                self._others.setdefault(answer.id, set()).add(who)

    def _is_answered(self, r: Request) -> bool:
        return r.id in self._sent or len(self._others.get(r.id, ())) >= r.votes

    def _read_requests(self) -> None:
        """Everything up to the end of the topic as it is now."""
        until = time.monotonic() + self._timeout
        while True:
            message = self._consumer.poll(0.2)
            if message is None:
                if self._ended == self._partitions:
                    return
                if time.monotonic() > until:
                    raise NotReady(f"{self._topic}: no end in {self._timeout:g} s: is the broker "
                                   "there?")
            elif _kafka.is_end(message):
                self._ended.add(message.partition())
                self._position.setdefault(message.partition(), message.offset())
            elif message.error() is None:
                until = time.monotonic() + self._timeout
                self._take(message)
            elif message.error().fatal() or not message.error().retriable():
                raise KafkaError(f"{self._topic}: {message.error()}")

    def _take(self, message: Any) -> None:
        partition, offset = message.partition(), message.offset()
        self._position[partition] = offset + 1
        try:
            found = requests.decode(self.pipeline, message)
        except FisdError as e:
            log.warning("%s", e)
            return
        if isinstance(found, Withdrawal):
            self._withdrawn.add(found.id)
            self._requests.pop(found.id, None)
        elif found is not None:
            self._requests[found.id] = self._ranks.of(found)
            if offset < self._committed.get(partition, 0):
                self._given.add(found.id)

    # ---- one step -----------------------------------------------------------------------------

    def step(self) -> Summary:
        """Does what there is to do now.

        Raises
        ------
        BridgeError, KafkaError, NotReady, DeliveryError
            Something is away or refuses. What was done is done; the next call does the rest.
        """
        done = Summary()
        self._read_requests()
        tasks: Dict[str, List[Dict[str, Any]]] = {}
        for task in self._studio.tasks(self.project, self._page_size):
            id_ = task["data"].get("fisd_id") if isinstance(task["data"], dict) else None
            if id_ is not None:
                tasks.setdefault(str(id_), []).append(task)
        self._send_answers(tasks, done)
        self._send_deleted_tasks(tasks, done)
        self._labels.flush()
        self._create(tasks, done)
        self._withdraw(tasks, done)
        if done:
            log.info("label studio %s: %s", self.project, done)
        return done

    def _create(self, tasks: Dict[str, Any], done: Summary) -> None:
        missing = [r for r in self._requests.values()
                   if r.id not in tasks and r.id not in self._given and not self._is_answered(r)]
        missing.sort(key=lambda r: -self._priority(r))
        votes = max((r.votes for r in missing), default=0)
        if votes > self._votes:
            self._studio.call("PATCH", f"/api/projects/{self.project}/",
                              {"maximum_annotations": votes})
            self._votes = votes
        for at in range(0, len(missing), AT_ONCE):
            some = missing[at:at + AT_ONCE]
            self._studio.call("POST", f"/api/projects/{self.project}/import",
                              [self._task(r) for r in some])
            done.created += len(some)
            self._given.update(r.id for r in some)
        if missing:  # whose scores "Uncertainty sampling" uses
            self._studio.call("PATCH", f"/api/projects/{self.project}/", {"model_version": MODEL})
        self._given.update(tasks)
        self._commit()

    def _commit(self) -> None:
        moved = {p: o for p, o in self._position.items() if o > self._committed.get(p, -1)}
        if not moved:
            return
        try:
            self._consumer.commit(offsets=[ck.TopicPartition(self._topic, p, o)
                                           for p, o in moved.items()], asynchronous=False)
        except ck.KafkaException as e:
            raise KafkaError(f"{self._topic}: {e.args[0]}") from None
        self._committed.update(moved)

    def _task(self, r: Request) -> Dict[str, Any]:
        first = self._priority(r)
        data = {"record": r.record or {}, "attributes": dict(r.attributes), "fisd_id": r.id,
                "fisd_round": r.round, "fisd_criterion": r.criterion, "fisd_priority": first}
        return {"data": data,
                "predictions": [{"model_version": MODEL, "score": 1 - first, "result": []}]}

    def _withdraw(self, tasks: Dict[str, List[Dict[str, Any]]], done: Summary) -> None:
        for id_ in self._withdrawn & set(tasks):
            for task in tasks[id_]:
                if not task["annotations"]:
                    self._studio.call("DELETE", f"/api/tasks/{task['id']}/", none_on=404)
                    done.withdrawn += 1

    def _send_answers(self, tasks: Dict[str, List[Dict[str, Any]]], done: Summary) -> None:
        for id_, several in tasks.items():
            newest: Dict[str, Dict[str, Any]] = {}
            for a in sorted((a for t in several for a in t["annotations"]),
                            key=lambda a: str(a["updated_at"])):
                newest[self._annotator(a)] = a
            for who, a in newest.items():
                self._send_annotation(id_, who, a, done)
            for who, (status, _) in list(self._sent.get(id_, {}).items()):
                if who not in newest and status == "labelled":
                    self._send(id_, who, ("skipped", None))
                    done.deleted += 1

    @staticmethod
    def _annotator(annotation: Dict[str, Any]) -> str:
        by = annotation.get("completed_by")
        return f"ls-{by.get('id') if isinstance(by, dict) else by}"

    def _send_annotation(self, id_: str, who: str, a: Dict[str, Any], done: Summary) -> None:
        if self.settle and _age(str(a["updated_at"])) < self.settle:
            return
        outcome = self._outcome(a)
        before = self._sent.get(id_, {}).get(who)
        if outcome is None:
            key = (int(a["id"]), str(a["updated_at"]))
            if key not in self._complained:
                self._complained.add(key)
                log.warning("label studio: annotation %s of task %s (%s): not one class of %s",
                            a["id"], a["task"], id_, self.choice)
                done.problems += 1
        elif outcome != before:
            self._send(id_, who, outcome)
            if before is None:
                done.answered += 1
            else:
                done.corrected += 1

    def _outcome(self, annotation: Dict[str, Any]) -> Optional[Outcome]:
        """None: it is not known."""
        if annotation.get("was_cancelled"):
            return "skipped", None
        chosen = [c for r in annotation["result"]
                  if r.get("from_name") == self.choice and r.get("type") == "choices"
                  for c in r["value"]["choices"]]
        if not chosen:
            return "skipped", None
        if len(chosen) != 1:
            return None
        if self.unsure is not None and chosen[0] == self.unsure:
            return "unsure", None
        classes = self.pipeline.classes
        return ("labelled", chosen[0]) if not classes or chosen[0] in classes else None

    def _send_deleted_tasks(self, tasks: Dict[str, Any], done: Summary) -> None:
        for id_ in self._given:
            request = self._requests.get(id_)
            if request is None or id_ in tasks or self._is_answered(request):
                continue
            for vote in range(request.votes):
                self._send(id_, "ls-deleted" + (f"-{vote + 1}" if vote else ""), ("skipped", None))
            done.deleted += 1

    def _send(self, id_: str, who: str, outcome: Outcome) -> None:
        status, label = outcome
        if status == "labelled":
            self._labels.answer(id_, label, annotator=who)
        elif status == "skipped":
            self._labels.skip(id_, annotator=who)
        else:
            self._labels.unsure(id_, annotator=who)
        self._sent.setdefault(id_, {})[who] = outcome

    # ---- running ------------------------------------------------------------------------------

    def run(self, interval: float = 10.0, stop: Optional[threading.Event] = None,
            webhook: Optional[Webhook] = None) -> None:
        """Steps every `interval` seconds, and when the webhook is called, until `stop` is set;
        waits for what is away, and logs it.

        Raises
        ------
        DeliveryError
            Answers were not delivered. A new bridge sends them.
        """
        stop = stop or threading.Event()
        pause = interval
        while not stop.is_set():
            try:
                self.step()
                pause = interval
            except (BridgeError, KafkaError, NotReady) as e:
                log.warning("%s", e)
                pause = min(2 * pause, 300.0)
            if webhook is None:
                stop.wait(pause)
            else:
                webhook.wait(pause, stop)

    def close(self) -> None:
        """Ends it; `DeliveryError` when answers were not delivered, which a new bridge sends."""
        try:
            self._labels.close()
        finally:
            self._consumer.close()

    def __enter__(self) -> "LabelStudioBridge":
        return self

    def __exit__(self, type_: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class Webhook:
    """Where Label Studio reports events: each has the bridge look at once.

    What an event says is not read: the bridge takes everything from Label Studio's API, so an
    event that comes twice, or is forged, changes nothing. Add ``http://HOST:PORT/`` to the
    project's webhooks.

    Parameters
    ----------
    address : str
        "host:port" to listen at; port 0: any (see `address`).
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        event = self._event = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 10

            def do_POST(self) -> None:
                event.set()
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                log.debug(format, *args)

        self._server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
        self._server.daemon_threads = True
        self.address = f"{host}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Until an event comes, `stop` is set or the time is over."""
        until = time.monotonic() + seconds
        while not stop.is_set() and time.monotonic() < until:
            if self._event.wait(min(0.5, max(0.0, until - time.monotonic()))):
                break
        self._event.clear()

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()


def _age(timestamp: str) -> float:
    then = datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    return (datetime.datetime.now(datetime.timezone.utc) - then).total_seconds()


def main() -> None:
    """The command line."""
    here = argparse.ArgumentParser(prog="python -m fisd.label_studio",
                                   description="Carry label requests to Label Studio and back.")
    here.add_argument("config", help="fisd's configuration file")
    here.add_argument("--url", required=True, help="of Label Studio")
    here.add_argument("--project", type=int, required=True, help="its number")
    here.add_argument("--choice", default="label", help="name of the Choices (default label)")
    here.add_argument("--unsure", help="the choice that means unsure")
    here.add_argument("--settle", type=float, default=0.0, metavar="SECONDS",
                      help="how long an annotation is left alone before it is sent (default 0)")
    here.add_argument("--interval", type=float, default=10.0, metavar="SECONDS",
                      help="between two looks (default 10)")
    here.add_argument("--webhook", metavar="HOST:PORT",
                      help="also look when Label Studio's webhook calls here")
    o = here.parse_args()
    token = os.environ.get("LABEL_STUDIO_TOKEN")
    if not token:
        here.error("the environment variable LABEL_STUDIO_TOKEN is not set")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with LabelStudioBridge(Pipeline.load(o.config), o.url, token, o.project, choice=o.choice,
                           unsure=o.unsure, settle=o.settle) as bridge:
        bridge.run(o.interval, webhook=Webhook(o.webhook) if o.webhook else None)


if __name__ == "__main__":
    main()
