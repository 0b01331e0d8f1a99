"""What was found in a file of the user, to be seen before any of it is used."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_DROPPED = 100  # rows that are named; all are counted


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was understood, and what using it would change.

    `facts` are names and values to read, rows among them; `dropped` names lines and reasons. `changes` are
    values at paths of the scenario, `files` what would lie next to it.
    """

    what: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    dropped: tuple[tuple[int, str], ...] = ()
    dropped_count: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[tuple[str, bytes], ...] = ()

    def fact_rows(self) -> list[dict[str, str]]:
        """What was recognised, as a table."""
        return [{"recognised": name, "value": value} for name, value in self.facts]

    def dropped_rows(self) -> list[dict[str, Any]]:
        """What was left out and why, as a table."""
        return [{"line": line, "reason": reason} for line, reason in self.dropped]


@contextmanager
def as_file(name: str, content: bytes) -> Iterator[Path]:
    """The content as a file of this name, for as long as it is read."""
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        path = Path(folder, Path(name).name or "file")
        path.write_bytes(content)
        yield path
