"""What is enough where a scenario has no plan and no limit of the program says so: found by trying.

Latency targets, lead times, the power of a rack and the like decide which options there are at all; no slack
of the program stands for them. Each is moved as far as it goes; where there is a plan then, it is moved back
as far as there still is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.housing import rack_need_kw
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, Service, with_changes
from planner.program.assembly import assemble
from planner.trace.errors import InputError
from planner.trace.numbers import seconds_text, written_text
from solver.answer import answer
from solver.conflict import Conflict
from solver.infeasible import LIMITS, Infeasibility

EACH_SECONDS = 10.0  # of one search for any plan
ANY_PLAN = 1.0  # gap: the first plan found is enough
CLOSE = 1.02  # as near as the least that does is looked for
LEAST_LOSS = 1e-3  # of quality, from which more is looked for
WIDER = 256.0  # how far a latency target is moved, before it is given up
MOST_NODES = 64  # times the nodes that stand, or that a job may use
DAY_H = 24.0
LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Remedy:
    """Values of the file with which there is a plan; `stated` and `needed` in its words."""

    key: str
    stated: str
    needed: str
    changes: Mapping[str, Any]


def find_remedies(
    scenario: Scenario,
    catalogue: Catalogue,
    infeasibility: Infeasibility,
    conflict: Conflict | None,
    should_stop: Callable[[], bool],
) -> tuple[Remedy, ...]:
    """What of the scenario alone is enough, by trying; what gives up none of the work.

    What only decides which options exist is tried where no limit of the program alone is enough.
    """
    trials = _Trials(scenario, catalogue, should_stop)
    found = [*_retirement(trials), *_confidence(trials), *_rack_power(trials), *_deployments(trials)]
    if any(one.suffices for one in infeasibility.families if one.names[0] in LIMITS):
        return tuple(found)
    # A cap over the horizon has no index, and names no work.
    named = (
        None if conflict is None else {(one.family, one.index[0]) for one in conflict.members if one.index}
    )
    services = [
        one.name
        for i, one in enumerate(scenario.services)
        if named is None or ("demand", i) in named or ("availability", i) in named
    ]
    jobs = [
        one.name
        for i, one in enumerate(scenario.training)
        if named is None or ("jobs", i) in named or ("deadlines", i) in named
    ]
    for service in services:
        found += _latency(trials, service)
        found += _mean_quality(trials, service)
    found += _lead_times(trials)
    for job in jobs:
        found += _deadline(trials, job)
        found += _nodes_of_job(trials, job)
    if not found:
        found += [*_rented(trials), *_standing(trials)]
    return tuple(found)


class _Trials:
    """Whether changed copies of a scenario have any plan."""

    def __init__(self, scenario: Scenario, catalogue: Catalogue, should_stop: Callable[[], bool]) -> None:
        self.scenario, self.catalogue, self.should_stop = scenario, catalogue, should_stop

    def has_plan(self, changes: Mapping[str, Any]) -> bool:
        """Whether there is a plan with these changes; False also where time ran out."""
        if self.should_stop():
            return False
        try:
            changed = with_changes(self.scenario, changes)
            problem = assemble(Inputs(changed, with_cards(changed, self.catalogue))).problem
        except InputError:  # no scenario may say so, or its parts contradict each other then
            return False
        found = answer(
            problem, gap_fraction=ANY_PLAN, time_limit_s=EACH_SECONDS, should_stop=self.should_stop
        )
        return found.solution is not None

    def least(self, changes: Callable[[float], Mapping[str, Any]], bad: float, good: float) -> float:
        """The value nearest to `bad` that was seen to do, from `good`, which does; both above zero."""
        while max(good / bad, bad / good) > CLOSE and not self.should_stop():
            middle = math.sqrt(bad * good)
            if self.has_plan(changes(middle)):
                good = middle
            else:
                bad = middle
        return good

    def least_whole(self, changes: Callable[[int], Mapping[str, Any]], bad: int, good: int) -> int:
        """The same of whole numbers."""
        while abs(good - bad) > 1 and not self.should_stop():
            middle = (bad + good) // 2
            if self.has_plan(changes(middle)):
                good = middle
            else:
                bad = middle
        return good


def _deployments(trials: _Trials) -> Iterator[Remedy]:
    """Fewer replicas of a deployment, where a least number is stated."""
    for one in trials.scenario.services:
        key, stated = f"services.{one.name}.least_replicas", one.least_replicas or 1
        if stated > 1 and trials.has_plan({key: 1}):
            needed = trials.least_whole(partial(_whole, key), stated, 1)
            yield Remedy(key, str(stated), str(needed), {key: needed})


def _whole(key: str, count: int) -> Mapping[str, Any]:
    return {key: count}


def _mean_quality(trials: _Trials, name: str) -> Iterator[Remedy]:
    """More quality that requests of a service may lose on average."""
    service = next(one for one in trials.scenario.services if one.name == name)
    key, stated = f"services.{name}.mean_quality_budget", service.mean_quality_budget_fraction
    if stated is not None and stated < 1 and trials.has_plan({key: 1.0}):
        needed = min(_above(trials.least(_share(key), max(stated, LEAST_LOSS), 1.0)), 1.0)
        yield Remedy(key, written_text(stated), written_text(needed), {key: needed})


def _share(key: str) -> Callable[[float], Mapping[str, Any]]:
    return lambda value: {key: value}


def _pipeline_time(trials: _Trials, stage: Service) -> Iterator[Remedy]:
    """The response time that the stages of a pipeline share, told once: with its first stage."""
    stages = [one.name for one in trials.scenario.services if one.pipeline == stage.pipeline]
    if stage.name != stages[0]:
        return

    def all_of(seconds: float) -> Mapping[str, Any]:
        return {f"services.{name}.response_time": seconds_text(seconds) for name in stages}

    stated = stage.first_answer_s
    lax = min(WIDER * stated, 3600.0)
    if trials.has_plan(all_of(lax)):
        needed = _above(trials.least(all_of, stated, lax))
        key = " and ".join(all_of(needed))
        yield Remedy(key, seconds_text(stated), seconds_text(needed), all_of(needed))


def _latency(trials: _Trials, name: str) -> Iterator[Remedy]:
    """Latency targets of a service: each alone, else both."""
    service = next(one for one in trials.scenario.services if one.name == name)
    if service.pipeline is not None:
        yield from _pipeline_time(trials, service)
        return
    paths = {f"services.{name}.{key}": value for key, value in service.targets_s.items()}
    lax = {path: min(WIDER * stated, 3600.0) for path, stated in paths.items()}
    alone = [path for path in paths if trials.has_plan({path: seconds_text(lax[path])})]
    for path in alone:
        needed = _above(trials.least(_one(path), paths[path], lax[path]))
        yield Remedy(path, seconds_text(paths[path]), seconds_text(needed), {path: seconds_text(needed)})
    if (
        alone
        or len(paths) == 1
        or not trials.has_plan({path: seconds_text(one) for path, one in lax.items()})
    ):
        return
    held = {path: seconds_text(one) for path, one in lax.items()}
    for path in paths:
        needed = _above(trials.least(_one(path, held), paths[path], lax[path]))
        held = held | {path: seconds_text(needed)}
    yield Remedy(
        " and ".join(paths),
        " and ".join(map(seconds_text, paths.values())),
        " and ".join(held.values()),
        held,
    )


def _one(path: str, held: Mapping[str, str] | None = None) -> Callable[[float], Mapping[str, Any]]:
    return lambda seconds: {**(held or {}), path: seconds_text(seconds)}


def _lead_times(trials: _Trials) -> Iterator[Remedy]:
    """Lead times: each alone, else all of them."""
    late = {f"market.{one.sku}.lead_time": one.lead_time_h / DAY_H for one in trials.scenario.market}
    late = {path: days for path, days in late.items() if days > 0}
    alone = [path for path in late if trials.has_plan({path: "0 d"})]
    together = [[path] for path in alone] or ([list(late)] if len(late) > 1 else [])
    for paths in together:

        def shorter(days: int, paths: list[str] = paths) -> dict[str, str]:
            return {path: days_text(min(days, late[path])) for path in paths}

        if len(paths) > 1 and not trials.has_plan(shorter(0)):
            return
        days = trials.least_whole(shorter, math.ceil(max(late[path] for path in paths)), 0)
        changes = {path: text for path, text in shorter(days).items() if text != days_text(late[path])}
        yield Remedy(
            " and ".join(changes),
            " and ".join(days_text(late[path]) for path in changes),
            " and ".join(changes.values()),
            changes,
        )


def _deadline(trials: _Trials, name: str) -> Iterator[Remedy]:
    """A later day for a job that may pause: its hours keep the deadline without a limit of the program."""
    job, path = next(one for one in trials.scenario.training if one.name == name), f"training.{name}.deadline"
    most = (trials.scenario.horizon.end - job.deadline).days

    def later(days: int) -> dict[str, Any]:
        return {path: job.deadline + timedelta(days=days)}

    if most > 0 and trials.has_plan(later(most)):
        day = later(trials.least_whole(later, 0, most))[path]
        yield Remedy(path, job.deadline.isoformat(), day.isoformat(), {path: day})


def _nodes_of_job(trials: _Trials, name: str) -> Iterator[Remedy]:
    """More nodes for a job: in doublings of the most that it may use."""
    job, path = next(one for one in trials.scenario.training if one.name == name), f"training.{name}.nodes"
    nodes = 2 * max(job.nodes)
    while nodes <= MOST_NODES * max(job.nodes):
        if trials.has_plan(changes := {path: [*job.nodes, nodes]}):
            stated = ", ".join(map(str, job.nodes))
            yield Remedy(path, f"[{stated}]", f"[{stated}, {nodes}]", changes)
            return
        nodes *= 2


def _standing(trials: _Trials) -> Iterator[Remedy]:
    """More nodes that stand: the fewest of one entry of the fleet."""
    for number, cohort in enumerate(trials.scenario.fleet):
        path = f"fleet[{number}].nodes"
        most = MOST_NODES * cohort.nodes
        if trials.has_plan({path: most}):
            nodes = trials.least_whole(lambda nodes, path=path: {path: nodes}, cohort.nodes, most)  # type: ignore[misc]
            yield Remedy(path, str(cohort.nodes), str(nodes), {path: nodes})


def _rented(trials: _Trials) -> Iterator[Remedy]:
    """More nodes of one offer that is rented: the fewest, the same in every period."""
    for offer in trials.scenario.rental:
        if offer.nodes is None or offer.signed:
            continue
        path, stated = f"rental.{offer.name}.nodes", max(offer.nodes)
        most = MOST_NODES * max(stated, 1)
        if trials.has_plan(_whole(path, most)):
            nodes = trials.least_whole(partial(_whole, path), stated, most)
            yield Remedy(path, str(stated), str(nodes), {path: nodes})


def _retirement(trials: _Trials) -> Iterator[Remedy]:
    stated, path = trials.scenario.policy.retirement, "policy.retirement"
    for wider in ("end of life", "allowed"):
        if stated != "allowed" and wider != stated and trials.has_plan({path: wider}):
            yield Remedy(path, f'"{stated}"', f'"{wider}"', {path: wider})
            return


def _confidence(trials: _Trials) -> Iterator[Remedy]:
    stated, path = trials.scenario.policy.confidence_fraction, "policy.confidence"
    if stated is None or not trials.has_plan({path: None}):
        return
    if not trials.has_plan({path: 0.5}):
        yield Remedy(path, f"{stated:g}", LEFT_OUT, {path: None})
        return
    low, high = 500, math.ceil(1000 * stated)  # thousandths, as a file may state them
    needed = trials.least_whole(lambda part: {path: part / 1000}, high, low) / 1000
    yield Remedy(path, f"{stated:g}", f"{needed:g}", {path: needed})


def _rack_power(trials: _Trials) -> Iterator[Remedy]:
    """More power for the racks of a site, so that one more of what is on offer can stand there."""
    scenario, catalogue = trials.scenario, trials.catalogue
    inputs = Inputs(scenario, catalogue)
    for site in scenario.sites:
        if site.rack_power_kw is None:
            continue
        path = f"sites.{site.name}.rack_power"
        needs = {math.ceil(rack_need_kw(catalogue.skus[one.sku], inputs.fact)) for one in scenario.market}
        for needed in sorted(need for need in needs if need > site.rack_power_kw):
            if trials.has_plan(changes := {path: f"{needed} kW"}):
                yield Remedy(path, f"{site.rack_power_kw:g} kW", f"{needed} kW", changes)
                break


def days_text(days: float) -> str:
    """Days as a file states them."""
    return f"{days:g} d"


def _above(value: float) -> float:
    """Rounded up to two digits: a target that is a little laxer does as well."""
    size = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(written_text(math.ceil(value / size * (1 - 1e-9)) * size))
