"""A way out of a conflict as changes of the scenario, so that a copy can be planned with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from planner.inputs.scenario import Scenario, canonical_text, value_at, with_changes
from planner.program.solution import TASKS
from planner.trace.records import Record

SUFFIX = " (repaired)"
BEYOND = 1 + 1e-5  # so that rounding does not close a limit again


def repairs(infeasibility: Mapping[str, Any]) -> list[Record]:
    """The ways out of a conflict that can be written into a scenario, the cheapest plan first.

    Those that give up some of the work are the last resort, and leaving out a job is the reader's to decide.
    """
    ways = [way for way in infeasibility["families"] if way["rows"] and way["alone_enough"]]
    ways = [way for way in ways if not any(row["limit"] == "jobs" for row in way["rows"])]

    def rank(way: Record) -> tuple[bool, float]:
        cost = way["cost_usd"]
        return any(row["limit"] in TASKS for row in way["rows"]), math.inf if cost is None else cost

    return sorted(ways, key=rank)


def repaired_text(scenario: Scenario, way: Mapping[str, Any]) -> str:
    """The scenario with its limits moved by one way out of its conflict, as the text of a file.

    A way that was found by trying says its changes itself.

    Raises:
        ScenarioError: the moved limits are none that a scenario may state.
    """
    title = scenario.title.removesuffix(SUFFIX) + SUFFIX
    changes = repair_changes(scenario, way["rows"]) if way.get("rows") else dict(way["changes"])
    return canonical_text(with_changes(scenario, changes | {"title": title}))


def repair_changes(scenario: Scenario, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What to write where, by paths as `--set` takes them, so that limits give way by what their rows say."""
    moved = _Moved(scenario)
    for row in rows:
        moved.give(row["limit"], row["where"], row["period"], float(row["by"]) * BEYOND, row)
    return moved.changes()


@dataclass
class _Moved:
    """Limits of a scenario as they are moved, one after the other, in the units of the solver."""

    scenario: Scenario
    by_period: dict[str, tuple[str, list[float]]] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)

    def give(self, limit: str, where: str, period: str, by: float, row: Mapping[str, Any]) -> None:
        """Let one limit give way."""
        policy = self.scenario.policy
        match limit:
            case "power":
                site = next(one for one in self.scenario.sites if one.name == where)
                self._period(f"sites.{where}.power_cap", "kW", site.power_cap_kw, period, by)
            case "shared power":
                group = next(one for one in self.scenario.power_groups if one.name == where)
                self._period(f"power_groups.{where}.power_cap", "kW", group.power_cap_kw, period, by)
            case "space":
                site = next(one for one in self.scenario.sites if one.name == where)
                self.plain[f"sites.{where}.racks"] = site.racks + math.ceil(by)
            case "supply":
                offer = next(one for one in self.scenario.market if one.sku == where)
                self._period(f"market.{where}.supply_nodes", "", offer.supply_nodes or (), period, by)
            case "curtailment":
                site = next(one for one in self.scenario.sites if one.name == where)
                left = math.floor((site.curtailment_kw or 0.0) - by)
                if left > 0:
                    self.plain[f"sites.{where}.curtailment"] = f"{left} kW"
                else:
                    self.plain[f"sites.{where}.curtailment_obliged"] = False
            case "minimum order":
                self._minimum(where.partition(" at ")[0], by)
            case "budget":
                self._period("policy.budget", "USD", policy.budget_usd or (), period, by)
            case "carbon cap by period":
                caps = policy.carbon_cap_by_period_kgco2e or ()
                self._period("policy.carbon_cap_by_period", "kg", caps, period, by)
            case "carbon cap":
                self.plain["policy.carbon_cap"] = f"{math.ceil((policy.carbon_cap_kgco2e or 0.0) + by)} kg"
            case "money cap":
                self.plain["policy.money_cap"] = f"{math.ceil((policy.money_cap_usd or 0.0) + by)} USD"
            case "end of life":
                self._end_of_life(where.removeprefix("standing "))
            case "availability":
                paths = [f"services.{name}.availability" for name in row["services"]]
                for path in paths or ["reliability.spare_confidence"]:
                    self.plain[path] = min(row["kept_fraction"], self.plain.get(path, 1.0))
            case "deadlines":
                job = next(one for one in self.scenario.training if one.name == where)
                self.plain[f"training.{where}.deadline"] = job.deadline + timedelta(days=math.ceil(by / 24))
            case "demand":
                service = next(one for one in self.scenario.services if one.name == where)
                self._period(f"services.{where}.peak_rate", "/s", service.peak_requests_per_s, period, -by)
            case "work":
                self._work(where, period, float(row["share_fraction"]) * BEYOND)
            case _:
                raise ValueError(f"no scenario says how '{limit}' gives way")

    def changes(self) -> dict[str, Any]:
        """Everything that was moved, as values of a file."""
        listed = {
            path: [f"{value:.9g} {unit}" if unit else round(value) for value in values]
            for path, (unit, values) in self.by_period.items()
        }
        return listed | self.plain

    def _period(self, path: str, unit: str, values: Sequence[float], period: str, by: float) -> None:
        """Move the value of one period, to the next whole number where that eases it."""
        held = self.by_period.setdefault(path, (unit, [float(value) for value in values]))[1]
        at = self.scenario.horizon.period_labels.index(period)
        held[at] = math.ceil(held[at] + by) if by > 0 else max(0.0, held[at] + by)

    def _minimum(self, sku: str, by: float) -> None:
        """A minimum order is one for all sites: the site that has to give most decides."""
        offer = next(one for one in self.scenario.market if one.sku == sku)
        path = f"market.{sku}.minimum_nodes"
        left = max(0, math.floor((offer.minimum_nodes or 0) - by))
        before = self.plain.get(path, offer.minimum_nodes)
        self.plain[path] = min(left, before or 0) or None

    def _end_of_life(self, group: str) -> None:
        """Cohorts of a node group may stay: without a life they have no end."""
        sku, _, site = group.partition(" at ")
        for number, cohort in enumerate(self.scenario.fleet):
            if (cohort.sku, cohort.site) == (sku, site):
                for key in ("life", "extend_to", "extension_cost"):
                    if value_at(self.scenario, f"fleet[{number}].{key}") is not None:
                        self.plain[f"fleet[{number}].{key}"] = None

    def _work(self, name: str, period: str, share: float) -> None:
        """Work is stated in hours or items and given up in node-hours: the share is the same."""
        pool = next(one for one in self.scenario.pools if one.name == name)
        at = self.scenario.horizon.period_labels.index(period)
        way, need = pool.way, pool.need
        left = (1.0 - share) * need[at]
        unit = way.unit.removeprefix("1")
        # What has no unit is counted whole: people.
        self._period(
            f"pools.{name}.{way.key}", unit, need, period, (left if unit else math.floor(left)) - need[at]
        )
