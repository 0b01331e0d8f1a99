"""Execution traces as measurements: constants that were put in come out, and other layouts follow."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from shape_check import unopened

import everfleet as ef
from planner.answers.calibration import Stated, calibration_document, to_text
from planner.answers.calibration.traced import traced_step
from planner.answers.throughput import Question, step_graph, throughput_document
from planner.cli import ANSWER, WRONG_INPUT, main
from planner.inputs.catalogue import make_fact
from planner.inputs.execution_traces import ExecutionTrace, is_trace, read_trace
from planner.inputs.fits import read_calibration, traced_facts
from planner.inputs.loading import data_folder, load_catalogue
from planner.report.chakra import chakra_messages
from planner.trace.errors import InputError
from planner.trace.quantities import Source

CHIP = "h100-sxm-80gb"
EFFICIENCY = f"accelerator.{CHIP}.matrix_efficiency"
# What is put into the step that is traced: matrices, exchanges and host all other than shipped.
PLANTED = {"matrix_efficiency": 0.6, "exchange_factor": 1.7, "fixed_time": 0.12}
ASKED = Question("llama-3.1-70b", skus=("h100-8",), nodes=(16,), batch_tokens=2 * 2**20)
LAYOUT = ("tp", "pp", "interleave", "cp", "micro_batch", "recompute", "sharding")
MINE = Source("mine", "planted")


@cache
def planted() -> tuple[bytes, Stated, dict[str, Any]]:
    """The graph of a step with those constants, what there is to say about it, and its row."""
    facts = [
        make_fact(EFFICIENCY, PLANTED["matrix_efficiency"], "1", MINE),
        *traced_facts(CHIP, PLANTED, MINE),
    ]
    catalogue = load_catalogue().with_facts(facts)
    (row,) = throughput_document(ASKED, catalogue)["rows"]
    said = Stated(
        sku="h100-8",
        model=ASKED.model,
        precision="bf16",
        accelerators=128,
        layout=",".join(f"{name}={row[name]}" for name in LAYOUT),
        batch_sequences=256,
        sequence_tokens=8192,
    )
    return chakra_messages(step_graph(ASKED, catalogue)), said, row


@pytest.fixture
def graph(tmp_path: Path) -> tuple[Path, Stated]:
    path = tmp_path / "rank0.et.gz"
    path.write_bytes(gzip.compress(planted()[0]))
    return path, planted()[1]


def one(path: Path, said: Stated, layouts: str = "") -> dict[str, Any]:
    (found,) = calibration_document(path, stated=said, layouts=layouts)["hardware"]
    return dict(found)


def test_constants_that_were_put_in_come_out(graph: tuple[Path, Stated]) -> None:
    """Matrices, exchanges and host are each found by their own term, though the shipped ones are other."""
    found = one(*graph)
    constants = {row["name"]: row["value"] for row in found["traced"]["constants"]}

    assert planted()[2]["pp"] > 1  # so a receive waits through the bubble, and is taken apart from exchanges
    assert found["speed"]["after"] == pytest.approx(PLANTED["matrix_efficiency"], rel=1e-4)
    assert constants["exchange_factor"] == pytest.approx(PLANTED["exchange_factor"], rel=1e-3)
    assert constants["fixed_time"] == pytest.approx(PLANTED["fixed_time"], rel=1e-3)
    for row in found["traced"]["terms"]:
        assert row["after_s"] == pytest.approx(row["measured_s"], rel=1e-3), row["term"]
        assert row["before_s"] != pytest.approx(row["measured_s"], rel=0.02), row["term"]


def test_the_terms_of_a_step_add_up_and_open(graph: tuple[Path, Stated]) -> None:
    found = ef.calibrate(graph[0], **{name: getattr(graph[1], name) for name in graph[1].given()}, at="dp=32")
    rows = {row["term"]: row for row in found.to_dict()["tables"]["hardware_traced_terms"]}

    for column in ("measured_s", "before_s", "after_s"):
        parts = sum(rows[name][column] for name in ("compute", "exposed", "idle"))
        assert parts == pytest.approx(rows["step"][column], rel=1e-9)
    assert list(unopened(found.to_dict())) == []


def test_other_layouts_are_those_of_throughput_with_the_same_constants(
    graph: tuple[Path, Stated], tmp_path: Path
) -> None:
    """One road: what `--at` says of a layout is what `throughput --calibration` says of it."""
    path, said = graph
    asked = replace(ASKED, nodes=(32,), calibration=tmp_path / "mine.json")
    document = calibration_document(path, stated=said)
    (tmp_path / "mine.json").write_text(json.dumps(document), encoding="utf-8")
    (row,) = throughput_document(asked)["rows"]
    layout = ",".join(f"{name}={row[name]}" for name in ("dp", *LAYOUT))

    ranked = one(path, said, f"{layout}; tp=8,pp=1,dp=16,interleave=1; tp=3")["speed"]["layouts"]

    same = next(each for each in ranked if each["named"] == layout)
    assert same["step_s"] == pytest.approx(row["step_s"], rel=1e-9)
    assert same["accelerators"] == 256
    rates = [each["tokens_per_s"] for each in ranked if "reason" not in each]
    assert rates == sorted(rates, reverse=True)
    for each in ranked:
        if "reason" not in each:
            terms = ("compute_s", "exposed_s", "bubble_s", "idle_s")
            assert sum(each[name] for name in terms) == pytest.approx(each["step_s"], rel=1e-9)
    assert "tp 3 does not divide" in ranked[-1]["reason"]


@pytest.mark.parametrize("value", [-0.1, 1e4, float("nan"), "1", None])
def test_a_constant_that_cannot_be_is_no_calibration(
    graph: tuple[Path, Stated], tmp_path: Path, value: Any
) -> None:
    document = calibration_document(graph[0], stated=graph[1])
    document["hardware"][0]["traced"]["constants"][0]["value"] = value
    (tmp_path / "mine.json").write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(InputError, match="is no calibration"):
        read_calibration(tmp_path / "mine.json")


def test_what_does_not_fit_in_memory_is_no_layout(graph: tuple[Path, Stated]) -> None:
    """70 G weights with 16 bytes of state on one accelerator: 1.1 TB."""
    (row,) = one(*graph, "tp=1,pp=1,dp=128,interleave=1,sharding=0")["speed"]["layouts"]

    assert "tokens_per_s" not in row
    assert "GB" in row["reason"]


def gpt_3(folder: Path, compute_s: float, sends_s: float) -> tuple[Path, Stated]:
    """A step of 0.8 s of GPT-3 15B on 32 H100 at TP2 PP2, as one rank saw it."""
    card = {"model_type": "gpt2", "n_embd": 6144, "n_head": 48, "n_layer": 48, "n_inner": 12288}
    (folder / "config.json").write_text(json.dumps(card | {"vocab_size": 51200}), encoding="utf-8")
    model = str(folder / "config.json")
    kernels = [("gemm", 0.0, 1e6 * compute_s), ("ncclDevKernel_SendRecv", 1e6 * compute_s, 1e6 * sends_s)]
    trace = kineto(folder, "rank0.json", kernels, steps=1, step_us=800_000.0, world_size=32)
    said = Stated("h100-8", model, "bf16", layout="tp=2,pp=2", batch_sequences=32, sequence_tokens=2048)
    return trace, said


def test_twice_the_copies_of_gpt_3_take_as_much_longer_as_published(tmp_path: Path) -> None:
    """Lumos (2504.09307), figure 7a, weak scaling from 32 to 64 H100: 1.033 times the step.

    How the step is divided is not published: four micro-batches in two stages wait for a quarter of its work.
    """
    path, said = gpt_3(tmp_path, 0.56, 0.2)
    found = one(path, said, "dp=8; dp=16,batch=64")
    rows = {row["named"]: row for row in found["speed"]["layouts"]}

    assert rows["dp=8"]["step_s"] == pytest.approx(0.8, rel=1e-6)  # as traced
    assert rows["dp=16,batch=64"]["step_s"] / rows["dp=8"]["step_s"] == pytest.approx(1.033, rel=0.03)
    assert found["traced"]["note"] == ""


def test_a_layout_that_the_trace_contradicts_is_told(tmp_path: Path) -> None:
    """A bubble of 0.18 s does not fit into a step that waits 0.1 s in all."""
    path, said = gpt_3(tmp_path, 0.7, 0.06)
    document = calibration_document(path, stated=said)

    assert "is --layout the one that was traced?" in to_text(document)
    assert document["hardware"][0]["traced"]["note"].startswith("its terms come to 880")


def test_a_second_size_next_to_a_trace_says_the_error(graph: tuple[Path, Stated], tmp_path: Path) -> None:
    """A table of another size is fitted with the trace's exchanges and host; each of both is left out."""
    (row,) = one(*graph, "dp=32")["speed"]["layouts"]
    header = "sku,model,precision,accelerators,batch_sequences,sequence_tokens,quantity,value,unit,source,"
    layout = {name: graph[1].layout.split(f"{name}=")[1].split(",")[0] for name in LAYOUT}
    cells = ["h100-8", ASKED.model, "bf16", row["accelerators"], row["batch_sequences"], 8192]
    cells += ["step_time", row["step_s"], "s", "me", *layout.values()]
    table = tmp_path / "mine.csv"
    table.write_text(f"{header}{','.join(layout)}\n{','.join(map(str, cells))}\n", encoding="utf-8")

    (found,) = calibration_document([table, graph[0]], stated=graph[1])["hardware"]

    assert found["speed"]["expected_error"]["worst"] == pytest.approx(0.0, abs=1e-3)
    assert len(found["speed"]["expected_error"]["errors"]) == 2


# ---- what is read of a trace


def kineto(
    folder: Path,
    name: str,
    kernels: list[tuple[str, float, float]],
    steps: int = 2,
    step_us: float = 100.0,
    **job: int,
) -> Path:
    events = [
        {"ph": "X", "cat": "kernel", "name": kernel, "ts": ts, "dur": dur, "pid": 0, "args": {"device": 0}}
        for kernel, ts, dur in kernels
    ]
    events += [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{at}",
            "ts": step_us * at,
            "dur": step_us,
        }
        for at in range(steps)
    ]
    path = folder / name
    path.write_text(json.dumps({"distributedInfo": job, "traceEvents": events}), encoding="utf-8")
    return path


KERNELS = [("gemm", 10.0, 60.0), ("ncclDevKernel_AllReduce_Sum", 60.0, 20.0), ("gemm", 110.0, 70.0)]


def test_terms_are_of_one_step_of_those_that_the_profiler_marks(tmp_path: Path) -> None:
    """130 us of kernels and 10 of 20 us of the sum alone in two steps of 100 us; 60 us of them idle."""
    found = traced_step(read_trace(kineto(tmp_path, "a", KERNELS)))

    assert (found.steps, found.receives) == (2, False)
    assert found.step_s == pytest.approx(100e-6)
    assert found.compute_s == pytest.approx(65e-6)
    assert found.exposed_s == pytest.approx(5e-6)
    assert found.idle_s == pytest.approx(30e-6)


def test_a_step_lasts_as_long_as_the_device_where_the_host_runs_ahead(tmp_path: Path) -> None:
    """Marks of 100 us, and kernels over 340 us: 170 us a step."""
    found = traced_step(read_trace(kineto(tmp_path, "a", [("gemm", 0.0, 300.0), ("ncclRecv", 310.0, 30.0)])))

    assert found.step_s == pytest.approx(170e-6)
    assert found.receives is False
    late = [("gemm", 0.0, 300.0), ("ncclDevKernel_SendRecv(x)", 310.0, 30.0)]
    assert traced_step(read_trace(kineto(tmp_path, "b", late))).receives


SAID = Stated("h100-8", "llama-3.1-8b", "bf16", layout="tp=1,pp=1", batch_sequences=8, sequence_tokens=8192)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (Stated(), "lacks the node .--sku., the model .--model., its number format"),
        (replace(SAID, accelerators=16), "--accelerators 16: the traces say 8"),
        (replace(SAID, layout="tp=1"), "'tp=1' does not say pp"),
        (replace(SAID, layout="tp=1,pq=1"), "there is no part 'pq'; there is tp, pp"),
        (replace(SAID, layout="tp=0,pp=1"), "tp is '0': write a whole number of 1 or more"),
        (replace(SAID, layout="tp=1,tp=1,pp=1"), "tp is written twice"),
        (replace(SAID, sku="h200"), "there is no sku 'h200'; near: h200-8"),
        (replace(SAID, batch=8.0), "--batch: is of result files"),
        (SAID, "mine: measured_step_s must lie between"),  # a step of 100 us: no matrices are as fast
    ],
)
def test_what_is_stated_wrongly_is_named(tmp_path: Path, said: Stated, problem: str) -> None:
    path = kineto(tmp_path, "mine", KERNELS, world_size=8)

    with pytest.raises(InputError, match=problem):
        calibration_document(path, stated=said)


def test_a_trace_without_times_or_steps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="marks no step: profile with a schedule"):
        traced_step(read_trace(kineto(tmp_path, "a", KERNELS, steps=0)))
    with pytest.raises(InputError, match="which does not say when kernels ran"):
        traced_step(ExecutionTrace("a", "PyTorch execution trace", nodes=3))
    with pytest.raises(InputError, match="--layout, --batch-sequences, --sequence-tokens: none of the files"):
        calibration_document(data_folder() / "samples" / "measurements.csv", stated=SAID)


def test_content_tells_a_trace_from_other_files(tmp_path: Path, graph: tuple[Path, Stated]) -> None:
    """Packed or not, JSON or protobuf; tables and results of benchmarks are none."""
    (tmp_path / "list").write_text('[{"ph": "X", "ts": 1, "pid": 0}]', encoding="utf-8")
    (tmp_path / "wide").write_bytes("sku,model\n".encode("utf-16"))
    samples = data_folder() / "samples"

    assert is_trace(graph[0])
    assert is_trace(tmp_path / "list")
    assert is_trace(samples / "chakra_small.0.json")
    assert not any(
        map(is_trace, (samples / "measurements.csv", samples / "bench-serve.json", tmp_path / "wide"))
    )


@pytest.mark.slow
def test_the_rank_that_waits_least_stands_for_the_step(shared: Path) -> None:
    """Eight ranks of one recommendation step: its terms add up; its model has no layers to calibrate on."""
    paths = [
        shared / "data" / "et_traces" / f"param_dlrm_8xV100_kineto_rank{rank}.json.gz" for rank in range(8)
    ]
    ranks = [traced_step(read_trace(path)) for path in paths]

    for rank in ranks:
        assert 0 < rank.idle_s < rank.step_s
    assert max(rank.exposed_s for rank in ranks) > 3 * min(rank.exposed_s for rank in ranks)
    with pytest.raises(InputError, match="there is no model 'dlrm-dcnv2'"):
        calibration_document(paths, stated=replace(SAID, model="dlrm-dcnv2"))


def test_the_command_prints_terms_and_layouts(
    graph: tuple[Path, Stated], capsys: pytest.CaptureFixture[str]
) -> None:
    path, said = graph
    flags = [
        part for name in said.given() for part in (f"--{name.replace('_', '-')}", str(getattr(said, name)))
    ]

    assert main(["calibrate", str(path), *flags, "--at", "dp=32; tp=8,pp=4,dp=4"]) == ANSWER
    printed = capsys.readouterr().out
    assert "communication with nothing else running" in printed
    assert "exchanges x 1.700; fixed time of a step" in printed
    assert "most tokens a second first" in printed
    assert "one trace cannot be left out" in printed
    assert main(["calibrate", str(path), *flags, "--at", "dp=x"]) == WRONG_INPUT
    assert "--at: dp is 'x'" in capsys.readouterr().err
