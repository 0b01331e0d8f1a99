"""Every figure of embodied carbon that a plan may take by default can be audited."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
FACTS = {
    row["key"]: row
    for path in sorted((DATA / "facts").glob("*.csv"))
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
}
SOURCES = tomllib.loads((DATA / "sources.toml").read_text(encoding="utf-8"))
CARBON = (
    "kgCO2e",
    "gCO2e",
    "kgCO2e/GB",
    "kgCO2e/kW",
    "gCO2e/cm^2",
    "kgCO2e/cm^2",
    "kgCO2e/kg",
    "kgCO2e/kg/km",
)
ROOMS = (
    "accelerator",
    "server",
    "storage",
    "network",
    "component",
    "transport",
    "end_of_life",
    "embodied",
    "die",
)
# Factors of a model get their boundary from the equation that they enter.
FACTORS = ("embodied.engine.", "component.", "transport.", "end_of_life.", "die.n")
ENTERS_ACT = ("gas_95", "gas_99", "materials", "fab_energy")
# Licences under which no table can be shipped here.
CLOSED = ("ODbL", "NC", "AGPL")


def defaults() -> list[str]:
    """Preferred rows of embodied carbon: those without an `@` that a plan would take unasked."""
    return [
        key
        for key, row in FACTS.items()
        if "@" not in key
        and key.split(".")[0] in ROOMS
        and key.rpartition(".")[2] not in ENTERS_ACT
        and ("CO2e" in row["unit"] or key.endswith(".embodied"))
    ]


def complete(room: str, properties: str) -> set[str]:
    names = {key.split(".", 1)[1].rpartition(".")[0] for key in FACTS if key.startswith(room + ".")}
    return {n for n in names if all(f"{room}.{n}.{p}" in FACTS for p in properties.split())}


@pytest.mark.parametrize("key", defaults())
def test_a_default_has_source_year_boundary_licence_and_range(key):
    """Goal of the project: 100 %, and a test that fails otherwise."""
    row = FACTS[key]
    source = SOURCES[row["source"]]

    assert "" not in (row["low"], row["high"]), "a range"
    assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    assert row["boundary"].startswith("embodied=") or key.startswith(FACTORS), "a boundary"
    assert int(source["year"]) >= 2010
    assert source["licence"]


def test_nothing_is_shipped_under_a_closed_licence():
    """A licence that names share-alike or non-commercial terms is named only to say what was not taken."""
    taken = ("quoted", "not used", "not copied", "facts only")
    for name in {FACTS[key]["source"] for key in defaults()}:
        licence = SOURCES[name]["licence"]
        assert not any(word in licence for word in CLOSED) or any(word in licence for word in taken), name


def test_enough_accelerators_and_servers():
    """At least 20 accelerators and 10 servers with embodied carbon, power, idle power and memory."""
    accelerators = complete("accelerator", "embodied tdp idle_power memory launch")
    servers = complete("server", "embodied max_power host_power host_idle_power cpu_memory price")

    assert len(accelerators) >= 20
    assert len(servers) >= 10


def test_both_routes_to_a_die_stand_for_every_process():
    """ACT's rate and imec's, from 28 to 3 nm, within a quarter of each other, apart from interpolations."""
    for node in (28, 20, 14, 12, 10, 8, 7, 6, 5, 4, 3):
        act, imec = (float(FACTS[f"die.n{node}.carbon_per_area{who}"]["value"]) for who in ("", "@imec-2023"))
        assert imec == pytest.approx(act, rel=0.25), node


def test_storage_factors_show_how_little_is_known():
    """15 to 25 times between published factors of DRAM and flash: the default's range holds all of them."""
    for what, spread in (("dram", 20), ("ssd", 25), ("hdd", 20)):
        row = FACTS[f"storage.{what}.embodied"]
        others = [float(FACTS[k]["value"]) for k in FACTS if k.startswith(f"storage.{what}.embodied@")]
        low, high = float(row["low"]), float(row["high"])
        assert high / low == pytest.approx(spread, rel=0.1)
        assert max(others) <= 1.002 * high
        assert min(others) >= 0.73 * low, "older planar memory lies below"
