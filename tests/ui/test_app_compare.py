"""The page Compare, run without a browser: the shipped quarter, saved plans, what changed, errors."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from test_app_tradeoffs import Bench
from trees import with_trees

from planner.answers.saved import side_by_side
from planner.inputs.loading import data_folder
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.inputs.scenario.bundle import keep
from planner.store import Store, StoreError, open_store
from planner.ui import shared
from planner.ui.workers import Seen, registry

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "planner" / "ui"
SAMPLE = json.loads((ROOT / "tests" / "sample_plan.json").read_text(encoding="utf-8"))
APP = f"""
import streamlit as st
others = [st.Page({str(PAGES)!r} + f"/{{name}}.py") for name in ("scenario", "plan")]
st.navigation([st.Page({str(PAGES / "compare.py")!r}, default=True), *others]).run()
"""

Open = Callable[[], AppTest]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    held = Bench()
    monkeypatch.setattr(registry, "_HERE", held)
    return held


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The user's store, empty."""
    address = str(tmp_path / "plans.sqlite")
    monkeypatch.setenv("EVERFLEET_STORE", address)
    return open_store(address)


@pytest.fixture
def open_page(store: Store, bench: Bench, tmp_path: Path) -> Open:
    st.cache_data.clear()
    st.cache_resource.clear()
    app = tmp_path / "app.py"
    app.write_text(APP, encoding="utf-8")
    return lambda: AppTest.from_file(str(app), default_timeout=60).run()


def scenario(**changes: Any) -> Scenario:
    return with_changes(load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), changes)


def saved(store: Store, title: str, more_usd: float = 0.0, **changes: Any) -> str:
    """A saved plan of the sample whose cost is so much more."""
    document = copy.deepcopy(SAMPLE) | {"title": title}
    next(total for total in document["totals"] if total["name"] == "cost")["value"] += more_usd
    document["tables"]["cost"][0]["usd"] += more_usd
    return store.save_plan(scenario(title=title, **changes), document)


def texts(page: AppTest) -> str:
    return "\n".join(part.value for part in (*page.markdown, *page.caption, *page.subheader))


def with_data(page: AppTest, key: str) -> AppTest:
    """The page with a table opened that stands behind an expander."""
    page.session_state[f"data-{key}"] = True
    return page.run()


def table(page: AppTest, heading: str) -> list[dict[str, Any]]:
    frames = [frame.value.to_dict("records") for frame in page.dataframe]
    return next(rows for rows in frames if rows and heading in rows[0])


@pytest.mark.nightly
def test_an_empty_store_shows_the_quarter_beside_its_baselines(open_page: Open) -> None:
    """Three plans with totals, inputs, terms on one axis, and the steps between the first two."""
    page = open_page()

    assert not page.exception
    assert not page.error
    assert not [group for group in page.button_group if group.key == "compared-plans"]
    assert [row["total"] for row in table(page, "total")][:2] == [
        "Cost in the horizon, fall of value and interest included",
        "Carbon in the horizon",
    ]
    assert {"A", "B", "C", "B − A", "B − A, share"} <= table(page, "total")[0].keys()
    assert any(row["input"].startswith("market.") for row in table(page, "input"))
    assert len(page.get("vega_lite_chart")) == 3
    assert len(page.get("popover")) == 6  # why cost and why carbon of each


def test_the_newest_two_saved_plans_are_compared_at_first(open_page: Open, store: Store) -> None:
    saved(store, "Old")
    older = saved(store, "Before")
    newer = saved(store, "After **bold**", 1e6, **{"sites.stockholm.pue": 1.3})
    page = open_page()

    assert not page.exception
    assert page.button_group(key="compared-plans").value == [older, newer]
    assert shared.plain("After **bold**") in texts(page)
    assert table(page, "total")[0]["B − A"] == "+1 MUSD"
    assert {"input": "sites.stockholm.pue", "A": "1.15", "B": "1.3"} in table(page, "input")
    links = [link.proto.query_string for link in page.get("page_link")]
    assert [f"plan={digest}" for digest in (older, newer)] == [link for link in links if link]


def test_up_to_six_are_compared(open_page: Open, store: Store) -> None:
    digests = [saved(store, f"Plan {number}", 1e5 * number) for number in range(7)]
    page = open_page()
    page.button_group(key="compared-plans").set_value(digests[:6]).run()

    assert not page.exception
    assert {"A", "F", "F − A"} <= table(page, "total")[0].keys()
    assert table(page, "total")[0]["F − A"] == "+500 kUSD"
    page.button_group(key="compared-plans").set_value(digests).run()
    assert [warning.value for warning in page.warning] == ["6 plans are compared at most: the first 6 are."]
    assert "G" not in table(page, "total")[0]


def test_fewer_than_two_show_the_quarter_again(open_page: Open, store: Store) -> None:
    saved(store, "One")
    saved(store, "Two")
    page = open_page()
    page.button_group(key="compared-plans").set_value([]).run()

    assert not page.exception
    assert "Choose two saved plans to compare your own" in texts(page)


def test_terms_tell_what_changed_at_once(open_page: Open, store: Store) -> None:
    """A million more of the first term of the cost is the only step of the waterfall."""
    saved(store, "Before")
    saved(store, "After", 1e6)
    page = with_data(open_page(), "steps-Cost by term, from A to B")

    assert table(page, "step") == [{"step": "Purchases, annualised", "change": "+1 MUSD"}]
    page.selectbox(key="changed-from").set_value("B").run()
    assert "Choose two plans that are not the same" in texts(page)
    page.selectbox(key="changed-to").set_value("A").run()
    with_data(page, "steps-Cost by term, from B to A")
    assert table(page, "step") == [{"step": "Purchases, annualised", "change": "-1 MUSD"}]
    page.button_group(key="changed-of").set_value("carbon").run()
    assert "Nothing: the totals are the same" in texts(page)


def test_a_difference_is_opened_by_both_plans(open_page: Open) -> None:
    """The cost of the second plan less that of the first: both trees stand below it, and the term alike."""
    page = open_page()
    page.session_state["sheet-Totals"] = {"selection": {"cells": [(0, "B − A")]}}
    page = with_trees(page.run())

    assert not page.exception
    tree = next(code.value for code in page.code if code.value.startswith("difference"))
    assert "difference = B - A" in tree
    assert tree.count("= plan_usd = ") == 2


def test_sharing_out_begins_at_a_click_with_both_scenarios(
    open_page: Open, store: Store, bench: Bench
) -> None:
    saved(store, "Before")
    saved(store, "After", 1e6, **{"sites.stockholm.pue": 1.3})
    page = open_page()
    assert not bench.begun
    page.button(key="begin-attribution").click().run()

    ((task, given),) = bench.begun
    assert task == "attribution"
    assert "pue = 1.3" in given["after"]["text"]
    assert given["before"]["text"] == keep(scenario(title="Before")).text


def test_what_changed_is_told_by_input(open_page: Open, bench: Bench) -> None:
    rows = [{"group": "sites and energy", "inputs": "sites", "cost_usd": 2e6, "carbon_kgco2e": -1e5}]
    mixes = [
        {"mix": "all as before", "cost_usd": 1e6, "carbon_kgco2e": 5e5, "gap_fraction": 0, "why_not": ""}
    ]
    result = {"said": ["Sites and energy: more."], "groups": rows, "orders": 1, "mixes": mixes}
    bench.stands = Seen("done", result=result)
    page = with_data(with_data(open_page(), "steps-Cost by input, from A to B"), "mixes")

    assert not page.exception
    assert "Sites and energy: more" in texts(page).replace("\\", "")
    assert any(
        row.get("change") == "+2 MUSD" for frame in page.dataframe for row in frame.value.to_dict("records")
    )
    assert "all as before" in [row["mix"] for row in table(page, "mix")]


def test_plans_that_cannot_be_compared_say_why(
    open_page: Open, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that is gone since it was listed: the message of the store is on the page."""

    def gone(*_: Any) -> Any:
        raise StoreError("no plan begins with 'abc'")

    saved(store, "One")
    saved(store, "Two")
    monkeypatch.setattr(side_by_side, "compare_several", gone)
    page = open_page()

    assert not page.exception
    assert [error.value for error in page.error] == ["These plans cannot be compared."]
    assert page.code[0].value == "no plan begins with 'abc'"


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("plans", "The saved plans cannot be read."),
        ("scenario", "The scenarios of these plans cannot be read."),
    ],
)
def test_a_store_that_fails_says_so_and_the_page_goes_on(
    open_page: Open, store: Store, monkeypatch: pytest.MonkeyPatch, method: str, said: str
) -> None:
    saved(store, "One")
    saved(store, "Two")
    page = open_page()

    def fails(*_: Any, **__: Any) -> Any:
        raise StoreError("the database is locked")

    monkeypatch.setattr(Store, method, fails)
    page.run()

    assert not page.exception
    assert said in [error.value for error in page.error]
    assert "the database is locked" in [code.value for code in page.code]
    assert table(page, "total")


def test_without_a_store_the_quarter_is_shown(
    open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no database", encoding="utf-8")
    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "file"))
    page = open_page()

    assert not page.exception
    assert table(page, "total")[0]["total"].startswith("Cost")
