"""Accuracy tables of `everfleet validate`: which rows count, and what their errors come to."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.loading import data_folder, load_catalogue
from planner.validation import report_text
from planner.validation.accuracy import accuracies, accuracy, accuracy_tables, is_scored
from planner.validation.aliases import aliases
from planner.validation.generations import generation_of, generations
from planner.validation.rows import judge, read_rows


def judged(
    ours: float | None,
    expected: float = 100.0,
    tolerance: str = "10%",
    source: str = "A",
    subject: str = "s",
    name: str = "x",
    generation: str = "",
    plumbing: bool = False,
) -> dict:
    error = None if ours is None else (ours - expected) / abs(expected) if expected else ours
    inside = ours is not None and abs(error) <= 0.1
    return {
        "id": name,
        "source": source,
        "quantity": "q",
        "expected": expected,
        "ours": ours,
        "unit": "ratio",
        "error": error,
        "tolerance": tolerance,
        "status": "not understood" if ours is None else "inside" if inside else "outside",
        "note": "",
        "subject": subject,
        "generation": generation,
        "plumbing": plumbing,
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


def test_rows_without_a_value_of_ours_count_as_not_understood():
    """They are rows of their source and subject without a value; what did not run is in no table."""
    absent = judged(None, source="C") | {"status": "not run"}
    rows = [judged(None), judged(101.0), judged(None, source="B"), absent]

    tables = accuracy_tables(rows)

    found = {one["name"]: (one["rows"], one["understood"]) for one in tables["by_source"]}
    assert found == {"A": (2, 1), "B": (1, 0)}
    assert [(one["name"], one["rows"], one["understood"]) for one in tables["by_subject"]] == [("s", 3, 1)]
    assert accuracy("none", []).worst_error is None
    assert accuracy("none", []).worst_id is None


def test_the_worst_is_named_by_kind_and_by_generation():
    rows = [
        judged(95.0, name="a", generation="Hopper"),
        judged(130.0, name="b", generation="Hopper"),
        judged(99.0, name="c", generation="TPU", subject="t"),
        judged(90.0, name="d"),
    ]

    tables = accuracy_tables(rows)

    worst = {one["name"]: (one["rows"], one["worst_id"]) for one in tables["by_generation"]}
    assert worst == {"Hopper": (2, "b"), "TPU": (1, "c")}
    assert [(one["name"], one["worst_id"]) for one in tables["by_kind"]] == [("q", "b")]
    pairs = [(one["generation"], one["subject"], one["rows"]) for one in tables["by_generation_and_subject"]]
    assert pairs == [("Hopper", "s", 2), ("TPU", "t", 1)]


def test_arithmetic_on_the_numbers_of_a_row_is_in_no_table():
    rows = [judged(100.0, plumbing=True), judged(105.0)]

    assert [(one.rows, one.mean_error) for one in accuracies(rows, "source")] == [(1, pytest.approx(0.05))]


@pytest.mark.parametrize(
    ("model", "subject"),
    [
        ("Qwen3-30B-A3B", "training throughput, mixtures of experts"),
        ("Llama 3.1 8B", "training throughput"),
        ("a model that nobody knows", "training throughput"),
    ],
)
def test_mixtures_of_experts_are_counted_apart_from_dense_models(model, subject):
    """A row of the same kind; one that is not understood is no mixture as far as one knows."""
    inputs = json.dumps({"kind": "train_system", "model": model, "gpu": "H100-80GB-SXM", "gpus": 0})
    said = {"id": "x", "source": "A", "expected": "1", "unit": "tokens/s", "tolerance": "10%"}

    found = judge({**said, "inputs": inputs})

    assert (found.status, found.subject) == ("not understood", subject)


def test_every_accelerator_has_a_generation():
    """One each, and no name twice; rows name the chip, a node, or neither."""
    catalogue = load_catalogue()
    listed = [chip for chips in aliases("generation").values() for chip in chips]

    assert len(listed) == len(set(listed))
    assert set(catalogue.names("accelerator")) <= set(generations())
    assert generation_of({"gpu": "H100-80GB-SXM"}) == "Hopper"
    assert generation_of({"gpu": "A100-40GB (ZionEX)"}) == "Ampere"
    assert generation_of({"node": "8x B200 SXM MaxQ"}) == "Blackwell"
    assert generation_of({"accelerator": ["L4", "T4"], "node": "new"}) == ""
    assert generation_of({"gpu": "abacus"}) == "other"


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


@pytest.mark.slow
def test_the_terminal_shows_both_tables(shipped_validation):
    """Shipped rows: every judged source and subject has its line, and the line says what the table says."""
    _, result = shipped_validation

    lines = report_text(result).splitlines()

    tables = accuracy_tables(result["rows"])
    assert json.dumps(tables, allow_nan=False)
    for one in (*tables["by_source"], *tables["by_subject"]):
        counts = [str(one[name]) for name in ("rows", "understood", "inside", "scored")]
        assert [line for line in lines if line.split()[:4] == counts and line.endswith(f"  {one['name']}")]
    names = [one["name"] for one in tables["by_subject"]]
    assert all(a < b for a, b in pairwise(names))
    assert {"queues", "training throughput"} <= set(names)


def test_published_seeds_of_sizes_and_sharded_weights():
    """Sizes as Lumos prints them, in billions; volumes of a peer tool at its own bandwidth."""
    shipped = {row["id"]: row for row in read_rows(data_folder() / "published" / "seeds.csv")}

    for name, quantity in [
        ("SD-B038", "model_parameters"),
        ("SD-B040", "model_parameters"),
        ("SD-B042", "model_parameters"),
        ("SD-B047", "train_fsdp_collectives_peer"),
        ("SD-B053", "train_fsdp_collectives_peer"),
    ]:
        ours = judge(shipped[name])
        assert (ours.quantity, ours.status) == (quantity, "inside")
        assert abs(ours.error) < 0.005
