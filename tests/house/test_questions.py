"""Questions of a CFO: every command of the page runs, and prints every line that is shown under it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from sizes import few_ranges

from planner.cli import ANSWER, NO_PLAN, main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "questions-of-a-cfo.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
QUESTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
TABLES = [text for kind, text in BLOCK.findall(QUESTIONS[0]) if kind == "toml"]
FILES = dict(zip(("desk.toml", "chat.toml"), TABLES, strict=True))


@pytest.fixture(scope="module", autouse=True)
def ranges_of_few_draws() -> Iterator[None]:
    with few_ranges(plans=4, jobs=4):
        yield


def test_there_are_fifteen() -> None:
    assert [question.split(".")[0] for question in QUESTIONS[1:]] == [str(n) for n in range(1, 16)]
    assert all(BLOCK.search(question) for question in QUESTIONS)


@pytest.mark.solve
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda text: text.partition("\n")[0][:40])
def test_a_question_is_answered_as_the_page_says(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    printed = set[str]()
    for kind, text in BLOCK.findall(question):
        if kind == "sh":
            refused = "chat.toml" in text and "--set" not in text
            assert main(shlex.split(text)[1:]) == (NO_PLAN if refused else ANSWER)
            printed = set(capsys.readouterr().out.splitlines())
            for file in (tmp_path / "out").rglob("*.csv"):
                printed |= set(file.read_text(encoding="utf-8").splitlines())
        elif kind == "text":
            assert sorted(set(text.splitlines()) - printed) == []
