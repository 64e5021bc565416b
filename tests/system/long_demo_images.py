#!/usr/bin/env python3
"""The demo of images as a user runs it: PNG records, eight rounds on the embedded broker, the contact
sheet, and the last line."""

import json
import os
import struct
import subprocess
import sys
import tempfile

from fisd_test import FISD, ROOT, main, same, test


@test("the demo of images: eight rounds, a contact sheet, and its last line")
def _():
    with tempfile.TemporaryDirectory(dir=os.environ.get("FISD_TEST_DIR")) as folder:
        r = subprocess.run(
            [sys.executable, "-B", os.path.join(ROOT, "config/demo/images.py"), "--bin", os.path.dirname(FISD), "--dir",
             folder, "--cache", os.path.join(ROOT, "build/cache")], capture_output=True, text=True, timeout=1200)
        same(r.returncode, 0, f"exit status ({r.stderr[-2000:]})")
        demo = json.loads(r.stdout.strip().split("\n")[-1])["demo-images"]
        same((demo["versions"], demo["labels"], demo["records"]), (9, 384, 4500))
        first, fair = demo["test"]["warm_up"], demo["test"]["fis+"]
        # 72 % and .74 become 91 % and .19.
        assert fair["accuracy"] > first["accuracy"] + .05, demo
        assert fair["demographic_parity"] < first["demographic_parity"] - .3, demo
        with open(demo["sheet"], "rb") as f:
            head = f.read(24)
        same(head[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", head[16:24])
        assert width > 1000 and height > 1000, (width, height)


main()
