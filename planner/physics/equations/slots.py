"""Equations of slots: intensity and load of a slot, what resting saves, what is summed over slots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon.slots import HOURS_A_DAY, Slots, two_columns
from planner.physics.equations.serving import load_curve_fraction
from planner.trace.columns import Column

Values = NDArray[np.float64]
_HALVINGS = 40  # of the mean over the peak of regions that peak at hours of their own


def signal_ratio(
    *,
    price_ratio: Values,
    grid_ratio: Values,
    days: Values,
    electricity_usd_per_kwh: float,
    grid_kgco2e_per_kwh: float,
    money_weight_ratio: float,
    carbon_weight_usd_per_kgco2e: float,
) -> Values:
    """What a kilowatt-hour of each hour weighs in the objective; only the order of hours is used.

    s[h] = a p r_p[h] + b CI r_c[h]

    r are over their means on the days of the period, whose price and intensity are p and CI.

    Source: definition; the hours with the least of it are the best to work in.
    """
    picked = np.asarray(days, dtype=np.intp)

    def scaled(hours: Values) -> Values:
        mean = float(np.asarray(hours).reshape(-1, HOURS_A_DAY)[picked].mean())
        return np.asarray(hours) / mean if mean > 0 else np.ones(np.shape(hours))

    weighed: Values = money_weight_ratio * electricity_usd_per_kwh * scaled(price_ratio)
    return weighed + carbon_weight_usd_per_kgco2e * grid_kgco2e_per_kwh * scaled(grid_ratio)


def fixed_slot_ratio(
    *, hours_ratio: Values, days: Values, day_type: Values, slots_a_day: float, types: float
) -> Values:
    """Intensity or price of each slot over the mean of the period, for load that cannot move.

    r[y] = fixed[y] / mean

    Types of day that a period lacks have slots of no length; their ratio is 1.

    Source: `carbon.slots.two_columns`.
    """
    return _filled(_cut(hours_ratio, None, days, day_type, slots_a_day).fixed_ratio[0], types, slots_a_day)


def day_slot_ratio(
    *,
    hours_ratio: Values,
    signal_ratio: Values,
    days: Values,
    day_type: Values,
    slots_a_day: float,
    types: float,
    known_fraction: float,
) -> Values:
    """The same for work that moves within its day, by a forecast that keeps a part of the gain.

    r[y] = day[y] / mean

    Source: `carbon.slots.two_columns`.
    """
    cut = _cut(hours_ratio, signal_ratio, days, day_type, slots_a_day, in_day=known_fraction)
    return _filled(cut.day_ratio[0], types, slots_a_day)


def period_slot_ratio(
    *,
    hours_ratio: Values,
    signal_ratio: Values,
    days: Values,
    day_type: Values,
    slots_a_day: float,
    types: float,
    known_fraction: float,
) -> Values:
    """The same for work that moves within the period.

    r[y] = period[y] / mean

    Source: `carbon.slots.two_columns`.
    """
    cut = _cut(hours_ratio, signal_ratio, days, day_type, slots_a_day, in_period=known_fraction)
    return _filled(cut.period_ratio[0], types, slots_a_day)


def window_slot_ratio(
    *,
    hours_ratio: Values,
    signal_ratio: Values,
    days: Values,
    within_ratio: Values,
    day_type: Values,
    slots_a_day: float,
    types: float,
    known_fraction: float,
) -> Values:
    """The same for work whose window has some days of the period alone, free among the hours of these days.

    r[y] = (m_w - f (m_w - x(q_y))) / mean,  m_w the mean in the window

    x(q_y) is the mean of the window's hours, best first, over the part of them that slot y is of the period,
    slots in the order of their mean signal. Work that takes the best u of all slots so meets the best u of
    the window, whatever types of day the window has.

    Source: everfleet's own, as `carbon.slots.two_columns`; 1 where the window has no whole day.
    """
    picked, inside = np.asarray(days, dtype=np.intp), np.asarray(within_ratio, dtype=bool)
    every = [np.asarray(one).reshape(-1, HOURS_A_DAY)[picked] for one in (hours_ratio, signal_ratio)]
    mean = float(every[0].mean())
    cut = _cut(signal_ratio, None, days, day_type, slots_a_day)
    if not inside.any() or mean <= 0:
        return np.ones(int(types) * int(slots_a_day))
    hours, signal = (one[inside].ravel() for one in every)
    best_first = hours[np.argsort(signal, kind="stable")]
    order = np.argsort(cut.fixed_ratio[0], kind="stable")
    ends = np.concatenate([[0.0], np.cumsum(cut.hours_fraction[order])]) * len(best_first)
    taken = np.interp(ends, np.arange(len(best_first) + 1), np.concatenate([[0.0], np.cumsum(best_first)]))
    met = np.empty(len(order))
    met[order] = np.diff(taken) / np.diff(ends)
    found = best_first.mean() - known_fraction * (best_first.mean() - met)
    return _filled(found / mean, types, slots_a_day)


def _cut(
    hours: Values,
    signal: Values | None,
    days: Values,
    day_type: Values,
    slots_a_day: float,
    in_day: float = 1.0,
    in_period: float = 1.0,
) -> Slots:
    """The slots of the days that are of a period."""

    def picked(values: Values) -> Values:
        return np.asarray(values).reshape(-1, HOURS_A_DAY)[np.asarray(days, dtype=np.intp)].ravel()

    return two_columns(
        hours_ratio=picked(hours),
        signal_ratio=None if signal is None else picked(signal),
        day_type=np.asarray(day_type, dtype=np.intp),
        slots_a_day=int(slots_a_day),
        known_in_day_fraction=float(in_day),
        known_in_period_fraction=float(in_period),
    )


def _filled(ratio: Values, types: float, slots_a_day: float) -> Values:
    missing = int(types) * int(slots_a_day) - len(ratio)
    return np.concatenate([ratio, np.ones(missing)])


def clock_load_fraction(
    *, mean_to_peak_fraction: Column, busiest_h: Column, slots_a_day: float
) -> NDArray[np.float64]:
    """Requests of each part of a day over those of the peak hour, on a last axis in the order of the clock.

    l(t) = s(t)^(1/m - 1) c,  the parts in the order of their distance from the busiest hour, the next first

    The curve has the stated mean; that it falls alike before and after the busiest hour is assumed.

    Source: the load-duration curve of one parameter of `load_curve_fraction`, laid out by the clock.
    """
    parts = int(slots_a_day)
    curve = load_curve_fraction(mean_to_peak_fraction=mean_to_peak_fraction, parts=parts)
    middle = (np.arange(parts) + 0.5) * HOURS_A_DAY / parts
    apart = np.abs((middle - np.asarray(busiest_h)[..., None] + 12.0) % HOURS_A_DAY - 12.0)
    place = np.argsort(np.argsort(-apart, axis=-1, kind="stable"), axis=-1, kind="stable")
    laid_out: NDArray[np.float64] = np.take_along_axis(curve, np.broadcast_to(place, curve.shape), axis=-1)
    return laid_out


def region_load_fraction(
    *, mean_to_peak_fraction: float, share_fraction: Values, busiest_h: Values, slots_a_day: float
) -> NDArray[np.float64]:
    """Requests of each region in each part of a day over those of all regions in the peak hour [R, parts].

    l[r,y] = s_r l(y; m', b_r) max_y l(y; m') / max_y sum_r s_r l(y; m', b_r),  m' so that their mean is m

    Each region has the curve of `clock_load_fraction` around its own busiest hour. Regions whose hours lie
    apart are flatter together than each alone: m' is below m, and the peak of the sum below the sum of peaks.
    The peak hour is above the busiest part as far as in the curve of one region.

    Source: definition; one curve for all regions is assumed.
    """
    shares = np.asarray(share_fraction, dtype=np.float64)[:, None]

    def together(mean: float) -> NDArray[np.float64]:
        each = clock_load_fraction(
            mean_to_peak_fraction=np.full(len(shares), mean), busiest_h=busiest_h, slots_a_day=slots_a_day
        )
        loads = shares * each
        result: NDArray[np.float64] = loads * each.max() / loads.sum(axis=0).max()
        return result

    low, high = 1.0 / (2.0 * slots_a_day), 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        flat = together(middle).sum(axis=0).mean() >= mean_to_peak_fraction
        low, high = (low, middle) if flat else (middle, high)
    return together(high)


def all_regions_load_fraction(*, region_load_fraction: Values) -> NDArray[np.float64]:
    """Requests of all regions in each part of a day over those of its busiest part.

    l[y] = sum_r l[r,y]

    Source: definition.
    """
    result: NDArray[np.float64] = np.sum(region_load_fraction, axis=0)
    return result


def traced_load_fraction(
    *, mean_to_peak_fraction: float, hours_ratio: Values, slots_a_day: float
) -> NDArray[np.float64]:
    """Requests of each part of a day over those of the peak hour, by the hours of a trace.

    l[y] = min(1, c x[y]),  x[y] the mean of its hours, c so that the mean is m

    Where the trace is more peaked than m says, its highest parts are at the peak and the others rise.

    Source: definition.
    """
    parts = np.asarray(hours_ratio).reshape(int(slots_a_day), -1).mean(axis=-1)
    mean, order = float(mean_to_peak_fraction), np.sort(parts)[::-1]
    for at_peak in range(len(order)):  # the fewest parts at the peak
        scale = (mean * len(order) - at_peak) / max(float(order[at_peak:].sum()), 1e-12)
        if scale * order[at_peak] <= 1.0:
            break
    least: NDArray[np.float64] = np.minimum(1.0, scale * parts)
    return least


def mixed_hours_ratio(*, share_fraction: Values, hours_ratio: Values) -> NDArray[np.float64]:
    """Requests of all regions in each hour of the day over the mean of all hours [24].

    x[h] = sum_r s_r x_r[h]

    Source: definition; the share of a region is that of its requests in a day.
    """
    result: NDArray[np.float64] = np.einsum("r,rh->h", share_fraction, hours_ratio)
    return result


def traced_region_load_fraction(
    *,
    load_fraction: Values,
    share_fraction: Values,
    mean_ratio: Values,
    most_ratio: Values,
    slots_a_day: float,
) -> NDArray[np.float64]:
    """Requests of each region in the highest hour of each part of a day over the peak hour of all [R, parts].

    l[r,y] = min(1, l[y] sum_r m[r,y] / x[y]) m[r,y] / sum_r m[r,y],  m[r,y] = s_r max_h x_r,max[h]

    h are the hours of y, x[y] the mean of all regions in them. The highest days and hours of the regions are
    taken to meet, which asks for more than a trace of all of them would.

    Source: definition.
    """
    shares, count = np.asarray(share_fraction, dtype=np.float64)[:, None], int(slots_a_day)
    mean, most = (
        np.asarray(each, dtype=np.float64).reshape(len(shares), count, -1)
        for each in (mean_ratio, most_ratio)
    )
    on_mean, highest = (shares * mean.mean(axis=-1)).sum(axis=0), shares * most.max(axis=-1)
    whole = highest.sum(axis=0)
    above = np.divide(whole, on_mean, out=np.ones(count), where=on_mean > 0)
    part = np.divide(highest, whole, out=np.zeros_like(highest), where=whole > 0)
    result: NDArray[np.float64] = np.minimum(1.0, np.asarray(load_fraction) * above) * part
    return result


def ready_load_fraction(
    *, load_fraction: Values, mean_ratio: Values, most_ratio: Values, slots_a_day: float
) -> NDArray[np.float64]:
    """The highest hour of each part of a day, on any day of a trace, over the peak hour.

    l_max[y] = min(1, l[y] max_h(x_max[h]) / mean_h(x[h])),  h the hours of y

    Source: definition; a mean day is exceeded on half of all days.
    """
    count = int(slots_a_day)
    mean = np.asarray(mean_ratio).reshape(count, -1).mean(axis=-1)
    most = np.asarray(most_ratio).reshape(count, -1).max(axis=-1)
    above = np.divide(most, mean, out=np.ones(count), where=mean > 0)
    # Hours without any request on the mean day have none on any day.
    highest: NDArray[np.float64] = np.minimum(1.0, np.asarray(load_fraction) * above)
    return highest


def slot_loads_per_s(*, peak_per_s: Column, load_fraction: Column) -> Column:
    """Load of one of the replicas that share the demand evenly, in each part of a day.

    x = x_peak * l

    Source: definition.
    """
    return np.asarray(peak_per_s)[..., None] * load_fraction


def ready_fraction(*, load_fraction: Column, reserve_fraction: Column) -> Column:
    """What of the demand of its peak hour a service has to be ready for in a part of the day.

    r = min(1, l * (1 + reserve))

    Source: definition; the reserve takes what comes before a replica that rests is back.
    """
    return np.minimum(1.0, np.asarray(load_fraction) * (1.0 + reserve_fraction))


def awake_kw(*, even_kw: Column, full_kw: Column, load_fraction: Column) -> Column:
    """Power that a node draws for being awake, whatever it carries: where the line through two points begins.

    a = (P(l) - l * P(1)) / (1 - l)

    P(l) is the power at even routing over all replicas and P(1) at the peak hour, both of the engine's law,
    so that n replicas draw a n + b load between the two: exact where all are awake and where as few as
    possible are, a little low in between, as power bends down. No replica sleeps at the peak hour.

    Source: the chord of a concave law.
    """
    load = np.asarray(load_fraction, dtype=np.float64)
    full = np.asarray(full_kw)[..., None]
    rest = 1.0 - load
    found = np.divide(even_kw - load * full, rest, out=np.zeros(np.shape(even_kw)), where=rest > 1e-9)
    return np.where(rest > 1e-9, found, full)


def saved_slot_kwh(
    *, awake_kw: Column, resting_kw: Column, replica_nodes: Column, pue: Column, slot_h: Column
) -> Column:
    """Energy of a replica that rests through a slot over that of one that is awake: less than nothing.

    E = -max(0, a - P_rest) * n * PUE * h

    Parts of the day repeat on each type of day.

    Source: definition.
    """
    less = np.maximum(0.0, np.asarray(awake_kw) - np.asarray(resting_kw)[:, None, None])
    each = less * np.asarray(replica_nodes)[:, None, None] * np.asarray(pue)[:, None, None]
    hours = np.asarray(slot_h)
    repeated: Column = np.tile(each, hours.shape[-1] // each.shape[-1])
    return -repeated * hours


def off_slot_kwh(*, idle_kw: Column, off_kw: Column, slot_h: Column) -> Column:
    """Energy of a node that is off through a slot over that of one that idles, at the facility's meter.

    E = -(P_idle - P_off) * h

    Source: definition.
    """
    return -(np.asarray(idle_kw) - off_kw) * slot_h


def changed_kwh(*, more_kw: Column, less_kw: Column, nodes: Column, pue: Column, change_h: Column) -> Column:
    """Energy of a change of state, over that of the state that it leaves.

    E = max(0, P_1 - P_0) * n * PUE * h

    Source: definition.
    """
    return np.maximum(0.0, np.asarray(more_kw) - less_kw) * nodes * pue * change_h


def slot_usd(*, facility_kwh: Column, electricity_usd_per_kwh: Column, slot_ratio: Column) -> Column:
    """Bill of energy by slot.

    M = E * p * r

    Source: definition; r as in `carbon.slots.two_columns`.
    """
    bill: Column = np.asarray(facility_kwh) * np.asarray(electricity_usd_per_kwh)[..., None] * slot_ratio
    return bill


def slot_kgco2e(*, facility_kwh: Column, grid_kgco2e_per_kwh: Column, slot_ratio: Column) -> Column:
    """Carbon of energy by slot.

    C = E * CI * r

    Source: definition; r as in `carbon.slots.two_columns`.
    """
    emitted: Column = np.asarray(facility_kwh) * np.asarray(grid_kgco2e_per_kwh)[..., None] * slot_ratio
    return emitted


def moved_usd(*, increment_kwh: Column, electricity_usd_per_kwh: Column, slot_ratio: Column) -> Column:
    """Bill of a node-hour in a slot over that of the mean of the period.

    M = E * p * (r - 1)

    Source: definition; E is what the work adds to an idle node.
    """
    each = np.asarray(increment_kwh) * electricity_usd_per_kwh
    return each[..., None] * (np.asarray(slot_ratio) - 1.0)


def moved_kgco2e(*, increment_kwh: Column, grid_kgco2e_per_kwh: Column, slot_ratio: Column) -> Column:
    """Carbon of a node-hour in a slot over that of the mean of the period.

    C = E * CI * (r - 1)

    Source: definition; E is what the work adds to an idle node.
    """
    each = np.asarray(increment_kwh) * grid_kgco2e_per_kwh
    return each[..., None] * (np.asarray(slot_ratio) - 1.0)


def profile_ratio(*, even_kw: Column, slot_ratio: Column, slot_fraction: Column) -> Column:
    """Intensity or price that a service meets over the period's mean, as its load has hours of its own.

    r = sum_y s_y P_y r_y / sum_y s_y P_y

    Source: weighted mean; power of even routing.
    """
    share = np.asarray(slot_fraction)
    power = np.tile(np.asarray(even_kw), share.shape[-1] // np.shape(even_kw)[-1]) * share
    found: Column = np.sum(power * slot_ratio, axis=-1) / np.sum(power, axis=-1)
    return found


def spread_slot_kwh(*, each_kwh: Column, slot_fraction: Column) -> Column:
    """Energy of what is the same at all hours, in each slot of the period.

    e[x,t,y] = e[x,t] s[t,y]

    Source: definition.
    """
    return np.asarray(each_kwh)[..., None] * slot_fraction


def served_slot_kwh(*, each_kwh: Column, even_kw: Column, slot_fraction: Column) -> Column:
    """Energy of a replica in each slot of the period, by the power that its load asks for.

    e[x,t,y] = e[x,t] P[x,t,y] s[t,y] / sum_y P[x,t,y] s[t,y]

    Parts of the day repeat on each type of day.

    Source: weighted mean; power of even routing.
    """
    share, even = np.asarray(slot_fraction), np.asarray(even_kw)
    power = np.tile(even, share.shape[-1] // even.shape[-1]) * share
    spread: Column = np.asarray(each_kwh)[..., None] * power / power.sum(axis=-1, keepdims=True)
    return spread


def in_slots_kwh(*, each_kwh: Column, amounts: Column, here: Column) -> Column:
    """Energy of each place in each slot.

    E[p,t,y] = sum over x of p of e[x,t,y] * n[x,t,y]

    What has no slots of its own is the same in all of them.

    Source: plain sum.
    """
    each, many = (one if one.ndim > 2 else one[..., None] for one in map(np.asarray, (each_kwh, amounts)))
    summed: Column = np.tensordot(np.asarray(here), each * many, axes=1)
    return summed


def over_slots_kwh(*, each_kwh: Column, amounts: Column, here: Column) -> Column:
    """Energy of what is decided by slot, by node group and period.

    E[p,t] = sum over x of p and y of e[x,t,y] * n[x,t,y]

    Source: plain sum.
    """
    return _over_slots(each_kwh, amounts, here)


def over_slots_usd(*, each_usd: Column, amounts: Column, here: Column) -> Column:
    """Money of what is decided by slot, by node group and period.

    M[p,t] = sum over x of p and y of m[x,t,y] * n[x,t,y]

    Source: plain sum.
    """
    return _over_slots(each_usd, amounts, here)


def over_slots_kgco2e(*, each_kgco2e: Column, amounts: Column, here: Column) -> Column:
    """Carbon of what is decided by slot, by node group and period.

    C[p,t] = sum over x of p and y of c[x,t,y] * n[x,t,y]

    Source: plain sum.
    """
    return _over_slots(each_kgco2e, amounts, here)


def _over_slots(each: Column, amounts: Column, here: Column) -> Values:
    """Of what happens in slots, or of changes, which are alike in all of them."""
    of_row = np.asarray(each) * amounts
    summed: Values = np.asarray(here) @ (of_row.sum(axis=-1) if of_row.ndim > 2 else of_row)
    return summed
