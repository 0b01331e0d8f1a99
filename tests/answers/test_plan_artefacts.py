"""What an engine leaves behind never reaches a reader, and a total below zero is drawn and told as one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from solver_cases import node_groups, problem, work

from planner.answers.plan.places import _share
from planner.answers.plan.summary import _alike
from planner.answers.plan.whole_ledger import _unrounded
from planner.answers.saved.tables import totals_rows
from planner.report.charts import Picture
from planner.report.charts.compared import terms_side_by_side
from planner.report.charts.plans import baselines
from planner.report.charts.risk import ranges
from solver.alternatives import distance_between
from solver.build import build
from solver.problem import Problem, WorkOptions
from solver.verify import verify


def rented_or_owned() -> Problem:
    """150 node-hours on group 0, which is bought, or on group 1, which is rented by the hour of use alone."""
    free = np.array([[5.0], [0.0]])
    held = {name: np.array([[100.0], [0.0]]) for name in ("holding_usd_per_node", "holding_kgco2e_per_node")}
    table = work([150.0])
    one = np.ones((2, 1))
    options = WorkOptions(
        work=np.zeros(2),
        node_group=np.arange(2),
        speed=np.ones(2),
        active_kw=np.zeros(2),
        usd_per_node_h=np.array([[0.0], [9.0]]),
        kgco2e_per_node_h=0 * one,
    )
    return problem(
        count=2,
        node_groups=node_groups(
            count=2,
            idle_usd_per_node=free,
            idle_kgco2e_per_node=free,
            **held,
            purchase_allowed=np.array([[1], [0]]),
        ),
        **(table | {"work_options": options}),
    )


def read(case: Problem, work_nodes: list[float], rented: float) -> Any:
    """The plan that an engine's values stand for: 2 nodes bought, work as given."""
    program = build(case)
    values = {program.order[0, 0].name: 2.0, program.rented[1, 0].name: rented}
    values |= {variable.name: at for variable, at in zip(program.work.ravel(), work_nodes, strict=True)}
    return program.solution(values)


def test_work_that_cannot_be_told_from_nothing_is_nothing() -> None:
    """5e-12 nodes on the rented group go, the other group makes up for them, and what is done stays done."""
    case = rentable(rented_or_owned())
    plan = read(case, [1.5 - 5e-12, 5e-12], 0.0)

    assert plan.work_node_h[1, 0] == 0.0
    assert plan.usd_terms.work[1, 0] == 0.0
    assert plan.work_node_h[0, 0] == pytest.approx(150.0, rel=1e-15)
    assert not verify(case, plan, 1e-9)


def test_little_work_is_not_nothing() -> None:
    """A share of 1e-5 costs something, and a need of 1e-9 node-hours is a need."""
    case = rentable(rented_or_owned())

    assert read(case, [1.5 - 1.5e-5, 1.5e-5], 1.0).work_node_h[1, 0] == pytest.approx(1.5e-3)
    assert read(case, [1e-11, 0.0], 0.0).work_node_h[0, 0] == pytest.approx(1e-9)


def test_rented_nodes_that_nothing_uses_are_not_rented() -> None:
    """32 of them cost nothing while unused; they are no decision, and make no plan another one."""
    case = rentable(rented_or_owned())
    none, many = read(case, [1.5, 0.0], 0.0), read(case, [1.5, 0.0], 32.0)
    some = read(case, [1.0, 0.5], 32.0)

    assert many.rented.sum() == 0
    assert distance_between(case, none, many, relative_to=none) == 0
    assert some.rented[1, 0] == 1, "half a node of work takes a node"


def test_idling_is_not_what_rounding_leaves() -> None:
    """200 node-hours on 2 nodes of 100 h, but for what a sum of floats loses."""
    plan = read(rentable(rented_or_owned()), [2.0 - 4e-16, 0.0], 0.0)

    assert plan.usd_terms.idle[0, 0] == 0.0


def rentable(case: Problem) -> Problem:
    return replace(case, node_groups=replace(case.node_groups, rental_limit_nodes=np.array([[0.0], [32.0]])))


# Totals below zero


SAMPLE = Path(__file__).parents[1] / "sample_plan.json"


def drawn_rows(picture: Picture) -> list[dict[str, Any]]:
    layers = picture.chart.to_dict()["layer"]
    return [row for layer in layers for row in layer["data"]["values"]]


def below_zero() -> dict[str, Any]:
    """The sample with a cost that resale makes negative: -2 MUSD, -1 MUSD as today."""
    document: dict[str, Any] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    row = document["tables"]["summary"][0]
    row |= {"plan": -2e6, "cost_only": -2.5e6, "no_purchases": -1e6}
    return document


def test_bars_of_a_total_below_zero_point_left() -> None:
    """-1 MUSD is dearer than -2 MUSD: half as far to the left, both from one zero."""
    picture = baselines(below_zero())
    assert picture is not None
    rows = [row for row in drawn_rows(picture) if "share" in row]
    shares = {row["plan"]: row["share"] for row in rows[:3]}

    assert shares == {"this plan": -100.0, "cost only": -125.0, "no purchases": -50.0}
    assert all(row["edge"] == max(0.0, row["share"]) for row in rows)


def test_the_range_of_a_total_below_zero_keeps_its_order() -> None:
    document = below_zero()
    document["totals"][0] |= {"value": -2e6, "p5": -3e6, "p95": -1e6}
    picture = ranges(document)
    assert picture is not None
    rows = [row for row in drawn_rows(picture) if "low" in row]

    assert (rows[0]["low"], rows[0]["plan"], rows[0]["high"]) == (-150.0, -100.0, -50.0)


def test_stacked_bars_stay_inside_the_axis() -> None:
    """3 MUSD up and 5 MUSD down: the axis holds both ends, not their difference alone."""
    terms = [{"label": "new", "values": [3e6, 1e6]}, {"label": "resale", "values": [-5e6, 0.0]}]
    picture = terms_side_by_side({"terms": {"cost": terms}}, "cost", "AB")
    assert picture is not None
    low, high = picture.chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]

    assert low <= -5.0
    assert high > 3.0


def test_no_percent_of_a_total_below_zero() -> None:
    record = {
        "totals": [
            {"name": "cost", "label": "Cost", "unit": "USD", "values": [-2e6, 1e6], "differences": [0.0, 3e6]}
        ]
    }
    (row,) = totals_rows(record, "AB")

    assert row["B − A, share"] == "–"


def test_what_a_search_cannot_tell_apart_is_called_the_same() -> None:
    """35 USD and 3 g of 804 kUSD and 48.5 t were 'more'; 1 USD of a plan of 100 USD is."""

    def alike(usd: float, kgco2e: float, more_usd: float, more_kgco2e: float) -> bool:
        plan: Any = SimpleNamespace(usd=usd, kgco2e=kgco2e)  # its totals alone are read
        return _alike(plan, more_usd, more_kgco2e)

    assert alike(804_174.0, 48_541.0, -34.9, -0.003)
    assert not alike(804_174.0, 48_541.0, -340.0, 0.0)
    assert not alike(804_174.0, 48_541.0, 0.0, 8.0)
    assert not alike(100.0, 1.0, 1.0, 0.0)


def test_a_small_share_is_no_share_of_nothing() -> None:
    assert _share(1809.0, 804_174.0) == ", 0.22 % of the cost"
    assert _share(81_100.0, 524_000.0) == ", 15 % of the cost"


def test_a_line_that_is_rounding_is_nothing() -> None:
    """Electricity under contract in full came to -5.8e-11 kg, and no line may be below zero."""
    assert _unrounded(-5.82077e-11) == 0.0
    assert _unrounded(-1.0) == -1.0
