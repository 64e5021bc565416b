"""Client of fisd: send records, answer label requests, predict with the versions it serves.

See the README of this package for a quick start, and `Pipeline` for where to begin.
"""

from typing import TYPE_CHECKING, Any

from importlib.metadata import PackageNotFoundError, version as _version

from .errors import (BridgeError, ConfigError, DeliveryError, FisdError, KafkaError, LabelError,
                     ModelError, NotReady, RecordError)
from .labels import Labels
from .models import Models
from .pipeline import Column, Pipeline
from .records import Records
from .requests import Request, Requests, Withdrawal
from .version import Version

if TYPE_CHECKING:
    from .classifier import FisdClassifier
    from .label_studio import LabelStudioBridge

try:
    __version__ = _version("fisd")
except PackageNotFoundError:  # from a source tree
    __version__ = "0"

__all__ = ["BridgeError", "Column", "ConfigError", "DeliveryError", "FisdClassifier", "FisdError",
           "KafkaError", "LabelError", "LabelStudioBridge", "Labels", "ModelError", "Models",
           "NotReady", "Pipeline", "RecordError", "Records", "Request", "Requests", "Version",
           "Withdrawal"]


def __getattr__(name: str) -> Any:
    """What is imported once somebody asks for it: scikit-learn need not be there."""
    if name == "LabelStudioBridge":
        from .label_studio import LabelStudioBridge
        return LabelStudioBridge
    if name == "FisdClassifier":
        try:
            from .classifier import FisdClassifier
        except ImportError as e:
            raise ImportError(f"FisdClassifier needs scikit-learn: pip install fisd[sklearn] ({e})"
                              ) from None
        return FisdClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
