"""Make data/solved/next-quarter-*.json.gz and validation.json.gz: what pages of the app open with.

    python -m benchmarks.studies.examples_front [front] [front_of_time] [compared] [validation]

Takes some ten minutes; what is shipped is used as long as scenario, facts and version are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from planner.answers.plan.document import plan_document
from planner.answers.saved.compare import flat_inputs
from planner.answers.saved.side_by_side import Compared, side_by_side
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import Scenario, canonical_text, load_scenario, with_changes
from planner.program.plan import plan_fleet
from planner.trace.records import Record
from planner.ui.workers import Step
from planner.ui.workers.shipped import NAMES, SCENARIO, VALIDATION, published_text, write_shipped
from planner.ui.workers.tradeoffs import POINTS, front, front_of_time
from planner.validation import validate

PATH = data_folder() / "scenarios" / f"{SCENARIO}.toml"
# The cleanest plans are the hardest to prove; the gap of the front of time is half a per cent.
WIDEST_GAP = 0.12
PROVEN = {"optimal", "within gap", "time limit"}  # each point says how far it is proven
VARIANTS: dict[str, dict[str, Any]] = {
    "As today": {"market": None},
    "Unchanged": {},
    "Cost only": {"policy.objective": "money", "policy.carbon_price": None},
}


def tell(text: str = "", *, step: Step | None = None, part: Record | None = None) -> None:
    """Say how far it is."""
    if text:
        print(text, file=sys.stderr)


def compared(scenario: Scenario) -> Record:
    """The quarter next to its baselines, each a scenario of its own."""
    plans, scenarios = [], []
    for title, changes in VARIANTS.items():
        tell(f"planning: {title}")
        changed = with_changes(scenario, changes)
        document = plan_document(plan_fleet(changed, catalogue=load_catalogue()))
        head = {"digest": "", "title": title, "saved": "", "status": document["status"]["name"]}
        plans.append(Compared(head, flat_inputs(changed), document))
        scenarios.append({"name": PATH.name, "text": canonical_text(changed), "files": {}})
    return side_by_side(plans) | {"scenarios": scenarios}


def write_all(names: Sequence[str]) -> None:
    """Make those that are named."""
    text = PATH.read_text(encoding="utf-8")
    question = {"name": PATH.name, "text": text, "files": {}, "points": POINTS}
    made = {
        "compared": lambda: compared(load_scenario(PATH)),
        "front_of_time": lambda: front_of_time(question, tell, lambda: False),
        "front": lambda: front(question, tell, lambda: False),
    }
    for name in names:
        if name == VALIDATION:
            write_shipped(name, published_text(), validate())
            continue
        answer = made[name]()
        check_proven(name, answer)
        write_shipped(name, text, answer)


def check_proven(name: str, answer: Record) -> None:
    """Refuse plans that time cut short: a busy machine must not decide what is shown."""
    rows = [row for section in answer.get("sections", {}).values() for row in section["tables"].values()]
    found = [*answer.get("beside", []), *(row for table in rows for row in table)]
    gaps = [row["gap_fraction"] for row in found]
    states = {plan["status"] for plan in answer.get("plans", []) if "status" in plan}
    if any(gap is None or gap > WIDEST_GAP for gap in gaps) or states - PROVEN:
        raise RuntimeError(f"{name}: not every plan was proven in its time; make it on a quieter machine")


if __name__ == "__main__":
    write_all(sys.argv[1:] or (*NAMES, VALIDATION))
