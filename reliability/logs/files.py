"""A log on disk as plain text: unpacked where it is packed, and refused clearly where it cannot be read."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from reliability.logs.problems import LogError

MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz"}
LONGEST_LINE_BYTES = 1024 * 1024
# A packed log may grow to the larger of these. Logs of jobs and events pack to a tenth, seldom to a
# thirtieth; a file that was made to fill a disk, to a thousandth. A log that is not packed has no such limit.
MOST_UNPACKED_BYTES = 200_000_000
MOST_UNPACKED_RATIO = 50
_PIECE_BYTES = 1 << 20
KUBERNETES_LIST = re.compile(
    r'\s*\{\s*"apiVersion"\s*:\s*"v1"\s*,\s*"(items"\s*:\s*\[|kind"\s*:\s*"(Event)?List")'
)


def plain_file(path: Path, folder: Path) -> Path:
    """The file itself, or its unpacked copy in `folder`.

    Raises:
        LogError: there is no such file, it is empty or no text, or it is packed and damaged or far too large.
    """
    try:
        if path.exists() and not path.is_file():
            raise LogError([f"{path.name}: is no regular file: write the log to a file and name that"])
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise LogError([f"{path.name}: cannot be read: {error.strerror}"]) from error
    name = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    if name is None:
        return _records(_text(path, path), folder)
    copy = folder / "unpacked"
    try:
        with gzip.open(path) if name == "gzip" else lzma.open(path) as source, copy.open("wb") as target:
            _unpack(path, source, target)
    except EOFError as error:
        raise LogError([f"{path.name}: the {name} file ends too early: copy or download it again"]) from error
    except (OSError, lzma.LZMAError, zlib.error) as error:
        raise LogError([f"{path.name}: the {name} file is damaged: {error}"]) from error
    return _records(_text(copy, path), folder)


def _records(file: Path, folder: Path) -> Path:
    """The file, or its objects a line each where it is one list, as `kubectl get -o json` writes it."""
    with open_text(file) as text:
        if not KUBERNETES_LIST.match(text.read(1 << 12)) or file.stat().st_size > MOST_UNPACKED_BYTES:
            return file
        text.seek(0)
        try:
            items = json.load(text)["items"]
        except (ValueError, RecursionError):  # cut off, or another thing: told by who reads its head
            return file
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return file
    flat = folder / "items"
    with flat.open("w", encoding="utf-8") as target:
        target.writelines(json.dumps(item) + "\n" for item in items)
    return _text(flat, file)


def _unpack(path: Path, source: gzip.GzipFile | lzma.LZMAFile, target: IO[bytes]) -> None:
    most_bytes = max(MOST_UNPACKED_BYTES, MOST_UNPACKED_RATIO * path.stat().st_size)
    unpacked_bytes = 0
    while piece := source.read(_PIECE_BYTES):
        unpacked_bytes += len(piece)
        if unpacked_bytes > most_bytes:
            raise LogError(
                [
                    f"{path.name}: unpacks to more than {most_bytes / 1e6:,.0f} MB, {MOST_UNPACKED_RATIO} "
                    "times its size or more: if it is the right file, unpack it yourself and name the text"
                ]
            )
        target.write(piece)


def header_of(path: Path, name: str) -> tuple[int, str]:
    """The first line of a text that is not blank, and how many lines end with it; `name` begins messages.

    Raises:
        LogError: the line is too long to be a header.
    """
    for number, line in enumerate(lines_of(path), start=1):
        if len(line) > LONGEST_LINE_BYTES:
            raise LogError(
                [
                    f"{name}: line {number} is longer than {LONGEST_LINE_BYTES:,} characters: is it a log, "
                    "with a line for each record?"
                ]
            )
        if line.strip():
            return number, line.rstrip("\r\n")
    return 0, ""


def lines_of(path: Path) -> Iterator[str]:
    """Lines of a text, each with its end; of one that is too long, its beginning, a character too long."""
    with open_text(path) as file:
        while line := file.readline(LONGEST_LINE_BYTES + 1):
            yield line
            ended = line.endswith("\n") or len(line) <= LONGEST_LINE_BYTES
            while not ended:
                rest = file.readline(LONGEST_LINE_BYTES)
                ended = not rest or rest.endswith("\n")


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
