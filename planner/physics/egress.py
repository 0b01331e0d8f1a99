"""What work pays for its data where it is done away from the site at which they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool, Service, Site, TrainingJob
from planner.physics.equations.money import egress_kgco2e
from planner.trace.columns import Column
from planner.trace.quantities import Traced, chosen, derive, pick, rows

PRICE = "network.egress.price"


@dataclass(frozen=True)
class Egress:
    """Money and carbon of the data that move, for each way to work by period (X, T)."""

    usd: Traced
    kgco2e: Traced


def sent_gb(*, rate_gb_per_s: Column, hours_h: Column) -> Column:
    """Data that are sent at a steady rate through a period.

    m = r * 3600 h

    Source: definition.
    """
    sent: Column = np.multiply(rate_gb_per_s, np.multiply(hours_h, 3600.0))
    return sent


def egress_of_work(
    inputs: Inputs, work: NDArray[np.intp], site: NDArray[np.intp], speed: Traced
) -> Egress | None:
    """Of each way to do a pool's work; None where no pool says where its data lie.

    An hour of a node moves what an hour of the reference does, times its speed. The mean of the period counts
    at both ends: data may move at other hours than work.
    """
    pools = inputs.scenario.pools
    if not any(pool.data_moved_gb for pool in pools):
        return None
    each = [_amount(inputs, f"pools.{one.name}.data_moved", one.data_moved_gb) for one in pools]
    home = _homes(inputs, pools)[work]
    tall = np.arange(len(work))[:, None]
    moved = (pick(each, work[:, None]) * rows(speed, tall)).named("moved_gb")
    return _egress(inputs, moved, np.where(home < 0, site, home), site)


def egress_of_runs(inputs: Inputs, job: NDArray[np.intp], site: NDArray[np.intp]) -> Egress | None:
    """Of each way to run a job, once, by the period in which it begins or is done (C, T); None without any.

    A run stays where it begins, so its checkpoints stay as well. Where two sites share it, each has its data.
    """
    jobs = inputs.scenario.training
    if not any(one.data_moved_gb for one in jobs):
        return None
    each = [_amount(inputs, f"training.{one.name}.data_moved", one.data_moved_gb) for one in jobs]
    home = _homes(inputs, jobs)[job]
    return _egress(inputs, pick(each, job[:, None]), np.where(home < 0, site, home), site)


def egress_of_deployments(
    inputs: Inputs, service: NDArray[np.intp], site: NDArray[np.intp], charged: Traced
) -> tuple[Egress | None, Egress | None]:
    """Of a deployment that begins, and of one that serves through a period (V, T); None without any.

    Weights and tables come from the site of the data, logs go there. `charged` is 1 where a beginning counts.
    """
    services, moved = inputs.scenario.services, list[Egress | None]()
    home = _homes(inputs, services)[service]
    home = np.where(home < 0, site, home)
    for key, out in (("data_moved", home), ("logs_moved", site)):
        stated = [getattr(one, _FIELDS[key]) for one in services]
        if not any(stated):
            moved.append(None)
            continue
        unit = "GB" if key == "data_moved" else "GB/month"
        each = [
            _amount(inputs, f"services.{one.name}.{key}", value, unit)
            for one, value in zip(services, stated, strict=True)
        ]
        stated_gb = pick(each, service[:, None])
        if key == "data_moved":
            amount: Traced = (stated_gb * charged).named("moved_gb")
        else:
            amount = derive(sent_gb, rate_gb_per_s=stated_gb, hours_h=inputs.period_h)
        moved.append(_egress(inputs, amount, out, home if key == "logs_moved" else site))
    return moved[0], moved[1]


_FIELDS = {"data_moved": "data_moved_gb", "logs_moved": "logs_moved_gb_per_month"}


def _homes(inputs: Inputs, entries: Sequence[Pool | TrainingJob | Service]) -> NDArray[np.intp]:
    """The site at which the data of each work lie; -1 where that is wherever it works."""
    names = [one.name for one in inputs.scenario.sites]
    return np.array([names.index(one.data_site) if one.data_site else -1 for one in entries], dtype=np.intp)


def _amount(inputs: Inputs, path: str, value: float | None, unit: str = "GB") -> Traced:
    if value is None:
        none, per_s = "its data lie wherever it works", unit != "GB"
        return chosen("moved_gb", 0.0, none, "GB/s" if per_s else "GB")
    return inputs.yours(path, value, unit)


def _egress(inputs: Inputs, moved_gb: Traced, out: NDArray[np.intp], into: NDArray[np.intp]) -> Egress:
    """Money and carbon of data that leave one site for another (X, T); what stays at a site moves nothing."""
    away = (out != into).astype(float)[:, None] * np.ones(inputs.periods)
    moved = (moved_gb * chosen("away_ratio", away, "1 away from the site of its data")).named("moved_gb")
    prices = [_price(inputs, one) for one in inputs.scenario.sites]
    prices += [inputs.fact(PRICE)] * (int(out.max(initial=0)) + 1 - len(prices))
    kgco2e = derive(
        egress_kgco2e,
        moved_gb=moved,
        transfer_kwh_per_gb=inputs.fact("network.transfer.energy"),
        home_kgco2e_per_kwh=inputs.site_by_period(inputs.location_grid, out),
        there_kgco2e_per_kwh=inputs.site_by_period(inputs.location_grid, into),
    )
    return Egress(
        usd=(moved * pick(prices, out[:, None])).named(
            "egress_usd", "Price of data that leave a site; what comes in is free"
        ),
        # Others draw it: it is counted by location in either accounting, and has no signal of ours.
        kgco2e=replace(kgco2e, boundary={}),
    )


def _price(inputs: Inputs, site: Site) -> Traced:
    """Price of data that leave a site: as stated, or what clouds ask."""
    if site.egress_price_usd_per_gb is None:
        return inputs.fact(PRICE)
    return inputs.money(f"sites.{site.name}.egress_price", site.egress_price_usd_per_gb, "USD/GB")
