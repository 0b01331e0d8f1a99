"""Commas in numbers of a table: decimal signs, or what sets thousands apart. Doubts are told."""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNIT = r"(?P<unit>\s*[^\d\s,.][^\d,]*)?"
# Commas that set no thousands apart: not three digits after them, or a 0 before, or points as marks.
_DECIMAL = re.compile(r"(?P<number>[-+]?(?:\d+,(?:\d{1,2}|\d{4,})|0+,\d+|\d{1,3}(?:\.\d{3})+,\d+))" + _UNIT)
# What may be either once commas are decimal signs elsewhere in the table: 8,192 and 1.500.
_EITHER = re.compile(r"(?P<whole>[-+]?[1-9]\d{0,2})[,.](?P<part>\d{3})" + _UNIT)
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:[, ]\d{3})+(?![\d,])")


def without_thousands(text: str) -> str:
    """Numbers whose thousands are set apart by commas or spaces, as digits alone; other commas stay."""
    return _THOUSANDS.sub(lambda found: re.sub(r"[, ]", "", found[0]), text)


def with_decimal_point(text: str) -> str:
    """A number that has a decimal comma, with a point; any other text as it is."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return text
    return found["number"].replace(".", "").replace(",", ".") + (found["unit"] or "")


def first_decimal_comma(cells: Iterable[str]) -> str:
    """The first number whose comma can be a decimal sign only; empty where there is none."""
    return next((cell for cell in cells if _DECIMAL.fullmatch(cell)), "")


def two_meanings(text: str) -> tuple[str, str] | None:
    """What a number may be where commas are decimal signs: with thousands, with decimals; none if clear."""
    found = _EITHER.fullmatch(text)
    return None if found is None else (found["whole"] + found["part"], f"{found['whole']}.{found['part']}")
