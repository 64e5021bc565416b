"""Following the models topic."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, Optional, Set, Tuple, Type

import numpy as np

from . import _kafka
from ._chunks import Assembler
from ._rows import with_numbers
from .errors import FisdError, KafkaError, ModelError, NotReady
from .pipeline import Pipeline
from .version import Version

log = logging.getLogger("fisd")


class Models:
    """The versions of a pipeline, followed by a thread; predictions by the served one.

    The newest served version is swapped in as a whole, between two predictions: every call
    predicts with one version. At the start the topic is read to its end first, so that nothing is
    predicted with an old version.

    Parameters
    ----------
    pipeline : Pipeline
    on_served : callable, optional
        Called with each `Version` that is swapped in, after the swap, by the following thread: the
        first is the one that is served at the start. What it raises is logged.
    on_version : callable, optional
        The same with each version, served or rejected, those of before among them.
    on_error : callable, optional
        Called with each `FisdError` that following meets: a damaged version (which is left out),
        a broker that is away (which is waited for). They are logged in any case.
    keep : int
        How many versions `versions` has: the newest ones, and the one that is served.
    timeout : float
        Seconds that single requests to the broker may take.
    kafka : dict, optional
        More properties of librdkafka for this consumer.

    Examples
    --------
    ::

        with fisd.Models(pipeline) as models:
            models.wait(60)
            models.predict_proba({"amount": 900, "purpose": "car"})
    """

    def __init__(self, pipeline: Pipeline, *,
                 on_served: Optional[Callable[[Version], Any]] = None,
                 on_version: Optional[Callable[[Version], Any]] = None,
                 on_error: Optional[Callable[[FisdError], Any]] = None,
                 keep: int = 16, timeout: float = 10.0,
                 kafka: Optional[Dict[str, Any]] = None) -> None:
        self.pipeline = pipeline
        self.timeout = timeout
        self._keep = max(keep, 1)
        self._callbacks: Dict[str, Any] = {"served": on_served, "version": on_version,
                                           "error": on_error}
        self._topic = pipeline.topic("models")
        self._assembler = Assembler()
        self._versions: Dict[int, Version] = {}
        self._served: Optional[Version] = None
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._last_error: Optional[FisdError] = None
        self._pending: Set[int] = set()  # partitions that are not read to their first end
        self._caught_up = False
        self._consumer = _kafka.reader(pipeline, {"error_cb": self._client_error,
                                                  **(kafka or {})})
        self._thread = threading.Thread(target=self._run, name=f"fisd-models-{pipeline.name}",
                                        daemon=True)
        self._thread.start()

    # ---- what users ask -------------------------------------------------------------------

    @property
    def served(self) -> Optional[Version]:
        """The served version; None before the first one is there."""
        return self._served

    @property
    def versions(self) -> Tuple[Version, ...]:
        """The newest versions, served and rejected, by number."""
        with self._changed:
            return tuple(v for _, v in sorted(self._versions.items()))

    def __getitem__(self, number: int) -> Version:
        """The version of this number; KeyError when it is not, or no longer, known."""
        with self._changed:
            return self._versions[number]

    def wait(self, timeout: float = 60.0, version: int = 1) -> Version:
        """Waits until a version of at least this number is served.

        Returns
        -------
        Version
            The served one.

        Raises
        ------
        NotReady
            It did not come within `timeout` seconds; the text has the last error.
        """
        until = time.monotonic() + timeout
        with self._changed:
            while self._served is None or self._served.version < version:
                left = until - time.monotonic()
                if left <= 0 or self._stopping.is_set():
                    raise NotReady(self._why_not(timeout, version))
                self._changed.wait(left)
            return self._served

    def _why_not(self, timeout: float, version: int) -> str:
        if self._stopping.is_set():
            return f"{self._topic}: closed"
        have = f"version {self._served.version} is served" if self._served else \
            "no version is served" if self._caught_up else "the topic is not read to its end"
        why = f"; the last error: {self._last_error}" if self._last_error else ""
        return f"{self._topic}: version {version} did not come in {timeout:g} s, {have}{why}"

    def _serving(self) -> Version:
        served = self._served
        if served is None:
            raise NotReady(f"{self._topic}: no version is served yet: wait() first")
        return served

    def predict_proba(self, rows: Any, ignore: Iterable[str] = ()) -> "np.ndarray[Any, Any]":
        """Probabilities of the classes by the served version, which one call uses for all rows.

        Parameters
        ----------
        rows : dict, sequence of dict, DataFrame, or array of shape (n, columns) or (columns,)
            As of `Version.predict_proba`. The pipeline's id, passthrough, label and sensitive
            columns are passed over. A number is a number: rows of csv.DictReader are texts, which
            ``records.numeric_text`` allows, and pandas.read_csv converts.
        ignore : iterable of str
            More columns that are no features.

        Returns
        -------
        ndarray of float64, shape (n, classes)
            Rows sum to 1; columns are in the order of `Version.classes`.

        Raises
        ------
        NotReady
            No version is served yet: `wait` first.
        RecordError
            What fisd would refuse: an unknown column, a text where a number belongs, a number that
            does not fit a 32-bit float. It names the row.
        """
        return self._serving().predict_proba(self._read(rows), self._ignored(ignore))

    def predict(self, rows: Any, ignore: Iterable[str] = ()) -> "np.ndarray[Any, Any]":
        """The most probable class of each row, str of shape (n,). Parameters and errors as
        `predict_proba`."""
        return self._serving().predict(self._read(rows), self._ignored(ignore))

    def _read(self, rows: Any) -> Any:
        if not self.pipeline.numeric_text:
            return rows
        names = [c.name for c in self.pipeline.columns]
        return with_numbers(rows, names,
                            {c.name for c in self.pipeline.columns if c.type == "numeric"})

    def _ignored(self, ignore: Iterable[str]) -> Tuple[str, ...]:
        return (self.pipeline.id, *self.pipeline.passthrough, *self.pipeline.examples, *ignore)

    def close(self) -> None:
        """Ends the following; predictions go on with the version that was served last."""
        self._stopping.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        with self._changed:
            self._changed.notify_all()

    def __enter__(self) -> "Models":
        return self

    def __exit__(self, type_: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __deepcopy__(self, memo: Any) -> "Models":
        return self  # sklearn copies parameters: a copy follows by the same thread

    # ---- the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set() and not self._assign():
                self._stopping.wait(0.5)
            while not self._stopping.is_set():
                message = self._consumer.poll(0.2)
                if message is not None:
                    self._take(message)
        finally:
            self._consumer.close()

    def _assign(self) -> bool:
        try:
            self._pending = set(_kafka.assign_all(self._consumer, self._topic, self.timeout))
            return True
        except KafkaError as e:
            self._report(e)
            return False

    def _take(self, message: Any) -> None:
        if _kafka.is_end(message):
            self._pending.discard(message.partition())
            if not self._pending and not self._caught_up:
                self._caught_up = True
                self._swap()
        elif message.error() is not None:
            self._report(KafkaError(f"{self._topic}: {message.error()}"))
        elif message.value() is not None:
            try:
                payload = self._assembler.feed(message.value())
                if payload is not None:
                    self._add(Version(payload))
            except ModelError as e:
                self._report(e)

    def _add(self, version: Version) -> None:
        with self._changed:
            self._versions[version.version] = version
            newest = self._newest_served()
            surplus = sorted(set(self._versions) - ({newest.version} if newest else set()))
            for number in surplus[:max(len(self._versions) - self._keep, 0)]:
                del self._versions[number]
        self._call("version", version)
        if self._caught_up:
            self._swap()

    def _newest_served(self) -> Optional[Version]:
        served = [v for v in self._versions.values() if v.served]
        return max(served, key=lambda v: v.version) if served else None

    def _swap(self) -> None:
        with self._changed:
            newest = self._newest_served()
            if newest is None or newest is self._served:
                return
            self._served = newest
            self._changed.notify_all()
        log.info("%s: version %d is served", self._topic, newest.version)
        self._call("served", newest)

    def _client_error(self, error: Any) -> None:
        self._report(KafkaError(f"{self._topic}: {error}"))

    def _report(self, error: FisdError) -> None:
        if str(error) != str(self._last_error):
            log.warning("%s", error)
        self._last_error = error
        self._call("error", error)

    def _call(self, name: str, argument: Any) -> None:
        callback = self._callbacks[name]
        if callback is None:
            return
        try:
            callback(argument)
        except Exception:
            log.exception("%s: on_%s failed", self._topic, name)
