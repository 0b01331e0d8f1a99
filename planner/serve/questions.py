"""What may be asked over HTTP: the functions of `import everfleet`, and their arguments as a JSON Schema."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner import notebook
from planner.trace.errors import InputError

QUESTIONS = (
    "plan",
    "pareto",
    "futures",
    "scenario",
    "job_carbon",
    "checkpoint",
    "fit",
    "throughput",
    "scaling",
    "place",
    "facts",
    "skus",
    "models",
    "grids",
    "regions",
    "prices",
    "traces",
    "techniques",
)
# A function to be told, folders of this machine, and the store of whoever runs the server.
NOT_OVER_HTTP = ("watch", "data", "store")

_TYPES = {
    "str": {"type": "string"},
    "Path": {"type": "string", "description": "the name of one of `files`"},
    "date": {"type": "string", "format": "date"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "Mapping": {"type": "object"},
    "Iterable": {"type": "array"},
    "None": {"type": "null"},
}
_UNIONS = {
    "Named": "str | Path | Mapping",
    "Changes": "Mapping | None",
    "Files": "Mapping | None",
    "Quantity": "float | str",
}
MOST_BYTES = 8_000_000  # of a question
LONGEST_NAME = 255  # bytes: what file systems take
_ABOVE = re.compile(r"^(/|~\S*/|[A-Za-z]:[\\/])|(^|[\\/])\.\.([\\/]|$)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its arguments by name, the files that they name, and the numbers to be explained."""

    question: str
    arguments: Mapping[str, Any]
    files: Mapping[str, str]
    explain: tuple[str, ...]


def function_of(question: str) -> Callable[..., notebook.Answer]:
    """The function that answers."""
    found: Callable[..., notebook.Answer] = getattr(notebook, question)
    return found


def summary_of(question: str) -> str:
    """The first line of what a question says of itself."""
    return (inspect.getdoc(function_of(question)) or "").splitlines()[0]


def parameters_of(question: str) -> dict[str, inspect.Parameter]:
    """What a question takes over HTTP, by name."""
    known = inspect.signature(function_of(question)).parameters
    return {name: one for name, one in known.items() if name not in NOT_OVER_HTTP}


def schema_of(question: str) -> dict[str, Any]:
    """JSON Schema of the body of a question."""
    properties: dict[str, Any] = {}
    required = []
    about = arguments_in(inspect.getdoc(function_of(question)) or "")
    for name, one in parameters_of(question).items():
        kinds = [_TYPES[kind] for kind in _kinds(str(one.annotation))]
        shape: dict[str, Any] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        if one.kind is inspect.Parameter.VAR_POSITIONAL:
            shape = {"type": "array", "items": shape}
        elif one.default is inspect.Parameter.empty:
            required.append(name)
        properties[name] = shape | ({"description": about[name]} if name in about else {})
    properties["files"] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "files that arguments name: their text by their name, which has no folder",
    }
    properties["explain"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "numbers to open down to their sources: a total such as cost, or a cell: "
        "table, row from 1 and column, as in purchases.1.capex_usd",
    }
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def question_of(question: str, body: Any) -> Question:
    """A body as a question, its names and its files checked; kinds and values are for the function to see.

    Raises:
        InputError: naming everything that is wrong with it.
    """
    if not isinstance(body, dict):
        raise InputError('the body is no object: write for example {"scenario": "next-quarter"}')
    known = parameters_of(question)
    arguments = {name: value for name, value in body.items() if name not in ("files", "explain")}
    problems = [
        f"{name}: {question} takes no such argument: {', '.join(known)}" for name in arguments.keys() - known
    ]
    problems += [f"{name}: is missing" for name in schema_of(question)["required"] if name not in arguments]
    for name, one in known.items():
        if one.kind is inspect.Parameter.VAR_POSITIONAL and not isinstance(arguments.get(name, []), list):
            problems.append(f"{name}: is not a list")
    files = body.get("files", {})
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        problems.append('files: are no texts by name: write for example {"log.csv": "node,start,..."}')
        files = {}
    explain = body.get("explain", [])
    if not isinstance(explain, list) or not all(isinstance(name, str) for name in explain):
        problems.append('explain: is no list of names: write for example ["cost"]')
        explain = []
    problems += [f"files.{name}: has a folder: name it without one" for name in files if not _is_bare(name)]
    problems += [f"{where}: '{text}' lies outside of `files`" for where, text in _outside(arguments)]
    problems += [f"{name}: '{value}' lies outside of `files`" for name, value in _unsent(arguments, known)]
    if problems:
        raise InputError("\n".join(sorted(problems)))
    return Question(question, arguments, files, tuple(explain))


def _unsent(
    arguments: Mapping[str, Any], known: Mapping[str, inspect.Parameter]
) -> Iterator[tuple[str, str]]:
    """Arguments that may be paths and are: a folder stands in them, or no file could have such a name."""
    for name, value in arguments.items():
        may_be_path = name in known and "Path" in _kinds(str(known[name].annotation))
        if may_be_path and isinstance(value, str) and not outside(value) and not _is_bare(value):
            yield name, value if len(value) <= 60 else f"{value[:57]}..."


def outside(text: str) -> bool:
    """Whether a text names a place above the folder in which a question is asked."""
    return _ABOVE.search(text) is not None


def _outside(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every text that names a place of this machine, wherever it stands."""
    if isinstance(value, str):
        if outside(value):
            yield where, value if len(value) <= 60 else f"{value[:57]}..."
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _outside(one, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _outside(one, f"{where}[{number}]")


def _is_bare(name: str) -> bool:
    return (
        bool(name)
        and len(name.encode()) <= LONGEST_NAME
        and not re.search(r"[\\/\0]", name)
        and name not in (".", "..")
    )


def _kinds(annotation: str) -> list[str]:
    """The parts of an annotation, without what is inside of them and what cannot be sent."""
    whole = " | ".join(_UNIONS.get(part, part) for part in annotation.split(" | "))
    found = (part.partition("[")[0] for part in whole.split(" | "))
    return [part for part in dict.fromkeys(found) if part in _TYPES]


def arguments_in(text: str) -> dict[str, str]:
    """What a docstring says of each argument."""
    found: dict[str, str] = {}
    name = ""
    for line in text.partition("Args:")[2].partition("Raises:")[0].splitlines():
        start = re.match(r" {4}\*?(\w+): (.*)", line)
        if start:
            name = start[1]
            found[name] = start[2]
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found
