"""What a unit of work costs and emits, and how well each SKU at each site is used.

Nodes are charged to the work on them by the node-hours that it holds. What no work holds is a line of its
own, so that the lines add up to the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.fleet import place
from planner.answers.plan.views import even
from planner.inputs.model_kinds import item_of
from planner.physics.equations.totals import weighted_total_kgco2e, weighted_total_usd
from planner.physics.needs import audio_h, tokens_of_work, work_per_h
from planner.physics.serving_options import requests_of
from planner.program.ledger_terms import DECIDED
from planner.program.places import BILLS
from planner.program.plan import Plan
from planner.program.slot_ledger import OF_SITES, moving_node_h, slot_parts_of
from planner.program.solution import Solution, lent_node_h, totals_by, unfilled_nodes
from planner.trace.quantities import Part, Traced, chosen, convert, derive, rows, total
from planner.trace.records import Record

Kind = Literal["usd", "kgco2e"]
MEASURES: tuple[Kind, ...] = ("usd", "kgco2e")
EQUATIONS: dict[Kind, Callable[..., float]] = {"usd": weighted_total_usd, "kgco2e": weighted_total_kgco2e}
HELD = (
    "bought",
    "standing",
    "capital",
    "standing_capital",
    "rental",
    "reserved",
    "term_left",
)  # what nodes cost, whatever they do
SERVING = {"starting": "starting", "deployed": "people, to keep it", "set_up": "people, to set it up"}
ONCE = {"adopted": "people, to adopt techniques", "data": "data that is bought"}
BY_SLOT = {
    "shifted": "work that moves between hours",
    "resting": "replicas that rest",
    "lent": "work on lent nodes",
}
UNUSED = ("idle", "parked", "stopped", "transfers")
CHANGES = ("ordered", "retired", "reused", "sold", "moved")
SECONDS_PER_H = 3600.0
HEARD = "hour of sound"


def unit_cost_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each work: how much of it there is, what it costs and emits in all and by its unit; then the rest.

    Raises:
        Disagreement: the lines do not add up to the plan.
    """
    hours, stood = _held_h(plan, solution), _stood_h(plan, solution)
    lent = _lent_h(plan, solution)
    hours = {work: hours.get(work, np.zeros_like(stood)) for work in {**hours, **lent}}
    found: list[Record] = []
    for (kind, name), held in hours.items():
        whole_h = held + lent.get((kind, name), 0.0)
        unit, amount = _amount_of(plan, solution, kind, name, whole_h)
        row: Record = {"work": name, "unit": unit, "amount": amount}
        for measure in MEASURES:
            row[measure] = total(measure, _of_work(plan, solution, kind, name, held, stood, measure))
        if amount.value:
            row["usd_per_unit"] = (row["usd"] / amount).named("usd_per_unit")
            row["kgco2e_per_unit"] = (row["kgco2e"] / amount).named("kgco2e_per_unit")
        found.append(row)
    used = np.sum([*hours.values()], axis=0) if hours else np.zeros_like(stood)
    found.append(
        {
            "work": "nodes that no work holds",
            **{measure: _unused(plan, used, stood, measure) for measure in MEASURES},
        }
    )
    for label, terms in (
        ("orders, sales and moves", CHANGES),
        ("clean energy under contract", ("contract",)),
        ("batteries and the sun", OF_SITES),
        ("work left out, at its penalties", ("unmet", "left_out")),
    ):
        sums: Record = {measure: _of_terms(plan, terms, measure) for measure in MEASURES}
        if any(one.value for one in sums.values()):
            found.append({"work": label, **sums})
    for measure, whole in zip(MEASURES, (plan.ledger.cost, plan.ledger.carbon), strict=True):
        even(
            f"sum of all work in {measure}",
            total(measure, {row["work"]: row[measure] for row in found}),
            whole,
        )
    return found


def _held_h(plan: Plan, solution: Solution) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Node-hours that each work holds (P, T), of nodes by the hour those that it uses."""
    problem, groups = plan.problem, len(plan.problem.node_groups)
    by_the_hour = np.isin(problem.work_options.node_group, plan.assembled.rented.node_group)[:, None]
    runs, serves, works, pausable = (
        problem.run_options, problem.serve_options, problem.work_options, problem.pausable_options
    )  # fmt: skip
    every = [
        ("training", problem.jobs.name, runs.job, runs.node_group, runs.node_hours * solution.run[:, None]),
        ("pausable", problem.jobs.name, pausable.job, pausable.node_group, solution.done_node_h),
        (
            "serving",
            problem.services.name,
            serves.service,
            serves.node_group,
            serves.node_hours * solution.replicas,
        ),
        (
            "pools",
            problem.work.name,
            works.work,
            works.node_group,
            np.where(by_the_hour, 1.0, works.held_ratio) * solution.work_node_h,
        ),
    ]
    found = {}
    for kind, names, of, group, taken in every:
        for i, name in enumerate(names):
            here = np.flatnonzero(of == i)
            held = totals_by(group[here], groups, taken[here])
            if held.any():
                found[kind, name] = held
    return found


def _lent_h(plan: Plan, solution: Solution) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Node-hours of replicas that rest on which each pool works, by node group and period (P, T)."""
    problem, works = plan.problem, plan.problem.work_options
    if solution.slots is None or not len(problem.slots):
        return {}
    taken = works.held_ratio * lent_node_h(problem, solution)
    every = {
        ("pools", name): totals_by(works.node_group[here], len(problem.node_groups), taken[here])
        for i, name in enumerate(problem.work.name)
        for here in [np.flatnonzero(works.work == i)]
    }
    return {work: lent for work, lent in every.items() if lent.any()}


def free_node_h(plan: Plan, solution: Solution) -> NDArray[np.float64]:
    """Node-hours in service that no work holds, by node group and period (P, T)."""
    stood = _stood_h(plan, solution)
    held = np.sum([np.zeros_like(stood), *_held_h(plan, solution).values()], axis=0)
    return np.asarray(stood - held, dtype=float)


def _stood_h(plan: Plan, solution: Solution) -> NDArray[np.float64]:
    """Node-hours in service, and of nodes rented by the hour those that are paid (P, T)."""
    rented = plan.assembled.rented.node_group
    stood = solution.in_service * plan.problem.node_groups.hours
    if len(rented):
        left = unfilled_nodes(plan.problem, solution) * plan.problem.node_groups.hours
        stood[rented] = np.sum([left[rented], *(h[rented] for h in _held_h(plan, solution).values())], axis=0)
    reserved = plan.assembled.reserved.node_group
    stood[reserved] = (solution.rented * plan.problem.node_groups.hours)[reserved]
    return stood


def _of_work(
    plan: Plan,
    solution: Solution,
    kind: str,
    name: str,
    held: NDArray[np.float64],
    stood: NDArray[np.float64],
    measure: Kind,
) -> dict[str, Traced]:
    """Its electricity, and its share of the nodes that it holds, by node group."""
    parts: dict[str, Traced] = {}
    for p in np.flatnonzero(held.sum(axis=1)):
        share = chosen(
            "share", held[p].sum() / stood[p].sum(), "node-hours that it holds among those in service"
        )
        parts[f"nodes of {plan.problem.node_group_name(int(p))}"] = (
            share * _of_group(plan, HELD, int(p), measure)
        ).named(measure)
    own = _rows_of_work(plan, solution, kind, name)
    terms = {kind: "electricity"} | (SERVING if kind == "serving" else {})
    if kind == "training":
        terms["feeding"] = "workers that feed it"
    places = dict.fromkeys(terms, own)
    if kind == "pools":  # options that work on lent nodes alone move data, too
        moving = np.flatnonzero(moving_node_h(plan.problem, solution).sum(axis=1))
        terms["egress"] = "data moved between sites"
        places["egress"] = np.flatnonzero(
            plan.problem.work_options.work[moving] == plan.problem.work.name.index(name)
        )
    runs = int((solution.run > 0).sum())
    if kind in ("training", "pausable"):  # rows of pausable jobs come after those of runs
        terms |= ONCE
        places |= dict.fromkeys(ONCE, own + (kind == "pausable") * runs)
    adopted = plan.problem.adoptions.work[np.flatnonzero(solution.adopted)]
    if kind == "pools" and np.any(of_pool := adopted == plan.problem.work.name.index(name)):
        paused = 0 if plan.ledger.pausable is None else plan.ledger.pausable.options.size  # after both
        terms["adopted"] = ONCE["adopted"]
        places["adopted"] = runs + paused + np.flatnonzero(of_pool)
    for term, label in terms.items():
        if term in plan.ledger.parts[measure]:
            taken = _of_rows(plan, term, places[term], measure)
            if taken is not None:
                parts[label] = taken
    number = _number(plan, kind, name)
    for term, part in slot_parts_of(measure, plan.problem, plan.ledger.by_slot, kind, number).items():
        if part is not None:
            parts[BY_SLOT[term]] = _whole(part, measure)
    return parts


def _number(plan: Plan, kind: str, name: str) -> int:
    """Place of a work among those of its kind."""
    problem = plan.problem
    names = {"serving": problem.services.name, "pools": problem.work.name}.get(kind, problem.jobs.name)
    return list(names).index(name)


def _whole(part: Part, measure: Kind) -> Traced:
    """All rows of a part together."""
    each, counts = part
    return derive(EQUATIONS[measure], **{f"each_{measure}": each, "counts": counts})


def _rows_of_work(plan: Plan, solution: Solution, kind: str, name: str) -> NDArray[np.intp]:
    """Rows of a term of the ledger that are of one work."""
    problem, ledger = plan.problem, plan.ledger
    match kind:
        case "training":
            taken = np.flatnonzero(solution.run > 0)
            of, names = problem.run_options.job[taken], problem.jobs.name
        case "pausable":
            assert ledger.pausable is not None, "some pausable job runs"
            of, names = problem.pausable_options.job[ledger.pausable.options], problem.jobs.name
        case "serving":
            of, names = problem.serve_options.service[ledger.replica_options], problem.services.name
        case _:
            taken = np.flatnonzero(solution.work_node_h.sum(axis=1))
            of, names = problem.work_options.work[taken], problem.work.name
    found: NDArray[np.intp] = np.flatnonzero(of == names.index(name))
    return found


def _of_group(plan: Plan, terms: tuple[str, ...], group: int, measure: Kind) -> Traced:
    """What some terms come to on one node group, over the horizon."""
    parts = {}
    for term in terms:
        places = plan.ledger.part_groups.get(term)
        if (
            places is not None
            and (one := _of_rows(plan, term, np.flatnonzero(places == group), measure)) is not None
        ):
            parts[term] = one
    if terms[0] in HELD and measure == "usd":
        parts |= _site_bills(plan, group)
    return total(measure, parts)


def _site_bills(plan: Plan, group: int) -> dict[str, Traced]:
    """What a site charges, for the nodes of one group: by their share of what is rated there."""
    solution, groups = plan.answer.solution, plan.problem.node_groups
    assert solution is not None, "there is a plan"
    rated = np.asarray(plan.assembled.terms.rated_kw.value)[:, :1] * solution.in_service
    there = np.flatnonzero((groups.site == groups.site[group]) & ~groups.off_site)
    if group not in there or not rated[group].any():
        return {}
    share = chosen("share", float(rated[group].sum() / rated[there].sum()), "of the rated power in service")
    bills = {term: _of_rows(plan, term, groups.site[group : group + 1], "usd") for term in BILLS}
    return {term: (share * one).named("usd") for term, one in bills.items() if one is not None}


def _of_rows(plan: Plan, term: str, index: NDArray[np.intp], measure: Kind) -> Traced | None:
    """What some rows of a term come to; None where that is nothing."""
    part = plan.ledger.parts[measure].get(term)
    if part is None or not len(index):
        return None
    each, counts = part
    counts_here = counts.value[index]
    if not counts_here.any():
        return None
    return derive(
        EQUATIONS[measure],
        **{
            f"each_{measure}": rows(each, index) if len(each.value) > 1 else each,
            "counts": chosen(counts.name, counts_here, DECIDED, "1"),
        },
    )


def _unused(plan: Plan, used: NDArray[np.float64], stood: NDArray[np.float64], measure: Kind) -> Traced:
    """What nodes cost while no work holds them, and their electricity then."""
    parts: dict[str, Traced] = {}
    for p in np.flatnonzero(stood.sum(axis=1)):
        where = plan.problem.node_group_name(int(p))
        share = chosen("share", 1.0 - used[p].sum() / stood[p].sum(), "node-hours that no work holds")
        if share.value > 1e-12:
            parts[f"nodes of {where}"] = (share * _of_group(plan, HELD, int(p), measure)).named(measure)
        parts[f"electricity of {where}"] = _of_group(plan, UNUSED, int(p), measure)
    for part in slot_parts_of(measure, plan.problem, plan.ledger.by_slot, "idle", 0).values():
        if part is not None:
            parts["nodes that are off for some hours"] = _whole(part, measure)
    if measure == "usd":
        groups = plan.problem.node_groups
        standing = np.unique(groups.site[stood.any(axis=1) & ~groups.off_site])
        for s in np.setdiff1d(np.arange(len(plan.problem.site_names)), standing).tolist():
            for term in BILLS:
                if (one := _of_rows(plan, term, np.array([s]), measure)) is not None:
                    parts[f"{term} of {plan.problem.site_names[s]}"] = one
    return total(measure, {name: one for name, one in parts.items() if one.value})


def _of_terms(plan: Plan, terms: tuple[str, ...], measure: Kind) -> Traced:
    """Whole terms of the plan."""
    every: Mapping[str, Traced] = plan.ledger.usd_terms if measure == "usd" else plan.ledger.kgco2e_terms
    parts = {term: every[f"{term}_{measure}"] for term in terms if f"{term}_{measure}" in every}
    return total(measure, {term: one for term, one in parts.items() if one.value})


def _amount_of(
    plan: Plan, solution: Solution, kind: str, name: str, held: NDArray[np.float64]
) -> tuple[str, Traced]:
    """How much of a work there is, and the unit of that."""
    inputs, problem = plan.inputs, plan.problem
    if kind == "serving":
        return _served(plan, solution, problem.services.name.index(name))
    if kind == "pools" and inputs.scenario.pools[problem.work.name.index(name)].way.key == "audio_rate":
        return HEARD, _pool_audio_h(plan, problem.work.name.index(name))
    if kind == "pools" and inputs.scenario.pools[problem.work.name.index(name)].answers:
        return "million tokens", _pool_million_tokens(plan, problem.work.name.index(name))
    if kind == "pools":
        accelerators = inputs.server("accelerators")
        taken = {
            problem.node_group_name(int(p)): (
                chosen("node_h", float(held[p].sum()), "node-hours that it holds")
                / chosen("hour_h", 1.0, "one hour")
                * accelerators[problem.node_groups.sku[p]]
            ).named("amount")
            for p in np.flatnonzero(held.sum(axis=1))
        }
        return "accelerator-hour", total("amount", taken)
    job = problem.jobs.name.index(name)
    if kind == "training":
        done = solution.run * problem.run_options.counts
        runs = float(done[problem.run_options.job == job].sum())
    else:
        runs = float(solution.completed[problem.pausable_options.job == job].sum())
    return "run", chosen("amount", runs, DECIDED, "1")


def _served(plan: Plan, solution: Solution, service: int) -> tuple[str, Traced]:
    """What the requests that a service carries over the horizon are made of: tokens, samples or images."""
    inputs, one = plan.inputs, plan.inputs.scenario.services[service]
    where = f"services.{one.name}"
    load = inputs.yours(f"{where}.mean_to_peak", one.mean_to_peak_fraction, "1")
    count = 1e6
    if one.audio_s is not None:
        sound = inputs.yours(f"{where}.audio", one.audio_s, "s")
        each, unit, count = convert(sound, "h"), HEARD, 1.0
    elif one.items is None:
        requests = requests_of(inputs, np.array([service]))
        each, unit = (requests.input_tokens[0] + requests.output_tokens[0]).named("tokens"), "million tokens"
    else:
        key = "images" if one.candidates is None else "candidates"
        each = (inputs.yours(f"{where}.{key}", one.items, "1") * 1.0).named("items")
        item = item_of(inputs.catalogue, one.model)
        unit, count = (f"billion {item}", 1e9) if item == "samples" else (f"thousand {item}", 1e3)
    parts = {}
    for t, label in enumerate(inputs.scenario.horizon.period_labels):
        peak = inputs.yours(f"{where}.peak_rate[{t}]", one.peak_requests_per_s[t], "1/s")
        carried = chosen("carried_fraction", 1.0 - float(solution.shed_fraction[service, t]), DECIDED)
        length = chosen(
            "period_s", SECONDS_PER_H * inputs.scenario.horizon.hours[t], "calendar of the horizon"
        )
        needed = (peak * load * length).named("requests")
        amount = needed * carried * each
        # Hours of sound are counted as they are, everything else in thousands or millions.
        parts[label] = (amount / (chosen("hour_h", 1.0, "one hour") if unit == HEARD else count)).named(
            "amount"
        )
    return unit, total("amount", parts, most=len(parts))


def _pool_audio_h(plan: Plan, number: int) -> Traced:
    """Hours of sound that a pool hears over the horizon."""
    inputs, pool = plan.inputs, plan.inputs.scenario.pools[number]
    hour = chosen("hour_h", 1.0, "one hour")
    parts = {
        label: (audio_h(inputs, pool, t) / hour).named("amount")
        for t, label in enumerate(inputs.scenario.horizon.period_labels)
    }
    return total("amount", parts, most=len(parts))


def _pool_million_tokens(plan: Plan, number: int) -> Traced:
    """Tokens in and out of the prompts that a pool answers over the horizon, in millions."""
    inputs, pool = plan.inputs, plan.inputs.scenario.pools[number]
    each = tokens_of_work(inputs, pool)
    parts = {}
    for t, label in enumerate(inputs.scenario.horizon.period_labels):
        length = chosen("period_h", inputs.scenario.horizon.hours[t], "calendar of the horizon")
        items = (work_per_h(inputs, pool, t) * length).named("items")
        parts[label] = (items * each / 1e6).named("amount")
    return total("amount", parts, most=len(parts))


def accelerator_hour_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each SKU at each site: hours there and in use, and what an accelerator costs and emits in an hour."""
    stood = _stood_h(plan, solution)
    held = np.sum([np.zeros_like(stood), *_held_h(plan, solution).values()], axis=0)
    electric = ("training", "serving", "starting", "pools", "egress", "pausable")
    found = []
    for p in np.flatnonzero(stood.sum(axis=1)):
        each = plan.inputs.server("accelerators")[plan.problem.node_groups.sku[p]]
        there = chosen("node_h", float(stood[p].sum()), "node-hours in service") * each
        used = chosen("node_h", float(held[p].sum()), "node-hours that work holds") * each
        row: Record = {
            **place(plan, int(p)),
            "accelerator_h": there.named("accelerator_h"),
            "used_h": used.named("used_h"),
            "used_fraction": (used / there).named("used_fraction"),
        }
        for measure in MEASURES:
            taken = row[measure] = _of_group(plan, (*HELD, *UNUSED, *BY_SLOT, *electric), int(p), measure)
            name = f"{measure}_per_accelerator_h"
            row[name] = (taken / there).named(name)
            if used.value:
                row[f"used_{name}"] = (taken / used).named(f"used_{name}")
        found.append(row)
    return found


def use_records(plan: Plan, solution: Solution) -> list[Record]:
    """Share of the node-hours in service that work holds, of each SKU at each site, by period."""
    stood = _stood_h(plan, solution)
    held = np.sum([np.zeros_like(stood), *_held_h(plan, solution).values()], axis=0)
    labels = plan.inputs.scenario.horizon.period_labels
    return [
        {
            "period": labels[t],
            **place(plan, p),
            "node_h": there,
            "used_node_h": used,
            "used_fraction": (used / there).named("used_fraction"),
        }
        for t, p in np.argwhere(stood.T > 0).tolist()
        for there in [chosen("node_h", float(stood[p, t]), "node-hours in service")]
        for used in [chosen("used_node_h", float(held[p, t]), "node-hours that work holds")]
    ]
