"""Execution traces of training: Kineto, PyTorch execution traces, Chakra as JSON and as protobuf.

The content tells the format, gzip or not. Files are read entry by entry, and a few numbers of each are kept.
Seconds come out; a node without a run time counts as one that took none.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.streams import fields_of_message, json_entries, messages_of, pieces_of
from planner.trace.columns import Flags, Floats
from planner.trace.errors import InputError

LARGEST_BYTES = 8_000_000_000  # unpacked: traces of one step are tens of megabytes
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
COLLECTIVE_NAMES = ("nccl", "rccl", "hccl")
STEP = "ProfilerStep"
MOST_MICROSECONDS = 31 * 86_400e6
MOST_BYTES = 1e18  # of one tensor
RECORDED = "record_param_comms"
_MICROSECOND = 1e-6
# Keys that the JSON of a trace begins with; a list of events alone has those of an event.
_KEYS = (("traceEvents",), ("workload_graph",), ("schema", "nodes", "pid"), ("ph", "ts", "pid"))
_FIRST_OF_TEXT, _BEGINNING_BYTES = ord("\t"), 64
# Fields of Chakra's messages: et_def.proto of github.com/mlcommons/chakra.
NAME, TYPE, START, DURATION, ATTRIBUTE = 2, 3, 6, 7, 10
ATTRIBUTE_NAME, BOOL_VALUE = 1, 27
SEND_NODE, RECEIVE_NODE, COLLECTIVE_NODE = 5, 6, 7
_NO_NODE = 0
_SENDS = (SEND_NODE, RECEIVE_NODE, COLLECTIVE_NODE)
# Of `comm_type`, in the order of the schema.
COLLECTIVES = (
    *("all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all"),
    *("reduce_scatter", "reduce_scatter_block", "barrier"),
)
# Part of the name of a type of numbers, in lower case -> bytes of one.
_VALUE_BYTES = (
    *(("float8", 1), ("bfloat16", 2), ("float16", 2), ("half", 2), ("double", 8), ("float64", 8)),
    *(("float", 4), ("int64", 8), ("long", 8), ("int32", 4), ("int16", 2), ("short", 2), ("uint8", 1)),
    *(("int8", 1), ("int", 4), ("byte", 1), ("char", 1), ("bool", 1)),
)


@dataclass(frozen=True, slots=True)
class Collective:
    """Collectives of one kind: how many, what they were given together, and their kernels' time."""

    name: str
    count: int = 0
    given_bytes: float = 0.0
    kernel_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ExecutionTrace:
    """What one rank did. Columns that a format does not have are empty.

    `node_type`, `on_cpu` and `node_s` have a row for each node of a Chakra graph; `start_s`, `end_s` and
    `is_collective` one for each kernel, copy or memset on the accelerator, or for each node there of a graph
    that says when it starts; `step_s` holds whole steps. `ranks` of the job are 0 where the file does not
    say it.
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
    collectives: tuple[Collective, ...] = ()
    ranks: int = 0


def is_trace(path: Path) -> bool:
    """Whether the beginning of a file looks like a trace of any of the formats, gzip or not.

    Raises:
        InputError: it cannot be opened.
    """
    if not path.is_file():  # what comes by a pipe can be read but once
        return False
    with pieces_of(path, LARGEST_BYTES) as pieces:
        begins = next(pieces, b"")
    if begins.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return any(all(f'"{key}"'.encode() in begins for key in keys) for keys in _KEYS)
    # Lengths and numbers of a protobuf are letters that no text has.
    wide = begins.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return not wide and any(letter < _FIRST_OF_TEXT for letter in begins[:_BEGINNING_BYTES])


def read_trace(path: Path) -> ExecutionTrace:
    """A trace of any of the formats.

    Raises:
        InputError: the file cannot be read, is damaged, or is of none of them.
    """
    try:
        with pieces_of(path, LARGEST_BYTES) as pieces:
            first = next(pieces, b"")
            whole = chain([first], pieces)
            if first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
                return _from_json(path, whole)
            return _chakra_messages(path, whole)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{path}: no Kineto, PyTorch or Chakra trace that can be read: {why}") from error


def _from_json(path: Path, pieces: Iterator[bytes]) -> ExecutionTrace:
    events, graph, recorded = _Kineto(), _Graph(), _Recorded()
    lists = {"traceEvents": events.take, "workload_graph": graph.take, "nodes": recorded.take}
    found = json_entries(pieces, lists, "traceEvents")
    if found.get("traceEvents", 0) is None:
        job = found.get("distributedInfo")
        ranks = job.get("world_size", 0) if isinstance(job, dict) else 0
        return replace(events.trace(path), ranks=ranks if isinstance(ranks, int) else 0)
    if found.get("workload_graph", 0) is None:
        return graph.trace(path, "Chakra JSON")
    if "schema" in found and found.get("nodes", 0) is None:
        return recorded.trace(path)
    raise InputError(
        f"{path}: JSON of no known trace: Kineto has traceEvents, Chakra workload_graph, PyTorch schema and "
        "nodes"
    )


class _Sums:
    """Collectives by their kind."""

    def __init__(self) -> None:
        self._count: dict[str, int] = defaultdict(int)
        self._bytes: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, name: str, *, given_bytes: float | None = None, seconds: float = 0.0) -> None:
        """One more, or the kernel of one."""
        if given_bytes is not None:
            if not 0 <= given_bytes < MOST_BYTES:
                raise ValueError(f"a collective is given {given_bytes:g} bytes")
            self._count[name] += 1
            self._bytes[name] += given_bytes
        self._seconds[name] += seconds

    def join(self, other: _Sums) -> None:
        """Count what another has."""
        for one in other.found():
            self._count[one.name] += one.count
            self._bytes[one.name] += one.given_bytes
            self._seconds[one.name] += one.kernel_s

    def found(self) -> tuple[Collective, ...]:
        """All of them, by name."""
        return tuple(
            Collective(name, self._count[name], self._bytes[name], self._seconds[name])
            for name in sorted(self._seconds)
        )


class _Kineto:
    """Events of the profiler of PyTorch, one after the other."""

    def __init__(self) -> None:
        self._start, self._lasted, self._sends = array("d"), array("d"), array("b")
        self._devices: set[Any] = set()
        self._steps: dict[str, float] = {}
        self._annotated, self._sums = _Sums(), _Sums()

    def take(self, event: Mapping[str, Any]) -> None:
        """Keep what an event says of the accelerator, of a step, or of a collective."""
        if event.get("ph") != "X" or "dur" not in event:
            return
        name, kind, held = (
            str(event.get("name", "")),
            str(event.get("cat", "")).lower(),
            event.get("args", {}),
        )
        if kind in ON_DEVICE:
            sends = _is_collective(str(event["name"]))
            self._start.append(float(event["ts"]))
            self._lasted.append(float(event["dur"]))
            self._sends.append(sends)
            self._devices.add(held.get("device", event.get("pid")))
            if sends:
                known = held.get("Collective name")
                size = (
                    None
                    if known is None
                    else _number(held.get("In msg nelems")) * _bytes_of(held.get("dtype"))
                )
                word = _spoken(str(known)) if known is not None else _of_kernel(name)
                self._sums.add(word, given_bytes=size, seconds=float(event["dur"]) * _MICROSECOND)
        elif name.startswith(STEP) and kind != "gpu_user_annotation":
            # Names of steps stand on the host and again on the accelerator: the host's is the step.
            self._steps[name] = float(event["dur"])
        elif name.startswith("nccl:") and kind == "user_annotation":
            shapes, kinds = held.get("Input Dims", []), held.get("Input type", [])
            self._annotated.add(_spoken(name.removeprefix("nccl:")), given_bytes=_tensor_bytes(shapes, kinds))

    def trace(self, path: Path) -> ExecutionTrace:
        """What one rank did.

        Raises:
            InputError: kernels of several accelerators are in the file.
        """
        if len(self._devices) > 1:
            raise InputError(
                f"{path}: kernels of {len(self._devices)} accelerators: give a trace of each rank"
            )
        start, lasted = np.array(self._start), _times(self._lasted)
        _times(array("d", self._steps.values()))
        if not np.isfinite(start).all():
            raise ValueError("a kernel starts at no time")
        start = start - (start.min() if start.size else 0.0)
        if not any(one.count for one in self._sums.found()):  # kernels do not say what they were given
            self._sums.join(self._annotated)
        return ExecutionTrace(
            path.name,
            "Kineto",
            start_s=start * _MICROSECOND,
            end_s=(start + lasted) * _MICROSECOND,
            is_collective=np.array(self._sends, dtype=bool),
            step_s=np.array(list(self._steps.values())) * _MICROSECOND,
            collectives=self._sums.found(),
        )


class _Graph:
    """Nodes of a Chakra graph, one after the other."""

    def __init__(self) -> None:
        self._kind, self._cpu = array("q"), array("b")
        self._start, self._lasted = array("d"), array("d")
        self._sums = _Sums()

    def take(self, node: Mapping[str, Any]) -> None:
        """A node of the JSON."""
        self.add(
            int(node["NodeType"]),
            bool(node.get("is_cpu_op", False)),
            float(node.get("start", 0.0) or 0.0),
            float(node.get("runtime", 0.0) or 0.0),
            {name: node.get(name) for name in ("comm_type", "comm_size")} | {"name": node.get("Name", "")},
        )

    def add(self, kind: int, on_cpu: bool, start: float, lasted: float, about: Mapping[str, Any]) -> None:
        """A node, of whichever form."""
        self._kind.append(kind)
        self._cpu.append(on_cpu)
        self._start.append(start)
        self._lasted.append(lasted)
        if kind == COLLECTIVE_NODE and not on_cpu:
            number, size = about.get("comm_type"), about.get("comm_size")
            known = isinstance(number, int) and 0 <= number < len(COLLECTIVES)
            name = COLLECTIVES[number] if known else _of_kernel(str(about.get("name", "")))  # type: ignore[index]
            self._sums.add(
                name,
                given_bytes=None if size is None else float(size),
                seconds=lasted * _MICROSECOND,
            )

    def trace(self, path: Path, form: str) -> ExecutionTrace:
        """What one rank did."""
        kind, on_cpu = np.array(self._kind, dtype=np.int64), np.array(self._cpu, dtype=bool)
        start_s, node_s = (_times(one) * _MICROSECOND for one in (self._start, self._lasted))
        # Graphs that say when nothing starts have no moments.
        held = ~on_cpu & (node_s > 0) & bool(start_s.any())
        return ExecutionTrace(
            path.name,
            form,
            nodes=len(self._kind),
            node_type=kind,
            on_cpu=on_cpu,
            node_s=node_s,
            start_s=start_s[held] - start_s[held].min(initial=np.inf),
            end_s=(start_s + node_s)[held] - start_s[held].min(initial=np.inf),
            is_collective=np.isin(kind[held], _SENDS),
            collectives=self._sums.found(),
        )


class _Recorded:
    """Nodes of a PyTorch execution trace, which have no times."""

    def __init__(self) -> None:
        self._count, self._sums = 0, _Sums()

    def take(self, node: Mapping[str, Any]) -> None:
        """Count a node, and keep what a collective was given."""
        self._count += 1
        if node.get("name") != RECORDED:
            return
        attributes = {one["name"]: one.get("value") for one in node.get("attrs", [])}
        inputs = node.get("inputs", [])
        values = inputs.get("values", []) if isinstance(inputs, Mapping) else inputs
        shapes = inputs.get("shapes", []) if isinstance(inputs, Mapping) else node.get("input_shapes", [])
        kinds = inputs.get("types", []) if isinstance(inputs, Mapping) else node.get("input_types", [])
        name = attributes.get("collective_name") or next((one for one in values if isinstance(one, str)), "")
        word = _spoken(str(name))
        if word in ("wait", "init", ""):
            return
        if "in_msg_nelems" in attributes:
            size = _number(attributes["in_msg_nelems"]) * _bytes_of(attributes.get("dtype"))
        else:
            size = _tensor_bytes(shapes[:1], kinds[:1])
        self._sums.add(word, given_bytes=size)

    def trace(self, path: Path) -> ExecutionTrace:
        """What one rank did."""
        return ExecutionTrace(
            path.name, "PyTorch execution trace", nodes=self._count, collectives=self._sums.found()
        )


def _times(microseconds: array[float]) -> Floats:
    """Times that are finite and last 0 or longer.

    Raises:
        ValueError: one does not.
    """
    found = np.array(microseconds, dtype=float)
    if not np.all((found >= 0) & (found < MOST_MICROSECONDS)):
        raise ValueError("something lasts less than nothing, or longer than a month")
    return found


def _is_collective(name: str) -> bool:
    return any(word in name.lower() for word in COLLECTIVE_NAMES)


def _of_kernel(name: str) -> str:
    """The collective that a kernel is of: ncclDevKernel_AllReduce_Sum_f32_RING is all_reduce."""
    found = re.search(r"(?:nccl|rccl|hccl)\w*?_([A-Z][A-Za-z]+)", name)
    return _spoken(found[1]) if found else "collective"


def _spoken(name: str) -> str:
    """One name for a collective: AllReduce, allreduce, all_to_allv and c10d::allreduce_ are of a few."""
    known = {one.replace("_", ""): one for one in (*COLLECTIVES, "send_recv")}
    plain = re.sub(r"[^a-z]", "", name.rpartition("::")[2].lower())
    short = re.sub(r"(base|single|coalesced|into|tensor|v)+$", "", plain)
    return known.get(plain) or known.get(short) or plain


def _bytes_of(kind: Any) -> float:
    word = str(kind).lower()
    return next((float(size) for name, size in _VALUE_BYTES if name in word), 4.0)


def _number(value: Any) -> float:
    return float(value) if value is not None else 0.0


def _tensor_bytes(shapes: Sequence[Any], kinds: Sequence[Any]) -> float:
    """Bytes of tensors by their shapes, which may be lists of shapes."""
    size = 0.0
    for shape, kind in zip(shapes, kinds, strict=False):
        inner = shape if shape and isinstance(shape[0], list) else [shape]
        size += sum(float(np.prod(one)) * _bytes_of(kind) for one in inner if one)
    return size


def _chakra_messages(path: Path, pieces: Iterator[bytes]) -> ExecutionTrace:
    """Each message follows its length; the first tells about the file, the others are nodes."""
    graph, many = _Graph(), 0
    for message in messages_of(pieces):
        if many:
            graph.add(*_message_node(message))
        many += 1
    if many < 2:
        raise ValueError("no node in it")
    return graph.trace(path, "Chakra protobuf")


def _message_node(message: bytes) -> tuple[int, bool, float, float, dict[str, Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for number, value in fields_of_message(message):
        found[number].append(value)
    about: dict[str, Any] = {"name": found[NAME][-1].decode("utf-8", "replace") if found[NAME] else ""}
    for attribute in found[ATTRIBUTE]:
        values = dict(fields_of_message(attribute))
        name = values.pop(ATTRIBUTE_NAME, b"").decode("utf-8", "replace")
        numbers = [value for value in values.values() if isinstance(value, int)]
        about[name] = numbers[-1] if numbers else None
    on_cpu = bool(about.get("is_cpu_op") or 0)
    start, lasted = (float(_last(found[part])) for part in (START, DURATION))
    return _last(found[TYPE]), on_cpu, start, lasted, about


def _last(values: Sequence[int]) -> int:
    return values[-1] if values else _NO_NODE
