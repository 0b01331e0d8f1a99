"""What services are promised: how much of it a plan keeps, and what could be kept where there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.physics.equations.promises import restarting_nodes
from planner.physics.promises import (
    RESTART_SHARE,
    node_up_fraction,
    outage_correlation,
    promises,
)
from planner.program.plan import Plan
from planner.program.solution import (
    Give,
    Infeasibility,
    Problem,
    ServeOptions,
    Solution,
    covered_nodes,
    promised_nodes,
    spares_at_hand,
    spares_of_promise,
)
from planner.trace.numbers import written_text
from planner.trace.quantities import Traced, chosen, derive
from reliability.promises import kept_fraction

STANDING = "failures at once whose replicas stand by"
NEAR = 1e-6  # nodes


@dataclass(frozen=True)
class Shortfall:
    """A promise that a node group cannot keep, in the period in which it is furthest from it."""

    services: tuple[str, ...]  # none: all nodes in use, by spare_confidence
    place: str
    wanted_fraction: float
    kept_fraction: float  # that a file may state instead
    nodes: float  # that the promise is for
    ready: int  # spares, and nodes on which replicas stand by
    needed: int  # of them, for the promise


def kept_time_fraction(plan: Plan, solution: Solution, option: int, period: int) -> Traced:
    """Share of time in which enough nodes are up for a service where an option serves it.

    The nodes of all services of the node group that are promised as much share its spares.
    """
    problem, inputs = plan.problem, plan.inputs
    serves = problem.serve_options
    group, promise = int(serves.node_group[option]), int(serves.promise[option])
    own = np.flatnonzero((serves.service == serves.service[option]) & (serves.node_group == group))
    held = float((serves.nodes[own] * solution.replicas[own, period]).sum())
    covered = float((serves.covers[own, period] * (solution.replicas[own, period] > 0)).sum())
    ready = float(covered_nodes(problem, solution.replicas, promise)[group, period])
    used = float(promised_nodes(problem, solution.replicas, promise)[group, period]) + ready
    spares = float(spares_at_hand(problem, solution.spares)[group, period])
    rate = plan.assembled.nodes.failure_rate_per_node_h[group]
    up = node_up_fraction(inputs, rate)
    tied = outage_correlation(inputs, up)
    if inputs.rented[group]:
        up = chosen("availability", 1.0, "the provider replaces what fails")
    return derive(
        kept_fraction,
        nodes=chosen("nodes", used + spares, "in use by services of this promise, and spares"),
        spare_nodes=chosen("spare_nodes", spares + ready - covered, "spares, and standby of other services"),
        standby_nodes=chosen("standby_nodes", covered_failures(serves, own, solution, period), STANDING),
        covered_nodes=chosen("covered_nodes", covered, "those that replicas on standby fill"),
        availability_fraction=up,
        correlation_fraction=tied,
        restarting_nodes=derive(
            restarting_nodes,
            nodes=chosen("nodes", held, "of the service there"),
            failure_rate_per_node_h=rate,
            restart_h=inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h"),
        ),
    )


def standing_by(options: ServeOptions, option: int, period: int, replicas: int) -> float:
    """Replicas beyond those that carry: a count, and a share where there are many."""
    counted = min(replicas, int(options.standby[option, period]))
    share = float(options.standby_fraction[option, period])
    return counted + (replicas - counted) * share / (1 + share)


def covered_failures(options: ServeOptions, own: NDArray[np.intp], solution: Solution, period: int) -> float:
    """Failures at once that the replicas on standby of some options of a service cover.

    A node takes along as many replicas as fit on it, but no more than carry.
    """
    found = 0
    for v in own.tolist():
        count = int(solution.replicas[v, period])
        standby = standing_by(options, v, period, count)
        fitting = min(math.floor(1.0 / float(options.nodes[v]) + NEAR), math.ceil(count - standby - NEAR))
        found += math.floor(standby / max(fitting, 1) + NEAR)
    return float(found)


def shortfalls(plan: Plan, infeasibility: Infeasibility) -> list[Shortfall]:
    """The promises that would have to be lower, if only they give way."""
    for family in infeasibility.families:
        if family.names == ("availability",) and family.repaired is not None:
            solution = family.repaired.solution
            if solution is not None:
                return [shortfall(plan, solution, give) for give in family.gives]
    return []


def shortfall(plan: Plan, solution: Solution, give: Give) -> Shortfall:
    """What one promise comes to in the plan that is possible without it."""
    problem, (promise, group) = plan.problem, give.index
    nodes, ready = solution.in_use, spares_at_hand(problem, solution.spares)
    if promise:
        nodes = promised_nodes(problem, solution.replicas, promise)
        ready = ready + covered_nodes(problem, solution.replicas, promise)
    needed = spares_of_promise(problem, nodes, promise, NEAR)
    period = int(np.argmax((needed - ready)[group]))
    used, there = float(nodes[group, period]), int(ready[group, period])
    up = node_up_fraction(plan.inputs, plan.assembled.nodes.failure_rate_per_node_h[group])
    enough_up = kept_fraction(
        nodes=math.ceil(used - NEAR) + there,
        spare_nodes=there,
        availability_fraction=float(up.value),
        correlation_fraction=float(outage_correlation(plan.inputs, up).value),
    )
    return Shortfall(
        services=services_of_promise(problem, promise),
        place=problem.node_group_name(group),
        wanted_fraction=promises(plan.inputs)[promise - 1]
        if promise
        else plan.inputs.scenario.reliability.spare_confidence_fraction,
        kept_fraction=_may_be_stated(plan, enough_up, promise),
        nodes=used,
        ready=there,
        needed=int(needed[group, period]),
    )


def services_of_promise(problem: Problem, promise: int) -> tuple[str, ...]:
    """The services with just this promise."""
    serves = problem.serve_options
    own = sorted({*serves.service[serves.promise == promise].tolist()}) if promise else []
    return tuple(problem.services.name[i] for i in own)


def shortfall_text(short: Shortfall) -> str:
    """A promise that cannot be kept, in the words of the file."""
    nodes = f"{math.ceil(short.nodes - NEAR)} in use"
    spares = f"{short.needed} spare node{'s' if short.needed != 1 else ''}"
    there = f"there can be {short.ready}" if short.ready else "there can be none"
    if not short.services:
        return (
            f"reliability.spare_confidence of {short.wanted_fraction:g} asks for {spares} of {short.place} "
            f"next to the {nodes}, and {there}: {written_text(short.kept_fraction, 10)} can be kept."
        )
    paths = " and ".join(f"services.{name}.availability" for name in short.services)
    return (
        f"{paths} of {short.wanted_fraction:g} asks for {spares} of {short.place} next to the {nodes}, "
        f"standby included, and {there}: {written_text(short.kept_fraction, 10)} can be kept."
    )


def _may_be_stated(plan: Plan, up_fraction: float, promise: int) -> float:
    """The most that a file may state where spares keep so much: restarts included, and rounded down.

    1 - (1 - up) / (1 - share of restarts) for a promise to services; spare_confidence counts no restarts.
    """
    if not promise:
        return _down(up_fraction)
    share = float(plan.inputs.fact(RESTART_SHARE).value)
    return _down(1.0 - (1.0 - up_fraction) / (1.0 - share))


def _down(fraction: float) -> float:
    """Rounded to three digits of what is missing from 1, never up."""
    missing = 1.0 - fraction
    if missing <= 0.0:
        return 1.0
    digits = 2 - math.floor(math.log10(missing))
    steps = 10.0**digits
    return round(1.0 - math.ceil(missing * steps * (1 - 1e-12)) / steps, digits)
