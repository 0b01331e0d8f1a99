"""From a scenario with futures to one checked plan for all of them, and what is next to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, Solve
from planner.inputs.scenario.schema_futures import Future
from planner.program.assembly import Assembled, assemble, objective_unit
from planner.program.draws import Stop, drawn_futures
from planner.program.engines import refusing, require_trusted
from planner.program.future_scenarios import in_future, mean_future, require_one_objective
from planner.program.plan import Plan, Watch
from planner.trace.columns import Column, difference
from planner.trace.errors import InputError
from planner.trace.quantities import Traced, chosen, derive, pick
from solver.answer import answer
from solver.backend import EXACT
from solver.known import Answer
from solver.problem import Problem, Solution
from solver.stochastic import Aim, FirstStage, Futures, Hedge, aim_value, hedge, in_each_future
from solver.tables import ProblemError


def expected_usd(*, each_usd: Column, probability_fraction: Column) -> Column:
    """Mean over futures.

    E = sum_f P_f z_f

    Source: definition of an expectation.
    """
    return float(np.sum(np.asarray(each_usd) * np.asarray(probability_fraction)))


def expected_kgco2e(*, each_kgco2e: Column, probability_fraction: Column) -> Column:
    """Mean over futures, where carbon is minimised.

    E = sum_f P_f z_f

    Source: definition of an expectation.
    """
    return float(np.sum(np.asarray(each_kgco2e) * np.asarray(probability_fraction)))


def hedging_value_usd(*, mean_plan_usd: Column, hedged_usd: Column) -> Column:
    """Value of the stochastic solution: what planning for all futures saves over planning for their mean.

    VSS = EEV - RP

    Source: Birge, "The value of the stochastic solution", Math. Programming 24 (1982).
    """
    return difference(mean_plan_usd, hedged_usd)


def knowing_value_usd(*, hedged_usd: Column, known_usd: Column) -> Column:
    """Expected value of perfect information: what knowing the future before ordering would save.

    EVPI = RP - WS

    Source: Birge and Louveaux, "Introduction to Stochastic Programming" (2011), section 4.1.
    """
    return difference(hedged_usd, known_usd)


def hedging_value_kgco2e(*, mean_plan_kgco2e: Column, hedged_kgco2e: Column) -> Column:
    """Value of the stochastic solution, where carbon is minimised.

    VSS = EEV - RP

    Source: Birge, "The value of the stochastic solution", Math. Programming 24 (1982).
    """
    return difference(mean_plan_kgco2e, hedged_kgco2e)


def knowing_value_kgco2e(*, hedged_kgco2e: Column, known_kgco2e: Column) -> Column:
    """Expected value of perfect information, where carbon is minimised.

    EVPI = RP - WS

    Source: Birge and Louveaux, "Introduction to Stochastic Programming" (2011), section 4.1.
    """
    return difference(hedged_kgco2e, known_kgco2e)


LEFT_FRACTIONS = (0.05, 0.2, 0.5)  # of a service's demand: what is tried to be left out
SECONDS_PER_HOUR = 3600.0
RARE, LIKELY = 0.05, 0.9  # chances of the dearest future between which a first stage is held to others
SHARE_OF_TIME = 0.25  # of the time limit, for each further search


@dataclass(frozen=True)
class ImpliedPenalty:
    """What a plan pays for a share of the requests of a service that has to carry all, in one future.

    From `least` to `most` by the gaps of both searches; with a lower penalty stated they would be left out.
    """

    service: str
    future: str
    fraction: float  # of the demand there
    per_request: float
    least: float
    most: float


@dataclass(frozen=True)
class FuturesPlan:
    """One first stage for all futures: what follows it in each, and what would have been done otherwise.

    `known` are the best plans had each future been known, `mean` the plan of the mean future with its orders
    held in each; there is no hedge where one of the futures has no plan at all, or where the search was
    `stopped` before it, perhaps before every future was known.
    """

    scenario: Scenario
    futures: tuple[Future, ...]
    inputs: tuple[Inputs, ...]
    assembled: tuple[Assembled, ...]
    together: Futures
    known: tuple[Answer, ...]
    mean: tuple[Answer, ...]
    hedge: Hedge | None
    stopped: bool = False
    chances_matter: bool | None = None  # None where that was not found out
    implied_penalties: tuple[ImpliedPenalty, ...] = ()

    @property
    def aim(self) -> Aim:
        """What is minimized."""
        return self.scenario.policy.robust or "expected"

    @property
    def objective_unit(self) -> str:
        """In what the objective of every future counts."""
        return objective_unit(self.together.problems[0].objective)

    @property
    def impossible(self) -> tuple[str, ...]:
        """Futures in which no plan was found even had they been known."""
        pairs = zip(self.futures, self.known, strict=True)
        return tuple(future.name for future, one in pairs if one.solution is None)

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """The plan in each future, whose ledger agrees with the solver's sums or raises."""
        hedged = self._hedged
        objectives = hedged.objectives.tolist()
        rows = zip(self.inputs, self.assembled, hedged.plans, objectives, strict=True)
        return tuple(
            Plan(inputs, assembled, _answer(hedged, solution, objective), {}, None)
            for inputs, assembled, solution, objective in rows
        )

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """The objective of each future had it been known."""
        return np.array([one.objective for one in self.known])

    @property
    def regrets(self) -> NDArray[np.float64]:
        """How much more each future takes than had it been known, in the unit of the objective."""
        more: NDArray[np.float64] = self._hedged.objectives - self.best
        return more

    @cached_property
    def expected(self) -> Traced:
        """The mean objective of the plan, down to the facts of every future."""
        return self._mean_of([plan.ledger.objective for plan in self.plans])

    @cached_property
    def worth(self) -> dict[str, Traced]:
        """What hedging saves over the plan for the mean future, and what knowing would save."""
        in_money = self.objective_unit == "USD"
        suffix = "usd" if in_money else "kgco2e"
        hedged = {f"hedged_{suffix}": self.expected}
        known = {f"known_{suffix}": self._mean_solved(f"known_{suffix}", self.known)}
        knowing = derive(knowing_value_usd if in_money else knowing_value_kgco2e, **hedged, **known)
        found: dict[str, Traced] = {"knowing": knowing}
        if self.mean and all(one.solution is not None for one in self.mean):
            mean = {f"mean_plan_{suffix}": self._mean_solved(f"mean_plan_{suffix}", self.mean)}
            found["hedging"] = derive(
                hedging_value_usd if in_money else hedging_value_kgco2e, **mean, **hedged
            )
        return found

    def _mean_solved(self, name: str, each: tuple[Answer, ...]) -> Traced:
        return self._mean_of(
            [chosen(name, one.objective, "solved and checked by plain sums") for one in each]
        )

    def _mean_of(self, each: list[Traced]) -> Traced:
        chances = [future.probability_fraction for future in self.futures]
        shares = chosen("probability_fraction", np.array(chances), "probability of each future")
        column = pick(each, np.arange(len(each)))
        if self.objective_unit == "USD":
            return derive(expected_usd, each_usd=column, probability_fraction=shares)
        return derive(expected_kgco2e, each_kgco2e=column, probability_fraction=shares)

    @property
    def _hedged(self) -> Hedge:
        if self.hedge is None or not self.hedge.plans:
            raise ValueError("no plan was found for all futures, so there is nothing to account for")
        return self.hedge


@refusing
def plan_futures(
    scenario: Scenario,
    *,
    catalogue: Catalogue | None = None,
    watch: Watch | None = None,
    should_stop: Stop | None = None,
) -> FuturesPlan:
    """Plan a scenario for all of its futures; one yes of `should_stop` ends every solve, the best is kept.

    Raises:
        InputError: it names none, or one of them changes what the first stage is about.
        ScenarioError: a future is no scenario.
    """
    require_one_objective(scenario)
    require_trusted(scenario.solve)
    tell, known_facts = watch or (lambda _: None), catalogue or load_catalogue()
    futures = futures_of(scenario, known_facts, tell, should_stop)
    tell(f"working out {len(futures)} futures")
    inputs = [_inputs(scenario, future, known_facts) for future in futures]
    assembled = [assemble(one) for one in inputs]
    together = _together(scenario, futures, [one.problem for one in assembled])
    settings = scenario.solve
    stop = should_stop or (lambda: False)
    known = []
    for future, problem in zip(futures, together.problems, strict=True):
        if not stop():
            tell(f"future {future.name}: the best plan if it were known")
            known.append(_solve(problem, settings, should_stop))
    found = FuturesPlan(scenario, futures, tuple(inputs), tuple(assembled), together, tuple(known), (), None)
    if stop():
        return replace(found, stopped=True)
    if found.impossible:
        return found
    tell("the plan for the mean future, held in each")
    mean = _mean_plan(scenario, found, known_facts, should_stop)
    if stop():
        return replace(found, stopped=True)
    tell("one plan for all futures")
    starts = _starts(mean) or _starts(_dearest_held(found, should_stop))
    made = hedge(
        together,
        aim=found.aim,
        best=found.best if found.aim == "regret" else None,
        starts=starts,
        gap_fraction=settings.gap_fraction,
        time_limit_s=settings.time_limit_s,
        should_stop=should_stop,
    )
    found = replace(found, mean=mean, hedge=made)
    if stop() or not made.plans:
        return found
    tell("whether other chances would decide otherwise, and what the last requests cost")
    matter = chances_matter(found, should_stop)
    return replace(found, chances_matter=matter, implied_penalties=implied_penalties(found, should_stop))


def chances_matter(found: FuturesPlan, should_stop: Stop | None = None) -> bool | None:
    """Whether the plan is beaten by more than the gap where the dearest future is rare, or likely.

    Its first stage is held to the best one for chances of RARE and of LIKELY, the others in proportion. A
    worst case and the largest regret know no chances. None where a search found nothing in its time.
    """
    made, settings = found.hedge, found.scenario.solve
    if made is None or len(found.futures) == 1:
        return None
    if found.aim != "expected":
        return False
    dearest = int(np.argmax(made.objectives))
    for chance in (RARE, LIKELY):
        rest = found.together.probability_fraction.copy()
        rest[dearest] = 0.0
        chances = (1.0 - chance) * rest / rest.sum()
        chances[dearest] = chance
        other = _search_on(found, replace(found.together, probability_fraction=chances), should_stop)
        if other is None:
            return None
        held = aim_value(made.objectives, chances, found.aim)
        if held - other.value > 2.0 * max(settings.gap_fraction, EXACT) * abs(other.value):
            return True
    return False


def implied_penalties(found: FuturesPlan, should_stop: Stop | None = None) -> tuple[ImpliedPenalty, ...]:
    """From which penalty on all requests are served, of each service that states none.

    p = max over x of (z - z'(x)) / (P_f * requests(x)), z'(x) with the share x of the demand of f gone, where
    f is the future that asks for most. Nodes come whole, so that the last few requests may free none. Only
    where the mean is minimised: nothing else adds up by requests.
    """
    made = found.hedge
    if made is None or found.aim != "expected":
        return ()
    penalties = []
    for i, service in enumerate(found.scenario.services):
        if service.unmet_penalty_usd is not None:
            continue
        f = int(np.argmax([one.services.demand[i].sum() for one in found.together.problems]))
        tried = [_penalty_of(found, made, i, f, fraction, should_stop) for fraction in LEFT_FRACTIONS]
        penalties += sorted((one for one in tried if one is not None), key=lambda one: one.per_request)[-1:]
    return tuple(penalties)


def _penalty_of(
    found: FuturesPlan, made: Hedge, service: int, future: int, fraction: float, should_stop: Stop | None
) -> ImpliedPenalty | None:
    """What a share of the requests of a service costs in a future; None where no plan was found in time."""
    problem, inputs = found.together.problems[future], found.inputs[future]
    demand = problem.services.demand.copy()
    requests = float(demand[service] @ np.array(inputs.scenario.horizon.hours)) * SECONDS_PER_HOUR
    requests *= inputs.scenario.services[service].mean_to_peak_fraction
    expected = requests * fraction * float(found.together.probability_fraction[future])
    demand[service] *= 1.0 - fraction
    problems = list(found.together.problems)
    problems[future] = replace(problem, services=replace(problem.services, demand=demand))
    other = _search_on(found, replace(found.together, problems=tuple(problems)), should_stop)
    if other is None:
        return None
    saved = made.value - other.value
    return ImpliedPenalty(
        service=found.scenario.services[service].name,
        future=found.futures[future].name,
        fraction=fraction,
        per_request=saved / expected,
        least=(min(made.bound, made.value) - other.value) / expected,
        most=(made.value - min(other.bound, other.value)) / expected,
    )


def _search_on(found: FuturesPlan, together: Futures, should_stop: Stop | None) -> Hedge | None:
    """One plan for other futures of the same fleet, from the plan that is known; none found in its time."""
    settings = found.scenario.solve
    made = hedge(
        together,
        aim=found.aim,
        starts=found._hedged.plans,
        gap_fraction=settings.gap_fraction,
        time_limit_s=SHARE_OF_TIME * settings.time_limit_s,
        should_stop=should_stop,
    )
    return made if made.plans else None


def futures_of(
    scenario: Scenario, catalogue: Catalogue, tell: Watch, should_stop: Stop | None = None
) -> tuple[Future, ...]:
    """The futures that a scenario names, or those drawn for it."""
    if scenario.futures:
        return scenario.futures
    if scenario.uncertainty is None:
        raise InputError("the scenario names no future: add [[futures]], or [uncertainty] to draw some")
    tell(f"drawing {scenario.uncertainty.draws} futures")
    return drawn_futures(scenario, scenario.uncertainty, catalogue, should_stop)


def shared_periods(scenario: Scenario) -> int:
    """Periods whose orders, retirements and moves are decided now."""
    day, horizon = scenario.policy.decide_until, scenario.horizon
    return horizon.periods if day is None else sum(start < day for start in horizon.period_starts)


def _inputs(scenario: Scenario, future: Future, catalogue: Catalogue) -> Inputs:
    changed = in_future(scenario, future, catalogue)
    return Inputs(changed, with_cards(changed, catalogue))


def _together(scenario: Scenario, futures: tuple[Future, ...], problems: list[Problem]) -> Futures:
    chances = np.array([future.probability_fraction for future in futures])
    try:
        return Futures(tuple(problems), chances / chances.sum(), shared_periods(scenario))
    except ProblemError as error:
        raise InputError(
            f"{error}; futures may change demand, prices, rates, facts and limits, but not the fleet, its "
            "sites or lead times"
        ) from None


def _mean_plan(
    scenario: Scenario, found: FuturesPlan, catalogue: Catalogue, should_stop: Stop | None
) -> tuple[Answer, ...]:
    """The plan of the mean future with its first stage held in each future; none where it has no plan."""
    mean = mean_future(found.futures, scenario.horizon.periods)
    problem = assemble(_inputs(scenario, mean, catalogue)).problem
    planned = _solve(problem, scenario.solve, should_stop)
    if planned.solution is None:
        return ()
    settings = scenario.solve
    return in_each_future(
        found.together,
        FirstStage.of(planned.solution),
        gap_fraction=settings.gap_fraction,
        time_limit_s=settings.time_limit_s,
        should_stop=should_stop,
    )


def _dearest_held(found: FuturesPlan, should_stop: Stop | None) -> tuple[Answer, ...]:
    """The plan of the future that takes most, held in each: what it buys is most likely enough."""
    dearest = found.known[int(np.argmax(found.best))].solution
    assert dearest is not None, "every future has a plan"
    settings = found.scenario.solve
    return in_each_future(
        found.together,
        FirstStage.of(dearest),
        gap_fraction=settings.gap_fraction,
        time_limit_s=settings.time_limit_s,
        should_stop=should_stop,
    )


def _starts(held: tuple[Answer, ...]) -> tuple[Solution, ...]:
    """Plans of one first stage, if it holds in every future."""
    found = tuple(one.solution for one in held if one.solution is not None)
    return found if len(found) == len(held) else ()


def _solve(problem: Problem, settings: Solve, should_stop: Stop | None) -> Answer:
    return answer(
        problem,
        gap_fraction=settings.gap_fraction,
        time_limit_s=settings.time_limit_s,
        should_stop=should_stop,
        engine=settings.engine,
    )


def _answer(hedged: Hedge, solution: Solution, objective: float) -> Answer:
    """A part of a hedge as an answer; how close it is to the best is known of the whole alone."""
    return Answer(hedged.status, solution, objective, -np.inf, np.inf, hedged.elapsed_s)
