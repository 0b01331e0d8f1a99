"""Parts of a page that run alone: a click within one sends and draws that part, not the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import streamlit as st

from planner.trace.currency import Currency, showing, shown

F = TypeVar("F", bound=Callable[..., None])


def runs_alone(draw: F) -> F:
    """Let what is drawn run without the rest of its page, in the currency that the page shows.

    Nothing outside may depend on what is chosen within: it is not drawn again.
    """

    @st.fragment
    @wraps(draw)
    def part(currency: Currency, *arguments: Any, **options: Any) -> None:
        with showing(currency):
            draw(*arguments, **options)

    @wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> None:
        part(shown(), *arguments, **options)

    return cast(F, drawn)


@runs_alone
def tabs(parts: Mapping[str, Callable[[], None]], key: str) -> None:
    """Parts behind tabs, each drawn when it is looked at."""
    opened = st.tabs(list(parts), key=key, on_change="rerun")
    for tab, draw in zip(opened, parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()
