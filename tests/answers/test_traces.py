"""`everfleet trace`: what it says of real traces, and that it is what the rows about them say."""

import json

import pytest

from planner.answers.traces import traces_document, traces_text
from planner.cli import main
from planner.inputs.catalogue import data_folder
from planner.validation.datasets import looking_in
from planner.validation.registry import evaluate

GRAPH = data_folder() / "samples" / "chakra_small.0.json"


def test_the_shipped_graph_by_type_and_place():
    """Seven nodes: three and two on the host, one computes and one sums on the accelerator (4 and 28 us)."""
    rank = traces_document([GRAPH])["ranks"][0]

    times = {(row["type"], row["on"]): (row["nodes"], row["time_s"]) for row in rank["node_times"]}
    assert rank["nodes"] == 7 == sum(nodes for nodes, _ in times.values())
    assert times["collective", "accelerator"] == (1, pytest.approx(28e-6))
    assert times["compute", "accelerator"] == (1, pytest.approx(4e-6))


@pytest.mark.slow
def test_eight_ranks_say_what_their_rows_say(shared):
    """The command and `validate` ask the same functions."""
    names = [f"et_traces/param_dlrm_8xV100_kineto_rank{rank}.json.gz" for rank in range(8)]
    document = traces_document([shared / "data" / name for name in names])

    with looking_in([shared / "data"]):
        question = {"trace": names, "measure": "slowest_over_mean_step"}
        assert evaluate("trace_summary", question, "1")[0] == document["slowest_over_mean_step"]
        question = {"trace": names[0], "measure": "exposed_communication"}
        exposed = document["ranks"][0]["exposed_communication_s"]
        assert evaluate("trace_summary", question, "s")[0] == exposed == pytest.approx(5537e-6)
    waits = [rank["communication_s"] for rank in document["ranks"]]
    assert document["least_communication_s"] == min(waits) < max(waits) / 5  # waiting for others is in it
    assert "The slowest step takes 1.24" in traces_text(document)


def test_the_command_prints_and_refuses(capsys, tmp_path):
    assert main(["trace", str(GRAPH)]) == 0
    assert "1 collective nodes on the accelerator: 0.028 ms" in capsys.readouterr().out
    assert main(["trace", str(GRAPH), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranks"][0]["format"] == "Chakra JSON"
    (tmp_path / "no.json").write_text("{}")
    assert main(["trace", str(tmp_path / "no.json")]) == 2
    assert "no known trace" in capsys.readouterr().err
