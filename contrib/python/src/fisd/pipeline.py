"""The description of a pipeline: its broker, topics, encodings and columns."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from .errors import ConfigError

TOPICS = {name: name.replace("_", "-") for name in
          ("records", "candidates", "label_requests", "labels", "validation", "initial", "heads",
           "models", "ledger", "control", "dead_letter")}
# Properties of fisd's own consumers, which must not be those of other programs.
NOT_SHARED = ("group.id", "group.instance.id", "transactional.id", "client.id", "debug")


@dataclass(frozen=True)
class Column:
    """One feature: its name, and ``"numeric"`` or ``"categorical"``."""

    name: str
    type: str = "numeric"


Columns = Union[Mapping[str, str], Sequence[Union[str, Column]]]


def _columns(given: Optional[Columns]) -> Tuple[Column, ...]:
    pairs = given.items() if isinstance(given, Mapping) else \
        ((c.name, c.type) if isinstance(c, Column) else (c, "numeric") for c in given or ())
    columns = tuple(Column(str(name), type_) for name, type_ in pairs)
    for c in columns:
        if c.type not in ("numeric", "categorical"):
            raise ConfigError(f"column {c.name}: type {c.type!r}; numeric or categorical is "
                              "allowed")
    return columns


@dataclass(frozen=True, init=False)
class Pipeline:
    """Where a pipeline of fisd lives and how its messages are written.

    Parameters
    ----------
    name : str
        ``pipeline`` of the configuration.
    bootstrap : str, optional
        ``bootstrap.servers``: ``"host:port,…"``. Needed here or in `kafka`.
    kafka : mapping, optional
        Any other properties of librdkafka (TLS, SASL, …) by their names.
    prefix : str, optional
        What the names of topics begin with; the name of the pipeline when absent.
    topics : mapping, optional
        Names of single topics, by the keys that ``topics`` of the configuration has.
    record_encoding : {"json", "protobuf", "raw", "registry"}
        ``records.encoding``. `Records` does not write by a schema registry: Confluent's serializers do.
    label_encoding : {"json", "protobuf"}
        ``labels.encoding``.
    id : str
        ``records.id``: the column with the id of a record.
    columns : mapping or sequence, optional
        The features: ``{"age": "numeric", "job": "categorical"}``, or names of numeric columns.
        Without them, records are not checked before they are sent.
    passthrough : sequence of str
        ``records.passthrough``, and ``records.ignore``: what records may hold besides.
    unknown : str
        ``records.unknown``: whether other columns are refused before they are sent ("refuse").
    numeric_text : bool
        ``records.numeric_text``: ``"41"`` is a number in a numeric column, and an empty text missing.
    examples : sequence of str
        The label and the sensitive columns of labelled rows. Predictions pass over them; records
        may not have them.
    classes : sequence of str
        The classes, in the order of the model's outputs. Without them, answers are checked
        against the request only.

    Raises
    ------
    ConfigError
        The description is not one of a pipeline.

    Examples
    --------
    >>> Pipeline("credit", "localhost:9092").topic("records")
    'credit.records'
    """

    name: str
    kafka: Mapping[str, str]
    topics: Mapping[str, str]
    record_encoding: str
    label_encoding: str
    id: str
    columns: Tuple[Column, ...]
    passthrough: Tuple[str, ...]
    unknown: str
    numeric_text: bool
    examples: Tuple[str, ...]
    classes: Tuple[str, ...] = field(default=())

    def __init__(self, name: str, bootstrap: Optional[str] = None, *,
                 kafka: Optional[Mapping[str, Any]] = None, prefix: Optional[str] = None,
                 topics: Optional[Mapping[str, str]] = None, record_encoding: str = "json",
                 label_encoding: str = "json", id: str = "id", columns: Optional[Columns] = None,
                 passthrough: Sequence[str] = (), classes: Sequence[str] = (),
                 unknown: str = "refuse", numeric_text: bool = False,
                 examples: Sequence[str] = ()) -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
            raise ConfigError(f"pipeline {name!r}: 1 to 64 of the characters A-Z a-z 0-9 . _ - "
                              "are allowed")
        properties = {str(k): _property(v) for k, v in (kafka or {}).items()}
        if bootstrap:
            properties["bootstrap.servers"] = bootstrap
        if not properties.get("bootstrap.servers"):
            raise ConfigError(f"pipeline {name}: bootstrap.servers is missing; name the broker, "
                              'as in Pipeline("credit", "localhost:9092")')
        for key in topics or {}:
            if key not in TOPICS:
                raise ConfigError(f"topics: {key!r} is unknown (allowed: {', '.join(TOPICS)})")
        if record_encoding not in ("json", "protobuf", "raw", "registry"):
            raise ConfigError(f"record_encoding {record_encoding!r}: json, protobuf, raw or "
                              "registry is allowed")
        if unknown not in ("refuse", "ignore", "pass"):
            raise ConfigError(f"unknown {unknown!r}: refuse, ignore or pass is allowed")
        if label_encoding not in ("json", "protobuf"):
            raise ConfigError(f"label_encoding {label_encoding!r}: json or protobuf is allowed")
        names = {k: f"{prefix or name}.{v}" for k, v in TOPICS.items()}
        names.update(topics or {})
        values = {"name": name, "kafka": properties, "topics": names,
                  "record_encoding": record_encoding, "label_encoding": label_encoding, "id": id,
                  "columns": _columns(columns), "passthrough": tuple(passthrough),
                  "unknown": unknown, "numeric_text": bool(numeric_text),
                  "examples": tuple(examples),
                  "classes": tuple(classes)}
        for key, value in values.items():
            object.__setattr__(self, key, value)  # the instance is frozen
        if record_encoding in ("protobuf", "raw") and any(c.type != "numeric" for c in self.columns):
            raise ConfigError(f"record_encoding {record_encoding}: numeric columns only")

    def topic(self, key: str) -> str:
        """The name of a topic, by its key in ``topics`` of the configuration."""
        return self.topics[key]

    @classmethod
    def load(cls, path: "str | os.PathLike[str]", bootstrap: Optional[str] = None) -> "Pipeline":
        """The pipeline of a configuration file of fisd (needs PyYAML: ``pip install fisd[yaml]``).

        Parameters
        ----------
        path : path
            The YAML file that ``fisd -c`` reads.
        bootstrap : str, optional
            Another broker than the file names.

        Raises
        ------
        ConfigError
            The file is not a configuration, or names no broker.
        OSError
            The file, or one that a property names, cannot be read.
        """
        try:
            import yaml
        except ImportError:
            raise ImportError("Pipeline.load needs PyYAML: pip install fisd[yaml]") from None
        with open(path, encoding="utf-8") as f:
            try:
                # Scalars as they are written, as fisd reads them: no is a class, not False.
                c = yaml.load(_with_environment(f.read(), str(path)), Loader=yaml.BaseLoader)
            except yaml.YAMLError as e:
                raise ConfigError(f"{path}: {e}") from None
        if not isinstance(c, dict) or not c.get("pipeline"):
            raise ConfigError(f"{path}: no configuration of fisd: the key pipeline is missing")
        return cls(**_arguments(c, os.path.dirname(os.path.abspath(path))), bootstrap=bootstrap)

    def client(self, **more: Any) -> Dict[str, Any]:
        """Properties for a client of this package's own, with more of them."""
        shared = {k: v for k, v in self.kafka.items() if k not in NOT_SHARED}
        return {**shared, "client.id": f"fisd-python-{self.name}", **more}


def _property(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if text.startswith("file:"):
        return _secret(text[len("file:"):])
    if text.startswith("credential:"):
        folder = os.environ.get("CREDENTIALS_DIRECTORY")
        if not folder:
            raise ConfigError(f"{text}: CREDENTIALS_DIRECTORY is not set (systemd sets it)")
        return _secret(os.path.join(folder, text[len("credential:"):]))
    return text


def _secret(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read().rstrip("\r\n")


def _with_environment(text: str, path: str) -> str:
    def value(match: "re.Match[str]") -> str:
        name = match.group(1)
        if name is None:
            return "${"
        if name not in os.environ:
            raise ConfigError(f"{path}: the environment variable {name} is not set")
        return os.environ[name]
    lines = (line if line.lstrip().startswith("#") else re.sub(r"\$\$\{|\$\{(\w+)\}", value, line)
             for line in text.splitlines(keepends=True))
    return "".join(lines)


def _examples(c: Mapping[str, Any], section: str) -> Sequence[str]:
    given = c.get(section) or {}
    return [*([given["label"]] if "label" in given else []), *(given.get("sensitive") or ())]


def _beside(folder: str, name: str, value: Any) -> Any:
    """A relative path, or "file:…", is beside the configuration, wherever the program was started."""
    if not isinstance(value, str) or not value:
        return value
    if value.startswith("file:"):
        return "file:" + os.path.join(folder, value[len("file:"):])
    if not name.endswith((".location", ".keytab", ".file")) or value == "probe":
        return value
    if value.startswith(("FILE:", "credential:")) or (name == "ssl.engine.location" and "/" not in value):
        return value  # Kerberos's own way to write a path; a library is looked for by name
    return os.path.join(folder, value)


def _arguments(c: Mapping[str, Any], folder: str) -> Dict[str, Any]:
    """Of `Pipeline`, from a configuration as it was read, in this folder."""
    records, labels = c.get("records") or {}, c.get("labels") or {}
    topics = {k: v[0] if isinstance(v, list) else v  # records: several; the first is written to
              for k, v in (c.get("topics") or {}).items() if k in TOPICS}
    columns: Any = [Column(x["name"], x.get("type", "numeric")) for x in c.get("columns") or ()]
    if c.get("dimension"):
        columns = [f"f{i}" for i in range(int(c["dimension"]))]
    image = c.get("model.image") or (c.get("model") or {}).get("image")
    if image:
        columns = [f"f{i}" for i in range(int(image[0]) * int(image[1]) * int(image[2]))]
    base = c.get("model.base") or (c.get("model") or {}).get("base") or {}
    columns += base.get("names") or [base["name"]] if base.get("type") == "column" else []
    return {
        "name": c["pipeline"], "kafka": {k: _beside(folder, k, v) for k, v in (c.get("kafka") or {}).items()}, "topics": topics, "columns": columns,
        "prefix": (c.get("topics") or {}).get("prefix"),
        "record_encoding": records.get("encoding", "json"),
        "label_encoding": labels.get("encoding", "json"),
        "id": records.get("id", "id"), "unknown": records.get("unknown", "refuse"),
        "numeric_text": records.get("numeric_text") == "true",
        "examples": [x for section in ("initial", "validation") for x in _examples(c, section)],
        "passthrough": [*(records.get("passthrough") or ()), *(records.get("ignore") or ())],
        "classes": c.get("classes") or (),
    }
