"""Sums that a plan is judged by: what was decided, times what each of it costs, emits or draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[Any]


def weighted_total_usd(*, each_usd: Column, counts: Column) -> float:
    """Money of one kind of decision.

    M = sum_i n_i m_i

    Source: plain sum over the plan's decisions.
    """
    return float(np.sum(np.asarray(each_usd) * counts))


def weighted_total_kgco2e(*, each_kgco2e: Column, counts: Column) -> float:
    """Carbon of one kind of decision.

    C = sum_i n_i c_i

    Source: plain sum over the plan's decisions.
    """
    return float(np.sum(np.asarray(each_kgco2e) * counts))


def weighted_total_kwh(*, each_kwh: Column, counts: Column) -> float:
    """Energy at the meter of one kind of decision.

    E = sum_i n_i e_i

    Source: plain sum over the plan's decisions.
    """
    return float(np.sum(np.asarray(each_kwh) * counts))


def plan_usd(
    *, bought_usd: Column, standing_usd: Column, training_usd: Column, serving_usd: Column, pools_usd: Column,
    idle_usd: Column, left_out_usd: Column,
) -> Column:  # fmt: skip
    """Money of the plan within its horizon, capital annualised.

    M = bought + standing + training + serving + pools + idle + left out

    What was paid for standing nodes before the horizon is sunk and not in it.

    Source: sum of terms.
    """
    return bought_usd + standing_usd + training_usd + serving_usd + pools_usd + idle_usd + left_out_usd


def plan_kgco2e(
    *, bought_kgco2e: Column, standing_kgco2e: Column, training_kgco2e: Column, serving_kgco2e: Column,
    pools_kgco2e: Column, idle_kgco2e: Column,
) -> Column:  # fmt: skip
    """Carbon of the plan within its horizon, location-based.

    C = bought + standing + training + serving + pools + idle

    The making of standing nodes is sunk and not in it; it is shown beside.

    Source: sum of terms.
    """
    return bought_kgco2e + standing_kgco2e + training_kgco2e + serving_kgco2e + pools_kgco2e + idle_kgco2e


def plan_kwh(*, training_kwh: Column, serving_kwh: Column, pools_kwh: Column, idle_kwh: Column) -> Column:
    """Energy at the meters of all sites.

    E = training + serving + pools + idle

    Source: sum of terms.
    """
    return training_kwh + serving_kwh + pools_kwh + idle_kwh


def weighted_usd(
    *, plan_usd: Column, plan_kgco2e: Column, money_weight_ratio: Column, carbon_weight_usd_per_kgco2e: Column
) -> Column:
    """What the program made as small as it could.

    Z = w_M M + w_C C

    Source: weighted sum of objectives; with w_M = 1, w_C is a carbon price.
    """
    return money_weight_ratio * plan_usd + carbon_weight_usd_per_kgco2e * plan_kgco2e
