"""The program as a file: another reader finds the same optimum in it, under names that a person knows."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from solver_cases import limits, node_groups, problem
from test_solver_optimum import draw_more

from solver import backend
from solver.answer import answer
from solver.build import THOUSAND, build
from solver.problem import Cohorts, Contracts, Jobs, Problem, RunOptions, ServeOptions, Services
from solver.writing import _ROWS, _VARIABLES, LONGEST, _parts, write_program

PERIODS = ("2027 Q1", "2027 Q2")


def fleet(site: str = "oregon", sku: str = "h100-8") -> Problem:
    """Two SKUs and periods, three standing nodes, two runs to choose from, a service, limits of each kind."""
    flat = np.ones((2, 2))
    each: dict[str, Any] = {
        "sku_names": (sku, "b200-8"),
        "site_names": (site,),
        "node_groups": node_groups(periods=2, count=2, lead_periods=np.array([0, 1])),
        "cohorts": Cohorts(
            node_group=np.array([0]),
            nodes=np.array([3]),
            keep_usd_per_node=np.full((1, 2), 7.0),
            keep_kgco2e_per_node=np.ones((1, 2)),
            retire_usd_per_node=np.ones((1, 2)),
            must_retire_by=np.array([1]),
        ),
        "jobs": Jobs(
            name=("pre train",),
            optional=np.array([False]),
            left_out_usd=np.zeros(1),
            left_out_kgco2e=np.zeros(1),
        ),
        "run_options": RunOptions(
            job=np.zeros(2),
            node_group=np.zeros(2),
            start=np.array([0, 0]),
            late_h=np.zeros(2),
            nodes=4 * flat,
            node_hours=300 * flat,
            active_kw=flat,
            usd=np.array([[90.0, 90.0], [80.0, 95.0]]),
            kgco2e=flat,
        ),
        "services": Services(name=("chat",), demand=np.array([[5.0, 9.0]])),
        "serve_options": ServeOptions(
            service=np.zeros(2),
            node_group=np.array([0, 1]),
            capacity=np.array([[2.0, 2.0], [3.0, 3.0]]),
            nodes=np.array([0.5, 1.0]),
            standby_fraction=np.zeros((2, 2)),
            node_hours=np.full((2, 2), 40.0),
            active_kw=np.ones(2),
            usd=np.full((2, 2), 3.0),
            kgco2e=flat,
        ),
        "limits": limits(
            periods=2,
            skus=2,
            power_kw=np.full((1, 2), 60.0),
            racks=np.array([30.0]),
            supply_nodes=np.full((2, 2), 20.0),
            budget_usd=np.full(2, 1e5),
            carbon_cap_kgco2e=1e5,
            minimum_nodes=np.array([2.0, 0.0]),
        ),
    }
    return problem(periods=2, count=2, **each)


def read_back(path: Path) -> highspy.Highs:
    engine = highspy.Highs()
    engine.silent()
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    return engine


def names_in(engine: highspy.Highs) -> tuple[list[str], list[str]]:
    held = engine.getLp()
    return list(held.col_names_), list(held.row_names_)


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".LP"])
def test_another_reader_finds_the_same_optimum(tmp_path: Path, suffix: str) -> None:
    """HiGHS reads the file on its own; its optimum is that of the plan by plain sums, constant included.

    The three standing nodes cost 7 USD in each period, which no decision changes: 0.042 of the objective.
    """
    path = tmp_path / f"program{suffix}"
    case = fleet()
    write_program(case, path, period_names=PERIODS)
    found = answer(case, gap_fraction=0.0, time_limit_s=30.0)
    engine = read_back(path)
    engine.run()

    assert engine.getObjectiveValue() * THOUSAND == pytest.approx(found.objective, abs=1e-5)
    held = engine.getLp()
    constant = list(held.col_names_).index("constant")
    assert held.col_cost_[constant] == pytest.approx(0.042)


def test_names_say_what_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "program.lp"
    write_program(fleet(), path, period_names=PERIODS)
    columns, rows = names_in(read_back(path))

    assert {
        "order_h100_8_at_oregon_2027_Q1",
        "retire_h100_8_at_oregon_cohort_0_2027_Q2",
        "run_pre_train_on_4_h100_8_at_oregon_from_2027_Q1",
        "replicas_chat_on_b200_8_at_oregon_2027_Q1",
        "some_h100_8_at_oregon",
        "in_use_b200_8_at_oregon_2027_Q2",
    } <= set(columns)
    assert {
        "power_oregon_2027_Q2",
        "supply_b200_8_2027_Q1",
        "budget_2027_Q1",
        "carbon_cap",
        "job_pre_train",
        "demand_chat_2027_Q2",
        "end_of_life_h100_8_at_oregon_cohort_0",
        "minimum_h100_8_at_oregon",
    } <= set(rows)


def test_every_index_has_a_label(tmp_path: Path) -> None:
    """A name that ends in a bare index stands for a kind of variable or row that the writer does not know."""
    path = tmp_path / "program.mps"
    write_program(fleet(), path, period_names=("early", "late"))
    columns, rows = names_in(read_back(path))
    numbered = {name for name in columns + rows if re.search(r"_\d+$", name) and "cohort" not in name}

    # Two runs of one job on the same nodes differ in their layout alone: the second says which it is.
    assert numbered == {"run_pre_train_on_4_h100_8_at_oregon_from_early_1"}


@pytest.mark.nightly
def test_every_decision_can_be_written(tmp_path: Path) -> None:
    """Of random fleets with every kind of decision, the file has the program's optimum, or none as well.

    Each index has a set of labels, but that of a step of spares or of an instant.
    """
    solved = 0
    for seed in range(24):
        case = draw_more(seed)
        if seed % 3 == 0:
            flat = np.ones((1, case.periods))
            case = dataclasses.replace(case, contracts=Contracts([0], flat, flat, 9 * flat, [True]))  # type: ignore[arg-type]
        names = tuple(f"period {'abc'[number]}" for number in range(case.periods))
        program = build(case)
        wanted = backend.solve(program.model, gap_fraction=0.0, time_limit_s=30.0)
        path = tmp_path / f"program{('.lp', '.mps')[seed % 2]}"
        write_program(case, path, period_names=names)
        engine = read_back(path)
        engine.setOptionValue("mip_rel_gap", 0.0)
        engine.run()

        if wanted.status.has_plan:
            solved += 1
            assert engine.getInfo().objective_function_value == pytest.approx(wanted.objective, abs=1e-6)
        else:
            assert engine.getModelStatus() == highspy.HighsModelStatus.kInfeasible
        for held, known in ((program.model.variables(), _VARIABLES), (program.model.constraints, _ROWS)):
            for stem, numbers in map(_parts, map(str, held)):
                assert len(known.get(stem, "")) == len(numbers) - (
                    stem in ("step", "promise_step", "in_turn", "promise_in_turn", "in_use_at")
                ), stem
    assert solved >= 12


@pytest.mark.parametrize("hostile", ["=1+1", "<= 3 \\ x:", "e5", "Zürich 5/6", "数据", "a" * 300, "End"])
def test_names_that_people_write_cannot_break_the_file(tmp_path: Path, hostile: str) -> None:
    """Whatever a site and a SKU are called, names stay unique, in plain letters, and the optimum the same."""
    found = answer(fleet(), gap_fraction=0.0, time_limit_s=30.0)
    for suffix in (".lp", ".mps"):
        path = tmp_path / f"program{suffix}"
        write_program(fleet(site=hostile, sku=hostile), path, period_names=(hostile, hostile + " 2"))
        engine = read_back(path)
        engine.run()
        columns, rows = names_in(engine)

        assert engine.getObjectiveValue() * THOUSAND == pytest.approx(found.objective, abs=1e-5)
        assert all(re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) for name in columns + rows)
        assert max(map(len, columns + rows)) <= LONGEST
        assert len(set(columns)) == len(columns)
        assert len(set(rows)) == len(rows)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"path ends in \.lp or \.mps, got 'program\.txt'"):
        write_program(fleet(), tmp_path / "program.txt", period_names=PERIODS)
    with pytest.raises(ValueError, match="a name for each of 2 periods"):
        write_program(fleet(), tmp_path / "program.lp", period_names=("one",))
