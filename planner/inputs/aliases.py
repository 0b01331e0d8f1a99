"""Names as files of others spell them: `data/aliases.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import data_folder

MOST_WORDS = 12  # of a name that anybody writes


@cache
def aliases(table: str) -> Mapping[str, Any]:
    """One table of `data/aliases.toml`."""
    with (data_folder() / "aliases.toml").open("rb") as file:
        tables: dict[str, Mapping[str, Any]] = tomllib.load(file)
    return tables.get(table, {})


def accelerator_called(text: str, catalogue: Catalogue) -> str | None:
    """The catalogue's name of an accelerator, from a name with makers, memories or machines around it.

    'NVIDIA H100-SXM-80GB' and 'h100-cw' are one accelerator. A memory that is not the accelerator's means
    another one: none is found then.
    """
    known = _squeezed("accelerator", catalogue)
    stated = re.search(r"(\d+) ?GB", text, re.IGNORECASE)
    words = _words(text, aliases("result_words")["makers"])
    memory = f"{stated[1]}gb" if stated else ""
    for end in range(len(words), 0, -1):
        start = _joined(words[:end])
        name = known.get(start + memory) or known.get(start)
        if name is None:
            continue
        memory_gb = catalogue.fact(f"accelerator.{name}.memory").value
        if stated and abs(float(stated[1]) / memory_gb - 1.0) > aliases("result_words")["memory_tolerance"]:
            continue
        return name
    return None


def model_called(text: str, catalogue: Catalogue) -> str | None:
    """The catalogue's name of a model, from one that may name its owner, edition and number format.

    'meta-llama/Llama-3.1-70B-Instruct-FP8' is 'llama-3.1-70b'.
    """
    return name_called("model", text, catalogue)


def name_called(table: str, text: str, catalogue: Catalogue) -> str | None:
    """The catalogue's name of anything, however its words are separated: 'FLUX.1 dev' is 'flux1-dev'."""
    if table == "accelerator":
        return accelerator_called(text, catalogue)
    known = _squeezed(table, catalogue)
    words = _words(text.rpartition("/")[2])
    editions = set(aliases("result_words")["editions"])
    while words:
        if (name := known.get(_joined(words))) is not None:
            return name
        if words[-1] not in editions:
            return None
        words.pop()
    return None


def alias_of(table: str, text: str) -> Any:
    """What a table of `data/aliases.toml` says of a name, however its words are separated, or None."""
    known = aliases(table)
    if text in known:
        return known[text]
    wanted = _joined(_words(text))
    return next((entry for alias, entry in known.items() if _joined(_words(alias)) == wanted), None)


NAMED_BY = {"model": "layers", "accelerator": "memory"}  # a fact that each whole entry of a table has


def _squeezed(table: str, catalogue: Catalogue) -> dict[str, str]:
    """Aliases and names of the catalogue without what separates their words."""
    names = catalogue.names(table, NAMED_BY.get(table, ""))
    pairs: Iterable[tuple[str, str]] = [*aliases(table).items(), *((name, name) for name in names)]
    return {_joined(_words(alias)): name for alias, name in pairs if name in names}


def _joined(words: Iterable[str]) -> str:
    return "".join(words).replace(".", "")


def _words(text: str, without: Iterable[str] = ()) -> list[str]:
    left_out = set(without)
    return [word for word in _split(text) if word not in left_out]


def _split(text: str) -> Iterator[str]:
    """The first words of a name, in small letters; a number of several parts stays whole."""
    for _, match in zip(range(MOST_WORDS), re.finditer(r"[^\s_\-()\[\],]+", text.casefold()), strict=False):
        yield match[0]
