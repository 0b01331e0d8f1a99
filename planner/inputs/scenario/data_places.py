"""Where data of work lie, and what of them moves to work at other sites: stated together, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.scenario.parts import entries_of
from planner.inputs.scenario.problems import Problem, place

MOVED = {
    "training": {"data_moved": '"40 TB"'},
    "pools": {"data_moved": '"40 GB"'},
    "services": {"data_moved": '"140 GB"', "logs_moved": '"2 TB/month"'},
}


def data_in_whole(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Where data lie and how much of them moves are stated together."""
    for section, keys in MOVED.items():
        for i, entry in entries_of(document, section):
            at = place((section, i), document)
            stated = [key for key in keys if key in entry]
            if "data_site" in entry and not stated:
                lacking = " or ".join(keys)
                example = f"data_moved = {keys['data_moved']}"
                yield Problem(f"{at}.data_site", f"needs {lacking} next to it, for example {example}")
            elif stated and "data_site" not in entry:
                example = 'data_site = "dallas"'
                yield Problem(f"{at}.{stated[0]}", f"needs data_site next to it, for example {example}")
