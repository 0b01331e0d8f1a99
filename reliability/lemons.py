"""Which nodes fail too often to be chance, and what is gained without them.

What failed often in the past owes part of that to chance and to repeats of one fault; rates here are drawn
towards the fleet's by as much as a node's own counts show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammainc

from reliability.columns import Flags, Floats
from reliability.domain import (
    require_at_least,
    require_not_negative,
    require_positive,
    require_share,
    require_some_failure,
)
from reliability.groups import true_spread_fraction


@dataclass(frozen=True, slots=True)
class Lemons:
    """Nodes in the order given: who fails beyond chance, and which rate to expect of each from now on.

    `variance_to_mean_ratio` is that of one node's counts between periods; `spread_fraction` the standard
    deviation of the nodes' lasting rates over their mean.
    """

    is_lemon: Flags
    poisson_p_fraction: Floats
    fleet_p_fraction: Floats
    rate_per_node_h: Floats
    expected_per_node_h: Floats
    own_weight_fraction: Floats
    variance_to_mean_ratio: float
    spread_fraction: float


@dataclass(frozen=True, slots=True)
class RemovalGain:
    """What goes with some nodes: their share of the failures to come, and the rates before and after."""

    nodes: int
    failures_fraction: float
    before_per_node_h: float
    after_per_node_h: float
    job_mttf_factor: float


def find_lemons(
    *,
    failures: ArrayLike,
    node_h: ArrayLike,
    false_discovery_fraction: float,
    variance_to_mean_ratio: float | None = None,
) -> Lemons:
    """Nodes that fail more often than the rest of the fleet would by chance, and what to expect of each.

        p_i = P(X >= n_i),  X negative binomial of mean m_i and variance m_i * (v + c^2 * m_i)
        v = sum m_ij * (n_ij / m_ij - n_i / m_i)^2 / sum (periods of i - 1),  m_ij = r_j * t_ij
        r_i = r * (1 + z_i * (n_i / m_i - 1)),  z_i = c^2 / (c^2 + v / m_i)

    A row for each node, a column for each period. The rate r_j of each period is the fleet's; the spread c of
    lasting rates is `true_spread_fraction` of the nodes. Nodes found leave the fleet that sets v, c and r_j
    for p, until no more are found; r_i is by v and c of all. One period cannot tell a bad node from a bad
    week: then state `variance_to_mean_ratio` v. Periods should outlast a fault's repeats (two halves of a
    year, not weeks), or those pass for a lasting rate.

    Source: Bühlmann and Straub, 1970; Benjamini and Hochberg, "Controlling the false discovery rate", JRSS B
    57, 1995, through SciPy. That found nodes leave is ours; simulated fleets keep the false share below what
    is requested.
    """
    from scipy.stats import false_discovery_control  # takes half a second to load

    require_share(false_discovery_fraction=false_discovery_fraction)
    count, hours = _panel(failures, node_h, variance_to_mean_ratio)
    total = count.sum(axis=1)
    found = np.zeros(total.size, dtype=bool)
    for _ in range(total.size):
        expected, ratio, spread = _fleet(count, hours, ~found, variance_to_mean_ratio)
        fleet_p = _chance_of_at_least(total, expected, ratio - 1.0 + spread**2 * expected)
        more = found | (false_discovery_control(fleet_p) <= false_discovery_fraction)
        if np.array_equal(more, found) or not total[~more].any():
            break
        found = more
    poisson_p = _chance_of_at_least(total, expected, np.zeros(total.size))
    expected, ratio, spread = _fleet(count, hours, np.ones(total.size, dtype=bool), variance_to_mean_ratio)
    own_part = spread**2 / (spread**2 * expected + ratio)
    node_total_h = hours.sum(axis=1)
    rate = float(total.sum() / node_total_h.sum())
    return Lemons(
        is_lemon=found,
        poisson_p_fraction=poisson_p,
        fleet_p_fraction=fleet_p,
        rate_per_node_h=total / node_total_h,
        expected_per_node_h=rate * (1.0 + own_part * (total - expected)),
        own_weight_fraction=own_part * expected,
        variance_to_mean_ratio=ratio,
        spread_fraction=spread,
    )


def worst_nodes_fraction(*, failures: ArrayLike, worst: int) -> float:
    """Share of all failures on record that fell on the nodes which failed most.

        share = sum of the k largest n_i / sum n_i

    A record, no forecast: much of it is chance and repeats, and `find_lemons` says what lasts. A node
    without failures is a row with 0.

    Source: order statistics of counts.
    """
    count = np.asarray(failures, dtype=float)
    require_not_negative(failures=count)
    require_some_failure(count)
    if not 1 <= worst <= count.size:
        raise ValueError(f"worst must be from 1 to the {count.size} nodes, got {worst}")
    return float(np.sort(count)[::-1][:worst].sum() / count.sum())


def removal_gain(*, expected_per_node_h: ArrayLike, removed: ArrayLike) -> RemovalGain:
    """What is gained by taking nodes out and running jobs as large as before on the rest.

        share = sum over removed of r_i / sum r_i,  MTTF' / MTTF = mean r / mean of r over the rest

    r_i are the rates to expect (`find_lemons`), not those of the past: removed nodes would have failed less
    often than they did. Drawn towards a fleet that has few lemons, theirs are rather too low, and so is the
    gain.

    Source: rates of independent nodes add up; a job's nodes are drawn at random.
    """
    rate = np.asarray(expected_per_node_h, dtype=float)
    out = np.asarray(removed, dtype=bool)
    require_positive(expected_per_node_h=rate)
    if rate.ndim != 1 or out.shape != rate.shape:
        raise ValueError(f"removed must be a column as long as the rates, {rate.shape}, got {out.shape}")
    if out.all():
        raise ValueError(f"removed must leave at least one node, got all {out.size}")
    before, after = float(rate.mean()), float(rate[~out].mean())
    return RemovalGain(
        nodes=int(out.sum()),
        failures_fraction=float(rate[out].sum() / rate.sum()),
        before_per_node_h=before,
        after_per_node_h=after,
        job_mttf_factor=before / after,
    )


def _panel(
    failures: ArrayLike, node_h: ArrayLike, variance_to_mean_ratio: float | None
) -> tuple[Floats, Floats]:
    """Checked tables of counts, a row for each node and a column for each period."""
    count, hours = np.broadcast_arrays(np.asarray(failures, dtype=float), np.asarray(node_h, dtype=float))
    if count.ndim == 1:
        count, hours = count[:, None], hours[:, None]
    if count.ndim != 2 or count.shape[0] < 2:
        raise ValueError(f"failures must be a table with rows for two or more nodes, got shape {count.shape}")
    require_not_negative(failures=count, node_h=hours)
    require_positive(node_h=hours.sum(axis=1))
    if np.any((count > 0) & (hours == 0)):
        raise ValueError("node_h must be above 0 wherever failures are, got 0")
    require_some_failure(count)
    periods = int(count.any(axis=0).sum())
    if variance_to_mean_ratio is not None:
        require_at_least(1.0, variance_to_mean_ratio=variance_to_mean_ratio)
    elif periods < 2:
        raise ValueError(
            f"failures must fall in at least two periods, got {periods}: one cannot tell a bad node from "
            "a bad week; give counts by period, or state variance_to_mean_ratio"
        )
    return count, hours


def _quotient(above: Floats, below: Floats) -> Floats:
    """Above over below; 0 where nothing is below, as of a node in a period without failures."""
    quotient: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return quotient


def _fleet(
    count: Floats, hours: Floats, ordinary: Flags, variance_to_mean_ratio: float | None
) -> tuple[Floats, float, float]:
    """Counts of all nodes at the rates of the ordinary ones; their ratio between periods and spread."""
    cell = hours * _quotient(count[ordinary].sum(axis=0), hours[ordinary].sum(axis=0))
    expected, total = cell.sum(axis=1), count.sum(axis=1)
    ratio = variance_to_mean_ratio
    if ratio is None:
        seen = (cell > 0) & ordinary[:, None]
        own = cell * _quotient(total, expected)[:, None]
        within = np.sum((count[seen] - own[seen]) ** 2 / cell[seen])
        ratio = max(float(within / (seen.sum() - seen.any(axis=1).sum())), 1.0)
    here = ordinary & (expected > 0)
    spread = true_spread_fraction(failures=total[here], node_h=expected[here], variance_to_mean_ratio=ratio)
    return expected, ratio, spread


def _chance_of_at_least(count: Floats, mean: Floats, excess: Floats) -> Floats:
    """P(X >= n) of a negative binomial count of variance mean * (1 + excess); Poisson without excess."""
    some = np.maximum(count, 1.0)
    wide = np.where(excess > 0, excess, 1.0)
    chance = np.where(excess > 0, betainc(some, mean / wide, wide / (1.0 + wide)), gammainc(some, mean))
    at_least: Floats = np.where(count > 0, chance, 1.0)
    return at_least
