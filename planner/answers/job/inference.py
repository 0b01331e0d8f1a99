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
from planner.inputs.model_kinds import is_film
from planner.inputs.resolved import Inputs
from planner.inputs.techniques import Way, Ways
from planner.physics.nodes import node_columns
from planner.physics.requests import ASKER, FIRST_TOKEN, PER_TOKEN, peak_demand_per_s
from planner.physics.serving import Replicas, replica_columns, serving_candidates
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, number_text
from planner.trace.quantities import Fact, Traced, derive, rows
from planner.trace.units import DIMENSIONLESS

PHASE = "inference"
RESPONSE = "response_time"
HEADROOM, FULL = "performance.serving.headroom", "always full, as no one waits"
TARGETS = ("first_token_s", "per_token_s", "response_time_s")
LONGEST_TOKEN_S, LONGEST_ANSWER_S = 3600.0, 86_400.0  # what a service may state at most


@dataclass(frozen=True)
class Answered:
    """The work of a service, and what it gave."""

    done: Done
    requests: Traced
    tokens: Traced | None  # written; None where answers are no texts
    items: Traced | None  # images, films, hours of sound or scored samples, in `item`
    item: str
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
    done = (_measured if inference.tokens_per_s is not None else _predicted)(setting, inference, requests)
    lasts = (
        None
        if inference.duration_h is None
        else setting.yours(f"{PHASE}.duration", inference.duration_h, "h")
    )
    done = replace(done, duration_h=lasts, start=inference.start)
    written, (items, item) = _written(setting, inference), _items(setting, inference)
    tokens = None
    if written is not None:
        tokens = (requests * written).named("answered_tokens", "Tokens that were written")
    if items is not None:
        items = (requests * items).named("answered_items", f"Of all requests: {item}")
    return Answered(done, requests, tokens, items, item, per_day)


def _measured(setting: Setting, inference: Inference, requests: Traced) -> Done:
    """At a measured rate of one node."""
    sku = setting.sku(inference.sku)
    rate = setting.yours(f"{PHASE}.tokens_per_s", inference.tokens_per_s or 0.0, "1/s")
    written = _written(setting, inference)
    assert written is not None, "a rate of tokens is of what is written"
    node_h = derive(writing_h, requests=requests, tokens_out=written, tokens_per_s=rate)
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
    shared = f"as one of the replicas that share {number_text(demand_per_s)} requests/s"
    said = (
        f"{count_text(requests.value)} requests to {inference.model} on {sku}, {size} "
        f"accelerator{'s' * (size != 1)} each (predicted, {FULL if _is_full(setting, inference) else shared})"
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
            targets = (
                "first_token or per_token" if "first_token" in _in_time(setting, inference) else RESPONSE
            )
            raise InputError(
                f"{PHASE}: {inference.model} on {sku} meets its latency targets at no load: allow a longer "
                f"{targets}, or choose another SKU"
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


def _written(setting: Setting, inference: Inference) -> Traced | None:
    """Mean tokens of an answer; None where it is no text, or prompts are only read."""
    if inference.traffic is not None:
        return setting.fact(f"traffic.{inference.traffic}.mean_generated")
    if inference.tokens_out:
        return setting.yours(f"{PHASE}.tokens_out", inference.tokens_out, DIMENSIONLESS)
    if inference.audio_s is None:
        return None
    sound = setting.yours(f"{PHASE}.audio", inference.audio_s, "s")
    tokens_per_s = setting.fact("speech.default.tokens_per_s")
    return (sound * tokens_per_s).named("tokens_out", "Tokens that are written of the sound of a request")


def _items(setting: Setting, inference: Inference) -> tuple[Traced | None, str]:
    """What a request asks for other than text, and its name; nothing of one that writes to a prompt."""
    if inference.images is not None:
        films = is_film(setting.catalogue, inference.model or "")
        return setting.yours(f"{PHASE}.images", inference.images, DIMENSIONLESS), "film" if films else "image"
    if inference.audio_s is not None:
        hours = inference.audio_s / 3600.0
        return setting.yours(f"{PHASE}.audio_hours", hours, DIMENSIONLESS), "hour of sound"
    if inference.candidates is not None:
        millions = inference.candidates / 1e6
        return setting.yours(f"{PHASE}.million_candidates", millions, DIMENSIONLESS), "million samples scored"
    return None, ""


def _inputs(setting: Setting, inference: Inference, skus: Sequence[str]) -> Inputs:
    """The service as a scenario of its own; a batch of requests may wait as long as a scenario can say.

    A batch has no busiest hour: its replicas are asked about as those of a large pool. Without targets they
    are always full, as those of pools; the headroom of services is for the peak hour of who waits.
    """
    batch = inference.requests is not None
    mean_to_peak = inference.mean_to_peak_fraction or (
        1.0 if batch else setting.fact("job.mean_to_peak").value
    )
    stated_per_s = None if batch else (inference.requests_per_day or 0.0) / 86_400.0 / mean_to_peak
    per_s = peak_demand_per_s(stated_per_s, setting.fact)
    text = f"""
[[services]]
name = "{PHASE}"
model = "{inference.model}"
precision = "{inference.precision or PRECISION}"
{_asked(inference)}
peak_rate = "{min(max(per_s, 1e-6), 1e8)!r} /s"
mean_to_peak = {mean_to_peak!r}
{_in_time(setting, inference)}
availability = 0.99
"""
    only = Way(of=0, base=0, techniques=setting.techniques)
    inputs = replace(inputs_of_work(setting, text, skus, 1), ways=Ways(services=(only,)))
    if _is_full(setting, inference):
        inputs.keep(Fact(1.0, "1", key=HEADROOM, source=ASKER, locator=FULL, kind="yours"))
    return inputs


def _is_full(setting: Setting, inference: Inference) -> bool:
    """Whether replicas are always full: of a batch for which no one waits."""
    waits = any(getattr(inference, name) is not None for name in TARGETS)
    return inference.requests is not None and not waits and HEADROOM not in setting.job.facts


def _asked(inference: Inference) -> str:
    """What a request is, as a service says it."""
    lines = {
        "traffic": None if inference.traffic is None else f'"{inference.traffic}"',
        "tokens_in": inference.tokens_in,
        "tokens_out": inference.tokens_out,
        "images": inference.images,
        "audio": None if inference.audio_s is None else f'"{inference.audio_s!r} s"',
        "candidates": inference.candidates,
    }
    return "\n".join(f"{key} = {value}" for key, value in lines.items() if value is not None)


def _in_time(setting: Setting, inference: Inference) -> str:
    """When an answer is in time: as stated, else by facts; a batch may wait as long as a service can say."""
    batch = inference.requests is not None
    if inference.images is not None or inference.candidates is not None or inference.response_time_s:
        return f'{RESPONSE} = "{inference.response_time_s or LONGEST_ANSWER_S!r} s"'
    targets = ((FIRST_TOKEN, inference.first_token_s), (PER_TOKEN, inference.per_token_s))
    first, per = (
        stated or (LONGEST_TOKEN_S if batch else setting.fact(name).value) for name, stated in targets
    )
    return f'first_token = "{first!r} s"\nper_token = "{per!r} s"'
