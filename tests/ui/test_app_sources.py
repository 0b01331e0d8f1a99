"""The catalogue as a page and as a library: found, opened, traced to what rests on it, overruled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import planner.answers.dependents
from planner.answers.dependents import facts_used
from planner.inputs.catalogue import UnknownFact
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.overrides import override_of, overrides_in, with_override, without_override
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario
from planner.inputs.search import Wanted, choices, fact_row, found_rows
from planner.inputs.techniques import techniques
from planner.trace.errors import InputError
from planner.ui import shared
from planner.ui.workers.planning import plan

PAGE = Path(__file__).resolve().parents[2] / "planner" / "ui" / "sources.py"
CATALOGUE = load_catalogue()
TDP = "accelerator.h100-sxm-80gb.tdp"
SCENARIO = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def _fresh() -> Iterator[None]:
    """What other modules kept is no part of what these see."""
    st.cache_data.clear()
    yield
    st.cache_data.clear()


@pytest.fixture
def page() -> AppTest:
    return AppTest.from_file(str(PAGE), default_timeout=120).run()


def shown(page: AppTest) -> str:
    return "\n".join(part.value for part in [*page.markdown, *page.error, *page.success, *page.warning])


# The library


def test_every_fact_is_found_and_each_choice_narrows() -> None:
    """No choice takes all; two choices take the facts that both take."""
    assert len(found_rows(CATALOGUE, Wanted())) == len(CATALOGUE.facts)
    grids = found_rows(CATALOGUE, Wanted(areas=("grid",), kinds=("published",)))
    assert {row["key"].split(".")[0] for row in grids} == {"grid"}
    assert {row["kind"] for row in grids} == {"published"}
    worded = found_rows(CATALOGUE, Wanted("H100 tdp", units=("kW",)))
    assert TDP in [row["key"] for row in worded]
    assert found_rows(CATALOGUE, Wanted("no such words anywhere")) == []


@pytest.mark.nightly
def test_the_page_has_every_technique_with_its_range(page: AppTest) -> None:
    """As `everfleet techniques` lists them."""
    (table,) = [one.value for one in page.dataframe if "technique" in one.value.columns]

    assert list(table["technique"]) == list(techniques())
    assert {"times less", "low", "high", "quality", "source"} <= set(table.columns)


def test_choices_are_those_of_the_facts() -> None:
    offered = choices(CATALOGUE)

    assert {"grid", "accelerator", "pue"} <= set(offered["areas"])
    assert set(offered["kinds"]) == {"measured", "published", "declared", "estimated", "assumed"}
    assert "kgCO2e/kWh" in offered["units"]


def test_a_row_holds_all_that_is_known_of_a_fact() -> None:
    """NVIDIA's data sheet prints 700 W for the SXM board; the address of the sheet stands beside it."""
    row = fact_row(CATALOGUE.fact(TDP), CATALOGUE)

    assert (row["unit"], row["stated"], row["kind"]) == ("kW", "700 W", "declared")
    assert row["value"] == pytest.approx(0.7)
    assert row["source"].startswith("NVIDIA")
    assert row["link"].startswith("https://")
    assert fact_row(CATALOGUE.fact("pue.default"), CATALOGUE)["unit"] == ""


def test_what_a_scenario_rests_on_are_the_facts_that_it_asked_for() -> None:
    """Its node's power is among them, a node that it does not name is not."""
    used = facts_used(parse_scenario(SCENARIO, "one.toml"), CATALOGUE)

    assert TDP in used
    assert "accelerator.v100-sxm2-32gb.tdp" not in used
    assert used <= set(CATALOGUE.facts) | {key for key in used if key.startswith(("scenario.", "series."))}


def test_an_override_goes_in_is_what_the_planner_takes_and_comes_out() -> None:
    """The scenario's own reader takes 650 W as 0.65 kW of kind 'yours'; taken out, nothing of it is left."""
    edited = with_override(SCENARIO, "one.toml", TDP, " 650 W ", CATALOGUE)
    taken = Inputs(parse_scenario(edited.text, "one.toml"), CATALOGUE).fact(TDP)

    assert (taken.value, taken.kind, taken.stated) == (0.65, "yours", "650 W")
    (held,) = overrides_in(edited.text, "one.toml", CATALOGUE)
    assert held.record()["yours"] == "650 W"
    back = without_override(edited.text, "one.toml", TDP)
    assert overrides_in(back.text, "one.toml", CATALOGUE) == []
    assert parse_scenario(back.text, "one.toml") == parse_scenario(SCENARIO, "one.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("650", "has no unit"),
        ("650 kWh", "is an energy"),
        ("", "is not a number"),
        ("nan W", "is not a number"),
        ("1e400 W", "1e400"),
        ("many W", "is not a number"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(text: str, said: str) -> None:
    """The message begins with the fact, as a scenario's would."""
    with pytest.raises(InputError, match=said) as refused:
        override_of(TDP, text, CATALOGUE)
    assert str(refused.value).startswith(TDP)


def test_a_fact_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownFact, match="near"):
        override_of("accelerator.h100-sxm-80gb.tdpp", "1 W", CATALOGUE)


@pytest.mark.parametrize(("text", "within"), [("1.3", True), ("2.9", False)])
def test_a_value_outside_the_range_is_told(text: str, within: bool) -> None:
    """The catalogue's PUE ranges over real buildings; 2.9 is none of them, 1.3 is."""
    assert override_of("pue.default", text, CATALOGUE).within is within
    assert override_of(TDP, "650 W", CATALOGUE).within is None


def test_values_that_do_not_hold_are_left_to_the_scenario_s_check() -> None:
    """The list shows what is taken; what is wrong is named where the scenario is read."""
    text = f'{SCENARIO}\n[facts]\n"{TDP}" = "650 W"\n"no.such" = "1 W"\n'

    assert [one.fact.key for one in overrides_in(text, "one.toml", CATALOGUE)] == [TDP]


# The page


def test_the_catalogue_stands_at_once_with_one_fact_opened(page: AppTest) -> None:
    row = fact_row(CATALOGUE.fact("accelerator.h100-sxm-80gb.embodied"), CATALOGUE)

    assert not page.exception
    assert not page.error
    assert len(page.dataframe[0].value) == len(CATALOGUE.facts)
    assert page.metric[0].label == shared.plain(row["key"])
    assert shared.plain(row["source"]) in shown(page)
    assert row["link"] in [code.value for code in page.code]
    assert "next\\-quarter\\.toml, rests on it" in shown(page)


def test_words_and_choices_narrow_the_table(page: AppTest) -> None:
    page.text_input("sources.words").set_value("h100 tdp")
    page.multiselect("sources.kinds").set_value(["declared"]).run()
    found = found_rows(CATALOGUE, Wanted("h100 tdp", kinds=("declared",)))

    assert page.dataframe[0].value["key"].tolist() == [row["key"] for row in found]
    page.text_input("sources.words").set_value("no such words").run()
    assert not page.exception
    assert page.info[0].value.startswith("No fact holds all of these")


def test_an_address_opens_a_fact() -> None:
    """A key of the catalogue is opened, anything else opens the first."""
    for named, key in ((TDP, TDP), ("../../etc", "accelerator.h100-sxm-80gb.embodied")):
        app = AppTest.from_file(str(PAGE), default_timeout=120)
        app.query_params["fact"] = named
        assert app.run().metric[0].label == shared.plain(key)


def test_shipped_scenarios_are_looked_through_when_asked(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names are those of the library; working them out takes seconds, so the page waits to be asked."""
    monkeypatch.setattr(
        planner.answers.dependents,
        "shipped_dependents",
        lambda: {"accelerator.h100-sxm-80gb.embodied": ("scenario growth", "job train-8b")},
    )
    assert "scenario growth" not in shown(page)
    page.toggle("sources.shipped").set_value(True).run()

    assert not page.exception
    assert "- scenario growth\n- job train\\-8b" in shown(page)


def test_a_value_of_ones_own_is_taken_shown_and_taken_back(page: AppTest) -> None:
    key = page.selectbox("sources.fact").value
    page.text_input(f"sources.own.{key}").set_value("5 kg").run()
    page.button("sources.use").click().run()

    assert page.success[0].value == shared.plain(f"Your scenario now takes 5 kg for {key}.")
    assert page.warning[0].value.startswith("It lies outside the range")
    assert page.dataframe[-1].value["yours"].tolist() == ["5 kg"]
    page.button("sources.reset").click().run()
    assert not page.exception
    assert "takes every fact as it is shipped" in shown(page)


@pytest.mark.parametrize("typed", ["", "5", "5 kWh", "[x](y) kg"])
def test_a_wrong_value_is_refused_and_nothing_changes(page: AppTest, typed: str) -> None:
    key = page.selectbox("sources.fact").value
    page.text_input(f"sources.own.{key}").set_value(typed).run()
    page.button("sources.use").click().run()

    assert not page.exception
    assert page.error[0].value == "This value was not taken."
    assert any(code.value.startswith(key) for code in page.code)
    assert "takes every fact as it is shipped" in shown(page)


def test_a_scenario_that_cannot_be_read_leaves_the_catalogue_standing() -> None:
    """Two messages, each where it belongs: what rests on the fact, and the your own values."""

    def broken() -> None:
        import runpy

        from planner.ui import session

        session.put("title = ", "broken.toml")
        runpy.run_module("planner.ui.sources")

    page = AppTest.from_function(broken, default_timeout=120).run()

    assert not page.exception
    assert [error.value for error in page.error] == [
        "Your scenario cannot be worked out.",
        "Your scenario cannot be read.",
    ]
    assert len(page.dataframe[0].value) == len(CATALOGUE.facts)


# Facts of your own


def test_facts_of_your_own_lie_next_to_your_scenario_alone(page: AppTest) -> None:
    """Rows are checked, shown with their file and line, used by this session's plan, and left out again."""
    page.file_uploader(key="sources.facts").upload(
        "mine.csv", b"key,value\nfinance.maintenance,0.04\n", "text/csv"
    )
    page.run().button(key="sources.facts.use").click().run()
    history = page.session_state["scenario.history"]

    assert not page.exception
    assert "1 fact of your own, 1 replaces ours" in shown(page).replace("\\", "")
    assert 'data = "my-facts"' in history.now.text
    assert dict(history.now.files) == {"my-facts/facts.csv": b"key,value\nfinance.maintenance,0.04\n"}
    other = AppTest.from_file(str(PAGE), default_timeout=120).run()
    assert "brings no facts of its own" in shown(other)
    assert load_catalogue().own is None
    page.button(key="sources.facts.out").click().run()
    assert "data =" not in page.session_state["scenario.history"].now.text


def test_facts_of_your_own_that_are_wrong_are_not_taken(page: AppTest) -> None:
    page.file_uploader(key="sources.facts").upload(
        "mine.csv", b"key,value\nfinance.maintenance,-3\n", "text/csv"
    )
    page.run().button(key="sources.facts.use").click().run()

    assert "These facts were not taken." in shown(page)
    assert "facts.csv:2: finance.maintenance: -3" in "\n".join(one.value for one in page.code)
    assert not page.session_state["scenario.history"].now.files


@pytest.mark.solve
@pytest.mark.nightly
def test_facts_that_a_page_laid_out_are_planned_with_and_explained(tmp_path: Path) -> None:
    """The worker plans with the rows next to the scenario, and the plan names their file and line."""
    rows = b"key,value,unit,note\nfinance.maintenance,0.04,,\ngrid.home.intensity,35,gCO2e/kWh,year 2025\n"
    regions = b'[home]\ngrid = "home"\n'
    text = f'data = "my-facts"\n{SCENARIO}'.replace('grid = "se"', 'region = "home"')
    files = {"my-facts/facts.csv": rows, "my-facts/regions.toml": regions}
    said: list[object] = []
    answer = plan(
        {"text": text, "name": "own.toml", "files": files, "store_address": str(tmp_path / "s.sqlite")},
        lambda *text, **parts: said.append(text),
        lambda: False,
    )
    document = answer["document"]

    assert "2 facts of your own, 1 replaces ours" in " ".join(document["why"])
    assert any("my-facts/facts.csv:3" in step.get("source", "") for step in document["steps"])
    assert answer["saved"]
