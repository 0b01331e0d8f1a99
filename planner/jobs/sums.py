"""Sums over the phases of a job; a phase that the job does not state is not in them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Column = float | NDArray[Any]


def phases_kgco2e(
    *,
    data_kgco2e: Column = 0.0,
    experimentation_kgco2e: Column = 0.0,
    training_kgco2e: Column = 0.0,
    fine_tuning_kgco2e: Column = 0.0,
    federated_kgco2e: Column = 0.0,
    inference_kgco2e: Column = 0.0,
    storage_kgco2e: Column = 0.0,
    network_kgco2e: Column = 0.0,
    building_kgco2e: Column = 0.0,
    end_of_life_kgco2e: Column = 0.0,
) -> Column:
    """Carbon of all phases of a job.

    C = sum_p C_p

    A phase that the job does not state is not in it.

    Source: sum of parts.
    """
    runs = data_kgco2e + experimentation_kgco2e + training_kgco2e + fine_tuning_kgco2e
    work = runs + federated_kgco2e + inference_kgco2e
    return work + storage_kgco2e + network_kgco2e + building_kgco2e + end_of_life_kgco2e


def phases_kwh(
    *,
    data_kwh: Column = 0.0,
    experimentation_kwh: Column = 0.0,
    training_kwh: Column = 0.0,
    fine_tuning_kwh: Column = 0.0,
    federated_kwh: Column = 0.0,
    inference_kwh: Column = 0.0,
    storage_kwh: Column = 0.0,
    network_kwh: Column = 0.0,
) -> Column:
    """Energy of all phases of a job.

    E = sum_p E_p

    Source: sum of parts.
    """
    runs = data_kwh + experimentation_kwh + training_kwh + fine_tuning_kwh
    work = runs + federated_kwh + inference_kwh
    return work + storage_kwh + network_kwh


def phases_h(
    *,
    data_h: Column = 0.0,
    experimentation_h: Column = 0.0,
    training_h: Column = 0.0,
    fine_tuning_h: Column = 0.0,
    inference_h: Column = 0.0,
) -> Column:
    """Hours of all phases of a job.

    t = sum_p t_p

    Source: sum of parts.
    """
    return data_h + experimentation_h + training_h + fine_tuning_h + inference_h


def both_l(*, onsite_l: Column, offsite_l: Column) -> Column:
    """Water on site and at the power stations.

    W = W_on + W_off

    Source: sum of parts.
    """
    return onsite_l + offsite_l
