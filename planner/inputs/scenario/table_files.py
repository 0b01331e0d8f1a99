"""Files of embedding tables that runs and services name: what is in them, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.embedding_tables import EmbeddingTable, read_reuse, read_tables, with_reuse
from planner.inputs.loading import data_folder
from planner.inputs.scenario.problems import Problem, place, shown
from planner.inputs.scenario.schema_tables import Tables
from planner.trace.errors import InputError
from planner.trace.numbers import count_text

SECTIONS = ("training", "services")
KEY = "tables"
APART = 0.05  # by which a file and the facts of its model may differ


def with_tables(document: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], list[Problem]]:
    """The tables of a scenario with each named file as a table of keys, and why a file cannot be read."""
    found, problems = dict(document), list[Problem]()
    for section in SECTIONS:
        entries = found.get(section)
        if not isinstance(entries, list):
            continue
        found[section] = [
            {**entry, KEY: {Tables.SHORT: entry[KEY]}}
            if isinstance(entry, dict) and isinstance(entry.get(KEY), str)
            else entry
            for entry in entries
        ]
        for i, entry in enumerate(found[section]):
            part = named_tables(entry)
            if part is None:
                continue
            try:
                tables_of(part, folder)
            except InputError as error:
                at = f"{place((section, i), document)}.{KEY}"
                said = (
                    str(error)
                    .replace(f"{folder}/", "")
                    .replace("--model", "set")
                    .replace("--dataset", "reuse_set")
                )
                problems += [Problem(at, line) for line in said.splitlines()]
    return found, problems


def named_tables(entry: object) -> Tables | None:
    """The tables that an entry names; None where it names none, or not rightly."""
    held = entry.get(KEY) if isinstance(entry, dict) else None
    if not isinstance(held, dict):
        return None
    try:
        return Tables.model_validate(held)
    except ValueError:  # told of its own
        return None


def tables_of(part: Tables, folder: Path | None) -> tuple[EmbeddingTable, ...]:
    """The tables of a file with how often their rows are read.

    Raises:
        InputError: a file is not there or wrong; the message has every problem of it.
    """
    held = read_tables(_path(part.file, folder), part.table_set or "")
    if part.reuse is not None:
        held = with_reuse(held, read_reuse(_path(part.reuse, folder), part.reuse_set or ""))
    elif part.reuse_set is not None:
        raise InputError("reuse_set is of reuse, which names no file")
    return tuple(held)


def table_problems(
    document: Mapping[str, Any], folder: Path | None, catalogue: Catalogue
) -> Iterator[Problem]:
    """Tables that are not those of their model: the step of the model takes their placement into account."""
    for section in SECTIONS:
        entries = document.get(section)
        for i, entry in enumerate(entries if isinstance(entries, list) else ()):
            part = named_tables(entry)
            if part is None:
                continue
            at, own = f"{place((section, i), document)}.{KEY}", f"recommendation.{entry.get('model')}"
            if not catalogue.has(f"{own}.lookups"):
                yield Problem(
                    at, f"are those of a recommendation model, and {shown(entry.get('model'))} is none"
                )
                continue
            if entry.get("models"):
                yield Problem(at, "are those of one model: remove models, or leave tables out")
            try:
                held = tables_of(part, folder)
            except InputError:  # told of its own
                continue
            if problem := of_another_model(held, part.file, str(entry["model"]), catalogue):
                yield Problem(at, problem)


def of_another_model(held: Sequence[EmbeddingTable], file: str, model: str, catalogue: Catalogue) -> str:
    """How tables differ from the facts of a recommendation model; empty where they are its own."""
    rows, width, read = (
        float(catalogue.fact(f"recommendation.{model}.{word}").value)
        for word in ("embedding_rows", "embedding_dim", "lookups")
    )
    for what, ours, theirs in (
        ("rows are read for a sample", sum(one.pooling for one in held), read),
        ("values are held", sum(one.rows * one.dim for one in held), rows * width),
    ):
        if abs(ours - theirs) > APART * theirs:
            return (
                f"{count_text(ours)} {what} by {file}, and {count_text(theirs)} by the facts of {model}: "
                "name the tables of this model, or state its facts"
            )
    return ""


def _path(name: str, folder: Path | None) -> Path:
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts:
        raise InputError(f"{shown(name)} leads out of the folder of the scenario: name a file in it")
    if folder is not None and (folder / name).is_file():
        return folder / name
    if (data_folder() / "samples" / name).is_file():
        return Path(name)  # found among what is shipped
    if folder is None:
        raise InputError(
            f"{shown(name)} is looked for in the folder of the scenario, and this text has no file"
        )
    raise InputError(f"there is no file {shown(name)} in the folder of the scenario")
