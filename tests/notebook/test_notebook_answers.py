"""The one type of answer: tables, numbers that open, files, and how a notebook shows it."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

import everfleet as ef
from planner.answers.plan.shipped import read_solved, solved_path
from planner.inputs.loading import data_folder
from planner.notebook.plan_answers import plan_made

SAMPLES = data_folder() / "samples"
Kept = Callable[[str], tuple[Path, list[Path]]]


@pytest.fixture(scope="module")
def fleet() -> ef.Answer:
    return ef.plan("one-training-job", prices=True)


@pytest.fixture(scope="module")
def answers(fleet: ef.Answer) -> dict[str, ef.Answer]:
    """One of each kind."""
    return {
        "plan": fleet,
        "job": ef.job_carbon(model="llama-3.1-8b", tokens=1e11),
        "checkpoints": ef.checkpoint(),
        "checkpoints of a scenario": ef.checkpoint("one-training-job"),
        "fit": ef.fit(SAMPLES / "slurm-simulated.txt"),
        "throughput": ef.throughput("llama-3.1-70b"),
        "calibration": ef.calibrate(SAMPLES / "measurements.csv"),
        "serving calibration": ef.calibrate(SAMPLES / "serving-measurements.csv"),
        "validation": ef.validate(data_folder() / "published" / "performance.csv"),
        "facts": ef.facts(),
        "pareto": ef.pareto("one-training-job", points=2),
        "comparison": ef.compare(fleet, ef.plan("one-training-job", changes={"sites.stockholm.pue": 1.4})),
        "scenario": ef.scenario("next-quarter"),
    }


@pytest.fixture(scope="module")
def kept(answers: dict[str, ef.Answer], tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The folder of each kind and what was written there, once."""
    folder = tmp_path_factory.mktemp("kept")
    return cache(lambda kind: (folder / kind, list(answers[kind].save(folder / kind))))


KINDS = (
    "plan",
    "job",
    "checkpoints",
    "checkpoints of a scenario",
    "fit",
    "throughput",
    "calibration",
    "serving calibration",
    "validation",
    "facts",
    "pareto",
    "comparison",
    "scenario",
)
each_kind = pytest.mark.parametrize("kind", KINDS)


class Shown(HTMLParser):
    """Checks that every element that opens is closed, and notes what would be fetched or run."""

    ALONE = ("meta", "br", "image", "path", "rect", "line")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag in ("script", "iframe", "img", "link", "object"):
            self.wrong.append(tag)
        fetching = ("href", "src", "xlink:href", "srcset")
        self.wrong += [f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in fetching]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"/{tag}")


@each_kind
def test_a_notebook_shows_each_kind_small_and_whole(answers: dict[str, ef.Answer], kind: str) -> None:
    shown = answers[kind]._repr_html_()
    page = Shown(re.sub(r"<(\w+)([^>]*)/>", r"<\1\2></\1>", shown))

    assert len(shown.encode()) < 300_000
    assert answers[kind].title in shown.replace("&amp;", "&").replace("&#x27;", "'")
    assert (page.wrong, page.open) == ([], [])


@each_kind
def test_each_kind_has_its_faces(answers: dict[str, ef.Answer], kept: Kept, kind: str) -> None:
    answer = answers[kind]
    _, paths = kept(kind)
    filled = [table for table in answer.tables.values() if len(table)]

    assert answer.to_markdown().strip()
    assert str(answer) == answer.to_text()
    assert len(repr(answer)) < 250
    assert "\n" not in repr(answer)
    assert json.loads(answer.to_json()) == answer.to_dict()
    assert filled
    assert all(path.is_file() for path in paths)
    assert any(path.suffix == ".json" for path in paths)
    assert {*answer._ipython_key_completions_()} == {"totals", *answer.tables}
    assert {"explain", "save", "tables", *(name for name in answer.tables if name.isidentifier())} <= set(
        dir(answer)
    )
    for table in filled:
        frame = table.to_pandas()
        assert list(frame.columns) == list(table.columns)
        assert len(frame) == len(table) == len(table.to_dict())
        assert repr(table).count("\n") == 0
        assert table._repr_html_().startswith("<div")
        assert str(table)


@each_kind
def test_every_number_that_opens_opens_to_itself(answers: dict[str, ef.Answer], kind: str) -> None:
    """The first, middle and last rows of each table: what is opened has the value of its cell."""
    answer, opened, numbers = answers[kind], 0, 0
    for table in (answer.totals, *answer.tables.values()):
        for row in {0, len(table) // 2, len(table) - 1} if len(table) else ():
            for key, value in table[row].items():
                if not isinstance(value, int | float) or isinstance(value, bool):
                    continue
                numbers += 1
                try:
                    why = value.explain()
                except ef.InputError:
                    continue
                factor = ef_factor(why.unit, value.unit)
                opened += 1
                assert why.value * factor == pytest.approx(float(value), rel=1e-6, abs=1e-9), (
                    table.name,
                    row,
                    key,
                )
    assert kind not in WHOLE or opened == numbers


# Answers all of whose numbers open today; the others keep some by their value only.
WHOLE = (
    "plan",
    "job",
    "fit",
    "facts",
    "throughput",
    "checkpoints",
    "checkpoints of a scenario",
    "validation",
    "comparison",
    "calibration",
    "serving calibration",
    "pareto",
)


def ef_factor(inner: str, shown: str) -> float:
    """From the unit of an explanation to that of a cell."""
    from planner.trace.units import UnitError, convert_factor

    try:
        return convert_factor(inner, shown)
    except UnitError:
        return 1.0


@pytest.mark.nightly
def test_every_number_of_the_shipped_quarter_opens() -> None:
    """The solved quarter that the app shows at first: every number of every table, and a small page."""
    quarter = plan_made(read_solved(solved_path("next-quarter")))
    numbers = [
        value
        for table in (quarter.totals, *quarter.tables.values())
        for row in table
        for value in row.values()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]

    assert len(numbers) > 1000
    assert all(number.explain().value is not None for number in numbers)
    assert len(quarter._repr_html_().encode()) < 150_000


def test_numbers_of_a_table_are_numbers(fleet: ef.Answer) -> None:
    """They add, compare and reach pandas as floats; they know their unit; copies are plain numbers."""
    row = fleet["purchases"][0]
    capex = row["capex_usd"]

    assert capex + 0.0 == capex == fleet["purchases"].to_pandas()["capex_usd"].iloc[0]
    assert (capex.unit, row["nodes"] + 1, type(copy.deepcopy(capex))) == ("USD", 4, float)
    assert json.dumps(row["nodes"]) == "3"
    assert fleet["purchases"].to_pandas()["nodes"].dtype == "int64"
    assert fleet["purchases"].to_pandas().attrs["units"]["capex_usd"] == "USD"
    assert fleet["purchases"]["nodes"] == [3]
    assert fleet.purchases[0:1].units == fleet["purchases"].units
    assert "capex_usd" in row
    assert row.get("nothing") is None


def test_a_number_is_opened_by_name(fleet: ef.Answer) -> None:
    """A kept number, a cell by table, row and column, and a cell of a row are opened alike."""
    why = fleet.explain("cost")
    cell = fleet.explain("purchases.1.capex_usd")

    assert why.value == fleet.totals["cost"]["value"] == fleet.trace["cost"].value
    assert why.to_text() == fleet.totals["cost"]["value"].explain().to_text()
    assert repr(cell) == repr(fleet["purchases"][0]["capex_usd"].explain())
    assert all(source for source in why.facts()["source"])
    assert len(fleet.explain("cost", depth=1).to_text()) < len(why.to_text())


@pytest.mark.parametrize("name", ["nothing", "purchases.9.nodes", "purchases.1.sku", "purchases.1.nothing"])
def test_what_cannot_be_opened_is_told(fleet: ef.Answer, name: str) -> None:
    with pytest.raises(ef.InputError, match="no number"):
        fleet.explain(name)


def test_what_is_not_there_is_told_with_what_is(fleet: ef.Answer) -> None:
    with pytest.raises(ef.InputError, match="there is no table 'purchase'; there are: totals"):
        fleet["purchase"]
    with pytest.raises(ef.InputError, match="purchases has no column 'node'; it has: period"):
        fleet["purchases"][0]["node"]
    with pytest.raises(KeyError, match="has no column or row 'node'"):
        fleet["purchases"]["node"]
    with pytest.raises(AttributeError, match="an answer has no 'purchase'"):
        _ = fleet.purchase
    with pytest.raises(IndexError):
        fleet["purchases"][1]


@each_kind
def test_saved_answers_come_back(answers: dict[str, ef.Answer], kept: Kept, kind: str) -> None:
    """All but lists of facts and scenarios, which cost nothing to ask again."""
    answer = answers[kind]
    folder, _ = kept(kind)
    if kind in ("facts", "scenario"):
        with pytest.raises(ef.InputError, match=f"answers about {kind} are not kept"):
            ef.load(folder)
        return
    again = ef.load(folder)

    assert (again.kind, again.title, again.said) == (answer.kind, answer.title, answer.said)
    assert again.to_dict() == answer.to_dict()
    assert again.tables.keys() == answer.tables.keys()
    assert all(row in answer.totals.to_dict() for row in again.totals.to_dict())
    assert len(again.totals) == len(answer.totals)
    assert all(again.explain(name).value == answer.explain(name).value for name in answer.trace)


@pytest.mark.nightly
def test_answers_are_asked_on(answers: dict[str, ef.Answer], tmp_path: Path) -> None:
    """A scenario that was read is planned; a fit gives the failures of another question, saved or not."""
    read = ef.scenario("one-training-job", changes={"sites.stockholm.pue": 1.4})
    log = answers["fit"]
    by_path = ef.checkpoint(failures=log.save(tmp_path / "fit")[0])

    assert ef.plan(read).totals["cost"]["value"] > answers["plan"].totals["cost"]["value"]
    assert ef.plan(answers["plan"], changes={"sites.stockholm.pue": 1.4}).totals[0]["value"] > 0
    assert ef.checkpoint(failures=log)["marks"].to_dict() == by_path["marks"].to_dict()


def test_charts_are_drawn_when_they_are_looked_for(answers: dict[str, ef.Answer]) -> None:
    charts = answers["plan"].charts

    assert {"cost", "carbon"} <= charts.keys()
    assert charts["cost"].to_svg().startswith("<svg")
    assert charts["cost"].alt.startswith("Bars in")
    assert charts["cost"].altair is not None
    assert list(answers["checkpoints"].charts) == ["ettr_fraction", "usd_per_useful_h", "kgco2e_per_useful_h"]


def test_names_that_people_write_are_escaped(root: Path) -> None:
    tables = ef.scenario("one-training-job").to_dict()
    assert tables[0]["ok"] is True
    hostile = '<script>alert("x")</script>'
    answer = ef.scenario("one-training-job", changes={"title": hostile})

    assert "<script" not in answer._repr_html_()
    assert hostile not in answer.to_markdown()


IMPORTED = """
import sys
import everfleet
heavy = {"pandas", "numpy", "scipy", "pulp", "highspy", "pint", "pydantic", "altair", "jinja2", "sqlalchemy",
         "streamlit", "duckdb", "lifelines", "argparse"}
print(*sorted(heavy & {name.partition(".")[0] for name in sys.modules}), len(everfleet.__all__))
"""


def test_the_import_loads_no_library(root: Path) -> None:
    """What takes a noticeable time to load is loaded by the function that needs it."""
    command = [sys.executable, "-c", IMPORTED]
    imported = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=True)

    assert imported.stdout.split() == [str(len(ef.__all__))]


def test_progress_is_told_to_whom_it_is_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    ef.plan("one-training-job", baselines=False, watch=heard.append)
    watched: Callable[[str], None] = heard.append

    assert heard
    assert capsys.readouterr() == ("", "")
    assert ef.fit(SAMPLES / "slurm-simulated.txt", watch=watched).kind == "fit"
