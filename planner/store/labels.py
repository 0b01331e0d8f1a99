"""What people call a saved plan: a name, a note, tags and an owner, which may change; its content may not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.store.errors import StoreError

LONGEST = {"name": 80, "note": 2000, "owner": 80}  # characters
MOST_TAGS, LONGEST_TAG = 10, 40


@dataclass(frozen=True, slots=True)
class Labels:
    """What people call a plan; empty is not stated."""

    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""

    @property
    def stated(self) -> bool:
        """Whether anything is."""
        return bool(self.name or self.note or self.tags or self.owner)

    def row(self) -> dict[str, str]:
        """The columns of a plan."""
        return {"name": self.name, "note": self.note, "tags": ", ".join(self.tags), "owner": self.owner}


def labels_of(*, name: str = "", note: str = "", tags: Iterable[str] = (), owner: str = "") -> Labels:
    """Labels as people write them: a tag may hold several, apart by commas.

    Raises:
        StoreError: naming everything that is too long.
    """
    said = {"name": _line(name), "note": note.strip(), "owner": _line(owner)}
    each = [_line(tag) for text in tags for tag in text.split(",")]
    found = tuple(dict.fromkeys(filter(None, each)))
    problems = [
        f"{key}: {len(text)} characters; at most {LONGEST[key]} are kept"
        for key, text in said.items()
        if len(text) > LONGEST[key]
    ]
    problems += [
        f"tag '{tag[:10]}…': at most {LONGEST_TAG} characters" for tag in found if len(tag) > LONGEST_TAG
    ]
    if len(found) > MOST_TAGS:
        problems.append(f"{len(found)} tags: at most {MOST_TAGS} are kept")
    if problems:
        raise StoreError("\n".join(problems))
    return Labels(said["name"], said["note"], found, said["owner"])


def _line(text: str) -> str:
    return " ".join(text.split())
