"""Mélange's cases through our program, its optimum against plain enumeration, and the page about carbon."""

from __future__ import annotations

import csv
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size

from benchmarks.studies import melange
from planner.inputs.loading import data_folder, load_catalogue
from planner.validation.forms import NotUnderstood
from planner.validation.melange import best_mix, case_columns, gpu_mix_count
from solver.problem import Objective

ROOT = Path(__file__).resolve().parents[2]
SEVERAL = st.integers(1, 3)


def shipped() -> list[dict[str, str]]:
    with (data_folder() / "published" / "program.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def by_enumeration(price: Any, throughput: Any, rate: Any, slices: int) -> float:
    """Every way to hand out the slices, each GPU count rounded up: the least cost of an hour."""
    kinds, buckets = np.shape(throughput)
    ways = [way for way in itertools.product(range(slices + 1), repeat=kinds) if sum(way) == slices]
    best = math.inf
    for chosen in itertools.product(ways, repeat=buckets):
        load = (np.array(chosen).T * np.asarray(rate) / slices / throughput).sum(axis=1)
        best = min(best, float(np.ceil(load - 1e-9) @ price))
    return best


@pytest.mark.slow
def test_every_case_of_melange_has_its_optimum(shared: Path) -> None:
    """Cost in every case, and the allocation where one is stated; the example's is published, 6.70 USD/h."""
    cases = json.loads((shared / "validation" / "melange_cases.json").read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 10
    for case in cases:
        inputs = ("gpu_info", "workload_distribution", "total_request_rate", "slice_factor")
        mix = best_mix(**case_columns(*(case[name] for name in inputs)))
        wanted = case["expected"]

        assert mix.usd_per_h == pytest.approx(wanted["cost_usd_per_hour"], abs=1e-6), case["name"]
        if "counts" in wanted:
            assert dict(zip(case["gpu_info"], mix.accelerators, strict=True)) == wanted["counts"]
        assert (mix.used_fraction <= 1 + 1e-9).all()


def test_shipped_rows_are_the_published_example(shared: Path) -> None:
    cases = json.loads((shared / "validation" / "melange_cases.json").read_text(encoding="utf-8"))["cases"]
    example, wanted = cases[0], cases[0]["expected"]
    for row in shipped():
        inputs = json.loads(row["inputs"])
        gpu = inputs.pop("gpu", None)
        quantity = inputs.pop("quantity")

        assert inputs == {name: example[name] for name in inputs}
        assert len(inputs) == 4
        expected = wanted["cost_usd_per_hour"] if gpu is None else wanted["counts"][gpu]
        assert float(row["expected"]) == expected
        assert quantity == ("gpu_mix_cost" if gpu is None else "gpu_mix_count")


@pytest.mark.slow
@settings(max_examples=size(10, nightly=25), deadline=None)
@given(st.data(), SEVERAL, SEVERAL, SEVERAL)
def test_no_way_to_hand_out_the_slices_is_cheaper(data: Any, kinds: int, buckets: int, slices: int) -> None:
    """An independent route: all allocations, one after the other."""

    def numbers(count: int, low: float, high: float) -> list[float]:
        drawn = st.floats(low, high).map(lambda value: round(value, 2))
        return data.draw(st.lists(drawn, min_size=count, max_size=count))

    price, rate = numbers(kinds, 0.5, 8.0), numbers(buckets, 0.5, 6.0)
    throughput = np.reshape(numbers(kinds * buckets, 0.5, 20.0), (kinds, buckets))
    mix = best_mix(price_usd_per_h=price, throughput_per_s=throughput, rate_per_s=rate, slices=slices)

    assert mix.usd_per_h == pytest.approx(by_enumeration(price, throughput, rate, slices), abs=1e-6)


def test_carbon_of_a_mix_is_its_plain_sum() -> None:
    """Two GPUs, 3 requests/s of 2 each: held 2 x 10, active 1.5 x 7, idle the other half hour at 4."""
    mix = best_mix(
        price_usd_per_h=[1.0],
        throughput_per_s=[[2.0]],
        rate_per_s=[3.0],
        slices=1,
        held_kgco2e_per_h=[10.0],
        idle_kgco2e_per_h=[4.0],
        active_kgco2e_per_h=[7.0],
    )

    assert mix.accelerators.tolist() == [2]
    assert mix.used_fraction == pytest.approx([0.75])
    assert mix.kgco2e_per_h == pytest.approx(2 * 10 + 1.5 * 7 + 0.5 * 4)


@pytest.mark.slow
@pytest.mark.nightly
def test_more_weight_on_carbon_never_gives_more_of_it() -> None:
    """Cost rises and carbon falls from the mix of least cost over the priced one to that of least carbon."""
    facts = load_catalogue()
    for grid, (rate, slices) in itertools.product(melange.GRIDS, melange.CASES[:4]):
        mixes = list(melange.mixes(facts, grid, rate, slices).values())
        for before, after in itertools.pairwise(mixes):
            assert after.kgco2e_per_h <= before.kgco2e_per_h + 1e-9
            assert after.usd_per_h >= before.usd_per_h - 1e-9


def test_the_switching_price_makes_both_mixes_equal() -> None:
    """At the price in the column 'pays from' the weighted sums of the two mixes agree."""
    found = melange.mixes(load_catalogue(), "pl", 30.0, 1)
    cheap, clean = found["cost"], found["carbon"]
    usd_per_kg = melange.switch_usd_per_t(cheap, clean) / 1000

    assert clean.usd_per_h + usd_per_kg * clean.kgco2e_per_h == pytest.approx(
        cheap.usd_per_h + usd_per_kg * cheap.kgco2e_per_h
    )
    assert melange.switch_usd_per_t(clean, clean) is None


@pytest.mark.nightly
@pytest.mark.slow
def test_the_page_says_what_the_script_works_out() -> None:
    """`python -m benchmarks.studies.melange` writes it again when a fact changes."""
    assert melange.PAGE.read_text(encoding="utf-8") == melange.page(load_catalogue())


def test_a_case_of_another_form_is_not_understood() -> None:
    case = json.loads(shipped()[0]["inputs"])
    case.pop("quantity")
    with pytest.raises(NotUnderstood, match="no GPU 'H100'"):
        gpu_mix_count(**case, gpu="H100")
    with pytest.raises(NotUnderstood, match="one entry for each bucket"):
        gpu_mix_count(**case | {"workload_distribution": [1.0]}, gpu="A10G")
    with pytest.raises(NotUnderstood, match="a cost and tputs"):
        gpu_mix_count(**case | {"gpu_info": {"A10G": {"cost": 1.0}}}, gpu="A10G")


def test_a_size_that_no_gpu_serves_has_no_mix() -> None:
    with pytest.raises(ValueError, match="no mix of these GPUs"):
        best_mix(
            price_usd_per_h=[1.0], throughput_per_s=[[0.0]], rate_per_s=[1.0], slices=1, objective=Objective()
        )
