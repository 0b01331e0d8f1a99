"""Sums that a plan is judged by: what was decided, times what each of it costs, emits or draws."""

from __future__ import annotations

import numpy as np

from planner.trace.columns import Column


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
