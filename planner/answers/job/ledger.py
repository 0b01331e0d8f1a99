"""The job as a ledger: lines by phase and scope, checked against the traced totals before it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from carbon.federated import FederatedCarbon
from carbon.ledger import Ledger
from carbon.lines import Line, WaterLine
from carbon.scopes import Category
from carbon.signals import GridSignal
from planner.answers.job.equations import WHOLE, share_fraction
from planner.answers.job.footprint import Footprint
from planner.answers.job.scores import market_based, whole_kgco2e
from planner.answers.job.work import Phase
from planner.physics.surroundings import lines_kgco2e
from planner.physics.upstream import BOUNDARY, direct_fraction, is_marginal, of_whole_lives, scope_note
from planner.trace.quantities import Fact, Traced, chosen, derive
from planner.trace.records import Record

TOLERANCE = 1e-9
OWN_FIGURE = "average/direct/production"  # what a grid intensity without a signal is taken for
_NAMES = {"fine_tuning": "fine-tuning", "end_of_life": "end of life"}
_CATEGORIES = {"end_of_life": Category.WASTE}
UPSTREAM = Category.FUEL_AND_ENERGY


class TotalsDisagree(RuntimeError):
    """The parts do not add up to the total: a fault of this program, shown in place of a wrong number."""


def shown_phase(name: str) -> str:
    """A phase as the ledger and a reader call it."""
    return _NAMES.get(name, name)


def ledger_of(footprint: Footprint, market_kgco2e_per_kwh: float | None) -> Ledger:
    """Lines of carbon and water of every phase.

    Raises:
        TotalsDisagree: the lines add up to something else than the totals.
    """
    lines = [line for line, _ in traced_lines(footprint, market_kgco2e_per_kwh)]
    water = [line for phase in footprint.phases for line in _water(footprint, phase)]
    ledger = Ledger(tuple(lines), tuple(water))
    by_phase = sum(float(ledger.phase_kgco2e(phase, "location")) for phase in ledger.phases)
    for what, parts, total in (
        ("lines", ledger.total_kgco2e("location"), footprint.carbon),
        ("phases", by_phase, footprint.carbon),
        ("water on site", ledger.onsite_l, footprint.onsite_l),
        ("water off site", ledger.offsite_l, footprint.offsite_l),
    ):
        _agree(what, float(parts), total)
    return ledger


def traced_lines(footprint: Footprint, market_kgco2e_per_kwh: float | None) -> list[tuple[Line, Traced]]:
    """Lines of carbon of every phase, each with the traced number that it is."""
    return [pair for phase in footprint.phases for pair in _lines(footprint, phase, market_kgco2e_per_kwh)]


def scope_rows(footprint: Footprint, ledger: Ledger) -> list[Record]:
    """Carbon by scope; scope 2 in its two ways, of which only the location-based one is in the total.

    Electricity by marginal hours is of no scope.
    """
    bought = "electricity, marginal (no scope)" if marginal(footprint) else "2, location-based"
    rows: list[Record] = [
        {"scope": "1, burnt on site", "kgco2e": _of_scope(footprint, "1"), "in_total": "yes"},
        {"scope": bought, "kgco2e": _of_scope(footprint, "2"), "in_total": "yes"},
    ]
    market, stated = market_based(footprint), any(line.market_kgco2e is not None for line in ledger.lines)
    if stated and market is not None:
        rows.append({"scope": "2, market-based", "kgco2e": market[1], "in_total": "no, next to it"})
    for category in ledger.scopes().scope_3_kgco2e:
        number, name = f"3.{int(category)}", category.name.lower().replace("_", " ")
        rows.append({"scope": f"{number}, {name}", "kgco2e": _of_scope(footprint, number), "in_total": "yes"})
    return rows


def _of_scope(footprint: Footprint, scope: str) -> Traced:
    """The lines of a scope together."""
    held = {
        f"{line.phase.replace('-', '_').replace(' ', '_')}_{line.name.replace(' ', '_')}_kgco2e": node
        for line, node in traced_lines(footprint, None)
        if scope == (str(line.scope) if line.category is None else f"3.{int(line.category)}")
    }
    if not held:
        return chosen("scope_kgco2e", 0.0, "no phase of a job burns anything on site")
    return derive(lines_kgco2e, WHOLE, **held)


def signal_of(footprint: Footprint) -> GridSignal:
    """How the grid of the job was counted."""
    return electricity_of(footprint.operational)


def marginal(footprint: Footprint) -> bool:
    """Whether the hours of the job are of the stations that answer a change."""
    return is_marginal(footprint.operational.boundary.get("grid", ""))


def burnt_share(footprint: Footprint) -> Fact | None:
    """Share of the electricity that power stations burn, where its factor is of whole lives; None else.

    It is of the site. Electricity of phones is others', on many grids: all of it stays in the use of what is
    sold.
    """
    setting, site = footprint.setting, footprint.setting.job.site
    own = site.hourly is not None or site.grid_kgco2e_per_kwh is not None
    if own or not of_whole_lives(signal_of(footprint)):
        return None
    return direct_fraction(setting.fact, setting.catalogue.has, site.grid)


def upstream_note(footprint: Footprint) -> str:
    """What scope 2 holds or leaves out; empty where upstream has a line of its own."""
    tag = footprint.operational.boundary.get("grid")
    return scope_note(tag, parted=burnt_share(footprint) is not None)


def electricity_of(running: Traced) -> GridSignal:
    """How the grid intensity was counted; of one's own figure as `OWN_FIGURE` takes it."""
    return GridSignal.parse(running.boundary.get("grid", OWN_FIGURE))


def _lines(footprint: Footprint, phase: Phase, market: float | None) -> Iterator[tuple[Line, Traced]]:
    name: Any = shown_phase(phase.name)
    if phase.federated is not None:
        parts = phase.federated.parts
        carbon = FederatedCarbon(**{part: float(node.value) for part, node in parts.items()})
        lines, share = carbon.lines(electricity_of(footprint.operational)), burnt_share(footprint)
        for line, node in zip(lines, parts.values(), strict=True):
            if share is None:
                yield line, node
            elif line.scope == 2:
                yield from _parted(line, node, share)
            else:
                yield replace(line, electricity=None), node
        return
    if phase.operational is not None and phase.facility_kwh is not None:
        energy, whole, signal = float(phase.facility_kwh.value), phase.operational, signal_of(footprint)
        electricity = Line(
            "electricity",
            name,
            2,
            float(whole.value),
            "facility",
            electricity=signal,
            market_kgco2e=None if market is None else energy * market,
        )
        if (share := burnt_share(footprint)) is None:
            yield electricity, whole
        else:
            yield from _parted(electricity, whole, share)
    if phase.embodied is not None:
        category = _CATEGORIES.get(phase.name, Category.CAPITAL_GOODS)
        hardware = Line("hardware", name, 3, float(phase.embodied.value), phase.boundary, category)
        yield hardware, phase.embodied


def _parted(line: Line, whole: Traced, share: Fact) -> Iterator[tuple[Line, Traced]]:
    """Bought electricity as what power stations burn for it, and what lies upstream of them."""
    assert line.electricity is not None, "it is bought electricity"
    burnt = (whole * share).named("burnt_kgco2e")
    rest = (whole - burnt).named("upstream_kgco2e")
    yield Line(f"upstream of {line.name}", line.phase, 3, float(rest.value), BOUNDARY, UPSTREAM), rest
    direct = replace(line.electricity, scope="direct")
    yield replace(line, kgco2e=float(burnt.value), electricity=direct), burnt


def _water(footprint: Footprint, phase: Phase) -> Iterator[WaterLine]:
    if phase.it_kwh is None or phase.facility_kwh is None:
        return
    name: Any = "training" if phase.federated is not None else shown_phase(phase.name)
    onsite = float(phase.it_kwh.value) * float(footprint.setting.onsite_l_per_kwh.value)
    offsite = float(phase.facility_kwh.value) * float(footprint.setting.offsite_l_per_kwh.value)
    yield WaterLine(phase.name, name, onsite, offsite)


def _agree(what: str, parts: float, total: Traced) -> None:
    whole = float(total.value)
    if abs(parts - whole) > TOLERANCE * max(abs(whole), abs(parts)):
        raise TotalsDisagree(f"{what} add up to {parts!r} and the total is {whole!r} {total.unit}: not shown")


def metered_rows(footprint: Footprint) -> list[Record]:
    """Electricity of metered phases next to the figure that the meter's own tool wrote, if it wrote one."""
    return [
        {
            "phase": shown_phase(phase.name),
            "tool": phase.done.tool,
            "tool_kgco2e": chosen("tool_kgco2e", phase.done.tool_kgco2e, f"as {phase.done.tool} wrote it"),
            "electricity_kgco2e": phase.operational or _no_power(),
        }
        for phase in footprint.phases
        if phase.done is not None and phase.done.tool_kgco2e is not None
    ]


def phase_rows(footprint: Footprint) -> list[Record]:
    """Carbon and energy by phase, each with its share of the total."""
    return [
        {
            "phase": shown_phase(phase.name),
            "kgco2e": whole_kgco2e(phase),
            "of_total_fraction": share_of_whole(whole_kgco2e(phase), footprint.carbon),
            "electricity_kgco2e": phase.operational or _no_power(),
            "hardware_kgco2e": phase.embodied
            or chosen("hardware_kgco2e", 0.0, "the phase rests on no hardware of its own"),
            "energy_kwh": phase.facility_kwh
            or chosen("energy_kwh", 0.0, "the phase draws no power of its own"),
            "what": phase.said,
        }
        for phase in footprint.phases
    ]


def share_of_whole(part: Traced, whole: Traced) -> Traced:
    """How much of the whole a part is."""
    return derive(share_fraction, WHOLE, part_kgco2e=part, whole_kgco2e=whole)


def _no_power() -> Traced:
    return chosen("electricity_kgco2e", 0.0, "the phase draws no power of its own")
