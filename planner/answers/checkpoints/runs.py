"""A whole run at the recommended intervals: when it is done, and what playing it failure by failure gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.answers.checkpoints.policies import OneLevel, Pattern, Policy, TwoLevel, absent, weights_of
from planner.answers.checkpoints.rows import ends_of
from planner.physics.requests import given
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact, Traced, chosen, convert, derive
from planner.trace.recomputation import replaced
from planner.trace.records import Record
from reliability.finish import finish_quantile_h
from reliability.rollback import checked_h
from reliability.sampling_error import monte_carlo
from reliability.simulate import simulate_job
from reliability.two_level_simulation import simulate_two_level_finish_h

QUANTILES = {"p5": 0.05, "p50": 0.5, "p95": 0.95}
MOST_REPLICAS = 100_000
# A played run is this many MTTFs long where no hours are requested: its ends then weigh nothing.
PLAYED_MTTFS = 200.0


def finish_rows(policies: dict[str, Policy], useful_h: float) -> tuple[list[Record], dict[str, Traced]]:
    """Hours to the finish and accelerator-hours lost, at the rate stated and at both ends of its range; why.

    Two levels have their mean only: their spread has no closed form here.
    """
    if not 0 < useful_h < math.inf:
        raise InputError(f"useful hours have to be above 0, got {useful_h}")
    useful = given("useful_time", useful_h, "h")
    found: list[Record] = []
    why: dict[str, Traced] = {}
    for name, policy in policies.items():
        pattern = policy.best(weights_of(policy, "time")).kept()
        nodes = _finish(policy, pattern, useful)
        why |= {f"finish.{name}.{key}": node for key, node in nodes.items()}
        interval = convert(pattern.interval_h, "min")
        for rate_name, facts in _rates(policy).items():
            values = replaced(list(nodes.values()), facts)
            found.append(
                {"policy": name, "rate": rate_name, "interval_min": interval}
                | dict(zip(nodes, values, strict=True))
            )
    return found, why


def endless(policies: Mapping[str, Policy]) -> list[str]:
    """Policies by which the run never ends, at the stated rate of failures or at an end of its range."""
    names = []
    for name, policy in policies.items():
        ettr = policy.hours(policy.best(weights_of(policy, "time")).kept()).ettr
        ends = [replaced([ettr], facts)[0] for facts in _rates(policy).values()]
        if not all(float(one.value) > 0 for one in ends):
            names.append(name)
    return names


def simulation_rows(
    policies: dict[str, Policy], replicas: int, seed: int, useful_h: float | None = None
) -> list[Record]:
    """ETTR of each policy at its best interval, played, next to the closed form."""
    if not 2 <= replicas <= MOST_REPLICAS:
        raise InputError(f"--simulate: has to be from 2 to {count_text(MOST_REPLICAS)}, got {replicas}")
    if seed < 0:
        raise InputError(f"--seed: has to be 0 or more, got {seed}")
    if any(policy.setting.stops.others_per_h is not None for policy in policies.values()):
        raise InputError(
            "--simulate plays failures of nodes alone: leave out loss spikes and checks for corruption"
        )
    if any(policy.setting.waiting is not None for policy in policies.values()):
        raise InputError("--simulate plays failures of nodes alone: leave out slow nodes and spread of steps")
    found = []
    for name, policy in policies.items():
        pattern = policy.best(weights_of(policy, "time"))
        target_h = useful_h or PLAYED_MTTFS * float(policy.setting.mttf_h.value)
        useful, finish = _played(policy, pattern, target_h, replicas, seed)
        played = monte_carlo(finish)
        ettr = useful / played.mean
        about = f"played {count_text(replicas)} times, failure by failure, with seed {seed}"
        numbers = {
            "useful_h": useful,
            "simulated_ettr_fraction": ettr,
            "standard_error_fraction": ettr * played.standard_error / played.mean,
            "finish_p5_h": played.p5,
            "finish_p50_h": played.p50,
            "finish_p95_h": played.p95,
            "finish_p95_standard_error_h": played.p95_standard_error,
        }
        found.append(
            {
                "policy": name,
                "interval_min": convert(pattern.interval_h, "min"),
                "replicas": chosen("replicas", replicas, "as requested"),
                "seed": chosen("seed", seed, "as requested"),
                **{key: chosen(key, float(value), about) for key, value in numbers.items()},
                "closed_form_ettr_fraction": policy.hours(pattern).ettr,
            }
        )
    return found


def _finish(policy: Policy, pattern: Pattern, useful: Traced) -> dict[str, Traced]:
    accelerators = (policy.setting.nodes * policy.setting.accelerators).named("accelerators_in_use")
    whole, waiting = useful, policy.setting.waiting
    if waiting is not None:
        whole = (useful * waiting).named(
            "slowed_h", "Hours that work takes where its steps are w times as long"
        )

    def lost(finish: Traced) -> Traced:
        return ((finish - useful) * accelerators).named(
            "lost_accelerator_h",
            "Accelerator-hours of a run that did not last: lost work, stalls and restarts",
        )

    def expected(restart: Traced | None) -> Traced:
        ettr = policy.hours(pattern, restart).ettr
        return (whole / ettr).named("expected_duration_h", "Expected hours from start to finish")

    waiting = absent(policy)
    found = {"mean_h": expected(waiting), "lost_accelerator_mean_h": lost(expected(None))}
    if isinstance(policy, OneLevel):
        overhead = policy.setting.stops.check_fraction
        checked = whole if overhead is None else derive(checked_h, hours_h=whole, check_fraction=overhead)
        for name, share in QUANTILES.items():
            at = chosen("quantile_fraction", share, f"the {name} of the finish")
            job = {"useful_h": checked, "interval_h": pattern.interval_h, "quantile_fraction": at}
            found[f"{name}_h"] = derive(finish_quantile_h, **job, **policy.renewal(waiting))
            found[f"lost_accelerator_{name}_h"] = lost(derive(finish_quantile_h, **job, **policy.renewal()))
    return found


def _rates(policy: Policy) -> dict[str, dict[str, Fact]]:
    """The rate as stated, and both ends of its range; the interval is kept."""
    ends = ends_of(policy.setting.terms.failure_rate)
    return {"stated": {}} | {end: {fact.key: fact} for end, fact in ends.items()}


def _played(
    policy: Policy, pattern: Pattern, useful_h: float, replicas: int, seed: int
) -> tuple[float, np.ndarray[Any, np.dtype[np.float64]]]:
    """Useful hours, and the hours to the finish of each replica."""
    interval_h = float(pattern.interval_h.value)
    if isinstance(policy, TwoLevel) and pattern.local_saves is not None:
        saves = int(pattern.local_saves.value)
        patterns = math.ceil(useful_h / (saves * interval_h))
        chain = {name: float(quantity.value) for name, quantity in policy.chain().items()}
        finish = simulate_two_level_finish_h(
            patterns=patterns, interval_h=interval_h, local_saves=saves, replicas=replicas, seed=seed, **chain
        )
        return patterns * saves * interval_h, finish
    if not isinstance(policy, OneLevel):
        raise TypeError(f"no simulation of {policy.name} checkpoints")
    intervals = math.ceil(useful_h / interval_h)
    renewal = {name: float(quantity.value) for name, quantity in policy.renewal().items()}
    played = simulate_job(intervals=intervals, interval_h=interval_h, replicas=replicas, seed=seed, **renewal)
    return intervals * interval_h, played.finish_h
