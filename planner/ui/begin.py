"""Start from nothing: places, fleet, work, policy and market asked for in six steps; a scenario comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from planner.answers.start import GUIDED_NAME, GUIDED_TITLE, Guided, guided
from planner.inputs.catalogue import Catalogue
from planner.inputs.exchange import default_rates
from planner.inputs.model_kinds import (
    BY_SAMPLES,
    DIFFUSION,
    LANGUAGE,
    RECOMMENDATION,
    SPEECH,
    VISION,
    WORDS,
    kind_of_model,
    models_of,
)
from planner.inputs.sheets.defaults import READING, kind_of_work
from planner.inputs.sheets.guide import (
    STEPS,
    Answers,
    default_rows,
    default_text,
    entry,
    place_row,
    places,
)
from planner.trace.currency import USD
from planner.ui import scenario_edits, session, shared
from planner.ui.begin_map import place_chooser

PAGES = Path(__file__).parent
_ANSWERS, _COUNT, _STEP = "begin.answers", "begin.count", "begin.step"
_ID = "_id"  # of a row, for the keys of its fields; no key of a scenario
LONGEST = 80  # characters of one field
OBJECTIVES = {
    "money": "least money",
    "carbon": "least carbon",
    "weighted": "money, and carbon at a price",
}
# What a request is and when it is answered, by kind of model; others are language models that write.
REQUESTS: Mapping[str, Mapping[str, str]] = {
    "": {"tokens_in": "tokens in", "tokens_out": "tokens out"},
    READING: {"tokens_in": "tokens in", "tokens_out": "tokens out", "response_time": "answer within"},
    RECOMMENDATION: {"candidates": "candidates", "response_time": "answer within"},
    DIFFUSION: {"images": "images", "response_time": "answer within"},
    VISION: {"images": "images", "response_time": "answer within"},
    SPEECH: {"audio": "sound", "tokens_out": "tokens out"},
}
SPACES = {"": "let, at a price", "owned": "owned"}


def render() -> None:
    """Draw the page."""
    st.title("Start from nothing")
    answers, catalogue = _answers(), session.catalogue()
    data, files = session.own_files()
    found = guided(_said(answers), catalogue, today=date.today(), data=data, files=dict(files))
    step = steps(found)
    if step == "Review":
        _review(found, files)
        return
    _STEPS[step](answers, catalogue)
    _state(step, found)
    _move(step)
    _defaults(step, answers, catalogue)


def steps(found: Guided) -> str:
    """Which of the six steps is on the page."""
    names = [*STEPS]
    done = sum(not found.missing[name] and not found.wrong.get(name) for name in names[:-1])
    st.session_state.setdefault(_STEP, names[0])
    chosen = st.segmented_control(
        "Step",
        names,
        required=True,
        format_func=lambda name: f"{names.index(name) + 1} {name}",
        key=_STEP,
        label_visibility="collapsed",
        persist_state="session",
    )
    st.markdown(
        f"Six steps to a scenario as a file holds it. {done} of {len(names) - 1} lack nothing; what you "
        "do not state has a default, with its range and source at the foot of each step."
    )
    return str(chosen or names[0])


# The steps


def _places(answers: Answers, catalogue: Catalogue) -> None:
    known = places(catalogue)
    _adder("sites", "Add a place: type a country, a city or a cloud", [*known], known.__getitem__, _add_place)
    taken = {row.get("region") or row.get("grid") or "" for row in answers.tables.get("sites", ())}
    with st.expander("On a map", icon=":material/map:", expanded=not taken):
        place_chooser(known, taken, catalogue, _add_place)
    for row in answers.tables.get("sites", ()):
        with _entry("sites", row, known.get(row.get("region") or row.get("grid") or "", "")):
            name, power, racks, space, price = st.columns(5)
            _text("sites", row, "name", "name", name)
            _text("sites", row, "power_cap", "power cap", power, "for example 500 kW")
            _text("sites", row, "racks", "racks", racks, "by power")
            _choice("sites", row, "space", "space", space, SPACES)
            if row.get("space") == "owned":
                key, said = "electricity_price", "electricity price"
            else:
                key, said = "space_price", "space price"
            _text("sites", row, key, said, price, default_text("sites", key, row, catalogue))


def _fleet(answers: Answers, catalogue: Catalogue) -> None:
    sites = _named(answers, "sites")
    if not sites:
        st.info("Add a place first: nodes stand somewhere.")
    pairs = {
        f"{sku}|{site}": f"{sku} at {name}: {catalogue.skus[sku].title}"
        for sku in catalogue.sold
        for site, name in sites.items()
    }
    _adder("fleet", "Add nodes that stand today; none is fine", [*pairs], pairs.__getitem__, _add_nodes)
    for row in answers.tables.get("fleet", ()):
        with _entry("fleet", row, catalogue.skus[row["sku"]].title if row["sku"] in catalogue.skus else ""):
            nodes, since, life, resale = st.columns(4)
            _text("fleet", row, "nodes", "nodes", nodes, "for example 40")
            _text("fleet", row, "in_service", "in service since", since, "2024, or 2024-03-01")
            _text("fleet", row, "life", "life", life, "no end")
            _text("fleet", row, "resale", "resale value of a node", resale, "the market's, by age")


def _work(answers: Answers, catalogue: Catalogue) -> None:
    models = [*catalogue.names("model", "layers")]
    st.subheader("Services", anchor=False)
    said = partial(_model_said, catalogue)
    _adder("services", "Add a model that is served", models_of(catalogue), said, _add_service)
    for row in answers.tables.get("services", ()):
        with _entry("services", row, said(row["model"])):
            wanted = REQUESTS.get(kind_of_work("services", row, catalogue), REQUESTS[""])
            name, users, requests, *more = st.columns(3 + len(wanted))
            _text("services", row, "name", "name", name)
            _text("services", row, "users", "users", users, "for example 50k")
            _text("services", row, "requests_per_day", "or requests a day", requests, "for example 2M")
            for place, (key, label) in zip(more, wanted.items(), strict=True):
                _text("services", row, key, label, place, default_text("services", key, row, catalogue))
    st.subheader("Teams", anchor=False)
    _adder("pools", "Add a model that a team tunes or tries", models, str, _add_team)
    for row in answers.tables.get("pools", ()):
        with _entry("pools", row, row["model"]):
            name, people, hours = st.columns(3)
            _text("pools", row, "name", "name", name)
            _text("pools", row, "people", "people", people, "for example 20")
            _text("pools", row, "gpu_time", "or accelerator-hours a period", hours, "for example 60000")
    st.subheader("Training runs", anchor=False)
    trained = list(dict.fromkeys([*models, *models_of(catalogue, BY_SAMPLES)]))
    _adder("training", "Add a model that is trained", trained, said, _add_run)
    for row in answers.tables.get("training", ()):
        with _entry("training", row, said(row["model"])):
            name, tokens, deadline, nodes = st.columns(4)
            _text("training", row, "name", "name", name)
            amount = "samples" if "samples" in row else "tokens"
            _text("training", row, amount, amount, tokens, "for example 2T")
            _text("training", row, "deadline", "deadline", deadline, "2027-09-30")
            _text("training", row, "nodes", "nodes to try", nodes, _default("training", "nodes", catalogue))


def _policy(answers: Answers, catalogue: Catalogue) -> None:
    title, money, best = st.columns(3)
    with title:
        _stated("title", "Title", {"title": answers.title}, GUIDED_TITLE)
    with money:
        _setting("currency", "Currency", [USD, *sorted(default_rates())], answers.currency)
    with best:
        held = answers.policy.get("objective", "money")
        _setting("objective", "What is best", [*OBJECTIVES], held, OBJECTIVES)
    price, first, count, length = st.columns(4)
    with price:
        _stated(
            "carbon_price",
            "Carbon price",
            answers.policy,
            "for example 100 USD/t" if held == "weighted" else "none: carbon has no weight",
            disabled=held != "weighted",
        )
    with first:
        _stated("start", "First day of the plan", answers.horizon, "the next quarter")
    with count:
        _setting("periods", "Periods", [*range(1, 13)], answers.horizon.get("periods", 4))
    with length:
        _setting("period", "Of a", ["quarter", "month"], answers.horizon.get("period", "quarter"))
    sure, capital, life = st.columns(3)
    with sure:
        _stated("confidence", "Chance with which work must be met", answers.policy, "as stated; or 0.9")
    with capital:
        _stated(
            "discount_rate",
            "Yearly cost of capital",
            answers.policy,
            _default("policy", "discount_rate", catalogue),
        )
    with life:
        _stated("node_life", "Life of a node", answers.policy, _default("policy", "node_life", catalogue))


def _market(answers: Answers, catalogue: Catalogue) -> None:
    titles = {sku: f"{sku}: {one.title}" for sku, one in catalogue.skus.items()}
    st.subheader("To buy", anchor=False)
    _adder("market", "Add nodes that may be bought", [*titles], titles.__getitem__, _add_offer)
    if not answers.tables.get("market"):
        st.toggle(
            "What stands may be bought again",
            answers.buys,
            key="begin.buys",
            on_change=_take,
            args=("buys", "begin.buys"),
        )
    for row in answers.tables.get("market", ()):
        with _entry("market", row, titles.get(row["sku"], "")):
            price, lead, supply = st.columns(3)
            _text(
                "market",
                row,
                "price",
                "price of a node",
                price,
                default_text("market", "price", row, catalogue),
            )
            _text("market", row, "lead_time", "lead time", lead, _default("market", "lead_time", catalogue))
            _text("market", row, "supply_nodes", "most nodes a period", supply, "no limit")
    st.subheader("To rent", anchor=False)
    _adder("rental", "Add nodes that may be rented", [*titles], titles.__getitem__, _add_rental)
    known = {name: said for name, said in places(catalogue).items() if name in catalogue.regions}
    for row in answers.tables.get("rental", ()):
        with _entry("rental", row, titles.get(row["sku"], "")):
            where, price, most = st.columns([2, 1, 1])
            _choice("rental", row, "region", "where", where, {"": "choose a place", **known})
            said = default_text("rental", "price", row, catalogue)
            _text("rental", row, "price", "price of an accelerator an hour", price, said)
            _text("rental", row, "nodes", "most nodes at once", most, "no limit")


_STEPS: Mapping[str, Callable[[Answers, Catalogue], None]] = {
    "Places": _places,
    "Fleet": _fleet,
    "Work": _work,
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
        st.button("Start again", key="begin.anew", icon=":material/restart_alt:", on_click=_begin_anew)
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


def _state(step: str, found: Guided) -> None:
    """What this step lacks, or what is wrong in it."""
    with st.container():  # always there: fields above must not move
        if lines := found.missing[step]:
            st.warning("Missing here: " + "; ".join(map(shared.plain, lines)), icon=":material/edit_note:")
        elif lines := found.wrong.get(step, ()):
            st.error("  \n".join(map(shared.plain, lines)), icon=":material/error:")
        else:
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
                on_click=_go,
                args=(names[at - 1],),
            )
        st.button(
            f"Next: {names[at + 1]}",
            key="begin.next",
            icon=":material/arrow_forward:",
            on_click=_go,
            args=(names[at + 1],),
        )
        if names[at + 1] != names[-1]:
            st.button(
                "To the review: defaults for the rest",
                key="begin.end",
                icon=":material/last_page:",
                on_click=_go,
                args=(names[-1],),
            )


def _defaults(step: str, answers: Answers, catalogue: Catalogue) -> None:
    """What holds where nothing is said, with range and source."""
    if rows := default_rows(step, _said(answers), catalogue):
        st.markdown("**What holds where you state nothing**")
        st.dataframe(rows, hide_index=True, height="content", alt=f"Defaults of the step {step}")


# Fields


def _entry(table: str, row: Mapping[str, str], about: str) -> Any:
    """A card for an entry, with what it is and a way to take it out."""
    card = st.container(border=True, gap="xsmall")
    with card.container(horizontal=True, vertical_alignment="center"):
        said = f"**{shared.plain(_called(table, row))}**"
        st.markdown(f"{said} · {shared.plain(about)}" if about else said, width="stretch")
        st.button(
            "Remove",
            key=f"begin.remove.{table}.{row[_ID]}",
            icon=":material/delete:",
            type="tertiary",
            on_click=_remove,
            args=(table, row[_ID]),
            help=shared.plain(f"Leave {_called(table, row)} out"),
        )
    return card


def _called(table: str, row: Mapping[str, str]) -> str:
    return entry(table, _with_site(row, _named(_answers(), "sites")))


def _adder(
    table: str, label: str, options: Sequence[str], said: Callable[[str], str], add: Callable[[str], None]
) -> None:
    """A list that is searched by typing; what is chosen becomes an entry, and the list is empty again."""
    turn = _turn()
    key = f"begin.add.{table}.{turn}"
    st.selectbox(
        label,
        options,
        None,
        key=key,
        format_func=said,
        placeholder="Type to search",
        on_change=_added,
        args=(key, turn, add),
    )


def _text(table: str, row: Mapping[str, str], key: str, label: str, place: Any, example: str = "") -> None:
    name = f"begin.{table}.{row[_ID]}.{key}"
    place.text_input(
        _label(label),
        row.get(key, ""),
        key=name,
        placeholder=example,
        max_chars=LONGEST,
        on_change=_set,
        args=(table, row[_ID], key, name),
    )


def _choice(
    table: str, row: Mapping[str, str], key: str, label: str, place: Any, said: dict[str, str]
) -> None:
    name = f"begin.{table}.{row[_ID]}.{key}"
    options = [*said]
    held = row.get(key, "")
    place.selectbox(
        _label(label),
        options,
        options.index(held) if held in options else 0,
        key=name,
        format_func=lambda word: said[word],
        on_change=_set,
        args=(table, row[_ID], key, name),
    )


def _label(label: str) -> str:
    return label[:1].upper() + label[1:]


def _setting(
    name: str, label: str, options: Sequence[Any], held: Any, said: dict[str, str] | None = None
) -> None:
    """A choice that is one of the whole scenario."""
    key = f"begin.{name}"
    st.selectbox(
        label,
        options,
        options.index(held),
        key=key,
        format_func=lambda word: said[word] if said else str(word),
        on_change=_take,
        args=(name, key),
    )


def _stated(name: str, label: str, held: Any, example: str, *, disabled: bool = False) -> None:
    """A value of the whole scenario; empty is its default."""
    key = f"begin.{name}"
    st.text_input(
        label,
        held.get(name, ""),
        key=key,
        placeholder=example,
        max_chars=LONGEST,
        disabled=disabled,
        on_change=_take,
        args=(name, key),
    )


def _default(table: str, key: str, catalogue: Catalogue) -> str:
    return default_text(table, key, {}, catalogue)


# What was answered: one value of the session, replaced whole by each answer


def _answers() -> Answers:
    held: Answers = st.session_state.setdefault(_ANSWERS, Answers())
    return held


def _said(answers: Answers) -> Answers:
    """The answers as rows of tables: sites by their names, nothing of the page in them."""
    sites = _named(answers, "sites")
    tables = {
        table: [{key: value for key, value in _with_site(row, sites).items() if key != _ID} for row in rows]
        for table, rows in answers.tables.items()
    }
    return replace(answers, tables=tables)


def _with_site(row: Mapping[str, str], sites: dict[str, str]) -> dict[str, str]:
    return {**row, "site": sites.get(row["site"], "")} if "site" in row else dict(row)


def _named(answers: Answers, table: str) -> dict[str, str]:
    """The names of entries by what tells them apart."""
    return {row[_ID]: row.get("name", "") for row in answers.tables.get(table, ())}


def _stand(table: str, rows: Sequence[dict[str, str]]) -> None:
    answers = _answers()
    st.session_state[_ANSWERS] = replace(answers, tables={**answers.tables, table: tuple(rows)})


def _turn() -> int:
    """How many entries were added so far, for keys and callbacks of the lists that entries are chosen from.

    A run that is cut short has its callbacks called again: what comes from an earlier turn adds nothing.
    """
    return int(st.session_state.get(_COUNT, 0))


def _added(key: str, turn: int, add: Callable[[str], None]) -> None:
    chosen = st.session_state.get(key)
    if turn == _turn() and chosen is not None:
        add(chosen)


def _add(table: str, row: dict[str, str]) -> None:
    st.session_state[_COUNT] = _turn() + 1
    _stand(table, [*_rows(table), {**row, _ID: str(_turn())}])


def _add_place(place: str) -> None:
    _add("sites", place_row(place, session.catalogue(), [*_named(_answers(), "sites").values()]))


def _add_nodes(pair: str) -> None:
    sku, _, site = pair.partition("|")
    _add("fleet", {"sku": sku, "site": site})


def _add_service(model: str) -> None:
    _add("services", {"name": _new_name("services", model), "model": model})


def _add_team(model: str) -> None:
    _add("pools", {"name": _new_name("pools", f"team-{model}"), "model": model})


def _add_run(model: str) -> None:
    by_samples = kind_of_model(session.catalogue(), model) in BY_SAMPLES
    row = {"name": _new_name("training", f"train-{model}"), "model": model}
    _add("training", row | ({"samples": ""} if by_samples else {}))


def _model_said(catalogue: Catalogue, model: str) -> str:
    """A model, and of which kind it is where it is no language model."""
    kind = kind_of_model(catalogue, model)
    return model if kind in ("", LANGUAGE) else f"{model}: {WORDS[kind]}"


def _add_offer(sku: str) -> None:
    _add("market", {"sku": sku})


def _add_rental(sku: str) -> None:
    _add("rental", {"sku": sku})


def _new_name(table: str, wish: str) -> str:
    taken = set(_named(_answers(), table).values())
    return next(name for name in (wish, *(f"{wish}-{i}" for i in range(2, 1000))) if name not in taken)


def _rows(table: str) -> list[dict[str, str]]:
    return [dict(row) for row in _answers().tables.get(table, ())]


def _set(table: str, number: str, key: str, widget: str) -> None:
    value = str(st.session_state[widget] or "").strip()
    _stand(table, [{**row, key: value} if row[_ID] == number else row for row in _rows(table)])


def _remove(table: str, number: str) -> None:
    """Take an entry out, and with a place the nodes that stand there."""
    _stand(table, [row for row in _rows(table) if row[_ID] != number])
    if table == "sites":
        _stand("fleet", [row for row in _rows("fleet") if row["site"] != number])


def _take(name: str, widget: str) -> None:
    """Take a value of the whole scenario."""
    answers, value = _answers(), st.session_state[widget]
    if name in ("currency", "buys", "title"):
        made = replace(answers, **{name: value})
    elif name in ("start", "periods", "period"):
        made = replace(answers, horizon={**answers.horizon, name: value})
    else:
        made = replace(answers, policy={**answers.policy, name: value})
    st.session_state[_ANSWERS] = made


def _go(step: str) -> None:
    st.session_state[_STEP] = step


def _begin_anew() -> None:
    st.session_state.pop(_ANSWERS, None)
    _go(next(iter(STEPS)))


render()
