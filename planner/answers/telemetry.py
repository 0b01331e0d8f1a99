"""What monitoring of real nodes says of facts: power at rest, failures, use; and what it cannot say.

A fact is written where its counters are there and enough was seen; what is missing is named, with what it
would have told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import gammainccinv, gammaincinv

from planner.answers.lost_time import lost_facts, lost_rows
from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.metering.names import sku_of_driver
from planner.inputs.own.adding import Added, Measured, add_measured, catalogue_with
from planner.inputs.telemetry import (
    COUNTERS,
    QUANTITIES,
    TIMED_FROM_S,
    SlurmJobs,
    Telemetry,
    read_telemetry,
    seen_node_h,
)
from planner.report.columns import aligned, words
from planner.report.spreadsheets import csv_of
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, number_text, percent_text
from planner.trace.records import Record
from reliability.logs.shapes import XIDS

LEAST_SAMPLES = 10  # of an accelerator at rest: fewer say little of its mean
LOADED_FRACTION = 0.05  # of the memory: a model is loaded; a context alone takes less
TAIL = 0.025  # of a 95 % interval
MOST_FAILURES_PER_H = 1.0  # of a node; what may be above it was watched too shortly
# What monitoring may lack, and what it would have told.
WANTED = {
    "power_w": "power of the accelerators: DCGM_FI_DEV_POWER_USAGE",
    "busy_fraction": "when accelerators rest, and how far nodes are used: DCGM_FI_DEV_GPU_UTIL",
    "memory_mib": "whether a resting accelerator holds a model: DCGM_FI_DEV_FB_USED",
    "xid": "failures: DCGM_FI_DEV_XID_ERRORS, which older sets of the exporter leave out",
    "ecc_dbe": "memory errors that were not corrected: DCGM_FI_DEV_ECC_DBE_VOL_TOTAL, off by default",
}


@dataclass(frozen=True)
class Seen:
    """Samples with their accelerators, and the hours in which each node was seen."""

    frame: pd.DataFrame
    node_h: dict[str, float]
    step_s: float

    @property
    def span(self) -> str:
        """From the first sample to the last, in UTC."""
        return span_said(float(self.frame["time_s"].min()), float(self.frame["time_s"].max()))


def span_said(first_s: float, last_s: float) -> str:
    """From one moment to another, in UTC; of scrapes without times how long they lasted."""
    if last_s < TIMED_FROM_S:
        return f"scrapes without times, {number_text((last_s - first_s) / 3600.0)} h"
    first, last = (datetime.fromtimestamp(edge, UTC) for edge in (first_s, last_s))
    return f"{first:%Y-%m-%dT%H:%MZ} to {last:%Y-%m-%dT%H:%MZ}"


def telemetry_answer(
    files: Sequence[Path], name: str, interval_s: float | None, folder: Path | None
) -> tuple[Telemetry, Record, Added | None]:
    """Read files, say what they tell, and write its facts into a folder of one's own where one is named.

    Raises:
        InputError: a file cannot be read, or a fact cannot be written.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,40}", name):
        raise InputError(
            f"'{name}' is no name of a fleet: write small letters, digits and dashes, such as own"
        )
    catalogue = load_catalogue(data_folder()) if folder is None else catalogue_with(folder)
    found = read_telemetry(files, interval_s=interval_s)
    document = telemetry_document(found, catalogue, name)
    measured: list[Measured] = document["measured"]
    if folder is None or not measured:
        if folder is not None:
            document["notes"].append(f"nothing was written into {folder}: no fact could be measured")
        return found, document, None
    edges = [edge for edge in _edges_s(found) if math.isfinite(edge)]
    first, last = (datetime.fromtimestamp(edge, UTC) for edge in (min(edges), max(edges)))
    named = f"telemetry-{name}-{first:%Y%m%d%H%M}-{last:%Y%m%d%H%M}"
    source = named, source_title(found, span_said(min(edges), max(edges))), last.year
    return found, document, add_measured(measured, f"telemetry-{name}", source, folder, catalogue)


def plain_document(document: Record) -> Record:
    """The document as data, each fact once."""
    return {key: held for key, held in document.items() if key != "measured"}


def traffic_csv(found: Telemetry) -> str:
    """Requests and tokens as a traffic file of a service.

    Raises:
        InputError: the counters of an engine are not there.
    """
    rows = traffic_rows(found)
    if not rows:
        raise InputError(
            "there is no traffic in it: query vllm:request_success_total, vllm:prompt_tokens_total and "
            "vllm:generation_tokens_total"
        )
    return csv_of(rows, line_end="\n")


def _edges_s(found: Telemetry) -> Iterator[float]:
    """First and last moments of everything that was read."""
    if len(found.frame):
        yield from (float(found.frame["time_s"].min()), float(found.frame["time_s"].max()))
    edges = [(one.first_s, one.last_s) for one in found.jobs] + [
        (one.first_s, one.last_s) for one in found.lost
    ]
    for pair in edges:
        yield from pair


def telemetry_document(found: Telemetry, catalogue: Catalogue, name: str) -> Record:
    """What was seen, node by node, what it makes of facts, and what is missing.

    Args:
        found: files that were read.
        catalogue: whose names of accelerators, and memory, count.
        name: of the fleet, under which its failures are kept: `reliability.NAME.failure_rate`.
    """
    seen = _seen(found.frame)
    facts = [] if seen is None else [*_power_facts(seen, catalogue), *_use_facts(seen)]
    if seen is not None:
        facts += _failure_facts(seen, name)
    facts += [one for jobs in found.jobs for one in _job_facts(jobs, name, facts)]
    facts += [one for lost in found.lost for one in lost_facts(lost, catalogue)]
    return {
        "title": "What monitoring says",
        "span": "" if seen is None else seen.span,
        "files": [{"file": file, "format": form} for file, form in found.files],
        "counters": _counter_rows(found.frame),
        "nodes": [] if seen is None else _node_rows(seen, catalogue),
        "jobs": [_job_row(jobs) for jobs in found.jobs],
        "lost": [row for lost in found.lost for row in lost_rows(lost)],
        "facts": [_fact_row(one) for one in facts],
        "missing": _missing(found.frame),
        "notes": [*found.notes, *([] if seen is None else _notes(seen, catalogue))],
        "measured": facts,
    }


def traffic_rows(found: Telemetry) -> list[Record]:
    """Requests and tokens of each interval of the counters of an engine, as a traffic file has them."""
    held = found.frame[found.frame["quantity"].isin(("requests", "prompt_tokens", "answer_tokens"))]
    if not {"requests", "prompt_tokens", "answer_tokens"} <= set(held["quantity"]):
        return []
    series = held.groupby(["quantity", "node", "device", "time_s"])["value"].last().reset_index()
    rise = series.groupby(["quantity", "node", "device"])["value"].diff()
    series["rise"] = rise.where(rise >= 0, series["value"])  # a counter that fell began again at 0
    series.loc[rise.isna(), "rise"] = np.nan
    sums = series.dropna().pivot_table(index="time_s", columns="quantity", values="rise", aggfunc="sum")
    rows = []
    for time_s, row in sums[sums["requests"] > 0].iterrows():
        at = datetime.fromtimestamp(float(str(time_s)), UTC)
        rows.append(
            {
                "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}",
                "context_tokens": float(row["prompt_tokens"] / row["requests"]),
                "generated_tokens": float(row["answer_tokens"] / row["requests"]),
                "requests": float(row["requests"]),
            }
        )
    return rows


def telemetry_text(document: Record) -> str:
    """The document as lines for a terminal."""
    lines = [document["title"]]
    if document["span"]:
        hours = sum(row["seen_h"] for row in document["nodes"])
        lines.append(
            f"{document['span']}; {count_text(len(document['nodes']))} nodes, {number_text(hours)} node-hours"
        )
    if document["nodes"]:
        lines += ["", *aligned(_NODE_COLUMNS, document["nodes"])]
    for row in document["jobs"]:
        lines += [
            "",
            f"{count_text(row['jobs'])} jobs, {number_text(row['node_h'])} node-hours, "
            f"{row['node_failures']} ended by a node",
        ]
    if document["lost"]:
        lines += ["", "Time of jobs that was lost:", *aligned(_LOST_COLUMNS, document["lost"])]
    if document["facts"]:
        lines += ["", "Facts, measured:", *aligned(_FACT_COLUMNS, document["facts"])]
    lines += ["", *(f"Missing: {row['tells']}" for row in document["missing"])]
    lines += [f"Note: {note}" for note in document["notes"]]
    return "\n".join(lines).rstrip()


def source_title(found: Telemetry, span: str) -> str:
    """What the source is: the files, and the time that they cover."""
    files = ", ".join(Path(file).name for file, _ in found.files[:5])
    more = f" and {len(found.files) - 5} more" if len(found.files) > 5 else ""
    return f"Monitoring of our own nodes: {files}{more}, {span}"


# What was seen


def _seen(frame: pd.DataFrame) -> Seen | None:
    """Accelerators' samples, and the hours that each node was seen; None where nothing is of one."""
    held = frame[frame["quantity"].isin((*WANTED, "failed_checks"))]
    if held.empty:
        return None
    return Seen(held, *seen_node_h(held))


def _wide(seen: Seen) -> pd.DataFrame:
    """One row for each accelerator and moment, a column for each quantity."""
    index = ["node", "device", "model", "time_s"]
    return seen.frame.pivot_table(
        index=index, columns="quantity", values="value", aggfunc="last"
    ).reset_index()


def _node_rows(seen: Seen, catalogue: Catalogue) -> list[Record]:
    wide, rows = _wide(seen), []
    changes = _xid_changes(seen)
    for node, held in wide.groupby("node"):
        model = str(held["model"].iloc[0])
        row: Record = {
            "node": str(node),
            "accelerator": model,
            "sku": sku_of_driver(model, catalogue) or "",
            "accelerators": int(held.loc[held["device"] != "", "device"].nunique()) or None,
            "seen_h": seen.node_h[str(node)],
            "mean_power_kw": _mean_node_kw(held),
            "busy_fraction": _mean(held, "busy_fraction"),
            "hardware_xids": int(changes[changes["node"] == node]["hardware"].sum()),
            "xids": int((changes["node"] == node).sum()),
            "uncorrected_errors": _rise(held, "ecc_dbe"),
        }
        row["energy_kwh"] = None if row["mean_power_kw"] is None else row["mean_power_kw"] * row["seen_h"]
        rows.append(row)
    return rows


def _mean_node_kw(held: pd.DataFrame) -> float | None:
    """Power of the accelerators of a node: the sum of each one's mean."""
    if "power_w" not in held or held["power_w"].isna().all():
        return None
    return float(held.groupby("device")["power_w"].mean().sum()) / 1000.0


def _mean(held: pd.DataFrame, column: str) -> float | None:
    return float(held[column].mean()) if column in held and held[column].notna().any() else None


def _rise(held: pd.DataFrame, column: str) -> int | None:
    """How far a counter of each accelerator rose, in all."""
    if column not in held:
        return None
    each = held.groupby("device")[column].agg(lambda one: float(one.diff().clip(lower=0).sum()))
    return int(each.sum())


def _xid_changes(seen: Seen) -> pd.DataFrame:
    """Xids that came while somebody looked: the gauge holds the last one, so that changes count."""
    held = seen.frame[seen.frame["quantity"] == "xid"].sort_values(["node", "device", "time_s"])
    before = held.groupby(["node", "device"])["value"].shift()
    changed = held[before.notna() & (held["value"] != before) & (held["value"] > 0)]
    kinds = changed["value"].map(lambda value: XIDS.get(f"xid{int(value)}"))
    return changed.assign(hardware=kinds == "hardware")


# What it makes of facts


def _power_facts(seen: Seen, catalogue: Catalogue) -> Iterator[Measured]:
    """Power of accelerators at rest, without a model and with one in memory."""
    wide = _wide(seen)
    if not {"power_w", "busy_fraction", "memory_mib"} <= set(wide.columns):
        return
    resting = wide[wide["busy_fraction"] == 0].dropna(subset=["power_w", "memory_mib"])
    for model, held in resting.groupby("model"):
        sku = sku_of_driver(str(model), catalogue)
        if sku is None:
            continue
        accelerator = catalogue.skus[sku].accelerator
        memory_mib = float(catalogue.fact(f"accelerator.{accelerator}.memory").value) * 1e9 / 2**20
        loaded = held["memory_mib"] > LOADED_FRACTION * memory_mib
        for prop, mine in (("idle_power", held[~loaded]), ("loaded_idle_power", held[loaded])):
            each = mine.groupby(["node", "device"])["power_w"].agg(["mean", "count"])
            each = each[each["count"] >= LEAST_SAMPLES]
            if each.empty:
                continue
            low, high = np.percentile(each["mean"], (5, 95))
            yield Measured(
                f"accelerator.{accelerator}.{prop}",
                float(each["mean"].mean()),
                "W",
                float(low),
                float(high),
                _from(
                    seen,
                    "power_w",
                    f"{count_text(int(each['count'].sum()))} samples of "
                    f"{count_text(len(each))} accelerators at rest",
                ),
                note="range: p5 to p95 of accelerators",
            )


def _use_facts(seen: Seen) -> Iterator[Measured]:
    """Share of node-hours in which some accelerator of the node works or holds a model."""
    wide = _wide(seen)
    if "busy_fraction" not in wide:
        return
    busy = wide.dropna(subset=["busy_fraction"]).groupby(["node", "time_s"])["busy_fraction"].max() > 0
    each = busy.groupby("node").mean()
    if busy.groupby("node").size().min() < LEAST_SAMPLES or not each.mean() > 0:
        return
    low, high = (float(np.percentile(each, share)) for share in (5, 95))
    yield Measured(
        "pool.utilisation",
        float(each.mean()),
        "1",
        max(low, 0.05),
        high,
        _from(
            seen, "busy_fraction", f"node-hours with an accelerator at work, of {count_text(len(each))} nodes"
        ),
        note="range: p5 to p95 of nodes",
    )


def _failure_facts(seen: Seen, name: str) -> Iterator[Measured]:
    """Hardware Xids over the hours in which nodes were seen, where there was any."""
    failures, hours = int(_xid_changes(seen)["hardware"].sum()), sum(seen.node_h.values())
    if "xid" in set(seen.frame["quantity"]):
        yield from _rate_facts(name, failures, hours, _from(seen, "xid", "hardware Xids"))
        devices = seen.frame.groupby("node")["device"].nunique()
        if failures and hours and _high_rate(failures, hours) <= MOST_FAILURES_PER_H:
            yield Measured(
                f"reliability.{name}.accelerators_per_node",
                float(devices.median()),
                "count",
                None,
                None,
                seen.span,
            )
    elif "failed_checks" in set(seen.frame["quantity"]):
        where = _from(seen, "failed_checks", "nodes whose hardware checks became critical")
        yield from _rate_facts(name, _check_failures(seen), hours, where)


def _check_failures(seen: Seen) -> int:
    """How often the hardware of a node went from well to critical while somebody looked."""
    held = seen.frame[seen.frame["quantity"] == "failed_checks"].sort_values(["node", "time_s"])
    return int(((held.groupby("node")["value"].shift() == 0) & (held["value"] > 0)).sum())


def _rate_facts(name: str, failures: int, hours: float, where: str) -> Iterator[Measured]:
    """Rate = n / T, with the 95 % interval of a Poisson count.

    Source: Garwood, Biometrika 28 (1936), 437.
    """
    if not failures or not hours or _high_rate(failures, hours) > MOST_FAILURES_PER_H:
        return
    yield Measured(
        f"reliability.{name}.failure_rate",
        failures / hours,
        "/h",
        float(gammaincinv(failures, TAIL)) / hours,
        _high_rate(failures, hours),
        f"{where}: {failures} in {number_text(hours)} node-hours",
        boundary="failures=hardware-faults",
        note="range: 95 % Poisson on the count",
    )


def _high_rate(failures: int, hours: float) -> float:
    """Upper end of the 95 % interval of a rate; of no failure, that of 97.5 %."""
    return float(gammainccinv(failures + 1.0, TAIL)) / hours


def _job_facts(jobs: SlurmJobs, name: str, before: list[Measured]) -> Iterator[Measured]:
    """Failures of nodes under jobs of Slurm, where no Xid told of them."""
    if not any(one.key.startswith(f"reliability.{name}.") for one in before):
        where = f"sacct --json, jobs that ended by {' or '.join(('NODE_FAIL', 'BOOT_FAIL'))}"
        yield from _rate_facts(name, jobs.node_failures, jobs.node_h, where)


def _from(seen: Seen, quantity: str, what: str) -> str:
    """Where a fact is from: the counters, the time, and what was counted."""
    held = seen.frame[seen.frame["quantity"] == quantity]
    return f"{', '.join(sorted(held['counter'].unique()))}; {seen.span}; {what}"


# How it is told


def _counter_rows(frame: pd.DataFrame) -> list[Record]:
    return [
        {
            "counter": str(counter),
            "measures": QUANTITIES[COUNTERS[str(counter)].quantity],
            "series": int(held.groupby(["node", "device"]).ngroups),
            "samples": len(held),
        }
        for counter, held in frame.groupby("counter")
    ]


def _missing(frame: pd.DataFrame) -> list[Record]:
    """Counters that matter and are not there; of files of jobs and checks alone nothing is missed."""
    held = set(frame["quantity"]) - {"failed_checks"}
    return [{"quantity": name, "tells": tells} for name, tells in WANTED.items() if held and name not in held]


def _notes(seen: Seen, catalogue: Catalogue) -> Iterator[str]:
    hours, failures = sum(seen.node_h.values()), int(_xid_changes(seen)["hardware"].sum())
    if "xid" in set(seen.frame["quantity"]) and not failures and hours:
        most = 24_000.0 * _high_rate(0, hours)
        yield (
            f"no hardware Xid in {number_text(hours)} node-hours: the rate is below {number_text(most)} "
            "failures in 1,000 node-days (97.5 %), and no fact is written"
        )
    elif failures and hours and _high_rate(failures, hours) > MOST_FAILURES_PER_H:
        yield (
            f"{count_text(failures)} hardware Xid in {number_text(hours)} node-hours is too short for a "
            "rate: read more hours, or a log by `everfleet fit`"
        )
    unknown = {
        str(model)
        for model in seen.frame["model"].unique()
        if model and sku_of_driver(str(model), catalogue) is None
    }
    if unknown:
        yield f"no SKU of the catalogue has {', '.join(sorted(unknown)[:5])}: add it by `everfleet add gpu`"


def _fact_row(one: Measured) -> Record:
    return {
        "key": one.key,
        "value": one.value,
        "unit": one.unit,
        "low": one.low,
        "high": one.high,
        "kind": "measured",
        "where": one.locator,
    }


def _job_row(jobs: SlurmJobs) -> Record:
    return {
        "jobs": jobs.jobs,
        "node_h": jobs.node_h,
        "node_failures": jobs.node_failures,
        "energy_kwh": jobs.energy_kwh,
        "mean_node_kw": jobs.energy_kwh / jobs.energy_node_h if jobs.energy_kwh is not None else None,
        "left_out": jobs.left_out,
    }


def _shown(key: str, row: Record) -> str:
    value = row[key]
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return percent_text(value) if key.endswith("_fraction") else number_text(float(value))


_NODE_COLUMNS = words(
    *(
        (heading, lambda row, key=key: _shown(key, row))
        for heading, key in (
            ("node", "node"),
            ("SKU", "sku"),
            ("accelerators", "accelerators"),
            ("seen [h]", "seen_h"),
            ("power [kW]", "mean_power_kw"),
            ("energy [kWh]", "energy_kwh"),
            ("busy", "busy_fraction"),
            ("Xids", "xids"),
            ("of hardware", "hardware_xids"),
            ("uncorrected", "uncorrected_errors"),
        )
    )
)
_LOST_COLUMNS = words(
    *(
        (heading, lambda row, key=key: _shown(key, row))
        for heading, key in (
            ("lost to", "lost_to"),
            ("part of a restart", "part"),
            ("hours", "lost_h"),
            ("share", "share_fraction"),
        )
    )
)
_FACT_COLUMNS = words(
    *(
        (key, lambda row, key=key: _shown(key, row))
        for key in ("key", "value", "unit", "low", "high", "where")
    )
)
