"""Columns to the numbers that the network sees, as fisd does it."""

from __future__ import annotations

import math
import sys
from typing import Any, Iterable, List, Tuple

import numpy as np

from . import fis_pb2
from ._rows import FLOAT_MAX, by_column, category, is_missing, number
from .errors import ModelError, RecordError

CLIP = 50.0
MARGIN_SCALE = 4
MARGIN_MAX = 30.0
PROBABILITY_MIN = 1e-6
Array = "np.ndarray[Any, Any]"


class _Numeric:
    def __init__(self, c: Any) -> None:
        self.name, self.mean = c.name, c.mean
        self.scaled = c.scale == fis_pb2.Encoder.Column.STANDARD
        if not self.scaled and c.scale != fis_pb2.Encoder.Column.NONE:
            raise ModelError(f"column {c.name}: scale {c.scale} is not known here")
        if not (np.isfinite(c.mean) and np.isfinite(c.deviation) and c.deviation > 0):
            raise ModelError(f"column {c.name}: mean {c.mean} and deviation {c.deviation}, expected "
                             "finite ones, the deviation above 0")
        # fisd multiplies by the inverse; so do we, to the last bit.
        self.factor = min(1 / c.deviation, sys.float_info.max)
        self.width = 2 if c.missing_indicator else 1

    def encode(self, values: Any, out: Any) -> None:
        x, missing = _numbers(self.name, values)
        if self.scaled:
            x = np.clip((x - self.mean) * self.factor, -CLIP, CLIP)
        out[:, 0] = np.where(missing, 0, x)
        if self.width == 2:
            out[:, 1] = missing

    def encode_missing(self, out: Any) -> None:
        if self.width == 2:
            out[:, 1] = 1


def _numbers(name: str, values: Any) -> Tuple[Any, Any]:
    """The values as float64 [n], and which are missing."""
    a = values if isinstance(values, np.ndarray) else None
    if a is not None and a.dtype.kind in "iuf":
        x = a.astype(np.float64)
        missing = np.isnan(x)
        bad = ~missing & ~(np.abs(x) <= FLOAT_MAX)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise RecordError(f"column {name}: {a[row]} does not fit a 32-bit float", row)
        return x, missing
    x = np.zeros(len(values))
    missing = np.zeros(len(values), dtype=bool)
    for i, v in enumerate(values):
        if is_missing(v):
            missing[i] = True
            continue
        try:
            x[i] = number(name, v)
        except RecordError as e:
            raise RecordError(e.reason, i) from None
    return x, missing


class _Categorical:
    def __init__(self, c: Any) -> None:
        self.name = c.name
        self.index = {category: i for i, category in enumerate(c.categories)}
        self.width = len(c.categories) + 2

    def encode(self, values: Any, out: Any) -> None:
        unseen, missing = self.width - 2, self.width - 1
        at = np.empty(len(values), dtype=np.intp)
        for i, v in enumerate(values):
            if isinstance(v, str) and v in self.index:
                at[i] = self.index[v]
            elif is_missing(v):
                at[i] = missing
            else:
                try:
                    at[i] = self.index.get(category(self.name, v), unseen)
                except RecordError as e:
                    raise RecordError(e.reason, i) from None
        out[np.arange(len(at)), at] = 1

    def encode_missing(self, out: Any) -> None:
        out[:, self.width - 1] = 1


class _Base:
    """The columns of a base: scores of a model in production, which become margins."""

    def __init__(self, columns: List[Any]) -> None:
        self.names = [c.name for c in columns]
        self.probability = any(c.scale == fis_pb2.Encoder.Column.PROBABILITY for c in columns)
        self.width = len(columns)
        if any(c.scale != columns[0].scale for c in columns):
            raise ModelError("the columns of a base are of several scales")

    def encode(self, columns: Any, n: int, out: Any) -> None:
        m = np.zeros((n, self.width))
        for i, name in enumerate(self.names):
            m[:, i] = self._margin(name, columns.get(name, [None] * n))
        out[:] = _scaled(m) if self.width else m

    def _margin(self, name: str, values: Any) -> Any:
        x, missing = _numbers(name, values)
        if missing.any():
            raise RecordError(f"column {name}: no value; every record requires the base's score",
                              int(np.flatnonzero(missing)[0]))
        if not self.probability:
            return x
        bad = ~((x >= -PROBABILITY_MIN) & (x <= 1 + PROBABILITY_MIN))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise RecordError(f"column {name}: a probability (0 to 1) expected, {x[row]:.9g} found",
                              row)
        p = np.clip(x, PROBABILITY_MIN, 1 - PROBABILITY_MIN)
        odds = p / (1 - p) if self.width == 1 else p
        return [math.log(v) for v in odds.tolist()]  # numpy's differs in the last bit


class _Trees:
    """A base of boosted trees on the features."""

    def __init__(self, m: Any) -> None:
        self.width, self.depth = m.margins, m.depth
        nodes = (1 << m.depth) - 1
        self.feature = np.array(m.feature, dtype=np.intp).reshape(-1, nodes)
        self.threshold = np.array(m.threshold, dtype=np.float32).reshape(-1, nodes)
        self.leaf = np.array(m.leaf, dtype=np.float32).reshape(-1, nodes + 1)
        if not len(self.feature) == len(self.threshold) == len(self.leaf):
            raise ModelError("the trees of its base do not fit together")

    def margins(self, x: Any) -> Any:
        total = np.zeros((len(x), self.width), dtype=np.float32)
        rows = np.arange(len(x))
        for t, (feature, threshold, leaf) in enumerate(zip(self.feature, self.threshold,
                                                           self.leaf)):
            at = np.zeros(len(x), dtype=np.intp)
            for _ in range(self.depth):
                at = 2 * at + 2 - (x[rows, feature[at]] < threshold[at])
            total[:, t % self.width] += leaf[at - (len(leaf) - 1)]
        return total.astype(np.float64)


def _scaled(m: Any) -> Any:
    """Margins as features."""
    if m.shape[1] > 1:
        m = m - m.max(axis=1, keepdims=True)
    return np.clip(m, -MARGIN_MAX, MARGIN_MAX).astype(np.float32) / MARGIN_SCALE


def _pixel_columns(image: Any) -> List[Any]:
    """The columns of an encoder of images: those of a channel are alike."""
    kinds = fis_pb2.Encoder.Column
    return [kinds(name=f"f{i}", type=kinds.NUMERIC, scale=kinds.STANDARD,
                  mean=image.mean[i % image.channels], deviation=image.deviation[i % image.channels])
            for i in range(image.height * image.width * image.channels)]


class Encoder:
    """The encoder of a version.

    Parameters
    ----------
    message : fis.v1.Encoder
        As it is in a model version.

    Raises
    ------
    ModelError
        It has something that this package does not know.
    """

    def __init__(self, message: Any) -> None:
        kinds = {fis_pb2.Encoder.Column.NUMERIC: _Numeric,
                 fis_pb2.Encoder.Column.CATEGORICAL: _Categorical}
        self._columns: List[Any] = []
        described = _pixel_columns(message.image) if message.HasField("image") else message.columns
        scores = [c for c in described if c.scale in (fis_pb2.Encoder.Column.LOGIT,
                                                            fis_pb2.Encoder.Column.PROBABILITY)]
        self.base = _Base(scores)
        for c in described[:len(described) - len(scores)]:
            if c.type not in kinds:
                raise ModelError(f"column {c.name}: type {c.type} is not known here")
            self._columns.append(kinds[c.type](c))
        self.names: Tuple[str, ...] = tuple(c.name for c in described)
        self._trees = _Trees(message.trees) if message.HasField("trees") else None
        self.margins = self.base.width + (self._trees.width if self._trees else 0)
        self.dimension = sum(c.width for c in self._columns) + self.margins

    def standardised(self, x: Any) -> "np.ndarray[Any, Any]":
        """float32 [n, dimension] of numbers of the columns, none of which is missing."""
        mean = np.array([c.mean if c.scaled else 0 for c in self._columns])
        factor = np.array([c.factor if c.scaled else 1 for c in self._columns])
        bound = np.array([CLIP if c.scaled else np.inf for c in self._columns])
        z = np.clip((x.astype(np.float64) - mean) * factor, -bound, bound)
        return z.astype(np.float32)  # type: ignore[no-any-return]

    def encode(self, rows: Any, ignore: Iterable[str] = ()) -> "np.ndarray[Any, Any]":
        """float32 [n, dimension]; `RecordError` for what fisd would refuse."""
        n, columns = by_column(rows, self.names, ignore)
        x = np.zeros((n, self.dimension), dtype=np.float32)
        first = 0
        for c in self._columns:
            out = x[:, first:first + c.width]
            if c.name in columns:
                c.encode(columns[c.name], out)
            else:
                c.encode_missing(out)
            first += c.width
        if self._trees:
            x[:, first:] = _scaled(self._trees.margins(x))
        else:
            self.base.encode(columns, n, x[:, first:])
        return x
