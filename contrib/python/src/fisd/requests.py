"""Label requests, and answers to them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Type, Union

import confluent_kafka as ck

from . import _image, _kafka, fis_pb2, labels
from .errors import FisdError, KafkaError, LabelError
from .labels import Labels
from .pipeline import Pipeline


@dataclass(frozen=True)
class Request:
    """A record whose label is asked for.

    Attributes
    ----------
    id : str
    record : dict or None
        The record by column; None when it cannot be shown so (raw bytes are in `raw`).
    classes : tuple of str
        What may be answered.
    round : int
        The round of labels that it belongs to.
    criterion : str
        What picked it: "ekg", "entropy", …
    head : int
        Number of the head that scored it.
    requested_at_ms, deadline_ms : int
        Milliseconds since 1970; deadline 0: it waits.
    votes : int
        How many answers are asked for, each from another annotator.
    attributes : dict of str to str
        Of a protobuf record: what the labeller sees besides.
    rank : int
        Its place, from 0, among the requests of its round, in the order in which they came: the
        trainer asks for the most useful one first.
    raw : bytes
        The record as it was on its topic; empty where requests are JSON.
    """

    id: str
    record: Optional[Dict[str, Any]]
    classes: Tuple[str, ...]
    round: int = 0
    criterion: str = ""
    head: int = 0
    requested_at_ms: int = 0
    deadline_ms: int = 0
    votes: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict)
    rank: int = 0
    raw: bytes = b""
    place: Tuple[int, int] = (-1, -1)  # partition and offset


@dataclass(frozen=True)
class Withdrawal:
    """Nobody need look at the record `id` any more; `reason`: expired, cancelled or decided."""

    id: str
    reason: str = ""
    round: int = 0
    place: Tuple[int, int] = (-1, -1)


def decode(pipeline: Pipeline, message: Any) -> Optional[Union[Request, Withdrawal]]:
    """A message of the requests topic; None when it is none."""
    place = (message.partition(), message.offset())
    value = message.value()
    if value is None:
        return None
    try:
        if pipeline.label_encoding == "json":
            return _of_json(json.loads(value), place)
        return _of_protobuf(pipeline, fis_pb2.LabelRequest.FromString(value), place)
    except Exception as e:
        raise FisdError(f"{message.topic()}/{place[0]}/{place[1]}: not a label request: {e} "
                        f"(label_encoding is {pipeline.label_encoding})") from None


def _of_json(o: Dict[str, Any], place: Tuple[int, int]) -> Union[Request, Withdrawal]:
    if o.get("cancelled"):
        return Withdrawal(o["id"], o.get("reason", ""), o.get("round", 0), place)
    return Request(o["id"], o.get("record"), tuple(o["classes"]), o.get("round", 0),
                   o.get("criterion", ""), o.get("head", 0), o.get("requested_at", 0),
                   o.get("deadline", 0), o.get("votes", 1), o.get("attributes") or {}, place=place)


def _of_protobuf(pipeline: Pipeline, m: Any,
                 place: Tuple[int, int]) -> Union[Request, Withdrawal]:
    if m.cancelled:
        return Withdrawal(m.id.decode(), m.reason, m.round, place)
    record: Optional[Dict[str, Any]] = None
    attributes: Dict[str, str] = {}
    names = [c.name for c in pipeline.columns]
    if m.encoding == fis_pb2.ENCODING_JSON:
        record = json.loads(m.record)
    elif m.encoding == fis_pb2.ENCODING_PROTOBUF and m.record[:1] != b"\0":
        r = fis_pb2.Record.FromString(m.record)
        attributes = dict(r.attributes)
        values = list(r.features)
        if r.HasField("sparse"):
            values = [0.0] * len(names)
            for i, v in zip(r.sparse.index, r.sparse.value):
                values[i] = v
        record = dict(zip(names, values)) if len(names) == len(values) else None
        if r.HasField("image"):
            record = {_image.KEY: _image.shown(r.image)}
    return Request(m.id.decode(), record, tuple(m.classes), m.round, m.criterion, m.head_version,
                   m.requested_at_ms, m.deadline_ms, max(m.votes, 1), attributes, raw=m.record,
                   place=place)


class Ranks:
    """The place of each request in its round."""

    def __init__(self) -> None:
        self._next: Dict[int, int] = {}

    def of(self, request: Request) -> Request:
        rank = self._next.get(request.round, 0)
        self._next[request.round] = rank + 1
        return Request(**{**request.__dict__, "rank": rank})


class Answered:
    """Who has answered what, from the labels topic."""

    def __init__(self, pipeline: Pipeline, timeout: float) -> None:
        self._who: Dict[str, Set[Optional[str]]] = {}
        for message in _kafka.read_all(pipeline, pipeline.topic("labels"), timeout):
            answer = labels.decode(pipeline, message)
            if answer is not None:
                self.add(answer.id, answer.annotator)

    def add(self, id_: str, annotator: Optional[str]) -> None:
        self._who.setdefault(id_, set()).add(annotator)

    def enough(self, request: Request) -> bool:
        return len(self._who.get(request.id, ())) >= request.votes


class Requests:
    """Iterates over the open label requests, and takes the answers.

    Several processes of one `group` share the requests among them. A request is committed once it
    is answered, skipped, withdrawn or `done`: what was not is handed out again after a crash. An
    answer that is sent twice counts once.

    Requests that were withdrawn, or that have all their answers, are passed over.

    Parameters
    ----------
    pipeline : Pipeline
    group : str, optional
        The consumer group; ``"<pipeline>-labellers"`` when absent.
    annotator : str, optional
        Who answers, where `answer` does not say.
    idle : float, optional
        Iteration ends after so many seconds without a request; without it, it waits for ever.
    withdrawals : bool
        Whether `poll` and iteration give a `Withdrawal` too, for a request handed out before.
    timeout : float
        Seconds that the broker may take to acknowledge or to answer.
    kafka : dict, optional
        More properties of librdkafka, for the consumer.

    Raises
    ------
    KafkaError
        The topic does not exist, or the broker is away.

    Examples
    --------
    ::

        with fisd.Requests(pipeline, annotator="ann") as requests:
            for request in requests:
                requests.answer(request, ask_somebody(request.record, request.classes))
    """

    def __init__(self, pipeline: Pipeline, *, group: Optional[str] = None,
                 annotator: Optional[str] = None, idle: Optional[float] = None,
                 withdrawals: bool = False, timeout: float = 30.0,
                 kafka: Optional[Dict[str, Any]] = None) -> None:
        self.pipeline = pipeline
        self.annotator = annotator
        self._idle, self._withdrawals, self._timeout = idle, withdrawals, timeout
        self._topic = pipeline.topic("label_requests")
        self._answered = Answered(pipeline, timeout)
        self._ranks = Ranks()
        self._open: Dict[str, Request] = {}
        self._outstanding: Dict[int, Set[int]] = {}  # by partition: offsets not done
        self._position: Dict[int, int] = {}          # by partition: behind the last one read
        self.labels = Labels(pipeline, timeout=timeout)
        self._consumer = ck.Consumer(pipeline.client(**_kafka.READ, **{
            "group.id": group or f"{pipeline.name}-labellers", **(kafka or {})}))
        _kafka.partitions(self._consumer, self._topic, timeout)
        self._consumer.subscribe([self._topic], on_revoke=self._revoked, on_lost=self._lost)

    def poll(self, timeout: float = 1.0) -> Optional[Union[Request, Withdrawal]]:
        """The next open request; None when there was none within `timeout` seconds.

        Raises
        ------
        KafkaError
            The broker refuses.
        FisdError
            A message that is no label request. It is passed over by the next call.
        """
        until = time.monotonic() + timeout
        while True:
            message = self._consumer.poll(max(until - time.monotonic(), 0))
            if message is None:
                return None
            if message.error() is not None:
                if message.error().fatal() or not message.error().retriable():
                    raise KafkaError(f"{self._topic}: {message.error()}")
                continue
            found = self._take(message)
            if found is not None:
                return found

    def _take(self, message: Any) -> Optional[Union[Request, Withdrawal]]:
        partition, offset = message.partition(), message.offset()
        self._position[partition] = offset + 1
        found = decode(self.pipeline, message)
        if isinstance(found, Request):
            found = self._ranks.of(found)
            if not self._answered.enough(found):
                self._outstanding.setdefault(partition, set()).add(offset)
                self._open[found.id] = found
                return found
        elif isinstance(found, Withdrawal):
            known = self._open.get(found.id)
            if known is not None:
                self.done(known)
            if known is not None and self._withdrawals:
                return found
        return None

    def __iter__(self) -> Iterator[Request]:
        since = time.monotonic()
        while self._idle is None or time.monotonic() - since < self._idle:
            found = self.poll(0.2)
            if found is not None:
                yield found  # type: ignore[misc]
                since = time.monotonic()

    def answer(self, request: Request, label: Optional[str] = None, *,
               index: Optional[int] = None, annotator: Optional[str] = None) -> None:
        """The label of a request: the name of a class, or its `index` from 0.

        Raises
        ------
        LabelError
            It is none of `Request.classes`; or several answers are asked for and no annotator is
            named.
        DeliveryError
            Earlier answers were not delivered.
        """
        self.labels.answer(request.id, label, index=index, annotator=self._who(request, annotator),
                           classes=request.classes)
        self._settle(request, annotator)

    def skip(self, request: Request, *, annotator: Optional[str] = None) -> None:
        """Nobody is going to answer it: it is refunded to the budget. Errors as `answer`."""
        self.labels.skip(request.id, annotator=self._who(request, annotator))
        self._settle(request, annotator)

    def unsure(self, request: Request, *, annotator: Optional[str] = None) -> None:
        """Somebody looked and cannot say. Errors as `answer`."""
        self.labels.unsure(request.id, annotator=self._who(request, annotator))
        self._settle(request, annotator)

    def correct(self, request: Request, label: Optional[str] = None, *,
                index: Optional[int] = None, annotator: Optional[str] = None) -> None:
        """Another answer than before; see `Labels.correct` for what fisd does with it."""
        self.answer(request, label, index=index, annotator=annotator)

    def _who(self, request: Request, annotator: Optional[str]) -> Optional[str]:
        who = annotator or self.annotator
        if request.votes > 1 and not who:
            raise LabelError(f"{request.id}: {request.votes} answers are asked for: every one must "
                             "name its annotator")
        return who

    def _settle(self, request: Request, annotator: Optional[str]) -> None:
        """The commit follows the acknowledgement: an answer may come twice, and is never lost."""
        self._answered.add(request.id, annotator or self.annotator)
        if self._answered.enough(request):
            self.labels.flush()
            self.done(request)

    def done(self, request: Request) -> None:
        """Nothing more is going to be sent for it from here; it is not handed out again."""
        partition, offset = request.place
        self._open.pop(request.id, None)
        waiting = self._outstanding.get(partition)
        if waiting is not None and offset in waiting:
            waiting.discard(offset)
            self._commit(partition)

    def _committable(self, partition: int) -> ck.TopicPartition:
        waiting = self._outstanding.get(partition)
        return ck.TopicPartition(self._topic, partition,
                                 min(waiting) if waiting else self._position[partition])

    def _commit(self, partition: int) -> None:
        if partition in self._position:
            self._consumer.commit(offsets=[self._committable(partition)], asynchronous=True)

    def _revoked(self, consumer: Any, revoked: List[Any]) -> None:
        offsets = [self._committable(p.partition) for p in revoked
                   if p.partition in self._position]
        if offsets:
            try:
                consumer.commit(offsets=offsets, asynchronous=False)
            except ck.KafkaException:
                pass  # they are handed out again, and answers count once
        self._lost(consumer, revoked)

    def _lost(self, consumer: Any, lost: List[Any]) -> None:
        for p in lost:
            self._outstanding.pop(p.partition, None)
            self._position.pop(p.partition, None)
            self._open = {k: r for k, r in self._open.items() if r.place[0] != p.partition}

    def close(self) -> None:
        """Waits for the acknowledgement of all answers, commits, and leaves the group.

        Raises
        ------
        DeliveryError
            Answers were not delivered; their requests come again.
        """
        try:
            self.labels.close()
        finally:
            self._consumer.close()

    def __enter__(self) -> "Requests":
        return self

    def __exit__(self, type_: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
