"""A plan for several futures as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from planner.answers.plan.document import STATUS_NAMES
from planner.answers.plan.installations import NAMES
from planner.answers.plan.notes import notes_of
from planner.inputs.scenario import digest
from planner.program.futures import LIKELY, RARE, FuturesPlan, ImpliedPenalty
from planner.program.searches import FirstStage
from planner.program.site_purchases import put_up
from planner.program.solution import Status
from planner.trace.currency import currency_record, showing
from planner.trace.explain import Steps
from planner.trace.numbers import amount_text, percent_text, quantity_text, share_of
from planner.trace.quantities import Chosen, chosen
from planner.trace.records import Record, fact_record, numbered, plain_rows

AIMS = {
    "expected": "the least mean over the futures",
    "worst": "the least in the worst future",
    "regret": "the least share by which a future takes more than had it been known",
}


def futures_document(found: FuturesPlan) -> Record:
    """The document of a plan for several futures, or of why there is none."""
    currency = found.inputs[0].currency
    with showing(currency):
        return _document(found) | currency_record(currency)


def _document(found: FuturesPlan) -> Record:
    solved = found.hedge is not None and bool(found.hedge.plans)
    document: Record = {
        "everfleet_futures": 2,
        "title": found.scenario.title,
        "scenario": found.scenario.path.name if found.scenario.path else "",
        "scenario_digest": digest(found.scenario),
        "facts_digest": found.inputs[0].catalogue.digest,
        "aim": found.aim,
        "objective": {
            "kind": found.scenario.policy.objective,
            "value": float(found.expected.value) if solved else None,
            "unit": found.objective_unit,
        },
        "status": _status(found),
        "periods_decided_now": found.together.shared_periods,
        "headline": [],
        "first_stage": [],
        "futures": [],
        "worth": [],
        "explanations": {},
    }
    if solved:
        document |= _accounts(found)
        document["headline"] = _headline(found, document)
    else:
        document["headline"] = [_why_not(found)]
    document["headline"] += notes_of(found.inputs, "any of these futures")
    document["tables"] = {"facts": _fact_records(found)}
    return document


def first_stage_records(found: FuturesPlan) -> list[Record]:
    """What is decided now: orders, retirements and moves of the shared periods, and what is put up."""
    assert found.hedge is not None
    stage, problem = found.hedge.first_stage, found.together.problems[0]
    labels, shared = found.scenario.horizon.period_labels, found.together.shared_periods
    cohort_node_group = problem.cohorts.node_group
    counts = (
        (
            "order",
            stage.orders * problem.node_groups.order_unit_nodes[:, None],
            np.arange(len(problem.node_groups)),
        ),
        ("retire", stage.retired, cohort_node_group),
        ("sell", stage.sold, problem.sales.node_group),
        ("move", stage.moved, cohort_node_group[problem.moves.from_cohort]),
    )
    rows = []
    for what, nodes, group in counts:
        for row, period in np.argwhere(nodes[:, :shared] > 0):
            rows.append(
                {
                    "decision": what,
                    "nodes": chosen("nodes", int(nodes[row, period]), DECIDED),
                    "pool": problem.node_group_name(int(group[row])),
                    "period": labels[period],
                    **(
                        {
                            "to": problem.site_names[
                                problem.node_groups.site[cohort_node_group[problem.moves.to_cohort[row]]]
                            ]
                        }
                        if what == "move"
                        else {}
                    ),
                }
            )
    return rows + _put_up_records(found)


def _put_up_records(found: FuturesPlan) -> list[Record]:
    """Batteries and cells, of which there is one lot for all futures, by the period in which they stand."""
    if found.hedge is None or not found.together.shared_periods:
        return []
    labels, problem = found.scenario.horizon.period_labels, found.together.problems[0]
    return [
        {
            "decision": "put up",
            "amount": chosen("amount", float(one.amounts[site]), DECIDED, one.what.unit),
            "unit": one.what.unit,
            "pool": f"{NAMES[one.what.unit]} at {problem.site_names[site]}",
            "period": labels[one.each.first_period(site)],
        }
        for one in put_up(found.assembled[0].energy, problem, found.hedge.plans[0])
        for site in np.flatnonzero(one.amounts).tolist()
    ]


def future_records(found: FuturesPlan) -> list[Record]:
    """One row for each future: what the plan takes there, and what it would have taken otherwise."""
    assert found.hedge is not None
    mean = found.mean or (None,) * len(found.futures)
    rows = []
    for i, (future, plan, known, held) in enumerate(
        zip(found.futures, found.plans, found.known, mean, strict=True)
    ):
        objective = plan.ledger.objective
        best = Chosen(known.objective, objective.unit, name="known", reason=KNOWN)
        more = objective - best
        share = share_of(float(more.value), known.objective)
        rows.append(
            {
                "future": future.name,
                "probability_fraction": chosen(
                    "probability_fraction", future.probability_fraction, "of this future, as stated or drawn"
                ),
                "objective_value": objective,
                "cost_usd": plan.ledger.cost,
                "carbon_kgco2e": plan.ledger.carbon,
                "known_value": best,
                "regret_value": more.named(f"regret_{objective.unit.lower()}"),
                "regret_fraction": None if share is None else (more / best).named("regret_fraction"),
                "mean_plan_value": None
                if held is None or held.solution is None
                else Chosen(held.objective, objective.unit, name="mean_plan", reason=MEAN),
                "nodes_ordered": chosen(
                    "nodes_ordered", int(_nodes(found, FirstStage.of(found.hedge.plans[i]))), DECIDED
                ),
            }
        )
    return rows


KNOWN = "solved for this future alone, as if it had been known"
MEAN = "what the plan for the mean future takes here: its first orders held, the rest solved"
DECIDED = "decided by the program, alike in all futures"


def first_stage_text(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is decided now, a sentence each."""
    said = []
    for row in rows:
        nodes = row.get("nodes")
        what = (
            f"{quantity_text(row['amount'], row['unit'])} of {row['pool']}"
            if nodes is None
            else f"{nodes} node{'s' if nodes != 1 else ''} of {row['pool']}"
        )
        to = f" to {row['to']}" if "to" in row else ""
        said.append(f"{row['decision'].capitalize()} {what}{to} in {row['period']}, whatever comes.")
    return said


def _fact_records(found: FuturesPlan) -> list[Record]:
    """Facts that any future asks for, as the catalogue has them: a future may set them otherwise."""
    used = {
        key: one.catalogue.facts[key]
        for one in found.inputs
        for key in one.facts_used.keys() & one.catalogue.facts.keys() - found.scenario.facts.keys()
    }
    return [fact_record(fact) for _, fact in sorted(used.items())]


def _accounts(found: FuturesPlan) -> Record:
    nodes = {"expected": found.expected, **found.worth}
    for future, plan in zip(found.futures, found.plans, strict=True):
        nodes |= {
            f"future.{future.name}.{name}": getattr(plan.ledger, name)
            for name in ("objective", "cost", "carbon", "energy")
        }
    steps, tables = (
        Steps(),
        {
            "first_stage": first_stage_records(found),
            "futures": future_records(found),
            "worth": [{"name": name, "value": node} for name, node in found.worth.items()],
        },
    )
    return {
        **{name: plain_rows(rows) for name, rows in tables.items()},
        "explanations": {name: steps.add(node) for name, node in nodes.items()},
        "cells": numbered(tables, steps),
        "steps": steps.packed(),
    }


def _headline(found: FuturesPlan, document: Mapping[str, Any]) -> list[str]:
    said = first_stage_text(document["first_stage"]) or ["Order, retire and move nothing now."]
    shown = partial(amount_text, unit=document["objective"]["unit"])
    shares = all(row["regret_fraction"] is not None for row in document["futures"])
    worst = max(document["futures"], key=lambda row: row["regret_fraction" if shares else "regret_value"])
    more = percent_text(worst["regret_fraction"]) if shares else shown(worst["regret_value"])
    said.append(
        f"Over {len(found.futures)} futures this takes {shown(float(found.expected.value))} in the mean; at "
        f"most {more} more than had the future been known ({worst['future']})."
    )
    worth = {row["name"]: row["value"] for row in document["worth"]}
    if "hedging" in worth:
        saved = worth["hedging"]
        than = "less" if saved > 0 else "more"
        said.append(
            f"That is {shown(abs(saved))} {than} in the mean than the plan for the mean future."
            if saved
            else "The plan for the mean future takes as much in the mean."
        )
    else:
        broken = [row["future"] for row in document["futures"] if row["mean_plan_value"] is None]
        said.append(f"The plan for the mean future has no way through {', '.join(broken)}.")
    said.append(f"Knowing the future before ordering would be worth {shown(max(worth['knowing'], 0.0))}.")
    if found.chances_matter is False:
        said.append(_no_matter(found))
    return [*said, *(_implied(one, shown) for one in found.implied_penalties)]


def _no_matter(found: FuturesPlan) -> str:
    """That other chances would decide nothing else."""
    if found.aim != "expected":
        return "Chances play no part in this: it looks at the worst future, however likely it is."
    return (
        f"The chances decide nothing here: with the most expensive future at {percent_text(RARE)} or at "
        f"{percent_text(LIKELY)}, no other first stage is better by more than the gap."
    )


def _implied(one: ImpliedPenalty, shown: Callable[[float], str]) -> str:
    """The penalty from which on all is served, for a service that states none."""
    if one.most <= 0.0:
        return f"Serving all of {one.service} takes nothing more: no penalty would have a part left out."
    cost = shown(one.per_request)
    if shown(max(one.least, 0.0)) != shown(one.most):
        cost += f" ({shown(max(one.least, 0.0))} to {shown(one.most)})"
    return (
        f"The service {one.service} states no unmet_penalty, so all of it is served: that is right where an "
        f"unserved request costs {cost} or more. Below that, {percent_text(one.fraction, 0)} of {one.future} "
        "would be left out."
    )


def _status(found: FuturesPlan) -> Record:
    if found.hedge is None:
        infeasible = any(one.status is Status.INFEASIBLE for one in found.known)
        status = Status.INFEASIBLE if infeasible and not found.stopped else Status.NO_INCUMBENT
        return {"name": STATUS_NAMES[status], "text": _why_not(found), "verified": False}
    hedge = found.hedge
    found_so_far = "Stopped on request: of the first stages found" * (hedge.status is Status.INTERRUPTED)
    text = f"{found_so_far or 'Of all first stages'} the one with {AIMS[found.aim]}"
    apart = hedge.value - hedge.bound
    if hedge.plans and hedge.status is Status.OPTIMAL:
        text += "; no better one exists for these futures."
    elif hedge.plans and hedge.bound:
        text += (
            f"; proved to within {percent_text(max(apart, 0.0) / abs(hedge.value or 1.0), 2)} of the best."
        )
    return {
        "name": STATUS_NAMES[hedge.status],
        "text": text if hedge.plans else _why_not(found),
        "seconds": hedge.elapsed_s,
        "verified": bool(hedge.plans),
    }


def _why_not(found: FuturesPlan) -> str:
    if found.stopped:
        return (
            f"Stopped on request before there was one plan for all futures; {len(found.known)} of "
            f"{len(found.futures)} were looked at alone."
        )
    if found.impossible:
        names = ", ".join(found.impossible)
        return (
            f"No plan was found in {names}, even had it been known: plan that future alone to see which "
            "limits conflict, or let its services and jobs give way at a price."
        )
    return (
        "Each future has a plan, but none was found for all of them together: decide less now "
        "(policy.decide_until), or allow more time (solve.time_limit)."
    )


def _nodes(found: FuturesPlan, stage: FirstStage) -> float:
    problem = found.together.problems[0]
    return float((stage.orders * problem.node_groups.order_unit_nodes[:, None]).sum())
