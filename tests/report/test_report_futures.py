"""The report of a plan for several futures: its page, tables and chart say what its document says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from planner.answers.futures.page import futures_text, save_futures
from planner.report.charts import FUTURES_PICTURES, to_svg
from planner.report.columns import aligned, words
from planner.report.saving import ReportError
from planner.report.shape import written
from planner.trace.numbers import amount_text

DOCUMENT: dict[str, Any] = {
    "everfleet_futures": 2,
    "title": "a fleet <for> two futures",
    "objective": {"kind": "money", "value": 2.5e6, "unit": "USD"},
    "status": {"name": "optimal", "text": "No better one exists.", "verified": True},
    "headline": [
        "Order 2 nodes of h100-8 at iowa in 2027 Q1, whatever comes.",
        "Move 1 node of l40s-8 at iowa to quebec in 2027 Q1, whatever comes.",
        "Over 2 futures this takes 2.50 MUSD in the mean.",
    ],
    "first_stage": [
        {"decision": "order", "nodes": 2, "pool": "h100-8 at iowa", "period": "2027 Q1"},
        {"decision": "move", "nodes": 1, "pool": "l40s-8 at iowa", "period": "2027 Q1", "to": "quebec"},
    ],
    "futures": [
        {
            "future": "low",
            "probability_fraction": 0.5,
            "objective_value": 2e6,
            "cost_usd": 2e6,
            "carbon_kgco2e": 4e5,
            "known_value": 1e6,
            "regret_value": 1e6,
            "regret_fraction": 1.0,
            "mean_plan_value": 1.5e6,
            "nodes_ordered": 2,
        },
        {
            "future": "high",
            "probability_fraction": 0.5,
            "objective_value": 3e6,
            "cost_usd": 3e6,
            "carbon_kgco2e": 5e5,
            "known_value": 3e6,
            "regret_value": 0.0,
            "regret_fraction": 0.0,
            "mean_plan_value": None,
            "nodes_ordered": 2,
        },
    ],
    "worth": [{"name": "knowing", "value": 5e5}],
    "explanations": {},
}
NO_PLAN = {
    **DOCUMENT,
    "headline": ["No plan was found in high."],
    "first_stage": [],
    "futures": [],
    "worth": [],
}


def rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))


def test_the_tables_hold_what_the_document_holds(tmp_path: Path) -> None:
    """At full precision, in the document's units, each column named for what it is."""
    folder = tmp_path / "futures"
    save_futures(DOCUMENT, folder)
    low, high = rows(folder / "csv" / "futures.csv")

    assert json.loads((folder / "futures.json").read_text(encoding="utf-8")) == written(DOCUMENT)
    assert (low["objective_usd"], low["had_it_been_known_usd"]) == ("2000000.0", "1000000.0")
    assert (low["plan_for_the_mean_future_usd"], high["plan_for_the_mean_future_usd"]) == ("1500000.0", "")
    assert [row["to"] for row in rows(folder / "csv" / "first_stage.csv")] == ["", "quebec"]
    (worth,) = rows(folder / "csv" / "worth.csv")
    assert worth["mean_saving_usd"] == "500000.0"
    assert "expected value of perfect information" in worth["worth_of"]


def test_the_page_and_markdown_say_each_sentence_once(tmp_path: Path) -> None:
    """Decisions stand first, what they come to below them; names that people wrote are escaped."""
    folder = tmp_path / "futures"
    save_futures(DOCUMENT, folder)
    page, text = ((folder / f"futures.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))

    assert all(text.count(f"- {line}\n") == 1 for line in DOCUMENT["headline"])
    assert text.index("whatever comes.") < text.index("Over 2 futures") < text.index("mean saving (kUSD)")
    assert "a fleet &lt;for&gt; two futures" in page
    assert "<svg" in page


def test_a_carbon_objective_is_told_as_carbon(tmp_path: Path) -> None:
    """Where carbon is made least the objective counts kilograms: a million of them are 1,000 t."""
    document = {**DOCUMENT, "objective": {"kind": "carbon", "value": 2.5e6, "unit": "kgCO2e"}}
    save_futures(document, tmp_path / "futures")
    (low, _) = rows(tmp_path / "futures" / "csv" / "futures.csv")
    picture = FUTURES_PICTURES["futures"](document)

    assert low["had_it_been_known_kgco2e"] == "1000000.0"
    assert picture is not None
    assert "low (50 %), had it been known: 1,000 tCO2e" in picture.alt


def test_regret_is_an_amount_where_nothing_is_a_share() -> None:
    """A future that earns has no share of its objective: the amount stands in the same column."""
    earning = {**DOCUMENT["futures"][0], "known_value": -1e6, "regret_value": 3e6, "regret_fraction": None}
    text = futures_text({**DOCUMENT, "futures": [earning, DOCUMENT["futures"][1]]})
    low, high = (
        next(line for line in text.splitlines() if line.startswith(name)) for name in ("low", "high")
    )

    assert "3.00 MUSD" in low
    assert "%" not in low.split("50.0 %", 1)[1]
    assert "0.0 %" in high


def test_no_plan_is_a_report_too(tmp_path: Path) -> None:
    """It says why, and has nothing to draw."""
    paths = save_futures(NO_PLAN, tmp_path / "futures")

    assert "No plan was found in high." in (tmp_path / "futures" / "futures.md").read_text(encoding="utf-8")
    assert [path.name for path in paths] == ["futures.json", "futures.html", "futures.md"]
    assert FUTURES_PICTURES["futures"](NO_PLAN) is None
    assert futures_text(NO_PLAN) == "No plan was found in high."


@pytest.mark.usefixtures("drawn_pictures")
def test_the_chart_names_every_bar() -> None:
    """The words hold all five bars (one future has no plan for the mean), and the drawing their amounts."""
    picture = FUTURES_PICTURES["futures"](DOCUMENT)

    assert picture is not None
    assert picture.alt == (
        "Bars of the objective in each future. low (50 %), this plan: 2 MUSD; low (50 %), had it been known: "
        "1 MUSD; low (50 %), plan for the mean: 1.5 MUSD; high (50 %), this plan: 3 MUSD; high (50 %), had "
        "it been known: 3 MUSD."
    )
    drawn = to_svg(picture)
    assert all(f">{label}<" in drawn for label in ("low (50 %)", "1.5 MUSD", "plan for the mean"))


def test_a_chart_of_many_futures_says_how_many_it_draws() -> None:
    many = [{**DOCUMENT["futures"][0], "future": f"draw {number}"} for number in range(30)]
    picture = FUTURES_PICTURES["futures"]({**DOCUMENT, "futures": many})

    assert picture is not None
    assert picture.alt.endswith("24 of 30 futures are drawn.")


def test_a_folder_of_others_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(ReportError, match=r"not a folder of futures \(it holds 'thesis\.txt'\)"):
        save_futures(DOCUMENT, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_cells_stand_below_each_other() -> None:
    """Two blanks between columns, none at the end of a line."""
    columns = words(("a", lambda row: row["one"]), ("bb", lambda row: row["other"]))

    assert aligned(columns, [{"one": "ccc", "other": ""}]) == ["a    bb", "ccc"]
    assert (amount_text(2e6, "USD"), amount_text(2e6, "kgCO2e")) == ("2.00 MUSD", "2,000 tCO2e")
