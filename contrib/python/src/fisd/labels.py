"""Sending labels."""

from __future__ import annotations

import json
import time
from typing import Any, Dict, Optional, Sequence, Union

from . import fis_pb2
from ._kafka import Sender, check_id
from .errors import LabelError
from .pipeline import Pipeline

STATUS = ("labelled", "skipped", "unsure")


class Labels(Sender):
    """Sends answers to label requests.

    Use `Requests` to answer requests as they come; this class sends answers for ids that are known
    in another way. `flush` (or ``with``) waits until they are acknowledged; an answer that fisd
    refuses is on the dead-letter topic, with the reason.

    Parameters
    ----------
    pipeline : Pipeline
        Its `label_encoding` says how answers are written; with its `classes` they are checked.
    timeout : float
        Seconds until a message that is not acknowledged is an error.
    kafka : dict, optional
        More properties of librdkafka for this producer.
    """

    def __init__(self, pipeline: Pipeline, *, timeout: float = 30.0,
                 kafka: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(pipeline, pipeline.topic("labels"), timeout, kafka)

    def answer(self, id: Union[str, int, bytes], label: Optional[str] = None, *,
               index: Optional[int] = None, annotator: Optional[str] = None,
               at_ms: Optional[int] = None, classes: Sequence[str] = ()) -> None:
        """The label of a record.

        Parameters
        ----------
        id : str, int or bytes
            Of the request.
        label : str, optional
            The name of the class, exactly.
        index : int, optional
            The place of the class, from 0, instead of its name.
        annotator : str, optional
            Who answers, at most 255 bytes. Needed where several people are asked.
        at_ms : int, optional
            When, in milliseconds since 1970; now when absent.
        classes : sequence of str, optional
            What may be answered; the pipeline's classes when absent.

        Raises
        ------
        LabelError
            It is no class, or the id or annotator can be none.
        DeliveryError
            Earlier messages were not delivered.
        """
        classes = tuple(classes) or self.pipeline.classes
        if (label is None) == (index is None):
            raise LabelError("expected one of label and index")
        if label is not None and not isinstance(label, str):
            raise LabelError(f"label {label!r}: expected the name of a class, as a text; its "
                             "place is `index`")
        if label is not None and classes and label not in classes:
            raise LabelError(f"label {label!r}: not a class (allowed: {', '.join(classes)})")
        if index is not None and (isinstance(index, bool) or index < 0 or
                                  (classes and index >= len(classes))):
            raise LabelError(f"index {index}: 0 to {len(classes) - 1 if classes else 63} allowed")
        self._send(id, "labelled", label, index, annotator, at_ms)

    def skip(self, id: Union[str, int, bytes], *, annotator: Optional[str] = None,
             at_ms: Optional[int] = None) -> None:
        """Nobody is going to answer: the request is closed, and refunded to the budget."""
        self._send(id, "skipped", None, None, annotator, at_ms)

    def unsure(self, id: Union[str, int, bytes], *, annotator: Optional[str] = None,
               at_ms: Optional[int] = None) -> None:
        """Somebody looked and cannot say; to fisd it is as `skip`."""
        self._send(id, "unsure", None, None, annotator, at_ms)

    def correct(self, id: Union[str, int, bytes], label: Optional[str] = None, *,
                index: Optional[int] = None, annotator: Optional[str] = None,
                at_ms: Optional[int] = None) -> None:
        """Another answer than was sent before. Parameters and errors as `answer`.

        fisd uses it after `skip` and `unsure`. After a label that it has used, it does not take
        the label back: the correction goes to the dead-letter topic with the code
        ``contradiction``, where the operator finds it.
        """
        self.answer(id, label, index=index, annotator=annotator, at_ms=at_ms)

    def _send(self, id_: Any, status: str, label: Optional[str], index: Optional[int],
              annotator: Optional[str], at_ms: Optional[int]) -> None:
        try:
            key = check_id(id_)
        except ValueError as e:
            raise LabelError(f"id {id_!r}: {e}") from None
        if annotator is not None and not 1 <= len(str(annotator).encode()) <= 255:
            raise LabelError(f"annotator {annotator!r}: 1 to 255 bytes are allowed")
        at_ms = int(time.time() * 1000) if at_ms is None else at_ms
        if self.pipeline.label_encoding == "json":
            value = _json(key, status, label, index, annotator, at_ms)
        else:
            value = fis_pb2.Label(id=key, status=status.upper(), class_name=label or "",
                                  class_index=index or 0, annotator=annotator or "",
                                  labelled_at_ms=at_ms).SerializeToString()
        self.produce(key, value)


def _json(key: bytes, status: str, label: Optional[str], index: Optional[int],
          annotator: Optional[str], at_ms: int) -> bytes:
    out: Dict[str, Any] = {"id": key.decode()}
    if label is not None:
        out["label"] = label
    elif index is not None:
        out["class_index"] = index
    else:
        out["status"] = status
    if annotator is not None:
        out["annotator"] = str(annotator)
    out["labelled_at_ms"] = at_ms
    return json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode()


class Answer:
    """A label as it is on the labels topic: `id`, `status`, `label`, `annotator`."""

    __slots__ = ("id", "status", "label", "annotator")

    def __init__(self, id: str, status: str, label: Optional[str],
                 annotator: Optional[str]) -> None:
        self.id, self.status, self.label, self.annotator = id, status, label, annotator


def decode(pipeline: Pipeline, message: Any) -> Optional[Answer]:
    """A message of the labels topic; None when it is no answer."""
    key, value = message.key(), message.value()
    if value is None:
        return None
    try:
        if pipeline.label_encoding == "json":
            o = json.loads(value)
            id_ = o.get("id", None)
            who = o.get("annotator")
            status = o.get("status") or "labelled"
            label = o.get("label")
            if label is None and o.get("class_index") is not None and pipeline.classes:
                label = pipeline.classes[o["class_index"]]
            return Answer(str(id_) if id_ is not None else key.decode(), status,
                          str(label) if label is not None else None,
                          str(who) if who is not None else None)
        m = fis_pb2.Label.FromString(value)
        label = m.class_name or (pipeline.classes[m.class_index] if pipeline.classes else None)
        return Answer((m.id or key).decode(), STATUS[m.status],
                      label if m.status == 0 else None, m.annotator or None)
    except Exception:  # somebody else's message: fisd says on dead-letter what is wrong with it
        return None
