"""What the documentation shows runs: docstrings, the page, and the notebook."""

from __future__ import annotations

import doctest
import json
import re
import shutil
from pathlib import Path

import pytest

import everfleet as ef

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FUNCTIONS = [name for name in ef.__all__ if name[0].islower()]
PAGE, NOTEBOOK = "docs/python.md", "docs/notebooks/next-quarter.ipynb"


@pytest.fixture
def workplace(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own with the samples in it."""
    shutil.copytree(root / "data" / "samples", tmp_path / "data" / "samples")
    shutil.copytree(root / "data" / "published", tmp_path / "data" / "published")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failures_of(test: doctest.DocTest) -> str:
    told: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=told.append)
    return "".join(told)


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_shows_how_it_is_used(name: str) -> None:
    found = doctest.DocTestFinder(recurse=False).find(getattr(ef, name), name, module=False, globs={"ef": ef})

    assert found[0].examples
    assert failures_of(found[0]) == ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_says_what_it_takes(name: str) -> None:
    """Every argument is documented and typed, and the answer is of the one type."""
    function = getattr(ef, name)
    text = function.__doc__
    arguments = [each for each in function.__annotations__ if each != "return"]

    assert function.__annotations__["return"] == "Answer"
    assert [each for each in arguments if f"\n        {each}: " not in text] == []


@pytest.mark.usefixtures("workplace")
@pytest.mark.nightly
def test_the_page_says_what_comes_out(root: Path) -> None:
    text = (root / PAGE).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(code, {}, PAGE, PAGE, 0)

    assert len(test.examples) > 15
    assert failures_of(test) == ""
    assert set(re.findall(r"^\| `(\w+)\(", text, flags=re.MULTILINE)) == set(FUNCTIONS)


@pytest.mark.nightly
@pytest.mark.usefixtures("workplace")
def test_the_notebook_runs(root: Path) -> None:
    """Its cells one after the other; they are kept without outputs, so that none goes stale."""
    notebook = json.loads((root / NOTEBOOK).read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    held: dict[str, object] = {}
    for cell in cells:
        lines = "".join(cell["source"])
        exec(compile(lines, NOTEBOOK, "exec"), held)  # ours, from the checkout

    assert len(cells) > 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert isinstance(held["fleet"], ef.Answer)
