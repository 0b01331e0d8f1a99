"""GCM, Meta's monitoring of GPU clusters: jobs of sacct and checks of health, a JSON record a line or a list.

A record is flat, or has its numbers and texts in tables by type. Jobs are read as those of `sacct --json`; a
node is failed from the check that first found its hardware critical until all such checks are well again.

Source: facebookresearch/gcm, SacctPayload, HealthCheckLog, HealthCheckName and ExitCode; its exporters file
and stdout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from planner.inputs.telemetry.samples import FIRST_S, LAST_S, Samples
from planner.inputs.telemetry.slurm_json import SlurmJobs, read_jobs

SACCT = "sacct."  # before the columns of a job
CRITICAL = 2  # exit code of a check
BY_TYPE = ("int", "double", "normal")
FAILED = "gcm_hardware_checks"
# Checks that find broken hardware, by how their names begin; others are of software, of load, or of clocks.
HARDWARE = (
    *("xid errors", "cuda memtest", "hca count", "link flaps", "ipmitool sel", "check pci", "check sensors"),
    *("check ib", "check dcgmi", "check memory size", "check blockdev", "nvidia smi gpu_num"),
    *("nvidia smi retired_pages", "nvidia smi ecc", "nvidia smi row_remap"),
)


def is_gcm(held: Any) -> bool:
    """Whether this is a record of a job or of a check, or a list of some."""
    records = list(_records(held))
    return bool(records) and all(_is_job(one) or _is_check(one) for one in records)


def read_records(found: Iterable[Any], samples: Samples) -> SlurmJobs | None:
    """Put the checks of records into samples; give what their jobs come to, None where there are none."""
    records = [one for held in found for one in _records(held)]
    _add_checks([one for one in records if _is_check(one)], samples)
    # A job may be published more than once; its steps have a dot in their number.
    jobs = {
        (str(one[f"{SACCT}JobID"]), str(one.get(f"{SACCT}Start"))): one for one in records if _is_job(one)
    }
    whole = [_job(one) for (name, _), one in jobs.items() if "." not in name]
    return read_jobs({"jobs": whole}) if whole else None


def _records(held: Any) -> Iterator[dict[str, Any]]:
    """Records with their columns by name, however they were written."""
    for one in held if isinstance(held, list) else [held]:
        if not isinstance(one, Mapping):
            yield {}
            continue
        flat = dict(one)
        for kind in BY_TYPE:
            inside = flat.pop(kind, None)
            flat |= inside if isinstance(inside, Mapping) else {}
        inside = flat.pop("sacct", None)
        flat |= (
            {f"{SACCT}{key}": value for key, value in inside.items()} if isinstance(inside, Mapping) else {}
        )
        yield flat


def _is_job(one: Mapping[str, Any]) -> bool:
    return f"{SACCT}JobID" in one and f"{SACCT}State" in one


def _is_check(one: Mapping[str, Any]) -> bool:
    return "health_check" in one and "result" in one and "node" in one


def _job(one: Mapping[str, Any]) -> dict[str, Any]:
    """A job as `sacct --json` writes it."""

    def said(name: str) -> float | None:
        try:
            return float(one.get(f"{SACCT}{name}", ""))
        except (TypeError, ValueError, OverflowError):
            return None

    nodes = said("AllocNodes") or said("NNodes")
    try:
        moment = datetime.fromisoformat(str(one.get(f"{SACCT}Start")))
        start = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        start = None
    words = str(one.get(f"{SACCT}State", "")).split()
    return {
        "allocation_nodes": nodes,
        "time": {"start": start, "elapsed": said("ElapsedRaw")},
        "state": {"current": words[:1]},
        "steps": [{"statistics": {"energy": {"consumed": said("ConsumedEnergyRaw")}}}],
    }


def _is_time(at: Any) -> bool:
    return isinstance(at, int | float) and not isinstance(at, bool) and FIRST_S <= at <= LAST_S


def _add_checks(checks: Iterable[Mapping[str, Any]], samples: Samples) -> None:
    """Hardware checks of a node that are critical at each moment at which one was made."""
    events: dict[str, list[tuple[float, str, bool]]] = {}
    for one in checks:
        name, result, at = str(one["health_check"]), one["result"], one.get("end_time", one.get("start_time"))
        if not name.startswith(HARDWARE):
            continue
        if isinstance(result, bool) or not isinstance(result, int) or not _is_time(at):
            samples.left_out["a check without result or time"] += 1
            continue
        events.setdefault(str(one["node"]), []).append((float(at), name, result == CRITICAL))
    for node, found in events.items():
        critical: set[str] = set()
        key = samples.key(FAILED, {"node": node})
        for at, name, failed in sorted(found):
            critical = critical | {name} if failed else critical - {name}
            samples.add(key, at, float(len(critical)))
