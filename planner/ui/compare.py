"""Compare: plans side by side, and what changed the answer between two of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from planner.answers.saved.tables import (
    differences_said,
    inputs_rows,
    signed_text,
    term_steps,
    terms_rows,
    totals_rows,
)
from planner.report.charts.compared import UNITS, changed_waterfall, terms_side_by_side
from planner.report.tables import table_of
from planner.trace.currency import currency_of, showing
from planner.trace.errors import InputError
from planner.trace.records import Document, Record
from planner.ui import saved, shared, work_button, workers
from planner.ui.chart_cache import draw_kept
from planner.ui.progress import work_shown
from planner.ui.workers.messages import work_key

if TYPE_CHECKING:
    from planner.store import SavedPlan, Store
    from planner.trace.explain import Explanation

PAGES = Path(__file__).parent
MOST_PLANS, MOST_LISTED = 6, 24
LONGEST = 40  # characters of a title next to others
LETTERS = "ABCDEF"
MEASURES = {"cost": "Cost", "carbon": "Carbon"}
PROVED = {"optimal": "proved the best", "within gap": "proved within its gap"}


def render() -> None:
    """Draw the page."""
    st.title("Compare")
    store = saved.store()
    digests = _chosen(store)
    if store is not None and len(digests) >= 2:
        try:
            record = _compared(tuple(digests), store.address, store)
        except InputError as error:
            work_button.refused("These plans cannot be compared.", error)
            return
        identity, scenarios = ",".join(digests), None
    else:
        record = _shipped()
        identity, scenarios = "shipped", record["scenarios"]
        st.markdown("A shipped quarter and its baselines. Choose two saved plans to compare your own.")
    names = [letter for letter, _ in zip(LETTERS, record["plans"], strict=False)]
    with showing(currency_of(record)):
        _heads(record, names)
        _totals(record, names)
        _inputs(record, names)
        _terms(record, names, identity)
        _changed(record, names, identity, store, scenarios)
    shared.next_step("change an input and plan again", "scenario")


def _chosen(store: Store | None) -> list[str]:
    """Digests of the plans that are compared: at first the newest two, the newer held against the older."""
    listed = _listed(store)
    if len(listed) < 2:
        return []
    # No multiselect: white letters on the colour of its choices are not readable in the dark theme.
    chosen: list[str] = st.pills(
        f"Saved plans, {MOST_PLANS} at most",
        list(listed),
        default=list(listed)[1::-1],
        format_func=lambda digest: _listed_text(listed, digest),
        selection_mode="multi",
        key="compared-plans",
    )
    if len(chosen) > MOST_PLANS:
        st.warning(f"{MOST_PLANS} plans are compared at most: the first {MOST_PLANS} are.")
    return chosen[:MOST_PLANS]


def _listed(store: Store | None) -> dict[str, SavedPlan]:
    if store is None:
        return {}
    try:
        return {plan.digest: plan for plan in store.plans(most=MOST_LISTED)}
    except InputError as error:
        work_button.refused("The saved plans cannot be read.", error)
        return {}


def _listed_text(listed: Mapping[str, SavedPlan], digest: str) -> str:
    plan = listed.get(digest)
    if plan is None:  # deleted since it was chosen
        return digest[:8]
    called = plan.name or plan.title
    return shared.plain(f"{textwrap.shorten(called, LONGEST, placeholder=' …')} ({digest[:8]})")


def _heads(record: Record, names: Sequence[str]) -> None:
    """Which letter is which plan, with a way to it and its numbers opened."""
    for number, (name, plan) in enumerate(zip(names, record["plans"], strict=True)):
        with st.container(horizontal=True, vertical_alignment="center"):
            status = PROVED.get(plan["status"], plan["status"])
            st.markdown(f"**{name}**: {shared.plain(_called(plan))}, {shared.plain(status)}")
            if plan["digest"]:
                st.page_link(PAGES / "plan.py", label=f"Open {name}", query_params={"plan": plan["digest"]})
            explained = {"explanations": record["explanations"][number]}
            for total in MEASURES:
                shared.why(explained, total, f"compare-{name}", f"why {total} of {name}?")
        if note := plan.get("note"):
            st.caption(shared.plain(note))
    for line in differences_said(record, names):
        st.markdown(f"- {shared.plain(line)}")


def _called(plan: Record) -> str:
    """A plan by its name, where it has one, and its title, owner and tags."""
    called = f"{plan['name']}: {plan['title']}" if plan.get("name") else str(plan["title"])
    called += f", of {plan['owner']}" if plan.get("owner") else ""
    return called + (f" [{', '.join(plan['tags'])}]" if plan.get("tags") else "")


def _titled(record: Record, names: Sequence[str], name: str) -> str:
    """A letter with the title of its plan."""
    plan = record["plans"][names.index(name)]
    title = plan.get("name") or plan["title"]
    return f"{name}: {textwrap.shorten(title, LONGEST, placeholder=' …')}"


def _totals(record: Record, names: Sequence[str]) -> None:
    st.subheader("Totals")
    opens = partial(_total_explained, record, names)
    shared.sheet(table_of("", totals_rows(record, names)), "Totals", opens)


def _inputs(record: Record, names: Sequence[str]) -> None:
    st.subheader("Inputs that differ")
    if rows := inputs_rows(record, names):
        shared.sheet(table_of("", rows), "Inputs that differ", _inputs_opened(record, names))
    else:
        st.markdown("None: the scenarios say the same.")


def _terms(record: Record, names: Sequence[str], identity: str) -> None:
    """Cost and carbon by term, on one axis each."""
    for name, label in MEASURES.items():
        st.subheader(f"{label}, term by term")
        titled = [_titled(record, names, plan) for plan in names]
        draw_kept(f"{identity}-{name}", partial(terms_side_by_side, record, name, titled))
        if rows := terms_rows(record, name, names):
            opens = partial(_term_explained, record, name, names)
            shared.data("", rows, opens=opens, key=f"{name}-terms")


def _total_explained(record: Record, names: Sequence[str], row: int, key: str) -> Explanation | None:
    from planner.answers.saved.cells import total_explanation

    return total_explanation(record, names, row, key)


def _term_explained(
    record: Record, name: str, names: Sequence[str], row: int, key: str
) -> Explanation | None:
    from planner.answers.saved.cells import term_explanation

    return term_explanation(record, name, names, row, key)


def _changed(
    record: Record,
    names: Sequence[str],
    identity: str,
    store: Store | None,
    scenarios: Sequence[Record] | None,
) -> None:
    """From one plan to another: by term at once, by groups of inputs on request."""
    st.subheader("What changed the answer")
    left, middle, right = st.columns(3)
    titled = partial(_titled, record, names)
    before = names.index(left.selectbox("From", names, 0, format_func=titled, key="changed-from"))
    after = names.index(middle.selectbox("To", names, 1, format_func=titled, key="changed-to"))
    name = right.segmented_control(
        "Of",
        list(MEASURES),
        format_func=MEASURES.__getitem__,
        default="cost",
        required=True,
        key="changed-of",
    )
    if before == after:
        st.markdown("Choose two plans that are not the same.")
        return
    way = f"from {names[before]} to {names[after]}"
    st.markdown("By term: what each part of the total adds or takes away.")
    steps = term_steps(record, name, before, after)
    opened = partial(_step_explained, record, name, names, (before, after))
    _waterfall(steps, name, f"{MEASURES[name]} by term, {way}", identity, opened)
    st.markdown("By input: every mix of the inputs that differ is planned, a few of them or up to sixteen.")
    both = _two_scenarios(record, before, after, store, scenarios)
    if both is not None:
        _attribution(both, name, way)


def _waterfall(
    steps: Sequence[tuple[str, float]],
    name: str,
    title: str,
    identity: str,
    explained: Callable[[str], Explanation | None],
) -> None:
    moved = [step for step in steps if step[1]]
    if not moved:
        st.markdown("Nothing: the totals are the same.")
        return
    st.markdown(shared.plain(title))
    draw_kept(f"{identity}-{title}", lambda: changed_waterfall(moved, UNITS[name], title))
    rows = [{"step": label, "change": signed_text(value, UNITS[name])} for label, value in moved]

    def opens(row: int, key: str) -> Explanation | None:
        return explained(moved[row][0]) if key == "change" else None

    shared.data("", rows, opens=opens, key=f"steps-{title}")


def _attribution(given: Record, name: str, way: str) -> None:
    """The difference by input: begun at a click, drawn when it is there."""
    key = work_key("attribution", given)
    if workers.seen(key) is None:
        st.button("Divide it among the inputs", key="begin-attribution", on_click=_begin, args=(given,))
    elif (found := work_shown(key).result) is not None:
        _by_input(found, name, way, key)


def _by_input(found: Document, name: str, way: str, identity: str) -> None:
    """The difference, group by group of the inputs, with the plans of every mix."""
    shared.lines(found["said"])
    if found["orders"]:
        measure = f"{name}_{UNITS[name].lower()}"
        steps = [(row["group"], row[measure]) for row in found["groups"]]
        opened = partial(_group_explained, found, measure)
        _waterfall(steps, name, f"{MEASURES[name]} by input, {way}", identity, opened)
    opens = partial(_mix_explained, found["mixes"])
    shared.data("", found["mixes"], "Show every mix", opens, key="mixes")


def _mix_explained(mixes: Sequence[Record], row: int, key: str) -> Explanation | None:
    from planner.answers.saved.cells import mix_explanation

    return mix_explanation(mixes[row], key)


def _step_explained(
    record: Record, name: str, names: Sequence[str], ends: tuple[int, int], label: str
) -> Explanation | None:
    from planner.answers.saved.cells import step_explanation

    return step_explanation(record, name, names, ends, label)


def _group_explained(found: Document, measure: str, group: str) -> Explanation | None:
    from planner.answers.saved.cells import group_explanation

    return group_explanation(found, measure, group)


def _inputs_opened(record: Record, names: Sequence[str]) -> shared.Opens:
    def text(row: int, key: str) -> str | None:
        from planner.answers.saved.cells import input_text

        return input_text(record, names, row, key)

    return text


def _begin(given: Record) -> None:
    workers.start("attribution", **given)


def _two_scenarios(
    record: Record, before: int, after: int, store: Store | None, scenarios: Sequence[Record] | None
) -> dict[str, Any] | None:
    """Both scenarios with their files, as a worker takes them."""
    if scenarios is not None:
        return {"before": scenarios[before], "after": scenarios[after]}
    assert store is not None, "only saved plans have no scenarios of their own"
    try:
        kept = [store.scenario(record["plans"][number]["scenario"]) for number in (before, after)]
    except InputError as error:
        work_button.refused("The scenarios of these plans cannot be read.", error)
        return None
    found = [{"name": one.name, "text": one.text, "files": dict(one.files)} for one in kept]
    return dict(zip(("before", "after"), found, strict=True))


# Saved plans are named by their content, so that their digests are the key.
@st.cache_data(show_spinner=False, max_entries=16)
def _compared(digests: tuple[str, ...], address: str, _store: Store) -> Record:
    from planner.answers.saved.side_by_side import compare_several

    return compare_several(_store, digests)


@st.cache_data(show_spinner=False, max_entries=1)
def _shipped() -> Record:
    from planner.ui.workers.shipped import shipped_as_it_was

    return shipped_as_it_was("compared")


render()
