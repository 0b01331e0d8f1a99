"""A traced number as it would be if facts had other values, opened like any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.trace import Call, Derived, Fact, Pick, Rows, Traced, pick, rows


def supposed(node: Traced, facts: Mapping[str, Fact]) -> Traced:
    """The same number on other facts, by key; what was chosen (layouts, intervals) stays as it is."""
    return _Again(facts).node(node)


@dataclass(frozen=True)
class _Again:
    """Walks a number down to its facts; each node and each call is met once."""

    facts: Mapping[str, Fact]
    nodes: dict[int, Traced] = field(default_factory=dict)
    calls: dict[int, tuple[Call, object]] = field(default_factory=dict)

    def node(self, old: Traced) -> Traced:
        """The node on the other facts; itself where it rests on none of them."""
        if id(old) not in self.nodes:
            self.nodes[id(old)] = self._made(old)
        return self.nodes[id(old)]

    def _made(self, old: Traced) -> Traced:
        match old:
            case Fact():
                return self.facts.get(old.key, old)
            case Pick():
                items = tuple(self.node(item) for item in old.items)
                return old if _same(items, old.items) else pick(items, old.index)
            case Rows():
                column = self.node(old.column)
                return old if column is old.column else rows(column, old.index)
            case Derived():
                return self._derived(old)
        return old

    def _derived(self, old: Derived) -> Traced:
        inputs = {name: self.node(child) for name, child in old.call.inputs.items()}
        if _same(tuple(inputs.values()), tuple(old.call.inputs.values())):
            return old
        if id(old.call) not in self.calls:
            result = old.call.function(**{name: child.value for name, child in inputs.items()})
            self.calls[id(old.call)] = Call(old.call.function, inputs), result
        call, result = self.calls[id(old.call)]
        value = getattr(result, old.part) if old.part else result
        return Derived(value, old.unit, boundary=old.boundary, call=call, part=old.part)


def _same(new: tuple[Traced, ...], old: tuple[Traced, ...]) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))
