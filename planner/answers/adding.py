"""What was written into one's own facts, in words."""

from __future__ import annotations

from planner.answers.lists import list_text
from planner.inputs.own.adding import Added
from planner.trace.numbers import how_many
from planner.trace.records import Record

_COLUMNS = ("key", "value", "unit", "low", "high", "where")


def added_record(added: Added) -> Record:
    """What was written, as plain data."""
    return {
        "folder": str(added.folder),
        "files": list(added.files),
        "use": added.use,
        "like": added.like,
        "rows": [dict(row) for row in added.rows],
    }


def added_text(added: Added) -> str:
    """What was written, what of it is assumed, and how it is used."""
    stated = [row for row in added.rows if row["kind"] != "assumed"]
    assumed = [row for row in added.rows if row["kind"] == "assumed"]
    lines = (
        [
            f"Stated: {how_many(len(stated), 'row')}",
            list_text([_short(row) for row in stated]),
        ]
        if stated
        else []
    )
    if assumed:
        lines += [
            "",
            f"Assumed from the class of {added.like}, with its range: {len(assumed)} rows. "
            "State what you know in the file:",
            list_text([{name: row[name] for name in _COLUMNS[:-1]} for row in assumed]),
        ]
    where = f'--data {added.folder} or data = "{added.folder}" in the file'
    lines += ["", f"Use it: {added.use}, with {where}"]
    return "\n".join(lines)


def _short(row: Record) -> Record:
    return {name: row[name] for name in _COLUMNS}
