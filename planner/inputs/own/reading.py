"""Facts, SKUs, models and regions of one's own: a folder or one TOML file in the format of `data/`.

A row needs a key and a value: its unit is that of its family, its kind `yours` and its source the file and
line where it stands, unless it says more. Everything that is wrong is reported at once.
"""

from __future__ import annotations

import difflib
import io
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from planner.inputs.catalogue import (
    COLUMNS,
    KINDS,
    Catalogue,
    OwnFacts,
    Region,
    Sku,
    make_fact,
    region_problems,
    sku_problems,
    source_of,
)
from planner.inputs.files import csv_rows, read_limited
from planner.inputs.models import ModelCardError, model_facts
from planner.inputs.own.facts import LARGEST_BYTES, MOST_FILES, OWN, OwnDataError
from planner.inputs.ranges import COUNTED
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact, Source
from planner.trace.units import canonical, parse_quantity

MOST_SAID = 60  # problems; more are counted
TABLES = ("facts", "sources", "skus", "regions", "models")
_NEEDED = ("key", "value")
_TABLE_FILES = ("sources.toml", "skus.toml", "regions.toml")
_YEAR = re.compile(r"\b(19|20)\d\d\b")


def joined(path: Path, shipped: Catalogue) -> Catalogue:
    """The catalogue with the facts of one's own at a path; read again only where a file has changed.

    Raises:
        OwnDataError: listing every fault.
    """
    return _joined(path, _stamps(path), shipped.folder, _Held(shipped))


def read_own(path: Path, shipped: Catalogue) -> OwnFacts:
    """The facts of one's own in a folder or a TOML file.

    Raises:
        OwnDataError: listing every fault.
    """
    own = joined(path, shipped).own
    assert own is not None, "they were read"
    return own


class _Held:
    """A catalogue as an argument that no cache tells apart: its folder does."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _joined(path: Path, stamps: tuple[Any, ...], folder: Path, held: _Held) -> Catalogue:
    return held.catalogue.with_own(_Reader(path, held.catalogue).read())


def _stamps(path: Path) -> tuple[Any, ...]:
    """What changes when a file of the folder does."""
    if not path.is_dir():
        return (_stamp(path),)
    return tuple((one.relative_to(path).as_posix(), _stamp(one)) for one in _files(path))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _files(folder: Path) -> list[Path]:
    """The files of a folder and of the folders in it, by name."""
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") for part in inside):
            found.append(path)
            if len(found) > MOST_FILES:
                raise OwnDataError(
                    f"{folder}: holds more than {count_text(MOST_FILES)} files: name the folder of facts"
                )
    return found


class _Reader:
    """One reading: what was found so far, and what is wrong with it."""

    def __init__(self, path: Path, shipped: Catalogue) -> None:
        self.path, self.shipped = path, shipped
        self.name = path.name or path.resolve().name  # of '.' too
        self.folder = path if path.is_dir() else path.parent
        self.problems: list[str] = []
        self.facts: dict[str, Fact] = {}
        self.places: dict[str, str] = {}  # of a key, SKU or region: file and line
        self.sources: dict[str, Source] = {}
        self.skus: dict[str, Sku] = {}
        self.regions: dict[str, Region] = {}
        self.refused: dict[str, Fact] = {}  # stated, though wrong: what names them is right
        self.cards: list[str] = []

    def read(self) -> OwnFacts:
        """Everything, checked."""
        if self.path.is_dir():
            self._folder()
        elif self.path.suffix == ".toml" and self.path.is_file():
            self._tables(self.name, self._toml(self.path), TABLES)
        else:
            there = "is no folder and no .toml file" if self.path.exists() else "does not exist"
            raise OwnDataError(
                f"{self.path}: {there}: name a folder of facts as `everfleet add` writes it, or one TOML file"
            )
        self._together()
        if self.problems:
            shown = self.problems[:MOST_SAID]
            left = len(self.problems) - len(shown)
            raise OwnDataError(
                "\n".join([*shown, *([f"and {count_text(left)} more problems"] if left else [])])
            )
        if not (self.facts or self.skus or self.regions):
            raise OwnDataError(f"{self.path}: holds no facts: write some by `everfleet add`")
        return OwnFacts(
            self.name,
            tuple(self.facts.values()),
            self.sources,
            self.skus,
            self.regions,
            tuple(key for key in self.facts if self.shipped.has(key)),
            self.path,
            self._used(),
        )

    def _used(self) -> tuple[str, ...]:
        """The files that it was read from, by their places next to what was named."""
        if self.path.is_dir():
            return tuple(f"{self.name}/{one.relative_to(self.path).as_posix()}" for one in _files(self.path))
        hours = [region.hourly for region in self.regions.values() if region.hourly]
        return (self.name, *dict.fromkeys([*self.cards, *hours]))

    def _folder(self) -> None:
        files = {path.relative_to(self.folder).as_posix(): path for path in _files(self.folder)}
        for name in _TABLE_FILES:  # sources first: rows name them
            if name in files:
                table = name.removesuffix(".toml")
                self._tables(name, {table: self._toml(files.pop(name))}, (table,))
        for name, path in files.items():
            parts = PurePosixPath(name).parts
            if name.endswith(".csv") and (len(parts) == 1 or parts[0] == "facts"):
                self._rows(name, path)
            elif name.endswith(".json") and parts[0] == "models":
                self._model(path.stem, name)
            elif name.endswith((".toml", ".csv", ".json")) and parts[0] != "series":
                self.problems.append(
                    f"{name}: is not read: rows stand in facts/*.csv, tables in {', '.join(_TABLE_FILES)}, "
                    "models in models/*.json, hours in series/"
                )

    def _toml(self, path: Path) -> dict[str, Any]:
        """The tables of a file, with the text of each line kept for places."""
        name = path.relative_to(self.folder).as_posix()
        try:
            text = read_limited(path, most_bytes=LARGEST_BYTES).decode("utf-8-sig")
            self._lines = text.splitlines()
            return tomllib.loads(text)
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(f"{name}: cannot be read: {error}")
        except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
            self.problems.append(f"{name}: this is not TOML: {error}")
        return {}

    def _line(self, name: str, word: str) -> str:
        """The place where a key or the head of a table stands."""
        plain = re.escape(word)
        head = re.compile(rf"""\s*(\[[\w.]*?["']?{plain}["']?\]|["']?{plain}["']?\s*=)""")
        line = next((i for i, text in enumerate(self._lines, start=1) if head.match(text)), None)
        return name if line is None else f"{name}:{line}"

    def _tables(self, name: str, document: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for table in document.keys() - set(known):
            self.problems.append(f"{self._line(name, table)}: [{table}] is not known: {_near(table, known)}")
        held = {table: document.get(table, {}) for table in known}
        for table, entries in held.items():
            if not isinstance(entries, dict):
                self.problems.append(f"{self._line(name, table)}: {table} is no table: write [{table}]")
        readers: dict[str, Callable[[str, str, Any], None]] = {
            "sources": self._source,
            "skus": self._sku,
            "regions": self._region,
            "facts": self._stated,
            "models": lambda where, key, value: self._model(key, str(value), where),
        }
        for table, reader in readers.items():
            entries = held.get(table)
            for key, value in entries.items() if isinstance(entries, dict) else ():
                reader(self._line(name, key), key, value)

    # One entry each

    def _source(self, where: str, name: str, entry: Any) -> None:
        if not isinstance(entry, dict) or "title" not in entry:
            self.problems.append(f"{where}: source '{name}' has no title: write title = \"...\"")
            return
        self.sources[name] = source_of(name, entry)

    def _sku(self, where: str, name: str, entry: Any) -> None:
        self._entry(where, name, entry, Sku, self.skus)

    def _region(self, where: str, name: str, entry: Any) -> None:
        held = {"title": name, **entry} if isinstance(entry, dict) else entry
        if not isinstance(held, dict) or "folder" not in held:
            self._entry(where, name, held, Region, self.regions, folder=self.folder)
            return
        self.problems.append(f"{where}: {name}: folder is not known")

    def _entry(
        self, where: str, name: str, entry: Any, kind: type[Any], into: dict[str, Any], **fixed: Any
    ) -> None:
        """An entry of a table as the dataclass of its kind."""
        if not isinstance(entry, dict):
            self.problems.append(f"{where}: {name} is no table: write [{name}] and its keys below")
            return
        kinds = {one.name: str(one.type) for one in fields(kind) if one.name != "name"}
        count = len(self.problems)
        for key, value in entry.items():
            if key not in kinds:
                self.problems.append(f"{where}: {name}: {key} is not known: {_near(key, kinds)}")
            elif type(value).__name__ != kinds[key]:
                self.problems.append(f"{where}: {name}: {key} = {value!r} is no {_WORDS[kinds[key]]}")
        if len(self.problems) > count:
            return
        try:
            into[name] = kind(name=name, **entry, **fixed)
            self.places[name] = where
        except TypeError as error:
            missing = ", ".join(re.findall(r"'(\w+)'", str(error)))
            self.problems.append(f"{where}: {name}: {missing} is missing")

    def _stated(self, where: str, key: str, value: Any) -> None:
        """A fact in a TOML table: a quantity, or a table with its value."""
        row = dict(value) if isinstance(value, dict) else {"value": value}
        known = {*COLUMNS} - {"key", "unit"}
        if unknown := row.keys() - known:
            word = sorted(unknown)[0]
            self.problems.append(f"{where}: {key}: {word} is not known: {_near(word, known)}")
            return
        if "value" not in row:
            self.problems.append(f"{where}: {key}: value is missing")
            return
        self._fact(where, {"key": key, **{name: str(held) for name, held in row.items()}})

    def _rows(self, name: str, path: Path) -> None:
        """The rows of a CSV file."""
        try:
            text = read_limited(path, most_bytes=LARGEST_BYTES).decode("utf-8-sig")
            rows = list(csv_rows(name, io.StringIO(text, newline="")))
        except (OSError, UnicodeDecodeError, InputError) as error:
            self.problems.append(f"{name}: cannot be read: {error}")
            return
        rows = [(line, row) for line, row in rows if any(cell.strip() for cell in row)]
        if not rows:
            return
        (line, header), *held = rows
        unknown = [column for column in header if column not in COLUMNS]
        missing = [column for column in _NEEDED if column not in header]
        if unknown or missing or len(set(header)) < len(header):
            said = f"is {','.join(header)[:120]}"
            self.problems.append(
                f"{name}:{line}: the header {said}: write {','.join(_NEEDED)} and what you know of "
                f"{','.join(column for column in COLUMNS if column not in _NEEDED)}"
            )
            return
        for line, row in held:
            if len(row) > len(header):
                self.problems.append(
                    f"{name}:{line}: has {len(row)} cells, and the header {len(header)}: "
                    'put text with a comma into quotes, "..."'
                )
                continue
            self._fact(f"{name}:{line}", dict(zip(header, (cell.strip() for cell in row), strict=False)))

    def _model(self, model: str, name: str, where: str = "") -> None:
        """A model from its configuration."""
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            self.problems.append(
                f"{where}: {model}: '{name}' leads out of the folder: put the file next to it"
            )
            return
        try:
            found = model_facts(model, self.folder / name)
        except (ModelCardError, OSError) as error:
            lines = str(error).replace(f"{self.folder}/", "").splitlines()
            self.problems += [f"{where or name}: {model}: {line}" for line in lines]
            return
        self.cards.append(name)
        for fact in found:
            place = f"{self._prefix}{name}"
            self._keep(
                where or name,
                replace(fact, locator=f"{place}; {fact.locator}" if fact.locator != inside.name else place),
            )

    # One fact

    def _fact(self, where: str, row: Mapping[str, str]) -> None:
        try:
            fact = self._made(where, row)
        except ValueError as error:
            self.problems.append(f"{where}: {row.get('key', '')}: {error}")
            self.refused[row.get("key", "")] = next(iter(self.shipped.facts.values()))
            return
        self._keep(where, fact)

    def _made(self, where: str, row: Mapping[str, str]) -> Fact:
        """The fact of a row.

        Raises:
            ValueError: what is wrong with it.
        """
        key = row["key"]
        family = self.shipped.ranges.of(key)
        if family is None:
            raise ValueError(f"there is no such family of facts; {_near(key, self.shipped.facts)}")
        if family.use not in COUNTED:
            raise ValueError(f"it would change nothing: {self.shipped.ranges.without_effect(key)}")
        unit = row.get("unit", "")
        value, low, high = (self._number(row.get(end, ""), unit, family.unit) for end in _ENDS)
        if value is None:
            raise ValueError(
                f"the value is empty: write a number{f' in {unit}' if unit else ' with its unit'}"
            )
        kind = row.get("kind") or "yours"
        if kind not in KINDS:
            raise ValueError(f"kind '{kind}' is none of {', '.join(KINDS)}")
        if kind in ("estimated", "assumed") and (low is None or high is None):
            raise ValueError(f"kind {kind} needs a range: give low and high")
        if outside := self.shipped.ranges.problem(key, (value, low, high), family.unit):
            raise ValueError(outside)
        locator = "; ".join(filter(None, (f"{self._prefix}{where}", row.get("locator", ""))))
        note = row.get("note", "")
        if re.fullmatch(r"grid\..+\.intensity", key) and not _YEAR.search(note):
            raise ValueError("its note has to name the year that it describes: write note = 'year 2025'")
        fact = make_fact(
            key,
            value,
            family.unit,
            self._cited(row.get("source", "")),
            locator=locator,
            kind=kind,
            low=low,
            high=high,
            note=note,
            boundary=self._boundary(key, row.get("boundary", "")),
        )
        stated = row["value"] if not unit or unit == "1" else f"{row['value']} {unit}"
        return replace(fact, stated=stated)

    @property
    def _prefix(self) -> str:
        """The folder, before the names of the files in it; a file of its own has none."""
        return f"{self.name}/" if self.path.is_dir() else ""

    def _boundary(self, key: str, text: str) -> dict[str, str]:
        """What must not be mixed: as stated, else that of the fact that it replaces."""
        if not text:
            return dict(self.shipped.facts[key].boundary) if self.shipped.has(key) else {}
        parts = [tag.partition("=") for tag in text.split(";") if tag]
        if wrong := [name for name, stated, tag in parts if not (stated and tag)]:
            raise ValueError(
                f"boundary '{wrong[0]}' is no family=tag, such as grid=average/direct/production"
            )
        return {name: tag for name, _, tag in parts}

    def _number(self, text: str, unit: str, wanted: str) -> float | None:
        """A number of a row in the unit of its family; None where the cell is empty."""
        if not text:
            return None
        if not unit:
            return parse_quantity(text, wanted)
        try:
            number = float(text)
        except ValueError:
            raise ValueError(f"'{text}' is no number") from None
        if unit in ("1", "count", "year") and canonical(1.0, unit)[1] == wanted:
            return canonical(number, unit)[0]
        return parse_quantity(f"{number!r} {unit}", wanted)

    def _cited(self, name: str) -> Source:
        if not name or name == OWN:
            if OWN not in self.sources:
                self.sources[OWN] = Source(OWN, f"facts of your own in {self.name}", link=self.name)
            return self.sources[OWN]
        found = self.sources.get(name) or self.shipped.sources.get(name)
        if found is None:
            known = [*self.sources, *self.shipped.sources]
            raise ValueError(f"source '{name}' is in no sources.toml; leave it out, or {_near(name, known)}")
        return found

    def _keep(self, where: str, fact: Fact) -> None:
        if fact.key in self.facts:
            self.problems.append(
                f"{where}: {fact.key}: is already stated at {self.places[fact.key]}: keep one"
            )
            return
        self.facts[fact.key], self.places[fact.key] = fact, where

    # Between entries

    def _together(self) -> None:
        """What no entry can know alone: facts that others name, and what an accelerator lacks."""
        facts = {**self.shipped.facts, **self.refused, **self.facts}
        for text in sku_problems(self.skus, facts):
            said = text.removeprefix("skus.toml: ")
            remedy = ": add it" if "no fact" in said else ""
            self.problems.append(f"{self.places[said.partition(':')[0]]}: {said}{remedy}")
        for text in region_problems(self.regions, facts):
            self.problems.append(f"{self.places[text.partition(':')[0]]}: {text}: add it, or write another")
        self._lacking(facts)
        self._hours()

    def _lacking(self, facts: Mapping[str, Fact]) -> None:
        """Facts of a new accelerator or server that every shipped one has."""
        for room, names in (
            ("accelerator", dict.fromkeys(sku.accelerator for sku in self.skus.values())),
            ("server", dict.fromkeys(sku.server for sku in self.skus.values())),
        ):
            needed = needed_of(self.shipped, room)
            for name in names:
                lacking = [prop for prop in needed if f"{room}.{name}.{prop}" not in facts]
                if lacking:
                    sku = next(s for s in self.skus.values() if name in (s.accelerator, s.server))
                    self.problems.append(
                        f"{self.places[sku.name]}: {sku.name}: {room}.{name} lacks {', '.join(lacking)}: add "
                        "these rows, or let `everfleet add gpu` take them from a class"
                    )

    def _hours(self) -> None:
        for region in self.regions.values():
            inside = PurePosixPath(region.hourly)
            if region.hourly and (inside.is_absolute() or ".." in inside.parts):
                self.problems.append(
                    f"{self.places[region.name]}: {region.name}: '{region.hourly}' leads out of the folder"
                )
            elif region.hourly and not (self.folder / region.hourly).is_file():
                self.problems.append(
                    f"{self.places[region.name]}: {region.name}: there is no file '{region.hourly}' of hours"
                )


_ENDS = ("value", "low", "high")
_WORDS = {"str": "text: write it in quotes", "int": "whole number", "bool": "true or false", "Path": "path"}


@lru_cache(maxsize=8)
def _needed(folder: Path, room: str, held: _Held) -> tuple[str, ...]:
    catalogue = held.catalogue
    names = {getattr(sku, room) for sku in map(catalogue.skus.__getitem__, catalogue.sold) if sku.trains}
    each = []
    for name in names:
        start = f"{room}.{name}."
        each.append({key.removeprefix(start) for key in catalogue.beginning(start)})
    found = set.intersection(*each) if each else set()
    counted = (prop for prop in found if catalogue.ranges.use(f"{room}.x.{prop}") in COUNTED)
    return tuple(sorted(counted))


def needed_of(shipped: Catalogue, room: str) -> tuple[str, ...]:
    """Properties that every accelerator or server that is sold has, and that answers count with."""
    return _needed(shipped.folder, room, _Held(shipped))


def _near(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=3)
    few = sorted(known) if len(known) < 12 else []
    return (
        f"near: {', '.join(close)}"
        if close
        else f"known: {', '.join(few)}"
        if few
        else "see `everfleet facts`"
    )


def csv_line(cells: list[str]) -> str:
    """A row as a line of CSV."""
    quoted = (
        f'"{cell.replace(chr(34), chr(34) * 2)}"' if set(cell) & set('",\n') else cell for cell in cells
    )
    return ",".join(quoted)
