"""PNG without a library, and a contact sheet of labelled images."""

import struct
import zlib

_FONT = {  # 3 x 5, row by row
    "A": "010101111101101", "B": "110101110101110", "C": "011100100100011", "D": "110101101101110",
    "E": "111100110100111", "F": "111100110100100", "G": "011100101101011", "H": "101101111101101",
    "I": "111010010010111", "J": "001001001101010", "K": "101101110101101", "L": "100100100100111",
    "M": "101111111101101", "N": "110101101101101", "O": "010101101101010", "P": "110101110100100",
    "Q": "010101101110011", "R": "110101110101101", "S": "011100010001110", "T": "111010010010010",
    "U": "101101101101111", "V": "101101101101010", "W": "101101111111101", "X": "101101010101101",
    "Y": "101101010010010", "Z": "111001010100111", "0": "111101101101111", "1": "010110010010111",
    "2": "110001010100111", "3": "110001010001110", "4": "101101111001001", "5": "111100110001110",
    "6": "011100111101111", "7": "111001010010010", "8": "111101111101111", "9": "111101111001110",
    "+": "000010111010000", "-": "000000111000000", ".": "000000000000010", ",": "000000000010100",
    ":": "000010000010000", "%": "101001010100101", "/": "001001010100100",
}
_BACK, _INK, _FRAME = (24, 26, 30), (235, 235, 235), (255, 200, 40)
_COLOURS = {"red": (190, 40, 40), "green": (30, 130, 50)}
_ZOOM, _ACROSS, _GAP, _CAPTION, _HEADER, _TEXT = 2, 24, 6, 16, 26, 2


def png(pixels, width, height):
    """RGB, width * height * 3 bytes."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + bytes(pixels[y * width * 3:(y + 1) * width * 3]) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


class _Canvas:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.pixels = bytearray(bytes(_BACK) * (width * height))

    def fill(self, x, y, width, height, colour):
        for row in range(y, y + height):
            at = (row * self.width + x) * 3
            self.pixels[at:at + 3 * width] = bytes(colour) * width

    def text(self, x, y, text, zoom=_TEXT, colour=_INK):
        for c in text.upper():
            for i, bit in enumerate(_FONT.get(c, "0" * 15)):
                if bit == "1":
                    self.fill(x + i % 3 * zoom, y + i // 3 * zoom, zoom, zoom, colour)
            x += 4 * zoom

    def image(self, x, y, pixels, side, zoom):
        for row in range(side * zoom):
            line = pixels[row // zoom * side * 3:(row // zoom + 1) * side * 3]
            wide = b"".join(line[i:i + 3] * zoom for i in range(0, len(line), 3))
            at = ((y + row) * self.width + x) * 3
            self.pixels[at:at + len(wide)] = wide


def _odd(row):
    """Its colour speaks against its label."""
    return (row["colour"] == "red") != (row["label"] == "high")


def sheet(requested, side):
    """A PNG of (round, row) in the order of requests: round by round, under each image its label on its
    group's colour, framed where the two disagree with what the first images teach."""
    rounds = {}
    for number, row in requested:
        rounds.setdefault(number, []).append(row)
    tile, tall = side * _ZOOM + _GAP, side * _ZOOM + _CAPTION + _GAP
    lines = {n: (len(rows) + _ACROSS - 1) // _ACROSS for n, rows in rounds.items()}
    canvas = _Canvas(_ACROSS * tile + 3 * _GAP,
                     2 * _HEADER + sum(_HEADER + n * tall for n in lines.values()) + _GAP)
    canvas.text(2 * _GAP, 8, "Requested by fis+: label, on the colour of its group. Framed: colour against label", 3)
    top = 2 * _HEADER
    for number, rows in sorted(rounds.items()):
        odd = sum(map(_odd, rows))
        canvas.text(2 * _GAP, top + 6, f"Round {number}: {len(rows)} images, {odd} with the colour against the label")
        top += _HEADER
        for i, row in enumerate(rows):
            x, y = 2 * _GAP + i % _ACROSS * tile, top + i // _ACROSS * tall
            if _odd(row):
                canvas.fill(x - 2, y - 2, side * _ZOOM + 4, side * _ZOOM + _CAPTION + 4, _FRAME)
            canvas.image(x, y, row["pixels"], side, _ZOOM)
            canvas.fill(x, y + side * _ZOOM, side * _ZOOM, _CAPTION, _COLOURS[row["colour"]])
            canvas.text(x + 3, y + side * _ZOOM + 3, {"high": "5-9", "low": "0-4"}[row["label"]] + " " + row["colour"][0])
        top += lines[number] * tall
    return png(canvas.pixels, canvas.width, canvas.height)
