"""Any metered file: what wrote it is seen from its columns, and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.inputs.metering.boards import BoardSettings, board_energy, dmon_table, is_dmon
from planner.inputs.metering.codecarbon import NEEDED, run_energy
from planner.inputs.metering.result import COVERS, Covers, MeteredEnergy
from planner.inputs.metering.slurm import ENERGIES, JOB, job_energy
from planner.inputs.metering.table import Table, make_table, read_lines
from planner.trace.errors import InputError

EXPECTED = """is none of the metered files that can be read:
  emissions.csv of CodeCarbon (columns duration and energy_consumed)
  nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv
  a table of DCGM with a time stamp, a GPU and DCGM_FI_DEV_POWER_USAGE or DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION
  dcgmi dmon -e 155,156
  sacct -P --format=JobID,ElapsedRaw,AllocNodes,AllocTRES,Start,End,ConsumedEnergyRaw"""


def read_metered(
    path: Path | str,
    *,
    zone: str | None = None,
    columns: Sequence[str] | None = None,
    interval_s: float | None = None,
    accelerators: int | None = None,
    covers: Covers | None = None,
    gap_intervals: float = 10.0,
    keep_bad_rows: int = 20,
) -> MeteredEnergy:
    """Energy in a file of CodeCarbon, nvidia-smi, DCGM or Slurm, never with PUE.

    Samples of power are joined by trapezoids. A time without a sample that is longer than `gap_intervals`
    median intervals is not bridged but counted. Of rows that cannot be read, the first `keep_bad_rows` are
    named, and how many there are is noted. What a file does not say is requested: the `zone` of its stamps;
    its `columns` where it has no header; `interval_s` between samples without stamps; the number of
    `accelerators`; what Slurm's energy plugin `covers`.

    Raises:
        InputError: the file is of another kind, lacks a column, or holds nothing that can be read.
    """
    path = Path(path)
    _check(path, covers, accelerators)
    lines = read_lines(path)
    settings = BoardSettings(zone, interval_s, accelerators, gap_intervals)
    if is_dmon(lines):
        metered = board_energy(dmon_table(path.name, lines), "dcgmi dmon", settings)
    else:
        table = make_table(path.name, lines, columns)
        _check_header(table)
        if all(table.has(column) for column in NEEDED):
            metered = run_energy(table, zone)
        elif table.has(JOB):
            metered = job_energy(table, zone=zone, covers=covers, accelerators=accelerators)
        else:
            tool = "dcgm" if any(name.startswith("dcgm_fi_") for name in table.header) else "nvidia-smi"
            metered = board_energy(table, tool, settings)
    return _shortened(metered, keep_bad_rows)


def _check(path: Path, covers: str | None, accelerators: int | None) -> None:
    problems = []
    if covers is not None and covers not in COVERS:
        problems.append(f"covers is one of {', '.join(COVERS)}, got '{covers}'")
    if accelerators is not None and accelerators < 1:
        problems.append(f"accelerators is at least 1, got {accelerators}")
    if problems:
        raise InputError("\n".join(f"{path.name}: {problem}" for problem in problems))


def _check_header(table: Table) -> None:
    """Refuse a file of another kind; say what it has, and what is likely where that can be seen."""
    header = table.header
    boards = any(
        name.startswith(("power.draw", "dcgm_fi_dev_power", "dcgm_fi_dev_total_energy")) for name in header
    )
    runs = all(name in header for name in NEEDED)
    jobs = JOB in header and any(name in header for name in ENERGIES)
    if boards or runs or jobs:
        return
    likely = ""
    if JOB in header:
        likely = "\nIt is of sacct, but without energy: ask for ConsumedEnergyRaw."
    elif header and header[0].split()[:1] == [JOB]:
        likely = "\nIt looks like sacct in columns of fixed width: write it with -P."
    elif header and header[0][:4].isdigit():
        likely = "\nIt seems to have no header: name its columns, such as timestamp,index,power.draw."
    raise InputError(f"{table.name}: {EXPECTED}\nIts columns are: {', '.join(header)}.{likely}")


def _shortened(metered: MeteredEnergy, keep_bad_rows: int) -> MeteredEnergy:
    rows = sorted(metered.bad_rows, key=lambda row: row.line)
    notes = dict.fromkeys(metered.notes)  # two columns of one file are likely to have the same faults
    if rows:
        notes[f"rows left out because they could not be read: {len({row.line for row in rows})}"] = None
    return replace(metered, notes=tuple(notes), bad_rows=tuple(rows[:keep_bad_rows]))
