"""Numbers of tables opened: what is drawn when a cell is chosen, and what a closed table costs."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from planner.ui.shared import number_format


def two_sites() -> None:
    """A page of one table that stands open and one that has to be opened."""
    from planner.report.tables import table_of
    from planner.ui import shared

    rows = [{"site": "iowa", "cost_usd": 3.0}, {"site": "oslo", "cost_usd": 5.0}]

    def opens(row: int, key: str) -> str | None:
        return None if key == "site" else f"{key} of {rows[row]['site']} = {rows[row][key]}"

    shared.sheet(table_of("", rows), "Sites", opens, key="sites")
    shared.data("more", rows, opens=opens, key="more")


def chosen(*cell: int | str, table: str = "sites") -> AppTest:
    page = AppTest.from_function(two_sites)
    page.session_state[f"sheet-{table}"] = {"selection": {"rows": [], "columns": [], "cells": [cell]}}
    return page.run()


def test_a_chosen_number_is_opened_below_its_table() -> None:
    """The second row and the column whose key is cost_usd, whatever its heading says."""
    page = chosen(1, "cost (USD)")

    assert not page.exception
    assert [block.value for block in page.code] == ["cost_usd of oslo = 5.0"]


def test_a_name_opens_nothing() -> None:
    """A name has no equation; the hint on what can be chosen stays."""
    page = chosen(1, "site")

    assert not page.code
    assert [one.value for one in page.caption] == ["Choose a number to see where it comes from."]


def test_a_cell_that_is_gone_is_passed_over() -> None:
    """A choice outlives the plan it was made in: the next may have fewer rows, or another unit."""
    for gone in ((7, "cost (USD)"), (1, "cost (MUSD)")):
        page = chosen(*gone)

        assert not page.exception
        assert not page.code


def test_a_closed_table_is_neither_made_nor_sent() -> None:
    """One table stands open, one is behind an expander until that is opened."""
    page = AppTest.from_function(two_sites).run()
    assert len(page.dataframe) == 1

    page.session_state["data-more"] = True
    assert len(page.run().dataframe) == 2


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([5.669e-21, 0.02181, None], "%.3g"),  # p of a weak node: 0 with three decimals
        ([0.25, 0.0, 0.5], "localized"),
        ([1e-9, 12_345.6], "localized"),  # figures would say 1.23e+4
        (["a", None], "localized"),
    ],
)
def test_a_column_of_tiny_numbers_is_written_by_figures(values: list[object], wanted: str) -> None:
    assert number_format(values) == wanted
