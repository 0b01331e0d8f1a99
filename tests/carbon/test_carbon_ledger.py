"""A ledger adds up, keeps scopes and accounting apart, and scores what it gave."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon._sums import exact_sum
from carbon.ledger import Ledger, embodied_fraction, footprint_kgco2e
from carbon.lines import Line, WaterLine
from carbon.operational import operational_kgco2e
from carbon.phases import phase_energy_kwh, phase_kgco2e
from carbon.pue import facility_energy_kwh
from carbon.scopes import PHASES, Category
from carbon.scores import answered_kgco2e_per_request, million_tokens_kgco2e, useful_kgco2e_per_gpu_h
from carbon.signals import GridSignal
from carbon.states import WorkHours, state_kgco2e, work_carbon
from planner.performance.bundles import bundled

AMOUNTS = st.lists(st.floats(0, 1e9), min_size=1, max_size=40)
AVERAGE = GridSignal("average", "life-cycle", "production")
DIRECT = GridSignal("average", "direct", "production")


def power(name="electricity", phase="training", kgco2e=100.0, market=None, kind=AVERAGE):
    return Line(name, phase, 2, kgco2e, "facility", electricity=kind, market_kgco2e=market)


def hardware(name="servers", phase="training", kgco2e=10.0, boundary="server"):
    return Line(name, phase, 3, kgco2e, boundary, Category.CAPITAL_GOODS)


def diesel(kgco2e=1.0):
    return Line("diesel", "building", 1, kgco2e, "site")


def ledger(amounts):
    """Lines of all scopes and phases in turn; contracts cover half of the electricity."""
    makers = (
        lambda name, phase, amount: Line(name, phase, 1, amount, "site"),
        lambda name, phase, amount: power(name, phase, amount, amount / 2),
        lambda name, phase, amount: hardware(name, phase, amount),
    )
    return Ledger(
        tuple(makers[i % 3](f"line {i}", PHASES[i % 9], amount) for i, amount in enumerate(amounts))
    )


# ---- sums


@given(values=st.lists(st.floats(-1e12, 1e12), max_size=40))
def test_a_sum_is_the_exact_sum(values):
    """Against `math.fsum`, which rounds once."""
    assert exact_sum(values) == pytest.approx(math.fsum(values), rel=1e-12, abs=1e-12)


def test_a_small_line_survives_beside_a_large_one():
    """Neumaier's own example: 1 + 1e100 + 1 - 1e100 is 2, where a plain sum says 0; column by column too."""
    assert exact_sum([1.0, 1e100, 1.0, -1e100]) == 2.0
    assert exact_sum([np.array([1.0, 5.0]), 1e100, 1.0, -1e100]).tolist() == [2.0, 6.0]


@given(amounts=AMOUNTS, accounting=st.sampled_from(["location", "market"]))
def test_parts_sum_to_the_total(amounts, accounting):
    """Over lines (exact sum), over phases and over scopes, to 1e-9, under each accounting."""
    book = ledger(amounts)
    total = book.total_kgco2e(accounting)
    halves = [
        amount / 2 if i % 3 == 1 and accounting == "market" else amount for i, amount in enumerate(amounts)
    ]
    view = book.scopes()
    bought = view.scope_2_location_kgco2e if accounting == "location" else view.scope_2_market_kgco2e
    scopes = [view.scope_1_kgco2e, bought, *view.scope_3_kgco2e.values()]

    assert total == pytest.approx(math.fsum(halves), rel=1e-12)
    assert math.fsum(book.phase_kgco2e(phase, accounting) for phase in book.phases) == pytest.approx(total)
    assert math.fsum(scopes) == pytest.approx(total, rel=1e-9)


def test_a_ledger_of_columns_keeps_candidates_apart():
    """One entry for each candidate, in every sum."""
    book = Ledger(
        (
            power(kgco2e=np.array([100.0, 80.0]), market=np.array([0.0, 40.0])),
            hardware(kgco2e=np.array([10.0, 30.0])),
            hardware("building", "building", 5.0, "building"),
        )
    )

    assert book.total_kgco2e("location").tolist() == [115.0, 115.0]
    assert book.total_kgco2e("market").tolist() == [15.0, 75.0]
    assert book.scopes().scope_3_kgco2e[Category.CAPITAL_GOODS].tolist() == [15.0, 35.0]
    assert book.phase_kgco2e("training", "location").tolist() == [110.0, 110.0]


def test_water_adds_up_on_and_off_site():
    book = Ledger((), (WaterLine("site", "training", 2.0, 3.0), WaterLine("site", "inference", 4.0, 5.0)))

    assert (book.onsite_l, book.offsite_l) == (6.0, 8.0)


# ---- published ledgers


def olmo():
    """Morrison et al., arXiv 2503.05804: 22 t embodied, 159 t development, 312 t training."""
    return Ledger(
        (
            hardware("servers", "training", 22e3, "server"),
            power("development", "experimentation", 159e3),
            power("final runs", "training", 312e3),
        )
    )


def test_the_project_of_olmo():
    """493 t in all; the paper says that development cost about half of what the final runs did."""
    book = olmo()
    view = book.scopes()

    assert book.total_kgco2e("location") == 493e3
    assert view.scope_3_kgco2e == {Category.CAPITAL_GOODS: 22e3}
    assert view.scope_2_location_kgco2e == 471e3
    assert book.phase_kgco2e("experimentation", "location") / 312e3 == pytest.approx(0.51, abs=0.01)
    assert embodied_fraction(operational_kgco2e=471e3, embodied_kgco2e=22e3) == pytest.approx(22 / 493)
    assert footprint_kgco2e(operational_kgco2e=471e3, embodied_kgco2e=22e3) == 493e3


def test_experiments_of_olmo_3():
    """82 % of its compute were experiments and failed runs: 4.56 hours for each one of the final run."""
    experiments = phase_kgco2e(known_kgco2e=18.0, known_fraction=0.18, wanted_fraction=0.82)
    book = Ledger((power("trials", "experimentation", experiments), power("final run", "training", 18.0)))

    share = book.phase_kgco2e("experimentation", "location") / book.total_kgco2e("location")
    assert share == pytest.approx(0.82)
    assert experiments / 18.0 == pytest.approx(4.56, abs=0.005)


def test_phases_of_a_recommendation_model():
    """Wu et al., arXiv 2111.00364: energy 31:29:40; 290 MWh of training mean 400 of inference, 1,000 in all.

    Of a language model 35 % of the carbon is training: 70 t there are 130 t of inference.
    """
    data, inference = (
        phase_energy_kwh(known_energy_kwh=290e3, known_fraction=0.29, wanted_fraction=share)
        for share in (0.31, 0.40)
    )

    assert inference == pytest.approx(400e3)
    assert data + 290e3 + inference == pytest.approx(1000e3)
    assert phase_kgco2e(known_kgco2e=70e3, known_fraction=0.35, wanted_fraction=0.65) == pytest.approx(130e3)


def test_a_million_requests_on_a_us_grid():
    """EcoLogits 0.11.3 prints 263 kWh, 100.9 kg of use and 22.6 kg embodied for 1e6 requests (70B, USA).

    That is 383.6 g/kWh, and 123.5 mg a request, of which 18.3 % are embodied; at 400 tokens a request
    309 g a million tokens.
    """
    use = operational_kgco2e(
        facility_energy_kwh=facility_energy_kwh(it_energy_kwh=263.012 / 1.2, pue=1.2),
        grid_kgco2e_per_kwh=0.3836,
    )
    book = Ledger((power(phase="inference", kgco2e=use), hardware(phase="inference", kgco2e=22.6388)))
    total = book.total_kgco2e("location")
    per_request = answered_kgco2e_per_request(footprint_kgco2e=total, requests=1e6)

    assert use == pytest.approx(100.9, abs=0.05)
    assert 1e6 * per_request == pytest.approx(123.5, abs=0.1)
    assert million_tokens_kgco2e(footprint_kgco2e=total, tokens=4e8) == pytest.approx(0.309, abs=5e-4)
    assert embodied_fraction(operational_kgco2e=use, embodied_kgco2e=22.6388) == pytest.approx(
        0.183, abs=5e-4
    )


# ---- failed and repeated work

THOUSAND_HOURS = {
    "useful_h": 1000.0,
    "lost_h": 60.0,
    "checkpoint_h": 20.0,
    "restart_h": 15.0,
    "idle_h": 5.0,
    "useful_it_kwh": 8000.0,
    "lost_it_kwh": 480.0,
    "checkpoint_it_kwh": 30.0,
    "restart_it_kwh": 30.0,
    "idle_it_kwh": 10.0,
    "pue": 1.2,
    "grid_kgco2e_per_kwh": 0.4,
    "embodied_kgco2e": 110.0,
}


def test_a_thousand_useful_hours_and_what_failures_added():
    """By hand: 1,100 h carry 0.1 kg embodied each; a kWh at the meter is 0.48 kg.

    Useful 3,840 + 100; lost 230.4 + 6 and restart 14.4 + 1.5; checkpoints 14.4 + 2; idle 4.8 + 0.5.
    """
    got = work_carbon(**bundled(THOUSAND_HOURS, hours=WorkHours))

    assert got.useful_kgco2e == pytest.approx(3940.0)
    assert got.failed_kgco2e == pytest.approx(236.4 + 15.9)
    assert got.checkpoint_kgco2e == pytest.approx(16.4)
    assert got.idle_kgco2e == pytest.approx(5.3)
    assert got.total_kgco2e == pytest.approx(8550.0 * 0.48 + 110.0)


@given(
    hours=st.lists(st.floats(0.1, 1e4), min_size=5, max_size=5),
    kwh=st.lists(st.floats(0, 1e6), min_size=5, max_size=5),
)
def test_states_sum_to_the_footprint(hours, kwh):
    """An independent route: all energy and all embodied carbon at once."""
    names = ("useful", "lost", "checkpoint", "restart", "idle")
    by_state = {f"{name}_h": value for name, value in zip(names, hours, strict=True)}
    by_state |= {f"{name}_it_kwh": value for name, value in zip(names, kwh, strict=True)}
    got = work_carbon(**bundled({**THOUSAND_HOURS, **by_state}, hours=WorkHours))

    assert got.total_kgco2e == pytest.approx(math.fsum(kwh) * 1.2 * 0.4 + 110.0, rel=1e-9)


def test_a_stalled_hour_is_held_hardware():
    """A node that waits draws nothing here and still carries its tenth of the embodied carbon."""
    got = state_kgco2e(
        state_it_kwh=0.0, pue=1.2, grid_kgco2e_per_kwh=0.4, embodied_kgco2e=50.0, state_h=1.0, held_h=10.0
    )

    assert got == 5.0


def test_useful_hours_carry_the_lost_ones():
    """100 kg over 1,000 held hours at an effective share of 0.8: 0.125 instead of 0.1 kg an hour."""
    got = useful_kgco2e_per_gpu_h(footprint_kgco2e=100.0, held_gpu_h=1000.0, useful_fraction=0.8)

    assert got == pytest.approx(0.125)


# ---- what does not add


def test_both_accountings_are_printed_and_neither_holds_the_other():
    """GHG Protocol Scope 2: location and market stand side by side."""
    view = Ledger((power(market=3.0), hardware(), diesel())).scopes()

    assert (view.scope_1_kgco2e, view.scope_2_location_kgco2e, view.scope_2_market_kgco2e) == (
        1.0,
        100.0,
        3.0,
    )


def test_a_market_total_needs_every_contract():
    """Silence is no contract: a market total with a location-based line in it would be of both kinds."""
    book = Ledger((power("hall A", market=3.0), power("hall B")))

    assert book.scopes().scope_2_market_kgco2e is None
    with pytest.raises(ValueError, match=r"'training/hall B' has no market-based figure"):
        book.total_kgco2e("market")


@pytest.mark.parametrize(
    "other",
    [GridSignal("marginal", "life-cycle", "production"), GridSignal("average", "direct", "production")],
)
def test_electricity_of_two_kinds_does_not_add(other):
    """Average with marginal, life-cycle with direct: not the same quantity."""
    with pytest.raises(ValueError, match=r"electricity of a ledger is counted in one way, got .* and "):
        Ledger((power("hall A"),)).joined(Ledger((power("hall B", kind=other),)))


def test_upstream_of_electricity_stands_once():
    """A life-cycle factor holds the fuel's way to the plant; a category 3 line may stand by a direct one."""
    upstream = Line("fuel upstream", "training", 3, 20.0, "upstream", Category.FUEL_AND_ENERGY)

    assert Ledger((power(kind=DIRECT), upstream)).total_kgco2e("location") == 120.0
    with pytest.raises(ValueError, match=r"'fuel upstream' \(scope 3, category 3\) counts it twice"):
        Ledger((power(), upstream))


def test_joined_ledgers_hold_both_lines():
    got = Ledger((power(),), (WaterLine("site", "training", 1.0, 1.0),)).joined(
        Ledger((hardware("racks", "end of life", 2.0),), (WaterLine("site", "inference", 1.0, 1.0),))
    )

    assert got.total_kgco2e("location") == 102.0
    assert got.phases == ("training", "end of life")
    assert got.onsite_l == 2.0


@pytest.mark.parametrize(
    "entries",
    [
        {"lines": (power(), power())},
        {"lines": (), "water": 2 * (WaterLine("electricity", "training", 1.0, 1.0),)},
    ],
)
def test_an_entry_counted_twice_is_refused(entries):
    with pytest.raises(
        ValueError, match="a line may occur only once in a ledger, got twice: training/electricity"
    ):
        Ledger(**entries)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Line("x", "training", 4, 1.0, "site"), "scope of 'x' is 1, 2 or 3, got 4"),
        (lambda: Line("x", "tuning", 1, 1.0, "site"), "phase of 'x' is one of data, .*, got 'tuning'"),
        (lambda: Line("x", "training", 1, 1.0, ""), "boundary of 'x' says what the figure holds"),
        (lambda: Line("x", "training", 3, 1.0, "server"), "category of 'x' belongs to scope 3"),
        (lambda: Line("x", "training", 2, 1.0, "facility"), "electricity of 'x' belongs to scope 2"),
        (
            lambda: Line("x", "training", 1, 1.0, "site", electricity=AVERAGE),
            "electricity of 'x' .* not to 1",
        ),
        (
            lambda: Line("x", "training", 3, 1.0, "server", Category.CAPITAL_GOODS, market_kgco2e=0.0),
            "market_kgco2e of 'x' needs electricity",
        ),
        (lambda: hardware(kgco2e=float("nan")), "'servers': kgco2e is finite and at least 0, got nan"),
        (lambda: hardware(kgco2e=-5.0), "'servers': kgco2e is finite and at least 0, got -5"),
        (lambda: power(market=-5.0), "'electricity': market_kgco2e is finite and at least 0, got -5"),
        (lambda: WaterLine("site", "training", -1.0, 0.0), "'site': onsite_l is finite and at least 0"),
        (lambda: GridSignal("mean", "direct", "production"), "weighting is average or marginal, got 'mean'"),
        (
            lambda: GridSignal("average", "indirect", "production"),
            "scope is direct or life-cycle, got 'indirect'",
        ),
        (lambda: ledger([1.0]).total_kgco2e("both"), "accounting is 'location' or 'market', never both"),
        (
            lambda: ledger([1.0]).phase_kgco2e("training", "location"),
            "no line has the phase 'training', only data",
        ),
        (
            lambda: embodied_fraction(operational_kgco2e=0.0, embodied_kgco2e=0.0),
            "operational_plus_embodied_kgco2e is finite and above 0, got 0",
        ),
        (
            lambda: phase_kgco2e(known_kgco2e=1.0, known_fraction=0.0, wanted_fraction=0.5),
            r"known_fraction is a share in \(0, 1\], got 0",
        ),
    ],
)
def test_entries_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
