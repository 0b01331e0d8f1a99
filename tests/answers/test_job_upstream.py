"""Scope 2 is what power stations burn; what lies upstream of them is scope 3, category 3."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from planner.answers.job import job_document, read_job, to_card, to_text
from planner.inputs.loading import load_catalogue

ROOT = Path(__file__).resolve().parents[2]
JOB = """
title = "A thousand hours"
site = {{ {site}, pue = 1.1 }}
hardware = {{ sku = "h100-8" }}
training = {{ accelerator_hours = 1000 }}
"""


@pytest.mark.parametrize(
    ("site", "note"),
    [
        ('grid = "fr"', ""),
        ('grid = "us-srvc"', "Not counted: what lies upstream of power stations"),
        ('grid_intensity = "57 g/kWh"', "is not stated: all of it stands in scope 2"),
    ],
)
def test_scope_2_is_what_power_stations_burn_where_that_is_known(site: str, note: str) -> None:
    """A country's factor is of whole lives, that of eGRID of combustion; of one's own it is not known."""
    document = job_document(read_job(tomllib.loads(JOB.format(site=site)), "job.toml", load_catalogue()))
    scopes = {row["scope"]: row["kgco2e"] for row in document["scopes"]}
    totals = {total["name"]: total["value"] for total in document["totals"]}
    upstream = scopes.get("3.3, fuel and energy", 0.0)

    assert scopes["2, location-based"] + upstream == pytest.approx(totals["operational"], rel=1e-9)
    assert (upstream > 0) is (note == "")
    assert bool(document["scope_note"]) is bool(note)
    assert note in document["scope_note"]
    if upstream:
        share = load_catalogue().fact("grid.fr.direct_fraction").value
        assert scopes["2, location-based"] == pytest.approx(share * totals["operational"], rel=1e-9)


@pytest.mark.parametrize(
    ("site", "customer"),
    [
        ('region = "aws/eu-central-1"', "a customer of AWS all of it is scope 3, category 1"),
        ('grid = "fr"', ""),
    ],
)
def test_scopes_are_of_who_runs_the_nodes(site: str, customer: str) -> None:
    """Who rents in a provider's region buys a service; capital goods are whole in the year of purchase."""
    document = job_document(read_job(tomllib.loads(JOB.format(site=site)), "job.toml", load_catalogue()))
    said = " ".join(document["inventory_notes"])
    assert ("customer" in said) is bool(customer)
    assert customer in said
    assert "takes them whole in the year of purchase" in said
    for shown in (to_text(document), to_card(document)):
        assert "in the year of purchase" in " ".join(shown.split())


def test_servers_of_a_federated_run_are_parted_and_phones_are_not() -> None:
    """Servers are bought electricity; phones are the use of what is sold, all of it."""
    text = (ROOT / "data/jobs/federated-keyboard.toml").read_text(encoding="utf-8")
    catalogue = load_catalogue()

    def found(grid: str) -> tuple[dict[str, float], dict[str, float], str]:
        job = tomllib.loads(text)
        job["site"] = {"grid": grid, "pue": 1.1}
        document = job_document(read_job(job, "job.toml", catalogue))
        scopes = {row["scope"]: row["kgco2e"] for row in document["scopes"]}
        return scopes, {one["name"]: one["value"] for one in document["totals"]}, document["scope_note"]

    scopes, totals, note = found("fr")
    upstream, sold = scopes["3.3, fuel and energy"], scopes["3.11, use of sold products"]
    share = catalogue.fact("grid.fr.direct_fraction").value
    assert note == ""
    assert scopes["2, location-based"] / (scopes["2, location-based"] + upstream) == pytest.approx(share)
    assert sum(scopes.values()) == pytest.approx(totals["operational"], rel=1e-9)
    assert sold > 10 * upstream > 0


def test_the_market_is_next_to_scope_2_and_not_to_all_electricity() -> None:
    """By whole lives electricity holds scope 3.3, too: what looked less than it is more than scope 2."""
    contract = 'contract = { covered = 0.6, intensity = "0 g/kWh", residual = "720 g/kWh" }'
    text = JOB.format(site='grid = "de"') + contract
    document = job_document(read_job(tomllib.loads(text), "job.toml", load_catalogue()))
    scopes = {row["scope"]: row["kgco2e"] for row in document["scopes"]}
    totals = {row["name"]: row for row in document["totals"]}
    assert totals["market"]["label"] == "For comparison: scope 2, market-based"
    assert totals["market"]["value"] == pytest.approx(scopes["2, market-based"])
    assert scopes["2, location-based"] < totals["market"]["value"] < totals["operational"]["value"]


def test_a_card_leaves_out_the_making_alone_of_devices_that_a_job_counts() -> None:
    """The power of phones is most of a federated run; the card said that users' devices are left out."""
    catalogue = load_catalogue()
    text = (ROOT / "data/jobs/federated-keyboard.toml").read_text(encoding="utf-8")
    phones = to_card(job_document(read_job(tomllib.loads(text), "job.toml", catalogue)))
    assert "Staff, offices, the making of users' devices and parts" in phones
    servers = to_card(
        job_document(read_job(tomllib.loads(JOB.format(site='grid = "fr"')), "job.toml", catalogue))
    )
    assert "Staff, offices, users' devices and parts" in servers


def test_the_share_that_is_burnt_is_that_of_the_mix() -> None:
    """Germany of 2023: its generation by source, by IPCC's factors of combustion over those of whole lives.

    The same sum is 350 g/kWh of whole lives; CodeCarbon has 381 g/kWh for that year, Ember 336 for the next.
    """
    catalogue = load_catalogue()
    mix = {"coal": 0.2681, "gas": 0.1506, "oil": 0.0399, "biomass": 0.0912, "hydropower": 0.0386}
    mix |= {"nuclear": 0.0173, "solar": 0.122, "wind": 0.272, "geothermal": 0.0004}
    life_cycle, burnt = (
        sum(share * catalogue.fact(f"energy_source.{name}.{kind}").value for name, share in mix.items())
        for kind in ("intensity", "direct")
    )

    assert burnt / life_cycle == pytest.approx(catalogue.fact("grid.de.direct_fraction").value, abs=0.002)
    assert life_cycle == pytest.approx(0.381, rel=0.1)


def test_every_factor_of_whole_lives_says_what_of_it_is_burnt() -> None:
    """More where fossil plants make the power: Poland, not Norway; nothing in Iceland."""
    catalogue = load_catalogue()
    held = {
        name: catalogue.fact(f"grid.{name}.direct_fraction").value
        for name in catalogue.names("grid", "intensity")
        if catalogue.fact(f"grid.{name}.intensity").boundary.get("grid") == "average/life-cycle/production"
    }

    assert len(held) > 50
    assert held["pl"] > held["de"] > held["fr"] > held["no"] > held["is"] == 0.0
