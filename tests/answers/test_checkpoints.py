"""The table of checkpoint intervals, against published values and by relations that any optimum obeys."""

from __future__ import annotations

import html
import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explained import explained
from scipy.optimize import minimize_scalar
from sizes import at_night, size

from planner.answers.checkpoints import (
    FLAT,
    checkpoint_document,
    parse_restart_parts,
    scenario_document,
    scenario_text,
    to_text,
)
from planner.answers.checkpoints.page import save_checkpoints
from planner.answers.checkpoints.text import sentences
from planner.cli import main
from planner.inputs.fits import read_fit
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.physics.equations.training import background_stall_h
from planner.physics.failures import failure_rate_by_node_group
from planner.program.assembly import assemble
from planner.report.saving import ReportError
from planner.trace.errors import InputError
from reliability.ettr import asynchronous_ettr_fraction, ettr_fraction
from reliability.finish import finish_quantile_h

RSC_1 = {"failures": "meta-rsc-1", "sku": "a100-80-8"}
METRICS = {
    "time-optimal": ("ettr_fraction", max),
    "money-optimal": ("usd_per_useful_h", min),
    "carbon-optimal": ("kgco2e_per_useful_h", min),
}
CASES: tuple[dict[str, Any], ...] = (
    {},
    {"nodes": 2000, "restart_min": 5.0, **RSC_1},
    {"nodes": 8, "storage": "nas", "model": "llama-3-8b"},
    {"nodes": 1024, "storage": "object-store", "model": "llama-3.1-405b", "grid": "se"},
    {"nodes": 512, "asynchronous": True, "grid": "pl"},
    {"nodes": 2000, "failures": "prior", "restart_min": 0.0},
)


@cache
def _document(question: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return checkpoint_document(CheckpointQuestion(**dict(question)))


def document(**question: Any) -> dict[str, Any]:
    return _document(tuple(sorted(question.items())))


def mark(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["marks"] if one["name"] == name)


# Published values


@pytest.mark.parametrize(
    ("question", "hours", "tolerance"),
    [
        # Kokolis et al., arXiv 2410.21680, section III: 1.8 h at 16,384 GPUs, at 6.50 per 1000 node-days.
        ({"nodes": 2048, **RSC_1}, 1.8, 0.05),
        # Llama 3, arXiv 2407.21783, Table 5: 419 unexpected interruptions of 16,384 GPUs in 54 days.
        ({"nodes": 2048}, 24 * 54 / 419, 0.01),
    ],
)
def test_time_between_failures_as_published(question: dict[str, Any], hours: float, tolerance: float) -> None:
    assert document(**question)["inputs"]["mttf_h"] == pytest.approx(hours, abs=tolerance)


@pytest.mark.slow
def test_twelve_thousand_accelerators_reach_nine_tenths_with_writes_of_ten_seconds() -> None:
    """Kokolis et al., section VI: at 12,000 GPUs of RSC-1, ETTR 0.9 asks for writes of about 10 s.

    A 70B model of 14 bytes a parameter on 100 GB/s takes 9.9 s. Their linear form gives 0.921, the exact
    renewal form 0.922, at an interval of 7.0 min.
    """
    found = document(nodes=1500, restart_min=5.0, model="llama-3.1-70b", **RSC_1)
    best = mark(found, "time-optimal")

    assert found["inputs"]["write_min"] * 60 == pytest.approx(10, rel=0.02)
    assert best["ettr_fraction"] == pytest.approx(0.922, abs=0.001)
    assert best["interval_min"] == pytest.approx(7.0, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("question", [case for case in CASES if "asynchronous" not in case])
def test_marks_obey_their_own_equations(question: dict[str, Any]) -> None:
    """Young 1974, Daly 2006 (higher order), and the stationary point of the exact renewal form.

    Young: T = sqrt(2 w M). Daly: T = sqrt(2 w M) (1 + sqrt(w / 2M) / 3 + (w / 2M) / 9) - w.
    Exact: (1 - T / M) e^((T + w) / M) = 1, whatever a restart takes.
    """
    found = document(**question)
    mttf, write = found["inputs"]["mttf_h"], found["inputs"]["write_min"] / 60
    assert write < 2 * mttf  # where Daly's series holds
    young, daly, exact = (
        mark(found, name)["interval_min"] / 60 for name in ("Young", "Daly", "time-optimal")
    )
    x = write / (2 * mttf)

    assert young == pytest.approx(math.sqrt(2 * write * mttf), rel=1e-9)
    assert daly == pytest.approx(young * (1 + math.sqrt(x) / 3 + x / 9) - write, rel=1e-9)
    assert (1 - exact / mttf) * math.exp((exact + write) / mttf) == pytest.approx(1, abs=1e-9)
    best = mark(found, "time-optimal")["ettr_fraction"]
    assert mark(found, "Daly")["ettr_fraction"] <= best * (1 + 1e-12)
    assert mark(found, "Young")["ettr_fraction"] <= best * (1 + 1e-12)


@pytest.mark.parametrize("question", [case for case in CASES if "asynchronous" not in case])
def test_effective_time_is_the_renewal_form(question: dict[str, Any]) -> None:
    """ETTR = T / ((M + R) (e^((T + w) / M) - 1)): what a failure cuts short begins anew after a restart."""
    found = document(**question)
    inputs = found["inputs"]
    mttf, write, restart = inputs["mttf_h"], inputs["write_min"] / 60, inputs["restart_min"] / 60

    for row in found["rows"]:
        interval = row["interval_min"] / 60
        expected = interval / ((mttf + restart) * math.expm1((interval + write) / mttf))
        assert row["ettr_fraction"] == pytest.approx(expected, rel=1e-9)


# Relations


@pytest.mark.slow
@pytest.mark.parametrize("question", CASES)
def test_each_optimum_is_unbeaten_in_its_own_metric(question: dict[str, Any]) -> None:
    """No row of the table and no other mark does better; trying everything is the independent route."""
    found = document(**question)

    for name, (metric, best_of) in METRICS.items():
        best = best_of(row[metric] for row in found["rows"] + found["marks"])
        assert mark(found, name)[metric] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("question", CASES)
def test_hours_are_spent_once(question: dict[str, Any]) -> None:
    """Useful, lost, stalled and restarting shares make one, and intervals rise through the table."""
    found = document(**question)
    shares = ("ettr_fraction", "lost_fraction", "checkpoint_fraction", "restart_fraction")

    for row in found["rows"] + found["marks"]:
        assert sum(row[share] for share in shares) == pytest.approx(1, rel=1e-9)
        assert min(row[share] for share in shares) >= 0
    intervals = [row["interval_min"] for row in found["rows"]]
    assert intervals == sorted(set(intervals))


@pytest.mark.parametrize("question", CASES)
def test_the_flat_part_holds_the_optimum_and_ends_where_it_says(question: dict[str, Any]) -> None:
    found = document(**question)
    flat, best = found["flat"], mark(found, "time-optimal")

    assert flat["loss_fraction"] == FLAT
    assert flat["low_min"] <= best["interval_min"] <= flat["high_min"]
    for row in found["rows"]:
        good = row["ettr_fraction"] >= (1 - FLAT) * best["ettr_fraction"]
        inside = flat["low_min"] <= row["interval_min"] <= flat["high_min"]
        near_an_end = any(abs(row["interval_min"] / flat[end] - 1) < 0.01 for end in ("low_min", "high_min"))
        assert good == inside or near_an_end


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["parallel-fs", "nas", "object-store", "nvme-local"])
@pytest.mark.parametrize("nodes", [8, 64, 1024] if at_night() else [8, 1024])
def test_writing_in_the_background_never_loses(storage: str, nodes: int) -> None:
    """The job stalls for a shorter time and nothing else gets worse, so the best ETTR cannot fall."""
    plain = document(storage=storage, nodes=nodes)
    behind = document(storage=storage, nodes=nodes, asynchronous=True)

    assert mark(behind, "time-optimal")["ettr_fraction"] >= mark(plain, "time-optimal")["ettr_fraction"]
    assert {one["name"] for one in behind["marks"]} == set(
        METRICS
    )  # Young and Daly know blocking writes only


@pytest.mark.slow
@pytest.mark.nightly
def test_stalls_that_burn_less_are_taken_more_often() -> None:
    """A stalled node draws less than a working one, so carbon asks for shorter intervals than time does.

    The cleaner the grid, the more a node-hour is embodied carbon, which is alike in each state: the carbon
    optimum moves towards the time optimum.
    """

    def apart(grid: str) -> float:
        carbon, time = (mark(document(grid=grid), f"{name}-optimal") for name in ("carbon", "time"))
        return float(carbon["interval_min"] / time["interval_min"])

    assert apart("pl") < apart("us") < apart("se") < 1
    assert (
        mark(document(), "time-optimal")["kgco2e_per_useful_h"]
        < (mark(document(grid="pl"), "time-optimal")["kgco2e_per_useful_h"])
    )


@pytest.mark.slow
@pytest.mark.nightly
def test_more_nodes_fail_more_often() -> None:
    """MTTF = 1 / (N r): it falls with the nodes, and with it the share of useful time at one bandwidth."""
    small, large = document(nodes=128), document(nodes=1024)

    assert small["inputs"]["mttf_h"] == pytest.approx(8 * large["inputs"]["mttf_h"])
    assert mark(small, "time-optimal")["ettr_fraction"] > mark(large, "time-optimal")["ettr_fraction"]


@pytest.mark.slow
@pytest.mark.nightly
def test_a_longer_restart_costs_time_and_leaves_the_interval() -> None:
    """The stationary point does not hold the restart time; ETTR does."""
    short, long = document(restart_min=1.0), document(restart_min=60.0)
    ours, theirs = mark(short, "time-optimal"), mark(long, "time-optimal")

    assert ours["interval_min"] == pytest.approx(theirs["interval_min"], rel=1e-6)
    assert ours["ettr_fraction"] > theirs["ettr_fraction"]


# Policies side by side


OBJECTIVES = {"time": "ettr_fraction", "money": "usd_per_useful_h", "carbon": "kgco2e_per_useful_h"}


def optimum(found: dict[str, Any], policy: str, objective: str = "time") -> dict[str, Any]:
    return next(one for one in found["policies"] if (one["policy"], one["objective"]) == (policy, objective))


@pytest.mark.parametrize("question", CASES)
def test_three_policies_have_three_optima_each(question: dict[str, Any]) -> None:
    """Each of a policy's optima is unbeaten by its other two in its own measure; its flat region holds it."""
    found = document(**question)
    assert len(found["policies"]) == 9

    for policy in ("blocking", "asynchronous", "two-level"):
        each = {objective: optimum(found, policy, objective) for objective in OBJECTIVES}
        for objective, key in OBJECTIVES.items():
            best_of = max if objective == "time" else min
            assert each[objective][key] == pytest.approx(best_of(one[key] for one in each.values()), rel=1e-9)
            assert each[objective]["flat_low_min"] <= each[objective]["interval_min"] * (1 + 1e-12)
            assert each[objective]["interval_min"] < each[objective]["flat_high_min"]
        shares = ("ettr_fraction", "lost_fraction", "checkpoint_fraction", "restart_fraction")
        assert sum(each["time"][share] for share in shares) == pytest.approx(1, rel=1e-9)


@pytest.mark.slow
def test_the_policy_asked_for_is_the_one_of_the_table() -> None:
    """Marks of the table and the policy's row are one calculation told twice."""
    for asynchronous, name in ((False, "blocking"), (True, "asynchronous")):
        found = document(nodes=512, asynchronous=asynchronous)
        for objective in OBJECTIVES:
            shown, marked = optimum(found, name, objective), mark(found, f"{objective}-optimal")
            assert {key: shown[key] for key in marked if key != "name"} == {
                key: value for key, value in marked.items() if key != "name"
            }
        assert optimum(found, name)["flat_low_min"] == found["flat"]["low_min"]


@pytest.mark.parametrize("question", CASES)
def test_the_named_policy_wins(question: dict[str, Any]) -> None:
    """Nobody does better on an objective than the policy named for it, and the others' excess is theirs."""
    found = document(**question)

    for one in found["best"]:
        key = OBJECTIVES[one["objective"]]
        values = {
            policy: optimum(found, policy, one["objective"])[key]
            for policy in ("blocking", "asynchronous", "two-level")
        }
        less = -1 if one["objective"] == "time" else 1  # hours are 1 / ETTR
        cost = {policy: value**less for policy, value in values.items()}
        assert cost[one["policy"]] == min(cost.values())
        for policy, value in cost.items():
            assert one[f"{policy}_more_fraction"] == pytest.approx(value / cost[one["policy"]] - 1, abs=1e-12)


def test_a_background_write_stops_training_as_long_as_was_measured() -> None:
    """PyTorch, 7B: 148.8 s became 6.3 s; a copy of 98 GB at 20 GB/s alone would be 4.9 s on one node."""
    fact = load_catalogue().fact
    stall_h = background_stall_h(
        storage_write_h=fact("checkpoint.pytorch-7b-sync.blocking_time").value,
        host_write_h=7e9 * 14 / 1e9 / fact("checkpoint_storage.host-memory.bandwidth_per_node").value / 3600,
        blocking_fraction=fact("checkpoint_storage.parallel-fs.blocking_fraction").value,
    )

    assert stall_h == pytest.approx(fact("checkpoint.pytorch-7b-async.blocking_time").value, rel=1e-2)


@pytest.mark.slow
def test_no_stall_of_a_large_job_is_a_hundredth_of_a_second() -> None:
    """2,000 nodes copy 70B aside in 0.02 s, but a write of 9.8 s leaves 4.2 % of it in the way: 0.41 s."""
    inputs = document(nodes=2000, asynchronous=True)["inputs"]

    assert inputs["host_write_min"] * 60 == pytest.approx(0.0245, rel=0.02)
    assert inputs["write_min"] * 60 == pytest.approx(0.0423 * 9.8, rel=0.02)
    assert inputs["persist_min"] * 60 == pytest.approx(9.8, rel=0.02)


@pytest.mark.slow
def test_standing_nodes_fail_as_a_plan_counts_them() -> None:
    """Three and a half years of service make a run stop a quarter more often, by this door as by the plan."""
    scenario = shipped("next-quarter")
    inputs = Inputs(scenario, load_catalogue())
    rates = failure_rate_by_node_group(inputs).value
    found = scenario_document(scenario)["jobs"][0]["sizes"]

    for row in found:
        group = next(
            number
            for number, (sku, site) in enumerate(inputs.node_groups)
            if (inputs.skus[sku].name, inputs.sites[site].name) == (row["sku"], row["site"])
        )
        assert row["mttf_h"] == pytest.approx(1.0 / (row["nodes"] * rates[group]))
    assert len({row["mttf_h"] * row["nodes"] for row in found}) > 1


@pytest.mark.slow
@pytest.mark.nightly
def test_a_plan_and_a_table_of_intervals_stall_alike() -> None:
    """Written in the background to a slow filer, the plan's candidates have the table's ETTR and MTTF."""
    changes = {
        f"training.train-8b.{key}": value
        for key, value in {"checkpoint": "asynchronous", "checkpoint_storage": "nas"}.items()
    }
    scenario = with_changes(shipped("one-training-job"), changes)
    assembled = assemble(Inputs(scenario, load_catalogue()))
    runs = assembled.runs
    assert runs is not None
    sizes = {(one["sku"], one["nodes"]): one for one in scenario_document(scenario)["jobs"][0]["sizes"]}

    for row in np.flatnonzero(runs.policy == 0):
        sku = assembled.problem.sku_names[assembled.problem.node_groups.sku[runs.candidates.node_group[row]]]
        shown = sizes[sku, int(runs.candidates.nodes[row])]
        assert runs.mttf_h.value[row] == pytest.approx(shown["mttf_h"])
        assert runs.ettr.value[row] == pytest.approx(shown["stated_ettr_fraction"], rel=1e-9)


@pytest.mark.slow
def test_two_levels_beat_one_where_copies_are_quick_and_writes_slow() -> None:
    """70 % of failures find a local copy: sqrt(2 l1 C1) + sqrt(2 l2 C2) is well below sqrt(2 l C2) then."""
    found = document(nodes=1024, storage="nas")

    assert optimum(found, "two-level")["local_saves"] > 1
    assert optimum(found, "two-level")["ettr_fraction"] > optimum(found, "blocking")["ettr_fraction"] + 0.02


@pytest.mark.parametrize("question", CASES)
def test_policy_hours_are_those_of_the_leaf(question: dict[str, Any]) -> None:
    """SciPy on the leaf's own ETTR, with the document's MTTF and write times, finds the same best.

    A write in the background stops the job for the copy to memory, and for a share of the write at least.
    """
    found = document(**question)
    inputs = found["inputs"]
    job = {"mttf_h": inputs["mttf_h"], "restart_h": inputs["restart_min"] / 60}
    write_h, host_h = inputs["storage_write_min"] / 60, inputs["host_write_min"] / 60

    def top(ettr: Any, low_h: float) -> float:
        found = minimize_scalar(
            lambda log: -float(ettr(math.exp(log))),
            method="bounded",
            options={"xatol": 1e-9},
            bounds=(math.log(low_h), math.log(50 * inputs["mttf_h"])),
        )
        return -float(found.fun)

    waits = top(lambda w: ettr_fraction(interval_h=w, write_h=write_h, **job), 1e-4)
    share = load_catalogue().fact(f"checkpoint_storage.{inputs['storage']}.blocking_fraction").value
    stall_h = max(host_h, share * write_h)
    behind = {"blocking_h": stall_h, "persist_h": write_h, **job}
    aside = top(lambda w: asynchronous_ettr_fraction(interval_h=w, **behind), max(write_h - stall_h, 1e-6))
    assert optimum(found, "blocking")["ettr_fraction"] == pytest.approx(waits, abs=1e-6)
    assert optimum(found, "asynchronous")["ettr_fraction"] == pytest.approx(aside, abs=1e-6)


# What the asker adds


def test_a_rate_with_a_range_gives_ettr_a_band() -> None:
    """Llama 3's 3.44 to 4.17: the ends of the band are ETTR at those rates, at the same interval."""
    found = document(nodes=2048)
    job = found["inputs"]

    for row in found["rows"][::10]:
        for end, rate in (("low", 4.17), ("high", 3.44)):
            there = ettr_fraction(
                interval_h=row["interval_min"] / 60,
                mttf_h=job["mttf_h"] * 3.79 / rate,
                write_h=job["write_min"] / 60,
                restart_h=job["restart_min"] / 60,
            )
            assert row[f"ettr_{end}_fraction"] == pytest.approx(float(there), rel=1e-9)
    assert "ettr_low_fraction" not in document(**RSC_1)["rows"][0]  # published without a range


@pytest.mark.slow
def test_the_queue_takes_time_and_no_nodes() -> None:
    """W / ((M + u0 + q)(e^x - 1)): money and carbon of a useful hour stay, the share of the hours falls."""
    plain, queued = document(nodes=1024), document(nodes=1024, queue_min=20.0)
    job = queued["inputs"]
    best = mark(queued, "time-optimal")
    expected = ettr_fraction(
        interval_h=best["interval_min"] / 60,
        mttf_h=job["mttf_h"],
        write_h=job["write_min"] / 60,
        restart_h=job["restart_min"] / 60,
        queue_h=20 / 60,
    )

    assert best["ettr_with_queue_fraction"] == pytest.approx(float(expected), rel=1e-9)
    assert best["usd_per_useful_h"] == mark(plain, "time-optimal")["usd_per_useful_h"]


@pytest.mark.slow
def test_restart_from_parts_is_their_sum() -> None:
    """2 + 5 + 3 + 1 min and a load as long as the write."""
    parts = parse_restart_parts("detect=2, replace=5,initialise=3,warm_up=1")
    found = checkpoint_document(CheckpointQuestion(restart_parts=parts))

    assert found["inputs"]["restart_min"] == pytest.approx(11 + found["inputs"]["storage_write_min"])
    assert explained(found, "ettr") != explained(document(), "ettr")


@pytest.mark.slow
def test_others_on_the_storage_lengthen_the_write() -> None:
    """1,024 nodes fill 100 GB/s: with three quarters of it gone a write takes four times as long."""
    alone, shared = document(nodes=1024), document(nodes=1024, storage_others_fraction=0.75)

    assert shared["inputs"]["write_min"] == pytest.approx(4 * alone["inputs"]["write_min"])


@pytest.mark.slow
def test_smaller_state_is_written_sooner() -> None:
    """8-bit moments: 8 bytes a parameter for 14."""
    less = document(state="bf16-adam-8bit-moments")

    assert less["inputs"]["size_gb"] == pytest.approx(document()["inputs"]["size_gb"] * 8 / 14)
    assert less["inputs"]["write_min"] == pytest.approx(document()["inputs"]["write_min"] * 8 / 14)


@pytest.mark.slow
@pytest.mark.nightly
def test_more_spares_cost_money_and_carbon() -> None:
    """Spares stand by for every hour of the job: a surer pool costs more and changes no ETTR."""
    few, many = document(spare_confidence_fraction=0.6), document(spare_confidence_fraction=0.999)

    assert many["inputs"]["spares"] > few["inputs"]["spares"]
    for objective in ("money", "carbon"):
        key = OBJECTIVES[objective]
        assert optimum(many, "blocking", objective)[key] > optimum(few, "blocking", objective)[key]
    assert mark(many, "time-optimal")["ettr_fraction"] == mark(few, "time-optimal")["ettr_fraction"]


@pytest.mark.slow
def test_finish_is_that_of_the_leaf_and_counts_lost_hours() -> None:
    """Quantiles of `finish_quantile_h` at the best interval; (T - U) * 8 GPUs * nodes are lost."""
    found = checkpoint_document(CheckpointQuestion(nodes=1024, useful_h=1000.0))
    row = next(r for r in found["finish"] if (r["policy"], r["rate"]) == ("blocking", "stated"))
    job = found["inputs"]
    p95 = finish_quantile_h(
        useful_h=1000.0,
        interval_h=row["interval_min"] / 60,
        mttf_h=job["mttf_h"],
        write_h=job["write_min"] / 60,
        restart_h=job["restart_min"] / 60,
        quantile_fraction=0.95,
    )

    assert row["p95_h"] == pytest.approx(float(p95), rel=1e-9)
    assert row["mean_h"] == pytest.approx(1000 / mark(found, "time-optimal")["ettr_fraction"])
    assert row["lost_accelerator_p95_h"] == pytest.approx((row["p95_h"] - 1000) * 8 * 1024)
    by_rate = {r["rate"]: r["p50_h"] for r in found["finish"] if r["policy"] == "blocking"}
    assert by_rate["low"] < by_rate["stated"] < by_rate["high"]
    assert "finish.blocking.p95_h" in found["explanations"]


@pytest.mark.slow
def test_played_runs_agree_with_the_closed_forms() -> None:
    """Three policies, seeded: each within 3.3 standard errors (0.1 %), and the same seed plays the same."""
    found = checkpoint_document(CheckpointQuestion(nodes=2048, replicas=150, seed=3))

    assert [row["policy"] for row in found["simulation"]] == ["blocking", "asynchronous", "two-level"]
    for row in found["simulation"]:
        apart = row["simulated_ettr_fraction"] - row["closed_form_ettr_fraction"]
        assert abs(apart) < 3.3 * row["standard_error_fraction"] < 0.01
    again = checkpoint_document(CheckpointQuestion(nodes=2048, replicas=150, seed=3))["simulation"]
    assert again == found["simulation"]


def test_the_published_line_says_where_it_ends() -> None:
    """At 16,000 GPUs of RSC-1 with an hour between: linear 0.684, exact 0.721, and out of its range."""
    found = document(nodes=2000, restart_min=5.0, linear=True, **RSC_1)

    inside = {row["interval_min"]: row["linear_in_range"] for row in found["rows"]}
    assert inside[min(inside)]
    assert not inside[max(inside)]
    assert "out of its range" in to_text(found)
    for row in found["rows"]:
        if row["linear_in_range"]:
            assert row["linear_ettr_fraction"] == pytest.approx(row["ettr_fraction"], rel=0.023)


# Fits and scenarios


FIT = {
    "everfleet_fit": 1,
    "name": "north",
    "accelerators_per_node": 8,
    "definition": "unplanned stops",
    "rate": {"value": 5.0, "low": 4.0, "high": 6.0, "unit": "1/(1000 node d)"},
    "source": "jobs.txt",
    "outage": {"mean_h": 30.0, "median_h": 4.0},
    "variance_to_mean": 2.5,
}


def fit_file(folder: Path, **changes: Any) -> Path:
    file = folder / "fit.json"
    file.write_text(json.dumps(FIT | changes), encoding="utf-8")
    return file


@pytest.mark.slow
def test_a_fit_stands_in_for_a_published_fleet(tmp_path: Path) -> None:
    """5 failures for 1000 node-days on 1,000 nodes are 5 a day; the log is named where that is opened."""
    file = fit_file(tmp_path)
    found = checkpoint_document(CheckpointQuestion(failures=str(file), nodes=1000))

    assert found["inputs"]["mttf_h"] == pytest.approx(24 / 5)
    assert "ettr_low_fraction" in found["rows"][0]
    leaf = next(s for s in explained(found, "ettr").steps if s.name == "fit.north.failure_rate")
    assert leaf.kind == "yours"
    assert "jobs.txt" in leaf.source
    assert read_fit(file).repair is not None
    assert read_fit(fit_file(tmp_path, outage=None, accelerators_per_node=None)).repair is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"everfleet_fit": 2}, "is a fit of edition 2; only 1 is known here"),
        ({"rate": {"value": 5.0}}, "is not a whole fit: has no 'unit'"),
        ({"rate": FIT["rate"] | {"value": -1.0}}, "failure_rate must be above 0, got -1"),
        ({"rate": FIT["rate"] | {"low": 5.5}}, "the range 5.5 .. 6.0 does not hold the value 5.0"),
        ({"rate": FIT["rate"] | {"unit": "kg"}}, "must be a rate such as '1/(1000 node d)', got 'kg'"),
        ({"rate": FIT["rate"] | {"value": math.nan}}, "failure_rate must be a finite number, got nan"),
        ({"rate": FIT["rate"] | {"low": math.nan}}, "end of failure_rate must be a finite number, got nan"),
        ({"rate": FIT["rate"] | {"high": math.inf}}, "end of failure_rate must be a finite number, got inf"),
        ({"rate": FIT["rate"] | {"value": "5"}}, "failure_rate must be a finite number, got '5'"),
        ({"rate": FIT["rate"] | {"value": 10**400}}, "is not a whole fit: int too large"),
        ({"variance_to_mean": -math.inf}, "variance_to_mean must be a finite number, got -inf"),
        ({"nodes": 0}, "nodes must be above 0, got 0.0"),
        ({"rate_shape": True}, "rate_shape must be a finite number, got True"),
        ({"outage": "long"}, "is not a whole fit: 'str' object has no attribute 'get'"),
    ],
)
def test_a_broken_fit_says_what_is_wrong(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = fit_file(tmp_path, **changes)
    with pytest.raises(InputError) as raised:
        checkpoint_document(CheckpointQuestion(failures=str(file)))

    assert str(raised.value).startswith(f"{file}: ")
    assert message in str(raised.value)


def test_files_that_are_no_fits_are_refused(tmp_path: Path) -> None:
    for text, message in (("", "cannot be read as a fit"), ("[]", "is not a fit"), ("{}", "is not a fit")):
        (tmp_path / "fit.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            checkpoint_document(CheckpointQuestion(failures=str(tmp_path / "fit.json")))
    with pytest.raises(InputError, match="cannot be read as a fit"):
        checkpoint_document(CheckpointQuestion(failures=str(tmp_path / "none.json")))


def shipped(name: str) -> Scenario:
    return load_scenario(data_folder() / "scenarios" / f"{name}.toml")


@pytest.mark.slow
@pytest.mark.nightly
def test_a_scenario_gets_a_line_for_each_size() -> None:
    """One job, two SKUs on offer, four sizes: eight lines, MTTF in inverse proportion to the nodes."""
    found = scenario_document(shipped("one-training-job"))
    (job,) = found["jobs"]

    assert [(one["sku"], one["nodes"]) for one in job["sizes"]] == [
        (sku, nodes) for sku in ("h100-8", "a100-80-8") for nodes in (2, 4, 8, 16)
    ]
    assert job["sizes"][0]["mttf_h"] == pytest.approx(8 * job["sizes"][3]["mttf_h"])
    assert all(one["ettr_fraction"] >= one["stated_ettr_fraction"] for one in job["sizes"])
    assert set(job["explanations"]) == {f"{one['sku']}.{one['nodes']}" for one in job["sizes"]}
    assert scenario_text(found).count("stockholm") == 8


@pytest.mark.slow
def test_a_size_of_a_scenario_rests_on_what_the_scenario_states() -> None:
    """Restart, PUE, power price and discount are the scenario's; its line and its full answer agree."""
    found = scenario_document(shipped("one-training-job"), CheckpointQuestion(sku="h100-8", nodes=16))
    job = found["jobs"][0]
    names = {step.name for step in explained(job["document"], "blocking.money").steps}

    assert {
        "scenario.reliability.restart",
        "scenario.sites.stockholm.pue",
        "scenario.policy.discount_rate",
        "scenario.sites.stockholm.electricity_price",
        "scenario.policy.node_life",
    } <= names
    assert mark(job["document"], "time-optimal")["ettr_fraction"] == job["sizes"][0]["stated_ettr_fraction"]
    assert job["document"]["inputs"]["model"] == "llama-3-8b"


def test_a_log_or_the_folder_of_a_fit_is_told_how_to_name_it(tmp_path: Path) -> None:
    """What one has in hand after `fit --out` is a folder, and before it a log."""
    (tmp_path / "fit.json").write_text("{}")
    (tmp_path / "log.csv").write_text("node,start")

    for name, said in (
        (tmp_path, "name the fit in that folder"),
        (tmp_path / "log.csv", "a log is fitted first"),
    ):
        with pytest.raises(InputError, match=said):
            checkpoint_document(CheckpointQuestion(failures=str(name)))


@pytest.mark.slow
@pytest.mark.nightly
def test_a_scenario_may_be_asked_with_another_fleet(tmp_path: Path) -> None:
    """The fit's 5 for RSC-1's 6.5: MTTF rises by 1.3."""
    file = fit_file(tmp_path)
    scenario, question = shipped("one-training-job"), CheckpointQuestion(sku="h100-8")
    theirs = scenario_document(scenario, question)["jobs"][0]["sizes"][0]
    ours = scenario_document(scenario, replace(question, failures=str(file)))
    waited = scenario_document(scenario, replace(question, queue_min=5.0))

    assert ours["jobs"][0]["sizes"][0]["mttf_h"] == pytest.approx(1.3 * theirs["mttf_h"])
    assert "ettr_with_queue_fraction" in waited["jobs"][0]["sizes"][0]


@pytest.mark.parametrize(
    ("scenario", "question", "message"),
    [
        ("one-training-job", {"job": "x"}, "no training job 'x' in scenario 'One 8B training run on new"),
        ("one-training-job", {"sku": "b200-8"}, "training.train-8b: may not use SKU 'b200-8'"),
        ("one-training-job", {"nodes": 0}, "--nodes: has to be from 1 to 1,000,000, got 0"),
        ("one-training-job", {"failures": "bogus"}, "no fleet with failures 'bogus'; there are: "),
        ("serving-only", {}, "has no training job: there is nothing to checkpoint"),
    ],
)
def test_wrong_questions_about_a_scenario(scenario: str, question: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        scenario_document(shipped(scenario), CheckpointQuestion(**question))

    assert message in str(raised.value)


# To the screen


@pytest.mark.parametrize("question", CASES)
def test_every_optimum_opens_to_its_sources(question: dict[str, Any]) -> None:
    found = document(**question)

    worth = {f"worth.{name}" for name in found["worth"]}
    intervals = {f"interval.{one['name']}" for one in found["marks"]}
    best = {f"{one['policy']}.{one['objective']}" for one in found["policies"]}
    assert found["explanations"].keys() == {"ettr"} | worth | intervals | best
    assert explained(found, "ettr").steps[0].value == mark(found, "time-optimal")["ettr_fraction"]
    for one in found["marks"]:
        first = explained(found, f"interval.{one['name']}").steps[0]
        assert first.value * 60 == pytest.approx(one["interval_min"])
    for name in found["explanations"]:
        leaves = [step for step in explained(found, name).steps if not step.inputs]
        assert all(step.source or step.kind == "chosen" for step in leaves)
        failing = any(step.name.endswith("failure_rate") for step in leaves)
        assert failing or name == "worth.usd_a_point_and_day"


def test_the_text_marks_every_optimum() -> None:
    found = document()
    text = to_text(found)

    for name in ("time-optimal", "money-optimal", "carbon-optimal", "Young", "Daly"):
        assert text.count(name) == 1
    assert "64 nodes of h100-8, failures as meta-llama-3-405b" in text
    table = text.splitlines()[3:]
    intervals = [float(line.split()[0].replace(",", "")) for line in table[: table.index("")]]
    assert intervals == sorted(intervals)


def test_what_a_point_of_goodput_is_worth() -> None:
    """The hours that the ETTR leaves of a day, and a hundredth of what the nodes cost in one."""
    found = document()
    best = found["marks"][0]

    worth = found["worth"]
    assert worth["not_training_h_a_day"] == pytest.approx(24 * (1 - best["ettr_fraction"]))
    # A useful hour costs an hour's price over ETTR, less what stalls save in power: a little below it.
    hours = 24 * best["usd_per_useful_h"] * best["ettr_fraction"]
    assert worth["usd_a_point_and_day"] == pytest.approx(hours / 100, rel=0.01)
    assert f"{worth['not_training_h_a_day']:.2f} h of a day train nothing" in to_text(found)
    assert found["explanations"]["worth.usd_a_point_and_day"]


# Wrong input


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"queue_min": -2.0}, "--queue-min: has to be from 0 to 10,000, got -2"),
        ({"storage_others_fraction": 1.0}, "--storage-others: has to be from 0 to below 1, got 1"),
        (
            {"spare_confidence_fraction": 1.0},
            "--spare-confidence: has to be a share between 0 and 1, got 1",
        ),
        ({"state": "bf16-adm"}, "no kind of training state 'bf16-adm'; near: bf16-adam"),
        ({"useful_h": 0.0}, "useful hours have to be above 0, got 0.0"),
        ({"replicas": 1}, "--simulate: has to be from 2 to 100,000, got 1"),
        ({"replicas": 10, "seed": -1}, "--seed: has to be 0 or more, got -1"),
        ({"nodes": 0}, "--nodes: has to be from 1 to 1,000,000, got 0"),
        ({"restart_min": -1.0}, "--restart-min: has to be from 0 to 10,000, got -1"),
        ({"restart_min": math.nan}, "--restart-min: has to be from 0 to 10,000, got nan"),
        ({"sku": "h200"}, "no SKU 'h200'; near: h200-8, h20-8, h100-8"),
        ({"grid": "uss"}, "no grid region 'uss'; near: us"),
        (
            {"storage": "tape", "nodes": -3},
            "no checkpoint storage 'tape'; there are: "
            "host-memory, nas, nvme-local, object-store, parallel-fs\n"
            "--nodes: has to be from 1 to 1,000,000, got -3",
        ),
    ],
)
def test_wrong_questions_are_answered_with_every_problem(question: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        checkpoint_document(CheckpointQuestion(**question))

    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("text", ["detect", "detect=x", "detect=-1", "load=3", "detect=nan"])
def test_restart_parts_that_are_not_understood(text: str) -> None:
    with pytest.raises(InputError, match="write minutes of detect, replace, initialise, warm_up"):
        parse_restart_parts(f"replace=1,{text}")


# To a folder


@pytest.mark.slow
@pytest.mark.nightly
def test_the_curve_is_written_whole(tmp_path: Path) -> None:
    """Curve, tables and document; at night written again in place; never over a stranger's files."""
    folder, found = tmp_path / "out", document(nodes=128)
    for _ in range(size(1, nightly=2)):
        save_checkpoints(found, folder)

    held = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert held == {"checkpoints.json", "checkpoints.svg", "checkpoints.html"} | {
        f"csv/{name}.csv"
        for name in ("checkpoints", "marks", "policies", "best", "stops", "recovery", "detection")
    }
    saved = json.loads((folder / "checkpoints.json").read_text(encoding="utf-8"))
    assert saved["tables"]["rows"] == json.loads(json.dumps(found["rows"]))
    lines = (folder / "csv" / "checkpoints.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(found["rows"]) + 1
    page = (folder / "checkpoints.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert all(html.escape(line) in page for line in sentences(found)), "what the terminal says in words"
    assert all(word in page for word in ("time-optimal", "two-level", "Every interval"))

    (folder / "mine.txt").write_text("keep", encoding="utf-8")
    with pytest.raises(ReportError, match=r"it holds 'mine\.txt'"):
        save_checkpoints(found, folder)
    assert (folder / "mine.txt").read_text(encoding="utf-8") == "keep"


@pytest.mark.slow
def test_a_scenario_is_written_as_sizes(tmp_path: Path) -> None:
    """No curve where many sizes were asked for: a table with a line for each."""
    found = scenario_document(shipped("one-training-job"))
    paths = save_checkpoints(found, tmp_path / "out")

    assert {path.name for path in paths} == {"checkpoints.json", "checkpoints.html", "sizes.csv"}
    sizes = (tmp_path / "out" / "csv" / "sizes.csv").read_text(encoding="utf-8").splitlines()
    assert len(sizes) == 9


# The command


@pytest.mark.slow
@pytest.mark.nightly
def test_every_new_option_reaches_the_question(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Finish, play, queue, line and folder in one call: each leaves its mark in the answer."""
    out = tmp_path / "out"
    question = "--nodes 256 --days 10 --simulate 20 --seed 4 --queue-min 5 --storage-others 0.5 --linear"
    more = f"--spare-confidence 0.9 --state bf16-momentum --restart-parts detect=1 --out {out} --json"
    assert main(["checkpoint", *question.split(), *more.split()]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    tables = found["tables"]

    assert tables["simulation"][0]["seed"] == 4
    assert tables["simulation"][0]["useful_h"] == pytest.approx(240, rel=0.02)
    assert tables["finish"][0]["mean_h"] > 240
    assert {"ettr_with_queue_fraction", "linear_in_range"} <= tables["rows"][0].keys()
    assert found["inputs"]["size_gb"] == pytest.approx(10 * 70.55, rel=0.01)
    assert (out / "csv" / "finish.csv").is_file()
    assert "checkpoints.html" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("one-training-job", "--grid", "us"),
            "the scenario says what --grid would: leave it out",
        ),
        (("--job", "x"), "--job is about a scenario: name one"),
        (("--set", "policy.discount_rate=5 %"), "--set is about a scenario: name one"),
        (("--restart-parts", "boot=3"), "restart parts: 'boot=3' is not understood"),
    ],
)
def test_options_that_do_not_go_together(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["checkpoint", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_scenario_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """`--set` changes it: twice the restart, and the full answer is for the size that was named."""
    question = ("one-training-job", "--sku", "h100-8", "--nodes", "8", "--set", "reliability.restart=20 min")
    assert main(["checkpoint", *question, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert found["answers"][0]["answers"][0]["inputs"]["restart_min"] == pytest.approx(20)
    assert main(["checkpoint", "one-training-job"]) == 0
    assert capsys.readouterr().out.startswith("train-8b: llama-3-8b, blocking as the scenario has it")


@pytest.mark.slow
def test_a_restart_of_adapters_reads_the_frozen_weights_too() -> None:
    """8.03e9 weights of 2 bytes next to the adapters, as fast as their own state is written."""
    adapters = with_changes(shipped("one-training-job"), {"training.train-8b.method": "lora"})
    parts = parse_restart_parts("detect=2,replace=5,initialise=3,warm_up=1")
    question = CheckpointQuestion(sku="h100-8", nodes=16, restart_parts=parts)
    found = scenario_document(adapters, question)["jobs"][0]["document"]["inputs"]
    frozen_gb = 2 * load_catalogue().fact("model.llama-3-8b.parameters").value / 1e9

    load_min = found["storage_write_min"] * (1 + frozen_gb / found["size_gb"])
    assert found["restart_min"] == pytest.approx(11 + load_min, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "told"), [(64, False), (20_000, True)])
def test_failures_during_restarts_are_told_where_they_count(nodes: int, told: bool) -> None:
    """Daly's complete form: ETTR' = W / (M exp(u0/M) (exp((W + C)/M) - 1)); 51.6 %, not 57.3, of 160,000."""
    found = document(nodes=nodes)
    inputs, best = found["inputs"], mark(found, "time-optimal")
    mttf, restart, write = inputs["mttf_h"], inputs["restart_min"] / 60, inputs["write_min"] / 60
    work = best["interval_min"] / 60
    whole = work / (mttf * math.exp(restart / mttf) * math.expm1((work + write) / mttf))

    assert found["worth"]["retried_ettr_fraction"] == pytest.approx(whole, rel=1e-9)
    assert ("Those that strike during one" in to_text(found)) is told
