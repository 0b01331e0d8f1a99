"""Charts kept as what the browser gets: making one costs more than all else on a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from planner.report.charts import Picture

IN_A_ROW = 4

Spec = tuple[str, str, dict[str, Any]]


def draw_kept(digest: str, make: Callable[[], Picture | list[Picture] | None]) -> None:
    """Draw what `make` gives, as it was made the first time for this digest."""
    for _, alt, spec in specs(digest, make):
        st.vega_lite_chart(spec, width="stretch", alt=alt)


def draw_in_rows(digest: str, make: Callable[[], list[Picture]]) -> None:
    """The same, some in a row, each below its title; on a phone one below the other."""
    made = specs(digest, make)
    for start in range(0, len(made), IN_A_ROW):
        for column, (title, alt, spec) in zip(
            st.columns(IN_A_ROW), made[start : start + IN_A_ROW], strict=False
        ):
            with column:
                st.markdown(f"**{title}**")
                st.vega_lite_chart(spec, width="stretch", alt=alt)


# The digest alone is the key.
@st.cache_data(show_spinner=False, max_entries=256)
def specs(digest: str, _make: Callable[[], Picture | list[Picture] | None]) -> list[Spec]:
    """Title, words and specification of each chart."""
    made = _make()
    pictures = [] if made is None else made if isinstance(made, list) else [made]
    return [(one.title, one.alt, one.chart.to_dict()) for one in pictures]
