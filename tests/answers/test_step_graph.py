"""`throughput --graph`: a predicted step as a Chakra graph, read back by ours and by the public schema."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.answers.throughput import Question, step_graph, throughput_document
from planner.cli import ANSWER, WRONG_INPUT, main
from planner.inputs.execution_traces import COLLECTIVE_NODE, read_trace
from planner.inputs.streams import messages_of
from planner.report.chakra import (
    COMPUTE_NODE,
    RECEIVE_NODE,
    SEND_NODE,
    Operation,
    chakra_json,
    chakra_messages,
)

ASKED = Question("llama-3.1-70b", skus=("h100-8",), nodes=(128,), batch_tokens=16 * 2**20)


@cache
def graph() -> tuple[Operation, ...]:
    return tuple(step_graph(ASKED))


def test_operations_follow_one_another_and_end_with_the_step() -> None:
    """Their times and the gap of bubble and stragglers are the step that the table has."""
    (row,) = throughput_document(ASKED)["rows"]
    ends, starts = [one.end_s for one in graph()], [one.start_s for one in graph()]

    assert ends[-1] == pytest.approx(row["step_s"])
    assert starts[0] == 0
    assert all(start >= end for start, end in zip(starts[1:], ends, strict=False))
    assert {one.kind for one in graph()} <= {COMPUTE_NODE, SEND_NODE, RECEIVE_NODE, COLLECTIVE_NODE}
    work = sum(one.end_s - one.start_s for one in graph() if one.kind == COMPUTE_NODE)
    assert 0.5 < work / row["step_s"] <= 1 - row["exposed_fraction"] + 1e-9


def test_sizes_are_those_of_the_layout() -> None:
    """Sums of 4 B/element of all activations; gradients of 70.6 G weights in 16 bits over a rank's part."""
    (row,) = throughput_document(ASKED)["rows"]
    sums = next(one for one in graph() if one.name == "micro-batch 1: tensor-parallel sums")
    values = row["micro_batch"] * 8192 / row["cp"] * 8192 * 2
    assert sums.sent_bytes == pytest.approx(2 * 2 * 80 / row["pp"] * values)
    assert sums.collective == "all_reduce"


def test_both_forms_come_back_alike_to_the_microsecond(tmp_path: Path) -> None:
    (tmp_path / "step.json").write_text(chakra_json(graph()), encoding="utf-8")
    (tmp_path / "step.et").write_bytes(chakra_messages(graph()))
    text, binary = read_trace(tmp_path / "step.json"), read_trace(tmp_path / "step.et")

    assert text.nodes == binary.nodes == len(graph())
    assert np.array_equal(text.node_type, [one.kind for one in graph()])
    assert np.array_equal(text.node_s, binary.node_s)
    assert np.array_equal(text.node_type, binary.node_type)
    assert text.collectives == binary.collectives
    assert text.node_s.sum() == pytest.approx(sum(one.end_s - one.start_s for one in graph()), abs=1e-3)


def public_node() -> Any:
    """The message of a node as the public schema has it, by Google's own library."""
    pb = pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    assert pb is not None
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="chakra", syntax="proto3")
    attribute, node = file.message_type.add(name="AttributeProto"), file.message_type.add(name="Node")
    for name, number, kind in (("name", 1, kinds.TYPE_STRING), ("int64_val", 9, kinds.TYPE_INT64)):
        attribute.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    attribute.field.add(name="bool_val", number=27, type=kinds.TYPE_BOOL, label=kinds.LABEL_OPTIONAL)
    for name, number, kind in (
        ("id", 1, kinds.TYPE_UINT64),
        ("name", 2, kinds.TYPE_STRING),
        ("type", 3, kinds.TYPE_INT32),
        ("start_time_micros", 6, kinds.TYPE_UINT64),
        ("duration_micros", 7, kinds.TYPE_UINT64),
    ):
        node.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    node.field.add(name="data_deps", number=5, type=kinds.TYPE_UINT64, label=kinds.LABEL_REPEATED)
    node.field.add(
        name="attr",
        number=10,
        type=kinds.TYPE_MESSAGE,
        type_name=".chakra.AttributeProto",
        label=kinds.LABEL_REPEATED,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("chakra.Node"))


def test_the_public_schema_reads_every_node() -> None:
    """Field numbers and kinds of et_def.proto, decoded by protobuf itself: nothing is left over."""
    message = public_node()
    _, *nodes = messages_of(iter([chakra_messages(graph())]))

    assert len(nodes) == len(graph())
    for at, (data, wanted) in enumerate(zip(nodes, graph(), strict=True)):
        node = message.FromString(data)
        assert (node.id, node.name, node.type) == (at, wanted.name, wanted.kind)
        assert list(node.data_deps) == ([at - 1] if at else [])
        assert (node.start_time_micros, node.duration_micros) == (wanted.start_us, wanted.lasts_us)
        held = {one.name: one.int64_val for one in node.attr if one.name != "is_cpu_op"}
        assert held == wanted.attributes
        assert not node.attr[0].bool_val


def test_the_command_writes_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "step.json"
    asked = ["throughput", "llama-3.1-8b", "--sku", "h100-8", "--nodes"]

    assert main([*asked, "1", "--graph", str(path)]) == ANSWER
    assert (
        json.loads(path.read_text(encoding="utf-8"))["workload_graph"][0]["Name"] == "micro-batch 1: layers"
    )
    assert main([*asked, "1,2", "--graph", str(path)]) == WRONG_INPUT
    assert main([*asked, "1", "--graph", str(tmp_path / "step.txt")]) == WRONG_INPUT
    assert (
        main(["throughput", "dlrm-dcnv2", "--sku", "h100-8", "--nodes", "1", "--graph", str(path)])
        == WRONG_INPUT
    )
    both = ["--graph", str(path), "--across", "se:1,no:1", "--link", "1 GB/s, 1 ms"]
    assert main(["throughput", "llama-3.1-8b", *both]) == WRONG_INPUT
    assert capsys.readouterr().err.count("--graph") == 4
