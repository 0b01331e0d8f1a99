"""The page Trade-offs, run without a browser: points that open their plans, work that goes on, errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from trees import with_trees

from planner.inputs.scenario import parse_scenario
from planner.ui import session, shared
from planner.ui.workers import Seen, registry, shipped
from planner.ui.workers.tradeoffs import POINTS

PAGES = Path(session.__file__).parent
APP = f"""
import streamlit as st
others = [st.Page({str(PAGES)!r} + f"/{{name}}.py") for name in ("scenario", "plan", "compare")]
st.navigation([st.Page({str(PAGES / "tradeoffs.py")!r}, default=True), *others]).run()
"""
HOSTILE = "**a** [d](https://example.org) <b>e</b>"

Open = Callable[..., AppTest]


def plan(number: int, cost_usd: float, carbon_kgco2e: float, changes: dict[str, Any]) -> dict[str, Any]:
    def total(name: str, value: float, unit: str) -> dict[str, Any]:
        return {"name": name, "label": f"Total {name}", "value": value, "unit": unit, "explain": name}

    def steps(name: str, value: float, unit: str) -> list[dict[str, Any]]:
        return [{"number": 0, "name": name, "value": value, "unit": unit, "kind": "derived", "equation": "Z"}]

    return {
        "point": number,
        "totals": [total("cost", cost_usd, "USD"), total("carbon", carbon_kgco2e, "kgCO2e")],
        "headline": [f"Order {number} nodes at {HOSTILE}."],
        "differs": f"order {number} nodes",
        "tables": {
            "fleet": [{"period": "2027 Q1", "site": "s", "sku": "k", "in_service_nodes": number}],
            "cost": [],
            "carbon": [],
        },
        "explanations": {
            "cost": steps("plan_usd", cost_usd, "USD"),
            "carbon": steps("plan_kgco2e", carbon_kgco2e, "kgCO2e"),
        },
        "changes": changes,
    }


def front(**more: Any) -> dict[str, Any]:
    """Three plans: the cleanest, the knee, and one that is beaten."""
    values = [(3e6, 1e5, "cleanest"), (2e6, 2e5, "knee"), (2.5e6, 3e5, "beaten")]
    rows = [
        {"point": n + 1, "cost_usd": usd, "carbon_kgco2e": kg, "mark": mark}
        for n, (usd, kg, mark) in enumerate(values)
    ]
    capped = {"policy.objective": "money", "policy.carbon_price": None, "policy.carbon_cap": "200000 kgCO2e"}
    steps = [
        {"number": n, "name": "plan_usd", "value": usd, "unit": "USD", "kind": "derived", "equation": "Z"}
        for n, (usd, _, _) in enumerate(values)
    ]
    return {
        "sections": {"front": {"title": "", "said": ["From here to there."], "tables": {"points": rows}}},
        "cells": {"points": [{"cost_usd": n} for n in range(len(rows))]},
        "steps": steps,
        "beside": [{"name": "as today", "cost_usd": 4e6, "carbon_kgco2e": 4e5}],
        "plans": [
            plan(n + 1, usd, kg, {"policy.nothing": 1} if mark == "beaten" else capped)
            for n, (usd, kg, mark) in enumerate(values)
        ],
        "objective": {"value": 2e6, "unit": "USD"},
        "tornado": [
            {
                "fact": "grid.x",
                "low": 0.1,
                "high": 0.2,
                "at_low": 1.9e6,
                "at_high": 2.2e6,
                "at_unit": "USD",
                "unit": "kgCO2e/kWh",
            }
        ],
    } | more


def times() -> dict[str, Any]:
    rows = [
        {
            "point": 1,
            "deadline": "2027-05-01",
            "moved_d": -60,
            "cost_usd": 1e6,
            "carbon_kgco2e": 2e5,
            "mark": "earliest",
        },
        {
            "point": 2,
            "deadline": "2027-06-30",
            "moved_d": 0,
            "cost_usd": 1e6,
            "carbon_kgco2e": 1e5,
            "mark": "cleanest",
        },
    ]
    moved = {"training[0].deadline": "2027-05-01"}
    return {
        "sections": {"times": {"title": "", "said": ["Done by then."], "tables": {"times": rows}}},
        "plans": [plan(row["point"], 1e6, row["carbon_kgco2e"], moved) for row in rows],
    }


class Bench:
    """In place of the registry of workers: what was begun, and how all of it stands."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, dict[str, Any]]] = []
        self.stands: Seen | None = None

    def start(self, task: str, given: dict[str, Any]) -> str:
        self.begun.append((task, given))
        return "key"

    def seen(self, key: str) -> Seen | None:
        return self.stands


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    held = Bench()
    monkeypatch.setattr(registry, "_HERE", held)
    return held


@pytest.fixture
def open_page(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens the page on shipped documents, or on none of them."""
    app = tmp_path / "app.py"
    app.write_text(APP, encoding="utf-8")

    def opened(known: bool = True, **more: Any) -> AppTest:
        documents = {"front": front(**more), "front_of_time": times()} if known else {}
        st.cache_data.clear()
        monkeypatch.setattr(shipped, "shipped", lambda name, text: documents.get(name))
        return AppTest.from_file(str(app), default_timeout=60).run()

    return opened


def texts(page: AppTest) -> str:
    parts = [*page.markdown, *page.caption, *page.subheader, *page.error, *page.warning, *page.button]
    return "\n".join(part.label if part.type == "button" else part.value for part in parts)


def view(page: AppTest, name: str) -> AppTest:
    page.button_group(key="tradeoffs-view").set_value(name).run()
    return page


def test_the_knee_is_open_at_first(open_page: Open) -> None:
    """The knee of the document is point 2: its totals, its fleet and both of its whys are on the page."""
    page = with_trees(open_page())

    assert not page.exception
    assert page.selectbox(key="opened-front").value == 2
    assert shared.plain("2 MUSD") in texts(page)
    assert "Total cost" in texts(page)
    assert [code.value.split(" = ")[0] for code in page.code] == ["plan_usd", "plan_kgco2e"]
    assert len(page.get("vega_lite_chart")) == 1
    assert shared.plain(HOSTILE) in texts(page)
    page.session_state["data-front-2-fleet"] = True
    assert page.run().dataframe[0].value.to_dict("records")[0]["in service nodes"] == 2


def test_a_point_of_the_front_is_opened_by_its_plan(open_page: Open) -> None:
    """The cost of the second point opens next to the same cost among the totals of its plan."""
    page = open_page()
    page.session_state["data-points"] = True
    page.session_state["sheet-points"] = {"selection": {"cells": [(1, "cost (MUSD)")]}}
    page = with_trees(page.run())

    assert not page.exception
    assert [code.value.split(" = ")[0] for code in page.code].count("plan_usd") == 2


def test_another_point_opens_its_own_plan(open_page: Open) -> None:
    page = open_page()
    page.selectbox(key="opened-front").set_value(1).run()

    assert shared.plain("3 MUSD") in texts(page)
    assert "order 1 nodes" in texts(page)


def test_a_point_becomes_the_scenario_and_can_be_undone(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft makes money least under the cap, its comments stay; what was before can come back."""
    went: list[Any] = []
    monkeypatch.setattr(st, "switch_page", went.append)
    page = open_page()
    page.button(key="take-front").click().run()
    history = page.session_state["scenario.history"]
    policy = parse_scenario(history.now.text).policy

    assert not page.exception
    assert (policy.objective, policy.carbon_cap_kgco2e) == ("money", 200_000.0)
    assert "# A real quarter" in history.now.text
    assert history.past[0].draft.text == history.now.origin
    assert [path.name for path in went] == ["plan.py"]


def test_a_day_of_another_deadline_is_written_as_a_day(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "switch_page", lambda path: None)
    page = view(open_page(), "time")
    page.button(key="take-times").click().run()
    text = page.session_state["scenario.history"].now.text

    assert not page.exception
    assert parse_scenario(text).training[0].deadline.isoformat() == "2027-05-01"


def test_a_plan_that_cannot_be_written_says_why_and_changes_nothing(open_page: Open) -> None:
    page = open_page()
    page.selectbox(key="opened-front").set_value(3).run()
    page.button(key="take-front").click().run()

    assert [error.value for error in page.error] == ["The scenario of this plan cannot be written."]
    assert any("policy.nothing" in code.value for code in page.code)
    assert not page.session_state["scenario.history"].past


def test_time_is_a_front_of_its_own(open_page: Open) -> None:
    page = view(open_page(), "time")

    assert not page.exception
    assert page.selectbox(key="opened-times").options == [
        "Point 1 (earliest): by 2027-05-01, 200 tCO2e",
        "Point 2 (cleanest): by 2027-06-30, 100 tCO2e",
    ]


def test_a_front_without_points_says_what_the_document_says(open_page: Open) -> None:
    section = {"title": "", "said": ["No plan exists that keeps every limit."], "tables": {}}
    page = open_page(sections={"front": section})

    assert not page.exception
    assert "No plan exists that keeps every limit" in texts(page)
    assert not page.selectbox


@pytest.mark.parametrize(
    ("name", "task", "given"),
    [
        ("money", "front", {"points": POINTS}),
        ("time", "front_of_time", {"points": POINTS}),
        ("alternatives", "alternatives", {"plans": 3, "within_fraction": 0.02}),
        ("sensitivity", "sensitivity", {}),
    ],
)
def test_work_begins_at_a_click(
    open_page: Open, bench: Bench, name: str, task: str, given: dict[str, Any]
) -> None:
    """Nothing is begun by looking at a page; a click asks for the session's scenario with what was chosen."""
    page = view(open_page(known=False), name)
    assert not bench.begun
    page.button(key=f"begin-{task}").click().run()

    ((question, arguments),) = bench.begun
    assert (question, arguments["name"]) == (task, "next-quarter.toml")
    assert arguments.keys() - {"name", "text", "files"} == given.keys()
    assert {key: arguments[key] for key in given} == given


def test_points_are_drawn_while_the_search_goes_on(open_page: Open, bench: Bench) -> None:
    row = {"point": 1, "cost_usd": 1e6, "carbon_kgco2e": 1e5, "mark": ""}
    seen = Seen("working", text="point 1", parts=({"beside": []}, {"row": row}), elapsed_s=3.0)
    bench.stands = seen
    page = open_page(known=False)

    assert not page.exception
    assert len(page.get("vega_lite_chart")) == 1
    assert not page.selectbox


def test_work_that_failed_says_why(open_page: Open, bench: Bench) -> None:
    seen = Seen("failed", error="next-quarter.toml: sites: say at least one")
    bench.stands = seen
    page = open_page(known=False)

    assert not page.exception
    assert len(page.error) == 1
    assert page.code[0].value == "next-quarter.toml: sites: say at least one"


def test_a_front_that_was_stopped_is_shown(open_page: Open, bench: Bench) -> None:
    bench.stands = Seen("stopped", result=front())
    page = open_page(known=False)

    assert page.selectbox(key="opened-front").value == 2


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {
                "has_plan": True,
                "rows": [{"alternative": 1, "excess_fraction": 0.01}],
                "said": ["Costs more."],
            },
            "Costs more",
        ),
        ({"has_plan": True, "rows": [], "said": []}, "No other plan was found within that share"),
        ({"has_plan": False, "rows": [], "said": []}, "No plan exists to hold others against"),
    ],
)
def test_other_plans_are_told_or_that_there_are_none(
    open_page: Open, bench: Bench, found: dict[str, Any], said: str
) -> None:
    bench.stands = Seen("done", result=found)
    page = view(open_page(), "alternatives")

    assert not page.exception
    assert said in texts(page)
    assert len(page.dataframe) == len(found["rows"])


def test_what_it_hangs_on_is_a_tornado_and_flips(open_page: Open, bench: Bench) -> None:
    """The tornado comes with the front, flips with work of their own."""
    flips = {
        "title": "",
        "said": ["The fleet stays."],
        "tables": {"flips": [{"what": "price", "today": 1.0}]},
    }
    bench.stands = Seen("done", result={"sections": {"flips": flips}})
    page = view(open_page(), "sensitivity")

    assert not page.exception
    assert len(page.get("vega_lite_chart")) == 1
    assert "The fleet stays" in texts(page)
    assert "none of its facts has a range" in texts(view(open_page(tornado=[]), "sensitivity"))
