"""Users in several regions: from which sites a plan answers each."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from planner.inputs.scenario import Service
from planner.physics.users import latency_at, places
from planner.program.plan import Plan
from planner.program.solution import Solution, carried_by_option
from planner.trace.columns import Floats
from planner.trace.numbers import percent_text, seconds_text

NOTHING = 0.005  # of the requests of a region, of which nothing is said


def region_sentences(plan: Plan, solution: Solution) -> list[str]:
    """A sentence for each service with users in several regions: which sites answer each at the peak.

    Of the ways to deal requests to what the plan has, the one that takes least time on the way.
    """
    return [
        said
        for i, service in enumerate(plan.inputs.scenario.services)
        if service.regions
        for said in _of_service(plan, solution, i, service)
    ]


def _peak_shares(share: Floats, loads: Floats) -> Floats:
    """Share of each region [R] in the requests of the busiest part of a day, by loads [R, parts]."""
    if not loads.any():
        return share
    at_peak: Floats = loads[:, int(np.argmax(loads.sum(axis=0)))]
    found: Floats = at_peak / at_peak.sum()
    return found


def _of_service(plan: Plan, solution: Solution, i: int, service: Service) -> Iterator[str]:
    from scipy.optimize import linprog  # takes a fifth of a second to load, which other plans are spared

    problem, t = plan.problem, int(np.argmax(service.peak_requests_per_s))
    demand = problem.services.demand[i, t] * (1.0 - float(solution.shed_fraction[i, t]))
    carried = carried_by_option(problem, solution.replicas)[:, t] * (problem.serve_options.service == i)
    options = np.flatnonzero(carried > 0)
    answers, site = problem.serve_options.regions[options], problem.node_groups.site
    here = [places(plan.inputs)[site[problem.serve_options.node_group[v]]] for v in options]
    pairs = [(r, k) for r in range(len(service.regions)) for k in range(len(options)) if answers[k] >> r & 1]
    late_s = [float(latency_at(plan.inputs, service, service.regions[r], here[k]).value) for r, k in pairs]
    sent, taken = np.zeros((len(service.regions), len(pairs))), np.zeros((len(options), len(pairs)))
    for column, (r, k) in enumerate(pairs):
        sent[r, column] = taken[k, column] = 1.0
    services, own = problem.services, slice(len(service.regions))
    share = _peak_shares(services.region_fraction[i, own], services.region_load_fraction[i, own])
    room = carried[options] * (1.0 + 1e-6)  # what a check of the plan allows
    may_lose = float(services.mean_loss_limit_fraction[i])
    if math.isfinite(may_lose):  # and no more of the quality on average than it may
        lost = problem.serve_options.lost_fraction[options[[k for _, k in pairs]]]
        most = (may_lose + 1e-6) * demand
        taken, room = np.vstack([taken, lost]), np.append(room, most)
    found = linprog(late_s, A_ub=taken, b_ub=room, A_eq=sent, b_eq=share * demand) if pairs else None
    if found is None or found.x is None:
        return
    flows, parts = found.x.tolist(), list[str]()
    for r, home in enumerate(service.regions):
        at: dict[str, tuple[float, float]] = {}
        for (region, k), flow, seconds in zip(pairs, flows, late_s, strict=True):
            if region == r and flow > NOTHING * share[r] * demand:
                before, _ = at.get(here[k].name, (0.0, 0.0))
                at[here[k].name] = before + flow / (share[r] * demand), seconds
        where = " and ".join(
            f"{percent_text(part, 0)} at {name} ({seconds_text(round(seconds, 4))} away)"
            for name, (part, seconds) in at.items()
        )
        parts.append(f"{home.users} {where}")
    label = plan.inputs.scenario.horizon.period_labels[t]
    yield f"Users of {service.name} are answered in {label} as follows: {'; '.join(parts)}."
