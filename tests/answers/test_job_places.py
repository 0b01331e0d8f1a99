"""A job elsewhere and at other times, a job whose files were handed over, and its few inputs."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import explained

from planner.answers.job import job_document, load_job
from planner.answers.job.page import tornado_rows
from planner.answers.job.places import hour_of_day_load_kwh, place_document
from planner.answers.job.upload import (
    job_rows,
    metered_rows,
    metered_seen,
    uploaded_document,
    uploaded_job,
    uploaded_places,
)
from planner.inputs.job.reading import Simple, inputs_taken, simple_of, with_metered, with_simple
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario.files import read_toml, write_toml
from planner.inputs.series import load_series
from planner.report import charts
from planner.report.charts import jobs as drawn
from planner.trace.errors import InputError

METERED = Path(__file__).parents[1] / "metered"
HEAD = 'title = "handed"\n[site]\ngrid = "us"\n[hardware]\nsku = "h100-8"\n'
HOURS = HEAD + "[training]\naccelerator_hours = 8000\npower = '700 W'\n"


def test_a_change_below_rounding_is_none(tmp_path: Path) -> None:
    """Every day has the same hours, so that no first day is better; sums in another order differ by 1e-13."""
    first = datetime(2024, 1, 1, tzinfo=UTC)
    hours = [
        f"{(first + timedelta(hours=hour)).isoformat()},{120 + 40 * math.sin(hour / 24 * 2 * math.pi):.1f}\n"
        for hour in range(8784)
    ]
    (tmp_path / "hours.csv").write_text("time,gCO2e/kWh\n" + "".join(hours), encoding="utf-8")
    site = 'hourly = "hours.csv"\nhourly_signal = "average/life-cycle/production"\nstart = 2024-03-01\n'
    run = '[training]\nmodel = "llama-3.1-8b"\ntokens = 1e11\nnodes = 8\n'
    job = HEAD.replace('grid = "us"\n', site) + run
    (tmp_path / "job.toml").write_text(job, encoding="utf-8")
    document = job_document(load_job(tmp_path / "job.toml", load_catalogue()))

    assert document["changes"]
    assert all(
        abs(row["change_fraction"]) > 1e-9 for row in document["changes"] if "technique" not in row["what"]
    )


def text_of(name: str) -> str:
    return (data_folder() / "jobs" / f"{name}.toml").read_text(encoding="utf-8")


@cache
def places(name: str) -> dict[str, Any]:
    return place_document(load_job(data_folder() / "jobs" / f"{name}.toml", load_catalogue()))


@cache
def estimate(name: str) -> dict[str, Any]:
    return job_document(load_job(data_folder() / "jobs" / f"{name}.toml", load_catalogue()))


# Places and hours


def test_a_kilowatt_in_one_hour_of_each_day() -> None:
    """Of two days, hours 5 and 29 are five o'clock: one kilowatt-hour each, and 2 for each hour of a day."""
    load = hour_of_day_load_kwh(hour_of_day_h=np.arange(24.0), hours=48.0)

    assert np.flatnonzero(load[5]).tolist() == [5, 29]
    assert load.sum(axis=1) == pytest.approx(np.full(24, 2.0))


@pytest.mark.slow
@pytest.mark.nightly
def test_the_map_is_the_energy_at_the_mean_of_each_hour() -> None:
    """Independent route: hardware stays, electricity is energy times the mean of that hour over the year."""
    found, whole = places("train-8b"), {t["name"]: t["value"] for t in estimate("train-8b")["totals"]}
    values = load_series("synthetic-us-camx").complete().reshape(-1, 24)
    rows = [row for row in found["hours"] if row["place"] == "synthetic-us-camx"]

    assert [row["hour"] for row in rows] == list(range(24))
    for row, intensity in zip(rows, values.mean(axis=0), strict=True):
        assert row["kgco2e"] == pytest.approx(whole["embodied"] + whole["energy"] * intensity)
        assert row["change_kgco2e"] == pytest.approx(row["kgco2e"] - whole["carbon"])


def test_the_own_place_without_hours_is_flat_and_changes_nothing() -> None:
    """Of us-srvc only the mean of the year is known: every hour is the estimate itself."""
    rows = [row for row in places("train-8b")["hours"] if row["place"] == "us-srvc"]

    assert {round(row["kgco2e"], 6) for row in rows} == {round(places("train-8b")["kgco2e"], 6)}
    assert max(abs(row["change_fraction"]) for row in rows) < 1e-12


def test_only_places_that_count_the_same_are_compared() -> None:
    """A subregion's factor is direct, Spain's life-cycle: their difference would be one of method."""
    found = places("train-8b")

    places_of = ["us-srvc", *(f"us-{one}-2022" for one in ("erco", "miso", "nyis", "pjm", "soco"))]
    assert [row["place"] for row in found["places"]] == [*places_of, "synthetic-us-camx"]
    assert {row["place"] for row in found["left_out"]} >= {"gb-2021", "synthetic-es"}
    assert "average/life-cycle/production" in str(found["left_out"])


def test_each_extreme_opens_to_the_number_that_is_shown() -> None:
    """The explanation's first step is the cell of the map, its leaves hold the series."""
    found = places("train-8b")

    for row in found["places"]:
        for mark in ("cleanest", "dirtiest"):
            steps = explained(found, f"place.{row['place']}.{mark}").to_dict()
            assert steps[0]["value"] == pytest.approx(row[f"{mark}_kgco2e"])
    series = explained(found, "place.synthetic-us-camx.cleanest").to_dict()
    assert any("hourly series 'synthetic-us-camx' of 2023" in step.get("source", "") for step in series)


@pytest.mark.slow
def test_a_month_is_the_run_begun_on_its_first() -> None:
    """Independent route: the mean of the hours that the run covers from 1 July on, the last one in part."""
    found, whole = places("train-8b"), {t["name"]: t["value"] for t in estimate("train-8b")["totals"]}
    lasts = estimate("train-8b")["predicted"]["duration_h"]
    values = load_series("us-soco-2022").grid_kgco2e_per_kwh
    begin = 24 * 181
    hours = values[begin : begin + int(lasts) + 1]
    weights = np.append(np.ones(int(lasts)), lasts % 1)
    row = next(r for r in found["months"] if r["place"] == "us-soco-2022" and r["month"] == 7)

    met = float(np.average(hours, weights=weights))
    assert row["kgco2e"] == pytest.approx(whole["embodied"] + whole["energy"] * met)


def test_jobs_without_a_place_to_choose_say_so() -> None:
    """Phones charge at home; a factor of one's own has no meaning stated that another could share."""
    assert places("federated-keyboard")["notes"] == [
        "Devices draw their electricity where people are: there is no place to choose."
    ]
    assert places("federated-keyboard")["hours"] == []
    assert [row["place"] for row in places("bloom")["places"]] == ["this job"]
    assert "a factor whose meaning is not stated" in places("bloom")["left_out"][0]["reason"]


def test_gaps_of_a_series_are_counted() -> None:
    """94 hours of Great Britain's year were never published: they are filled by a line, and it is said."""
    text = HOURS.replace('grid = "us"', 'hourly = "synthetic-se"\n')
    found = uploaded_places(text, "job.toml", {})

    assert found["places"][0]["place"] == "synthetic-se"
    british = HOURS.replace('grid = "us"', 'grid = "gcp-europe-west2"')
    notes = uploaded_places(british, "job.toml", {})["notes"]
    assert notes == ["gb-2021: 94 missing hours are filled by a line between their neighbours"]


# Files that were handed over


def test_a_handed_text_gives_the_document_of_its_file() -> None:
    """The page and the command answer alike: only where the file lay may differ, and it is not told."""
    assert uploaded_document(text_of("bloom"), "bloom.toml", {}) == estimate("bloom")


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.csv", "other.csv"])
def test_only_files_that_were_handed_over_are_read(name: str) -> None:
    """A job file from a stranger could name any file of the machine that serves the page."""
    text = f"{HEAD}[training]\nmetered = '{name}'\n"

    with pytest.raises(InputError, match=r"which is not here: add it; there are 'emissions.csv'"):
        uploaded_document(text, "job.toml", {"emissions.csv": b""})
    hourly = HOURS.replace('grid = "us"', f"hourly = '{name}'\nhourly_signal = 'average/direct/production'")
    with pytest.raises(InputError, match=r"site.hourly: names the file|no hourly series"):
        uploaded_document(hourly, "job.toml", {})
    model = f"{HEAD}[training]\nmodel = '../config.json'\ntokens = 1e9\nnodes = 1\n"
    with pytest.raises(InputError, match=r"training.model: names the file"):
        uploaded_document(model, "job.toml", {})


def test_messages_name_files_and_not_where_they_lay() -> None:
    text = f"{HEAD}[training]\nmetered = 'mine.csv'\n"

    with pytest.raises(InputError) as refused:
        uploaded_document(text, "job.toml", {"mine.csv": b"a,b\n1,2\n"})
    assert str(refused.value).startswith("mine.csv: is none of the metered files")
    assert "everfleet-" not in str(refused.value)


def test_what_a_meter_saw_is_told_before_it_is_used() -> None:
    """CodeCarbon's own sample: the rows of the result are what `read_metered` says of the same file."""
    name = "codecarbon-3.3.csv"
    seen = metered_seen(name, (METERED / name).read_bytes(), {"accelerators": 2})
    rows = {row["property"]: row["found"] for row in metered_rows(seen)}

    assert rows["written by"] == seen.tool
    assert rows["accelerators"] == "2"
    assert rows["energy, without PUE"] == f"{seen.it_kwh:,.4g} kWh"
    with pytest.raises(InputError, match="none of the metered files"):
        metered_seen("../x.csv", b"a,b\n1,2\n", {})


def test_what_a_job_file_states_is_told() -> None:
    """BLOOM's file has a title, three tables and two facts of its own."""
    with uploaded_job(text_of("bloom"), "bloom.toml", {}) as job:
        rows = {row["part"]: row["states"] for row in job_rows(job)}

    assert rows["title"] == "BLOOM 176B"
    assert rows["training"] == "accelerator hours, power kw"
    assert rows["own value of server.dgx-a100-80.embodied"] == "2500 kg"


# The few inputs


def test_the_few_inputs_go_into_the_file_and_come_out_again() -> None:
    """Reading what was written gives what was asked for; every other table stays."""
    tables = read_toml(text_of("train-8b"), "job")
    wanted = {"nodes": 32, "tokens": 2e12, "grid": "fr", "pue": None, "lifetime_y": 4.5, "sku": "b200-8"}
    wanted |= {"method": "lora"}
    text = write_toml(with_simple(tables, wanted))
    with uploaded_job(text, "job.toml", {}) as job:
        found = simple_of(job)

    assert found == Simple("llama-3.1-8b", 2e12, 32, "lora", None, None, "b200-8", "fr", None, 4.5)
    assert job.storage is not None
    assert "pue" in tables["site"], "the tables that were handed in stay as they were"


def test_a_chosen_region_takes_the_place_of_a_factor() -> None:
    """A region and a factor of one's own say the same thing twice, which a job file may not."""
    tables = with_simple(read_toml(text_of("bloom"), "job"), {"grid": "fr"})

    assert tables["site"] == {"pue": 1.0, "wue": "0 L/kWh", "grid": "fr"}


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("train-8b", ("model", "tokens", "nodes")),
        ("bloom", ("accelerator_hours",)),
        ("chat-service", ("requests_per_day",)),
        ("federated-keyboard", ()),
    ],
)
def test_a_job_is_asked_for_what_its_phases_can_take(name: str, own: tuple[str, ...]) -> None:
    with uploaded_job(text_of(name), name, {}) as job:
        assert inputs_taken(job) == (*own, "sku", "grid", "pue", "lifetime_y")


@pytest.mark.slow
def test_a_meter_takes_the_place_of_a_prediction() -> None:
    """What was described is left out, for a run is either predicted or metered."""
    name = "codecarbon-3.3.csv"
    tables = with_metered(read_toml(text_of("train-8b"), "job"), name, {"accelerators": 8, "zone": None})
    found = uploaded_document(write_toml(tables), "job.toml", {name: (METERED / name).read_bytes()})

    assert tables["training"] == {"metered": name, "metered_accelerators": 8}
    assert "metered by" in next(row["what"] for row in found["phases"] if row["phase"] == "training")


# Explanations, tables and charts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train-8b", "federated-keyboard", "around"])
def test_every_phase_opens_to_its_own_carbon(name: str) -> None:
    """Work, storage, network, building, devices: the first step is the number of the table."""
    around = f"{HOURS}[network]\n[building]\n[end_of_life]\n"
    found = uploaded_document(around, "job.toml", {}) if name == "around" else estimate(name)

    for row in found["phases"]:
        steps = explained(found, f"phase.{row['phase'].replace('-', '_').replace(' ', '_')}").to_dict()
        assert steps[0]["value"] == pytest.approx(row["kgco2e"])


def test_ends_of_facts_are_told_in_carbon() -> None:
    """The ends belong to kilograms of this job, not to the money of a plan."""
    row, swing = tornado_rows(estimate("train-8b"))[0], estimate("train-8b")["tornado"][0]

    assert row["at_low_kgco2e"] == swing["at_low"]
    assert set(row) == {"fact", "unit", "low", "high", "at_low_kgco2e", "at_high_kgco2e"}


@pytest.mark.parametrize("make", [drawn.range_bars, drawn.split_waterfall, drawn.changes, drawn.tornado])
def test_charts_tell_their_numbers_in_words(make: Any) -> None:
    picture = make(estimate("train-8b"))

    assert "tCO2e" in picture.alt
    assert "<svg" in charts.to_svg(picture)


@pytest.mark.slow
@pytest.mark.usefixtures("drawn_pictures")
def test_maps_mark_the_ends_of_each_place_by_shape() -> None:
    """A circle and a triangle for each place whose hours differ: the colour alone tells nothing."""
    for make in (drawn.hour_map, drawn.month_map):
        picture = make(places("train-8b"))
        assert picture.alt.count("cleanest at") == picture.alt.count("dirtiest at") == 6
        assert not set("{}") & set(picture.alt)
    svg = charts.to_svg(drawn.hour_map(places("train-8b")))
    assert svg.count('aria-roledescription="point"') == 12
    assert drawn.hour_map(places("federated-keyboard")) is None
