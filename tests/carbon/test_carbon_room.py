"""Every equation of the carbon room keeps the room's promises: keywords, units, columns, domain, a source."""

import ast
import dataclasses
import inspect
import pkgutil
import re
from importlib import import_module
from typing import get_type_hints

import numpy as np
import pytest

import carbon
import reliability
from planner import performance
from planner.performance.bundles import bundled
from planner.trace.units import unit_of

MODULES = [
    import_module(found.name)
    for found in pkgutil.walk_packages(carbon.__path__, "carbon.")
    if not found.ispkg and not found.name.rpartition(".")[2].startswith("_")
]
NO_EQUATIONS = {"waterfall", "year_hours"}  # they check or order what equations gave
EQUATIONS = sorted(
    {
        function
        for module in MODULES
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_") and name not in NO_EQUATIONS
    },
    key=lambda function: function.__name__,
)
# Of series, of lists of parts, or of a stated number of hours: no single row to compare with.
HOURLY = {
    "weighted_kgco2e_per_kwh",
    "best_hours_kgco2e_per_kwh",
    "best_window_kgco2e_per_kwh",
    "composed_ratio",
    "device_grid_kgco2e_per_kwh",
    "filled",
    "mix_kgco2e_per_kwh",
    "day_types",
    "scope_two",
    "two_columns",
    "sun_height",
    "synthetic_kgco2e_per_kwh",
}
ONE_OF = {"lever_ratio"}  # takes one of its parameters, never two
BELOW_ZERO = {"decline_fraction_per_y", "gain_fraction"}  # a rise and a loss are given as less than zero
COLUMNWISE = [f for f in EQUATIONS if f.__name__ not in HOURLY]

# One value for each parameter, inside its domain; 2.0 where nothing else is said.
VALUES = {
    "pue": 1.2,
    "assembly_ratio": 1.1,
    "overhead_ratio": 1.2,
    "low_abatement_fraction": 0.6,
    "high_abatement_fraction": 0.9,
    "idle_kw": 1.0,
    "max_kw": 6.0,
    "wafer_cm2": 706.0,
    "wafer_dies": 60.0,
    "kerf_cm": 0.02,
    "parameters": 7e10,
    "bits_per_parameter": 16.0,
    "gpu_memory_gb": 80.0,
    "active_parameters": 7e10,
    "lifetime_h": 40.0,
    "flops": 1e24,
    "decline_fraction_per_y": 0.03,
    "batch_decay_factor": 0.01,
    "buffer_sessions": 10.0,
    "wafer_ratio": 1.4,
    "static_kw": 1.0,
    "steep_exponent": 12.0,
}


def bundles(function):
    """Parameters of a function that stand for several columns, with their dataclass."""
    hints = get_type_hints(function)
    hints.pop("return", None)
    return {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}


def names(function):
    """Columns that a function takes, those of its bundles too."""
    held = bundles(function)
    plain = [name for name in inspect.signature(function).parameters if name not in held]
    return [*plain, *(field.name for kind in held.values() for field in dataclasses.fields(kind))]


def called(function, values):
    """The function of columns by their plain names."""
    return function(**bundled(values, **bundles(function)))


def cases(function):
    """Every way to call the function: with all of its parameters, or with each one alone."""
    every = {name: VALUES.get(name, 0.5 if name.endswith("_fraction") else 2.0) for name in names(function)}
    return [{name: value} for name, value in every.items()] if function.__name__ in ONE_OF else [every]


def parts(result):
    """A result as a list of columns, also where an equation returns several."""
    if dataclasses.is_dataclass(result):
        return [getattr(result, part.name) for part in dataclasses.fields(result)]
    return [result]


@pytest.mark.parametrize("function", EQUATIONS, ids=lambda f: f.__name__)
def test_an_equation_takes_keywords_and_states_equation_and_source(function):
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    lines = inspect.getdoc(function).splitlines()

    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    equation = next(i for i, line in enumerate(lines[1:], 1) if " = " in line)
    assert lines[equation - 1] == "", f"a line of its own: {lines[equation]}"
    assert any(line.startswith("Source: ") for line in lines[-2:])


@pytest.mark.parametrize("function", EQUATIONS, ids=lambda f: f.__name__)
def test_the_names_of_an_equation_can_be_read_as_units(function):
    """`unit_of` raises on a denominator that is no unit; the seam could not call such an equation."""
    units = [unit_of(name) for name in (function.__name__, *inspect.signature(function).parameters)]

    assert all(units)


@pytest.mark.parametrize("function", COLUMNWISE, ids=lambda f: f.__name__)
def test_a_column_gives_what_its_rows_give_one_by_one(function):
    """Rows that scale by 1, 1.01 and 1.02 stay inside every domain of VALUES."""
    scales = np.array([1.0, 1.01, 1.02])

    for plain in cases(function):
        column = parts(called(function, {name: value * scales for name, value in plain.items()}))
        rows = [
            parts(called(function, {name: float(value * scale) for name, value in plain.items()}))
            for scale in scales
        ]

        for part, ours in enumerate(column):
            assert ours.shape == (3,)
            assert ours == pytest.approx([row[part] for row in rows], rel=1e-14)
            assert all(np.ndim(row[part]) == 0 and isinstance(row[part], float) for row in rows)


@pytest.mark.parametrize("function", COLUMNWISE, ids=lambda f: f.__name__)
def test_what_is_not_a_number_is_refused_by_name(function):
    for plain in cases(function):
        for name in plain:
            with pytest.raises(ValueError, match=rf"{name} .*got .*nan"):
                called(function, {**plain, name: float("nan")})


@pytest.mark.parametrize("function", COLUMNWISE, ids=lambda f: f.__name__)
def test_a_negative_quantity_is_refused_by_name(function):
    for plain in cases(function):
        for name in set(plain) - BELOW_ZERO:
            with pytest.raises(ValueError, match=rf"{name} .*got .*-"):
                called(function, {**plain, name: np.array([VALUES.get(name, 0.5), -0.5])})


def test_the_face_names_every_module_and_stops():
    """What is wanted is imported from its module; a face of hundreds of names told nobody where."""
    for room in (carbon, reliability, performance):
        face = ast.parse(inspect.getsource(room))
        named = re.findall(r"^- (\w+): ", inspect.getdoc(room), re.MULTILINE)

        assert len(face.body) == 1
        assert named == [
            found.name for found in pkgutil.iter_modules(room.__path__) if not found.name.startswith("_")
        ]
