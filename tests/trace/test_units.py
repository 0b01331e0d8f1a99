"""Names end in their unit, and text becomes a number in that unit or a clear message."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.trace.units import (
    CANONICAL_UNITS,
    EVERYDAY_UNITS,
    UnitError,
    canonical,
    convert_factor,
    everyday,
    parse_quantity,
    unit_of,
)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("power_kw", "kW"),
        ("facility_energy_kwh", "kWh"),
        ("grid_kgco2e_per_kwh", "kgCO2e/kWh"),
        ("link_gb_per_s_per_gpu", "GB/s"),
        ("failure_rate_per_node_h", "1/h"),
        ("tokens_per_s", "1/s"),
        ("carbon_price_usd_per_kgco2e", "USD/kgCO2e"),
        ("space_usd_per_kw_h", "USD/kW/h"),
        ("yield_fraction", "1"),
        ("pue", "1"),
        ("nodes", "1"),
        ("layers", "1"),
    ],
)
def test_a_name_says_its_unit(name, unit):
    assert unit_of(name) == unit


def test_a_denominator_that_is_no_unit_is_refused():
    with pytest.raises(UnitError, match="'cost_usd_per_banana' says 'per banana'"):
        unit_of("cost_usd_per_banana")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("2 MW", "kW", 2000),
        ("30 min", "h", 0.5),
        ("1.8 GB/s", "GB/s", 1.8),
        ("14.4 Gbit/s", "GB/s", 1.8),
        ("250 kUSD", "USD", 250e3),
        ("62 USD/MWh", "USD/kWh", 0.062),
        ("150 USD/t", "USD/kgCO2e", 0.15),
        ("120 g/kWh", "kgCO2e/kWh", 0.12),
        ("429.983 lb/MWh", "kgCO2e/kWh", 0.195037),  # EPA eGRID2023 rev 2 prints CAMX in both units
        ("8 %", "1", 0.08),
        ("30 %/year", "1/y", 0.3),  # a year under a stroke is no date
        ("5.5 d", "h", 132),
        ("5 years", "y", 5),  # where a length of time is wanted
        ("1 year", "h", 8766),
        ("30 %/yr", "1/y", 0.3),
        ("2027 year", "year", 2027),
        ("1 GiB", "GB", 1.073741824),
        ("2 kgCO2e/kg", "kgCO2e/kg", 2),
        ("2000 g/kg", "kgCO2e/kg", 2),  # grams of CO2e for a kilogram of something
        ("3 tCO2e/t", "kgCO2e/kg", 3),
        ("50 g/t/km", "kgCO2e/kg/km", 50e-6),
        ("0.5 kg/USD", "kgCO2e/USD", 0.5),
        ("0.15 USD/kgCO2e", "USD/kgCO2e", 0.15),
    ],
)
def test_quantities_are_converted_at_the_edge(text, unit, value):
    assert parse_quantity(text, unit) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("2000", "kW", "'2000' has no unit: write one, for example '2000 kW'"),
        ("3 kg", "kW", "'3 kg': 'kg' is a mass, here kW is wanted; write for example '2000 kW'"),
        ("5 MWh", "kW", "'5 MWh': 'MWh' is an energy, here kW is wanted; write for example '2000 kW'"),
        ("2 parsec", "kW", "'2 parsec': the unit 'parsec' is not known here; write for example '2000 kW'"),
        ("nan kW", "kW", "'nan kW' is not a number with a unit: write for example '2000 kW'"),
        ("1,1 MW", "kW", "'1,1 MW' is not a number with a unit: write for example '2000 kW'"),
        ("2 500 kW", "kW", "'2 500 kW' is not a number with a unit: write for example '2000 kW'"),
        ("1.1.1 MW", "kW", "'1.1.1 MW' is not a number with a unit: write for example '2000 kW'"),
        ("1__0 kW", "kW", "'1__0 kW' is not a number with a unit: write for example '2000 kW'"),
        ("1 kW*9**9**9", "kW", "'1 kW*9**9**9' is not a number with a unit: write for example '2000 kW'"),
        ("1e999 kW", "kW", "'1e999 kW' is not a finite number"),
        ("１２ kW", "kW", "'１２ kW' is not a number with a unit: write for example '2000 kW'"),
    ],
)
def test_messages_name_the_value_and_an_example(text, unit, message):
    with pytest.raises(UnitError) as error:
        parse_quantity(text, unit)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [
        ("700 W", (0.7, "kW")),
        ("59 us", (59e-6, "s")),
        ("30 min", (0.5, "h")),
        ("5 y", (5, "y")),
        ("6.5 1/(1000 node d)", (6.5 / 24000, "1/h")),
        ("349.7 gCO2e/kWh", (0.3497, "kgCO2e/kWh")),
    ],
)
def test_facts_take_the_one_unit_of_their_dimension(unit, wanted):
    number, _, text = unit.partition(" ")
    value, inside = canonical(float(number), text)
    assert (value, inside) == (pytest.approx(wanted[0]), wanted[1])


def test_every_canonical_unit_is_its_own_canonical_form():
    assert all(canonical(1.0, unit) == (1.0, unit) for unit in CANONICAL_UNITS)


# W for kW, g for kg, MJ for kWh, ... : the confusions that peers' trackers are full of.
@pytest.mark.parametrize(
    ("a", "b", "factor"),
    [
        ("W", "kW", 1e-3),
        ("gCO2e", "kgCO2e", 1e-3),
        ("lbCO2e", "kgCO2e", 0.45359237),
        ("MJ", "kWh", 1 / 3.6),
        ("s", "h", 1 / 3600),
        ("GiB", "GB", 1.073741824),
        ("Gbit/s", "GB/s", 0.125),
        ("d", "h", 24),
    ],
)
def test_factors_of_confusable_units(a, b, factor):
    assert convert_factor(a, b) == pytest.approx(factor, rel=1e-12)


@given(st.floats(1e-6, 1e12), st.sampled_from(["W", "kW", "MW"]))
def test_there_and_back_changes_nothing(value, unit):
    inside = parse_quantity(f"{value!r} {unit}", "kW")
    assert math.isclose(inside * convert_factor("kW", unit), value, rel_tol=1e-12)


@given(st.floats(1e-3, 1e9), st.sampled_from([*EVERYDAY_UNITS, "kW", "USD", "h", "GB/s", "L/kWh"]))
def test_what_people_write_says_the_same(value, unit):
    """Read back, an everyday quantity is the one that it was made from, to twelve digits."""
    said = everyday(f"{value!r} {unit}")

    assert said.partition(" ")[2] == EVERYDAY_UNITS.get(unit, unit)
    assert parse_quantity(said, unit) == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("text", ["Two sites", "meta-rsc-1", "one h", "2", ""])
def test_other_text_is_left_as_it_is(text):
    assert everyday(text) == text


@pytest.mark.parametrize("unit", sorted(CANONICAL_UNITS))
def test_the_example_that_a_refusal_gives_is_itself_understood(unit):
    """'1 1/y' was proposed, and refused when written."""
    with pytest.raises(UnitError) as refused:
        parse_quantity("many", unit)

    example = str(refused.value).partition("write for example '")[2].removesuffix("'")
    assert parse_quantity(example, unit) > 0
