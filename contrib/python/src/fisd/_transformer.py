"""The vision transformer below a version's dense layers, as fisd computes it."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np

from .errors import ModelError, RecordError

EPSILON = np.float32(1e-6)
GELU = np.float32(1.5957691216057308)  # 2 sqrt(2 / pi)
TOGETHER = 128  # images that pass at once
Array = "np.ndarray[Any, Any]"


class Transformer:
    """Takes its parameters from the beginning of a network's; `used` says how many.

    Parameters
    ----------
    message : fis.v1.Network.Transformer
    parameters : ndarray of float32

    Raises
    ------
    ModelError
        Sizes that do not divide, or too few parameters.
    """

    def __init__(self, message: Any, parameters: Any) -> None:
        m = self.message = message
        self.shape = (m.height, m.width, m.channels)
        if min(m.height, m.width, m.channels, m.patch, m.dim, m.heads, m.mlp) < 1 or \
                m.height % m.patch or m.width % m.patch or m.dim % m.heads:
            raise ModelError("a transformer whose sizes do not divide")
        d, f, size = m.dim, m.mlp, m.patch * m.patch * m.channels
        tokens = m.height // m.patch * (m.width // m.patch) + m.token
        self._flat, self.used = parameters, 0
        self._patch, self._patch_bias = self._take(size, d), self._take(d)
        self._token = self._take(d) if m.token else None
        self._position = self._take(tokens, d)
        sizes = {"scale1": (d,), "shift1": (d,), "qkv": (d, 3 * d), "qkv_bias": (3 * d,),
                 "out": (d, d), "out_bias": (d,), "scale2": (d,), "shift2": (d,), "up": (d, f),
                 "up_bias": (f,), "down": (f, d), "down_bias": (d,)}
        self._blocks: List[Dict[str, Any]] = [
            {name: self._take(*shape) for name, shape in sizes.items()} for _ in range(m.depth)]
        self._scale, self._shift = self._take(d), self._take(d)

    def _take(self, *shape: int) -> Any:
        n = int(np.prod(shape))
        part = self._flat[self.used:self.used + n]
        if len(part) < n:
            raise ModelError(f"{len(self._flat)} parameters, too few for its transformer")
        self.used += n
        return part.reshape(shape)

    def pixels(self, images: Any) -> Any:
        """float32 [n, height * width * channels]: bytes become -1 to 1, other numbers stay."""
        a = images[np.newaxis] if images.shape == self.shape else images
        if a.ndim != 4 or a.shape[1:] != self.shape:
            raise RecordError(f"images of shape {self.shape} are allowed, found {images.shape}")
        x = a.reshape(len(a), int(np.prod(self.shape))).astype(np.float32)
        if a.dtype == np.uint8:
            return x / np.float32(127.5) - np.float32(1)
        bad = ~np.isfinite(x).all(axis=1)
        if bad.any():
            raise RecordError("an image has a pixel that is no finite number",
                              int(np.flatnonzero(bad)[0]))
        return x

    def features(self, x: Any) -> Any:
        """float32 [n, dim] of images [n, height * width * channels]."""
        parts = [self._some(x[at:at + TOGETHER]) for at in range(0, len(x), TOGETHER)]
        return np.concatenate(parts) if parts else np.zeros((0, self.message.dim), np.float32)

    def _some(self, images: Any) -> Any:
        m, n = self.message, len(images)
        x = images.reshape(n, m.height // m.patch, m.patch, m.width // m.patch, m.patch, m.channels)
        x = x.transpose(0, 1, 3, 2, 4, 5).reshape(n, -1, m.patch * m.patch * m.channels)
        x = x @ self._patch + self._patch_bias
        if self._token is not None:
            x = np.concatenate([np.broadcast_to(self._token, (n, 1, m.dim)), x], axis=1)
        x = x + self._position
        for b in self._blocks:
            x = x + self._attend(_norm(x, b["scale1"], b["shift1"]), b)
            y = _gelu(_norm(x, b["scale2"], b["shift2"]) @ b["up"] + b["up_bias"])
            x = x + (y @ b["down"] + b["down_bias"])
        x = _norm(x, self._scale, self._shift)
        return x[:, 0] if self._token is not None else x.mean(axis=1)

    def _attend(self, x: Any, b: Dict[str, Any]) -> Any:
        n, t, d = x.shape
        heads = self.message.heads
        qkv = (x @ b["qkv"] + b["qkv_bias"]).reshape(n, t, 3, heads, d // heads)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)
        share = q @ k.transpose(0, 1, 3, 2) * np.float32((d // heads) ** -.5)
        share = np.exp(share - share.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        return (share @ v).transpose(0, 2, 1, 3).reshape(n, t, d) @ b["out"] + b["out_bias"]


def _norm(x: Any, scale: Any, shift: Any) -> Any:
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * scale + shift


def _gelu(x: Any) -> Any:
    return x / (1 + np.exp(-GELU * x * (1 + np.float32(.044715) * x * x)))
