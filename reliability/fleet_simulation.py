"""One synchronous job on a fleet, node by node: the independent route to spares, weak nodes and ageing.

Only failures and ends of repairs are events; between them nothing changes. All running nodes age on one
clock, the hours that the job has run, so a queue of the nodes' next failures on it finds the next stop.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reliability.columns import Floats
from reliability.domain import require_not_negative, require_positive
from reliability.fleet_setting import FleetNodes, NodeFailures, RepairShop, StopHours

# Random numbers drawn at once; one by one they would take most of the time.
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class SimulatedFleet:
    """One entry for each replica; the seven states from useful to stalled add up to the finish.

    `lost_h` is work and writes done again. `stalled_h` waits for repairs; where too few nodes are left for
    the job, it and the finish are infinite. `repair_node_h` adds up the repairs that were begun.
    """

    finish_h: Floats
    useful_h: Floats
    checkpoint_h: Floats
    lost_h: Floats
    recovery_h: Floats
    selection_h: Floats
    preempt_h: Floats
    stalled_h: Floats
    stops: Floats
    failures: Floats
    bad_failures: Floats
    manual_repairs: Floats
    helped: Floats
    repair_node_h: Floats
    selections: Floats
    preemptions: Floats
    retired: Floats

    @property
    def ettr_fraction(self) -> Floats:
        """Useful hours for each hour, for each replica."""
        return self.useful_h / self.finish_h

    @property
    def events(self) -> Floats:
        """Failures, stages of repair, host selections and spares called in, for each replica."""
        repairs = self.failures - self.retired
        return self.failures + repairs + self.manual_repairs + self.selections + self.preemptions


def simulate_fleet(
    *,
    nodes: FleetNodes,
    failures: NodeFailures,
    repair: RepairShop,
    stops: StopHours,
    job_h: float,
    replicas: int,
    seed: int,
    interval_h: float = 0.0,
    write_h: float = 0.0,
    ages_h: float | Floats = 0.0,
) -> SimulatedFleet:
    """Play a job of `job_h` useful hours that needs all its nodes, on a fleet with spares and repair.

        next stop = min over running nodes of (joined + residual life), or the next burst

    A stop costs its recovery, then a warm standby steps in. Without one, hosts are selected again: from
    idle nodes, then from spares (each after its wait) until job and standbys are whole, then from repair.
    Repaired nodes become standbys, or idle. Nodes fail while the job runs, not while it stops, stands by or
    recovers. With `interval_h` the job resumes at its last checkpoint; at 0 no work is ever lost.
    `ages_h` are hours that nodes ran before, one for each node, those of the job first.

    Left out: queues in the repair shop, failures of standbys, racks.

    Source: direct simulation; roles and stops after AIReSim, where lost work is not counted.
    """
    require_positive(job_h=job_h, replicas=replicas)
    require_not_negative(interval_h=interval_h, write_h=write_h, ages_h=ages_h)
    if write_h > 0 and interval_h == 0:
        raise ValueError(f"interval_h must be above 0 where writes take time, got 0 with write_h {write_h:g}")
    if failures.burst_nodes > nodes.job_nodes:
        raise ValueError(
            f"burst_nodes must not exceed job_nodes {nodes.job_nodes}, got {failures.burst_nodes}"
        )
    ages = np.broadcast_to(ages_h, (nodes.working_nodes + nodes.spare_nodes,))
    played = [
        _Fleet(np.random.default_rng(own), nodes, failures, repair, stops, ages).play(
            job_h, interval_h, write_h
        )
        for own in np.random.SeedSequence(seed).spawn(replicas)
    ]
    return SimulatedFleet(**{name: np.array([row[name] for row in played], float) for name in played[0]})


class _Fleet:
    """One replica. `clock_h` counts hours of running; `stopped_h` more have passed on the wall."""

    def __init__(
        self,
        random: np.random.Generator,
        nodes: FleetNodes,
        failures: NodeFailures,
        repair: RepairShop,
        stops: StopHours,
        ages: Floats,
    ) -> None:
        self.random, self.kind, self.repair, self.stop = random, failures, repair, stops
        self.job_nodes, self.warm_standbys = nodes.job_nodes, nodes.warm_standbys
        self.scale_h, self.shape = failures.scale_h, failures.weibull_shape
        self.ages: list[float] = ages.tolist()
        self.rate_multipliers = [1.0] * ages.size
        for node in random.permutation(ages.size)[: int(ages.size * failures.bad_fraction)]:
            self.rate_multipliers[node] = failures.bad_rate_multiplier
        self.joined = [0.0] * ages.size
        self.history: dict[int, deque[float]] = {}
        self.running: list[tuple[float, int]] = []  # heap of (clock at the next failure, node)
        self.repairing: list[tuple[float, int]] = []  # heap of (wall hour of return, node)
        self.standbys: deque[int] = deque()
        self.idle = deque(range(nodes.working_nodes))
        self.spares = deque(range(nodes.working_nodes, ages.size))
        self.hazards = _exponentials(random)
        self.repairs = _repairs(random, repair)
        self.clock_h = self.stopped_h = self.stalled_h = self.repair_node_h = 0.0
        self.stops = self.failures = self.bad_failures = self.manual_repairs = self.helped = 0
        self.selections = self.preemptions = self.retired = 0

    def play(self, job_h: float, interval_h: float, write_h: float) -> dict[str, float]:
        """Run until `job_h` of useful work are kept, or too few nodes are left."""
        cycle_h = interval_h + write_h
        stretch = cycle_h / interval_h if interval_h > 0 else 1.0
        needed_h = job_h * stretch
        burst_h = self._next_burst_h()
        self._fill()
        while len(self.running) == self.job_nodes:
            stop_h = self.running[0][0]
            if burst_h < stop_h:
                stop_h = burst_h
            up_h = stop_h - self.clock_h
            if up_h >= needed_h:
                self.clock_h, needed_h = self.clock_h + needed_h, 0.0
                break
            needed_h -= up_h // cycle_h * cycle_h if cycle_h > 0 else up_h
            self.clock_h = stop_h
            if stop_h == burst_h:
                self._burst()
                burst_h = self._next_burst_h()
            else:
                self._fail(heapq.heappop(self.running)[1])
            self.stops += 1
            self.stopped_h += self.stop.recovery_h
            self._fill()
        return self._by_use(job_h - needed_h / stretch, stretch)

    def _by_use(self, useful_h: float, stretch: float) -> dict[str, float]:
        """Where the hours went and what was counted, by the names of `SimulatedFleet`."""
        return {
            "finish_h": self.clock_h + self.stopped_h,
            "useful_h": useful_h,
            "checkpoint_h": useful_h * (stretch - 1.0),
            "lost_h": max(self.clock_h - useful_h * stretch, 0.0),
            "recovery_h": self.stops * self.stop.recovery_h,
            "selection_h": self.selections * self.stop.selection_h,
            "preempt_h": self.preemptions * self.stop.preempt_h,
            "stalled_h": self.stalled_h,
            "stops": self.stops,
            "failures": self.failures,
            "bad_failures": self.bad_failures,
            "manual_repairs": self.manual_repairs,
            "helped": self.helped,
            "repair_node_h": self.repair_node_h,
            "selections": self.selections,
            "preemptions": self.preemptions,
            "retired": self.retired,
        }

    def _next_burst_h(self) -> float:
        rate_per_h = self.kind.bursts_per_h
        return self.clock_h + next(self.hazards) / rate_per_h if rate_per_h > 0 else math.inf

    def _burst(self) -> None:
        hit = set(self.random.choice(len(self.running), self.kind.burst_nodes, replace=False).tolist())
        struck = [node for place, (_, node) in enumerate(self.running) if place in hit]
        self.running = [entry for place, entry in enumerate(self.running) if place not in hit]
        heapq.heapify(self.running)
        for node in struck:
            self._fail(node)

    def _fail(self, node: int) -> None:
        """Take a running node out and send it to repair, unless it retires."""
        self.ages[node] += self.clock_h - self.joined[node]
        self.failures += 1
        self.bad_failures += self.rate_multipliers[node] != 1.0
        wall_h = self.clock_h + self.stopped_h
        if self.repair.retire_failures and self._retires(node, wall_h):
            self.retired += 1
            return
        duration_h, manual, helps = next(self.repairs)
        self.manual_repairs += manual
        self.repair_node_h += duration_h
        if helps:
            self.helped += 1
            self.ages[node], self.rate_multipliers[node] = 0.0, 1.0
        heapq.heappush(self.repairing, (wall_h + duration_h, node))

    def _retires(self, node: int, wall_h: float) -> bool:
        failed_h = self.history.setdefault(node, deque(maxlen=self.repair.retire_failures))
        failed_h.append(wall_h)
        return len(failed_h) == failed_h.maxlen and wall_h - failed_h[0] <= self.repair.retire_window_h

    def _fill(self) -> None:
        """Bring the job back to all its nodes: by standbys, or else by selecting hosts."""
        self._take_back(self.clock_h + self.stopped_h)
        missing = self.job_nodes - len(self.running)
        if len(self.standbys) < missing:
            self._gather(missing)
        while missing and self.standbys:
            self._join(self.standbys.popleft())
            missing -= 1

    def _gather(self, missing: int) -> None:
        """Select hosts from idle nodes; where those are too few, call in spares or wait for repairs."""
        here = len(self.standbys) + len(self.idle)
        wanted = missing + self.warm_standbys if here < missing else here
        while here < wanted and (self.spares or here < missing):
            if self.spares:
                self._call_spare()
            elif self.repairing:
                self._wait_for_repair()
            else:
                self.stopped_h = self.stalled_h = math.inf
                return
            here = len(self.standbys) + len(self.idle)
        self.selections += 1
        self.stopped_h += self.stop.selection_h
        while self.idle and len(self.standbys) < missing + self.warm_standbys:
            self.standbys.append(self.idle.popleft())

    def _call_spare(self) -> None:
        self.idle.append(self.spares.popleft())
        self.preemptions += 1
        self.stopped_h += self.stop.preempt_h
        self._take_back(self.clock_h + self.stopped_h)

    def _wait_for_repair(self) -> None:
        return_h = self.repairing[0][0]
        wait_h = return_h - self.clock_h - self.stopped_h
        self.stalled_h += wait_h
        self.stopped_h += wait_h
        self._take_back(return_h)

    def _join(self, node: int) -> None:
        """Start a node; it will fail once its remaining life has passed on the clock.

        H(age + life) = H(age) + E / m,  E exponential
        """
        hazard = next(self.hazards) / self.rate_multipliers[node]
        if self.shape == 1.0:
            life_h = self.scale_h * hazard
        else:
            spent = (self.ages[node] / self.scale_h) ** self.shape
            life_h = self.scale_h * (spent + hazard) ** (1.0 / self.shape) - self.ages[node]
        self.joined[node] = self.clock_h
        heapq.heappush(self.running, (self.clock_h + life_h, node))

    def _take_back(self, wall_h: float) -> None:
        """Nodes whose repair has ended become standbys, or idle where there are enough."""
        repairing, standbys = self.repairing, self.standbys
        while repairing and repairing[0][0] <= wall_h:
            node = heapq.heappop(repairing)[1]
            (standbys if len(standbys) < self.warm_standbys else self.idle).append(node)


def _exponentials(random: np.random.Generator) -> Iterator[float]:
    """Unit exponentials without end."""
    while True:
        yield from random.standard_exponential(_BLOCK).tolist()


def _repairs(random: np.random.Generator, repair: RepairShop) -> Iterator[tuple[float, bool, bool]]:
    """Repairs without end: hours, whether a manual one was part of it, and whether it helped."""
    while True:
        manual = random.random(_BLOCK) < repair.manual_fraction
        duration_h = repair.automatic_h * _unit_durations(random, repair.log_deviation)
        duration_h += manual * repair.manual_h * _unit_durations(random, repair.log_deviation)
        chances = np.where(manual, repair.manual_helps_fraction, repair.automatic_helps_fraction)
        helps = random.random(_BLOCK) < chances
        yield from zip(duration_h.tolist(), manual.tolist(), helps.tolist(), strict=True)


def _unit_durations(random: np.random.Generator, log_deviation: float | None) -> Floats:
    """Durations of mean 1: exponential, or lognormal."""
    if log_deviation is None:
        return random.standard_exponential(_BLOCK)
    return random.lognormal(-(log_deviation**2) / 2.0, log_deviation, _BLOCK)
