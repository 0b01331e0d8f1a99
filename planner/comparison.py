"""In words: what the plan decides, how it differs from the plans beside it, and what holds it back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.bending import bending_placements, bending_sentences
from planner.candidates import UNCAPPED
from planner.contracted import contract_sentences, stand_in_sentences
from planner.defence.fullness import full_sentences
from planner.defence.others import alternative_sentences
from planner.defence.pricing import price_sentences
from planner.owning import counted, owning_sentences, retired_for
from planner.plan import AS_TODAY, COST_ONLY, Plan
from planner.tables import plan_tables
from planner.wording import energy, mass, money
from solver.account import rebate_fraction, totals_by
from solver.backend import Status
from solver.problem import Solution

MOST_PRICES = 8  # the table holds them all


def why_this_plan(plan: Plan) -> tuple[list[str], list[str]]:
    """Headline sentences for a manager, and reasons for whoever asks why."""
    solution = plan.answer.solution
    if solution is None:
        return [], []
    headline = [
        *_buying(plan, solution),
        *_retiring(plan, solution),
        *owning_sentences(plan, solution),
        *_left_out(plan, solution),
        *_training(plan, solution),
        *_serving(plan, solution),
        *bending_sentences(plan, solution),
        *contract_sentences(plan, solution),
        _totals(plan),
    ]
    why = [*_against_cost_only(plan, solution), *_against_today(plan, solution), *_limits(plan)]
    why += stand_in_sentences(plan)
    why += _futures_left_out(plan)
    return headline, [*why, *price_sentences(plan)[:MOST_PRICES], *alternative_sentences(plan)]


def _futures_left_out(plan: Plan) -> list[str]:
    """That a plan is for what is stated, where the scenario says how the future may differ."""
    scenario = plan.inputs.scenario
    if not scenario.futures and scenario.uncertainty is None:
        return []
    return ["This plan is for the scenario as stated; `everfleet futures` plans for all of its futures."]


def placements(plan: Plan, solution: Solution) -> dict[str, str]:
    """Decision -> what was decided, for comparing two plans of one problem."""
    problem = plan.problem
    found: dict[str, str] = {}
    placed: dict[str, list[str]] = {}
    for r in np.flatnonzero(solution.run):
        options = problem.run_options
        size = int(options.nodes[r].max())
        label = plan.inputs.scenario.horizon.period_labels[options.start[r]]
        copies = "" if solution.run[r] == 1 else f"{solution.run[r]} times "
        placed.setdefault(problem.jobs.name[options.job[r]], []).append(
            f"{copies}{size} nodes of {problem.pool_name(int(options.pool[r]))} from {label}"
        )
    found |= {name: ", ".join(sorted(ways)) for name, ways in placed.items()}
    found |= bending_placements(plan, solution)
    for i, service in enumerate(problem.services.name):
        here = np.flatnonzero(problem.serve_options.service == i)
        peak = totals_by(problem.serve_options.pool[here], len(problem.pools), solution.replicas[here]).max(
            axis=1
        )
        found[service] = _where(plan, peak, "replica")
    for w, pool in enumerate(problem.work.name):
        here = np.flatnonzero(problem.work_options.work == w)
        hours = totals_by(
            problem.work_options.pool[here], len(problem.pools), solution.work_node_h[here]
        ).sum(axis=1)
        found[pool] = _where(plan, hours, "node-hour")
    nodes = solution.orders * problem.pools.order_unit_nodes[:, None]
    found["purchases"] = _where(plan, nodes.sum(axis=1), "node")
    retired = totals_by(problem.cohorts.pool, len(problem.pools), solution.retired).sum(axis=1)
    found["retirements"] = _where(plan, retired, "node")
    if len(problem.moves):
        joined = problem.cohorts.pool[problem.moves.to_cohort]
        moved = totals_by(joined, len(problem.pools), solution.moved).sum(axis=1)
        found["moves"] = _where(plan, moved, "node")
    return found


def _where(plan: Plan, amounts: NDArray[Any], what: str) -> str:
    """How much of something is on which pool."""
    said = [
        f"{amount:,.0f} {what}{'s' if round(amount) != 1 else ''} on {plan.problem.pool_name(p)}"
        for p, amount in enumerate(np.asarray(amounts, dtype=float))
        if amount > 0.5
    ]
    return ", ".join(said) or "none"


def _buying(plan: Plan, solution: Solution) -> list[str]:
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    nodes = solution.orders * problem.pools.order_unit_nodes[:, None]
    off = rebate_fraction(problem, solution.orders)
    said = []
    for p, t in np.argwhere(nodes > 0):
        price = problem.pools.capex_usd_per_node[p, t] * (1.0 - off[problem.pools.sku[p]])
        cash = float(nodes[p, t] * price)
        said.append(
            f"Order {nodes[p, t]:.0f} nodes of {problem.pool_name(int(p))} in {labels[t]} for {money(cash)}."
        )
    return said or ["Buy nothing."]


def _retiring(plan: Plan, solution: Solution) -> list[str]:
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    said = []
    for h in range(len(problem.cohorts)):
        steps = [f"{count} in {labels[t]}" for t, count in enumerate(solution.retired[h]) if count]
        if steps:
            pool = problem.pool_name(int(problem.cohorts.pool[h]))
            said.append(
                f"Retire nodes of {pool}: {', '.join(steps)}, leaving {solution.kept[h, -1]} "
                f"of {problem.cohorts.nodes[h] or solution.kept[h].max()}{retired_for(plan, solution, h)}."
            )
    return said


def _left_out(plan: Plan, solution: Solution) -> list[str]:
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
    return "" if left_out == 1 else f"{left_out:.0%} of "


def _training(plan: Plan, solution: Solution) -> list[str]:
    runs = plan.ledger.runs
    if runs is None:
        return []
    horizon = plan.inputs.scenario.horizon
    said = []
    for row, count in zip(plan.ledger.run_rows, solution.run[solution.run > 0], strict=True):
        c = int(runs.candidate[row])
        job = plan.inputs.scenario.training[runs.candidates.job[c]]
        pool = plan.problem.pool_name(int(runs.candidates.pool[c]))
        begin = float(runs.start_h.value[row, 0])
        first = horizon.date_after_h(begin)
        likely, late = (
            horizon.date_after_h(begin + float(q.value[c])) for q in (runs.finish_p50_h, runs.finish_p95_h)
        )
        copies = f"{count} x " if count > 1 else ""
        said.append(
            f"Run {copies}{job.name} on {runs.candidates.nodes[c]} nodes of {pool}"
            f"{_capped(float(runs.candidates.power_cap_fraction[c]))} from {first}; "
            f"done about {likely}, by {late} with 95 % chance (deadline {job.deadline}). Checkpoint every "
            f"{runs.interval_h.value[c] * 60:.0f} min; effective training time {runs.ettr.value[c]:.1%}."
        )
    return said


def _capped(power_cap_fraction: float) -> str:
    return "" if power_cap_fraction == UNCAPPED else f", accelerators capped at {power_cap_fraction:.0%},"


def _serving(plan: Plan, solution: Solution) -> list[str]:
    placed = placements(plan, solution)
    names = [name for name in plan.problem.services.name if placed[name] != "none"]
    return [f"Serve {name} with up to {placed[name]}." for name in names]


def _totals(plan: Plan) -> str:
    ledger = plan.ledger
    return (
        f"Over the horizon: {money(ledger.cost.value)} {counted(plan)}, {mass(ledger.carbon.value)}, "
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
            "The cost-only plan decides the same: at this carbon price the cheapest plan is also the best."
        ]
    if abs(dearer) < 1.0 and abs(cleaner) < 1.0:
        return ["The cost-only plan costs and emits the same; it differs in what has no price."]
    cost = f"{money(dearer)} more" if dearer >= 0 else f"{money(-dearer)} less (within the gap)"
    carbon = f"{mass(cleaner)} less" if cleaner >= 0 else f"{mass(-cleaner)} more (within the gap)"
    said = f"Against the cost-only plan this one costs {cost} and emits {carbon}"
    if cleaner > 0 and dearer > 0:
        price = (
            1000.0 * plan.problem.objective.carbon_weight / max(plan.problem.objective.money_weight, 1e-12)
        )
        paid = 1000.0 * dearer / cleaner
        said += f": {paid:,.0f} USD for each tonne"
        if plan.inputs.scenario.policy.objective == "weighted":
            said += f", {'below' if paid <= price else 'above'} the carbon price of {price:,.0f} USD/t"
            said += "" if paid <= price else " (both plans are proved only to within the gap)"
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
    """The limits that bind, then those that nothing more fits into."""
    rows = plan_tables(plan)["limits"]
    full = full_sentences(plan, rows)
    tight = [row for row in rows if row["binding"]]
    if not tight:
        free = "No limit on power, space, supply, budget or carbon"
        return [f"{free} is used up, but not every one has room.", *full] if full else [f"{free} binds."]
    return [
        *(
            f"The {row['limit']} limit of {row['where']} binds in {row['period']}: "
            f"{row['used']:,.0f} of {row['allowed']:,.0f} {row['unit']}."
            for row in tight
        ),
        *full,
    ]
