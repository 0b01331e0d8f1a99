"""What facts may be at all: families of `data/ranges.csv`, for shipped rows and for your own values."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from functools import cache

import pytest

from planner.answers.job import read_job
from planner.inputs.consistency import check_scenario, known_names
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.overrides import override_of
from planner.inputs.ranges import read_ranges
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, with_changes
from planner.inputs.scenario.known_names import own_fact_problems
from planner.program.assembly import assemble
from planner.trace.errors import InputError

CATALOGUE = load_catalogue()
RANGES = CATALOGUE.ranges
TDP = "accelerator.a100-sxm-80gb.tdp"
# As a reviewer wrote them: each was taken by `check`, and then the plan died, hung or came out silently.
SENSELESS = {
    "grid.se.intensity": "-5 g/kWh",
    "accelerator.a100-sxm-80gb.embodied": "-1 kg",
    "server.dgx-a100-80.price": "-200000 USD",
    "accelerator.a100-sxm-80gb.link_domain": "8e12",
    TDP: "-0.4 kW",
}


@cache
def smallest():
    """One run on one SKU: as little as a plan can be."""
    shipped = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    return with_changes(shipped, {"training.train-8b.nodes": [4], "market.h100-8.order_nodes": 4})


def used_facts():
    """Facts of the catalogue that the smallest plan stands on."""
    inputs = Inputs(smallest(), CATALOGUE)
    assemble(inputs)
    return sorted(key for key in inputs.facts_used if key in CATALOGUE.facts)


def stated(key, value):
    return f"{value!r} {CATALOGUE.fact(key).unit.removeprefix('1')}".strip()


@pytest.mark.slow
def test_each_key_has_one_family_and_each_pattern_a_key():
    patterns = [pattern for family in RANGES.families for pattern in family.patterns]
    matchers = {one: re.compile(re.escape(one).replace(r"\*", ".+")) for one in patterns}
    bases = {key.partition("@")[0] for key in CATALOGUE.facts}
    found = {
        key: [one for one, matcher in matchers.items() if one[:3] == key[:3] and matcher.fullmatch(key)]
        for key in bases
    }

    assert {key: names for key, names in found.items() if len(names) != 1} == {}
    of_ones_own = {one for one in patterns if ".own-" in one}  # nothing that is shipped is called so
    assert {*patterns} - {names[0] for names in found.values()} == of_ones_own


def test_every_shipped_fact_and_its_range_lie_inside():
    outside = {
        fact.key: fault
        for fact in CATALOGUE.facts.values()
        if (fault := RANGES.problem(fact.key, (fact.value, fact.low, fact.high), fact.unit))
    }

    assert outside == {}


def test_faults_of_the_file_are_named(tmp_path):
    path = tmp_path / "ranges.csv"
    path.write_text(
        "pattern,unit,low,high,use,note\na.b,kW,2,1,input,\n,kW,0,1,input,\na.c,ells,0,1,input,\na.d,kW,0,1,,\n",
        encoding="utf-8",
    )

    _, problems = read_ranges(path)

    assert [problem.split(": ", 1)[0] for problem in problems] == [f"ranges.csv:{n}" for n in (2, 3, 4, 5)]
    assert "low 2 is not below high 1" in problems[0]
    assert "use '' is none of input, knowable, check, reference" in problems[3]


def test_a_check_names_every_senseless_value_with_what_is_allowed():
    mine = with_changes(smallest(), {f"facts.{key}": text for key, text in SENSELESS.items()})

    with pytest.raises(ScenarioError) as refused:
        check_scenario(mine, CATALOGUE)

    assert {problem.path for problem in refused.value.problems} == {f"facts.{key}" for key in SENSELESS}
    assert "'-0.4 kW' is out of range: write a value from 0.001 to 100 kW" in str(refused.value)
    assert (
        "facts.grid.se.intensity: '-5 g/kWh' is out of range: write a value from 0 to 10 kgCO2e/kWh"
        in str(refused.value)
    )


def test_a_job_and_the_page_of_sources_refuse_the_same_values():
    job = {
        "title": "mine",
        "site": {"grid": "se"},
        "hardware": {"sku": "a100-80-8"},
        "training": {"accelerator_hours": 100},
        "facts": SENSELESS,
    }

    with pytest.raises(ScenarioError) as refused:
        read_job(job, "job.toml", CATALOGUE)

    assert {problem.path for problem in refused.value.problems} == {f"facts.{key}" for key in SENSELESS}
    for key, text in SENSELESS.items():
        with pytest.raises(InputError, match="out of range: write a value from"):
            override_of(key, text, CATALOGUE)


def test_no_fact_of_a_plan_can_be_negative_or_a_million_million_times_as_much():
    known, taken = known_names(CATALOGUE), []
    for key in used_facts():
        fact = CATALOGUE.fact(key)
        for value in (-abs(fact.value) or -1.0, (fact.value or 1.0) * 1e12):
            if not list(own_fact_problems({key: stated(key, value)}, known)):
                taken.append((key, value))

    assert [key for key, value in taken if value < 0] == []
    # Bandwidths may be named as "no limit"; nothing is looped over up to them.
    assert {key for key, _ in taken} <= {"checkpoint_storage.parallel-fs.bandwidth"}


def test_the_smallest_plan_rests_on_facts_that_may_be_set():
    assert {key: said for key in used_facts() if (said := RANGES.without_effect(key))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("end", ["low", "high"])
def test_a_value_at_the_end_of_its_family_makes_a_plan_or_a_refusal(end):
    """A seeded sample; each such value once ended in a traceback or in a loop over 8e12 chips."""
    known = used_facts()
    always = [
        "accelerator.h100-sxm-80gb.link_domain",
        "performance.power.training",
        "reliability.prior.sigma",
    ]
    for key in [*always, *random.Random(7).sample(known, 3)]:
        mine = with_changes(smallest(), {f"facts.{key}": stated(key, getattr(RANGES.of(key), end))})
        with suppress(InputError):  # such as a peak that is no dense one
            check_scenario(mine, CATALOGUE)
            assemble(Inputs(mine, CATALOGUE))


def test_zero_stays_allowed_where_it_makes_sense():
    mine = {
        "finance.space": "0 USD/kW/month",
        "server.dgx-a100-80.price": "0 USD",
        "grid.se.intensity": "0 g/kWh",
    }

    assert list(own_fact_problems(mine, known_names(CATALOGUE))) == []
