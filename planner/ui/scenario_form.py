"""The inputs of a scenario as fields: what may stand there, the default and its source, what was changed."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from planner.inputs.editing import Input, entry_name, inputs_of, is_table_list, sections, simple_inputs
from planner.inputs.editing.fields import table_at
from planner.ui import scenario_edits, session, shared

COLUMNS = 2
LONGEST_TEXT = 4_000  # characters of one field


def simple(document: Mapping[str, Any]) -> None:
    """At most eight inputs, those that matter most in this scenario."""
    fields(simple_inputs(document, tomllib.loads(session.draft().origin), session.catalogue()))


def expert(document: Mapping[str, Any]) -> None:
    """Every key, section by section."""
    choose, entry = st.columns(2)
    with choose:
        names = {name: name or "title" for name in sections()}
        section = st.selectbox("Section", list(names), format_func=names.__getitem__, index=1, key="section")
    number: int | None = None
    if is_table_list(section):
        held = document.get(section) or []
        if not held:
            st.info(f"This scenario has no {section}: add a row under Tables, or write it under Text.")
            return
        with entry:
            number = st.selectbox(
                "Entry",
                range(len(held)),
                key=f"entry-{section}",
                format_func=lambda i: shared.plain(entry_name(document, section, i)),
            )
    if table_at(document, section, number) is None:
        return
    fields(inputs_of(document, tomllib.loads(session.draft().origin), section, number, session.catalogue()))
    if section == "futures":
        st.markdown("The values that a future sets (`set`) are edited under Text.")


def fields(inputs: Sequence[Input]) -> None:
    """The fields, side by side."""
    waits = scenario_edits.waiting()
    for start in range(0, len(inputs), COLUMNS):
        row = inputs[start : start + COLUMNS]
        for place, one in zip(st.columns(COLUMNS), row, strict=False):
            with place.container(border=True):
                field(one, waits)


def field(one: Input, waits: scenario_edits.Waiting) -> None:
    """One field. What it shows is the draft's own, or what was typed and waits: never a widget's memory."""
    typed = waits.text_at(one.path)
    shown = one.value if typed is None else typed
    turn = scenario_edits.turn()
    key = f"input-{one.path}-{hashlib.sha256(shown.encode()).hexdigest()[:8]}-{turn}"
    if one.kind == "text":
        st.text_input(
            label_of(one),
            shown,
            key=key,
            on_change=_changed,
            args=(one, key, turn),
            max_chars=LONGEST_TEXT,
            placeholder=one.default or None,
            help=_help(one),
        )
    else:
        _choice(one, key, turn, shown)
    for path, message in waits.by_path:
        if path == one.path or path.startswith(f"{one.path}["):
            st.error(shared.plain(message), icon=":material/error:")
    if typed is not None:
        st.markdown(":material/hourglass_empty: **Not applied yet**")
    elif one.changed:
        _mark(one)


def refused(place: str = "") -> None:
    """What was typed and does not check yet, with every problem; that of a table is below it."""
    waits = scenario_edits.waiting(place)
    if not waits.problem:
        return
    st.error("Not applied: the scenario has problems with this change. The value before it is kept.")
    if waits.rows is not None:
        st.markdown("In the table above and not in the scenario:")
        shared.lines(scenario_edits.lines_of(waits))
    st.code(waits.problem, language=None, wrap_lines=True)
    st.button("Discard the change", key=f"drop-{place}", on_click=scenario_edits.drop, args=(place,))


def label_of(one: Input) -> str:
    """Entry and key; what is written says its unit, which need not be that of the range.

    No sign is escaped but those that Markdown acts on: a screen reader reads them.
    """
    label = f"{one.entry}: {one.label}" if one.entry else one.label
    return re.sub(r"([\\`*_~$<\[\]])", r"\\\1", label)


def _help(one: Input) -> str:
    """What stands behind the question mark: what it is, what may stand there, the default and its source."""
    said = [
        f"{shared.ours(one.description)}.",
        shared.plain(f"Allowed: {one.allowed}."),
        shared.plain(f"Default: {one.default or 'none'}; {one.default_source}"),
    ]
    return "\n\n".join(said)


def _choice(one: Input, key: str, turn: int, shown: str) -> None:
    known = ("true", "false") if one.kind == "flag" else one.choices
    options = [*dict.fromkeys([*([] if one.required else [""]), shown, *known])]
    st.selectbox(
        label_of(one),
        options,
        options.index(shown),
        key=key,
        on_change=_changed,
        args=(one, key, turn),
        format_func=lambda word: word or f"({one.default})",
        help=_help(one),
    )


def _mark(one: Input) -> None:
    """What it was, and the way back to it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if one.origin is None:
            st.markdown(":material/edit: **New**")
            return
        was = shared.plain(one.origin) or "not written"
        st.markdown(f":material/edit: **Changed**, it was: {was}", width="stretch")
        st.button(
            "Reset",
            key=f"reset-{one.path}",
            on_click=scenario_edits.reset,
            args=(one,),
            help=shared.plain(f"{one.label} as it was at first"),
        )


def _changed(one: Input, key: str, turn: int) -> None:
    if turn == scenario_edits.turn():
        scenario_edits.take_typed(one, str(st.session_state[key] or ""))
