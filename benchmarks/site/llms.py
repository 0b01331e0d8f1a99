"""What an assistant reads first: docs/llms.txt, out of the commands, the functions and the list of pages.

python -m benchmarks.site.llms
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import everfleet
from planner.cli.commands import parser
from planner.serve.assistants import TOOLS
from planner.serve.questions import summary_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "llms.txt"
ABOUT = """\
# everfleet

> Plans AI fleets: a scenario (TOML) goes in, a fleet plan comes out: what to buy, keep, sell, rent and place,
> at least money and carbon. It also states the carbon of a job, compares checkpoint intervals on failure
> logs, and says what hardware delivers for a model. Every number opens down to its equation and its source.

Python 3.11 or newer. Numbers with a dimension carry their unit in text: "2 MW", "300 USD/t", "30 min". A name
that is not known is answered with those that are near; `everfleet skus|models|grids|regions` list names.
`--json` makes every answer a document. Exit codes: 0 an answer; 1 none, or a failed check; 2 wrong input (the
message says what, where and what would help); 130 stopped.

A plan for a shipped scenario in half a minute: `everfleet plan one-training-job --no-baselines`. Before a
plan of a file of yours: `everfleet check FILE`, which reports every problem at once."""


def page() -> str:
    """The whole file."""
    commands = next(
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    )._choices_actions
    parts = [
        ABOUT,
        "## Commands\n\n" + "\n".join(f"- `everfleet {one.dest}`: {one.help}" for one in commands),
        "## Python: `import everfleet as ef`\n\nEach function gives an `Answer`: `.said`, `.totals`, "
        '`["purchases"].to_pandas()`, `.explain("cost")`, `.save(folder)`.\n\n'
        + "\n".join(f"- `ef.{name}`: {summary_of(name)}" for name in everfleet.__all__ if name.islower()),
        "## Servers\n\n- `everfleet serve`: the functions over HTTP, `POST /plan` with arguments as JSON, "
        f"`GET /openapi.json`\n- `everfleet mcp`: tools {', '.join(TOOLS)}, by the Model Context Protocol",
        "## Pages\n\n" + "\n".join(pages()),
    ]
    return "\n\n".join(parts) + "\n"


def pages() -> list[str]:
    """Each page of the list in docs/README.md, with what it says."""
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8").partition("## All pages")[2]
    found = []
    for links, said in re.findall(r"^\| (\[.+?) \| (.+) \|$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", said)
        for link in re.findall(r"\]\(([^)]+)\)", links):
            found.append(f"- [{Path(link).stem if link.count('/') == 0 else link}]({link}): {plain}")
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
