"""What hedging and knowing are worth, as plain equations on objectives in the futures of a scenario."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = float | NDArray[Any]


def expected_usd(*, each_usd: Column, probability_fraction: Column) -> Column:
    """Mean over futures.

    E = sum_f P_f z_f

    Source: definition of an expectation.
    """
    return float(np.sum(np.asarray(each_usd) * np.asarray(probability_fraction)))


def hedging_value_usd(*, mean_plan_usd: Column, hedged_usd: Column) -> Column:
    """Value of the stochastic solution: what planning for all futures saves over planning for their mean.

    VSS = EEV - RP

    Source: Birge, "The value of the stochastic solution", Math. Programming 24 (1982).
    """
    return mean_plan_usd - hedged_usd


def knowing_value_usd(*, hedged_usd: Column, known_usd: Column) -> Column:
    """Expected value of perfect information: what knowing the future before ordering would save.

    EVPI = RP - WS

    Source: Birge and Louveaux, "Introduction to Stochastic Programming" (2011), section 4.1.
    """
    return hedged_usd - known_usd
