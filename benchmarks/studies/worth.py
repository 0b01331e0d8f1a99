"""Writes docs/worth.md: how much less carbon the levers bring at how little more money, family by family.

    python -m benchmarks.studies.worth [family ... | --page]

How plans are found stands in `worth_search.py`. What a run found is kept
in json next to these files, so that one family can be made again without the others.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.studies import worth_more
from benchmarks.studies.savings import FAMILIES as SHIPPED
from benchmarks.studies.worth_more import CHEAPEST as CHEAP
from benchmarks.studies.worth_more import CLEANEST as CLEAN
from benchmarks.studies.worth_more import More
from benchmarks.studies.worth_more import saved_fraction as saved_by
from benchmarks.studies.worth_search import (
    CAPPED_SECONDS,
    CHEAPEST,
    CLOCKS,
    DRAWS,
    KEPT,
    MORE_MONEY,
    NO_LEVER,
    OVER_CHEAPEST,
    OVER_USUAL,
    PLANS,
    STEPS,
    TIME_LIMIT_S,
    USUAL,
    Family,
    families,
    kept,
    measured,
)
from planner.inputs.scenario import load_scenario

PAGE = Path(__file__).resolve().parents[2] / "docs" / "worth.md"
AIM_FRACTION, SURE_FRACTION = 0.15, 0.05

INTRODUCTION = f"""\
# What the levers are worth

Written by `python -m benchmarks.studies.worth`: eight families that ship (`data/scenarios`) and four with
room for levers by the hour (`benchmarks/studies/families`). For each:

- **usual practice**: at today's sites, at the least cost by annual factors; nodes stay to the end of their
  life; a checkpoint every hour; 3 % of spares, and more where failures ask for them; replicas awake all
  day, work spread evenly;
- **least money**: the same work at the least cost, with every lever allowed;
- **least carbon** with no more than {MORE_MONEY:.0%} more money than usual practice, and than least money.

All of them are judged by one program, whose services follow their curve of the day through the hours of the
grid. So a plan is not better here because it was judged by other hours. Much of what is saved against usual
practice is no lever of the hour: it is nodes that are sold, work at the cleaner site, sizes and checkpoints,
which the column *without levers* has alone."""

METHOD = f"""\
## How to read it

Levers: *shift* moves pools and pausable runs between hours, *pack* lets replicas rest and nodes be off,
*lend* lets pools work on nodes of replicas that rest, *clock* lets runs, pools and replicas run at
{" and ".join(f"{clock:.0%}" for clock in CLOCKS[:-1])} of the highest clock. *Left out*: carbon that the
operation of the same fleet takes more without the lever; *alone*: what it takes less with it alone (lending
on top of packing). For clocks all but the fleet is chosen again. Blank: the fleet is too small without it, so
that its worth is the nodes that it saves. The two differ where
levers get in each other's way, and their sum is not what all of them bring.

Each program was searched for {TIME_LIMIT_S:.0f} s at the most, those with a cap on money for
{CAPPED_SECONDS:.0f} s, where a family does not state less; the gap says how far a plan may be from the
best of its kind. Where a gap is larger than a saving, the saving may be more, and what is measured is what
was found. Carbon is that which the plan minimises: electricity, and the making of what is bought; standing
nodes are sunk, and network, storage and building are left out of all plans alike.

Families that count carbon market-based are counted here by the grids where energy is drawn, without
contracts.

"""

FRONT = """\
## The front

Carbon under that of the *least money* plan, %, for so much more money. Each search begins from the best plan
that it may have, so that more money never brings less."""

REPLAYS = f"""\
## Where facts turn out otherwise

{DRAWS} draws of all facts within their ranges, the same for both plans of a pair. What the first period
buys, sells, moves and reserves stays; later periods and operation are planned anew: by money after the other
plan, and after the carbon plan by carbon at no more than {MORE_MONEY:.0%} more than that then takes (by
money, where that is not to be had). Demand is as stated, and no nodes are rented on top: where a first
period has too few nodes for what then is known, the draw says nothing and is counted."""


_KEYS, _MOST, _WAYS = (worth_more.offers()[part] for part in ("keys", "most", "ways"))
_CELLS = ", ".join(_KEYS[f"solar_{key}"] for key in ("price", "embodied", "life"))
_BATTERY = ", ".join(_KEYS[f"battery_{key}"] for key in ("price", "embodied", "life"))
ENERGY = f"""\
## With the sun and batteries at the sites

Not in the tables above. Each site may buy cells of the sun ({_CELLS}) and
batteries ({_BATTERY}) as well, up to {_MOST["solar_kw_per_kw"]:g} kW and
{_MOST["battery_kwh_per_kw"]:g} kWh for each kilowatt of its power cap. These figures, the yields and the
spread of clear and dull days by place are assumed (`benchmarks/studies/worth_more.toml`). Both count as if
they stood from the first day, with a year's share of price and making: building takes about a year, and a
plan for the next months states `solar_from` and `battery_from`. All levers by the hour, at full clocks.
*Without* and *with* each compare least carbon for {MORE_MONEY:.0%} more money with least money, which may buy
the same."""


WAYS = f"""\
## With formats and techniques of services

Not in the tables above, and without the sun and batteries. Each service may be done in any of
{", ".join(_WAYS["precisions"])}, and with {" and ".join(_WAYS["techniques"])}, where it loses no more than
{_WAYS["quality_budget"]} of its quality by published figures (`benchmarks/studies/worth_more.toml`): each way
counts at the middle of its published range, from the day on which it is in use. They save money first, so
that the cheapest plan has most of them; least carbon is that for {MORE_MONEY:.0%} more than it takes."""


def page(found: dict[str, Family], more: Mapping[str, More] | None = None) -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## At a glance\n\n" + _summary(found), _said(found)]
    parts += [_energy_said(more)] if more else []
    parts += [f"{FRONT}\n\n{_fronts(found)}"] if any(one.front for one in found.values()) else []
    if more:
        parts += [f"{ENERGY}\n\n{_energy(more)}", f"{WAYS}\n\n{_ways(more)}"]
    parts += [f"{REPLAYS}\n\n{_replays(found)}"] if any(one.replays for one in found.values()) else []
    parts += [METHOD.rstrip() + "\n\n" + _not_done(found)]
    parts += [_family(name, one) for name, one in found.items()]
    return "\n\n".join(parts) + "\n"


def _not_done(found: dict[str, Family]) -> str:
    """What the page leaves out."""
    missing = [name for name, one in found.items() if not (one.front and one.replays)]
    if not missing:
        return "Not done here: bands for other habits of usual practice."
    some = "" if len(missing) == len(found) else f" of {', '.join(missing)}"
    return (
        f"Not done here: fronts{some}, plans replayed under drawn futures, and bands for other habits of "
        "usual practice."
        if not some
        else f"Not done here: fronts and plans under drawn futures{some}; bands for other habits of usual "
        "practice."
    )


def _fronts(found: dict[str, Family]) -> str:
    """Carbon saved at each step of money."""
    rows = []
    for name, one in found.items():
        if not one.front:
            continue
        base = one.plans.get(CHEAPEST)
        cells = [
            "no plan"
            if (at := one.front.get(f"{more:.0%}")) is None or base is None
            else f"{100 * (1 - at.kgco2e / base.kgco2e):.1f}"
            for more in STEPS
        ]
        rows.append((name, *cells))
    return _markdown(("family", *(f"+{more:.0%}" for more in STEPS)), rows)


def _share(fraction: float | None, sign: str = "") -> str:
    return "no plan" if fraction is None else f"{100 * fraction:{sign}.1f}"


def _next_to(plans: worth_more.Plans, base: worth_more.Plans, name: str, kind: str) -> float | None:
    """Money or carbon of a plan over that of the same plan of others, less one."""
    one, other = plans[name], base[name]
    return None if one is None or other is None else getattr(one, kind) / getattr(other, kind) - 1.0


def _largest(*plans: worth_more.Plans) -> str:
    gaps = [held.gap_fraction for each in plans for held in each.values() if held is not None]
    return _gap_text(max(gaps)) if gaps else ""


def _energy(found: Mapping[str, More]) -> str:
    """What the sun and batteries add for each family."""
    rows = []
    for name, one in found.items():
        cheap, clean, alone = one.energy[CHEAP], one.energy[CLEAN], one.no_battery_kgco2e
        rows.append(
            (
                name,
                _share(saved_by(one.without)),
                f"**{_share(saved_by(one.energy))}**",
                "" if cheap is None or clean is None else _share(clean.usd / cheap.usd - 1, "+"),
                "" if cheap is None or alone is None else _share(1 - alone / cheap.kgco2e),
                f"{sum(one.solar_kw.values()):,.0f}",
                f"{sum(one.battery_kwh.values()):,.0f}",
                _largest(one.without, one.energy),
            )
        )
    head = (
        "family",
        "carbon under least money without, %",
        "with, %",
        "for money, %",
        "its fleet with the sun alone, %",
        "cells, kW",
        "battery, kWh",
        "largest gap, %",
    )
    return _markdown(head, rows)


def _energy_said(found: Mapping[str, More]) -> str:
    """How many families reach the aim so, and which of those that ship."""
    shares = {name: saved_by(one.energy) for name, one in found.items()}
    enough = [name for name, share in shares.items() if share is not None and share >= AIM_FRACTION]
    of_those = [name for name in found if name in SHIPPED]
    shipped = [name for name in enough if name in SHIPPED]
    not_enough = [name for name in found if name not in enough]
    left = f"; not in {', '.join(not_enough)}" if not_enough else ""
    return (
        "With [the sun and batteries at the sites](#with-the-sun-and-batteries-at-the-sites), which both "
        f"plans may buy, {AIM_FRACTION:.0%} less carbon or more than *least money* is found in "
        f"{len(enough)} of {len(found)} families, {len(shipped)} of the {len(of_those)} that ship{left}."
    )


def _ways(found: Mapping[str, More]) -> str:
    """What formats and techniques add for each family that serves."""
    rows = [
        (
            name,
            _share(_next_to(one.ways, one.without, CHEAP, "usd"), "+"),
            _share(_next_to(one.ways, one.without, CHEAP, "kgco2e"), "+"),
            _share(saved_by(one.ways)),
            "; ".join(one.chosen) or "as stated",
            _largest(one.without, one.ways),
        )
        for name, one in found.items()
        if one.ways != one.without
    ]
    head = (
        "family",
        "least money: money over that without, %",
        "its carbon, %",
        "least carbon under it, %",
        "ways of the cleanest plan",
        "largest gap, %",
    )
    return _markdown(head, rows)


def _replays(found: dict[str, Family]) -> str:
    """Carbon and money of both carbon plans over the draws, from the least to the most."""
    rows = []
    for name, one in found.items():
        for plan, against in COMPARED:
            held = one.replays.get(plan)
            if held is None:
                continue
            spans = [
                "" if not each else f"{100 * min(each):.1f} to {100 * max(each):.1f}"
                for each in (held.saved_fraction, held.more_fraction)
            ]
            both = len(held.saved_fraction)
            rows.append((name, against, *spans, str(both), str(held.not_enough), str(held.other_not_enough)))
    head = (
        "family",
        "against",
        "carbon saved, %",
        "more money, %",
        "draws that both carry",
        "too few nodes here",
        "too few there",
    )
    return _markdown(head, rows)


def saved_fraction(one: Family, plan: str, against: str) -> float | None:
    """Share of the carbon of one plan that another saves.  1 - C / C_against"""
    better, worse = one.plans.get(plan), one.plans.get(against)
    if better is None or worse is None or worse.kgco2e <= 0:
        return None
    return 1.0 - better.kgco2e / worse.kgco2e


def _more_money(one: Family, plan: str, against: str) -> float | None:
    better, worse = one.plans.get(plan), one.plans.get(against)
    return None if better is None or worse is None else better.usd / worse.usd - 1.0


COMPARED = ((OVER_USUAL, USUAL), (OVER_CHEAPEST, CHEAPEST))


def _summary(found: dict[str, Family]) -> str:
    rows = []
    for name, one in found.items():
        cells = []
        for plan, against in COMPARED:
            saved, more = saved_fraction(one, plan, against), _more_money(one, plan, against)
            cells.append(
                "no plan" if saved is None or more is None else f"**{100 * saved:.1f}** for {100 * more:+.1f}"
            )
        without = saved_fraction(one, NO_LEVER, USUAL)
        cells.append("no plan" if without is None else f"{100 * without:.1f}")
        cells.append(_main_lever(one))
        gaps = [plan.gap_fraction for plan in one.plans.values() if plan is not None]
        cells.append(_gap_text(max(gaps)) if gaps else "")
        rows.append((f"[{name}](#{name})", *cells))
    head = (
        "family",
        "carbon saved against usual practice, %, for money, %",
        "against least money",
        "against usual practice without levers",
        "lever that brings most",
        "largest gap, %",
    )
    return _markdown(head, rows)


def _main_lever(one: Family) -> str:
    """The lever without which the same fleet takes the most carbon, where that is one part in a thousand."""
    best = one.plans.get(OVER_USUAL)
    known = {
        name: lever.left_out_kgco2e for name, lever in one.levers.items() if lever.left_out_kgco2e is not None
    }
    if best is None or not known:
        return "purchases, sites and sizes alone"
    name = max(known, key=lambda lever: known[lever] or 0.0)
    share = (known[name] or 0.0) / best.kgco2e
    return f"{name}, {100 * share:.1f} %" if share > 1e-3 else "none of them pays"


def _said(found: dict[str, Family]) -> str:
    lines = []
    for plan, against in COMPARED:
        known = {name: saved_fraction(one, plan, against) for name, one in found.items()}
        some = {name: value for name, value in known.items() if value is not None}
        enough = [name for name, value in some.items() if value >= AIM_FRACTION]
        nothing = [name for name, value in some.items() if value < 0.01]
        text = (
            f"Against *{against}*, {AIM_FRACTION:.0%} less carbon or more is found in {len(enough)} of "
            f"{len(found)} families"
        )
        text += f" ({', '.join(enough)})" if enough else ""
        sure = [name for name in enough if _largest_gap(found[name], (plan, against)) <= SURE_FRACTION]
        text += f", in {len(sure)} of them by plans within {SURE_FRACTION:.0%} of the best" if enough else ""
        text += f"; less than 1 % in {', '.join(nothing)}." if nothing else "."
        lines.append(text)
    return "\n\n".join(lines)


def _family(name: str, one: Family) -> str:
    base = one.plans.get(USUAL)
    rows = []
    for plan in PLANS:
        outcome = one.plans.get(plan)
        if outcome is None:
            rows.append((plan, "no plan found", "", "", ""))
            continue
        less = "" if base is None else f"{100 * (1 - outcome.kgco2e / base.kgco2e):.1f}"
        rows.append(
            (
                plan,
                f"{outcome.usd / 1e3:,.0f}",
                f"{outcome.kgco2e / 1e3:,.1f}",
                less,
                _gap_text(outcome.gap_fraction),
            )
        )
    head = ("plan", "kUSD", "tCO2e", "carbon under usual practice, %", "gap, %")
    parts = [f"## {name}", one.title + ".", _markdown(head, rows)]
    if one.levers:
        held = [
            (lever, _tonnes(both.left_out_kgco2e), _tonnes(both.alone_kgco2e))
            for lever, both in one.levers.items()
        ]
        parts.append(_markdown(("lever, on the fleet of the carbon plan", "left out, t", "alone, t"), held))
    else:
        parts.append("Nothing is decided by the hour here.")
    if one.levers and "clock" not in one.levers:
        parts.append("Found before clocks were a lever, and by the facts of that day.")
    parts += [one.remark] if one.remark else []
    if one.confidence_fraction is not None:
        parts.append(
            f"Spares of 3 % would be enough for {one.confidence_fraction:.1%} of the time; usual practice is "
            "planned here with the spares that the scenario asks for."
        )
    parts += [" ".join(one.hours)] if one.hours else []
    if one.limits_s != (TIME_LIMIT_S, CAPPED_SECONDS):
        plain, with_cap = one.limits_s
        parts.append(f"Searched for {plain:.0f} s at the most, and {with_cap:.0f} s with a cap on money.")
    return "\n\n".join(parts)


def _largest_gap(one: Family, plans: Iterable[str]) -> float:
    return max(held.gap_fraction for name in plans if (held := one.plans.get(name)) is not None)


def _gap_text(fraction: float) -> str:
    return f"{100 * fraction:.1f}" if math.isfinite(fraction) else "not known"


def _tonnes(kgco2e: float | None) -> str:
    return "" if kgco2e is None else f"{kgco2e / 1e3 + 0.0:,.2f}".replace("-0.00", "0.00")


def _markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def whole_page() -> str:
    """The page of all that was found, families in their order."""
    found, more, files = kept(), worth_more.kept(), families()
    return page(
        {name: found[name] for name in files if name in found},
        {name: more[name] for name in files if name in more},
    )


def main(names: list[str]) -> None:
    """Measure the families that are named, or all; then write the page of all that are known.

    With `--page` nothing is measured: what earlier runs found is written once more.
    """
    files = families()
    for name in () if names == ["--page"] else names or files:
        one = measured(load_scenario(files[name]))
        found = kept() | {name: one}  # read again: another family may be measured at the same time
        KEPT.write_text(
            json.dumps({each: asdict(held) for each, held in found.items()}, indent=1) + "\n",
            encoding="utf-8",
        )
        print(name, {plan: held and round(held.kgco2e) for plan, held in one.plans.items()}, flush=True)
    PAGE.write_text(whole_page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
