"""A plan's services played request by request, next to the closed form that it was made with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.fleet import place
from planner.answers.plan.promises import standing_by
from planner.inputs.resolved import Inputs
from planner.inputs.service_requests import arrival_scv, mix_of, request_tokens, trace_rate, windows_of
from planner.performance.arrivals import Crew, Demand, dealt_stream, drawn_outages, joined_streams
from planner.performance.capacity import replica_queue
from planner.performance.engine import with_values
from planner.performance.quantiles import first_token_quantile_s
from planner.performance.replica import MixedReplica, first_tokens_in_time_fraction, mixed_state
from planner.performance.simulation import Outage, Served, Stream, serve_stream
from planner.performance.step_table import StepTable, step_table
from planner.performance.token_times import token_time_quantile_s
from planner.physics.batch_serving import in_batches
from planner.physics.equations.serving import replica_arrival_scv_ratio
from planner.physics.power_caps import Modes
from planner.physics.replica_questions import replica_arguments
from planner.physics.serving_options import layout_columns
from planner.physics.serving_power import BUNDLES, slowed_arguments
from planner.program.plan import Plan
from planner.trace.numbers import count_text, fixed_text, percent_text
from planner.trace.quantities import chosen
from planner.trace.records import Record

SECONDS, WARM_SECONDS = 400.0, 40.0  # played, of which the first and last are not counted
REQUESTS = 20_000  # of a service in a period, as far as so many replicas take them
LEAST_REPLICAS, MOST_REPLICAS = 16, 64
SEED = 20230101
ANSWERS = 200  # kinds of answers where only their mean is stated
OFF = 0.10  # of the closed form's quantile, from which on it is mentioned
ABOUT = (
    "Arrivals and lengths are drawn from the trace of a service, in its peak hour; engines take "
    "steps by the plan's own law, prompts in chunks and in turn; groups that share experts end each step "
    "with the slowest of them, and batches on stages do not overtake; nodes fail at the plan's rate, those "
    "that stand by take over at once, and what a failed node held is lost. First tokens count from arrival; "
    "the quantiles of the time per token are over the means of requests."
)
# The plan's value and the played one, and how they are called.
COMPARED = {
    ("closed_{key}_p99_s", "{key}_p99_s"): "P99",
    ("closed_mean_{key}_s", "mean_{key}_s"): "the mean",
}
QUANTILES = {"p50_s": 0.5, "p90_s": 0.9, "p99_s": 0.99}


@dataclass(frozen=True)
class _Case:
    """Replicas of one option of a service in one period or several alike."""

    service: int
    node_group: int
    row: int
    place: dict[str, Any]
    periods: tuple[str, ...]
    demand: Demand
    crew: Crew
    targets: tuple[float, float, float]  # first token, each further one, share of first tokens in time
    planned: tuple[float, float]  # the plan's own means of the two, at its planned load
    hours: float


def verification(
    plan: Plan,
    *,
    seed: int = SEED,
    seconds: float,
    should_stop: Callable[[], bool] | None = None,
    tell: Callable[[float], None] | None = None,
) -> Record:
    """Each service of a plan at the peak hour of each period: latencies simulated and in closed form.

    Raises:
        Stopped: `should_stop` said so.
    """
    cases = _cases(plan)
    laws = [_law(plan, case) for case in cases]
    played = _play(cases, laws, seed, seconds, should_stop, tell) if cases else []
    rows = [_row(case, law, one) for case, law, one in zip(cases, laws, played, strict=True)]
    for row, case in zip(rows, cases, strict=True):
        row["service"] = plan.inputs.scenario.services[case.service].name
        row["period"] = _said(case.periods, plan.inputs.scenario.horizon.period_labels)
    return {
        "seed": seed,
        "seconds": seconds,
        "warm_seconds": min(WARM_SECONDS, seconds / 4.0),
        "dealing": "each request goes to a replica at random, as the plan takes it",
        "about": ABOUT,
        "rows": rows,
        "findings": [
            *(
                [line for row in rows for line in _findings(row)]
                or [
                    "Every target is met, and no P99 and no mean of the closed form is off by more than "
                    f"{percent_text(OFF, 0)}."
                ]
                * bool(rows)
            ),
            *_failures_said(rows),
            *_not_played(plan),
        ],
    }


def with_verification(
    plan: Plan,
    *,
    should_stop: Callable[[], bool] | None = None,
    tell: Callable[[float], None] | None = None,
) -> Plan:
    """The plan with its services played; as it is where there is none."""
    if plan.answer.solution is None:
        return plan
    found = verification(plan, seconds=SECONDS, should_stop=should_stop, tell=tell)
    return replace(plan, verification=found)


MEASURES = {"first_token": "first token", "per_token": "further token"}


def verification_records(found: Record) -> list[Record]:
    """A table of what was played: a line for each measure of a service, simulated and in closed form."""
    records = []
    for row in found["rows"]:
        for key, measure in MEASURES.items():
            record: Record = {name: row[name] for name in ("service", "period", "site", "sku")}
            record["measure"] = measure
            for name in QUANTILES:
                record[f"simulated_{name}"] = row[f"{key}_{name}"]
                record[f"closed_{name}"] = row[f"closed_{key}_{name}"]
            record["off_fraction"] = _off(record["closed_p99_s"], record["simulated_p99_s"])
            first = key == "first_token"
            for name in ("in_time_fraction", "closed_in_time_fraction"):
                record[name] = row[name] if first else None
            records.append(record)
    return records


def _off(ours: float | None, theirs: float | None) -> float | None:
    """How far the closed form is from the simulation."""
    return None if ours is None or not theirs else ours / theirs - 1.0


def _why_not_played(plan: Plan, row: int) -> str:
    """Why the replicas of a row of the ledger are not played request by request; empty where they are."""
    replicas, ways = plan.ledger.replicas, plan.assembled.tried.ways.services
    assert replicas is not None, "a row is of some replicas"
    of = plan.problem.serve_options.service[plan.ledger.replica_options[row]]
    stated = plan.inputs.scenario.services[int(of)]
    if ways and ways[int(replicas.candidates.service[row])].techniques:
        return "what its technique does to single requests is not known"
    if in_batches(plan.inputs, stated):
        return "its requests are answered in batches, which only engines of tokens are played with"
    if replicas.candidates.unit[row].any():
        return "its prompts are read and its answers written apart, and only replicas that do both are played"
    if stated.is_pooled:
        return "its replicas take requests from one queue, and only those that are dealt theirs are played"
    if stated.pipeline is not None:
        return "it has a part of a response time, as a stage of a pipeline"
    if stated.homes:
        return "the way to its users takes a part of its response time"
    if stated.cache_hits_fraction:
        return "which of its requests find their prompts in the cache is not known"
    return ""


def _not_played(plan: Plan) -> list[str]:
    """A line for each service whose replicas are not all played, with the reason."""
    options, solution = plan.problem.serve_options, plan.answer.solution
    if plan.ledger.replicas is None or solution is None:
        return []
    found: dict[tuple[str, str], None] = {}
    for row, v in enumerate(plan.ledger.replica_options):
        if np.any(solution.replicas[v] > 0) and (reason := _why_not_played(plan, row)):
            found[plan.inputs.scenario.services[int(options.service[v])].name, reason] = None
    return [f"{name} is not played: {reason}." for name, reason in found]


def _cases(plan: Plan) -> list[_Case]:
    """What is to be played; periods with the same demand on the same replicas once."""
    replicas, solution, problem = plan.ledger.replicas, plan.answer.solution, plan.problem
    if replicas is None or solution is None:
        return []
    inputs, options = plan.inputs, problem.serve_options
    found: dict[tuple[int, int, int, float, float], _Case] = {}
    labels, horizon_h = inputs.scenario.horizon.period_labels, inputs.scenario.horizon.hours
    counts = solution.replicas[plan.ledger.replica_options]
    # Those on standby next to an option carry none of the demand that options share.
    spares = np.array(
        [
            [int(np.ceil(standing_by(options, int(v), t, int(n)) - 1e-9)) for t, n in enumerate(own)]
            for v, own in zip(plan.ledger.replica_options, counts, strict=True)
        ]
    )
    capacity = np.asarray(replicas.requests_per_s.value) * (counts - spares)
    service_of = options.service[plan.ledger.replica_options]
    failures = np.asarray(plan.assembled.nodes.failure_rate_per_node_h.value)
    for row, v in enumerate(plan.ledger.replica_options):
        if _why_not_played(plan, row):
            continue
        service, group = int(options.service[v]), int(options.node_group[v])
        stated = inputs.scenario.services[service]
        for t, label in enumerate(labels):
            count, spare = int(counts[row, t]), int(spares[row, t])
            if count <= spare:
                continue
            share = capacity[row, t] / capacity[service_of == service, t].sum()
            kept = 1.0 - float(solution.shed_fraction[service, t])
            demand = float(problem.services.demand[service, t]) * kept
            key = (row, count, spare, demand, float(share))
            if key in found:
                known = found[key]
                found[key] = replace(known, periods=(*known.periods, label), hours=known.hours + horizon_h[t])
                continue
            found[key] = _Case(
                service=service,
                node_group=group,
                row=row,
                place=place(plan, group),
                periods=(label,),
                demand=_demand(inputs, service, demand, float(share)),
                crew=Crew(
                    carrying=count - spare,
                    standby=spare,
                    groups=int(replicas.candidates.groups[row] * replicas.candidates.stages[row]),
                    replica_nodes=float(np.asarray(replicas.nodes.value)[row]),
                    failure_rate_per_node_h=float(failures.ravel()[group]),
                    down_s=3600.0 * inputs.scenario.reliability.restart_h,
                ),
                targets=(
                    stated.first_answer_s,
                    stated.further_s,
                    float(inputs.fact("performance.serving.first_token_quantile").value),
                ),
                planned=(
                    float(np.asarray(replicas.ttft_s.value)[row, t]),
                    float(np.asarray(replicas.tpot_s.value)[row, t]),
                ),
                hours=float(horizon_h[t]),
            )
    return list(found.values())


def _demand(inputs: Inputs, service: int, requests_per_s: float, share: float) -> Demand:
    stated = inputs.scenario.services[service]
    prompt, answer = request_tokens(inputs, stated)
    windows = windows_of(inputs, stated)  # of a recording, each a request of its own
    return Demand(
        requests_per_s=requests_per_s * (1.0 if windows is None else float(windows.value)),
        trace_per_s=float(trace_rate(inputs, stated).value),
        trace_scv_ratio=float(arrival_scv(inputs, stated).value),
        mix=mix_of(inputs, stated),
        input_tokens=float(prompt.value),
        output_tokens=float(answer.value),
        share_fraction=share,
    )


@dataclass(frozen=True)
class _Law:
    """A replica of a case: its step, its limits, and its queue in closed form at its load."""

    table: StepTable
    batch_limit: float
    queue_places: float
    chunk_tokens: float
    group_per_s: float
    queue: MixedReplica


def _law(plan: Plan, case: _Case) -> _Law:
    assert plan.ledger.replicas is not None, "a case is of some replicas"
    inputs, candidates = plan.assembled.tried, plan.ledger.replicas.candidates
    one = np.array([case.row])
    service, sku = candidates.service[one], inputs.node_group_sku[np.array([case.node_group])]
    split = layout_columns(candidates.accelerators[one], candidates.groups[one], candidates.stages[one])
    arguments = replica_arguments(inputs, service, sku, *split)
    scv = float(
        replica_arrival_scv_ratio(
            trace_scv_ratio=case.demand.trace_scv_ratio,
            trace_per_s=case.demand.trace_per_s,
            demand_per_s=case.demand.requests_per_s,
            carrying_replicas=case.crew.carrying / case.demand.share_fraction,
        )
    )
    modes = Modes(candidates.power_cap_fraction[one], candidates.clock_fraction[one])
    if not modes.free:
        bursts = chosen("arrival_scv_ratio", np.array([scv]), "at one of the replicas that carry")
        arguments = slowed_arguments(inputs, service, sku, modes, arguments, bursts)
    bundles = {name: with_values(arguments[name]) for name in BUNDLES}
    limits = bundles["limits"]
    batch, places, chunk = (
        float(np.floor(np.ravel(getattr(limits, name))[0]))
        for name in ("batch_limit", "queue_places", "chunk_tokens")
    )
    return _Law(
        table=step_table(
            **{name: _alone(bundles[name]) for name in ("model", "chip", "engine", "layout", "measured")},
            batch_limit=batch,
            chunk_tokens=chunk,
            prompt_tokens=case.demand.input_tokens,
        ),
        batch_limit=batch,
        queue_places=places,
        chunk_tokens=chunk,
        group_per_s=case.demand.own_per_s / case.crew.carrying / case.crew.groups,
        queue=replica_queue(**bundles, arrival_scv_ratio=np.array([scv])),
    )


def _alone(bundle: Any) -> Any:
    """A bundle of columns of one row as one of numbers; measured points stay a column."""
    values = {f.name: np.asarray(getattr(bundle, f.name)) for f in fields(bundle)}
    return type(bundle)(**{name: v[0] if v.ndim > 1 or v.shape == (1,) else v for name, v in values.items()})


@dataclass(frozen=True)
class _Played:
    """What was seen of the requests that count."""

    replicas: int
    requests: int
    first_s: NDArray[np.float64]
    token_s: NDArray[np.float64]
    answered: int
    refused: int
    lost: int
    inside: float  # mean of a replica
    mean_token_s: float | None  # over all further tokens


def _play(
    cases: list[_Case],
    laws: list[_Law],
    seed: int,
    seconds: float,
    should_stop: Callable[[], bool] | None,
    tell: Callable[[float], None] | None,
) -> list[_Played]:
    """All cases side by side: engines of all of them take their steps together.

    Each replica is played in another hour: it is one place of a service whose arrivals are drawn for it
    alone, so that few of them see many bursts.
    """
    streams: list[Stream] = []
    outages: list[list[Outage]] = []
    sampled = []
    for k, case in enumerate(cases):
        each = case.demand.own_per_s / case.crew.carrying * seconds
        few = int(np.clip(np.ceil(REQUESTS / max(each, 1.0)), LEAST_REPLICAS, MOST_REPLICAS))
        own = []
        for hour in range(few):
            # Draws of its own for each, so that none depends on what else is planned.
            draw = np.random.default_rng([seed, k, hour])
            gone = drawn_outages(crew=case.crew, seconds=seconds, draw=draw)
            own.append(
                dealt_stream(
                    demand=case.demand, crew=case.crew, outages=gone, sampled=1, seconds=seconds, draw=draw
                )
            )
            outages += [gone[0]] * case.crew.groups
        streams.append(joined_streams(own))
        sampled.append(few)
    rows = np.array([len(one.arrival_s) for one in streams])
    of = np.repeat(np.arange(len(cases)), rows)
    served = serve_stream(
        stream=joined_streams(streams),
        tables=[law.table for law in laws],
        table_of=of,
        batch_limit=np.array([law.batch_limit for law in laws])[of],
        queue_places=np.array([law.queue_places for law in laws])[of],
        chunk_tokens=np.array([law.chunk_tokens for law in laws])[of],
        outages=outages,
        should_stop=should_stop,
        tell=tell,
    )
    warm = min(WARM_SECONDS, seconds / 4.0)
    ends = np.cumsum(rows)
    return [
        _seen(stream, served, slice(end - len(stream.arrival_s), end), few, warm, seconds)
        for stream, end, few in zip(streams, ends, sampled, strict=True)
    ]


def _seen(stream: Stream, served: Served, rows: slice, few: int, warm: float, seconds: float) -> _Played:
    width = stream.arrival_s.shape[1]
    first, last, refused, lost = (
        getattr(served, name)[rows, :width] for name in ("first_s", "last_s", "refused", "lost")
    )
    # Nobody comes after the end, so that who comes shortly before it is answered sooner than others.
    counts = (stream.arrival_s >= warm) & (stream.arrival_s < seconds - warm)
    done = counts & np.isfinite(last)
    answers = np.maximum(np.round(stream.output_tokens), 1.0)
    several = done & (answers > 1.0)
    inside = (last - stream.arrival_s)[done].sum() / (seconds - 2.0 * warm) / few
    return _Played(
        replicas=few,
        requests=int(counts.sum()),
        first_s=(first - stream.arrival_s)[done],
        token_s=((last - first) / np.maximum(answers - 1.0, 1.0))[several],
        answered=int(done.sum()),
        refused=int((refused & counts).sum()),
        lost=int((lost & counts).sum()),
        inside=float(inside),
        mean_token_s=float((last - first)[several].sum() / (answers[several] - 1.0).sum())
        if np.any(several)
        else None,
    )


def _row(case: _Case, law: _Law, seen: _Played) -> Record:
    """One line of the answer."""
    first_target, token_target, quantile = case.targets
    queue, load = law.queue, law.group_per_s
    state = mixed_state(replica=queue, arrivals_per_s=load)
    in_time = first_tokens_in_time_fraction(
        replica=queue, state=state, arrivals_per_s=load, ttft_target_s=first_target
    ) * (1.0 - state.queue.refused_fraction)
    crew = case.crew
    shared = max(1.0, np.floor(1.0 / crew.replica_nodes + 1e-9))
    hosts = crew.carrying / shared * max(crew.replica_nodes, 1.0)
    failures = float(crew.failure_rate_per_node_h * case.hours * hosts)
    requests = max(seen.requests, 1)
    row: Record = {
        "service": "",
        "period": "",
        "periods": list(case.periods),
        **case.place,
        "replicas": crew.carrying + crew.standby,
        "standby": crew.standby,
        "played_replicas": seen.replicas,
        "requests": seen.requests,
        "demand_per_s": case.demand.own_per_s,
        "first_token_target_s": first_target,
        "per_token_target_s": token_target,
        "quantile_fraction": quantile,
        "in_time_fraction": float((seen.first_s <= first_target).sum() / requests),
        "closed_in_time_fraction": float(np.asarray(in_time).item()),
        "refused_fraction": seen.refused / requests,
        "closed_refused_fraction": float(np.asarray(state.queue.refused_fraction).item()),
        "lost_fraction": seen.lost / requests,
        "failures": failures,
        "lost_requests": float(failures * seen.inside * shared),
        "planned_first_token_s": case.planned[0],
        "planned_per_token_s": case.planned[1],
        "mean_first_token_s": _mean(seen.first_s),
        "closed_mean_first_token_s": float(np.asarray(state.ttft_s).item()),
        "mean_per_token_s": seen.mean_token_s,
        "closed_mean_per_token_s": float(np.asarray(state.tpot_s).item()),
    }
    for name, q in QUANTILES.items():
        row[f"first_token_{name}"] = _quantile(seen.first_s, q)
        row[f"closed_first_token_{name}"] = first_token_quantile_s(
            replica=queue, arrivals_per_s=load, quantile_fraction=q
        )
        row[f"per_token_{name}"] = _quantile(seen.token_s, q)
        row[f"closed_per_token_{name}"] = (
            token_time_quantile_s(
                replica=queue, arrivals_per_s=load, quantile_fraction=q, **answers_of(case.demand)
            )
            if seen.token_s.size
            else None
        )
    return row


def answers_of(demand: Demand) -> dict[str, NDArray[np.float64]]:
    """Kinds of answers and their shares: of the trace, or geometric of the mean that is stated."""
    if demand.mix is None:
        chances = (np.arange(ANSWERS) + 0.5) / ANSWERS
        ends = 1.0 / max(demand.output_tokens, 1.0 + 1e-9)
        lengths = np.ceil(np.log1p(-chances) / np.log1p(-ends))
        return {"output_tokens": np.maximum(lengths, 1.0), "share_fraction": np.full(ANSWERS, 1.0 / ANSWERS)}
    lengths, kind = np.unique(np.maximum(np.round(demand.mix.output_tokens), 1.0), return_inverse=True)
    return {"output_tokens": lengths, "share_fraction": np.bincount(kind, demand.mix.share_fraction)}


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if values.size else None


def _quantile(values: NDArray[np.float64], quantile: float) -> float | None:
    return float(np.quantile(values, quantile)) if values.size else None


def _findings(row: Record) -> Iterator[str]:
    """Where a target is missed, and where the closed form is off, in words."""
    where = f"{row['service']} on {row['sku']} at {row['site']} in {row['period']}"
    share, wanted = row["in_time_fraction"], row["quantile_fraction"]
    if share < wanted:
        yield (
            f"{where}: a target is missed: {percent_text(share)} of first tokens come within "
            f"{row['first_token_target_s']:g} s, {percent_text(wanted, 0)} are asked for."
        )
    each, most = row["mean_per_token_s"], row["per_token_target_s"]
    if each is not None and each > most:
        yield (
            f"{where}: a target is missed: a further token takes {fixed_text(1000 * each, 1)} ms on average, "
            f"{1000 * most:g} ms are allowed."
        )
    for key, what in MEASURES.items():
        for name, said in COMPARED.items():
            ours, theirs = (row[form.format(key=key)] for form in name)
            off = _off(ours, theirs)
            if off is None or abs(off) <= OFF:
                continue
            yield (
                f"{where}: {said} of the {what} is {count_text(1000 * theirs)} ms when played, "
                f"{count_text(1000 * ours)} ms in the plan's closed form ({percent_text(off, 0, sign=True)})."
            )


def _failures_said(rows: Sequence[Record]) -> Iterator[str]:
    """What failures of nodes take from each service in the horizon: too rare to be met in what is played."""
    for name in dict.fromkeys(row["service"] for row in rows):
        own = [row for row in rows if row["service"] == name]
        failures, lost = (sum(row[key] for row in own) for key in ("failures", "lost_requests"))
        yield (
            f"{name}: {fixed_text(failures, 1)} failures of its nodes are expected in the horizon, which "
            f"lose some {count_text(lost)} requests under way."
        )


def _said(periods: Sequence[str], labels: Sequence[str]) -> str:
    """Periods in words: from one to another where none between them is left out."""
    if len(periods) < 3:
        return " and ".join(periods)
    whole = labels.index(periods[-1]) - labels.index(periods[0]) + 1 == len(periods)
    return f"{periods[0]} to {periods[-1]}" if whole else f"{', '.join(periods[:-1])} and {periods[-1]}"
