"""What services are promised: known values, properties, a small play of failures, restarts and repairs."""

from __future__ import annotations

import dataclasses
import heapq
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import size
from solver_cases import problem, promise_steps

from reliability import promises as leaf
from reliability.promises import Standby, down_fractions, kept_fraction, standby_for_restarts
from reliability.spares import k_of_n_availability_fraction, node_availability_fraction, spare_steps
from solver.answer import answer
from solver.problem import ServeOptions, Services

UP = 0.986  # 2.6 failures in 1,000 node-days, 5.5 days of repair


@pytest.mark.parametrize(
    ("carrying", "installed", "kept"),
    [
        (1, 1, 0.986),
        (1, 2, 0.99980),
        (4, 5, 0.9981),
        (4, 6, 0.99995),
        (10, 11, 0.9901),
        (10, 12, 0.99945),
        (10, 13, 0.99998),
    ],
)
def test_known_availabilities(carrying: int, installed: int, kept: float) -> None:
    """Independent nodes that are up 98.6 % of the time, k of n: the binomial distribution."""
    got = kept_fraction(nodes=installed, spare_nodes=installed - carrying, availability_fraction=UP)

    assert got == pytest.approx(kept, abs=6e-6 if kept > 0.9995 else 6e-5)
    assert node_availability_fraction(failure_rate_per_node_h=0.0026 / 24, repair_h=132) == pytest.approx(
        UP, abs=1e-4
    )


@given(
    nodes=st.integers(1, 60),
    spares=st.integers(0, 8),
    up=st.floats(0.9, 0.9999),
    correlation=st.sampled_from([0.0, 0.001, 0.02, 0.2]),
)
def test_the_count_of_nodes_down_is_that_of_k_of_n(
    nodes: int, spares: int, up: float, correlation: float
) -> None:
    """Summed from none down, the chances are the k-of-n availability, independent or in bursts."""
    chances = down_fractions(
        nodes=nodes + spares, most_down=spares, availability_fraction=up, correlation_fraction=correlation
    )
    wanted = k_of_n_availability_fraction(
        needed=nodes, installed=nodes + spares, availability_fraction=up, correlation_fraction=correlation
    )

    assert chances.sum() == pytest.approx(wanted, abs=1e-9)


@given(
    carrying=st.integers(1, 40),
    standby=st.integers(0, 3),
    spares=st.integers(0, 6),
    up=st.floats(0.9, 0.9999),
    correlation=st.sampled_from([0.0, 0.02]),
    restarting=st.floats(0.0, 0.3),
)
def test_more_spares_and_standby_never_keep_less(
    carrying: int, standby: int, spares: int, up: float, correlation: float, restarting: float
) -> None:
    def kept(more_spares: int, more_standby: int) -> float:
        s, k = spares + more_spares, standby + more_standby
        return kept_fraction(
            nodes=carrying + k + s,
            spare_nodes=s,
            standby_nodes=k,
            covered_nodes=k,
            availability_fraction=up,
            correlation_fraction=correlation,
            restarting_nodes=restarting,
        )

    assert kept(1, 0) >= kept(0, 0) - 1e-12
    assert kept(0, 1) >= kept(0, 0) - 1e-12
    assert kept(0, 1) >= kept(1, 0) - 1e-12  # a replica that stands by is a spare that is loaded


@pytest.mark.slow
@given(
    highest=st.integers(1, 60),
    mean_down=st.floats(0.001, 0.08),
    promise=st.sampled_from([0.9, 0.99, 0.999, 0.99995]),
    correlation=st.sampled_from([0.0, 0.012]),
)
def test_steps_keep_the_promise_and_not_one_spare_fewer(
    highest: int, mean_down: float, promise: float, correlation: float
) -> None:
    """At every number of nodes: the step keeps it, one spare fewer does not; stricter asks for no less."""
    arguments: dict[str, Any] = {
        "failure_rate_per_node_h": mean_down / 100.0,
        "repair_h": 100.0,
        "highest_nodes": highest,
        "correlation_fraction": correlation,
    }
    found = leaf.promise_steps(promise_fraction=promise, **arguments)
    stricter = leaf.promise_steps(promise_fraction=1 - (1 - promise) / 3, **arguments)
    up = 1 / (1 + mean_down)

    def kept(nodes: int, spares: float) -> float:
        return kept_fraction(
            nodes=nodes + spares,
            spare_nodes=spares,
            availability_fraction=up,
            correlation_fraction=correlation,
        )

    before = 0.0
    for nodes in range(1, highest + 1):
        spares = float(found.spares[np.searchsorted(found.reach_nodes, nodes)])
        assert kept(nodes, spares) >= promise - 1e-12
        assert spares == before or kept(nodes, spares - 1) < promise
        assert stricter.spares[np.searchsorted(stricter.reach_nodes, nodes)] >= spares
        before = spares


def test_a_large_fleet_has_hundreds_of_steps() -> None:
    """17,000 nodes that fail together: at most 1 % more spares than the fewest, each reach exact."""
    found = leaf.promise_steps(
        failure_rate_per_node_h=1.6e-4,
        repair_h=132.0,
        promise_fraction=0.9995,
        highest_nodes=17_000,
        correlation_fraction=0.012,
    )
    up = 1 / (1 + 1.6e-4 * 132.0)

    def kept(nodes: float, spares: float) -> float:
        return kept_fraction(
            nodes=nodes + spares, spare_nodes=spares, availability_fraction=up, correlation_fraction=0.012
        )

    assert found.spares[-1] > 1_000
    assert found.spares.size < 500
    assert (np.diff(found.spares) <= np.maximum(found.spares[:-1] / 100, 1)).all()
    for spares, reach in list(zip(found.spares.tolist(), found.reach_nodes.tolist(), strict=True))[-9:-1:4]:
        assert kept(reach, spares) >= 0.9995 > kept(reach + 1, spares)


def test_standby_covers_restarts_alone() -> None:
    """Ten nodes, 2e-5 restarts at once of each: of a thousandth of the time a tenth is left to restarts.

    One at once has a chance of 2.2e-4, more than 1e-4; two of 2.4e-8. Of one node, 2e-5 and less than 1e-4.
    """
    found = standby_for_restarts(
        carrying_nodes=np.array([1.0, 10.0, 0.0]),
        restart_ratio=2e-5,
        short_fraction=1e-3,
        restart_share_fraction=0.1,
        spare_confidence_fraction=np.array([0.99, 0.99, 0.99]),
    )

    assert np.asarray(found.failures).tolist() == [0, 1, 0]
    assert np.asarray(found.covered_nodes).tolist() == [0, 1, 0]
    unknown = standby_for_restarts(
        carrying_nodes=10.0,
        restart_ratio=2e-5,
        short_fraction=1e-3,
        restart_share_fraction=0.1,
        spare_confidence_fraction=0.0,
    )
    assert unknown == Standby(1, 0)  # spares may be short all the time, and restarts would find no standby


@dataclasses.dataclass
class Group:
    """A node group to play: services by (replicas that carry, on standby, nodes of each), and spares."""

    services: list[tuple[int, int, int]]
    spares: int
    rate_per_h: float
    repair_h: float
    restart_h: float
    promised: tuple[float, ...] = ()  # of the services, the laxest first; alike where nothing is said
    down: list[int] = dataclasses.field(default_factory=list)  # nodes under repair of each service

    def played(self, failures: int, rng: np.random.Generator, batches: int = 20) -> list[tuple[float, float]]:
        """Share of time in which each service is short, and the error of that.

        Every node that is up fails at the same rate. The next spare takes its place and the replica restarts;
        without one it waits for a repair. A service that is short takes a standby replica of another, or,
        where it is promised more, the spare on which another works: as many as there are spares for its like.
        """
        roles = [i for i, (n, k, _) in enumerate(self.services) for _ in range(n + k)]
        missing, ready_at = [0] * len(roles), [0.0] * len(roles)
        nodes = [r for r, i in enumerate(roles) for _ in range(self.services[i][2])] + [-1] * self.spares
        repairs: list[tuple[float, int]] = []
        self.down = [0] * len(self.services)
        total = len(nodes)
        now, spares, wanted = 0.0, self.spares, [n for n, _, _ in self.services]
        short, length = np.zeros((batches, len(wanted))), np.zeros(batches)
        for batch in range(batches):
            for _ in range(failures // batches):
                at = now + rng.exponential(1.0 / (self.rate_per_h * total))
                while True:
                    ends = min([at, *([repairs[0][0]] if repairs else []), *(t for t in ready_at if t > now)])
                    up = [0] * len(wanted)
                    for r, i in enumerate(roles):
                        up[i] += missing[r] == 0 and ready_at[r] <= now
                    length[batch] += ends - now
                    short[batch] += [(ends - now) * (u < n) for u, n in zip(up, wanted, strict=True)]
                    now = ends
                    if now == at:
                        break
                    if repairs and now == repairs[0][0]:
                        owner = heapq.heappop(repairs)[1]
                        if owner >= 0:
                            self.down[owner] -= 1
                        spares += 1
                        nodes.append(-1)
                        spares = self._placed(roles, missing, ready_at, nodes, spares, now)
                place = int(rng.integers(total))
                if place >= len(nodes):
                    continue  # that of a node under repair
                lost = nodes.pop(place)
                owner = roles[lost] if lost >= 0 else -1
                heapq.heappush(repairs, (now + self.repair_h * rng.lognormal(-0.5, 1.0), owner))
                if owner >= 0:
                    self.down[owner] += 1
                if lost < 0:
                    spares -= 1
                else:
                    missing[lost] += 1
                    spares = self._placed(roles, missing, ready_at, nodes, spares, now)
        share = short.sum(axis=0) / length.sum()
        error = (short / length[:, None]).std(axis=0, ddof=1) / np.sqrt(batches)
        return list(zip(share.tolist(), error.tolist(), strict=True))

    def _placed(
        self,
        roles: list[int],
        missing: list[int],
        ready_at: list[float],
        nodes: list[int],
        spares: int,
        now: float,
    ) -> int:
        """Spares to where nodes are missing, the services that are short first; then standby of others."""

        def surplus(i: int) -> int:
            whole = sum(missing[r] == 0 for r, service in enumerate(roles) if service == i)
            return whole - self.services[i][0]

        while spares and any(missing):
            r = min((r for r in range(len(roles)) if missing[r]), key=lambda r: surplus(roles[r]))
            nodes[nodes.index(-1)] = r
            missing[r] -= 1
            spares -= 1
            ready_at[r] = now + self.restart_h
        for r, i in enumerate(roles):
            while missing[r] and surplus(i) < 0:
                rich = [j for j in range(len(self.services)) if surplus(j) > 0] or self._laxer(i)
                rich = [j for j in rich if any(role == j and not missing[g] for g, role in enumerate(roles))]
                if not rich:
                    break
                giver = next(g for g, j in enumerate(roles) if j == rich[0] and not missing[g])
                nodes[nodes.index(giver)] = r
                missing[giver] += 1
                missing[r] -= 1
                ready_at[r] = now + self.restart_h
        return spares

    def _laxer(self, i: int) -> list[int]:
        """Services that are promised less, while spares are enough for those promised as much."""
        if not self.promised:
            return []
        alike = sum(d for d, p in zip(self.down, self.promised, strict=True) if p >= self.promised[i])
        less = [j for j, p in enumerate(self.promised) if p < self.promised[i]]
        return less if alike <= self.spares else []


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("carrying", "standby", "spares", "mean_down"),
    [(1, 0, 0, 0.02), (1, 0, 1, 0.05), (4, 0, 1, 0.03), (4, 1, 1, 0.05), (10, 0, 2, 0.03), (10, 1, 0, 0.01)],
)
def test_the_closed_form_against_a_play_of_failures(
    carrying: int, standby: int, spares: int, mean_down: float
) -> None:
    """Failure by failure, with repairs of a heavy tail: shortfalls agree within 5 % and the play's error."""
    group = Group([(carrying, standby, 1)], spares, mean_down / 100.0, 100.0, 0.5)
    share, error = group.played(size(20_000, nightly=200_000), np.random.default_rng(carrying + spares))[0]
    closed = kept_fraction(
        nodes=carrying + standby + spares,
        spare_nodes=spares,
        standby_nodes=standby,
        covered_nodes=standby,
        availability_fraction=1 / (1 + mean_down),
        restarting_nodes=(carrying + standby) * mean_down / 100.0 * 0.5,
    )

    assert share == pytest.approx(1 - closed, rel=0.05, abs=4 * error)


def drawn_services(rng: np.random.Generator) -> tuple[Group, list[float]]:
    """A node group with one or two services, sized by the program, and what each is promised."""
    mean_down, repair_h = rng.uniform(0.004, 0.05), rng.uniform(12.0, 150.0)
    restart_h, rate = rng.uniform(0.1, 1.0), mean_down / repair_h
    count, confidence = int(rng.integers(1, 3)), float(rng.choice([0.9, 0.99]))
    promised = sorted(float(rng.choice([0.95, 0.99, 0.999, 0.9995])) for _ in range(count))
    levels = sorted(set(promised))
    width, carrying = rng.choice([1, 1, 2], count), rng.integers(1, 13, count)
    standby = standby_for_restarts(
        carrying_nodes=carrying.astype(float),
        restart_ratio=rate * width * restart_h,
        short_fraction=1 - np.array(promised),
        restart_share_fraction=0.5,
        spare_confidence_fraction=confidence,
    )
    failures, covers = (np.atleast_1d(each) for each in (standby.failures, standby.covered_nodes))
    highest = 80
    plain = spare_steps(
        failure_rate_per_node_h=rate,
        repair_h=repair_h,
        confidence_fraction=confidence,
        highest_nodes=highest,
    )
    rows = [(0, 0, int(s), float(n)) for s, n in zip(plain.spares, plain.reach_nodes, strict=True)]
    for number, promise in enumerate(levels, start=1):
        found = leaf.promise_steps(
            failure_rate_per_node_h=rate,
            repair_h=repair_h,
            promise_fraction=1 - 0.5 * (1 - promise),
            highest_nodes=highest,
        )
        rows += [(number, 0, int(s), float(n)) for s, n in zip(found.spares, found.reach_nodes, strict=True)]
    flat = np.ones((count, 1))
    case = problem(
        services=Services(name=tuple("ab"[:count]), demand=carrying[:, None].astype(float)),
        serve_options=ServeOptions(
            service=np.arange(count),
            node_group=np.zeros(count),
            capacity=flat,
            nodes=width.astype(float),
            standby_fraction=0 * flat,
            node_hours=100 * width[:, None] * flat,
            active_kw=np.ones(count),
            usd=15 * flat,
            kgco2e=flat,
            standby=failures[:, None],
            promise=np.searchsorted(levels, promised) + 1,
            covers=covers[:, None],
        ),
        spare_steps=promise_steps(*rows),
    )
    plan = answer(case, gap_fraction=0.0, time_limit_s=20).solution
    assert plan is not None
    replicas = plan.replicas[:, 0]
    services = [(int(n), int(r - n), int(w)) for n, r, w in zip(carrying, replicas, width, strict=True)]
    return Group(services, int(plan.spares.item()), rate, repair_h, restart_h, tuple(promised)), promised


@pytest.mark.simulation
@pytest.mark.parametrize("seed", range(size(40, nightly=200)))
def test_what_is_promised_is_kept(seed: int) -> None:
    """Drawn services, planned by the program and played: none is short more often than it may be."""
    rng = np.random.default_rng([seed, 11])
    group, promised = drawn_services(rng)
    for (share, error), promise in zip(group.played(size(4_000, nightly=20_000), rng), promised, strict=True):
        assert share <= 1 - promise + 4 * error


def test_a_node_alone_cannot_keep_what_two_can() -> None:
    """The steps for one node: a spare for 99.9 % of the time, two for 99.99 %; of all nodes at 95 %, none."""
    rate, repair_h = 0.0026 / 24, 132.0
    kept = [
        leaf.promise_steps(
            failure_rate_per_node_h=rate, repair_h=repair_h, promise_fraction=promise, highest_nodes=1
        ).spares.tolist()
        for promise in (0.98, 0.999, 0.9999)
    ]
    usual = spare_steps(
        failure_rate_per_node_h=rate, repair_h=repair_h, confidence_fraction=0.95, highest_nodes=1
    )

    assert kept == [[0], [1], [2]]
    assert usual.spares.tolist() == [0]
