"""Marginal hours are of no inventory: no scope, no contract next to them, and every door says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.answers.job import job_document, load_job, to_card, to_text
from planner.inputs.loading import load_catalogue
from planner.report.standards.formats import write_as
from planner.trace.errors import InputError

JOB = """
title = "A thousand hours"
[site]
hourly = "hours.csv"
hourly_signal = "{signal}"
pue = 1.2
[hardware]
sku = "h100-8"
[training]
accelerator_hours = 1000
"""
CONTRACT = '[contract]\ncovered = 1.0\nintensity = "0 g/kWh"\n'


def answered(folder: Path, signal: str, contract: str = "") -> Any:
    hours = "\n".join(f"2023-01-{1 + h // 24:02d}T{h % 24:02d}:00Z,450" for h in range(600))
    (folder / "hours.csv").write_text(f"time,gco2e_per_kwh\n{hours}\n")
    (folder / "job.toml").write_text(JOB.format(signal=signal) + contract)
    catalogue = load_catalogue()
    return job_document(load_job(folder / "job.toml", catalogue), catalogue)


def test_marginal_hours_are_of_no_scope(tmp_path: Path) -> None:
    """An inventory takes averages (GHG Protocol, Scope 2 Guidance); what is emitted more is no part of it."""
    document = answered(tmp_path, "marginal/direct/production")
    scopes = {row["scope"]: row["kgco2e"] for row in document["scopes"]}
    totals = {row["name"]: row for row in document["totals"]}
    assert not any(scope.startswith("2,") for scope in scopes)
    assert scopes["electricity, marginal (no scope)"] == pytest.approx(totals["operational"]["value"])
    assert totals["carbon"]["label"] == "Carbon, by marginal hours: for no inventory"
    assert "They are of no scope" in document["scope_note"]
    for shown in (to_text(document), to_card(document)):
        assert "location-based" not in shown
        assert "by marginal hours" in shown
    assert '"operational": "by marginal hours: for no inventory"' in write_as(document, "sci")["sci.json"]
    assert "location-based" not in write_as(document, "hugging-face")["README.md"]

    average = answered(tmp_path, "average/direct/production")
    assert {row["scope"]: row["kgco2e"] for row in average["scopes"]}["2, location-based"] == pytest.approx(
        totals["operational"]["value"]
    )


def test_no_contract_stands_next_to_marginal_hours(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contract: is for an inventory"):
        answered(tmp_path, "marginal/direct/production", CONTRACT)
    assert answered(tmp_path, "average/direct/production", CONTRACT)["totals"]


def test_hours_by_the_market_are_none_of_a_site(tmp_path: Path) -> None:
    """They would stand as location-based; what is bought is a contract."""
    with pytest.raises(InputError, match="hourly_signal: is market-based, and hours of a site"):
        answered(tmp_path, "average/direct/production/market")
