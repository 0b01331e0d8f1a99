"""How the energy of a contract lies in the hours of a period."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

import numpy as np

from carbon.slots import HOURS_A_DAY
from carbon.synthetic import sun_height
from planner.inputs.resolved import Inputs
from planner.inputs.scenario.schema_fleet import Contract
from planner.physics.hour_series import Day, whole_days
from planner.trace.columns import Floats
from planner.trace.errors import InputError

DEGREES_AN_HOUR = 15.0
A_YEAR = 2025  # of 365 days: profiles are laid over their days by date


def days_of(inputs: Inputs, period: int, calendar: Mapping[Day, int]) -> dict[Day, int]:
    """Days of a period and the type of each: those whose hours are known, else all of its months, alike."""
    if calendar:
        return dict(calendar)
    horizon = inputs.scenario.horizon
    months = [(horizon.period_starts[period].month - 1 + i) % 12 + 1 for i in range(horizon.period_months)]
    year = [date(A_YEAR, 1, 1) + timedelta(days=i) for i in range(365)]
    return {(day.month, day.day): 0 for day in year if day.month in months}


def profile_ratio_of(inputs: Inputs, contract: Contract, days: Mapping[Day, int]) -> Floats | None:
    """Power of a contract in each hour of some days [D, 24], over its mean; None where it is not known.

    The sun has no weather: its days differ by the season alone.

    Raises:
        InputError: a file lacks one of the days, or gives nothing on any of them.
    """
    match contract.profile:
        case None:
            return None
        case "flat":
            return np.ones((len(days), HOURS_A_DAY))
        case "sun":
            power = _sun(contract, days)
        case name:
            shape = inputs.scenario.shapes.outputs[name]
            known = whole_days(shape.first_hour, shape.hours_ratio, name).of_day
            if lacking := [day for day in days if day not in known]:
                month, day = lacking[0]
                raise InputError(f"contracts.{contract.name}.profile: {name} lacks a whole {day}.{month}.")
            power = np.stack([known[day] for day in days])
    mean = float(power.mean())
    if mean <= 0:
        raise InputError(f"contracts.{contract.name}.profile: gives nothing in a whole period")
    found: Floats = power / mean
    return found


def _sun(contract: Contract, days: Mapping[Day, int]) -> Floats:
    """The sine of the sun's height, as of a plant that lies flat."""
    assert contract.profile_latitude_deg is not None, "refused on reading"
    assert contract.profile_longitude_deg is not None, "refused on reading"
    hours = (np.arange(HOURS_A_DAY) + 0.5 + contract.profile_longitude_deg / DEGREES_AN_HOUR) % HOURS_A_DAY
    number = np.array([(date(A_YEAR, *day) - date(A_YEAR, 1, 1)).days + 0.5 for day in days])
    found: Floats = sun_height(
        day=number[:, None], solar_h=hours[None, :], latitude_deg=contract.profile_latitude_deg
    )
    return found
