"""A scenario asked for step by step: what lacks, what holds by default, what a check takes."""

from __future__ import annotations

import tomllib
from datetime import date
from typing import Any

import pytest

from planner.answers.check import check
from planner.answers.start import Guided, guided
from planner.inputs.loading import load_catalogue
from planner.inputs.sheets.demand import (
    peak_requests_per_s,
    people_accelerator_h,
    racks_for_power,
    requests_per_day,
)
from planner.inputs.sheets.guide import STEPS, Answers, default_rows, place_row, places

TODAY = date(2026, 11, 25)
CATALOGUE = load_catalogue()


def asked(**changes: Any) -> Answers:
    """German sites and their fleet, a service by users, a team by people, nodes of AWS to rent; EUR."""
    tables: dict[str, Any] = {
        "sites": [
            {**place_row("de", CATALOGUE), "power_cap": "700"},
            {**place_row("de", CATALOGUE, ["de"]), "power_cap": "0.4 MW", "space": "owned", "racks": "30"},
        ],
        "fleet": [
            {"sku": "h100-8", "site": "de", "nodes": "40", "in_service": "2024-03"},
            {"sku": "a100-80-8", "site": "de-2", "nodes": "25", "in_service": "2021"},
        ],
        "services": [{"name": "chat", "model": "llama-3.1-70b", "users": "50k"}],
        "pools": [{"name": "research", "model": "llama-3-8b", "people": "20"}],
        "market": [{"sku": "b200-8", "price": "390000"}],
        "rental": [{"sku": "h100-8", "region": "aws/us-east-1", "price": "3.10"}],
    }
    return Answers(tables | changes.pop("tables", {}), currency=changes.pop("currency", "EUR"), **changes)


def of(answers: Answers) -> Guided:
    return guided(answers, CATALOGUE, today=TODAY, data=None, files={})


def test_people_and_users_by_hand() -> None:
    """10 a day are 500,000 of 50,000 users, 5.787 /s in the mean, twice that at the peak."""
    a_day = requests_per_day(users=50_000, requests_per_user_h=10 / 24)

    assert a_day == pytest.approx(500_000)
    assert peak_requests_per_s(requests_per_day=a_day, mean_to_peak_fraction=0.5) == pytest.approx(
        500_000 / 86_400 * 2
    )
    assert people_accelerator_h(people=20, person_h_per_month=350, months=3) == 21_000
    assert [racks_for_power(power_cap_kw=kw, rack_kw=10) for kw in (1, 10, 11, 700)] == [1, 1, 2, 70]


def test_german_sites_and_rented_nodes_in_eur_check_at_once() -> None:
    """Nothing lacks, nothing is wrong; money is in EUR, and places of two families count alike."""
    found = of(asked())
    tables = tomllib.loads(found.text)
    scenario = check(found.text, "mine.toml")

    assert not any(found.missing.values())
    assert not found.wrong
    assert tables["currency"] == "EUR"
    assert [site["name"] for site in tables["sites"]] == ["de", "de-2"]
    assert [site["racks"] for site in tables["sites"]] == [70, 30]
    assert tables["market"] == [{"sku": "b200-8", "price": "390000 EUR", "lead_time": "90 d"}]
    assert tables["rental"][0]["price"] == "3.10 EUR/h"
    assert tables["rental"][0]["grid"] == "us"  # of Virginia, us-srvc, another signal
    assert scenario.market[0].price_usd == pytest.approx((390_000 * 1.082,) * 4)
    assert scenario.services[0].peak_requests_per_s == pytest.approx((11.5741,) * 4)
    assert scenario.pools[0].gpu_time_h == (21_000.0,) * 4
    assert found.text.startswith("# ")
    for said in (
        "chat: 50,000 users, each asks 10 times a day (planning.user_requests, assumed: 2 to 50)",
        "research: 20 people, each uses 350 accelerator-hours a month (planning.person_time",
        "research: its accelerator-hours are those of h100-8",
        "the factor of its country, us, is taken",
        'restart = "15 min" (5 to 30 min)',
    ):
        assert said in "\n".join(found.notes)


@pytest.mark.parametrize(
    ("model", "stated", "asked_by"),
    [
        (
            "llama-3.1-8b",
            {},
            {"tokens_in": 1000, "tokens_out": 250, "first_token": "2 s", "per_token": "60 ms"},
        ),
        ("llama-3.2-1b", {"tokens_out": "0"}, {"tokens_in": 500, "tokens_out": 0, "response_time": "300 ms"}),
        ("dlrm-dcnv2", {"candidates": "500"}, {"candidates": 500, "response_time": "100 ms"}),
        ("sdxl", {"response_time": "9000"}, {"images": 1, "response_time": "9000 ms"}),
        ("vit-b-16", {}, {"images": 1, "response_time": "200 ms"}),
        (
            "whisper-large-v3",
            {"audio": "20"},
            {"audio": "20 s", "first_token": "1 s", "per_token": "60 ms"},
        ),
    ],
)
def test_a_request_is_asked_for_as_its_kind_of_model_has_it(
    model: str, stated: dict[str, str], asked_by: dict[str, Any]
) -> None:
    """Each kind checks with its own keys and no others; what was assumed is told with its range."""
    found = of(asked(tables={"services": [{"name": "one", "model": model, "users": "9k", **stated}]}))
    (service,) = tomllib.loads(found.text)["services"]

    assert not found.wrong
    of_all = ("name", "model", "precision", "mean_to_peak", "peak_rate", "availability")
    assert {key: value for key, value in service.items() if key not in of_all} == asked_by
    said = "\n".join(found.notes)
    assert all(f"services.*.{key} = " in said for key in asked_by.keys() - stated.keys() - {"tokens_out"})
    shown = {
        row["what"]
        for row in default_rows(
            "Work",
            asked(tables={"services": [{"name": "one", "model": model, **stated}], "pools": []}),
            CATALOGUE,
        )
    }
    assert {key.replace("_", " ") for key in asked_by.keys() - stated.keys()} <= shown
    assert "candidates" not in shown or model == "dlrm-dcnv2"


@pytest.mark.parametrize(("model", "step"), [("dlrm-dcnv2", 65536), ("sd2", 2048), ("vit-l-16", 4096)])
def test_models_of_scores_and_images_are_trained_on_samples(model: str, step: int) -> None:
    run = {"name": "retrain", "model": model, "samples": "", "deadline": "2027-06-30"}
    lacks = of(asked(tables={"training": [run]}))
    found = of(asked(tables={"training": [{**run, "samples": "4T"}]}))

    assert lacks.missing["Work"] == ["retrain: samples"]
    assert not found.wrong
    (stated,) = tomllib.loads(found.text)["training"]
    assert (stated["samples"], stated["batch_samples"]) == (4e12, step)
    assert "sequence_tokens" not in stated


def test_each_step_says_what_lacks_and_what_is_wrong_before_all_is_there() -> None:
    nothing = of(Answers())
    some = of(
        Answers(
            {
                "sites": [{**place_row("de", CATALOGUE), "power_cap": "a lot"}],
                "fleet": [{"sku": "h100-8", "site": "de", "nodes": "many"}],
            },
            horizon={"period": "month"},
            policy={"objective": "weighted"},
        )
    )

    assert [step for step, lacks in nothing.missing.items() if lacks] == ["Places", "Work", "Market"]
    assert (nothing.wrong, nothing.text, nothing.found) == ({}, "", None)
    assert some.missing["Fleet"] == ["h100-8 at de: in service"]
    assert some.missing["Policy"] == ["carbon price: the weighted objective needs it"]
    assert "'many' is no number" in some.wrong["Fleet"][0]
    assert not some.text


@pytest.mark.parametrize(
    ("changes", "step", "said"),
    [
        (
            {"tables": {"sites": [{"name": "de", "grid": "de", "power_cap": "x"}], "fleet": []}},
            "Places",
            "'x'",
        ),
        ({"policy": {"objective": "weighted", "carbon_price": "100"}}, "Policy", "has no unit"),
        ({"policy": {"confidence": "2"}}, "Policy", "confidence"),
        ({"horizon": {"start": "soon"}}, "Policy", "'soon' is no day"),
        (
            {
                "tables": {
                    "services": [
                        {"name": "a", "model": "llama-3.1-8b", "users": "9", "requests_per_day": "9"}
                    ]
                }
            },
            "Work",
            "users, requests_per_day: state one of them",
        ),
        ({"tables": {"rental": [{"sku": "h100-8", "region": "aws/nowhere"}]}}, "Market", "aws/nowhere"),
    ],
)
def test_a_wrong_value_is_told_in_its_step(changes: dict[str, Any], step: str, said: str) -> None:
    found = of(asked(**changes))

    assert [*found.wrong] == [step]
    assert said in "\n".join(found.wrong[step])
    assert found.found is None


def test_a_default_is_told_with_its_range_and_source() -> None:
    rows = {step: {row["what"]: row for row in default_rows(step, asked(), CATALOGUE)} for step in STEPS}

    carbon = rows["Places"]["carbon of electricity"]
    assert (carbon["of"], carbon["default"]) == ("de, de-2", "336.38 gCO2e/kWh")
    assert carbon["range"] == "329.6 to 419.7 gCO2e/kWh"
    assert rows["Places"]["space price"]["of"] == "de"  # the other one is owned
    assert rows["Work"]["requests of a user on a day"]["default"] == "10 a day"
    assert rows["Work"]["tokens in"] == {
        "of": "chat",
        "what": "tokens in",
        "default": "1000",
        "range": "200 to 4,000",
        "source": "assumed: data/start.toml",
    }
    assert "price" not in rows["Market"] or rows["Market"]["price"]["of"] != "b200-8"  # it is stated


def test_nothing_is_bought_where_that_is_said() -> None:
    tables = tomllib.loads(of(asked(tables={"market": []}, buys=False)).text)
    again = tomllib.loads(of(asked(tables={"market": []})).text)

    assert "market" not in tables
    assert [offer["sku"] for offer in again["market"]] == ["h100-8", "a100-80-8"]


def test_places_are_countries_and_regions_by_words() -> None:
    words = places(CATALOGUE)

    assert words["de"] == "Germany (de)"
    assert words["aws/eu-central-1"] == "Germany, DE (aws/eu-central-1)"
    assert len(words) == len(CATALOGUE.regions) + sum(
        len(name) == 2 for name in CATALOGUE.names("grid", "intensity")
    )
    assert place_row("aws/eu-central-1", CATALOGUE, ["eu-central-1"]) == {
        "name": "eu-central-1-2",
        "region": "aws/eu-central-1",
    }
