"""The parts of a plan on its page, from the answer down to its sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from planner.answers.plan.repairs import repaired_text, repairs
from planner.inputs.scenario.bundle import restored, unsaved
from planner.report.charts import TIMELINE_KEY
from planner.report.charts.flows import energy_flow
from planner.report.charts.hours import HOURS_KEY
from planner.report.charts.risk import MARGIN_KEY, RISK_KEY
from planner.report.table_columns import TITLES
from planner.report.tables import provenance, range_text, table_of
from planner.store.addresses import read_only
from planner.trace.currency import currency_of, showing
from planner.trace.errors import InputError
from planner.trace.records import Document, Record
from planner.ui import plan_source, shared
from planner.ui.parts import tabs
from planner.ui.plan_files import downloads
from planner.ui.plan_source import Planned
from planner.ui.progress import work_shown
from planner.ui.saved import PARAMETER, SHORT
from planner.ui.sharing import together
from planner.ui.work_button import ask_once_more, wanted
from planner.ui.workers import start

JOB_WHYS = {
    "ettr": "ETTR",
    "interval": "interval",
    "duration": "duration",
    "finish": "finish",
    "step": "step",
}


def plan(made: Planned) -> None:
    """Everything about a plan, or about why there is none."""
    with showing(currency_of(made.document)):
        _plan(made)


def _plan(made: Planned) -> None:
    document = made.document
    status, saving = st.columns([3, 2], vertical_alignment="center")
    with status:
        shared.status_line(document)
    with saving:
        kept(made)
    if document["clash"] is not None:
        shared.infeasibility(document)
        ways_out(made)
    elif document["totals"]:
        results(made)
    else:
        details(made)
    together(made)
    downloads(made)
    st.caption(" · ".join(shared.plain(line) for line in provenance(document)))


def kept(made: Planned) -> None:
    """Where the plan is kept and by which address it comes back; or why not, and a way to try again."""
    if read_only():
        st.caption("Read-only: plans that are made here are not saved.")
        return
    key, request = f"keep-{made.identity}", f"wanted-kept-{made.identity}"
    digest, reason = made.saved, made.unsaved
    if reason and request not in st.session_state:  # a page that is opened anew tries once by itself
        ask_once_more(request)
    if digest is None and st.session_state.get(request):
        work = start("save", **made.arguments(), document=made.document, attempt=st.session_state[request])
        found = work_shown(work).result
        if found is None:
            return
        digest, reason = found["saved"], found["unsaved"]
    if digest is not None:
        st.caption(f"Saved. It comes back by this end of the address: ?{PARAMETER}={digest[:SHORT]}")
        return
    if reason:
        st.warning("The plan is here, but it is not saved.", icon=":material/folder_off:")
        st.code(reason, language=None, wrap_lines=True)
    label = "Save it now" if reason else "Save this plan"
    st.button(label, key=key, icon=":material/save:", on_click=ask_once_more, args=(request,))


def rows_of(document: Document, name: str) -> list[Record]:
    """A table of a plan; an earlier everfleet may have saved the plan without it."""
    found: list[Record] = document["tables"].get(name) or []
    return found


def opened_data(made: Planned, name: str, rows: list[Record], label: str = "Show data") -> None:
    """The table behind a chart, each of its numbers to be opened."""
    shared.data(name, rows, label, _opens(made, name, rows), f"{name}-{label}")


def opened_sheet(made: Planned, name: str, rows: list[Record]) -> None:
    """A table that stands open, each of its numbers to be opened."""
    shared.sheet(table_of(name, rows), TITLES[name], _opens(made, name, rows), name)


def _opens(made: Planned, name: str, rows: list[Record]) -> shared.Opens:
    """How the numbers of a table are opened."""
    return shared.cells(made.document, name, rows)


def results(made: Planned) -> None:
    """The plan: the answer first, what it is made of in tabs, each drawn when it is looked at."""
    shared.totals(made.document, "plan", shared.FIRST_TOTALS, sure=True)
    shared.story(made.document, made.identity)
    parts: dict[str, Callable[[Planned], None]] = {
        "In short": in_short,
        "Why this plan": reasons,
        "Jobs and arrivals": when_and_where,
        "Cost": cost,
        "Carbon": carbon,
        "Energy": energy,
        "Risk": risk,
        "Limits": limits,
        "Details": details,
    }
    tabs({name: partial(draw, made) for name, draw in parts.items()}, "plan-tabs")


def in_short(made: Planned) -> None:
    """The plan in words."""
    shared.lines(made.document["headline"])


def reasons(made: Planned) -> None:
    """What the plan gains over others, in words and side by side."""
    shared.lines(made.document["why"])
    st.subheader(TITLES["summary"])
    shared.picture("baselines", made.document, made.identity)
    opened_data(made, "summary", rows_of(made.document, "summary"))


def cost(made: Planned) -> None:
    """Money, term by term, in three views, by month, and by the unit of work."""
    document = made.document
    shared.terms("cost", "usd", "USD", document, made.identity)
    opened_data(made, "cost", rows_of(document, "cost"))
    for name in ("unit_costs", "views"):
        if rows := rows_of(document, name):
            st.subheader(TITLES[name])
            opened_sheet(made, name, rows)
    if rows := rows_of(document, "cash"):
        st.subheader(TITLES["cash"])
        shared.picture("cash", document, made.identity)
        opened_data(made, "cash", rows)
    for name in ("bridge", "accounts", "present_value", "npv", "life_cost", "accelerator_hours", "use"):
        opened_data(made, name, rows_of(document, name), TITLES[name])


def carbon(made: Planned) -> None:
    """Carbon, term by term."""
    shared.terms("carbon", "kgco2e", "kgCO2e", made.document, made.identity)
    opened_data(made, "carbon", rows_of(made.document, "carbon"))


def when_and_where(made: Planned) -> None:
    """Jobs and arrivals on one line of time, and how each job runs."""
    document, jobs = made.document, rows_of(made.document, "jobs")
    shared.picture("timeline", document, made.identity)
    st.caption(TIMELINE_KEY)
    opened_data(made, "purchases", rows_of(document, "purchases"), "Show what is bought")
    opened_data(made, "installations", rows_of(document, "installations"), TITLES["installations"])
    if jobs:
        st.markdown("Where each job runs, and how often it writes a checkpoint:")
        opened_sheet(made, "jobs", jobs)
    for job in jobs:
        with st.container(horizontal=True):
            st.markdown(shared.plain(job["job"]))
            for name, label in JOB_WHYS.items():
                shared.why(document, f"job.{job['job']}.{name}", "plan", f"why this {label}?")


def energy(made: Planned) -> None:
    """From the meters to what the energy is used for."""
    document = made.document
    if (drawn := energy_flow(document)) is None:
        st.caption("Where the energy goes was not kept with this plan.")
        return
    shared.flow(drawn)
    rows = rows_of(document, "energy")
    opened_data(made, "energy", rows)
    if by_hour := rows_of(document, "hours"):
        st.subheader(TITLES["hours"])
        shared.picture("hours", document, made.identity)
        st.caption(HOURS_KEY)
        opened_data(made, "hours", by_hour)
        st.subheader(TITLES["levers"])
        opened_sheet(made, "levers", rows_of(document, "levers"))
    with st.container(horizontal=True):
        for name in dict.fromkeys(row["explain"] for row in rows):
            shared.why(document, name, "flow", f"why {name.partition('.')[2]}?")


def risk(made: Planned) -> None:
    """How sure the totals are, and how early the jobs end."""
    document = made.document
    for name in ("chance", "stress", "recourse", "ties", "knowable"):
        if rows := rows_of(document, name):
            st.subheader(TITLES[name])
            opened_sheet(made, name, rows)
    ranged = [total for total in document["totals"] if range_text(total)]
    if not ranged and not rows_of(document, "jobs"):
        st.caption("None of the facts below this plan has a range, and no job has a date.")
        return
    totals, jobs = st.columns(2)
    with totals:
        shared.picture("ranges", document, made.identity)
        st.caption(RISK_KEY)
        opened_data(made, "totals", ranged)
    with jobs:
        shared.picture("margins", document, made.identity)
        if rows_of(document, "jobs"):
            st.caption(MARGIN_KEY)
            opened_data(made, "jobs", rows_of(document, "jobs"))


def limits(made: Planned) -> None:
    """How full the limits are, what one more of each is worth, and what the result depends on."""
    document = made.document
    if rows_of(document, "limits"):
        shared.picture("limits", document, made.identity)
        opened_data(made, "limits", rows_of(document, "limits"))
    worth(made)
    if document["tornado"]:
        st.subheader("Sensitivity of the result")
        shared.picture("tornado", document, made.identity)
        opened_data(made, "tornado", document["tornado"])


def worth(made: Planned) -> None:
    """What one more of each limit is worth: in the plan, or asked for here."""
    if rows := rows_of(made.document, "prices"):
        st.subheader(TITLES["prices"])
        opened_sheet(made, "prices", rows)
        return
    if not wanted(made.identity, "prices", "What is each limit worth?", ":material/sell:"):
        return
    st.subheader(TITLES["prices"])
    found = work_shown(start("plan", **made.arguments(), prices=True)).result
    if found is None:
        return
    priced = found["document"]
    shared.lines([line for line in priced["why"] if line not in made.document["why"]])
    if rows := rows_of(priced, "prices"):
        shared.data("prices", rows, opens=shared.cells(priced, "prices", rows), key="prices-Show data")
    else:
        st.caption("No limit is worth anything here: easing any of them changes nothing.")


def verified(made: Planned) -> None:
    """The services played request by request: in the plan, or asked for here."""
    document = made.document
    if not rows_of(document, "services"):
        return
    if not rows_of(document, "verification"):
        if not wanted(
            made.identity, "verify", "Play the services request by request", ":material/fact_check:"
        ):
            return
        found = work_shown(start("plan", **made.arguments(), verify=True)).result
        if found is None:
            return
        document = found["document"]
    st.subheader(TITLES["verification"])
    if rows := rows_of(document, "verification"):
        shared.lines(document["verification"]["findings"])
        shared.sheet(table_of("verification", rows), TITLES["verification"])
        st.caption(document["verification"]["about"])


def ways_out(made: Planned) -> None:
    """Ways out of a conflict, the cheapest first, each a click away from being planned."""
    clash = made.document["clash"]
    limits = {family["family"] for family in clash["families"]}
    ways = [(f"Let {way['family']} give way", way) for way in repairs(clash)]
    tried = [
        (f"Set {way['key']} to {way['needed']}", way)
        for way in clash.get("ways", ())
        if way["gives_way"] not in limits and way["changes"]
    ]
    ways = [*tried, *ways]
    if not ways:
        return
    st.markdown(
        "Apply one to a copy of the scenario and plan that. Of limits that give way, the cheapest is first, "
        "of those that give up none of the work where there are any."
    )
    with st.container(horizontal=True):
        for number, (label, way) in enumerate(ways):
            st.button(
                shared.plain(label),
                key=f"repair-{number}",
                icon=":material/build:",
                on_click=_plan_repaired,
                args=(made, way),
            )


def _plan_repaired(made: Planned, way: Mapping[str, Any]) -> None:
    """Put the repaired copy in the place of the scenario; the page plans it next."""
    try:
        with restored(unsaved(made.name, made.text, made.files)) as scenario:
            text = repaired_text(scenario, way)
    except InputError as error:
        st.error("The scenario cannot be repaired so.")
        st.code(str(error), language=None, wrap_lines=True)
        return
    name = made.name.removesuffix(".toml").removesuffix("-repaired")
    plan_source.begin_with(text, f"{name}-repaired.toml", made.files)


def details(made: Planned) -> None:
    """Tables of what is moved, rented and served, and the facts below everything."""
    document = made.document
    others = [total["name"] for total in document["totals"] if total["name"] not in shared.FIRST_TOTALS]
    shared.totals(document, "details", others)
    verified(made)
    for name in (
        "disposals",
        "moves",
        "rental",
        "commitments",
        "pausable",
        "services",
        "pools",
        "needs",
        "feeding",
        "data",
        "placements",
        "contracts",
        "site_energy",
        "clean_energy",
        "whole_ledger",
        "whole_scopes",
        "water",
        "by_period",
    ):
        if rows := rows_of(document, name):
            st.subheader(TITLES[name])
            opened_sheet(made, name, rows)
    for name in ("alternatives_dropped", "facts", "facts_weighed"):
        opened_data(made, name, rows_of(document, name), TITLES[name])
