"""Blocking, asynchronous and two-level checkpoints behind one face: best pattern, hours, cost, flatness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planner.answers.checkpoints.equations import local_restart_h, state_fraction
from planner.answers.checkpoints.setting import HOST, Rates, Setting
from planner.performance.bundles import bundled
from planner.physics.equations.training import ettr_ratio
from planner.trace.quantities import Traced, chosen, derive, derive_parts, ratio
from reliability.checkpoint import hours_by_state, objective_optimal_interval_h, weighted_hours_ratio
from reliability.policies import flat_region_h
from reliability.rollback import hours_with_checks
from reliability.two_level import (
    HourWeights,
    SaveLevels,
    two_level_flat_h,
    two_level_hours_by_state,
    two_level_optimal_plan,
    two_level_weighted_hours_ratio,
)
from reliability.two_level_ettr import two_level_ettr_fraction

BOTH = "Hours that local and remote checkpoints take together, for one useful hour"

Named = Mapping[str, Traced]

# Objective -> the key of a row that it makes best.
OBJECTIVES = {"time": "ettr_fraction", "money": "usd_per_useful_h", "carbon": "kgco2e_per_useful_h"}
NAMES = ("blocking", "asynchronous", "two-level")


@dataclass(frozen=True)
class Pattern:
    """When to write: compute time before each save, and local saves for each remote one."""

    interval_h: Traced
    local_saves: Traced | None = None

    def kept(self) -> Pattern:
        """The same numbers whatever becomes of the rate that they were chosen for."""
        why = "kept while the failure rate varies"
        saves = self.local_saves
        return Pattern(
            chosen("interval_h", self.interval_h.value, why),
            None if saves is None else chosen("local_saves", saves.value, why),
        )


@dataclass(frozen=True)
class Hours:
    """ETTR, and the hours of each state for one useful hour."""

    ettr: Traced
    lost_h: Traced
    checkpoint_h: Traced
    restart_h: Traced

    def checked(self, check_fraction: Traced | None) -> Hours:
        """The same hours with checks of the results next to the work."""
        if check_fraction is None:
            return self
        states = derive_parts(
            hours_with_checks,
            useful_h=chosen("useful_h", 1.0, "of one useful hour"),
            lost_h=self.lost_h,
            checkpoint_h=self.checkpoint_h,
            restart_h=self.restart_h,
            check_fraction=check_fraction,
        )
        return Hours(derive(ettr_ratio, **states), states.lost_h, states.checkpoint_h, states.restart_h)

    def fraction(self, state_h: Traced) -> Traced:
        """Share of all time that one of the states takes."""
        return derive(state_fraction, state_h=state_h, ettr_ratio=self.ettr)


class Policy(Protocol):
    """A way of writing checkpoints, for one job."""

    @property
    def name(self) -> str:
        """One of `NAMES`."""

    @property
    def setting(self) -> Setting:
        """The job that it is for."""

    @property
    def rates(self) -> Mapping[str, Rates]:
        """Money and carbon of a node's hour in each state, `work` among them."""

    def best(self, weights: Named) -> Pattern:
        """The pattern of least weighted hours."""

    def hours(self, pattern: Pattern, restart_h: Traced | None = None) -> Hours:
        """Hours by state; with another restart where asked."""

    def weighted(self, pattern: Pattern, weights: Named) -> Traced:
        """Weighted hours for one useful hour."""

    def flat(self, pattern: Pattern, weights: Named, loss_fraction: Traced) -> tuple[Traced, Traced]:
        """Both ends of the intervals that cost next to nothing against the best pattern."""


@dataclass(frozen=True)
class OneLevel:
    """Every checkpoint goes to storage: the job waits for it, or copies it aside and goes on."""

    name: str
    setting: Setting
    write_h: Traced
    persist_h: Traced
    rates: Mapping[str, Rates]

    def renewal(self, restart_h: Traced | None = None) -> dict[str, Traced]:
        """What the renewal equations want next to the interval."""
        return {
            "mttf_h": self.setting.mttf_h,
            "write_h": self.write_h,
            "restart_h": restart_h or self.setting.restart_h,
            "persist_h": self.persist_h,
            **self.setting.stops.renewal(),
        }

    def best(self, weights: Named) -> Pattern:
        """The pattern of least weighted hours, in closed form."""
        return Pattern(derive(objective_optimal_interval_h, **self.renewal(), **weights))

    def hours(self, pattern: Pattern, restart_h: Traced | None = None) -> Hours:
        """Hours by state."""
        states = derive_parts(hours_by_state, interval_h=pattern.interval_h, **self.renewal(restart_h))
        found = Hours(derive(ettr_ratio, **states), states.lost_h, states.checkpoint_h, states.restart_h)
        return found.checked(self.setting.stops.check_fraction)

    def weighted(self, pattern: Pattern, weights: Named) -> Traced:
        """Weighted hours for one useful hour."""
        hours = derive(weighted_hours_ratio, interval_h=pattern.interval_h, **self.renewal(), **weights)
        return _checked(self.setting, hours)

    def flat(self, pattern: Pattern, weights: Named, loss_fraction: Traced) -> tuple[Traced, Traced]:
        """Both ends of the flat region."""
        ends = derive_parts(
            flat_region_h,
            interval_h=pattern.interval_h,
            loss_fraction=loss_fraction,
            **self.renewal(),
            **weights,
        )
        return ends.low_h, ends.high_h


@dataclass(frozen=True)
class TwoLevel:
    """Quick copies to the hosts' memory between blocking writes to storage."""

    setting: Setting
    rates: Mapping[str, Rates]
    name: str = "two-level"

    def chain(self, restart_h: Traced | None = None) -> dict[str, Traced]:
        """What the chain of stages wants next to the pattern."""
        setting = self.setting
        share = setting.terms.fact("checkpoint.local_fraction")
        restart = restart_h or setting.restart_h
        return {
            "local_rate_per_h": (share / setting.failures_mttf_h).named(
                "local_rate_per_h", "Failures an hour after which a local copy is still there"
            ),
            "remote_rate_per_h": _remote_rate(setting, share),
            "local_write_h": setting.host_write_h,
            "remote_write_h": setting.storage_write_h,
            "local_restart_h": derive(local_restart_h, restart_h=restart, load_h=setting.storage_write_h),
            "remote_restart_h": restart,
            **setting.stops.renewal(),
        }

    def best(self, weights: Named) -> Pattern:
        """The pattern of least weighted hours, by search."""
        found = derive_parts(two_level_optimal_plan, **_bundled(self.chain(), weights))
        return Pattern(found.interval_h, found.local_saves)

    def hours(self, pattern: Pattern, restart_h: Traced | None = None) -> Hours:
        """Hours by state, local and remote ones added."""
        chain = self.chain(restart_h) | _of(pattern)
        states = derive_parts(two_level_hours_by_state, **bundled(chain, levels=SaveLevels))
        written = (states.local_write_h + states.remote_write_h).named("both_levels_h", BOTH)
        restarted = (states.local_restart_h + states.remote_restart_h).named("both_levels_h", BOTH)
        if "rolled_back_h" in chain:
            useful = chosen("useful_h", 1.0, "of one useful hour")
            every = {"lost_h": states.lost_h, "checkpoint_h": written, "restart_h": restarted}
            ettr = derive(ettr_ratio, useful_h=useful, **every)
        else:
            ettr = derive(two_level_ettr_fraction, **chain)
        return Hours(ettr, states.lost_h, written, restarted).checked(self.setting.stops.check_fraction)

    def weighted(self, pattern: Pattern, weights: Named) -> Traced:
        """Weighted hours for one useful hour."""
        hours = derive(two_level_weighted_hours_ratio, **_bundled(self.chain() | _of(pattern), weights))
        return _checked(self.setting, hours)

    def flat(self, pattern: Pattern, weights: Named, loss_fraction: Traced) -> tuple[Traced, Traced]:
        """Both ends of the flat region, at the pattern's number of local saves."""
        ends = derive_parts(
            two_level_flat_h,
            loss_fraction=loss_fraction,
            **_bundled(self.chain() | _of(pattern), weights),
        )
        return ends.low_h, ends.high_h


def policies_of(setting: Setting) -> dict[str, Policy]:
    """Every policy for a job, by name."""
    work, restart, storage = setting.working(), setting.restarting(), setting.terms.storage
    blocking = {"work": work, "write": setting.written(storage, setting.storage_write_h), "restart": restart}
    behind = blocking | {"write": setting.written(storage, setting.background_stall_h)}
    two_level = {
        "work": work,
        "local_write": setting.written(HOST, setting.host_write_h),
        "remote_write": blocking["write"],
        "restart": restart,
    }
    none = chosen("persist_h", 0.0, "the job waits until the checkpoint is stored")
    return {
        "blocking": OneLevel("blocking", setting, setting.storage_write_h, none, blocking),
        "asynchronous": OneLevel(
            "asynchronous", setting, setting.background_stall_h, setting.persist_h, behind
        ),
        "two-level": TwoLevel(setting, two_level),
    }


def weights_of(policy: Policy, objective: str) -> dict[str, Traced]:
    """What an hour in each state weighs against an hour of work; one where time alone counts."""
    names = {state: f"{state}_weight_factor" for state in policy.rates}
    if objective == "time":
        return {name: chosen(name, 1.0, "time counts alike in every state") for name in names.values()}
    each = {
        state: rates.usd if objective == "money" else rates.kgco2e for state, rates in policy.rates.items()
    }
    return {name: ratio(each[state], each["work"]) for state, name in names.items()}


def usd_per_useful_h(policy: Policy, pattern: Pattern) -> Traced:
    """Money of one useful hour of the job."""
    weighted, waiting = policy.weighted(pattern, weights_of(policy, "money")), policy.setting.waiting
    each = (policy.setting.nodes * policy.rates["work"].usd * weighted).named(
        "useful_hour_usd", "Money of one useful hour of the job, with stalls, lost work and restarts"
    )
    if waiting is None:
        return each
    return (each * waiting).named(
        "slowed_usd", "Money of an hour of work at full pace, which takes w hours of one's own"
    )


def kgco2e_per_useful_h(policy: Policy, pattern: Pattern) -> Traced:
    """Carbon of one useful hour of the job."""
    weighted, waiting = policy.weighted(pattern, weights_of(policy, "carbon")), policy.setting.waiting
    each = (policy.setting.nodes * policy.rates["work"].kgco2e * weighted).named(
        "useful_hour_kgco2e", "Carbon of one useful hour of the job, with stalls, lost work and restarts"
    )
    if waiting is None:
        return each
    return (each * waiting).named(
        "slowed_kgco2e", "Carbon of an hour of work at full pace, which takes w hours of one's own"
    )


def objective_value(policy: Policy, pattern: Pattern, objective: str) -> Traced:
    """What an objective minimizes: hours, money or carbon of one useful hour; without end where none is."""
    if objective == "time":
        with np.errstate(divide="ignore"):
            hours = 1.0 / policy.hours(pattern).ettr
        return hours.named("hours_ratio", "Hours that pass for one useful hour")
    return (usd_per_useful_h if objective == "money" else kgco2e_per_useful_h)(policy, pattern)


def absent(policy: Policy) -> Traced:
    """Hours without progress after a failure, the queue in."""
    return (policy.setting.restart_h + policy.setting.queue_h).named(
        "absent_h", "Hours without progress after each failure, in the queue or restarting"
    )


def _checked(setting: Setting, hours: Traced) -> Traced:
    """Weighted hours with checks of the results next to the work, where they are asked for."""
    overhead = setting.stops.check_fraction
    if overhead is None:
        return hours
    return (hours * (1.0 + overhead)).named("checked_ratio", "Weighted hours with checks of the results")


def _remote_rate(setting: Setting, local_fraction: Traced) -> Traced:
    """Stops an hour that go back to storage: some failures, and all that throws stored work away."""
    failures = ((1.0 - local_fraction) / setting.failures_mttf_h).named(
        "remote_rate_per_h", "Failures an hour that take the local copies with them"
    )
    others = setting.stops.others_per_h
    if others is None:
        return failures
    return (failures + others).named("stops_per_h", "Stops of failures and of what throws stored work away")


def _bundled(chain: Named, weights: Named) -> dict[str, Any]:
    return bundled({**chain, **weights}, levels=SaveLevels, weights=HourWeights)


def _of(pattern: Pattern) -> dict[str, Traced]:
    if pattern.local_saves is None:
        raise ValueError("a two-level pattern names its local saves")
    return {"interval_h": pattern.interval_h, "local_saves": pattern.local_saves}
