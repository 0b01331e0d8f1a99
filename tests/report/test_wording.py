"""Quantities in words: three digits, the largest unit that they reach, and a sign only where there is one."""

from __future__ import annotations

import pytest

from planner.trace.numbers import energy, mass, money, share_of


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        (0.0, "0 USD"),
        (-0.0, "0 USD"),  # nothing has no sign
        (0.5, "0.500 USD"),
        (12.3456, "12.3 USD"),
        (999.0, "999 USD"),
        (1000.0, "1.00 kUSD"),
        (-81_659.0, "-81.7 kUSD"),
        (2_345_678.0, "2.35 MUSD"),
        (1.2e9, "1.20 GUSD"),
        (4.5678e13, "45,678 GUSD"),  # there is no larger unit: every digit before the point
    ],
)
def test_money_has_three_digits(usd: float, said: str) -> None:
    assert money(usd) == said


def test_carbon_is_told_in_tonnes_of_a_thousand_kilograms() -> None:
    """1 t = 1,000 kg, 1 kt = 1,000 t."""
    assert [mass(kg) for kg in (2.0, 1921.7, 3e6)] == ["2.00 kgCO2e", "1.92 tCO2e", "3,000 tCO2e"]


def test_energy_is_told_in_powers_of_a_thousand() -> None:
    assert [energy(kwh) for kwh in (40.0, 4e4, 4e7)] == ["40.0 kWh", "40.0 MWh", "40.0 GWh"]


@pytest.mark.parametrize(
    ("part", "whole", "share"),
    [
        (1.0, 4.0, 0.25),
        (-1.0, 4.0, -0.25),
        (1.0, 0.0, None),
        (1.0, -4.0, None),
        (None, 4.0, None),
        (1.0, None, None),
    ],
)
def test_nothing_and_less_than_nothing_have_no_shares(
    part: float | None, whole: float | None, share: float | None
) -> None:
    """From -4 to -3 is one more, and neither +25 % nor -25 % says so."""
    assert share_of(part, whole) == share
