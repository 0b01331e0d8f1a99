"""Hours and traces that a scenario or a flag names: their means, kept with the scenario."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import everfleet as ef
from planner import cli
from planner.answers.opening import open_scenario, with_series
from planner.inputs.scenario import ScenarioError, load_scenario
from planner.inputs.scenario.bundle import keep, restored
from planner.inputs.series.requests import read_requests
from planner.trace.errors import InputError

OWN = Path(__file__).resolve().parents[1] / "own_scenario.toml"
NEW_YEAR = datetime(2025, 1, 1, tzinfo=UTC)
CHAT = """
[[services]]
name = "chat"
model = "llama-3.1-8b"
precision = "bf16"
traffic = "requests.csv"
mean_to_peak = 0.4
first_token = "2 s"
per_token = "60 ms"
availability = 0.99
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Hours of a year: 50 g/kWh and 40 EUR/MWh before April, then twice that; requests of two days."""
    hours = [NEW_YEAR + timedelta(hours=hour) for hour in range(8760)]
    rows = [(f"{hour:%Y-%m-%dT%H:%M}Z", 1 + (hour.month > 3)) for hour in hours]
    for name, head, scale in (
        ("hours.csv", "time,gCO2e/kWh,signal", 50),
        ("spot.csv", "MTU (UTC),Day-ahead Price [EUR/MWh]", 40),
    ):
        tag = ",average/life-cycle/production" if name == "hours.csv" else ""
        lines = [f"{time},{scale * value}{tag}" for time, value in rows]
        (tmp_path / name).write_text("\n".join([head, *lines]), encoding="utf-8")
    requests = [f"{NEW_YEAR + timedelta(minutes=30 * i):%Y-%m-%dT%H:%M},1000,200" for i in range(97)]
    lines = ["timestamp,context_tokens,generated_tokens", *requests]
    (tmp_path / "requests.csv").write_text("\n".join(lines), encoding="utf-8")
    text = OWN.read_text(encoding="utf-8").replace('grid = "se"', 'hourly = "hours.csv"')
    text = text.replace('"65 USD/MWh"', '"spot.csv"').replace("[reliability]", f"{CHAT}\n[reliability]")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_a_scenario_names_its_hours_prices_and_requests(folder: Path) -> None:
    """A quarter takes the mean of its months; a rate that is stated stays; the files are kept with it."""
    scenario = load_scenario(folder / "mine.toml")
    site, chat = scenario.sites[0], scenario.services[0]
    kept = keep(scenario)

    assert site.grid_kgco2e_per_kwh == pytest.approx((0.05, 0.1))
    assert site.electricity_price_usd_per_kwh == pytest.approx((0.04 * 1.082, 0.08 * 1.082))
    assert (chat.tokens_in, chat.tokens_out, chat.mean_to_peak_fraction) == (1000.0, 200.0, 0.4)
    assert chat.peak_requests_per_s == pytest.approx((2 / 3600, 2 / 3600), rel=1e-5)
    assert sorted(kept.files) == ["hours.csv", "requests.csv", "spot.csv"]
    assert 'hourly = "hours.csv"' in kept.text
    with restored(kept) as again:
        assert again == scenario


def test_a_trace_says_around_which_hour_its_requests_come(tmp_path: Path) -> None:
    """Two days of ten requests an hour from 20 to 2 h and one else: around 23 h; a flat day says none."""
    for name, most, said in (("night.csv", 10, 23.0), ("flat.csv", 1, None)):
        counts = [most if i % 24 >= 20 or i % 24 < 2 else 1 for i in range(49)]
        times = [f"{NEW_YEAR + timedelta(hours=i):%Y-%m-%dT%H:%M}" for i in range(49)]
        rows = [f"{time},1000,200,{count}" for time, count in zip(times, counts, strict=True)]
        (tmp_path / name).write_text(
            "\n".join(["timestamp,context_tokens,generated_tokens,requests", *rows]), encoding="utf-8"
        )
        text = OWN.read_text(encoding="utf-8").replace("[reliability]", f"{CHAT}\n[reliability]")
        (tmp_path / "mine.toml").write_text(text.replace("requests.csv", name), encoding="utf-8")
        busiest = read_requests(tmp_path / name).values.get("busiest_time")
        assert busiest == (None if said is None else f"{said:g} h")
        assert load_scenario(tmp_path / "mine.toml").services[0].traffic_shape == name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"hours.csv"', '"none.csv"'), "sites.lund.hourly: there is no file 'none.csv'"),
        (('"hours.csv"', '"../hours.csv"'), "sites.lund.hourly: '../hours.csv' leads out of the folder"),
        (('"hours.csv"', '"hours.csv"\ngrid = "se"'), "hours.csv and grid say the same thing twice"),
        (('"hours.csv"', '"requests.csv"'), "sites.lund.hourly: requests.csv"),
        (('"spot.csv"', '"requests.csv"'), "name them for example time and price (EUR/MWh)"),
        (('"requests.csv"', '"spot.csv"'), "services.chat.traffic: spot.csv"),
        (
            ("mean_to_peak", "tokens_in = 5\nmean_to_peak"),
            "requests.csv and tokens_in say the same thing twice",
        ),
    ],
)
def test_a_file_of_no_use_is_told_once(folder: Path, change: tuple[str, str], said: str) -> None:
    text = (folder / "mine.toml").read_text(encoding="utf-8")
    assert change[0] in text
    (folder / "mine.toml").write_text(text.replace(*change, 1), encoding="utf-8")

    with pytest.raises(ScenarioError) as caught:
        load_scenario(folder / "mine.toml")
    assert len(caught.value.problems) == 1, str(caught.value)
    assert said in str(caught.value)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_same_files_by_flag(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the hours count is read from the file; what was recognised is told."""
    scenario, notes = with_series(open_scenario(OWN), hourly={"lund": folder / "hours.csv"}, traffic={})

    assert scenario.sites[0].grid_kgco2e_per_kwh == pytest.approx((0.05, 0.1))
    assert "meaning average/life-cycle/production, as the file says" in notes[0]
    priced, notes = with_series(open_scenario(OWN), electricity={"lund": folder / "spot.csv"})
    assert priced.sites[0].electricity_price_usd_per_kwh == pytest.approx((0.04 * 1.082, 0.08 * 1.082))
    assert (
        notes[0]
        == "lund: electricity prices, spot.csv: mean in 2027 Q1 40 EUR/MWh, mean in 2027 Q2 80 EUR/MWh"
    )
    for flag, text, said in (
        ("--electricity", f"paris={folder / 'spot.csv'}", "no site 'paris'; there is lund"),
        (
            "--electricity",
            f"lund={folder / 'requests.csv'}",
            "name them for example time and price (EUR/MWh)",
        ),
        ("--hourly", "paris=hours.csv", "hours.csv: cannot be read"),
        ("--hourly", f"paris={folder / 'hours.csv'}", "no site 'paris'; there is lund"),
        ("--traffic", f"chat={folder / 'requests.csv'}", "no service 'chat'"),
        ("--hourly", "hours.csv", "names no file: write for example --hourly NAME=file.csv"),
    ):
        assert cli.main(["plan", str(OWN), flag, text]) == cli.WRONG_INPUT
        assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_same_files_in_python(folder: Path) -> None:
    """What the command takes by flag, functions take by name; what was recognised is said."""
    found = ef.scenario(
        OWN, hourly={"lund": folder / "hours.csv"}, electricity={"lund": str(folder / "spot.csv")}
    )
    (site,) = found["sites"].records

    assert site["electricity_price"] == "0.04 EUR/kWh, 0.08 EUR/kWh"
    assert site["grid_intensity"] == "0.05 kgCO2e/kWh, 0.1 kgCO2e/kWh"
    assert any("meaning average/life-cycle/production, as the file says" in note for note in found.said)
    for wrong, said in (
        ({"electricity": {"paris": folder / "spot.csv"}}, "no site 'paris'; there is lund"),
        ({"traffic": {"chat": folder / "none.csv"}}, "none.csv: cannot be read"),
        ({"hourly": "hours.csv"}, "hourly: 'hours.csv' is not a dict"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            ef.scenario(OWN, **wrong)
