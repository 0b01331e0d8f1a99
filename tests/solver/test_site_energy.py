"""The energy side of a site against closed forms and enumeration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from solver.problem import Objective
from solver.site_energy import Site, Use, best_use, broken_rules, matched_fractions

MONEY, CARBON = Objective(1.0, 0.0), Objective(0.0, 1.0)
LOAD = np.array([[100.0, 300.0, 200.0, 100.0]])
DIRTY = np.array([[0.1, 0.5, 0.4, 0.2]])
LASTS_H = 6.0


def site(**other: Any) -> Site:
    """One period of ten days of four slots, without a battery and without sun."""
    plain = Site(
        load_kw=LOAD,
        hours=np.full((1, 4), 10 * LASTS_H),
        before=np.array([3, 0, 1, 2]),
        slot_h=LASTS_H,
        moved_usd_per_kwh=np.full((1, 4), 0.1),
        fixed_usd_per_kwh=np.full((1, 4), 0.1),
        moved_kgco2e_per_kwh=DIRTY,
        fixed_kgco2e_per_kwh=DIRTY,
        peak_usd_per_kw=np.array([0.0]),
        feed_kw=np.array([np.inf]),
        sun_kw=np.zeros((1, 4)),
    )
    return replace(plain, **other)


FREE: dict[str, Any] = {"most_kwh": 1e6, "kw_per_kwh": 1.0}


def test_an_infinite_free_battery_makes_the_peak_the_mean() -> None:
    """With a demand charge alone the site draws its mean: 300 kW become 175."""
    use = best_use(site(peak_usd_per_kw=np.array([14.0]), **FREE), MONEY)

    assert use.import_kw(site()).max() == pytest.approx(LOAD.mean())
    assert use.usd == pytest.approx(14.0 * (LOAD.mean() - 300.0))


def test_an_infinite_free_battery_meets_the_cleanest_slot_or_through_a_narrow_feed_the_mean() -> None:
    """All is drawn in the cleanest slot; where the feed carries the mean alone, hours are met alike."""
    before = float((60 * LOAD * DIRTY).sum())
    free, narrow = (best_use(site(feed_kw=np.array([kw]), **FREE), CARBON) for kw in (np.inf, LOAD.mean()))

    assert before + free.kgco2e == pytest.approx(60 * LOAD.sum() * DIRTY.min())
    assert before + narrow.kgco2e == pytest.approx(60 * LOAD.sum() * DIRTY.mean())


def test_an_infinite_free_battery_buys_in_the_cheapest_slot() -> None:
    """All energy at the least price of the day; the sun is worth the price of its own slot."""
    dear = np.array([[0.05, 0.3, 0.2, 0.1]])
    use = best_use(site(moved_usd_per_kwh=dear, fixed_usd_per_kwh=dear, **FREE), MONEY)
    assert use.usd == pytest.approx(60 * (LOAD.sum() * 0.05 - (LOAD * dear).sum()))

    sun = best_use(site(fixed_usd_per_kwh=dear, sun_kw=np.array([[0.0, 50.0, 0.0, 0.0]])), MONEY)
    assert sun.usd == pytest.approx(-60 * 50 * 0.3)


@pytest.mark.parametrize(
    "case",
    [
        {
            "load_kw": np.full((1, 4), 100.0),
            "peak_usd_per_kw": np.array([14.0]),
            "moved_kgco2e_per_kwh": np.full((1, 4), 0.3),
        },
        {"moved_kgco2e_per_kwh": np.full((1, 4), 0.3), "one_way_fraction": 0.93},
        {"moved_kgco2e_per_kwh": DIRTY, "one_way_fraction": 1e-3},
    ],
    ids=["flat load", "flat grid", "all is lost"],
)
def test_no_battery_where_it_brings_nothing(case: dict[str, Any]) -> None:
    """A flat load has no peak, a flat grid no cleaner hour, and a battery that loses all no use."""
    priced = {"battery_usd_per_kwh": 1e-3, "battery_kgco2e_per_kwh": 1e-3}
    use = best_use(site(**{**FREE, **priced, **case}), Objective(1.0, 1.0))

    assert use.battery_kwh == pytest.approx(0.0, abs=1e-6)
    assert (use.usd, use.kgco2e) == pytest.approx((0.0, 0.0), abs=1e-6)


def test_a_dear_battery_is_bought_as_far_as_the_peak_pays() -> None:
    """Sizes tried one by one come to the size that the program buys, losses and power included."""
    terms: dict[str, Any] = {
        "peak_usd_per_kw": np.array([40.0]),
        "kw_per_kwh": 0.25,
        "one_way_fraction": 0.9,
        "battery_usd_per_kwh": 4.0,
    }
    free = best_use(site(most_kwh=1e4, **terms), MONEY)
    sizes = np.arange(0.0, 1600.0, 25.0)
    held = [best_use(site(most_kwh=size, **terms), MONEY).usd for size in sizes]

    assert free.usd <= min(held) + 1e-6
    assert min(held) == pytest.approx(free.usd, rel=0.02)
    assert free.battery_kwh == pytest.approx(float(sizes[int(np.argmin(held))]), abs=25.0)


def test_sun_is_used_as_far_as_there_is_load_and_nothing_is_sold() -> None:
    """Of 400 kW at noon 300 are used; a battery keeps the rest for later, and never makes it worse."""
    sun = np.array([[0.0, 400.0, 0.0, 0.0]])
    alone = best_use(site(sun_kw=sun), MONEY)
    with_battery = best_use(site(sun_kw=sun, **FREE), MONEY)

    assert alone.used_kw.max() == pytest.approx(300.0)
    assert alone.usd == pytest.approx(-0.1 * 60 * 300.0)
    assert with_battery.usd == pytest.approx(-0.1 * 60 * 400.0)


def test_matching_by_the_hour_is_never_more_than_by_the_year() -> None:
    """Clean energy of a day's mean covers the year and not each hour; of a flat load both are one."""
    hours, draws = np.full((1, 4), 60.0), np.random.default_rng(7)
    assert matched_fractions(LOAD, np.full((1, 4), LOAD.mean()), hours) == pytest.approx(
        (1.0, (100 + 175 + 175 + 100) / 700)
    )
    assert matched_fractions(np.ones((1, 4)), np.ones((1, 4)), hours) == (1.0, 1.0)
    for _ in range(50):
        year, hour = matched_fractions(*(draws.uniform(0, 400, (2, 4)) for _ in range(2)), np.ones((2, 4)))
        assert hour <= year + 1e-12


def test_what_breaks_a_rule_is_told() -> None:
    """Each rule is checked without the program."""
    good = best_use(site(peak_usd_per_kw=np.array([14.0]), **FREE), MONEY)
    wide = site(peak_usd_per_kw=np.array([14.0]), **FREE)
    more = np.full((1, 4), 1000.0)

    def broken(**change: Any) -> list[str]:
        return broken_rules(wide, replace(good, **change))

    assert broken_rules(wide, good) == []
    assert "sells to the grid" in broken(discharge_kw=good.discharge_kw + more)
    assert "uses more sun than there is" in broken(used_kw=more)
    assert "stores more than it holds" in broken(battery_kwh=1.0)
    assert "loses or makes energy" in broken(charge_kw=good.charge_kw + 1.0)
    assert "buys more battery than it may" in broken(battery_kwh=2e6)
    assert broken_rules(replace(wide, feed_kw=np.array([10.0])), good) == ["draws more than the feed carries"]


def test_a_feed_that_is_too_narrow_is_told() -> None:
    with pytest.raises(ValueError, match="feed carries less"):
        best_use(site(feed_kw=np.array([100.0])), MONEY)
    assert isinstance(best_use(site(feed_kw=np.array([300.0])), MONEY), Use)
