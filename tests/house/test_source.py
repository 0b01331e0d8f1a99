"""What the source of the product shows: what it imports, calls and writes, and how much a function takes."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TypeVar

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("planner", "carbon", "reliability", "solver")
DOORS = ("app.py", "everfleet.py")
Node = TypeVar("Node", bound=ast.AST)
Syntax = dict[type[ast.AST], list[ast.AST]]


def syntax(tree: ast.AST) -> Syntax:
    """What a tree holds, by kind."""
    nodes: Syntax = defaultdict(list)
    for node in ast.walk(tree):
        nodes[type(node)].append(node)
    return nodes


@cache
def product() -> dict[str, Syntax]:
    """Every Python file that a user runs, read once for all tests of this file."""
    packaged = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {
        path.relative_to(ROOT).as_posix(): syntax(ast.parse(path.read_text(encoding="utf-8")))
        for path in (*(ROOT / door for door in DOORS), *packaged)
    }


def each(kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """Nodes of a kind, with the file of each."""
    for name, nodes in product().items():
        for node in nodes[kind]:
            assert isinstance(node, kind)
            yield name, node


def modules(nodes: Syntax) -> set[str]:
    """The packages that imports name, of others and our own."""
    plain = {alias.name for node in nodes[ast.Import] if isinstance(node, ast.Import) for alias in node.names}
    named = {
        node.module
        for node in nodes[ast.ImportFrom]
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module
    }
    return {name.partition(".")[0] for name in plain | named}


def outside_functions(nodes: Syntax) -> Syntax:
    """What runs when a file is imported, but for the bodies of its functions and classes."""
    (module,) = nodes[ast.Module]
    assert isinstance(module, ast.Module)
    body = [node for node in module.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return syntax(ast.Module(body, []))


def libraries(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


@pytest.mark.slow
def test_every_library_is_declared() -> None:
    """What comes along with another library today may not come tomorrow; extras are imported where used."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = libraries(project["dependencies"])
    extras = {name: libraries(lines) for name, lines in project["optional-dependencies"].items()}
    on_loading = {name for nodes in product().values() for name in modules(outside_functions(nodes))}
    in_all = {name for nodes in product().values() for name in modules(nodes)}
    known = sys.stdlib_module_names | {*PACKAGES}
    optional = extras["dask"] | extras["postgresql"] | extras["mcp"]
    brought_by = packages_distributions()

    def brought(names: set[str]) -> set[str]:
        return {canonicalize_name(brought_by.get(name, [name])[0]) for name in names - known}

    assert "numpy" in brought(on_loading)
    assert brought(on_loading) <= declared
    assert brought(in_all) <= declared | optional


# Safety


REFUSED_IMPORTS = {"pickle", "cPickle", "dill", "marshal", "shelve", "yaml"}
REFUSED_CALLS = {"eval", "exec"}
REFUSED_METHODS = {"read_pickle", "to_pickle"}
REFUSED_OPTIONS = {"shell", "unsafe_allow_html", "unsafe_allow_javascript"}


@pytest.mark.slow
def test_no_dangerous_calls() -> None:
    """Nothing reads pickles or YAML, evaluates text, starts a shell or puts raw HTML on a page."""
    found = [
        f"{name}: {module}"
        for name, nodes in product().items()
        for module in modules(nodes) & REFUSED_IMPORTS
    ]
    found += [f"{name}:{node.lineno}: {node.id}" for name, node in each(ast.Name) if node.id in REFUSED_CALLS]
    found += [
        f"{name}:{node.lineno}: {node.attr}"
        for name, node in each(ast.Attribute)
        if node.attr in REFUSED_METHODS
    ]
    found += [
        f"{name}:{node.value.lineno}: {node.arg}"
        for name, node in each(ast.keyword)
        if node.arg in REFUSED_OPTIONS
    ]

    assert not found


# One place for one thing


SPREADSHEETS = {"planner/report/spreadsheets.py", "planner/report/workbook.py"}
WRITERS_OF_CELLS = {"writer", "DictWriter", "to_csv", "write_csv", "to_excel", "to_clipboard", "Workbook"}


@pytest.mark.slow
def test_one_writer_of_csv_and_one_of_workbooks() -> None:
    """Only they keep text from being taken for a formula, so nothing else writes what a spreadsheet opens."""
    named: list[tuple[str, ast.Attribute | ast.ImportFrom]] = [
        (name, node) for name, node in each(ast.Attribute) if node.attr in WRITERS_OF_CELLS
    ]
    named += [
        (name, node)
        for name, node in each(ast.ImportFrom)
        if node.module in ("csv", "xlsxwriter", "openpyxl")
        and any(alias.name in WRITERS_OF_CELLS for alias in node.names)
    ]
    found = [f"{name}:{node.lineno}: {ast.unparse(node)}" for name, node in named if name not in SPREADSHEETS]
    text = (ROOT / "planner/report/workbook.py").read_text(encoding="utf-8")

    assert not found
    assert {name for name, _ in named} == SPREADSHEETS
    assert '"strings_to_formulas": False' in text
    assert not re.findall(r"sheet\.write(?:_formula|_row|_column|_url)?\(", text), "each cell says its kind"


FORMATTER = "planner/trace/numbers.py"
# Rooms whose text about numbers is a refusal of what was handed in, which quotes the number as it came.
LEAVES = ("planner/performance/", "planner/inputs/scenario/", "planner/physics/")
FORMATS = {
    "planner/answers/plan/repairs.py": "a value that goes back into a scenario, to nine digits",
    "planner/inputs/fits.py": "the key of a fit",
}


def specs(nodes: Syntax) -> list[tuple[int, str]]:
    """Format specifications that set digits or thousands; a width or a plain `g` says how a number came."""
    found = []
    for node in nodes[ast.FormattedValue]:
        assert isinstance(node, ast.FormattedValue)
        if node.format_spec is not None:
            spec = "".join(
                part.value
                for part in ast.walk(node.format_spec)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            dated = any(part in spec for part in ("%Y", "%m", "%d"))
            grouped = any(sign in spec for sign in ",%_") and not dated
            if grouped or ("." in spec and spec[-1:] in "feg"):
                found.append((node.lineno, spec))
    return found


@pytest.mark.slow
def test_no_second_formatter() -> None:
    """One place turns numbers into text."""
    held = {name: specs(nodes) for name, nodes in product().items() if name.startswith("planner/")}
    others = {
        name: found
        for name, found in held.items()
        if found and name != FORMATTER and name not in FORMATS and not name.startswith(LEAVES)
    }

    assert held[FORMATTER]
    assert not others, f"use planner.trace.numbers: {others}"
    assert not {name for name in FORMATS if not held.get(name)}, "an exception that none needs"


def test_a_second_formatter_is_seen() -> None:
    """`planted` and the like are what the test above has to find; dates and widths are left alone."""
    planted = "f'{a:,.0f} {b:.1%} {c:>9.3f} {d:.4g} {e:,}'"
    assert len(specs(syntax(ast.parse(planted)))) == 5
    assert not specs(syntax(ast.parse("f'{a:>9} {b:g} {c:%Y-%m} {d:<28.28}'")))


# Arguments that travel together are bundles


DOZEN = 12
# Each with its reason; a name that is short enough must leave the list.
ALLOWED = {
    "in_time_fraction": "an argument for each symbol of its equation",
    **dict.fromkeys(
        ("calibrate", "checkpoint", "fit", "job_carbon", "place", "plan", "throughput"),
        "what a person asks in Python",
    ),
}


@pytest.mark.slow
def test_no_function_takes_more_than_a_dozen_arguments() -> None:
    """A bundle names what a reader would have to keep apart by order or by luck."""
    found = {}
    for name, node in (*each(ast.FunctionDef), *each(ast.AsyncFunctionDef)):
        own = node.args
        count = len(own.posonlyargs) + len(own.args) + len(own.kwonlyargs)
        if count > DOZEN:
            found[node.name] = f"{name}:{node.lineno} takes {count}"

    assert {name: place for name, place in found.items() if name not in ALLOWED} == {}
    assert set(ALLOWED) <= set(found), "an allowed name takes a dozen or fewer: strike it off"
