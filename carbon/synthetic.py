"""A synthetic hourly profile for zones without a series that may be shipped. Nothing in it was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.hourly import year_hours

Hours = NDArray[np.float64]

EARTH_TILT_RAD = math.radians(23.44)
SOLSTICE_DAYS_BEFORE_NEW_YEAR = 10
DEGREES_AN_HOUR = 15.0


@dataclass(frozen=True, slots=True)
class GridProfile:
    """How a grid's intensity moves around its yearly mean; every figure is an assumption.

    `solar_fraction` of the year's energy comes from the sun; intensity rises by `evening_fraction` around
    `evening_h` (solar time, width `evening_width_h`), by `season_fraction` around `season_day` of the year,
    and wanders with the weather by `weather_fraction` (a standard deviation) over `weather_h`.
    """

    solar_fraction: float
    evening_fraction: float
    evening_h: float
    evening_width_h: float
    season_fraction: float
    season_day: float
    weather_fraction: float
    weather_h: float

    def __post_init__(self) -> None:
        _domain.share(solar_fraction=self.solar_fraction, season_fraction=self.season_fraction)
        _domain.nonnegative(evening_fraction=self.evening_fraction, weather_fraction=self.weather_fraction)
        _domain.positive(evening_width_h=self.evening_width_h, weather_h=self.weather_h)


def synthetic_kgco2e_per_kwh(
    *,
    yearly_kgco2e_per_kwh: float,
    year: int,
    latitude_deg: float,
    longitude_deg: float,
    profile: GridProfile,
    seed: int,
) -> Hours:
    """Hourly intensity of a year, in UTC, that has the shape of a profile and the yearly mean given.

    CI_h = M * x_h / mean(x)
    x_h  = (1 - s * sun_h / mean(sun)) * (1 + e * exp(-((t_h - t_e) / w)^2))
           * (1 + a * cos(2 * pi * (d_h - d_a) / n)) * exp(v * z_h)
    z_h  = r * z_{h-1} + sqrt(1 - r^2) * noise,   r = exp(-1 / tau)

    Sun is that of a clear sky; no plant, price, holiday or flow between zones is modelled.

    Source: a documented shape, not a measurement; the sun's height after Cooper, Solar Energy 12, 1969.
    """
    _domain.positive(yearly_kgco2e_per_kwh=yearly_kgco2e_per_kwh)
    hour = np.arange(year_hours(year), dtype=np.float64) + 0.5
    days = len(hour) / 24
    solar_h = (hour + longitude_deg / DEGREES_AN_HOUR) % 24
    sun = sun_height(day=hour / 24, solar_h=solar_h, latitude_deg=latitude_deg)
    solar = profile.solar_fraction * sun / sun.mean()
    if solar.max() >= 1:
        raise ValueError(
            f"solar_fraction {profile.solar_fraction:g} at latitude {latitude_deg:g} would be more than all "
            f"power at noon in summer: at most {sun.mean() / sun.max():.2f}"
        )
    since_peak_h = (solar_h - profile.evening_h + 12) % 24 - 12
    evening = profile.evening_fraction * np.exp(-((since_peak_h / profile.evening_width_h) ** 2))
    season = profile.season_fraction * np.cos(2 * np.pi * (hour / 24 - profile.season_day) / days)
    weather = profile.weather_fraction * _weather(len(hour), profile.weather_h, seed)
    shape = (1 - solar) * (1 + evening) * (1 + season) * np.exp(weather)
    scaled: Hours = yearly_kgco2e_per_kwh * shape / shape.mean()
    return scaled


def sun_height(*, day: NDArray[Any], solar_h: NDArray[Any], latitude_deg: float) -> Hours:
    """Sine of the sun's height above the horizon at days of the year and solar hours, zero at night.

    h = max(0, sin(phi) sin(delta) + cos(phi) cos(delta) cos(15 deg * (solar_h - 12)))

    Source: Cooper, Solar Energy 12, 1969.
    """
    tilt = -EARTH_TILT_RAD * np.cos(2 * np.pi * (day + SOLSTICE_DAYS_BEFORE_NEW_YEAR) / 365.25)
    latitude, angle = math.radians(latitude_deg), np.radians((solar_h - 12) * DEGREES_AN_HOUR)
    height = math.sin(latitude) * np.sin(tilt) + math.cos(latitude) * np.cos(tilt) * np.cos(angle)
    above: Hours = np.maximum(height, 0.0)
    return above


def _weather(hours: int, lasting_h: float, seed: int) -> Hours:
    """A wandering series of mean 0 and standard deviation 1 that forgets itself over `lasting_h`."""
    kept = math.exp(-1 / lasting_h)
    noise = np.random.default_rng(seed).standard_normal(hours)
    noise[1:] *= math.sqrt(1 - kept**2)
    return np.array(list(accumulate(noise, lambda before, now: kept * before + now)))
