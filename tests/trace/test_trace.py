"""The seam: units and boundaries are checked where rooms meet, and every number opens to its sources."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

from planner.trace.explain import Steps, explain, explanation_from, kept_step, whole_step
from planner.trace.origins import facts_of
from planner.trace.quantities import (
    BoundaryError,
    Fact,
    Source,
    TraceError,
    by_rows,
    chosen,
    convert,
    derive,
    derive_parts,
    each_row,
    pick,
    rows,
)
from planner.trace.recomputation import recompute, recomputed, replaced
from planner.trace.sums import over_all, over_rows, sums
from planner.trace.units import UnitError

PAPER = Source("paper-2026", "A paper", "Somebody et al.", "2026", "arXiv 1234.5678")


def fact(key, value, unit, low=None, high=None, **boundary):
    return Fact(
        value,
        unit,
        boundary=boundary,
        key=key,
        source=PAPER,
        locator="Table 1",
        kind="published",
        low=low,
        high=high,
    )


def facility_energy_kwh(*, it_energy_kwh, pue):
    """Energy at the meter of the building.

    E_facility = E_IT * PUE

    Source: The Green Grid.
    """
    return it_energy_kwh * pue


def operational_kgco2e(*, facility_energy_kwh, grid_kgco2e_per_kwh):
    """Carbon of the energy used.

    C = E * I
    """
    return facility_energy_kwh * grid_kgco2e_per_kwh


def total_kgco2e(*, parts_kgco2e, counts):
    """Sum over rows.

    C = sum_i n_i c_i
    """
    return float(np.sum(parts_kgco2e * counts))


@dataclass(frozen=True)
class Split:
    busy_h: np.ndarray
    idle_h: np.ndarray


def split(*, hours_h, busy_fraction):
    """Hours busy and idle."""
    return Split(hours_h * busy_fraction, hours_h * (1 - busy_fraction))


@dataclass(frozen=True)
class Building:
    pue: object
    grid_kgco2e_per_kwh: object


def building_kgco2e(*, building, it_energy_kwh):
    """Carbon of the energy used in a building.

    C = E_IT * PUE * I
    """
    return it_energy_kwh * building.pue * building.grid_kgco2e_per_kwh


@pytest.fixture
def building():
    return Building(fact("site.pue", 1.2, "1"), fact("grid.a", 0.5, "kgCO2e/kWh", grid="average/direct"))


@pytest.fixture
def chain():
    energy = fact("job.energy", 1000.0, "kWh")
    pue = fact("site.pue", 1.2, "1", 1.1, 1.4)
    grids = [fact(f"grid.{n}", g, "kgCO2e/kWh", grid="average/direct") for n, g in (("a", 0.1), ("b", 0.4))]
    column = pick(grids, np.array([0, 1, 1]))
    facility = derive(facility_energy_kwh, it_energy_kwh=energy, pue=pue)
    carbon = derive(operational_kgco2e, facility_energy_kwh=facility, grid_kgco2e_per_kwh=column)
    return derive(total_kgco2e, parts_kgco2e=carbon, counts=chosen("counts", np.array([1, 0, 2]), "picked"))


def test_a_chain_computes_on_whole_columns(chain):
    # 1200 kWh x 0.1 x 1  +  1200 kWh x 0.4 x 2
    assert chain.value == pytest.approx(120 + 960)
    assert chain.unit == "kgCO2e"
    assert chain.boundary == {"grid": "average/direct"}


def test_kilowatts_into_kilowatt_hours_raise_and_name_both():
    power = fact("node.power", 10.0, "kW")
    with pytest.raises(
        TraceError, match=r"facility_energy_kwh\(it_energy_kwh\) wants kWh, but node.power is in kW"
    ):
        derive(facility_energy_kwh, it_energy_kwh=power, pue=fact("pue", 1.1, "1"))


def test_a_bare_number_is_refused():
    with pytest.raises(TraceError, match=r"got the bare value 1\.1"):
        derive(facility_energy_kwh, it_energy_kwh=fact("e", 1.0, "kWh"), pue=1.1)


def test_average_and_marginal_grids_never_meet():
    average = fact("grid.a", 0.1, "kgCO2e/kWh", grid="average/direct")
    marginal = fact("grid.b", 0.6, "kgCO2e/kWh", grid="marginal/direct")
    with pytest.raises(BoundaryError, match="must not be mixed"):
        pick([average, marginal], np.array([0, 1]))


def test_joining_boundaries_on_purpose_is_said_aloud():
    def server_kgco2e(*, board_kgco2e, host_kgco2e):
        return board_kgco2e + host_kgco2e

    board = fact("board", 1312.0, "kgCO2e", embodied="baseboard")
    host = fact("host", 2500.0, "kgCO2e", embodied="host")
    with pytest.raises(BoundaryError):
        derive(server_kgco2e, board_kgco2e=board, host_kgco2e=host)
    server = derive(server_kgco2e, "embodied=server", board_kgco2e=board, host_kgco2e=host)
    assert server.boundary == {"embodied": "server"}


def test_recompute_asks_what_if_and_leaves_the_rest(chain):
    changed, same = recompute([chain, chain.call.inputs["counts"]], {"grid.b": 0.5})
    assert changed == pytest.approx(120 + 1200)
    assert same is chain.call.inputs["counts"].value
    assert recompute([chain], {}) == [chain.value]
    assert recompute([chain], {"site.pue": 1.0})[0] == pytest.approx(chain.value / 1.2)


def test_facts_of_names_only_what_the_number_rests_on(chain):
    assert set(facts_of(chain)) == {"job.energy", "site.pue", "grid.a", "grid.b"}
    first = rows(chain.call.inputs["parts_kgco2e"], np.array([0]))
    assert first.value.tolist() == [pytest.approx(120)]


def test_several_columns_share_one_call():
    parts = derive_parts(split, hours_h=fact("hours", 100.0, "h"), busy_fraction=fact("busy", 0.75, "1"))
    assert (parts.busy_h.value, parts.idle_h.value, parts.idle_h.unit) == (75.0, 25.0, "h")
    assert recompute([parts.idle_h], {"busy": 0.5}) == [50.0]


def test_conversion_is_a_step_of_its_own():
    years = fact("life", 5.0, "y")
    hours = convert(years, "h")
    assert hours.value == pytest.approx(5 * 8766)
    assert recompute([hours], {"life": 1.0}) == [pytest.approx(8766)]


def test_explain_opens_the_largest_row_and_ends_in_sources(chain):
    text = explain(chain).to_text()
    assert "total_kgco2e = 1,080 kgCO2e" in text
    assert "C = sum_i n_i c_i" in text
    assert "operational_kgco2e (the largest of 3) = 480 kgCO2e" in text
    assert "grid.b = 0.4 kgCO2e/kWh" in text
    assert "grid.a" not in text
    assert "Somebody et al., A paper, 2026, arXiv 1234.5678; Table 1" in text
    assert "site.pue = 1.2 [1.1 .. 1.4]  (published)" in text
    assert "The Green Grid" in text


def test_explain_of_a_row_follows_that_row(chain):
    carbon = chain.call.inputs["parts_kgco2e"]
    leaf = explain(carbon, row=0)
    assert [step.name for step in leaf.facts()] == ["job.energy", "site.pue", "grid.a"]


def test_an_explanation_survives_as_plain_data(chain):
    whole = explain(chain)
    assert explanation_from(whole.to_dict()).to_text() == whole.to_text()


def test_a_matrix_by_period_opens_row_and_period():
    energy = pick([fact("e0", 10.0, "kWh"), fact("e1", 20.0, "kWh")], np.array([0, 1]))
    by_period = pick([fact("g0", 0.1, "kgCO2e/kWh"), fact("g1", 0.2, "kgCO2e/kWh")], np.array([[0, 1]]))
    tall = rows(energy, np.array([[0], [1]]))
    matrix = derive(operational_kgco2e, facility_energy_kwh=tall, grid_kgco2e_per_kwh=by_period)
    assert matrix.value.tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert [step.name for step in explain(matrix, row=(0, 1)).facts()] == ["e0", "g1"]


def test_a_bundle_opens_field_by_field(building):
    """1,000 kWh x 1.2 x 0.5 kg/kWh; each field keeps its fact, and the boundary of one is that of all."""
    carbon = derive(building_kgco2e, building=building, it_energy_kwh=fact("job.energy", 1000.0, "kWh"))

    assert carbon.value == pytest.approx(600.0)
    assert carbon.boundary == {"grid": "average/direct"}
    assert set(carbon.call.inputs) == {"building.pue", "building.grid_kgco2e_per_kwh", "it_energy_kwh"}
    assert [step.name for step in explain(carbon).facts()] == ["site.pue", "grid.a", "job.energy"]
    assert "C = E_IT * PUE * I" in explain(carbon).to_text()


def test_a_bundle_is_computed_again_from_other_facts(building):
    carbon = derive(building_kgco2e, building=building, it_energy_kwh=fact("job.energy", 1000.0, "kWh"))

    assert recompute([carbon], {"site.pue": 1.5, "grid.a": 0.1})[0] == pytest.approx(150.0)


def test_units_in_a_bundle_are_checked_and_bare_values_refused(building):
    energy = fact("job.energy", 1000.0, "kWh")
    wrong = Building(building.pue, fact("job.power", 3.0, "kW"))

    with pytest.raises(TraceError, match=r"building\.grid_kgco2e_per_kwh\) wants kgCO2e/kWh, but job.power"):
        derive(building_kgco2e, building=wrong, it_energy_kwh=energy)
    with pytest.raises(TraceError, match=r"building_kgco2e\(building\.pue\) got the bare value 1\.2"):
        derive(building_kgco2e, building=Building(1.2, wrong.pue), it_energy_kwh=energy)


def test_a_function_of_rows_opens_and_rests_on_its_own_row():
    """Two servers at three loads: axes agree from the first one, not from the last."""

    @each_row
    def drawn_kw(*, idle_kw, rated_kw, load_fraction):
        """Power by load."""
        return idle_kw[:, None] + load_fraction * (rated_kw - idle_kw)[:, None]

    def column(name, values):
        return pick([fact(f"{name}{i}", value, "kW") for i, value in enumerate(values)], np.array([0, 1]))

    power = derive(
        drawn_kw,
        idle_kw=column("idle", [1.0, 2.0]),
        rated_kw=column("rated", [10.0, 20.0]),
        load_fraction=chosen("load_fraction", np.array([0.0, 0.5, 1.0]), "picked"),
    )
    second = rows(power, np.array([1]))

    assert power.value.tolist() == [[1.0, 5.5, 10.0], [2.0, 11.0, 20.0]]
    assert [step.name for step in explain(power, row=(1, 1)).facts()] == ["idle1", "rated1"]
    assert set(facts_of(second)) == {"idle1", "rated1"}
    assert recompute([second], {"idle1": 4.0})[0].tolist() == [[4.0, 12.0, 20.0]]


def test_a_sum_over_places_opens_the_largest_of_the_place_that_was_asked_for():
    """Pools on two sites in two periods: two of them, as many as there are sites, and three."""

    def at_sites_kwh(*, each_kwh, counts, here_ratio):
        """Energy at each site."""
        return here_ratio @ (each_kwh * counts)

    sums(over_rows("here_ratio"))(at_sites_kwh)
    each = pick(
        [fact(f"pool{i}", value, "kWh") for i, value in enumerate([5.0, 1.0, 3.0])], np.arange(3)[:, None]
    )
    for few, here, opens in (
        ([0, 1], [[0.0, 1.0], [1.0, 0.0]], [["pool1", "pool1"], ["pool0", "pool0"]]),
        ([0, 1, 2], [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [["pool0", "pool0"], ["pool1", "pool2"]]),
    ):
        counts = chosen("counts", np.array([[1.0, 2.0], [9.0, 1.0], [1.0, 2.0]])[few], "decided")
        there = chosen("here_ratio", np.array(here), "where it is")
        energy = derive(at_sites_kwh, each_kwh=rows(each, np.array(few)), counts=counts, here_ratio=there)
        found = [[explain(energy, row=(site, period)) for period in (0, 1)] for site in (0, 1)]

        assert [[one.facts()[0].name for one in of_site] for of_site in found] == opens
        for site, period in np.ndindex(2, 2):
            values = {step.name: step.value for step in found[site][period].steps}
            term = values[opens[site][period]] * values["counts"] * values["here_ratio"]
            assert 0 < term <= energy.value[site, period]


def test_a_sum_over_decisions_opens_one_term_in_all_columns():
    """The dearest is taken once, the cheapest a hundred times: the term of these weighs more."""

    def all_usd(*, each_usd, counts):
        """Money of all."""
        return float(np.sum(each_usd * counts))

    sums(over_all)(all_usd)
    each = pick([fact("dear", 50.0, "USD"), fact("cheap", 2.0, "USD")], np.array([0, 1]))
    steps = explain(
        derive(all_usd, each_usd=each, counts=chosen("counts", np.array([1.0, 100.0]), "decided"))
    )

    assert [(step.name, step.value) for step in steps.steps[1:]] == [("cheap", 2.0), ("counts", 100.0)]
    assert set(steps.steps[0].places.values()) == {" (the largest of 2)"}


def test_packed_steps_are_the_steps_again():
    """What a step shares with an earlier one is said once: the parts of a call have its inputs."""
    hours = chosen("hours_h", np.array([10.0, 20.0]), "two rows")
    parts = derive_parts(split, hours_h=hours, busy_fraction=fact("busy", 0.25, "1"))
    steps = Steps()
    numbers = [steps.add(part, row) for row in (0, 1) for part in (parts.busy_h, parts.idle_h)]
    packed = steps.packed()
    whole = [step.to_dict() for step in steps.to_list()]

    assert [whole_step(packed, number) for number in range(len(packed))] == whole
    assert packed[numbers[1]]["inputs_of"] == numbers[0]
    assert "equation" not in packed[numbers[3]]
    for number in numbers:
        assert kept_step({"steps": packed}, number) == kept_step({"steps": whole}, number)


def test_other_facts_in_their_place_give_what_recompute_gives():
    """Energy and carbon at a PUE of 1.5: the same values, and the new fact stands in the explanation."""
    pue = fact("pue", 1.2, "1")
    energy = derive(facility_energy_kwh, it_energy_kwh=fact("it", 100.0, "kWh"), pue=pue)
    carbon = derive(
        operational_kgco2e, facility_energy_kwh=energy, grid_kgco2e_per_kwh=fact("grid", 0.4, "kgCO2e/kWh")
    )
    other = dataclasses.replace(pue, value=1.5, note="another building")
    found = replaced([carbon, energy], {"pue": other})

    assert [one.value for one in found] == pytest.approx(recompute([carbon, energy], {"pue": 1.5}))
    assert "another building" in explain(found[0]).to_text()
    assert carbon.value == pytest.approx(48.0)


@dataclass(frozen=True)
class Halves:
    """Two columns of each row."""

    first_kwh: np.ndarray
    second_kwh: np.ndarray


def test_many_draws_at_once_are_each_draw_alone():
    """A function by rows is called once, with the rows of all draws; numbers, columns and picks go in."""
    calls = []

    def halves(*, it_energy_kwh, pue):
        calls.append(np.shape(it_energy_kwh))
        return Halves(it_energy_kwh * pue / 4, it_energy_kwh * pue * 3 / 4)

    halves.by_rows = True
    pue, used = fact("pue", 1.2, "1"), fact("used", 100.0, "kWh")
    other = derive(facility_energy_kwh, it_energy_kwh=used, pue=pue)
    both = derive_parts(halves, it_energy_kwh=pick([used, other], np.array([0, 1])), pue=pue)
    targets = [pick([rows(both.first_kwh, np.array(1)), other], np.array(0)), used, fact("not", 5.0, "kWh")]
    calls.clear()
    changes = [{"pue": 1.0, "used": 10.0}, {"pue": 1.5, "used": 20.0}, {"used": 40.0}, {}]
    found = list(recomputed(targets, changes))

    assert calls == [(6,)], "once, and not for the change that moves nothing"
    assert found == [recompute(targets, one) for one in changes]
    assert found[1] == [20.0 * 1.5 * 1.5 / 4, 20.0, 5.0]


def test_many_changes_ask_only_the_rows_that_they_change():
    """Each change moves one row of three or none; all that were asked for stand next to each other."""
    asked = []

    @by_rows
    def heated_kwh(*, it_energy_kwh, pue):
        asked.append(np.asarray(it_energy_kwh).tolist())
        return it_energy_kwh * pue

    used = [fact(f"used{i}", float(10 * i), "kWh") for i in (1, 2, 3)]
    factor, idle = fact("pue", 1.5, "1"), fact("idle", 7.0, "kWh")
    warm = derive(heated_kwh, it_energy_kwh=pick(used, np.arange(3)), pue=factor)
    asked.clear()
    changes = [{"used2": 5.0}, {"idle": 1.0}, {"used3": 8.0}, {"used2": 20.0}, {"used1": 1.0, "idle": 2.0}]
    found = recomputed([warm, idle], changes)

    assert asked == [[1.0, 5.0, 8.0]]
    assert [one[0].tolist() for one in found] == [
        [15.0, 7.5, 45.0],
        [15.0, 30.0, 45.0],
        [15.0, 30.0, 12.0],
        [15.0, 30.0, 45.0],
        [1.5, 30.0, 45.0],
    ]
    assert [one[1] for one in found] == [7.0, 1.0, 7.0, 7.0, 2.0]
    assert [one[0].tolist() for one in recomputed([warm], [{"pue": 2.0}, {"pue": 3.0}])] == [
        [20.0, 40.0, 60.0],
        [30.0, 60.0, 90.0],
    ]


def test_numbers_of_one_name_are_distinguished_wherever_they_meet() -> None:
    """The second side had a second number already: both came to one name, and one of them was lost."""
    first, second, third = (chosen("power_kw", value, "for the test") for value in (1.0, 10.0, 100.0))
    found = first + (second - third) * 2.0 + (third - first)

    assert found.value == 1.0 + (10.0 - 100.0) * 2.0 + (100.0 - 1.0)
    assert (first + (second - first)).value == 10.0


def test_a_number_may_be_on_either_side_of_an_operation() -> None:
    """What stands in the text is what was worked out, in that order: no digit is lost on the way back."""
    rate, share = chosen("failures_per_h", 3.0, "for the test"), chosen("share_fraction", 0.1, "for the test")
    found = ((1.0 + share) / (share + 2.0) * (1.0 / rate)).named("mean_h", "Time for one")

    assert found.value == (1.0 + 0.1) / (0.1 + 2.0) * 1.0 / 3.0
    assert found.call.function.text == "((1 + share_fraction) / (share_fraction + 2)) * 1 / failures_per_h"
    assert recompute([found], {}) == [found.value]
    with pytest.raises(UnitError, match="'\\+' wants one unit"):
        1.0 + rate


def test_a_column_has_the_name_of_what_it_picks_and_a_sign_and_all_digits_are_kept() -> None:
    """`-1 * price * 0.1234567891`: the text of a column was `number_`, a constant had six digits."""
    prices = [fact(f"server.{name}.price", usd, "USD") for name, usd in (("one", 2.0), ("other", 3.0))]
    found = (-1.0 * pick(prices, np.array([0, 1, 1])) * 0.1234567891).named("paid_usd")

    assert found.call.function.text == "-1 * price * 0.1234567891"
    np.testing.assert_array_equal(found.value, -np.array([2.0, 3.0, 3.0]) * 0.1234567891)
