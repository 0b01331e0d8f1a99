"""Plans that are shipped solved: current, and used only as long as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.answers.plan import shipped
from planner.answers.plan.document import version_here
from planner.answers.plan.shipped import SOLVED, read_solved, solved_path, solved_plan
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import digest, load_scenario


@pytest.fixture
def text() -> str:
    return (data_folder() / "scenarios" / "next-quarter.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("stem", SOLVED)
def test_what_is_shipped_is_current(stem: str) -> None:
    """Made from this scenario, these facts and this version; if not, run `make examples`."""
    document = read_solved(solved_path(stem))
    scenario = load_scenario(data_folder() / "scenarios" / f"{stem}.toml")

    assert document["scenario_digest"] == digest(scenario)
    assert document["facts_digest"] == load_catalogue().digest
    assert document["everfleet"] == version_here()
    assert document["status"]["name"] in ("optimal", "within gap")
    assert document["tables"]["energy"], "with all that the pages draw"


def shipped_as(monkeypatch: pytest.MonkeyPatch, text: str, **changes: Any) -> None:
    """As if the plan had been made from this text, these facts and this version, but for the changes."""
    scenario = load_scenario(data_folder() / "scenarios" / "next-quarter.toml")
    made_from = {
        "scenario_digest": digest(scenario),
        "facts_digest": load_catalogue().digest,
        "everfleet": version_here(),
    }
    monkeypatch.setattr(shipped, "read_solved", lambda path: made_from | changes)


def test_it_stands_for_a_plan_made_anew(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A comment more changes nothing that is planned; another price does."""
    shipped_as(monkeypatch, text)

    assert solved_plan(text, "next-quarter.toml") is not None
    assert solved_plan(f"# mine\n{text}", "next-quarter.toml") is not None
    assert solved_plan(text.replace("200 USD/t", "300 USD/t"), "next-quarter.toml") is None
    assert solved_plan("no scenario", "next-quarter.toml") is None
    assert solved_plan(text, "mine.toml") is None
    assert solved_plan(text, "../next-quarter-front.toml") is None


@pytest.mark.parametrize("stale", ["facts_digest", "everfleet"])
def test_one_of_other_facts_or_another_version_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, text: str, stale: str
) -> None:
    shipped_as(monkeypatch, text, **{stale: "other"})

    assert solved_plan(text, "next-quarter.toml") is None


def test_a_plan_that_was_cut_short_is_not_shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A busy machine must not decide what the app opens with."""
    status = {"name": "time limit", "text": "Stopped early; at most 2.7 % above the best."}
    monkeypatch.setattr(shipped, "plan_fleet", lambda scenario: None)
    monkeypatch.setattr(shipped, "plan_document", lambda plan: {"status": status})
    monkeypatch.setattr(shipped, "solved_path", lambda stem: tmp_path / f"{stem}.json.gz")
    with pytest.raises(RuntimeError, match="Stopped early"):
        shipped.write_solved("next-quarter")
    assert not list(tmp_path.iterdir())

    status["name"] = "within gap"
    path = shipped.write_solved("next-quarter")
    assert read_solved(path) == {"status": status}
    assert shipped.write_solved("next-quarter").read_bytes() == path.read_bytes()
