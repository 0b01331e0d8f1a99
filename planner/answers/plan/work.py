"""What runs where: training, services, pools, pausable jobs: tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.chosen_ways import pool_way
from planner.answers.plan.clocks import mode_columns, modes_of, slowed_run
from planner.answers.plan.decisions import REASONS
from planner.answers.plan.fleet import (
    nodes_text,
    place,
    rental_sentences,
)
from planner.answers.plan.promises import kept_time_fraction, standing_by
from planner.answers.plan.quality import quality_columns
from planner.answers.plan.shared_runs import columns_of, counted_runs, options_of, other_half
from planner.answers.plan.stages import stage_columns
from planner.inputs.model_kinds import DIFFUSION, RECOMMENDATION, kind_of_model
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.inputs.software import default_stack
from planner.performance.layouts import recompute_says
from planner.physics.batch_serving import in_batches
from planner.physics.denoiser_training import HELD
from planner.physics.engines import engine_title
from planner.physics.run_ways import run_sets, set_said
from planner.physics.serving import Replicas
from planner.physics.serving_options import ServingCandidates
from planner.physics.training import TrainingRuns
from planner.physics.training_options import trained_says
from planner.physics.users import farthest_latency
from planner.physics.ways import way_said
from planner.program.plan import Plan
from planner.program.solution import Solution, lent_work_h, totals_by
from planner.trace.explain import Steps
from planner.trace.numbers import count_text, how_many, money, percent_text
from planner.trace.quantities import Traced, chosen, convert, total
from planner.trace.records import Record


def job_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each run: where, on how many nodes, when it ends, its checkpoints and energy."""
    ledger, horizon = plan.ledger, plan.inputs.scenario.horizon
    runs = ledger.runs
    if runs is None:
        return []
    found = []
    counts = solution.run[solution.run > 0]
    modes = modes_of(runs.candidates)
    labels = horizon.period_labels
    for row, count in zip(ledger.run_rows, counts, strict=True):
        c = int(runs.candidate[row])
        job = plan.inputs.scenario.training[runs.candidates.job[c]]
        start_h = float(runs.start_h.value[row, 0])

        def day(after_h: float, start_h: float = start_h) -> str:
            return _date(horizon.date_after_h(start_h + after_h))

        def over_periods(name: str, column: Traced, row: int = int(row)) -> Traced:
            drawn = {label: column[row, t] for t, label in enumerate(labels) if column.value[row, t]}
            return total(name, drawn, "of one run, period by period")

        found.append(
            {
                "job": job.name,
                **place(plan, int(runs.candidates.node_group[c])),
                "nodes": int(runs.candidates.nodes[c]),
                **columns_of(plan, c),
                **({"count": int(count)} if job.count > 1 else {}),
                **mode_columns(modes, c),
                **_run_way(plan.inputs, int(runs.candidates.way[c])),
                "layout": _laid_out(plan.inputs, job, runs.candidates.layout, c),
                **_software_of(plan, int(runs.candidates.job[c]), int(runs.candidates.node_group[c])),
                "start": day(0.0),
                "finish_p50": day(runs.finish_p50_h.value[c]),
                "finish_p95": day(runs.finish_p95_h.value[c]),
                "deadline": job.deadline.isoformat(),
                **_rate(job.amount_key, runs, c),
                **({} if runs.waiting is None else {"waiting_factor": runs.waiting[c]}),
                "ettr_fraction": runs.ettr[c],
                "interval_min": convert(runs.interval_h[c], "min"),
                "checkpoint": f"{job.checkpoint} to {job.checkpoint_storage}",
                "energy_kwh": over_periods("energy_kwh", runs.facility_kwh),
                "carbon_kgco2e": over_periods("carbon_kgco2e", runs.kgco2e),
                "energy_usd": over_periods("energy_usd", runs.usd),
            }
        )
    return found


HALF_PERCENT = 0.005  # whole percents would say nothing of less
BY_TABLES = "tables cut across all, layers copied"


def _laid_out(inputs: Inputs, job: TrainingJob, layout: Mapping[str, NDArray[np.float64]], row: int) -> str:
    """How a run is laid out, by the kind of its model."""
    kind = kind_of_model(inputs.catalogue, job.model)
    if kind == DIFFUSION:
        return HELD[int(layout["sharding"][row])]
    if kind != RECOMMENDATION:
        return _layout(layout, row)
    return BY_TABLES if job.tables is None else f"tables placed by {job.tables.file}, layers copied"


def _rate(key: str, runs: TrainingRuns, row: int) -> Record:
    """Tokens or samples a second of a run."""
    name = f"{key}_per_s"
    said = "without failures; with them it is as much times the ETTR"
    return {name: (runs.tokens_per_s_per_gpu[row] * runs.accelerators[row]).named(name, said)}


def _software_of(plan: Plan, job: int, group: int) -> Record:
    """The training software that the rates of a run there are of: the newest; of recommendation none."""
    if kind_of_model(plan.inputs.catalogue, plan.inputs.scenario.training[job].model) == RECOMMENDATION:
        return {}
    sku = plan.inputs.skus[int(plan.problem.node_groups.sku[group])]
    return {"software": default_stack(sku.accelerator).says}


def service_records(plan: Plan, solution: Solution) -> list[Record]:
    """Replicas of each service by period, what they carry and how fast they answer."""
    ledger, problem = plan.ledger, plan.problem
    replicas = ledger.replicas
    if replicas is None:
        return []
    labels = plan.inputs.scenario.horizon.period_labels
    modes = modes_of(replicas.candidates)
    found, tried, shares = [], plan.assembled.tried, quality_columns(plan, solution)
    for row, v in enumerate(ledger.replica_options):
        for t, label in enumerate(labels):
            count = int(solution.replicas[v, t])
            if not count:
                continue
            service = int(problem.serve_options.service[v])
            found.append(
                {
                    "service": problem.services.name[service],
                    "period": label,
                    **place(plan, int(problem.serve_options.node_group[v])),
                    **_replica_layout(replicas.candidates, row, count),
                    **_way(tried, int(replicas.candidates.service[row])),
                    "model": tried.scenario.services[int(replicas.candidates.service[row])].model,
                    **_engine(plan, service),
                    **mode_columns(modes, row),
                    "replicas": count,
                    "standby": standing_by(problem.serve_options, int(v), t, count),
                    "capacity_per_s": (
                        chosen("replicas", count, REASONS["services"]["replicas"])
                        * replicas.requests_per_s[row, t]
                    ).named("capacity_per_s"),
                    "demand_per_s": plan.inputs.yours(
                        f"services.{problem.services.name[service]}.peak_rate[{t}]",
                        float(problem.services.demand[service, t]),
                        "1/s",
                    ),
                    **_latencies(plan, service, replicas, row, t),
                    **_user_latency(plan, int(replicas.candidates.service[row])),
                    **shares.get((int(v), t), {}),
                    **stage_columns(plan, int(v)),
                    "availability_fraction": kept_time_fraction(plan, solution, int(v), t),
                }
            )
    return sorted(found, key=lambda record: (record["service"], labels.index(record["period"])))


def _engine(plan: Plan, service: int) -> Record:
    """The engine of a model that writes tokens."""
    one = plan.inputs.scenario.services[service]
    return {} if in_batches(plan.inputs, one) else {"engine": engine_title(plan.inputs, one)}


def _latencies(plan: Plan, service: int, replicas: Replicas, row: int, t: int) -> Record:
    """When answers come: token by token, or as a whole."""
    if plan.inputs.scenario.services[service].response_time_s is not None:
        return {"response_s": replicas.ttft_s[row, t]}
    return {"first_token_s": replicas.ttft_s[row, t], "per_token_s": replicas.tpot_s[row, t]}


def _user_latency(plan: Plan, row: int) -> Record:
    """How far the site of a replica is from its users, where the service says where they are, and which."""
    tried = plan.assembled.tried
    service = tried.scenario.services[row]
    late = farthest_latency(tried, service)
    if late is None:
        return {}
    regions = {"users": ", ".join(home.users for home in service.regions)} if service.regions else {}
    return {**regions, "user_latency_s": late}


def _run_way(inputs: Inputs, way: int) -> Record:
    """The techniques of a run, where a plan may choose any."""
    return {"way": set_said(inputs, way)} if len(run_sets(inputs)) > 1 else {}


def _way(tried: Inputs, row: int) -> Record:
    """The way that a replica runs in, where a plan may choose; techniques with their day."""
    if not tried.ways.services:
        return {}
    way, horizon = tried.ways.services[row], tried.scenario.horizon
    later = way.techniques and way.usable_h > 0
    return {"way": way_said(tried, row) + (f" from {horizon.date_after_h(way.usable_h)}" if later else "")}


def _replica_layout(candidates: ServingCandidates, row: int, count: int) -> Record:
    """Accelerators that share attention, and groups and stages of them where a replica has several.

    Of so many units that read prompts and write answers apart: the replicas of both kinds.
    """
    if candidates.unit[row].any():
        found: Record = {}
        for kind, sizes in zip(
            ("prefill", "decode"), candidates.unit[row].reshape(2, -1).tolist(), strict=True
        ):
            each, accelerators, groups, stages = sizes
            found |= {f"{kind}_replicas": count * each, f"{kind}_accelerators": accelerators}
            several = {f"{kind}_groups": groups, f"{kind}_stages": stages}
            found |= {name: parts for name, parts in several.items() if parts > 1}
        return found
    several = {"groups": int(candidates.groups[row]), "stages": int(candidates.stages[row])}
    shared = int(candidates.accelerators[row]) // (several["groups"] * several["stages"])
    return {"tensor_parallel": shared, **{name: count for name, count in several.items() if count > 1}}


def pool_records(plan: Plan, solution: Solution) -> list[Record]:
    """Hours of experimentation work by period and place."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    options, speed = problem.work_options, plan.assembled.work.speed
    held = plan.assembled.work.held_ratio
    if speed is None or held is None:
        return []
    return [
        {
            "pool": problem.work.name[options.work[o]],
            "period": labels[t],
            **place(plan, int(options.node_group[o])),
            **pool_way(plan, o),
            **mode_columns(plan.assembled.work.modes, o),
            "node_h": node_h,
            "held_node_h": (node_h * held[o, t]).named("held_node_h"),
            "reference_h": (node_h * speed[o]).named("reference_h"),
        }
        for t in range(problem.periods)
        for o in np.flatnonzero(solution.work_node_h[:, t] > 0.5).tolist()
        for node_h in [chosen("node_h", float(solution.work_node_h[o, t]), REASONS["pools"]["node_h"])]
    ]


def need_records(plan: Plan) -> list[Record]:
    """What each pool that states its need otherwise than in hours of its reference needs of them."""
    pools, demand = plan.inputs.scenario.pools, plan.assembled.work.demand_h
    if demand is None:
        return []
    return [
        {
            "pool": pool.name,
            "period": label,
            "stated": pool.way.key,
            "need": chosen("need", pool.need[t], f"stated as pools.{pool.name}.{pool.way.key}"),
            "unit": pool.way.unit,
            "reference": pool.reference,
            "needed_h": demand[w, t],
        }
        for w, pool in enumerate(pools)
        if pool.way.key != "gpu_time"
        for t, label in enumerate(plan.inputs.scenario.horizon.period_labels)
    ]


def _layout(layout: Any, row: int) -> str:
    one = {name: int(column[row]) for name, column in layout.items()}
    recompute = recompute_says(float(layout["recompute"][row]))
    parts = [f"TP{one['tp']}", f"PP{one['pp']}" + (f"x{one['interleave']}" if one["interleave"] > 1 else "")]
    if one["cp"] > 1:
        parts.append(f"CP{one['cp']}")
    if one["ep"] > 1:
        parts.append(f"EP{one['ep']}")
    return (
        " ".join(parts) + f", micro-batch {one['micro_batch']}, recompute {recompute}, ZeRO-{one['sharding']}"
    )


def _date(value: Any) -> str:
    return value.isoformat()[:10] if isinstance(value, date) else str(value)


def pausable_records(plan: Plan, solution: Solution) -> list[Record]:
    """Pausable jobs by period: how much of each is done, on how many nodes on average."""
    options, labels = plan.problem.pausable_options, plan.inputs.scenario.horizon.period_labels
    pausable, hour = plan.ledger.pausable, chosen("hour_h", 1.0, "one hour")
    if pausable is None:
        return []
    modes = modes_of(pausable.jobs.candidates)
    return [
        {
            "job": plan.problem.jobs.name[options.job[e]],
            "period": label,
            "site": plan.problem.site_names[plan.problem.node_groups.site[options.node_group[e]]],
            "sku": plan.problem.sku_names[plan.problem.node_groups.sku[options.node_group[e]]],
            **_software_of(plan, int(options.job[e]), int(options.node_group[e])),
            **mode_columns(modes, row),
            **_run_way(plan.inputs, int(pausable.jobs.candidates.way[row])),
            "most_nodes": int(options.nodes[e]),
            "mean_nodes": (node_h / plan.inputs.period_h[0, t]).named("mean_nodes"),
            "node_h": node_h,
            "done_fraction": (node_h / pausable.jobs.node_h[row]).named("done_fraction"),
            "energy_kwh": (node_h * (pausable.jobs.facility_kwh[row, t] / hour)).named("energy_kwh"),
        }
        for row, e in zip(pausable.rows.tolist(), pausable.options.tolist(), strict=True)
        for t, label in enumerate(labels)
        if solution.done_node_h[e, t] > 0
        for node_h in [chosen("node_h", float(solution.done_node_h[e, t]), REASONS["pausable"]["node_h"])]
    ]


def pausable_explanations(plan: Plan, steps: Steps) -> dict[str, int]:
    """Where the numbers of the pausable jobs come from, under the names that other runs have."""
    pausable = plan.ledger.pausable
    if pausable is None:
        return {}
    found, progress = {}, pausable.jobs.progress
    for row in pausable.rows:
        job = plan.problem.jobs.name[pausable.jobs.candidates.job[row]]
        columns = {
            "ettr": progress.ettr,
            "interval": progress.renewal["interval_h"],
            "duration": progress.duration_h,
            "node_hours": pausable.jobs.node_h,
            "mttf": progress.renewal["mttf_h"],
        }
        for name, node in columns.items():
            found[f"job.{job}.{name}"] = steps.add(node, row=int(row))
    return found


def pausable_placements(plan: Plan, solution: Solution) -> dict[str, str]:
    """Decision -> what was decided, for comparing two plans of one problem."""
    problem, placed = plan.problem, dict[str, list[str]]()
    for e in np.flatnonzero(solution.chosen):
        options = problem.pausable_options
        group = problem.node_group_name(int(options.node_group[e]))
        placed.setdefault(problem.jobs.name[options.job[e]], []).append(
            f"{count_text(solution.done_node_h[e].sum())} node-hours on {group}"
        )
    return {name: ", ".join(sorted(ways)) for name, ways in placed.items()}


def flexibility_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Headline sentences on everything that bends."""
    return [
        *rental_sentences(plan, solution),
        *_pausing(plan, solution),
        *_parking(plan, solution),
        *_unmet(plan, solution),
    ]


def _adapted(inputs: Inputs, job: TrainingJob) -> str:
    return f" ({trained_says(inputs, job)})" if job.method == "lora" else ""


def _pausing(plan: Plan, solution: Solution) -> Iterator[str]:
    pausable = plan.ledger.pausable
    if pausable is None:
        return
    options, labels = plan.problem.pausable_options, plan.inputs.scenario.horizon.period_labels
    for row, e in zip(pausable.rows, pausable.options, strict=True):
        job = plan.inputs.scenario.training[options.job[e]]
        done = solution.done_node_h[e]
        steps = ", ".join(f"{count_text(done[t])} in {labels[t]}" for t in np.flatnonzero(done > 0.5))
        copies = "" if solution.chosen[e] == 1 else f"{solution.chosen[e]} x "
        part = solution.completed[e] / solution.chosen[e]
        said = "" if part > 1 - 1e-6 else f"; {percent_text(part, 0)} of it is done"
        interval_h = pausable.jobs.progress.renewal["interval_h"].value[row]
        slow = slowed_run(modes_of(pausable.jobs.candidates), int(row)).rstrip(",")
        yield (
            f"Run {copies}{job.name}{_adapted(plan.inputs, job)} whenever it suits, on up to "
            f"{how_many(options.nodes[e], 'node')} of "
            f"{plan.problem.node_group_name(int(options.node_group[e]))}"
            f"{slow}: node-hours {steps}{said}. "
            f"It is done by {job.deadline} with {percent_text(job.deadline_confidence_fraction, 0)} chance "
            "where only failures vary; checkpoint every "
            f"{count_text(interval_h * 60)} min."
        )


def _parking(plan: Plan, solution: Solution) -> Iterator[str]:
    hours = plan.problem.node_groups.hours
    parked, stood = (float((nodes * hours).sum()) for nodes in (solution.parked, solution.in_service))
    if parked > 0.5:
        yield (
            f"Switch idle nodes off for {count_text(parked)} node-hours, {percent_text(parked / stood, 0)} "
            "of all in service; "
            "waking them is taken to need no time."
        )


def _unmet(plan: Plan, solution: Solution) -> Iterator[str]:
    labels = plan.inputs.scenario.horizon.period_labels
    for i, t in np.argwhere(solution.shed_fraction > 1e-6):
        yield (
            f"Leave {percent_text(solution.shed_fraction[i, t])} of the peak of "
            f"{plan.problem.services.name[i]} in "
            f"{labels[t]} uncarried, at its penalty of {money(float(solution.usd_terms.unmet[i, t]))}."
        )


def placements(plan: Plan, solution: Solution) -> dict[str, str]:
    """Decision -> what was decided, for comparing two plans of one problem."""
    problem = plan.problem
    found: dict[str, str] = {}
    placed: dict[str, list[str]] = {}
    options = problem.run_options
    for r in np.flatnonzero((solution.run > 0) & options.counts).tolist():
        groups = {
            half: problem.node_group_name(int(options.node_group[half])) for half in options_of(plan, r)
        }
        held = " and ".join(
            f"{how_many(int(options.nodes[half].max()), 'node')} of {groups[half]}" for half in groups
        )
        label = plan.inputs.scenario.horizon.period_labels[options.start[r]]
        copies = "" if solution.run[r] == 1 else f"{solution.run[r]} times "
        placed.setdefault(problem.jobs.name[options.job[r]], []).append(f"{copies}{held} from {label}")
    found |= {name: ", ".join(sorted(ways)) for name, ways in placed.items()}
    found |= pausable_placements(plan, solution)
    for i, service in enumerate(problem.services.name):
        here = np.flatnonzero(problem.serve_options.service == i)
        peak = totals_by(
            problem.serve_options.node_group[here], len(problem.node_groups), solution.replicas[here]
        ).max(axis=1)
        found[service] = _where(plan, peak, "replica")
    for w, pool in enumerate(problem.work.name):
        here = np.flatnonzero(problem.work_options.work == w)
        hours = totals_by(
            problem.work_options.node_group[here], len(problem.node_groups), solution.work_node_h[here]
        ).sum(axis=1)
        found[pool] = _where(plan, hours, "node-hour")
    nodes = solution.orders * problem.node_groups.order_unit_nodes[:, None]
    found["purchases"] = _where(plan, nodes.sum(axis=1), "node")
    retired = totals_by(problem.cohorts.node_group, len(problem.node_groups), solution.retired).sum(axis=1)
    found["retirements"] = _where(plan, retired, "node")
    if len(problem.moves):
        joined = problem.cohorts.node_group[problem.moves.to_cohort]
        moved = totals_by(joined, len(problem.node_groups), solution.moved).sum(axis=1)
        found["moves"] = _where(plan, moved, "node")
    return found


def _where(plan: Plan, amounts: NDArray[Any], what: str) -> str:
    """How much of something is on which node group."""
    said = [
        f"{count_text(amount)} {what}{'s' if round(amount) != 1 else ''} on {plan.problem.node_group_name(p)}"
        for p, amount in enumerate(np.asarray(amounts, dtype=float))
        if amount > 0.5
    ]
    return ", ".join(said) or "none"


def left_out_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Jobs that cost more than their penalty."""
    jobs = plan.problem.jobs
    return [
        f"Leave out {_share(solution.left_out[j], int(jobs.count[j]))}{jobs.name[j]} at its penalty of "
        f"{money(float(jobs.left_out_usd[j] * solution.left_out[j]))}; it costs more."
        for j in np.flatnonzero(solution.left_out)
    ]


def _share(left_out: float, count: int) -> str:
    """How much of a job, or how many of several, is left out; nothing where it is all of one."""
    if count > 1:
        return f"{left_out:g} of {count} "
    return "" if left_out == 1 else f"{percent_text(left_out, 0)} of "


def training_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Where each run trains, when it is done, how often it writes checkpoints."""
    runs = plan.ledger.runs
    if runs is None:
        return []
    horizon = plan.inputs.scenario.horizon
    modes = modes_of(runs.candidates)
    said = []
    done = zip(
        plan.ledger.run_rows, solution.run[solution.run > 0], counted_runs(plan, solution), strict=True
    )
    for row, count, _ in filter(itemgetter(2), done):
        c = int(runs.candidate[row])
        job, other = plan.inputs.scenario.training[runs.candidates.job[c]], other_half(plan, c)
        group = plan.problem.node_group_name(int(runs.candidates.node_group[c]))
        begin = float(runs.start_h.value[row, 0])
        first = horizon.date_after_h(begin)
        likely, late = (
            horizon.date_after_h(begin + float(q.value[c])) for q in (runs.finish_p50_h, runs.finish_p95_h)
        )
        copies = f"{count} x " if count > 1 else ""
        said.append(
            f"Run {copies}{job.name}{_adapted(plan.inputs, job)} on "
            f"{nodes_text(int(runs.candidates.nodes[c]))} of {group}"
            f"{'' if other is None else f' and {other[0]} (what crosses: {other[1]})'}"
            f"{slowed_run(modes, c)}"
            f"{_with(plan.inputs, int(runs.candidates.way[c]))} from {first}; "
            f"done about {likely}, by {late} with 95 % chance where only failures vary "
            f"(deadline {job.deadline}). Checkpoint every {count_text(runs.interval_h.value[c] * 60)} min; "
            f"effective training time {percent_text(runs.ettr.value[c])}."
        )
    return said


def _with(inputs: Inputs, way: int) -> str:
    return f" with {set_said(inputs, way)}" if run_sets(inputs)[way] else ""


def _share_text(share: float) -> str:
    """Whole percents; of less than one half two digits, since nothing would not be rented for it."""
    return percent_text(share, 0 if share >= HALF_PERCENT else None)


def divisible_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Where the work of each pool is done, by the share of it there."""
    problem, options, said = plan.problem, plan.problem.work_options, []
    done = options.speed[:, None] * solution.work_node_h
    lent = lent_work_h(problem, solution).sum(axis=1)
    for w, pool in enumerate(problem.work.name):
        here = options.work == w
        by_group = totals_by(options.node_group[here], len(problem.node_groups), done[here]).sum(axis=1)
        here_done = np.flatnonzero(by_group > 0.5).tolist()
        shares = {problem.node_group_name(p): float(by_group[p]) for p in here_done}
        shares |= {"nodes of replicas that rest": float(lent[w])} if lent[w] > 0.5 else {}
        whole = sum(shares.values())
        ordered = sorted(shares, key=lambda name: -shares[name])
        parts = [f"{name} ({_share_text(shares[name] / whole)})" for name in ordered]
        if parts:
            said.append(f"Do the work of {pool} on {', '.join(parts if len(parts) > 1 else ordered)}.")
    return said


def serving_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Where each service runs."""
    placed = placements(plan, solution)
    names = [name for name in plan.problem.services.name if placed[name] != "none"]
    return [f"Serve {name} with up to {placed[name]}." for name in names]
