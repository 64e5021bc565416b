"""Images of every kind, and what they must become: by Pillow where it reads them.

    python3 -m venv venv && venv/bin/pip install pillow==13.0.0
    venv/bin/python tests/golden/make_images.py

writes tests/golden/images.txt, a line an image: its name, the shape that is required (HxWxC), what must
come out (bytes in hexadecimal; "!" and words of the error in place of it, "_" for a space), and the file in
base64. Also the seeds of tests/fuzz/corpus/image.

Each axis is resized by itself: BOX where it shrinks, BILINEAR where it grows.
"""

import base64
import io
import math
import os
import struct
import zlib

from PIL import Image, ImageOps

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 100_000  # pixels; the test decodes with this limit
SHAPES = [(8, 8, 3), (7, 5, 1), (28, 31, 3), (40, 6, 3)]
lines, seeds = [], []


def picture(mode, width, height):
    """Waves and a bright corner: smooth parts and edges, no symmetry."""

    def at(x, y, c):
        v = 128 + 90 * math.sin(x / 3 + c) * math.cos(y / 4 - c) + (60 if x > 2 * y else 0)
        return max(0, min(255, int(v)))

    bands = len(Image.new(mode, (1, 1)).getbands())
    data = bytes(at(x, y, c) for y in range(height) for x in range(width) for c in range(bands))
    return Image.frombytes(mode, (width, height), data)


def file_of(image, kind, **how):
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def chunk(name, data=b""):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


PNG = b"\x89PNG\r\n\x1a\n"


def png(width, height, depth, colour, rows, interlace=0, before=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return PNG + chunk(b"IHDR", header) + before + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND")


def adam7(image):
    """An interlaced PNG, which Pillow does not write."""
    bands = len(image.getbands())
    pixels, (width, height) = image.tobytes(), image.size
    rows = b""
    for x0, y0, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]:
        for y in range(y0, height, dy):
            line = b"".join(pixels[(y * width + x) * bands:][:bands] for x in range(x0, width, dx))
            rows += b"\0" + line if line else b""
    return png(width, height, 8, {1: 0, 3: 2, 4: 6}[bands], rows, 1)


def resize(image, width, height):
    for axis, size in ((0, width), (1, height)):
        old = image.size
        new = (size, old[1]) if axis == 0 else (old[0], size)
        image = image.resize(new, Image.BOX if size < old[axis] else Image.BILINEAR)
    return image


def expected(image, height, width, channels):
    image = ImageOps.exif_transpose(image)
    if "transparency" in image.info or "A" in image.getbands():
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return resize(image.convert("L" if channels == 1 else "RGB"), width, height).tobytes().hex()


def add(name, data, shape, value):
    lines.append(f"{name} {'x'.join(map(str, shape))} {value} {base64.b64encode(data).decode()}\n")


def good(name, data, image=None):
    seeds.append((name, data))
    for shape in SHAPES:
        add(name, data, shape, expected(image or Image.open(io.BytesIO(data)), *shape))


def bad(name, data, words, shape=SHAPES[0]):
    seeds.append((name, data))
    add(name, data, shape, "!" + words.replace(" ", "_"))


def of_16_bits(mode):
    """Samples of 16 bits, whose nearest in 8 are those of `picture`."""
    image = picture(mode, 19, 14)
    bands, (width, height) = len(image.getbands()), image.size
    rows, raw = b"", image.tobytes()
    for y in range(height):
        rows += b"\0" + b"".join(
            struct.pack(">H", min(65535, v * 257 + 100)) for v in raw[y * width * bands:(y + 1) * width * bands]
        )
    return png(width, height, 16, {1: 0, 3: 2}[bands], rows), image


def main():
    rgb, grey = picture("RGB", 21, 17), picture("L", 21, 17)
    alpha = picture("RGBA", 21, 17)
    good("png-rgb", file_of(rgb, "PNG"))
    good("png-grey", file_of(grey, "PNG"))
    good("png-large", file_of(picture("RGB", 90, 71), "PNG"))
    good("png-one-pixel", file_of(picture("RGB", 1, 1), "PNG"))
    good("png-alpha", file_of(alpha, "PNG"))
    good("png-grey-alpha", file_of(picture("LA", 21, 17), "PNG"))
    good("png-palette", file_of(rgb.quantize(32), "PNG"))
    good("png-palette-alpha", file_of(rgb.quantize(32), "PNG", transparency=bytes([0, 90, 255, 17])))
    good("png-colour-key", file_of(rgb, "PNG", transparency=rgb.getpixel((3, 3))))
    good("png-1-bit", file_of(grey.convert("1"), "PNG"))
    good("png-interlaced", adam7(rgb))
    good("png-interlaced-alpha", adam7(alpha))
    good("png-16-bit", *of_16_bits("RGB"))
    good("png-16-bit-grey", *of_16_bits("L"))
    turned = Image.Exif()
    turned[0x0112] = 6
    good("png-turned", file_of(rgb, "PNG", exif=turned))
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 22)))  # a bomb that nobody looks at
    good("png-text", png(21, 17, 8, 0, b"\0" * (22 * 17), 0, text), Image.new("L", (21, 17)))
    good("png-trailing", file_of(rgb, "PNG") + b"more")
    good("jpeg-rgb", file_of(rgb, "JPEG", quality=90))
    good("jpeg-large", file_of(picture("RGB", 90, 71), "JPEG"))
    good("jpeg-grey", file_of(grey, "JPEG"))
    good("jpeg-progressive", file_of(rgb, "JPEG", progressive=True))
    good("jpeg-trailing", file_of(rgb, "JPEG") + b"more")
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        good(f"jpeg-turned-{orientation}", file_of(rgb, "JPEG", exif=exif))
    one, two = file_of(rgb, "PNG"), file_of(rgb, "JPEG")
    bad("png-truncated", one[:-40], "truncated PNG")
    bad("png-header-only", one[:33], "truncated PNG")
    bad("png-checksum", one[:-20] + bytes([one[-20] ^ 1]) + one[-19:], "broken PNG")
    bad("png-pixels-missing", png(21, 17, 8, 2, b"\0" * 64), "broken PNG")
    bad("png-no-pixels", PNG + one[8:33] + chunk(b"IEND"), "broken PNG")
    bad("png-depth", png(5, 5, 3, 2, b"\0" * 99), "broken PNG")
    bad("png-no-header", PNG + chunk(b"IEND"), "without its header")
    bad("png-zero", png(0, 5, 8, 2, b""), "5 x 0 has no pixels")
    bad("png-bomb", png(60000, 60000, 1, 0, b"\0" * 7501 * 100), "60000 x 60000 pixels")
    bad("png-long-side", png(70000, 1, 8, 0, b"\0" * 70001), "65535 a side")
    frames = [rgb, ImageOps.mirror(rgb)]
    bad("png-animated", file_of(frames[0], "PNG", save_all=True, append_images=frames[1:]), "animated PNG")
    bad("jpeg-truncated", two[:-60], "broken JPEG")
    bad("jpeg-header-only", two[:20], "broken JPEG")
    bad("jpeg-cmyk", file_of(picture("CMYK", 21, 17), "JPEG"), "JPEG in CMYK")
    bad("jpeg-bomb", two.replace(struct.pack(">HH", 17, 21), struct.pack(">HH", 50000, 50000), 1), "50000 x 50000 pixels")
    bad("jpeg-zero", two.replace(struct.pack(">HH", 17, 21), struct.pack(">HH", 17, 0), 1), "broken JPEG")
    bad("jpeg-12-bit", two.replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc0\x00\x11\x0c", 1), "broken JPEG")
    bad("jpeg-no-tables", two[:2] + two[two.index(b"\xff\xc0"):], "broken JPEG")
    bad("gif", file_of(rgb.quantize(16), "GIF"), "PNG or JPEG expected, a GIF found")
    bad("webp", file_of(rgb, "WEBP"), "a WebP found")
    bad("bmp", file_of(rgb, "BMP"), "a BMP found")
    bad("tiff", file_of(rgb, "TIFF"), "a TIFF found")
    bad("svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG found")
    bad("text", b"scan_17.png", "neither found")
    bad("empty", b"", "no bytes found")
    bad("channels", one, "only raw bytes have them", (8, 8, 4))
    with open(os.path.join(HERE, "images.txt"), "w") as out:
        out.writelines(lines)
    folder = os.path.join(HERE, "..", "fuzz", "corpus", "image")
    os.makedirs(folder, exist_ok=True)
    for i, (name, data) in enumerate(seeds):
        with open(os.path.join(folder, "seed-" + name), "wb") as out:
            out.write(bytes([i % 4]) + data)
    for name, data in (("raw", b"\4\5\4\3" + bytes(range(60))), ("base64", b"\x08" + base64.b64encode(one))):
        with open(os.path.join(folder, "seed-" + name), "wb") as out:
            out.write(data)


main()
