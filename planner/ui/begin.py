"""Start from nothing: places, fleet, work, policy and market asked for in six steps; a scenario comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import streamlit as st

from planner.answers.start import GUIDED_NAME, GUIDED_TITLE, Guided, guided
from planner.inputs.exchange import default_rates
from planner.inputs.sheets.guide import STEPS, default_rows, entry_of, places
from planner.trace.currency import USD
from planner.ui import begin_answers, scenario_edits, session, shared
from planner.ui.begin_answers import STEP, add_nodes, add_place, add_sku, go
from planner.ui.begin_fields import Form, adder
from planner.ui.begin_map import place_chooser
from planner.ui.begin_work import work

PAGES = Path(__file__).parent
OBJECTIVES = {
    "money": "least money",
    "carbon": "least carbon",
    "weighted": "money, and carbon at a price",
}
SPACES = {"": "let, at a price", "owned": "owned"}


def render() -> None:
    """Draw the page."""
    st.title("Start from nothing")
    answers, catalogue = begin_answers.held(), session.catalogue()
    data, files = session.own_files()
    found = guided(begin_answers.stated(answers), catalogue, today=date.today(), data=data, files=dict(files))
    step = steps(found)
    if step == "Review":
        _review(found, files)
        return
    form = Form(answers, catalogue, found.fields)
    _STEPS[step](form)
    _state(step, found, form)
    _move(step)
    _defaults(step, form)


def steps(found: Guided) -> str:
    """Which of the six steps is on the page."""
    names = [*STEPS]
    done = sum(not found.missing[name] and not found.wrong.get(name) for name in names[:-1])
    st.session_state.setdefault(STEP, names[0])
    chosen = st.segmented_control(
        "Step",
        names,
        required=True,
        format_func=lambda name: f"{names.index(name) + 1} {name}",
        key=STEP,
        label_visibility="collapsed",
        persist_state="session",
    )
    st.markdown(
        f"Six steps to a scenario as a file holds it. {done} of {len(names) - 1} lack nothing; what you "
        "do not state has a default, with its range and source at the foot of each step."
    )
    return str(chosen or names[0])


# The steps


def _places(form: Form) -> None:
    known = places(form.catalogue)
    adder("sites", "Add a place: type a country, a city or a cloud", [*known], known.__getitem__, add_place)
    taken = {row.get("region") or row.get("grid") or "" for row in form.rows("sites")}
    with st.expander("On a map", icon=":material/map:", expanded=not taken):
        place_chooser(known, taken, form.catalogue, add_place)
    for row in form.rows("sites"):
        with form.card("sites", row, known.get(row.get("region") or row.get("grid") or "", "")):
            name, power, racks, space, price = st.columns(5)
            form.text("sites", row, "name", "name", name)
            form.text("sites", row, "power_cap", "power cap", power, "for example 500 kW")
            form.text("sites", row, "racks", "racks", racks, "by power")
            form.choice("sites", row, "space", "space", space, SPACES)
            if row.get("space") == "owned":
                key, said = "electricity_price", "electricity price"
            else:
                key, said = "space_price", "space price"
            form.text("sites", row, key, said, price, form.default("sites", key, row))


def _fleet(form: Form) -> None:
    sites, skus = form.named("sites"), form.catalogue.skus
    if not sites:
        st.info("Add a place first: nodes stand somewhere.")
    pairs = {
        f"{sku}|{site}": f"{sku} at {name}: {skus[sku].title}"
        for sku in form.catalogue.sold
        for site, name in sites.items()
    }
    adder("fleet", "Add nodes that stand today; none is fine", [*pairs], pairs.__getitem__, add_nodes)
    for row in form.rows("fleet"):
        with form.card("fleet", row, skus[row["sku"]].title if row["sku"] in skus else ""):
            nodes, since, life, resale = st.columns(4)
            form.text("fleet", row, "nodes", "nodes", nodes, "for example 40")
            form.text("fleet", row, "in_service", "in service since", since, "2024, or 2024-03-01")
            form.text("fleet", row, "life", "life", life, "no end")
            form.text("fleet", row, "resale", "resale value of a node", resale, "the market's, by age")


def _policy(form: Form) -> None:
    policy, horizon = form.answers.policy, form.answers.horizon
    title, money, best = st.columns(3)
    with title:
        form.stated("title", "Title", {"title": form.answers.title}, GUIDED_TITLE)
    with money:
        form.setting("currency", "Currency", [USD, *sorted(default_rates())], form.answers.currency)
    with best:
        wanted = policy.get("objective", "money")
        form.setting("objective", "What is best", [*OBJECTIVES], wanted, OBJECTIVES)
    price, first, count, length = st.columns(4)
    with price:
        form.stated(
            "policy.carbon_price",
            "Carbon price",
            policy,
            "for example 100 USD/t" if wanted == "weighted" else "none: carbon has no weight",
            disabled=wanted != "weighted",
        )
    with first:
        form.stated("horizon.start", "First day of the plan", horizon, "the next quarter")
    with count:
        form.setting("periods", "Periods", [*range(1, 13)], horizon.get("periods", 4))
    with length:
        form.setting("period", "Of a", ["quarter", "month"], horizon.get("period", "quarter"))
    wishes = {
        "confidence": ("Chance with which work must be met", "as stated; or 0.9"),
        "discount_rate": ("Yearly cost of capital", form.default("policy", "discount_rate")),
        "node_life": ("Life of a node", form.default("policy", "node_life")),
    }
    for place, (key, (label, example)) in zip(st.columns(3), wishes.items(), strict=True):
        with place:
            form.stated(f"policy.{key}", label, policy, example)


def _market(form: Form) -> None:
    titles = {sku: f"{sku}: {one.title}" for sku, one in form.catalogue.skus.items()}
    st.subheader("To buy", anchor=False)
    offer, rental = partial(add_sku, "market"), partial(add_sku, "rental")
    adder("market", "Add nodes that may be bought", [*titles], titles.__getitem__, offer)
    if not form.rows("market"):
        st.toggle(
            "What stands may be bought again",
            form.answers.buys,
            key="begin.buys",
            on_change=begin_answers.take,
            args=("buys", "begin.buys"),
        )
    for row in form.rows("market"):
        with form.card("market", row, titles.get(row["sku"], "")):
            price, lead, supply = st.columns(3)
            said = form.default("market", "price", row)
            form.text("market", row, "price", "price of a node", price, said)
            form.text("market", row, "lead_time", "lead time", lead, form.default("market", "lead_time"))
            form.text("market", row, "supply_nodes", "most nodes a period", supply, "no limit")
    st.subheader("To rent", anchor=False)
    adder("rental", "Add nodes that may be rented", [*titles], titles.__getitem__, rental)
    known = {name: said for name, said in places(form.catalogue).items() if name in form.catalogue.regions}
    for row in form.rows("rental"):
        with form.card("rental", row, titles.get(row["sku"], "")):
            where, price, most = st.columns([2, 1, 1])
            form.choice("rental", row, "region", "where", where, {"": "choose a place", **known})
            said = form.default("rental", "price", row)
            form.text("rental", row, "price", "price of an accelerator an hour", price, said)
            form.text("rental", row, "nodes", "most nodes at once", most, "no limit")


_STEPS: Mapping[str, Callable[[Form], None]] = {
    "Places": _places,
    "Fleet": _fleet,
    "Work": work,
    "Policy": _policy,
    "Market": _market,
}


def _review(found: Guided, files: session.Files) -> None:
    """What is still missing or wrong; else the file, what was assumed in it, and the ways on."""
    for step in STEPS:
        if lines := [*found.missing[step], *found.wrong.get(step, ())]:
            st.markdown(f"**{step}**")
            shared.lines(lines)
    if found.found is None:
        said = "not right yet" if found.wrong else "not complete yet"
        st.error(f"The scenario is {said}: see the steps named above.", icon=":material/error:")
        return
    st.success("Nothing is missing, and every value checks.", icon=":material/check_circle:")
    made = (GUIDED_NAME, found.text.encode(), replace(found.found, files=files))
    with st.container(horizontal=True):
        for label, page, icon in (
            ("Plan it", "plan", "play_arrow"),
            ("Change it on Scenario", "scenario", "tune"),
        ):
            if st.button(
                label,
                key=f"begin.{page}",
                icon=f":material/{icon}:",
                on_click=scenario_edits.open_file,
                args=made,
            ):
                st.switch_page(PAGES / f"{page}.py")
        st.download_button(
            "Scenario (TOML)",
            found.text,
            GUIDED_NAME,
            "application/toml",
            key="begin.toml",
            on_click="ignore",
            icon=":material/download:",
        )
        st.button(
            "Start again", key="begin.anew", icon=":material/restart_alt:", on_click=begin_answers.begin_anew
        )
    facts, notes = st.columns(2)
    with facts:
        st.markdown("**The scenario**")
        st.dataframe(
            found.found.fact_rows(), hide_index=True, height="content", alt="What the scenario holds"
        )
    with notes:
        st.markdown("**Worked out or assumed**")
        shared.lines(found.notes)
    with st.expander("The file (TOML)"):
        st.code(found.text, "toml", wrap_lines=True)


# What stands below each step


def _state(step: str, found: Guided, form: Form) -> None:
    """What this step lacks, and what is wrong in it that no field of the page shows."""
    with st.container():  # always there: fields above must not move
        shown = sum(field in form.drawn for field in found.fields)
        lines = [*found.elsewhere.get(step, ())]
        lines += [
            f"{entry_of(field, begin_answers.stated(form.answers))}: {message}"
            for field, message in found.fields.items()
            if field.table in STEPS[step] and field not in form.drawn
        ]
        if lacks := found.missing[step]:
            st.warning("Missing here: " + "; ".join(map(shared.plain, lacks)), icon=":material/edit_note:")
        if lines:
            st.error("  \n".join(map(shared.plain, lines)), icon=":material/error:")
        if shown:
            said = "One value is wrong" if shown == 1 else f"{shown} values are wrong"
            st.error(f"{said}: see the message below the field.", icon=":material/error:")
        if not (lacks or lines or shown):
            st.success("Nothing is missing in this step.", icon=":material/check_circle:")


def _move(step: str) -> None:
    """One step back, one on, or to the end."""
    names = [*STEPS]
    at = names.index(step)
    with st.container(horizontal=True):
        if at:
            st.button(
                f"Back: {names[at - 1]}",
                key="begin.back",
                icon=":material/arrow_back:",
                on_click=go,
                args=(names[at - 1],),
            )
        st.button(
            f"Next: {names[at + 1]}",
            key="begin.next",
            icon=":material/arrow_forward:",
            on_click=go,
            args=(names[at + 1],),
        )
        if names[at + 1] != names[-1]:
            st.button(
                "To the review: defaults for the rest",
                key="begin.end",
                icon=":material/last_page:",
                on_click=go,
                args=(names[-1],),
            )


def _defaults(step: str, form: Form) -> None:
    """What holds where nothing is said, with range and source."""
    if rows := default_rows(step, begin_answers.stated(form.answers), form.catalogue):
        st.markdown("**What holds where you state nothing**")
        st.dataframe(rows, hide_index=True, height="content", alt=f"Defaults of the step {step}")


render()
