"""Energy of a job or a service by what its nodes were doing, at their plugs: PUE is not in it."""

from __future__ import annotations

from dataclasses import dataclass

from carbon import _domain
from carbon.columns import Column


def energy_kwh(*, power_kw: Column, duration_h: Column) -> Column:
    """Energy of a constant power over a time.

    E = P * t

    Source: definition.
    """
    _domain.nonnegative(power_kw=power_kw, duration_h=duration_h)
    return power_kw * duration_h


@dataclass(frozen=True, slots=True)
class JobEnergy:
    """IT energy of a job by what its nodes were doing; the parts are disjoint."""

    useful_kwh: Column
    lost_kwh: Column
    checkpoint_kwh: Column
    restart_kwh: Column
    idle_kwh: Column

    @property
    def total_kwh(self) -> Column:
        """Sum of the parts."""
        return self.useful_kwh + self.lost_kwh + self.checkpoint_kwh + self.restart_kwh + self.idle_kwh


def job_energy_parts(
    *,
    nodes: Column,
    useful_h: Column,
    lost_h: Column,
    checkpoint_h: Column,
    restart_h: Column,
    idle_h: Column,
    training_kw: Column,
    checkpoint_kw: Column,
    restart_kw: Column,
    idle_kw: Column,
) -> JobEnergy:
    """IT energy of a job by state: hours in each state at the power of that state.

    E_s = n * t_s * P_s,  with P_useful = P_lost = P_training

    Lost work was done at training power; a checkpoint stall is near idle. Powers are of one node. PUE is
    not applied.

    Source: energy by state; Groeneveld et al., "OLMo", arXiv 2402.00838, on power during checkpoints.
    """
    _domain.nonnegative(
        nodes=nodes,
        useful_h=useful_h,
        lost_h=lost_h,
        checkpoint_h=checkpoint_h,
        restart_h=restart_h,
        idle_h=idle_h,
        training_kw=training_kw,
        checkpoint_kw=checkpoint_kw,
        restart_kw=restart_kw,
        idle_kw=idle_kw,
    )
    return JobEnergy(
        useful_kwh=nodes * useful_h * training_kw,
        lost_kwh=nodes * lost_h * training_kw,
        checkpoint_kwh=nodes * checkpoint_h * checkpoint_kw,
        restart_kwh=nodes * restart_h * restart_kw,
        idle_kwh=nodes * idle_h * idle_kw,
    )


def job_energy_kwh(
    *,
    nodes: Column,
    useful_h: Column,
    lost_h: Column,
    checkpoint_h: Column,
    restart_h: Column,
    idle_h: Column,
    training_kw: Column,
    checkpoint_kw: Column,
    restart_kw: Column,
    idle_kw: Column,
) -> Column:
    """IT energy of a job over all its states.

    E = n * ((t_useful + t_lost) * P_train + t_ckpt * P_ckpt + t_restart * P_restart + t_idle * P_idle)

    PUE is not applied.

    Source: as `job_energy_parts`.
    """
    return job_energy_parts(
        nodes=nodes,
        useful_h=useful_h,
        lost_h=lost_h,
        checkpoint_h=checkpoint_h,
        restart_h=restart_h,
        idle_h=idle_h,
        training_kw=training_kw,
        checkpoint_kw=checkpoint_kw,
        restart_kw=restart_kw,
        idle_kw=idle_kw,
    ).total_kwh
