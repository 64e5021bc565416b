"""What this package does with Kafka clients, in one place."""

from __future__ import annotations

import time
import uuid
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Type, TypeVar

import confluent_kafka as ck

from .errors import DeliveryError, KafkaError, NotReady
from .pipeline import Pipeline

S = TypeVar("S", bound="Sender")
READ = {"enable.auto.commit": False, "auto.offset.reset": "earliest",
        "isolation.level": "read_committed"}
BAD_ID = "an id has 1 to 255 bytes of UTF-8 and no NUL"


def check_id(id_: Any) -> bytes:
    """The bytes of a record's id; ValueError when it can be none."""
    if isinstance(id_, bool) or not isinstance(id_, (str, int, bytes)):
        try:
            id_ = id_.item() if hasattr(id_, "item") else None
        except Exception:
            id_ = None
        if not isinstance(id_, (str, int)) or isinstance(id_, bool):
            raise ValueError(f"{BAD_ID}; expected a text or an integer")
    try:
        raw = id_ if isinstance(id_, bytes) else str(id_).encode()
        raw.decode()
    except UnicodeError:
        raise ValueError(BAD_ID) from None
    if not 1 <= len(raw) <= 255 or b"\0" in raw:
        raise ValueError(f"{BAD_ID}; found {len(raw)} bytes")
    return raw


class Sender:
    """A producer to one topic that raises when a message was not delivered.

    `timeout` seconds are what `flush` and `close` wait for acknowledgements.
    """

    def __init__(self, pipeline: Pipeline, topic: str, timeout: float,
                 kafka: Optional[Dict[str, Any]]) -> None:
        self.pipeline = pipeline
        self.topic = topic
        self.timeout = timeout
        self._failures: List[Tuple[str, str]] = []
        self._producer = ck.Producer(pipeline.client(**{
            "enable.idempotence": True, "linger.ms": 5,
            "delivery.timeout.ms": int(timeout * 1000), **(kafka or {})}))

    def _failed(self, error: Any, message: Any) -> None:
        if error is not None:
            key = message.key()
            self._failures.append((key.decode(errors="replace") if key else "", str(error)))

    def produce(self, key: Optional[bytes], value: bytes, timestamp: int = 0) -> None:
        until = time.monotonic() + self.timeout
        while True:
            self._raise()
            try:
                self._producer.produce(self.topic, key=key, value=value, timestamp=timestamp,
                                       on_delivery=self._failed)
                self._producer.poll(0)
                return
            except BufferError:
                if time.monotonic() > until:
                    raise NotReady(f"{self.topic}: the queue is full and nothing was acknowledged "
                                   f"for {self.timeout:g} s: is the broker there?") from None
                self._producer.poll(0.1)
            except ck.KafkaException as e:
                raise KafkaError(f"{self.topic}: {e.args[0]}") from None

    def _raise(self) -> None:
        if self._failures:
            failures, self._failures = self._failures, []
            raise DeliveryError(self.topic, failures)

    def flush(self) -> None:
        """Waits until everything that was sent is acknowledged.

        Raises
        ------
        DeliveryError
            Some messages were refused, or not acknowledged within the timeout.
        """
        left = self._producer.flush(self.timeout + 1)
        self._raise()
        if left:
            raise NotReady(f"{self.topic}: {left} messages are not acknowledged after "
                           f"{self.timeout:g} s: is the broker there?")

    def close(self) -> None:
        """As `flush`; to be called once, at the end. ``with`` does it."""
        self.flush()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, type_: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if type_ is None:
            self.close()
        else:  # what was sent goes out all the same, and does not hide the error
            self._producer.flush(self.timeout + 1)


def partitions(client: Any, topic: str, timeout: float) -> List[int]:
    """The partitions of a topic that exists.

    Raises
    ------
    KafkaError
        There is no such topic, or no broker.
    """
    try:
        found = client.list_topics(topic, timeout).topics[topic]
    except ck.KafkaException as e:
        raise KafkaError(f"{topic}: {e.args[0].str()}: is the broker there?") from None
    if found.error is not None or not found.partitions:
        why = found.error.str() if found.error is not None else "no partitions"
        raise KafkaError(f"{topic}: {why} (fisd and `fisctl topics create` create topics)")
    return sorted(found.partitions)


def reader(pipeline: Pipeline, kafka: Optional[Dict[str, Any]] = None) -> Any:
    """A consumer that is in no group: it is assigned what it reads, and commits nothing."""
    return ck.Consumer(pipeline.client(**READ, **{
        "group.id": f"fisd-python-{uuid.uuid4()}", "enable.partition.eof": True, **(kafka or {})}))


def assign_all(consumer: Any, topic: str, timeout: float) -> List[int]:
    """Assigns the whole topic from its beginning."""
    found = partitions(consumer, topic, timeout)
    consumer.assign([ck.TopicPartition(topic, p, ck.OFFSET_BEGINNING) for p in found])
    return found


def is_end(message: Any) -> bool:
    return message.error() is not None and message.error().code() == ck.KafkaError._PARTITION_EOF


def read_all(pipeline: Pipeline, topic: str, timeout: float,
             kafka: Optional[Dict[str, Any]] = None) -> Iterator[Any]:
    """All messages of a topic up to its end as it is now, as `timeout` allows between two."""
    consumer = reader(pipeline, kafka)
    try:
        left = set(assign_all(consumer, topic, timeout))
        until = time.monotonic() + timeout
        while left:
            message = consumer.poll(0.2)
            if message is None:
                if time.monotonic() > until:
                    raise NotReady(f"{topic}: nothing was read for {timeout:g} s, before its end: "
                                   "is the broker there?")
                continue
            until = time.monotonic() + timeout
            if is_end(message):
                left.discard(message.partition())
            elif message.error() is not None:
                if message.error().fatal() or not message.error().retriable():
                    raise KafkaError(f"{topic}: {message.error()}")
            else:
                yield message
    finally:
        consumer.close()


Callback = Optional[Callable[[Any], None]]
