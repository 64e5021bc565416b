"""Rows as users have them: one dict, dicts, a DataFrame, an array."""

from __future__ import annotations

import math
import re
from typing import Any, Container, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from .errors import RecordError

FLOAT_MAX = float(np.finfo(np.float32).max)


def is_frame(rows: Any) -> bool:
    """Whether it is a pandas.DataFrame, without importing pandas."""
    return hasattr(rows, "columns") and hasattr(rows, "iloc") and hasattr(rows, "dtypes")


def is_missing(v: Any) -> bool:
    """None, NaN, pandas' NA and NaT: a missing value."""
    if v is None:
        return True
    if isinstance(v, (float, np.floating)):
        return math.isnan(v)
    return type(v).__name__ in ("NAType", "NaTType") or \
        (isinstance(v, (np.datetime64, np.timedelta64)) and bool(np.isnat(v)))


def shown(v: Any) -> str:
    text = repr(v)
    return text if len(text) <= 60 else text[:59] + "…"


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def from_text(v: Any) -> Any:
    """A text as ``records.numeric_text`` reads it: the number, None when it is empty. Any other
    value, and a text that is no number, as it is."""
    if not isinstance(v, str):
        return v
    text = v.strip(" \t\n\v\f\r")
    return float(text) if _NUMBER.fullmatch(text) else v if text else None


def number(name: str, v: Any) -> float:
    """The value of a numeric column, which is not missing.

    Raises
    ------
    RecordError
        It is no number that fits a 32-bit float, as fisd has it.
    """
    if isinstance(v, str) and not isinstance(from_text(v), str):
        raise RecordError(f"column {name}: expected a number, found the text {shown(v)}; convert "
                          "it, or set records.numeric_text")
    if isinstance(v, (bool, np.bool_)) or not isinstance(v, (int, float, np.integer, np.floating)):
        raise RecordError(f"column {name}: expected a number, found {shown(v)}")
    x = float(v)
    if not abs(x) <= FLOAT_MAX:
        raise RecordError(f"column {name}: {shown(v)} does not fit a 32-bit float")
    return x


_WHOLE = re.compile(r"(-?)(0|[1-9][0-9]*)(\.0*)?", re.ASCII)


def category(name: str, v: Any) -> str:
    """The category of a value, which is not missing, as fisd has it: a text without white space
    around it; 1, 1.0 and "1.0" are "1". `RecordError` as `number`."""
    if isinstance(v, str):
        text = v.strip(" \t\n\v\f\r")
        whole = _WHOLE.fullmatch(text)
        return (whole[1] if whole[2] != "0" else "") + whole[2] if whole else text
    if isinstance(v, (bool, np.bool_)) or not isinstance(v, (int, float, np.integer, np.floating)):
        raise RecordError(f"column {name}: expected a text or a number, found {shown(v)}")
    if isinstance(v, (int, np.integer)):
        return str(int(v))
    x = number(name, v)
    return str(int(x)) if x.is_integer() and abs(x) < 1e21 else f"{x:.15g}" \
        if float(f"{x:.15g}") == x else f"{x:.16g}" if float(f"{x:.16g}") == x else f"{x:.17g}"


def to_array(rows: Any, names: Sequence[str]) -> Optional["np.ndarray[Any, Any]"]:
    """[n, columns] when the rows are an array, or None. One row may have one dimension."""
    if not isinstance(rows, np.ndarray):
        return None
    a = rows[np.newaxis, :] if rows.ndim == 1 else rows
    if a.ndim != 2 or a.dtype.names:
        raise RecordError(f"expected an array of shape (rows, columns), found {rows.shape}")
    if names and a.shape[1] != len(names):
        raise RecordError(f"{a.shape[1]} columns, expected {len(names)}: "
                          f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}")
    return a


def each(rows: Any, names: Sequence[str]) -> Iterator[Dict[str, Any]]:
    """The rows one by one as dicts; those of an array have these names."""
    array = to_array(rows, names)
    if array is not None:
        if not names:
            raise RecordError("an array has no column names: give the pipeline its columns")
        for row in array:
            yield dict(zip(names, row.tolist()))
    elif is_frame(rows):
        keys = [str(c) for c in rows.columns]
        for values in zip(*(rows[c].tolist() for c in rows.columns)):
            yield dict(zip(keys, values))
    elif isinstance(rows, Mapping):
        yield dict(rows)
    else:
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise RecordError(f"expected a dict, found {shown(row)}", i)
            yield dict(row)


def member(row: Mapping[str, Any], name: str) -> Any:
    """A member by its key or, where there is none, by the path that the key's dots make."""
    if name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    while dot:
        if isinstance(row.get(head), Mapping):
            found = member(row[head], rest)
            if found is not None:
                return found
        more, dot, rest = rest.partition(".")
        head += "." + more
    return None


def flat(row: Mapping[str, Any], whole: Container[str] = ()) -> Dict[str, Any]:
    """Nested dicts as ``{"address.city": …}``, but for the names in `whole`. A key that has the dot
    itself takes precedence, as in fisd."""
    if not any(isinstance(v, Mapping) for v in row.values()):
        return dict(row)
    out: Dict[str, Any] = {}
    for name, v in row.items():
        if isinstance(v, Mapping) and name not in whole:
            inside = flat({f"{name}.{key}": x for key, x in v.items()}, whole)
            out = {**inside, **out}
        else:
            out[name] = v
    return out


def with_numbers(rows: Any, names: Sequence[str], numeric: Container[str]) -> Any:
    """The rows with texts in these columns as ``records.numeric_text`` reads them."""
    return [{k: from_text(v) if k in numeric else v for k, v in flat(row, numeric).items()}
            for row in each(rows, names)]


def by_column(rows: Any, names: Sequence[str],
              also: Iterable[str]) -> Tuple[int, Dict[str, Any]]:
    """How many rows there are, and their values column by column.

    A column that no row has is not in the result: all its values are missing.

    Raises
    ------
    RecordError
        A column that is neither in `names` nor in `also`, as a misspelt one.
    """
    allowed = set(names) | set(also)
    array = to_array(rows, names)
    if array is not None:
        return len(array), {name: array[:, i] for i, name in enumerate(names)}
    if is_frame(rows):
        for c in rows.columns:
            _check_known(str(c), allowed, names)
        return len(rows), {str(c): rows[c].to_numpy() for c in rows.columns if str(c) in names}
    listed: List[Dict[str, Any]] = [flat(row, allowed) for row in each(rows, names)]
    for i, row in enumerate(listed):
        for key in row:
            if key not in allowed:
                _check_known(str(key), allowed, names, i)
    return len(listed), {name: [row.get(name) for row in listed] for name in names}


def _check_known(name: str, allowed: "set[str]", names: Sequence[str],
                 row: Optional[int] = None) -> None:
    if name not in allowed:
        more = ", …" if len(names) > 12 else ""
        raise RecordError(f"unknown column {name!r} (allowed: {', '.join(names[:12])}{more}); "
                          "columns that are no features are named by `ignore`", row)
