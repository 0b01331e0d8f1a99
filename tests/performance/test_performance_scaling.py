"""Power laws with a floor: known ones are found again, and their inverse says what a loss takes."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.scaling import (
    NotFitted,
    fit_power_law,
    log_size_error,
    size_for_loss,
    student_quantile,
    tokens_of_compute,
)

SIZES = np.geomspace(1e9, 3e11, 9)


def losses(scale: float = 1.02, exponent: float = 0.25, floor: float = 1.8) -> np.ndarray:
    return scale * (SIZES / 1e10) ** -exponent + floor


@pytest.mark.parametrize(("exponent", "floor"), [(0.25, 1.8), (0.05, 0.0), (0.7, 0.4), (0.1, 0.9)])
def test_a_known_curve_is_found_again(exponent: float, floor: float) -> None:
    """Within 2 % of exponent, floor and of the size at a loss beyond the largest run."""
    law = fit_power_law(sizes=SIZES, losses=losses(exponent=exponent, floor=floor))
    target = 1.02 * 100.0**-exponent + floor  # at 1e12

    assert law.exponent == pytest.approx(exponent, rel=0.02)
    assert law.floor == pytest.approx(floor, rel=0.02, abs=1e-3)
    found = size_for_loss(
        target_loss=target,
        scale_loss=law.scale,
        exponent=law.exponent,
        floor_loss=law.floor,
        reference=law.reference,
    )
    assert found == pytest.approx(1e12, rel=0.02)


@pytest.mark.slow
def test_the_range_holds_the_truth_as_often_as_it_says() -> None:
    """Of 40 noisy curves 90 % of the ranges of the size at a loss hold the true one, within 10 points."""
    random, held, target = np.random.default_rng(3), 0, 1.02 * 30.0**-0.25 + 1.8
    multiple = student_quantile(runs=len(SIZES), share_fraction=0.9)
    for _ in range(40):
        law = fit_power_law(sizes=SIZES, losses=losses() * (1.0 + random.normal(0.0, 0.001, len(SIZES))))
        size = size_for_loss(
            target_loss=target,
            scale_loss=law.scale,
            exponent=law.exponent,
            floor_loss=law.floor,
            reference=law.reference,
        )
        held += abs(np.log(size / 3e11)) < multiple * log_size_error(law=law, target_loss=target)

    assert held / 40 == pytest.approx(0.9, abs=0.1)


def test_no_size_reaches_the_floor() -> None:
    law = {"scale_loss": 1.0, "exponent": 0.3, "floor_loss": 1.8, "reference": 1e10}

    assert np.isinf(size_for_loss(target_loss=1.8, **law))
    assert np.isinf(size_for_loss(target_loss=1.5, **law))
    assert size_for_loss(target_loss=2.8, **law) == pytest.approx(1e10)


def test_what_is_no_scaling_is_refused() -> None:
    with pytest.raises(NotFitted, match="4 runs of different size are needed, and there are 3"):
        fit_power_law(sizes=SIZES[:3], losses=losses()[:3])
    with pytest.raises(NotFitted, match="do not fall"):
        fit_power_law(sizes=SIZES, losses=losses()[::-1])


def test_compute_is_six_operations_a_weight_and_token() -> None:
    """Chinchilla: 70 B parameters on 1.4 T tokens take 5.76e23 FLOP (Hoffmann et al., 2203.15556)."""
    assert tokens_of_compute(flop=5.76e23, parameters=70e9) == pytest.approx(1.4e12, rel=0.03)
