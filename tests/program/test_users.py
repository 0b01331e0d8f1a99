"""The way between users and sites: its length, what it leaves of a target, and bad input."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from planner.answers.plan.document import plan_document
from planner.answers.plan.quality import quality_sentences
from planner.answers.plan.regions import region_sentences
from planner.inputs.consistency import check_scenario
from planner.inputs.geography import spots
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario, with_changes
from planner.performance.users import great_circle_km, user_latency_s
from planner.physics.equations.slots import clock_load_fraction, region_load_fraction
from planner.physics.pipelines import answer_target
from planner.physics.users import placings
from planner.physics.ways import every_way
from planner.program.assembly import assemble
from planner.program.plan import plan_fleet
from planner.report.cells import opened_at
from solver.build import build
from solver.problem import ServeOptions

CATALOGUE = load_catalogue()
SITE = """
[[sites]]
name = "{name}"
{where}
power_cap = "5 MW"
racks = 100
space = "owned"
[[fleet]]
sku = "h100-8"
site = "{name}"
nodes = 4
in_service = 2026-01-01
"""
REST = """
title = "users in Germany"
[horizon]
start = 2027-01-01
periods = 1
period = "month"
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.9
[policy]
objective = "carbon"
discount_rate = 0.08
node_life = "5 y"
[[services]]
name = "chat"
model = "llama-3.1-8b"
precision = "bf16"
tokens_in = 1000
tokens_out = 200
peak_rate = "20 /s"
mean_to_peak = 0.5
first_token = "{within}"
per_token = "60 ms"
availability = 0.99
"""
REGION = {"near": "aws/eu-central-1", "north": "aws/eu-north-1", "south": "aws/ap-southeast-2"}


def checked(more: str = 'users = "de"', within: str = "200 ms", **places: str) -> Scenario:
    """Nodes in Frankfurt, Stockholm and Sydney."""
    regions = {name: f'region = "{region}"' for name, region in REGION.items()} | places
    text = "".join(SITE.format(name=name, where=where) for name, where in regions.items())
    found = parse_scenario(f"{REST.format(within=within)}{more}\n{text}", "mine.toml")
    check_scenario(found, CATALOGUE)
    return found


def test_a_way_is_twice_the_great_circle_at_a_third_of_light() -> None:
    """Berlin and Stockholm are 811 km apart: at 299,792 km/s, three times as long, 16.2 ms both ways."""
    berlin, stockholm = spots()["de"], spots()["aws/eu-north-1"]
    apart_km = great_circle_km(
        latitude_deg=berlin.latitude_deg,
        longitude_deg=berlin.longitude_deg,
        other_latitude_deg=stockholm.latitude_deg,
        other_longitude_deg=stockholm.longitude_deg,
    )

    assert apart_km == pytest.approx(811, abs=2)
    assert user_latency_s(distance_km=apart_km, route_factor=3.0) == pytest.approx(16.2e-3, rel=0.01)
    assert user_latency_s(distance_km=0.0, route_factor=3.0) == 0.0


def test_a_site_has_what_the_way_leaves_and_one_too_far_has_nothing() -> None:
    """Sydney takes 0.3 s of the 0.2 s: it is no option; the others are tried with their own targets."""
    inputs = Inputs(checked(), CATALOGUE)
    service = inputs.scenario.services[0]
    tried = every_way(inputs)
    left = [float(answer_target(tried, one).value) for one in tried.scenario.services]
    options = assemble(inputs).problem.serve_options
    names = {inputs.sites[inputs.node_groups[p][1]].name for p in options.node_group}

    assert [sites for sites, _ in placings(inputs, service)] == [("near",), ("north",), ("south",)]
    assert left[2] == 1e-6
    assert left[1] == pytest.approx(0.2 - 16.2e-3, abs=2e-4)
    assert left[0] > left[1]
    assert names == {"near", "north"}


def test_without_users_nothing_is_taken_off() -> None:
    inputs = Inputs(checked(more=""), CATALOGUE)

    assert every_way(inputs) is inputs
    assert answer_target(inputs, inputs.scenario.services[0]).value == 0.2


@pytest.mark.parametrize(
    ("more", "within", "places", "said"),
    [
        ('users = "atlantis"', "200 ms", {}, "services.chat.users: no place 'atlantis' is known"),
        (
            'users = "de"',
            "200 ms",
            {"near": 'grid = "us-srvc"\npue = 1.1'},
            "services.chat.users: nobody knows where sites.near is: write a region of a provider there",
        ),
        (
            'users = "de"\nsites = ["south"]',
            "200 ms",
            {},
            "services.chat.users: the way to the nearest site, sites.south, takes 322 ms of 200 ms",
        ),
    ],
)
def test_bad_users_are_answered_in_one_line(
    more: str, within: str, places: dict[str, str], said: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        checked(more, within, **places)

    assert said in str(refused.value)


REGION_TABLE = '[[services.regions]]\nusers = "{users}"\nshare = {share}\n{more}\n'


def regions(*tables: tuple[str, float, str]) -> str:
    return "".join(REGION_TABLE.format(users=users, share=share, more=more) for users, share, more in tables)


def in_regions(text: str, within: str = "200 ms") -> Inputs:
    """The same with tables below the service, which is last."""
    sites = "".join(SITE.format(name=name, where=f'region = "{region}"') for name, region in REGION.items())
    head, service = REST.format(within=within).split("[[services]]")
    found = parse_scenario(f"{head}{sites}[[services]]{service}{text}", "mine.toml")
    check_scenario(found, CATALOGUE)
    return Inputs(found, CATALOGUE)


def test_one_region_is_a_service_with_users_there() -> None:
    """To the last digit, whatever is asked of the program."""
    one, users = (assemble(in_regions(text)).problem for text in (regions(("de", 1.0, "")), 'users = "de"\n'))

    assert np.all(one.serve_options.regions == 1)
    for name, column in vars_of(users.serve_options).items():
        if name != "regions":
            assert np.array_equal(column, getattr(one.serve_options, name)), name
    assert len(build(one).model.constraints) == len(build(users).model.constraints)


def vars_of(table: ServeOptions) -> dict[str, Any]:
    return {column.name: getattr(table, column.name) for column in fields(table)}


def test_each_region_has_its_sites_and_its_latency() -> None:
    """Germans stay in Frankfurt; Australians are 5 ms from Sydney, as measured, and 322 ms from Frankfurt."""
    inputs = in_regions(
        regions(("de", 0.6, 'sites = ["near"]'), ("au", 0.4, 'latency = { south = "5 ms" }')), "400 ms"
    )
    tried = every_way(inputs)
    ways = [
        (one.sites, [home.users for home in one.regions], float(answer_target(tried, one).value))
        for one in tried.scenario.services
    ]
    germans, australians = (way for way in ways if len(way[1]) == 1 and way[0] in (("near",), ("south",)))

    assert {way[1][0] for way in (germans, australians)} == {"de", "au"}
    by_site = {way[0]: way for way in ways if len(way[1]) == 1}
    assert by_site["south",][2] == pytest.approx(0.395)
    both = next(way for way in ways if len(way[1]) == 2)
    assert both[0] == ("near",)
    assert both[2] < by_site["near",][2]
    # What answers both within less time is no worse for that than what answers one.
    assert set(assemble(inputs).problem.serve_options.regions) == {1, 2, 3}


@pytest.mark.solve
def test_a_plan_deals_the_requests_of_each_region_to_its_sites() -> None:
    """Germans to Frankfurt, of whose grid each replica emits more than in Stockholm, where the rest goes."""
    found = plan_fleet(
        in_regions(regions(("de", 0.6, 'sites = ["near"]'), ("se", 0.4, ""))).scenario, baselines=False
    )
    assert found.answer.solution is not None
    (said,) = region_sentences(found, found.answer.solution)
    document = plan_document(found)
    rows = document["tables"]["services"]
    carried = {site: sum(row["capacity_per_s"] for row in rows if row["site"] == site) for site in REGION}

    assert said.startswith("Users of chat are answered in 2027-01 as follows: de 100 % at near (")
    assert "; se " in said
    assert carried["near"] >= 0.6 * 20 * (1 - 1e-6)
    assert carried["south"] == 0.0
    assert all(set(row["users"].split(", ")) <= {"de", "se"} for row in rows)
    assert said in " ".join(document["why"])
    assert opened_at(document, "services", 0, "user_latency_s") is not None


def with_mean(mean: float, text: str) -> Scenario:
    """The service by two models, one of which loses quality, with users in regions."""
    stated = {
        "model": "llama-3.1-70b",
        "models": ["llama-3.1-8b"],
        "mean_quality_budget": mean,
        "peak_rate": "60 /s",
    }
    return with_changes(
        in_regions(text, "900 ms").scenario, {f"services.chat.{key}": value for key, value in stated.items()}
    )


@pytest.mark.solve
def test_a_mean_of_quality_over_regions_is_kept_and_said() -> None:
    """Germans in Frankfurt and Swedes in Stockholm share what may be lost."""
    apart = regions(("de", 0.6, 'sites = ["near"]'), ("se", 0.4, 'sites = ["north"]'))
    plans = {mean: plan_fleet(with_mean(mean, apart), baselines=False) for mean in (0.0, 0.08, 0.9)}
    cost = [plan.answer.objective for plan in plans.values()]
    document = plan_document(plans[0.08])
    rows = document["tables"]["services"]
    shares = {site: sum(row["requests_fraction"] for row in rows if row["site"] == site) for site in REGION}
    said, solution = " ".join(document["why"]), plans[0.08].answer.solution

    assert cost == sorted(cost, reverse=True)
    assert document["status"]["verified"]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert (shares["near"], shares["north"]) == pytest.approx((0.6, 0.4))
    assert all(row["mean_quality_loss_fraction"] <= 0.08 * (1 + 1e-6) for row in rows)
    assert "are answered in 2027-01 as follows" in said
    assert solution is not None
    (mixed,) = quality_sentences(plans[0.08], solution)
    assert "of the quality on average, of 8.0 % that are allowed." in mixed
    assert "llama-3.1-70b" in mixed
    assert "llama-3.1-8b" in mixed


@pytest.mark.solve
def test_regions_that_are_equally_far_from_all_are_one_service() -> None:
    """With a mean of quality, too: two regions with the same ways cost what all users in one cost."""
    way = 'latency = { near = "8 ms", north = "9 ms", south = "190 ms" }'
    one, two = (
        plan_fleet(with_mean(0.08, text), baselines=False).answer.objective
        for text in (regions(("here", 1.0, way)), regions(("here", 0.7, way), ("there", 0.3, way)))
    )

    assert two == pytest.approx(one, rel=5e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (regions(("de", 0.6, ""), ("us", 0.3, "")), "regions: their shares add up to 0.9"),
        (regions(("de", 0.5, ""), ("de", 0.5, "")), "regions: 'de' stands in several"),
        ('users = "de"\n' + regions(("de", 1.0, "")), "users: and regions say the same thing twice"),
        (regions(("de", 1.0, 'sites = ["moon"]')), "regions[0].sites: no site or rental 'moon'"),
        (regions(("de", 1.0, 'latency = { moon = "1 ms" }')), "regions[0].latency: no site or rental 'moon'"),
        (
            regions(("de", 1.0, 'latency = { near = "fast" }')),
            "regions[0].latency.near: 'fast' is not a number",
        ),
        (regions(("moon", 1.0, "")), "regions[0]: no place 'moon' is known"),
        (
            regions(("de", 1.0, 'sites = ["south"]')),
            "regions[0]: the way to the nearest site, sites.south, takes",
        ),
        (
            "mean_quality_budget = 0.1\n" + regions(*((one, 0.25, "") for one in ("de", "fr", "it", "es"))),
            "regions: 4 are too many next to mean_quality_budget: join some, so that 3 are left",
        ),
        (
            "mean_quality_budget = 0.1\n" + regions(("de", 1.0, 'busiest_time = "9 h"')),
            "regions[0].busiest_time: next to mean_quality_budget all regions peak together",
        ),
        (regions(*((f"{k}", 0.125, "") for k in "abcdefgh")), "regions: 8 are too many"),
    ],
)
def test_bad_regions_are_answered_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        in_regions(text)

    own = [one for one in refused.value.problems if "quality" not in one.path]
    assert [f"{one.path}: {one.message}".removeprefix("services.chat.")[: len(said)] for one in own] == [said]


def test_the_peak_of_regions_that_peak_apart_is_below_the_sum_of_their_peaks() -> None:
    """Twelve hours apart two halves are flat together; in one hour they are one curve of both."""
    halves, hours = np.array([0.5, 0.5]), np.array([8.0, 20.0])

    def loads(mean: float, busiest: Any) -> Any:
        return region_load_fraction(
            mean_to_peak_fraction=mean, share_fraction=halves, busiest_h=busiest, slots_a_day=12.0
        )

    apart, together = loads(0.7, hours), loads(0.7, np.array([8.0, 8.0]))
    for each in (apart, together):
        assert each.sum(axis=0).mean() == pytest.approx(0.7)
        assert each.sum(axis=1) == pytest.approx(each.sum() * halves)
        assert 0.9 < each.sum(axis=0).max() <= 1.0
    assert apart.max(axis=1).sum() > 1.3 * apart.sum(axis=0).max()
    alone = clock_load_fraction(
        mean_to_peak_fraction=np.array(0.7), busiest_h=np.array(8.0), slots_a_day=12.0
    )
    assert together.sum(axis=0) == pytest.approx(alone, rel=1e-6)


HOURS = """
[[services.regions]]
users = "de"
share = 0.5
{first}
[[services.regions]]
users = "se"
share = 0.5
busiest_time = "3 h"
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (HOURS.format(first='busiest_time = "18 h"'), ""),
        (HOURS.format(first=""), "services.chat.regions[0].busiest_time: is missing, and others state it"),
        (
            'busiest_time = "9 h"\n' + HOURS.format(first='busiest_time = "18 h"'),
            "services.chat.busiest_time: says when requests come, as busiest_time of the regions does",
        ),
    ],
)
def test_hours_of_regions_are_said_of_all_of_them(more: str, said: str) -> None:
    found = []
    try:
        checked(more)
    except ScenarioError as error:
        found = [f"{one.path}: {one.message}" for one in error.problems]

    assert len(found) == bool(said)
    assert all(said in one for one in found)
