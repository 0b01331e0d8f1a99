"""Arithmetic as text: one expression of names, worked out on columns, and again on what a document holds."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

SUM = "sum of the numbers below"
COLUMN_SUM = "sum of a column, of which the largest number is below"
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class Formula:
    """A named expression, called like any other equation."""

    def __init__(self, name: str, text: str, about: str = "") -> None:
        self.__name__, self.text, self.about = name, text, about

    def __call__(self, **inputs: Any) -> Any:
        """The value of the expression, of numbers or columns."""
        return evaluate(self.text, inputs)

    @property
    def closes(self) -> bool:
        """Whether an explanation shows all that it is worked out from."""
        return self.text != COLUMN_SUM


def evaluate(text: str, inputs: Mapping[str, Any]) -> Any:
    """The value of an expression of `+ - * /`, numbers and the names of `inputs`.

    Raises:
        KeyError: a name is no input.
    """
    if text == COLUMN_SUM:
        return sum(float(value.sum()) for value in inputs.values())
    if text == SUM:
        total: Any = 0.0
        for value in inputs.values():
            total = total + value
        return total
    return _value(_parsed(text), inputs)


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(node: ast.expr, inputs: Mapping[str, Any]) -> Any:
    match node:
        case ast.BinOp():
            return _OPERATIONS[type(node.op)](_value(node.left, inputs), _value(node.right, inputs))
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, inputs)
        case ast.Name():
            return inputs[node.id]
        case ast.Constant():
            return node.value
    raise TypeError(f"{ast.dump(node)} is no arithmetic")
