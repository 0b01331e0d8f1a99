"""Execution traces of training: Kineto, PyTorch execution traces, Chakra as JSON and as protobuf.

The content tells the format, gzip or not. Seconds come out; a node without a run time counts as one that
took none.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.files import parse_json, read_limited
from planner.trace.errors import InputError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LARGEST_BYTES = 1_000_000_000  # unpacked: traces of one step are tens of megabytes
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
COLLECTIVE_NAMES = ("nccl", "rccl", "hccl")
STEP = "ProfilerStep"
_MICROSECOND = 1e-6
# Fields of Chakra's messages: et_def.proto of github.com/mlcommons/chakra.
_TYPE, _DURATION, _ATTRIBUTE, _NAME = 3, 7, 10, 1
_BOOL_VALUE = 27
_NO_NODE = 0


@dataclass(frozen=True, slots=True)
class ExecutionTrace:
    """What one rank did. Columns that a format does not have are empty.

    `node_type`, `on_cpu` and `node_s` have a row for each node of a Chakra graph; `start_s`, `end_s` and
    `is_collective` one for each kernel, copy or memset on the accelerator; `step_s` holds whole steps.
    """

    name: str
    form: str
    nodes: int = 0
    node_type: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    on_cpu: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool))
    node_s: Floats = field(default_factory=lambda: np.zeros(0))
    start_s: Floats = field(default_factory=lambda: np.zeros(0))
    end_s: Floats = field(default_factory=lambda: np.zeros(0))
    is_collective: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool))
    step_s: Floats = field(default_factory=lambda: np.zeros(0))


def read_trace(path: Path) -> ExecutionTrace:
    """A trace of any of the formats.

    Raises:
        InputError: the file cannot be read, is damaged, or is of none of them.
    """
    try:
        data = _unpacked(path, read_limited(path, instead="trace one step"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    try:
        if data.lstrip()[:1] == b"{":
            return _from_json(path, parse_json(data))
        return _chakra_messages(path, data)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path}: no Kineto, PyTorch or Chakra trace that can be read: {type(error).__name__}: {error}"
        ) from error


def _unpacked(path: Path, data: bytes) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(data, LARGEST_BYTES)
    except zlib.error as error:
        raise InputError(f"{path}: damaged gzip: {error}") from error
    if unpacker.unconsumed_tail:
        raise InputError(f"{path}: more than {LARGEST_BYTES // 1_000_000} MB unpacked: trace fewer steps")
    return plain


def _from_json(path: Path, found: Mapping[str, Any]) -> ExecutionTrace:
    if "traceEvents" in found:
        return _kineto(path, found["traceEvents"])
    if "workload_graph" in found:
        nodes = found["workload_graph"]
        return _chakra(
            path,
            "Chakra JSON",
            [(n["NodeType"], n.get("is_cpu_op", False), n.get("runtime", 0.0)) for n in nodes],
        )
    if "schema" in found and "nodes" in found:
        return ExecutionTrace(path.name, "PyTorch execution trace", nodes=len(found["nodes"]))
    raise InputError(
        f"{path}: JSON of no known trace: Kineto has traceEvents, Chakra workload_graph, PyTorch schema and "
        "nodes"
    )


def _kineto(path: Path, events: Sequence[Mapping[str, Any]]) -> ExecutionTrace:
    whole = [event for event in events if event.get("ph") == "X" and "dur" in event]
    device = [event for event in whole if str(event.get("cat", "")).lower() in ON_DEVICE]
    devices = {event.get("args", {}).get("device", event.get("pid")) for event in device}
    if len(devices) > 1:
        raise InputError(f"{path}: kernels of {len(devices)} accelerators: give a trace of each rank")
    first = min((float(event["ts"]) for event in device), default=0.0)
    start = np.array([float(event["ts"]) - first for event in device])
    lasted = np.array([float(event["dur"]) for event in device])
    # Names of steps stand on the host and again on the accelerator: the host's is the step.
    steps = {
        str(event["name"]): float(event["dur"])
        for event in whole
        if str(event.get("name", "")).startswith(STEP) and event.get("cat") != "gpu_user_annotation"
    }
    return ExecutionTrace(
        path.name,
        "Kineto",
        start_s=start * _MICROSECOND,
        end_s=(start + lasted) * _MICROSECOND,
        is_collective=np.array([_is_collective(str(event["name"])) for event in device], dtype=bool),
        step_s=np.array(list(steps.values())) * _MICROSECOND,
    )


def _is_collective(name: str) -> bool:
    return any(word in name.lower() for word in COLLECTIVE_NAMES)


def _chakra(path: Path, form: str, nodes: Sequence[tuple[Any, Any, Any]]) -> ExecutionTrace:
    return ExecutionTrace(
        path.name,
        form,
        nodes=len(nodes),
        node_type=np.array([int(node[0]) for node in nodes], dtype=np.int64),
        on_cpu=np.array([bool(node[1]) for node in nodes], dtype=bool),
        node_s=np.array([float(node[2] or 0.0) for node in nodes]) * _MICROSECOND,
    )


def _chakra_messages(path: Path, data: bytes) -> ExecutionTrace:
    """Each message follows its length; the first tells about the file, the others are nodes."""
    messages, place = [], 0
    while place < len(data):
        length, place = _varint(data, place)
        if place + length > len(data):
            raise ValueError("it ends inside a message")
        messages.append(data[place : place + length])
        place += length
    if len(messages) < 2:
        raise ValueError("no node in it")
    return _chakra(path, "Chakra protobuf", [_message_node(message) for message in messages[1:]])


def _message_node(message: bytes) -> tuple[int, bool, int]:
    found: dict[int, list[Any]] = defaultdict(list)
    for number, value in _fields(message):
        found[number].append(value)
    on_cpu = False
    for attribute in found[_ATTRIBUTE]:
        values = dict(_fields(attribute))
        if values.get(_NAME) == b"is_cpu_op":
            on_cpu = bool(values.get(_BOOL_VALUE, 0))
    return _last(found[_TYPE]), on_cpu, _last(found[_DURATION])


def _last(values: Sequence[int]) -> int:
    return values[-1] if values else _NO_NODE


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers and values of a protobuf message: numbers, or bytes of what has a length."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        value: Any
        if kind == 0:
            value, place = _varint(message, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
            value, place = message[place : place + length], place + length
        elif kind == 2:
            length, place = _varint(message, place)
            value, place = message[place : place + length], place + length
        else:
            raise ValueError(f"wire type {kind} is no protobuf of today")
        if place > len(message):
            raise ValueError("a field ends outside its message")
        yield number, value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a number is longer than 64 bits")
