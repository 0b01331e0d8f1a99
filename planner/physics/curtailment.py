"""What a contract for curtailment of a site takes and pays, and which work stops when it is called for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.levers import Energy, work_increment_kwh
from planner.physics.nodes import Nodes
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick, rows

DRAIN = "curtailment.drain_time"


def curtailed_fraction(*, called_h: Column, event_h: Column, restart_h: Column, year_h: Column) -> Column:
    """Share of the hours that work loses which stops whenever a site is called on to draw less.

    f = h (1 + R / e) / H

    h are the hours of a year in which it is called on, e those of one call, after which work starts anew.

    Source: definition; calls lie anywhere in the year, as many in every period as it is long.
    """
    return np.asarray(called_h) * (1.0 + np.divide(restart_h, event_h)) / year_h


@dataclass(frozen=True)
class Curtailment:
    """Contracts that sites are offered, or have (S rows): power that has to stop, hours lost, payment."""

    reduction_kw: Traced  # (S,)
    lost_fraction: Traced  # (S,)
    usd: Traced  # (S, T), below zero
    called: Traced  # (S,) share of the hours lost in which nothing is drawn
    obliged: NDArray[np.bool_]
    in_time: NDArray[np.bool_]  # work of pools stops within the notice


def curtailment(inputs: Inputs) -> Curtailment | None:
    """The contracts of every site, rented locations included; None where no site states one."""
    if not any(site.curtailment_kw for site in inputs.sites):
        return None
    none_kw = chosen("reduction_kw", 0.0, "no contract", "kW")
    power, lost, payment, called = list[Traced](), list[Traced](), list[Traced](), list[Traced]()
    in_time, drain = [], float(inputs.fact(DRAIN).value)
    restart = inputs.yours("reliability.restart", inputs.scenario.reliability.restart_h, "h")
    for site in inputs.sites:
        at = f"sites.{site.name}.curtailment"
        if not site.curtailment_kw:
            power.append(none_kw)
            lost.append(chosen("lost_fraction", 0.0, "no contract"))
            called.append(chosen("called_ratio", 0.0, "no contract"))
            payment += [chosen("price_usd_per_kw_h", 0.0, "no contract")] * inputs.periods
            in_time.append(False)
            continue
        assert site.curtailment_hours_h is not None, "checked on reading"
        assert site.curtailment_event_h is not None, "checked on reading"
        assert site.curtailment_payment_usd_per_kw_month is not None, "checked on reading"
        assert site.curtailment_notice_h is not None, "checked on reading"
        power.append(inputs.yours(at, site.curtailment_kw, "kW"))
        event = inputs.yours(f"{at}_event", site.curtailment_event_h, "h")
        called.append(
            (event / (event + restart)).named(
                "called_ratio",
                "Share of the hours that work loses in which it stands still; in the others it starts anew",
            )
        )
        lost.append(
            derive(
                curtailed_fraction,
                called_h=inputs.yours(f"{at}_hours", site.curtailment_hours_h, "h"),
                event_h=event,
                restart_h=restart,
                year_h=inputs.year_h,
            )
        )
        payment += inputs.by_period(
            f"{at}_payment", site.curtailment_payment_usd_per_kw_month, "USD/kW/month"
        )
        in_time.append(drain <= site.curtailment_notice_h)
    index = np.arange(len(inputs.sites) * inputs.periods).reshape(-1, inputs.periods)
    every = np.arange(len(inputs.sites))
    payments = (pick(payment, index) * inputs.period_h).named(
        "kilowatt_usd_per_kw", "Price of a kilowatt through a period"
    )
    return Curtailment(
        reduction_kw=pick(power, every),
        lost_fraction=pick(lost, every),
        usd=(-1.0 * pick(power, every[:, None]) * payments).named(
            "curtailment_usd",
            "What the contract pays in a period, called on or not; below zero as it is earned",
        ),
        called=pick(called, every),
        obliged=np.array([site.curtailment_obliged for site in inputs.sites], dtype=bool),
        in_time=np.array(in_time, dtype=bool),
    )


def stops_fraction(
    inputs: Inputs, contracts: Curtailment | None, work: NDArray[np.intp], group: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Share of each way to do a pool's work that stops when its site is called on (O,): what may wait."""
    if contracts is None:
        return np.zeros(len(work))
    found: NDArray[np.float64] = may_wait(inputs)[work] * contracts.in_time[inputs.node_group_site[group]]
    return found


def stopped(
    inputs: Inputs, contracts: Curtailment | None, nodes: Nodes, group: NDArray[np.intp], facility_kwh: Traced
) -> Energy | None:
    """What an hour that a call takes does not draw, with its bill and its carbon, below zero (X, T).

    A node idles in the call, and draws what work does while it starts anew; calls lie anywhere in a period.
    None where no site states a contract.
    """
    if contracts is None:
        return None
    site = inputs.node_group_site[group]
    more = work_increment_kwh(nodes, group, facility_kwh, chosen("active_h", 1.0, "one hour"))
    kwh = (-1.0 * more * rows(contracts.called, site[:, None])).named(
        "not_drawn_kwh", "Energy that work does not draw in an hour which a call takes, below zero"
    )
    price, grid = (inputs.site_by_period(items, site) for items in (inputs.electricity, inputs.grid))
    return Energy(kwh, (kwh * price).named("stopped_usd"), (kwh * grid).named("stopped_kgco2e"))


def stopping_columns(found: Energy | None, row: NDArray[np.intp]) -> dict[str, Any]:
    """The same as columns of the program, above zero; none where no site states a contract."""
    if found is None:
        return {}
    return {
        f"stopped_{kind}_per_node_h": -np.asarray(getattr(found, kind).value)[row]
        for kind in ("usd", "kgco2e", "kwh")
    }


def may_wait(inputs: Inputs) -> NDArray[np.float64]:
    """Share of the work of each pool that may wait for another hour: as stated, or what is usual."""
    pools = inputs.scenario.pools
    usual = float(inputs.fact("pool.may_wait").value) if pools else 0.0
    stated = [usual if one.may_wait_fraction is None else one.may_wait_fraction for one in pools]
    return np.array(stated, dtype=float)
