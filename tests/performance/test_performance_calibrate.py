"""One measured point, carried to other sizes: the equations alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.performance.calibrate import (
    accelerator_share_kw,
    calibrated_efficiency_fraction,
    copied_gb_per_s,
    factors_without_each,
    joint_factor,
    power_ratio,
    square_product_tflop_per_s,
)
from planner.performance.power import host_at_load_kw, node_power_kw

MATRIX_S, REST_S = 6.0, 2.0
factors = st.lists(st.floats(0.1, 10.0), min_size=2, max_size=8)


def step_s(efficiency: float) -> float:
    """A step of which some seconds do not depend on the matrix units."""
    return REST_S + MATRIX_S / efficiency


@given(efficiency=st.floats(0.05, 1.0))
def test_the_efficiency_behind_a_step_is_found_again(efficiency):
    """Exact inverse: a step made at an efficiency gives that efficiency back."""
    found = calibrated_efficiency_fraction(
        step_s=step_s, measured_step_s=step_s(efficiency), least_fraction=0.01
    )

    assert found == pytest.approx(efficiency, rel=1e-9)


def test_the_efficiency_solves_the_closed_form():
    """By hand: 2 + 6/e = 14 s gives e = 1/2."""
    found = calibrated_efficiency_fraction(step_s=step_s, measured_step_s=14.0, least_fraction=0.01)

    assert found == pytest.approx(0.5, rel=1e-12)


def test_a_size_bound_by_its_network_gains_less():
    """A faster matrix unit shortens only its own: 26 to 14 s alone, 50 to 38 s beside 24 s of links."""
    found = calibrated_efficiency_fraction(step_s=step_s, measured_step_s=14.0, least_fraction=0.01)

    assert step_s(found) / step_s(0.25) == pytest.approx(14 / 26)
    assert (REST_S + 24.0 + MATRIX_S / found) / (REST_S + 24.0 + MATRIX_S / 0.25) == pytest.approx(38 / 50)


@pytest.mark.parametrize("measured_s", [7.9, 603.0])
def test_what_no_efficiency_explains_is_refused_with_the_bounds(measured_s):
    """At its peak the step takes 8 s, at a hundredth of it 602 s: nothing else can be measured."""
    with pytest.raises(ValueError, match=r"between 8 s .* and 602 s .* got"):
        calibrated_efficiency_fraction(step_s=step_s, measured_step_s=measured_s, least_fraction=0.01)


def test_a_step_without_matrices_cannot_be_calibrated():
    with pytest.raises(ValueError, match="does not depend on the efficiency"):
        calibrated_efficiency_fraction(step_s=lambda _: 3.0, measured_step_s=3.0, least_fraction=0.01)


@given(factors=factors)
def test_the_joint_factor_lies_between_its_parts_and_weighs_shares_alike(factors):
    """A mean: between least and largest; turning every factor over turns the mean over."""
    joint = joint_factor(factors=factors)

    assert min(factors) * (1 - 1e-12) <= joint <= max(factors) * (1 + 1e-12)
    assert joint_factor(factors=[1 / f for f in factors]) == pytest.approx(1 / joint)


@given(factors=factors)
def test_leaving_one_out_agrees_with_the_joint_factor(factors):
    """f^n = f_i * f_-i^(n-1) for every i: an identity of geometric means."""
    n, joint = len(factors), joint_factor(factors=factors)

    for own, without in zip(factors, factors_without_each(factors=factors), strict=True):
        assert own * without ** (n - 1) == pytest.approx(joint**n, rel=1e-9)


def test_one_measurement_cannot_be_left_out():
    with pytest.raises(ValueError, match="at least two"):
        factors_without_each(factors=[1.1])
    with pytest.raises(ValueError, match="at least one factor"):
        joint_factor(factors=[])


@given(
    accelerator_kw=st.floats(0.05, 2.0),
    host_idle_kw=st.floats(0.1, 3.0),
    fans_kw=st.floats(0.0, 2.0),
    accelerators=st.integers(1, 72),
)
def test_the_share_of_an_accelerator_is_the_node_power_solved_for_it(
    accelerator_kw, host_idle_kw, fans_kw, accelerators
):
    """Agreement with `node_power_kw`: there and back, below an idle accelerator and above the rating too."""
    ends = {"host_idle_kw": host_idle_kw, "host_kw": host_idle_kw + fans_kw, "idle_kw": 0.1, "tdp_kw": 1.0}
    host_kw = host_at_load_kw(accelerator_kw=accelerator_kw, **ends)
    node_kw = node_power_kw(host_kw=host_kw, accelerators=accelerators, accelerator_kw=accelerator_kw)

    share = accelerator_share_kw(node_kw=node_kw, accelerators=accelerators, **ends)

    assert share == pytest.approx(accelerator_kw, rel=1e-9)


def test_a_node_below_its_host_is_refused():
    with pytest.raises(ValueError, match="above what the host draws"):
        accelerator_share_kw(
            node_kw=1.5, host_idle_kw=1.57, host_kw=1.75, accelerators=8, idle_kw=0.07, tdp_kw=0.7
        )


def test_power_ratio_is_a_quotient_of_columns():
    """637 W where the law gives 595 W is 7.06 % above it."""
    got = power_ratio(measured_kw=np.array([0.637, 0.595]), modelled_kw=0.595)

    assert got == pytest.approx([1.0706, 1.0], rel=1e-4)


def test_matrix_rate_by_hand():
    """100 products of 8192 x 8192 in 0.15 s: 2 * 8192^3 * 100 / 0.15 = 733 TFLOP/s."""
    got = square_product_tflop_per_s(width=8192, repeats=100, elapsed_s=0.15)

    assert got == pytest.approx(733.008, rel=1e-5)


def test_copy_rate_counts_reading_and_writing():
    """10 copies of 1 GB in 7 ms move 20 GB: 2857 GB/s."""
    assert copied_gb_per_s(copied_gb=1.0, repeats=10, elapsed_s=0.007) == pytest.approx(2857.14, rel=1e-5)
