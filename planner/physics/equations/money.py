"""Money, as plain equations on numbers or columns. Prices and rates are arguments; none stands here."""

from __future__ import annotations

import numpy as np

from planner.trace.columns import Column


def capital_charge_usd(
    *,
    price_usd: Column,
    discount_fraction: Column,
    life_y: Column,
    residual_fraction: Column,
    hours_h: Column,
    year_h: Column,
) -> Column:
    """Annualised capital cost of a purchase over some of its hours.

    A = P * (r + (1 - rho) * r / ((1 + r)^L - 1)) * hours / year

    The price less the residual value is recovered as an annuity; the residual value ties up capital.
    At r = 0 this is straight-line depreciation. Tax and insurance are left out.

    Source: capital recovery factor, e.g. Short, Packey and Holt, NREL/TP-462-5173 (1995), section 2.
    """
    rate = np.asarray(discount_fraction, dtype=float)
    if np.any(rate < 0) or np.any(np.asarray(life_y) <= 0):
        raise ValueError(f"discount_fraction is >= 0 and life_y > 0, got {discount_fraction} and {life_y}")
    growth = np.expm1(life_y * np.log1p(rate))
    annuity = np.where(rate > 0, rate / np.where(growth > 0, growth, 1.0), 1.0 / life_y)
    yearly = price_usd * (
        rate * np.where(rate > 0, residual_fraction, 0.0) + (1 - residual_fraction) * (rate + annuity)
    )
    charge: Column = yearly * hours_h / year_h
    return charge


def uncharged_usd(*, price_usd: Column, discount_fraction: Column, life_y: Column, age_y: Column) -> Column:
    """What of a price an annuity over the life has not charged yet, by age: what is still owed of a loan.

    V(a) = P * (1 - (1 + r)^(a - L)) / (1 - (1 + r)^-L)

    At r = 0 this is straight-line depreciation. What could be had for it in a sale is left out.

    Source: outstanding balance of an annuity, the loan of `capital_charge_usd` without a residual value.
    """
    growth = np.log1p(np.asarray(discount_fraction, dtype=float))
    left_y = np.maximum(np.subtract(life_y, age_y), 0.0)
    whole = np.expm1(-growth * np.asarray(life_y))
    even = np.array(np.divide(left_y, life_y))
    share = np.divide(np.expm1(-growth * left_y), whole, out=even, where=whole < 0)
    value: Column = price_usd * share
    return value


def maintenance_usd(
    *, price_usd: Column, maintenance_fraction: Column, hours_h: Column, year_h: Column
) -> Column:
    """Support contract, parts and hands for a node in service, as a share of its price a year.

    M = P * m * hours / year

    Source: share of the purchase price a year, the usual form of a support contract.
    """
    return price_usd * maintenance_fraction * hours_h / year_h


def bought_data_usd(
    *,
    million_usd: Column,
    amount: Column,
    bought_fraction: Column,
    passes: Column,
    reduction_ratio: Column,
) -> Column:
    """What the tokens or samples cost that a run buys.

    D = p * b * n / (r * e) / 10^6

    Of n that are trained on n / e are different ones, each seen e times; techniques take r times fewer.
    Licences by the year, storage and people's work on the data are left out.

    Source: definition; a price by amount is how data markets quote it, e.g. Mazumder et al., "DataPerf",
    NeurIPS 2023, whose acquisition benchmark buys within a budget.
    """
    different = np.divide(np.divide(amount, reduction_ratio), passes)
    bought: Column = np.multiply(million_usd, bought_fraction) * different / 1e6
    return bought


def space_usd(*, provisioned_kw: Column, space_usd_per_kw_h: Column, hours_h: Column) -> Column:
    """Building, cooling plant and power distribution, rented by the kilowatt that they must carry.

    S = P_max * s * hours

    Contracts count kilowatts of IT; cooling is in their price. Energy is paid by the kilowatt-hour, apart.

    Source: colocation contracts, priced by reserved power.
    """
    return provisioned_kw * space_usd_per_kw_h * hours_h


def goodput_usd(
    *,
    units: Column,
    duration_h: Column,
    hour_usd: Column,
    goodput_fraction: Column,
) -> Column:
    """What a share of a job's hours is worth: goodput gained, or lost.

    V = N * t * p * g

    Units are nodes or accelerators, p what one of them costs for an hour. Work that is done sooner frees
    their hours; that it is also there sooner is left out.

    Source: definition of goodput as the share of paid hours whose work lasts.
    """
    return units * duration_h * hour_usd * goodput_fraction


def energy_usd(*, facility_energy_kwh: Column, electricity_usd_per_kwh: Column) -> Column:
    """Electricity bill.

    U = E_facility * p

    Demand charges are apart (`peak_bill_usd`).

    Source: energy charge of a tariff.
    """
    return facility_energy_kwh * electricity_usd_per_kwh


def book_usd(*, price_usd: Column, age_y: Column, life_y: Column) -> Column:
    """Book value of a node by its age.

    B(a) = P * max(0, 1 - a / L)

    L is the life of the accounts, which is not how long the node works, nor what it could be sold for.

    Source: straight-line depreciation without a salvage value, as firms disclose it for servers.
    """
    left: Column = price_usd * np.maximum(0.0, 1.0 - np.divide(age_y, life_y))
    return left


def egress_kgco2e(
    *,
    moved_gb: Column,
    transfer_kwh_per_gb: Column,
    home_kgco2e_per_kwh: Column,
    there_kgco2e_per_kwh: Column,
) -> Column:
    """Carbon of moving data between two sites: half of the energy is drawn at each end.

    C = m * e * (CI_home + CI_there) / 2

    Source: energy by data moved as Cloud Carbon Footprint counts it; the halves are an assumption.
    """
    mean: Column = (np.asarray(home_kgco2e_per_kwh) + there_kgco2e_per_kwh) / 2.0
    return moved_gb * transfer_kwh_per_gb * mean


def present_usd(*, paid_usd: Column, discount_fraction: Column, after_y: Column) -> Column:
    """What a later payment is worth today.

    V = P / (1 + r)^t

    Source: definition of the present value at a yearly rate.
    """
    return paid_usd / np.power(1.0 + np.asarray(discount_fraction), after_y)
