"""The study of solve times with slots: its fleets are sound, and each row can be asked for alone."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from benchmarks.studies import slots
from solver.build import build


@pytest.mark.slow
def test_a_made_up_fleet_has_every_lever_in_slots_and_the_same_fleet_without() -> None:
    """Means of the hours are those of the period, so that what differs is when work is done."""
    plain, fine = slots.problem_of("S", 1), slots.problem_of("S", 24)
    assert not len(plain.slots)
    assert len(fine.slots) == 24
    assert fine.slots.hours.sum(axis=0) == pytest.approx(plain.node_groups.hours)
    share = fine.slots.share()
    for table in (fine.work_shifts, fine.pausable_shifts):
        assert (table.kgco2e_per_node_h * share).sum(axis=2) == pytest.approx(0.0, abs=1e-9)
    assert np.array_equal(
        fine.by_period().node_groups.capex_usd_per_node, plain.node_groups.capex_usd_per_node
    )
    names = {variable.name.split("_")[0] for variable in build(slots.problem_of("S", 12)).model.variables()}
    assert {"work", "lent", "quiet", "rest", "wake", "off", "boot", "done"} <= names


def test_a_size_or_a_number_of_slots_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="XL is no size: S, M, L, quarter, quarter-16"):
        slots.problem_of("XL", 24)
    with pytest.raises(ValueError, match="20 slots are no days of 12"):
        slots.problem_of("S", 20)


@pytest.mark.slow
def test_a_row_says_what_was_asked_and_what_came_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest fleet without slots, in a second; the head has as many columns."""
    slots.main(["S", "1", "5"])
    line = capsys.readouterr().out.strip()
    assert line.startswith("| S | 1 | ")
    assert line.count("|") == slots.HEAD.count("|")
    assert "none" not in line
    slots.main([])
    assert slots.table() in capsys.readouterr().out


def test_the_page_holds_every_size_and_says_what_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that ends early has as many cells as one that ends well, and its reason."""

    def ended(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        size, count = command[-2:]
        if (size, count) == ("L", "96"):
            raise subprocess.TimeoutExpired(command, 1.0)
        failed = (size, count) == ("L", "24")
        row = "| " + " | ".join([size, count] + ["0"] * (slots.HEAD.count("|") - 3)) + " |\n"
        return subprocess.CompletedProcess(command, int(failed), row, "MemoryError" if failed else "")

    monkeypatch.setattr(subprocess, "run", ended)
    rows = [line for line in slots.page().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(slots.AIMS) * len(slots.PAGE_SLOTS)
    assert {row.count("|") for row in rows} == {slots.HEAD.count("|")}
    early = {row.split("|")[2].strip(): row for row in rows if row.startswith("| L |")}
    assert "takes more than 16 GB" in early["24"]
    assert "ran out of time" in early["96"]
