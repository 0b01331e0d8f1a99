"""One word for one thing: the glossary is whole, and what people read keeps to it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PACKAGES = ("planner", "carbon", "reliability", "solver", "benchmarks")
# The history of changes quotes what once was; two pages are written by programs whose own text is held here.
UNHELD = {"CHANGELOG.md", "docs/glossary.md", "docs/benchmarks.md", "docs/what-the-join-saves.md"}


def rows(heading: str) -> list[tuple[str, str]]:
    """The pairs of the table that begins with this heading."""
    table = GLOSSARY.read_text(encoding="utf-8").partition(f"| {heading} |")[2].partition("\n\n")[0]
    lines = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [(left.strip(), right.strip()) for left, right in lines]


def avoided() -> re.Pattern[str]:
    words = [word for left, _ in rows("instead of") for word in left.split(", ")]
    return re.compile(rf"(?<![\w`.\"'])({'|'.join(map(re.escape, words))})(?![\w`=(:\"'\]])", re.IGNORECASE)


def said(path: Path) -> Iterator[tuple[int, str]]:
    """What a Python file says to people: its comments, docstrings and sentences, each with its line.

    A string without a space is a key or a name, not a sentence.
    """
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def broken(path: Path) -> Iterator[str]:
    name = path.relative_to(ROOT).as_posix()
    lines = (
        said(path) if path.suffix == ".py" else enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    )
    for number, text in lines:
        for found in avoided().finditer(" ".join(text.split())):
            yield f"{name}:{number}: {found[0]!r}"


def test_each_term_is_defined_once_and_in_order() -> None:
    """One or two sentences a term, in the order of the alphabet."""
    terms = [term.casefold() for term, _ in rows("term")]

    assert len(terms) > 30
    assert terms == sorted(set(terms))
    for term, meaning in rows("term"):
        sentences = re.findall(r"[.](?= [A-Z]|$)", meaning)
        assert 1 <= len(sentences) <= 2, (term, meaning)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_code_says_what_the_glossary_says(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))

    assert files
    assert [each for path in files for each in broken(path)] == []


def test_pages_say_what_the_glossary_says() -> None:
    """Guides, READMEs and the templates of the reports."""
    folders = (ROOT / each for each in (*PACKAGES, "data"))
    files = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*.md"))]
    files += (ROOT / "planner").rglob("*.html")
    held = [path for path in files if path.relative_to(ROOT).as_posix() not in UNHELD]

    assert len(held) > 20
    assert [each for path in held for each in broken(path)] == []


def test_a_word_to_avoid_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In sentences and comments, not in keys: the check itself can fail."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    file = tmp_path / "one.py"
    file.write_text('x = "it lies beside it"  # that hangs on\nx = {"beside": 1}\n')

    assert sorted(broken(file)) == ["one.py:1: 'beside'", "one.py:1: 'hangs on'"]


def test_readers_find_the_glossary() -> None:
    assert "docs/glossary.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "glossary.md" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
