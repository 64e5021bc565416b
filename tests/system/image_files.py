"""Images for the system tests: PNG made here, and every kind that tests/golden/images.txt has."""

import base64
import os
import random
import struct
import zlib

GOLDEN = os.path.join(os.path.dirname(__file__), "..", "golden", "images.txt")


def png(pixels, height, width, channels=3):
    """pixels: height * width * channels bytes."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    stride = width * channels
    rows = b"".join(b"\0" + pixels[y * stride:(y + 1) * stride] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def golden():
    """name -> (the file, words of the reason for which it is refused, or None)."""
    found = {}
    with open(GOLDEN) as lines:
        for line in lines:
            name, _, value, *file = line.split()
            words = value[1:].replace("_", " ") if value.startswith("!") else None
            found[name] = (base64.b64decode(file[0]) if file else b"", words)
    return found


def pictures(n, seed, side=8):
    """Rows with their pixels [side][side][3]: bright above or below, which is the label; redder in
    one group."""
    r = random.Random(seed)
    for i in range(n):
        high, group = r.random() < .5, r.choice("AB")
        pixels = bytes(min(255, r.randrange(100) + 120 * (high == (y < side // 2)) + 30 * (group == "A") * (c == 0))
                       for y in range(side) for _ in range(side) for c in range(3))
        yield {"id": f"p{seed}-{i}", "pixels": pixels, "group": group, "hired": "yes" if high else "no"}
