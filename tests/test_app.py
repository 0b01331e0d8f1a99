"""The app's pages, run without a browser: they show the document, and nothing but the document."""

from __future__ import annotations

import copy
import json
import math
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner import charts
from planner.errors import InputError
from planner.ui import shared

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "planner" / "ui"
SAMPLE = json.loads((ROOT / "tests" / "sample_plan.json").read_text(encoding="utf-8"))
HOSTILE = "**a** :red[b] $x$ `c` [d](https://example.org) <b>e</b> ![f](g)"

Open = Callable[..., AppTest]


def checkpoint_sample(nodes: int = 64, asynchronous: bool = False, **inputs: Any) -> dict[str, Any]:
    """A document of intervals: 1 min to write, 10 min to restart, a node that fails every 50,000 h."""
    write_h, restart_h, mttf_h = (0.2 if asynchronous else 1.0) / 60, 10 / 60, 50_000 / nodes

    def row(interval_min: float) -> dict[str, float]:
        interval_h = interval_min / 60
        writing, restarting, lost = write_h / interval_h, restart_h / mttf_h, interval_h / 2 / mttf_h
        ettr = 1 / (1 + writing + restarting + lost)
        return {
            "interval_min": interval_min, "ettr_fraction": ettr, "lost_fraction": lost * ettr,
            "checkpoint_fraction": writing * ettr, "restart_fraction": restarting * ettr,
            "usd_per_useful_h": 1900.0 / ettr, "kgco2e_per_useful_h": 260.0 / ettr,
        }  # fmt: skip

    young = 60 * math.sqrt(2 * write_h * mttf_h)
    names = {"time-optimal": 1.0, "money-optimal": 1.02, "carbon-optimal": 1.1, "Young": 1.0, "Daly": 0.98}
    kept = ("interval_min", "ettr_fraction", "usd_per_useful_h", "kgco2e_per_useful_h")
    return {
        "inputs": {
            "failures": "meta-llama-3-405b", "sku": "h100-8", "nodes": nodes, "grid": "us", "storage": "nas",
            "restart_min": 10.0, "asynchronous": asynchronous, "model": "llama-3.1-70b", **inputs,
        },
        "rows": [row(2.0 * 1.12**step) for step in range(60)],
        "marks": [{"name": name} | {key: row(young * by)[key] for key in kept} for name, by in names.items()],
        "flat": {"low_min": young / 1.5, "high_min": young * 1.5, "loss_fraction": 0.001},
        "explanations": {
            "ettr": [{"number": 0, "name": "ettr", "value": row(young)["ettr_fraction"], "unit": "1",
                      "kind": "derived", "equation": "ETTR = 1 / (1 + w / t + (r + t / 2) / M)"}],
        },
        "choices": {
            "failures": ["google-tpu", "meta-llama-3-405b"], "skus": ["b200-8", "h100-8"],
            "storages": ["nas", "parallel-fs"], "models": ["llama-3-8b", "llama-3.1-70b"],
            "grids": ["fi", "us"],
        },
    }  # fmt: skip


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(SAMPLE)


@pytest.fixture
def open_page(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens a page of the app on the sample documents."""
    monkeypatch.setattr(shared, "load_plan", lambda text, name: document)
    monkeypatch.setattr(shared, "load_checkpoints", checkpoint_sample)

    def opened(name: str, **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.query_params.update(query)
        return app.run() if name == "start" else app.run().switch_page(str(PAGES / f"{name}.py")).run()

    return opened


def texts(page: AppTest) -> str:
    """Everything that Markdown was asked to show."""
    parts = [*page.markdown, *page.caption, *page.subheader, *page.error, *page.success, *page.warning]
    return "\n".join(part.value for part in parts)


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

    assert [metric.value for metric in page.metric] == ["6.352 MUSD", "5,474 t CO2e", "12.79 GWh"]
    assert all(shared.plain(line) in texts(page) for line in document["headline"])
    assert len(page.get("page_link")) == 3
    assert len(page.get("vega_lite_chart")) == 1


def test_plan_shows_every_total_with_its_range_and_why(open_page: Open, document: dict[str, Any]) -> None:
    page = open_page("plan")
    codes = [code.value for code in page.code]

    assert [metric.value for metric in page.metric] == [
        "6.352 MUSD", "5,474 t CO2e", "12.79 GWh", "7.173 MUSD", "20.34 MUSD"
    ]  # fmt: skip
    assert shared.plain("p5 4,379 to p95 6,897 t CO2e") in texts(page)
    assert sum("sites.oregon.pue" in code for code in codes) >= 2, "carbon and energy open down to the PUE"
    assert any("die" in code and "Gupta" in code for code in codes), "and to the paper"
    assert all(shared.plain(line) in texts(page) for line in document["why"])


def test_plan_draws_every_chart_with_words(open_page: Open) -> None:
    drawn = open_page("plan").get("vega_lite_chart")

    assert len(drawn) == len(charts.PLAN_PICTURES)


def test_plan_opens_each_term_of_cost_and_carbon(open_page: Open, document: dict[str, Any]) -> None:
    labels = [expander.label for expander in open_page("plan").expander]

    for term in document["tables"]["cost"] + document["tables"]["carbon"]:
        assert any(shared.plain(term["label"]) in label for label in labels)
    assert any(shared.plain("742.1 kUSD") in label for label in labels)


def test_plan_tables_hold_the_numbers_of_the_document(open_page: Open, document: dict[str, Any]) -> None:
    held = frames(open_page("plan"))
    job = next(rows for rows in held if "job" in rows[0])[0]
    summary = next(rows for rows in held if "measure" in rows[0])

    assert job["ETTR (%)"] == pytest.approx(96.21)
    assert job["energy (GWh)"] == pytest.approx(1.71344)
    assert [row["as today"] for row in summary][:2] == pytest.approx([7.4201, 8113.02])
    assert len(next(rows for rows in held if "locator" in rows[0])) == len(document["tables"]["facts"])


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


def test_a_scenario_of_ones_own_is_planned(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    page = open_page("plan")
    seen: list[tuple[str, str]] = []
    monkeypatch.setattr(shared, "load_plan", lambda text, name: seen.append((text, name)) or document)
    page.file_uploader("own").set_value(("mine.toml", b'title = "mine"', "text/plain")).run()

    assert seen == [('title = "mine"', "mine.toml")]
    assert not page.exception


def test_a_wrong_scenario_is_answered_with_every_problem(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(text: str, name: str) -> dict[str, Any]:
        raise InputError("mine.toml: sites.x.power_cap: '2000' has no unit\nmine.toml: horizon: missing")

    monkeypatch.setattr(shared, "load_plan", refuse)
    for name in ("start", "plan"):
        page = open_page(name)
        assert not page.exception
        assert len(page.error) == 1
        assert "horizon: missing" in page.code[0].value


def test_infeasible_plan_shows_what_to_move(open_page: Open, document: dict[str, Any]) -> None:
    give = {
        "limit": "power",
        "where": "oregon",
        "period": "2027 Q2",
        "by": 412.0,
        "unit": "kW",
        "share_fraction": 0.41,
    }
    document["status"] |= {"name": "infeasible", "text": "No plan exists.", "verified": False}
    document |= {"totals": [], "headline": [], "why": [], "tornado": [], "explanations": {}}
    document["tables"] = {name: [] for name in document["tables"]}
    document["clash"] = {
        "text": "chat needs more power.",
        "families": [{"family": "power", "alone_enough": True, "rows": [give], "cost_usd": 1_250_000.0}],
    }
    for name in ("start", "plan"):
        page = open_page(name)
        assert not page.exception
        assert "infeasible" in page.error[0].value
        assert shared.plain("chat needs more power.") in texts(page)
        assert shared.plain("power (enough alone, costs 1.25 MUSD)") in texts(page)
        assert frames(page)[0][0]["by"] == 412.0
        assert not page.metric


def test_names_are_shown_as_text(open_page: Open, document: dict[str, Any]) -> None:
    """Markdown, colours, formulas, links, images and tags in a name all stay the letters that they are."""
    document["title"] = document["headline"][0] = document["tables"]["cost"][0]["label"] = HOSTILE
    document["totals"][0]["label"] = document["status"]["text"] = HOSTILE
    page = open_page("plan")
    shown = texts(page) + "\n".join(expander.label for expander in page.expander)

    assert not page.exception
    assert shown.count(shared.plain(HOSTILE)) >= 5
    assert HOSTILE not in shown
    assert "](" not in shared.plain(HOSTILE)


def test_downloads_are_the_report(open_page: Open, document: dict[str, Any]) -> None:
    """The same bytes as the command writes."""
    from planner.report import to_csv_files

    packed = shared.zipped(to_csv_files(document))
    with zipfile.ZipFile(BytesIO(packed)) as archive:
        read = {name: archive.read(name).decode() for name in archive.namelist()}

    assert read == to_csv_files(document)
    assert shared.zipped(to_csv_files(document)) == packed
    assert [button.label for button in open_page("plan").get("download_button")] == [
        "Report (HTML)", "Data (JSON)", "Tables (CSV)"
    ]  # fmt: skip


def test_checkpoints_follow_the_inputs(open_page: Open) -> None:
    """1,024 nodes fail 16 times as often as 64: the best interval is 4 times shorter (Young, t ~ sqrt(M))."""
    page = open_page("checkpoints")
    few = frames(page)[0][0]["interval (min)"]
    page.number_input("nodes").set_value(1024).run()
    many = frames(page)[0][0]["interval (min)"]

    assert not page.exception
    assert few / many == pytest.approx(4, rel=1e-4)


def test_checkpoints_show_marks_flat_region_and_why(open_page: Open) -> None:
    page = open_page("checkpoints")
    marks = [row["mark"] for row in frames(page)[0]]
    sample = checkpoint_sample()

    assert marks == ["time-optimal", "money-optimal", "carbon-optimal", "Young", "Daly"]
    assert shared.plain(f"{sample['flat']['low_min']:.3g} to {sample['flat']['high_min']:.3g} min") in texts(
        page
    )
    assert "ETTR = 1 / (1 + w / t + (r + t / 2) / M)" in page.code[0].value
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
    page.run()

    assert not page.exception
    assert "longer than the job's MTTF" in page.code[0].value


def test_only_short_strings_are_cache_keys() -> None:
    """Frames can collide as keys; a plan is kept under the digest of its text, whatever the text is."""
    kept = Path(shared.__file__).read_text(encoding="utf-8")

    assert kept.count("@st.cache_data") == 2
    assert "def _solved(digest: str, _text: str, _name: str)" in kept
    assert "def _checkpoints(inputs: str)" in kept
