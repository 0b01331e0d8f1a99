"""What a fleet to simulate is made of: nodes and their ages, how they fail, repairs, what a stop takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import gamma

from reliability.domain import require_fraction, require_not_negative, require_positive


@dataclass(frozen=True, slots=True)
class FleetNodes:
    """Where nodes are at the start: the working pool holds the job, its warm standbys and idle nodes."""

    job_nodes: int
    warm_standbys: int
    working_nodes: int
    spare_nodes: int = 0

    def __post_init__(self) -> None:
        require_positive(job_nodes=self.job_nodes)
        require_not_negative(warm_standbys=self.warm_standbys, spare_nodes=self.spare_nodes)
        if self.working_nodes < self.job_nodes + self.warm_standbys:
            raise ValueError(
                "working_nodes must hold job_nodes and warm_standbys, "
                f"{self.job_nodes} + {self.warm_standbys}, got {self.working_nodes}"
            )


@dataclass(frozen=True, slots=True)
class NodeFailures:
    """How running nodes fail: hazard h(t) = m * k / s * (t / s)^(k - 1), and bursts that take several.

    s makes the mean life of a good node `node_mttf_h`; m is 1 for a good node and `bad_rate_multiplier` for
    a bad one. Age t is hours of running. Bursts strike the running job at a rate of their own and take
    `burst_nodes` of its nodes at once.
    """

    node_mttf_h: float
    weibull_shape: float = 1.0
    bad_fraction: float = 0.0
    bad_rate_multiplier: float = 1.0
    bursts_per_h: float = 0.0
    burst_nodes: int = 1

    def __post_init__(self) -> None:
        require_positive(node_mttf_h=self.node_mttf_h, weibull_shape=self.weibull_shape)
        require_positive(bad_rate_multiplier=self.bad_rate_multiplier, burst_nodes=self.burst_nodes)
        require_not_negative(bursts_per_h=self.bursts_per_h)
        require_fraction(bad_fraction=self.bad_fraction)

    @property
    def scale_h(self) -> float:
        """Scale of a good node's Weibull life: s = M / Gamma(1 + 1 / k)."""
        return self.node_mttf_h / float(gamma(1.0 + 1.0 / self.weibull_shape))


@dataclass(frozen=True, slots=True)
class RepairShop:
    """Automatic repair, then manual repair for a share of nodes; durations are means.

    A repair that helps gives back a good node as new; one that does not gives it back as it came. Durations
    are exponential, or lognormal where `log_deviation` says so. A node that fails `retire_failures` times
    within `retire_window_h` leaves the fleet instead; 0 keeps them all.
    """

    automatic_h: float
    manual_h: float = 0.0
    manual_fraction: float = 0.0
    automatic_helps_fraction: float = 1.0
    manual_helps_fraction: float = 1.0
    log_deviation: float | None = None
    retire_failures: int = 0
    retire_window_h: float = math.inf

    def __post_init__(self) -> None:
        require_not_negative(automatic_h=self.automatic_h, manual_h=self.manual_h)
        require_not_negative(log_deviation=self.log_deviation or 0.0, retire_failures=self.retire_failures)
        require_fraction(
            manual_fraction=self.manual_fraction,
            automatic_helps_fraction=self.automatic_helps_fraction,
            manual_helps_fraction=self.manual_helps_fraction,
        )


@dataclass(frozen=True, slots=True)
class StopHours:
    """What a stop takes: recovery; without a standby, host selection; and a wait for each spare called in."""

    recovery_h: float
    selection_h: float = 0.0
    preempt_h: float = 0.0

    def __post_init__(self) -> None:
        require_not_negative(
            recovery_h=self.recovery_h, selection_h=self.selection_h, preempt_h=self.preempt_h
        )
