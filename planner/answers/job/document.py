"""A job as a document: totals with ranges, split, scopes, scores, what would change it, and every source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from planner.answers.job.data_price import data_usd
from planner.answers.job.footprint import Footprint, accelerator_hours_of, footprint_of
from planner.answers.job.ledger import (
    TotalsDisagree,
    ledger_of,
    marginal,
    metered_rows,
    phase_rows,
    scope_rows,
    share_of_whole,
    shown_phase,
    upstream_note,
)
from planner.answers.job.model_card import card_of
from planner.answers.job.published import published_rows
from planner.answers.job.scores import Named, failures_of, market_based, scores_of, whole_kgco2e
from planner.answers.job.setting import Setting, setting_of
from planner.answers.job.what_if import changes_of, swings_of
from planner.answers.job.work import FAILURES, STORAGE
from planner.inputs.catalogue import Catalogue
from planner.inputs.job.reading import with_cards
from planner.inputs.job.schema import PHASES, Job
from planner.inputs.job.schema_work import Work
from planner.inputs.loading import CatalogueError, load_catalogue
from planner.inputs.overrides import idle_notes
from planner.inputs.own.facts import own_notes
from planner.inputs.resolved import data_year
from planner.physics.inventory import CLOUDS, capital_note, holder_note
from planner.report.integrity import disagreements
from planner.trace.explain import Steps
from planner.trace.numbers import written_text
from planner.trace.origins import facts_of
from planner.trace.quantities import Fact, Traced, convert, total
from planner.trace.records import Record, fact_record, numbered, plain_rows, total_records

# Facts that replace what a job does not state of itself, and the places that a default may fill.
_COMMON = {
    "pue.default": "PUE",
    "embodied.lifetime": "life of the hardware",
    "embodied.utilisation": "share of that life in use",
    "wue.default": "water of cooling",
    "water.default.electricity": "water of power stations",
}
_PLACES = {"hardware.sku": "kind of node", "training.nodes": "nodes", "site.grid": "grid region"}

DRAWS = 400
SWINGS = 8
FORMAT = 2


def job_document(job: Job, catalogue: Catalogue | None = None, *, why_embodied: bool = False) -> Record:
    """Everything that is said of a job, as plain data.

    Raises:
        InputError: a model's configuration is not understood, no layout of a model fits, or a service meets
            its latency targets at no load.
        TotalsDisagree: the parts do not add up to the totals.
    """
    catalogue = with_cards(job.model_dump(), job.folder, catalogue or load_catalogue())
    footprint = footprint_of(setting_of(job, catalogue))
    market = market_based(footprint)
    ledger = ledger_of(footprint, None if market is None else float(market[0].value))
    named, scores = _totals(footprint, market), scores_of(footprint)
    records = total_records(named | scores, DRAWS)
    traced = _opened(footprint, named | scores)
    idle = idle_notes(footprint.setting.idle_facts, "this job")  # before variants of the job ask for theirs
    facts = facts_of(*traced.values())
    tables: dict[str, list[Record]] = {
        "totals": records[: len(named)],
        "scores": records[len(named) :],
        "phases": phase_rows(footprint),
        "metered": metered_rows(footprint),
        "scopes": scope_rows(footprint, ledger),
        "failures": _failure_rows(footprint),
        "changes": changes_of(footprint),
        "tornado": swings_of(footprint, SWINGS),
        "predicted": _predicted(footprint),
    }
    steps = Steps()
    document: Record = {
        "everfleet_job": FORMAT,
        "everfleet": _version(),
        "title": job.title,
        "catalogue": catalogue.digest,
        "inputs": _inputs(job),
        "boundary": dict(footprint.carbon.boundary),
        **{name: plain_rows(rows) for name, rows in tables.items()},
        "scope_note": upstream_note(footprint),
        "inventory_notes": _inventory_notes(footprint),
        "left_out": [shown_phase(name) for name in PHASES if footprint.phase(name) is None],
        "assumed": _assumed(footprint),
        "notes": [
            *_notes(footprint),
            *idle,
            *own_notes(facts.keys() - job.facts.keys(), footprint.setting.catalogue),
        ],
        "embodied": _embodied(footprint) if why_embodied else [],
        "explanations": {name: steps.add(node) for name, node in traced.items()},
        "cells": numbered(tables, steps),
        "facts": [_fact_record(fact) for _, fact in sorted(facts.items())],
    }
    document["predicted"] = document["predicted"][0] if document["predicted"] else {}
    document["steps"] = steps.packed()
    document["model_card"] = card_of(document)
    if found := disagreements(document):
        raise TotalsDisagree("; ".join(f"{place} {text}" for place, text in found[:5]))
    return document


def _opened(footprint: Footprint, named: Named) -> dict[str, Traced]:
    parts: Mapping[str, Traced] = failures_of(footprint) or {}
    return (
        {name: node for name, (_, node) in named.items()}
        | {f"phase.{phase.name}": whole_kgco2e(phase) for phase in footprint.phases}
        | {f"training.{name.removesuffix('_kgco2e')}": node for name, node in parts.items()}
    )


def traced_totals(job: Job, catalogue: Catalogue) -> list[Traced]:
    """The totals and scores of a job as traced numbers, without what is said of them.

    Raises:
        InputError: as `job_document`.
    """
    footprint = footprint_of(setting_of(job, with_cards(job.model_dump(), job.folder, catalogue)))
    named = _totals(footprint, market_based(footprint)) | scores_of(footprint)
    return [node for _, node in named.values()]


def _totals(footprint: Footprint, market: tuple[Traced, Traced] | None) -> Named:
    counted = "by marginal hours: for no inventory" if marginal(footprint) else "location-based"
    found: Named = {
        "carbon": (f"Carbon, {counted}", footprint.carbon),
        "operational": ("of it from electricity", footprint.operational),
        "embodied": ("of it from hardware", footprint.embodied),
        "energy": ("Energy at the meter", footprint.facility_kwh),
        "water": ("Water, on site and at power stations", _water(footprint)),
        "onsite_water": ("of it on site", footprint.onsite_l),
        "offsite_water": ("of it at power stations", footprint.offsite_l),
    }
    if (hours := accelerator_hours_of(footprint)) is not None:
        found["accelerator_hours"] = ("Accelerator-hours", hours)
    if (data := data_usd(footprint.setting)) is not None:
        found["data"] = ("Data that is bought", data)
    if market is not None:
        found["market"] = ("For comparison: scope 2, market-based", market[1])
    return found


def _water(footprint: Footprint) -> Traced:
    return (footprint.onsite_l + footprint.offsite_l).named(
        "both_l", "Water on site and at the power stations"
    )


def _failure_rows(footprint: Footprint) -> list[Record]:
    """Carbon of the training run by what its hours were for."""
    parts = failures_of(footprint)
    if parts is None:
        return []
    whole = total("states_kgco2e", parts, "Carbon of a run in all its states together")
    words = {
        "useful": "useful work",
        "lost": "work lost to failures and done again",
        "checkpoint": "waiting for checkpoints",
        "restart": "restarting after failures",
    }
    return [
        {
            "state": said,
            "kgco2e": parts[f"{name}_kgco2e"],
            "of_training_fraction": share_of_whole(parts[f"{name}_kgco2e"], whole),
        }
        for name, said in words.items()
    ]


def _predicted(footprint: Footprint) -> list[Record]:
    """How the training run would go, where it is predicted."""
    training = footprint.phase("training")
    if training is None or training.done is None or training.done.states is None:
        return []
    done, renewal = training.done, training.done.states.renewal
    return [
        {
            "duration_h": done.duration_h,
            "ettr_fraction": done.useful,
            "interval_min": convert(renewal["interval_h"], "min"),
            "mttf_h": renewal["mttf_h"],
        }
    ]


def _carried_on(setting: Setting) -> Iterator[str]:
    """That a plan would take another factor for the year of the job, whose own is of an earlier one."""
    site = setting.job.site
    if site.grid is None or site.start is None or site.grid_decline_fraction is not None:
        return
    facts = setting.catalogue.facts  # looked at, and no part of the answer
    try:
        year = data_year(facts[f"grid.{site.grid}.intensity"])
    except CatalogueError:
        return  # a row of one's own may name no year, which a job does not ask for
    if site.start.year > year:
        fall = written_text(float(facts["grid.decline"].value))
        yield (
            f"the grid is that of {year}, as published; a plan carries it on to {site.start.year}: "
            f"grid_decline = {fall} does so here"
        )


def _inventory_notes(footprint: Footprint) -> list[str]:
    """What a firm that reports has to know of these scopes."""
    region = footprint.setting.region
    said = [
        holder_note("" if region is None else CLOUDS.get(region.cloud, region.cloud)),
        capital_note() if footprint.embodied.value else "",
    ]
    return [one for one in said if one]


def _notes(footprint: Footprint) -> list[str]:
    """What has to be said of the files that were read."""
    series = footprint.setting.hours
    said = [] if series is None else list(series.notes)
    if series is not None and (start := footprint.setting.job.site.start) and start.year != series.first.year:
        said.append(f"hours of {start.year} are taken from the series of {series.first.year}")
    said += _carried_on(footprint.setting)
    for phase in footprint.phases:
        said += () if phase.federated is None else phase.federated.notes
        if phase.done is None:
            continue
        said += phase.done.notes
        if series is not None and (
            phase.done.duration_h is None or not footprint.setting.started(phase.done.start)
        ):
            said.append(f"{shown_phase(phase.name)}: start or length is not stated: every hour weighs alike")
    return said


def _assumed(footprint: Footprint) -> list[Record]:
    """What the job does not state and the total rests on: facts that any job takes, and defaults."""
    job, used = footprint.setting.job, facts_of(footprint.carbon, footprint.onsite_l, footprint.offsite_l)
    rows = [
        {"what": label, "value": _with_range(used[key]), "because": f"{key} of the catalogue"}
        for key, label in _COMMON.items()
        if key in used
    ]
    for place in job.assumed:
        table, key = place.split(".")
        value = str(getattr(getattr(job, table), key))
        rows.append({"what": _PLACES[place], "value": value, "because": "the default where none is stated"})
    for name in ("data", "training", "fine_tuning"):
        work: Work | None = getattr(job, name)
        if work is None or work.model is None:
            continue
        for what, stated, default in (
            ("failures as of", work.failures, FAILURES),
            ("checkpoint storage", work.checkpoint_storage, STORAGE),
        ):
            row = {"what": what, "value": default, "because": "the default where none is stated"}
            if stated is None and row not in rows:
                rows.append(row)
    return rows


def _with_range(fact: Fact) -> str:
    unit = "" if fact.unit == "1" else f" {fact.unit}"
    between = "" if fact.low is None or fact.high is None else f" ({fact.low:g} to {fact.high:g})"
    return f"{float(fact.value):g}{unit}{between}"


def _embodied(footprint: Footprint) -> list[Record]:
    """What others print for the accelerators of the job."""
    setting = footprint.setting
    skus = dict.fromkeys(phase.done.sku for phase in footprint.phases if phase.done is not None)
    return [
        {"accelerator": sku.accelerator, **row}
        for sku in map(setting.sku, skus)
        for row in published_rows(setting.catalogue, sku)
    ]


def _inputs(job: Job) -> Record:
    """What was asked, without what was left out."""
    found: Record = {}
    for key, value in job.model_dump().items():
        if isinstance(value, Mapping):
            held = {name: _plain(entry) for name, entry in value.items() if entry is not None}
            if held or getattr(job, key) is not None:
                found[key] = held
        elif key == "facts" and value:
            found[key] = dict(value)
    return found


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else str(value)


def _fact_record(fact: Fact) -> Record:
    """A fact; of a series of hours its mean."""
    record = fact_record(fact)
    if np.ndim(fact.value):
        record |= {
            "value": float(np.nanmean(fact.value)),
            "note": f"mean of {len(fact.value)} hours; {fact.note}",
        }
    return record


def _version() -> str:
    try:
        return version("everfleet")
    except PackageNotFoundError:
        return "unknown"
