"""A page field for a field of a question: its label, range, default and help are those of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from planner.inputs.question_fields import fields_of, usual

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

WHOLE = ("count", "whole", "seed")
MOST = 1e12  # where a question has no end


def number(question: type[Any], name: str, key: str, at: DeltaGenerator | None = None) -> float | None:
    """A number in the unit of the field; None where nothing is said and nothing is taken."""
    one, place = fields_of(question)[name], at if at is not None else st
    start, whole = usual(question, name), one.reads in WHOLE
    read = int if whole else float
    least = one.least if one.least is not None else (1 if whole else 0.0)
    most = one.most if one.most is not None else (1.0 if one.reads == "share" else MOST)
    entered = place.number_input(
        one.heading,
        read(least / one.scale),
        read(most / one.scale),
        None if start is None else read(start / one.scale),
        key=key,
        help=one.said,
        placeholder="not stated",
        format="%d" if whole else "%.6g",
    )
    return None if entered is None else read(entered * one.scale)


def name_of(
    question: type[Any],
    name: str,
    options: Sequence[str],
    key: str,
    at: DeltaGenerator | None = None,
) -> str:
    """One of some names."""
    one, place = fields_of(question)[name], at if at is not None else st
    start = usual(question, name)
    index = list(options).index(start) if start in options else 0
    chosen: str = place.selectbox(one.heading, options, index, key=key, help=one.said)
    return chosen


def switch(question: type[Any], name: str, key: str) -> bool:
    """Yes or no."""
    one = fields_of(question)[name]
    return bool(st.toggle(one.heading, bool(usual(question, name)), key=key, help=one.said))
