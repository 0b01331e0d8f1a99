"""Equations of a replica beyond the leaves: burstiness, share of a node, power over a day, standby."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.performance.remembered import remembered
from planner.trace.columns import Column

LEAST_PER_S = 1e-6  # a replica that carries less carries nothing
COUNTED_REPLICAS = 1000.0  # beyond it the share that stands by no longer falls


# A power of this is the step from one burstiness to the next in which a replica is tried.
_BURST_STEP = 4.0
_HALVINGS = 50
_MOST_REMEMBERED = 256  # results, as of a replica


@dataclass(frozen=True, slots=True)
class SharedDemand:
    """Replicas that a demand needs, not rounded up but one at least, and the burstiness at one of them."""

    carrying_replicas: Column
    arrival_scv_ratio: Column


def replica_arrival_scv_ratio(
    *, trace_scv_ratio: Column, trace_per_s: Column, demand_per_s: Column, carrying_replicas: Column
) -> Column:
    """Squared coefficient of variation of the arrivals at one of n replicas that share a demand.

    c^2 = 1 + (c_trace^2 - 1) min(m, 1/m) / n,  m = demand / trace rate

    A larger demand is taken as m independent streams like the trace, a smaller one as a random part of one
    stream; both are dealt out at random to n replicas. All three thin bursts. Bursts that all users share
    are not thinned in truth: plan them as a higher peak rate. Arrivals that are more regular than Poisson's
    count as Poisson's, which is what dealing out makes of them.

    Source: random splitting, c_i^2 = p c^2 + 1 - p (Whitt, "The queueing network analyzer", BSTJ 1983);
    for superposition the stationary-interval limit.
    """
    streams = np.divide(demand_per_s, trace_per_s)
    alike = np.minimum(streams, np.divide(1.0, np.maximum(streams, 1.0)))
    thinned: Column = 1.0 + _bursts(trace_scv_ratio) * alike / np.maximum(carrying_replicas, 1.0)
    return thinned


def tried_scv_ratio(*, trace_scv_ratio: Column, thinned_fraction: Column) -> Column:
    """Burstiness at which a replica is tried.

    c^2 = 1 + f (c_trace^2 - 1)

    Source: random splitting (Whitt, "The queueing network analyzer", BSTJ 1983).
    """
    return 1.0 + _bursts(trace_scv_ratio) * thinned_fraction


def burst_fractions(trace_scv_ratios: list[float]) -> NDArray[np.float64]:
    """Shares of each trace's bursts to try: none, and from about one (Poisson's spread) up to all of them.

    A row for each trace, filled up with all of its bursts: none depends on the others.
    """
    spread = np.log(np.maximum(np.asarray(trace_scv_ratios) - 1.0, 1.0)) / np.log(_BURST_STEP)
    steps = np.ceil(spread)[:, None]
    tried = np.minimum(_BURST_STEP ** (np.arange(np.max(steps) + 1.0) - steps), 1.0)
    return np.concatenate([np.zeros_like(steps), tried], axis=1)


@remembered(_MOST_REMEMBERED)
def shared_demand(
    *,
    demand_per_s: Column,
    trace_scv_ratio: Column,
    trace_per_s: Column,
    tried_scv_ratio: Column,
    tried_requests_per_s: Column,
) -> SharedDemand:
    """Fewest replicas that carry a demand, thinning its bursts among themselves.

    x(D) = min over D' >= D of max(1, n(D')),  n(D') = min {n : D' / n <= c(y)},

    y = (c_trace^2 - 1) min(m, 1/m) / max(1, n),  m = D' / trace rate

    c(y) is what one replica carries at a burstiness of 1 + y, known where it was tried (last axis, from
    Poisson's on) and exponential in y between. A larger demand is the smoother one, so n(D') alone may fall
    as D' grows. But replicas that keep the targets for D' keep them for any part of D': with fewer requests
    next to it, none waits longer. So what serves more serves less, and x never rises as the demand falls.

    With D' of the trace's rate or more, n(D')^2 = (c_trace^2 - 1) r / (y c(y)): fewest where y c(y) is
    largest, over the y that D or more may have.

    Source: `replica_arrival_scv_ratio`; Kiefer and Wolfowitz, "On the theory of queues with many servers",
    Trans. AMS 1955 (their recursion: a request that is taken away delays none of the others).
    """
    demand, rate = np.broadcast_arrays(np.asarray(demand_per_s, dtype=np.float64), trace_per_s)
    bursts = np.broadcast_to(_bursts(trace_scv_ratio), demand.shape)
    tried = _Tried(np.asarray(tried_scv_ratio) - 1.0, np.asarray(tried_requests_per_s))

    def least(wanted: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Burstiness, and number, of the fewest replicas by the first formula alone."""
        streams = wanted / rate
        low, high = np.zeros(wanted.shape), bursts * np.minimum(streams, 1.0 / np.maximum(streams, 1.0))
        alone = tried.carries(high) >= wanted
        most = high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            # n replicas of this burstiness, n = most / y, carry n c(y).
            enough = most * tried.carries(middle) >= wanted * middle
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        spread = np.where(alone, most, low)
        return spread, np.where(alone, 1.0, np.maximum(wanted / tried.carries(spread), 1.0))

    own, replicas = least(demand)
    most, _ = least(np.maximum(demand, rate))
    best = tried.best_up_to(most)
    weight = np.maximum(best * tried.carries(best), 1e-300)
    larger = np.maximum(np.sqrt(bursts * rate / weight), 1.0)
    larger = np.where(bursts > 0, larger, np.inf)
    fewest = np.minimum(replicas, larger)
    return SharedDemand(
        carrying_replicas=np.where(demand > 0, fewest, 0.0),
        arrival_scv_ratio=1.0 + np.where(replicas <= larger, own, best),
    )


class _Tried:
    """c(y) between the points at which a replica was tried, one row of points for each candidate."""

    def __init__(self, bursts: NDArray[np.float64], requests_per_s: NDArray[np.float64]) -> None:
        self._at = np.maximum.accumulate(bursts, axis=-1)
        self._log = np.log(np.maximum(requests_per_s, LEAST_PER_S))
        self._log = np.minimum.accumulate(self._log, axis=-1)  # more bursts never help
        width = np.diff(self._at, axis=-1)
        self._fall = np.divide(
            -np.diff(self._log, axis=-1), width, out=np.zeros(width.shape), where=width > 0
        )

    def carries(self, bursts: NDArray[np.float64]) -> NDArray[np.float64]:
        """c(y) = c_k exp(-b_k (y - y_k)) from each point to the next"""
        beyond = np.clip(bursts[..., None] - self._at[..., :-1], 0.0, np.diff(self._at, axis=-1))
        found: NDArray[np.float64] = np.exp(self._log[..., 0] - np.sum(self._fall * beyond, axis=-1))
        return found

    def best_up_to(self, most: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where y c(y) is largest: at 1/b_k inside a stretch, or at one of its ends."""
        peak = np.divide(1.0, self._fall, out=np.full(self._fall.shape, np.inf), where=self._fall > 0)
        places = np.minimum(np.clip(peak, self._at[..., :-1], self._at[..., 1:]), most[..., None])
        values = places * np.stack([self.carries(places[..., k]) for k in range(places.shape[-1])], axis=-1)
        best = np.argmax(values, axis=-1)[..., None]
        chosen: NDArray[np.float64] = np.take_along_axis(places, best, axis=-1)[..., 0]
        return chosen


def _bursts(trace_scv_ratio: Column) -> NDArray[np.float64]:
    return np.maximum(np.asarray(trace_scv_ratio, dtype=np.float64) - 1.0, 0.0)


def standby_ratio(*, carrying: Column, standby: Column) -> Column:
    """Standby replicas for each that carries, where they are too many to be counted one by one.

    s = k / x

    With x not rounded up, ceil(x (1 + s)) = ceil(x) + k: as many as are requested. Beyond 1000 replicas, up
    to which they are counted, the share no longer falls.

    Source: n + k redundancy.
    """
    share: Column = np.divide(standby, np.clip(carrying, 1.0, COUNTED_REPLICAS))
    return share


def needed_replicas(*, demand_per_s: Column, requests_per_s: Column) -> Column:
    """Replicas that carry a demand.

    n = ceil(demand / capacity)

    Source: definition.
    """
    return np.ceil(np.divide(demand_per_s, requests_per_s))


def starting_h(
    *,
    double_running_h: Column,
    parameters: Column,
    weight_bytes: Column,
    load_gb_per_s: Column,
    charged_ratio: Column,
) -> Column:
    """Hours for which a replica that starts runs next to what it takes over from.

    h = (h_2 + N B_w / (10^9 r * 3600)) * c

    h_2 are the hours of double running: caches that warm up, routing, tests. What they cost in people's time
    is that of the deployment (`setting_up_usd`).

    Source: definition; weights are read once, at the rate of the slowest store on their way.
    """
    return (double_running_h + parameters * weight_bytes / (1e9 * load_gb_per_s * 3600.0)) * charged_ratio


def starting_usd(
    *, running_usd: Column, hour_usd: Column, starting_h: Column, period_h: Column, node_h: Column
) -> Column:
    """Money of a replica while it starts: electricity, and rent by the hour of its nodes.

    M = max(0, M_t * h / h_t) + p * N_h

    Nobody starts for the price of electricity where that is negative.

    Source: definition.
    """
    return np.maximum(0.0, running_usd * np.asarray(starting_h) / period_h) + hour_usd * node_h


def starting_kgco2e(*, running_kgco2e: Column, starting_h: Column, period_h: Column) -> Column:
    """Carbon of a replica while it starts: its electricity.

    C = max(0, C_t * h / h_t)

    The making of nodes that are rented for these few hours is left out.

    Source: definition.
    """
    return np.maximum(0.0, running_kgco2e * np.asarray(starting_h) / period_h)


def deployment_usd(
    *,
    monthly_person_h: Column,
    person_usd_per_h: Column,
    hours_h: Column,
    year_h: Column,
) -> Column:
    """People's time that keeping a deployment takes in a period: on call, releases, watching it.

    M = w * h * 12 * hours / year

    It is the same for one replica and for a hundred.

    Source: definition.
    """
    return person_usd_per_h * monthly_person_h * 12 * np.asarray(hours_h) / year_h


def setting_up_usd(*, person_h: Column, person_usd_per_h: Column, charged_ratio: Column) -> Column:
    """People's time that a new deployment takes: configuration, tests, alarms, traffic.

    M = w * h * c

    Source: definition.
    """
    return person_usd_per_h * person_h * np.asarray(charged_ratio)


def replica_increment_kw(*, busy_kw: Column, idle_kw: Column, replica_nodes: Column, pue: Column) -> Column:
    """Facility power that a replica adds at the peak hour to the idle power of its part of a node.

    dP = (P_peak - P_idle) * n * PUE

    Source: definition.
    """
    return np.maximum(0.0, np.asarray(busy_kw) - idle_kw) * replica_nodes * pue


def at_most(*, value: Column, most: Column) -> Column:
    """A value and its cap.

    x = min(x, most)

    Source: guard for the size of a table.
    """
    return np.minimum(value, most)


DAY_HOURS = 8  # parts of a day, each with a load of its own


def day_loads_per_s(*, peak_per_s: Column, mean_to_peak_fraction: Column) -> Column:
    """Load of a replica over a day, busiest part last, on a last axis of equal parts of the day.

    lambda(s) = lambda_peak s^(1/m - 1) c,  s = (i + 1/2)/8,  c so that the mean is m lambda_peak

    The curve of the loads in their order has the stated mean and reaches the peak; m = 1 is flat. Which hour
    is which does not matter for energy.

    Source: a load-duration curve of one parameter; assumed, as only the mean over the peak is stated.
    """
    curve = load_curve_fraction(mean_to_peak_fraction=mean_to_peak_fraction, parts=DAY_HOURS)
    result: Column = np.asarray(peak_per_s)[..., None] * curve
    return result


def load_curve_fraction(*, mean_to_peak_fraction: Column, parts: int) -> NDArray[np.float64]:
    """Load over that of the peak, of equal parts of a day on a last axis, busiest part last.

    l(s) = min(1, s^(1/m - 1) c),  s = (i + 1/2) / parts,  c so that the mean is m

    Source: a load-duration curve of one parameter; assumed, as only the mean over the peak is stated.
    """
    share = (np.arange(parts) + 0.5) / parts
    mean = np.asarray(mean_to_peak_fraction, dtype=np.float64)[..., None]
    curve = share ** (1.0 / mean - 1.0)
    curve = curve * mean / np.mean(curve, axis=-1, keepdims=True)
    least: NDArray[np.float64] = np.minimum(curve, 1.0)
    return least


def day_mean_kw(*, loads_kw: Column) -> Column:
    """Power averaged over the parts of a day, on the last axis.

    P = mean_i P_i

    Source: definition.
    """
    result: Column = np.mean(loads_kw, axis=-1)
    return result
