"""Packages of several dies and stacks of memory: bonding losses, and HBM against two published rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.embodied import (
    bonded_yield_fraction,
    die_kgco2e,
    interposer_kgco2e,
    memory_stack_kgco2e,
    multi_die_package_kgco2e,
)
from carbon.yields import murphy_yield_fraction
from planner.inputs.catalogue import load_catalogue

FIVE_NM = {
    "fab_kwh_per_cm2": 2.75,
    "fab_kgco2e_per_kwh": 0.583,
    "gas_kgco2e_per_cm2": 0.3275,
    "material_kgco2e_per_cm2": 0.5,
}


def test_bonds_multiply():
    """ECO-CHIP (HPCA 2024) takes 0.99 a die: eight bonds leave 0.9227, none leave all."""
    got = bonded_yield_fraction(bonds=np.array([0.0, 1.0, 8.0]), bond_yield_fraction=0.99)

    assert got == pytest.approx([1.0, 0.99, 0.922745], abs=1e-6)


def test_a_lost_package_loses_everything_in_it():
    """40 kg of dies, 5 of interposer and 2 of substrate over 0.99^10 = 0.9044: 51.97 kg."""
    got = multi_die_package_kgco2e(
        dies_kgco2e=40.0, interposer_kgco2e=5.0, substrate_kgco2e=2.0, bonds=10, bond_yield_fraction=0.99
    )

    assert got == pytest.approx(47.0 / 0.904382, rel=1e-6)


def test_a_full_interposer_is_charged_by_the_dies_on_it():
    """12 cm2 of dies on 1.1 times as much silicon at 0.7 kg/cm2, nine of ten good: 10.27 kg."""
    got = interposer_kgco2e(dies_cm2=12.0, area_ratio=1.1, interposer_kgco2e_per_cm2=0.7, yield_fraction=0.9)

    assert got == pytest.approx(10.2667, abs=1e-4)


def test_chiplets_pay_below_a_size_and_cost_above_it():
    """Two dies of 4 cm2 beat one of 8 cm2 at 0.2 defects/cm2; two of 0.25 cm2 lose to one of 0.5 cm2.

    The trade-off of ECO-CHIP: yield gained against bonds that fail and an interposer that is added.
    """

    def package(dies, area_cm2):
        good = murphy_yield_fraction(area_cm2=area_cm2, defects_per_cm2=0.2)
        interposer = (
            interposer_kgco2e(
                dies_cm2=dies * area_cm2, area_ratio=1.1, interposer_kgco2e_per_cm2=0.7, yield_fraction=0.95
            )
            if dies > 1
            else 0.0
        )
        return multi_die_package_kgco2e(
            dies_kgco2e=dies * die_kgco2e(area_cm2=area_cm2, yield_fraction=good, **FIVE_NM),
            interposer_kgco2e=interposer,
            substrate_kgco2e=1.0,
            bonds=dies,
            bond_yield_fraction=0.99,
        )

    assert package(2, 4.0) < 0.8 * package(1, 8.0)
    assert package(2, 0.25) > package(1, 0.5)


def test_a_stack_of_memory_holds_the_published_rates():
    """Layer by layer, a route that shares nothing with the published rates of HBM3 and HBM2e.

    At the catalogue's values a stack has 1.68 kg/GB, with each at its better end 0.42. NVIDIA's HGX H100
    summary gives 0.853 and Li et al. (HotCarbon 2024) 0.9, both inside; ACT's 0.065 for planar memory is not.
    """
    fact = load_catalogue().fact
    layers, area, rate, good, base, bond, capacity = (
        fact(key)
        for key in (
            "storage.hbm.layers",
            "storage.hbm.layer_area",
            "storage.dram.die",
            "storage.hbm.layer_yield",
            "storage.hbm.base",
            "package.bond_yield",
            "storage.hbm.layer_capacity",
        )
    )

    def each_gb(low, high):
        stack = memory_stack_kgco2e(
            layers=layers.value,
            layer_cm2=getattr(area, low),
            layer_kgco2e_per_cm2=getattr(rate, low),
            yield_fraction=getattr(good, high),
            base_kgco2e=getattr(base, low),
            bond_yield_fraction=getattr(bond, high),
        )
        return stack / (layers.value * getattr(capacity, high))

    best, middle = each_gb("low", "high"), each_gb("value", "value")
    assert (best, middle) == pytest.approx((0.42, 1.68), abs=0.01)
    assert 0.065 < best < 0.853 < 0.9 < middle


@given(layers=st.integers(1, 16), bond=st.floats(0.9, 1.0))
def test_higher_stacks_cost_more_for_each_layer(layers, bond):
    """Each added bond puts all the layers below it at risk."""
    rate = {"layer_cm2": 1.1, "layer_kgco2e_per_cm2": 1.2, "yield_fraction": 0.9, "base_kgco2e": 0.0}

    def each(count):
        return memory_stack_kgco2e(layers=count, bond_yield_fraction=bond, **rate) / count

    assert each(layers + 1) == pytest.approx(each(layers) / bond)
