"""What the pages share: getting a document, and drawing its parts.

Everything that a person named is shown as plain text, never as Markdown.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import streamlit as st

from planner.report.charts import PLAN_PICTURES, Picture
from planner.report.charts.flows import Flow
from planner.report.charts.risk import RISK_PICTURES
from planner.report.table_columns import TITLES, WAYS
from planner.report.tables import Table, infeasibility_tables, range_text, table_of, ways_table
from planner.report.why import NO_LABELS, labels_of, why_parts, why_said
from planner.trace.explain import kept_step as explained
from planner.trace.numbers import SPOKEN, percent_text, quantity_text, written_text
from planner.trace.records import Document, Record
from planner.ui.parts import runs_alone

if TYPE_CHECKING:
    import pyarrow

    from planner.trace.explain import Explanation

FIRST = "next-quarter"
FIRST_TOTALS = ("cost", "carbon", "energy")  # of the first screen; the others are details
# What follows stands in the sentences.
FIRST_ACTIONS = ("by", "action", "nodes", "amount", "unit", "sku", "where", "cash_usd")
LONG_TREE = 20  # lines
LONG_LABEL = 30  # letters: one line of a card
TREE_PX = 420
LEAST_SHOWN = 5e-4  # of three decimals
CHOOSE = "Choose a number to see where it comes from."

# Where the cell in a row and the column of a key comes from, as text where it is an input; None of a name.
Opens = Callable[[int, str], "Explanation | str | None"]


# Documents


def scenario_names() -> list[str]:
    """The shipped scenarios, the one that the app opens with first."""
    from planner.inputs.loading import data_folder

    names = sorted(path.stem for path in (data_folder() / "scenarios").glob("*.toml"))
    return sorted(names, key=lambda name: name != FIRST)


def scenario_text(name: str) -> str:
    """The text of a shipped scenario; only a listed name is ever made into a path."""
    from planner.inputs.loading import data_folder

    if name not in scenario_names():
        raise ValueError(f"no shipped scenario '{name}'; there are {', '.join(scenario_names())}")
    return (data_folder() / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")


def load_plan(text: str, name: str) -> Document | None:
    """The document of a scenario that was solved before it was shipped; None where it has to be planned."""
    return _solved(hashlib.sha256(f"{name}\0{text}".encode()).hexdigest(), text, name)


def load_checkpoints(**inputs: Any) -> Document:
    """The document of a table of checkpoint intervals; worked out once for each set of inputs."""
    return _checkpoints(json.dumps(inputs, sort_keys=True))


# Arguments with a leading underscore are not part of the key: it is the digest alone, a string, because
# large frames can collide there.
@st.cache_data(show_spinner=False, max_entries=16)
def _solved(digest: str, _text: str, _name: str) -> Document | None:
    from planner.answers.plan.shipped import solved_plan

    return solved_plan(_text, _name)


@st.cache_data(show_spinner=False, max_entries=64)
def _checkpoints(inputs: str) -> Document:
    from planner.answers.checkpoints import checkpoint_document
    from planner.inputs.job_question import CheckpointQuestion

    said = json.loads(inputs)
    across = said.pop("across", ())
    document: Document = checkpoint_document(CheckpointQuestion(**said), across)
    return document


# Parts of a page


def plain(text: str) -> str:
    """Text as itself: signs that Markdown would act on are escaped.

    An address that stands in it is made a link after that, escaped or not: a joiner without width parts it.
    """
    parted = re.sub(r"https?:(?=//)|www(?=\.)|@(?=[\w-])", "\\g<0>\N{WORD JOINER}", text, flags=re.IGNORECASE)
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(parted.split()))


def ours(text: str) -> str:
    """Our own words as they are meant: those between backticks are code."""
    code_or_sign = r"(`[^`]+`)|([!-/:-@\[-`{-~])"
    return re.sub(code_or_sign, lambda found: found[1] or f"\\{found[2]}", " ".join(text.split()))


def status_line(document: Document) -> None:
    """How good the answer is, in a colour and in words."""
    status = document["status"]
    said = plain(status["text"])
    text = f"**{plain(status['name'])}**: {said}"
    if document["clash"] is not None or status["name"] in ("infeasible", "no incumbent"):
        st.error(text, icon=":material/block:")
    elif status["name"] in ("time limit", "interrupted"):
        st.warning(text, icon=":material/timer:")
    else:
        st.success(said, icon=":material/check_circle:")


def lines(texts: Sequence[str], shown: Callable[[str], str] | None = None) -> None:
    """A list of sentences, each as it is, or `shown` so."""
    st.markdown("\n".join(f"- {(shown or plain)(text)}" for text in texts))


@runs_alone
def story(document: Document, identity: str = "") -> None:
    """What a manager reads first: what to do and by when, next to the fleet over time."""
    to_do, chart = st.columns(2)
    with to_do:
        st.subheader(TITLES["actions"], anchor=False)
        rows = document["tables"].get("actions")  # an earlier everfleet saved the plan without
        if rows is None:
            st.markdown("The sentences below say it: this plan was kept without the table.")
        elif rows:
            shown = table_of("actions", rows, FIRST_ACTIONS)
            sheet(shown, TITLES["actions"], cells(document, "actions", rows), "actions")
        else:
            st.markdown("Nothing to order, sell, move or rent: what stands is kept.")
    with chart:
        st.subheader("Nodes in service", anchor=False)
        picture("mix", document, identity)
        rows = document["tables"]["fleet"]
        data("fleet", rows, opens=cells(document, "fleet", rows), key="story")


@runs_alone
def totals(document: Document, place: str, names: Sequence[str], *, sure: bool = False) -> None:
    """Cards of totals with their range and their why, and how sure the plan is.

    `place` keeps keys of two pages apart.
    """
    chosen = [total for total in document["totals"] if total["name"] in names]
    with st.container(horizontal=True, key=f"totals-{place}"):
        for total in chosen:
            label, more = _in_two(total["label"])
            value = quantity_text(total["value"], total["unit"], SPOKEN)
            with card(label, value, range_text(total), more):
                why(document, total["explain"], place)
        if sure:
            _sureness(document, place)


def _in_two(label: str) -> tuple[str, str]:
    """A label that is too long for a card before its first comma and behind it."""
    if len(label) <= LONG_LABEL:
        return label, ""
    first, _, more = label.partition(", ")
    return first, more


def card(label: str, value: str, note: str, more: str = "") -> Any:
    """A figure with what it is above it and how sure it is below; more may be put into the card.

    What else the label has to say is behind its question mark.
    """
    held = st.container(border=True, width=168, height="stretch", gap="xxsmall")
    held.caption(plain(label), help=plain(more) or None)
    held.metric(label, value, label_visibility="collapsed")
    held.caption(plain(note) or "no range")
    return held


def _sureness(document: Document, place: str) -> None:
    """How sure the least sure of all work is, and in how many bad cases the plan holds."""
    rows = document["tables"].get("chance") or []
    if rows:
        least = min(range(len(rows)), key=lambda row: rows[row]["chance_fraction"])
        row = rows[least]
        with card(
            "Least sure to be met", percent_text(row["chance_fraction"], 0), f"{row['work']}, {row['period']}"
        ):
            opens = cells(document, "chance", rows)
            _why("why?", f"{place}-chance", lambda: opens(least, "chance_fraction"))
    if cases := document["tables"].get("stress"):
        kept = sum(case["holds"] == "yes" for case in cases)
        broken = next((case["case"] for case in cases if case["holds"] != "yes"), "")
        card(
            "Bad cases it survives",
            f"{kept} of {len(cases)}",
            f"not if {broken}" if broken else "all of them",
        )


def why(document: Document, name: str | None, place: str, label: str = "why?") -> None:
    """A number opened down to its sources, where the document keeps an explanation of it."""
    kept = document.get("explanations", {}).get(name)
    if name is not None and (isinstance(kept, int) or kept):
        labels = labels_of(document, name)
        _why(label, f"{place}-{name}", lambda: explained(document, name), labels)


def _why(
    label: str,
    key: str,
    open_it: Callable[[], Explanation | str | None],
    labels: Mapping[str, str] = NO_LABELS,
) -> None:
    """A button that opens a number; what it shows is worked out and sent when somebody looks."""
    opened = st.popover(label, key=f"why-{key}", type="tertiary", on_change="rerun")
    if opened.open:
        with opened:
            if (found := open_it()) is None:
                st.caption("No explanation was kept.")
            else:
                opened_number(found, key, labels)


def opened_number(found: Explanation | str, key: str, labels: Mapping[str, str] = NO_LABELS) -> None:
    """Why a number is what it is: in two sentences, as a small table, and the whole tree when requested."""
    if isinstance(found, str):
        tree(found)
        return
    lines(why_said(found, labels))
    if (parts := why_parts(found, labels)) is not None:
        st.markdown(_markdown(parts))
    if st.toggle("Every step, down to the sources", key=f"tree-{key}"):
        tree(found.to_text())


def _markdown(table: Table) -> str:
    """A small table that is read, not sorted."""
    rule = ["---:" if numeric else "---" for numeric in table.numeric]
    rows = [rule, *([plain(cell) for cell in row] for row in table.cells)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (table.headings, *rows))


def tree(text: str) -> None:
    """An explanation; a long one scrolls in its place, which the keys reach by the button within."""
    long = text.count("\n") >= LONG_TREE
    with st.container(height=TREE_PX if long else "content", border=long):
        st.code(text, language=None, wrap_lines=True)


def picture(name: str, document: Document, identity: str = "") -> None:
    """A chart of the plan with its words for those who do not see it, where there is something to show.

    Args:
        name: of the chart.
        document: of the plan.
        identity: what tells the document from all others, to draw its charts once only.
    """
    drawn = _drawn(name, identity, document) if identity else _specified(name, document)
    if drawn is not None:
        specification, words = drawn
        st.vega_lite_chart(spec=specification, width="stretch", alt=words)


@st.cache_data(show_spinner=False, max_entries=256)
def _drawn(name: str, identity: str, _document: Document) -> tuple[Record, str] | None:
    return _specified(name, _document)


def _specified(name: str, document: Document) -> tuple[Record, str] | None:
    """A chart as Vega-Lite, and its words."""
    found = (PLAN_PICTURES | RISK_PICTURES)[name](document)
    return None if found is None else (found.chart.to_dict(), found.alt)


def draw(drawn: Picture) -> None:
    """A chart as wide as its place."""
    st.altair_chart(drawn.chart, width="stretch", alt=drawn.alt)


def flow(drawn: Flow) -> None:
    """A Sankey diagram as wide as its place."""
    st.echarts_chart(drawn.spec, height=drawn.height, renderer="svg", alt=drawn.alt)


@runs_alone
def data(
    name: str,
    rows: Sequence[Record],
    label: str = "Show data",
    opens: Opens | None = None,
    key: str = "",
) -> None:
    """The table behind a chart, made and sent when it is requested; `key` tells two of them apart."""
    if not rows:
        return
    key = key or "-".join((label, name, *list(rows[0])))
    opened = st.expander(label, key=f"data-{key}", on_change="rerun")
    if opened.open:
        with opened:
            sheet(table_of(name, rows), label, opens, key)


def cells(
    document: Document,
    table: str,
    rows: Sequence[Record],
) -> Opens:
    """How the numbers of a table of a plan are opened."""

    def explained(row: int, key: str) -> Explanation | None:
        from planner.answers.plan.cells import cell_explanation

        return cell_explanation(document, table, rows[row], key)

    return explained


def sheet(table: Table, label: str, opens: Opens | None = None, key: str = "") -> None:
    """A table that can be sorted and searched; with `opens`, the number that is chosen is explained below."""
    settings: Mapping[str, Any] = {
        heading: st.column_config.NumberColumn(format=number_format([row[k] for row in table.values]))
        for k, (heading, numeric) in enumerate(zip(table.headings, table.numeric, strict=True))
        if numeric
    }
    shown: dict[str, Any] = {
        "hide_index": True,
        "column_config": settings,
        "placeholder": "–",
        "alt": label,
    }
    if opens is None:
        st.dataframe(_columns(table), **shown)
        return
    chosen = st.dataframe(
        _columns(table), key=f"sheet-{key or label}", on_select="rerun", selection_mode="single-cell", **shown
    )
    found = _cell_opened(table, chosen["selection"]["cells"], opens)
    if found is None:
        st.caption(CHOOSE)
    else:
        opened_number(found, f"sheet-{key or label}")


def _cell_opened(table: Table, cells: Sequence[tuple[int, str]], opens: Opens) -> Explanation | str | None:
    """The explanation of the chosen cell; one chosen in a table that has changed since is passed over."""
    for row, heading in cells:
        if row < len(table.values) and heading in table.headings:
            return opens(row, table.keys[table.headings.index(heading)])
    return None


def number_format(values: Sequence[Any]) -> str:
    """How the browser writes a column: with three decimals at most, or by figures where that would be 0."""
    sizes = [abs(value) for value in values if isinstance(value, (int, float))]
    return "%.3g" if any(0 < one < LEAST_SHOWN for one in sizes) and max(sizes) < 1 else "localized"


def _columns(table: Table) -> pyarrow.Table:
    """What the browser is sent, without a detour over a data frame, which takes ten times as long."""
    import pyarrow

    rows = [{key: _rounded(value) for key, value in row.items()} for row in table.records()]

    def column(heading: str) -> pyarrow.Array:
        values = [row[heading] for row in rows]
        if not all(isinstance(value, (int, float, NoneType)) for value in values):
            values = [None if value is None else str(value) for value in values]
        return pyarrow.array(values)

    return pyarrow.table({heading: column(heading) for heading in table.headings})


@runs_alone
def terms(name: str, key: str, unit: str, document: Document, identity: str = "") -> None:
    """A waterfall with each of its terms next to it, to be opened."""
    rows = document["tables"][name]
    if not rows:
        return
    chart, words = st.columns([3, 2])
    with chart:
        picture(name, document, identity)
    with words:
        for term in rows:
            label = f"{plain(term['label'])}: **{plain(quantity_text(term[key], unit))}**"
            opened = st.expander(label, key=f"term-{term['explain']}", on_change="rerun")
            if opened.open:
                with opened:
                    if (found := explained(document, term["explain"])) is None:
                        st.caption("No explanation was kept.")
                    else:
                        opened_number(found, f"term-{term['explain']}")


def infeasibility(document: Document) -> None:
    """Why no plan exists, and the limits to move."""
    st.subheader("No plan meets every limit")
    st.markdown(plain(document["clash"]["text"]))
    if (ways := ways_table(document)) is not None:
        st.markdown(f"**{WAYS}**")
        sheet(ways, WAYS, key="ways")
    families = [family["rows"] for family in document["clash"]["families"]]
    for (title, table), rows in zip(infeasibility_tables(document), families, strict=True):
        st.markdown(f"**{plain(title)}**")
        sheet(table, title, cells(document, "clash", rows))


def next_step(label: str, page: str) -> None:
    """Where the reader goes from here."""
    st.divider()
    there = Path(__file__).parent / f"{page}.py"
    st.page_link(there, label=f"Next: {label}", icon=":material/arrow_forward:")


def zipped(files: Mapping[str, str]) -> bytes:
    """Files in one archive, the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def _rounded(value: Any) -> Any:
    """Six significant digits: what a table shows; files hold every digit."""
    return float(written_text(value)) if isinstance(value, float) else value
