"""The one writer of CSV: what a spreadsheet opens is what was meant, text as text and numbers as numbers."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# What a spreadsheet takes for the beginning of a formula, in the wide letters of East Asia too.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_of(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = (), *, line_end: str = "\r\n") -> str:
    """Rows as CSV below their headings: `columns` first, then what else a row holds, as it is met.

    Text that a spreadsheet would take for a formula gets an apostrophe; a number that is none stays empty.
    """
    held = dict.fromkeys((*columns, *(key for row in rows for key in row)))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=line_end)
    writer.writerow([_cell(key) for key in held])
    writer.writerows([_cell(row.get(key)) for key in held] for row in rows)
    return file.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return None if isinstance(value, float) and not math.isfinite(value) else value
