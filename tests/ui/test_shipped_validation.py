"""What the page Accuracy opens with was made from the rows, facts and code that are here."""

from __future__ import annotations

import pytest

from planner.inputs.loading import data_folder
from planner.ui.workers import shipped
from planner.ui.workers.shipped import VALIDATION, published_text, shipped_as_it_was
from planner.validation import validate


def test_the_shipped_validation_is_made_from_these_rows_and_facts() -> None:
    """If not: `python -m benchmarks.studies.examples_front validation`; it is worked out until then."""
    assert shipped.shipped(VALIDATION, published_text()) is not None


@pytest.mark.parametrize("file", ["carbon", "program"])
def test_its_values_are_those_of_the_code(file: str) -> None:
    """Rows that are quick to work out anew: a digest of inputs does not see an equation that has changed."""
    held = {row["id"]: row for row in shipped_as_it_was(VALIDATION)["rows"]}
    rows = validate([data_folder() / "published" / f"{file}.csv"])["rows"]

    assert len(rows) > 2
    for row in rows:
        ours = held[row["id"]]["ours"]
        assert ours == (None if row["ours"] is None else pytest.approx(row["ours"], rel=1e-9)), row["id"]
        assert held[row["id"]]["status"] == row["status"], row["id"]


@pytest.mark.parametrize("change", ["rows", "facts", "everfleet"])
def test_what_is_stale_is_not_shown(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    made = shipped.made_from(published_text())
    stale = made | ({"scenario": "other"} if change == "rows" else {change: "other"})
    monkeypatch.setattr(shipped, "made_from", lambda text: stale)

    assert shipped.shipped(VALIDATION, published_text()) is None
