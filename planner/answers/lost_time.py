"""Lost time of training jobs by class: what it is of a restart, and the facts that it gives."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs.catalogue import Catalogue
from planner.inputs.own.adding import Measured
from planner.inputs.telemetry import LostTime
from planner.trace.numbers import count_text
from planner.trace.records import Record
from planner.trace.units import convert_factor

RECOVERY, RESTORE = "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION", "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME"
# Class of the library -> the part of a restart that it is.
PARTS = {
    RECOVERY: "detect and replace",
    "TPU_INITIALIZATION": "initialise",
    "TRAINING_PREP": "initialise",
    RESTORE: "load",
    "PROGRAM_STARTUP": "warm up",
}
# Part -> the fact that it is, of each start of a job.
OF_A_START = {"initialise": "reliability.initialisation_time", "warm up": "checkpoint.warm_up_time"}
DETECTION, SWAP, RESTART = (
    "reliability.detection_time",
    "reliability.swap_time",
    "reliability.restart_time",
)


def lost_rows(lost: LostTime) -> Iterator[Record]:
    """Each class with its hours, its share of all time, and the part of a restart that it is."""
    for name, seconds in sorted(lost.lost_s.items(), key=lambda item: -item[1]):
        yield {
            "lost_to": name.lower().replace("_", " "),
            "part": PARTS.get(name, ""),
            "lost_h": seconds / 3600.0,
            "share_fraction": seconds / lost.elapsed_s if lost.elapsed_s else None,
        }


def lost_facts(lost: LostTime, catalogue: Catalogue) -> Iterator[Measured]:
    """Mean parts of a restart, and the restart whole where jobs were stopped.

    A job starts once more than it is stopped. The time to detect a failure is that of the catalogue, as the
    library has it in its recovery.
    """
    starts = lost.stops + lost.jobs
    part_s = dict.fromkeys(PARTS.values(), 0.0)
    for name, part in PARTS.items():
        part_s[part] += lost.lost_s.get(name, 0.0)
    where = f"ml-goodput: {count_text(lost.jobs)} jobs, {count_text(lost.stops)} stops"

    def minutes(key: str, seconds: float, note: str) -> Iterator[Measured]:
        if seconds > 0:
            yield Measured(key, seconds / 60.0, "min", None, None, where, note=note)

    start_s = {part: part_s[part] / starts for part in OF_A_START} if starts else {}
    for part, seconds in start_s.items():
        yield from minutes(OF_A_START[part], seconds, "mean of all starts")
    if not lost.stops:
        return
    recovery_s, load_s = (part_s[part] / lost.stops for part in ("detect and replace", "load"))
    detection = catalogue.fact(DETECTION)
    detect_s = float(detection.value) * convert_factor(detection.unit, "s")
    if recovery_s > 0:
        yield from minutes(SWAP, recovery_s - detect_s, "mean of all stops, less the time to detect one")
        yield from minutes(
            RESTART,
            recovery_s + load_s + sum(start_s.values()),
            "mean: recovery and load of a stop, initialisation and first step of a start",
        )
