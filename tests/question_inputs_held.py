"""Page fields held to the question that they ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamlit.testing.v1 import AppTest

from planner.inputs.question_fields import fields_of


def fields_held(page: AppTest, question: type[Any], keys: Mapping[str, str]) -> None:
    """Each field has the label, help, default and range of the question; `keys` are those of the page."""
    drawn = {one.key: one for kind in ("number_input", "selectbox", "toggle") for one in page.get(kind)}
    for name, key in keys.items():
        one, field = fields_of(question)[name], drawn[key]
        shown = (
            field.value if field.value is None or isinstance(field.value, str) else field.value * one.scale
        )
        assert (field.label, field.help) == (one.heading, one.said), name
        assert shown == (one.usual or (False if one.reads == "flag" else None)), name
        for end, limit in (("min", one.least), ("max", one.most)):
            if limit is not None:
                assert getattr(field, end) * one.scale == limit, (name, end)
