"""What a worker and the process that started it tell each other: JSON, line by line."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from planner.trace.records import Record

ENDED = ("done", "stopped", "failed", "died")
_BYTES = "base64 bytes"


@dataclass(frozen=True, slots=True)
class Step:
    """Where a search stood; what is not known yet is None."""

    elapsed_s: float
    incumbent: float | None
    bound: float | None
    gap_fraction: float | None


@dataclass(frozen=True, slots=True)
class Seen:
    """Work as it is: waiting, working, done, stopped (with the best that was there), failed or died."""

    state: str
    text: str = ""
    trail: tuple[Step, ...] = ()
    parts: tuple[Record, ...] = ()
    result: Record | None = None
    error: str = ""
    elapsed_s: float = 0.0
    stopping: bool = False  # it was asked to end, and has not yet
    place: int = 0  # among those that wait, 1 the next; 0 where it is not told

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ENDED


class Tell(Protocol):
    """What a task calls to say how far it is: in words, by a step of its search or a part of its answer."""

    def __call__(self, text: str = "", *, step: Step | None = None, part: Record | None = None) -> None:
        """Say so."""


Task = Callable[[Record, Tell, Callable[[], bool]], Record]


def work_key(task: str, arguments: Mapping[str, Any]) -> str:
    """SHA-256 of a task and its arguments: the same content is the same work."""
    return hashlib.sha256(line([task, dict(arguments)], sort_keys=True)).hexdigest()


def line(message: Any, *, sort_keys: bool = False) -> bytes:
    """A message in one line.

    Raises:
        TypeError: it holds something else than plain data and bytes.
    """
    return json.dumps(message, default=_encoded, sort_keys=sort_keys).encode() + b"\n"


def message_of(text: bytes) -> Any:
    """The message of a line."""
    return json.loads(text, object_hook=_decoded)


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    raise TypeError(f"a worker takes plain data and bytes, not {type(value).__name__}")


def _decoded(value: Record) -> Any:
    return base64.b64decode(value[_BYTES]) if value.keys() == {_BYTES} else value
