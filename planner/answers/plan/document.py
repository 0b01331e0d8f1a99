"""A plan as plain data: the one shape that reports, the app, files and `explain` read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version

from planner.answers.plan.chance import chance_sentences
from planner.answers.plan.clean_energy import clean_energy_sentences
from planner.answers.plan.conflict import conflict_records, conflict_text, late_orders_text
from planner.answers.plan.decisions import with_reasons
from planner.answers.plan.energy import energy_records
from planner.answers.plan.knowable import knowable_records, knowable_sentences, median_sentences
from planner.answers.plan.money import cost_label, minimised_label
from planner.answers.plan.names import labels_of, limit_place
from planner.answers.plan.notes import notes_of
from planner.answers.plan.promises import shortfall, shortfall_text, shortfalls
from planner.answers.plan.ranges import Held, held_sentences, ranged_totals
from planner.answers.plan.site_energy import site_energy_sentences
from planner.answers.plan.stress import spot_runs, stress_sentences
from planner.answers.plan.summary import objective_text, why_this_plan
from planner.answers.plan.tables import traced_tables
from planner.answers.plan.verified import verification_records
from planner.answers.plan.views import view_sentences
from planner.answers.plan.ways import way_text, ways_records, ways_text
from planner.answers.plan.whole_ledger import whole_ledger
from planner.answers.plan.work import pausable_explanations
from planner.inputs.scenario import digest
from planner.program.assembly import objective_unit
from planner.program.ledger import Disagreement
from planner.program.option_tables import TOO_FEW, TOO_SLOW
from planner.program.plan import Plan, Watch, silent
from planner.program.solution import UNITS, Family, Give, Infeasibility, Status
from planner.report.integrity import disagreements
from planner.report.shape import PLAN_SCHEMA
from planner.trace.currency import currency_record, showing
from planner.trace.explain import Steps
from planner.trace.numbers import percent_text, seconds_text
from planner.trace.origins import facts_of
from planner.trace.records import (
    Record,
    fact_record,
    numbered,
    plain_rows,
    swing_records,
)
from planner.trace.uncertainty import Swing, swings

MOST_SWINGS = 12
DRAWS = 64  # stratified: p5 and p95 of the shipped plans lie within 4 % of those of 600 draws

STATUS_NAMES = {
    Status.OPTIMAL: "optimal",
    Status.WITHIN_GAP: "within gap",
    Status.TIME_LIMIT: "time limit",
    Status.INTERRUPTED: "interrupted",
    Status.NO_INCUMBENT: "no incumbent",
    Status.INFEASIBLE: "infeasible",
    Status.UNBOUNDED: "unbounded",
}


def plan_document(plan: Plan, *, watch: Watch = silent) -> Record:
    """The document of a plan, or of why there is none; its sentences say money in the scenario's currency.

    `watch` is called with a message on the progress, which is slowest over the ranges.
    """
    with showing(plan.inputs.currency):
        return _document(plan, watch) | currency_record(plan.inputs.currency)


def _document(plan: Plan, watch: Watch) -> Record:
    scenario, horizon = plan.inputs.scenario, plan.inputs.scenario.horizon
    solved = plan.answer.solution is not None
    document: Record = {
        "everfleet": version_here(),
        "schema": PLAN_SCHEMA,
        "title": scenario.title,
        "scenario": scenario.path.name if scenario.path else "",
        "scenario_digest": digest(scenario),
        "facts_digest": plan.inputs.catalogue.digest,
        "horizon": {
            "start": horizon.start.isoformat(),
            "end": (horizon.end - timedelta(days=1)).isoformat(),
            "periods": list(horizon.period_labels),
        },
        "status": _status(plan),
        "objective": {
            "kind": scenario.policy.objective,
            "text": objective_text(plan),
            "value": None,
            "unit": objective_unit(plan.problem.objective),
        },
        "totals": [],
        "headline": [],
        "why": [],
        "tables": {},
        "tornado": [],
        "explanations": {},
        "cells": {},
        "steps": [],
        "held": None,
        "clash": None if plan.infeasibility is None else _infeasibility(plan, plan.infeasibility),
    }
    whole = None if plan.answer.solution is None else whole_ledger(plan, plan.answer.solution)
    steps, tables = Steps(), traced_tables(plan, whole)
    if solved:
        tables["energy"] = energy_records(plan)
        watch("looking for the facts that move the plan most")
        every = swings(plan.ledger.objective)
        accounts, held = _accounts(plan, steps, every, watch)
        document |= accounts
        tables["knowable"] = knowable_records(every, plan.inputs.catalogue.ranges)
    document["tables"] = {name: plain_rows(rows) for name, rows in tables.items()}
    opened = with_reasons(tables | {"tornado": document["tornado"]}) | {"totals": document["totals"]}
    document["cells"] = numbered(opened, steps)
    document["totals"] = plain_rows(document["totals"])
    if solved:
        document["headline"], document["why"] = why_this_plan(plan, whole)
        document["why"] += median_sentences(document["totals"])
        document["why"] += site_energy_sentences(plan, tables["site_energy"])
        document["why"] += clean_energy_sentences(plan, tables["clean_energy"])
        document["held"] = held.record()
        document["headline"] += chance_sentences(plan, tables["chance"], document["held"])
        document["headline"] += view_sentences(tables)
        document["headline"] += held_sentences(held) + knowable_sentences(tables["knowable"])
        document["headline"] += stress_sentences(tables["stress"], spot_runs(plan))
        # After the reasons, which rest on facts of their own: how far off rates are.
        document["tables"]["facts"], document["tables"]["facts_weighed"] = plan_facts(plan)
        document["objective"]["value"] = plan.ledger.objective.value
        if plan.verification is not None:
            document["verification"] = plan.verification
            document["tables"]["verification"] = verification_records(plan.verification)
            document["why"] += plan.verification["findings"]
    elif plan.infeasibility is not None:
        document["headline"] = [document["clash"]["text"]]
    document["steps"] = steps.packed()
    document["why"] += notes_of([plan.inputs], "this plan")
    if found := disagreements(document):
        raise Disagreement("; ".join(f"{place} {text}" for place, text in found[:5]))
    return document


def _accounts(plan: Plan, steps: Steps, every: Sequence[Swing], watch: Watch) -> tuple[Record, Held]:
    """Totals with their ranges, what moves them, where they come from, and how often the fleet holds."""
    ledger, solution = plan.ledger, plan.answer.solution
    assert solution is not None, "there is a plan"
    named = {
        "cost": (cost_label(plan), ledger.cost),
        "carbon": (
            "Carbon in the horizon" + ("" if ledger.location_carbon is None else ", market-based"),
            ledger.carbon,
        ),
        "energy": ("Energy at the meters", ledger.energy),
        "capex": ("Purchases, cash", ledger.capex),
        "sunk_carbon": (
            "Embodied share of standing nodes, sunk and not in the carbon above",
            ledger.sunk_carbon,
        ),
        "objective": (minimised_label(plan), ledger.objective),
    }
    if ledger.location_carbon is not None:
        named["carbon_location"] = ("For comparison: carbon, location-based", ledger.location_carbon)
    nodes = {name: node for name, (_, node) in named.items()}
    nodes |= {f"cost.{name.removesuffix('_usd')}": node for name, node in ledger.usd_terms.items()}
    nodes |= {f"carbon.{name.removesuffix('_kgco2e')}": node for name, node in ledger.kgco2e_terms.items()}
    nodes |= {f"energy.{name.removesuffix('_kwh')}": node for name, node in ledger.kwh_terms.items()}
    explanations = {name: steps.add(node) for name, node in nodes.items()}
    if ledger.runs is not None:
        runs = ledger.runs
        for row in ledger.run_rows:
            c = int(runs.candidate[row])
            job = plan.problem.jobs.name[runs.candidates.job[c]]
            columns = {
                "ettr": runs.ettr,
                "interval": runs.interval_h,
                "duration": runs.duration_h,
                "finish": runs.finish_p95_h,
                "mttf": runs.mttf_h,
                "step": runs.step_s,
            }
            explanations |= {f"job.{job}.{name}": steps.add(node, row=c) for name, node in columns.items()}
    explanations |= pausable_explanations(plan, steps)
    totals, held = ranged_totals(plan, solution, named, DRAWS, watch=watch)
    accounts = {
        "totals": totals,
        "tornado": swing_records(every[:MOST_SWINGS], ledger.objective.unit),
        "explanations": explanations,
    }
    return accounts, held


def plan_facts(plan: Plan) -> tuple[list[Record], list[Record]]:
    """Facts that the plan's totals rest on, and those that were only weighed: limits, options not taken."""
    ledger = plan.ledger
    found = facts_of(ledger.objective, ledger.energy, ledger.capex, ledger.sunk_carbon)
    weighed = {key: fact for key, fact in plan.inputs.facts_used.items() if key not in found}
    inside, only_weighed = (
        [fact_record(fact) for _, fact in sorted(facts.items())] for facts in (found, weighed)
    )
    return inside, only_weighed


def _status(plan: Plan) -> Record:
    found = plan.answer
    gap = found.gap_fraction if math.isfinite(found.gap_fraction) else None
    match found.status:
        case Status.OPTIMAL:
            text = "No better plan exists for these facts."
        case Status.WITHIN_GAP:
            text = (
                f"Proved to be within {percent_text(max(gap or 0.0, 1e-4), 2)} of the best plan that "
                "can exist."
            )
        case Status.TIME_LIMIT | Status.INTERRUPTED:
            known = (
                "not known yet how close to the best"
                if gap is None
                else f"at most {percent_text(gap)} above the best"
            )
            text = f"Stopped early; the best plan found so far, {known}."
        case Status.INFEASIBLE:
            text = "No plan exists that keeps every limit."
        case _ if found.elapsed_s == 0.0:
            limit = f"{plan.inputs.scenario.solve.time_limit_s:g} s"
            text = (
                f"Stopped before the search began: working out what each option takes counts in the {limit} "
                "that the plan has. Allow more time (solve.time_limit)."
            )
        case _:
            text = "Stopped before a plan was found: allow more time (solve.time_limit)."
    return {
        "name": STATUS_NAMES[found.status],
        "text": text,
        "gap_fraction": gap,
        "seconds": found.elapsed_s,
        **({"searched_on": found.searched_on} if found.searched_on else {}),
        "verified": found.solution is not None,
    }


def _infeasibility(plan: Plan, infeasibility: Infeasibility) -> Record:
    """Families of limits that would have to give way, and by how much."""
    families: list[Record] = [
        {
            "family": " + ".join(family.names),
            "alone_enough": family.suffices,
            "rows": [_give(plan, give, family) for give in family.gives],
            "cost_usd": family.usd if math.isfinite(family.usd) else None,
        }
        for family in (
            *infeasibility.families,
            *([infeasibility.joint] if infeasibility.joint is not None else []),
        )
        if family.suffices
    ]
    ways = ways_records(plan, families)
    binding = plan.remedies and ways and ways[0]["key"] == plan.remedies[0].key
    conflict = conflict_text(plan)
    said = ["No plan exists that keeps every limit."]
    said += [f"What binds is {way_text(ways[0])}."] if binding else []
    said += [each for each in (conflict, late_orders_text(plan)) if each]
    said += [f"{reason.removesuffix('.')}{_because(plan, reason)}." for reason in infeasibility.reasons]
    said += [f"{one.what}: {one.reason}." for one in plan.assembled.dropped if one.reason.startswith(TOO_FEW)]
    said += [shortfall_text(short) for short in shortfalls(plan, infeasibility) if short.nodes > 0]
    if ways:
        said.append(f"A plan exists if one of these gives way: {ways_text(ways)}.")
    return {
        "text": " ".join(said),
        "reasons": list(infeasibility.reasons),
        "conflict": conflict_records(plan),
        "families": families,
        "ways": ways,
    }


def _because(plan: Plan, reason: str) -> str:
    """Why the configurations of the job or service that a reason names were dropped.

    Latency targets come first: where they can be met by none, it does not matter what else is too small.
    """
    names = (*plan.problem.jobs.name, *plan.problem.services.name)
    named = [name for name in names if f" {name}:" in reason]
    found = [
        one
        for name in named
        for one in plan.assembled.dropped
        if one.what.startswith(f"{name} on ") or one.what.startswith(f"{name}, split")
    ]
    if slow := list(dict.fromkeys(one.sku for one in found if one.reason == TOO_SLOW)):
        service = next(one for one in plan.inputs.scenario.services if one.name in named)
        targets = " and ".join(f"{key} of {seconds_text(value)}" for key, value in service.targets_s.items())
        return f" (no load meets services.{service.name}.{targets} on {', '.join(slow)})"
    causes = [f"{one.what} of {one.sku}: {one.reason}" for one in found]
    more = f", and {len(causes) - 3} more" if len(causes) > 3 else ""
    return f" ({'; '.join(causes[:3])}{more})" if causes else ""


def _give(plan: Plan, give: Give, family: Family) -> Record:
    """One limit that gives way, named as in the conflict."""
    where, period = limit_place(plan.problem, labels_of(plan), give.family, give.index)
    record: Record = {
        "limit": give.family,
        "where": where,
        "period": "" if period == "horizon" else period,
        "by": give.amount,
        "unit": UNITS[give.family],
        "share_fraction": give.share if math.isfinite(give.share) else None,
    }
    solution = None if family.repaired is None else family.repaired.solution
    if give.family == "availability":
        record["by"] = math.ceil(give.amount - 1e-4)
        if solution is not None:
            short = shortfall(plan, solution, give)
            record |= {"services": list(short.services), "kept_fraction": short.kept_fraction}
    return record


def version_here() -> str:
    """The version of everfleet that makes documents here."""
    try:
        return version("everfleet")
    except PackageNotFoundError:
        return "0"
