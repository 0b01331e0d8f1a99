"""A page with every number that it explains opened down to its sources."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def with_trees(page: AppTest) -> AppTest:
    """The page once each number is opened, and its whole tree requested."""
    for button in page.get("popover"):
        key = button.proto.popover.id.partition("why-")
        if key[1]:
            page.session_state[f"why-{key[2]}"] = True
    page.run()
    for toggle in page.toggle:
        if str(toggle.key).startswith("tree-"):
            toggle.set_value(True)
    return page.run()
