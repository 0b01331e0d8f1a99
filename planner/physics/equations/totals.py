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
    *,
    bought_usd: Column,
    standing_usd: Column,
    training_usd: Column,
    serving_usd: Column,
    pools_usd: Column,
    idle_usd: Column,
    left_out_usd: Column,
    ordered_usd: Column = 0.0,
    retired_usd: Column = 0.0,
    moved_usd: Column = 0.0,
    pausable_usd: Column = 0.0,
    rental_usd: Column = 0.0,
    parked_usd: Column = 0.0,
    unmet_usd: Column = 0.0,
    contract_usd: Column = 0.0,
) -> Column:
    """Money of the plan within its horizon: capital annualised, or counted in full when ordered.

    M = bought + standing + training + serving + pools + idle + left out (+ ordered + retired + moved)
        (+ pausable jobs + rent + parked + unmet + premium of clean energy)

    What was paid for standing nodes before the horizon is sunk and not in it.

    Source: sum of terms.
    """
    owned_usd = bought_usd + standing_usd + ordered_usd + retired_usd + moved_usd
    flexible_usd = pausable_usd + rental_usd + parked_usd + unmet_usd + contract_usd
    return owned_usd + training_usd + serving_usd + pools_usd + idle_usd + left_out_usd + flexible_usd


def plan_kgco2e(
    *,
    bought_kgco2e: Column,
    standing_kgco2e: Column,
    training_kgco2e: Column,
    serving_kgco2e: Column,
    pools_kgco2e: Column,
    idle_kgco2e: Column,
    moved_kgco2e: Column = 0.0,
    pausable_kgco2e: Column = 0.0,
    rental_kgco2e: Column = 0.0,
    parked_kgco2e: Column = 0.0,
    contract_kgco2e: Column = 0.0,
) -> Column:
    """Carbon of the plan within its horizon, by the accounting of its policy.

    C = bought + standing + training + serving + pools + idle
        (+ moved + pausable jobs + making of rented nodes + parked + clean energy under contract, below 0)

    The making of standing nodes is sunk and not in it; it is shown separately.

    Source: sum of terms.
    """
    owned_kgco2e = bought_kgco2e + standing_kgco2e + moved_kgco2e
    flexible_kgco2e = pausable_kgco2e + rental_kgco2e + parked_kgco2e + contract_kgco2e
    return owned_kgco2e + training_kgco2e + serving_kgco2e + pools_kgco2e + idle_kgco2e + flexible_kgco2e


def plan_kwh(
    *,
    training_kwh: Column,
    serving_kwh: Column,
    pools_kwh: Column,
    idle_kwh: Column,
    pausable_kwh: Column = 0.0,
    parked_kwh: Column = 0.0,
) -> Column:
    """Energy at the meters of all sites, rented nodes included; by site and period where its terms are.

    E = training + serving + pools + idle (+ pausable jobs + parked)

    Source: sum of terms.
    """
    return training_kwh + serving_kwh + pools_kwh + idle_kwh + pausable_kwh + parked_kwh


def weighted_usd(
    *, plan_usd: Column, plan_kgco2e: Column, money_weight_ratio: Column, carbon_weight_usd_per_kgco2e: Column
) -> Column:
    """What the program made as small as it could.

    Z = w_M M + w_C C

    Source: weighted sum of objectives; with w_M = 1, w_C is a carbon price.
    """
    return money_weight_ratio * plan_usd + carbon_weight_usd_per_kgco2e * plan_kgco2e


def weighted_kgco2e(
    *, plan_usd: Column, plan_kgco2e: Column, money_weight_kgco2e_per_usd: Column, carbon_weight_ratio: Column
) -> Column:
    """What the program made as small as it could where it counts carbon, by the accounting of its policy.

    Z = w_M M + w_C C

    A small w_M chooses the cheapest among plans of equal carbon.

    Source: weighted sum of objectives.
    """
    return money_weight_kgco2e_per_usd * plan_usd + carbon_weight_ratio * plan_kgco2e
