"""How far companies that filed the same machines lie apart: by hand on two, and as the page states it."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from benchmarks.studies import submitters

ROOT = Path(__file__).resolve().parents[2]


def test_two_companies_by_hand(tmp_path):
    """Steps of 1.0 and 1.25 s: rates 1 and 0.8, 0.1 from their median 0.9, and 25 % apart."""
    rows = tmp_path / "rows.csv"
    same = "v5.0,flux1,B200,16,512"
    rows.write_text(
        "round,benchmark,chip,accelerators,global_batch,submitter,system,step_s,runs\n"
        f"{same},A,a1,1.0,3\n{same},B,b1,1.25,3\n"
    )

    lines = submitters.table_lines(rows)

    assert "| FLUX.1 | 2 | 1 | 11.1 % | 25.0 % | 25.0 % | 25.0 % |" in lines
    assert lines[-1] == "| **all** | 2 | 1 | 11.1 % | 25.0 % | 25.0 % | 25.0 % |"


def test_the_page_states_what_the_rows_say():
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").splitlines()

    assert set(submitters.table_lines()) <= set(page)


def test_every_machine_was_filed_by_several_companies():
    """Otherwise a deviation of nothing would make the floor look lower than it is."""
    companies = defaultdict(set)
    with submitters.ROWS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            companies[tuple(row[name] for name in submitters.SAME)].add(row["submitter"])

    assert len(companies) > 40
    assert all(len(found) > 1 for found in companies.values())
