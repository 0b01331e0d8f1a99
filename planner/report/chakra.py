"""A graph of what one rank does in a step, as Chakra has it: JSON, or messages of protobuf.

Source: schema/protobuf/et_def.proto of github.com/mlcommons/chakra.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from planner.inputs.execution_traces import (
    ATTRIBUTE,
    ATTRIBUTE_NAME,
    BOOL_VALUE,
    COLLECTIVE_NODE,
    COLLECTIVES,
    DURATION,
    NAME,
    RECEIVE_NODE,
    SEND_NODE,
    START,
    TYPE,
)
from planner.inputs.streams import written_field, written_varint

COMPUTE_NODE = 4
VERSION = "0.0.4"
_ID, _DATA_DEPENDENCIES, _INT64_VALUE = 1, 5, 9
_MICROSECONDS = 1e6


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that one rank does after the operation before it, at a time of the step.

    `collective` is the name of one, empty for what is none; `sent_bytes` is None where it is not known.
    """

    name: str
    kind: int
    start_s: float
    end_s: float
    collective: str = ""
    sent_bytes: float | None = None

    @property
    def start_us(self) -> int:
        """Start in whole microseconds."""
        return round(self.start_s * _MICROSECONDS)

    @property
    def lasts_us(self) -> int:
        """Duration in whole microseconds: those of operations in a row add up to the time of all."""
        return round(self.end_s * _MICROSECONDS) - self.start_us

    @property
    def attributes(self) -> dict[str, int]:
        """What the schema keeps of a collective, or of what is sent."""
        found = {} if not self.collective else {"comm_type": COLLECTIVES.index(self.collective)}
        return found if self.sent_bytes is None else found | {"comm_size": round(self.sent_bytes)}


def chakra_json(operations: Sequence[Operation]) -> str:
    """The graph as JSON; each operation depends on the one before it."""
    nodes = [
        {
            "Id": at,
            "Name": one.name,
            "NodeType": one.kind,
            "data_deps": [at - 1] if at else [],
            "ctrlDeps": [],
            "start": one.start_us,
            "runtime": one.lasts_us,
            "is_cpu_op": False,
            **one.attributes,
        }
        for at, one in enumerate(operations)
    ]
    return json.dumps({"workload_graph": nodes}, indent=1) + "\n"


def chakra_messages(operations: Sequence[Operation]) -> bytes:
    """The graph as protobuf: each message after its length, the first one about the file."""
    messages = [written_field(1, VERSION.encode())]
    messages += [_node(at, one) for at, one in enumerate(operations)]
    return b"".join(written_varint(len(one)) + one for one in messages)


def _node(at: int, one: Operation) -> bytes:
    parts = [
        written_field(_ID, at),
        written_field(NAME, one.name.encode()),
        written_field(TYPE, one.kind),
        *([written_field(_DATA_DEPENDENCIES, written_varint(at - 1))] if at else []),
        written_field(START, one.start_us),
        written_field(DURATION, one.lasts_us),
        _attribute("is_cpu_op", BOOL_VALUE, 0),
        *(_attribute(name, _INT64_VALUE, value) for name, value in one.attributes.items()),
    ]
    return b"".join(parts)


def _attribute(name: str, kind: int, value: int) -> bytes:
    return written_field(ATTRIBUTE, written_field(ATTRIBUTE_NAME, name.encode()) + written_field(kind, value))


__all__ = [
    "COLLECTIVE_NODE",
    "COMPUTE_NODE",
    "RECEIVE_NODE",
    "SEND_NODE",
    "Operation",
    "chakra_json",
    "chakra_messages",
]
