"""Pages that are made at each build of the site: too large to be kept, or soon out of date."""

from __future__ import annotations

import html
import inspect
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import everfleet
from benchmarks.site.meanings import ANSWERS
from planner.inputs.loading import load_catalogue
from planner.report.data import _OF_ROW
from planner.report.table_columns import COLUMNS, TITLES, WAYS, column_unit, meaning_of
from planner.serve.questions import arguments_in
from planner.trace.numbers import exact_text
from planner.trace.quantities import Fact

# Tables that stand outside of the list of a plan's.
_OTHER_TITLES = {
    "totals": "Totals",
    "tornado": "Which facts move the result most",
    "ways": WAYS,
    "clash": "What would have to give way",
    "checkpoints": "Checkpoint intervals",
    "marks": "Best intervals",
    "policies": "Ways to write checkpoints",
    "stops": "What stops a run in a month",
    "waiting": "Nodes that wait for slow ones",
    "recovery": "Ways to come back after a failure",
    "detection": "Silent corruption, with and without checks",
    "by_nodes": "Checkpoints by size of the job",
}
_ANSWERS = {
    "job": "Carbon of a job",
    "fit": "Failures of a log",
    "throughput": "What hardware delivers",
    "placement": "Where embedding tables lie",
    "traces": "Execution traces",
    "across": "One run on several sites",
    "futures": "Several futures",
}
_KINDS = (
    ("measured", "whoever published it measured it"),
    ("published", "a publication states it"),
    ("declared", "the maker or seller declares it"),
    ("estimated", "worked out from other values, with a range"),
    ("assumed", "a guess of ours, with a range"),
    ("yours", "your own"),
)
LEAST_IN_A_TABLE = 5  # facts in the mean: a family of smaller parts is one table


def made() -> dict[str, str]:
    """Every page by its place in the site."""
    return {"functions.md": functions(), "tables.md": tables(), **facts()}


def functions() -> str:
    """The public functions of Python, out of their signatures and docstrings."""
    parts = [
        "# Functions of Python",
        "`import everfleet as ef` offers these names and no others. Each function asks what the command\n"
        "of its name asks, and gives an `Answer`. Examples: [everfleet in Python](python.md).",
    ]
    offered = {name: getattr(everfleet, name) for name in everfleet.__all__}
    for name in sorted(offered, key=lambda each: (each[0].isupper(), each)):
        parts += [f"## {name}", *_described(name, offered[name])]
        if inspect.isclass(offered[name]) and not issubclass(offered[name], Exception):
            for member, held in vars(offered[name]).items():
                if not member.startswith("_") and inspect.getdoc(held):
                    parts += [f"### {name}.{member}", *_described(member, held)]
    return "\n\n".join(parts) + "\n"


def _described(name: str, held: Any) -> Iterator[str]:
    """How a function is called, what its docstring says, its examples, arguments and errors."""
    about, _, sections = (inspect.getdoc(held) or "").partition("\n\nArgs:\n")
    about, _, raised = about.partition("\n\nRaises:\n") if not sections else (about, "", "")
    about = about.partition("\n\nReturns:\n")[0]
    known: dict[str, inspect.Parameter] = {}
    if inspect.isfunction(held):
        known = dict(inspect.signature(held).parameters)
        known.pop("self", None)
        stars = ", ".join(f"{'*' * (one.kind is one.VAR_POSITIONAL)}{key}" for key, one in known.items())
        yield f"```python\n{textwrap.fill(f'{name}({stars})', 76, subsequent_indent='    ')}\n```"
    for paragraph in about.split("\n\n"):
        yield f"```pycon\n{paragraph}\n```" if paragraph.startswith(">>>") else paragraph
    if sections:
        rows = [
            (f"`{key}`", _code(str(one.annotation)), _default(one), _cell(said.get(key, "")))
            for said in [arguments_in(f"Args:\n{sections}")]
            for key, one in known.items()
        ]
        yield _markdown(("argument", "type", "default", "meaning"), rows)
    raised = raised or sections.partition("\n\nRaises:\n")[2]
    if raised:
        yield "Raises " + " ".join(raised.split()).replace("InputError: ", "`InputError`: ", 1)


def _default(one: inspect.Parameter) -> str:
    return (
        "required"
        if one.default is inspect.Parameter.empty and one.kind is not one.VAR_POSITIONAL
        else ("" if one.kind is one.VAR_POSITIONAL else _code(repr(one.default)))
    )


def _code(text: str) -> str:
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def tables() -> str:
    """Every table with its columns: name, unit, meaning."""
    parts = [
        "# Tables and their columns",
        "Names and units as JSON, CSV and Python have them (`csv/columns.csv` says the same of each plan).\n"
        "A share, in a column that ends in `_fraction`, is a number from 0 to 1. Pages and workbooks show\n"
        "the same columns in the units that read best. A plan holds the tables that have something to say:\n"
        '`answer["purchases"]`.',
    ]
    for name, columns in COLUMNS.items():
        parts.append(f"## {TITLES.get(name) or _OTHER_TITLES[name]}: `{name}`")
        of_row = set(_OF_ROW) if "unit" in columns else set()
        rows = [
            (
                f"`{key}`",
                column_unit(key) or ("that of the row" if key in of_row else ""),
                meaning_of(name, key),
            )
            for key in columns
        ]
        parts.append(_markdown(("column", "unit", "meaning"), rows))
    for kind, held in ANSWERS.items():
        for name, meanings in held.items():
            parts.append(f"## {_ANSWERS[kind]}, {name.replace('_', ' ')}: `{kind}` `{name}`")
            rows = [(f"`{key}`", column_unit(key), text) for key, text in meanings.items()]
            parts.append(_markdown(("column", "unit", "meaning"), rows))
    return "\n\n".join(parts) + "\n"


def facts() -> dict[str, str]:
    """A page for each family of facts, and one that lists them."""
    catalogue = load_catalogue()
    families: dict[str, list[Fact]] = defaultdict(list)
    for fact in catalogue.search(""):
        families[fact.key.partition(".")[0]].append(fact)
    rows = [
        (f"[{family.replace('_', ' ')}]({family}.md)", str(len(held)), f"`{held[0].key}`")
        for family, held in sorted(families.items())
    ]
    index = [
        "# Facts",
        f"All {sum(map(len, families.values()))} facts of the catalogue, by family. The search finds each\n"
        "by the words of its name. The same on the command line: `everfleet facts WORDS`; in the app: the\n"
        "page Sources. How to state your own: [facts of your own](../your-own-facts.md).",
        _markdown(("family", "facts", "such as"), rows),
        "## Kinds",
        _markdown(("kind", "what it means"), _KINDS),
    ]
    found = {"facts/index.md": "\n\n".join(index) + "\n"}
    for family, held in families.items():
        found[f"facts/{family}.md"] = _family(family, held)
    return found


def _family(family: str, held: Sequence[Fact]) -> str:
    """Facts as tables of plain HTML, which MkDocs takes as they are: one for each part of a large family."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    parts = {fact.key: fact.key.split(".") for fact in held}
    sized = len(held) >= LEAST_IN_A_TABLE * len({tuple(part[:2]) for part in parts.values()})
    for fact in sorted(held, key=lambda each: each.key):
        part = parts[fact.key]
        groups[".".join(part[:2]) if sized and len(part) > 2 else family].append(fact)
    body = [f"# Facts: {family.replace('_', ' ')}", f"{len(held)} facts. [All families](index.md)"]
    for name, rows in groups.items():
        body += [f"## {name}", _html(rows, name)]
    return "\n\n".join(body) + "\n"


def _html(rows: Iterable[Fact], prefix: str) -> str:
    lines = []
    for fact in rows:
        spread = "" if fact.low is None else f"{exact_text(fact.low)} to {exact_text(fact.high)}"
        unit = "" if fact.unit == "1" else fact.unit
        source = html.escape(", ".join(filter(None, (fact.source.name, fact.locator))))
        if fact.source.link:
            source = f'<a href="{html.escape(fact.source.link)}">{source}</a>'
        note = f"<br><small>{html.escape(fact.note)}</small>" if fact.note else ""
        cells = (
            f"<code>{html.escape(fact.key.removeprefix(f'{prefix}.'))}</code>{note}",
            html.escape(exact_text(float(fact.value))),
            html.escape(unit),
            html.escape(spread),
            html.escape(fact.kind),
            source,
        )
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("name", "value", "unit", "range", "kind", "source"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table>"


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *rows))
