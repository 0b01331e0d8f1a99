"""Techniques that a pool may adopt: which, from when on, how much less they take, people's time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool
from planner.inputs.techniques import ENERGY, RUNS, technique_named
from planner.physics.techniques import effect_ratio, in_scope
from planner.physics.ways import people_h, sets_together, usable_h
from planner.trace.quantities import Traced, chosen, pick

# Less work in all, and steps of training that take less time.
LESS_WORK = ("tokens", "samples")
FASTER_STEPS = tuple(handle for handle in RUNS if handle not in LESS_WORK)


@dataclass(frozen=True)
class PoolTechniques:
    """Techniques that pools may adopt within the horizon, a row for each of a pool (A)."""

    pool: NDArray[np.intp]
    name: tuple[str, ...]
    usable_h: NDArray[np.float64]  # hours from the start of the horizon until it is in use
    usable_fraction: NDArray[np.float64]  # share of each period in which it is (A, T)
    adopted_usd: Traced | None  # people's time, once (A,); None without any

    @property
    def first(self) -> NDArray[np.intp]:
        """The period in which each is first in use, and paid."""
        found: NDArray[np.intp] = np.argmax(self.usable_fraction > 0, axis=1)
        return found

    def sets_of(self, pool: int) -> Iterator[tuple[int, ...]]:
        """Rows that a pool may use together, none of them first."""
        own = {self.name[a]: a for a in np.flatnonzero(self.pool == pool).tolist()}
        for names in sets_together(tuple(own)):
            yield tuple(own[name] for name in names)


def pool_techniques(inputs: Inputs) -> PoolTechniques:
    """Every technique that some pool may adopt before the horizon ends."""
    begin, end = (np.asarray(one.value)[0] for one in (inputs.period_start_h, inputs.period_end_h))
    rows = [
        (w, name)
        for w, pool in enumerate(inputs.scenario.pools)
        for name in _named(inputs, pool)
        if usable_h(inputs, name) < end[-1]
    ]
    first = np.array([usable_h(inputs, name) for _, name in rows])
    usd: list[Traced] = []
    if rows:
        hour = inputs.fact("planning.person_hour")
        usd = [(people_h(inputs, (name,)) * hour).named("adopted_usd") for _, name in rows]
    left = end - np.maximum(begin, first[:, None])
    return PoolTechniques(
        pool=np.array([w for w, _ in rows], dtype=np.intp),
        name=tuple(name for _, name in rows),
        usable_h=first,
        usable_fraction=np.clip(left / (end - begin), 0.0, 1.0),
        adopted_usd=pick(usd, np.arange(len(usd))) if usd else None,
    )


def phases_of(pool: Pool) -> tuple[str, ...]:
    """Phases of a job that the work of a pool is of: answers alone, training, or both."""
    trains = ("experimentation", "fine_tuning")
    if pool.answers:
        return ("inference",)
    return (*trains, "inference") if pool.rolls_out else trains


def applies(inputs: Inputs, pool: Pool, names: tuple[str, ...], sku: int) -> bool:
    """Whether each technique is in scope of some phase of a pool on a SKU."""
    here = {one for phase in phases_of(pool) for one in in_scope(inputs, names, phase, pool.model, sku)}
    return here == set(names)


def pool_ratio(inputs: Inputs, names: tuple[str, ...], handles: Iterable[str]) -> Traced:
    """How many times less of some handles a set takes."""
    found = effect_ratio(inputs, names, handles)
    return chosen("reduction_ratio", 1.0, "no technique") if found is None else found


def energy_ratio(inputs: Inputs, names: tuple[str, ...]) -> Traced | None:
    """How many times less a set draws above idle; None where it changes nothing of that."""
    return effect_ratio(inputs, names, (ENERGY,))


def _named(inputs: Inputs, pool: Pool) -> tuple[str, ...]:
    """Techniques that a pool may use: its own and those of the policy, of those that change its work."""
    named = dict.fromkeys((*pool.techniques, *inputs.scenario.policy.techniques))
    return tuple(
        name
        for name in named
        if not all(
            technique_named(name).idle_in(inputs.catalogue, phase, pool.model, pools=True)
            for phase in phases_of(pool)
        )
    )
