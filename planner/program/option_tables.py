"""Options of the program: every way to run each job, service and pool, as columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.curtailment import Curtailment, stopped, stopping_columns, stops_fraction
from planner.physics.day_loads import PARTS_A_DAY, region_loads
from planner.physics.deployments import Deployments, Starts, least_replicas
from planner.physics.dominance import undominated
from planner.physics.experiments import PoolWork
from planner.physics.nodes import Nodes
from planner.physics.pausable import PausableJobs
from planner.physics.procurement import Rented
from planner.physics.promises import promise_of_service
from planner.physics.serving import Replicas
from planner.physics.serving_demand import unmet_items
from planner.physics.shared_runs import other_half
from planner.physics.training import TrainingRuns
from planner.physics.training_options import Dropped, TrainingCandidates
from planner.physics.ways import service_said
from planner.trace.quantities import Traced
from solver.problem import Adoptions, PausableOptions, RunOptions, ServeOptions, Services, WorkOptions

OF_WAYS = ("lost_fraction", "time_fraction")
TOO_SLOW = "no load meets the latency targets"
TOO_FEW = "its availability asks for replicas on"  # so many nodes

InFull = TypeVar("InFull", RunOptions, ServeOptions)
ByTheHour = TypeVar("ByTheHour", WorkOptions, PausableOptions)


def by_pausing(
    inputs: Inputs, candidates: TrainingCandidates
) -> tuple[TrainingCandidates, TrainingCandidates]:
    """Candidates of the jobs that run in one piece, and of those that may pause."""
    pausable = np.array([job.pausable for job in inputs.scenario.training], dtype=bool)[candidates.job]
    return candidates.some(np.flatnonzero(~pausable)), candidates.some(np.flatnonzero(pausable))


def pausable_options(
    inputs: Inputs, nodes: Nodes, pausable: PausableJobs | None, contracts: Curtailment | None
) -> tuple[PausableOptions, NDArray[np.intp], int]:
    """Ways to run pausable jobs: of those of one job and group that can be done in time, the undominated."""
    if pausable is None:
        return PausableOptions.none(inputs.periods), np.zeros(0, dtype=np.intp), 0
    job, node_group = pausable.candidates.job, pausable.candidates.node_group
    total, limit = pausable.node_h.value, pausable.limit_node_h.value
    alone, bought = _once_usd(pausable.adopted_usd, pausable.data_usd)
    once, made = np.repeat(alone[:, None], inputs.periods, axis=1), np.zeros((len(total), inputs.periods))
    if pausable.egress is not None:
        once, made = once + pausable.egress.usd.value, made + pausable.egress.kgco2e.value
    columns = [
        total[:, None],
        pausable.increment_kw.value[:, None] * total[:, None],
        pausable.usd.value * total[:, None] + once,
        pausable.kgco2e.value * total[:, None] + made,
        -limit / total[:, None],  # the faster, the more of it can wait for a better period
    ]
    if bought is not None:
        columns.append(bought[:, None])  # what the budget holds
    row = np.flatnonzero((limit.sum(axis=1) >= total) | _may_be_cut(inputs)[job])
    row = row[undominated((job * len(inputs.node_groups) + node_group)[row], np.hstack(columns)[row])]
    options = PausableOptions(
        job=job[row],
        node_group=node_group[row],
        nodes=pausable.candidates.nodes[row],
        node_hours=total[row],
        node_hours_limit=limit[row],
        active_kw=pausable.increment_kw.value[row],
        usd_per_node_h=(pausable.usd.value + once / total[:, None])[row],
        kgco2e_per_node_h=(pausable.kgco2e.value + made / total[:, None])[row],
        kwh_per_node_h=pausable.facility_kwh.value[row],
        nodes_least=_fewest_nodes(pausable.candidates)[row],
        **({} if bought is None else {"bought_usd_per_node_h": (bought / total)[row]}),
    )
    if contracts is not None:
        saved = stopping_columns(stopped(inputs, contracts, nodes, node_group, pausable.facility_kwh), row)
        # What is paid once is not paid again for hours that are worked once more.
        for kind, each in (("usd", once), ("kgco2e", made)):
            saved[f"stopped_{kind}_per_node_h"] += (each / total[:, None])[row]
        in_time = contracts.in_time[inputs.node_group_site[node_group[row]]]
        options = replace(options, stops_fraction=in_time.astype(float), **saved)
    return options, row, len(job)


def _once_usd(adopted: Traced, data: Traced | None) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """What each row takes once, and what of it is bought: None where no run buys anything."""
    if data is None:
        return adopted.value, None
    return adopted.value + data.value, data.value


def with_rent(options: InFull, rented: Rented) -> InFull:
    """Options with the rent of their active hours."""
    if not len(rented.node_group) or not len(options):
        return options
    usd, kgco2e = _hourly(options, rented)
    return replace(
        options,
        usd=options.usd + usd * options.node_hours,
        kgco2e=options.kgco2e + kgco2e * options.node_hours,
    )


def with_hourly_rent(options: ByTheHour, rented: Rented) -> ByTheHour:
    """Options that are charged by the hour, with the rent of it."""
    if not len(rented.node_group) or not len(options):
        return options
    usd, kgco2e = _hourly(options, rented)
    return replace(
        options,
        usd_per_node_h=options.usd_per_node_h + usd,
        kgco2e_per_node_h=options.kgco2e_per_node_h + kgco2e,
    )


def services_of(inputs: Inputs) -> Services:
    """Services with their peaks, and what a request/s that is not carried costs."""
    services = inputs.scenario.services
    peak = np.array([one.peak_requests_per_s for one in services]).reshape(-1, inputs.periods)
    price = np.full(peak.shape, np.inf)
    for i, items in unmet_items(inputs).items():
        worth = np.array([float(item.value) for item in items])
        # Where nothing is asked for, nothing can be left out.
        price[i] = np.divide(worth, peak[i], out=np.zeros(inputs.periods), where=peak[i] > 0)
    budgets = [one.mean_quality_budget_fraction for one in services]
    limits = np.array([np.inf if budget is None else budget for budget in budgets])
    named = list(dict.fromkeys(one.pipeline for one in services if one.pipeline is not None))
    pipelines = [0 if one.pipeline is None else 1 + named.index(one.pipeline) for one in services]
    return Services(
        name=tuple(one.name for one in services),
        demand=peak,
        unmet_usd=price,
        mean_loss_limit_fraction=limits,
        pipeline=np.array(pipelines, dtype=np.int64),
        region_fraction=_region_shares(inputs),
        region_load_fraction=_region_loads(inputs),
    )


def _hourly(options: Any, rented: Rented) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Money and carbon of an hour of a node of each option, by period; nothing for nodes of your own."""
    assert rented.usd is not None, "some node groups are rented"
    assert rented.kgco2e is not None, "some node groups are rented"
    at = np.searchsorted(rented.node_group, options.node_group).clip(max=len(rented.node_group) - 1)
    hired = (rented.node_group[at] == options.node_group)[:, None]
    return hired * rented.usd.value[at], hired * rented.kgco2e.value[at]


def _fewest_nodes(candidates: TrainingCandidates) -> NDArray[np.int64]:
    """The smallest number of nodes on which each candidate's job was found to fit in its node group."""
    group = np.stack([candidates.job, candidates.node_group])
    places, back = np.unique(group, axis=1, return_inverse=True)
    fewest = np.full(places.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(fewest, back, candidates.nodes)
    least: NDArray[np.int64] = fewest[back]
    return least


def _may_be_cut(inputs: Inputs) -> NDArray[np.bool_]:
    return np.array([job.partial for job in inputs.scenario.training], dtype=bool)


ROUNDING = 1e-9  # of a product of a share and a count
COUNTED = 40  # replicas up to which standby is a count in a period; beyond, it is a share of them


def run_option_table(inputs: Inputs, runs: TrainingRuns | None) -> tuple[RunOptions, NDArray[np.intp], int]:
    """Runs that are worth offering: of those of one job, node group and start, the undominated ones."""
    if runs is None:
        return RunOptions.none(inputs.periods), np.zeros(0, dtype=np.intp), 0
    job, node_group = runs.candidates.job[runs.candidate], runs.candidates.node_group[runs.candidate]
    nodes = runs.candidates.nodes[runs.candidate][:, None] * runs.held
    late = runs.late_h.value[:, 0]
    begins = runs.start[:, None] == np.arange(inputs.periods)
    once, bought = _once_usd(runs.adopted_usd, runs.data_usd)
    usd, kgco2e = runs.usd.value + begins * once[runs.candidate][:, None], runs.kgco2e.value
    racks = _fed_racks(runs)
    if runs.fed_hours is not None:
        usd, kgco2e = usd + runs.fed_hours.usd.value, kgco2e + runs.fed_hours.kgco2e.value
    if runs.egress is not None:
        usd = usd + begins * runs.egress.usd.value[runs.candidate]
        kgco2e = kgco2e + begins * runs.egress.kgco2e.value[runs.candidate]
    columns = [
        nodes,
        runs.node_h.value,
        runs.increment_kw.value,
        usd,
        kgco2e,
        late[:, None],
    ]
    if racks is not None:
        columns.append(racks)
    if bought is not None:
        columns.append(bought[runs.candidate][:, None])  # what the budget holds
    if (runs.from_h > 0).any():
        columns.append(np.minimum(runs.to_h, inputs.period_h.value))  # the sooner another run may follow
    _, begin = np.unique(runs.start_h.value[:, 0], return_inverse=True)
    group = (job * len(inputs.node_groups) + node_group) * (begin.max(initial=0) + 1) + begin
    row, joint = _worth_offering(inputs, runs, group, np.hstack(columns))
    options = RunOptions(
        job=job[row],
        node_group=node_group[row],
        start=runs.start[row],
        late_h=late[row],
        nodes=nodes[row],
        node_hours=runs.node_h.value[row],
        active_kw=runs.increment_kw.value[row],
        usd=usd[row],
        kgco2e=kgco2e[row],
        kwh=runs.facility_kwh.value[row],
        from_h=runs.from_h[row],
        to_h=runs.to_h[row],
        joint=joint,
        **({} if bought is None else {"bought_usd": bought[runs.candidate][row]}),
        **({} if racks is None else {"racks": racks[row]}),
    )
    return options, row, len(runs.candidate)


def _worth_offering(
    inputs: Inputs, runs: TrainingRuns, group: NDArray[np.intp], columns: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Undominated rows, and the number that both halves of a run have; 0 of a run at one site.

    Runs that two sites share are set next to those of the same two node groups, both halves together.
    """
    halves = runs.candidates.halves
    if halves is None:
        row = np.flatnonzero(undominated(group, columns))
        return row, np.zeros(len(row), dtype=np.intp)
    candidate, every = runs.candidate, np.arange(len(group))
    other = other_half(halves, runs.policy, candidate, runs.start_h.value[:, 0])
    alone, first = np.flatnonzero(other == every), np.flatnonzero(other > every)
    kept = alone[undominated(group[alone], columns[alone])]
    place = group[first] * len(inputs.node_groups) + halves.group[candidate[first]]
    first = first[undominated(place, np.hstack([columns[first], columns[other[first]]]))]
    row = np.concatenate([kept, first, other[first]])
    joint = np.concatenate([np.zeros(len(kept), dtype=np.intp), *[np.arange(1, len(first) + 1)] * 2])
    order = np.argsort(row)
    return row[order], joint[order]


def _fed_racks(runs: TrainingRuns) -> NDArray[np.float64] | None:
    """Room of the workers of each run by period, while it holds its nodes; None where none is fed."""
    if runs.fed is None:
        return None
    racks: NDArray[np.float64] = np.asarray(runs.fed.racks.value)[runs.candidate][:, None] * runs.held
    return racks


def _nodes_apart(inputs: Inputs, replicas: Replicas) -> NDArray[np.int64]:
    """The fewest rented nodes for replicas of which some stand by [V, T]; 0 where any number will do.

    A failed node takes along all replicas on it. On one's own nodes, spares are there for what stands by.
    """
    parts = inputs.rented[replicas.candidates.node_group] & (replicas.nodes.value < 1.0)
    counted = parts[:, None] & (np.ceil(replicas.carrying.value) <= COUNTED)
    failures = np.asarray(replicas.failures.value).astype(int)
    found: NDArray[np.int64] = np.where(counted & (failures > 0), failures + 1, 0)
    return found


def _too_few(inputs: Inputs, replicas: Replicas, apart: NDArray[np.int64]) -> list[Dropped]:
    """Rented nodes that are fewer in all periods than a service's availability asks for."""
    each, found = replicas.candidates, dict[tuple[int, int], Dropped]()
    for v in np.flatnonzero(_never_apart(inputs, replicas, apart)).tolist():
        i, p = int(each.service[v]), int(each.node_group[v])
        rental = inputs.rental_of(p)
        found[i, p] = Dropped(
            f"{service_said(inputs, i)} on {inputs.skus[inputs.node_group_sku[p]].name}",
            inputs.skus[inputs.node_group_sku[p]].name,
            f"{TOO_FEW} {apart[v].min()} nodes at once, and "
            f"rental.{rental.name}.nodes is {max(rental.nodes or (0,))}",
        )
    return list(found.values())


def _never_apart(inputs: Inputs, replicas: Replicas, apart: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Candidates on rented nodes whose offer never has as many as they have to lie on [V]."""
    limit = np.full(apart.shape, np.inf)
    for v in np.flatnonzero(apart.any(axis=1)).tolist():
        rental = inputs.rental_of(int(replicas.candidates.node_group[v]))
        limit[v] = np.inf if rental.nodes is None else rental.nodes
    never: NDArray[np.bool_] = np.all(apart > limit, axis=1)
    return never


def serve_option_table(
    inputs: Inputs, replicas: Replicas | None, starts: Starts | None, deployments: Deployments | None
) -> tuple[ServeOptions, NDArray[np.intp], list[Dropped], int]:
    """Replicas that meet their latency targets and that no other of their service and node group beats."""
    if replicas is None or starts is None or deployments is None:
        return ServeOptions.none(inputs.periods), np.zeros(0, dtype=np.intp), [], 0
    each = replicas.candidates
    carried = np.asarray(replicas.requests_per_s.value)
    usable = np.asarray((carried > 0).all(axis=1))
    apart = _nodes_apart(inputs, replicas)
    most = _with_the_most_time(inputs)[each.service]
    too_slow = [
        Dropped(
            f"{service_said(inputs, i)}, split over {size}",
            inputs.skus[k].name,
            TOO_SLOW,
        )
        for i, size, k in sorted(
            {
                (
                    int(each.service[v]),
                    int(each.accelerators[v]),
                    int(inputs.node_group_sku[each.node_group[v]]),
                )
                for v in np.flatnonzero(~usable & most)
            }
        )
    ]
    too_few = _too_few(inputs, replicas, apart)
    usable = usable & ~_never_apart(inputs, replicas, apart)
    demand = np.array([s.peak_requests_per_s for s in inputs.scenario.services])[each.service]
    carrying = np.asarray(replicas.carrying.value)
    # What one of the replicas takes of the demand that they share; without demand, what it could.
    capacity = np.divide(demand, carrying, out=carried.copy(), where=carrying > 0)
    per_request = np.maximum(capacity, 1e-12)
    many = np.ceil(carrying) > COUNTED
    share = np.where(many, replicas.standby_ratio.value, 0.0)
    standby = np.where(many, 0, replicas.standby.value).astype(int)
    # Only whole nodes of replicas on standby are as good as spares: less may share a node with what carries.
    whole = np.floor(standby * replicas.nodes.value[:, None] + ROUNDING)
    covers = np.minimum(replicas.covered_nodes.value, whole).astype(int)
    columns = [
        values * (1.0 + replicas.standby_ratio.value) / per_request
        for values in (
            replicas.nodes.value[:, None],
            replicas.increment_kw.value[:, None],
            replicas.usd.value,
            replicas.kgco2e.value,
        )
    ]
    columns.append(replicas.nodes.value[:, None])
    if (units := each.unit.any(axis=1)).any():
        # A unit of two kinds of replicas may be large next to a demand, so that whole ones are compared.
        alone = np.ceil(carrying - ROUNDING) * replicas.nodes.value[:, None]
        columns.append(np.where(np.isin(each.service, each.service[units])[:, None], alone, 0.0))
    service, lost, within = each.service, np.zeros(len(each)), np.zeros(len(each))
    answers = np.zeros(len(each), dtype=np.int64)
    if ways := inputs.ways.services:
        lost, within = (np.array([getattr(way, name) for way in ways])[service] for name in OF_WAYS)
        service = np.array([way.of for way in ways])[service]
        columns.append(deployments.begun_usd.value)  # what a technique takes to adopt
        columns += [lost[:, None], within[:, None]]
        answers = np.array([way.regions for way in ways], dtype=np.int64)[each.service]
        # What answers fewer regions is no better than what answers more.
        bits = max((way.regions for way in ways), default=0).bit_length()
        columns.append(1.0 - (answers[:, None] >> np.arange(bits) & 1))
    group = service * len(inputs.node_groups) + each.node_group
    row = np.flatnonzero(usable)
    row = row[undominated(group[row], np.hstack(columns)[row])]
    options = ServeOptions(
        service=service[row],
        node_group=each.node_group[row],
        capacity=capacity[row],
        nodes=replicas.nodes.value[row],
        standby_fraction=share[row],
        node_hours=replicas.node_h.value[row],
        active_kw=replicas.increment_kw.value[row],
        usd=replicas.usd.value[row],
        kgco2e=replicas.kgco2e.value[row],
        kwh=replicas.facility_kwh.value[row],
        standby=standby[row],
        promise=promise_of_service(inputs)[each.service[row]],
        covers=covers[row],
        least=least_replicas(inputs, replicas)[row],
        apart=apart[row],
        start_usd=starts.usd.value[row],
        start_kgco2e=starts.kgco2e.value[row],
        start_kwh=starts.kwh.value[row],
        deployed_usd=deployments.kept_usd.value[row],
        begun_usd=deployments.begun_usd.value[row],
        lost_fraction=lost[row],
        time_fraction=within[row],
        regions=answers[row],
    )
    return _with_data_moved(options, deployments, row), row, [*too_slow, *too_few], len(each)


def _with_data_moved(options: ServeOptions, deployments: Deployments, row: NDArray[np.intp]) -> ServeOptions:
    """Options with what a deployment moves from and to the site of its data."""
    columns: dict[str, Any] = {}
    for stem, moved in (("begun", deployments.begun_egress), ("deployed", deployments.logs)):
        if moved is not None:
            columns[f"{stem}_usd"] = getattr(options, f"{stem}_usd") + moved.usd.value[row]
            columns[f"{stem}_kgco2e"] = moved.kgco2e.value[row]
    return replace(options, **columns)


def _region_shares(inputs: Inputs) -> NDArray[np.float64]:
    """Share of each region in the requests of each service (I, R); nothing where users are in no regions."""
    services = inputs.scenario.services
    found = np.zeros((len(services), max((len(one.regions) for one in services), default=0)))
    for i, one in enumerate(services):
        found[i, : len(one.regions)] = [home.share_fraction for home in one.regions]
    return found


def _region_loads(inputs: Inputs) -> NDArray[np.float64]:
    """Load of each region of each service in each part of a day (I, R, 12); none where all peak together."""
    services = inputs.scenario.services
    known = [region_loads(inputs, one) for one in services]
    if all(one is None for one in known):
        return np.zeros(0)
    found = np.zeros((len(services), max(len(one.regions) for one in services), PARTS_A_DAY))
    for i, one in enumerate(known):
        if one is not None:
            loads = np.asarray(one.value)
            found[i, : len(loads)] = loads
    return found


def _with_the_most_time(inputs: Inputs) -> NDArray[np.bool_]:
    """Which ways have no less time for an answer than any other of their service."""
    ways = inputs.ways.services
    if not ways:
        return np.ones(len(inputs.scenario.services), dtype=bool)
    of, share = np.array([way.of for way in ways]), np.array([way.time_fraction for way in ways])
    most = np.zeros(of.max() + 1)
    np.maximum.at(most, of, share)
    found: NDArray[np.bool_] = (share == most[of]) & np.array([way.nearest for way in ways])
    return found


def adoption_table(inputs: Inputs, work: PoolWork) -> Adoptions:
    """Techniques that pools may adopt, paid where they are first in use."""
    may = work.techniques
    if may.adopted_usd is None:
        return Adoptions.none(inputs.periods)
    begins = may.first[:, None] == np.arange(inputs.periods)
    return Adoptions(
        name=tuple(
            f"{inputs.scenario.pools[w].name} {name}"
            for w, name in zip(may.pool.tolist(), may.name, strict=True)
        ),
        work=may.pool,
        usable_fraction=may.usable_fraction,
        usd=np.asarray(may.adopted_usd.value)[:, None] * begins,
    )


def work_option_table(
    inputs: Inputs, nodes: Nodes, work: PoolWork, contracts: Curtailment | None
) -> WorkOptions:
    """Ways to do the experimentation work, by the hour."""
    usd, kgco2e = work.with_egress("usd"), work.with_egress("kgco2e")
    if work.speed is None or work.increment_kw is None or usd is None or kgco2e is None:
        return WorkOptions.none(inputs.periods)
    assert work.facility_kwh is not None, "it comes with the others"
    assert work.held_ratio is not None, "it comes with the others"
    return WorkOptions(
        held_ratio=work.held_ratio.value,
        uses=work.uses,
        stops_fraction=stops_fraction(inputs, contracts, work.work, work.node_group),
        **stopping_columns(
            stopped(inputs, contracts, nodes, work.node_group, work.facility_kwh), np.arange(len(work.work))
        ),
        work=work.work,
        node_group=work.node_group,
        speed=work.speed.value,
        active_kw=work.increment_kw.value,
        usd_per_node_h=usd.value,
        kgco2e_per_node_h=kgco2e.value,
        kwh_per_node_h=work.facility_kwh.value,
    )
