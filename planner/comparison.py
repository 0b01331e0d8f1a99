"""In words: what the plan decides, how it differs from the plans beside it, and what holds it back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from planner.plan import AS_TODAY, COST_ONLY, Plan
from solver.backend import Status
from solver.problem import Solution


def why_this_plan(plan: Plan) -> tuple[list[str], list[str]]:
    """Headline sentences for a manager, and reasons for whoever asks why."""
    solution = plan.answer.solution
    if solution is None:
        return [], []
    headline = [
        *_buying(plan, solution), *_retiring(plan, solution), *_training(plan), *_serving(plan, solution), _totals(plan)
    ]  # fmt: skip
    return headline, [*_against_cost_only(plan, solution), *_against_today(plan, solution), *_limits(plan)]


def placements(plan: Plan, solution: Solution) -> dict[str, str]:
    """Decision -> what was decided, for comparing two plans of one problem."""
    problem = plan.problem
    found: dict[str, str] = {}
    for r in np.flatnonzero(solution.run):
        options = problem.run_options
        size = int(options.nodes[r].max())
        label = plan.inputs.scenario.horizon.period_labels[options.start[r]]
        found[problem.jobs.name[options.job[r]]] = (
            f"{size} nodes of {problem.pool_name(int(options.pool[r]))} from {label}"
        )
    for i, service in enumerate(problem.services.name):
        found[service] = _where(
            (
                problem.pool_name(int(problem.serve_options.pool[v])),
                float(solution.replicas[v].max()),
                "replicas",
            )
            for v in np.flatnonzero(problem.serve_options.service == i)
        )
    for w, pool in enumerate(problem.work.name):
        found[pool] = _where(
            (
                problem.pool_name(int(problem.work_options.pool[o])),
                float(solution.work_node_h[o].sum()),
                "node-hours",
            )
            for o in np.flatnonzero(problem.work_options.work == w)
        )
    nodes = solution.orders * problem.pools.order_unit_nodes[:, None]
    found["purchases"] = _where(
        (problem.pool_name(p), float(nodes[p].sum()), "nodes") for p in range(len(problem.pools))
    )
    found["retirements"] = _where(
        (problem.pool_name(int(problem.cohorts.pool[h])), float(solution.retired[h].sum()), "nodes")
        for h in range(len(problem.cohorts))
    )
    return found


def money(usd: float) -> str:
    """Money at the precision that a plan deserves."""
    return _scaled(usd, ((1e9, "GUSD"), (1e6, "MUSD"), (1e3, "kUSD"), (1.0, "USD")))


def mass(kgco2e: float) -> str:
    """Carbon at the precision that a plan deserves."""
    return _scaled(kgco2e, ((1e6, "ktCO2e"), (1e3, "tCO2e"), (1.0, "kgCO2e")))


def energy(kwh: float) -> str:
    """Energy at the precision that a plan deserves."""
    return _scaled(kwh, ((1e6, "GWh"), (1e3, "MWh"), (1.0, "kWh")))


def _scaled(value: float, scales: tuple[tuple[float, str], ...]) -> str:
    size, unit = next((one for one in scales if abs(value) >= one[0]), scales[-1])
    number = value / size
    digits = max(0, 2 - int(np.floor(np.log10(abs(number))))) if number else 0
    return f"{number:,.{digits}f} {unit}"


def _where(parts: Iterable[tuple[str, float, str]]) -> str:
    said = [f"{amount:,.0f} {what} on {pool}" for pool, amount, what in parts if amount > 0.5]
    return ", ".join(said) or "none"


def _buying(plan: Plan, solution: Solution) -> list[str]:
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    nodes = solution.orders * problem.pools.order_unit_nodes[:, None]
    said = []
    for p, t in np.argwhere(nodes > 0):
        cash = float(nodes[p, t] * problem.pools.capex_usd_per_node[p, t])
        said.append(
            f"Order {nodes[p, t]:.0f} nodes of {problem.pool_name(int(p))} in {labels[t]} for {money(cash)}."
        )
    return said or ["Buy nothing: the standing fleet carries the work."]


def _retiring(plan: Plan, solution: Solution) -> list[str]:
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    said = []
    for h in range(len(problem.cohorts)):
        steps = [f"{count} in {labels[t]}" for t, count in enumerate(solution.retired[h]) if count]
        if steps:
            pool = problem.pool_name(int(problem.cohorts.pool[h]))
            said.append(
                f"Retire nodes of {pool}: {', '.join(steps)}, leaving {solution.kept[h, -1]} of {problem.cohorts.nodes[h]}."
            )
    return said


def _training(plan: Plan) -> list[str]:
    runs = plan.ledger.runs
    if runs is None:
        return []
    horizon = plan.inputs.scenario.horizon
    said = []
    for row in plan.ledger.run_rows:
        c = int(runs.candidate[row])
        job = plan.inputs.scenario.training[runs.candidates.job[c]]
        begin = float(runs.start_h.value[row, 0])
        likely, late = (
            horizon.date_after_h(begin + float(q.value[c])) for q in (runs.finish_p50_h, runs.finish_p95_h)
        )
        said.append(
            f"Run {job.name} on {runs.candidates.nodes[c]} nodes of {plan.problem.pool_name(int(runs.candidates.pool[c]))} from "
            f"{horizon.date_after_h(begin)}; done about {likely}, by {late} with 95 % chance (deadline {job.deadline}). "
            f"Checkpoint every {runs.interval_h.value[c] * 60:.0f} min; effective training time {runs.ettr.value[c]:.1%}."
        )
    return said


def _serving(plan: Plan, solution: Solution) -> list[str]:
    placed = placements(plan, solution)
    return [f"Serve {name} with {placed[name]}." for name in plan.problem.services.name]


def _totals(plan: Plan) -> str:
    ledger = plan.ledger
    return (
        f"Over the horizon: {money(ledger.cost.value)} with capital annualised, {mass(ledger.carbon.value)}, "
        f"{energy(ledger.energy.value)}; purchases {money(ledger.capex.value)} in cash."
    )


def _against_cost_only(plan: Plan, solution: Solution) -> list[str]:
    found = plan.baselines.get(COST_ONLY)
    if found is None or found.solution is None or plan.problem.objective.carbon_weight == 0:
        return []
    cheap = found.solution
    dearer, cleaner = solution.usd - cheap.usd, cheap.kgco2e - solution.kgco2e
    ours, theirs = placements(plan, solution), placements(plan, cheap)
    changes = [
        f"{name}: {ours[name]} (cost only: {theirs[name]})" for name in ours if ours[name] != theirs.get(name)
    ]
    if not changes:
        return [
            "The cost-only plan decides the same: here the cheapest plan is also the cleanest at this carbon price."
        ]
    said = (
        f"Against the cost-only plan this one costs {money(dearer)} more and emits {mass(cleaner)} less"
        if dearer >= 0
        else f"Against the cost-only plan this one costs {money(-dearer)} less (within the gap) and emits {mass(cleaner)} less"
    )
    if cleaner > 0 and dearer > 0:
        price = (
            1000.0 * plan.problem.objective.carbon_weight / max(plan.problem.objective.money_weight, 1e-12)
        )
        limit = f", below the carbon price of {price:,.0f} USD/t" if price < 1e6 else ""
        said += f": {1000.0 * dearer / cleaner:,.0f} USD for each tonne{limit}"
    return [f"{said}.", *(f"It differs in {change}." for change in changes)]


def _against_today(plan: Plan, solution: Solution) -> list[str]:
    found = plan.baselines.get(AS_TODAY)
    if found is None:
        return []
    if found.solution is None:
        if found.status is Status.INFEASIBLE:
            return ["Today's fleet alone cannot do this work: without purchases no plan keeps every limit."]
        return ["Whether today's fleet alone could do this work was not settled in the time allowed."]
    saved = found.solution.usd - solution.usd
    cleaner = found.solution.kgco2e - solution.kgco2e
    if abs(saved) < 1.0 and abs(cleaner) < 1.0:
        return ["Without purchases the answer is the same."]
    return [
        f"Today's fleet alone would cost {money(abs(saved))} {'more' if saved >= 0 else 'less'} and emit "
        f"{mass(abs(cleaner))} {'more' if cleaner >= 0 else 'less'}."
    ]  # fmt: skip


def _limits(plan: Plan) -> list[str]:
    from planner.tables import plan_tables

    tight = [row for row in plan_tables(plan)["limits"] if row["binding"]]
    if not tight:
        return ["No limit on power, space, supply, budget or carbon binds."]
    return [
        f"The {row['limit']} limit of {row['where']} binds in {row['period']}: {row['used']:,.0f} of {row['allowed']:,.0f} {row['unit']}."
        for row in tight
    ]
