"""One place turns numbers into text: `planner/trace/numbers.py`."""

from __future__ import annotations

import pytest

from planner.trace.numbers import (
    EXACT,
    amount_text,
    exact_text,
    fixed_text,
    many_text,
    number_text,
    percent_text,
    quantities_text,
    quantity_text,
)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (number_text(0.123456), "0.1235"),
        (number_text(123456.7), "123,457"),
        (number_text(2.0), "2"),
        (number_text(-0.0), "0"),
        (number_text(3e13), "3e+13"),
        (number_text(None), "–"),
        (number_text(float("inf")), "–"),
        (exact_text(3e13), "30,000,000,000,000"),
        (exact_text(0.000555556), "0.000555556"),
        (fixed_text(-0.0, 1), "0.0"),
        (fixed_text(-0.04, 1), "0.0"),
        (percent_text(0.1234), "12.3 %"),
        (percent_text(0.1234, sign=True), "+12.3 %"),
        (percent_text(0.001234, None), "0.12 %"),
        (percent_text(0.9996), "99.96 %"),
        (percent_text(0.9996, 0), "99.96 %"),
        (percent_text(-0.99996, 2, sign=True), "-99.996 %"),
        (percent_text(0.99999999), ">99.9999 %"),
        (percent_text(1.0 - 1e-12), "100.0 %"),
        (percent_text(1.0004), "100.0 %"),
        (many_text(1.5e13, "tokens"), "15 trillion tokens"),
        (many_text(4.8e8, "samples"), "480 million samples"),
        (many_text(999_999.0, "tokens", EXACT), "999,999 tokens"),
        (quantity_text(913.293, "USD"), "913 USD"),
        (quantity_text(913.293, "kWh"), "913.3 kWh"),
        (quantity_text(4_860_123.0, "USD"), "4.86 MUSD"),
        (amount_text(12_300.0, "kgCO2e"), "12.3 tCO2e"),
        (amount_text(5_473_578.0, "kgCO2e"), "5,474 tCO2e"),
        (amount_text(54_735_780.0, "kgCO2e"), "54.7 ktCO2e"),
        (amount_text(12_000.0, "kgCO2e"), "12.0 tCO2e"),
        (amount_text(999_999.0, "USD"), "1.00 MUSD"),
    ],
)
def test_one_way_to_write_a_number(said: str, text: str) -> None:
    assert said == text


def test_numbers_that_are_compared_differ() -> None:
    assert quantities_text((6_352_293.0, 6_352_294.0), "USD") == ["6.352293 MUSD", "6.352294 MUSD"]
    assert quantities_text((1.0, None), "1") == ["1", "–"]
