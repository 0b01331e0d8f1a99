"""The document of one job of one size: intervals side by side, policies side by side, the best of each."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planner.answers.checkpoints.by_size import SPACED, across_rows
from planner.answers.checkpoints.current_interval import point_of_ettr, today_rows
from planner.answers.checkpoints.equations import retried_ettr_fraction
from planner.answers.checkpoints.policies import (
    OBJECTIVES,
    OneLevel,
    Pattern,
    Policy,
    policies_of,
    weights_of,
)
from planner.answers.checkpoints.question import Terms, fleets, states, terms_of_flags
from planner.answers.checkpoints.recovery import detection_rows, recovery_rows, stop_rows, waiting_rows
from planner.answers.checkpoints.rows import (
    FLAT,
    best_policies,
    columns,
    flat_of,
    optimum_rows,
    row,
    rows_of,
    with_steps,
)
from planner.answers.checkpoints.runs import endless, finish_rows, simulation_rows
from planner.answers.checkpoints.setting import Setting, setting_of
from planner.inputs.catalogue import Catalogue
from planner.inputs.fits import fit_of, is_fit, no_fleet, read_fit
from planner.inputs.job_question import AS_USUAL, CheckpointQuestion
from planner.inputs.loading import load_catalogue
from planner.inputs.model_kinds import TRAINED, models_of
from planner.inputs.models import with_model_cards
from planner.inputs.question_fields import flag, out_of_range
from planner.physics.equations.money import goodput_usd
from planner.trace.errors import InputError
from planner.trace.quantities import Traced, chosen, derive
from planner.trace.records import Record
from reliability.checkpoint import daly_interval_h, young_interval_h
from reliability.ettr import not_training_h

ROWS = 41
SPAN = 20.0  # the table runs from a twentieth of the best interval to twenty times it
ALONE = ("flat", "worth")  # tables of one row, which stands alone
# Fields whose ranges are checked; those of the run are by what plays it.
NUMBERS = (
    *("restart_min", "queue_min", "storage_others_fraction", "spare_confidence_fraction", "today_min"),
    *("loss_spikes_per_month", "rollback_min"),
    *("slow_nodes_fraction", "slowdown_factor", "step_spread_fraction"),
)
KINDS = {
    "skus": "SKU",
    "storages": "checkpoint storage",
    "models": "model",
    "grids": "grid region",
    "states": "kind of training state",
}


def checkpoint_document(
    question: CheckpointQuestion = AS_USUAL,
    across: Sequence[int] = (),
) -> Record:
    """Intervals from far too short to far too long, with the best for time, money and carbon.

    Args:
        question: the job and its run; its fields say what each is.
        across: numbers of nodes to set next to each other; asks for them and for every policy's curve, too.

    Raises:
        InputError: a name is unknown or a number is out of range.
    """
    question = question.complete()
    said = question.stated()
    sku, nodes, model, failures = (said[name] for name in ("sku", "nodes", "model", "failures"))
    catalogue = with_model_cards(load_catalogue(), [model], Path())
    choices = choices_of(catalogue)
    fleet = failures if isinstance(failures, str) else fit_of(failures, "the fit")
    names = {"skus": sku, "storages": said["storage"], "models": model, "grids": said["grid"]}
    names |= {"failures": fleet} if isinstance(fleet, str) else {}
    names |= {"states": question.state} if question.state else {}
    numbers = question.said(*NUMBERS) | {"nodes": min((nodes, *across))}
    idle = question.rollback_min is not None and not question.loss_spikes_per_month
    alone = question.slowdown_factor is not None and question.slow_nodes_fraction is None
    together = ("rollback_min", "loss_spikes_per_month", "slowdown_factor", "slow_nodes_fraction")
    rollback, spikes, slower, slow = (flag(name, CheckpointQuestion) for name in together)
    _refuse(
        [
            *_unknown(names, choices | {"states": states(catalogue)}),
            *(f"{option}: {text}" for option, text in out_of_range(CheckpointQuestion, numbers)),
            *([f"{rollback}: has no effect without {spikes}"] if idle else []),
            *([f"{slower}: has no effect without {slow}"] if alone else []),
        ]
    )
    terms = terms_of_flags(catalogue, fleet, question)
    named = {"failures": fleet if isinstance(fleet, str) else fleet.name, "grid": said["grid"]}
    return document_of(terms, sku, nodes, named, question, across) | {"choices": choices}


def document_of(
    terms: Terms,
    sku: str,
    nodes: int,
    named: Mapping[str, Any],
    run: CheckpointQuestion,
    across: Sequence[int] = (),
) -> Record:
    """The document of the job of `terms` on some nodes of a SKU; `named` joins its inputs.

    `run` says how long it runs, how often it is played, and what it is set next to.
    """
    setting = setting_of(terms, sku, nodes)
    policies = policies_of(setting)
    policy = policies["asynchronous" if terms.asynchronous else "blocking"]
    assert isinstance(policy, OneLevel)
    intervals = intervals_of(policy)
    best = Pattern(intervals["time-optimal"])
    optima, least = optimum_rows(policies)
    low, high = flat_of(policy, best, "time")
    ettr = policy.hours(best).ettr
    worth = _worth(setting, ettr)
    loss = chosen("loss_fraction", FLAT, "a loss too small to matter")
    tables: dict[str, list[Record]] = {
        "rows": _table(policy, best.interval_h, run.linear),
        "marks": [
            {"name": name, **row(policy, Pattern(interval), run.linear)}
            for name, interval in intervals.items()
        ],
        "flat": [{"low_min": low, "high_min": high, "loss_fraction": loss}],
        "worth": [worth],
        "policies": optima,
        "best": best_policies(least),
        "stops": stop_rows(policy),
        "recovery": recovery_rows(setting, policy.name),
        "detection": detection_rows(setting, sku, policy.name),
    }
    if waits := waiting_rows(setting, ettr):
        tables["waiting"] = waits
    named_steps = {
        "ettr": ettr,
        **{f"worth.{name}": one for name, one in worth.items()},
        **{f"interval.{name}": interval for name, interval in intervals.items()},
        **least,
    }
    _refuse(_without_end(policies, run))
    if run.useful_h is not None:
        tables["finish"], more = finish_rows(policies, run.useful_h)
        named_steps |= more
    if run.replicas:
        tables["simulation"] = simulation_rows(policies, run.replicas, run.seed, run.useful_h)
    if run.today_min is not None:
        tables["today"] = today_rows(policy, run.today_min, intervals)
    by_size, more = across_rows(terms, sku, nodes, across) if across else ({}, {})
    kept = with_steps(tables | by_size, named_steps | more)
    return {
        "everfleet_checkpoints": 1,
        "inputs": {**named, **_inputs(setting, policy, sku)},
        **kept,
        **{n: kept[n][0] for n in ALONE},
    }


def _without_end(policies: Mapping[str, Policy], run: CheckpointQuestion) -> list[str]:
    """What is no question of a run that never ends."""
    stated = {"useful_h": run.useful_h is not None, "today_min": run.today_min is not None}
    stated["replicas"] = bool(run.replicas)
    if not any(stated.values()) or not (never := endless(policies)):
        return []
    options = ", ".join(flag(name, CheckpointQuestion) for name, given in stated.items() if given)
    return [
        f"{options}: the run never ends with {' and '.join(never)} checkpoints: its stops throw away as much "
        "as it trains between them; fewer nodes, faster writes or a shorter restart would change that"
    ]


def _worth(setting: Setting, ettr: Traced) -> dict[str, Traced]:
    """Hours of a day that train nothing at an interval, and what a point of ETTR is worth in a day."""
    day = chosen("day", 24.0, "one day", "h")
    return {
        "not_training_h_a_day": derive(not_training_h, ettr_fraction=ettr, period_h=day),
        "usd_a_point_and_day": derive(
            goodput_usd,
            units=setting.nodes,
            duration_h=day,
            hour_usd=setting.working().usd,
            goodput_fraction=chosen("goodput_fraction", 0.01, "one point"),
        ),
        "retried_ettr_fraction": derive(
            retried_ettr_fraction, ettr_fraction=ettr, restart_h=setting.restart_h, mttf_h=setting.mttf_h
        ),
        **point_of_ettr(setting),
    }


def intervals_of(policy: OneLevel) -> dict[str, Traced]:
    """The three optima and, where the job waits for its writes, the two lines of reference."""
    intervals = {
        f"{objective}-optimal": policy.best(weights_of(policy, objective)).interval_h
        for objective in OBJECTIVES
    }
    if policy.name == "blocking":
        job = {"mttf_h": policy.setting.mttf_h, "write_h": policy.write_h}
        intervals |= {"Young": derive(young_interval_h, **job), "Daly": derive(daly_interval_h, **job)}
    return intervals


def _table(policy: OneLevel, best: Traced, linear: bool) -> list[Record]:
    middle = float(best.value)
    least = max(middle / SPAN, float(policy.persist_h.value) - float(policy.write_h.value), 1e-6)
    column = chosen("interval_h", np.geomspace(least, middle * SPAN, ROWS), SPACED)
    return rows_of(columns(policy, Pattern(column), linear), ROWS)


def _inputs(setting: Setting, policy: OneLevel, sku: str) -> Record:
    terms = setting.terms
    return {
        "sku": sku,
        "nodes": int(setting.nodes.value),
        "storage": terms.storage,
        "restart_min": round(float(setting.restart_h.value) * 60, 9),
        "queue_min": terms.question.queue_min,
        "model": terms.model,
        "asynchronous": terms.asynchronous,
        "mttf_h": float(setting.mttf_h.value),
        "size_gb": float(setting.size_gb.value),
        "write_min": float(policy.write_h.value) * 60,
        "persist_min": float(policy.persist_h.value) * 60,
        "host_write_min": float(setting.host_write_h.value) * 60,
        "storage_write_min": float(setting.storage_write_h.value) * 60,
        "kept_gb": float(setting.kept_gb.value),
        "spares": float(setting.spares.value),
    }


def _refuse(problems: list[str]) -> None:
    if problems:
        raise InputError("\n".join(problems))


def _unknown(options: Mapping[str, str], choices: Mapping[str, list[str]]) -> Iterator[str]:
    """Every unknown name, with the nearest known ones."""
    for kind, name in options.items():
        if kind == "failures" and is_fit(name):
            read_fit(Path(name))
        elif kind == "failures" and name not in choices[kind]:
            yield no_fleet(name, choices[kind])
        elif name not in choices[kind]:
            near = difflib.get_close_matches(name, choices[kind], n=3)
            hint = f"near: {', '.join(near)}" if near else f"there are: {', '.join(choices[kind])}"
            yield f"no {KINDS[kind]} '{name}'; {hint}"


def choices_of(catalogue: Catalogue) -> dict[str, list[str]]:
    """Every name that a question may choose, by kind."""
    return {
        "failures": fleets(catalogue),
        "skus": sorted(catalogue.skus),
        "storages": list(catalogue.names("checkpoint_storage", "bandwidth")),
        "models": list(models_of(catalogue, TRAINED)),
        "grids": list(catalogue.names("grid", "intensity")),
    }
