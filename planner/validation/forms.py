"""A form: one way to ask for a quantity, with the inputs that it takes and how files spell them."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache, wraps
from typing import Any, TypeVar

Answer = float | Mapping[str, float]
Function = Callable[..., Answer]
Registered = TypeVar("Registered", bound=Function)
Spellings = Mapping[str, tuple[str, float]]

_KINDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
_LARGEST = 1e300
# Words of published tables, and names that arguments had before: files of users hold both.
OTHER_WORDS: Spellings = {
    "gpus": ("accelerators", 1.0),
    "gpus_per_server": ("accelerators_per_server", 1.0),
    "gpus_per_node": ("accelerators_per_node", 1.0),
    "anchor_gpus": ("anchor_accelerators", 1.0),
    "gpu_mtbf_h": ("accelerator_mttf_h", 1.0),
    "node_mtbf_h": ("node_mttf_h", 1.0),
    "mtbf_h": ("mttf_h", 1.0),
}


class NotUnderstood(ValueError):
    """No adapter takes this row; the message says why."""


@dataclass(frozen=True)
class Form:
    """A function of plain keyword arguments that answers a row.

    `unit` is that of the answer; a form may answer in several units at once, as a mapping. `spellings`
    say which key of a file gives which argument, and by what to multiply. `labels` are keys that describe
    the row and enter no equation. `only` are keys whose other values would be another question: the row may
    state the value that the form stands for.
    """

    quantity: str
    subject: str
    unit: str
    function: Function
    spellings: Spellings = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    only: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Arguments by name."""
        return inspect.signature(self.function).parameters

    def keys(self, parameter: str) -> tuple[str, ...]:
        """The keys of a file that give this argument; its own name always does."""
        return (parameter, *(key for key, (name, _) in self.spellings.items() if name == parameter))

    def answer(self, inputs: Mapping[str, Any]) -> Mapping[str, float]:
        """What the model says, by unit.

        Raises:
            NotUnderstood: an input is unknown, missing, given twice or of the wrong kind.
        """
        found = self.function(**self.arguments(inputs))
        return found if isinstance(found, Mapping) else {self.unit: float(found)}

    def arguments(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the function that a row states, in their units.

        Raises:
            NotUnderstood: as of `answer`.
        """
        arguments: dict[str, Any] = {}
        hints = _hints(self.function)
        for key, value in inputs.items():
            name, factor = self.spellings.get(key, (key, 1.0))
            if name not in hints:
                if key in self.labels or value in self.only.get(key, ()):
                    continue
                if key in self.only:
                    known = " or ".join(str(one) for one in self.only[key])
                    raise NotUnderstood(f"{self.quantity} counts with {key} {known} alone, got {value!r:.60}")
                raise NotUnderstood(f"{self.quantity} takes no '{key}'")
            if name in arguments:
                raise NotUnderstood(f"{self.quantity}: '{key}' gives {name} a second time")
            arguments[name] = _checked(key, value, hints[name], factor)
        missing = [
            name for name, p in self.parameters.items() if p.default is p.empty and name not in arguments
        ]
        if missing:
            wanted = ", ".join(" or ".join(self.keys(name)[:4]) for name in missing)
            raise NotUnderstood(f"{self.quantity} needs {wanted}")
        return arguments


class Book:
    """Collects the forms of one file of adapters; `takes` is its decorator."""

    def __init__(self, spellings: Spellings) -> None:
        self.forms: list[Form] = []
        self._spellings = {**OTHER_WORDS, **spellings}

    def takes(
        self,
        *quantities: str,
        unit: str,
        subject: str,
        labels: tuple[str, ...] = (),
        only: Mapping[str, tuple[object, ...]] | None = None,
    ) -> Callable[[Registered], Registered]:
        """Register a function as a form of these quantities."""

        def register(function: Registered) -> Registered:
            plain = unbundled(function)
            own = spellings_for(plain, self._spellings)
            self.forms += [
                Form(q, subject, unit, plain, own, frozenset(labels), only or {}) for q in quantities
            ]
            return function

        return register


def unbundled(function: Function, but: tuple[type, ...] = ()) -> Function:
    """The function with the fields of its bundles as arguments of its own; rows name them, not bundles.

    What two bundles share goes to both. `but` are dataclasses that rows state whole.
    """
    hints, signature = _hints(function), inspect.signature(function)
    bundles = {name: kind for name, hint in hints.items() if (kind := _bundle_of(hint)) and kind not in but}
    if not bundles:
        return function
    own: dict[str, inspect.Parameter] = {}
    kinds: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if name not in bundles:
            own[name], kinds[name] = parameter, hints.get(name, Any)
            continue
        fresh = typing.get_type_hints(bundles[name])
        for part in fields(bundles[name]):
            usual = part.default if part.default is not MISSING else parameter.empty
            own.setdefault(part.name, inspect.Parameter(part.name, parameter.KEYWORD_ONLY, default=usual))
            kinds.setdefault(part.name, fresh[part.name])

    @wraps(function)
    def plain(**given: Any) -> Answer:
        held = {name: one for name, one in given.items() if name in signature.parameters}
        for name, kind in bundles.items():
            parts = {part.name: given[part.name] for part in fields(kind) if part.name in given}
            held[name] = kind(**parts)
        return function(**held)

    plain.__signature__ = signature.replace(parameters=list(own.values()))  # type: ignore[attr-defined]
    plain.__annotations__ = kinds
    del plain.__wrapped__  # its hints are those of the bundles
    return plain


def _bundle_of(hint: Any) -> type[Any] | None:
    """The bundle that an argument is, where it is one."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return next((kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)), None)


def spellings_for(function: Function, spellings: Spellings) -> Spellings:
    """Those spellings that give an argument of the function; its own names always mean themselves."""
    names = inspect.signature(function).parameters
    return {key: to for key, to in spellings.items() if to[0] in names and key not in names}


@cache
def _hints(function: Function) -> dict[str, Any]:
    return {name: hint for name, hint in typing.get_type_hints(function).items() if name != "return"}


def _checked(key: str, value: Any, hint: Any, factor: float) -> Any:
    """The value, converted, where it is of a kind that the argument takes."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if Any in kinds:
        return value
    if float in kinds and (whole or isinstance(value, float)):
        if not abs(value) < _LARGEST:
            raise NotUnderstood(f"'{key}' is not a finite number")
        return float(value) * factor
    if int in kinds and (whole or (isinstance(value, float) and value.is_integer())):
        return int(value)
    if (str in kinds and isinstance(value, str)) or (bool in kinds and isinstance(value, bool)):
        return value
    wanted = " or ".join(_KINDS[kind] for kind in kinds if kind in _KINDS)
    raise NotUnderstood(f"'{key}' must be {wanted}, got {str(value)[:60]!r}")
