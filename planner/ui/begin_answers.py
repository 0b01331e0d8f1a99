"""What was answered in the guided start: one value of the session, replaced whole by each answer.

Entries are known by a number, so that names may change; what refers to another entry holds that number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from planner.inputs.sheets.guide import STEPS, Answers, place_row
from planner.inputs.sheets.kinds import CHILDREN, PARENT, Detail, begun, kind_called
from planner.ui import session

ID = "_id"  # of an entry, for the keys of its fields; no key of a scenario
_ANSWERS, _COUNT, STEP = "begin.answers", "begin.count", "begin.step"
# Keys that refer to entries of another table by their numbers; `sites` to several, with commas between.
_REFERS: Mapping[str, str] = {"site": "sites", "sites": "sites", PARENT: "services", "feeds": "training"}
Row = Mapping[str, str]


def held() -> Answers:
    """The answers so far."""
    found: Answers = st.session_state.setdefault(_ANSWERS, Answers())
    return found


def stated(answers: Answers) -> Answers:
    """The answers as rows of tables: entries by their names, nothing of the page in them."""
    return replace(
        answers,
        tables={
            table: [{key: value for key, value in by_name(row, answers).items() if key != ID} for row in rows]
            for table, rows in answers.tables.items()
        },
    )


def by_name(row: Row, answers: Answers) -> dict[str, str]:
    """A row with the names of the entries that it refers to."""
    found = dict(row)
    for key in _REFERS.keys() & row.keys():
        names = named(answers, _REFERS[key])
        found[key] = ", ".join(names[one] for one in listed(row[key]) if one in names)
    return found


def named(answers: Answers, table: str) -> dict[str, str]:
    """The names of entries by their numbers."""
    return {row[ID]: row.get("name", "") for row in answers.tables.get(table, ())}


def listed(text: str) -> list[str]:
    """What a text with commas between lists."""
    return [part.strip() for part in text.split(",") if part.strip()]


def children(answers: Answers, row: Row) -> dict[str, list[Row]]:
    """The rows that belong to an entry, by table."""
    return {
        table: [one for one in answers.tables.get(table, ()) if one[PARENT] == row[ID]] for table in CHILDREN
    }


def turn() -> int:
    """How many entries were added so far, for keys and callbacks of the lists that entries are chosen from.

    A run that is cut short has its callbacks called again: what comes from an earlier turn adds nothing.
    """
    return int(st.session_state.get(_COUNT, 0))


def add(table: str, row: Row) -> None:
    """One more entry."""
    st.session_state[_COUNT] = turn() + 1
    _put(table, [*_rows(table), {**row, ID: str(turn())}])


def add_place(place: str) -> None:
    """One more place of the list or of the map."""
    add("sites", place_row(place, session.catalogue(), [*named(held(), "sites").values()]))


def add_nodes(pair: str) -> None:
    """One more cohort, by its SKU and the number of its place."""
    sku, _, site = pair.partition("|")
    add("fleet", {"sku": sku, "site": site})


def add_work(kind: str, model: str) -> None:
    """One more entry of a kind of work."""
    one = kind_called(kind)
    wish = f"{one.short}{model}"
    taken = {*named(held(), one.table).values()}
    name = next(name for name in (wish, *(f"{wish}-{i}" for i in range(2, 1000))) if name not in taken)
    add(one.table, begun(one, name, model, session.catalogue()))


def add_sku(table: str, sku: str) -> None:
    """One more offer or rental."""
    add(table, {"sku": sku})


def change(table: str, number: str, changes: Row) -> None:
    """Put values into an entry."""
    _put(table, [{**row, **changes} if row[ID] == number else row for row in _rows(table)])


def take(name: str, widget: str) -> None:
    """Take a value of the whole scenario from its field."""
    answers, value = held(), st.session_state[widget]
    if name in ("currency", "buys", "title"):
        made = replace(answers, **{name: value})
    elif name in ("start", "periods", "period"):
        made = replace(answers, horizon={**answers.horizon, name: value})
    else:
        made = replace(answers, policy={**answers.policy, name: value})
    st.session_state[_ANSWERS] = made


def open_details(table: str, number: str, known: Sequence[Detail], widget: str) -> None:
    """Open those details of an entry that are chosen, each as it begins, and close the others."""
    chosen = {*st.session_state[widget]}
    for detail in known:
        if detail.rows:
            _open_rows(number, detail.rows, opens=detail.name in chosen)
        else:
            _open_keys(table, number, detail.keys, opens=detail.name in chosen)
        if detail.name in chosen:
            _leave_out(table, number, detail.instead)


def _open_rows(number: str, table: str, *, opens: bool) -> None:
    mine = [row for row in _rows(table) if row[PARENT] == number]
    if opens and not mine:
        add(table, {PARENT: number})
    elif mine and not opens:
        _put(table, [row for row in _rows(table) if row[PARENT] != number])


def _open_keys(table: str, number: str, keys: Row, *, opens: bool) -> None:
    row = next(row for row in _rows(table) if row[ID] == number)
    is_open = keys.keys() <= row.keys()
    if opens and not is_open:
        change(table, number, keys)
    elif is_open and not opens:
        _leave_out(table, number, [*keys])


def _leave_out(table: str, number: str, keys: Sequence[str]) -> None:
    def without(row: Row) -> Row:
        return {key: value for key, value in row.items() if key not in keys}

    _put(table, [without(row) if row[ID] == number else row for row in _rows(table)])


def remove(table: str, number: str) -> None:
    """Take an entry out, with what belongs to it; what only refers to it does so no longer."""
    _put(table, [row for row in _rows(table) if row[ID] != number])
    if table == "sites":
        _put("fleet", [row for row in _rows("fleet") if row["site"] != number])
    for child in CHILDREN if table == "services" else ():
        _put(child, [row for row in _rows(child) if row[PARENT] != number])


def go(step: str) -> None:
    """To a step."""
    st.session_state[STEP] = step


def begin_anew() -> None:
    """Forget all answers."""
    st.session_state.pop(_ANSWERS, None)
    go(next(iter(STEPS)))


def _rows(table: str) -> list[dict[str, str]]:
    return [dict(row) for row in held().tables.get(table, ())]


def _put(table: str, rows: Sequence[Row]) -> None:
    answers = held()
    st.session_state[_ANSWERS] = replace(answers, tables={**answers.tables, table: tuple(rows)})
