"""A file of monitoring, told by its content."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from planner.inputs.files import LARGEST_BYTES, limited_lines, parse_json, read_limited
from planner.inputs.telemetry.gcm import is_gcm, read_records
from planner.inputs.telemetry.goodput import LostTime, is_goodput, read_goodput
from planner.inputs.telemetry.otlp import is_otlp, read_export
from planner.inputs.telemetry.prometheus import is_prometheus, read_answer, read_scrapes
from planner.inputs.telemetry.samples import COLUMNS, Samples
from planner.inputs.telemetry.slurm_json import SlurmJobs, is_slurm, read_jobs
from planner.trace.errors import InputError

GZIP = b"\x1f\x8b"
EXPECTED = (
    "is no monitoring that can be read: the JSON of Prometheus' query_range, the text of an exporter, "
    "metrics as OTLP JSON, sacct --json, records of GCM, or time series of ml-goodput; gzip or not"
)


@dataclass(frozen=True)
class Telemetry:
    """All files together: samples (columns of `COLUMNS`), jobs, lost time, what was left out, and formats."""

    frame: pd.DataFrame
    jobs: tuple[SlurmJobs, ...]
    lost: tuple[LostTime, ...]
    files: tuple[tuple[str, str], ...]  # name and format
    notes: tuple[str, ...]


def read_telemetry(paths: Sequence[Path], *, interval_s: float | None = None) -> Telemetry:
    """What files of monitoring say.

    Args:
        paths: Prometheus, OTLP, Slurm, GCM or ml-goodput, each packed by gzip or not.
        interval_s: seconds between scrapes whose samples have no time.

    Raises:
        InputError: a file cannot be read, is of no such format, or is too large.
    """
    if interval_s is not None and not 0 < interval_s < 1e6:
        raise InputError(f"--interval: is a number of seconds above 0, got {interval_s:g}")
    frames, files, notes = list[pd.DataFrame](), list[tuple[str, str]](), list[str]()
    jobs, lost = list[SlurmJobs](), list[LostTime]()
    for path in paths:
        samples, before = Samples(path.name), len(jobs) + len(lost)
        form = _read(path, samples, jobs, lost, interval_s)
        files.append((path.name, form))
        if samples.count:
            frames.append(samples.frame())
        elif len(jobs) + len(lost) == before:
            known = ", ".join(sorted(samples.unknown)[:5]) or "none"
            raise InputError(
                f"{path.name}: holds no counter that is understood; it has {known}: query for example "
                "DCGM_FI_DEV_POWER_USAGE, DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED"
            )
        notes += [f"{path.name}: left out {count} samples: {why}" for why, count in samples.left_out.items()]
    whole = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))
    whole = whole.sort_values("time_s", kind="stable")
    return Telemetry(whole, tuple(jobs), tuple(lost), tuple(files), tuple(notes))


def _read(
    path: Path, samples: Samples, jobs: list[SlurmJobs], lost: list[LostTime], interval_s: float | None
) -> str:
    """Read one file; gives the name of its format."""
    text = _text(path)
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        list(limited_lines(path.name, io.StringIO(text)))
        read_scrapes(text, samples, interval_s=interval_s, first_s=0.0)
        if not samples.count and not samples.unknown:
            raise InputError(f"{path.name}: {EXPECTED}")
        return "Prometheus text"
    lines = [line for line in text.splitlines() if line.strip()] if _by_line(text) else [text]
    held = [_json(path, line) for line in lines]
    if all(map(is_gcm, held)):
        found = read_records(held, samples)
        jobs += [found] if found else []
        return "GCM"
    for one in held:
        if is_otlp(one):
            read_export(one, samples)
            form = "OTLP JSON"
        elif is_prometheus(one):
            read_answer(one, samples)
            form = "Prometheus JSON"
        elif is_slurm(one):
            jobs.append(read_jobs(one))
            form = "sacct --json"
        elif is_goodput(one):
            lost.append(read_goodput(one))
            form = "ml-goodput"
        else:
            raise InputError(f"{path.name}: {EXPECTED}")
    return form


def _by_line(text: str) -> bool:
    """Whether every line is a table of its own, as the file exporter of a collector writes."""
    first, _, rest = text.strip().partition("\n")
    return first.endswith(("}", "]")) and rest.startswith(("{", "["))


def _json(path: Path, text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(f"{path.name}: is no JSON: {error}") from None


def _text(path: Path) -> str:
    """The text of a file, unpacked where it is packed, within the limit of other files."""
    try:
        data = read_limited(path, instead="query a longer step, or fewer counters")
        if data.startswith(GZIP):
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(LARGEST_BYTES + 1)
            if len(data) > LARGEST_BYTES:
                raise InputError(
                    f"{path.name}: unpacks to more than {LARGEST_BYTES // 1_000_000} MB: split it"
                )
        return data.decode("utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: is no UTF-8 text") from None
