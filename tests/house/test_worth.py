"""The worth page: its families, the cap on money, and that what it says follows from what was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.studies import worth, worth_more, worth_search
from benchmarks.studies.worth import saved_fraction
from benchmarks.studies.worth_search import (
    CHEAPEST,
    OVER_CHEAPEST,
    OVER_USUAL,
    USUAL,
    Family,
    Lever,
    Outcome,
)
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import load_scenario
from planner.program.assembly import assemble
from solver.answer import answer


def family(carbon: float, worse: float = 100.0) -> Family:
    plans: dict[str, Outcome | None] = {
        USUAL: Outcome(1000.0, worse, 0.001),
        CHEAPEST: Outcome(900.0, worse, 0.001),
        OVER_USUAL: Outcome(1040.0, carbon, 0.001),
        OVER_CHEAPEST: Outcome(940.0, carbon, 0.002),
    }
    return Family("A family", plans, {"shift": Lever(5.0, 7.0), "pack": Lever(None, 2.0)})


def test_twelve_families_of_which_four_have_known_hours() -> None:
    """Each is read and fine; the four of this page stand at grids whose hours ship."""
    files = worth_search.families()
    assert len(files) == 12
    for path in worth_search.OWN.glob("*.toml"):
        scenario = load_scenario(path)
        check_scenario(scenario, load_catalogue())
        assert {site.grid for site in scenario.sites} <= {"es", "de", "us-camx", "us-erct"}


def test_the_cap_is_five_percent_more_money() -> None:
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    problem = assemble(Inputs(scenario, load_catalogue())).problem
    limited = worth_search.capped(problem, 1000.0)

    assert limited.limits.money_cap_usd == pytest.approx(1050.0)
    assert limited.objective == worth_search.LEAST_CARBON
    np.testing.assert_array_equal(limited.limits.power_kw, problem.limits.power_kw)


def test_the_page_says_where_something_is_saved_and_where_nothing_is() -> None:
    """80 of 100 is 20 %; 99.5 of 100 is under 1 %; no plan is told as none."""
    good, nothing = family(80.0), family(99.5)
    none = replace(good, plans=dict.fromkeys(good.plans, None), levers={})
    text = worth.page({"good": good, "nothing": nothing, "none": none})

    assert saved_fraction(good, OVER_USUAL, USUAL) == pytest.approx(0.2)
    assert "**20.0** for +4.0" in text
    assert "is found in 1 of 3 families (good)" in text
    assert "less than 1 % in nothing" in text
    row = next(line for line in text.splitlines() if line.startswith("| [none]"))
    assert row.count("no plan") == 3
    assert "| shift | 0.01 | 0.01 |" in text
    assert "| pack |  | 0.00 |" in text


def test_the_page_has_the_front_and_the_draws_of_those_that_have_them() -> None:
    """By the least money: 100 falls to 95 for nothing and to 60 for a tenth more; spans of both pairs."""
    outcomes = (95.0, 90.0, 80.0, 70.0, 60.0)
    front: dict[str, Outcome | None] = {
        f"{more:.0%}": Outcome(900.0 * (1 + more), carbon, 0.0)
        for more, carbon in zip(worth_search.STEPS, outcomes, strict=True)
    }
    drawn = worth_search.Replays((0.18, 0.25), (0.01, -0.02), not_enough=1, other_not_enough=0)
    whole = replace(family(80.0), front=front, replays={OVER_USUAL: drawn})
    text = worth.page({"whole": whole, "old": family(90.0)})

    assert "| whole | 5.0 | 10.0 | 20.0 | 30.0 | 40.0 |" in text
    assert "| whole | usual practice | 18.0 to 25.0 | -2.0 to 1.0 | 2 | 1 | 0 |" in text
    assert "fronts and plans under drawn futures of old;" in text
    assert "## The front" not in worth.page({"old": family(90.0)})
    assert "Not done here: bands" in worth.page({"whole": whole})


@pytest.mark.slow
def test_more_money_never_brings_less_and_a_draw_keeps_what_was_decided() -> None:
    """Of a small scenario: each step of the front within its money; a draw of no change as planned."""
    scenario = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    problem = assemble(Inputs(worth_search.with_all_levers(scenario), load_catalogue())).problem
    cheapest = answer(
        replace(problem, objective=worth_search.LEAST_MONEY), gap_fraction=0.0, time_limit_s=5.0
    )
    assert cheapest.solution is not None
    search = worth_search.FrontSearch(problem, [cheapest.solution])
    search.find_cheapest()
    front = search.front()
    found = [front[more] for more in worth_search.STEPS]
    outcomes = [one.solution for one in found if one is not None and one.solution is not None]
    assert len(outcomes) == len(worth_search.STEPS)
    for more, one in zip(worth_search.STEPS, outcomes, strict=True):
        assert one.usd <= cheapest.solution.usd * (1 + more) * (1 + 1e-6)
    carbon = [one.kgco2e for one in outcomes]
    assert carbon == sorted(carbon, reverse=True)
    same, stays = worth_search._in_draw(
        worth_search.Usual(worth_search.with_all_levers(scenario), cheapest), {}, levers=True
    )
    again = worth_search._held(replace(same, objective=worth_search.LEAST_MONEY), stays)
    assert again is not None
    assert again.usd == pytest.approx(cheapest.solution.usd, rel=worth_search.GAP_FRACTION)
    np.testing.assert_array_equal(again.retired[:, 0], cheapest.solution.retired[:, 0])


def test_the_shipped_page_follows_from_what_was_found() -> None:
    """Made by hand it would differ."""
    assert worth.PAGE.read_text(encoding="utf-8") == worth.whole_page()
    for one in worth_search.kept().values():
        better, cap = one.plans[OVER_USUAL], one.plans[USUAL]
        if better is not None and cap is not None:
            assert better.usd <= cap.usd * (1 + worth.MORE_MONEY) * (1 + 1e-6)
    for one in worth_more.kept().values():
        for plans in (one.without, one.energy, one.ways):
            clean, cheap = plans[worth_more.CLEANEST], plans[worth_more.CHEAPEST]
            assert clean is not None
            assert cheap is not None
            assert clean.usd <= cheap.usd * (1 + worth.MORE_MONEY) * (1 + 1e-6)


def test_each_site_may_buy_the_sun_and_a_battery_and_each_service_has_ways() -> None:
    """Ten kilowatts of cells and a day of battery for each kilowatt of its highest cap."""
    for path in worth_search.families().values():
        scenario = worth_more.with_ways(worth_more.with_energy(load_scenario(path)))
        check_scenario(scenario, load_catalogue())
        for site in scenario.sites:
            assert site.solar_more_kw == pytest.approx(10 * max(site.power_cap_kw))
            assert site.battery_kwh == pytest.approx(24 * max(site.power_cap_kw))
        for service in scenario.services:
            assert service.precisions == ("bf16", "fp8")


def test_the_page_says_what_the_sun_batteries_and_ways_add() -> None:
    """90 of 100 without; 40 of 80 with the sun, 60 without a battery; a tenth less money by ways."""

    def plans(cheap: float, clean: float, usd: float = 1000.0) -> worth_more.Plans:
        return {
            worth_more.CHEAPEST: Outcome(usd, cheap, 0.001),
            worth_more.CLEANEST: Outcome(1.04 * usd, clean, 0.02),
        }

    without, none = plans(100.0, 90.0), dict.fromkeys(plans(1.0, 1.0), None)
    some = worth_more.More(
        without,
        plans(80.0, 40.0),
        plans(70.0, 63.0, 900.0),
        60.0,
        {"here": 500.0, "there": 250.0},
        {"here": 900.0},
        ("chat: fp8",),
    )
    text = worth.page(
        {"growth": family(80.0)}, {"growth": some, "other": replace(some, energy=none, ways=without)}
    )

    assert "| growth | 10.0 | **50.0** | +4.0 | 25.0 | 750 | 900 | 2.0 |" in text
    assert "| other | 10.0 | **no plan** |" in text
    assert "is found in 1 of 2 families, 1 of the 1 that ship; not in other." in text
    assert "| growth | -10.0 | -30.0 | 10.0 | chat: fp8 | 2.0 |" in text
    assert "| other | 0.0" not in text
    assert worth.ENERGY not in worth.page({"growth": family(80.0)})


@pytest.mark.slow
def test_a_small_scenario_is_never_dearer_with_more_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(worth_more.offers()["sites"], "stockholm", [59.3, 18.1, 0.11, 0.5])
    found = worth_more.measured(load_scenario(data_folder() / "scenarios" / "one-training-job.toml"))
    before, after = found.without[worth_more.CHEAPEST], found.energy[worth_more.CHEAPEST]
    assert before is not None
    assert after is not None
    assert after.usd <= before.usd * (1 + 1e-6)
    assert found.ways == found.without
    assert found.chosen == ()
