"""A log on disk as plain text: unpacked where it is packed, and refused clearly where it cannot be read."""

from __future__ import annotations

import gzip
import lzma
import shutil
import zlib
from pathlib import Path
from typing import IO

from reliability.logs.problems import LogError

MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz"}


def plain_file(path: Path, folder: Path) -> Path:
    """The file itself, or its unpacked copy in `folder`.

    Raises:
        LogError: there is no such file, it is empty or no text, or it is packed and damaged.
    """
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise LogError([f"{path.name}: cannot be read: {error.strerror}"]) from error
    name = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    if name is None:
        return _text(path, path)
    copy = folder / "unpacked"
    try:
        with gzip.open(path) if name == "gzip" else lzma.open(path) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except EOFError as error:
        raise LogError([f"{path.name}: the {name} file ends too early: copy or download it again"]) from error
    except (OSError, lzma.LZMAError, zlib.error) as error:
        raise LogError([f"{path.name}: the {name} file is damaged: {error}"]) from error
    return _text(copy, path)


def header_of(path: Path) -> tuple[int, str]:
    """The first line of a text that is not blank, and how many lines end with it."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                return number, line.rstrip("\r\n")
    return 0, ""


def open_text(path: Path) -> IO[str]:
    """A text for reading; bytes that are not UTF-8 show as such."""
    return path.open(encoding="utf-8-sig", errors="replace", newline="\n")


def _text(file: Path, path: Path) -> Path:
    with file.open("rb") as opened:
        head = opened.read(4096)
    if not head:
        raise LogError([f"{path.name}: the file is empty: write the log again, or leave it out"])
    if b"\0" in head:
        raise LogError([f"{path.name}: is not a text file in UTF-8: export the log as text"])
    return file
