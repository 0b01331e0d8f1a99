"""The page of systems: what of each works here, by which command, and ours next to what it published.

    python -m benchmarks.studies.systems > docs/systems.md

`systems.toml` says what works and what is left out; the numbers are those of the shipped published rows, by
the functions that `everfleet validate` asks. Rows about files that may not be shipped stand without ours.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import everfleet as ef
from planner.trace.numbers import number_text

HERE = Path(__file__).resolve().parent
PUBLISHED = HERE.parents[1] / "data" / "published" / "seeds.csv"
MOST = 3  # rows that are shown for a system
PLUMBING = "†"
STATES = {"works": "at work", "part": "in part", "waits": "waits"}


@dataclass(frozen=True, slots=True)
class System:
    """One system of the field."""

    group: str
    name: str
    year: int
    state: str
    works: str
    left_out: str
    command: str = ""
    lines: str = ""
    rows: tuple[str, ...] = ()


def systems() -> list[System]:
    """All systems, in the order of the page."""
    with (HERE / "systems.toml").open("rb") as file:
        groups = tomllib.load(file)["group"]
    return [
        System(group["title"], **{**one, "rows": tuple(one.get("rows", ()))})
        for group in groups
        for one in group["system"]
    ]


def page() -> Iterator[str]:
    """The lines of the page."""
    every, numbers = systems(), _numbers()
    count = {state: sum(one.state == state for one in every) for state in STATES}
    in_part = f", {count['part']} in part" if count["part"] else ""
    yield "# Systems of the field"
    yield ""
    yield (
        f"Of {len(every)} published systems for AI capacity, carbon, failures and serving, "
        f"{count['works']} are at work here{in_part} and {count['waits']} wait for what is said next to "
        "them. Ours stands next to a published figure where there is one; how all of them fare: "
        f"[accuracy](accuracy.md). What is marked {PLUMBING} follows from the publication's own numbers by "
        "arithmetic: it shows that the road is there, not that the physics is right."
    )
    yield ""
    yield "<!-- python -m benchmarks.studies.systems -->"
    for title in dict.fromkeys(one.group for one in every):
        yield ""
        yield f"## {title}"
        yield ""
        yield "| system | what works | how | ours (published) | left out |"
        yield "|---|---|---|---|---|"
        for one in every:
            if one.group == title:
                yield _row(one, numbers)


def _row(one: System, numbers: Mapping[str, str]) -> str:
    works = one.works if one.state == "works" else f"*{STATES[one.state]}.* {one.works}".strip()
    how = f"`{one.command or one.lines}`" if one.command or one.lines else ""
    held = [numbers[row] for row in one.rows if row in numbers]
    compared = "; ".join(held[:MOST]) + (f"; and {len(held) - MOST} more" if len(held) > MOST else "")
    return f"| {one.name} ({one.year}) | {works} | {how} | {compared} | {one.left_out} |"


def _numbers() -> dict[str, str]:
    """Ours next to the published figure, by row; without ours where its files are not there."""
    found: dict[str, str] = {}
    for row in ef.validate(str(PUBLISHED)).to_dict()["tables"]["rows"]:
        found[row["id"]] = _compared(row)
    return found


def _compared(row: Mapping[str, Any]) -> str:
    published = f"{number_text(row['expected'])} {row['unit']}".strip()
    if row["ours"] is None:
        return f"({published})"
    return f"{number_text(row['ours'])} ({published}){PLUMBING if row['plumbing'] else ''}"


if __name__ == "__main__":
    print("\n".join(page()))
