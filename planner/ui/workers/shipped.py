"""Work that was done beforehand: what the pages open with, as long as it is still what would come out."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

from planner.inputs.loading import data_folder, load_catalogue
from planner.report.editions import up_to_date
from planner.store.packing import versions_here
from planner.trace.records import Record

SCENARIO = "next-quarter"
NAMES = ("front", "front_of_time", "compared")
VALIDATION = "validation"  # made from the published rows


def shipped(name: str, text: str) -> Record | None:
    """The answer to a piece of work for the scenario `text`; None where none was made from just that."""
    if not shipped_path(name).exists():
        return None
    held = _read(name)
    answer: Record = held["answer"]
    return answer if held["made_from"] == made_from(text) else None


def shipped_path(name: str) -> Path:
    """Where the answer lies."""
    if name == VALIDATION:
        return data_folder() / "solved" / f"{name}.json.gz"
    if name not in NAMES:
        raise ValueError(f"no shipped work '{name}'; there are {', '.join(NAMES)}")
    return data_folder() / "solved" / f"{SCENARIO}-{name.replace('_', '-')}.json.gz"


def made_from(text: str) -> Record:
    """What an answer depends on: the scenario or the rows, the facts, and the version of everfleet."""
    return {
        "scenario": hashlib.sha256(text.encode()).hexdigest(),
        "facts": load_catalogue().digest,
        "everfleet": versions_here()["everfleet"],
    }


def write_shipped(name: str, text: str, answer: Record) -> Path:
    """Keep an answer; the same answer gives the same bytes."""
    path = shipped_path(name)
    path.parent.mkdir(exist_ok=True)
    content = json.dumps({"made_from": made_from(text), "answer": answer})
    path.write_bytes(gzip.compress(content.encode(), mtime=0))
    return path


def published_text() -> str:
    """The published rows that ours are set next to."""
    files = sorted((data_folder() / "published").glob("*.csv"))
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def shipped_as_it_was(name: str) -> Record:
    """The answer as it was made, for a page that shows it as an example."""
    answer: Record = _read(name)["answer"]
    return answer


def _read(name: str) -> Record:
    held: Record = json.loads(gzip.decompress(shipped_path(name).read_bytes()))
    return held | {"answer": up_to_date(held["answer"])}
