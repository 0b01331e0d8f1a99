"""Serving of language models: what a replica of each size takes within its targets, and what it draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.answers.throughput.costs import per_million
from planner.answers.throughput.disaggregated import apart_rows
from planner.answers.throughput.equations import yield_per_kwh
from planner.answers.throughput.setting import Row, Setting, Table, ranged, worst
from planner.answers.throughput.traffic import about, asking, replicas_for
from planner.inputs.resolved import Inputs
from planner.inputs.service_requests import request_tokens, windows_of
from planner.performance.capacity import request_alone
from planner.physics.engine_law import engine_law
from planner.physics.engines import engine_title
from planner.physics.hybrids import crossover, is_hybrid
from planner.physics.measured_serving import (
    Points,
    factors_of,
    measured_split,
    other_split_error,
    rate_error,
    rate_error_text,
)
from planner.physics.replica_kinds import Kinds, replica_kinds
from planner.physics.served_models import model_fact
from planner.physics.serving import serving_candidates
from planner.physics.serving_options import ServingCandidates
from planner.physics.training_options import is_mixture
from planner.trace.columns import Indices
from planner.trace.numbers import count_text, fixed_text, percent_text
from planner.trace.quantities import Traced, chosen, derive, derive_parts, pick

SPLITS = (1, 2, 4, 8, 16, 32, 64)
SMALL = 1e9  # parameters below which no model was fitted
CARRIED = {"requests_per_s": "rate_per_s", "limit_requests_per_s": "limit_per_s"}


def serving_table(setting: Setting) -> Table:
    """Every SKU split into replicas of every size, as a plan would have them, or why none works."""
    question = asking(setting)
    candidates, dropped = serving_candidates(question.inputs, SPLITS)
    rows: dict[tuple[str, int], Row] = {
        (one.sku, int(one.what.rpartition(" ")[2])): {"reason": one.reason} for one in dropped
    }
    columns: dict[str, Traced] = {}
    works: list[tuple[str, int]] = []
    layouts: dict[tuple[str, int], Row] = {}
    if len(candidates):
        kinds = _working(question, candidates, rows)
        names = [question.inputs.skus[k].name for k in kinds.sku]
        works = list(zip(names, (int(tp) for tp in kinds.accelerators.value), strict=True))
        columns = _columns(question, kinds) if works else {}
        layouts = dict(zip(works, _layouts(kinds), strict=True))
    place = {sku.name: k for k, sku in enumerate(question.inputs.skus)}
    keys = sorted({*rows, *works}, key=lambda key: (place[key[0]], key[1]))
    listed: list[Row] = [
        {"sku": sku, "accelerators": tp, "fits": (sku, tp) in works, **rows.get((sku, tp), {})}
        | layouts.get((sku, tp), {})
        for sku, tp in keys
    ]
    fitting = [keys.index(key) for key in works]
    served = np.array([place[sku] for sku, _ in works], dtype=np.intp)
    notes = [*_notes(question), *_rate_notes(question, served)]
    table = Table("requests", listed, fitting, columns, about(question), notes).filled()
    if setting.question.disaggregated:
        return replace(table, about={**table.about, "apart": apart_rows(question, table)})
    return table


def _working(setting: Setting, candidates: ServingCandidates, rows: dict[tuple[str, int], Row]) -> Kinds:
    """Kinds of replica that keep the targets; the others learn why not."""
    kinds, _ = replica_kinds(setting.inputs, candidates)
    able = np.asarray(kinds.capacity["requests_per_s"].value) > 0
    if not able.all():
        slow = kinds.some(np.flatnonzero(~able))
        size = np.asarray(slow.accelerators.value, dtype=np.intp)
        for k, tp, reason in zip(slow.sku, size, _too_slow(setting, slow, size), strict=True):
            rows[setting.inputs.skus[k].name, int(tp)] = {"reason": reason}
    return kinds.some(np.flatnonzero(able))


def _layouts(kinds: Kinds) -> list[Row]:
    """How each replica is laid out, in the terms of engines.

    `tp` accelerators share attention, `dp` groups of them repeat it, `pp` stages hold the layers in a row.
    """
    rows_: list[Row] = []
    for size, dp, pp in zip(kinds.accelerators.value, kinds.groups, kinds.stages, strict=True):
        tp = int(size) // int(dp * pp)
        more = [f"{name}{count}" for name, count in (("PP", pp), ("DP", dp)) if count > 1]
        rows_.append({"tp": tp, "pp": int(pp), "dp": int(dp), "layout": " ".join([f"TP{tp}", *more])})
    return rows_


def _too_slow(setting: Setting, kinds: Kinds, size: Indices) -> list[str]:
    """What a request takes that a replica of each kind has alone, next to which targets are out of reach."""
    law = engine_law(setting.inputs, kinds.service, kinds.sku, size, kinds.groups, kinds.stages)
    own = {name: part for name, part in law.arguments.items() if name != "utilisation_fraction"}
    alone = derive_parts(request_alone, **own)
    share = percent_text(float(np.max(own["targets"].quantile_fraction.value)), 0)
    reasons = []
    for first_s, token_s in zip(alone.ttft_s.value, alone.tpot_s.value, strict=True):
        further = f" and {fixed_text(1000 * token_s, 1)} ms a token" if token_s else ""
        reasons.append(
            "no load keeps the targets: a request alone has its first token within "
            f"{fixed_text(first_s, 3)} s ({share} of requests){further}"
        )
    return reasons


def _columns(setting: Setting, kinds: Kinds) -> dict[str, Traced]:
    """What a replica of each row gives and draws at its planned load."""
    replica_kw = (kinds.busy_kw * kinds.nodes).named("shared_node_kw", "Power of a replica")
    capacity = {CARRIED.get(name, name): part for name, part in kinds.capacity.items()}
    inputs = setting.inputs
    service = inputs.scenario.services[0]
    _, answer = request_tokens(inputs, service)
    if (windows := windows_of(inputs, service)) is not None:
        answer = (answer * windows).named("tokens", "of all windows of a recording")
    tokens = (capacity["rate_per_s"] * answer).named(
        "written_tokens_per_s", "Tokens that are written for requests"
    )
    one = chosen("nodes", 1.0, "one replica with its share of the host")
    columns = ranged(capacity["rate_per_s"], _error(setting, kinds.sku, kinds.accelerators)) | {
        "batch": kinds.batch,
        **capacity,
        "tokens_per_s": tokens,
        "replica_kw": replica_kw,
        "tokens_per_kwh": derive(yield_per_kwh, rate_per_s=tokens, nodes=one, node_kw=replica_kw),
        **per_million(setting, kinds.sku, rate=tokens, nodes=kinds.nodes, node_kw=kinds.busy_kw),
    }
    if service.audio_s is not None:
        sound = inputs.yours(f"{service.place}.audio", service.audio_s, "s")
        columns["audio_ratio"] = (capacity["rate_per_s"] * sound).named(
            "audio_ratio", "sound in its own time"
        )
    if setting.question.requests_per_s is not None:
        columns |= replicas_for(setting, kinds, replica_kw)
    return columns


def _error(setting: Setting, sku: Indices, tp: Traced) -> Traced:
    """Error of a serving rate: small where it was measured or fitted, large elsewhere."""
    inputs, question = setting.inputs, setting.question
    items = []
    for k, split in zip(sku, np.asarray(tp.value, dtype=int), strict=True):
        chip = inputs.skus[k].accelerator
        points = factors_of(inputs.catalogue, chip, question.model, question.precision, int(split))
        items.append(_measured_error(inputs, points, int(split)) if points else _fitted_error(setting, chip))
    return pick(items, np.arange(len(items)))


def _measured_error(inputs: Inputs, points: Points, split: int) -> Traced:
    """Error of the range of measured factors; of another split that of published ones where it is larger."""
    error = max(float((fact.high or fact.value) / fact.value - 1.0) for _, fact in points)
    what = "range of the measured factors"
    if not any(measured_split(fact) == split for _, fact in points):
        other = worst(other_split_error(inputs), "another split was measured")
        if float(other.value) > error:
            return other
    return chosen("fit_error_fraction", error, what)


def _fitted_error(setting: Setting, accelerator: str) -> Traced:
    error = rate_error(setting.inputs, accelerator, setting.question.model)
    return worst(error.fact, error.what)


def _rate_notes(setting: Setting, sku: Indices) -> list[str]:
    """How far off rates are and what that rests on, a note for all SKUs of which the same is true."""
    inputs, question = setting.inputs, setting.question
    names: dict[str, list[str]] = {}
    for k in dict.fromkeys(int(each) for each in sku):
        if factors_of(inputs.catalogue, inputs.skus[k].accelerator, question.model, question.precision, 1):
            continue  # this model was measured there
        error = rate_error(inputs, inputs.skus[k].accelerator, question.model)
        names.setdefault(rate_error_text("", error), []).append(inputs.skus[k].name)
    return [f"rates on {', '.join(own)}{text}" for text, own in names.items()]


def _notes(setting: Setting) -> list[str]:
    """What makes the answer less sure."""
    notes = [f"Engine: {engine_title(setting.inputs, setting.inputs.scenario.services[0])}."]
    if is_hybrid(setting.inputs, setting.question.model):
        from_tokens = float(crossover(setting.inputs, setting.question.model).value)
        notes.append(
            f"A hybrid: its layers with a state keep as much of any request, less than keys and values from "
            f"{count_text(from_tokens)} tokens on."
        )
    if is_mixture(setting.inputs, setting.question.model):
        notes.append(
            "A mixture of experts, split as tensors; exchanges between experts on many nodes are left out."
        )
    if model_fact(setting.inputs, setting.question.model, "parameters").value < SMALL:
        notes.append("Small models are bound by the host, above all on fast chips: rates are an upper end.")
    return notes
