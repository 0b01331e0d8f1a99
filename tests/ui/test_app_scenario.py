"""The page Scenario: nothing that is typed is lost or taken unchecked; every message says what would do."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from own_fits import fit_of
from streamlit.testing.v1 import AppTest

from planner.answers.start import template_files
from planner.inputs.loading import load_catalogue
from planner.ui import scenario_edits, session, shared, workers
from planner.ui.workers import Seen

PAGES = Path(session.__file__).parent
SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"
ROUTES = f"""
import streamlit as st
names = ("scenario", "plan", "begin")
pages = [st.Page({str(PAGES)!r} + f"/{{name}}.py", default=name == "scenario") for name in names]
st.navigation(pages).run()
"""
PRICE, BUDGET = "Carbon price", "Budget"


@pytest.fixture
def page(tmp_path: Path) -> AppTest:
    """The page as it opens, on the shipped quarter."""
    script = tmp_path / "app.py"
    script.write_text(ROUTES, encoding="utf-8")
    opened = AppTest.from_file(str(script), default_timeout=60).run()
    assert not opened.exception
    return opened


def typed(page: AppTest, label: str, text: str) -> AppTest:
    """Type into the field of a label."""
    next(field for field in page.text_input if field.label == label).set_value(text)
    return page.run()


def value(page: AppTest, label: str) -> Any:
    """What a field shows."""
    fields: list[Any] = [*page.text_input, *page.selectbox]
    return next(field.value for field in fields if field.label == label)


def view(page: AppTest, name: str) -> AppTest:
    """Another view of the page."""
    page.segmented_control("view").set_value(name)
    return page.run()


def bring(page: AppTest, kind: str) -> AppTest:
    """A kind of file under Import."""
    view(page, "Import").segmented_control("kind").set_value(kind)
    return page.run()


def said(page: AppTest) -> str:
    """All sentences on the page."""
    found: list[Any] = [*page.markdown, *page.success, *page.error, *page.warning, *page.info, *page.code]
    return "\n".join(element.value for element in found).replace("\\", "")


def document(page: AppTest) -> dict[str, Any]:
    """The scenario that stands in the session of a page."""
    return tomllib.loads(page.session_state["scenario.history"].now.text)


# The main inputs


def test_at_most_eight_inputs_stand_there_at_first(page: AppTest) -> None:
    """A solved scenario, never an empty form; range and default of each are behind its question mark."""
    labels = [field.label for field in page.text_input] + [field.label for field in page.selectbox]

    assert len(labels) == 8
    assert {"Objective", PRICE, BUDGET, "dallas: Power cap", "chat: Peak rate"} <= set(labels)
    assert value(page, PRICE) == "200 USD/t"
    helps = "\n".join(field.help for field in [*page.text_input, *page.selectbox]).replace("\\", "")
    assert helps.count("Allowed: ") == 8 == helps.count("Default: ")
    assert "Allowed: from 0 to 100 USD/kgCO2e." in helps
    assert "the catalogue has 100 USD/tCO2e, finance.carbon_price: assumed" in helps
    assert "no edits" in said(page)


def test_a_changed_input_is_marked_and_reset_alone(page: AppTest) -> None:
    """Two changes, one of them taken back by its own button; that is an edit like any other."""
    typed(page, PRICE, "150 USD/t")
    typed(page, BUDGET, "20 MUSD")
    assert "Changed, it was: 200 USD/t" in said(page).replace("*", "")

    page.button("reset-policy.carbon_price").click().run()

    assert (value(page, PRICE), value(page, BUDGET)) == ("200 USD/t", "20 MUSD")
    assert "200 USD/t" not in said(page)
    assert "3 edits" in said(page)
    assert document(page)["policy"]["budget"] == "20 MUSD"


def test_undo_and_redo_move_the_fields(page: AppTest) -> None:
    """What is shown is always the scenario that stands, whatever was typed before."""
    assert page.button("undo").disabled
    typed(page, PRICE, "150 USD/t")

    page.button("undo").click().run()
    assert value(page, PRICE) == "200 USD/t"
    assert page.button("undo").disabled
    page.button("redo").click().run()
    assert value(page, PRICE) == "150 USD/t"
    assert page.button("redo").disabled


def test_what_does_not_check_is_kept_on_screen_and_not_taken(page: AppTest) -> None:
    """The message stands at its field, and with the file's name above; the scenario is the one before."""
    typed(page, BUDGET, "25")

    assert [error.value.replace("\\", "") for error in page.error] == [
        "Not applied: the scenario has problems with this change. The value before it is kept.",
        "'25' has no unit: write one, for example '25 MUSD'",
    ]
    assert page.code[0].value.startswith("next-quarter.toml: policy.budget: '25' has no unit")
    assert value(page, BUDGET) == "25"
    assert document(page)["policy"]["budget"] == "25 MUSD"

    page.button("drop-").click().run()
    assert value(page, BUDGET) == "25 MUSD"
    assert not page.error


def test_two_inputs_that_need_each_other_are_typed_in_turn(page: AppTest) -> None:
    """Without a price there is no weighted objective: typing both, in either order, is one edit."""
    page.selectbox[0].set_value("money").run()
    typed(page, BUDGET, "20 MUSD")
    scenario = document(page)
    assert scenario["policy"]["objective"] == "money"

    view(page, "Text").text_area[0].set_value(
        page.session_state["scenario.history"].now.text.replace('carbon_price = "200 USD/t"\n', "")
    )
    view(page.run(), "Main inputs").selectbox[0].set_value("weighted").run()
    assert "carbon_price: is missing" in page.code[0].value
    assert "carbon_price" not in document(page)["policy"]

    typed(page, PRICE, "150 USD/t")
    assert not page.error
    assert (
        document(page)["policy"] | {"objective": "weighted", "carbon_price": "150 USD/t"}
        == document(page)["policy"]
    )
    assert page.session_state["scenario.history"].past[-1].note == "policy.objective, policy.carbon_price"


def test_typing_what_stands_again_gives_a_refused_text_up(page: AppTest) -> None:
    """A person who corrects a slip by hand needs no button."""
    typed(page, BUDGET, "25")
    typed(page, BUDGET, "25 MUSD")

    assert not page.error
    assert "no edits" in said(page)


def test_an_undo_takes_what_waits_along(page: AppTest) -> None:
    """It was typed upon a scenario that stands no longer."""
    typed(page, PRICE, "150 USD/t")
    typed(page, BUDGET, "25")
    page.button("undo").click().run()

    assert (value(page, PRICE), value(page, BUDGET)) == ("200 USD/t", "25 MUSD")
    assert not page.error


def test_nothing_that_is_typed_ends_the_page(page: AppTest) -> None:
    """It is refused in a sentence, and the other inputs stand."""
    for text in ("**b**", "[x](http://y)", "9" * 400 + " USD", "inf USD", "1e400 USD", "-1 USD", "\x00"):
        typed(page, BUDGET, text)

        assert not page.exception, text
        assert page.error[0].value.startswith("Not applied")
        assert value(page, PRICE) == "200 USD/t"


# All inputs, text


def test_every_section_can_be_opened(page: AppTest) -> None:
    """Those that the scenario lacks say how to begin one; keys of each stand there with their default."""
    view(page, "All inputs")
    for name in [*page.selectbox("section").options]:
        page.selectbox("section").set_value("" if name == "title" else name).run()
        assert not page.exception, name
        empty = name in ("power_groups", "links", "rental", "contracts", "moves", "futures")
        assert bool(page.info) == empty, name


def test_a_key_of_an_entry_is_edited(page: AppTest) -> None:
    """Of the second site; a key that was not written is marked as such."""
    view(page, "All inputs").selectbox("section").set_value("sites").run()
    page.selectbox("entry-sites").set_value(1).run()
    typed(page, "oregon: Electricity price", "55 USD/MWh")

    assert document(page)["sites"][1]["electricity_price"] == "55 USD/MWh"
    assert "it was: not written" in said(page)


def test_the_engine_of_a_service_is_chosen(page: AppTest) -> None:
    """The known ones that serve, none that is for benchmarks; the newest is taken where none is written."""
    view(page, "All inputs").selectbox("section").set_value("services").run()
    (field,) = [one for one in page.selectbox if one.label.endswith("Engine")]
    known = [one for one in load_catalogue().engines.values() if not one.only]

    assert {one.name for one in known} <= set(field.options)
    assert "mlperf" not in field.options
    field.set_value("sglang").run()
    assert not page.exception
    assert document(page)["services"][0]["engine"] == "sglang"


def test_the_text_is_edited_as_a_whole(page: AppTest) -> None:
    """What checks is taken; what does not stays in its field, with every problem."""
    text = page.session_state["scenario.history"].now.text
    view(page, "Text").text_area[0].set_value(text.replace("racks = 40", "racks = 50")).run()
    assert document(page)["sites"][2]["racks"] == 50

    page.text_area[0].set_value("title = 1").run()
    assert "title: 1 is not text" in page.code[0].value
    assert "horizon: is missing" in page.code[0].value
    assert page.text_area[0].value == "title = 1"
    page.button("drop-text").click().run()
    assert page.text_area[0].value.startswith("# A real quarter")
    assert document(page)["sites"][2]["racks"] == 50


# Tables


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A session without a page: no test of Streamlit's can edit a table."""
    held: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", held)
    return held


def rows(
    edited: dict[int, Any] | None = None, added: list[Any] | None = None, deleted: list[int] | None = None
) -> Any:
    """What an editor of a table tells."""
    return {"edited_rows": edited or {}, "added_rows": added or [], "deleted_rows": deleted or []}


def test_all_tables_open(page: AppTest) -> None:
    """Fleet and market at once, the others by choice."""
    view(page, "Tables")
    assert [heading.value for heading in page.subheader][:2] == [
        "Today's fleet",
        "What can be bought",
    ]
    for name in page.selectbox("table").options:
        page.selectbox("table").select(name).run()
        assert not page.exception


def test_cells_rows_and_deletions_are_one_edit(state: dict[str, Any]) -> None:
    """As the browser tells them, numbers as floats and days as texts; an empty new row is none yet."""
    new = {"sku": "h200-8", "site": "hamina", "nodes": 8.0, "in_service": "2025-01-01", "life": "6 y"}
    scenario_edits.take_rows("fleet", rows({0: {"nodes": 70.0}}, [new, {}], [1]))

    fleet = tomllib.loads(session.draft().text)["fleet"]
    assert [row["nodes"] for row in fleet] == [70, 8]
    assert str(fleet[1]["in_service"]) == "2025-01-01"
    assert len(session.history().past) == 1


def test_a_row_that_is_not_whole_waits_under_its_table(state: dict[str, Any]) -> None:
    """The message names what is missing; nothing of it is in the scenario."""
    before = session.draft()
    scenario_edits.take_rows("fleet", rows(added=[{"sku": "h200-8"}]))

    waits = scenario_edits.waiting("fleet")
    assert "fleet[2].nodes: is missing" in waits.problem
    assert session.draft() == before


def test_a_refused_cell_stays_marked_after_a_good_edit(state: dict[str, Any]) -> None:
    """What the table shows and the scenario does not hold is told until it is mended."""
    scenario_edits.take_rows("sites", rows({0: {"pue": "9"}}))
    scenario_edits.take_rows("fleet", rows({0: {"nodes": 70.0}}))

    scenario = tomllib.loads(session.draft().text)
    assert (scenario["fleet"][0]["nodes"], scenario["sites"][0]["pue"]) == (70, 1.12)
    assert "sites.dallas.pue: 9 is out of range" in scenario_edits.waiting("sites").problem
    assert scenario_edits.not_taken() == ["sites, row 1, pue: '9' instead of '1.12'"]

    scenario_edits.take_rows("sites", rows({0: {"pue": "1.2"}}))
    assert tomllib.loads(session.draft().text)["sites"][0]["pue"] == 1.2
    assert scenario_edits.not_taken() == []


def test_an_editor_that_opens_again_shows_what_waits(state: dict[str, Any]) -> None:
    """Cells, a new row and a removed one; what is typed next comes upon them."""
    scenario_edits.take_rows("sites", rows({0: {"pue": "9"}}, [{"name": "new"}], [1]))
    seed = scenario_edits.seed_of("sites", "key of the new editor")
    shown = seed.upon(scenario_edits.rows_of("sites"))

    assert [(row["name"], row.get("pue")) for row in shown] == [
        ("dallas", "9"),
        ("hamina", 1.09),
        ("new", None),
    ]
    after = seed.then(rows({0: {"pue": "1.2"}, 2: {"pue": "1.3"}}, deleted=[1]), 3)
    assert after == scenario_edits.Rows(
        {0: {"pue": "1.2"}}, ({"name": "new", "pue": "1.3"},), frozenset({1, 2})
    )


def test_what_waits_is_taken_once_it_checks(state: dict[str, Any]) -> None:
    """A new row named a site that was not there; it stands as soon as the site does."""
    new = {"sku": "h200-8", "site": "lulea", "nodes": 8.0, "in_service": "2025-01-01", "life": "6 y"}
    scenario_edits.take_rows("fleet", rows(added=[new]))
    assert "'lulea' is no site here" in scenario_edits.waiting("fleet").problem
    site = {"name": "lulea", "grid": "gcp-us-south1", "pue": "1.1", "power_cap": "1 MW", "racks": 20.0}
    scenario_edits.take_rows("sites", rows(added=[site]))

    assert tomllib.loads(session.draft().text)["fleet"][-1]["site"] == "lulea"
    assert scenario_edits.not_taken() == []


def test_a_good_field_does_not_wait_for_a_refused_one(page: AppTest) -> None:
    """The good one is taken alone, the refused one stays in its field with its message."""
    typed(page, BUDGET, "25")
    typed(page, PRICE, "150 USD/t")

    policy = document(page)["policy"]
    assert (policy["budget"], policy["carbon_price"]) == ("25 MUSD", "150 USD/t")
    assert value(page, BUDGET) == "25"
    assert "'25' has no unit" in said(page)


def test_a_site_is_renamed_with_all_that_names_it(page: AppTest) -> None:
    """It was refused for the fleet that stood there."""
    view(page, "All inputs").selectbox("section").set_value("sites").run()
    typed(page, "dallas: Name", "frankfurt")

    assert not page.error
    scenario = document(page)
    assert scenario["sites"][0]["name"] == "frankfurt"
    assert {row["site"] for row in scenario["fleet"]} <= {site["name"] for site in scenario["sites"]}
    assert "dallas" not in [row["site"] for row in scenario["fleet"]]


def test_the_plan_tells_what_it_does_not_hold(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused edit is on the page Scenario: the plan is without it, and says so."""
    monkeypatch.setattr("planner.ui.plan_source.plan_of", lambda *_, **__: None)
    typed(page, BUDGET, "25")
    page.switch_page(str(PAGES / "plan.py")).run()

    assert page.warning[0].value.startswith("Not in this plan")
    assert "policy.budget: '25'" in said(page)


# Import


def test_a_shipped_scenario_is_opened(page: AppTest) -> None:
    """It takes the place of the one that stood, which is said."""
    view(page, "Import").selectbox("shipped").set_value("growth").run()
    page.button("open-shipped").click().run()

    assert "This is growth now" in page.success[0].value
    assert document(page)["title"].startswith("Growth")


def test_a_scenario_of_ones_own_is_seen_before_it_is_used(page: AppTest) -> None:
    """Counted first; used, it is what stands, under a name that is safe in a folder."""
    content = shared.scenario_text("serving-only").encode()
    bring(page, "My scenario").file_uploader("file-scenario").set_value(
        [("../my own.toml", content, "text/plain")]
    )
    page.run()
    assert page.subheader[0].value == "Recognised: a scenario"
    assert document(page)["title"].startswith("Next quarter")

    page.button("use").click().run()
    assert document(page)["title"].startswith("Serving chat and code")
    assert page.session_state["scenario.history"].now.name == "my own.toml"


def test_spreadsheets_become_a_scenario(page: AppTest) -> None:
    """What was read and what was assumed is seen first; a row that is wrong is told with its place."""
    files = {name: text.encode() for name, text in template_files().items()}
    bring(page, "My spreadsheets").file_uploader("file-sheets").set_value(
        [(name, content, "text/csv") for name, content in files.items()]
    )
    page.run()
    assert page.subheader[0].value == "Recognised: a scenario"
    assert any("assumed for chat" in each.value for each in (*page.markdown, *page.info, *page.caption))

    page.button("use").click().run()
    assert document(page)["sites"][0]["name"] == "frankfurt"

    wrong = [("fleet.csv", b"SKU,Site,Nodes\nz99,frankfurt,3\n", "text/csv")]
    bring(page, "My spreadsheets").file_uploader("file-sheets").set_value(wrong).run()
    assert "fleet.csv, line 2: sku: 'z99' is no node" in page.code[0].value


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([("a.toml", b"title = ", "")], "a.toml: end of document: this is not TOML"),
        ([("a.toml", b"\xff", "")], "a.toml: is not UTF-8 text"),
        ([("a.toml", b"title = 'x'", "")], "a.toml: horizon: is missing"),
        ([("a.json", b"{}", "")], "One TOML file is wanted, and there are 0."),
        ([("a.toml", b"", ""), ("b.toml", b"", "")], "One TOML file is wanted, and there are 2."),
    ],
)
def test_a_wrong_scenario_file_is_refused(page: AppTest, files: list[Any], message: str) -> None:
    """With every problem, and what stood still stands."""
    bring(page, "My scenario").file_uploader("file-scenario").set_value(files).run()

    assert message in said(page)
    assert not page.exception
    assert document(page)["title"].startswith("Next quarter")


def test_a_grid_series_is_told_and_used(page: AppTest) -> None:
    """Hours, times, unit and what would change, and then the site's own intensity."""
    content = b"time,kgco2e_per_kwh\n2026-01-01T00Z,0.2\n2026-01-01T01Z,0.2\n"
    bring(page, "My grid series").file_uploader("file-series").set_value(
        ("own.csv", content, "text/csv")
    ).run()
    assert page.subheader[0].value == "Recognised: an hourly grid series"
    assert "The file lacks months of 2027 Q1, 2027 Q2, 2027 Q3, 2027 Q4" in said(page)

    page.button("use").click().run()
    assert document(page)["sites"][0]["grid_intensity"] == "200 g/kWh"
    assert "In use now: the grid series own.csv at dallas." in said(page)


@pytest.mark.parametrize(
    ("kind", "key", "content", "message"),
    [
        ("My grid series", "file-series", b"a,b\n1,2\n", "no column of times among a, b"),
        ("My grid series", "file-series", b"time,value\n2026-01-01T00Z,3\n", "'value' says no unit"),
        ("My traffic trace", "file-traffic", b"a,b\n1,2\n", "neither times nor tokens among a, b"),
    ],
)
def test_a_file_of_no_use_says_why(page: AppTest, kind: str, key: str, content: bytes, message: str) -> None:
    """In the reader's own words, and the page goes on."""
    bring(page, kind).file_uploader(key).set_value(("own.csv", content, "text/csv")).run()

    assert message in page.code[0].value
    assert "cannot be used" in page.error[0].value
    assert not page.exception


def test_a_trace_says_what_was_left_out(page: AppTest) -> None:
    """Rows and reasons before it is used."""
    content = b"timestamp,context_tokens,generated_tokens\n2026-01-01T00:00Z,10,5\nsoon,10,5\n"
    bring(page, "My traffic trace").file_uploader("file-traffic").set_value(
        ("t.csv", content, "text/csv")
    ).run()
    assert page.warning[0].value == "Rows left out: 1"

    page.button("use").click().run()
    assert document(page)["services"][0]["tokens_in"] == 10


def test_without_a_service_there_is_no_traffic(page: AppTest) -> None:
    """The page says what to add."""
    view(page, "Import").selectbox("shipped").set_value("one-training-job").run()
    page.button("open-shipped").click().run()
    bring(page, "My traffic trace")

    assert "no service that a trace could be the traffic of" in page.info[0].value


def test_a_failure_log_is_fitted_beside_the_page(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fit lies beside the scenario once it is used; here the worker has it done at once."""
    noted: dict[str, Any] = {}
    monkeypatch.setattr(
        workers, "start", lambda task, **arguments: noted.update(arguments, task=task) or "key"
    )
    monkeypatch.setattr("planner.ui.progress.look_at", lambda key: Seen("done", result=fit_of("my log.csv")))
    bring(page, "My failure log").file_uploader("file-log").set_value(("my log.csv", b"x", "text/csv")).run()
    assert (noted["task"], noted["name"], noted["content"]) == ("fit-log", "my log.csv", b"x")
    assert page.subheader[0].value == "Recognised: a failure log"

    page.button("use").click().run()
    assert document(page)["reliability"]["log"] == "my log-fit.json"
    assert [name for name, _ in page.session_state["scenario.history"].now.files] == ["my log-fit.json"]
    page.button("undo").click().run()
    assert document(page)["reliability"]["failures"] == "meta-llama-3-405b"


def test_a_log_that_cannot_be_read_says_why(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's message, and nothing to use."""
    monkeypatch.setattr(workers, "start", lambda task, **arguments: "key")
    monkeypatch.setattr("planner.ui.progress.look_at", lambda key: Seen("failed", error="own.csv: no header"))
    bring(page, "My failure log").file_uploader("file-log").set_value(("own.csv", b"x", "text/csv")).run()

    assert "own.csv: no header" in said(page)
    assert not any(button.key == "use" for button in page.button)
