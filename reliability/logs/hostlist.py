"""Names of nodes as Slurm writes them."""

from __future__ import annotations

import itertools
import math
import re

LONGEST_RANGE = 1_000_000
_ONE_RANGE = re.compile(r"(?P<name>[^,\[\]\s]+)\[(?P<range>\d+-\d+)\]")  # as most lists are


def expand(text: str) -> list[str]:
    """Every name in `node[001-004,7],login1`, in order.

    Raises:
        ValueError: a bracket is not closed, a range runs backwards, or there are far too many names.
    """
    if plain := _ONE_RANGE.fullmatch(text):
        return [plain["name"] + number for number in _numbers(plain["range"])]
    if text.count("[") != text.count("]"):
        raise ValueError(f"'{text}' has a bracket that is not closed: write node[001-004]")
    parts = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)
    found: list[str] = []
    for part in parts:
        found += _names(part.strip())
        _refuse_many(text, len(found))
    return found


def _names(part: str) -> list[str]:
    pieces = re.split(r"\[([^\]]*)\]", part)
    choices = [_numbers(piece) if i % 2 else [piece] for i, piece in enumerate(pieces)]
    _refuse_many(part, math.prod(map(len, choices)))
    return ["".join(choice) for choice in itertools.product(*choices)]


def _numbers(ranges: str) -> list[str]:
    found: list[str] = []
    for piece in ranges.split(","):
        first, _, last = piece.partition("-")
        last = last or first
        if not (first.isdigit() and last.isdigit()) or int(last) < int(first):
            raise ValueError(f"'[{ranges}]' is not a list of numbers and rising ranges: write [001-004,7]")
        _refuse_many(f"[{ranges}]", len(found) + int(last) - int(first))
        form = f"{{:0{len(first)}d}}".format
        found += map(form, range(int(first), int(last) + 1))
    return found


def _refuse_many(text: str, names: int) -> None:
    if names > LONGEST_RANGE:
        raise ValueError(f"'{text}' names more than {LONGEST_RANGE:,} nodes: is it a digit too long?")
