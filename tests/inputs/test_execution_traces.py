"""Execution traces: the same few kernels in each format, damaged files, and the files of the projects."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.inputs.execution_traces import read_trace
from planner.inputs.streams import PIECE_BYTES, json_entries, messages_of, written_varint
from planner.trace.errors import InputError

KERNELS = [("gemm", 10.0, 4.0), ("ncclDevKernel_AllReduce", 12.0, 6.0), ("Memset (Device)", 30.0, 1.0)]


def kineto(events=()):
    kernels = [
        {"ph": "X", "cat": "kernel", "name": name, "ts": ts, "dur": dur, "args": {"device": 0}}
        for name, ts, dur in KERNELS
    ]
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 5.0, "dur": 40.0}
    host = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1.0, "dur": 100.0}
    return {"schemaVersion": 1, "traceEvents": [*kernels, step, host, {"ph": "M", "name": "x"}, *events]}


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def protobuf(nodes):
    """A first message about the file, then one for each node, each after its length."""
    messages = [field(1, b"0.0.4")]
    for kind, on_cpu, microseconds in nodes:
        attribute = field(1, b"is_cpu_op") + field(27, int(on_cpu))
        messages.append(
            field(1, 7) + field(2, b"node") + field(3, kind) + field(7, microseconds) + field(10, attribute)
        )
    return b"".join(varint(len(message)) + message for message in messages)


NODES = [(4, True, 300), (4, False, 1200), (7, False, 28), (4, False, 0)]


def written(path, data):
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def test_kineto_tells_kernels_and_steps(tmp_path):
    for name, data in (("plain", json.dumps(kineto()).encode()), ("packed", None)):
        found = read_trace(written(tmp_path / name, data or gzip.compress(json.dumps(kineto()).encode())))

        assert found.form == "Kineto"
        assert list(np.round(found.start_s * 1e6)) == [0, 2, 20]
        assert list(np.round(found.end_s * 1e6)) == [4, 8, 21]
        assert list(found.is_collective) == [False, True, False]
        assert found.step_s == pytest.approx([40e-6])


def test_two_accelerators_in_one_file_are_refused(tmp_path):
    other = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 1, "args": {"device": 1}}

    with pytest.raises(InputError, match="2 accelerators: give a trace of each rank"):
        read_trace(written(tmp_path / "two", kineto([other])))


def test_chakra_as_json_and_as_protobuf_is_the_same(tmp_path):
    graph = [{"NodeType": kind, "is_cpu_op": cpu, "runtime": us} for kind, cpu, us in NODES]
    del graph[3]["runtime"]  # absent in real files: it took no time

    text = read_trace(written(tmp_path / "json", {"workload_graph": graph}))
    binary = read_trace(written(tmp_path / "et", protobuf(NODES)))

    assert (text.form, binary.form) == ("Chakra JSON", "Chakra protobuf")
    for one in (text, binary):
        assert one.nodes == 4
        assert list(one.node_type) == [4, 4, 7, 4]
        assert list(one.on_cpu) == [True, False, False, False]
        assert one.node_s == pytest.approx([300e-6, 1200e-6, 28e-6, 0.0])


def test_a_pytorch_trace_has_nodes_alone(tmp_path):
    found = read_trace(written(tmp_path / "et", {"schema": "1.1.0", "nodes": [{"id": 1}, {"id": 2}]}))

    assert (found.form, found.nodes, found.start_s.size) == ("PyTorch execution trace", 2, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"{}",
        b'{"traceEvents": 3}',
        b'{"workload_graph": [{"NodeType": "four"}]}',
        gzip.compress(b"{}", mtime=0)[:-9] + b"xxxx",
        protobuf(NODES)[:-3],
        b"\xff" * 40,
    ],
)
def test_what_is_no_trace_is_refused_with_its_name(tmp_path, data):
    with pytest.raises(InputError, match="broken"):
        read_trace(written(tmp_path / "broken", data))


@settings(max_examples=60)
@given(data=st.binary(max_size=60), cut=st.integers(0, 80))
def test_no_bytes_break_the_reader(tmp_path_factory, data, cut):
    path = tmp_path_factory.getbasetemp() / "any"
    whole, refused = protobuf(NODES), []
    for content in (data, whole[:cut] + data + whole[cut:]):
        try:
            assert read_trace(written(path, content)).nodes >= 0
        except InputError as error:
            refused.append(str(error))
    assert all("any" in said for said in refused)


def test_the_same_graph_of_a_real_run_in_both_forms(shared):
    folder = shared / "data" / "et_traces"
    text, binary = (read_trace(folder / f"chakra_8gpu_resnet.0.{form}.gz") for form in ("json", "et"))

    assert text.nodes == binary.nodes == 3664
    assert np.array_equal(text.node_type, binary.node_type)
    assert np.array_equal(text.on_cpu, binary.on_cpu)
    assert text.node_s == pytest.approx(binary.node_s)


def test_no_more_than_a_piece_is_read_ahead():
    """Each entry of a list of 200 is handed over before more than two further pieces were asked for."""
    entry = json.dumps({"ph": "X", "name": "x" * (PIECE_BYTES // 4)}).encode()
    asked, ahead = [], []

    def pieces():
        yield b'{"traceEvents": ['
        for at in range(200):
            asked.append(at)
            yield entry + (b"," if at < 199 else b"]}")

    json_entries(pieces(), {"traceEvents": lambda _: ahead.append(len(asked))}, "traceEvents")
    assert len(ahead) == 200
    assert max(seen - at for at, seen in enumerate(ahead)) < 12


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_pieces_of_any_size_give_the_same(size):
    """Numbers, strings and letters of several bytes may be cut anywhere."""
    text = json.dumps(
        {"a": 12345.5, "list": [{"b": [1, 2]}, "\u00e9\n", 17], "c": {"list": []}}, ensure_ascii=False
    )
    data, taken = text.encode(), []
    pieces = iter([data[at : at + size] for at in range(0, len(data), size)])

    found = json_entries(pieces, {"list": taken.append}, "list")
    assert taken == [{"b": [1, 2]}, "\u00e9\n", 17]
    assert found == {"a": 12345.5, "list": None, "c": {"list": []}}
    messages = [b"", b"x" * 200, b"yz"]
    whole = b"".join(written_varint(len(one)) + one for one in messages)
    assert list(messages_of(iter([whole[at : at + size] for at in range(0, len(whole), size)]))) == messages


@pytest.mark.parametrize("text", ['{"list": [1 2]}', '{"list": [1,', '{"a" 1}', "[1] x", '{"a": 1,}', "3"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match=r"delimiter|missing|follows|comma|Expecting|'{'"):
        json_entries(iter([text.encode()]), {"list": lambda _: None}, "list")


@pytest.mark.parametrize("wrong", [{"dur": -1}, {"dur": float("nan")}, {"ts": float("inf")}, {"dur": 1e300}])
def test_times_that_no_kernel_has_are_refused(tmp_path, wrong):
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 1, "args": {"device": 0}}

    with pytest.raises(InputError, match=r"no time|lasts less"):
        read_trace(written(tmp_path / "wrong", kineto([kernel | wrong])))
