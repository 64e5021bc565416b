"""Images as records have them: the bytes of a PNG or JPEG, or arrays of bytes."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any, Dict, Iterator

import numpy as np

from . import fis_pb2
from .errors import RecordError

KEY = "image"


def is_image(v: Any) -> bool:
    return isinstance(v, (bytes, bytearray, memoryview, np.ndarray))


def each_of(array: "np.ndarray[Any, Any]") -> Iterator[Dict[str, Any]]:
    """Rows of an array [height, width, channels], one, or [n, height, width, channels]."""
    if array.ndim not in (3, 4):
        raise RecordError("an array of shape (rows, columns), (height, width, channels) or (rows, height, width, "
                          f"channels) expected, found {array.shape}")
    return ({KEY: one} for one in (array if array.ndim == 4 else array[np.newaxis]))


def _pixels(v: Any) -> "np.ndarray[Any, Any]":
    """uint8 [height, width, channels]."""
    a = v[:, :, np.newaxis] if v.ndim == 2 else v
    if a.ndim != 3 or a.dtype != np.uint8 or not a.size or a.shape[2] > 4:
        raise RecordError(f"image: an array of uint8 of shape (height, width, channels) expected, found "
                          f"{v.dtype} {v.shape}")
    return np.ascontiguousarray(a)


def png(a: "np.ndarray[Any, Any]") -> bytes:
    """Of uint8 [height, width, channels]."""
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    height, width, channels = a.shape
    rows = np.zeros((height, 1 + width * channels), dtype=np.uint8)  # 0: the filter of a row, none
    rows[:, 1:] = a.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes())) +
            chunk(b"IEND", b""))


def text(v: Any) -> str:
    """As a record in JSON has it."""
    data = png(_pixels(v)) if isinstance(v, np.ndarray) else bytes(v)
    return base64.b64encode(data).decode()


def message(v: Any) -> Any:
    """As fis.v1.Image."""
    if not isinstance(v, np.ndarray):
        return fis_pb2.Image(data=bytes(v))
    a = _pixels(v)
    return fis_pb2.Image(data=a.tobytes(), height=a.shape[0], width=a.shape[1], channels=a.shape[2])


def shown(m: Any) -> str:
    """An Image of a record in base64, raw bytes as a PNG: what a label request in JSON has."""
    if not m.height:
        return base64.b64encode(m.data).decode()
    return text(np.frombuffer(m.data, dtype=np.uint8).reshape(m.height, m.width, m.channels))
