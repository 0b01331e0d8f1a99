"""Energy of jobs from Slurm's accounting: `sacct -P` with ConsumedEnergyRaw."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from planner.inputs.metering.result import BadRow, Covers, MeteredEnergy
from planner.inputs.metering.stamps import find_zone, moment, seconds_of
from planner.inputs.metering.table import Table
from planner.trace.errors import InputError
from planner.trace.units import convert_factor

JOB = "jobid"
ENERGIES = ("consumedenergyraw", "consumedenergy", "tresusageintot")

_JOULES = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<scale>[KMGTP]?)")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_TRES_ENERGY = re.compile(r"(?:\A|,)energy=(\d+)")
_TRES_GPUS = re.compile(r"(?:\A|,)gres/gpu=(\d+)")
_ELAPSED = re.compile(r"(?:(?P<d>\d+)-)?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+)(?:\.\d+)?")
_NOT_MEASURED = 2.0**63  # an unsigned -1 or -2, by which Slurm says that it has no value


@dataclass
class _Job:
    """One job: its own row, and the energy of its steps."""

    line: int = 0
    energy_j: float | None = None
    steps_j: dict[str, float] = field(default_factory=dict)
    elapsed_h: float | None = None
    accelerators: int | None = None
    nodes: int | None = None


def job_energy(
    table: Table, *, zone: str | None, covers: Covers | None, accelerators: int | None
) -> MeteredEnergy:
    """Energy of all jobs in the file.

    A job's own row counts where it has energy: Slurm fills it from the external step, which spans all nodes
    and hours, or else adds all steps. Where it has none, its external step counts, else the batch step of a
    job on one node, else its numbered steps.

    Raises:
        InputError: no job has energy and hours.
    """
    jobs = _jobs(table)
    chosen = {name: _energy_j(table, name, job) for name, job in jobs.items()}
    counted = {name: j for name, j in chosen.items() if j is not None and jobs[name].elapsed_h is not None}
    if not counted:
        problem = "no job has energy and elapsed time; is an acct_gather_energy plugin configured?"
        raise InputError("\n".join(f"{table.name}: {text}" for text in (problem, *table.bad_rows[:3])))
    hours = [jobs[name].elapsed_h or 0.0 for name in counted]
    counts = [accelerators if accelerators is not None else jobs[name].accelerators for name in counted]
    known = [count for count in counts if count is not None]
    complete = len(known) == len(counts)
    energy_kwh = sum(counted.values()) * convert_factor("J", "kWh")
    if covers is None:
        table.notes.append("sacct does not name the plugin that measured: say what it covers")
    table.notes.append("a job that shared a node was charged the whole node's energy")
    ends, in_utc = _window(table, zone, counted)
    return MeteredEnergy(
        tool="slurm",
        it_kwh=energy_kwh,
        accelerators_kwh=energy_kwh if covers == "accelerators" else None,
        duration_h=sum(hours),
        accelerators=max(known) if complete else None,
        accelerator_h=sum(h * n for h, n in zip(hours, known, strict=True)) if complete else None,
        covers=covers or "unstated",
        first=moment(ends[0], in_utc) if ends else None,
        last=moment(ends[1], in_utc) if ends else None,
        gaps_h=0.0,
        places=(),
        notes=tuple(table.notes),
        bad_rows=tuple(table.bad_rows),
    )


def _jobs(table: Table) -> dict[str, _Job]:
    jobs: dict[str, _Job] = {}
    for line, row in _records(table):
        name, _, step = row[JOB].partition(".")
        job = jobs.setdefault(name, _Job(line))
        energy_j = _joules(table, line, row)
        if step:
            if energy_j:
                job.steps_j[step] = energy_j
            continue
        job.line, job.energy_j = line, energy_j
        job.elapsed_h = _elapsed_h(table, line, row)
        counted = _TRES_GPUS.search(row.get("alloctres", ""))
        job.accelerators = int(counted[1]) if counted else None
        nodes = row.get("allocnodes") or row.get("nnodes") or ""
        job.nodes = int(nodes) if nodes.isdigit() else None
    return jobs


def _records(table: Table) -> Iterator[tuple[int, dict[str, str]]]:
    for line, row in zip(table.lines, table.rows, strict=True):
        yield line, dict(zip(table.header, (cell.strip() for cell in row), strict=True))


def _joules(table: Table, line: int, row: dict[str, str]) -> float | None:
    """Energy of a row by the first of its columns that says one; None where none was measured."""
    for column in ENERGIES:
        cell = row.get(column, "")
        if column == "tresusageintot":
            found = _TRES_ENERGY.search(cell)
            cell = found[1] if found else ""
        if not cell:
            continue
        said = _JOULES.fullmatch(cell)
        joules = float(said["number"]) * _SCALES[said["scale"]] if said else np.nan
        if joules < _NOT_MEASURED:
            return joules
        reason = (
            f"{column} is '{cell}', not joules" if said is None else f"{column} {cell} means: not measured"
        )
        table.bad_rows.append(BadRow(line, reason))
        return None
    return None


def _elapsed_h(table: Table, line: int, row: dict[str, str]) -> float | None:
    raw = row.get("elapsedraw", "")
    if raw.isdigit():
        return int(raw) / 3600
    said = _ELAPSED.fullmatch(row.get("elapsed", ""))
    if said is None:
        table.bad_rows.append(BadRow(line, "has no elapsed time; ask sacct for ElapsedRaw"))
        return None
    days, hours, minutes, seconds = (int(said[part] or 0) for part in "dhms")
    return days * 24 + hours + minutes / 60 + seconds / 3600


def _energy_j(table: Table, name: str, job: _Job) -> float | None:
    """Energy of a job from its own row or from the steps that hold it once; None where it has none."""
    steps = job.steps_j
    numbered = sum(j for step, j in steps.items() if step not in ("batch", "extern", "interactive"))
    if job.energy_j:
        if "extern" not in steps and steps.get("batch") and numbered:
            table.notes.append(
                f"job {name}: Slurm added the batch step and the steps run inside it, so that its first node "
                "counts twice; PrologFlags=Contain mends that for later jobs"
            )
        return job.energy_j
    if "extern" in steps:
        table.notes.append(f"job {name}: energy is of its external step")
        return steps["extern"]
    if "batch" in steps and (job.nodes == 1 or not numbered):
        if job.nodes != 1:
            table.notes.append(
                f"job {name}: energy is of the first of its nodes, on which the batch step ran"
            )
        return steps["batch"]
    if numbered:
        table.notes.append(
            f"job {name}: energy is of its steps; what its nodes drew between them is not in it"
        )
        return numbered
    table.bad_rows.append(BadRow(job.line, f"job {name} has no energy"))
    return None


def _window(
    table: Table, zone: str | None, counted: Collection[str]
) -> tuple[tuple[float, float] | None, bool]:
    """From the first start to the last end of the jobs that count, where their own rows say both."""
    if not (table.has("start") and table.has("end")):
        return None, False
    known = [
        i
        for i, (_, row) in enumerate(_records(table))
        if row[JOB] in counted and row["start"][:1].isdigit() and row["end"][:1].isdigit()
    ]
    if not known:
        return None, False
    rows, lines = [table.rows[i] for i in known], [table.lines[i] for i in known]
    dated = replace(table, rows=rows, lines=lines)
    place = find_zone(zone)
    starts_s, in_utc = seconds_of(dated, "start", place)
    ends_s, _ = seconds_of(dated, "end", place)
    if np.isnan(starts_s).all() or np.isnan(ends_s).all():
        return None, False
    return (float(np.nanmin(starts_s)), float(np.nanmax(ends_s))), in_utc
