"""The messages of a pipeline, read from their bytes by hand. Nothing here comes from fisd: numbers
of fields are those of proto/fis.proto."""

import ctypes
import json
import os
import struct
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system"))
from fisd_test import fields  # noqa: E402

STATE_KEY = b"\0"
(IN_HEAP, REQUESTED, ACCEPTED, SET_ASIDE, EXPIRED, SKIPPED, CANCELLED, TIED) = range(1, 9)
STATES = ["none", "in_heap", "requested", "accepted", "set_aside", "expired", "skipped",
          "cancelled", "tied"]
ANSWERED = (ACCEPTED, SET_ASIDE)


class Bad(Exception):
    """A message that is not what its topic holds."""


def number(b):
    """A double, which a message has as 8 bytes."""
    return struct.unpack("<d", b)[0] if b else None


def signed(n):
    return n - (1 << 64) if n >= 1 << 63 else n


def named(pairs, at):
    """Metrics by name."""
    found = {}
    for n, value in pairs:
        if n == at:
            f = dict(fields(value))
            found[f[1].decode()] = number(f.get(2, bytes(8)))
    return found


class Entry(NamedTuple):
    state: int
    cls: int
    round: int
    refunded: bool
    votes: int


def ledger_entry(value):
    pairs = fields(value)
    f = dict(pairs)
    if not 0 < f.get(1, 0) <= TIED:
        raise Bad(f"state {f.get(1, 0)}")
    return Entry(f[1], f.get(2, 0), f.get(4, 0), bool(f.get(9, 0)),
                 sum(n == 10 for n, _ in pairs))


class State(NamedTuple):
    round: int
    head: int
    model: int
    served: int
    phase: int
    clock_ms: int
    checkpoint: int
    counted: dict


def trainer_state(value):
    pairs = fields(value)
    f = dict(pairs)
    counted = {}
    for n, body in pairs:
        if n == 18:
            c = dict(fields(body))
            counted[c.get(1, 0)] = c.get(2, 0)
    return State(f.get(1, 0), f.get(3, 0), f.get(4, 0), f.get(5, 0), f.get(8, 0), f.get(9, 0),
                 f.get(17, 0), counted)


class Range(NamedTuple):
    partition: int
    begin: int
    next: int
    records: int
    refused: int
    tombstones: int


def ranges(value):
    """The ranges of an Offer's Progress; none when it has only candidates."""
    parts = fields(value)
    if not parts or any(kind not in (1, 2) for kind, _ in parts):
        raise Bad(f"neither candidates nor a progress: {parts[:1]}")
    return [Range(*(dict(fields(r)).get(n, 0) for n in range(1, 7)))
            for kind, body in parts if kind == 2 for n, r in fields(body) if n == 7]


class Request(NamedTuple):
    id: bytes
    round: int
    cancelled: bool
    reason: str


def request(m):
    body = json.loads(m.value)
    if body["id"].encode() != m.key:
        raise Bad(f"id {body['id']!r} under another key")
    return Request(m.key, body.get("round", 0), body.get("cancelled", False),
                   body.get("reason", ""))


class Model(NamedTuple):
    version: int
    parent: int
    served: bool
    accuracy: float
    val_0: float
    floor: float
    reason: str
    bought: int
    round: int
    head: int
    parameters: int   # how many there are
    by_widths: int    # how many its widths make
    finite: bool


def packed(pairs, at):
    """A repeated scalar's bytes, packed or not."""
    return b"".join(v for n, v in pairs if n == at)


def varints(b):
    out, value, shift = [], 0, 0
    for byte in b:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value = shift = 0
    return out


def model(body):
    pairs = fields(body)
    f = dict(pairs)
    network = fields(f.get(8, b""))
    width = varints(packed(network, 1))
    floats = packed(network, 2)
    gate, lineage = dict(fields(f.get(10, b""))), dict(fields(f.get(13, b"")))
    values = named(fields(f.get(10, b"")), 5)
    weights = struct.unpack(f"<{len(floats) // 4}f", floats)
    return Model(
        f.get(2, 0), f.get(3, 0), bool(f.get(5, 0)), named(fields(f.get(11, b"")), 4).get("accuracy"),
        values.get("val_0"), values.get("floor"), gate.get(2, b"").decode(), lineage.get(1, 0),
        lineage.get(5, 0), lineage.get(3, 0), len(weights),
        sum((a + 1) * b for a, b in zip(width, width[1:])),
        all(abs(w) < 3.5e38 for w in weights))  # also false of NaN


# ---- chunks --------------------------------------------------------------------------------

class Chunk(NamedTuple):
    version: int
    index: int
    count: int
    total: int
    checksum: bytes
    data: bytes


def chunk(value):
    f = dict(fields(value))
    return Chunk(f.get(1, 0), f.get(2, 0), f.get(3, 0), f.get(4, 0),
                 f.get(5, bytes(8)) + f.get(6, bytes(8)), f.get(7, b""))


class _Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_xxhash = ctypes.CDLL("libxxhash.so.0")
_xxhash.XXH3_128bits.restype = _Hash
_xxhash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def checksum(body):
    h = _xxhash.XXH3_128bits(body, len(body))
    return struct.pack("<QQ", h.low, h.high)


def whole(chunks, what):
    """version -> bytes of those that are whole, and a text for each thing that is wrong."""
    bodies, texts, parts = {}, [], {}
    last = 0
    for c in chunks:
        if c.version not in parts:
            if c.version <= last:
                texts.append(f"{what} {c.version} follows {last}")
            last = c.version
            parts[c.version] = {}
        if c.index in parts[c.version]:
            texts.append(f"{what} {c.version}: chunk {c.index} is there twice")
        elif c.version != last:
            texts.append(f"{what} {c.version}: chunk {c.index} among those of {last}")
        parts[c.version][c.index] = c
    for version, got in parts.items():
        any_one = next(iter(got.values()))
        same = {(c.count, c.total, c.checksum) for c in got.values()}
        body = b"".join(got[i].data for i in sorted(got))
        if len(same) != 1 or sorted(got) != list(range(any_one.count)):
            texts.append(f"{what} {version}: chunks {sorted(got)} of {any_one.count}")
        elif len(body) != any_one.total:
            texts.append(f"{what} {version}: {len(body)} bytes of {any_one.total}")
        elif checksum(body) != any_one.checksum:
            texts.append(f"{what} {version}: the checksum is another")
        else:
            bodies[version] = body
    return bodies, texts
