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
    add(page, "Add a model that is trained", "dlrm-dcnv2")
    assert "Samples" in {field.label for field in page.text_input}
    assert "Tokens in" not in {field.label for field in page.text_input}
    add(page, "Add a model that is served", "llama-3.1-8b")
    assert [field.label for field in page.text_input].count("Answer within") == 1
    fill(page, "Tokens out", "0")
    assert [field.label for field in page.text_input].count("Answer within") == 2


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
