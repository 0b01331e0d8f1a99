"""Questions drawn at random: no replica beats its hardware, and what is better is never worse."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sizes import size

from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.performance.bundles import Limits, Measured, Requests, Targets
from planner.performance.capacity import replica_capacity
from planner.performance.engine import with_values
from planner.performance.memory import kv_cache_gb_per_token, largest_batch, replica_weights_gb
from planner.physics.engines import engine_constants, served_chip
from planner.physics.links import replica_layout
from planner.physics.precisions import FORMATS
from planner.physics.requests import inputs_of
from planner.physics.served_models import served_model
from planner.trace.quantities import chosen

MODELS: tuple[str, ...] = (
    "qwen3-0.6b",
    "llama-3.1-8b",
    "qwen3-32b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "mixtral-8x7b",
)
MODELS += ("qwen3-30b-a3b", "qwen3-235b-a22b", "deepseek-v3")
USABLE = 0.9
DRAWN = size(800, nightly=5_000)
Column = np.ndarray[Any, Any]


@cache
def everything() -> Inputs:
    return inputs_of(load_catalogue(), ())


def stacked(bundles: list[Any]) -> Any:
    """Columns of a bundle from one bundle a row."""
    names = [f.name for f in fields(bundles[0])]
    return type(bundles[0])(
        **{n: np.array([float(np.squeeze(getattr(b, n))) for b in bundles]) for n in names}
    )


def drawn(count: int) -> dict[str, Any]:
    """Questions: model, accelerator, precision and layout that fit, lengths, targets; always the same."""
    inputs, rng = everything(), np.random.default_rng(19)
    found: list[dict[str, Any]] = []
    while len(found) < count:
        k = int(rng.integers(len(inputs.skus)))
        model, precision = str(rng.choice(MODELS)), str(rng.choice(list(FORMATS)))
        accelerator, tp = inputs.skus[k].accelerator, float(rng.choice([1, 2, 4, 8]))
        peak = f"accelerator.{accelerator}.{FORMATS[precision].peak}_peak"
        if not inputs.catalogue.has(peak):
            continue
        one = with_values(served_model(inputs, model, precision))
        dp = float(rng.choice([1, 2, 8])) if one.routed_parameters > 0 else 1.0
        pp = float(rng.choice([1, 1, 2, 4])) if dp == 1 else 1.0
        prompt, answer = 2 ** rng.uniform(4, 14), 2 ** rng.uniform(0, 11)
        held = largest_batch(
            memory_gb=inputs.fact(f"accelerator.{accelerator}.memory").value,
            usable_fraction=USABLE,
            weights_gb=replica_weights_gb(
                parameters=one.parameters,
                routed_parameters=one.routed_parameters,
                weight_bytes=one.weight_bytes,
                tp=tp,
                dp=dp,
                pp=pp,
            ),
            kv_cache_gb_per_token=cache_gb(one, tp),
            context_tokens=prompt + 2 * answer,
            batch_limit=512.0,
        )
        if float(np.squeeze(held)) < 1:
            continue
        chip = with_values(served_chip(inputs, accelerator, precision))
        found.append(
            {"sku": k, "tp": tp, "dp": dp, "pp": pp, "model": one, "chip": chip, "held": np.squeeze(held)}
        )
        found[-1] |= {"prompt": prompt, "answer": answer, "wait": 2 ** rng.uniform(-2, 6)}
        found[-1] |= {"token": 2 ** rng.uniform(-7, 2)}
    columns = {
        name: np.array([row[name] for row in found])
        for name in ("sku", "tp", "dp", "pp", "held", "prompt", "answer", "wait", "token")
    }
    sku = columns["sku"].astype(np.intp)
    split = [chosen(name, columns[name], "drawn") for name in ("tp", "dp", "pp")]
    return columns | {
        "model": stacked([row["model"] for row in found]),
        "chip": stacked([row["chip"] for row in found]),
        "engine": with_values(engine_constants(inputs, ["vllm"] * count, sku, split[-1])),
        "layout": with_values(replica_layout(inputs, sku, *split)),
    }


def cache_gb(model: Any, tp: Any) -> Any:
    return kv_cache_gb_per_token(
        layers=model.layers,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        kv_bytes=model.kv_bytes,
        tp=tp,
    )


@cache
def questions() -> dict[str, Any]:
    return drawn(DRAWN)


def largest(**change: Any) -> Column:
    """Requests a second of each replica at most; 0 where it keeps no target."""
    question = questions() | change
    return np.asarray(
        replica_capacity(
            **{name: question[name] for name in ("model", "chip", "engine", "layout")},
            requests=Requests(input_tokens=question["prompt"], output_tokens=question["answer"]),
            limits=Limits(batch_limit=question["held"], queue_places=64.0, chunk_tokens=8192.0),
            targets=Targets(
                ttft_target_s=question["wait"], tpot_target_s=question["token"], quantile_fraction=0.9
            ),
            measured=Measured(),
            arrival_scv_ratio=1.0,
            utilisation_fraction=0.75,
        ).limit_requests_per_s
    )


@cache
def rates() -> Column:
    return largest()


def only_where(good: Column) -> list[str]:
    """The questions that break a claim, in words."""
    question = questions()
    names = [everything().skus[int(k)].name for k in question["sku"]]
    return [
        f"{names[i]} tp {question['tp'][i]:g} dp {question['dp'][i]:g} pp {question['pp'][i]:g}, "
        f"N {question['model'].parameters[i]:.4g}, "
        f"{question['prompt'][i]:.4g} in, {question['answer'][i]:.4g} out, {question['wait'][i]:.3g} s, "
        f"{question['token'][i]:.3g} s a token"
        for i in np.flatnonzero(~good)
    ]


@pytest.mark.slow
def test_the_questions_ask_something() -> None:
    """Most can be answered, some cannot; both kinds of models, stages and most SKUs occur."""
    carries = np.mean(rates() > 0)

    assert 0.3 < carries < 1.0
    assert np.any(questions()["model"].routed_parameters > 0)
    assert np.any(questions()["model"].routed_parameters == 0)
    assert np.any(questions()["pp"] > 1)


@pytest.mark.slow
def test_no_replica_beats_its_hardware() -> None:
    """FLOP/s of all accelerators; bytes/s, memory and link of one: least work of each request, by hand."""
    question, model, chip = questions(), questions()["model"], questions()["chip"]
    tp, dp, prompt, answer = (question[name] for name in ("tp", "dp", "prompt", "answer"))
    met = model.parameters - model.routed_parameters * (1 - model.experts_per_token / model.experts)
    between = met - model.embedding_parameters - model.head_parameters
    # Each of the batches on p stages meets a p-th of the layers of an accelerator: as one of all layers.
    pp = question["pp"]
    steps, each = np.maximum(answer - 1.0, 0.0), rates() / (dp * pp)

    flop_per_s = rates() * 2 * between * (prompt + steps)
    assert only_where(flop_per_s <= tp * dp * pp * chip.peak_tflop_per_s * 1e12) == []

    shared_gb = (between - model.routed_parameters * model.experts_per_token / model.experts) / tp / 1e9
    weights = each * answer / question["held"] * shared_gb * model.weight_bytes
    caches = each * steps * prompt * cache_gb(model, tp)
    assert only_where(weights + caches <= chip.memory_gb_per_s) == []

    in_rings = each * (prompt + steps) * model.layers * 2 * 2 * (tp - 1) / tp * 2 * model.hidden / 1e9
    assert only_where(in_rings <= question["layout"].ring_gb_per_s) == []

    weights_gb = replica_weights_gb(
        parameters=model.parameters,
        routed_parameters=model.routed_parameters,
        weight_bytes=model.weight_bytes,
        tp=tp,
        dp=dp,
        pp=pp,
    )
    memory = np.array(
        [
            everything().fact(f"accelerator.{everything().skus[int(k)].accelerator}.memory").value
            for k in question["sku"]
        ]
    )
    held_gb = np.floor(question["held"]) * (prompt + answer) * cache_gb(model, tp)
    assert only_where(weights_gb + held_gb <= USABLE * memory * (1 + 1e-9)) == []


BETTER = {
    "memory": lambda a: {"chip": replace(a["chip"], memory_gb_per_s=1.5 * a["chip"].memory_gb_per_s)},
    "matrices": lambda a: {
        "chip": replace(
            a["chip"],
            peak_tflop_per_s=1.5 * a["chip"].peak_tflop_per_s,
            half_peak_tflop_per_s=1.5 * a["chip"].half_peak_tflop_per_s,
        )
    },
    "links": lambda a: {
        "layout": replace(
            a["layout"],
            ring_gb_per_s=2 * a["layout"].ring_gb_per_s,
            expert_gb_per_s=2 * a["layout"].expert_gb_per_s,
            stage_gb_per_s=2 * a["layout"].stage_gb_per_s,
        )
    },
    "fewer bytes": lambda a: {"model": replace(a["model"], weight_bytes=0.5 * a["model"].weight_bytes)},
    "first token": lambda a: {"wait": 2 * a["wait"]},
    "time per token": lambda a: {"token": 2 * a["token"]},
}
# More room for requests is no such thing: each that runs slows the prompts of the others.
TOLERANCE = 1e-4
# What batches of several groups and stages wait for is known by two moments: of 5,000 questions 26 carry less
# with fewer bytes, at most 0.23 % on one stage and 0.31 % on several. Prompts in drawn steps wait no longer.
SHARING = {"fewer bytes": (3e-3, 5e-3)}
# One of 5,000 loses 0.1 %, at a full replica.
SHORTER = 2e-3
# Nobody asks for a time per token: that of a request rises with shorter answers, since the step that read its
# prompt, and those that read what came in it, are more of them.
NO_TOKEN_TIME = 1e9


def slack(one_and_more_stages: tuple[float, float]) -> Column:
    """What each question may lose, on one stage and on several."""
    return np.where(questions()["pp"] > 1, one_and_more_stages[1], one_and_more_stages[0])


@pytest.mark.slow
@pytest.mark.parametrize("what", BETTER)
def test_what_is_better_never_carries_less(what: str) -> None:
    within = slack(SHARING.get(what, (TOLERANCE, TOLERANCE)))
    assert only_where(largest(**BETTER[what](questions())) >= rates() * (1 - within)) == []


@pytest.mark.slow
@pytest.mark.nightly
def test_shorter_answers_carry_no_fewer_requests_of_any_kind() -> None:
    """Within ten minutes to the first token, and within the target of each question."""
    half = np.maximum(questions()["answer"] / 2, 1.0)
    for wait in (600.0, questions()["wait"]):
        targets = {"wait": wait, "token": NO_TOKEN_TIME}

        assert only_where(largest(**targets, answer=half) >= (1 - SHORTER) * largest(**targets)) == []


def test_a_part_of_a_prompt_waits_for_one_part_of_each_other_group() -> None:
    """8 groups that read 8,726 tokens in two parts each: with answers half as long none carries 18 % less."""
    inputs = everything()
    sku = np.array([[one.name for one in inputs.skus].index("h100-8")])
    split, groups = chosen("tp", np.ones(1), "stated"), chosen("dp", np.full(1, 8.0), "stated")
    rates = [
        np.asarray(
            replica_capacity(
                model=with_values(served_model(inputs, "mixtral-8x7b", "fp8")),
                chip=with_values(served_chip(inputs, "h100-sxm-80gb", "fp8")),
                engine=with_values(engine_constants(inputs, ["vllm"], sku)),
                layout=with_values(replica_layout(inputs, sku, split, groups)),
                requests=Requests(input_tokens=np.full(1, 8726.0), output_tokens=np.full(1, answer)),
                limits=Limits(batch_limit=np.full(1, 56.0), queue_places=64.0, chunk_tokens=8192.0),
                targets=Targets(ttft_target_s=600.0, tpot_target_s=20.0, quantile_fraction=0.9),
                measured=Measured(),
                arrival_scv_ratio=1.0,
                utilisation_fraction=0.75,
            ).limit_requests_per_s
        ).item()
        for answer in (2.48, 1.24)
    ]

    assert rates[1] >= 0.99 * rates[0] > 0
