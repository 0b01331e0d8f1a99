"""The way between users and sites: its length, what it leaves of a target, and bad input."""

from __future__ import annotations

import pytest

from planner.inputs.catalogue import load_catalogue
from planner.inputs.consistency import check_scenario
from planner.inputs.geography import spots
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario
from planner.performance.users import great_circle_km, user_latency_s
from planner.physics.pipelines import answer_target
from planner.physics.users import site_groups
from planner.physics.ways import every_way
from planner.program.assembly import assemble

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

    assert site_groups(inputs, service) == (("near",), ("north",), ("south",))
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
