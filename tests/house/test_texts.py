"""Texts that a reader sees hold no code: a text with braces of a call was meant to be filled in."""

import ast
import re

import pytest

CALL_IN_TEXT = re.compile(r"\{[a-z_.]+(?:\([^{}]*\)|\[['\"][^{}]*\])[^{}]*\}")
ROOMS = ("planner", "carbon", "reliability", "solver")


def unfilled(source):
    """Lines of texts, other than docstrings, that hold a call in braces and are not filled in."""
    tree = ast.parse(source)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in bare
        and CALL_IN_TEXT.search(node.value)
    ]


def test_a_forgotten_f_is_found():
    assert unfilled("x = f'{a} and ' '{text(row[1])}'") == [1]
    assert unfilled("x = f'{text(row[1])}'\n'{text(1)}'") == []


@pytest.mark.slow
def test_no_text_holds_code(root):
    found = {
        str(path.relative_to(root)): lines
        for room in ROOMS
        for path in (root / room).rglob("*.py")
        if (lines := unfilled(path.read_text(encoding="utf-8")))
    }

    assert found == {}


def test_what_a_page_explains_it_has_written(root):
    """A folder that `everfleet explain` opens is named by `--out` of a command above it."""
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    unwritten = {}
    for page in pages:
        blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        text = "\n".join(blocks)
        for found in re.finditer(r"^everfleet explain (\S+)", text, re.MULTILINE):
            if not re.search(rf"--out {re.escape(found[1])}\s", text[: found.start()]):
                unwritten[page.name] = found[0]

    assert unwritten == {}
