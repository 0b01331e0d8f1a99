"""Tables of columns that check themselves: the axes, the kind and the range of every entry."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


class ProblemError(ValueError):
    """The tables of a problem do not fit together; the message names the table, the column and the value."""


class Shape(NamedTuple):
    """What a column has to look like: its axes by letter, the kind of its entries and their range."""

    axes: str
    kind: type = float
    low: float = -math.inf
    infinite: bool = False  # may an entry be `np.inf`, meaning "no limit"?
    default: float | None = None  # what stands in every row of a column that was not given
    high: float = math.inf


ROW = Shape("*", int, 0)  # an index, or a count


def no_numbers() -> Floats:
    """What a column holds that was left out, until `Shape.default` fills it."""
    return np.zeros(0)


def no_counts() -> Whole:
    """The same for counts."""
    return np.zeros(0, dtype=np.int64)


def no_flags() -> Flags:
    """The same for flags."""
    return np.zeros(0, dtype=bool)


class Table:
    """Columns of equal length. A subclass states in `SHAPES` what each column has to look like.

    The letter `*` stands for the table's own rows, `T` for periods, `Y` for slots; other letters are
    checked by `Problem`.
    """

    __slots__ = ()
    SHAPES: ClassVar[dict[str, Shape]] = {}

    def __post_init__(self) -> None:
        lengths: dict[str, int] = {}
        absent: dict[str, Shape] = {}
        for column in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            shape = self.SHAPES.get(column.name)
            if shape is None:
                continue
            values = np.asarray(getattr(self, column.name))
            if shape.default is not None and values.size == 0:
                absent[column.name] = shape
                continue
            object.__setattr__(self, column.name, self._checked(column.name, shape, values, lengths))
        for name, shape in absent.items():
            full = np.full([lengths.get(axis, 0) for axis in shape.axes], shape.default)
            full = full.astype(shape.kind)
            full.setflags(write=False)
            object.__setattr__(self, name, full)
        names, rows = getattr(self, "name", None), lengths.get("*", 0)
        if names is not None and len(names) != rows:
            raise ProblemError(f"{self._where('name')} has {len(names)} names for {rows} rows")

    def _where(self, name: str) -> str:
        return f"{type(self).__name__}.{name}"

    def _checked(
        self, name: str, shape: Shape, values: NDArray[Any], lengths: dict[str, int]
    ) -> NDArray[Any]:
        where = self._where(name)
        if values.ndim != len(shape.axes):
            raise ProblemError(f"{where} needs {len(shape.axes)} axes ({shape.axes}), got {values.ndim}")
        for axis, length in zip(shape.axes, values.shape, strict=True):
            if lengths.setdefault(axis, length) != length:
                others = lengths[axis]
                raise ProblemError(f"{where} has {length} entries along {axis}, other columns have {others}")
        if values.size and values.dtype.kind not in "biuf":
            raise ProblemError(f"{where} holds {values.dtype}, not numbers")
        numbers = values.astype(np.float64)
        usable = ~np.isnan(numbers) if shape.infinite else np.isfinite(numbers)
        if shape.kind is int:
            usable &= numbers == np.floor(numbers)
        elif shape.kind is bool:
            usable &= (numbers == 0) | (numbers == 1)
        usable &= (numbers >= shape.low) & (numbers <= shape.high)
        if not usable.all():
            row = tuple(int(index) for index in np.argwhere(~usable)[0])
            wanted = {int: "a whole number", bool: "true or false"}.get(shape.kind, "a number")
            least = "" if shape.low == -math.inf else f" of at least {shape.low:g}"
            most = "" if shape.high == math.inf else f" and at most {shape.high:g}"
            raise ProblemError(f"{where}{list(row)} is {numbers[row]:g}; it has to be {wanted}{least}{most}")
        frozen: NDArray[Any] = np.ascontiguousarray(values, dtype=shape.kind).copy()
        frozen.setflags(write=False)
        return frozen

    def __len__(self) -> int:
        """How many rows the table has."""
        for name, shape in self.SHAPES.items():
            if shape.axes.startswith("*"):
                return int(getattr(self, name).shape[0])
        return 0

    @classmethod
    def none(cls, periods: int) -> Self:
        """The table without rows, for a problem that has nothing of this kind."""
        sizes = {"T": periods}
        empty: dict[str, Any] = {
            name: np.zeros([sizes.get(axis, 0) for axis in shape.axes], dtype=shape.kind)
            for name, shape in cls.SHAPES.items()
        }
        if "name" in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            empty["name"] = ()
        return cls(**empty)
