"""A scenario file of the user: checked whole before it takes the place of the one that stands."""

from __future__ import annotations

from collections.abc import Mapping

from planner.editing.checking import check
from planner.editing.found import Found
from planner.scenario import Problem, ScenarioError
from planner.store.kept import named_files


def scenario_text(name: str, content: bytes) -> str:
    """The text of a scenario file.

    Raises:
        ScenarioError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} is 0x{content[error.start]:02x}"
        problem = Problem("", f"is not UTF-8 text ({where}): save it as UTF-8")
        raise ScenarioError(name, [problem]) from None


def scenario_found(name: str, content: bytes, files: Mapping[str, bytes]) -> Found:
    """What a scenario file holds, with the files that it names beside it.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    scenario = check(scenario_text(name, content), name, files)
    horizon, used = scenario.horizon, set(named_files(scenario))
    used |= {scenario.performance.calibration} if scenario.performance.calibration else set()
    counts = {
        "sites": scenario.sites, "cohorts of the fleet": scenario.fleet, "offers": scenario.market,
        "training jobs": scenario.training, "pools": scenario.pools, "services": scenario.services,
    }  # fmt: skip
    return Found(
        what="a scenario",
        facts=(
            ("title", scenario.title),
            ("time", f"{horizon.period_labels[0]} to {horizon.period_labels[-1]}, {horizon.periods} periods"),
            *((what, f"{len(entries):,}") for what, entries in counts.items() if entries),
            *(("file beside it", file) for file in sorted(used)),
        ),
        notes=tuple(f"{file} is named nowhere: it is left out." for file in sorted(set(files) - used)),
        files=tuple((file, files[file]) for file in sorted(used)),
    )
