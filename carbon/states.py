"""Carbon of a job by what its hours were for: useful, repeated, stalled, waiting."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from carbon import _domain
from carbon._sums import exact_sum
from carbon.columns import Column
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh

Entry = Any  # a number or a column; a traced one while a question is put together


@dataclass(frozen=True, slots=True)
class WorkCarbon:
    """Carbon of a job by state of its hours; the parts are disjoint."""

    useful_kgco2e: Column
    lost_kgco2e: Column
    checkpoint_kgco2e: Column
    restart_kgco2e: Column
    idle_kgco2e: Column

    @property
    def total_kgco2e(self) -> Column:
        """Sum of the parts."""
        return exact_sum((self.useful_kgco2e, self.failed_kgco2e, self.checkpoint_kgco2e, self.idle_kgco2e))

    @property
    def failed_kgco2e(self) -> Column:
        """What failures cost: work done again and the way back to it. Checkpoints are what limits it."""
        return self.lost_kgco2e + self.restart_kgco2e


def state_kgco2e(
    *,
    state_it_kwh: Column,
    pue: Column,
    grid_kgco2e_per_kwh: Column,
    embodied_kgco2e: Column,
    state_h: Column,
    held_h: Column,
) -> Column:
    """Carbon of the hours that a job spent in one state.

    C_s = E_s * PUE * CI + M * t_s / t

    Electricity goes by the energy of the state, embodied carbon by its hours: a stalled node draws little
    and is held all the same. M is what the job carries for all its hours t.

    Source: Gupta et al., "ACT", ISCA 2022, over the hours of a state.
    """
    _domain.nonnegative(state_it_kwh=state_it_kwh, embodied_kgco2e=embodied_kgco2e, state_h=state_h)
    _domain.positive(held_h=held_h)
    energy = facility_energy_kwh(it_energy_kwh=state_it_kwh, pue=pue)
    running = operational_kgco2e(facility_energy_kwh=energy, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)
    return running + embodied_kgco2e * state_h / held_h


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkHours:
    """Hours of a job by what they were for."""

    useful_h: Entry
    lost_h: Entry
    checkpoint_h: Entry
    restart_h: Entry
    idle_h: Entry


def work_carbon(
    *,
    useful_it_kwh: Column,
    lost_it_kwh: Column,
    checkpoint_it_kwh: Column,
    restart_it_kwh: Column,
    idle_it_kwh: Column,
    hours: WorkHours,
    pue: Column,
    grid_kgco2e_per_kwh: Column,
    embodied_kgco2e: Column,
) -> WorkCarbon:
    """Carbon of a job by state of its hours.

    C_s = E_s * PUE * CI + M * t_s / sum(t_s)

    Energies are of the IT equipment of all nodes, hours of the job. The parts sum to the job's footprint.

    Source: as `state_kgco2e`; hours by state from the failure and checkpoint model.
    """
    by_state = asdict(hours)
    _domain.nonnegative(
        useful_it_kwh=useful_it_kwh,
        lost_it_kwh=lost_it_kwh,
        checkpoint_it_kwh=checkpoint_it_kwh,
        restart_it_kwh=restart_it_kwh,
        idle_it_kwh=idle_it_kwh,
        **by_state,
    )
    held = exact_sum(by_state.values())

    def state(it_kwh: Column, hours_h: Column) -> Column:
        return state_kgco2e(
            state_it_kwh=it_kwh,
            pue=pue,
            grid_kgco2e_per_kwh=grid_kgco2e_per_kwh,
            embodied_kgco2e=embodied_kgco2e,
            state_h=hours_h,
            held_h=held,
        )

    return WorkCarbon(
        useful_kgco2e=state(useful_it_kwh, hours.useful_h),
        lost_kgco2e=state(lost_it_kwh, hours.lost_h),
        checkpoint_kgco2e=state(checkpoint_it_kwh, hours.checkpoint_h),
        restart_kgco2e=state(restart_it_kwh, hours.restart_h),
        idle_kgco2e=state(idle_it_kwh, hours.idle_h),
    )
