"""`everfleet trace`: what it says of real traces, and that it is what the rows about them say."""

import json
import re

import pytest
from shape_check import shape_problems, unopened

import everfleet as ef
from planner.answers.traces import traces_document, traces_text
from planner.cli import main
from planner.inputs.loading import data_folder
from planner.trace.errors import InputError
from planner.validation.datasets import looking_in
from planner.validation.registry import evaluate

GRAPH = data_folder() / "samples" / "chakra_small.0.json"


def test_the_shipped_graph_by_type_and_place():
    """Seven nodes: three and two on the host, one computes and one sums on the accelerator (4 and 28 us)."""
    document = traces_document([GRAPH])
    rank = document["ranks"][0]

    times = {(row["type"], row["on"]): (row["operators"], row["time_s"]) for row in document["node_times"]}
    assert rank["operators"] == 7 == sum(nodes for nodes, _ in times.values())
    assert times["collective", "accelerator"] == (1, pytest.approx(28e-6))
    assert times["compute", "accelerator"] == (1, pytest.approx(4e-6))


@pytest.mark.slow
def test_eight_ranks_say_what_their_rows_say(shared):
    """The command and `validate` ask the same functions."""
    names = [f"et_traces/param_dlrm_8xV100_kineto_rank{rank}.json.gz" for rank in range(8)]
    document = traces_document([shared / "data" / name for name in names])

    with looking_in([shared / "data"]):
        question = {"trace": names, "measure": "slowest_over_mean_step"}
        assert (
            evaluate("trace_summary", question, "1")[0] == document["together"][0]["slowest_over_mean_ratio"]
        )
        question = {"trace": names[0], "measure": "exposed_communication"}
        exposed = document["ranks"][0]["exposed_communication_s"]
        assert evaluate("trace_summary", question, "s")[0] == exposed == pytest.approx(5537e-6)
    waits = [rank["communication_s"] for rank in document["ranks"]]
    assert (
        document["together"][0]["least_communication_s"] == min(waits) < max(waits) / 5
    )  # waiting for others is in it
    assert "The slowest step takes 1.24" in traces_text(document)


def test_the_command_prints_and_refuses(capsys, tmp_path):
    assert main(["trace", str(GRAPH)]) == 0
    assert re.search(r"1  collective  accelerator  0\.028$", capsys.readouterr().out, flags=re.MULTILINE)
    assert main(["trace", str(GRAPH), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["ranks"][0]["format"] == "Chakra JSON"
    (tmp_path / "no.json").write_text("{}")
    assert main(["trace", str(tmp_path / "no.json")]) == 2
    assert "no known trace" in capsys.readouterr().err


def kineto(name, scale, folder):
    """A rank of two kernels and one collective, `scale` times as long; half of the collective is hidden."""
    lasts = [
        ("gemm", 0.0, 10.0),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5.0, 10.0),
        ("gemm", 20.0, 5.0),
    ]
    args = [
        {"device": 0},
        {"device": 0, "Collective name": "allreduce", "In msg nelems": 1000, "dtype": "BFloat16"},
    ]
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": kernel,
            "ts": ts * scale,
            "dur": dur * scale,
            "args": args[at == 1],
        }
        for at, (kernel, ts, dur) in enumerate(lasts)
    ]
    path = folder / name
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return path


def test_the_parts_of_a_span_add_up(tmp_path):
    """10 + 5 us computed, 5 of 10 us of the collective exposed, 5 us idle: 25 us; 1,000 bf16 values given."""
    document = traces_document([kineto("one", 1.0, tmp_path)])
    rank, sent = document["ranks"][0], document["collectives"][0]

    assert rank["compute_s"] == pytest.approx(15e-6)
    assert rank["exposed_communication_s"] == rank["hidden_communication_s"] == pytest.approx(5e-6)
    assert rank["idle_s"] == pytest.approx(5e-6)
    assert rank["span_s"] == pytest.approx(
        rank["compute_s"] + rank["exposed_communication_s"] + rank["idle_s"]
    )
    assert (sent["collective"], sent["calls"], sent["given_gb"]) == ("all-reduce", 1, pytest.approx(2e-6))
    assert sent["kernel_s"] == pytest.approx(10e-6)


def test_two_kinds_of_ranks_are_told_apart(tmp_path):
    """Six quick and two slow ones: one of each stands for them, three to one, and meets their mean."""
    scales = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 3.0, 3.01]
    document = traces_document([kineto(str(at), one, tmp_path) for at, one in enumerate(scales)], 2)
    rows = document["representatives"]

    assert [row["weight_fraction"] for row in rows] == [0.75, 0.25]
    assert abs(rows[0]["weighted_error_fraction"]) < 0.01
    with pytest.raises(InputError, match="9 of 8 traces"):
        traces_document([kineto(str(at), 1.0, tmp_path) for at in range(8)], 9)
    (tmp_path / "graph").write_text('{"schema": "1.1.0", "nodes": []}')
    with pytest.raises(InputError, match="have to say when"):
        traces_document([kineto("a", 1.0, tmp_path), tmp_path / "graph"], 1)


def test_python_and_command_say_the_same_and_every_number_opens(capsys):
    assert main(["trace", str(GRAPH), "--json"]) == 0
    answer, printed = ef.trace(GRAPH), json.loads(capsys.readouterr().out)

    assert answer.to_dict() == printed
    assert shape_problems(printed) == []
    assert list(unopened(printed)) == []
    assert answer["node_times"][0]["time_s"].explain().unit == "s"


@pytest.mark.slow
def test_formats_of_one_job_agree_on_its_bytes(shared):
    """Profiler and graph of one rank; protobuf of a ResNet step and a graph of three of its steps."""
    folder = shared / "data" / "et_traces"

    def given(name):
        rows = traces_document([folder / name])["collectives"]
        return {row["collective"]: row["given_gb"] for row in rows if "given_gb" in row}

    assert given("param_dlrm_8xV100_kineto_rank0.json.gz") == given(
        "param_dlrm_8xV100_pytorch_et_rank0.json.gz"
    )
    once, thrice = given("chakra_8gpu_resnet.0.et.gz"), given("param_resnet_1gpu_pytorch_et_1.0.3.json.gz")
    assert thrice["all-reduce"] == pytest.approx(3 * once["all-reduce"])
    ranks = [folder / f"param_dlrm_8xV100_kineto_rank{rank}.json.gz" for rank in range(8)]
    assert abs(traces_document(ranks, 3)["representatives"][0]["weighted_error_fraction"]) < 0.05
