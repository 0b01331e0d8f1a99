"""Large files read piece by piece: packed or not, the entries of a JSON list, the messages of a protobuf."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from planner.inputs.files import NO_FILE, may_never_end
from planner.trace.errors import InputError

PIECE_BYTES = 1 << 20
LARGEST_ENTRY_BYTES = 64_000_000  # of one entry of a list, or one message
_SPACE = " \t\r\n"


@contextmanager
def pieces_of(path: Path, most_bytes: int) -> Iterator[Iterator[bytes]]:
    """What a file holds, a piece at a time, unpacked where it is gzip.

    Raises:
        InputError: it cannot be opened, is a pipe, damaged, or holds more than `most_bytes`.
    """
    if may_never_end(path):
        raise InputError(f"{path}: {NO_FILE}")
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield _limited(path, gzip.GzipFile(fileobj=file) if packed else file, most_bytes)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path}: damaged gzip: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _limited(path: Path, file: IO[bytes] | gzip.GzipFile, most_bytes: int) -> Iterator[bytes]:
    read = 0
    while piece := file.read(PIECE_BYTES):
        read += len(piece)
        if read > most_bytes:
            raise InputError(f"{path}: more than {most_bytes // 1_000_000} MB unpacked: keep less in it")
        yield piece


def json_entries(
    pieces: Iterator[bytes], lists: Mapping[str, Callable[[Any], None]], alone: str
) -> dict[str, Any]:
    """Hand each entry of the named lists of a JSON object to its function; give back all else of the object.

    A text that is a list itself is the one called `alone`. Memory holds one entry at a time.

    Raises:
        ValueError: it is no JSON object or list, is nested too deep, or an entry is too large.
    """
    reader = _Json(pieces)
    found: dict[str, Any] = {}
    if reader.peek() == "[":
        reader.entries(lists[alone])
        found[alone] = None
    else:
        reader.take("{")
        while reader.peek() != "}":
            key = reader.value()
            reader.take(":")
            if key in lists and reader.peek() == "[":
                reader.entries(lists[key])
                found[key] = None
            else:
                found[key] = reader.value()
            reader.part("}")
        reader.take("}")
    if reader.peek():
        raise ValueError("something follows its end")
    return found


class _Json:
    """Values of a JSON text that arrives in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._decoder = pieces, json.JSONDecoder()
        self._letters = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._place, self._ended = "", 0, False

    def _more(self) -> bool:
        if self._ended:
            return False
        grown = self._text[self._place :]
        if len(grown) > LARGEST_ENTRY_BYTES:
            raise ValueError(f"an entry is larger than {LARGEST_ENTRY_BYTES // 1_000_000} MB")
        wanted, parts = max(PIECE_BYTES, len(grown)), [grown]
        while wanted > 0 and not self._ended:
            piece = next(self._pieces, b"")
            self._ended = not piece
            parts.append(self._letters.decode(piece, final=self._ended))
            wanted -= len(piece)
        self._text, self._place = "".join(parts), 0
        return True

    def peek(self) -> str:
        """The next letter that is no space; empty at the end."""
        while True:
            while self._place < len(self._text):
                if self._text[self._place] not in _SPACE:
                    return self._text[self._place]
                self._place += 1
            if not self._more():
                return ""

    def take(self, letter: str) -> None:
        """Step over this letter."""
        if self.peek() != letter:
            raise ValueError(f"'{letter}' is missing")
        self._place += 1

    def part(self, end: str) -> None:
        """Step over the comma before a further part; nothing where the end follows."""
        if self.peek() != end:
            self.take(",")
            if self.peek() == end:
                raise ValueError(f"a comma is followed by '{end}'")

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._place)
            except RecursionError:
                raise ValueError("it is nested too deep") from None
            except json.JSONDecodeError:
                if not self._more():
                    raise
                continue
            if end < len(self._text) or not self._more():  # a number may go on in the next piece
                self._place = end
                return found

    def entries(self, take: Callable[[Any], None]) -> None:
        """Hand each entry of the list that follows to a function."""
        self.take("[")
        while self.peek() != "]":
            take(self.value())
            self.part("]")
        self.take("]")


def messages_of(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Messages that follow their length each, as protobuf writes several into a file.

    Raises:
        ValueError: it ends inside a message, or one is too large.
    """
    held, place = b"", 0
    for piece in pieces:
        held, place = held[place:] + piece, 0
        while (found := _whole_message(held, place)) is not None:
            message, place = found
            yield message
    if place < len(held):
        raise ValueError("it ends inside a message")


def _whole_message(held: bytes, place: int) -> tuple[bytes, int] | None:
    try:
        length, begin = varint(held, place)
    except IndexError:
        return None
    if length > LARGEST_ENTRY_BYTES:
        raise ValueError(f"a message is larger than {LARGEST_ENTRY_BYTES // 1_000_000} MB")
    return (held[begin : begin + length], begin + length) if begin + length <= len(held) else None


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte at a place, and where it ends.

    Raises:
        IndexError: the data end before.
        ValueError: it is longer than 64 bits.
    """
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a number is longer than 64 bits")


def fields_of_message(message: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers and values of a protobuf message: numbers, or bytes of what has a length.

    Raises:
        ValueError: a field ends outside of it, or is of a kind that protobuf no longer has.
    """
    place = 0
    while place < len(message):
        key, place = varint(message, place)
        number, kind = key >> 3, key & 7
        value: Any
        if kind == 0:
            value, place = varint(message, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
            value, place = message[place : place + length], place + length
        elif kind == 2:
            length, place = varint(message, place)
            value, place = message[place : place + length], place + length
        else:
            raise ValueError(f"wire type {kind} is no protobuf of today")
        if place > len(message):
            raise ValueError("a field ends outside its message")
        yield number, value


def written_field(number: int, value: int | bytes) -> bytes:
    """A field of a protobuf message."""
    if isinstance(value, int):
        return written_varint(number << 3) + written_varint(value)
    return written_varint(number << 3 | 2) + written_varint(len(value)) + value


def written_varint(value: int) -> bytes:
    """A number from 0 up as seven bits a byte."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
