"""What tests of the pages on failures and checkpoints share: the two pages, and workers that work at once."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.trace.errors import InputError
from planner.ui.workers import registry
from planner.ui.workers.messages import Seen, work_key
from planner.ui.workers.tasks import TASKS

PAGES = Path(__file__).resolve().parents[1] / "planner" / "ui"
ROUTES = """
from pathlib import Path
import streamlit as st
pages = Path({pages!r})
st.navigation([st.Page(pages / f"{{name}}.py", default=name == {first!r}) for name in {names!r}]).run()
"""


def open_page(name: str, **state: Any) -> AppTest:
    """One of the two pages, with the other one within reach."""
    routes = ROUTES.format(pages=str(PAGES), first=name, names=["failures", "checkpoints"])
    app = AppTest.from_string(routes, default_timeout=60)
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


def texts(page: AppTest) -> str:
    """Everything that Markdown was asked to show."""
    parts = [*page.markdown, *page.caption, *page.subheader, *page.error, *page.success, *page.warning]
    return "\n".join(part.value for part in parts)


class AtOnce:
    """Works that are done as soon as they are asked for; or that stay as `stands` says."""

    def __init__(self, stands: Seen | None = None) -> None:
        self.stands, self.done = stands, dict[str, Seen]()

    def start(self, task: str, arguments: dict[str, Any]) -> str:
        key = work_key(task, arguments)
        self.done[key] = self.stands or _worked(task, arguments)
        return key

    def seen(self, key: str) -> Seen | None:
        return self.done.get(key)

    def forget(self, key: str) -> None:
        self.done.pop(key, None)


def _worked(task: str, arguments: dict[str, Any]) -> Seen:
    module, _, name = TASKS[task].partition(":")
    work: Callable[..., Any] = getattr(importlib.import_module(module), name)
    try:
        return Seen("done", result=work(arguments, lambda text="", **_: None, lambda: False))
    except InputError as error:
        return Seen("failed", error=str(error))


def work_at_once(monkeypatch: pytest.MonkeyPatch, stands: Seen | None = None) -> None:
    """Have works done in this process before they are looked at; or all stand as they are said to."""
    monkeypatch.setattr(registry, "_HERE", AtOnce(stands))
