"""What the pages share: getting a document, and drawing its parts.

Everything that a person named is shown as plain text, never as Markdown.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from planner.charts import PLAN_PICTURES, Document, Picture, Record, quantity_text
from planner.errors import InputError
from planner.report.tables import Table, clash_tables, range_text, table_of, why_text

FIRST = "next-quarter"
LONG_TREE = 20  # lines


# Documents


def scenario_names() -> list[str]:
    """The shipped scenarios, the one that the app opens with first."""
    from planner.catalogue import data_folder

    names = sorted(path.stem for path in (data_folder() / "scenarios").glob("*.toml"))
    return sorted(names, key=lambda name: name != FIRST)


def scenario_text(name: str) -> str:
    """The text of a shipped scenario; only a listed name is ever made into a path."""
    from planner.catalogue import data_folder

    if name not in scenario_names():
        raise ValueError(f"no shipped scenario '{name}'; there are {', '.join(scenario_names())}")
    return (data_folder() / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")


def load_plan(text: str, name: str) -> Document:
    """The solved document of a scenario; solved once for each content."""
    return _solved(hashlib.sha256(f"{name}\0{text}".encode()).hexdigest(), text, name)


def load_checkpoints(**inputs: Any) -> Document:
    """The document of a table of checkpoint intervals; worked out once for each set of inputs."""
    return _checkpoints(json.dumps(inputs, sort_keys=True))


# Arguments with a leading underscore are not part of the key: it is the digest alone, a string, because
# large frames can collide there.
@st.cache_data(show_spinner=False, max_entries=16)
def _solved(digest: str, _text: str, _name: str) -> Document:
    from planner.catalogue import load_catalogue
    from planner.document import plan_document
    from planner.inputs import check_scenario
    from planner.plan import plan_fleet
    from planner.scenario import parse_scenario

    scenario = parse_scenario(_text, _name)
    check_scenario(scenario, load_catalogue())
    document: Document = plan_document(plan_fleet(scenario))
    return document


@st.cache_data(show_spinner=False, max_entries=64)
def _checkpoints(inputs: str) -> Document:
    from planner.checkpoints import checkpoint_document

    document: Document = checkpoint_document(**json.loads(inputs))
    return document


def solved(text: str, name: str) -> Document | None:
    """The document, with a sign of life while it is made; None where the scenario is wrong, and says why."""
    try:
        with st.spinner(f"Planning {plain(name)}: a minute at most", show_time=True):
            return load_plan(text, name)
    except InputError as error:
        st.error("The scenario cannot be planned as it stands.")
        st.code(str(error), language=None, wrap_lines=True)
        return None


# Parts of a page


def plain(text: str) -> str:
    """Text as itself: signs that Markdown would act on are escaped."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def status_line(document: Document) -> None:
    """How good the answer is, in a colour and in words."""
    status = document["status"]
    text = f"**{plain(status['name'])}**: {plain(status['text'])}"
    if document["clash"] is not None or status["name"] in ("infeasible", "no incumbent"):
        st.error(text, icon=":material/block:")
    elif status["name"] in ("time limit", "interrupted"):
        st.warning(text, icon=":material/timer:")
    else:
        st.success(text, icon=":material/check_circle:")


def lines(texts: Sequence[str]) -> None:
    """A list of sentences."""
    st.markdown("\n".join(f"- {plain(text)}" for text in texts))


def story(document: Document) -> None:
    """What a manager reads first, beside the fleet."""
    headline, chart = st.columns([2, 3])
    with headline:
        lines(document["headline"])
    with chart:
        picture("mix", document)
        data("fleet", document["tables"]["fleet"])


def totals(document: Document, place: str, names: Sequence[str] = ()) -> None:
    """Cards of the totals with their range and their why; `place` keeps keys of two pages apart."""
    chosen = [total for total in document["totals"] if not names or total["name"] in names]
    with st.container(horizontal=True, key=f"totals-{place}"):
        for total in chosen:
            with st.container(border=True, width=250):
                st.markdown(plain(total["label"]))
                value = quantity_text(total["value"], total["unit"])
                st.metric(total["name"], value, label_visibility="collapsed")
                st.caption(plain(range_text(total)) or "no range")
                why(document, total["explain"], place)


def why(document: Document, name: str | None, place: str, label: str = "why?") -> None:
    """A number opened down to its sources."""
    if (text := why_text(document, name)) is not None:
        with st.popover(label, key=f"why-{place}-{name}"):
            tree(text)


def tree(text: str) -> None:
    """An explanation; a long one scrolls in its place."""
    st.code(text, language=None, height="content" if text.count("\n") < LONG_TREE else 420)


def picture(name: str, document: Document) -> None:
    """A chart of the plan with its words for those who do not see it, where there is something to show."""
    if (drawn := PLAN_PICTURES[name](document)) is not None:
        draw(drawn)


def draw(drawn: Picture) -> None:
    """A chart as wide as its place."""
    st.altair_chart(drawn.chart, width="stretch", alt=drawn.alt)


def data(name: str, rows: Sequence[Record], label: str = "Show data") -> None:
    """The table behind a chart, closed until it is asked for."""
    if rows:
        with st.expander(label):
            sheet(table_of(name, rows), label)


def sheet(table: Table, label: str) -> None:
    """A table that can be sorted and searched; numbers keep their type."""
    settings: Mapping[str, Any] = {
        heading: st.column_config.NumberColumn(format="localized")
        for heading, numeric in zip(table.headings, table.numeric, strict=True)
        if numeric
    }
    rounded = [{key: _rounded(value) for key, value in row.items()} for row in table.records()]
    st.dataframe(rounded, hide_index=True, column_config=settings, placeholder="–", alt=label)


def terms(name: str, key: str, unit: str, document: Document) -> None:
    """A waterfall with each of its terms beside it, to be opened."""
    rows = document["tables"][name]
    if not rows:
        return
    chart, beside = st.columns([3, 2])
    with chart:
        picture(name, document)
    with beside:
        for term in rows:
            with st.expander(f"{plain(term['label'])}: **{plain(quantity_text(term[key], unit))}**"):
                tree(why_text(document, term["explain"]) or "no explanation was kept")


def clash(document: Document) -> None:
    """Why no plan exists, and the limits to move."""
    st.subheader("No plan meets every limit")
    st.markdown(plain(document["clash"]["text"]))
    for title, table in clash_tables(document):
        st.markdown(f"**{plain(title)}**")
        sheet(table, title)


def zipped(files: Mapping[str, str]) -> bytes:
    """Files in one archive, the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def _rounded(value: Any) -> Any:
    """Six significant digits: what a table shows; files hold every digit."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
