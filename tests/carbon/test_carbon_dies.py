"""Dies by two routes, with the wafer's edge: against ACT's tables, imec's rates and the wafer's balance."""

import math

import pytest

from carbon.embodied import (
    processed_kgco2e_per_cm2,
    silicon_kgco2e_per_cm2,
)

WAFER_CM2 = math.pi * 15.0**2
FIVE_NM = {"fab_kwh_per_cm2": 2.75, "gas_kgco2e_per_cm2": 0.3275, "material_kgco2e_per_cm2": 0.5}


def test_good_area_is_processed_area_over_yield():
    """ACT's 5 nm on Taiwan's grid: 2.431 kg for a processed cm2, 2.778 for a good one at yield 0.875."""
    processed = processed_kgco2e_per_cm2(fab_kgco2e_per_kwh=0.583, **FIVE_NM)

    assert processed == pytest.approx(2.4308, abs=1e-4)
    assert silicon_kgco2e_per_cm2(fab_kgco2e_per_kwh=0.583, yield_fraction=0.875, **FIVE_NM) == pytest.approx(
        2.778, abs=6e-4
    )
