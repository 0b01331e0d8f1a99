"""The app's pages, run without a browser: they show the document, and nothing but the document."""

from __future__ import annotations

import ast
import copy
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from explained import explained
from streamlit.testing.v1 import AppTest
from trees import with_trees

from planner.inputs.scenario import load_scenario, parse_scenario
from planner.report.charts import PLAN_PICTURES
from planner.report.charts.risk import RISK_PICTURES
from planner.report.table_columns import TITLES
from planner.report.why import why_said
from planner.store import open_store
from planner.trace.currency import Currency, showing
from planner.trace.errors import InputError
from planner.trace.numbers import SPOKEN, quantity_text
from planner.ui import plan_files, plan_parts, plan_source, progress, shared
from planner.ui.workers import Seen, Step
from planner.ui.workers.messages import work_key

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "planner" / "ui"
SAMPLE = json.loads((ROOT / "tests" / "sample_plan.json").read_text(encoding="utf-8"))
SHORT = ("str", "int", "float", "bool", "tuple[str, ...]")  # what a cache may be keyed by
HOSTILE = "**a** :red[b] $x$ `c` [d](https://example.org) <b>e</b> ![f](g)"
ENERGY = [
    {"site": "oregon", "use": use, "it_kwh": 1e6, "overhead_kwh": 1e5, "explain": "energy"}
    for use in ("serving", "training: useful work", "training: lost to failures")
]
WAY = {
    "limit": "power",
    "where": "oregon",
    "period": "2027 Q2",
    "by": 412.0,
    "unit": "kW",
    "share_fraction": 0.41,
}

Open = Callable[..., AppTest]
Record = dict[str, Any]


class Works:
    """Workers that do what the test says, and note what they are asked."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}
        self.started: list[tuple[str, Record]] = []
        self.stopped: list[str] = []
        self.next = Seen("working")

    def start(self, task: str, **arguments: Any) -> str:
        key = work_key(task, arguments)
        if key not in self.seen:
            self.started.append((task, arguments))
            self.seen[key] = self.next
        return key

    def forget(self, key: str) -> None:
        self.seen.pop(key, None)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Works:
    """No scenario is shipped solved, and workers answer what the test puts there."""
    made = Works()
    monkeypatch.setattr(shared, "load_plan", lambda text, name: None)
    for module, name, does in (
        (plan_source, "start", made.start),
        (plan_parts, "start", made.start),
        (plan_files, "start", made.start),
        (plan_source, "look_at", made.seen.get),
        (progress, "look_at", made.seen.get),
        (progress, "stop", made.stopped.append),
        (progress, "forget", made.forget),
    ):
        monkeypatch.setattr(module, name, does)
    return made


def done(document: Record, saved: str | None = "5a" * 32, unsaved: str = "") -> Seen:
    """Work that came to a plan."""
    scenario = {"name": "next-quarter.toml", "text": shared.scenario_text("next-quarter")}
    return Seen(
        "done", result={"document": document, "saved": saved, "unsaved": unsaved, "scenario": scenario}
    )


def checkpoint_sample(nodes: int = 64, asynchronous: bool = False, **inputs: Any) -> dict[str, Any]:
    """A document of intervals: 1 min to write, 10 min to restart, a node that fails every 50,000 h."""
    write_h, restart_h, mttf_h = (0.2 if asynchronous else 1.0) / 60, 10 / 60, 50_000 / nodes

    def row(interval_min: float) -> dict[str, float]:
        interval_h = interval_min / 60
        writing, restarting, lost = write_h / interval_h, restart_h / mttf_h, interval_h / 2 / mttf_h
        ettr = 1 / (1 + writing + restarting + lost)
        return {
            "interval_min": interval_min,
            "ettr_fraction": ettr,
            "lost_fraction": lost * ettr,
            "checkpoint_fraction": writing * ettr,
            "restart_fraction": restarting * ettr,
            "usd_per_useful_h": 1900.0 / ettr,
            "kgco2e_per_useful_h": 260.0 / ettr,
        }

    young = 60 * math.sqrt(2 * write_h * mttf_h)
    names = {"time-optimal": 1.0, "money-optimal": 1.02, "carbon-optimal": 1.1, "Young": 1.0, "Daly": 0.98}
    kept = ("interval_min", "ettr_fraction", "usd_per_useful_h", "kgco2e_per_useful_h")
    step = {"number": 0, "unit": "1", "kind": "derived"}
    return {
        "inputs": {
            "failures": "meta-llama-3-405b",
            "sku": "h100-8",
            "nodes": nodes,
            "grid": "us",
            "storage": "nas",
            "restart_min": 10.0,
            "asynchronous": asynchronous,
            "model": "llama-3.1-70b",
            **inputs,
        },
        "rows": [row(2.0 * 1.12**step) for step in range(60)],
        "marks": [{"name": name} | {key: row(young * by)[key] for key in kept} for name, by in names.items()],
        "worth": {
            "usd_a_point_and_month": 6700.0,
            "kgco2e_a_point_and_month": 1800.0,
            "retried_ettr_fraction": row(young)["ettr_fraction"],
        },
        "flat": {"low_min": young / 1.5, "high_min": young * 1.5, "loss_fraction": 0.001},
        "explanations": {
            "ettr": [
                step
                | {
                    "name": "ettr",
                    "value": row(young)["ettr_fraction"],
                    "equation": "ETTR = 1 / (1 + w / t + (r + t / 2) / M)",
                }
            ],
            "interval.time-optimal": [
                step | {"name": "interval", "value": young, "equation": "t = (2 w M)^(1/2)"}
            ],
        },
        "choices": {
            "failures": ["google-tpu", "meta-llama-3-405b"],
            "skus": ["b200-8", "h100-8"],
            "storages": ["nas", "parallel-fs"],
            "models": ["llama-3-8b", "llama-3.1-70b"],
            "grids": ["fi", "us"],
        },
    }


@pytest.fixture
def document() -> dict[str, Any]:
    found: Record = copy.deepcopy(SAMPLE)
    found["tables"]["energy"] = ENERGY
    return found


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test has a store of its own; the address of it is part of what work and plans are known by."""
    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "plans.sqlite"))


@pytest.fixture
def open_page(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a page of the app on the sample documents."""
    monkeypatch.setattr(shared, "load_plan", lambda text, name: document)
    monkeypatch.setattr(shared, "load_checkpoints", checkpoint_sample)
    st.cache_data.clear()  # of what pages keep of documents that are not the samples

    def opened(name: str, **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.query_params.update(query)
        return app.run() if name == "start" else app.switch_page(str(PAGES / f"{name}.py")).run()

    yield opened
    st.cache_data.clear()  # and of the samples


def texts(page: AppTest) -> str:
    """Everything that Markdown was asked to show."""
    parts = [*page.markdown, *page.caption, *page.subheader, *page.error, *page.success, *page.warning]
    return "\n".join(part.value for part in parts)


TABS = (
    "In short",
    "Why this plan",
    "Jobs and arrivals",
    "Cost",
    "Carbon",
    "Energy",
    "Risk",
    "Limits",
    "Details",
)


def tab(page: AppTest, name: str) -> AppTest:
    """The page with another tab of the plan looked at: what is in the others is not drawn."""
    page.session_state["plan-tabs"] = name
    return page.run()


def opened_table(page: AppTest, key: str) -> list[dict[str, Any]]:
    """The rows of a table that is behind an expander, once it is opened."""
    before = len(page.dataframe)
    page.session_state[f"data-{key}"] = True
    page.run()
    assert len(page.dataframe) == before + 1
    return page.dataframe[-1].value.to_dict("records")


def frames(page: AppTest) -> list[list[dict[str, Any]]]:
    return [frame.value.to_dict("records") for frame in page.dataframe]


@pytest.mark.parametrize("name", ["start", "plan", "checkpoints"])
def test_each_page_runs(open_page: Open, name: str) -> None:
    page = open_page(name)

    assert not page.exception
    assert not page.error
    assert len(page.title) == 1


def test_start_shows_the_solved_example_at_once(open_page: Open, document: dict[str, Any]) -> None:
    page = open_page("start")

    assert [metric.value for metric in page.metric] == ["6.35 MUSD", "5,474 tCO2e", "12.8 GWh"]
    assert all(shared.plain(line) in texts(page) for line in document["headline"])
    assert len(page.main.get("page_link")) == 5
    assert len(page.get("vega_lite_chart")) == 1


def test_plan_shows_every_total_with_its_range_and_why(open_page: Open, document: dict[str, Any]) -> None:
    page = with_trees(open_page("plan"))
    codes = [code.value for code in page.code]
    first = ["6.35 MUSD", "5,474 tCO2e", "12.8 GWh"]

    assert [metric.value for metric in page.metric] == first
    details = tab(open_page("plan"), "Details")
    assert [metric.value for metric in details.metric] == [*first, "7.17 MUSD", "20.3 MUSD"]
    assert shared.plain("p5 4,379 to p95 6,897 tCO2e") in texts(page)
    assert sum("sites.oregon.pue" in code for code in codes) >= 2, "carbon and energy open down to the PUE"
    assert any("die" in code and "Gupta" in code for code in codes), "and to the paper"
    reasons = texts(tab(page, "Why this plan"))
    assert all(shared.plain(line) in reasons for line in document["why"])


def test_a_tree_is_sent_when_it_is_requested(open_page: Open) -> None:
    """Explanations of a real plan are 1.5 MB of text; what nobody opens is not sent."""
    page = tab(open_page("plan"), "Details")
    assert not any(toggle.key == "tree-details-capex" for toggle in page.toggle), "not even its sentences"
    page.session_state["why-details-capex"] = True
    page.run()
    assert not any("K = sum of nodes * price" in code.value for code in page.code)

    page.toggle(key="tree-details-capex").set_value(True).run()
    assert any("K = sum of nodes * price" in code.value for code in page.code)


def test_plan_draws_every_chart_with_words(open_page: Open) -> None:
    """The charts of the plan and of its risks, and the flow of energy, each with words beside its marks."""
    page = open_page("plan")
    mix = page.get("vega_lite_chart")[:1]  # stands above the tabs
    drawn, flow = list(mix), []
    for name in TABS:
        tab(page, name)
        drawn += page.get("vega_lite_chart")[1:]
        flow += page.get("echarts_chart")

    by_the_hour = {"hours"}  # drawn where a plan has levers
    assert len(drawn) == len(PLAN_PICTURES.keys() - by_the_hour) + len(RISK_PICTURES)
    assert len(flow) == 1
    assert all(chart.proto.alt for chart in (*drawn, *flow))


def test_plan_opens_each_term_of_cost_and_carbon(open_page: Open, document: dict[str, Any]) -> None:
    """Each term is an expander with its amount; opened, it says why; the tree is there on demand."""
    page = open_page("plan")
    labels = [expander.label for name in ("Cost", "Carbon") for expander in tab(page, name).expander]
    term = document["tables"]["carbon"][0]
    page.session_state[f"term-{term['explain']}"] = True
    page.run()
    found = explained(document, term["explain"])
    opened = next(one for one in page.expander if shared.plain(term["label"]) in one.label)
    assert shared.plain(why_said(found)[0]) in opened.markdown[0].value
    assert not opened.code
    opened.toggle[0].set_value(True).run()

    for each in document["tables"]["cost"] + document["tables"]["carbon"]:
        assert any(shared.plain(each["label"]) in label for label in labels)
    assert any(shared.plain("742.1 kUSD") in label for label in labels)
    opened = next(one for one in page.expander if shared.plain(term["label"]) in one.label)
    assert opened.code[0].value.startswith(found.steps[0].name)


def test_plan_tables_hold_the_numbers_of_the_document(open_page: Open, document: dict[str, Any]) -> None:
    page = open_page("plan")
    summary = opened_table(tab(page, "Why this plan"), "summary-Show data")
    job = frames(tab(page, "Jobs and arrivals"))[0][0]
    energy = opened_table(tab(page, "Energy"), "energy-Show data")
    facts = opened_table(tab(page, "Details"), f"facts-{TITLES['facts']}")

    assert job["ETTR (%)"] == pytest.approx(96.21)
    assert job["energy (GWh)"] == pytest.approx(1.71344)
    assert [row["no purchases"] for row in summary][:2] == pytest.approx([7.4201, 8113.02])
    assert energy[0] == {
        "site": "oregon",
        "use": "serving",
        "computers (GWh)": 1.0,
        "cooling and power supply (MWh)": 100.0,
    }
    assert len(facts) == len(document["tables"]["facts"])


def test_the_address_names_a_shipped_scenario_and_nothing_else(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    """A name in the address is one of the list; anything else, a path for example, opens the first."""
    opened: list[str] = []
    monkeypatch.setattr(shared, "load_plan", lambda text, name: opened.append(name) or document)
    for name in ("one-training-job", "../../pyproject"):
        opened.clear()
        assert not open_page("plan", scenario=name).exception
        assert opened[-1] == ("one-training-job.toml" if name == "one-training-job" else "next-quarter.toml")

    with pytest.raises(ValueError, match="no shipped scenario"):
        shared.scenario_text("../../pyproject")


def test_another_shipped_scenario_is_one_choice_away(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    page = open_page("plan")
    opened: list[str] = []
    monkeypatch.setattr(shared, "load_plan", lambda text, name: opened.append(name) or document)
    page.selectbox("scenario").select("tight-power").run()

    assert opened[-1] == "tight-power.toml"
    assert page.selectbox("scenario").value == "tight-power"


def test_a_scenario_of_ones_own_is_planned(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    page = open_page("plan")
    seen: list[tuple[str, str]] = []
    monkeypatch.setattr(shared, "load_plan", lambda text, name: seen.append((text, name)) or document)
    page.file_uploader("own").set_value(("mine.toml", b'title = "mine"', "text/plain")).run()

    assert seen[-1] == ('title = "mine"', "mine.toml")
    assert page.selectbox("scenario").value == "mine (yours)"
    assert not page.exception


def test_a_wrong_scenario_is_answered_with_every_problem(open_page: Open, works: Works) -> None:
    """What the reader wrote wrong stands there as the check tells it; mended or not, it can begin anew."""
    message = "mine.toml: sites.x.power_cap: '2000' has no unit\nmine.toml: horizon: missing"
    works.next = Seen("failed", error=message)
    start = open_page("start")
    for page in (start, start.switch_page(str(PAGES / "plan.py")).run()):
        assert not page.exception
        assert len(page.error) == 1
        assert "horizon: missing" in page.code[0].value


def test_a_search_is_watched_and_cancelled(open_page: Open, works: Works) -> None:
    """Incumbent, bound and gap as the worker tells them, the way there drawn; cancel asks it to stop."""
    trail = (Step(0.5, None, 2e6, None), Step(1.0, 2.5e6, 2e6, 0.2))
    works.next = Seen("working", "looking", trail, ({"unit": "USD"},), elapsed_s=3.0)
    page = open_page("plan")
    (task, arguments) = works.started[0]

    assert (task, arguments["name"]) == ("plan", "next-quarter.toml")
    assert [metric.value for metric in page.metric] == ["2.5 MUSD", "2 MUSD", "20.00 %"]
    assert page.status[0].label == "Working: 3 s"
    assert len(page.get("vega_lite_chart")) == 1
    key = work_key(task, arguments)
    assert page.query_params["plan"] == key, "who comes back by this address finds the work"
    page.button(f"cancel-{key}").click().run()
    assert works.stopped == [key]


def test_the_place_of_an_answer_is_held_until_there_is_a_search_to_see(open_page: Open, works: Works) -> None:
    """Grey shapes that nobody is read out to; the search takes their place."""
    works.next = Seen("working", "reading the scenario", elapsed_s=1.0)
    bodies = [one.proto.body for one in open_page("plan").get("html")]
    assert any('<div class="everfleet-coming" aria-hidden="true">' in body for body in bodies)

    works.seen.clear()
    works.next = Seen("working", "looking", (Step(0.5, None, 2e6, None),), ({"unit": "USD"},), elapsed_s=3.0)
    bodies = [one.proto.body for one in open_page("plan").get("html")]
    assert not any('<div class="everfleet-coming"' in body for body in bodies)


def test_nobody_waits_without_a_word(open_page: Open, works: Works) -> None:
    """How long, and how many come before, as far as that is known."""
    for place, said in ((0, ""), (1, "; yours is next"), (4, "; 3 before")):
        works.next = Seen("waiting", elapsed_s=2.0, place=place)
        works.seen.clear()
        assert open_page("plan").status[0].label == f"Waiting for other work to end: 2 s{said}"


def test_a_plan_that_is_done_is_shown_and_named_by_its_address(
    open_page: Open, works: Works, document: dict[str, Any]
) -> None:
    works.next = done(document)
    page = open_page("plan")

    assert page.query_params["plan"] == "5a" * 32
    assert f"?plan={'5a' * 5}" in texts(page)
    assert page.metric[0].value == "6.35 MUSD"
    assert len(works.started) == 1
    page.run()
    assert len(works.started) == 1, "a re-run finds the work"


def test_what_a_search_kept_when_it_was_stopped_is_a_plan(
    open_page: Open, works: Works, document: dict[str, Any]
) -> None:
    """The incumbent of a cancelled search is shown, and the page says that it is no more than that."""
    document["status"] |= {"name": "interrupted", "text": "Stopped early; at most 0.9 % above the best."}
    works.next = done(document)
    page = open_page("plan")

    assert "interrupted" in page.warning[0].value
    assert page.metric[0].value == "6.35 MUSD"


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (Seen("died", error="The solver ended unexpectedly (signal 9)."), "signal 9"),
        (Seen("stopped"), "before there was anything to keep"),
        (Seen("failed", error="This is a fault of the program: KeyError: 'x'"), "fault of the program"),
    ],
)
def test_work_that_came_to_nothing_says_why_and_can_begin_anew(
    open_page: Open, works: Works, document: dict[str, Any], seen: Seen, said: str
) -> None:
    works.next = seen
    page = open_page("plan")
    key = work_key(*works.started[0])

    assert said in texts(page) + "".join(code.value for code in page.code)
    works.next = done(document)
    page.button(f"anew-{key}").click().run()
    assert page.metric[0].value == "6.35 MUSD"


def test_a_plan_that_is_not_saved_stays_and_is_saved_on_asking(
    open_page: Open, works: Works, document: dict[str, Any]
) -> None:
    full = "plans.sqlite: the disk is full. Nothing was saved."
    key = plan_source.work_key(
        "plan", plan_source._arguments(shared.scenario_text("next-quarter"), "next-quarter.toml", ())
    )
    works.seen[key] = done(document, saved=None, unsaved=full)
    works.next = Seen("done", result={"saved": None, "unsaved": full})
    page = open_page("plan")

    assert "it is not saved" in page.warning[0].value
    assert "the disk is full" in page.code[0].value
    assert page.metric[0].value == "6.35 MUSD"
    works.next = Seen("done", result={"saved": "6b" * 32, "unsaved": ""})
    next(button for button in page.button if button.label == "Save it now").click().run()
    assert [task for task, _ in works.started] == ["save", "save"], "once when it was opened, once when asked"
    assert f"?plan={'6b' * 5}" in texts(page)


def test_a_plan_that_is_not_saved_is_saved_when_its_page_is_opened_again(
    open_page: Open, works: Works, document: dict[str, Any]
) -> None:
    """The store was down and is back: what failed at another visit, or in another session, is no answer."""
    works.next = done(document, saved=None, unsaved="no server answers there")
    key = plan_source.work_key(
        "plan", plan_source._arguments(shared.scenario_text("next-quarter"), "next-quarter.toml", ())
    )
    works.seen[key] = works.next
    works.next = Seen("done", result={"saved": None, "unsaved": "no server answers there"})
    assert "it is not saved" in open_page("plan").warning[0].value
    works.next = Seen("done", result={"saved": "6b" * 32, "unsaved": ""})
    page = open_page("plan")

    assert not page.warning
    assert f"?plan={'6b' * 5}" in texts(page)


def test_a_saved_plan_is_not_missed_where_the_store_cannot_be_reached(
    open_page: Open, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened before and down now, or down from the start: which store, and what would do, is said."""
    scenario = load_scenario(ROOT / "data" / "scenarios" / "tight-power.toml")
    held = open_store()
    digest = held.save_plan(scenario, document)
    assert open_page("plan", plan=digest).metric
    Path(held.address).write_bytes(b"no database at all, " * 1000)
    st.cache_data.clear()
    opened_before = open_page("plan", plan=digest)
    monkeypatch.setenv("EVERFLEET_STORE", "postgresql://me:secret@127.0.0.1:1/x")
    down = open_page("plan", plan=digest)

    for page, said in (
        (opened_before, held.address),
        (down, "me:***@127.0.0.1:1/x: no server answers there"),
    ):
        assert "The store of saved plans cannot be used." in [error.value for error in page.error]
        assert any(said in code.value for code in page.code)
        assert not any("not on this machine" in warning.value for warning in page.warning)
        assert not any("secret" in code.value for code in page.code)


def test_read_only_plans_and_keeps_nothing(
    open_page: Open, works: Works, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No button to save, no labels, no store that is begun; the plan is there all the same."""
    monkeypatch.setenv("EVERFLEET_READ_ONLY", "1")
    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "none.sqlite"))
    monkeypatch.setattr(shared, "load_plan", lambda text, name: None)
    works.next = done(document)
    page = open_page("plan")

    assert not page.exception
    assert page.metric[0].value == "6.35 MUSD"
    assert any("Read-only" in caption.value for caption in page.caption)
    assert not any("Save" in button.label for button in page.button)
    assert [arguments["store_address"] for task, arguments in works.started if task == "plan"] == [""]
    assert "save" not in [task for task, _ in works.started]
    assert not (tmp_path / "none.sqlite").exists()


def test_read_only_opens_what_is_saved_and_changes_no_label(
    open_page: Open, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = load_scenario(ROOT / "data" / "scenarios" / "tight-power.toml")
    digest = open_store().save_plan(scenario, document | {"title": "Kept"})
    writable = open_page("plan", plan=digest[:12])
    monkeypatch.setenv("EVERFLEET_READ_ONLY", "1")
    page = open_page("plan", plan=digest[:12])

    assert [title.value for title in page.title] == ["Kept"]
    assert {"Keep"} & {button.label for button in writable.button}
    assert not {"Keep", "Save this plan", "Save it now"} & {button.label for button in page.button}


def test_a_saved_plan_opens_by_its_address(
    open_page: Open, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the first letters of its digest, and listed; by a click one takes its scenario up or is back."""
    scenario = load_scenario(ROOT / "data" / "scenarios" / "tight-power.toml")
    digest = open_store().save_plan(scenario, document | {"title": "Kept"})
    page = open_page("plan", plan=digest[:12])

    assert not page.exception
    assert [title.value for title in page.title] == ["Kept"]
    assert any("Kept" in link.proto.label for link in page.get("page_link"))
    planned_next: list[str] = []
    monkeypatch.setattr(shared, "load_plan", lambda text, name: planned_next.append(name) or document)
    page.button("adopt").click().run()
    assert planned_next == ["tight-power.toml"]
    assert "plan" not in page.query_params

    back = open_page("plan", plan=digest).button("back").click().run()
    assert [title.value for title in back.title] == [shared.plain(document["title"])]
    assert "plan" not in back.query_params


def test_an_address_that_names_no_plan_says_so(open_page: Open) -> None:
    """One of another machine, and three that are none at all."""
    page = open_page("plan", plan="abcdef123456")
    assert "not on this machine" in page.warning[0].value

    for junk in ("x" * 10_000, "f" * 10_000, "../../etc/passwd"):
        page.query_params["plan"] = junk
        page.run()
        assert not page.exception
        assert "names no plan" in page.warning[0].value
        assert page.metric[0].value == "6.35 MUSD", "the scenario at hand is shown meanwhile"


def test_a_store_that_cannot_be_used_leaves_the_plan_on_screen(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file that is no database, and one that is taken away while the app runs."""
    broken = tmp_path / "broken.sqlite"
    broken.write_text("no database, but long enough to be looked at as one" * 20, encoding="utf-8")
    monkeypatch.setenv("EVERFLEET_STORE", str(broken))
    page = open_page("plan")
    assert "cannot be used" in page.error[0].value
    assert any("is not a SQLite database" in code.value for code in page.code)
    assert page.metric[0].value == "6.35 MUSD"

    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "there.sqlite"))
    assert not page.run().error
    (tmp_path / "there.sqlite").unlink()
    page.run()
    assert "cannot be used" in page.error[0].value
    assert any("it is gone" in code.value for code in page.code)


def test_what_a_limit_is_worth_is_looked_for_on_asking(
    open_page: Open, works: Works, document: dict[str, Any]
) -> None:
    """In words first: those that the plan did not have before."""
    works.next = done(document)
    page = tab(open_page("plan"), "Limits")
    row = {"limit": "power", "where": "oregon", "period": "2027 Q2", "relaxed_saving_per_unit": 12.0}
    priced = document | {"why": [*document["why"], "The power of oregon: one more MW saves 1.2 kUSD."]}
    priced["tables"] = document["tables"] | {"prices": [row]}
    works.next = done(priced)
    next(button for button in page.button if button.label == "What is each limit worth?").click().run()

    assert works.started[-1][1]["prices"] is True
    assert shared.plain("one more MW saves 1.2 kUSD") in texts(page)
    assert opened_table(page, "prices-Show data")[0]["where"] == "oregon"


def test_services_are_played_on_asking(open_page: Open, works: Works, document: dict[str, Any]) -> None:
    """What was found in words, then line by line."""
    works.next = done(document)
    page = tab(open_page("plan"), "Details")
    row = {"service": "chat", "period": "2027 Q1", "measure": "first token", "simulated_p99_s": 0.5}
    said = "chat in 2027 Q1: P99 of the first token is 500 ms when played."
    played = document | {"verification": {"findings": [said], "about": "Drawn from the trace."}}
    played["tables"] = document["tables"] | {"verification": [row]}
    works.next = done(played)
    label = "Play the services request by request"
    next(button for button in page.button if button.label == label).click().run()

    assert works.started[-1][1]["verify"] is True
    assert shared.plain(said) in texts(page)
    assert not page.exception


def test_a_number_of_a_table_is_opened(open_page: Open, document: dict[str, Any]) -> None:
    """The second row of the fleet: what its spare nodes are for."""
    page = open_page("plan")
    opened_table(page, "story")
    page.session_state["sheet-story"] = {"selection": {"cells": [(1, "spare nodes")]}}
    page = with_trees(page.run())
    row = document["tables"]["fleet"][1]

    assert not page.exception
    tree = next(code.value for code in page.code if code.value.startswith("spare_nodes"))
    assert f"({row['period']}, {row['site']}, {row['sku']})" in tree
    assert "the fewest that cover the nodes under repair" in tree


def infeasible(document: dict[str, Any]) -> None:
    """Turn a document into one of a scenario without a plan."""
    document["status"] |= {"name": "infeasible", "text": "No plan exists.", "verified": False}
    document |= {"totals": [], "headline": [], "why": [], "tornado": [], "explanations": {}}
    document["tables"] = {name: [] for name in document["tables"]}
    document["clash"] = {
        "text": "chat needs more power.",
        "families": [{"family": "power", "alone_enough": True, "rows": [WAY], "cost_usd": 1_250_000.0}],
    }


def test_infeasible_plan_shows_what_to_move(open_page: Open, document: dict[str, Any]) -> None:
    infeasible(document)
    for name in ("start", "plan"):
        page = open_page(name)
        assert not page.exception
        assert "infeasible" in page.error[0].value
        assert shared.plain("chat needs more power.") in texts(page)
        assert shared.plain("power (enough alone, costs 1.25 MUSD)") in texts(page)
        assert frames(page)[0][0]["by"] == 412.0
        assert not page.metric


def test_a_value_that_is_enough_is_named_and_set(
    open_page: Open, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows the same key and value as the report; one click writes it into a copy."""
    infeasible(document)
    way = {
        "gives_way": "first token",
        "key": "services.chat.first_token",
        "stated": "10 ms",
        "needed": "600 ms",
        "changes": {"services.chat.first_token": "600 ms"},
    }
    document["clash"]["ways"] = [way]
    page = open_page("plan")
    seen: list[tuple[str, str]] = []
    monkeypatch.setattr(shared, "load_plan", lambda text, name: seen.append((text, name)) or document)

    assert not page.exception
    assert frames(page)[0][0]["key"] == "services.chat.first_token"
    assert shared.plain("Set services.chat.first_token to 600 ms") == page.button("repair-0").label
    page.button("repair-0").click().run()
    repaired = parse_scenario(seen[-1][0])
    assert {one.name: one.first_token_s for one in repaired.services}["chat"] == 0.6


def test_a_plan_is_shown_in_its_currency(open_page: Open, document: dict[str, Any]) -> None:
    """Cards, tables and reasons; the rate and its day stand at the end."""
    document["currency"] = {"code": "EUR", "usd": 1.25, "date": "2026-11-20", "source": "stated"}
    page = open_page("plan")
    cost = next(total for total in document["totals"] if total["name"] == "cost")

    assert not page.exception
    with showing(Currency("EUR", 1.25)):
        wanted = quantity_text(cost["value"], "USD", SPOKEN)
    assert wanted.endswith("EUR")
    assert wanted in [metric.value for metric in page.metric]
    assert not [metric.value for metric in page.metric if "USD" in metric.value]
    assert shared.plain("Money is shown in EUR: 1 EUR = 1.25 USD (2026-11-20, stated)") in texts(page)


def test_a_repair_is_planned_on_a_copy(
    open_page: Open, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One click: the power of one site in one quarter is 412 kW more, to the next whole kW, and named so."""
    infeasible(document)
    page = open_page("plan")
    seen: list[tuple[str, str]] = []
    monkeypatch.setattr(shared, "load_plan", lambda text, name: seen.append((text, name)) or document)
    page.button("repair-0").click().run()
    text, name = seen[-1]
    repaired = parse_scenario(text)

    assert not page.exception
    assert name == "next-quarter-repaired.toml"
    assert repaired.title.endswith(" (repaired)")
    assert repaired.sites[1].power_cap_kw == (330.0, 743.0, 330.0, 330.0)
    assert page.selectbox("scenario").value == "next-quarter-repaired (yours)"


def test_names_are_shown_as_text(open_page: Open, document: dict[str, Any]) -> None:
    """Markdown, colours, formulas, links, images and tags in a name all stay the letters that they are."""
    document["title"] = document["headline"][0] = document["tables"]["cost"][0]["label"] = HOSTILE
    document["totals"][0]["label"] = document["status"]["text"] = HOSTILE
    document["tables"]["jobs"][0]["job"] = HOSTILE
    page = open_page("plan")
    shown = ""
    for name in ("Jobs and arrivals", "Cost"):
        tab(page, name)
        assert not page.exception
        shown += texts(page) + "\n".join(expander.label for expander in page.expander)

    assert shown.count(shared.plain(HOSTILE)) >= 6
    assert HOSTILE not in shown
    assert "](" not in shared.plain(HOSTILE)


@pytest.mark.parametrize(
    "text", ["see HTTP://e.example/x", "https://e.example", "www.e.example", "a@e.example"]
)
def test_an_address_in_a_text_is_no_link(text: str) -> None:
    """Markdown of the page makes links of these forms, escaped or not; what is read stays the same."""
    link = re.compile(r"https?://|www(?=\.)|@[-\w]", re.IGNORECASE)
    shown = shared.plain(text).replace("\\", "")

    assert link.search(text)
    assert not link.search(shown)
    assert shown.replace("\N{WORD JOINER}", "") == text


def test_downloads_are_the_report(open_page: Open, document: dict[str, Any]) -> None:
    """The same bytes as the command writes."""
    from planner.report.data import to_csv_files

    packed = shared.zipped(to_csv_files(document))
    with zipfile.ZipFile(BytesIO(packed)) as archive:
        read = {name: archive.read(name).decode() for name in archive.namelist()}

    assert read == to_csv_files(document)
    assert shared.zipped(to_csv_files(document)) == packed
    assert [button.label for button in open_page("plan").get("download_button")] == [
        "Scenario (TOML)",
        "Report (HTML)",
        "Report (Markdown)",
        "Data (JSON)",
        "Workbook (XLSX)",
        "Tables (CSV)",
    ]


def test_the_program_is_written_on_asking(open_page: Open, works: Works, document: dict[str, Any]) -> None:
    works.next = done(document)
    page = open_page("plan")
    works.next = Seen("done", result={"lp": "Minimize"})
    next(button for button in page.button if button.label == "Write the program (LP)").click().run()

    assert works.started[-1][0] == "program"
    assert page.get("download_button")[-1].label == "Program (LP)"


def test_no_session_holds_what_another_one_may_change(document: dict[str, Any], works: Works) -> None:
    """What a worker gave is one for all: each page gets a copy, so that a slip of one stays its own."""
    works.seen["key"] = done(document)
    first, second = (plan_source.plan_at_work("key") for _ in range(2))

    assert first is not None
    assert second is not None
    first.document["totals"].clear()
    assert second.document == document
    assert second.document is not document


def test_checkpoints_follow_the_inputs(open_page: Open) -> None:
    """1,024 nodes fail 16 times as often as 64: the best interval is 4 times shorter (Young, t ~ sqrt(M))."""
    page = open_page("checkpoints")
    few = frames(page)[0][0]["interval (min)"]
    page.number_input("nodes").set_value(1024).run()
    many = frames(page)[0][0]["interval (min)"]

    assert not page.exception
    assert few / many == pytest.approx(4, rel=1e-4)


def test_checkpoints_show_marks_flat_region_and_why(open_page: Open) -> None:
    page = with_trees(open_page("checkpoints"))
    marks = [row["mark"] for row in frames(page)[0]]
    sample = checkpoint_sample()

    assert marks == ["time-optimal", "money-optimal", "carbon-optimal", "Young", "Daly"]
    assert shared.plain(f"{sample['flat']['low_min']:.3g} to {sample['flat']['high_min']:.3g} min") in texts(
        page
    )
    assert any("ETTR = 1 / (1 + w / t + (r + t / 2) / M)" in code.value for code in page.code)
    assert len(page.get("vega_lite_chart")) == 1


def test_checkpoint_inputs_that_have_no_answer_say_so(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page("checkpoints")

    def refuse(**inputs: Any) -> dict[str, Any]:
        if inputs:
            raise InputError("restart_min is longer than the job's MTTF")
        return checkpoint_sample()

    monkeypatch.setattr(shared, "load_checkpoints", refuse)
    st.cache_data.clear()  # the page keeps what it has shown
    page.run()

    assert not page.exception
    assert "longer than the job's MTTF" in page.code[0].value


def test_only_short_strings_are_cache_keys() -> None:
    """Frames can collide as keys: what is no short string has a name that leaves it out of the key."""
    kept = 0
    for file in PAGES.glob("*.py"):
        for found in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(found, ast.FunctionDef) or "cache_" not in _decorated(found):
                continue
            kept += 1
            for argument in found.args.args:
                kind = ast.unparse(argument.annotation) if argument.annotation else ""
                assert argument.arg.startswith("_") or kind in SHORT, file

    assert kept >= 5


def _decorated(found: ast.FunctionDef) -> str:
    return "".join(map(ast.unparse, found.decorator_list))
