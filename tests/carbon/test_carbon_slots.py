"""Slots keep the mean of a grid, and what its cleanest hours save for work that may wait."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.shifting import best_hours_kgco2e_per_kwh
from carbon.slots import Slots, day_types, two_columns
from planner.inputs.series import load_series

CALIFORNIA = load_series("synthetic-us-camx").complete()[: 90 * 24]
TEXAS = load_series("synthetic-us-erct").complete()[: 90 * 24]
BOTH = np.stack([CALIFORNIA, TEXAS])


def slots(grid: np.ndarray, types: int, slots_a_day: int, **known: float) -> Slots:
    series = np.atleast_2d(grid)
    days = series.shape[-1] // 24
    shape = series / series.mean(axis=-1, keepdims=True)
    values = np.concatenate(list(shape.reshape(len(series), days, 24)), axis=-1)
    of_day = day_types(day_values=values, types=types)
    return two_columns(hours_ratio=series, day_type=of_day, slots_a_day=slots_a_day, **known)


def cleanest(found: Slots, ratio: np.ndarray, hours_fraction: float) -> float:
    """Mean ratio of work that takes the cleanest slots of each type, the same share of each."""
    total = 0.0
    for one in np.unique(found.day_type):
        here = found.day_type == one
        taken = np.sort(ratio[here])[: round(hours_fraction * here.sum())]
        total += float(taken.mean()) * float(found.hours_fraction[here].sum())
    return total


@pytest.mark.parametrize("slots_a_day", [1, 8, 12, 24])
@pytest.mark.parametrize("types", [1, 2, 4])
@pytest.mark.parametrize("known", [1.0, 0.6, 0.0])
def test_a_load_that_is_the_same_in_all_hours_meets_the_mean(
    types: int, slots_a_day: int, known: float
) -> None:
    """The annual factor stays: each of the three ratios has the mean 1, for any number of slots."""
    found = slots(BOTH, types, slots_a_day, known_in_day_fraction=known, known_in_period_fraction=known)

    assert found.hours_fraction.sum() == pytest.approx(1.0, abs=1e-12)
    for ratio in (found.fixed_ratio, found.day_ratio, found.period_ratio):
        assert ratio @ found.hours_fraction == pytest.approx([1.0, 1.0], abs=1e-12)


@pytest.mark.parametrize(("slots_a_day", "hours"), [(24, 5), (24, 13), (12, 8), (8, 12)])
@pytest.mark.parametrize("types", [1, 3])
def test_work_bound_to_its_day_meets_the_cleanest_hours_of_each_day(
    types: int, slots_a_day: int, hours: int
) -> None:
    """Sukprasert's bound of shifting within a day, by the leaf that knows all hours."""
    found = slots(CALIFORNIA, types, slots_a_day)
    bound = best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=CALIFORNIA, best_hours=hours)

    got = cleanest(found, found.day_ratio[0], hours / 24) * CALIFORNIA.mean()
    assert got == pytest.approx(float(bound), rel=1e-12)


@pytest.mark.parametrize("slots_a_day", [12, 24])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_work_that_is_free_in_the_period_meets_the_duration_curve(slots_a_day: int, share: float) -> None:
    """The cleanest u H hours of all, in closed form."""
    found = slots(TEXAS, 1, slots_a_day)
    curve = np.sort(TEXAS)[: round(share * TEXAS.size)].mean()

    assert cleanest(found, found.period_ratio[0], share) * TEXAS.mean() == pytest.approx(curve, rel=1e-12)


def test_a_load_that_cannot_move_meets_the_mean_of_its_hour() -> None:
    found = slots(CALIFORNIA, 1, 24)

    wanted = CALIFORNIA.reshape(-1, 24).mean(axis=0) / CALIFORNIA.mean()
    assert found.fixed_ratio[0] == pytest.approx(wanted, rel=1e-12)
    assert found.start_h.tolist() == list(range(24))


def test_two_types_of_day_and_two_hours_lose_little_of_what_can_be_saved() -> None:
    """Half of the hours, free in the quarter: the mean day loses most of it, two columns next to nothing."""
    found = slots(BOTH, 2, 12)
    for site, series in enumerate(BOTH):
        perfect = 1 - np.sort(series)[: series.size // 2].mean() / series.mean()
        order = np.argsort(found.period_ratio[site])
        room = np.minimum(np.cumsum(found.hours_fraction[order]), 0.5)
        taken = np.diff(room, prepend=0.0) / 0.5
        kept = 1 - float(found.period_ratio[site][order] @ taken)
        mean_day = series.reshape(-1, 24).mean(axis=0)
        of_mean_day = 1 - np.sort(mean_day)[:12].mean() / mean_day.mean()
        assert kept == pytest.approx(perfect, abs=0.01)
        assert of_mean_day < perfect - 0.03


def test_all_hours_are_the_year() -> None:
    """A type for each day and a slot for each hour: every column is the series itself."""
    days = CALIFORNIA.size // 24
    found = two_columns(hours_ratio=BOTH, day_type=np.arange(days), slots_a_day=24)
    assert found.hours_fraction == pytest.approx(np.full(days * 24, 1 / (days * 24)))
    for ratio in (found.fixed_ratio, found.day_ratio, found.period_ratio):
        assert ratio == pytest.approx(BOTH / BOTH.mean(axis=1, keepdims=True))


@pytest.mark.parametrize("hours", [4, 12])
def test_price_and_intensity_of_a_slot_are_of_the_same_hours(hours: int) -> None:
    """Work in the hours that weigh least meets what these hours emit and cost, not the best of each apart."""
    price = np.roll(CALIFORNIA, 7) / CALIFORNIA.mean()
    weight = 0.6 * price + 0.4 * CALIFORNIA / CALIFORNIA.mean()
    of_day = np.zeros(CALIFORNIA.size // 24, int)
    best = np.argsort(weight.reshape(-1, 24), axis=1, kind="stable")[:, :hours]
    order = np.argsort(
        two_columns(hours_ratio=weight, day_type=of_day, slots_a_day=24).fixed_ratio[0], kind="stable"
    )
    for series in (price, CALIFORNIA):
        found = two_columns(hours_ratio=series, signal_ratio=weight, day_type=of_day, slots_a_day=24)
        met = np.take_along_axis(series.reshape(-1, 24), best, axis=1).mean() / series.mean()
        assert found.day_ratio[0][order[:hours]].mean() == pytest.approx(met, rel=1e-12)
        assert found.day_ratio[0].mean() == pytest.approx(1.0, abs=1e-12)


def test_days_with_another_shape_are_of_another_type() -> None:
    """Weekends with a curve of their own fall apart by themselves; the commoner type comes first."""
    clock = np.arange(24)
    week, weekend = 1 + 0.5 * np.sin(clock / 24 * 2 * np.pi), np.ones(24)
    days = np.array([weekend if d % 7 >= 5 else week for d in range(70)])

    assert day_types(day_values=days, types=2).tolist() == [int(d % 7 >= 5) for d in range(70)]
    assert day_types(day_values=np.ones((5, 24)), types=2).tolist() == [0] * 5


def test_a_forecast_keeps_its_share_of_what_could_be_saved() -> None:
    all_known, some = slots(CALIFORNIA, 2, 12), slots(CALIFORNIA, 2, 12, known_in_day_fraction=0.7)
    perfect = 1 - cleanest(all_known, all_known.day_ratio[0], 0.5)

    assert 1 - cleanest(some, some.day_ratio[0], 0.5) == pytest.approx(0.7 * perfect, rel=1e-9)
    assert some.period_ratio == pytest.approx(all_known.period_ratio)


def test_a_grid_without_emissions_is_flat() -> None:
    found = slots(np.stack([CALIFORNIA, 0 * CALIFORNIA + 0.3]), 2, 12)
    assert found.period_ratio[1] == pytest.approx(np.ones(24))

    nothing = two_columns(hours_ratio=np.zeros((1, 48)), day_type=np.zeros(2, int), slots_a_day=12)
    assert (nothing.fixed_ratio == 1).all()


@given(st.integers(1, 23))
def test_a_turned_clock_turns_the_slots(turn: int) -> None:
    """What all series do an hour later is the same plan an hour later."""
    days = CALIFORNIA[: 20 * 24].reshape(-1, 24)
    plain, turned = slots(days.ravel(), 2, 24), slots(np.roll(days, turn, axis=1).ravel(), 2, 24)
    for one in (0, 1):
        mine, other = plain.day_type == one, turned.day_type == one
        assert np.roll(plain.fixed_ratio[0][mine], turn) == pytest.approx(turned.fixed_ratio[0][other])
        assert np.roll(plain.day_ratio[0][mine], turn) == pytest.approx(turned.day_ratio[0][other])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"slots_a_day": 5}, "slots_a_day divides"),
        ({"day_type": np.zeros(3, int)}, "24 hours for each of the 3 days"),
        ({"known_in_day_fraction": 1.5}, "known_in_day_fraction is a share"),
        ({"signal_ratio": np.ones((1, 24))}, "signal_ratio has the hours of hours_ratio"),
    ],
)
def test_what_is_no_period_is_refused(wrong: dict[str, object], said: str) -> None:
    plain: dict[str, object] = {
        "hours_ratio": np.ones((1, 48)),
        "day_type": np.zeros(2, int),
        "slots_a_day": 12,
    }
    with pytest.raises(ValueError, match=said):
        two_columns(**(plain | wrong))  # type: ignore[arg-type]
