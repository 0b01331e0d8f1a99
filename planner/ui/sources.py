"""Sources: every fact of the catalogue, what rests on it, and your own values in its place."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import streamlit as st

from planner.answers.check import check
from planner.answers.dependents import facts_used, shipped_dependents
from planner.answers.lists import listed
from planner.inputs.editing import with_values
from planner.inputs.overrides import override_of, overrides_in, with_override, without_override
from planner.inputs.own.uploads import laid_out, without_own
from planner.inputs.search import Wanted, choices, fact_row, found_rows
from planner.report.data import csv_text
from planner.report.tables import table_of
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, exact_text
from planner.trace.records import Record
from planner.ui import session, shared

if TYPE_CHECKING:
    import pandas as pd

    from planner.inputs.catalogue import Catalogue

MOST_TO_OPEN = 500
LARGEST_FACTS_MB = 5
FIRST = "accelerator.h100-sxm-80gb.embodied"
_SHOWN = ("key", "value", "unit", "low", "high", "kind", "source", "year", "locator", "licence", "note")
_REPEATED = ("unit", "kind", "source", "locator", "licence", "note")  # sent once each: a third of the bytes


def render() -> None:
    """Draw the page."""
    st.title("Sources")
    st.markdown("Every number that an answer rests on, with its range, its kind and where it comes from.")
    wanted = looked_for()
    found = _found(_key(wanted), wanted)
    st.markdown(f"**{count_text(len(found))}** facts of {count_text(len(_catalogue().facts))}")
    if found.empty:
        st.info("No fact holds all of these. Take a word or a choice away.")
        changed()
        return
    settings = {name: st.column_config.NumberColumn(format="%.6g") for name in ("value", "low", "high")}
    st.dataframe(
        found, hide_index=True, column_config=settings, placeholder="–", alt="Facts of the catalogue"
    )
    st.download_button(
        "These facts (CSV)",
        lambda: csv_text("", found_rows(_catalogue(), wanted)),
        "facts.csv",
        "text/csv",
        key="sources.csv",
        on_click="ignore",
    )
    opened(list(found["key"]))
    published_techniques()
    changed()
    own_facts()


def published_techniques() -> None:
    """Techniques that take less for the same work: their scope, effect with its range, quality and source."""
    st.subheader("Techniques")
    st.markdown(
        "What was published to take less for the same work, with its range: a headline is the high end, "
        "never the middle. A job tells those that apply; a service may name those that a plan may use."
    )
    with st.expander("All of them"):
        shared.sheet(table_of("", listed("techniques")), "Published techniques")


# Looking for facts


def looked_for() -> Wanted:
    """Words and choices; each narrows what is shown."""
    words = st.text_input(
        "Words in key, note or source", key="sources.words", placeholder="for example: h100 embodied"
    )
    offered = choices(_catalogue())
    places = st.columns(3)
    chosen = [
        place.multiselect(label, offered[name], key=f"sources.{name}", placeholder="all")
        for place, name, label in zip(places, offered, ("Area", "Kind", "Unit"), strict=True)
    ]
    return Wanted(words, *map(tuple, chosen))


def opened(found: list[str]) -> None:
    """One fact in full: where it comes from, what rests on it, and a value of your own for it."""
    st.subheader("One fact")
    first = [key for key in (st.query_params.get("fact", ""), FIRST) if key in found]
    keys = list(dict.fromkeys([*first, *found[:MOST_TO_OPEN]]))
    row = fact_row(_catalogue().fact(st.selectbox("Fact", keys, key="sources.fact")), _catalogue())
    if len(found) > MOST_TO_OPEN:
        st.markdown(f"{MOST_TO_OPEN} of these facts can be opened: look for words to narrow them.")
    left, right = st.columns(2)
    with left:
        fact(row)
    with right:
        dependents(row["key"])
        own_value(row)


def fact(row: Record) -> None:
    """A fact with its range and its source; an address stands as text, and opens by a button of its own."""
    st.metric(shared.plain(row["key"]), f"{exact_text(row['value'])} {row['unit']}".rstrip())
    said = {
        "Range": f"{exact_text(row['low'])} to {exact_text(row['high'])} {row['unit']}".rstrip()
        if row["low"] is not None
        else "none is given",
        "As the source states it": row["stated"],
        "Kind": f"{row['kind']}: {KINDS.get(row['kind'], '')}",
        "Source": row["source"],
        "Year": row["year"],
        "Where in it": row["locator"],
        "Licence": row["licence"],
        "Counts": row["boundary"],
        "Use": row["use"],
        "Note": row["note"],
    }
    st.markdown("\n".join(f"- {label}: {shared.plain(str(text))}" for label, text in said.items() if text))
    if row["link"]:
        if row["link"].startswith(("https://", "http://")):  # one's own facts may say anything
            st.link_button("Open the source", row["link"], icon=":material/open_in_new:")
        st.code(row["link"], language=None, wrap_lines=True)


KINDS = {
    "measured": "someone metered or counted it",
    "published": "printed in a paper or a reviewed table",
    "declared": "its maker says so",
    "estimated": "derived, rounded or read second-hand",
    "assumed": "nobody published it; the note says why this value",
}


def dependents(key: str) -> None:
    """Where the fact is used: the scenario of this session, and the shipped ones where that is asked."""
    st.markdown("**Where it is used**")
    held = session.draft()
    try:
        used = key in _facts_used(held.digest, held)
    except InputError as error:
        _refused("Your scenario cannot be worked out.", error)
    else:
        said = "rests on it" if used else "does not use it"
        st.markdown(f"Your scenario, {shared.plain(held.name)}, {said}.")
    if st.toggle("Look through the shipped scenarios and jobs", key="sources.shipped"):
        with st.spinner("Working them out, once", show_time=True):
            names = _shipped().get(key, ())
        shared.lines(names or ("none of the shipped scenarios and jobs rests on it",))


# Values of your own


def own_value(row: Record) -> None:
    """A value of your own for a fact, in the scenario of this session."""
    st.markdown("**A value of your own**")
    st.markdown("It goes into the facts of your scenario, and explanations name the scenario as its source.")
    stated = f"{exact_text(row['value'])} {row['unit']}".strip()
    typed = st.text_input(
        "Value with its unit", key=f"sources.own.{row['key']}", placeholder=f"for example {stated}"
    )
    if st.button("Use it in my scenario", key="sources.use"):
        put_in(row["key"], typed)


def put_in(key: str, typed: str) -> None:
    """Checks a value and lets the scenario state it."""
    held = session.draft()
    try:
        own = override_of(key, typed, _catalogue())
        edited = with_override(held.text, held.name, key, typed, _catalogue())
    except InputError as error:
        _refused("This value was not taken.", error)
        return
    session.edit(edited.text, f"{key} = {own.text}")
    said = f"Your scenario now takes {own.text} for {key}."
    st.success(shared.plain(said))
    if own.within is False:
        st.warning("It lies outside the range that the catalogue gives: make sure that it is what you mean.")


def changed() -> None:
    """Your own values that the scenario states, each next to the shipped one, to be taken back."""
    held = session.draft()
    st.subheader("Your own values")
    try:
        own = overrides_in(held.text, held.name, _catalogue())
    except InputError as error:
        _refused("Your scenario cannot be read.", error)
        return
    if not own:
        st.markdown(f"{shared.plain(held.name)} takes every fact as it is shipped.")
        return
    shared.sheet(table_of("", [one.record() for one in own]), "Facts with a value of your own")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    key = left.selectbox("Take back", [one.fact.key for one in own], key="sources.back")
    right.button("Take the shipped value again", key="sources.reset", on_click=_reset, args=(key,))


def _reset(key: str) -> None:
    held = session.draft()
    session.edit(without_override(held.text, held.name, key).text, f"{key} as shipped")


# Facts of your own


def own_facts() -> None:
    """Rows that the catalogue lacks, next to the scenario of this session: nobody else's plans see them."""
    st.subheader("Facts of your own")
    st.markdown(
        "A GPU, a region or a price that is not here: bring the folder that `everfleet add` writes as a zip, "
        "rows (`key,value,unit`) as CSV, or one TOML file. Your scenario takes it; nobody else sees it."
    )
    file = st.file_uploader(
        "Facts of your own (zip, CSV, TOML)",
        type=["zip", "csv", "toml"],
        key="sources.facts",
        max_upload_size=LARGEST_FACTS_MB,
    )
    if file is not None and st.button("Use these facts", key="sources.facts.use"):
        lay_out(file.name, file.getvalue())
    held = session.draft()
    rows = _own_rows(held.digest, held)
    if not rows:
        st.markdown(f"{shared.plain(held.name)} brings no facts of its own.")
        return
    shared.sheet(table_of("", rows), "Facts of your own")
    st.button("Leave them out", key="sources.facts.out", on_click=_leave_out)


def lay_out(name: str, content: bytes) -> None:
    """Checks the facts with the scenario that is to take them, and lays them next to it."""
    held = session.draft()
    try:
        data, files = laid_out(name, content)
        text = with_values(held.text, held.name, {"data": data}).text
        others = without_own(dict(held.files)) | files
        taken = check(text, held.name, others)
    except InputError as error:
        _refused("These facts were not taken.", error)
        return
    session.lay(others, text, f"facts of {name}")
    assert taken.own is not None, "the scenario names them"
    st.success(shared.plain(f"Your scenario takes {taken.own.said}."))


def _leave_out() -> None:
    held = session.draft()
    text = with_values(held.text, held.name, {"data": None}).text
    session.lay(without_own(dict(held.files)), text, "without facts of its own")


def _refused(said: str, error: InputError) -> None:
    st.error(said)
    st.code(str(error), language=None, wrap_lines=True)


# What is kept


@st.cache_data(show_spinner=False, max_entries=32)
def _own_rows(digest: str, _draft: session.Draft) -> list[Record]:
    """The facts that a scenario brings; none where it cannot be read, which other pages say."""
    from planner.inputs.scenario.bundle import restored, unsaved

    try:
        with restored(unsaved(_draft.name, _draft.text, _draft.files)) as scenario:
            own = scenario.own
    except InputError:
        return []
    if own is None:
        return []
    return [
        {
            "key": fact.key,
            "value": exact_text(float(fact.value)),
            "unit": "" if fact.unit == "1" else fact.unit,
            "kind": fact.kind,
            "ours": "replaced" if fact.key in own.replaced else "",
            "where": fact.locator,
        }
        for fact in own.facts
    ]


def _catalogue() -> Catalogue:
    from planner.inputs.loading import load_catalogue

    return load_catalogue()


def _key(wanted: Wanted) -> str:
    return hashlib.sha256(json.dumps(asdict(wanted), sort_keys=True).encode()).hexdigest()


# The digest alone is the key: arguments with a leading underscore are no part of it.
@st.cache_data(show_spinner=False, max_entries=64)
def _found(digest: str, _wanted: Wanted) -> pd.DataFrame:
    import pandas as pd

    rows = found_rows(_catalogue(), _wanted)
    found = pd.DataFrame([{name: row[name] for name in _SHOWN} for row in rows], columns=_SHOWN)
    return found.astype(dict.fromkeys(_REPEATED, "category"))


@st.cache_data(show_spinner=False, max_entries=32)
def _facts_used(digest: str, _draft: session.Draft) -> frozenset[str]:
    from planner.inputs.scenario.bundle import restored, unsaved

    with restored(unsaved(_draft.name, _draft.text, _draft.files)) as scenario:
        return facts_used(scenario)


@st.cache_data(show_spinner=False)
def _shipped() -> dict[str, tuple[str, ...]]:
    return shipped_dependents()


render()
