"""The guided start: entries are added once and kept, and become the scenario of the session."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.ui import session

PAGES = Path(session.__file__).parent
ROUTES = f"""
import streamlit as st
names = ("begin", "scenario", "plan", "sources")
st.navigation([st.Page(f"{PAGES}/{{name}}.py", default=name == "begin") for name in names]).run()
"""
OWN = b"""[facts]
"grid.plant.intensity" = { value = "35 g/kWh", note = "year 2025" }
[regions.plant]
grid = "plant"
title = "Our hydropower plant"
"""


@pytest.fixture
def page(tmp_path: Path) -> AppTest:
    """The page as it opens."""
    script = tmp_path / "app.py"
    script.write_text(ROUTES, encoding="utf-8")
    opened = AppTest.from_file(str(script), default_timeout=60).run()
    assert not opened.exception
    return opened


def add(page: AppTest, label: str, choice: str) -> AppTest:
    """Choose an entry from the list of a label, by its words."""
    found = next(box for box in page.selectbox if box.label.startswith(label))
    return found.set_value(next(option for option in found.options if option.startswith(choice))).run()


def fill(page: AppTest, label: str, text: str) -> AppTest:
    """Type into the last field of a label."""
    return [field for field in page.text_input if field.label == label][-1].set_value(text).run()


def kind(page: AppTest, name: str) -> AppTest:
    """Choose a kind of work."""
    return page.selectbox(key="begin.kind").set_value(name).run()


def go(page: AppTest, key: str) -> AppTest:
    """Press a button."""
    page = page.button(key=f"begin.{key}").click().run()
    assert not page.exception
    return page


def told(page: AppTest) -> str:
    """All that is said."""
    found: list[Any] = [*page.markdown, *page.warning, *page.error, *page.success, *page.info]
    return "\n".join(element.value for element in found).replace("\\", "")


def test_from_nothing_to_a_scenario_that_other_pages_go_on_with(page: AppTest) -> None:
    assert "Missing here: a place where nodes stand" in told(page)
    add(page, "Add a place", "Germany (de)")
    assert "Missing here: de: power cap" in told(page)
    fill(page, "Power cap", "a lot")
    assert "'a lot' is not a number with a unit" in told(page)
    fill(page, "Power cap", "500")
    assert "Nothing is missing in this step" in told(page)
    go(page, "next")
    add(page, "Add nodes", "h100-8 at de")
    fill(page, "Nodes", "20")
    fill(page, "In service since", "2024")
    go(page, "next")
    add(page, "Add a model that is served", "llama-3.1-8b")
    add(page, "Add a model that is served", "llama-3.1-8b")
    assert [field.value for field in page.text_input if field.label == "Name"] == [
        "llama-3.1-8b",
        "llama-3.1-8b-2",
    ]
    remove = next(one for one in page.button if one.label == "Remove")
    remove.click().run()
    fill(page, "Users", "20k")
    go(page, "back")
    assert [field.value for field in page.text_input][:2] == ["20", "2024"]
    go(page, "end")
    assert "Nothing is missing, and every value checks." in told(page)
    assert "each asks 10 times a day" in told(page)
    go(page, "scenario")

    held = page.session_state["scenario.history"].now
    tables = tomllib.loads(held.text)
    assert (held.name, page.title[0].value) == ("my-fleet.toml", "Scenario")
    assert tables["fleet"][0]["nodes"] == 20
    assert [service["name"] for service in tables["services"]] == ["llama-3.1-8b-2"]


def test_a_day_before_a_chip_was_sold_is_told_at_once(page: AppTest) -> None:
    """While other steps lack something still: a problem of an entry without a name has its field."""
    add(page, "Add a place", "Germany (de)")
    fill(page, "Power cap", "500")
    go(page, "next")
    add(page, "Add nodes", "h100-8 at de")
    fill(page, "Nodes", "20")
    fill(page, "In service since", "2021")
    assert "2021-01-01 is before h100-8 was sold, 2022" in told(page)
    fill(page, "In service since", "2023")
    assert "Nothing is missing in this step" in told(page)


def test_a_choice_that_is_told_twice_adds_one_entry(page: AppTest) -> None:
    """A run that is cut short has its callbacks called again: by then the list is another one."""
    first = next(box for box in page.selectbox if box.label.startswith("Add a place"))
    add(page, "Add a place", "Germany (de)")
    again = next(box for box in page.selectbox if box.label.startswith("Add a place"))

    assert first.key != again.key
    assert again.value is None


def test_each_kind_of_model_is_asked_what_its_requests_are(page: AppTest) -> None:
    """A recommender by its candidates, also trained by samples; what writes no tokens by a response time."""
    go(page, "next")
    go(page, "next")
    add(page, "Add a model that is served", "dlrm-dcnv2: a recommendation model")
    assert {"Candidates", "Answer within"} <= {field.label for field in page.text_input}
    kind(page, "training run")
    add(page, "Add a model that is trained", "dlrm-dcnv2")
    assert "Samples" in {field.label for field in page.text_input}
    assert "Tokens in" not in {field.label for field in page.text_input}
    kind(page, "service")
    add(page, "Add a model that is served", "llama-3.1-8b")
    assert [field.label for field in page.text_input].count("Answer within") == 1
    fill(page, "Tokens out", "0")
    assert [field.label for field in page.text_input].count("Answer within") == 2


def choose(page: AppTest, label: str, words: str | list[str]) -> AppTest:
    """Choose in the last list of a label."""
    lists = page.multiselect if isinstance(words, list) else page.selectbox
    return [one for one in lists if one.label == label][-1].set_value(words).run()


def state(page: AppTest, *details: str) -> AppTest:
    """Open these details of the last entry, and no others."""
    return [one for one in page.pills if one.label == "Also state"][-1].set_value([*details]).run()


def labels(page: AppTest) -> set[str]:
    """The labels of what is typed or chosen."""
    return {one.label for kind in (page.text_input, page.selectbox, page.multiselect) for one in kind}


def with_places(page: AppTest) -> AppTest:
    """Two places, and nodes to rent; then at Work."""
    for place, power in (("Germany (de)", "500"), ("France (fr)", "400")):
        add(page, "Add a place", place)
        fill(page, "Power cap", power)
    page.segmented_control(key="begin.step").set_value("Market").run()
    add(page, "Add nodes that may be bought", "h100-8")
    return page.segmented_control(key="begin.step").set_value("Work").run()


def scenario_of(page: AppTest) -> dict[str, Any]:
    """The file that Scenario is given at the end."""
    go(page, "end")
    assert "Nothing is missing, and every value checks." in told(page)
    go(page, "scenario")
    return tomllib.loads(page.session_state["scenario.history"].now.text)


def test_agents_are_asked_for_by_campaigns_and_a_wrong_value_is_told_at_its_field(page: AppTest) -> None:
    with_places(page)
    kind(page, "agents")
    add(page, "Add a model that they train", "llama-3.1-8b")
    assert {"Campaigns a month", "Agents at once", "Hours of a campaign", "Share that succeeds"} <= labels(
        page
    )
    assert not {"Users", "Tokens", "Tokens in", "People"} & labels(page)
    assert "Missing here: agents-llama-3.1-8b: campaigns a month, agents, campaign time" in told(page)
    fill(page, "Campaigns a month", "20")
    fill(page, "Agents at once", "none")
    fill(page, "Hours of a campaign", "24")
    assert [error.value.replace("\\", "") for error in page.error] == [
        "'none' is no number: write for example 11",
        "One value is wrong: see the message below the field.",
    ]
    fill(page, "Agents at once", "11")
    assert "Nothing is missing in this step." in told(page)
    state(page, "growth", "adapters")
    fill(page, "Growth in a year", "30 %")
    (held,) = scenario_of(page)["pools"]

    assert (held["campaigns"], held["agents"], held["campaign_time"]) == ("20 /month", 11, "24 h")
    assert (held["growth"], held["method"]) == ("30 %/year", "lora")


def test_regions_follow_their_service_and_their_sites(page: AppTest) -> None:
    """Names may change after they were chosen; what is closed, or taken out, leaves nothing."""
    with_places(page)
    add(page, "Add a model that is served", "llama-3.1-8b")
    fill(page, "Users", "200k")
    state(page, "where users are", "prefill and decode apart")
    choose(page, "Where they are", "de")
    (germany, _) = next(one for one in page.multiselect if one.label == "Answered at").options
    choose(page, "Answered at", [germany])
    fill(page, "Share of requests", "70 %")
    next(one for one in page.button if one.label == "Add a region").click().run()
    choose(page, "Where they are", "fr")
    fill(page, "Name", "chat")
    choose(page, "Apart", "apart")
    page.segmented_control(key="begin.step").set_value("Places").run()
    next(field for field in page.text_input if field.label == "Name").set_value("munich").run()
    page.segmented_control(key="begin.step").set_value("Work").run()
    assert len([one for one in page.multiselect if one.label == "Answered at"]) == 2
    (held,) = scenario_of(page)["services"]

    assert (held["name"], held["phases"]) == ("chat", "apart")
    assert held["regions"] == [
        {"users": "de", "share": 0.7, "sites": ["munich"]},
        {"users": "fr", "share": 0.3},
    ]
    page.switch_page(f"{PAGES}/begin.py").run()
    page.segmented_control(key="begin.step").set_value("Work").run()
    state(page)
    assert "Where they are" not in labels(page)
    (held,) = scenario_of(page)["services"]
    assert not {"regions", "phases"} & held.keys()


@pytest.mark.parametrize(
    ("name", "adds", "model", "answers", "table", "wanted"),
    [
        (
            "recordings",
            "Add a model that hears",
            "whisper-large-v3",
            {"Hours of sound a day": "150k", "Length of a recording": "20 min"},
            "pools",
            {"audio_rate": "150000 h/d", "audio": "20 min"},
        ),
        (
            "reinforcement learning",
            "Add a model that learns",
            "llama-3.1-8b",
            {"Prompts a day": "150k", "Share not trained on": "20 %"},
            "pools",
            {"prompts": "150000 /d", "wasted": 0.2, "samples": 16},
        ),
        (
            "evaluations",
            "Add a model that is evaluated",
            "llama-3.1-8b",
            {"Items a day": "43090", "Passes over each": "24"},
            "pools",
            {"items": "43090 /d", "passes": 24},
        ),
        (
            "service",
            "Add a model that is served",
            "whisper-large-v3",
            {"Or hours of sound a day": "5000"},
            "services",
            {"audio_rate": "5000 h/d", "audio": "15 s"},
        ),
    ],
)
def test_each_kind_is_asked_for_in_its_own_words(
    page: AppTest,
    name: str,
    adds: str,
    model: str,
    answers: dict[str, str],
    table: str,
    wanted: dict[str, Any],
) -> None:
    with_places(page)
    kind(page, name)
    add(page, adds, model)
    for label, text in answers.items():
        fill(page, label, text)
    (held,) = scenario_of(page)[table]

    assert held.items() >= wanted.items()


def test_a_run_has_workers_and_a_model_that_writes_its_data(page: AppTest) -> None:
    """The run that a model writes for is named by its entry; to take it out leaves the question open."""
    with_places(page)
    kind(page, "training run")
    add(page, "Add a model that is trained", "llama-3.1-8b")
    fill(page, "Tokens", "40B")
    fill(page, "First day", "2027-07")
    fill(page, "Deadline", "2027-12-30")
    state(page, "workers that feed it", "where its data come from")
    fill(page, "Share that a model writes", "10 %")
    assert "Needs a pool that writes it" in told(page)
    kind(page, "data for a run")
    add(page, "Add a model that writes it", "qwen3-14b")
    choose(page, "Run that it feeds", "train-llama-3.1-8b")
    held = scenario_of(page)

    (run,), (writer,) = held["training"], held["pools"]
    assert (run["generated"], run["ingestion"]) == (0.1, {})
    assert writer["feeds"] == run["name"] == "train-llama-3.1-8b"
    page.switch_page(f"{PAGES}/begin.py").run()
    page.segmented_control(key="begin.step").set_value("Work").run()
    page.button(key="begin.remove.training.4").click().run()
    assert "write-qwen3-14b: the run that it writes for" in told(page)


@pytest.mark.nightly
def test_facts_of_ones_own_can_be_chosen_at_once(page: AppTest) -> None:
    """A region that Sources has just taken is a place here, and in the form of Scenario."""
    page.switch_page(f"{PAGES}/sources.py").run()
    page.file_uploader(key="sources.facts").upload("mine.toml", OWN).run()
    page.button(key="sources.facts.use").click().run()
    page.switch_page(f"{PAGES}/begin.py").run()
    add(page, "Add a place", "Our hydropower plant (plant), yours")
    fill(page, "Power cap", "1 MW")
    go(page, "next")
    go(page, "next")
    add(page, "Add a model that is served", "llama-3.1-8b")
    fill(page, "Or requests a day", "2M")
    go(page, "next")
    go(page, "next")
    add(page, "Add nodes that may be bought", "h200-8")
    go(page, "next")
    go(page, "scenario")

    held = page.session_state["scenario.history"].now
    assert tomllib.loads(held.text)["sites"][0]["region"] == "plant"
    assert dict(held.files) == {"my-facts.toml": OWN}
    page.switch_page(f"{PAGES}/scenario.py").run()
    page.segmented_control("view").set_value("All inputs").run()
    page.selectbox(key="section").set_value("sites").run()
    region = next(box for box in page.selectbox if box.label.endswith("Region"))
    assert {"plant", "aws/eu-central-1"} <= set(region.options)
