"""The report: what it shows is the document's, it is safe to open, and a kill never leaves half of it."""

from __future__ import annotations

import copy
import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.loading import data_folder
from planner.report import charts, saving
from planner.report.charts import drawing, plans
from planner.report.data import csv_text, to_csv_files, to_json
from planner.report.glance import glance
from planner.report.page import to_html
from planner.report.saving import ReportError, save
from planner.report.table_columns import COLUMNS, meaning_of
from planner.report.tables import range_text, table_of, tables, why_text
from planner.report.text import to_markdown, to_terminal
from planner.trace.numbers import quantity_text

SAMPLE = json.loads((Path(__file__).parents[1] / "sample_plan.json").read_text(encoding="utf-8"))
HOSTILE = "<script>alert(1)</script> | `x` *b* \x1b[31m\nred"
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1")
POSIX = pytest.mark.skipif(os.name != "posix", reason="kills by signal")


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    """Whole reports are written again and again here: a picture that was drawn before is not drawn anew."""
    drawings: dict[tuple[str, int], str] = {}
    draw = charts.to_svg

    def kept(picture: charts.Picture, width: int = 430) -> str:
        key = picture.chart.to_json(validate=False), width
        if key not in drawings:
            drawings[key] = draw(picture, width)
        return drawings[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "to_svg", kept)
        yield


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(SAMPLE)


@pytest.fixture
def infeasible(document: dict[str, Any]) -> dict[str, Any]:
    """No plan: tables are empty, and the infeasibility names two ways out."""
    give = {
        "limit": "power",
        "where": "oregon",
        "period": "2027 Q2",
        "by": 412.0,
        "unit": "kW",
        "share_fraction": 0.41,
    }
    document["status"] |= {
        "name": "infeasible",
        "text": "No plan exists.",
        "gap_fraction": None,
        "verified": False,
    }
    document |= {"totals": [], "headline": [], "why": [], "tornado": [], "explanations": {}}
    document["tables"] = {name: [] for name in document["tables"]}
    document["objective"]["value"] = None
    document["clash"] = {
        "text": "chat needs more power at oregon than there is.",
        "families": [
            {"family": "power", "alone_enough": True, "rows": [give], "cost_usd": 1_250_000.0},
            {
                "family": "deadline",
                "alone_enough": False,
                "rows": [give | {"limit": "deadline"}],
                "cost_usd": None,
            },
        ],
    }
    return document


class Elements(HTMLParser):
    """Tags with attributes, and the text inside `details`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.opened: list[str] = []
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "details":
            self._inside = True
            self.opened.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "details"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.opened[-1] += data


# Numbers as they are shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (6_352_261.0, "USD", "6.352 MUSD"),
        (742_118.0, "USD", "742.1 kUSD"),
        (-96_000.0, "USD", "-96 kUSD"),
        (5_473_578.0, "kgCO2e", "5,474 tCO2e"),
        (999.4, "kgCO2e", "999.4 kgCO2e"),
        (0.0, "kgCO2e", "0 kgCO2e"),
        (1_000.0, "kW", "1 MW"),
        (0.98, "1", "0.98"),
        (44, "nodes", "44 nodes"),
        (None, "USD", "–"),
        (math.nan, "USD", "–"),
    ],
)
def test_a_quantity_is_shown_in_the_unit_that_reads_best(value: float | None, unit: str, shown: str) -> None:
    assert quantity_text(value, unit) == shown


@given(st.floats(min_value=1e-3, max_value=1e11), st.sampled_from(["USD", "kgCO2e", "kWh", "kW", "h"]))
def test_a_shown_quantity_is_the_quantity_to_four_digits(value: float, unit: str) -> None:
    """Read back by its prefix, the text is within half a unit of the fourth digit: 5e-4 of the value.

    Single dollars have three digits.
    """
    number, _, name = quantity_text(value, unit).partition(" ")
    larger = {
        "MUSD": 1e6,
        "kUSD": 1e3,
        "tCO2e": 1e3,
        "ktCO2e": 1e6,
        "GUSD": 1e9,
        "GWh": 1e6,
        "MWh": 1e3,
        "MW": 1e3,
    }

    assert float(number.replace(",", "")) * larger.get(name, 1.0) == pytest.approx(
        value, rel=5.1e-3 if name == "USD" else 5.1e-4
    )


def test_a_column_has_one_unit_and_a_share_is_shown_in_percent() -> None:
    """1,250,000 and 3,000 USD stand in one column, so both are in MUSD; 0.9621 is 96.21 %."""
    rows = [{"cost_usd": 1_250_000.0, "ettr_fraction": 0.9621}, {"cost_usd": 3_000.0, "ettr_fraction": None}]
    table = table_of("", rows)

    assert table.headings == ("cost (MUSD)", "ETTR (%)")
    assert table.cells == (("1.25", "96.21"), ("0.003", "–"))


def test_rows_that_name_their_unit_keep_it() -> None:
    rows = [
        {
            "limit": "power",
            "where": "x",
            "used": 998.0,
            "allowed": 1000.0,
            "unit": "kW",
            "share_fraction": 0.998,
        }
    ]

    assert table_of("limits", rows).cells == (("power", "x", "0.998", "1", "MW", "99.8"),)


def test_range_is_left_out_where_nothing_is_uncertain(document: dict[str, Any]) -> None:
    cost, *_, capex = document["totals"]

    assert range_text(cost) == "p5 5.59 to p95 7.34 MUSD"
    assert range_text(capex) == range_text(cost | {"p5": 1.0, "p95": 1.0}) == ""


# Charts


def spec_rows(picture: charts.Picture | None, column: str, without: str = "") -> list[dict[str, Any]]:
    """Rows of the chart's data that hold one column, and not another."""
    assert picture is not None
    spec = picture.chart.to_dict()
    held = [part["data"]["values"] for part in (spec, *spec["layer"]) if "data" in part]
    return next(values for values in held if values and column in values[0] and without not in values[0])


@pytest.mark.parametrize(("name", "key", "divisor"), [("cost", "usd", 1e6), ("carbon", "kgco2e", 1e3)])
def test_a_waterfall_ends_at_the_total(document: dict[str, Any], name: str, key: str, divisor: float) -> None:
    """Each bar starts where the one before ended, and the last but one ends at the document's total."""
    total = next(total["value"] for total in document["totals"] if total["name"] == name)
    *bars, last = spec_rows(charts.PLAN_PICTURES[name](document), "kind")

    assert [bar["end"] for bar in bars[:-1]] == [bar["start"] for bar in bars[1:]]
    assert [bar["end"] - bar["start"] for bar in bars] == pytest.approx(
        [term[key] / divisor for term in document["tables"][name]]
    )
    assert bars[-1]["end"] == pytest.approx(last["end"]) == pytest.approx(total / divisor)


def test_the_mix_shows_and_names_every_node(document: dict[str, Any]) -> None:
    """No part of a bar is told by its colour alone: its name stands in it, or on top of the bar."""
    document["tables"]["fleet"][0] |= {"in_service_nodes": 1}  # too low for a name
    picture = plans.mix(document)
    bars, ends = spec_rows(picture, "sku"), spec_rows(picture, "nodes", without="sku")
    tops = [name for end in ends for name in re.sub(", .*", "", end["label"]).splitlines()]
    named = [*(re.sub(r"\n(\d+), .*", r": \1", bar["label"]) for bar in bars), *tops]

    assert sum(bar["nodes"] for bar in bars) == sum(
        row["in_service_nodes"] for row in document["tables"]["fleet"]
    )
    assert sum(end["nodes"] for end in ends) == sum(bar["nodes"] for bar in bars)
    assert sorted(filter(None, named)) == sorted(f"{bar['sku']}: {bar['nodes']}" for bar in bars)
    assert any(end["label"] for end in ends)
    assert any(bar["label"].endswith(f", {bar['site']}") for bar in bars)


def test_the_fullest_period_of_each_limit_is_drawn(document: dict[str, Any]) -> None:
    row = document["tables"]["limits"][0]
    document["tables"]["limits"] += [row | {"period": "2027 Q1", "share_fraction": 0.2, "binding": False}]
    drawn = spec_rows(plans.limits(document), "share")

    assert [bar["label"] for bar in drawn if "oregon" in bar["limit"] and "power" in bar["limit"]] == [
        "99.8 %, binding"
    ]


@pytest.mark.nightly
def test_charts_stay_small_on_long_horizons(document: dict[str, Any]) -> None:
    """A browser stays quick to 2,000 marks a chart; 40 periods, 20 sites and 6 SKUs are more than that."""
    periods = [f"{2027 + i // 12}-{i % 12 + 1:02d}" for i in range(40)]
    document["horizon"]["periods"] = periods
    row = document["tables"]["fleet"][0]
    document["tables"]["fleet"] = [
        row | {"period": period, "site": f"site {i}", "sku": f"sku {k}"}
        for period in periods
        for i in range(20)
        for k in range(6)
    ]
    picture = plans.mix(document)

    assert picture is not None
    assert len(spec_rows(picture, "sku")) <= 666, (
        "each is a bar and a name, and at most one more ends its row"
    )
    assert "2030-04" in picture.alt, "the last period is always drawn"


def test_arrivals_after_the_horizon_are_not_drawn(document: dict[str, Any]) -> None:
    document["tables"]["purchases"] = [
        document["tables"]["purchases"][0] | {"arrives": arrives}
        for arrives in ("2027 Q3", "after the horizon")
    ]

    assert [row["day"] for row in spec_rows(plans.timeline(document), "day")] == ["2027-07-01"]


def test_every_chart_says_in_words_what_it_shows(document: dict[str, Any]) -> None:
    drawn = {name: picture(document) for name, picture in charts.PLAN_PICTURES.items()}
    words = {name: picture.alt for name, picture in drawn.items() if picture is not None}

    assert drawn.keys() - words.keys() == {"hours"}, "this plan decides nothing by the hour"
    assert "40 a100-80-8 at dallas" in words["mix"]
    assert "deadline 2027-09-30" in words["timeline"]
    assert "Electricity 0.7421" in words["cost"]
    assert "Electricity used 3,912" in words["carbon"]
    assert "no purchases: 8,113 tCO2e" in words["baselines"]
    assert "oregon · 2027 Q4 99.8 %, binding" in words["limits"]
    assert "server.price.h200-8 at its low: -412 kUSD" in words["tornado"]


def luminance(colour: str) -> float:
    """Relative luminance of '#rrggbb'.  Source: WCAG 2.2, definition of relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_told_apart_from_letters_and_from_paper() -> None:
    """WCAG 2.2: 4.5:1 for letters on a bar (1.4.3), 3:1 for the edge of a bar on light and dark (1.4.11)."""
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert min(contrast(colour, drawing.LETTERS) for colour in charts.PALETTE) >= 4.5
    assert min(contrast(charts.OUTLINE, paper) for paper in ("#FFFFFF", "#0E1117", "#121615")) >= 3


@pytest.mark.usefixtures("drawn_pictures")
def test_drawings_follow_the_text_around_them(document: dict[str, Any]) -> None:
    """The letters take the page's colour, so one drawing serves light and dark."""
    svg = charts.to_svg(plans.mix(document))  # type: ignore[arg-type]

    assert svg.startswith("<svg")
    assert 'fill="currentColor"' in svg
    assert not re.search(r"(?:href|src)=|url\(", svg)


# Texts


def test_markdown_holds_the_plan(document: dict[str, Any]) -> None:
    text = to_markdown(document)

    assert text.startswith("# Next quarter: pre-training, fine-tuning, chat and code\n")
    assert all(f"- {line}" in text for line in document["why"])
    assert "| Carbon | 5,474 tCO2e | p5 4,379 to p95 6,897 tCO2e |" in text
    assert "| Resale of retired nodes | -0.096 |" in text
    assert document["facts_digest"] in text


def test_column_order_does_not_hang_on_the_order_of_keys(document: dict[str, Any]) -> None:
    """A plan.json has its keys sorted; the report made from it is the same."""
    assert to_markdown(json.loads(to_json(document))) == to_markdown(document)
    assert to_csv_files(json.loads(to_json(document))) == to_csv_files(document)


def test_names_cannot_break_markdown(document: dict[str, Any]) -> None:
    """A bar, a line break or a tag in a name stays in its cell: all lines of a table have equal columns."""
    document["tables"]["jobs"][0]["job"] = document["title"] = HOSTILE
    text = to_markdown(document)
    section = text.partition("## Training jobs\n\n")[2].partition("\n\n")[0].splitlines()

    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in section}) == 1
    assert len(section) == 3
    assert not re.search(r"(?<!\\)[<`]script|\x1b", text)


def test_terminal_text_fits_and_holds_no_control_signs(document: dict[str, Any]) -> None:
    document["tables"]["jobs"][0] |= {"job": HOSTILE * 3, "site": "a very long site name " * 4}
    text = to_terminal(document)

    assert max(map(len, text.splitlines())) <= 100
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    for shown in (
        "6.35 MUSD",
        "WITHIN GAP",
        "hamina  b200-8           0        0       16       20",
        "Electricity",
    ):
        assert shown in text


def test_notes_without_a_plan_are_no_reasons_for_one(infeasible: dict[str, Any]) -> None:
    noted = infeasible | {"why": ["A lead of 31 d counts as 2 months."]}
    for text in (to_markdown(noted), to_terminal(noted), to_html(noted)):
        assert "A lead of 31 d counts" in text
        assert "Why this plan" not in text


def test_infeasible_plan_says_what_to_move(infeasible: dict[str, Any]) -> None:
    for text in (to_markdown(infeasible), to_terminal(infeasible), to_html(infeasible)):
        assert "chat needs more power at oregon than there is." in text
        assert re.search(r"power \(enough alone, costs 1\.25 MUSD\)", text)
        assert re.search(r"deadline \(not enough alone\)", text)
        assert "412" in text


# The HTML file


def test_html_fetches_nothing(document: dict[str, Any]) -> None:
    """One file: no script, no link, no image, no style from elsewhere, and a policy that forbids them."""
    text = to_html(document)
    tags = Elements(text).tags

    assert {"html", "svg", "table", "details"} <= {tag for tag, _ in tags}
    assert not {"script", "link", "img", "iframe", "object", "base"} & {tag for tag, _ in tags}
    assert not [
        (tag, name) for tag, held in tags for name in held if name in ("src", "href", "srcset", "xlink:href")
    ]
    assert not [name for _, held in tags for name in held if name.startswith("on")]
    assert "default-src 'none'" in text
    assert "@import" not in text


def test_html_opens_every_total_and_term(document: dict[str, Any]) -> None:
    opened = Elements(to_html(document)).opened
    named = [*document["totals"], *document["tables"]["cost"], *document["tables"]["carbon"]]
    wanted = [why_text(document, number["explain"]) for number in named]

    assert len(wanted) == 17
    assert all(any(text and text in held for held in opened) for text in wanted)


def test_html_gives_each_drawing_words_and_a_table(document: dict[str, Any]) -> None:
    tags = Elements(to_html(document)).tags
    drawings = [held for _, held in tags if held.get("class") == "drawing"]

    # The fleet is on the sheet, too, and nothing is decided by the hour.
    assert len(drawings) == len(charts.PLAN_PICTURES) + 1 - 1
    assert all(held["role"] == "img" and len(held["aria-label"] or "") > 40 for held in drawings)
    of_sheet = len(glance(document))
    assert (
        sum(tag == "table" for tag, _ in tags) == len(tables(document)) - 2 + 1 + of_sheet
    )  # terms open; the tornado has one


def test_html_shows_names_as_text(document: dict[str, Any]) -> None:
    document["title"] = document["headline"][0] = HOSTILE
    for row in (
        document["tables"]["jobs"][0],
        document["tables"]["fleet"][0],
        document["tables"]["purchases"][0],
    ):
        row |= {"site": HOSTILE, "sku": HOSTILE}
    document["tables"]["cost"][0]["label"] = HOSTILE
    document["steps"][document["explanations"]["cost"]]["name"] = HOSTILE
    text = to_html(document)

    assert "script" not in {tag for tag, _ in Elements(text).tags}
    assert text.count("&lt;script&gt;alert(1)") > 5


# Data


def test_json_is_the_document_and_the_same_each_time(document: dict[str, Any]) -> None:
    backwards = dict(reversed(document.items()))

    assert json.loads(to_json(document)) == document
    assert to_json(backwards) == to_json(document)


def test_json_holds_no_nan_and_no_numpy(document: dict[str, Any]) -> None:
    document["status"]["gap_fraction"] = math.inf
    document["tables"]["jobs"][0] |= {"ettr_fraction": np.float64("nan"), "nodes": np.int64(24)}
    read = json.loads(to_json(document), parse_constant=lambda name: pytest.fail(name))

    assert read["status"]["gap_fraction"] is None
    assert read["tables"]["jobs"][0]["ettr_fraction"] is None
    assert read["tables"]["jobs"][0]["nodes"] == 24


def test_csv_holds_every_table_in_full(document: dict[str, Any]) -> None:
    files = to_csv_files(document)
    cost = list(csv.DictReader(io.StringIO(files["cost.csv"])))

    assert set(files) == {f"{name}.csv" for name in [*document["tables"], "totals", "tornado", "columns"]}
    assert [float(row["usd"]) for row in cost] == [row["usd"] for row in document["tables"]["cost"]]
    assert cost[-1]["usd"] == "-96000.0", "a negative number is a number"


def test_csv_columns_are_listed_with_their_unit(document: dict[str, Any]) -> None:
    """Every column of every table once; money in USD, a share as it is; its meaning; the schema's version."""
    files = to_csv_files(document)
    listed = list(csv.DictReader(io.StringIO(files.pop("columns.csv"))))
    held = [(name[:-4], key) for name, text in files.items() for key in next(csv.reader(io.StringIO(text)))]
    units = {(row["table"], row["column"]): row["unit"] for row in listed}

    assert sorted((row["table"], row["column"]) for row in listed) == sorted(held)
    assert {row["schema"] for row in listed} == {str(document["schema"])}
    assert units["purchases", "capex_usd"] == "USD"
    assert units["jobs", "ettr_fraction"] == "1"
    assert units["jobs", "tokens_per_s"] == "1/s"
    assert units["limits", "used"] == units["totals", "value"] == "that of its row"
    assert units["jobs", "site"] == ""
    assert all(row["meaning"] for row in listed), [row for row in listed if not row["meaning"]]


def test_every_column_has_a_meaning_and_every_meaning_a_column() -> None:
    """What is new in a table is explained with it; what has gone is explained no more."""
    said = tomllib.loads((data_folder() / "tables.toml").read_text(encoding="utf-8"))
    columns = {
        (name, column): own for name, one in said["tables"].items() for column, own in one["columns"].items()
    }
    common = {column for (_, column), own in columns.items() if not own}

    assert {each for each in columns if not meaning_of(*each)} == set()
    assert set(columns) == {(table, column) for table, shown in COLUMNS.items() for column in shown}
    assert set(said["everywhere"]) - {"boundary", "explain", "stated", "term"} <= common  # of files alone


@given(st.sampled_from(FORMULAS) | st.text(max_size=12), st.floats(allow_nan=False, allow_infinity=False))
def test_csv_text_is_never_a_formula(name: str, number: float) -> None:
    """A spreadsheet runs a cell that starts with = + - @ TAB or CR; the apostrophe makes it text."""
    text = csv_text("jobs", [{"job": name, "energy_kwh": number}])
    (row,) = csv.DictReader(io.StringIO(text, newline=""))

    assert not row["job"].startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    assert row["job"] in (name, f"'{name}")
    assert float(row["energy_kwh"]) == number


# Saving


def test_save_writes_the_whole_report(document: dict[str, Any], tmp_path: Path) -> None:
    paths = save(document, tmp_path / "deep" / "plan")
    folder = tmp_path / "deep" / "plan"

    assert {path.name for path in folder.iterdir()} == {
        "plan.md",
        "plan.html",
        "plan.json",
        "plan.xlsx",
        "csv",
    }
    assert all(path.is_file() for path in paths)
    assert len(list((folder / "csv").iterdir())) == len(paths) - 4
    assert [path.name for path in folder.parent.iterdir()] == ["plan"], "nothing is left beside it"


@pytest.mark.nightly
def test_save_replaces_an_older_report_whole(document: dict[str, Any], tmp_path: Path) -> None:
    """A table that the new plan lacks is gone from the folder too."""
    save(document, tmp_path / "plan")
    document["tables"]["jobs"] = []
    document["title"] = "Newer"
    save(document, tmp_path / "plan")

    assert json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))["title"] == "Newer"
    assert not (tmp_path / "plan" / "csv" / "jobs.csv").exists()


@pytest.mark.nightly
def test_save_without_an_atomic_exchange(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that cannot swap two folders in one step still gets the new report."""
    monkeypatch.setattr("planner.report.saving._exchange", lambda one, other: False)
    save(document, tmp_path / "plan")
    save(document | {"title": "Newer"}, tmp_path / "plan")

    assert json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))["title"] == "Newer"
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]


@pytest.mark.parametrize("held", ["notes.txt", "csv/thesis.docx", "plan.json"])
def test_save_refuses_a_folder_that_is_not_ours(document: dict[str, Any], tmp_path: Path, held: str) -> None:
    """Replacing a folder takes everything in it; only what we wrote may go."""
    folder = tmp_path / "plan"
    if held != "plan.json":
        save(document, folder)
    (folder / held).parent.mkdir(parents=True, exist_ok=True)
    (folder / held).write_text("[]", encoding="utf-8")

    with pytest.raises(ReportError, match="this is not a plan folder"):
        save(document, folder)
    assert (folder / held).read_text(encoding="utf-8") == "[]"


def test_save_refuses_a_file_and_a_link(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(ReportError, match="this is not a folder"):
            save(document, tmp_path / name)

    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.nightly
def test_save_leaves_the_old_report_when_the_disk_fails(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(document, tmp_path / "plan")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("planner.report.saving.os.fsync", full)
    with pytest.raises(ReportError, match="No space left"):
        save(document | {"title": "Newer"}, tmp_path / "plan")

    assert (
        json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))["title"] == SAMPLE["title"]
    )
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]


KILLER = """
import json, os, signal, sys
from pathlib import Path
from planner.report import saving

folder, document = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
saving.to_html = lambda document: document["title"]  # so that every step is one of the writing
saving.to_workbook = lambda document: document["title"].encode()
saving._exchange = saving._exchange if sys.argv[3] == "exchange" else lambda one, other: False
saving.save(document | {"title": "0"}, folder)


def die_at(step):
    count = 0

    def hook(event, arguments):
        nonlocal count
        count += event == "open" or event.startswith(("os.", "shutil.", "tempfile."))
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


before, outcomes = "0", {"old": 0, "new": 0}
for step in range(1, 1000):
    child = os.fork()
    if child == 0:
        die_at(step)
        saving.save(document | {"title": str(step)}, folder)
        os._exit(0)
    ended_well = os.waitpid(child, 0)[1] == 0
    title = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["title"]
    assert title in (before, str(step)), "another report"
    assert (folder / "plan.html").read_text(encoding="utf-8") == title, "two reports mixed"
    assert (folder / "plan.xlsx").read_text(encoding="utf-8") == title, "two reports mixed"
    assert f"# {title}\\n" in (folder / "plan.md").read_text(encoding="utf-8"), "two reports mixed"
    assert len(list((folder / "csv").iterdir())) == 17
    outcomes["new" if title == str(step) else "old"] += 1
    before = title
    if ended_well:
        break
print(json.dumps(outcomes))
"""


def killed_at_every_step(folder: Path, way: str) -> subprocess.CompletedProcess[str]:
    """Saves over a report again and again, each time killed one file operation later."""
    sample = Path(__file__).parents[1] / "sample_plan.json"
    command = [sys.executable, "-c", KILLER, str(folder / "plan"), str(sample), way]
    return subprocess.run(
        command, cwd=sample.parents[2], capture_output=True, text=True, timeout=100, check=False
    )


@POSIX
@pytest.mark.nightly  # by day a full disk leaves the old one, and test_store.py kills
def test_a_kill_leaves_the_old_report_or_the_new_one(tmp_path: Path) -> None:
    """Killed before each file operation of a save in turn, the folder always holds one whole report."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    if not saving._exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this disk cannot exchange two folders in one step")
    done = killed_at_every_step(tmp_path, "exchange")

    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert outcomes["old"] > 20, "killed while the files were written"
    assert outcomes["new"] > 10, "killed while the old report was cleared away"


@pytest.mark.nightly
@POSIX
def test_the_kill_test_can_fail(tmp_path: Path) -> None:
    """With two renames in place of one exchange there is a moment without a report, and it is found."""
    done = killed_at_every_step(tmp_path, "two renames")

    assert done.returncode != 0
    assert "FileNotFoundError" in done.stderr


KILLED = """
import os, sys
from pathlib import Path
from planner.report import saving
fsync = os.fsync
def wait(handle):
    print("writing", flush=True)
    sys.stdin.read()
    fsync(handle)
    os.fsync = fsync
os.fsync = wait
saving.write_folder({"plan.json": '{"everfleet": 1}'}, Path(sys.argv[1]), saving.PLAN)
"""


@POSIX
def test_what_a_killed_writer_left_is_cleared_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    """Two writers in mid-write, one killed: the next removes its folder alone; the other gets ready."""
    folder, other = tmp_path / "out", tmp_path / ".out-mine.partial"
    other.mkdir()  # like ours by name, but no name that we give
    command, home = [sys.executable, "-c", KILLED, str(folder)], Path(saving.__file__).parents[3]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home) for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
    assert len(list(tmp_path.glob(".out-????????.partial"))) == 2
    writers[0].kill()
    writers[0].communicate()
    saving.write_folder({"plan.json": '{"everfleet": 2}'}, folder, saving.PLAN)
    kept = list(tmp_path.glob(".out-????????.partial"))
    writers[1].communicate()

    assert len(kept) == 1
    assert writers[1].returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out-mine.partial", "out"]
    assert json.loads((folder / "plan.json").read_text(encoding="utf-8")) == {"everfleet": 1}


def test_a_terminal_says_that_a_plan_was_found_again(document: dict[str, Any]) -> None:
    found = {"name": "time limit", "searched_on": "2026-11-20", "gap_fraction": 0.012}
    said = to_terminal({**document, "status": document["status"] | found})
    line = " ".join(said.split())

    assert "Found again from 2026-11-20, proved to within 1.20 % of the best" in line
    assert "a longer solve.time_limit goes on from it; --anew searches again." in line
    assert "Found again" not in to_terminal(document)
