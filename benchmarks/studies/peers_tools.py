"""Asks CodeCarbon and EcoLogits, in an environment that holds them: questions come and answers go as JSON.

Started by peers.py. The tools are asked by their core functions, with the network shut off.
"""

from __future__ import annotations

import json
import socket
import sys
from importlib.metadata import version
from typing import Any


def main() -> None:
    """Answer what stands on the standard input."""
    socket.socket.connect = _refuse  # type: ignore[method-assign]
    answers = [{"job": job["job"], **row} for job in json.load(sys.stdin) for row in _answers(job)]
    json.dump(answers, sys.stdout)


def _answers(job: dict[str, Any]) -> list[dict[str, Any]]:
    rows = _ecologits(job) if "output_tokens" in job else []
    # Energy that no counter has metered is that of EcoLogits.
    energy_kwh = job.get("energy_kwh") or rows[0]["value"]
    return [*_codecarbon(job["country"], energy_kwh * job["codecarbon_pue"]), *rows]


def _codecarbon(country: str, energy_kwh: float) -> list[dict[str, Any]]:
    from codecarbon.core.emissions import Emissions
    from codecarbon.core.units import Energy
    from codecarbon.external.geography import GeoMetadata
    from codecarbon.input import DataSource

    place = GeoMetadata(country_iso_code=country)
    tool = Emissions(DataSource())
    carbon = tool.get_private_infra_emissions(Energy.from_energy(kWh=energy_kwh), place)
    return [
        _row("codecarbon", "energy passed in", energy_kwh, "kWh"),
        _row("codecarbon", "carbon", carbon, "kgCO2e"),
    ]


def _ecologits(job: dict[str, Any]) -> list[dict[str, Any]]:
    from ecologits.electricity_mix_repository import electricity_mixes
    from ecologits.impacts.llm import compute_llm_impacts

    mix = electricity_mixes.find_electricity_mix(job["country"])
    one = compute_llm_impacts(
        model_active_parameter_count=job["parameters"] / 1e9,
        model_total_parameter_count=job["parameters"] / 1e9,
        output_token_count=job["output_tokens"],
        if_electricity_mix_adpe=mix.adpe,
        if_electricity_mix_pe=mix.pe,
        if_electricity_mix_gwp=mix.gwp,
        if_electricity_mix_wue=mix.wue,
        datacenter_pue=job["pue"],
        datacenter_wue=0.0,
    )
    found = (
        ("energy", one.usage.energy.value, "kWh"),
        ("carbon of use", one.usage.gwp.value, "kgCO2e"),
        ("carbon of hardware", one.embodied.gwp.value, "kgCO2e"),
    )
    return [_row("ecologits", what, value * job["requests"], unit) for what, value, unit in found]


def _row(tool: str, quantity: str, value: float, unit: str) -> dict[str, Any]:
    return {"tool": tool, "version": version(tool), "quantity": quantity, "value": value, "unit": unit}


def _refuse(*_: object) -> None:
    raise OSError("the tools are asked without a network")


if __name__ == "__main__":
    main()
