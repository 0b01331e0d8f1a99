"""The tables of a plan's document: records with plain values, keys that end in their unit."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from planner.bending import paused_records, rental_records
from planner.candidates import UNCAPPED
from planner.contracted import contract_records
from planner.defence.others import alternative_records
from planner.defence.pricing import price_records
from planner.owning import cost_label, cost_labels, move_records
from planner.performance.layouts import RECOMPUTE_NAMES
from planner.plan import AS_TODAY, COST_ONLY, Plan
from planner.records import purchase_records
from solver.account import capex_usd, peak_kw
from solver.problem import ServeOptions, Solution

Record = dict[str, Any]

COST_LABELS = {
    "bought": "New nodes: capital, maintenance, space",
    "standing": "Standing nodes: maintenance, space",
    "training": "Training: electricity",
    "serving": "Serving: electricity",
    "pools": "Pools: electricity",
    "idle": "Idle nodes: electricity",
    "elastic": "Pausable jobs: electricity",
    "rental": "Rented nodes: hours in use",
    "parked": "Parked nodes: electricity",
    "unmet": "Demand not carried: penalties",
    "left_out": "Jobs left out: penalties",
    "ordered": "New nodes: price, when ordered",
    "retired": "Retired nodes: disposal less resale",
    "moved": "Moved nodes: carriage, keeping under way",
    "contract": "Clean energy: premium",
}
CARBON_LABELS = {
    "bought": "New nodes: embodied share and replaced parts",
    "standing": "Standing nodes: replaced parts",
    "training": "Training: electricity",
    "serving": "Serving: electricity",
    "pools": "Pools: electricity",
    "idle": "Idle nodes: electricity",
    "moved": "Moved nodes: carriage",
    "elastic": "Pausable jobs: electricity",
    "rental": "Rented nodes: share of their making and repair",
    "parked": "Parked nodes: electricity",
    "contract": "Clean energy: avoided, market-based",
}
NAMES = (
    "summary", "purchases", "rental", "moves", "fleet", "jobs", "pausable", "services", "pools", "cost",
    "contracts", "carbon", "by_period", "limits", "prices", "alternatives", "alternatives_dropped", "facts",
    "facts_weighed",
)  # fmt: skip
BINDING = 0.999


def plan_tables(plan: Plan) -> dict[str, list[Record]]:
    """Every table by name; those of the decisions are empty where there is no plan."""
    tables: dict[str, list[Record]] = {name: [] for name in NAMES}
    tables["alternatives_dropped"] = _dropped(plan)
    solution = plan.answer.solution
    if solution is None:
        return tables
    return tables | {
        "summary": _summary(plan, solution),
        "purchases": purchase_records(plan.inputs, plan.problem, solution),
        "rental": rental_records(plan, solution),
        "moves": move_records(plan, solution),
        "fleet": _fleet(plan, solution),
        "jobs": _jobs(plan, solution),
        "pausable": paused_records(plan, solution),
        "services": _services(plan, solution),
        "pools": _pools(plan, solution),
        "cost": _terms(plan.ledger.usd_terms, "usd", "cost", cost_labels(plan, COST_LABELS)),
        "carbon": _terms(plan.ledger.kgco2e_terms, "kgco2e", "carbon", CARBON_LABELS),
        "by_period": _by_period(plan, solution),
        "limits": _limits(plan, solution),
        "contracts": contract_records(plan, solution),
        "prices": price_records(plan),
        "alternatives": alternative_records(plan),
    }


def _summary(plan: Plan, solution: Solution) -> list[Record]:
    """The plan beside the cost-only plan and today's fleet."""
    beside = {name: found.solution for name, found in plan.baselines.items()}
    columns = {"plan": solution, "cost_only": beside.get(COST_ONLY), "as_today": beside.get(AS_TODAY)}
    problem = plan.problem
    weight = problem.objective

    def capex(one: Solution) -> float:
        return float(capex_usd(problem, one.orders).sum())

    measures: list[tuple[str, str, Any]] = [
        (cost_label(plan), "USD", lambda one: one.usd),
        ("Carbon in the horizon", "kgCO2e", lambda one: one.kgco2e),
        ("Objective", "USD", lambda one: weight.money_weight * one.usd + weight.carbon_weight * one.kgco2e),
        ("Purchases, cash", "USD", capex),
        (
            "Nodes bought",
            "nodes",
            lambda one: float((one.orders * problem.pools.order_unit_nodes[:, None]).sum()),
        ),
        ("Nodes retired", "nodes", lambda one: float(one.retired.sum())),
        ("Nodes in service at the end", "nodes", lambda one: float(one.in_service[:, -1].sum())),
    ]
    return [
        {"measure": measure, "unit": unit}
        | {name: None if one is None else float(value(one)) for name, one in columns.items()}
        for measure, unit, value in measures
    ]


def _fleet(plan: Plan, solution: Solution) -> list[Record]:
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    idle = plan.ledger.idle_nodes
    working = solution.in_service - solution.parked
    found = []
    for t, label in enumerate(labels):
        for p in range(len(problem.pools)):
            retired = int(solution.retired[problem.cohorts.pool == p, t].sum())
            if solution.in_service[p, t] or retired:
                found.append(
                    {
                        "period": label,
                        **_pool(plan, p),
                        "in_service_nodes": int(solution.in_service[p, t]),
                        "used_nodes": float(working[p, t] - idle[p, t]),
                        "idle_nodes": float(idle[p, t]),
                        **({"parked_nodes": float(solution.parked[p, t])} if solution.parked.any() else {}),
                        "spare_nodes": int(solution.spares[p, t]),
                        "retired_nodes": retired,
                    }
                )
    return found


def _jobs(plan: Plan, solution: Solution) -> list[Record]:
    ledger, horizon = plan.ledger, plan.inputs.scenario.horizon
    runs = ledger.runs
    if runs is None:
        return []
    found = []
    caps, counts = runs.candidates.power_cap_fraction, solution.run[solution.run > 0]
    for row, count in zip(ledger.run_rows, counts, strict=True):
        c = int(runs.candidate[row])
        job = plan.inputs.scenario.training[runs.candidates.job[c]]
        start_h = float(runs.start_h.value[row, 0])

        def day(after_h: float, start_h: float = start_h) -> str:
            return _date(horizon.date_after_h(start_h + after_h))

        found.append(
            {
                "job": job.name,
                **_pool(plan, int(runs.candidates.pool[c])),
                "nodes": int(runs.candidates.nodes[c]),
                **({"count": int(count)} if job.count > 1 else {}),
                **({"power_cap_fraction": float(caps[c])} if (caps < UNCAPPED).any() else {}),
                "layout": _layout(runs.candidates.layout, c),
                "start": day(0.0),
                "finish_p50": day(runs.finish_p50_h.value[c]),
                "finish_p95": day(runs.finish_p95_h.value[c]),
                "deadline": job.deadline.isoformat(),
                "tokens_per_s": float(runs.tokens_per_s_per_gpu.value[c] * runs.gpus.value[c]),
                "ettr_fraction": float(runs.ettr.value[c]),
                "interval_min": float(runs.interval_h.value[c] * 60),
                "checkpoint": f"{job.checkpoint} to {job.checkpoint_storage}",
                "energy_kwh": float(runs.facility_kwh.value[row].sum()),
                "carbon_kgco2e": float(runs.kgco2e.value[row].sum()),
                "energy_usd": float(runs.usd.value[row].sum()),
            }
        )
    return found


def _services(plan: Plan, solution: Solution) -> list[Record]:
    ledger, problem = plan.ledger, plan.problem
    replicas = ledger.replicas
    if replicas is None:
        return []
    labels, caps = plan.inputs.scenario.horizon.period_labels, replicas.candidates.power_cap_fraction
    found = []
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
                    **_pool(plan, int(problem.serve_options.pool[v])),
                    "tensor_parallel": int(replicas.candidates.tp[row]),
                    **({"power_cap_fraction": float(caps[row])} if (caps < UNCAPPED).any() else {}),
                    "replicas": count,
                    "standby": _standing_by(problem.serve_options, int(v), t, count),
                    "capacity_per_s": float(count * replicas.requests_per_s.value[row, t]),
                    "demand_per_s": float(problem.services.demand[service, t]),
                    "first_token_s": float(replicas.ttft_s.value[row, t]),
                    "per_token_s": float(replicas.tpot_s.value[row, t]),
                }
            )
    return sorted(found, key=lambda record: (record["service"], labels.index(record["period"])))


def _standing_by(options: ServeOptions, option: int, period: int, replicas: int) -> float:
    """Replicas beyond those that carry: a count, and a share where there are many."""
    counted = min(replicas, int(options.standby[option, period]))
    share = float(options.standby_fraction[option, period])
    return counted + (replicas - counted) * share / (1 + share)


def _pools(plan: Plan, solution: Solution) -> list[Record]:
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    options = problem.work_options
    return [
        {
            "pool": problem.work.name[options.work[o]],
            "period": labels[t],
            **_pool(plan, int(options.pool[o])),
            "node_h": float(solution.work_node_h[o, t]),
            "reference_h": float(solution.work_node_h[o, t] * options.speed[o]),
        }
        for t in range(problem.periods)
        for o in np.flatnonzero(solution.work_node_h[:, t] > 0.5)
    ]


def _terms(terms: Any, unit: str, total: str, labels: dict[str, str]) -> list[Record]:
    return [
        {
            "term": name,
            "label": label,
            unit: float(terms[f"{name}_{unit}"].value),
            "explain": f"{total}.{name}",
        }
        for name, label in labels.items()
        if f"{name}_{unit}" in terms and terms[f"{name}_{unit}"].value
    ]


def _by_period(plan: Plan, solution: Solution) -> list[Record]:
    problem, ledger = plan.problem, plan.ledger
    usd, kgco2e = solution.usd_terms.by_period(), solution.kgco2e_terms.by_period()
    kwh = (ledger.idle_nodes * plan.assembled.nodes.idle_kwh.value).sum(axis=0)
    if ledger.runs is not None:
        each = solution.run[solution.run > 0][:, None]
        kwh = kwh + (each * ledger.runs.facility_kwh.value[ledger.run_rows]).sum(axis=0)
    if ledger.replicas is not None:
        kwh = kwh + (ledger.replicas.facility_kwh.value * solution.replicas[ledger.replica_options]).sum(
            axis=0
        )
    if plan.assembled.work.facility_kwh is not None:
        kwh = kwh + (plan.assembled.work.facility_kwh.value * solution.work_node_h).sum(axis=0)
    kwh = kwh + (problem.elastic_options.kwh_per_node_h * solution.done_node_h).sum(axis=0)
    kwh = kwh + (problem.pools.off_kwh_per_node * solution.parked).sum(axis=0)
    capex = capex_usd(problem, solution.orders)
    return [
        {
            "period": label,
            "cost_usd": float(usd[t]),
            "carbon_kgco2e": float(kgco2e[t]),
            "energy_kwh": float(kwh[t]),
            "capex_usd": float(capex[t]),
        }
        for t, label in enumerate(plan.inputs.scenario.horizon.period_labels)
    ]


def _limits(plan: Plan, solution: Solution) -> list[Record]:
    """How much of each limit is used; those without a limit are left out."""
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    pools, limits = problem.pools, problem.limits
    found: list[Record] = []

    def add(limit: str, where: str, period: str, used: float, allowed: float, unit: str) -> None:
        if np.isfinite(allowed):
            share = used / allowed if allowed else 0.0
            found.append(
                {
                    "limit": limit,
                    "where": where,
                    "period": period,
                    "used": float(used),
                    "allowed": float(allowed),
                    "left": float(allowed - used),
                    "unit": unit,
                    "share_fraction": float(share),
                    "binding": bool(share >= BINDING),
                }
            )

    power = peak_kw(problem, solution, solution.in_service)
    nodes = solution.orders * pools.order_unit_nodes[:, None]
    paid, emitted = capex_usd(problem, solution.orders), solution.kgco2e_terms.by_period()
    for t, label in enumerate(labels):
        add("carbon cap", "all sites", label, emitted[t], limits.carbon_cap_by_period_kgco2e[t], "kgCO2e")
        for s, site in enumerate(problem.site_names):
            here = pools.site == s
            add("power", site, label, power[s, t], limits.power_kw[s, t], "kW")
            add(
                "racks",
                site,
                label,
                float(solution.in_service[here, t] @ pools.racks_per_node[here]),
                limits.racks[s],
                "racks",
            )
        for k, sku in enumerate(problem.sku_names):
            if limits.supply_nodes[k, t] > 0:
                add(
                    "supply",
                    sku,
                    label,
                    float(nodes[pools.sku == k, t].sum()),
                    limits.supply_nodes[k, t],
                    "nodes",
                )
        add(
            "budget",
            "all sites",
            label,
            float(paid[t]),
            limits.budget_usd[t],
            "USD",
        )
    add("carbon cap", "all sites", "horizon", solution.kgco2e, limits.carbon_cap_kgco2e, "kgCO2e")
    add("money cap", "all sites", "horizon", solution.usd, limits.money_cap_usd, "USD")
    return found


def _dropped(plan: Plan) -> list[Record]:
    """Configurations that cannot be, by reason."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in plan.assembled.dropped:
        key = (one.what, one.sku, one.reason)
        counts[key] = counts.get(key, 0) + 1
    found = [
        {"what": what, "sku": sku, "reason": reason, "count": count}
        for (what, sku, reason), count in counts.items()
    ]
    if plan.assembled.dominated:
        found.append({
            "what": "runs and replicas", "sku": "any", "count": plan.assembled.dominated,
            "reason": "another configuration of the same work on the same nodes is no worse in anything",
        })  # fmt: skip
    return found


def _pool(plan: Plan, pool: int) -> Record:
    problem = plan.problem
    return {
        "site": problem.site_names[problem.pools.site[pool]],
        "sku": problem.sku_names[problem.pools.sku[pool]],
    }


def _layout(layout: Any, row: int) -> str:
    one = {name: int(column[row]) for name, column in layout.items()}
    parts = [f"TP{one['tp']}", f"PP{one['pp']}" + (f"x{one['interleave']}" if one["interleave"] > 1 else "")]
    if one["cp"] > 1:
        parts.append(f"CP{one['cp']}")
    if one["ep"] > 1:
        parts.append(f"EP{one['ep']}")
    recompute = RECOMPUTE_NAMES[one["recompute"]]
    return (
        " ".join(parts) + f", micro-batch {one['micro_batch']}, recompute {recompute}, ZeRO-{one['sharding']}"
    )


def _date(value: Any) -> str:
    return value.isoformat()[:10] if isinstance(value, date) else str(value)
