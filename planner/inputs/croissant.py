"""The size of a data set, from its Croissant description.

Files inside an archive are in the archive's size. A description that does not say the size of everything that
lies outside of others is refused: a set of files by a pattern is such.

Source: MLCommons, Croissant format specification 1.0 and 1.1: distribution, FileObject, FileSet, contentSize
and containedIn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.inputs.files import parse_json, read_limited
from planner.trace.errors import InputError

LARGEST_BYTES = 50_000_000  # of a description: it lists files, and holds none
MOST_GB = 1e12
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)\s*(?:([kKMGTPE])(i?))?(?:B|bytes?)?\s*")
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set: its name, its files, and the bytes of them all [GB]."""

    name: str
    files: int
    size_gb: float


def read_data_set(path: Path) -> DataSet:
    """The data set that a description is of.

    Raises:
        InputError: it cannot be read, is none, or does not say the size of a file.
    """
    try:
        found = parse_json(
            read_limited(path, most_bytes=LARGEST_BYTES, instead="list fewer files").decode("utf-8-sig")
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path.name}: is no JSON: {error}") from None
    files = found.get("distribution") if isinstance(found, Mapping) else None
    if not isinstance(files, list) or not all(isinstance(one, Mapping) for one in files):
        raise InputError(f"{path.name}: is no Croissant data set: it has no distribution of files")
    whole = [one for one in files if _is_file(one) and "containedIn" not in one]
    sizes = [_size_gb(one.get("contentSize")) for one in whole]
    if lacking := [one for one, size in zip(whole, sizes, strict=True) if size is None]:
        name = str(lacking[0].get("name", lacking[0].get("@id", "")))[:64]
        raise InputError(
            f"{path.name}: {len(lacking)} of its {len(whole)} files have no contentSize that is understood, "
            f"such as '{name}': state the amount in place of the data set"
        )
    size_gb = sum(size for size in sizes if size is not None)
    if not 0 < size_gb <= MOST_GB:
        raise InputError(
            f"{path.name}: its files come to {size_gb:g} GB: state the amount in place of the data set"
        )
    return DataSet(str(found.get("name", path.name))[:200], len(whole), size_gb)


def _is_file(one: Mapping[str, Any]) -> bool:
    kinds = one.get("@type")
    return any(
        str(kind).endswith(("FileObject", "FileSet"))
        for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _size_gb(said: Any) -> float | None:
    """A size as text with its unit, in bytes where it has none; None where it is not understood."""
    match = _SIZE.fullmatch(str(said)) if isinstance(said, str | int) and not isinstance(said, bool) else None
    if match is None:
        return None
    base = 1024.0 if match[3] else 1000.0
    return float(match[1]) * base ** _POWER[(match[2] or "").upper()] / 1e9
