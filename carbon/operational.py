"""Operational carbon: power, time, energy, facility overhead, grid, water.

PUE enters once, in `facility_energy_kwh`; everything before it is energy of the IT equipment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def power_kw(*, idle_kw: Column, max_kw: Column, utilisation_fraction: Column) -> Column:
    """Power of a machine, linear in its utilisation.

    P = P_idle + u * (P_max - P_idle)

    Source: Cloud Carbon Footprint methodology, after Etsy, "Cloud Jewels", 2020.
    """
    _check_power_range(idle_kw, max_kw, utilisation_fraction)
    return idle_kw + utilisation_fraction * (max_kw - idle_kw)


def curved_power_kw(
    *, idle_kw: Column, max_kw: Column, utilisation_fraction: Column, curve_exponent: Column
) -> Column:
    """Power of a machine whose first work costs more than its last.

    P = P_idle + (P_max - P_idle) * (2 * u - u^r)

    Fitted on whole CPU servers (r = 1.4); r = 1 is the straight line.

    Source: Fan, Weber and Barroso, "Power Provisioning for a Warehouse-sized Computer", ISCA 2007.
    """
    _check_power_range(idle_kw, max_kw, utilisation_fraction)
    _domain.at_least(1.0, curve_exponent=curve_exponent)
    curve = 2 * utilisation_fraction - np.power(utilisation_fraction, curve_exponent)
    return idle_kw + (max_kw - idle_kw) * curve


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


def facility_energy_kwh(*, it_energy_kwh: Column, pue: Column) -> Column:
    """Energy at the meter of the facility.

    E_facility = E_IT * PUE

    The one place where PUE enters. A yearly PUE hides that cooling costs more in summer.

    Source: ISO/IEC 30134-2 (power usage effectiveness).
    """
    _domain.nonnegative(it_energy_kwh=it_energy_kwh)
    _domain.at_least(1.0, pue=pue)
    return it_energy_kwh * pue


def operational_kgco2e(*, facility_energy_kwh: Column, grid_kgco2e_per_kwh: Column) -> Column:
    """Carbon of the electricity that a facility draws.

    C_op = E_facility * CI

    What the grid factor includes (average or marginal, direct or life-cycle) the result includes too.

    Source: Gupta et al., "ACT", ISCA 2022; GHG Protocol Scope 2 Guidance (2015).
    """
    _domain.nonnegative(facility_energy_kwh=facility_energy_kwh, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)
    return facility_energy_kwh * grid_kgco2e_per_kwh


def onsite_water_l(*, it_energy_kwh: Column, onsite_l_per_kwh: Column) -> Column:
    """Water that the site's cooling evaporates.

    W_on = E_IT * WUE

    WUE is defined on IT energy: PUE must not multiply it.

    Source: ISO/IEC 30134-9 (water usage effectiveness).
    """
    _domain.nonnegative(it_energy_kwh=it_energy_kwh, onsite_l_per_kwh=onsite_l_per_kwh)
    return it_energy_kwh * onsite_l_per_kwh


def offsite_water_l(*, facility_energy_kwh: Column, offsite_l_per_kwh: Column) -> Column:
    """Water that power stations consume to make the electricity.

    W_off = E_facility * EWIF

    Source: Li et al., "Making AI Less Thirsty", arXiv 2304.03271.
    """
    _domain.nonnegative(facility_energy_kwh=facility_energy_kwh, offsite_l_per_kwh=offsite_l_per_kwh)
    return facility_energy_kwh * offsite_l_per_kwh


def water_l(
    *, it_energy_kwh: Column, pue: Column, onsite_l_per_kwh: Column, offsite_l_per_kwh: Column
) -> Column:
    """Water on site and at the power stations.

    W = E_IT * (WUE + PUE * EWIF)

    Water to make the hardware is left out. Some papers write E_IT * PUE * (WUE + EWIF), which agrees only
    where cooling is dry (WUE = 0).

    Source: Li et al., "Making AI Less Thirsty", arXiv 2304.03271.
    """
    facility = facility_energy_kwh(it_energy_kwh=it_energy_kwh, pue=pue)
    onsite = onsite_water_l(it_energy_kwh=it_energy_kwh, onsite_l_per_kwh=onsite_l_per_kwh)
    return onsite + offsite_water_l(facility_energy_kwh=facility, offsite_l_per_kwh=offsite_l_per_kwh)


def training_flops(*, active_parameters: Column, tokens: Column, flops_per_parameter_token: Column) -> Column:
    """Operations to train a transformer.

    FLOPs = k * N * D,  k = 6: two forward, four backward

    Attention over the sequence and recomputation are left out. Of a mixture of experts, only the active
    parameters count.

    Source: Kaplan et al., "Scaling Laws for Neural Language Models", arXiv 2001.08361, section 2.1.
    """
    _domain.nonnegative(
        active_parameters=active_parameters,
        tokens=tokens,
        flops_per_parameter_token=flops_per_parameter_token,
    )
    return flops_per_parameter_token * active_parameters * tokens


def training_device_h(
    *,
    flops: Column,
    peak_tflop_per_s: Column,
    efficiency_fraction: Column,
    effective_time_fraction: Column,
) -> Column:
    """Device-hours that a number of operations takes.

    t * n = FLOPs / (peak * MFU * ETTR)

    The effective time charges work lost to failures and checkpoints to the job.

    Source: Faiz et al., "LLMCarbon", ICLR 2024 (without the effective time); Llama Team, arXiv 2407.21783.
    """
    _domain.nonnegative(flops=flops)
    _domain.positive(peak_tflop_per_s=peak_tflop_per_s)
    _domain.share_above_zero(
        efficiency_fraction=efficiency_fraction, effective_time_fraction=effective_time_fraction
    )
    flops_per_s = peak_tflop_per_s * 1e12 * efficiency_fraction * effective_time_fraction
    return flops / flops_per_s / 3600


def _check_power_range(idle_kw: Column, max_kw: Column, utilisation_fraction: Column) -> None:
    _domain.nonnegative(idle_kw=idle_kw, max_kw=max_kw)
    _domain.share(utilisation_fraction=utilisation_fraction)
    if np.any(np.less(max_kw, idle_kw)):
        raise ValueError(f"max_kw is at least idle_kw, got max {max_kw} and idle {idle_kw}")
