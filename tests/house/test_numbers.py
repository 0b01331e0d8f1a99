"""One place turns numbers into text: `planner/trace/numbers.py`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from planner.trace.numbers import (
    amount_text,
    exact_text,
    fixed_text,
    number_text,
    percent_text,
    quantities_text,
    quantity_text,
)

ROOT = Path(__file__).resolve().parents[2]
FORMATTER = "planner/trace/numbers.py"
# Rooms whose text about numbers is a refusal of what was handed in, which quotes the number as it came.
LEAVES = ("planner/performance/", "planner/inputs/scenario/", "planner/physics/")
WHY = {
    "planner/answers/plan/repairs.py": "a value that goes back into a scenario, to nine digits",
    "planner/inputs/fits.py": "the key of a fit",
}


def specs(tree: ast.AST) -> list[tuple[int, str]]:
    """Format specifications that set digits or thousands; a width or a plain `g` says how a number came."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = "".join(
                part.value
                for part in ast.walk(node.format_spec)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            dated = any(part in spec for part in ("%Y", "%m", "%d"))
            grouped = any(sign in spec for sign in ",%_") and not dated
            if grouped or ("." in spec and spec[-1:] in "feg"):
                found.append((node.lineno, spec))
    return found


@pytest.mark.slow
def test_no_second_formatter() -> None:
    held = {
        path.relative_to(ROOT).as_posix(): specs(ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted((ROOT / "planner").rglob("*.py"))
    }
    assert held[FORMATTER]
    others = {
        name: found
        for name, found in held.items()
        if found and name != FORMATTER and name not in WHY and not name.startswith(LEAVES)
    }
    assert not others, f"use planner.trace.numbers: {others}"
    assert not {name for name in WHY if not held.get(name)}, "an exception that none needs"


def test_a_second_formatter_is_seen() -> None:
    """`planted` and the like are what the test above has to find; dates and widths are left alone."""
    planted = "f'{a:,.0f} {b:.1%} {c:>9.3f} {d:.4g} {e:,}'"
    assert len(specs(ast.parse(planted))) == 5
    assert not specs(ast.parse("f'{a:>9} {b:g} {c:%Y-%m} {d:<28.28}'"))


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
        (percent_text(0.1234), "12.3 %"),
        (percent_text(0.1234, sign=True), "+12.3 %"),
        (percent_text(0.001234, None), "0.12 %"),
        (quantity_text(913.293, "USD"), "913 USD"),
        (quantity_text(913.293, "kWh"), "913.3 kWh"),
        (quantity_text(4_860_123.0, "USD"), "4.86 MUSD"),
        (amount_text(12_300.0, "kgCO2e"), "12.3 tCO2e"),
        (amount_text(5_473_578.0, "kgCO2e"), "5,474 tCO2e"),
        (amount_text(54_735_780.0, "kgCO2e"), "54.7 ktCO2e"),
        (amount_text(12_000.0, "kgCO2e"), "12.0 tCO2e"),
        (amount_text(999_999.0, "USD"), "1,000 kUSD"),
    ],
)
def test_one_way_to_write_a_number(said: str, text: str) -> None:
    assert said == text


def test_numbers_that_are_compared_differ() -> None:
    assert quantities_text((6_352_293.0, 6_352_294.0), "USD") == ["6.352293 MUSD", "6.352294 MUSD"]
    assert quantities_text((1.0, None), "1") == ["1", "–"]
