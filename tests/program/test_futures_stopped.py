"""One yes to `should_stop` ends all solves of a search over futures: what is known is kept and said."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from planner.answers.futures import futures_document, plan_futures
from planner.answers.futures.commands import replay_document, replay_text
from planner.answers.futures.document import AIMS
from planner.inputs.loading import data_folder
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.inputs.scenario.schema_futures import Future
from planner.program.replay import replay
from solver.verify import verify

FUTURES = [
    {"name": "as stated", "probability": 0.75},
    {"name": "less to learn", "probability": 0.25, "tokens": 0.9},
]


@dataclass
class Impatient:
    """Asks to stop from the moment on at which the work says a certain thing."""

    after: str
    heard: list[str] = field(default_factory=list)

    def watch(self, text: str) -> None:
        self.heard.append(text)

    def should_stop(self) -> bool:
        return any(self.after in text for text in self.heard)


@pytest.fixture
def scenario() -> Scenario:
    """One training run that may come out shorter; it is served by the plan for the mean future."""
    stated = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    return with_changes(stated, {"futures": FUTURES})


def test_stopped_among_the_futures(scenario: Scenario) -> None:
    """The second future is not begun, no plan for all is there, and neither is called impossible."""
    impatient = Impatient("future as stated")
    found = plan_futures(scenario, watch=impatient.watch, should_stop=impatient.should_stop)
    document = futures_document(found)

    assert impatient.heard[-1] == "future as stated: the best plan if it were known"
    assert (found.stopped, found.hedge, len(found.known)) == (True, None, 1)
    assert document["status"]["verified"] is False
    assert document["headline"] == [
        "Stopped on request before there was one plan for all futures; 1 of 2 were looked at alone."
    ]


def test_stopped_while_futures_are_drawn(scenario: Scenario) -> None:
    """Draws are weighed by plans of their own, which end as well; of the futures none is looked at."""
    drawing = {"futures": None, "uncertainty": {"draws": 4, "reduce_to": 2, "seed": 1, "demand": [0.8, 1.3]}}
    impatient = Impatient("drawing 4 futures")
    found = plan_futures(
        with_changes(scenario, drawing), watch=impatient.watch, should_stop=impatient.should_stop
    )

    assert (found.stopped, found.hedge, len(found.known)) == (True, None, 0)
    assert not any("the best plan if it were known" in text for text in impatient.heard)


def test_stopped_before_they_are_weighed_together(scenario: Scenario) -> None:
    """Both are known, and the last search is not begun."""
    impatient = Impatient("the plan for the mean future")
    found = plan_futures(scenario, watch=impatient.watch, should_stop=impatient.should_stop)

    assert "one plan for all futures" not in impatient.heard
    assert (found.stopped, found.hedge, len(found.known)) == (True, None, 2)


def test_stopped_in_the_last_search(scenario: Scenario) -> None:
    """The plan that it started from is kept, checked, and the answer says that it is not proved."""
    impatient = Impatient("one plan for all futures")
    found = plan_futures(scenario, watch=impatient.watch, should_stop=impatient.should_stop)

    assert found.hedge is not None
    for problem, plan in zip(found.together.problems, found.hedge.plans, strict=True):
        assert verify(problem, plan, 1e-6) == []
    assert len(found.hedge.plans) == 2
    text = futures_document(found)["status"]["text"]
    assert AIMS["expected"] in text


def test_a_replay_stopped_in_its_second_period(scenario: Scenario) -> None:
    """The plan of the first stays; what that comes to is not known, which is not that there is no plan."""
    impatient = Impatient("planning in 2027 Q2")
    played = replay(
        with_changes(scenario, {"futures": None}),
        Future.model_construct(name="as stated", probability_fraction=1.0),
        watch=impatient.watch,
        should_stop=impatient.should_stop,
    )
    document = replay_document(played)

    assert (played.stopped, len(played.made), played.again) == (True, 1, None)
    assert document["status"] == {
        "verified": False,
        "text": "Stopped on request: 1 of 2 periods were planned.",
    }
    assert replay_text(document).count("not known") == 2


def test_somebody_who_does_not_ask_stops_nothing(scenario: Scenario) -> None:
    """The same answer with and without somebody who could have stopped it."""
    stated = with_changes(scenario, {"futures": None})
    came = Future.model_construct(name="more to learn", probability_fraction=1.0, tokens_ratio=1.1)
    impatient = Impatient("never said")
    watched = replay_document(replay(stated, came, watch=impatient.watch, should_stop=impatient.should_stop))

    assert watched == replay_document(replay(stated, came))
    assert watched["stopped"] is False
