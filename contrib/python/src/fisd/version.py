"""A model version: everything that is needed to predict, and why it is (or is not) served."""

from __future__ import annotations

import datetime
from typing import Any, Dict, Iterable, List, Optional, Tuple

import numpy as np

from . import fis_pb2
from ._encoder import MARGIN_SCALE, Encoder
from ._transformer import Transformer
from .errors import ModelError, RecordError


class Version:
    """One version of a pipeline's model. Immutable; threads may share it; it can be pickled.

    Attributes
    ----------
    version : int
        Its number, which rises by one for each version.
    pipeline : str
    parent : int
        The version served before it; 0: none.
    served : bool
        False: the gate rejected it.
    classes : tuple of str
        In the order of the columns of `predict_proba`.
    positive : str
        The class whose rates the fairness metrics compare.
    columns : tuple of str
        The features, in the order in which arrays have them.
    reason, reason_text : str
        Why the gate decided so: one word, and with its numbers.
    metrics : dict of str to float
        On the gate's validation rows: accuracy, demographic_parity, … A metric that could not be
        worked out is not in it.
    labels_bought, labels_kept, round : int
        How many labels it was made with, and in which round.
    created_at : datetime.datetime
        In UTC.
    message : fis.v1.ModelVersion
        All of it, as ``fis.proto`` describes it.
    """

    def __init__(self, payload: bytes) -> None:
        """Reads the bytes of a ``ModelVersion``.

        Raises
        ------
        ModelError
            They are none, or of a kind that this package cannot predict with.
        """
        try:
            m = fis_pb2.ModelVersion.FromString(payload)
        except Exception as e:
            raise ModelError(f"not a model version: {e}") from None
        self._payload = payload
        self.message = m
        self.version: int = m.version
        self.pipeline: str = m.pipeline
        self.parent: int = m.parent
        self.served: bool = m.served
        self.classes: Tuple[str, ...] = tuple(m.classes)
        self.reason: str = m.gate.reason
        self.reason_text: str = m.gate.reason_text
        self.metrics: Dict[str, float] = {x.name: x.value for x in m.metrics.values}
        self.labels_bought: int = m.lineage.labels_bought
        self.labels_kept: int = m.lineage.labels_kept
        self.round: int = m.lineage.round
        self.created_at = datetime.datetime.fromtimestamp(m.created_at_ms / 1000,
                                                          datetime.timezone.utc)
        try:
            self._read_network(m)
        except ModelError as e:
            raise ModelError(f"version {m.version}: {e}") from None
        self.positive: str = self.classes[m.positive]

    def _read_network(self, m: Any) -> None:
        if len(m.classes) < 2 or m.positive >= len(m.classes):
            raise ModelError(f"{len(m.classes)} classes, the positive one is {m.positive}")
        self._encoder = Encoder(m.encoder)
        self.columns: Tuple[str, ...] = self._encoder.names
        self._layers: List[Tuple[Any, Any]] = []
        self._transformer: Optional[Transformer] = None
        if not m.network.parameters:
            if m.served:
                raise ModelError("it is served and has no parameters")
            return
        width = list(m.network.width)
        flat = np.array(m.network.parameters, dtype=np.float32)
        inputs, at = (width or [0])[0], 0
        if m.network.HasField("transformer"):
            self._transformer = Transformer(m.network.transformer, flat)
            at = self._transformer.used
            if inputs == m.network.transformer.dim:
                inputs = int(np.prod(self._transformer.shape))
        if len(width) < 2 or inputs != self._encoder.dimension or width[-1] != len(m.classes):
            raise ModelError(f"a network of widths {width}, an encoder of "
                             f"{self._encoder.dimension} numbers and {len(m.classes)} classes: "
                             "this package cannot predict with it")
        expected = at + sum((a + 1) * b for a, b in zip(width, width[1:]))
        if len(flat) != expected or not np.isfinite(flat).all():
            raise ModelError(f"{len(flat)} parameters, expected {expected} finite ones")
        for rows, units in zip(width, width[1:]):
            weights = flat[at:at + rows * units].reshape(rows, units)
            at += rows * units
            self._layers.append((weights, flat[at:at + units]))
            at += units

    def __reduce__(self) -> Tuple[Any, ...]:
        return Version, (self._payload,)

    def __repr__(self) -> str:
        verdict = "served" if self.served else "rejected"
        return f"<fisd.Version {self.version} of {self.pipeline}: {verdict}, {self.reason}>"

    @property
    def can_predict(self) -> bool:
        """False: it was rejected and came without parameters."""
        return bool(self._layers)

    def encode(self, rows: Any, ignore: Iterable[str] = ()) -> "np.ndarray[Any, Any]":
        """What the network sees.

        Returns
        -------
        ndarray of float32, shape (n, d)
            As fisd has it, to the last bit.
        """
        if self._transformer and isinstance(rows, np.ndarray) and rows.ndim > 2:
            return self._encoder.standardised(self._transformer.pixels(rows))
        return self._encoder.encode(rows, ignore)

    def logits(self, rows: Any, ignore: Iterable[str] = ()) -> "np.ndarray[Any, Any]":
        """The outputs of the network, before they become probabilities.

        Returns
        -------
        ndarray of float32, shape (n, classes)

        Raises
        ------
        RecordError, ModelError
            As `predict_proba`.
        """
        if not self._layers:
            raise ModelError(f"version {self.version} has no parameters: it was rejected")
        x = a = self.encode(rows, ignore)
        with np.errstate(over="ignore", invalid="ignore"):
            if self._transformer:
                a = self._transformer.features(x)
            for i, (weights, bias) in enumerate(self._layers):
                a = a @ weights + bias
                if i + 1 < len(self._layers):
                    np.maximum(a, 0, out=a)
        margins = self._encoder.margins
        if margins:
            a[:, -margins:] += MARGIN_SCALE * x[:, -margins:]
        bad = ~np.isfinite(a).all(axis=1)
        if bad.any():
            raise RecordError("its score is not a finite number", int(np.flatnonzero(bad)[0]))
        return a

    def predict_proba(self, rows: Any, ignore: Iterable[str] = ()) -> "np.ndarray[Any, Any]":
        """Probabilities of the classes.

        Parameters
        ----------
        rows : dict, sequence of dict, DataFrame, or array of shape (n, columns) or (columns,)
            Dicts and frames by the names of `columns`; arrays in that order. A value that is None,
            NaN or NA, and a column that is not there, is missing. A category that the initial set
            did not have is scored as unseen. A version for images takes arrays of shape
            (n, height, width, channels) or (height, width, channels) too: uint8, or what fisd
            makes of a byte b, b / 127.5 - 1.
        ignore : iterable of str
            Other columns that dicts and frames may have (an id, the label). Any other unknown
            column is an error, so that a misspelt one is noticed.

        Returns
        -------
        ndarray of float64, shape (n, classes)
            Rows sum to 1; columns are in the order of `classes`. A single dict is one row.

        Raises
        ------
        RecordError
            What fisd would refuse: an unknown column, a text where a number belongs, a number
            where a text belongs, a number that does not fit a 32-bit float. It names the row.
        ModelError
            The version has no parameters (`can_predict`).
        """
        z = self.logits(rows, ignore).astype(np.float64)
        z = np.exp(z - z.max(axis=1, keepdims=True)) if len(z) else z
        p: "np.ndarray[Any, Any]" = z / z.sum(axis=1, keepdims=True)
        return p

    def predict(self, rows: Any, ignore: Iterable[str] = ()) -> "np.ndarray[Any, Any]":
        """The most probable class of each row.

        Returns
        -------
        ndarray of str, shape (n,)
            The first of several that are as probable. Parameters and errors as `predict_proba`.
        """
        names: "np.ndarray[Any, Any]" = np.array(self.classes)
        best: "np.ndarray[Any, Any]" = names[self.logits(rows, ignore).argmax(axis=1)]
        return best
