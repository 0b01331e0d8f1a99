"""A page with every number that it explains opened down to its sources."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def with_trees(page: AppTest) -> AppTest:
    """The page once the whole tree of each number is requested."""
    for toggle in page.toggle:
        if str(toggle.key).startswith("tree-"):
            toggle.set_value(True)
    return page.run()
