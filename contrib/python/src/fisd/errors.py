"""The errors of this package. All are `FisdError`."""

from __future__ import annotations

from typing import Sequence, Tuple


class FisdError(Exception):
    """What every error of this package is."""


class ConfigError(FisdError, ValueError):
    """A pipeline's description that cannot be used."""


class RecordError(FisdError, ValueError):
    """A record that fisd would refuse.

    Attributes
    ----------
    row : int or None
        Its row, from 0, in what was passed.
    sent : int
        How many rows before it were handed to Kafka (by `Records.send`).
    """

    def __init__(self, text: str, row: "int | None" = None) -> None:
        super().__init__(f"row {row}: {text}" if row is not None else text)
        self.reason = text
        self.row = row
        self.sent = 0


class LabelError(FisdError, ValueError):
    """An answer that fisd would refuse."""


class DeliveryError(FisdError):
    """Messages that Kafka has not acknowledged.

    Attributes
    ----------
    failures : list of (str, str)
        The id of each message and the reason, in the order in which they failed.
    """

    def __init__(self, topic: str, failures: Sequence[Tuple[str, str]]) -> None:
        self.failures = list(failures)
        first = self.failures[0]
        super().__init__(f"{topic}: {len(self.failures)} messages were not delivered; "
                         f"the first, id {first[0]!r}: {first[1]}")


class KafkaError(FisdError):
    """The broker cannot be reached, or refuses."""


class ModelError(FisdError):
    """A model version that cannot be read: damaged, or of a format that this package lacks."""


class NotReady(FisdError, TimeoutError):
    """What was waited for has not come in time; the text says what is known about the reason."""


class BridgeError(FisdError):
    """Label Studio cannot be reached, or refuses."""
