"""Writes docs/melange.md: which GPUs serve a mix of requests at the least cost, and what carbon adds.

    python -m benchmarks.studies.melange

The question is Mélange's public example, from data/published/program.csv, at several rates. Watts, kilograms
and grams come from the facts of the catalogue; the carbon of each mix is worked out anew at each run.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.embodied import server_kgco2e
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import data_folder, load_catalogue
from planner.performance.power import node_power_kw
from planner.validation.melange import Mix, best_mix, case_columns
from solver.problem import Objective

PAGE = Path(__file__).resolve().parents[2] / "docs" / "melange.md"
# The accelerator and the server of the catalogue for each GPU; no server of A10G is known, so that the L4's
# host, of the same class, is used instead.
HARDWARE = {"A10G": ("a10g", "l4-8"), "A100-80GB": ("a100-sxm-80gb", "dgx-a100-80")}
CASES = ((5.0, 1), (12.0, 1), (30.0, 1), (45.0, 4), (60.0, 1), (240.0, 1))  # requests/s, slices of a bucket
GRIDS = {"se": "Sweden", "pl": "Poland"}
PUE, PRICE, LIFE = "pue.aws-global", "finance.carbon_price", "embodied.lifetime"
# Of mixes that are equally good the one that is better in the other.
MONEY, CARBON = Objective(1.0, 1e-6), Objective(1e-6, 1.0)


def hourly_kgco2e(facts: Catalogue, gpu: str, grid: str) -> dict[str, float]:
    """Carbon of one GPU with its share of the server, for an hour held, idle and active.

    held = (E_gpu + E_host / n) / life;  active = (TDP + P_host / n) * PUE * CI;  idle likewise
    """
    board, host = HARDWARE[gpu]

    def of_board(name: str) -> float:
        return float(facts.fact(f"accelerator.{board}.{name}").value)

    def of_host(name: str) -> float:
        return float(facts.fact(f"server.{host}.{name}").value)

    count = of_host("accelerators")
    made = server_kgco2e(
        accelerators=count, accelerator_kgco2e=of_board("embodied"), host_kgco2e=of_host("embodied")
    )
    hour = calendar_share_kgco2e(
        embodied_kgco2e=made / count,
        used_h=1.0,
        lifetime_h=lifetime_h(lifetime_y=facts.fact(LIFE).value),
    )

    def energy(host_kw: float, board_kw: float) -> float:
        node_kwh = float(node_power_kw(host_kw=host_kw, accelerators=count, accelerator_kw=board_kw))
        drawn = facility_energy_kwh(it_energy_kwh=node_kwh / count, pue=facts.fact(PUE).value)
        return float(
            operational_kgco2e(
                facility_energy_kwh=drawn, grid_kgco2e_per_kwh=facts.fact(f"grid.{grid}.intensity").value
            )
        )

    return {
        "held": float(hour),
        "idle": energy(of_host("host_idle_power"), of_board("idle_power")),
        "active": energy(of_host("host_power"), of_board("tdp")),
    }


def read_example() -> dict[str, Any]:
    """Prices, throughputs and shares of the published example."""
    with (data_folder() / "published" / "program.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        found: dict[str, Any] = json.loads(next(row["inputs"] for row in rows if row["id"] == "PG001"))
    return found


def mixes(facts: Catalogue, grid: str, rate_per_s: float, slices: int) -> dict[str, Mix]:
    """The mix of least cost, of least carbon, and of least cost with carbon at its price."""
    example = read_example()
    columns = case_columns(example["gpu_info"], example["workload_distribution"], rate_per_s, slices)
    each = [hourly_kgco2e(facts, gpu, grid) for gpu in example["gpu_info"]]
    emitted: dict[str, Any] = {
        f"{name}_kgco2e_per_h": [one[name] for one in each] for name in ("held", "idle", "active")
    }
    priced = Objective(1.0, facts.fact(PRICE).value)
    aims = {"cost": MONEY, "priced": priced, "carbon": CARBON}
    return {name: best_mix(**columns, **emitted, objective=aim) for name, aim in aims.items()}


def switch_usd_per_t(cheap: Mix, clean: Mix) -> float | None:
    """The carbon price from which the clean mix costs no more than the cheap one; None where they are one."""
    saved_kg = cheap.kgco2e_per_h - clean.kgco2e_per_h
    return 1000.0 * (clean.usd_per_h - cheap.usd_per_h) / saved_kg if saved_kg > 1e-9 else None


def page(facts: Catalogue) -> str:
    """The whole page."""
    example = read_example()
    names = list(example["gpu_info"])
    price = facts.fact(PRICE)
    parts = [
        "# What carbon adds to a mix of GPUs",
        "Mélange ([arXiv 2404.14527](https://arxiv.org/abs/2404.14527)) asks which mix of GPUs serves a mix "
        "of request sizes\nat the least cost. Its question is put to our program: each size of request is a "
        "service, each slice of its rate a\nreplica that fills a part of a GPU, each kind of GPU a group "
        "of nodes paid by the hour. In its public example and in nine\n"
        "further cases ours gives the published or "
        "the independently computed optimum (`everfleet validate`;\n`tests/validation/test_melange.py`). "
        "This page, written by\n`python -m benchmarks.studies.melange`, then counts carbon too.",
        "## Carbon of an hour of one GPU\n\n" + _hours(facts, names),
        "Embodied carbon is the GPU's and its share of the host, spread over "
        f"{facts.fact(LIFE).stated}. Energy is at the rated\npower of the GPU and its share of the host "
        "while a request is served, at idle power else, times a PUE of "
        f"{facts.fact(PUE).value:g}.\nRated power is an upper end; the hours for which the provider holds a "
        "GPU for nobody are left out. The A10G's host is\nthat of a server with eight L4.",
    ]
    parts += [f"## {place}\n\n{_table(facts, grid, names)}" for grid, place in GRIDS.items()]
    parts.append(
        "Mixes are "
        + " + ".join(names)
        + f". `at {1000 * price.value:g} USD/t` is the mix of least cost with carbon at that price "
        f"({price.kind}, {1000 * (price.low or 0):g} to {1000 * (price.high or 0):g}).\n`pays from` is the "
        "carbon price from which the mix of least carbon costs no more than the cheapest."
    )
    parts.append(_said(facts))
    return "\n\n".join(parts) + "\n"


def _hours(facts: Catalogue, names: Sequence[str]) -> str:
    rows = []
    for gpu in names:
        each = [hourly_kgco2e(facts, gpu, grid) for grid in GRIDS]
        cells = [f"{1000 * each[0]['held']:.1f}"]
        cells += [f"{1000 * one['idle']:.0f} / {1000 * one['active']:.0f}" for one in each]
        rows.append((gpu, *cells))
    head = ("gCO2e", "embodied", *(f"idle / active in {place}" for place in GRIDS.values()))
    return _markdown(head, rows)


def _table(facts: Catalogue, grid: str, names: Sequence[str]) -> str:
    head = ["requests/s", "slices"]
    for aim in ("least cost", f"at {1000 * facts.fact(PRICE).value:g} USD/t", "least carbon"):
        head += [aim, "USD/h", "kg/h"]
    rows = []
    for rate, slices in CASES:
        found = mixes(facts, grid, rate, slices)
        cells = [f"{rate:g}", str(slices)]
        for mix in found.values():
            cells += [
                " + ".join(str(n) for n in mix.accelerators),
                f"{mix.usd_per_h:.2f}",
                f"{mix.kgco2e_per_h:.3f}",
            ]
        switch = switch_usd_per_t(found["cost"], found["carbon"])
        rows.append((*cells, "the same mix" if switch is None else f"{switch:,.0f} USD/t"))
    return _markdown((*head, "pays from"), rows)


def _said(facts: Catalogue) -> str:
    """What the tables come to, counted."""
    found = [mixes(facts, grid, rate, slices) for grid in GRIDS for rate, slices in CASES]
    moved = sum(not (one["cost"].accelerators == one["priced"].accelerators).all() for one in found)
    cleaner = [one for one in found if switch_usd_per_t(one["cost"], one["carbon"]) is not None]
    saved = [100 * (1 - one["carbon"].kgco2e_per_h / one["cost"].kgco2e_per_h) for one in cleaner]
    dearer = [100 * (one["carbon"].usd_per_h / one["cost"].usd_per_h - 1) for one in cleaner]
    price = 1000 * facts.fact(PRICE).value
    at_price = f"At {price:g} USD/t the mix is another in {moved} of {len(found)} cases"
    if not cleaner:
        return f"{at_price}, and no mix has less carbon than the cheapest."
    least = min(switch_usd_per_t(one["cost"], one["carbon"]) or 0.0 for one in cleaner)
    return (
        f"{at_price}. In {len(cleaner)} of {len(found)} another mix\nhas less carbon: {min(saved):.0f} to "
        f"{max(saved):.0f} % less for {min(dearer):.0f} to {max(dearer):.0f} % more money, which only a "
        f"price from {least:,.0f} USD/t on would pay for.\nAn hour of a rented GPU costs dollars and its "
        "carbon cents: a carbon price decides between mixes whose prices are\nclose, a carbon cap can ask "
        "for the rest, and the grid moves carbon more than the mix does."
    )


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(load_catalogue()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
