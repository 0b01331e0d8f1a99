"""Lists of a scenario as tables to edit: fleet and market first, any other below."""

from __future__ import annotations

import hashlib
import tomllib
from typing import Any

import pandas as pd
import streamlit as st

from planner.inputs.editing import rules_of
from planner.inputs.editing.fields import allowed_words, input_at, shown_value
from planner.inputs.scenario.fields import Count, Flag
from planner.ui import scenario_edits, session
from planner.ui.scenario_form import refused

FIRST = {"fleet": "Today's fleet", "market": "What can be bought"}
OTHERS = {
    "sites": "Sites",
    "training": "Training jobs",
    "pools": "Pools of small jobs",
    "services": "Services",
    "rental": "Rented nodes",
    "power_groups": "Power that sites share",
    "links": "Links between sites",
    "contracts": "Contracts for clean energy",
    "moves": "Moves between sites",
}


def tables() -> None:
    """The tables; numbers with a unit are typed with it, lists with commas between."""
    st.markdown(
        "A cell is taken as soon as the whole scenario still checks, a new row once its needed cells are "
        "filled. Numbers keep their unit (`60 d`, `280 kUSD`), lists have commas between."
    )
    for section, title in FIRST.items():
        st.subheader(title)
        editor(section, title)
    st.subheader("Other tables")
    other = st.selectbox("Table", list(OTHERS), format_func=OTHERS.__getitem__, key="table")
    editor(other, OTHERS[other])


def editor(section: str, title: str) -> None:
    """One table. Its source stays as it is until an edit is taken: then it is another one, by its key."""
    document = tomllib.loads(session.draft().text)
    held = scenario_edits.rows_of(section)
    state = hashlib.sha256(repr(held).encode()).hexdigest()[:16]
    turn = scenario_edits.turn()
    key = f"rows-{section}-{state}-{turn}"
    seed = scenario_edits.seed_of(section, key)
    settings = {name: _column(document, section, name) for name in rules_of(section)}
    stand = [{name: _cell(section, name, row.get(name)) for name in settings} for row in held]
    rows = seed.upon(stand)
    st.data_editor(
        pd.DataFrame(rows, columns=list(settings), dtype=object),  # or empty columns would be of numbers
        column_config=settings,
        column_order=list(settings),
        num_rows="dynamic",
        placeholder="",
        alt=title,
        hide_index=True,
        key=key,
        on_change=_edited,
        args=(section, key, turn, seed),
    )
    refused(section)


def _edited(section: str, key: str, turn: int, seed: scenario_edits.Rows) -> None:
    if turn == scenario_edits.turn():
        scenario_edits.take_rows(section, st.session_state[key], seed)


def _column(document: dict[str, Any], section: str, key: str) -> Any:
    """How a column is edited: truth values and whole numbers as such, names by choice, all else as text."""
    rule = rules_of(section)[key]
    about = input_at(
        {section: [{}], **{k: v for k, v in document.items() if k != section}},
        {},
        section,
        0,
        key,
        session.catalogue(),
    )
    assert about is not None, "the entry was just made"
    common: dict[str, Any] = {
        "label": about.label,
        "help": f"{about.description}. Allowed: {allowed_words(rule)}",
        "required": False,
    }
    if isinstance(rule, Flag):
        return st.column_config.CheckboxColumn(**common)
    if isinstance(rule, Count):
        return st.column_config.NumberColumn(**common, step=1, format="%d")
    choices = [*about.choices]
    if choices:
        return st.column_config.SelectboxColumn(**common, options=choices)
    return st.column_config.TextColumn(**common)


def _cell(section: str, key: str, value: Any) -> Any:
    if value is None or isinstance(rules_of(section)[key], Flag | Count):
        return value
    return shown_value(value)
