"""Chunks of a topic back to whole messages, verified."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import xxhash

from . import fis_pb2
from .errors import ModelError

MAX_CHUNKS = 65536
MAX_BYTES = 256 << 20
OPEN_VERSIONS = 8


class _Open:
    def __init__(self, chunk: Any) -> None:
        self.head = _head(chunk)
        self.pieces: Dict[int, bytes] = {}


def _head(chunk: Any) -> Tuple[int, int, int, int]:
    return chunk.count, chunk.total_bytes, chunk.checksum_low, chunk.checksum_high


class Assembler:
    """Collects chunks until a version is complete.

    Chunks may come in any order, twice, and mixed with those of other versions; at most
    `OPEN_VERSIONS` are open, and the oldest is dropped first. A chunk with another checksum begins
    its version again, as the writer did after a crash.
    """

    def __init__(self) -> None:
        self._open: Dict[int, _Open] = {}

    def feed(self, value: bytes) -> Optional[bytes]:
        """Takes a message; the whole payload when it was the last one missing.

        Raises
        ------
        ModelError
            The message is no chunk, or the payload is not what its checksum says. The version is
            dropped; what comes after is not affected.
        """
        try:
            chunk = fis_pb2.Chunk.FromString(value)
        except Exception as e:
            raise ModelError(f"not a chunk: {e}") from None
        if not 0 < chunk.count <= MAX_CHUNKS or chunk.index >= chunk.count or \
                chunk.total_bytes > MAX_BYTES:
            raise ModelError(f"chunk {chunk.index} of {chunk.count}, {chunk.total_bytes} bytes in "
                             f"all: at most {MAX_CHUNKS} chunks and {MAX_BYTES} bytes are allowed")
        version = self._open.get(chunk.version)
        if version is None or version.head != _head(chunk):
            self._open.pop(chunk.version, None)
            if len(self._open) >= OPEN_VERSIONS:
                del self._open[min(self._open)]
            version = self._open[chunk.version] = _Open(chunk)
        version.pieces[chunk.index] = chunk.data
        if len(version.pieces) < chunk.count:
            return None
        del self._open[chunk.version]
        return _join(version, chunk)


def _join(version: _Open, chunk: Any) -> bytes:
    whole = b"".join(version.pieces[i] for i in range(chunk.count))
    if len(whole) != chunk.total_bytes:
        raise ModelError(f"version {chunk.version}: {len(whole)} bytes in {chunk.count} chunks, "
                         f"{chunk.total_bytes} announced")
    expected = chunk.checksum_high << 64 | chunk.checksum_low
    if xxhash.xxh3_128_intdigest(whole) != expected:
        raise ModelError(f"version {chunk.version}: the checksum of the {chunk.count} chunks is "
                         "wrong")
    return whole
