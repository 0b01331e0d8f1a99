"""Requests as they come, asked as a service of a plan, and the replicas that take them."""

from __future__ import annotations

from dataclasses import replace

from planner.answers.throughput.question import mixes
from planner.answers.throughput.setting import Setting
from planner.inputs.model_kinds import SPEECH, kind_of_model
from planner.inputs.service_requests import request_tokens, windows_of
from planner.physics.equations.ownership import node_failure_rate_per_node_h
from planner.physics.equations.promises import failing_units, failures_without_spares, standby_replicas
from planner.physics.equations.serving import needed_replicas
from planner.physics.promises import outage_correlation
from planner.physics.replica_kinds import Kinds
from planner.physics.requests import FIRST_TOKEN, PER_TOKEN, SERVICE, given, inputs_of, peak_demand_per_s
from planner.trace.quantities import Traced, chosen, convert, derive
from reliability.spares import node_availability_fraction

MIX = "azure-2023-conv"
AVAILABILITY = 0.999
QUANTILE = "performance.serving.first_token_quantile"


def asking(setting: Setting) -> Setting:
    """The setting with its question as a service, so that a replica is what a plan would have."""
    question, fact = setting.question, setting.fact
    if question.input_tokens is not None and question.output_tokens is not None:
        lengths = f"tokens_in = {question.input_tokens!r}\ntokens_out = {question.output_tokens!r}"
        if question.alike and question.output_tokens > 0:
            lengths += '\nanswers = "alike"'
    elif kind_of_model(setting.catalogue, question.model) == SPEECH:
        window_s = fact(f"speech.{question.model}.window").value
        lengths = f'audio = "{question.audio_s or window_s!r} s"'
    else:
        trace = mixes(setting.catalogue)[question.mix or MIX]
        lengths = f'traffic = "{trace}"'
    if question.engine is not None:
        lengths = f'engine = "{question.engine}"\n{lengths}'
    text = SERVICE.format(
        model=question.model,
        precision=question.precision,
        lengths=lengths,
        rate=float(peak_demand_per_s(question.requests_per_s, fact)),
        ttft_s=float(question.ttft_s or fact(FIRST_TOKEN).value),
        tpot_s=float(question.tpot_s or fact(PER_TOKEN).value),
        availability=question.availability_fraction or AVAILABILITY,
    )
    if question.quantile_fraction is not None:
        text += f'[facts]\n"{QUANTILE}" = "{question.quantile_fraction!r}"\n'
    return replace(setting, inputs=inputs_of(setting.catalogue, question.skus, text))


def about(setting: Setting) -> dict[str, object]:
    """What is asked of replicas: requests and targets."""
    service = setting.inputs.scenario.services[0]
    prompt, answer = request_tokens(setting.inputs, service)
    sound: dict[str, object] = {}
    if service.audio_s is not None:
        windows = windows_of(setting.inputs, service)
        sound = {"audio_s": service.audio_s, "windows": 1.0 if windows is None else float(windows.value)}
    return {
        **sound,
        "mix": service.traffic
        or f"requests of {'one length' if service.answers == 'alike' else 'stated mean lengths'}",
        "input_tokens": float(prompt.value),
        "output_tokens": float(answer.value),
        "ttft_s": service.first_token_s,
        "tpot_s": service.per_token_s,
        "quantile_fraction": float(setting.fact(QUANTILE).value),
        "demand_per_s": service.peak_requests_per_s[0],
    }


def replicas_for(setting: Setting, kinds: Kinds, replica_kw: Traced) -> dict[str, Traced]:
    """Replicas for a demand, with those on standby, and what all of them take.

    A plan keeps spares for nodes under repair; here those on standby are all that there is.
    """
    fact = setting.fact
    needed = derive(
        needed_replicas, demand_per_s=kinds.demand, requests_per_s=kinds.capacity["requests_per_s"]
    )
    accelerators = setting.inputs.of_sku(setting.inputs.server("accelerators"), kinds.sku)
    failures = derive(
        node_failure_rate_per_node_h,
        reference_rate_per_node_h=fact("reliability.prior.failure_rate"),
        accelerators=accelerators,
        reference_accelerators=fact("reliability.reference_accelerators"),
        ageing_fraction_per_y=fact("reliability.ageing"),
        age_y=chosen("age_y", 0.0, "new nodes"),
    )
    share = (kinds.accelerators / accelerators).named(
        "replica_nodes", "Nodes of a replica: its accelerators over those of a node"
    )
    repair_h, restart_h = (
        convert(fact(key), "h") for key in ("reliability.repair_time.mean", "reliability.restart_time")
    )
    up = derive(node_availability_fraction, failure_rate_per_node_h=failures, repair_h=repair_h)
    lost = derive(
        failures_without_spares,
        units=derive(failing_units, carrying=needed, replica_nodes=share),
        replica_nodes=share,
        failure_rate_per_node_h=failures,
        down_h=(repair_h + restart_h).named("down_h"),
        availability_fraction=given(
            "availability", setting.question.availability_fraction or AVAILABILITY, "1"
        ),
        correlation_fraction=outage_correlation(setting.inputs, up),
    )
    spares = derive(standby_replicas, failures=lost, carrying=needed, replica_nodes=share)
    whole = ((needed + spares) * kinds.accelerators).named(
        "pool_accelerators", "Accelerators of replicas at work and standing by"
    )
    return {
        "replicas": needed,
        "spares": spares,
        "pool_accelerators": whole,
        "pool_kw": (needed * replica_kw).named(
            "pool_kw", "Power of the replicas of a pool at their largest load; those on standby are left out"
        ),
    }
