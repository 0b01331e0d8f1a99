"""Puts what a plan reads, and the app, inside a wheel.

A checkout, and an editable install of it, read `data/` and `app.py` where they stand. A copy inside the
package would go stale there unseen, so it is made for a real wheel only.
"""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = {
    "data": "planner/_data",
    "app.py": "planner/_app.py",
    ".streamlit/config.toml": "planner/.streamlit/config.toml",  # read next to the script that is run
}


class ShippedFiles(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"].update(SHIPPED)
