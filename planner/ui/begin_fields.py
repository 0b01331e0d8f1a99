"""Fields of the guided start: each with its default in grey, and what is wrong with its value below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from planner.inputs.catalogue import Catalogue
from planner.inputs.sheets.guide import Answers, default_text, entry
from planner.inputs.sheets.problem_fields import Field
from planner.ui import begin_answers, shared
from planner.ui.begin_answers import ID, Row

LONGEST = 80  # characters of one field
Place = Any  # a column or a container of the page


@dataclass(frozen=True, slots=True)
class Form:
    """What the fields of a step draw: the answers, the catalogue that they name, and what is wrong."""

    answers: Answers
    catalogue: Catalogue
    problems: Mapping[Field, str]
    drawn: set[Field] = field(default_factory=set)  # of the problems, those that a field shows

    def rows(self, table: str) -> Sequence[Row]:
        """The entries of a table."""
        return self.answers.tables.get(table, ())

    def named(self, table: str) -> dict[str, str]:
        """The names of entries by their numbers."""
        return begin_answers.named(self.answers, table)

    def default(self, table: str, key: str, row: Row | None = None) -> str:
        """What holds where a field is left empty."""
        return default_text(table, key, row or {}, self.catalogue)

    # Fields of an entry

    def text(self, table: str, row: Row, key: str, label: str, place: Place, example: str = "") -> None:
        """A line to type into."""
        name = _widget(table, row, key)
        place.text_input(
            label_of(label),
            row.get(key, ""),
            key=name,
            placeholder=example,
            max_chars=LONGEST,
            on_change=_set,
            args=(table, row[ID], key, name),
        )
        self._problem(table, row, key, place)

    def choice(
        self, table: str, row: Row, key: str, label: str, place: Place, said: Mapping[str, str]
    ) -> None:
        """One of a list."""
        name = _widget(table, row, key)
        options, value = [*said], row.get(key, "")
        place.selectbox(
            label_of(label),
            options,
            options.index(value) if value in options else 0,
            key=name,
            format_func=lambda word: said[word],
            on_change=_set,
            args=(table, row[ID], key, name),
        )
        self._problem(table, row, key, place)

    def several(
        self, table: str, row: Row, key: str, label: str, place: Place, said: Mapping[str, str], example: str
    ) -> None:
        """Some of a list."""
        name = _widget(table, row, key)
        place.multiselect(
            label_of(label),
            [*said],
            [one for one in begin_answers.listed(row.get(key, "")) if one in said],
            key=name,
            format_func=lambda word: said[word],
            placeholder=example,
            on_change=_set,
            args=(table, row[ID], key, name),
        )
        self._problem(table, row, key, place)

    def card(self, table: str, row: Row, about: str) -> Place:
        """A card for an entry, with what it is and a way to take it out."""
        card = st.container(border=True, gap="xsmall")
        called = entry(table, begin_answers.by_name(row, self.answers))
        with card.container(horizontal=True, vertical_alignment="center"):
            said = f"**{shared.plain(called)}**"
            st.markdown(f"{said} · {shared.plain(about)}" if about else said, width="stretch")
            remove_button(table, row, called)
        return card

    def _problem(self, table: str, row: Row, key: str, place: Place) -> None:
        number = [one[ID] for one in self.rows(table)].index(row[ID]) + 1
        self.below(Field(table, number, key), place)

    # Fields of the whole scenario

    def setting(
        self, name: str, label: str, options: Sequence[Any], value: Any, said: Mapping[str, str] | None = None
    ) -> None:
        """A choice that is one of the whole scenario."""
        key = f"begin.{name}"
        st.selectbox(
            label,
            options,
            options.index(value),
            key=key,
            format_func=lambda word: said[word] if said else str(word),
            on_change=begin_answers.take,
            args=(name, key),
        )

    def stated(
        self, at: str, label: str, value: Mapping[str, Any], example: str, *, disabled: bool = False
    ) -> None:
        """A value of the whole scenario, by its table and key; empty is its default."""
        table, _, name = at.rpartition(".")
        key = f"begin.{name}"
        st.text_input(
            label,
            value.get(name, ""),
            key=key,
            placeholder=example,
            max_chars=LONGEST,
            disabled=disabled,
            on_change=begin_answers.take,
            args=(name, key),
        )
        self.below(Field(table, 0, name), st)

    def below(self, at: Field, place: Place) -> None:
        """What is wrong with the value of a field."""
        if (message := self.problems.get(at)) is not None:
            self.drawn.add(at)
            place.error(shared.plain(message[:1].upper() + message[1:]))


def adder(
    name: str,
    label: str,
    options: Sequence[str],
    said: Callable[[str], str],
    add: Callable[[str], None],
    place: Place = st,
) -> None:
    """A list that is searched by typing; what is chosen becomes an entry, and the list is empty again."""
    turn = begin_answers.turn()
    key = f"begin.add.{name}.{turn}"
    place.selectbox(
        label,
        options,
        None,
        key=key,
        format_func=said,
        placeholder="Type to search",
        on_change=_added,
        args=(key, turn, add),
    )


def remove_button(table: str, row: Row, called: str) -> None:
    """A way to take an entry out."""
    st.button(
        "Remove",
        key=f"begin.remove.{table}.{row[ID]}",
        icon=":material/delete:",
        type="tertiary",
        on_click=begin_answers.remove,
        args=(table, row[ID]),
        help=shared.plain(f"Leave {called} out"),
    )


def label_of(label: str) -> str:
    """A label as it begins a line."""
    return label[:1].upper() + label[1:]


def _widget(table: str, row: Row, key: str) -> str:
    return f"begin.{table}.{row[ID]}.{key}"


def _added(key: str, turn: int, add: Callable[[str], None]) -> None:
    chosen = st.session_state.get(key)
    if turn == begin_answers.turn() and chosen is not None:
        add(chosen)


def _set(table: str, number: str, key: str, widget: str) -> None:
    value = st.session_state[widget]
    text = ", ".join(value) if isinstance(value, list) else str(value or "").strip()
    begin_answers.change(table, number, {key: text})
