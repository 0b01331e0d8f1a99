"""What the planning worker does, without its process: it plans, saves, and says how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.inputs.scenario import canonical_text, digest, load_scenario
from planner.store import open_store
from planner.trace.errors import InputError
from planner.ui.workers import Step
from planner.ui.workers.planning import plan, program, save
from solver.backend import Progress

SCENARIO = Path(__file__).resolve().parents[2] / "data" / "scenarios" / "one-training-job.toml"


class Heard:
    """What a task tells."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.steps: list[Step] = []
        self.parts: list[dict[str, Any]] = []

    def __call__(
        self, text: str = "", *, step: Step | None = None, part: dict[str, Any] | None = None
    ) -> None:
        if text:
            self.texts.append(text)
        if step is not None:
            self.steps.append(step)
        if part is not None:
            self.parts.append(part)


def question(store: Path, **more: Any) -> dict[str, Any]:
    text = SCENARIO.read_text(encoding="utf-8")
    return {"name": SCENARIO.name, "text": text, "files": {}, "store_address": str(store)} | more


def go_on() -> bool:
    return False


def test_a_plan_is_saved_by_who_made_it(tmp_path: Path) -> None:
    """The digest that it gives opens the same document; the scenario beside it is the one that was sent."""
    heard = Heard()
    found = plan(question(tmp_path / "plans.sqlite"), heard, go_on)
    store = open_store(str(tmp_path / "plans.sqlite"))

    assert found["document"]["status"]["name"] == "optimal"
    assert found["unsaved"] == ""
    assert store.document(found["saved"])["headline"] == found["document"]["headline"]
    assert store.plan(found["saved"]).scenario == digest(load_scenario(SCENARIO))
    assert found["scenario"] == {"name": SCENARIO.name, "text": SCENARIO.read_text(encoding="utf-8")}
    assert heard.parts == [{"unit": "USD"}]
    assert heard.texts[0] == "working out what each option takes"


@pytest.mark.nightly
def test_a_store_that_fails_costs_the_save_and_not_the_plan(tmp_path: Path) -> None:
    """A file that is no database: the reason is given, the plan too; another store takes it afterwards."""
    broken = tmp_path / "broken.sqlite"
    broken.write_text("no database at all, however long one looks at it" * 20, encoding="utf-8")
    found = plan(question(broken), Heard(), go_on)
    kept = save(question(tmp_path / "good.sqlite", document=found["document"]), Heard(), go_on)

    assert found["saved"] is None
    assert "it is not a SQLite database" in found["unsaved"]
    assert found["document"]["status"]["verified"] is True
    assert open_store(str(tmp_path / "good.sqlite")).plan(kept["saved"]).title == found["document"]["title"]


def test_read_only_keeps_nothing_whatever_a_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has the last word: a store that a page names is not even made."""
    monkeypatch.setenv("EVERFLEET_READ_ONLY", "1")
    store = tmp_path / "plans.sqlite"
    made = plan(question(store), Heard(), go_on)

    assert made["document"]["status"]["name"] == "optimal"
    for found in (made, save(question(store, document=made["document"]), Heard(), go_on)):
        assert (found["saved"], found["unsaved"]) == (None, "")
    assert not store.exists()
    monkeypatch.setenv("EVERFLEET_READ_ONLY", "0")
    assert save(question(store, document=made["document"]), Heard(), go_on)["saved"]


@pytest.mark.nightly
def test_what_limits_are_worth_comes_after_the_plan(tmp_path: Path) -> None:
    """The plan is there, and saved, before its prices are looked for; less work is always worth something."""
    quarter = {
        "horizon.periods": 1,
        "pools.fine-tuning.gpu_time": ["160000 h"],
        "services.chat.peak_rate": ["24 /s"],
    }
    text = canonical_text(load_scenario(SCENARIO.with_name("tight-power.toml"), quarter))
    heard = Heard()
    found = plan(question(tmp_path / "plans.sqlite", prices=True) | {"text": text}, heard, go_on)
    early = heard.parts[-1]
    prices = {(row["limit"], row["where"]) for row in found["document"]["tables"]["prices"]}

    assert early["saved"] is not None
    assert early["document"]["headline"] == found["document"]["headline"]
    assert early["document"]["tables"]["prices"] == []
    assert {("demand", "chat"), ("work", "fine-tuning")} <= prices
    assert heard.texts.count("looking for what the limits are worth") == 1


@pytest.mark.nightly
def test_services_are_played_after_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is there, and saved, before they are; asked to stop while they are played, it stays."""
    monkeypatch.setattr("planner.answers.plan.verified.SECONDS", 5.0)
    changes = {"horizon.periods": 1, "services.code.peak_rate": "6 /s", "services.chat.peak_rate": "40 /s"}
    text = canonical_text(load_scenario(SCENARIO.with_name("serving-only.toml"), changes))
    heard = Heard()
    wanted = question(tmp_path / "plans.sqlite", verify=True) | {"text": text}
    found = plan(wanted, heard, go_on)
    later = Heard()
    stopped = plan(wanted, later, lambda: any("request by request" in said for said in later.texts))

    assert "verification" not in heard.parts[-1]["document"]
    assert {row["service"] for row in found["document"]["verification"]["rows"]} == {"chat", "code"}
    assert stopped["saved"] is not None
    assert "verification" not in stopped["document"]


def test_the_program_is_that_of_the_scenario(tmp_path: Path) -> None:
    """The text begins as an LP file does, and asks for the job of the scenario by its name."""
    text = program(question(tmp_path / "plans.sqlite"), Heard(), go_on)["lp"]

    assert "\nMinimize\n" in f"\n{text}"
    assert "train_8b" in text.replace("-", "_")


def test_a_wrong_scenario_is_refused_in_the_words_of_the_check(tmp_path: Path) -> None:
    wrong = question(tmp_path / "plans.sqlite") | {"text": 'title = "mine"\n', "name": "mine.toml"}
    with pytest.raises(InputError, match=r"mine\.toml: horizon"):
        plan(wrong, Heard(), go_on)


def test_values_and_names_are_refused_together(tmp_path: Path) -> None:
    """A grid that nobody knows was told only once the number of periods was right, unlike by `check`."""
    text = question(tmp_path)["text"].replace("periods = ", "periods = 0  # ").replace('"se"', '"mars"')
    for work in (plan, program):
        with pytest.raises(InputError) as raised:
            work(question(tmp_path, text=text), Heard(), go_on)
        said = str(raised.value)
        assert "horizon.periods: 0 is out of range" in said
        assert "no grid region 'mars'" in said


def test_asked_to_stop_at_once_it_ends_with_what_there_is(tmp_path: Path) -> None:
    """What was there is told and saved; nothing further is looked for."""
    found = plan(question(tmp_path / "plans.sqlite", prices=True), Heard(), lambda: True)

    assert open_store(str(tmp_path / "plans.sqlite")).plan(found["saved"]).title == found["document"]["title"]
    assert found["document"]["tables"]["prices"] == []


def test_progress_is_told_where_something_has_changed() -> None:
    """Two looks at the same bounds are one step; what is not known yet is told as None."""
    from planner.ui.workers.planning import _steps

    heard = Heard()
    step = _steps(heard)
    infinite = float("inf")
    for seen in (
        Progress(infinite, -infinite, infinite, 0.1),
        Progress(infinite, -infinite, infinite, 0.2),
        Progress(5.0, 4.0, 0.2, 0.3),
    ):
        step(seen)

    assert heard.steps == [Step(0.1, None, None, None), Step(0.3, 5.0, 4.0, 0.2)]
