"""A ledger adds up, keeps scopes and accounting apart, and gives a software carbon intensity."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon import (
    Ledger,
    Line,
    embodied_fraction,
    facility_energy_kwh,
    footprint_kgco2e,
    operational_kgco2e,
    sci_kgco2e_per_unit,
)

AMOUNTS = st.lists(st.floats(0, 1e9), min_size=1, max_size=40)


def ledger(amounts, accounting="location"):
    phases = ("data", "experimentation", "training", "inference")
    lines = tuple(
        Line(f"line {i}", phases[i % 4], 2 if i % 3 else 3, amount) for i, amount in enumerate(amounts)
    )
    return Ledger(lines, accounting)


@given(amounts=AMOUNTS)
def test_parts_sum_to_the_total(amounts):
    """Over lines (exact sum), over scopes and over phases, to 1e-9."""
    book = ledger(amounts)

    assert book.total_kgco2e == pytest.approx(math.fsum(amounts), rel=1e-9)
    assert book.scope_kgco2e(2) + book.scope_kgco2e(3) == pytest.approx(book.total_kgco2e, rel=1e-9)
    assert sum(map(book.phase_kgco2e, book.phases)) == pytest.approx(book.total_kgco2e, rel=1e-9)


@given(amounts=AMOUNTS, units=st.floats(1, 1e9))
def test_intensity_times_units_is_the_total(amounts, units):
    """SCI = (E I + M) / R (ISO/IEC 21031:2024)."""
    book = ledger(amounts)

    assert book.sci_kgco2e_per_unit(units) * units == pytest.approx(book.total_kgco2e, rel=1e-9)


def test_a_ledger_of_columns_keeps_candidates_apart():
    """One entry for each candidate, in every sum."""
    book = Ledger(
        (
            Line("electricity", "training", 2, np.array([100.0, 80.0])),
            Line("servers", "training", 3, np.array([10.0, 30.0])),
            Line("building", "inference", 3, 5.0),
        ),
        "location",
    )

    assert book.total_kgco2e.tolist() == [115.0, 115.0]
    assert book.scope_kgco2e(3).tolist() == [15.0, 35.0]
    assert book.phase_kgco2e("training").tolist() == [110.0, 110.0]
    assert book.sci_kgco2e_per_unit(np.array([115.0, 230.0])).tolist() == [1.0, 0.5]


def test_a_million_requests_on_a_us_grid():
    """EcoLogits 0.11.3 prints 263 kWh, 100.9 kg of use and 22.6 kg embodied for 1e6 requests (70B, USA).

    That is 383.6 g/kWh, and 123.5 mg a request, of which 18.3 % are embodied.
    """
    use = operational_kgco2e(
        facility_energy_kwh=facility_energy_kwh(it_energy_kwh=263.012 / 1.2, pue=1.2),
        grid_kgco2e_per_kwh=0.3836,
    )
    per_request = sci_kgco2e_per_unit(operational_kgco2e=use, embodied_kgco2e=22.6388, units=1e6)

    assert use == pytest.approx(100.9, abs=0.05)
    assert 1e6 * per_request == pytest.approx(123.5, abs=0.1)
    assert embodied_fraction(operational_kgco2e=use, embodied_kgco2e=22.6388) == pytest.approx(
        0.183, abs=5e-4
    )


def test_the_years_of_olmo():
    """Morrison et al. (arXiv 2503.05804): 22 t embodied, 159 t development, 312 t training, 493 t in all."""
    got = footprint_kgco2e(operational_kgco2e=159e3 + 312e3, embodied_kgco2e=22e3)

    assert got == pytest.approx(493e3)


def test_location_and_market_do_not_add():
    """GHG Protocol Scope 2: both are reported, never summed."""
    with pytest.raises(
        ValueError, match="a location-based and a market-based ledger do not add: report both"
    ):
        ledger([1.0]).joined(Ledger((), "market"))


def test_joined_ledgers_hold_both_lines():
    got = ledger([1.0]).joined(Ledger((Line("other", "spares", 3, 2.0),), "location"))

    assert got.total_kgco2e == 3.0
    assert got.phases == ("data", "spares")


def test_market_based_intensity_is_refused():
    """ISO/IEC 21031 does not allow market-based measures in I."""
    with pytest.raises(ValueError, match="software carbon intensity is location-based"):
        ledger([1.0], "market").sci_kgco2e_per_unit(1.0)


def test_a_line_counted_twice_is_refused():
    line = Line("servers", "training", 3, 1.0)

    with pytest.raises(ValueError, match="a line stands once in a ledger, got twice: training/servers"):
        Ledger((line, line), "location")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Line("diesel", "training", 1, 1.0), "scope of 'diesel' is 2 or 3, got 1"),
        (lambda: Line("servers", "training", 3, float("nan")), "kgco2e of 'servers' is finite, got nan"),
        (lambda: Ledger((), "both"), "accounting is 'location' or 'market', got 'both'"),
        (lambda: ledger([1.0]).phase_kgco2e("tuning"), "no line has the phase 'tuning', only data"),
        (
            lambda: embodied_fraction(operational_kgco2e=0.0, embodied_kgco2e=0.0),
            "operational_plus_embodied_kgco2e is finite and above 0, got 0",
        ),
    ],
)
def test_entries_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
