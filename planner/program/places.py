"""Terms of sites as a table of the program, and the bills of a plan for space and for peaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.curtailment import Curtailment
from planner.physics.places import Terms, peak_bill_usd, space_bill_usd, there_kw
from planner.trace.quantities import Part, Traced, chosen, derive, total
from solver.problem import Places, Problem

BILLS = ("space", "peak", "curtailment")  # parts of the money whose rows are sites


def place_table(inputs: Inputs, terms: Terms, contracts: Curtailment | None) -> Places:
    """What each site charges, and what it is offered for curtailment."""
    shape = (len(inputs.sites), inputs.periods)
    offered: dict[str, Any] = {}
    if contracts is not None:
        offered = {
            "curtailed_kw": contracts.reduction_kw.value,
            "curtailed_fraction": contracts.lost_fraction.value,
            "curtailed_usd": -np.asarray(contracts.usd.value),
            "curtailment_obliged": contracts.obliged,
        }
    return Places(
        **offered,
        space_usd_per_kw=np.broadcast_to(terms.space_usd_per_kw.value, shape),
        committed_kw=np.broadcast_to(terms.committed_kw.value, shape),
        peak_usd_per_kw=np.broadcast_to(terms.peak_usd_per_kw.value, shape),
    )


def shared_power(inputs: Inputs) -> dict[str, Any]:
    """Columns of the limits: power that several sites share."""
    groups, names = inputs.scenario.power_groups, [site.name for site in inputs.sites]
    return {
        "shared_power_kw": np.array([one.power_cap_kw for one in groups]).reshape(-1, inputs.periods),
        "shared_power_sites": np.array([[name in one.sites for name in names] for one in groups], dtype=bool),
        "shared_power_name": tuple(one.name for one in groups),
    }


@dataclass(frozen=True)
class PlaceBills:
    """What a plan takes of each site and pays for it, by site and period (S, T)."""

    occupied_kw: Traced
    space_usd: Traced
    peak_kw: Traced | None  # None where no site charges for peaks
    peak_usd: Traced | None
    curtailment_usd: Traced | None = None  # below zero; None where none is signed

    def parts(self) -> dict[str, Part]:
        """Parts of the plan's money, a row for each site."""
        once = chosen("bills", np.ones(np.shape(self.space_usd.value)), "one bill a period", "1")
        bills = (self.space_usd, self.peak_usd, self.curtailment_usd)
        return {name: (bill, once) for name, bill in zip(BILLS, bills, strict=True) if bill is not None}


def place_bills(
    problem: Problem,
    terms: Terms,
    rated: Part | None,
    rated_groups: NDArray[np.intp],
    drawn: Mapping[str, Part | None],
    drawn_groups: Mapping[str, NDArray[np.intp]],
) -> PlaceBills:
    """The bills of a plan: `rated` is what its nodes in service are rated for, `drawn` what they draw."""
    occupied = _there("occupied_kw", problem, {"nodes": rated}, {"nodes": rated_groups})
    space = derive(
        space_bill_usd,
        space_usd_per_kw=terms.space_usd_per_kw,
        occupied_kw=occupied,
        committed_kw=terms.committed_kw,
    )
    if not np.any(terms.peak_usd_per_kw.value):
        return PlaceBills(occupied, space, None, None)
    peak = _there("peak_kw", problem, drawn, drawn_groups)
    return PlaceBills(
        occupied,
        space,
        peak,
        derive(peak_bill_usd, peak_usd_per_kw=terms.peak_usd_per_kw, peak_kw=peak),
    )


def _there(
    name: str, problem: Problem, parts: Mapping[str, Part | None], groups: Mapping[str, NDArray[np.intp]]
) -> Traced:
    """A sum of parts at each site; nodes that are rented elsewhere stand at none."""
    place = np.where(problem.node_groups.off_site, -1, problem.node_groups.site)
    sites = np.arange(len(problem.site_names))[:, None]
    found: dict[str, Traced] = {}
    for word, part in parts.items():
        if part is None or not np.any(part[1].value):
            continue
        there = chosen("there_ratio", (sites == place[groups[word]]).astype(float), "where it stands")
        found[word] = derive(there_kw, each_kw=part[0], counts=part[1], there_ratio=there).named(name)
    if not found:
        return chosen(name, np.zeros((len(sites), problem.periods)), "nothing stands at any site", "kW")
    return total(name, found, "at each site and in each period")
