"""Sending records."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np

from . import _image, fis_pb2
from ._kafka import Sender, check_id
from ._rows import (category, each, flat, from_text, is_missing, member, number, shown,
                    to_array)
from .errors import ConfigError, RecordError
from .pipeline import Pipeline

INTEGERS = (-(1 << 63), (1 << 63) - 1)


class Records(Sender):
    """Sends records to the topic that the scorers read.

    Parameters
    ----------
    pipeline : Pipeline
        Its `record_encoding` says how records are written. With its `columns`, records are checked
        as fisd checks them; without, fisd's dead-letter topic has what it refused.
    timeout : float
        Seconds until a message that is not acknowledged is an error.
    kafka : dict, optional
        More properties of librdkafka for this producer.

    Raises
    ------
    ConfigError
        `record_encoding` is "registry", or needs columns that the pipeline does not have.

    Examples
    --------
    ::

        with fisd.Records(pipeline) as records:
            records.send(frame)                          # ids in its column "id"
            records.send({"amount": 900}, ids=["a-17"])
    """

    def __init__(self, pipeline: Pipeline, *, timeout: float = 30.0,
                 kafka: Optional[Dict[str, Any]] = None) -> None:
        if pipeline.record_encoding == "registry":
            raise ConfigError("record_encoding registry: records are written by the serializers of "
                              "the schema registry (confluent_kafka.schema_registry)")
        if pipeline.record_encoding != "json" and not pipeline.columns:
            raise ConfigError(f"record_encoding {pipeline.record_encoding}: the pipeline's columns "
                              "are needed")
        super().__init__(pipeline, pipeline.topic("records"), timeout, kafka)
        self._types = {c.name: c.type for c in pipeline.columns}
        self._names = list(self._types)

    def send(self, rows: Any, *, ids: Optional[Iterable[Any]] = None,
             attributes: Optional[Iterable[Mapping[str, str]]] = None,
             event_times: Optional[Iterable[int]] = None) -> int:
        """Hands rows to Kafka, in their order. `flush` waits for them.

        Parameters
        ----------
        rows : dict, iterable of dict, DataFrame, or array of shape (n, columns) or (columns,)
            Arrays have the pipeline's columns in their order. None, NaN and NA are missing values.
            Dicts may be nested: the column ``address.city`` is ``{"address": {"city": "Ulm"}}``, or
            a key with that dot in it. They are sent as they are.
            Iterables may be without end: rows go out one by one. For images (``model.type: vit``)
            a dict has ``"image"``: the bytes of a PNG or JPEG, or uint8 of shape (height, width,
            channels); or the rows are an array of uint8 of shape (n, height, width, channels).
        ids : iterable of str or int, optional
            Ids of the rows; the column `Pipeline.id` has them otherwise. A record without either
            has its place in the topic as its id.
        attributes : iterable of mapping of str to str, optional
            What the labeller sees besides; protobuf only. With JSON, columns of
            `Pipeline.passthrough` do that.
        event_times : iterable of int, optional
            Milliseconds since 1970: timestamps of the messages.

        Returns
        -------
        int
            How many rows were handed over.

        Raises
        ------
        RecordError
            A row that fisd would refuse; `row` says which, `sent` how many went out before it.
        DeliveryError
            Messages of this or an earlier call were not delivered.
        """
        more = [iter(x) if x is not None else None for x in (ids, attributes, event_times)]
        if more[1] is not None and self.pipeline.record_encoding != "protobuf":
            raise ConfigError("attributes: protobuf records only; JSON records have columns of "
                              "Pipeline.passthrough")
        sent = 0
        for row in self._rows(rows):
            try:
                id_, attribute, time = (_next(x, sent) for x in more)
                key, value = self._encode(row, id_, attribute)
            except RecordError as e:
                error = RecordError(e.reason, sent)
                error.sent = sent
                raise error from None
            self.produce(key, value, int(time or 0))
            sent += 1
        return sent

    def _rows(self, rows: Any) -> Iterable[Any]:
        if isinstance(rows, np.ndarray) and rows.ndim > 2:
            return _image.each_of(rows)
        if self.pipeline.record_encoding == "json":
            return each(rows, self._names)
        array = to_array(rows, self._names)
        return array if array is not None else each(rows, self._names)

    def _encode(self, row: Any, id_: Any,
                attributes: Optional[Mapping[str, str]]) -> Tuple[Optional[bytes], bytes]:
        column = self.pipeline.id
        if id_ is None and isinstance(row, dict) and column not in self._types:
            id_ = member(row, column)
            id_ = None if is_missing(id_) else id_
        elif id_ is None and isinstance(row, dict):
            id_ = member(row, column)
        try:
            key = None if id_ is None else check_id(id_)
        except ValueError as e:
            raise RecordError(f"id {shown(id_)}: {e}") from None
        image = row.get(_image.KEY) if isinstance(row, dict) else None
        if _image.is_image(image) and _image.KEY not in self._types:
            return key, self._image(row, image, key, attributes)
        if self.pipeline.record_encoding == "json":
            return key, self._json(row, key)
        features = self._features(row)
        if self.pipeline.record_encoding == "raw":
            return key, features.astype("<f4").tobytes()
        return key, _protobuf(features, key, attributes)

    def _image(self, row: Dict[str, Any], image: Any, key: Optional[bytes],
               attributes: Optional[Mapping[str, str]]) -> bytes:
        others = {name: v for name, v in row.items() if name != _image.KEY}
        if self.pipeline.record_encoding == "json":
            return self._json(others, key, {_image.KEY: _image.text(image)})
        if self.pipeline.record_encoding == "raw":
            raise RecordError("image: raw records are numbers; json and protobuf records have images")
        for name in others:
            if name != self.pipeline.id:
                raise RecordError(f"unknown column {name!r}")
        return fis_pb2.Record(id=key or b"", attributes=attributes or {},  # type: ignore[no-any-return]
                              image=_image.message(image)).SerializeToString()

    def _json(self, row: Dict[str, Any], key: Optional[bytes],
              more: Optional[Dict[str, Any]] = None) -> bytes:
        try:
            return json.dumps({**self._members(row, "", key), **(more or {})}, ensure_ascii=False, allow_nan=False,
                              separators=(",", ":")).encode()
        except (TypeError, ValueError, UnicodeError) as e:
            raise RecordError(str(e)) from None

    def _members(self, row: Mapping[str, Any], prefix: str, key: Optional[bytes]) -> Dict[str, Any]:
        """An object as it is sent; `prefix` is its path with a dot, or empty."""
        out: Dict[str, Any] = {}
        for name, v in row.items():
            path = f"{prefix}{name}"
            if is_missing(v):
                continue
            if path == self.pipeline.id and path not in self._types:
                if key is not None:
                    out[name] = key.decode()
            elif path in self._types:
                out[name] = self._feature(path, v)
            elif path in self.pipeline.passthrough:
                out[name] = _plain(path, v)
            elif isinstance(v, Mapping):
                out[name] = self._members(v, path + ".", key)
            elif self._types and self.pipeline.unknown == "refuse":
                raise RecordError(f"unknown column {path!r} (allowed: {', '.join(self._names[:12])}"
                                  f"{', …' if len(self._names) > 12 else ''}, and "
                                  "Pipeline.passthrough)")
            else:
                out[name] = _plain(path, v)
        return out

    def _feature(self, name: str, v: Any) -> Any:
        if self._types[name] != "numeric":
            return category(name, v)
        if self.pipeline.numeric_text and isinstance(v, str):
            x = from_text(v)
            if x is not None:
                number(name, x)
            return v
        x = number(name, v)
        return _integer(name, int(v)) if isinstance(v, (int, np.integer)) else x

    def _features(self, row: Any) -> "np.ndarray[Any, Any]":
        """float32 [columns]: there is no missing value in these encodings."""
        if isinstance(row, dict):
            known = {self.pipeline.id, *self._types}
            for name in flat(row, known):
                if name not in known:
                    raise RecordError(f"unknown column {name!r}")
            values: List[Any] = [member(row, name) for name in self._names]
        else:
            values = list(row)
        for name, v in zip(self._names, values):
            if is_missing(v):
                raise RecordError(f"column {name}: missing, which "
                                  f"{self.pipeline.record_encoding} records cannot say")
        return np.array([number(n, v) for n, v in zip(self._names, values)], dtype=np.float32)


def _next(values: Any, row: int) -> Any:
    if values is None:
        return None
    try:
        return next(values)
    except StopIteration:
        raise RecordError("there are fewer ids, attributes or event_times than rows") from None


def _integer(name: str, v: int) -> int:
    if not INTEGERS[0] <= v <= INTEGERS[1]:
        raise RecordError(f"column {name}: {v} has more than 64 bits")
    return v


def _plain(name: str, v: Any) -> Any:
    """A value for JSON; numpy's scalars as Python's."""
    if isinstance(v, np.generic):
        v = v.item()
    if isinstance(v, float):
        return number(name, v)
    if isinstance(v, int) and not isinstance(v, bool):
        return _integer(name, v)
    return v


def _protobuf(features: "np.ndarray[Any, Any]", key: Optional[bytes],
              attributes: Optional[Mapping[str, str]]) -> bytes:
    record = fis_pb2.Record(id=key or b"", attributes=attributes or {})
    index = np.flatnonzero(features)
    if len(index) * 2 < len(features):  # an index takes 1 to 3 bytes, a value 4
        record.sparse.index.extend(index.tolist())
        record.sparse.value.extend(features[index].tolist())
        record.sparse.SetInParent()
    else:
        record.features.extend(features.tolist())
    return record.SerializeToString()  # type: ignore[no-any-return]
