"""Inference: node-hours and IT energy of requests, by the serving model or at a measured rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from planner.answers.job.equations import answering_h, asked_requests, writing_h
from planner.answers.job.setting import Setting
from planner.answers.job.work import PRECISION, Done, inputs_of_work, node_kw_of
from planner.inputs.job.schema_work import Inference
from planner.inputs.resolved import Inputs
from planner.inputs.techniques import Way, Ways
from planner.physics.nodes import node_columns
from planner.physics.requests import FIRST_TOKEN, PER_TOKEN, peak_demand_per_s
from planner.physics.serving import Replicas, replica_columns, serving_candidates
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, number_text
from planner.trace.quantities import Traced, derive, rows
from planner.trace.units import DIMENSIONLESS

PHASE = "inference"


@dataclass(frozen=True)
class Answered:
    """The work of a service, and what it gave."""

    done: Done
    requests: Traced
    tokens: Traced
    requests_per_day: Traced | None


def answered(setting: Setting, inference: Inference) -> Answered:
    """Node-hours and energy of the requests of a job."""
    per_day: Traced | None = None
    if inference.requests is not None:
        requests: Traced = setting.yours(f"{PHASE}.requests", inference.requests, DIMENSIONLESS)
    else:
        per_day = setting.yours(f"{PHASE}.requests_per_day", inference.requests_per_day or 0.0, DIMENSIONLESS)
        requests = derive(
            asked_requests,
            daily_requests=per_day,
            duration_h=setting.yours(f"{PHASE}.duration", inference.duration_h or 0.0, "h"),
        )
    written = _tokens(setting, inference)[1]
    done = (_measured if inference.tokens_per_s is not None else _predicted)(setting, inference, requests)
    lasts = (
        None
        if inference.duration_h is None
        else setting.yours(f"{PHASE}.duration", inference.duration_h, "h")
    )
    done = replace(done, duration_h=lasts, start=inference.start)
    tokens = (requests * written).named("answered_tokens", "Tokens that were written")
    return Answered(done, requests, tokens, per_day)


def _measured(setting: Setting, inference: Inference, requests: Traced) -> Done:
    """At a measured rate of one node."""
    sku = setting.sku(inference.sku)
    rate = setting.yours(f"{PHASE}.tokens_per_s", inference.tokens_per_s or 0.0, "1/s")
    node_h = derive(
        writing_h, requests=requests, tokens_out=_tokens(setting, inference)[1], tokens_per_s=rate
    )
    node_kw = node_kw_of(setting, PHASE, inference.power_kw, inference.sku, "performance.power.decode")
    it = (node_h * node_kw).named("drawn_it_kwh", "IT energy of node-hours")
    said = f"{count_text(requests.value)} requests on {sku.name} (measured rate)"
    return Done(sku.name, node_h, it, said=said)


def _predicted(setting: Setting, inference: Inference, requests: Traced) -> Done:
    """By the serving model."""
    sku = setting.sku(inference.sku).name
    inputs = _inputs(setting, inference, [sku])
    replica = _replica(setting, inference, inputs, sku)
    only = np.array(0)
    hours = derive(
        answering_h,
        requests=requests,
        requests_per_s=rows(rows(replica.requests_per_s, only), only),
        mean_to_peak_fraction=inputs.yours(
            "services.inference.mean_to_peak", inputs.scenario.services[0].mean_to_peak_fraction, "1"
        ),
    )
    node_h = (rows(replica.nodes, only) * hours).named("run_node_h", "Node-hours of a run")
    it = (hours * rows(rows(replica.planned_kw, only), only)).named("drawn_it_kwh", "IT energy of node-hours")
    size = int(replica.candidates.accelerators[0])
    demand_per_s = inputs.scenario.services[0].peak_requests_per_s[0]
    said = (
        f"{count_text(requests.value)} requests to {inference.model} on {sku}, {size} "
        f"accelerator{'s' * (size != 1)} each (predicted, "
        f"as one of the replicas that share {number_text(demand_per_s)} requests/s)"
    )
    return Done(sku, node_h, it, said=said)


def _replica(setting: Setting, inference: Inference, inputs: Inputs, sku: str) -> Replicas:
    """The split over accelerators that meets the targets and draws least for a request."""
    key = _key(setting, inference, sku)
    if key not in setting.kept:
        candidates, dropped = serving_candidates(inputs)
        if not len(candidates):
            raise InputError(f"{PHASE}: {inference.model} on {sku}: {dropped[0].reason}")
        nodes = node_columns(inputs)
        tried = replica_columns(inputs, nodes, candidates)
        best = _least_power(tried, np.arange(len(candidates)))
        if not len(best):
            raise InputError(
                f"{PHASE}: {inference.model} on {sku} meets its latency targets at no load: allow a longer "
                "first_token or per_token, or choose another SKU"
            )
        setting.kept[key] = replica_columns(inputs, nodes, candidates.some(best))
    found: Replicas = setting.kept[key]
    return found


def on_each_sku(setting: Setting, inference: Inference, skus: Sequence[str]) -> tuple[Setting, list[str]]:
    """The same setting with replicas on each of these SKUs, and those of them that serve.

    All are worked out in one table, which takes a fraction of one after the other. It is what each number is
    traced to: a number that is shown is worked out again on its SKU alone.
    """
    able = [sku for sku in skus if _may_serve(setting, inference, sku)]
    if not able:
        return setting, []
    inputs = _inputs(setting, inference, able)
    candidates, _ = serving_candidates(inputs)
    if not len(candidates):
        return setting, []
    tried = replica_columns(inputs, node_columns(inputs), candidates)
    sku_of = inputs.node_group_sku[candidates.node_group]
    kept = dict(setting.kept)
    serving = []
    for k in np.unique(sku_of):
        best, name = _least_power(tried, np.flatnonzero(sku_of == k)), inputs.skus[k].name
        if len(best):
            kept[_key(setting, inference.but(sku=name), name)] = _some(tried, best)
            serving.append(name)
    return replace(setting, kept=kept), [sku for sku in able if sku in serving]


def _may_serve(setting: Setting, inference: Inference, sku: str) -> bool:
    """Whether a scenario on this SKU is accepted."""
    try:
        _inputs(setting, inference, [sku])
    except InputError:
        return False
    return True


def _key(setting: Setting, inference: Inference, sku: str) -> tuple[object, ...]:
    return PHASE, inference, sku, setting.techniques


def _least_power(tried: Replicas, among: NDArray[np.intp]) -> NDArray[np.intp]:
    """The row of these that draws least for a request; none where none meets its targets."""
    rate, power_kw = (np.asarray(one.value)[:, 0] for one in (tried.requests_per_s, tried.planned_kw))
    works = among[rate[among] > 0]
    return works[[np.argmin(power_kw[works] / rate[works])]] if len(works) else works


def _some(replicas: Replicas, index: NDArray[np.intp]) -> Replicas:
    """Some rows, with every coefficient."""
    columns = {one.name: getattr(replicas, one.name) for one in fields(replicas)}
    return replace(
        replicas,
        candidates=replicas.candidates.some(index),
        **{name: rows(column, index) for name, column in columns.items() if isinstance(column, Traced)},
    )


def _tokens(setting: Setting, inference: Inference) -> tuple[Traced, Traced]:
    """Mean prompt and answer of a request."""
    if inference.traffic is not None:
        traffic = f"traffic.{inference.traffic}"
        return setting.fact(f"{traffic}.mean_context"), setting.fact(f"{traffic}.mean_generated")
    return (
        setting.yours(f"{PHASE}.tokens_in", inference.tokens_in or 0.0, DIMENSIONLESS),
        setting.yours(f"{PHASE}.tokens_out", inference.tokens_out or 0.0, DIMENSIONLESS),
    )


def _inputs(setting: Setting, inference: Inference, skus: Sequence[str]) -> Inputs:
    """The service as a scenario of its own; a batch of requests may wait as long as a scenario can say.

    A batch has no busiest hour: its replicas are asked about as those of a large pool.
    """
    batch = inference.requests is not None
    mean_to_peak = inference.mean_to_peak_fraction or (
        1.0 if batch else setting.fact("job.mean_to_peak").value
    )
    longest = 3600.0
    first, per = (
        stated or (longest if batch else setting.fact(name).value)
        for name, stated in ((FIRST_TOKEN, inference.first_token_s), (PER_TOKEN, inference.per_token_s))
    )
    stated_per_s = None if batch else (inference.requests_per_day or 0.0) / 86_400.0 / mean_to_peak
    per_s = peak_demand_per_s(stated_per_s, setting.fact)
    lengths = (
        f'traffic = "{inference.traffic}"'
        if inference.traffic is not None
        else f"tokens_in = {inference.tokens_in!r}\ntokens_out = {inference.tokens_out!r}"
    )
    text = f"""
[[services]]
name = "{PHASE}"
model = "{inference.model}"
precision = "{inference.precision or PRECISION}"
{lengths}
peak_rate = "{min(max(per_s, 1e-6), 1e8)!r} /s"
mean_to_peak = {mean_to_peak!r}
first_token = "{first!r} s"
per_token = "{per!r} s"
availability = 0.99
"""
    only = Way(of=0, base=0, techniques=setting.techniques)
    return replace(inputs_of_work(setting, text, skus, 1), ways=Ways(services=(only,)))
