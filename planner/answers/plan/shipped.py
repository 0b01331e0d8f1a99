"""Shipped scenarios that are shipped solved too, so that the app has something real to show at once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path, PurePath

from planner.answers.plan.document import plan_document, version_here
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import digest, load_scenario, parse_scenario
from planner.program.plan import plan_fleet
from planner.report.editions import up_to_date
from planner.trace.errors import InputError
from planner.trace.records import Record

SOLVED = ("next-quarter",)


def solved_plan(text: str, name: str) -> Record | None:
    """The document of a scenario as it was shipped; None where it would come out otherwise here.

    It stands for a plan made anew as long as the scenario says the same, the facts are the same and so is
    everfleet.
    """
    stem = PurePath(name).stem
    if stem not in SOLVED:
        return None
    document = read_solved(solved_path(stem))
    try:
        stated = digest(parse_scenario(text, name))
    except InputError:  # the planning of it will say what is wrong
        return None
    made_from = document["scenario_digest"], document["facts_digest"], document["everfleet"]
    return document if made_from == (stated, load_catalogue().digest, version_here()) else None


def solved_path(stem: str) -> Path:
    """Where the document of a shipped scenario lies."""
    return data_folder() / "solved" / f"{stem}.json.gz"


def read_solved(path: Path) -> Record:
    """The document in a file."""
    return up_to_date(json.loads(gzip.decompress(path.read_bytes())))


def write_solved(stem: str) -> Path:
    """Plan a shipped scenario and write its document, the same bytes for the same document.

    Raises:
        RuntimeError: time ran out before the plan was proven: a busy machine must not decide what is shown.
    """
    scenario = load_scenario(data_folder() / "scenarios" / f"{stem}.toml")
    check_scenario(scenario, load_catalogue())
    document = plan_document(plan_fleet(scenario))
    if document["status"]["name"] not in ("optimal", "within gap"):
        raise RuntimeError(f"{stem}: {document['status']['text']}")
    text = json.dumps(document, separators=(",", ":"))
    path = solved_path(stem)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path
