"""Accuracy tables of `everfleet validate`: which rows count, and what their errors come to."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.validation import report_text, validate
from planner.validation.accuracy import accuracies, accuracy, accuracy_tables, is_scored


def judged(
    ours: float | None, expected: float = 100.0, tolerance: str = "10%", source: str = "A", subject: str = "s"
) -> dict:
    error = None if ours is None else (ours - expected) / abs(expected) if expected else ours
    inside = ours is not None and abs(error) <= 0.1
    return {
        "id": "x",
        "source": source,
        "quantity": "q",
        "expected": expected,
        "ours": ours,
        "unit": "ratio",
        "error": error,
        "tolerance": tolerance,
        "status": "inside" if inside else "outside",
        "note": "",
        "subject": subject,
    }


def test_errors_of_a_source_by_hand():
    """Errors of 2, 5, 10 and 30 %: median 7.5, mean 11.75, three of four within 10, the worst 30."""
    one = accuracy("A", [judged(ours) for ours in (98.0, 105.0, 110.0, 70.0)])

    assert (one.rows, one.inside, one.scored) == (4, 3, 4)
    assert one.median_error == pytest.approx(0.075)
    assert one.mean_error == pytest.approx(0.1175)
    assert one.within_10_percent_fraction == 0.75
    assert one.worst_error == pytest.approx(0.30)


@pytest.mark.parametrize(
    ("tolerance", "expected", "counts"),
    [
        ("2%", 100.0, True),
        ("rel 15%", 100.0, True),
        ("-35% .. +5%", 100.0, True),
        ("abs 8 points", 43.8, True),
        ("abs 0.01", 0.0, False),  # no share of nothing
        ("exact", 14.0, False),
        ("0", 41.0, False),
        ("rel 1e-9", 2.0, False),
        ("abs 1e-9", 0.41, False),
        ("at least", 0.9, False),
        ("at most", 0.9, False),
        ("informative", 0.9, False),
        ("bounds", 0.9, False),
    ],
)
def test_identities_counts_and_bounds_are_not_scored(tolerance, expected, counts):
    """An equation met by its own other form, or a whole number, says nothing of a model's error."""
    row = judged(expected, expected, tolerance)

    assert is_scored(row) is counts
    one = accuracy("A", [row, judged(110.0)])
    assert (one.rows, one.inside) == (2, 2)
    assert one.median_error == pytest.approx(0.05 if counts else 0.10)


def test_rows_without_a_value_of_ours_belong_to_no_table():
    """What was not understood or not run has no subject and no error; its source is listed by its others."""
    rows = [judged(None, subject=""), judged(101.0), judged(None, source="B", subject="")]

    tables = accuracy_tables(rows)

    assert [one["name"] for one in tables["by_source"]] == ["A"]
    assert [(one["name"], one["rows"]) for one in tables["by_subject"]] == [("s", 1)]
    assert accuracy("none", []).worst_error is None


@given(
    errors=st.lists(st.tuples(st.floats(-0.9, 3), st.sampled_from("ABC"), st.sampled_from("st")), min_size=1)
)
def test_parts_add_up_to_the_whole(errors):
    """Each row lies in one source and one subject; means weighted by rows give the mean of all."""
    rows = [judged(100 * (1 + e), source=a, subject=b) for e, a, b in errors]
    whole = accuracy("all", rows)

    for column in ("source", "subject"):
        parts = accuracies(rows, column)
        assert sum(one.rows for one in parts) == whole.rows
        assert sum(one.inside for one in parts) == whole.inside
        mean = sum(one.scored * one.mean_error for one in parts) / whole.scored
        assert mean == pytest.approx(whole.mean_error, rel=1e-9, abs=1e-12)
        assert max(one.worst_error for one in parts) == whole.worst_error


def test_the_terminal_shows_both_tables():
    """Shipped rows: every judged source and subject has its line, and the line says what the table says."""
    result = validate()

    lines = report_text(result).splitlines()

    tables = accuracy_tables(result["rows"])
    assert json.dumps(tables, allow_nan=False)
    for one in (*tables["by_source"], *tables["by_subject"]):
        counts = [str(one[name]) for name in ("rows", "inside", "scored")]
        assert [line for line in lines if line.split()[:3] == counts and line.endswith(f"  {one['name']}")]
    names = [one["name"] for one in tables["by_subject"]]
    assert all(a < b for a, b in pairwise(names))
    assert {"queues", "training throughput"} <= set(names)


def test_published_seeds_of_sizes_and_sharded_weights():
    """Sizes as Lumos prints them, in billions; volumes of a peer tool at its own bandwidth."""
    rows = {row["id"]: row for row in validate()["rows"]}

    for name, quantity in [
        ("SD-B038", "model_parameters"),
        ("SD-B040", "model_parameters"),
        ("SD-B042", "model_parameters"),
        ("SD-B047", "train_fsdp_collectives_peer"),
        ("SD-B053", "train_fsdp_collectives_peer"),
        ("SD-B055", "train_dlrm_peer"),
    ]:
        assert (rows[name]["quantity"], rows[name]["status"]) == (quantity, "inside")
        assert abs(rows[name]["error"]) < 0.005
