"""Trade-offs: money against carbon, time against carbon, other plans, and what the answer depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from planner.report.cells import opened_at
from planner.report.charts import PLAN_PICTURES, Picture
from planner.report.charts.fronts import FRONT_KEY, POINT, money_front, time_front
from planner.report.tables import table_of
from planner.trace.currency import currency_of, showing
from planner.trace.errors import InputError
from planner.trace.numbers import quantity_text
from planner.trace.records import Document, Record
from planner.ui import session, shared, work_button
from planner.ui.chart_cache import draw_kept, specs
from planner.ui.workers.tradeoffs import POINTS

if TYPE_CHECKING:
    from planner.trace.explain import Explanation

PAGES = Path(__file__).parent
VIEWS = {
    "money": "Money and carbon",
    "time": "Time and carbon",
    "alternatives": "Other plans",
    "sensitivity": "Sensitivity",
}


def render() -> None:
    """Draw the page."""
    st.title("Trade-offs")
    draft = session.draft()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Scenario: **{shared.plain(draft.name)}**", width="content")
        st.page_link(PAGES / "scenario.py", label="Change it", icon=":material/tune:")
    view = st.segmented_control(
        "View",
        list(VIEWS),
        format_func=VIEWS.__getitem__,
        default="money",
        required=True,
        key="tradeoffs-view",
    )
    views = {"money": money, "time": time, "alternatives": alternatives, "sensitivity": sensitivity}
    views[view](draft)
    shared.next_step("saved plans side by side", "compare")


def money(draft: session.Draft) -> None:
    """Money against carbon."""
    st.markdown("The cheapest plan at each level of carbon, whatever the objective of the scenario.")
    answer = work_button.answer("front", draft, "Find the front", _money_so_far, points=POINTS)
    if answer is None:
        return
    references = answer.document["beside"]
    with showing(currency_of(answer.document)):
        _front(
            draft, answer, "front", "points", lambda opened: money_front(answer.document, references, opened)
        )


def time(draft: session.Draft) -> None:
    """Time against carbon."""
    st.markdown(
        "The cleanest plan for each day by which the jobs have to be done: all deadlines move together."
    )
    answer = work_button.answer("front_of_time", draft, "Move the deadlines", _time_so_far, points=POINTS)
    if answer is not None:
        with showing(currency_of(answer.document)):
            _front(draft, answer, "times", "times", lambda opened: time_front(answer.document, opened))


def _front(
    draft: session.Draft,
    answer: work_button.Answer,
    section: str,
    table: str,
    picture: Callable[[int | None], Picture | None],
) -> None:
    """A chart whose points open their plans next to it, what it says, and its data."""
    held = answer.document["sections"][section]
    rows = held["tables"].get(table, [])
    shared.lines(held["said"])
    if not rows:
        return
    chart, pane = st.columns([3, 2])
    with pane:
        opened = _choice(rows, section)
        _plan(draft, answer.plan(opened), rows[opened - 1], section)
    with chart:
        _clickable(f"{answer.digest}-{opened}", lambda: picture(opened), section)
        st.markdown(f":small[{shared.plain(FRONT_KEY)}]")
        shared.data(table, rows, opens=partial(opened_at, answer.document, table), key=table)


def _plan_opened(plan: Record, table: str) -> shared.Opens:
    """The numbers of a table of a plan of a front."""

    def explained(row: int, key: str) -> Explanation | None:
        from planner.answers.plan.cells import cell_explanation

        return cell_explanation(plan, table, plan["tables"][table][row], key)

    return explained


def _choice(rows: Sequence[Record], section: str) -> int:
    """The plan that is opened: the knee at first; by keyboard here, by a click in the chart."""
    numbers = [row["point"] for row in rows]
    key = f"opened-{section}"
    if st.session_state.get(key) not in numbers:
        st.session_state[key] = next((row["point"] for row in rows if row["mark"] == "knee"), numbers[0])
    return int(
        st.selectbox(
            "Open a plan", numbers, format_func=lambda number: _point_text(rows[number - 1]), key=key
        )
    )


def _point_text(row: Record) -> str:
    mark = f" ({row['mark']})" if row["mark"] else ""
    by = f"by {row['deadline']}" if "deadline" in row else quantity_text(row["cost_usd"], "USD")
    return f"Point {row['point']}{mark}: {by}, {quantity_text(row['carbon_kgco2e'], 'kgCO2e')}"


def _clickable(digest: str, make: Callable[[], Picture | None], section: str) -> None:
    """The chart; a click on a point opens its plan."""
    key = f"chart-{section}"

    def clicked() -> None:
        found = st.session_state[key].selection.get(POINT) or [{}]
        if (number := found[0].get(POINT)) is not None:
            st.session_state[f"opened-{section}"] = int(number)

    for _, alt, spec in specs(digest, make):
        st.vega_lite_chart(spec, width="stretch", alt=alt, key=key, on_select=clicked)


def _plan(draft: session.Draft, plan: Record, row: Record, section: str) -> None:
    """One plan of a front: what it comes to, what stands where, how it differs, and a way to take it up."""
    place = f"{section}-{row['point']}"
    for total in plan["totals"]:
        with st.container(horizontal=True, vertical_alignment="center"):
            value = quantity_text(total["value"], total["unit"])
            st.markdown(f"{shared.plain(total['label'])}: **{shared.plain(value)}**")
            shared.why(plan, total["explain"], place, f"why {total['name']}?")
    if st.button("Use it as the scenario", key=f"take-{section}", icon=":material/arrow_forward:"):
        _take_up(draft, plan)
    if plan["differs"]:
        st.markdown(f"**Against this scenario's plan:** {shared.plain(plan['differs'])}.")
    shared.lines(plan["headline"])
    for name, label in (("fleet", "The fleet, period by period"), ("cost", "Cost"), ("carbon", "Carbon")):
        shared.data(name, plan["tables"][name], label, _plan_opened(plan, name), f"{place}-{name}")


def _take_up(draft: session.Draft, plan: Record) -> None:
    """Let the scenario that leads to a plan stand in the session, as an edit that can be undone."""
    from planner.answers.check import check
    from planner.inputs.editing.edits import with_values

    try:
        edited = with_values(draft.text, draft.name, _with_days(plan["changes"]))
        check(edited.text, draft.name, dict(draft.files))
    except InputError as error:
        work_button.refused("The scenario of this plan cannot be written.", error)
        return
    session.edit(edited.text, "plan of a front")
    st.switch_page(PAGES / "plan.py")


def _with_days(changes: Record) -> Record:
    """Days as TOML has them: a document holds them as text."""
    days = {path: date.fromisoformat(day) for path, day in changes.items() if path.endswith(".deadline")}
    return changes | days


def _money_so_far(parts: Sequence[Record]) -> None:
    references: Sequence[Record] = next((part["beside"] for part in parts if "beside" in part), [])
    _so_far("front", "points", parts, lambda document: money_front(document, references))


def _time_so_far(parts: Sequence[Record]) -> None:
    _so_far("times", "times", parts, time_front)


def _so_far(
    section: str, table: str, parts: Sequence[Record], picture: Callable[[Document], Picture | None]
) -> None:
    """The points that are there while the search goes on."""
    rows = [part["row"] for part in parts if "row" in part]
    if (drawn := picture({"sections": {section: {"tables": {table: rows}}}})) is not None:
        shared.draw(drawn)


def alternatives(draft: session.Draft) -> None:
    """Plans that cost little more than the best, and decide otherwise."""
    st.markdown("A plan that is slightly better by the program may be worse by what it does not know.")
    within, plans = st.columns(2)
    within_percent = within.number_input("At most above the best (%)", 0.1, 20.0, 2.0, 0.5, key="within")
    count = plans.number_input("Plans", 1, 8, 3, key="alternatives-count")
    answer = work_button.answer(
        "alternatives", draft, "Find other plans", plans=int(count), within_fraction=within_percent / 100
    )
    if answer is None:
        return
    found = answer.document
    if not found["has_plan"]:
        st.warning("No plan exists to hold others against: the Plan page says which limits are in conflict.")
        return
    shared.lines(found["said"] or ["No other plan was found within that share."])
    if found["rows"]:
        rows = found["rows"]
        with showing(currency_of(found)):
            opens = shared.cells({"scenario": draft.name}, "alternatives", rows)
            shared.sheet(table_of("alternatives", rows), "Other plans", opens)


def sensitivity(draft: session.Draft) -> None:
    """What the objective depends on, and what would change the fleet."""
    st.subheader("What moves the objective")
    known = work_button.answer("front", draft, "Find the front and its tornado", points=POINTS)
    if known is not None:
        with showing(currency_of(known.document)):
            _tornado(known)
    st.subheader("What would change the fleet")
    st.markdown("Each price, rate and grid is varied until another fleet is better: some minutes.")
    answer = work_button.answer("sensitivity", draft, "Look for what would change it")
    if answer is not None:
        found = answer.document["sections"]["flips"]
        shared.lines(found["said"])
        if rows := found["tables"].get("flips"):
            with showing(currency_of(answer.document)):
                shared.sheet(
                    table_of("flips", rows),
                    "What would change the fleet",
                    shared.cells(answer.document, "flips", rows),
                )


def _tornado(known: work_button.Answer) -> None:
    document = known.document
    if not document["tornado"]:
        st.markdown("The scenario has no plan of its own, or none of its facts has a range.")
        return
    draw_kept(f"{known.digest}-tornado", lambda: PLAN_PICTURES["tornado"](document))
    rows = document["tornado"]
    shared.data("tornado", rows, opens=shared.cells(document, "tornado", rows), key="tornado")


render()
