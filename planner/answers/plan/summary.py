"""In words: what the plan decides, how it differs from the plans next to it, and what holds it back."""

from __future__ import annotations

import numpy as np

from planner.answers.plan.alternatives import alternative_sentences, tie_sentences
from planner.answers.plan.chosen_ways import adoption_sentences, way_sentences
from planner.answers.plan.clocks import mode_sentences
from planner.answers.plan.commitments import commitment_sentences, commitment_warnings
from planner.answers.plan.data_mix import data_sentences
from planner.answers.plan.disposals import (
    disposal_sentences,
    second_life_sentences,
    undeclared_sentences,
    unused_sentences,
)
from planner.answers.plan.fleet import (
    nodes_text,
    ownership_sentences,
    purchase_sentences,
)
from planner.answers.plan.hours import hour_sentences
from planner.answers.plan.installations import installation_sentences
from planner.answers.plan.limit_prices import price_sentences
from planner.answers.plan.limits import limit_sentences
from planner.answers.plan.money import contract_sentences, stand_in_sentences, total_sentence
from planner.answers.plan.placements import placement_sentences
from planner.answers.plan.places import place_sentences
from planner.answers.plan.preprocessing import feeding_sentences
from planner.answers.plan.quality import quality_sentences
from planner.answers.plan.rates import rate_sentences
from planner.answers.plan.regions import region_sentences
from planner.answers.plan.small_deployments import small_deployment_sentences
from planner.answers.plan.stages import stage_sentences
from planner.answers.plan.whole_ledger import WholeLedger, ledger_sentences, whole_ledger
from planner.answers.plan.work import (
    divisible_sentences,
    flexibility_sentences,
    left_out_sentences,
    placements,
    serving_sentences,
    training_sentences,
)
from planner.program.baselines import (
    COST_ONLY,
    KEEP_EVERYTHING,
    NO_PURCHASES,
    USUAL_PRACTICE,
    USUAL_SPARES,
    spare_confidence_fraction,
)
from planner.program.plan import Plan, first_tolerance
from planner.program.solution import Solution, Status, installed_usd
from planner.trace.columns import difference
from planner.trace.numbers import count_text, energy, mass, money, percent_text, quantity_text, tonne_price

ALIKE = 1e-4  # of a total
MOST_PRICES = 8  # the table holds them all


def why_this_plan(plan: Plan, whole: WholeLedger | None = None) -> tuple[list[str], list[str]]:
    """Headline sentences for a manager, and reasons for whoever asks why; `whole` where it is at hand."""
    solution = plan.answer.solution
    if solution is None:
        return [], []
    headline = [
        *([*purchase_sentences(plan, solution), *installation_sentences(plan, solution)] or ["Buy nothing."]),
        *disposal_sentences(plan, solution),
        *second_life_sentences(plan, solution),
        *ownership_sentences(plan, solution),
        *tie_sentences(plan),
        *left_out_sentences(plan, solution),
        *training_sentences(plan, solution),
        *feeding_sentences(plan, solution),
        *data_sentences(plan, solution),
        *serving_sentences(plan, solution),
        *divisible_sentences(plan, solution),
        *mode_sentences(plan, solution),
        *adoption_sentences(plan, solution),
        *commitment_sentences(plan, solution),
        *flexibility_sentences(plan, solution),
        *contract_sentences(plan, solution),
        total_sentence(plan),
    ]
    why = [
        *_looked_for(plan),
        *_against_cost_only(plan, solution),
        *_against_today(plan, solution),
        *_against_keeping(plan, solution),
        *_against_usual(plan, solution),
        *limit_sentences(plan, solution),
    ]
    why += undeclared_sentences(plan, solution)
    why += unused_sentences(plan, solution)
    why += commitment_warnings(plan, solution)
    why += small_deployment_sentences(plan, solution)
    why += place_sentences(plan, solution)
    why += ledger_sentences(plan, whole or whole_ledger(plan, solution))
    why += stand_in_sentences(plan)
    why += placement_sentences(plan)
    why += hour_sentences(plan, solution)
    why += way_sentences(plan, solution)
    why += quality_sentences(plan, solution)
    why += stage_sentences(plan, solution)
    why += region_sentences(plan, solution)
    why += rate_sentences(plan, solution)
    why += _futures_left_out(plan)
    return headline, [*why, *price_sentences(plan)[:MOST_PRICES], *alternative_sentences(plan)]


def _futures_left_out(plan: Plan) -> list[str]:
    """That a plan is for what is stated, where the scenario says how the future may differ."""
    scenario = plan.inputs.scenario
    if not scenario.futures and scenario.uncertainty is None:
        return []
    return ["This plan is for the scenario as stated; `everfleet futures` plans for all of its futures."]


def objective_text(plan: Plan) -> str:
    """What the plan looks for: 'least carbon, then least cost with 2 % more of the first'."""
    policy = plan.inputs.scenario.policy
    match policy.objective:
        case "money":
            return "least cost"
        case "carbon":
            return "least carbon"
        case "lexicographic":
            first, second = ("carbon", "cost") if policy.first == "carbon" else ("cost", "carbon")
            given = 100 * first_tolerance(policy)
            return (
                f"least {first}, then least {second} with {percent_text(given / 100, None)} more of the first"
            )
        case "cash":
            return "least money spent in the horizon"
        case _:
            price = 1000.0 * float(policy.carbon_price_usd_per_kgco2e or 0.0)
            return f"least cost, with carbon at {tonne_price(price)}"


def _looked_for(plan: Plan) -> list[str]:
    """That money is not all, or not first: a plan next to this one may then be cheaper."""
    if plan.inputs.scenario.policy.objective in ("money", "weighted"):
        return []
    return [f"The plan looks for {objective_text(plan)}; what is next to it may be better in something else."]


def _against_cost_only(plan: Plan, solution: Solution) -> list[str]:
    found = plan.baselines.get(COST_ONLY)
    if found is None or found.solution is None or plan.problem.objective.carbon_weight == 0:
        return []
    cheap = found.solution
    cheaper, fouler = _apart(cheap, solution)
    dearer, cleaner = -cheaper, fouler
    ours, theirs = (placements(plan, each) | _beyond_nodes(plan, each) for each in (solution, cheap))
    changes = [
        f"{name}: {ours[name]} (cost only: {theirs.get(name, 'none')})"
        for name in ours
        if ours[name] != theirs.get(name)
    ]
    if not changes and abs(dearer) < 1.0 and abs(cleaner) < 1.0:
        return [
            "The cost-only plan decides the same: at this carbon price the cheapest plan is also the best."
        ]
    if abs(dearer) < 1.0 and abs(cleaner) < 1.0:
        return ["The cost-only plan costs and emits the same; it differs in what has no price."]
    cost = f"{money(dearer)} more" if dearer >= 0 else f"{money(-dearer)} less (within the gap)"
    carbon = f"{mass(cleaner)} less" if cleaner >= 0 else f"{mass(-cleaner)} more (within the gap)"
    said = f"Against the cost-only plan this one costs {cost} and emits {carbon}"
    if cleaner > 0 and dearer > 0:
        price = (
            1000.0 * plan.problem.objective.carbon_weight / max(plan.problem.objective.money_weight, 1e-12)
        )
        paid = 1000.0 * dearer / cleaner
        said += f": {tonne_price(paid).removesuffix('/t')} for each tonne"
        if plan.inputs.scenario.policy.objective == "weighted":
            said += f", {'below' if paid <= price else 'above'} the carbon price of {tonne_price(price)}"
            said += "" if paid <= price else " (both plans are proved only to within the gap)"
    return [f"{said}.", *(f"It differs in {change}." for change in changes)]


def _beyond_nodes(plan: Plan, solution: Solution) -> dict[str, str]:
    """What was decided of terms, clean energy, techniques, curtailment and batteries."""
    problem, names = plan.problem, plan.problem.site_names
    rented = solution.committed.sum(axis=1)
    every = {
        "nodes under a term": [
            f"{nodes_text(int(rented[p]))} of {problem.node_group_name(int(p))}"
            for p in np.flatnonzero(rented)
        ],
        "clean energy": [
            f"{energy(float(kwh))} under {one.name}"
            for one, kwh in zip(plan.inputs.scenario.contracts, solution.matched_kwh.sum(axis=1), strict=True)
            if kwh > 0.5
        ],
        "techniques": [
            f"{problem.adoptions.name[a]} for {problem.work.name[problem.adoptions.work[a]]}"
            for a in np.flatnonzero(solution.adopted)
        ],
        "curtailment": [names[s] for s in np.flatnonzero(solution.signed)],
        "batteries": [
            f"{energy(float(solution.battery_kwh[s]))} at {names[s]}"
            for s in np.flatnonzero(solution.battery_kwh > 0.5)
        ],
        "the sun's cells": [
            f"{quantity_text(float(solution.solar_kw[s]), 'kW')} at {names[s]}"
            for s in np.flatnonzero(solution.solar_kw > 0.5)
        ],
    }
    return {what: ", ".join(said) or "none" for what, said in every.items()}


def _alike(solution: Solution, usd: float, kgco2e: float) -> bool:
    """Whether differences from a plan are too small to say anything: less than a search tells apart."""
    return abs(usd) < max(1.0, ALIKE * abs(solution.usd)) and abs(kgco2e) < max(
        1.0, ALIKE * abs(solution.kgco2e)
    )


def _apart(other: Solution, this: Solution) -> tuple[float, float]:
    """Money and carbon that another plan takes more than this one."""
    return float(difference(other.usd, this.usd)), float(difference(other.kgco2e, this.kgco2e))


def _best(plan: Plan) -> str:
    """What plans next to one of several objectives look for: its second, without the first."""
    policy = plan.inputs.scenario.policy
    clean = policy.objective == "carbon" or (policy.objective == "lexicographic" and policy.first == "money")
    if policy.objective == "weighted":
        return "the best plan"
    return "the cleanest plan" if clean else "the cheapest plan"


def _against_today(plan: Plan, solution: Solution) -> list[str]:
    found = plan.baselines.get(NO_PURCHASES)
    if found is None:
        return []
    if found.solution is None:
        if found.status is Status.INFEASIBLE:
            return ["Today's fleet alone cannot do this work: without purchases no plan keeps every limit."]
        return ["Whether today's fleet alone could do this work was not settled in the time allowed."]
    saved, cleaner = _apart(found.solution, solution)
    if _alike(solution, saved, cleaner):
        return ["Without purchases the answer is the same."]
    apart = (
        f"{money(abs(saved))} {'more' if saved >= 0 else 'less'}",
        f"{mass(abs(cleaner))} {'more' if cleaner >= 0 else 'less'}",
    )
    if not solution.orders.any() and not installed_usd(plan.problem, solution).any():
        return [
            f"The plan buys nothing; {_best(plan)} without purchases costs {apart[0]} and emits {apart[1]}."
        ]
    return [f"Without purchases it would cost {apart[0]} and emit {apart[1]}."]


def _against_keeping(plan: Plan, solution: Solution) -> list[str]:
    """What parting with nodes is worth: the plan next to the best one that keeps them all."""
    found = plan.baselines.get(KEEP_EVERYTHING)
    if found is None or found.solution is None:
        return []
    parted = int(solution.retired.sum() + solution.sold.sum())
    if not parted:
        return []
    dearer, fouler = _apart(found.solution, solution)
    if plan.inputs.scenario.policy.objective in ("carbon", "lexicographic"):
        return [
            f"Next to it, {_best(plan)} that keeps every node to the end of its life costs "
            f"{money(abs(dearer))} {'more' if dearer >= 0 else 'less'} and emits {mass(abs(fouler))} "
            f"{'more' if fouler >= 0 else 'less'} than this one, which parts with {count_text(parted)}."
        ]
    return [
        f"Keeping every node to the end of its life would cost {money(abs(dearer))} "
        f"{'more' if dearer >= 0 else 'less'} and emit {mass(abs(fouler))} "
        f"{'more' if fouler >= 0 else 'less'} than parting with {count_text(parted)}."
    ]


def _against_usual(plan: Plan, solution: Solution) -> list[str]:
    """What all of it is worth: the plan next to the one that operators usually make."""
    found = plan.baselines.get(USUAL_PRACTICE)
    if found is None:
        return []
    if found.solution is None:
        if found.status is Status.INFEASIBLE:
            return ["As operators usually plan, no plan keeps every limit."]
        return ["What operators would usually plan was not found in the time allowed."]
    saved, cleaner = _apart(found.solution, solution)
    if _alike(solution, saved, cleaner):
        return ["As operators usually plan, the answer is the same."]
    said = (
        f"As operators usually plan, it would cost {money(abs(saved))} {'more' if saved >= 0 else 'less'} "
        f"and emit {mass(abs(cleaner))} {'more' if cleaner >= 0 else 'less'}"
    )
    inputs, assembled = plan.own_baselines[USUAL_PRACTICE]
    wanted = inputs.scenario.reliability.spare_confidence_fraction
    enough = spare_confidence_fraction(inputs, assembled, found.solution)
    if enough < wanted:
        said += (
            f"; but its spares ({percent_text(USUAL_SPARES, 0)} of the nodes in use) are enough for "
            f"{percent_text(enough)} of the time at worst, where {percent_text(wanted)} is asked"
        )
    return [f"{said}."]
