"""Batteries and cells of the sun that the site of a small scenario may have, for tests."""

from __future__ import annotations

from typing import Any

from planner.inputs.loading import data_folder
from planner.inputs.scenario import Scenario, load_scenario, with_changes

BATTERY = {
    "battery": "2 MWh",
    "battery_hours": "4 h",
    "battery_efficiency": 0.81,
    "battery_price": "300 USD/kWh",
    "battery_embodied": "104 kg/kWh",
    "battery_life": "12 y",
}
SUN = {"solar": "60 kW", "solar_yield": 0.2, "solar_latitude": 37.0, "solar_longitude": -120.0}
HOURLY = {"policy.levers": ["shift"], "sites.stockholm.grid": "us-camx"}
POOL = {
    "training": None,
    "pools": [
        {
            "name": "research",
            "model": "llama-3-8b",
            "reference": "h100-8",
            "gpu_time": ["40000 h", "40000 h"],
        }
    ],
    "market": [{"sku": "h100-8", "lead_time": "0 d", "order_nodes": 1}],
}
MORE_SUN = {
    "solar_more": "1 MW",
    "solar_price": "1500 USD/kW",
    "solar_upkeep": 0.012,
    "solar_embodied": "1900 kg/kW",
    "solar_life": "30 y",
    "solar_spread": 0.35,
} | {key: value for key, value in SUN.items() if key != "solar"}


def shipped(changes: dict[str, Any]) -> Scenario:
    """The job of the shipped scenario on new nodes, with changes."""
    return with_changes(load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), changes)


def at_site(keys: dict[str, Any]) -> dict[str, Any]:
    """Keys of its one site as changes."""
    return {f"sites.stockholm.{key}": value for key, value in keys.items()}
