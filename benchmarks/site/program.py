"""The constraints of the integer program as mathematics, out of the docstrings of their functions.

python -m benchmarks.site.program
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.site.mathematics import is_statement, latex

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "the-program.md"
FILES = (
    "constrain_tasks.py",
    "constrain_services.py",
    "constrain_fleet.py",
    "constrain_reuse.py",
    "constrain_limits.py",
    "constrain_slots.py",
    "constrain_slot_services.py",
    "constrain_energy.py",
)
_BEGINS = re.compile(r"(sum_|max_|\(|[A-Za-z]\w*\[)")
_INLINE = re.compile(r"(?<![\w`])([A-Za-z]\w*\[[^\]]*\])(?![\w`])")


def page() -> str:
    """The whole page."""
    parts = [
        "# The integer program",
        "Every kind of constraint, as the function that adds it states it: one function for each kind, its\n"
        "inequality first in its docstring. This page is made from those docstrings by `python -m\n"
        "benchmarks.site.program`, so it says what the code says. The objective, what an option's money and\n"
        "carbon are, and how a plan is found and checked: [solver](../solver/README.md).",
        _letters(),
        "`give` is what a limit gives way by where no plan exists and the cheapest repair is looked for;\n"
        "in a plan it is 0.",
    ]
    for name in FILES:
        tree = ast.parse((ROOT / "solver" / name).read_text(encoding="utf-8"))
        parts.append(f"## {_heading(ast.get_docstring(tree) or '')}")
        for function in constraints(tree):
            parts.append(f"### {function.name.replace('_', ' ').capitalize()}")
            parts += list(blocks(ast.get_docstring(function) or ""))
            parts.append(f"`solver.{name.removesuffix('.py')}.{function.name}`")
    return "\n\n".join(parts) + "\n"


def constraints(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that others call and whose docstring begins with an inequality."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and is_statement((ast.get_docstring(node) or "").split("\n\n")[0])
    ]


def blocks(docstring: str) -> Iterator[str]:
    """A docstring as paragraphs: inequalities one below the other, and sentences."""
    for paragraph in docstring.split("\n\n"):
        words: list[str] = []
        for clause in _clauses(_statements(paragraph)):
            head, colon, rest = clause.partition(": ")
            if colon and is_statement(rest) and not is_statement(head):
                words, clause = [*words, f"{head}:"], rest
            if not is_statement(clause):
                words.append(clause)
                continue
            if words:
                yield _sentences(words)
                words = []
            yield f"```math\n{latex(clause.rstrip('.:;'))}\n```"
        if words:
            yield _sentences(words)


def _sentences(clauses: list[str]) -> str:
    """Clauses unchanged, letters and indexed names in them set as code."""
    text = _INLINE.sub(r"`\1`", " ".join(clauses).rstrip(";"))
    text = re.sub(r"^([a-z])(?= )", r"`\1`", text)
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", ":")) else f"{text}."


def _statements(paragraph: str) -> list[str]:
    """Lines that begin an inequality begin a statement; others go on with the one before."""
    found: list[str] = []
    for line in paragraph.splitlines():
        if found and not (_BEGINS.match(line) and is_statement(line)):
            found[-1] += f" {line}"
        else:
            found.append(line)
    return found


def _clauses(statements: list[str]) -> Iterator[str]:
    """Parts of statements that stand alone: split at semicolons, at ends of sentences, before `, x[..] =`."""
    for statement in statements:
        for part in re.split(r"(?<=[.;])\s+|,\s+(?=[a-z]\[[^\]]*\] = )", statement):
            yield part.strip()


def _letters() -> str:
    """What the letters mean, as the README of the solver has it."""
    text = (ROOT / "solver" / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^Letters: .*?(?=\n\n)", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, "solver/README.md says what the letters mean"
    return found[0]


def _heading(docstring: str) -> str:
    return docstring.splitlines()[0].removeprefix("Constraints of ").rstrip(".").capitalize()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
